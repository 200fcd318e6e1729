package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// token exchanges a shop's keys for an access token. A token that would expire during the run is refused: the hot path
// renews nothing.
func token(ctx context.Context, c Config, keys Shop) (string, error) {
	var got struct {
		AccessToken string `json:"accessToken"`
		ExpiresIn   int64  `json:"expiresIn"`
	}
	err := call(ctx, http.MethodPost, c.URL+apiPath+"/auth/token", "", map[string]string{"apiKey": keys.Publishable, "secretKey": keys.Secret}, &got)
	if err == nil && got.AccessToken == "" {
		err = errors.New("the reply has no access token")
	}
	if err != nil {
		return "", fmt.Errorf("log in: %w", err)
	}
	if life := time.Duration(got.ExpiresIn) * time.Second; life < c.Warmup+c.Duration+graceTime {
		return "", fmt.Errorf("an access token lives %v, less than the run: use the raw key", life)
	}
	return got.AccessToken, nil
}
