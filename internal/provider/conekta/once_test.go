package conekta

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// clocks are the account's and Conekta's, which differ.
type clocks struct {
	f    *fake
	now  time.Time
	fast time.Duration // how far Conekta's is ahead
}

func (c *clocks) pass(d time.Duration) { c.now = c.now.Add(d); c.f.now = c.now.Add(c.fast) }

// at is a request as it is made now.
func (c *clocks) at(r provider.Request) provider.Request {
	r.Now = c.now
	return r
}

func clocked(t *testing.T, fast time.Duration) (*account, *fake, *clocks) {
	a, f, _ := connect(t)
	c := &clocks{f: f, now: providertest.Noon, fast: fast}
	a.Now = func() time.Time { return c.now }
	c.pass(0)
	return a, f, c
}

// No call has an idempotency key. A list may not have what was just made.
func TestAnOrderThatIsNotListedYetIsNotMissing(t *testing.T) {
	ctx := context.Background()
	a, f, c := clocked(t, 0)
	r := request(spei)
	a.Charge(ctx, r)
	f.late = true
	for name, o := range map[string]pay.Outcome{"a question": a.Query(ctx, c.at(r)), "a cancel": a.Cancel(ctx, c.at(r))} {
		if o.Kind != pay.Unknown || !o.CheckAt.Equal(r.Sent.Add(settles)) {
			t.Errorf("%s: %+v", name, o)
		}
	}
	c.pass(settles)
	if o := a.Query(ctx, c.at(r)); o.Kind != pay.Missing {
		t.Errorf("it should be there by now: %+v", o)
	}
}

func TestRefundsAreNotRepeated(t *testing.T) {
	ctx := context.Background()
	for _, fast := range []time.Duration{0, 7 * time.Hour, -7 * time.Hour} {
		a, f, c := clocked(t, fast)
		r := request(card)
		r.Expires = r.Sent.Add(48 * time.Hour)
		r.ProviderRef = a.Charge(ctx, r).ProviderRef
		f.Move(r.Reference, providertest.Paid)
		refund := func(reference string, minor int64) provider.RefundRequest {
			return provider.RefundRequest{Reference: reference, Charge: c.at(r), Local: money.New(minor, money.MXN), Sent: c.now, Last: c.now}
		}
		first := refund("CLM1-1", 100_00)
		if o := a.Refund(ctx, first); o.Kind != pay.Awaiting {
			t.Fatalf("a part: %+v", o)
		}
		if o := a.QueryRefund(ctx, refund("CLM9-1", 50_00)); o.Kind != pay.Unknown {
			t.Errorf("one that was just requested may not be there yet: %+v", o)
		}
		c.pass(time.Hour)
		again := first
		again.Charge, again.Last = c.at(r), c.now
		if o := a.Refund(ctx, again); o.Kind != pay.Unknown || len(f.Books()[0].Refunds) != 1 {
			t.Errorf("%s ahead, the same again: %+v, %v", fast, o, f.Books()[0].Refunds)
		}
		if o := a.QueryRefund(ctx, again); o.Kind != pay.Unknown {
			t.Errorf("%s ahead, a question about it: %+v", fast, o)
		}
		second := refund("CLM2-1", 100_00)
		o := a.Refund(ctx, second)
		if o.Kind != pay.Awaiting || o.ProviderRef == "" || len(f.Books()[0].Refunds) != 2 {
			t.Fatalf("%s ahead, another one of that amount: %+v, %v", fast, o, f.Books()[0].Refunds)
		}
		second.RefundRef = o.ProviderRef
		c.pass(settles)
		second.Charge = c.at(r)
		for ending, want := range map[providertest.Ending]pay.OutcomeKind{providertest.Open: pay.Awaiting, providertest.Paid: pay.Approved, providertest.Declined: pay.Declined, providertest.Nonsense: pay.Unknown} {
			f.MoveRefund(r.Reference, 1, ending)
			if o := a.QueryRefund(ctx, second); o.Kind != want {
				t.Errorf("%s: %+v, want %s", ending, o, want)
			}
		}
		second.RefundRef = "re_of_nobody"
		if o := a.QueryRefund(ctx, second); o.Kind != pay.Unknown {
			t.Errorf("a refund that has disappeared: %+v", o)
		}
	}
}

