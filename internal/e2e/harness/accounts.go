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

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// OpenAccount opens a production account for all merchants at an upstream that accepts key-1. Its
// webhook secret is id + "-hush". more changes the account before it is opened.
func (s *Instance) OpenAccount(t *testing.T, id string, u *providertest.Upstream, more ...func(*appaccounts.NewAccount)) {
	t.Helper()
	n := appaccounts.NewAccount{
		ID: id, Adapter: "plain", Live: true, BaseURL: u.URL, Priority: accounts.DefaultPriority,
		Credentials: map[string]string{"apiKey": "key-1", "webhookSecret": id + "-hush"},
	}
	for _, change := range more {
		change(&n)
	}
	_, err := s.App.Accounts.Add(ctx, s.App.Self(), n)
	Must(t, err)
}

// TellUpstream sends the upstream's notification that an attempt of a payment has a status. It is
// signed with the secret. Attempts are numbered from 1.
func (s *Instance) TellUpstream(t *testing.T, u *providertest.Upstream, payment string, attempt int, status, secret string) Reply {
	t.Helper()
	address, signature, body := u.Notify(fmt.Sprintf("%s-%d", strings.TrimPrefix(payment, "TXN-"), attempt), status, secret)
	return KnockAt(t, s, strings.TrimPrefix(address, s.URL), signature, body)
}

// KnockAt sends a notification of the plain provider to a path of the service, without credentials.
func KnockAt(t *testing.T, s *Instance, path, signature string, body []byte) Reply {
	t.Helper()
	return s.Send(t, Request{Method: http.MethodPost, Path: path, Body: string(body), Header: http.Header{
		"Content-Type": {"application/json"}, providertest.PlainSignature: {signature},
	}})
}

// Upstream sets the fault of every simulated provider: one fault for each, in the cascade's order.
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

// serial gives each notification its own id: the service applies an id only once.
var serial atomic.Int64

// NoticeBody returns the body of a simulated provider's notification about a payment's first attempt.
// fields is JSON without braces. If it has no id, the notification gets a new one.
func NoticeBody(payment, fields string) string {
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

// Sign returns the signature that the account's provider would send with a body.
func (s *Instance) Sign(account, body string) string {
	mac := hmac.New(sha256.New, s.Vault.Key("provider/"+account))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// Deliver sends a notification of a simulated provider. An empty signature is not sent.
func (s *Instance) Deliver(t *testing.T, account, body, signature string) Reply {
	t.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	if signature != "" {
		header.Set("X-Sandbox-Signature", signature)
	}
	return s.Send(t, Request{Method: http.MethodPost, Path: APIPath + "/providers/" + account + "/notifications", Body: body, Header: header})
}

// Warnings lists the balance's warnings: "code amountUsd, code amountUsd".
func Warnings(t *testing.T, o Client) string {
	t.Helper()
	list, _ := o.Get(t, "/me/balance").Want(t, http.StatusOK).At(t, "ledgerWarnings")
	var codes []string
	for _, w := range list.([]any) {
		codes = append(codes, fmt.Sprint(w.(map[string]any)["code"], " ", w.(map[string]any)["amountUsd"]))
	}
	return strings.Join(codes, ", ")
}

// Paid50 is the fields of a NoticeBody: 183.50 MXN is paid, which is 10 USD at the tests' rate.
const Paid50 = `"status":"paid","amount":"183.5","currency":"MXN"`

// RateInUse returns a currency's rate as the operator sees it. It is zero if no rate is known.
func RateInUse(t *testing.T, s *Instance, currency money.Currency) (q rates.KnownRate) {
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

// OpenPixAndSPEI opens a production account that accepts Pix and SPEI, so that sessions have a
// method to offer. Nothing listens at its address. leaves disables the account.
func OpenPixAndSPEI(t *testing.T, s *Instance) (leaves func()) {
	t.Helper()
	_, err := s.App.Accounts.Add(ctx, s.App.Self(), appaccounts.NewAccount{
		ID: "somebody", Adapter: "stripe", Live: true, BaseURL: "http://127.0.0.1:1", Rails: []string{"pix.BRA", "spei.MEX"}, Priority: accounts.DefaultPriority,
		Credentials: map[string]string{"secretKey": "sk_live_none", "webhookSecret": "whsec_nobody-has-this-one"},
	})
	Must(t, err)
	return func() {
		_, err := s.App.Accounts.Enable(ctx, s.App.Self(), "somebody", false)
		Must(t, err)
	}
}
