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
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/store"
)

// captured returns the change that completes a card payment of 100 USD of the shop at a time.
func captured(t *testing.T, o harness.Client, id string, at time.Time) pay.Change {
	t.Helper()
	usd := money.New(10000, money.USD)
	rate, err := money.ParseRate("1")
	harness.Must(t, err)
	p, err := pay.Create(pay.Order{
		ID: pay.PaymentPrefix + id, Scope: merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, Amount: usd, Local: usd, Rate: rate,
		Rail: accounts.Rail{ID: "sbx_card", Method: "card", Sync: true, Limits: []accounts.Limit{{Currency: money.USD, Min: 1, Max: 1_000_000_00}},
			Fee: money.Fee{Bps: 299, Flat: 30}},
		Country: "USA", Terms: plans.OfTier(merchants.Standard),
	}, at)
	harness.Must(t, err)
	routes := pay.Cascade{Routes: []pay.Route{{Provider: "sandbox-1"}}}
	p, _ = p.Begin(routes, at)
	p.Version, p.Stored = 0, "" // the test writes only its last state
	_, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, at)
	for i := range change.Events {
		change.Events[i].Payload = []byte("{}")
	}
	return change
}

// Two nodes collect the lines of a large settlement in many small changes, and close it once. A
// payment that is written during the close, with an earlier time, is in this settlement or the next.
func TestLargeSettlementClosesOnceOnTwoNodes(t *testing.T) {
	t.Parallel()
	const payments = 1_200 // more lines than two changes collect
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
		if !strings.HasPrefix(database, "sqlite:") { // SQLite has one node only
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
		s.Settle(t, "the settlement is closed", func() bool {
			node.Work(t)
			first = o.Get(t, "/settlements?status=closed").Want(t, http.StatusOK)
			return first.Text(t, "pagination.total") == "1"
		})
		harness.Must(t, <-late)
		harness.Must(t, db.Commit(ctx, captured(t, o, "9OLD", began))) // its time is before the period's end, but it is written after the close
		t.Logf("a settlement of %d lines closed in %s", payments, time.Since(closing))

		if got := o.Get(t, "/payments/TXN-9OLD").Text(t, "settlement.status"); got != "pending" {
			t.Errorf("the settlement of the payment that was written late is %s, want pending", got)
		}

		s.Clock.Advance(72 * time.Hour)
		s.Settle(t, "nothing is pending", func() bool { return o.Get(t, "/me").Text(t, "balance.pending") == "0" })
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
			t.Errorf("%s USD are available, want all %d cents of the settlements", got, net)
		}
		// A later page of a settlement's lines is right too.
		id := first.Text(t, "data.0.id")
		page := o.Get(t, "/settlements/"+id+"/transactions?limit=2&offset=900").Want(t, http.StatusOK)
		if got := page.Text(t, "data.0.number") + " " + page.Text(t, "data.1.number"); got != "901 902" {
			t.Errorf("the page at offset 900 has the lines %s, want 901 902: %s", got, page)
		}
	})
}