// An order may show a refund late. What counts is the last call, not the first.
func TestARefundThatWasRequestedAgainIsNotMissingAtOnce(t *testing.T) {
	ctx := context.Background()
	for what, minor := range map[string]int64{"in full": 300_00, "a part": 100_00} {
		a, f, line := connect(t)
		c := &clocks{f: f, now: providertest.Noon}
		a.Now = func() time.Time { return c.now }
		r := request(card)
		r.Expires = r.Sent.Add(48 * time.Hour)
		r.ProviderRef = a.Charge(ctx, r).ProviderRef
		f.Move(r.Reference, providertest.Paid)
		line.Spare(looks)
		q := provider.RefundRequest{Reference: "CLM1-1", Charge: c.at(r), Local: money.New(minor, money.MXN), Sent: c.now, Last: c.now}
		line.Fail(providertest.RateLimited)
		if o := a.Refund(ctx, q); o.Kind != pay.Unavailable {
			t.Fatalf("%s, refused: %+v", what, o)
		}
		c.pass(settles + time.Minute)
		f.slow, q.Charge, q.Last = true, c.at(r), c.now
		line.Fail(providertest.BrokenAfter)
		if o := a.Refund(ctx, q); o.Kind != pay.Unknown || len(f.Books()[0].Refunds) != 1 {
			t.Fatalf("%s, the answer is lost: %+v, %v", what, o, f.Books()[0].Refunds)
		}
		line.Fail(providertest.NoFault)
		c.pass(settles - time.Second)
		q.Charge = c.at(r)
		if o := a.QueryRefund(ctx, q); o.Kind != pay.Unknown {
			t.Errorf("%s, the order does not show it yet: %+v", what, o)
		}
		c.pass(time.Second)
		q.Charge = c.at(r)
		if o := a.QueryRefund(ctx, q); o.Kind != pay.Missing {
			t.Errorf("%s, the order should show it by now: %+v", what, o)
		}
	}
}

// paidTwice is an account of which both references of an order were paid, the first one ten minutes before.
func paidTwice(t *testing.T) (*account, *fake, *clocks, provider.Request) {
	t.Helper()
	a, f, c := clocked(t, 0)
	r := request("cash.7eleven.MEX")
	r.Expires = r.Sent.Add(48 * time.Hour)
	r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
	e := f.Charges[0]
	e.charges[0]["status"], e.charges[0]["paid_at"], e.charges[1]["paid_at"] = "paid", e.made.Unix()+60, e.made.Unix()+660
	f.Move(r.Reference, providertest.Paid)
	return a, f, c, r
}

// Each charge of an order can be refunded in full.
func TestARefundOfAnotherChargeIsNotOurs(t *testing.T) {
	ctx := context.Background()
	for _, known := range []bool{true, false} { // whether the id of the money is
		a, f, c, r := paidTwice(t)
		if known {
			r.MoneyRef = a.Query(ctx, r).MoneyRef
		}
		f.giveBack(r.Reference, 1, r.Local)
		c.pass(time.Hour)
		q := provider.RefundRequest{Reference: "CLM1-1", Charge: c.at(r), Local: r.Local, Sent: c.now, Last: c.now}
		c.pass(settles)
		q.Charge = c.at(r)
		if o := a.QueryRefund(ctx, q); o.Kind != pay.Missing {
			t.Errorf("%t, it was never made: %+v", known, o)
		}
		o := a.Refund(ctx, q)
		if o.Kind != pay.Awaiting || len(f.Books()[0].Refunds) != 1 || o.ProviderRef != "re_"+f.Charges[0].id+"_0" {
			t.Fatalf("%t, a refund: %+v, %v", known, o, f.Books()[0].Refunds)
		}
		if again := a.QueryRefund(ctx, q); again.Kind != pay.Awaiting || again.ProviderRef != o.ProviderRef {
			t.Errorf("%t, a question about it: %+v", known, again)
		}
		if again := a.Refund(ctx, q); again.ProviderRef != o.ProviderRef || len(f.Books()[0].Refunds) != 1 {
			t.Errorf("%t, the same again: %+v", known, again)
		}
	}
}

