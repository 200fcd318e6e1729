package payouts

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func TestSettlementClosesAfterTheDelay(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		endpoint := s.Receive(t)
		secret := o.Subscribe(t, endpoint.URL, `"settlement.closed","settlement.pdf_ready"`).Text(t, "secret")
		card := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card","merchantOrderId":"=SUM(A1)"}`)
		pix := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_pix","documentId":"1"}`)
		o.Simulate(t, pix, "paid").Want(t, http.StatusOK)
		refunded := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)
		o.Simulate(t, refunded, "refunded").Want(t, http.StatusOK)
		late := o.Create(t, `{"amount":20,"paymentMethodId":"sbx_cash"}`) // a voucher waits for days

		// A settlement is open from the first payment on.
		var open harness.Reply
		o.Settle(t, "a settlement is open", func() bool {
			open = o.Get(t, "/settlements?status=open").Want(t, http.StatusOK)
			return open.Text(t, "pagination.total") == "1"
		})
		id := open.Text(t, "data.0.id")
		o.Get(t, "/settlements/"+id).Is(t, http.StatusOK, settlement(id, "open", 0, `"pdfUrl":null,"csvUrl":null`,
			`"payout":null,"periodEnd":null,"closedAt":null,"paidAt":null`, `"grossVolume":0,"fees":{"platform":0,"provider":0,"network":0,"total":0},"refunds":0,"reserveHeld":0,"reserveReleased":0,"netAmount":0`))
		harness.MoveTestClock(t, o, "47h")
		s.Work(t)
		if got := o.Get(t, "/settlements/"+id).Text(t, "status"); got != "open" {
			t.Errorf("after 47 hours the settlement is %s, want open", got)
		}
		o.Get(t, "/settlements/"+id+"/report").Refused(t, "409 conflict_state conflict_error from=open action=report")
		o.Simulate(t, late, "paid").Want(t, http.StatusOK) // too late for this settlement
		before := o.Get(t, "/me").Text(t, "balance.pending")
		harness.MoveTestClock(t, o, "2h")

		list := harness.ClosedSettlements(t, o, 1)
		if list.Text(t, "data.0.id") != id {
			t.Fatalf("the closed settlement is not %s: %s", id, list)
		}
		report := s.URL + harness.APIPath + "/settlements/" + id + "/report?format="
		o.Get(t, "/settlements/"+id).Is(t, http.StatusOK, settlement(id, "closed", 5, fmt.Sprintf(`"pdfUrl":%q,"csvUrl":%q`, report+"pdf", report+"csv"), `"payout":{"status":"owed","amount":0,"owed":136.91,"covers":[]},"periodEnd":"<time>","closedAt":"<time>","paidAt":null`,
			`"grossVolume":160,"fees":{"platform":1.8,"provider":3.79,"network":0,"total":5.59},"refunds":10,"reserveHeld":8,"reserveReleased":0.5,"netAmount":136.91`))

		// The settlement's net amount is available. The payment that came later is pending.
		me := o.Get(t, "/me")
		if got := me.Text(t, "balance.available") + " " + me.Text(t, "balance.pending") + " of " + before; got != "136.91 18.06 of 154.97" {
			t.Errorf("available and pending are %s, want 136.91 18.06 of 154.97", got)
		}
		for payment, want := range map[string]string{card: "settled", pix: "settled", refunded: "settled", late: "pending"} {
			if got := o.Get(t, "/payments/"+payment).Text(t, "settlement.status"); got != want {
				t.Errorf("the settlement of %s is %s, want %s", payment, got, want)
			}
		}
		page := o.Get(t, "/payments").Want(t, http.StatusOK)
		for i, want := range []string{"pending", "settled", "settled", "settled"} {
			if got := page.Text(t, fmt.Sprintf("data.%d.settlement.status", i)); got != want {
				t.Errorf("payment %d of the list is %s, want %s", i, got, want)
			}
		}

		// The endpoint gets settlement.closed, and then settlement.pdf_ready.
		var told []harness.Received
		harness.Eventually(t, "the endpoint has both events", func() bool { told = endpoint.Deliveries(); return len(told) >= 2 })
		slices.SortFunc(told, func(a, b harness.Received) int { return strings.Compare(a.Text("sequence"), b.Text("sequence")) })
		if harness.Types(told) != "settlement.closed settlement.pdf_ready" {
			t.Fatalf("the endpoint got %q, want settlement.closed settlement.pdf_ready", harness.Types(told))
		}
		for _, d := range told {
			d.Verify(t, s, secret)
			if d.Text("data.object.id") != id || d.Text("shopId") != o.Shop.ID || d.Text("data.object.netAmount") != "136.91" {
				t.Errorf("%s is not about this settlement: %s", d.Text("type"), d.Body)
			}
		}
		if told[0].Text("data.previous.status") != "open" || told[0].Text("data.object.pdfUrl") != "<nil>" || told[1].Text("data.object.pdfUrl") == "<nil>" {
			t.Errorf("want the receipt only in the second event:\n%s\n%s", told[0].Body, told[1].Body)
		}

		// The next settlement has what came later. The first one does not change.
		first := o.Get(t, "/settlements/"+id)
		o.Simulate(t, card, "refunded").Want(t, http.StatusOK)
		harness.MoveTestClock(t, o, "72h")
		second := harness.ClosedSettlements(t, o, 2)
		o.Settle(t, "the debt of the second settlement is set off", func() bool { return o.Get(t, "/settlements/"+id).Text(t, "payout.owed") == "64.46" })
		if r := o.Get(t, "/settlements/"+second.Text(t, "data.0.id")); r.Text(t, "payout.status") != "nothing_to_pay" || r.Text(t, "payout.covers.0.settlementId") != id {
			t.Errorf("want nothing to pay of a debt: %s", r)
		}
		if got := second.Text(t, "data.0.netAmount"); got != "-72.45" || second.Text(t, "data.0.transactionCount") != "3" {
			t.Errorf("the next settlement nets %s, want 18.06 - 90.51: %s", got, second)
		}
		after := harness.Decode(t, o.Get(t, "/settlements/"+id).Body).(map[string]any)
		was := harness.Decode(t, first.Body).(map[string]any)
		for _, key := range []string{"payout"} {
			delete(after, key)
			delete(was, key)
		}
		for _, difference := range harness.Compare("", was, after) {
			t.Errorf("the closed settlement changed: %s", difference)
		}
		me = o.Get(t, "/me")
		if got := me.Text(t, "balance.available") + " " + me.Text(t, "balance.pending"); got != "64.46 0" {
			t.Errorf("available and pending are %s, want 136.91 - 90.51 + 18.06 and 0", got)
		}
		other.Get(t, "/settlements").Is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
	})
}

