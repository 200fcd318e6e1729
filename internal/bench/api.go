package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// shop is a shop during a run.
type shop struct {
	url     string // of the service
	secret  string // key
	bearer  string // of the hot path
	webhook string // id of its subscription
}

// call makes a call beside the hot path, by the secret key. got, if not nil, is read from the reply.
func (s *shop) call(ctx context.Context, method, path string, body, got any) error {
	return call(ctx, method, s.url+apiPath+path, s.secret, body, got)
}

// call makes one call of the API. It has no other parts of ours, not even the client: that is a module of its own, for
// programs of others.
func call(ctx context.Context, method, url, bearer string, body, got any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, sent)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxBody))
	if err != nil {
		return err
	}
	if reply.StatusCode < 200 || reply.StatusCode > 299 {
		return fmt.Errorf("the service replied %d: %.200s", reply.StatusCode, text)
	}
	if got == nil {
		return nil
	}
	if err := json.Unmarshal(text, got); err != nil {
		return fmt.Errorf("read %.200s: %w", text, err)
	}
	return nil
}

// total counts what a list has.
func (s *shop) total(ctx context.Context, path string) (int64, error) {
	var page struct {
		Pagination struct {
			Total int64 `json:"total"`
		} `json:"pagination"`
	}
	err := s.call(ctx, http.MethodGet, path+"?limit=1", nil, &page)
	return page.Pagination.Total, err
}