// A refund of an order does not say of which charge. So one that Conekta made of another charge since may be ours.
func TestARefundOfAnotherChargeSinceMayBeOurs(t *testing.T) {
	ctx := context.Background()
	a, f, c, r := paidTwice(t)
	q := provider.RefundRequest{Reference: "CLM1-1", Charge: c.at(r), Local: r.Local, Sent: c.now, Last: c.now}
	f.giveBack(r.Reference, 1, r.Local)
	c.pass(settles)
	q.Charge = c.at(r)
	for name, o := range map[string]pay.Outcome{"a question": a.QueryRefund(ctx, q), "a refund": a.Refund(ctx, q)} {
		if o.Kind != pay.Unknown || len(f.Books()[0].Refunds) != 0 {
			t.Errorf("%s: %+v, %v", name, o, f.Books()[0].Refunds)
		}
	}
}

// The total of an order may have more than the list of its refunds. It is of the charge that was paid: the reference that nobody
// used, or a card that was declined, is a charge too.
func TestAnIncompleteListOfRefundsProvesNothing(t *testing.T) {
	ctx := context.Background()
	for what, other := range map[string]string{
		"one charge": "", "another reference": `{"id":"ch_0","amount":30000,"currency":"MXN","status":"canceled"},`, "another card": `{"id":"ch_0","amount":30000,"currency":"MXN","status":"declined"},`,
	} {
		text := `{"id":"ord_1","object":"order","payment_status":"partially_refunded","amount_refunded":5000,"metadata":{"cascada_reference":"01M7ZTEST-1"},` +
			`"charges":{"has_more":false,"data":[` + other + `{"id":"ch_1","amount":30000,"currency":"MXN","status":"partially_refunded","refunds":{"has_more":false,"data":[{"id":"re_1","amount":-2000,"created_at":1}]}}]}}`
		a, _ := providertest.OpenAccount[*account](t, Adapter(), credentials(), providertest.Says(200, text))
		r := request(card)
		r.ProviderRef, r.Now = "ord_1", r.Sent.Add(time.Hour)
		q := provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: money.New(100_00, money.MXN), Sent: r.Sent, Last: r.Sent}
		if o := a.QueryRefund(ctx, q); o.Kind != pay.Unknown || o.Decline != tooManyRefunds {
			t.Errorf("%s, a question: %+v", what, o)
		}
		if o := a.Refund(ctx, q); o.Kind != pay.Unknown || o.Decline != tooManyRefunds {
			t.Errorf("%s, a refund: %+v", what, o)
		}
		if o := a.Query(ctx, r); o.Kind != pay.Reversed || o.Back == nil || o.Back.Total != money.New(50_00, money.MXN) {
			t.Errorf("%s, the total counts: %+v", what, o)
		}
	}
}

