package adyen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	priceplans "github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// books is a card payment of 1,234.00 BRL, its claims, and what the core does with notices about it.
type books struct {
	*bench
	t      *testing.T
	p      pay.Payment
	routes pay.Cascade
	claims []pay.Claim
	ids    int
}

func book(t *testing.T) *books {
	t.Helper()
	b := &books{bench: connect(t), t: t}
	r := request("card.BRA", "")
	b.routes = pay.Cascade{Routes: []pay.Route{{Provider: "acc"}}}
	rail := accounts.Rail{ID: "1001", Key: r.Rail, Method: "card", Country: r.Country, Window: 24 * 3600e9,
		Limits: []accounts.Limit{{Currency: r.Local.Currency, Min: 1, Max: 1 << 50}}}
	rate, err := money.ParseRate("5")
	if err != nil {
		t.Fatal(err)
	}
	p, err := pay.Create(pay.Order{ID: "TXN-01M7ZBOOKS", Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1", Live: true}, Amount: money.New(246_80, money.USD),
		Local: r.Local, Rate: rate, Rail: rail, Country: r.Country, Buyer: r.Buyer, Terms: priceplans.OfTier(merchants.Standard)}, providertest.Noon)
	if err != nil {
		t.Fatal(err)
	}
	p, _ = p.Begin(b.routes, providertest.Noon)
	r.Reference = p.Reference(1)
	if b.p, _ = p.ApplyAnswer(b.Charge(ctx(), r), b.routes, providertest.Noon); b.p.Status != pay.Pending {
		t.Fatal(b.p)
	}
	return b
}

// hear applies an event of the payment as the service does.
func (b *books) hear(i object, want pay.Verdict) {
	b.t.Helper()
	if got := b.apply(i); got != want {
		b.t.Errorf("%s %v is %s, want %s", i["eventCode"], i["additionalData"], got, want)
	}
}

func (b *books) apply(i object) pay.Verdict {
	b.t.Helper()
	item := object{"merchantReference": b.p.Reference(1), "amount": wire(b.p.Price.Local)}
	for name, value := range i {
		item[name] = value
	}
	n := b.tell(b.t, item)
	if n.ID == "" {
		b.t.Fatalf("%v is no news", i)
	}
	b.ids += 2
	ids := [2]string{fmt.Sprintf("CLM-%d", b.ids), fmt.Sprintf("CLM-%d", b.ids+1)}
	if n.Outcome.Kind == pay.Reversed && n.Outcome.Local.Currency == "" {
		n.Outcome.Local = b.p.Price.Local
	}
	var change pay.Change
	switch {
	case n.OfRefunds(b.p):
		b.p, change = n.ApplyRefundList(b.p, b.claims, ids[:], providertest.Noon)
	case n.OfDispute():
		b.p, change = n.ApplyDispute(b.p, b.claims, ids, providertest.Noon)
	default:
		b.p, change = b.p.ApplyNotice(n, b.routes, ids[0], providertest.Noon)
	}
	for _, c := range change.Claims {
		if at := slices.IndexFunc(b.claims, func(old pay.Claim) bool { return old.ID == c.ID }); at >= 0 {
			b.claims[at] = c
		} else {
			b.claims = append(b.claims, c)
		}
	}
	return change.Notices[len(change.Notices)-1].Verdict
}

func (b *books) authorise() {
	b.t.Helper()
	b.hear(object{"eventCode": "AUTHORISATION", "pspReference": "PAID1"}, pay.Applied)
}

// is compares the claims' statuses.
func (b *books) is(what, want string) {
	b.t.Helper()
	var list []string
	for _, c := range b.claims {
		list = append(list, string(c.Status))
	}
	if got := strings.Join(list, " "); got != want {
		b.t.Errorf("%s: the claims are %q, want %q", what, got, want)
	}
}

// A capture that fails takes the money out of the books, in words that say so; one that is repeated brings it back, and one that
// fails again is the operator's task.
func TestACaptureThatFails(t *testing.T) {
	b := book(t)
	b.authorise()
	failed := object{"eventCode": "CAPTURE_FAILED", "originalReference": "PAID1", "pspReference": "CAPTURE1"}
	again := object{"eventCode": "CAPTURE", "originalReference": "PAID1", "pspReference": "CAPTURE1", "reason": "Transaction Recaptured"}
	b.hear(failed, pay.Applied)
	b.hear(failed, pay.Ignored)
	b.is("a failed capture", "approved")
	if b.p.Refundable().IsPositive() || !strings.Contains(b.claims[0].Reason, "capture") || b.claims[0].Origin != pay.ByProvider {
		t.Errorf("%s is left; the merchant reads %q", b.p.Refundable(), b.claims[0].Reason)
	}
	b.hear(again, pay.Applied)
	b.hear(again, pay.Ignored)
	b.is("captured again", "approved rejected")
	if b.p.Refundable() != b.p.Price.Local || !strings.Contains(b.claims[1].Reason, "capture") {
		t.Errorf("%s is left; the merchant reads %q", b.p.Refundable(), b.claims[1].Reason)
	}
	b.hear(failed, pay.Mismatched)
}

// If the failure is the first news, nobody was paid, and the older authorization completes nothing.
func TestACaptureThatFailedBeforeWeHeardOfIt(t *testing.T) {
	b := book(t)
	b.hear(object{"eventCode": "CAPTURE_FAILED", "originalReference": "PAID1", "pspReference": "CAPTURE1"}, pay.Applied)
	if b.p.Status != pay.Failed {
		t.Errorf("the payment is %s", b.p)
	}
	b.hear(object{"eventCode": "AUTHORISATION", "pspReference": "PAID1"}, pay.Mismatched)
}

