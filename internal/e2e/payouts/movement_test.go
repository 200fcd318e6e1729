package payouts

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// moves returns each movement of a reply as "type bucket amount balanceAfter".
func moves(t *testing.T, r harness.Reply) (list []string) {
	t.Helper()
	data, _ := r.At(t, "data")
	if data == nil {
		data, _ = r.At(t, "movements")
	}
	for _, item := range data.([]any) {
		m := item.(map[string]any)
		list = append(list, fmt.Sprintf("%v %v %v %v", m["type"], m["bucket"], m["amount"], m["balanceAfter"]))
	}
	return list
}

func TestMovementsTellWhatMovedTheBalance(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Get(t, "/me/balance/movements").Is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
		card := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		pix := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_pix","documentId":"1"}`)
		o.Simulate(t, pix, "paid").Want(t, http.StatusOK)
		harness.MoveTestClock(t, o, "48h")
		id := harness.ClosedSettlements(t, o, 1).Text(t, "data.0.id")

		want := []string{
			"settlement available 136.91 136.91", "settlement pending -136.91 0",
			"reserve_hold reserve 2.5 7.5", "reserve_hold pending -2.5 136.91", "fee pending -1.1 139.41", "charge pending 50 140.51",
			"reserve_hold reserve 5 5", "reserve_hold pending -5 90.51", "fee pending -4.49 95.51", "charge pending 100 100",
		}
		all := o.Get(t, "/me/balance/movements").Want(t, http.StatusOK)
		if got := moves(t, all); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("the movements are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if got := all.Text(t, "pagination.total"); got != "10" {
			t.Errorf("there are %s movements, want 10", got)
		}
		if got := moves(t, o.Get(t, "/me/balance")); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("the balance shows other movements than the list:\n%s", strings.Join(got, "\n"))
		}
		if got := all.Text(t, "data.0.settlementId"); got != id {
			t.Errorf("the settlement's movement names %s, want %s", got, id)
		}
		if got := all.Text(t, "data.9.transactionId") + " " + all.Text(t, "data.5.transactionId"); got != card+" "+pix {
			t.Errorf("the charges name %s, want %s %s", got, card, pix)
		}
		// Pages of one row show the same movements and ids as the whole list.
		seen := map[string]bool{}
		for offset := range 12 {
			page := o.Get(t, fmt.Sprintf("/me/balance/movements?limit=1&offset=%d", offset)).Want(t, http.StatusOK)
			if offset > 9 {
				page.Is(t, http.StatusOK, fmt.Sprintf(`{"data":[],"pagination":{"total":10,"limit":1,"offset":%d,"pages":10,"nextCursor":null}}`, offset))
				continue
			}
			got, key := moves(t, page)[0], page.Text(t, "data.0.id")
			if got != want[offset] || seen[key] || key != all.Text(t, fmt.Sprintf("data.%d.id", offset)) {
				t.Errorf("movement %d is %s %s, want %s", offset, key, got, want[offset])
			}
			seen[key] = true
		}
		// Other merchants and production have their own.
		for _, other := range []harness.Client{s.NewShop(t), o.Production()} {
			other.Get(t, "/me/balance/movements").Is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
		}
		o.As(o.Sandbox.Publishable).Get(t, "/me/balance/movements").Refused(t, "403 key_kind_not_allowed permission_error")
	})
}

func TestBalanceShowsTheLatestFiftyMovements(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for range 13 { // four movements each
			o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)
		}
		if got := len(moves(t, o.Get(t, "/me/balance"))); got != 50 {
			t.Errorf("the balance shows %d movements of 52, want 50", got)
		}
		last := o.Get(t, "/me/balance/movements?limit=2&offset=50").Want(t, http.StatusOK)
		if got := strings.Join(moves(t, last), ", "); got != "fee pending -0.72 9.28, charge pending 10 10" {
			t.Errorf("the oldest two movements are %s", got)
		}
	})
}