// An order of which only one charge was paid says of that one what went back, without a list of refunds too.
func TestWhatWentBackOfTheOnlyPaidCharge(t *testing.T) {
	ctx := context.Background()
	for what, c := range map[string]struct {
		order, charge string
		refunded      int64
		known         bool
	}{
		"all of it": {"refunded", "refunded", 300_00, true}, "all, by the charge alone": {"paid", "refunded", 0, true}, "all, by the order alone": {"refunded", "paid", 0, true},
		"a part": {"partially_refunded", "partially_refunded", 300_00 - 1, true}, "a part of unknown size": {"partially_refunded", "partially_refunded", 0, false}, "a part, by the charge alone": {"paid", "partially_refunded", 0, false},
	} {
		text := fmt.Sprintf(`{"id":"ord_1","payment_status":%q,"amount_refunded":%d,"metadata":{"cascada_reference":"01M7ZTEST-1"},"charges":{"data":[{"id":"ch_0","amount":30000,"currency":"MXN","status":"expired"},{"id":"ch_1","amount":30000,"currency":"MXN","status":%q}]}}`, c.order, c.refunded, c.charge)
		a, _ := providertest.OpenAccount[*account](t, Adapter(), credentials(), providertest.Says(200, text))
		r := request("cash.7eleven.MEX")
		r.ProviderRef = "ord_1"
		total := money.New(c.refunded, money.MXN)
		if c.known && c.refunded == 0 {
			total = r.Local
		}
		o := a.Query(ctx, r)
		if o.Kind != pay.Reversed || o.MoneyRef != "ch_1" || (o.Back != nil) != c.known || c.known && o.Back.Total != total {
			t.Errorf("%s: %+v", what, o)
		}
	}
}

// What an order says is news although neither its status nor its second changed: a second part goes back at once, and a shopper collects
// a refund at a store, or does not.
func TestEachChangeOfAnOrderIsNews(t *testing.T) {
	a, f, _ := connect(t)
	r := request("cash.7eleven.MEX")
	a.Charge(context.Background(), r)
	f.Move(r.Reference, providertest.Paid)
	seen := map[string]bool{}
	for n, change := range []func(*entry){
		func(*entry) { f.giveBack(r.Reference, 0, money.New(1000, money.MXN)) },
		func(*entry) { f.giveBack(r.Reference, 0, money.New(500, money.MXN)) },
		func(e *entry) { e.panel[0][1]["status"] = "expired" },
		func(e *entry) { e.panel[0][0]["status"] = "pending" },
	} {
		e := f.Charges[0]
		was := e.updated
		change(e)
		e.updated = was
		list, err := a.Notices(context.Background(), f.Notification(r.Reference))
		if err != nil || len(list) != 1 || list[0].Outcome.Back == nil || seen[list[0].ID] {
			t.Errorf("change %d: %+v %v, known are %v", n, list, err, seen)
			continue
		}
		seen[list[0].ID] = true
		if again, _ := a.Notices(context.Background(), f.Notification(r.Reference)); again[0].ID != list[0].ID {
			t.Errorf("change %d, sent again: %s and %s", n, again[0].ID, list[0].ID)
		}
	}
}

// Only Conekta's sentence about this order proves that there is none.
func TestWhatProvesThatThereIsNoOrder(t *testing.T) {
	ctx := context.Background()
	r := request(spei)
	r.ProviderRef = "ord_1"
	for text, want := range map[string]pay.OutcomeKind{
		`{"object":"error","details":[{"code":"conekta.errors.resource_not_found.entity","debug_message":"The object Order \"ord_1\" could not be found."}]}`:   pay.Missing,
		`{"object":"error","details":[{"code":"conekta.errors.resource_not_found.entity","debug_message":"The object Order \"ord_2\" could not be found."}]}`:   pay.Unknown,
		`{"object":"error","details":[{"code":"conekta.errors.resource_not_found.entity","debug_message":"The object Company \"ord_1\" could not be found."}]}`: pay.Unknown,
		`{"object":"error","details":[{"code":"conekta.errors.authentication.missing_key","debug_message":"Please include your access key in your request."}]}`: pay.Unknown,
		`{"object":"error","details":[]}`: pay.Unknown, `{"message":"no Route matched with those values"}`: pay.Unknown,
	} {
		a, _ := providertest.OpenAccount[*account](t, Adapter(), credentials(), providertest.Says(404, text))
		if o := a.Query(ctx, r); o.Kind != want {
			t.Errorf("%s: %s, want %s", text, o.Kind, want)
		}
	}
}
