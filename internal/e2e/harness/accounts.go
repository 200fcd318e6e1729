package harness

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// OpenAccount opens one at an upstream that knows key-1, for production and all
// merchants unless more says otherwise.
func (s *Instance) OpenAccount(t *testing.T, id string, u *providertest.Upstream, more ...func(*acquiring.NewAccount)) {
	t.Helper()
	n := acquiring.NewAccount{
		ID: id, Adapter: "plain", Live: true, BaseURL: u.URL, Priority: acquirer.DefaultPriority,
		Credentials: map[string]string{"apiKey": "key-1", "webhookSecret": id + "-hush"},
	}
	for _, change := range more {
		change(&n)
	}
	_, err := s.App.Accounts.Add(ctx, s.App.Self(), n)
	Must(t, err)
}

// TellUpstream sends what the upstream tells of a payment's attempt.
func (s *Instance) TellUpstream(t *testing.T, u *providertest.Upstream, payment string, attempt int, status, secret string) Reply {
	t.Helper()
	address, signature, body := u.Notify(fmt.Sprintf("%s-%d", strings.TrimPrefix(payment, "TXN-"), attempt), status, secret)
	return KnockAt(t, s, strings.TrimPrefix(address, s.URL), signature, body)
}

// KnockAt sends a notification to an address of the service.
func KnockAt(t *testing.T, s *Instance, path, signature string, body []byte) Reply {
	t.Helper()
	return s.Send(t, Request{Method: http.MethodPost, Path: path, Body: string(body), Header: http.Header{
		"Content-Type": {"application/json"}, providertest.PlainSignature: {signature},
	}})
}

// Upstream makes the simulated providers misbehave, in the cascade's order.
func (s *Instance) Upstream(t *testing.T, faults ...sandbox.Fault) {
	t.Helper()
	for i, account := range sandbox.Accounts() {
		p, ok := s.App.Config.Providers[account].(*sandbox.Provider)
		if !ok {
			t.Fatalf("%s is not a simulated provider", account)
		}
		Must(t, p.SetFault(faults[i]))
	}
}

// serial numbers the notifications of all tests: each has an id of its own.
var serial atomic.Int64

// Note is a simulated provider's notification about a payment's first attempt.
// It has an id unless the fields name one.
func Note(payment, fields string) string {
	id := ""
	if !strings.Contains(fields, `"id"`) {
		id = fmt.Sprintf(`"id":"n%d",`, serial.Add(1))
	}
	return fmt.Sprintf(`{%s"reference":"%s-1",%s}`, id, strings.TrimPrefix(payment, "TXN-"), fields)
}

// Notify sends a notification that the account's provider signed.
func (s *Instance) Notify(t *testing.T, account, body string) Reply {
	t.Helper()
	return s.Deliver(t, account, body, s.Sign(account, body))
}

// Sign returns what the account's provider signs a body with.
func (s *Instance) Sign(account, body string) string {
	mac := hmac.New(sha256.New, s.Vault.Key("provider/"+account))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// Deliver sends a notification of the sandbox, signed or not.
func (s *Instance) Deliver(t *testing.T, account, body, signature string) Reply {
	t.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	if signature != "" {
		header.Set("X-Sandbox-Signature", signature)
	}
	return s.Send(t, Request{Method: http.MethodPost, Path: APIPath + "/providers/" + account + "/notifications", Body: body, Header: header})
}

// Warnings lists the codes of the balance's warnings.
func Warnings(t *testing.T, o Client) string {
	t.Helper()
	list, _ := o.Get(t, "/me/balance").Want(t, http.StatusOK).At(t, "ledgerWarnings")
	var codes []string
	for _, w := range list.([]any) {
		codes = append(codes, fmt.Sprint(w.(map[string]any)["code"], " ", w.(map[string]any)["amountUsd"]))
	}
	return strings.Join(codes, ", ")
}

const Paid50 = `"status":"paid","amount":"183.5","currency":"MXN"` // 10 USD

// RateInUse reads what the operator sees of a currency.
func RateInUse(t *testing.T, s *Instance, currency money.Currency) (q pay.KnownRate) {
	t.Helper()
	list, err := s.App.Rates.RateList(ctx)
	Must(t, err)
	for _, r := range list {
		if r.Currency == currency {
			q = r.KnownRate
		}
	}
	return q
}

// TakePixAndSPEI opens an account that takes Pix and SPEI in production, for sessions that somebody could
// pay; leaves ends it.
func TakePixAndSPEI(t *testing.T, s *Instance) (leaves func()) {
	t.Helper()
	_, err := s.App.Accounts.Add(ctx, s.App.Self(), acquiring.NewAccount{
		ID: "somebody", Adapter: "stripe", Live: true, BaseURL: "http://127.0.0.1:1", Rails: []string{"pix.BRA", "spei.MEX"}, Priority: acquirer.DefaultPriority,
		Credentials: map[string]string{"secretKey": "sk_live_none", "webhookSecret": "whsec_none"},
	})
	Must(t, err)
	return func() {
		_, err := s.App.Accounts.Enable(ctx, s.App.Self(), "somebody", false)
		Must(t, err)
	}
}
