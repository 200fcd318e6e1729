package payouts

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

func TestSettlementReportsAgree(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		merchant, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{
			Name: "Peluquería Ñandú", Email: "hola@nandu.example", Tier: merchants.Standard, Language: merchants.Spanish, RefundFees: merchants.FeesReturned,
		})
		harness.Must(t, err)
		o := harness.Client{Onboarded: merchant, Instance: s, Credential: merchant.Sandbox.Secret}
		card := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card","merchantOrderId":"=cmd|' /C calc'!A0"}`)
		pix := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_pix","documentId":"1","merchantOrderId":"Ñandú, \"dos\"; líneas"}`)
		o.Simulate(t, pix, "paid").Want(t, http.StatusOK)
		o.Simulate(t, pix, "refunded").Want(t, http.StatusOK)
		harness.MoveTestClock(t, o, "48h")
		id := harness.ClosedSettlements(t, o, 1).Text(t, "data.0.id")
		path := "/settlements/" + id

		lines := o.Get(t, path+"/transactions").Want(t, http.StatusOK)
		for i, want := range []string{
			fmt.Sprintf(`{"number":1,"type":"charge","transactionId":%q,"claimId":null,"merchantOrderId":"=cmd|' /C calc'!A0","amountLocal":100,
				"currencyLocal":"USD","amount":100,"fees":{"platform":1.2,"provider":3.29,"network":0,"total":4.49},"chargebackFee":0,"reserve":5,
				"adjustment":0,"netAmount":90.51,"createdAt":"<time>"}`, card),
			fmt.Sprintf(`{"number":2,"type":"charge","transactionId":%q,"claimId":null,"merchantOrderId":"Ñandú, \"dos\"; líneas","amountLocal":270,
				"currencyLocal":"BRL","amount":50,"fees":{"platform":0.6,"provider":0.5,"network":0,"total":1.1},"chargebackFee":0,"reserve":2.5,
				"adjustment":0,"netAmount":46.4,"createdAt":"<time>"}`, pix),
			fmt.Sprintf(`{"number":3,"type":"reserve_release","transactionId":%q,"claimId":"<claim>","merchantOrderId":"Ñandú, \"dos\"; líneas","amountLocal":270,
				"currencyLocal":"BRL","amount":0,"fees":{"platform":0,"provider":0,"network":0,"total":0},"chargebackFee":0,"reserve":-2.5,
				"adjustment":0,"netAmount":2.5,"createdAt":"<time>"}`, pix),
			fmt.Sprintf(`{"number":4,"type":"refund","transactionId":%q,"claimId":"<claim>","merchantOrderId":"Ñandú, \"dos\"; líneas","amountLocal":270,
				"currencyLocal":"BRL","amount":-50,"fees":{"platform":-0.6,"provider":-0.5,"network":0,"total":-1.1},"chargebackFee":0,"reserve":0,
				"adjustment":0,"netAmount":-48.9,"createdAt":"<time>"}`, pix),
		} {
			got, _ := lines.At(t, fmt.Sprintf("data.%d", i))
			for _, difference := range harness.Compare(fmt.Sprintf("line %d", i+1), harness.Decode(t, []byte(want)), got) {
				t.Errorf("%s: %s", difference, lines)
			}
		}
		page := o.Get(t, path+"/transactions?limit=1&offset=3").Want(t, http.StatusOK)
		if page.Text(t, "data.0.number") != "4" || page.Text(t, "pagination.total") != "4" || page.Text(t, "pagination.pages") != "4" {
			t.Errorf("the fourth line is not on the fourth page: %s", page)
		}

		// The JSON report has the settlement and the same lines.
		header, text := harness.ReportFile(t, o, path+"/report?format=json")
		whole, _ := harness.Decode(t, text).(map[string]any)
		for _, difference := range harness.Compare("settlement", harness.Decode(t, o.Get(t, path).Body), whole["settlement"]) {
			t.Errorf("the JSON report differs from the settlement: %s", difference)
		}
		rows, _ := lines.At(t, "data")
		for _, difference := range harness.Compare("transactions", rows, whole["transactions"]) {
			t.Errorf("the JSON report differs from the transactions: %s", difference)
		}
		harness.Must(t, s.Spec.Follow(text, "paths", "/settlements/{id}/report", "get", "responses", "200", "content", "application/json", "schema"))
		if got := header.Get("Content-Type") + " " + header.Get("Content-Disposition"); got != `application/json attachment; filename="`+id+`.json"` {
			t.Errorf("the JSON report has the headers %s", got)
		}

		// The CSV report is in the merchant's language, its sum is right, and it has no formula that a
		// spreadsheet would run.
		header, text = harness.ReportFile(t, o, path+"/report?format=csv")
		if got := header.Get("Content-Type") + " " + header.Get("Content-Disposition"); got != `text/csv; charset=utf-8 attachment; filename="`+id+`.csv"` {
			t.Errorf("the CSV report has the headers %s", got)
		}
		_, sheet := harness.ReportFile(t, o, path+"/report?format=csv&decimal=comma")
		if !strings.HasPrefix(string(sheet), "\ufeffN") || !strings.Contains(string(sheet), ";BRL;50;0,6;0,5;") {
			t.Errorf("the report for a spreadsheet is\n%s", sheet)
		}
		table, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || len(table) != 5 || table[0][3] != "Transacción" || table[1][2] != "Cobro" || table[4][2] != "Reembolso" {
			t.Fatalf("the CSV report is (%v)\n%s", err, text)
		}
		net := money.New(0, money.USD)
		for _, row := range table[1:] {
			amount, err := money.Parse(row[15], money.USD)
			harness.Must(t, err)
			net = net.Add(amount)
		}
		if net.Decimal() != "90.51" || table[1][4] != "'=cmd|' /C calc'!A0" || table[2][4] != "Ñandú, \"dos\"; líneas" {
			t.Errorf("the sum of the report is %s, want 90.51; the orders are %q and %q", net, table[1][4], table[2][4])
		}

		// The PDF never changes. It is the default format.
		header, pdf := harness.ReportFile(t, o, path+"/report?format=pdf")
		if header.Get("Content-Type") != "application/pdf" || header.Get("Content-Disposition") != `attachment; filename="`+id+`.pdf"` || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
			t.Errorf("the receipt has the headers %v and %d bytes, want a PDF", header, len(pdf))
		}
		s.Clock.Advance(time.Hour)
		if _, again := harness.ReportFile(t, o, path+"/report"); !bytes.Equal(pdf, again) {
			t.Error("an hour later the receipt is another file")
		}
	})
}

func TestSettlementsAreTheirMerchantsAlone(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "48h")
		id := harness.ClosedSettlements(t, o, 1).Text(t, "data.0.id")
		for name, other := range map[string]harness.Client{"another merchant": s.NewShop(t), "production": o.Production()} {
			for _, path := range []string{"", "/transactions", "/report?format=csv", "/report?format=pdf", "/report?format=json"} {
				r := other.Get(t, "/settlements/"+id+path)
				if got := r.Problem(t); got != "404 settlement_not_found invalid_request_error" {
					t.Errorf("%s gets %s, want settlement_not_found: %s", name, got, r)
				}
			}
			if got := other.Get(t, "/settlements").Text(t, "pagination.total"); got != "0" {
				t.Errorf("%s sees %s settlements, want none", name, got)
			}
		}
		o.Whole(t, false).Get(t, "/settlements/"+id).Want(t, http.StatusOK) // a settlement belongs to the merchant, as its balance does
		for _, path := range []string{"/settlements/STL-NOBODY", "/settlements/%00", "/settlements/TXN-1/transactions", "/settlements/x/report"} {
			o.Get(t, path).Refused(t, "404 settlement_not_found invalid_request_error")
		}
		o.As(o.Sandbox.Publishable).Get(t, "/settlements").Refused(t, "403 key_kind_not_allowed permission_error")
		for query, want := range map[string]string{
			"status=gone": "400 invalid_request invalid_request_error param=status issues=status",
			"from=soon":   "400 invalid_request invalid_request_error param=from issues=from",
			"to=x&from=y": "400 invalid_request invalid_request_error param=from issues=from,to",
			"limit=x":     "400 invalid_request invalid_request_error param=limit issues=limit",
		} {
			o.Get(t, "/settlements?"+query).Refused(t, want)
		}
		o.Get(t, "/settlements/"+id+"/report?format=xls").Refused(t, "400 invalid_request invalid_request_error param=format issues=format")

		// Filters and pages.
		created := o.Get(t, "/settlements/"+id).Text(t, "createdAt")
		for query, want := range map[string]string{
			"": "2", "status=closed": "1", "status=open": "1", "status=paid": "0",
			"from=" + created: "2", "to=" + created: "0", "from=2099-01-01": "0", "from=" + created[:10] + "&to=2099-01-01": "2",
		} {
			r := o.Get(t, "/settlements?limit=1&"+query).Want(t, http.StatusOK)
			if got := r.Text(t, "pagination.total"); got != want {
				t.Errorf("%q selects %s, want %s: %s", query, got, want, r)
			}
		}
		newest := o.Get(t, "/settlements?limit=1").Want(t, http.StatusOK)
		if older := o.Get(t, "/settlements?limit=1&offset=1"); newest.Text(t, "data.0.status") != "open" || older.Text(t, "data.0.id") != id {
			t.Errorf("want the newest first: %s %s", newest, older)
		}
	})
}

func TestSettlementIsPaidOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		var open string
		o.Settle(t, "a settlement is open", func() bool {
			r := o.Get(t, "/settlements")
			if r.Text(t, "pagination.total") != "1" {
				return false
			}
			open = r.Text(t, "data.0.id")
			return true
		})
		simulate := func(by harness.Client, id, action string) harness.Reply {
			return by.Post(t, "/settlements/"+id+"/simulate", `{"action":"`+action+`"}`)
		}
		simulate(o, open, "paid").Refused(t, "409 conflict_state conflict_error from=open action=paid")
		harness.MoveTestClock(t, o, "48h")
		harness.ClosedSettlements(t, o, 1)
		simulate(o, open, "closed").Refused(t, "400 invalid_request invalid_request_error param=action issues=action")
		simulate(s.NewShop(t), open, "paid").Refused(t, "404 settlement_not_found invalid_request_error")
		simulate(o.Production(), open, "paid").Refused(t, "400 production_key_refused invalid_request_error")
		simulate(o, open, "paid").Refused(t, "400 missing_field invalid_request_error param=walletId missing=walletId")
		o.Wallet(t)
		paid := simulate(o, open, "paid").Want(t, http.StatusOK)
		if paid.Text(t, "status") != "paid" || paid.Text(t, "paidAt") == "<nil>" || paid.Text(t, "payout.status") != "paid" || paid.Text(t, "payout.amount") != paid.Text(t, "netAmount") {
			t.Errorf("want the settlement paid, with the time and the payout: %s", paid)
		}
		w := o.Get(t, "/withdrawals/"+paid.Text(t, "withdrawalIds.0")).Want(t, http.StatusOK)
		if w.Text(t, "status") != "completed" || w.Text(t, "amount") != paid.Text(t, "netAmount") || w.Text(t, "feeUsd") != "0" || w.Text(t, "covers.0.settlementId") != open {
			t.Errorf("want a completed withdrawal of the net: %s", w)
		}
		simulate(o, open, "paid").Refused(t, "409 settlement_already_paid conflict_error")
		if _, _, err := s.App.Payouts.PaySettlement(ctx, carla, payouts.HandPayment{Settlement: open, Reference: "TED 1"}); err == nil || !strings.Contains(message.Sentence(err), "settlement_already_paid") {
			t.Errorf("a second payment by the operator returns %v, want settlement_already_paid", err)
		}
		if after := o.Get(t, "/me").Text(t, "balance.available"); after != "0" {
			t.Errorf("available is %s, want 0: what was paid is not there any more", after)
		}
		if got := o.Get(t, "/payments/"+payment).Text(t, "settlement.status"); got != "paid" {
			t.Errorf("the payment's settlement is %s, want paid", got)
		}
		o.Fund(t, false, 200_00)
		o.Simulate(t, payment, "refunded").Want(t, http.StatusOK)
		harness.Eventually(t, "payment.refunded has the settlement's status paid", func() bool {
			for _, d := range endpoint.Deliveries() {
				if d.Text("type") == "payment.refunded" {
					return d.Text("data.object.settlement.status") == "paid"
				}
			}
			return false
		})
	})
}
