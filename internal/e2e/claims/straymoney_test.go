package claims

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// LATE-9: the shopper pays one code three times. Each money is a money of its own, in whatever state the payment is, and each
// notification may come twice. The operator gives one back by hand, one goes to the merchant, and the payment is paid once.
func TestEachMoneyOfOneCodeIsBooked(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		hook := s.Receive(t)
		o.Subscribe(t, hook.URL, `"claim.opened"`)
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		for _, money := range []string{"spei-1", "spei-1", "spei-2", "spei-1", "spei-3", "spei-2"} {
			s.Notify(t, "sandbox-1", harness.NoticeBody(id, fmt.Sprintf(`"status":"paid","amount":"183.50","currency":"MXN","money":%q`, money))).Want(t, http.StatusOK)
		}
		r := o.Get(t, "/payments/"+id)
		if got := r.Text(t, "status") + " " + r.Text(t, "attention.code") + " " + r.Text(t, "attention.amountLocal"); got != "completed paid_twice 183.5" {
			t.Errorf("the payment is %s", got)
		}
		if got := harness.Warnings(t, o); got != "unmatched_confirmation 20" {
			t.Errorf("the balance warns of %q", got)
		}
		inquiries, err := s.App.Claims.AnyList(ctx, "", pay.Inquiry, 10)
		harness.Must(t, err)
		if len(inquiries) != 2 {
			t.Fatalf("%d inquiries, want 2", len(inquiries))
		}
		before := o.Get(t, "/me").Text(t, "balance.available")
		byHand, err := s.App.Claims.Resolve(ctx, s.App.Self(), claims.Resolution{ID: inquiries[0].ID, Word: pay.Approve, Note: "sent back", ByHand: "TED 0091"})
		harness.Must(t, err)
		if byHand.Status != pay.ClaimApproved || byHand.Call.ByHand != "TED 0091" || byHand.Call.Round != 0 {
			t.Errorf("given back by hand: %s", byHand)
		}
		_, err = harness.DecideClaim(s.App, inquiries[1].ID, pay.Reject, "the shop keeps it")
		harness.Must(t, err)
		if r := o.Get(t, "/payments/"+id); r.Text(t, "attention") != "<nil>" || r.Text(t, "status") != "completed" {
			t.Errorf("after both decisions: %s", r)
		}
		if after := o.Get(t, "/me").Text(t, "balance.available"); before != "0" || after != "10" {
			t.Errorf("available was %s and is %s", before, after)
		}
	})
}

// LATE-4: a shopper pays another amount. The operator decides about that money: it goes to the merchant, back by hand, back in
// part, or it completes the payment and the rest goes back.
func TestOperatorDecidesOnMoneyOfAnotherAmount(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		pays := func(amount string) (payment string, claim pay.Claim) {
			id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
			s.Notify(t, "sandbox-1", harness.NoticeBody(id, `"status":"paid","amount":"`+amount+`","currency":"MXN"`)).Want(t, http.StatusOK)
			r := o.Get(t, "/payments/"+id)
			if r.Text(t, "status") != "pending" || r.Text(t, "attention.code") != "amount_mismatch" || r.Text(t, "attention.claimId") == "<nil>" {
				t.Fatalf("after %s: %s", amount, r)
			}
			c, err := s.App.Claims.Any(ctx, r.Text(t, "attention.claimId"))
			harness.Must(t, err)
			return id, c
		}
		decide := func(c pay.Claim, r claims.Resolution) pay.Claim {
			r.ID, r.Note = c.ID, "as the shop wishes"
			c, err := s.App.Claims.Resolve(ctx, s.App.Self(), r)
			harness.Must(t, err)
			return c
		}
		less, c := pays("165.15")
		if c.USD != 900 || c.Local.Decimal() != "165.15" {
			t.Errorf("165.15 of 183.50 are worth %d cents", c.USD)
		}
		if c = decide(c, claims.Resolution{Word: pay.Reject}); c.Status != pay.ClaimRejected || o.Status(t, less) != "pending" {
			t.Errorf("accepted: %s, the payment is %s", c, o.Status(t, less))
		}
		_, c = pays("165.15")
		if c = decide(c, claims.Resolution{Word: pay.Approve, ByHand: "SPEI 88"}); c.Status != pay.ClaimApproved {
			t.Errorf("given back by hand: %s", c)
		}
		_, c = pays("165.15")
		if c = decide(c, claims.Resolution{Word: pay.Approve, Keep: "100"}); c.Status != pay.ClaimApproved || c.Local.Decimal() != "65.15" || c.USD != 900-544 {
			t.Errorf("given back in part: %s", c)
		}
		more, c := pays("201.85")
		refused := claims.Resolution{ID: c.ID, Word: pay.Approve, Note: "x", Keep: "201.85"}
		for _, part := range []string{"201.85", "0", "x", "150"} {
			refused.Keep, refused.Complete = part, part == "150"
			if _, err := s.App.Claims.Resolve(ctx, s.App.Self(), refused); err == nil {
				t.Errorf("%s of 201.85 are kept", part)
			}
		}
		if c = decide(c, claims.Resolution{Word: pay.Approve, Keep: "183.50", Complete: true}); c.Status != pay.ClaimApproved || c.USD != 100 || o.Status(t, more) != "completed" {
			t.Errorf("completed: %s, the payment is %s", c, o.Status(t, more))
		}
		if r := o.Get(t, "/payments/"+more); r.Text(t, "attention") != "<nil>" || r.Text(t, "amountLocal") != "183.5" {
			t.Errorf("completed: %s", r)
		}
		refund := o.Post(t, "/payments/"+more+"/refund", `{}`)
		if refund.Status == http.StatusOK && refund.Text(t, "amount") != "183.5" {
			t.Errorf("its refund: %s", refund)
		}
	})
}