// The reserve of a day is released after 90 whole days, less what refunds gave back. The next
// settlement has the release.
func TestReserveIsReleasedAfterItsPeriod(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		// This test starts at noon, because the reserve's days begin at midnight.
		s.Clock.Advance(s.Clock.Now().Truncate(24 * time.Hour).Add(36 * time.Hour).Sub(s.Clock.Now()))
		o := s.NewShop(t)
		first := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		schedule := func() (list []string) {
			rows, _ := o.Get(t, "/me/balance").Want(t, http.StatusOK).At(t, "reserveSchedule")
			for _, row := range rows.([]any) {
				r := row.(map[string]any)
				list = append(list, fmt.Sprintf("%v %v%% %v %v", r["amount"], r["percent"], r["currency"], r["status"]))
			}
			return list
		}
		wants := func(when string, want ...string) {
			t.Helper()
			if got := schedule(); strings.Join(got, ", ") != strings.Join(want, ", ") {
				t.Errorf("%s the schedule is %v, want %v", when, got, want)
			}
		}
		wants("at first", "5 5% USD scheduled")
		for range 3 {
			harness.MoveTestClock(t, o, "24h")
			o.Create(t, `{"amount":200,"paymentMethodId":"sbx_card"}`)
		}
		wants("after four days, before any settlement,", "5 5% USD scheduled", "10 5% USD scheduled", "10 5% USD scheduled")
		// The first settlement is about to close. One that ends after the clock's jump would let the next one wait for a day.
		o.Settle(t, "a settlement is closed", func() bool { return o.Get(t, "/settlements?status=closed").Text(t, "pagination.total") != "0" })
		harness.MoveTestClock(t, o, "48h")
		o.Settle(t, "all is settled", func() bool { return o.Get(t, "/me/balance").Text(t, "balance.pending") == "0" })
		wants("once all is settled", "5 5% USD scheduled", "10 5% USD scheduled", "10 5% USD scheduled")
		o.Post(t, "/payments/"+first+"/simulate", `{"action":"refunded"}`).Want(t, http.StatusOK)
		wants("with the first refunded, not settled,", "10 5% USD scheduled", "10 5% USD scheduled", "10 5% USD scheduled")
		at := o.Get(t, "/me/balance").Text(t, "reserveSchedule.0.releaseAt")
		if !strings.HasSuffix(at, "T00:00:00.000Z") {
			t.Errorf("the release is at %s, want the beginning of a day", at)
		}

		// After 93 days, two days are released. The day of the first payment has nothing left, because the
		// payment was refunded.
		harness.MoveTestClock(t, o, "88d")
		o.Settle(t, "the reserve is 10", func() bool { return o.Get(t, "/me").Text(t, "balance.reserve") == "10" })
		wants("then", "10 5% USD scheduled")
		harness.MoveTestClock(t, o, "30d")
		o.Settle(t, "the reserve is 0", func() bool { return o.Get(t, "/me").Text(t, "balance.reserve") == "0" })
		wants("at last")
		harness.MoveTestClock(t, o, "72h")
		o.Settle(t, "the settlements have held and released a reserve of 35", func() bool {
			r := o.Get(t, "/settlements").Want(t, http.StatusOK)
			held, released := 0.0, 0.0
			rows, _ := r.At(t, "data")
			for i := range rows.([]any) {
				var h, f float64
				_, err := fmt.Sscan(r.Text(t, fmt.Sprintf("data.%d.reserveHeld", i))+" "+r.Text(t, fmt.Sprintf("data.%d.reserveReleased", i)), &h, &f)
				harness.Must(t, err)
				held, released = held+h, released+f
			}
			return held == 35 && released == 35
		})
		o.Get(t, "/me").Is(t, http.StatusOK, harness.Profile(o, `{"available":573.96,"pending":0,"frozen":0,"reserve":0}`))
	})
}

