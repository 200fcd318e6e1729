package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// forward moves the sandbox's test clock.
func (o shop) forward(t *testing.T, by string) {
	t.Helper()
	o.post(t, "/sandbox/clock", `{"advance":"`+by+`"}`).want(t, http.StatusOK)
}

// settle lets the loops of settlements run until done says so.
func (s *service) settle(t *testing.T, what string, done func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		s.work(t)
		return done()
	})
}

// work runs each loop of settlements once.
func (s *service) work(t *testing.T) {
	t.Helper()
	for _, do := range []func() (int, error){
		func() (int, error) { return s.App.Settlements.OpenSettlements(ctx) }, func() (int, error) { return s.App.Settlements.ReleaseReserves(ctx) },
		func() (int, error) { return s.App.Settlements.CloseSettlements(ctx) }, func() (int, error) { return s.App.Settlements.Receipts(ctx) },
	} {
		_, err := do()
		must(t, err)
	}
}

// closed waits for a number of settlements that are not open and returns them,
// the newest first.
func (o shop) closed(t *testing.T, n int) reply {
	t.Helper()
	var r reply
	o.settle(t, fmt.Sprintf("%d settlements are closed, with their receipts", n), func() bool {
		r = o.get(t, "/settlements?status=closed").want(t, http.StatusOK)
		if r.text(t, "pagination.total") != fmt.Sprint(n) {
			return false
		}
		for i := range n {
			// One may be paid between the count and the rows.
			if url, listed := r.at(t, fmt.Sprintf("data.%d.pdfUrl", i)); !listed || url == nil {
				return false
			}
		}
		return true
	})
	return r
}

func TestSettlementClosesAfterTheDelay(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, other := s.shop(t), s.shop(t)
		endpoint := s.receive(t)
		secret := o.subscribe(t, endpoint.URL, `"settlement.closed","settlement.pdf_ready"`).text(t, "secret")
		card := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card","merchantOrderId":"=SUM(A1)"}`)
		pix := o.create(t, `{"amount":50,"paymentMethodId":"sbx_pix","documentId":"1"}`)
		o.simulate(t, pix, "paid").want(t, http.StatusOK)
		refunded := o.create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)
		o.simulate(t, refunded, "refunded").want(t, http.StatusOK)
		late := o.create(t, `{"amount":20,"paymentMethodId":"sbx_cash"}`) // which waits for days

		// One is open from the first payment on, and waits.
		var open reply
		o.settle(t, "a settlement is open", func() bool {
			open = o.get(t, "/settlements?status=open").want(t, http.StatusOK)
			return open.text(t, "pagination.total") == "1"
		})
		id := open.text(t, "data.0.id")
		o.get(t, "/settlements/"+id).is(t, http.StatusOK, settlement(id, "open", 0, `"pdfUrl":null,"csvUrl":null`,
			`"periodEnd":null,"closedAt":null,"paidAt":null`, `"grossVolume":0,"fees":{"platform":0,"provider":0,"network":0,"total":0},"refunds":0,"reserveHeld":0,"reserveReleased":0,"netAmount":0`))
		o.forward(t, "47h")
		s.work(t)
		if got := o.get(t, "/settlements/"+id).text(t, "status"); got != "open" {
			t.Errorf("after 47 hours the settlement is %s, want open", got)
		}
		o.get(t, "/settlements/"+id+"/report").refused(t, "409 conflict_state conflict_error from=open action=report")
		o.simulate(t, late, "paid").want(t, http.StatusOK) // too late for this one
		before := o.get(t, "/me").text(t, "balance.pending")
		o.forward(t, "2h")

		list := o.closed(t, 1)
		if list.text(t, "data.0.id") != id {
			t.Fatalf("another settlement closed than %s: %s", id, list)
		}
		report := s.URL + apiPath + "/settlements/" + id + "/report?format="
		o.get(t, "/settlements/"+id).is(t, http.StatusOK, settlement(id, "closed", 5, fmt.Sprintf(`"pdfUrl":%q,"csvUrl":%q`, report+"pdf", report+"csv"), `"periodEnd":"<time>","closedAt":"<time>","paidAt":null`,
			`"grossVolume":160,"fees":{"platform":1.8,"provider":3.79,"network":0,"total":5.59},"refunds":10,"reserveHeld":8,"reserveReleased":0.5,"netAmount":136.91`))

		// What it is worth is available; the payment that came later waits.
		me := o.get(t, "/me")
		if got := me.text(t, "balance.available") + " " + me.text(t, "balance.pending") + " of " + before; got != "136.91 18.06 of 154.97" {
			t.Errorf("available and pending are %s, want 136.91 18.06 of 154.97", got)
		}
		for payment, want := range map[string]string{card: "settled", pix: "settled", refunded: "settled", late: "pending"} {
			if got := o.get(t, "/payments/"+payment).text(t, "settlement.status"); got != want {
				t.Errorf("the settlement of %s is %s, want %s", payment, got, want)
			}
		}
		page := o.get(t, "/payments").want(t, http.StatusOK)
		for i, want := range []string{"pending", "settled", "settled", "settled"} {
			if got := page.text(t, fmt.Sprintf("data.%d.settlement.status", i)); got != want {
				t.Errorf("payment %d of the list is %s, want %s", i, got, want)
			}
		}

		// The shop is told, first of the closing and then of the receipt.
		var told []received
		eventually(t, "both events have come", func() bool { told = endpoint.deliveries(); return len(told) >= 2 })
		slices.SortFunc(told, func(a, b received) int { return strings.Compare(a.text("sequence"), b.text("sequence")) })
		if types(told) != "settlement.closed settlement.pdf_ready" {
			t.Fatalf("the endpoint was told %q", types(told))
		}
		for _, d := range told {
			d.verify(t, s, secret)
			if d.text("data.object.id") != id || d.text("shopId") != o.Shop.ID || d.text("data.object.netAmount") != "136.91" {
				t.Errorf("%s tells of something else: %s", d.text("type"), d.body)
			}
		}
		if told[0].text("data.previous.status") != "open" || told[0].text("data.object.pdfUrl") != "<nil>" || told[1].text("data.object.pdfUrl") == "<nil>" {
			t.Errorf("want the receipt in the second event alone:\n%s\n%s", told[0].body, told[1].body)
		}

		// The next day's batch takes what came later, and the first is as it was.
		first := o.get(t, "/settlements/"+id)
		o.simulate(t, card, "refunded").want(t, http.StatusOK)
		o.forward(t, "72h")
		o.settle(t, "the sandbox's bank has paid the first", func() bool { return o.get(t, "/settlements/"+id).text(t, "status") == "paid" })
		second := o.closed(t, 1)
		if got := second.text(t, "data.0.netAmount"); got != "-72.45" || second.text(t, "data.0.transactionCount") != "3" {
			t.Errorf("the next settlement nets %s, want 18.06 - 90.51: %s", got, second)
		}
		after := decode(t, o.get(t, "/settlements/"+id).body).(map[string]any)
		was := decode(t, first.body).(map[string]any)
		for _, key := range []string{"status", "paidAt"} {
			delete(after, key)
			delete(was, key)
		}
		for _, difference := range compare("", was, after) {
			t.Errorf("the closed settlement changed: %s", difference)
		}
		me = o.get(t, "/me")
		if got := me.text(t, "balance.available") + " " + me.text(t, "balance.pending"); got != "64.46 0" {
			t.Errorf("available and pending are %s, want 136.91 - 90.51 + 18.06 and 0", got)
		}
		other.get(t, "/settlements").is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
	})
}

