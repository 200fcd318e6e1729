package dlocal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestATokenIsSharedAndRenewedEarly(t *testing.T) {
	s, f, line, r := paying(t)
	ctx := context.Background()
	for range 3 {
		s.Query(ctx, r)
		s.Send(ctx, r)
		if f.grants != 1 {
			t.Errorf("%d tokens, want 1", f.grants)
		}
		line.Pass(49 * time.Second)
	}
	line.Pass(3 * time.Second) // it would be valid for 30 seconds more
	wantPayout(t, "the question", s.Query(ctx, r), pay.PayoutPaid, "")
	if f.grants != 2 {
		t.Errorf("%d tokens, want 2", f.grants)
	}
}

func TestManyCallsRenewATokenOnce(t *testing.T) {
	s, f, line, r := paying(t)
	for round := range 2 {
		var all sync.WaitGroup
		for n := range 20 {
			q := r
			q.Reference = fmt.Sprintf("01M7ZMANY%d", n)
			all.Go(func() { s.Query(context.Background(), q) })
		}
		all.Wait()
		if f.grants != round+1 {
			t.Errorf("round %d: %d tokens", round, f.grants)
		}
		line.Pass(time.Hour)
	}
}

func TestATokenThatIsRefusedIsRenewedOnce(t *testing.T) {
	s, f, line, r := paying(t)
	ctx := context.Background()
	s.Query(ctx, r)
	f.issued = nil // dLocal has revoked it
	wantPayout(t, "the call", s.Send(ctx, r), pay.PayoutPaid, "")
	if f.grants != 2 || len(f.Books()) != 1 {
		t.Errorf("%d tokens, the books have %+v", f.grants, f.Books())
	}
	for kind, status := range map[string]int{"kept": http.StatusForbidden, "new": http.StatusUnauthorized} {
		calls := 0
		s, _ := payouttest.OpenAccount[*sender](t, PayoutAdapter(), payoutCredentials, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			calls++
			upstream(status, `{"code":4001}`).ServeHTTP(w, q)
		}))
		if kind == "kept" {
			s.token, s.until = "old", line.Time().Add(time.Minute)
		}
		wantPayout(t, kind, s.Send(ctx, r), pay.PayoutUnavailable, "not_permitted")
		if want := map[string]int{"kept": 3, "new": 2}[kind]; calls != want {
			t.Errorf("%s: %d calls, want %d", kind, calls, want)
		}
	}
}

// While a call is refused, another one renews the token: that token is tried, once.
func TestATokenOfAnotherCallIsNotDropped(t *testing.T) {
	var s *sender
	var line *payouttest.Line
	paths := []string{}
	s, line = payouttest.OpenAccount[*sender](t, PayoutAdapter(), payoutCredentials, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		paths = append(paths, q.URL.Path)
		if len(paths) < 6 {
			s.token = fmt.Sprintf("another-%d", len(paths)) // no other call has it: this call waits for ours
		}
		upstream(http.StatusForbidden, `{"code":4001}`).ServeHTTP(w, q)
	}))
	s.token, s.until = "old", line.Time().Add(time.Minute)
	if _, state := s.find(context.Background(), "01M7ZBVYT4"); state != unsure {
		t.Errorf("the presence is %d", state)
	}
	if want := []string{"/payouts/v3", "/payouts/v3"}; !slices.Equal(paths, want) || s.token != "another-2" {
		t.Errorf("%q were called, and the token is %s", paths, s.token)
	}
}

func TestWithoutATokenNothingLeaves(t *testing.T) {
	ctx := context.Background()
	for body, ok := range map[string]bool{
		`{"access_token":"t","token_type":"Bearer","expires_in":180}`: true, `{"access_token":"t","token_type":"Bearer"}`: true,
		`{"access_token":"t","token_type":"Bearer","expires_in":-5}`: true, `{"access_token":"t","token_type":"mac","expires_in":180}`: false,
		`{"access_token":"","token_type":"Bearer","expires_in":180}`: false, `{"access_token":"a b","token_type":"Bearer","expires_in":180}`: false,
		`{"access_token":"t\nX-Evil: 1","token_type":"Bearer","expires_in":180}`: false, `{"access_token":5,"token_type":"Bearer"}`: false, `[]`: false, ``: false,
	} {
		paths := []string{}
		s, line := payouttest.OpenAccount[*sender](t, PayoutAdapter(), payoutCredentials, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			paths = append(paths, q.URL.Path)
			providertest.Says(http.StatusOK, body)(w, q)
		}))
		r := samplePayouts()["pix.BRL"]
		r.Reference, r.Calls = "01M7ZBVYT4", 1
		o := s.Send(ctx, r)
		if left := len(paths) == 2; left != ok || !ok && (o.Kind != pay.PayoutUnavailable || o.Code != "unreachable") {
			t.Errorf("%s: %v, %+v", body, paths, o)
		}
		r.Calls = 2
		wantPayout(t, body+" to a second call", s.Send(ctx, r), pay.PayoutUnknown, "")
		if kept := s.token != "" && line.Time().Before(s.until); kept != (ok && strings.Contains(body, "180")) {
			t.Errorf("%s: the token is kept: %t", body, kept)
		}
	}
}

