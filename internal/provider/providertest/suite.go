package providertest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Suite describes an adapter. The value of each limitation names the place where the
// provider's documentation states it or leaves it open.
type Suite struct {
	Adapter     provider.Adapter
	Credentials map[string]string
	// New makes a fake provider that accepts the credentials.
	New func(t *testing.T) Fake
	// Charges has one sample for every rail of the adapter, with all data that the rail
	// requires of a buyer. The suite sets Reference, PageURL and the times.
	Charges map[string]provider.Request
	// Amounts are more samples of amounts, at the limits of the provider's units. Each is
	// charged on the rail it is under.
	Amounts map[string][]money.Amount
	// Without are the endings that the provider's documentation does not have.
	Without map[Ending]string
	// Hosted are the rails, mostly for cards, on which the shopper enters everything on the
	// provider's page: nothing is known when the call returns, and after a decline the shopper
	// may try again there until the page expires.
	Hosted map[string]string
	// Blind: the provider cannot be queried by our reference. A query repeats the call, which
	// has no second effect, and only notifications report how a charge ended.
	Blind string
	// Unsigned removes the signature from a notification that does not carry it in a header.
	Unsigned func(provider.Notification) provider.Notification
	// RefundsLater: an accepted refund is Awaiting first.
	RefundsLater bool
	// Looks reports the calls that only read, for a provider without idempotency that is
	// queried before it is charged. The faults of a charge do not affect them, and some of a
	// refund's do; for those, nil means all GET calls.
	Looks func(*http.Request) bool
	// Settles is how long the provider may fail to find a new charge or refund. The suite's
	// are that old when their absence is to be proved.
	Settles time.Duration
	// Quiet are the hosted rails whose page has no status of its own: a call never returns an
	// unknown one, and an unused page is not reported.
	Quiet map[string]string
	// Nameless: refunds have no reference of ours, so a partial refund can be identified only
	// by the provider's id. Repeated at once, or queried without it, it is unknown.
	Nameless string
	// Untold: no notification reports the result of a refund, or one does without saying of
	// which.
	Untold string
	// Bare: a notification of a dispute has no id or no amount.
	Bare string
	// KeyAlone: there is no way to find out whether a refund was made: repeated after the life
	// of its idempotency key, it is made twice. The package's own tests prove what prevents a
	// repetition.
	KeyAlone string
	// Beyond are the rails whose limits in the catalog exceed the provider's. Such a charge is
	// refused here.
	Beyond map[string]string
	// BodyUnsigned: the signature does not cover the body. Then the body must not affect the
	// notices.
	BodyUnsigned string
	// Unrefundable are the rails whose payments the provider does not refund.
	Unrefundable map[string]string
	// Uncancelable are the rails whose charges cannot be canceled.
	Uncancelable map[string]string
	// OnPage are the card rails on which the card is entered on the provider's page: no ending
	// is known when the call returns, and the first one is the last.
	OnPage map[string]string
	// Page is what the provider documents of its page for cards; nil if no rail is for cards.
	Page *CardPage
}