// settlement returns the pattern of a settlement without disputes.
func settlement(id, status string, lines int, more ...string) string {
	return fmt.Sprintf(`{"id":%q,"status":%q,"periodStart":"<time>","currency":"USD","transactionCount":%d,"taxes":[],"chargebacks":0,"chargebackFees":0,
		"adjustments":0,"payoutId":null,"payoutReason":null,"withdrawalIds":[],"createdAt":"<time>",%s}`, id, status, lines, strings.Join(more, ","))
}

// A settlement belongs to the merchant. Each of its shops gets the event once.
func TestEveryShopIsToldOfASettlement(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		second, err := s.App.Onboarding.CreateShop(ctx, s.App.Self(), o.Merchant.ID, "Acme Two")
		harness.Must(t, err)
		two := harness.Client{Onboarded: second, Instance: s, Credential: second.Sandbox.Secret}
		ends := map[string]*harness.Receiver{o.Shop.ID: s.Receive(t), two.Shop.ID: s.Receive(t)}
		o.Subscribe(t, ends[o.Shop.ID].URL, `"settlement.closed"`)
		two.Subscribe(t, ends[two.Shop.ID].URL, `"settlement.closed"`)
		o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		two.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "48h")
		list := harness.ClosedSettlements(t, o, 1)
		if list.Text(t, "data.0.transactionCount") != "2" || list.Text(t, "data.0.netAmount") != "181.02" {
			t.Errorf("want both shops' payments in one settlement: %s", list)
		}
		two.Get(t, "/settlements/"+list.Text(t, "data.0.id")).Want(t, http.StatusOK)
		ids := map[string]bool{}
		for id, endpoint := range ends {
			got := endpoint.Await(t, 1)
			if len(got) != 1 || got[0].Text("shopId") != id || got[0].Text("sequence") != "1" {
				t.Errorf("the endpoint of the shop %s got %v, want its event once", id, harness.Types(got))
			}
			ids[got[0].Text("id")] = true
		}
		if len(ids) != 2 {
			t.Errorf("the events of two shops have the same id: %v", ids)
		}
	})
}
