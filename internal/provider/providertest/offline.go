package providertest

import (
	"crypto"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Offline opens an account whose calls reach the provider without a network, for fuzz
// targets: a connection for each call would take most of their time.
func Offline(t testing.TB, a provider.Adapter, credentials map[string]string, upstream http.Handler) provider.Provider {
	t.Helper()
	p, err := a.Open(provider.Account{
		ID: "acc", BaseURL: "https://upstream.test", Credentials: credentials, NotificationURL: Notifications,
		Client: &http.Client{Transport: direct{upstream}}, Now: func() time.Time { return Noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// direct calls a handler instead of a network.
type direct struct{ upstream http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.upstream.ServeHTTP(w, r)
	return w.Result(), nil
}

// Answer is a provider that answers every call with the text last written to it.
type Answer struct {
	Status int
	Body   []byte
}

// ServeHTTP implements http.Handler. A status that cannot be sent becomes 200.
func (a *Answer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	status := a.Status
	if status < 200 || status > 599 {
		status = http.StatusOK
	}
	w.WriteHeader(status)
	_, _ = w.Write(a.Body)
}

// Refused fails the test unless a notification was refused as unsigned.
func Refused(t testing.TB, list []pay.Notice, err error) {
	t.Helper()
	if !errors.Is(err, provider.ErrUnsigned) || len(list) != 0 {
		t.Errorf("it is not signed, but read: %d notices, %v", len(list), err)
	}
}

// IsSigned reports whether a header holds the Key's signature of a body, as Signed makes it.
func IsSigned(by crypto.Hash, body []byte, header string) bool {
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(header))
	sum := by.New()
	sum.Write(body)
	return err == nil && rsa.VerifyPKCS1v15(&Key().PublicKey, by, sum.Sum(nil), signature) == nil
}

// kinds are the possible results of a charge or a refund.
var kinds = []pay.OutcomeKind{pay.Approved, pay.Reversed, pay.Declined, pay.Awaiting, pay.Lapsed, pay.Unknown, pay.Missing, pay.Errored, pay.Unavailable}

// Sound fails the test if the notices of a notification cannot be right: notices beside an
// error, about no charge, or with an impossible amount.
func Sound(t testing.TB, list []pay.Notice, err error) {
	t.Helper()
	if err != nil && len(list) != 0 {
		t.Errorf("%d notices beside %v", len(list), err)
	}
	for _, n := range list {
		switch o := n.Outcome; {
		case n.ID == "" || n.Account != "acc" || len(n.Body) == 0:
			t.Errorf("it has no id, account or body: %+v", n)
		case n.Reference == "" && n.Refund == "", n.OfDispute() && n.Refund != "":
			t.Errorf("it is about no charge and no refund, or about both: %+v", n)
		case o.Local.Minor < 0 && !n.OfDispute(): // a disputed amount is compared with the payment, and may differ
			t.Errorf("money below zero: %+v", n)
		case (o.Kind == pay.Approved || o.Kind == pay.Reversed) && !o.Local.IsPositive() &&
			!((n.Refund != "" || o.Kind == pay.Reversed) && o.Local == (money.Amount{})): // the core knows how much was paid
			t.Errorf("approved without an amount: %+v", n)
		case n.OfDispute() && o.Kind != "" && !n.Dispute:
			t.Errorf("it ends a dispute and a payment: %+v", n)
		case !n.OfDispute() && !slices.Contains(kinds, o.Kind):
			t.Errorf("it reports nothing: %+v", n)
		case !written(n.DisputeID, n.Stage, n.Network, o.Decline, o.Message, o.ProviderRef):
			t.Errorf("a text that no database accepts: %+v", n)
		}
	}
}

// written reports whether a database accepts the texts.
func written(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) || strings.ContainsRune(s, 0) })
}
