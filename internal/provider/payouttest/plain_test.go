package payouttest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// plain is the smallest possible adapter, for a provider that does not exist: one call pays,
// a repeated reference returns the existing payout, and notifications contain all the data.
type plain struct{ provider.Account }

type plainOrder struct {
	Reference string `json:"reference"`
	To        string `json:"to"`
	Holder    string `json:"holder"`
	Minor     int64  `json:"minor"`
	Currency  string `json:"currency"`
}

type plainPayout struct {
	ID        string `json:"id"`
	Reference string `json:"reference"`
	Status    string `json:"status"`
	Reason    string `json:"reason,omitempty"`
	Paid      int64  `json:"paid,omitempty"`
	Currency  string `json:"currency"`
	Error     string `json:"error,omitempty"`
}

func plainAdapter() provider.Adapter {
	return provider.Adapter{
		Name: "plain-payouts", Rails: []string{"spei.*"}, Needs: map[string][]pay.HolderField{"spei.MXN": {pay.HolderName}},
		Fields: []provider.Field{{Name: "apiKey", Doc: "Settings, API keys"}, {Name: "webhookSecret", Doc: "Settings, Notifications"}},
		OpenPayouts: func(a provider.Account) (payouts.Provider, error) {
			for _, name := range []string{"apiKey", "webhookSecret"} {
				if _, err := a.Credential(name, 64); err != nil {
					return nil, err
				}
			}
			return plain{a}, nil
		},
	}
}

func (p plain) call(ctx context.Context, method, path string, body any) (reply plainPayout, status int) {
	req, unsent := provider.NewRequest(ctx, method, p.BaseURL+path, body)
	if unsent != nil {
		return reply, 0
	}
	req.Header.Set("Authorization", "Bearer "+p.Credentials["apiKey"])
	answer, failed := provider.Do(p.Client, req)
	if failed != nil || json.Unmarshal(answer.Body, &reply) != nil {
		return reply, 0
	}
	return reply, answer.Status
}

func (p plain) Send(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	reply, status := p.call(ctx, http.MethodPost, "/payouts", plainOrder{r.Reference, r.Destination, r.Name, r.Local.Minor, string(r.Local.Currency)})
	switch {
	case status == http.StatusPaymentRequired && reply.Error == "no float", status == http.StatusForbidden && reply.Error == "barred":
		return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "account", Message: "the account cannot pay: " + reply.Error}
	case status != http.StatusOK || reply.Reference != r.Reference:
		return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	}
	return p.outcome(reply)
}

func (p plain) Query(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	reply, status := p.call(ctx, http.MethodGet, "/payouts/"+r.Reference, nil)
	switch {
	case status == http.StatusNotFound && reply.Error == "no such payout" && r.ProviderRef == "":
		return pay.PayoutOutcome{Kind: pay.PayoutMissing}
	case status != http.StatusOK || reply.Reference != r.Reference:
		return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	}
	return p.outcome(reply)
}

func (p plain) outcome(reply plainPayout) pay.PayoutOutcome {
	o := pay.PayoutOutcome{ProviderRef: reply.ID, Local: money.New(reply.Paid, money.Currency(reply.Currency))}
	if reply.Paid == 0 {
		o.Local = money.Amount{}
	}
	switch reply.Status {
	case "accepted":
		o.Kind = pay.PayoutAccepted
	case "paid":
		o.Kind = pay.PayoutPaid
	case "refused":
		o.Kind, o.Code, o.Message = pay.PayoutRejected, reply.Reason, "the payout was refused"
	case "returned":
		o.Kind, o.Code, o.Message = pay.PayoutReturned, "returned", "the payout came back"
	default:
		p.Strange("payout", reply.Status)
		o.Kind = pay.PayoutUnknown
	}
	return o
}

func (p plain) Notices(_ context.Context, n provider.Notification) ([]pay.PayoutNotice, error) {
	given, err := hex.DecodeString(n.Header.Get("X-Plain-Signature"))
	if err != nil || !hmac.Equal(given, providertest.MAC(sha256.New, p.Credentials["webhookSecret"], string(n.Body))) {
		return nil, provider.ErrUnsigned
	}
	var reply plainPayout
	if err := json.Unmarshal(n.Body, &reply); err != nil || reply.Reference == "" {
		return nil, err
	}
	return []pay.PayoutNotice{{ID: reply.ID + " " + reply.Status, Reference: reply.Reference, ProviderRef: reply.ID, Outcome: p.outcome(reply), Body: n.Body}}, nil
}

const plainKey, plainSecret = "key-0123456789", "hook-0123456789"

type plainFake struct{ Frame[*plainEntry] }

type plainEntry struct{ Entry }

func (e *plainEntry) json() plainPayout {
	p := plainPayout{ID: "up-" + e.Reference, Reference: e.Reference, Currency: string(e.Asked.Currency), Paid: e.Paid.Minor}
	switch p.Status = map[Stage]string{Open: "accepted", Done: "paid", Failed: "refused", Returned: "returned"}[e.Stage]; {
	case e.Why == Nonsense:
		p.Status = "sleeping"
	case e.Stage == Failed:
		p.Reason = string(e.Why)
	}
	return p
}

