package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// token exchanges a shop's keys for an access token. The typed client does not expose its
// tokens. A token that would expire during the run is refused: the hot path renews nothing.
func token(ctx context.Context, c Config, keys Shop) (string, error) {
	body, err := json.Marshal(map[string]string{"apiKey": keys.Publishable, "secretKey": keys.Secret})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+apiPath+"/auth/token", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	var got struct {
		AccessToken string `json:"accessToken"`
		ExpiresIn   int64  `json:"expiresIn"`
	}
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxBody))
	if err != nil {
		return "", fmt.Errorf("log in: %w", err)
	}
	if reply.StatusCode != http.StatusOK || json.Unmarshal(text, &got) != nil || got.AccessToken == "" {
		return "", fmt.Errorf("log in: the service replied %d: %.200s", reply.StatusCode, text)
	}
	if life := time.Duration(got.ExpiresIn) * time.Second; life < c.Warmup+c.Duration+graceTime {
		return "", fmt.Errorf("an access token lives %v, less than the run: use the raw key", life)
	}
	return got.AccessToken, nil
}
