package payments

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/view"
)

// One key that comes to two nodes at once makes one payment and one charge, and everybody gets the same
// reply (IDEM-1, IDEM-6).
func TestOneKeyOnTwoNodesIsOnePayment(t *testing.T) {
	n := harness.TwoNodes(t, (*harness.Clock).Now)
	there := n.Live
	there.Instance = n.B
	body := n.Live.PixOrder(t)
	harness.Eventually(t, "node b knows the rate", func() bool { return !harness.RateInUse(t, n.B, "BRL").Rate.IsZero() })
	const rounds, each = 10, 8
	for round := range rounds {
		n.Lines[0].Next("paid")
		key := fmt.Sprintf("Idempotency-Key: race-%d", round)
		replies := make([]harness.Reply, each)
		var all sync.WaitGroup
		for i := range replies {
			all.Go(func() {
				replies[i] = []harness.Client{n.Live, there}[i%2].Post(t, "/payments", body, key)
			})
		}
		all.Wait()
		first := 0
		for _, r := range replies {
			if r.Header.Get("Idempotency-Replayed") == "" {
				first++
			}
			if got, want := ownWords(r), ownWords(replies[0]); r.Status != http.StatusCreated || got != want {
				t.Errorf("of one key one is told\n%s\nand another one\n%s", want, r)
			}
		}
		if first != 1 || n.Charged() != round+1 || n.Live.Total(t, nil) != fmt.Sprint(round+1) {
			t.Fatalf("after %d keys %d replies are first ones, there are %d charges and %s payments", round+1, first, n.Charged(), n.Live.Total(t, nil))
		}
	}
}

// ownWords is a reply without what is of its request alone.
func ownWords(r harness.Reply) string {
	return strings.ReplaceAll(string(r.Body), r.Header.Get("X-Request-Id"), "req")
}

// So it is with refunds: the provider is asked once.
func TestOneKeyOnTwoNodesIsOneRefund(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	clock, log := &harness.Clock{}, &harness.Faults{}
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}, OnQuery: harness.Honest}
	b.Answer = func(provider.RefundRequest, bool) (bool, pay.Outcome) { return true, pay.Outcome{Kind: pay.Approved} }
	nodes := []*app.App{harness.Node(t, database, clock, b, log), harness.Node(t, database, clock, b, log)}
	scope, payment := harness.PaidCard(t, nodes[0])
	const rounds, each = 10, 8
	for round := range rounds {
		asked := claims.NewRefund{Payment: payment, Amount: "1", Idempotency: base.Idempotency{Route: "refund", Key: fmt.Sprint("race-", round), Hash: "h"}}
		var mu sync.Mutex // owns ids and first
		ids, first := map[string]bool{}, 0
		var all sync.WaitGroup
		for i := range each {
			all.Go(func() {
				r, replayed, err := nodes[i%2].Claims.Refund(ctx, scope, asked)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if ids[r.ID] = true; !replayed {
					first++
				}
			})
		}
		all.Wait()
		sum, refunds, calls := b.Total()
		if want := round + 1; len(ids) != 1 || first != 1 || sum != int64(100*want) || refunds != want || calls != want {
			t.Fatalf("after %d keys one has %d refunds, %d of them first; the provider has paid %d in %d refunds of %d calls", want, len(ids), first, sum, refunds, calls)
		}
	}
	harness.Sound(t, nodes[0], log)
}

// A cancel beside the news that the shopper has paid: the payment is completed and the cancel refused, or it
// is canceled and the money is late. None of it is lost or counted twice (CANCEL-1).
func TestCancelBesidePaid(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		clock, log := &harness.Clock{}, &harness.Faults{}
		clock.Freeze()
		b := newEndingTill()
		nodes := []*app.App{harness.Node(t, database, clock, b, log), harness.Node(t, database, clock, b, log)}
		defer log.Mute() // late money needs the operator
		who := harness.Acme(t, nodes[0])
		var canceled, completed int
		const rounds = 40
		for round := range rounds {
			p := voucher(t, nodes[0], who)
			notes := b.Send(sandbox.Notification{
				ID: fmt.Sprint("ntf_", round), Reference: p.Reference(1), Status: "paid", Amount: p.Price.Local.Decimal(), Currency: string(p.Price.Local.Currency),
			})
			asked := make(chan struct{})
			begin := sync.OnceFunc(func() { close(asked) })
			if round%2 == 0 {
				begin() // the news leaves together with the cancel, and otherwise when the provider is asked to end it
			}
			b.cancel = func(context.Context, provider.Request) pay.Outcome {
				begin()
				return pay.Outcome{Kind: pay.Lapsed, ProviderRef: "v1"}
			}
			var refused error
			var all sync.WaitGroup
			all.Go(func() {
				defer begin() // it may be refused before the provider is asked
				_, refused = nodes[0].Payments.Cancel(ctx, who.Scope, p.ID, view.Cause{})
			})
			all.Go(func() {
				<-asked
				for _, n := range notes {
					if err := nodes[1].Notices.Notify(ctx, "sandbox-1", n); err != nil {
						t.Errorf("the news is refused: %v", err)
					}
				}
			})
			all.Wait()
			read, err := nodes[0].Cascade.Payment(ctx, who.Scope, p.ID)
			harness.Must(t, err)
			claims, _, err := nodes[0].Claims.List(ctx, who.Scope, harness.ClaimsOf(p.ID))
			harness.Must(t, err)
			switch stray, open := read.Strays.Attention(); {
			case read.Status == pay.Completed:
				completed++
				if refusedCancel(t, refused, pay.Completed); len(claims) != 0 {
					t.Errorf("a completed payment has claims: %v", claims)
				}
			case read.Failure.Canceled():
				canceled++
				if refused != nil || len(claims) != 1 || claims[0].Kind != pay.Inquiry || !open || stray.Code != pay.LatePayment {
					t.Errorf("the cancel says %v, and the late money is kept as %v", refused, claims)
				}
			default:
				t.Errorf("canceled and paid it is %s; the cancel says %v", read, refused)
			}
			if read.Sequence != 1 && read.Sequence != 2 {
				t.Errorf("%d events tell of the payment", read.Sequence)
			}
		}
		t.Logf("%d were canceled, %d completed", canceled, completed)
		broken, err := nodes[0].Check(ctx)
		harness.Must(t, err)
		for _, b := range broken {
			t.Errorf("broken: %s", b)
		}
	})
}