func (f *plainFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) {
		reference, one := strings.CutPrefix(r.URL.Path, "/payouts/")
		before, found := f.Of(reference)
		switch route := r.Method + " " + r.URL.Path; {
		case r.Header.Get("Authorization") != "Bearer "+plainKey:
			return http.StatusUnauthorized, plainPayout{Error: "who are you"}
		case route == "POST /payouts":
			return f.order(body)
		case one && found:
			return http.StatusOK, before.json()
		case one:
			return http.StatusNotFound, plainPayout{Error: "no such payout"}
		}
		f.Complain("no route %s %s", r.Method, r.URL.Path)
		return http.StatusNotFound, plainPayout{Error: "no such route"}
	})
}

func (f *plainFake) order(body []byte) (int, any) {
	var q plainOrder
	if !providertest.Strict(body, &q) || q.Minor < 1 || q.To == "" || q.Holder == "" {
		f.Complain("an order %s", body)
		return http.StatusBadRequest, plainPayout{Error: "not so"}
	}
	e, again := f.Of(q.Reference)
	switch {
	case again:
	case f.Coming == NoFloat:
		return http.StatusPaymentRequired, plainPayout{Error: "no float"}
	case f.Coming == Barred:
		return http.StatusForbidden, plainPayout{Error: "barred"}
	default:
		e = f.Enter(&plainEntry{Entry{Reference: q.Reference, Destination: q.To, Asked: money.New(q.Minor, money.Currency(q.Currency))}})
		f.Begin(e)
	}
	return http.StatusOK, e.json()
}

func plainSigned(secret string, body []byte) provider.Notification {
	return providertest.Notify("application/json", body, "X-Plain-Signature", hex.EncodeToString(providertest.MAC(sha256.New, secret, string(body))))
}

func (f *plainFake) Notify(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	return plainSigned(plainSecret, providertest.JSON(f.Must(reference).json()))
}

func (f *plainFake) Forge(reference string) map[string]provider.Notification {
	body := providertest.JSON(plainPayout{ID: "up-" + reference, Reference: reference, Status: "paid", Paid: 100, Currency: "MXN"})
	return map[string]provider.Notification{"no signature": providertest.Notify("application/json", body), "another secret": plainSigned("guessed", body)}
}

func (f *plainFake) Other() map[string]provider.Notification {
	return map[string]provider.Notification{"a trial": plainSigned(plainSecret, []byte(`{"trial":true}`))}
}

// Published implements published.Publisher.
func (*plainFake) Published() published.Table {
	str := published.String()
	shown := published.Fields{
		"id": str.Must(), "reference": str.Must(), "reason": str, "paid": published.Integer(), "currency": str.Must(),
		"status": published.Enum("accepted", "paid", "refused", "returned").Status("paid").Must(),
	}
	refused := published.Object(published.Fields{"error": str.Must()}).Open()
	key := published.Fields{"Authorization": str.Must()}
	return published.Table{
		Strange: []string{"sleeping"},
		Calls: []published.Call{
			{
				Name: "pay", Method: http.MethodPost, Path: "/payouts", Header: key, Answers: map[int]published.Value{200: published.Object(shown), 402: refused, 403: refused},
				Body: published.Object(published.Fields{"reference": str.Must(), "to": str.Must(), "holder": str.Must(), "minor": published.Integer().Must(), "currency": str.Must()}),
			},
			{Name: "ask", Method: http.MethodGet, Path: "/payouts/{reference}", Header: key, Answers: map[int]published.Value{200: published.Object(shown), 404: refused}},
		},
		Notices: []published.Notice{{Name: "news", Header: published.Fields{"X-Plain-Signature": str.Must()}, Body: published.Object(shown)}},
	}
}

func plainSuite() Suite {
	sample := payouts.Request{
		Local: money.New(45000, "MXN"), Type: pay.BankAccount, Network: "spei", Currency: "MXN", Destination: "646180157000000004",
		Beneficiary: pay.Beneficiary{Name: "Ana Gómez"},
	}
	return Suite{
		Adapter: plainAdapter(), Credentials: map[string]string{"apiKey": plainKey, "webhookSecret": plainSecret},
		New: func(*testing.T) Fake { return &plainFake{} }, Payouts: map[string]payouts.Request{"spei.*": sample},
	}
}

func TestThePlainestAdapterPasses(t *testing.T) { plainSuite().Run(t) }

// numbered is plain with a provider that can be queried only by its own id, and does not say when a call is
// a repetition.
type numbered struct{ plain }

func (n numbered) Send(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	o := n.plain.Send(ctx, r)
	if r.Calls > 1 && r.ProviderRef == "" {
		return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	}
	return o
}

func (n numbered) Query(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	if r.ProviderRef == "" {
		return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	}
	return n.plain.Query(ctx, r)
}

func TestAdapterThatQueriesOnlyByTheirIDPasses(t *testing.T) {
	s := plainSuite()
	open := s.Adapter.OpenPayouts
	s.Adapter.OpenPayouts = func(a provider.Account) (payouts.Provider, error) {
		p, err := open(a)
		if err != nil {
			return nil, err
		}
		return numbered{p.(plain)}, nil
	}
	s.Blind, s.ByIDAlone = "absence is never told", "there is no other question"
	s.Run(t)
}