// settlement is how the API shows one without disputes.
func settlement(id, status string, lines int, more ...string) string {
	return fmt.Sprintf(`{"id":%q,"status":%q,"periodStart":"<time>","currency":"USD","transactionCount":%d,"chargebacks":0,"chargebackFees":0,
		"adjustments":0,"payoutId":null,"payoutReason":null,"createdAt":"<time>",%s}`, id, status, lines, strings.Join(more, ","))
}

// Settlements are the merchant's: each of its shops is told, once.
func TestEveryShopIsToldOfASettlement(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		second, err := s.App.Onboarding.CreateShop(ctx, o.Merchant.ID, "Acme Two")
		must(t, err)
		two := shop{Onboarded: second, service: s, credential: second.Sandbox.Secret}
		ends := map[string]*receiver{o.Shop.ID: s.receive(t), two.Shop.ID: s.receive(t)}
		o.subscribe(t, ends[o.Shop.ID].URL, `"settlement.closed"`)
		two.subscribe(t, ends[two.Shop.ID].URL, `"settlement.closed"`)
		o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		two.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		o.forward(t, "48h")
		list := o.closed(t, 1)
		if list.text(t, "data.0.transactionCount") != "2" || list.text(t, "data.0.netAmount") != "181.02" {
			t.Errorf("want both shops' payments in one settlement: %s", list)
		}
		two.get(t, "/settlements/"+list.text(t, "data.0.id")).want(t, http.StatusOK)
		ids := map[string]bool{}
		for id, endpoint := range ends {
			got := endpoint.await(t, 1)
			if len(got) != 1 || got[0].text("shopId") != id || got[0].text("sequence") != "1" {
				t.Errorf("%s was told %v", id, types(got))
			}
			ids[got[0].text("id")] = true
		}
		if len(ids) != 2 {
			t.Errorf("two shops' events share an id: %v", ids)
		}
	})
}

// What a refund would give back of a reserve that has been released is drawn
// from what the merchant has: nobody else's reserve pays for it.
func TestRefundAfterTheReserveIsReleased(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		old := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		o.forward(t, "92d")
		o.settle(t, "it is settled and its reserve released", func() bool {
			return o.get(t, "/me").text(t, "balance.available") == "95.51"
		})
		o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		o.simulate(t, old, "refunded").want(t, http.StatusOK)
		o.get(t, "/me").is(t, http.StatusOK, profile(o, `{"available":0,"pending":90.51,"frozen":0,"reserve":5}`))
	})
}
