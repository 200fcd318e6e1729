package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// session keeps the credential of calls: a raw key, or an access token that it renews.
type session struct {
	client              *Client
	publishable, secret string
	raw                 string // sent as it is; empty if tokens are used

	// turn guards the fields below. It is a channel, because a caller that waits for another's
	// renewal may give up.
	turn    chan struct{}
	access  string
	refresh string
	renewAt time.Time
}

// renewBefore is how long before its end a token is renewed, a tenth of its
// life if that is less.
const renewBefore = 30 * time.Second

func newSession(c *Client, publishable, secret string) *session {
	s := &session{client: c, publishable: publishable, secret: secret, turn: make(chan struct{}, 1)}
	switch {
	case publishable == "":
		s.raw = secret
	case secret == "":
		s.raw = publishable
	}
	return s
}

// tokens is the reply of both endpoints that issue tokens.
type tokens struct {
	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken"`
	ExpiresIn    int64  `json:"expiresIn"`
}

// bearer returns the credential for a call.
func (s *session) bearer(ctx context.Context) (string, error) {
	if s.raw != "" {
		return s.raw, nil
	}
	if !s.waitTurn(ctx) {
		return "", ctx.Err()
	}
	defer s.leave()
	if s.access != "" && time.Now().Before(s.renewAt) {
		return s.access, nil
	}
	if err := s.renew(ctx); err != nil {
		return "", err
	}
	return s.access, nil
}

// waitTurn waits for the turn; false if the context ended first.
func (s *session) waitTurn(ctx context.Context) bool {
	select {
	case s.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *session) leave() { <-s.turn }

// renew gets new tokens, with the refresh token if there is one. The caller holds the turn.
func (s *session) renew(ctx context.Context) error {
	if refresh := s.refresh; refresh != "" {
		// A refresh token works once. After a call with an unknown outcome it must not be used
		// again: that looks like theft.
		s.access, s.refresh = "", ""
		err := s.ask(ctx, "/auth/refresh", map[string]string{"refreshToken": refresh})
		var refused *Error
		if !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
			return err
		}
	}
	return s.ask(ctx, "/auth/token", map[string]string{"apiKey": s.publishable, "secretKey": s.secret})
}

func (s *session) ask(ctx context.Context, path string, body map[string]string) error {
	asked := time.Now()
	var t tokens
	if _, err := s.client.send(ctx, request{method: http.MethodPost, path: path, body: body}, "", &t); err != nil {
		return err
	}
	if t.AccessToken == "" {
		return errors.New("client: " + path + " replied without an access token")
	}
	life := time.Duration(t.ExpiresIn) * time.Second
	s.access, s.refresh = t.AccessToken, t.RefreshToken
	s.renewAt = asked.Add(life - min(renewBefore, life/10))
	return nil
}

// Logout ends the login of the client's tokens, on every node; the next call begins a new
// one. Without a login (before the first call, or with a raw key) it does nothing.
func (c *Client) Logout(ctx context.Context) error {
	s := c.session
	if s.raw != "" {
		return nil
	}
	if !s.waitTurn(ctx) {
		return ctx.Err()
	}
	defer s.leave()
	if s.refresh == "" {
		return nil
	}
	_, err := c.send(ctx, request{method: http.MethodPost, path: "/auth/logout", body: map[string]string{"refreshToken": s.refresh}}, "", nil)
	var refused *Error
	if errors.As(err, &refused) && refused.Code == CodeInvalidToken { // it has already ended
		err = nil
	}
	if err == nil {
		s.access, s.refresh = "", ""
	}
	return err
}

// forget makes the next call renew the refused token, unless another call has done so. It
// reports whether a new token may help.
func (s *session) forget(ctx context.Context, access string) bool {
	if s.raw != "" || !s.waitTurn(ctx) {
		return false
	}
	defer s.leave()
	if s.access == access {
		s.renewAt = time.Time{}
	}
	return true
}

// staleToken reports whether the service refused the token rather than the
// call.
func staleToken(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && (refused.Code == CodeTokenExpired || refused.Code == CodeInvalidToken)
}
