package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/store"
)

// fill writes payments of many kinds over five days, some of them exactly at
// midnight, and returns them newest first.
func fill(t *testing.T, s *store.Store, random *rand.Rand) []pay.Payment {
	t.Helper()
	rails := []struct{ rail, method, country string }{
		{"r1", "pix", "BRA"}, {"r2", "card", "USA"}, {"r2", "card", "MEX"}, {"r3", "cash", "MEX"}, {"r4", "cash", "COL"},
	}
	midnight := time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC)
	var all []pay.Payment
	for i := range 120 {
		at := midnight.Add(time.Duration(random.Int64N(int64(5 * 24 * time.Hour)))).Truncate(time.Millisecond)
		if i%10 == 0 {
			at = midnight.Add(time.Duration(i%5) * 24 * time.Hour)
		}
		kind := rails[random.IntN(len(rails))]
		local := []money.Amount{money.New(13770, money.BRL), money.New(2550, money.USD), money.New(13770, money.MXN)}[random.IntN(3)]
		asked := []money.Amount{{}, money.New(13770, money.BRL), money.New(2550, money.USD), money.New(13771, money.MXN)}[random.IntN(4)]
		p, err := pay.Create(pay.Order{
			ID: id.New("TXN-", at), Scope: acme, Amount: money.New(2550+int64(i%3), money.USD),
			Buyer: pay.Buyer{Email: []string{"", "ana@example.com", "Ana@Example.com", "o'b&c+d@example.com"}[random.IntN(4)], Name: "Ana",
				Document: []string{"", "529.982.247-25", "11144477725", "GODE561231HDFRRN09"}[random.IntN(4)]}, Local: local, Asked: asked, Rate: rate(t),
			Rail:    accounts.Rail{ID: kind.rail, Method: kind.method, Limits: []accounts.Limit{{Currency: local.Currency, Min: 1, Max: 1_000_000_00}}, Window: time.Hour},
			Country: kind.country, OrderID: fmt.Sprintf("order-%d", i%7), Terms: plans.OfTier(merchants.Standard),
		}, at)
		must(t, err)
		p, change := p.Begin(routes, at)
		must(t, s.Commit(ctx, change))
		// It stays in processing, or takes one or two more steps.
		ways := [][]pay.OutcomeKind{nil, {pay.Awaiting}, {pay.Approved}, {pay.Declined}, {pay.Awaiting, pay.Approved}, {pay.Awaiting, pay.Declined}}
		for _, outcome := range ways[random.IntN(len(ways))] {
			p, err = s.Payments().Get(ctx, acme, p.ID)
			must(t, err)
			p, change = p.ApplyAnswer(pay.Outcome{Kind: outcome}, routes, at)
			must(t, s.Commit(ctx, payload(change)))
		}
		all = append(all, p)
		if i%15 == 14 { // payments of rolled-up days are created and change too
			must(t, s.RollUp(ctx, midnight.AddDate(0, 0, random.IntN(6))))
		}
	}
	slices.SortFunc(all, func(a, b pay.Payment) int { return strings.Compare(b.ID, a.ID) })
	return all
}

// Whatever the filter, a list has the payments that a check of each payment would select,
// newest first, and its total is their number.
func TestListsAndTotalsAgreeWithTheirPayments(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		random := rand.New(rand.NewPCG(1, 2))
		all := fill(t, s, random)
		pick := func(list ...string) string { return list[random.IntN(len(list))] }
		moment := func() time.Time {
			switch random.IntN(4) {
			case 0:
				return time.Time{}
			case 1:
				return time.Date(2026, 11, 17+random.IntN(8), 0, 0, 0, 0, time.UTC)
			case 2:
				return all[random.IntN(len(all))].Times.Created
			}
			return time.Date(2026, 11, 17, 0, 0, 0, 0, time.UTC).Add(time.Duration(random.Int64N(int64(7 * 24 * time.Hour))))
		}
		for range 800 {
			f := lists.PaymentFilter{Page: lists.Page{Limit: 1 + random.IntN(40)}, Span: lists.Span{From: moment(), To: moment()},
				Rail: pick("", "", "r1", "r2", "r4", "r9"), Method: pick("", "", "card", "cash"), Country: pick("", "", "MEX", "BRA"),
				Status: pay.Status(pick("", "", "completed", "failed", "processing", "pending"))}
			switch random.IntN(5) {
			case 0:
				f.After = all[random.IntN(len(all))].ID
			case 1:
				f.OrderID = pick("order-1", "order-6", "order-9")
			case 2:
				f.Offset = random.IntN(30)
			}
			f.Email = pick("", "", "", "ANA@example.com", "o'b&c+d@example.com", "nobody@example.com", "ana@example.co", "a")
			f.Document = pick("", "", "", "", "", "", "4725", "7725", "724725", "rn09", "9999", "52998224725")
			f.Amount = []money.Amount{
				{}, {}, {}, {}, money.New(2550, money.USD), money.New(2551, money.USD), money.New(9, money.USD),
				money.New(13770, money.BRL), money.New(13770, money.MXN), money.New(13771, money.MXN), money.New(2550, money.BRL),
			}[random.IntN(11)]
			total, want := expected(all, f)
			list, err := s.Payments().List(ctx, acme, f)
			must(t, err)
			var got []string
			for _, p := range list {
				got = append(got, p.ID)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%+v: got %d payments %v, want %d: %v", f, len(got), got, len(want), want)
			}
			n, err := s.Payments().Count(ctx, acme, f)
			must(t, err)
			if n != total {
				t.Fatalf("%+v: %d counted, want %d", f, n, total)
			}
		}
	})
}

// endsLike reports whether a document ends with what a filter has.
func endsLike(number, end string) bool {
	return end == "" || strings.HasSuffix(strings.ToLower(strings.NewReplacer(".", "", "-", "").Replace(number)), end)
}

// expected selects by checking each payment.
func expected(all []pay.Payment, f lists.PaymentFilter) (total int64, page []string) {
	for _, p := range all {
		if f.Status != "" && p.Status != f.Status || f.Rail != "" && p.Way.RailID != f.Rail || f.Method != "" && p.Way.Method != f.Method ||
			f.Country != "" && p.Way.Country != f.Country || f.OrderID != "" && p.Order.ID != f.OrderID ||
			f.Email != "" && !strings.EqualFold(p.Order.Buyer.Email, f.Email) || !endsLike(p.Order.Buyer.Document, f.Document) || !f.Amount.IsZero() && p.Price.Amount != f.Amount && (f.Amount.Currency == money.USD || p.Price.Local != f.Amount && p.Price.Asked != f.Amount) ||
			!f.From.IsZero() && p.Times.Created.Before(f.From.Truncate(time.Millisecond)) ||
			!f.To.IsZero() && !p.Times.Created.Before(f.To.Truncate(time.Millisecond)) {
			continue
		}
		total++
		if f.After == "" || p.ID < f.After {
			page = append(page, p.ID)
		}
	}
	page = page[min(f.Offset, len(page)):]
	if page = page[:min(f.Limit, len(page))]; len(page) == 0 {
		page = nil
	}
	return total, page
}
