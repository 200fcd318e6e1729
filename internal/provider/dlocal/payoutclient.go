package dlocal

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/work"
)

// early is how long before its end a token is no longer used: a call with it may take that
// long.
const early = 30 * time.Second

// sender is an account that pays out. Its credentials differ from those of an account that
// takes payments, and its calls are not signed.
type sender struct {
	provider.Account
	base, id, secret, purpose string

	renewals work.Turns // one at a time; the holder of the turn owns what follows
	token    string
	until    time.Time // when to renew the token
}

// grant is the request for a token (reference: Security, Payouts v3).
type grant struct {
	Type   string `json:"grant_type"`
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
}

// bearer is the token for a call; kept means that it existed before. The outcome is set if
// there is no token, so that the call does not leave.
func (s *sender) bearer(ctx context.Context) (token string, kept bool, failed *pay.Outcome) {
	done, err := s.renewals.Lock(ctx, "")
	if err != nil {
		return "", false, &pay.Outcome{Kind: pay.Unavailable, Decline: "token_timeout"}
	}
	defer done()
	began := s.Now()
	if s.token != "" && began.Before(s.until) {
		return s.token, true, nil
	}
	s.token = ""
	token, life, reason := s.renew(ctx)
	if reason != "" {
		return "", false, &pay.Outcome{Kind: pay.Unavailable, Decline: "token_" + reason}
	}
	s.token, s.until = token, began.Add(life-early)
	return token, false, nil
}

// renew gets a token, and its lifetime counted from the request.
func (s *sender) renew(ctx context.Context) (token string, life time.Duration, reason string) {
	req, failed := provider.NewRequest(ctx, http.MethodPost, s.base+"/oauth/token", grant{"client_credentials", s.id, s.secret})
	if failed != nil {
		return "", 0, failed.Decline
	}
	req.Header.Set("User-Agent", agent)
	got, failed := provider.Do(s.Client, req)
	if failed != nil {
		return "", 0, failed.Decline
	}
	var t struct {
		Token string `json:"access_token"`
		Type  string `json:"token_type"`
		Life  int64  `json:"expires_in"` // seconds
	}
	switch answer := (reply{got}); {
	case answer.Status >= http.StatusBadRequest:
		return "", 0, provider.Refused(answer.Status).Decline
	case !answer.read(&t) || !provider.Plain(t.Token, 8192) || !strings.EqualFold(t.Type, "Bearer"):
		return "", 0, "broken_answer"
	}
	return t.Token, time.Duration(min(max(t.Life, 0), 3600)) * time.Second, ""
}

// forget drops a token unless it was replaced; "" drops any.
func (s *sender) forget(ctx context.Context, token string) {
	done, err := s.renewals.Lock(ctx, "")
	if err != nil {
		return // the next call finds out too
	}
	defer done()
	if token == "" || s.token == token {
		s.token = ""
	}
}

// refusedUs reports whether an answer rejects our credentials, which proves that nothing
// was done.
func (r reply) refusedUs() bool {
	return r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden
}

// call makes a call with a token. A kept token may be refused, because clocks differ: then
// the call is repeated with a new one.
func (s *sender) call(ctx context.Context, verb, path string, body any) (reply, *pay.Outcome) {
	for again := false; ; again = true {
		token, kept, failed := s.bearer(ctx)
		if failed != nil {
			return reply{}, failed
		}
		req, failed := provider.NewRequest(ctx, verb, s.base+path, body)
		if failed != nil {
			return reply{}, failed
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("User-Agent", agent)
		got, failed := provider.Do(s.Client, req)
		answer := reply{got}
		if failed != nil || !answer.refusedUs() {
			return answer, failed
		}
		s.forget(ctx, token)
		if !kept || again {
			return answer, nil
		}
	}
}

// presence says whether there is a payout.
type presence int

const (
	unsure presence = iota
	there
	gone
)

// find reads a payout by our reference (reference: Get payout, v3). Only dLocal's own code
// means gone: a status alone may come from a gateway.
func (s *sender) find(ctx context.Context, reference string) (payoutReply, presence) {
	answer, failed := s.call(ctx, http.MethodGet, "/payouts/v3?"+url.Values{"external_id": {reference}}.Encode(), nil)
	switch {
	case failed != nil:
		return payoutReply{}, unsure
	case answer.Status == http.StatusBadRequest && answer.code() == codeNotFound:
		return payoutReply{}, gone
	}
	if found, ok := answer.payout(reference); ok {
		return found, there
	}
	return payoutReply{}, unsure
}

// payout is the payout of an answer, false if it is not the requested one.
func (r reply) payout(reference string) (found payoutReply, ok bool) {
	ok = r.read(&found) && found.ExternalID == reference && identifier.MatchString(found.ID)
	return found, ok
}

// payoutReply is the part of dLocal's payout object that we read (reference: Notification
// parameters, v3).
type payoutReply struct {
	ID            string        `json:"id"`
	ExternalID    string        `json:"external_id"`
	Status        string        `json:"status"`
	Code          provider.Text `json:"status_code"`
	Amount        json.Number   `json:"amount"`
	Currency      string        `json:"currency"`
	CurrencyToPay string        `json:"currency_to_pay"`
	Details       struct {
		ToPay json.Number `json:"amount_to_pay"`
	} `json:"amount_details"`
}
