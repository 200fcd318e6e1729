package payouts

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

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

// The movements name a lost dispute, its fee and a withdrawal (BAL-5); the schedule has what is held back of each day (BAL-4).
func TestMovementsNameDisputesAndWithdrawals(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for range 2 {
			o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		}
		schedule := o.Get(t, "/me/balance").Want(t, http.StatusOK)
		for field, want := range map[string]string{"amount": "10", "currency": "USD", "percent": "5", "status": "scheduled"} {
			if got := schedule.Text(t, "reserveSchedule.0."+field); got != want {
				t.Errorf("%s of the reserve's release is %s, want %s", field, got, want)
			}
		}
		if at := schedule.Text(t, "reserveSchedule.0.releaseAt"); !strings.HasSuffix(at, "T00:00:00.000Z") {
			t.Errorf("the release is at %s, want the beginning of a day", at)
		}
		harness.MoveTestClock(t, o, "48h")
		harness.ClosedSettlements(t, o, 1)
		o.Wallet(t)
		id := o.Withdraw(t, "50")
		payment, claim := o.Dispute(t, true)
		harness.RuleClaim(t, o, payment, "lost")
		got := moves(t, o.Get(t, "/me/balance/movements?limit=10"))
		for _, want := range []string{
			"withdrawal available -50 ", "claim_freeze available -100 ", "claim_freeze frozen 100 ", "chargeback_fee available -20 ", "claim_debit frozen -100 0",
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
	})
}
