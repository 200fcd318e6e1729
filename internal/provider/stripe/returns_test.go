package stripe

import (
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// providerRefund is the request for a claim's refund.
func providerRefund(r provider.Request, c pay.Claim) provider.RefundRequest {
	return provider.RefundRequest{Reference: c.Reference(), Charge: r, Local: c.Local, Sent: r.Now}
}

// giveBack is a refund of money that lies in a balance.
func giveBack(r provider.Request, n pay.Notice) provider.RefundRequest {
	r.ProviderRef, r.MoneyRef = n.Outcome.ProviderRef, n.Outcome.MoneyRef
	return provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: n.Outcome.Local, Sent: r.Now}
}

// Money in a balance is sent back from there, once. Stripe's event of it names our refund.
func TestMoneyInABalanceIsSentBack(t *testing.T) {
	b := connect(t)
	r, customer := b.order(t, transfer("01M7ZSPEI-1", 1000))
	b.transfer(customer, 1100, "")
	back := giveBack(r, loose(b.told(t, customer, 0))[0])
	if o := b.QueryRefund(ctx(), back); o.Kind != pay.Missing {
		t.Errorf("before: %+v, want missing", o)
	}
	since := len(b.customers[0].moves)
	first := b.Refund(ctx(), back)
	b.fake.Forget()
	again := b.Refund(ctx(), back)
	if first.Kind != pay.Awaiting || again.ProviderRef != first.ProviderRef || len(b.returns) != 1 || b.customers[0].left() != 0 {
		t.Errorf("%+v and %+v: %v", first, again, b.returns)
	}
	form := b.seen[len(b.seen)-1]
	if form.Get("instructions_email") != r.Buyer.Email || form.Get("customer") != customer {
		t.Errorf("requested with %v", form)
	}
	for _, n := range loose(b.told(t, customer, since)) {
		if n.Outcome.Back == nil || n.Outcome.Back.Refunds[0].Reference != back.Reference || n.Outcome.Back.Refunds[0].ID != first.ProviderRef {
			t.Errorf("the event: %+v", n)
		}
	}
	b.endReturn(0, "succeeded")
	back.RefundRef = first.ProviderRef
	if o := b.QueryRefund(ctx(), back); o.Kind != pay.Approved || o.Local != back.Local {
		t.Errorf("at the end: %+v", o)
	}
}

// A return that is canceled leaves the money where it was, and can be made again.
func TestACanceledReturn(t *testing.T) {
	b := connect(t)
	r, customer := b.order(t, transfer("01M7ZSPEI-1", 1000))
	b.Cancel(ctx(), r)
	b.transfer(customer, 900, "")
	back := giveBack(r, loose(b.told(t, customer, 0))[0])
	b.Refund(ctx(), back)
	b.endReturn(0, "canceled")
	if o := b.QueryRefund(ctx(), back); o.Kind != pay.Declined {
		t.Errorf("%+v, want declined", o)
	}
	want := []string{"01M7ZSPEI-1 approved 9.00 MXN"}
	if got := moneys(b.told(t, customer, 1)); !slices.Equal(got, want) {
		t.Errorf("told of %v, want %v", got, want)
	}
	back.Reference = "CLM1-2"
	if o := b.Refund(ctx(), back); o.Kind != pay.Awaiting || len(b.returns) != 2 {
		t.Errorf("again: %+v", o)
	}
}

// What went back by hand, or after 75 days, is reported as the provider's own refund, and again if it did not.
func TestMoneyThatStripeSendsBack(t *testing.T) {
	b := connect(t)
	r, customer := b.order(t, transfer("01M7ZSPEI-1", 1000))
	b.transfer(customer, 1100, "")
	lot := loose(b.told(t, customer, 0))[0].Outcome.MoneyRef
	since := len(b.customers[0].moves)
	b.returnByHand(customer, 100)
	list := loose(b.told(t, customer, since))
	if len(list) != 1 || list[0].Outcome.Kind != pay.Reversed || list[0].Outcome.MoneyRef != lot || list[0].Outcome.Back.Total != money.New(100, "MXN") ||
		list[0].Outcome.Back.Refunds[0].Reference != "" {
		t.Fatalf("told of %+v, want all of %s", list, lot)
	}
	if o := b.Refund(ctx(), giveBack(r, list[0])); o.Kind != pay.Declined || len(b.returns) != 1 {
		t.Errorf("a refund of what is gone: %+v", o)
	}
	since = len(b.customers[0].moves)
	b.endReturn(0, "canceled")
	list = loose(b.told(t, customer, since))
	if len(list) != 1 || list[0].Outcome.Kind != pay.Approved || list[0].Outcome.MoneyRef != lot || list[0].Outcome.Back.Refunds[0].Kind != pay.Declined {
		t.Errorf("told of %+v, want that it is there again", list)
	}
}

