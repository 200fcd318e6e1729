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

// Suite is what there is to know of an adapter.
type Suite struct {
	Adapter     provider.Adapter
	Credentials map[string]string
	// New makes a fake upstream that takes the credentials.
	New func(t *testing.T) Fake
	// Charges has one sample for every rail of the adapter, with all that the
	// rail needs of a buyer. Reference, PageURL and times are the suite's.
	Charges map[string]provider.Request
	// Amounts are more samples of amounts: the edges of the provider's units. Each
	// is charged on the rail it is under.
	Amounts map[string][]money.Amount
	// Without are the endings that the provider's documentation does not have,
	// with where it says so.
	Without map[Ending]string
	// Hosted are the card rails and others on which the shopper enters everything
	// at the provider's page: nothing is known when the call returns, and whoever
	// is declined may try again there until the page expires. With where the
	// documentation says so.
	Hosted map[string]string
	// Blind says, with where the documentation leaves it out, that the provider
	// cannot be asked under our reference: a question repeats the call, which does
	// nothing twice, and only notifications tell how a charge ended.
	Blind string
	// Unsigned takes the signature out of a notification that does not carry it in
	// a header.
	Unsigned func(provider.Notification) provider.Notification
	// RefundsLater says that an accepted refund is Awaiting first.
	RefundsLater bool
	// Looks tells the calls that only look, of a provider without idempotency that
	// is asked before it is charged. The faults of a charge leave them alone, and
	// some of a refund's do; for those nil is all that are GET.
	Looks func(*http.Request) bool
	// Settles is for how long the provider may not find a new charge. The suite's
	// are that old when they are asked about.
	Settles time.Duration
	// Quiet are those of the hosted rails whose page has no status of its own, with
	// where the documentation says so: a call never returns one that is not known,
	// and nobody tells of a page that was not used.
	Quiet map[string]string
	// Nameless says where the documentation has refunds without a reference of
	// ours: which of several parts a refund is, nobody knows but by their id.
	Nameless string
	// Untold says, with where the documentation leaves it out, that no notification
	// tells what became of a refund, or that one tells of it and not of which.
	Untold string
	// Bare says, with where the documentation leaves it out, that a notification of a
	// dispute has no id or no amount of it.
	Bare string
	// KeyAlone says, with where the documentation leaves it out, that nobody can look
	// whether a refund was made: repeated after the life of its idempotency key, it
	// is made twice. The package's own tests prove what keeps it from being repeated.
	KeyAlone string
	// Beyond are the rails whose limits in the catalog the provider does not take,
	// with where the documentation says so. Such a charge is refused here.
	Beyond map[string]string
	// BodyUnsigned says where the documentation has a signature that leaves the
	// body out. The body must then make no difference to what is read.
	BodyUnsigned string
	// Unrefundable are the rails whose money does not go back this way, with
	// where the documentation says so.
	Unrefundable map[string]string
	// Uncancelable are the rails whose charges do not end on our demand, with
	// where the documentation says so.
	Uncancelable map[string]string
	// OnPage are the card rails whose card is entered on the provider's page, with
	// where the documentation says so: no ending is known when the call returns, and
	// the first one is the last.
	OnPage map[string]string
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
	t.Run("faults of a question", func(t *testing.T) { s.queryFaults(t, rail) })
	t.Run("faults of a refund", func(t *testing.T) { s.refundFaults(t, rail) })
	t.Run("forged notifications", func(t *testing.T) { s.forged(t, rail) })
	t.Run("a notification before the answer", func(t *testing.T) { s.early(t, rail) })
	t.Run("many at a time", func(t *testing.T) { s.parallel(t, rail) })
	t.Run("amounts", s.amounts)
}

// bench is an adapter connected to a fake upstream.
type bench struct {
	provider.Provider
	Fake
	line  *Line
	suite Suite
}

func (s Suite) connect(t *testing.T) *bench {
	t.Helper()
	b := &bench{Fake: s.New(t), suite: s}
	b.Provider, b.line = OpenAccount[provider.Provider](t, s.Adapter, s.Credentials, b.Fake)
	return b
}

// request is the sample of a rail under a reference.
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

// brief is a deadline for calls to an upstream that hangs.
func brief(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// entry is the one charge under a reference.
func (b *bench) entry(t *testing.T, reference string) Entry {
	t.Helper()
	var found []Entry
	for _, e := range b.Books() {
		if e.Reference == reference {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the upstream has %d charges under %s, want one: %v", len(found), reference, b.Books())
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

// credentials checks that what cannot work is refused before it is used.
func (s Suite) credentials(t *testing.T) {
	b := s.connect(t)
	for _, f := range s.Adapter.Fields {
		if f.Doc == "" {
			t.Errorf("nobody says where to find %s", f.Name)
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
		t.Error("the upstream is broken, and the check says all is well")
	}
}