// Run plays the suite.
func (s Suite) Run(t *testing.T) {
	if len(s.Charges) != len(s.Adapter.Rails) {
		t.Errorf("there are %d samples for %d rails", len(s.Charges), len(s.Adapter.Rails))
	}
	t.Run("documents", s.table)
	t.Run("credentials", s.credentials)
	for _, rail := range s.Adapter.Rails {
		t.Run(rail, func(t *testing.T) {
			t.Run("charge", func(t *testing.T) { s.charge(t, rail) })
			t.Run("cancel", func(t *testing.T) { s.cancel(t, rail) })
			t.Run("endings", func(t *testing.T) { s.endings(t, rail) })
			t.Run("refund", func(t *testing.T) { s.refund(t, rail) })
			t.Run("limits", func(t *testing.T) { s.limits(t, rail) })
			t.Run("cents", func(t *testing.T) { s.cents(t, rail) })
		})
	}
	rail := s.Adapter.Rails[0]
	t.Run("faults of a charge", func(t *testing.T) { s.chargeFaults(t, rail) })
	t.Run("faults of a query", func(t *testing.T) { s.queryFaults(t, rail) })
	t.Run("faults of a refund", func(t *testing.T) { s.refundFaults(t, rail) })
	t.Run("forged notifications", func(t *testing.T) { s.forged(t, rail) })
	t.Run("a notification before the answer", func(t *testing.T) { s.early(t, rail) })
	t.Run("many at once", func(t *testing.T) { s.parallel(t, rail) })
	t.Run("a try on a page", s.page)
	t.Run("amounts", s.amounts)
	t.Run("fields of the document", s.fieldsAreDocumented)
	t.Run("a shop that is renamed", s.asStored)
	t.Run("odd texts", s.odd)
	t.Run("nothing to tell", s.bare)
	t.Run("every documented status", func(t *testing.T) { s.words(t, rail) })
}

// bench is an adapter connected to a fake upstream.
type bench struct {
	provider.Provider
	Fake
	line  *Line
	suite Suite
	t     testing.TB
}

func (s Suite) connect(t *testing.T) *bench {
	t.Helper()
	b := &bench{Fake: s.New(t), suite: s, t: t}
	b.Provider, b.line = OpenAccount[provider.Provider](t, s.Adapter, s.Credentials, b.Fake)
	return b
}

// request returns the sample of a rail with a reference.
func (s Suite) request(rail, reference string) provider.Request {
	r := Under(s.Charges[rail], rail, reference)
	r.Created, r.Sent, r.Expires = Noon.Add(-time.Hour), Noon.Add(-s.Settles), Noon.Add(24*time.Hour)
	return r
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// brief is a deadline for calls to a silent provider.
func brief(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// entry returns the one charge with a reference.
func (b *bench) entry(t *testing.T, reference string) Entry {
	t.Helper()
	var found []Entry
	for _, e := range b.Books() {
		if e.Reference == reference {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the upstream has %d charges with the reference %s, want one: %v", len(found), reference, b.Books())
	}
	return found[0]
}

func (b *bench) has(reference string) bool {
	return slices.ContainsFunc(b.Books(), func(e Entry) bool { return e.Reference == reference })
}

func want(t *testing.T, what string, o pay.Outcome, kinds ...pay.OutcomeKind) {
	t.Helper()
	if !slices.Contains(kinds, o.Kind) {
		t.Errorf("%s: the outcome is %s (%s %s %s), want %v", what, o.Kind, o.Code, o.Decline, o.Message, kinds)
	}
	if leak := strings.ToLower(o.Message); o.Message != "" && strings.Contains(leak, "http") {
		t.Errorf("%s: the message for people is %q", what, o.Message)
	}
}

// credentials checks that invalid credentials are refused before use.
func (s Suite) credentials(t *testing.T) {
	b := s.connect(t)
	for _, f := range s.Adapter.Fields {
		if f.Doc == "" {
			t.Errorf("no text says where to find %s", f.Name)
		}
		if f.Optional {
			continue
		}
		broken := map[string]string{}
		for name, value := range s.Credentials {
			if name != f.Name {
				broken[name] = value
			}
		}
		_, err := s.Adapter.Open(b.line.account(broken))
		var wrong *provider.FieldError
		if !errors.As(err, &wrong) || wrong.Field != f.Name {
			t.Errorf("without %s: %v, want an error that names it", f.Name, err)
		}
	}
	check, ok := b.Provider.(provider.Checker)
	if !ok {
		t.Fatal("the credentials cannot be checked")
	}
	if err := check.Check(within(t)); err != nil {
		t.Errorf("good credentials: %v", err)
	}
	if len(b.Books()) != 0 {
		t.Error("the check of the credentials made a charge")
	}
	b.line.Fail(ServerError)
	if err := check.Check(within(t)); err == nil {
		t.Error("the upstream is broken, and the check passes")
	}
}