// Of two equal moneys in a balance, a return of ours takes the one that it names, and each return is one refund.
func TestAReturnTakesItsOwnMoney(t *testing.T) {
	b := connect(t)
	r, customer := b.order(t, transfer("01M7ZSPEI-1", 1000))
	b.Cancel(ctx(), r)
	b.transfer(customer, 900, "")
	b.transfer(customer, 900, "")
	list := loose(b.told(t, customer, 0))
	slices.Reverse(list)
	since, refunds := len(b.customers[0].moves), map[string]string{}
	for i, n := range list {
		back := giveBack(r, n)
		back.Reference = []string{"CLM1-1", "CLM2-1"}[i]
		b.Refund(ctx(), back)
		refunds[n.Outcome.MoneyRef] = back.Reference
	}
	told := loose(b.told(t, customer, since))
	for _, n := range told {
		if n.Outcome.Back == nil || n.Outcome.Back.Refunds[0].Reference != refunds[n.Outcome.MoneyRef] {
			t.Errorf("told of %+v %+v, want %v", n, n.Outcome.Back, refunds)
		}
	}
	if len(told) != 2 {
		t.Errorf("told of %+v", told)
	}
}

// A refund whose money ended in the shopper's cash balance is not declined: the merchant does not have it back. The operator is told
// once the provider is queried.
func TestARefundThatEndsInTheBalance(t *testing.T) {
	b := connect(t)
	r, customer := b.order(t, transfer("01M7ZSPEI-1", 1000))
	b.transfer(customer, 1000, "")
	back := provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: r.Local}
	made := b.Refund(ctx(), back)
	if form := b.seen[len(b.seen)-1]; form.Get("instructions_email") != r.Buyer.Email {
		t.Errorf("requested with %v", form)
	}
	since := len(b.customers[0].moves)
	b.refundToBalance(r.Reference, 0, expiredRefund)
	list, err := b.Notices(ctx(), b.RefundNotification(r.Reference, 0))
	if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.Unknown || list[0].Refund != back.Reference {
		t.Errorf("the notice: %+v %v, want unknown", list, err)
	}
	for _, ref := range []string{"", made.ProviderRef} {
		back.RefundRef = ref
		if o := b.QueryRefund(ctx(), back); o.Kind != pay.Approved || o.Local != money.New(0, "MXN") {
			t.Errorf("the query: %+v, want that nothing went back", o)
		}
	}
	if o := b.Query(ctx(), r); o.Kind != pay.Reversed || o.Back.Refunds[0].Kind != pay.Unknown || len(o.Also) != 0 {
		t.Errorf("the payment: %+v", o)
	}
	if list := loose(b.told(t, customer, since)); len(list) != 0 {
		t.Errorf("the refund's money is told as another one: %+v", list)
	}
}

// The transaction that reverses a refund proves that the merchant has the money back. A refund that was made in the Dashboard, and
// ended in the balance, is gone.
func TestWhereTheMoneyOfARefundIs(t *testing.T) {
	b := connect(t)
	r, customer := b.order(t, transfer("01M7ZSPEI-1", 1000))
	b.transfer(customer, 1000, "")
	back := provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: money.New(600, "MXN")}
	b.Refund(ctx(), back)
	b.MoveRefund(r.Reference, 0, providertest.Declined)
	if o := b.QueryRefund(ctx(), back); o.Kind != pay.Declined {
		t.Errorf("with the reversal: %+v", o)
	}
	b.fake.Lock()
	b.Give(b.Must(r.Reference), "", money.New(400, "MXN"))
	b.fake.Unlock()
	b.refundToBalance(r.Reference, 1, expiredRefund)
	o := b.Query(ctx(), r)
	if o.Kind != pay.Reversed || o.Back.Total != money.New(400, "MXN") || o.Back.Refunds[0].Kind != pay.Declined || o.Back.Refunds[1].Kind != pay.Approved {
		t.Errorf("the payment: %+v %+v", o, o.Back)
	}
}

// A bank transfer is refunded for 180 days; a refund that was made before is found for ever.
func TestALateRefundOfATransfer(t *testing.T) {
	b := connect(t)
	r, customer := b.order(t, transfer("01M7ZSPEI-1", 1000))
	b.transfer(customer, 1000, "")
	back := provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: money.New(600, "MXN")}
	b.Refund(ctx(), back)
	back.Charge.Now = r.Created.Add(180*24*time.Hour + time.Second)
	if o := b.Refund(ctx(), back); o.Kind != pay.Approved {
		t.Errorf("the one that was made: %+v", o)
	}
	back.Reference = "CLM2-1"
	if o := b.Refund(ctx(), back); o.Kind != pay.Declined || o.Decline != "refund_too_late" || len(b.Books()[0].Refunds) != 1 {
		t.Errorf("another one: %+v", o)
	}
}