// A cancellation of a payment that somebody had approved, and an expiry, take its money; a part that does not fit is a task.
func TestAnAuthorizationThatEnds(t *testing.T) {
	for _, i := range []object{
		{"eventCode": "CANCELLATION", "originalReference": "PAID1", "pspReference": "C1"}, {"eventCode": "EXPIRE", "pspReference": "PAID1"},
		{"eventCode": "CANCEL_OR_REFUND", "originalReference": "PAID1", "pspReference": "C1"},
	} {
		b := book(t)
		b.authorise()
		b.hear(i, pay.Applied)
		b.is(i["eventCode"].(string), "approved")
	}
	b := book(t)
	b.authorise()
	b.hear(object{"eventCode": "CANCELLATION", "originalReference": "ANOTHER", "pspReference": "C1"}, pay.Applied) // it came and went
	b.hear(object{"eventCode": "CANCELLATION", "originalReference": "PAID1", "pspReference": "C2", "amount": object{"value": 1, "currency": "MXN"}}, pay.Mismatched)
	b.is("of another money, and of another currency", "")
}

// An adjusted amount is the operator's task, and an extended authorization nobody's.
func TestAnAuthorizationThatIsAdjusted(t *testing.T) {
	b := book(t)
	b.authorise()
	b.hear(object{"eventCode": "AUTHORISATION_ADJUSTMENT", "originalReference": "PAID1", "pspReference": "A1"}, pay.Ignored)
	b.hear(object{"eventCode": "AUTHORISATION_ADJUSTMENT", "originalReference": "PAID1", "pspReference": "A2", "amount": object{"value": 1, "currency": "BRL"}}, pay.Mismatched)
}

// Whatever follows a first ruling, the last one counts, and a second chargeback after it changes nothing.
func TestTheLastRulingCounts(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"nobody defends":              {[]string{"NOTIFICATION_OF_CHARGEBACK Undefended", "CHARGEBACK Undefended", "DISPUTE_DEFENSE_PERIOD_ENDED Lost"}, "approved"},
		"the debit comes last":        {[]string{"NOTIFICATION_OF_CHARGEBACK Undefended", "DISPUTE_DEFENSE_PERIOD_ENDED Lost", "CHARGEBACK Lost"}, "approved"},
		"it cannot be defended":       {[]string{"CHARGEBACK Lost"}, "approved"},
		"defended from the beginning": {[]string{"NOTIFICATION_OF_CHARGEBACK Pending"}, "under_review"},
		"defended":                    {[]string{"CHARGEBACK Undefended", "INFORMATION_SUPPLIED Pending", "CHARGEBACK_REVERSED Pending", "ISSUER_RESPONSE_TIMEFRAME_EXPIRED Won"}, "rejected"},
		"a second chargeback":         {[]string{"CHARGEBACK Undefended", "CHARGEBACK_REVERSED Pending", "SECOND_CHARGEBACK Lost"}, "rejected approved"},
		"lost in arbitration": {[]string{"CHARGEBACK Undefended", "INFORMATION_SUPPLIED Pending", "CHARGEBACK_REVERSED Pending", "PREARBITRATION_OPEN Undefended",
			"PREARBITRATION_DECLINED Pending", "SCHEME_ARBITRATION Pending", "SCHEME_ARBITRATION_LOST Lost", "SECOND_CHARGEBACK Lost"}, "rejected approved"},
		"lost in arbitration, briefly": {[]string{"CHARGEBACK Undefended", "CHARGEBACK_REVERSED Pending", "SCHEME_ARBITRATION_LOST Lost"}, "rejected approved"},
		"won in arbitration":           {[]string{"CHARGEBACK Undefended", "CHARGEBACK_REVERSED Pending", "PREARBITRATION_OPEN Undefended", "SCHEME_ARBITRATION_WON Won"}, "rejected rejected"},
		"accepted before arbitration":  {[]string{"CHARGEBACK Undefended", "CHARGEBACK_REVERSED Pending", "PREARBITRATION_OPEN Undefended", "PREARBITRATION_ACCEPTED Pending", "SECOND_CHARGEBACK Lost"}, "rejected approved"},
		"withdrawn":                    {[]string{"CHARGEBACK Undefended", "CHARGEBACK_REVERSED Pending", "PREARBITRATION_OPEN Undefended", "PREARBITRATION_ISSUER_WITHDRAWN Won"}, "rejected withdrawn"},
		"withdrawn, and opened again":  {[]string{"CHARGEBACK Undefended", "CHARGEBACK_REVERSED Pending", "PREARBITRATION_OPEN Undefended", "PREARBITRATION_ISSUER_WITHDRAWN Pending", "PREARBITRATION_OPEN Undefended", "SECOND_CHARGEBACK Lost"}, "rejected approved"},
		"the acquirer's arbitration":   {[]string{"CHARGEBACK Undefended", "INFORMATION_SUPPLIED Pending", "PREARBITRATION_WON Won", "CHARGEBACK_REVERSED Won"}, "rejected rejected"},
		"and lost":                     {[]string{"CHARGEBACK Undefended", "INFORMATION_SUPPLIED Pending", "PREARBITRATION_LOST Lost"}, "rejected approved"},
	} {
		b := book(t)
		b.authorise()
		for day, of := range c.events {
			event, status, _ := strings.Cut(of, " ")
			i := dispute(event, status)
			i["eventDate"] = fmt.Sprintf("2026-12-%dT13:00:00+01:00", 10+day)
			if v := b.apply(i); v == pay.Mismatched {
				t.Errorf("%s: %s is %s", name, of, v)
			}
		}
		b.is(name, c.want)
	}
}
