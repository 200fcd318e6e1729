package payouts

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store"
)

// captured is the change of a card payment of 100 USD of the shop that is
// completed at a moment.
func captured(t *testing.T, o harness.Client, id string, at time.Time) pay.Change {
	t.Helper()
	usd := money.New(10000, money.USD)
	rate, err := money.ParseRate("1")
	harness.Must(t, err)
	p, err := pay.Create(pay.Order{
		ID: pay.PaymentPrefix + id, Scope: tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, Amount: usd, Local: usd, Rate: rate,
		Rail: acquirer.Rail{ID: "sbx_card", Method: "card", Sync: true, Limits: []acquirer.Limit{{Currency: money.USD, Min: 1, Max: 1_000_000_00}},
			Fee: money.Fee{Bps: 299, Flat: 30}},
		Country: "USA", Terms: tenant.TermsOf(tenant.Standard),
	}, at)
	harness.Must(t, err)
	routes := pay.Cascade{Routes: []pay.Route{{Provider: "sandbox-1"}}}
	p, _ = p.Begin(routes, at)
	p.Version, p.Stored = 0, "" // written as it ends
	_, change := p.Resolve(pay.Outcome{Kind: pay.Approved}, routes, at)
	for i := range change.Events {
		change.Events[i].Payload = []byte("{}")
	}
	return change
}

// A batch is claimed in many small changes, by whichever node comes first, and
// closes all the same; a payment that is written while it closes, with a time
// of before, is in the next one.
func TestLargeSettlementClosesOnceOnTwoNodes(t *testing.T) {
	t.Parallel()
	const payments = 1_200 // more than two batches of a settlement
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.Start(t, database, &harness.Clock{})
		o := s.NewShop(t)
		db, err := store.Open(ctx, database, store.Options{SealKey: s.Vault.Key("blocks")})
		harness.Must(t, err)
		defer db.Close()
		began := s.Clock.Now()
		var writers sync.WaitGroup
		ids := make(chan int)
		for range 32 {
			writers.Go(func() {
				for i := range ids {
					harness.Must(t, db.Commit(ctx, captured(t, o, fmt.Sprintf("%026d", i), began.Add(time.Duration(i)*time.Millisecond))))
				}
			})
		}
		for i := range payments {
			ids <- i
		}
		close(ids)
		writers.Wait()

		node := s
		if !strings.HasPrefix(database, "sqlite:") { // which has one node
			node = harness.Start(t, database, s.Clock)
		}
		s.Settle(t, "the settlement is open", func() bool {
			return o.Get(t, "/settlements?status=open").Text(t, "pagination.total") == "1"
		})
		s.Clock.Advance(48*time.Hour + 30*time.Second)
		closing := time.Now()
		late := make(chan error, 1)
		go func() { late <- db.Commit(ctx, captured(t, o, "9LATE", began.Add(time.Second))) }()
		var first harness.Reply
		s.Settle(t, "it is closed", func() bool {
			node.Work(t)
			first = o.Get(t, "/settlements?status=closed").Want(t, http.StatusOK)
			return first.Text(t, "pagination.total") == "1"
		})
		harness.Must(t, <-late)
		harness.Must(t, db.Commit(ctx, captured(t, o, "9OLD", began))) // stamped before the period's end, written after the closing
		t.Logf("%d lines closed in %s", payments, time.Since(closing))

		if got := o.Get(t, "/payments/TXN-9OLD").Text(t, "settlement.status"); got != "pending" {
			t.Errorf("the payment that was written late is %s", got)
		}

		s.Clock.Advance(72 * time.Hour)
		s.Settle(t, "the rest is closed", func() bool { return o.Get(t, "/me").Text(t, "balance.pending") == "0" })
		lines, net := 0, int64(0)
		list := o.Get(t, "/settlements").Want(t, http.StatusOK)
		batches, _ := list.At(t, "data")
		for i := range batches.([]any) {
			n := list.Text(t, fmt.Sprintf("data.%d.transactionCount", i))
			amount, err := money.Parse(list.Text(t, fmt.Sprintf("data.%d.netAmount", i)), money.USD)
			harness.Must(t, err)
			var count int
			_, err = fmt.Sscan(n, &count)
			harness.Must(t, err)
			lines, net = lines+count, net+amount.Minor
		}
		if lines != payments+2 || net != (payments+2)*9051 {
			t.Errorf("the settlements have %d lines of %d cents, want %d of %d: %s", lines, net, payments+2, (payments+2)*9051, list)
		}
		if got := o.Get(t, "/me").Text(t, "balance.available"); got != money.New(net, money.USD).Decimal() {
			t.Errorf("available is %s, want all of %d cents", got, net)
		}
		// Any page of its lines is as near as the first.
		id := first.Text(t, "data.0.id")
		page := o.Get(t, "/settlements/"+id+"/transactions?limit=2&offset=900").Want(t, http.StatusOK)
		if got := page.Text(t, "data.0.number") + " " + page.Text(t, "data.1.number"); got != "901 902" {
			t.Errorf("lines 901 and 902 are %s: %s", got, page)
		}
	})
}
