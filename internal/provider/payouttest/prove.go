package payouttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// prove fails the test if an outcome says more than the books do, or something that cannot
// be known.
func (b *bench) prove(t *testing.T, what string, r payouts.Request, o pay.PayoutOutcome) {
	t.Helper()
	e, found := b.entry(t, r.Reference)
	if found && (e.Times > 1 || e.Destination != r.Destination || e.Asked != r.Local) {
		t.Fatalf("%s: want %s to %s once, the books have %+v", what, r.Local, r.Destination, e)
	}
	fits := false
	switch o.Kind {
	case pay.PayoutPaid:
		fits = e.Stage == Done || e.Stage == Returned && b.suite.ReturnsUnasked != ""
	case pay.PayoutReturned:
		fits = e.Stage == Returned
	case pay.PayoutRejected, pay.PayoutUnavailable:
		fits = !found || e.Stage == Failed
	case pay.PayoutMissing:
		fits = !found
	case pay.PayoutAccepted:
		fits = found
	case pay.PayoutUnsent:
		fits = e.Stage == Open && e.Times == 0
	case pay.PayoutUnknown:
		fits = true
	}
	if !fits {
		t.Errorf("%s: it is %q (%s %s), and the books have %+v", what, o.Kind, o.Code, o.Message, e)
	}
	if o.Kind == pay.PayoutPaid && (o.ProviderRef == "" || o.Local != (money.Amount{}) && o.Local != e.Paid) {
		t.Errorf("%s: %s was paid as %q, the books have %+v", what, o.Local, o.ProviderRef, e)
	}
	if final := o.Kind == pay.PayoutRejected || o.Kind == pay.PayoutUnavailable; final && (o.Code == "" || o.Message == "") {
		t.Errorf("%s: it is %s without a reason: %q %q", what, o.Kind, o.Code, o.Message)
	}
	if o.Kind == pay.PayoutRejected && !slices.Contains(Refusals(), Behaviour(o.Code)) {
		t.Errorf("%s: it is rejected as %q, which is not a code of ours", what, o.Code)
	}
	b.discreet(t, what, b.suite.Credentials, r, o.Code, o.Message, o.ProviderRef)
}

// discreet fails the test if a text holds a secret or the provider's name.
func (b *bench) discreet(t *testing.T, what string, credentials map[string]string, r payouts.Request, texts ...string) {
	t.Helper()
	name, _, _ := strings.Cut(b.suite.Adapter.Name, "-")
	secrets := []string{"http://", "https://", r.Destination, r.Name, r.Document, r.Email, name}
	for _, f := range b.suite.Adapter.Fields {
		if !f.Public {
			secrets = append(secrets, strings.Fields(credentials[f.Name])...)
		}
	}
	for _, text := range texts {
		for _, secret := range secrets {
			if secret != "" && strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
				t.Errorf("%s: %q holds %q", what, text, secret)
			}
		}
	}
}