// The fee summary has only the last 90 days.
func TestFeeSummaryForgetsAfterNinetyDays(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		summary := func(when, want string) {
			t.Helper()
			r := o.Get(t, "/me/balance").Want(t, http.StatusOK)
			got, _ := r.At(t, "feeSummary")
			for _, difference := range harness.Compare("feeSummary", harness.Decode(t, []byte(want)), got) {
				t.Errorf("%s %s: %s", when, difference, r)
			}
		}
		o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "48h")
		harness.ClosedSettlements(t, o, 1)
		harness.MoveTestClock(t, o, "60d")
		o.Create(t, `{"amount":200,"paymentMethodId":"sbx_card"}`)
		both := `{"grossVolume":300,"platformFees":3.6,"processingFees":8.97,"flatFees":0.6,"chargebackFees":0,"totalFees":13.17,"netBalance":286.83}`
		summary("with both", both)
		harness.MoveTestClock(t, o, "48h")
		o.Settle(t, "the second payment is settled", func() bool { return o.Get(t, "/me").Text(t, "balance.pending") == "0" })
		summary("with both settled", both)
		harness.MoveTestClock(t, o, "29d")
		summary("without the first", `{"grossVolume":200,"platformFees":2.4,"processingFees":5.98,"flatFees":0.3,"chargebackFees":0,"totalFees":8.68,"netBalance":191.32}`)
		harness.MoveTestClock(t, o, "60d")
		summary("without both", noFees)
	})
}

// The movements have a lost dispute, its fee and a withdrawal. The next settlement has the dispute,
// but not the withdrawal.
func TestDisputesAndWithdrawalsInTheBooks(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for range 2 {
			o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		}
		harness.MoveTestClock(t, o, "48h")
		harness.ClosedSettlements(t, o, 1)
		o.Wallet(t)
		id := o.Withdraw(t, "50")
		payment, claim := o.Dispute(t, true)
		harness.RuleClaim(t, o, payment, "lost")
		got := moves(t, o.Get(t, "/me/balance/movements?limit=10"))
		for _, want := range []string{
			"charge pending 100 ", "fee pending -4.49 ", "reserve_hold pending -5 ", "reserve_hold reserve 5 ", "withdrawal available -50 ",
			"claim_freeze available -100 ", "claim_freeze frozen 100 ", "chargeback_fee available -20 ", "claim_debit frozen -100 0",
		} {
			if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, want) }) {
				t.Errorf("the movement %sis not in %v", want, got)
			}
		}
		rows, _ := o.Get(t, "/me/balance/movements").At(t, "data")
		named := map[string]string{}
		for _, row := range rows.([]any) {
			m := row.(map[string]any)
			switch m["type"] {
			case "withdrawal":
				named["withdrawal"] = fmt.Sprint(m["withdrawalId"])
			case "claim_debit":
				named["claim"] = fmt.Sprint(m["claimId"])
			}
		}
		if named["withdrawal"] != id || named["claim"] != claim {
			t.Errorf("the movements name %v, want %s and %s", named, id, claim)
		}
		harness.MoveTestClock(t, o, "72h")
		var next harness.Reply
		o.Settle(t, "the next settlement is closed", func() bool {
			next = o.Get(t, "/settlements?limit=2").Want(t, http.StatusOK)
			_, ok := next.At(t, "data.1.id")
			return ok && next.Text(t, "data.1.chargebacks") == "100"
		})
		for field, want := range map[string]string{
			"grossVolume": "100", "chargebacks": "100", "chargebackFees": "20", "refunds": "0", "reserveHeld": "5", "adjustments": "0",
			"netAmount": "-29.49", "transactionCount": "3",
		} {
			if got := next.Text(t, "data.1."+field); got != want {
				t.Errorf("%s of the settlement with the dispute is %s, want %s: %s", field, got, want, next)
			}
		}
	})
}