// secondCall is a payment by card of which the first account says that it never had it, although it has. The second account's
// call is under way when the first one notifies that it is paid.
func secondCall(t *testing.T, first *harness.Till, a, other *app.App, reached chan struct{}) (p pay.Payment, answered func()) {
	t.Helper()
	who := harness.Acme(t, a)
	var all sync.WaitGroup
	all.Go(func() {
		_, _, _ = a.Payments.Create(ctx, who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_card"})
	})
	harness.Soon(t, "the second account's call to begin", reached)
	p = only(t, other, who)
	for _, n := range first.Provider.Send(sandbox.Notification{ID: "ntf_1", Reference: p.Reference(1), Status: "paid", Amount: p.Price.Local.Decimal(), Currency: string(p.Price.Local.Currency)}) {
		harness.Must(t, other.Notices.Notify(ctx, "sandbox-1", n))
	}
	read, err := other.Cascade.Payment(ctx, p.Scope, p.ID)
	harness.Must(t, err)
	if read.Status != pay.Completed || !read.Following() {
		t.Fatalf("once the first account was paid: %s", read)
	}
	return read, all.Wait
}

// LATE-10: whatever becomes of the call, its money is found: by its answer, or by the sweep of another node.
func TestCallUnderWayIsFollowedOnceAnEarlierOneWasPaid(t *testing.T) {
	for name, c := range map[string]struct {
		answer, query pay.OutcomeKind
		claims        int
	}{
		"its answer is paid":        {pay.Approved, pay.Approved, 1},
		"the answer is lost, paid":  {pay.Unknown, pay.Approved, 1},
		"the answer is lost, never": {pay.Unknown, pay.Missing, 0},
		"declined":                  {pay.Declined, pay.Declined, 0},
		"a page that can be paid":   {pay.Awaiting, pay.Awaiting, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			first := &harness.Till{Provider: sandbox.New("sandbox-1", nil)}
			second := &harness.Till{Provider: sandbox.New("sandbox-2", nil)}
			first.OnCharge = func(context.Context, provider.Request) pay.Outcome {
				return pay.Outcome{Kind: pay.Unavailable} // it has charged, and says that it has not
			}
			first.OnQuery = func(context.Context, provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Approved} }
			reached, goOn := make(chan struct{}), make(chan struct{})
			said := func(kind pay.OutcomeKind) pay.Outcome {
				return pay.Outcome{Kind: kind, MoneyRef: "money-2", ProviderRef: "charge-2", FormURL: "https://bank.example/2"}
			}
			second.OnCharge = func(context.Context, provider.Request) pay.Outcome {
				close(reached)
				<-goOn
				return said(c.answer)
			}
			second.OnQuery = func(context.Context, provider.Request) pay.Outcome { return said(c.query) }
			node := func() *app.App {
				return harness.NodeOf(t, s.database, s.clock, s.log, func(config *app.Config) {
					config.Providers = map[string]provider.Provider{"sandbox-1": first, "sandbox-2": second}
					config.Sandbox = []string{"sandbox-1", "sandbox-2"}
				})
			}
			a, b := node(), node()
			p, answered := secondCall(t, first, a, b, reached)
			if c.answer == pay.Unknown { // its node dies
				s.sweep(t, b.Cascade.Sweep, 6, time.Minute)
			}
			close(goOn)
			answered()
			s.sweep(t, b.Cascade.Sweep, 120, 12*time.Hour)
			got, err := b.Cascade.Payment(ctx, p.Scope, p.ID)
			harness.Must(t, err)
			list, _, err := b.Claims.List(ctx, p.Scope, harness.ClaimsOf(p.ID))
			harness.Must(t, err)
			if got.Status != pay.Completed || got.Following() || len(list) != c.claims {
				t.Errorf("the payment is followed: %v, with %d claims, want %d: %s", got.Following(), len(list), c.claims, got)
			}
			if c.claims == 1 {
				stray, open := got.Strays.Attention()
				balances, err := b.Store.Books().Balances(ctx, p.Scope)
				harness.Must(t, err)
				if !open || stray.Code != pay.PaidTwice || stray.Order != 2 || balances[ledger.Suspense] != 25_50 {
					t.Errorf("the second account's money is %+v, with %d cents in suspense", stray, balances[ledger.Suspense])
				}
				s.log.Mute()
			}
			broken, err := b.Check(ctx)
			harness.Must(t, err)
			for _, x := range broken {
				t.Errorf("an invariant is broken: %s", x)
			}
		})
	}
}
