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

// Requests with one Idempotency-Key that come to two nodes at once make one payment and one charge.
// All of them get the same reply (IDEM-1, IDEM-6).
func TestOneKeyOnTwoNodesIsOnePayment(t *testing.T) {
	n := harness.TwoNodes(t, (*harness.Clock).Now)
	there := n.Live
	there.Instance = n.B
	body := n.Live.PixOrder(t)
	harness.Eventually(t, "node B knows the rate", func() bool { return !harness.RateInUse(t, n.B, "BRL").Rate.IsZero() })
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
				t.Errorf("two requests with one key get different replies:\n%s\n%s", want, r)
			}
		}
		if first != 1 || n.Charged() != round+1 || n.Live.Total(t, nil) != fmt.Sprint(round+1) {
			t.Fatalf("after %d keys there are %d charges and %s payments, and %d replies of the last key are not replays; want one for each key", round+1, n.Charged(), n.Live.Total(t, nil), first)
		}
	}
}

// ownWords returns a reply's body without its request id.
func ownWords(r harness.Reply) string {
	return strings.ReplaceAll(string(r.Body), r.Header.Get("X-Request-Id"), "req")
}

// Refund requests with one Idempotency-Key that come to two nodes at once make one refund and one
// call to the provider.
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
			t.Fatalf("after %d keys the last key has %d refunds and %d replies that are not replays; the provider paid %d in %d refunds and %d calls; want one of each for each key", want, len(ids), first, sum, refunds, calls)
		}
	}
	harness.Sound(t, nodes[0], log)
}

// A cancel and the notification that the shopper has paid come at once. Either the payment is
// completed and the cancel is refused, or it is canceled and the money is late. The money is neither
// lost nor counted twice (CANCEL-1).
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
				begin() // the notification leaves with the cancel; in odd rounds, when the provider gets the cancel
			}
			b.cancel = func(context.Context, provider.Request) pay.Outcome {
				begin()
				return pay.Outcome{Kind: pay.Lapsed, ProviderRef: "v1"}
			}
			var refused error
			var all sync.WaitGroup
			all.Go(func() {
				defer begin() // the cancel may be refused before the provider is called
				_, refused = nodes[0].Payments.Cancel(ctx, who.Scope, p.ID, view.Cause{})
			})
			all.Go(func() {
				<-asked
				for _, n := range notes {
					if err := nodes[1].Notices.Notify(ctx, "sandbox-1", n); err != nil {
						t.Errorf("the notification is refused: %v", err)
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
			case read.End.Canceled():
				canceled++
				if refused != nil || len(claims) != 1 || claims[0].Kind != pay.Inquiry || !open || stray.Code != pay.LatePayment {
					t.Errorf("the cancel returns %v and the claims are %v, want no error and one inquiry", refused, claims)
				}
			default:
				t.Errorf("the payment is %s and the cancel returns %v, want completed or canceled", read, refused)
			}
			if read.Sequence != 1 && read.Sequence != 2 {
				t.Errorf("the payment has %d events, want 1 or 2", read.Sequence)
			}
		}
		t.Logf("%d were canceled, %d completed", canceled, completed)
		broken, err := nodes[0].Check(ctx)
		harness.Must(t, err)
		for _, b := range broken {
			t.Errorf("an invariant is broken: %s", b)
		}
	})
}