func TestACallWaitsForATokenNotLongerThanItMay(t *testing.T) {
	s, _, line, r := paying(t)
	line.Fail(payouttest.LateBefore, 0)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			if o := s.Query(ctx, r); o.Kind != pay.PayoutUnknown || time.Since(began) > 5*time.Second {
				t.Errorf("%+v after %s", o, time.Since(began))
			}
		})
	}
	all.Wait()
}

func TestTheCheckTakesANewToken(t *testing.T) {
	s, f, _, r := paying(t)
	ctx := context.Background()
	s.Query(ctx, r)
	if err := s.Check(ctx); err != nil || f.grants != 2 || len(f.Books()) != 0 {
		t.Errorf("%v, %d tokens, the books have %+v", err, f.grants, f.Books())
	}
	wrong := map[string]string{"clientId": "c1i3nt", "clientSecret": "another", "purpose": "DIGITAL_GOODS"}
	other, _ := payouttest.OpenAccount[*sender](t, PayoutAdapter(), wrong, &payoutFake{})
	if err := other.Check(ctx); err == nil || !strings.Contains(err.Error(), "http_403") {
		t.Errorf("another secret: %v", err)
	}
	for status, body := range map[int]string{http.StatusForbidden: `{"code":4002}`, http.StatusOK: `{}`, http.StatusBadRequest: `{"code":3000}`} {
		s, _ := payouttest.OpenAccount[*sender](t, PayoutAdapter(), payoutCredentials, upstream(status, body))
		if err := s.Check(ctx); err == nil {
			t.Errorf("%d %s: the check passes", status, body)
		}
	}
}

func TestTheBalanceIsWhatIsAvailable(t *testing.T) {
	s, _, line, _ := paying(t)
	if left, err := s.Balance(context.Background()); err != nil || left != money.New(123450, money.USD) {
		t.Errorf("%s %v", left, err)
	}
	line.Fail(payouttest.ServerError, 0)
	if left, err := s.Balance(context.Background()); err == nil {
		t.Errorf("%s, want an error", left)
	}
	for body, want := range map[string]int64{`{"currency":"USD","available_balance":-5.00}`: -500, `{"currency":"USD","available_balance":0}`: 0, `{"currency":"USD","available_balance":"7.10"}`: 710} {
		s, _ := payouttest.OpenAccount[*sender](t, PayoutAdapter(), payoutCredentials, upstream(http.StatusOK, body))
		if left, err := s.Balance(context.Background()); err != nil || left != money.New(want, money.USD) {
			t.Errorf("%s: %s %v", body, left, err)
		}
	}
	for _, body := range []string{`{}`, `[]`, `{"currency":"USD"}`, `{"currency":"USX","available_balance":5}`, `{"currency":"USD","available_balance":"x"}`, `{"currency":"USD","available_balance":5.001}`} {
		s, _ := payouttest.OpenAccount[*sender](t, PayoutAdapter(), payoutCredentials, upstream(http.StatusOK, body))
		if left, err := s.Balance(context.Background()); err == nil {
			t.Errorf("%s: %s, want an error", body, left)
		}
	}
}

func TestOfANotificationOnlyItsReferenceIsRead(t *testing.T) {
	ctx := context.Background()
	s, f, line, r := paying(t)
	f.Next(payouttest.Slow)
	s.Send(ctx, r)
	says := func(text string) provider.Notification { return providertest.Notify("application/json", []byte(text)) }
	for _, text := range []string{
		`{"external_id":"01M7ZBVYT4","status":"PAID","amount":9,"currency":"BRL"}`, `{"external_id":"01M7ZBVYT4 ","status":"REJECTED"}`, `{"external_id":"01M7ZBVYT4-x","status":"PAID"}`,
		`{"external_id":"` + strings.Repeat("9", 101) + `"}`, `{}`, `null`,
	} {
		if list, err := s.Notices(ctx, says(text)); len(list) != 0 || err != nil && !errors.Is(err, provider.ErrNotOurs) {
			t.Errorf("%s: %+v %v", text, list, err)
		}
	}
	stranger := says(`{"external_id":"01M7ZBVYT4","status":"PAID"}`)
	stranger.Asks = func(context.Context, string, string) error { return provider.ErrNotOurs }
	line.Fail(payouttest.NoFault, 0)
	if _, err := s.Notices(ctx, stranger); !errors.Is(err, provider.ErrNotOurs) || line.Count() != 0 {
		t.Errorf("about a payout that the core does not know dLocal was queried %d times: %v", line.Count(), err)
	}
	line.Fail(payouttest.NoFault, 0)
	for _, text := range []string{"", `[]`, `external_id=01M7ZBVYT4`, `{"external_id":"01M7ZBVYT4","x":"` + strings.Repeat("x", maxBody) + `"}`} {
		if list, err := s.Notices(ctx, says(text)); len(list) != 0 || err == nil {
			t.Errorf("%.40s: %+v %v", text, list, err)
		}
	}
	if n := line.Count(); n != 0 {
		t.Errorf("%d calls were made for an invalid notification", n)
	}
	f.Complete(r.Reference)
	list, err := s.Notices(ctx, says(`{"external_id":"01M7ZBVYT4","status":"REJECTED","amount":9,"currency":"BRL"}`))
	if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.PayoutPaid || list[0].Outcome.Local != r.Local || list[0].ProviderRef != "PO-4-01M7ZBVYT4" {
		t.Errorf("%+v %v", list, err)
	}
}
