package mercadopago

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"pgregory.net/rapid"
)

// by pays a part of a page by one card, in minor units.
func (f *fake) by(card string, minor int64) *paid {
	p := f.try(f.Charges[0], card)
	p.amount.Minor = minor
	return p.set("approved", "accredited")
}

func decimal(minor int64) json.Number { return json.Number(money.New(minor, money.BRL).Decimal()) }

func (p *paid) ref() string { return fmt.Sprint(p.id) }

// about is Mercado Pago's notices about one payment.
func about(t *testing.T, a *account, p *paid) []pay.Notice {
	t.Helper()
	list, err := a.Notices(context.Background(), notification("payment", p.ref(), int64(p.version), providertest.Noon.UnixMilli()))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// twoCards is a page of 300.00 that two cards paid, 180.00 and 120.00, and the payment that they completed.
func twoCards(t *testing.T) (a *account, f *fake, line *providertest.Line, p pay.Payment, r provider.Request, cards [2]*paid) {
	t.Helper()
	a, f, line = connect(t)
	p, r, routes := waitingFor(t, a, "card.BRA")
	cards[0] = f.by("visa", 180_00)
	if list := about(t, a, cards[0]); len(list) != 0 {
		t.Fatalf("the first card paid a part: %+v", list)
	}
	cards[1] = f.by("master", 120_00)
	for _, c := range cards {
		list := about(t, a, c)
		if len(list) != 1 || list[0].Outcome.Local != r.Local || list[0].Outcome.MoneyRef != cards[0].ref() {
			t.Fatalf("card %s: %+v", c.method, list)
		}
		var change pay.Change
		if p, change = p.ApplyNotice(list[0], routes, "CLM-1", providertest.Noon); len(change.Claims) != 0 {
			t.Fatalf("claims %v", change.Claims)
		}
	}
	if p.Status != pay.Completed {
		t.Fatal(p)
	}
	r.ProviderRef, r.MoneyRef = p.Attempts[0].ProviderRef, p.Attempts[0].MoneyRef
	return a, f, line, p, r, cards
}

// A page may be paid with two cards. What they pay together is one money, and the payment is completed once all of it is there.
func TestTwoCardsPayOnePage(t *testing.T) {
	a, f, _ := connect(t)
	ctx := context.Background()
	r := request("card.BRA")
	page := a.Charge(ctx, r)
	r.ProviderRef = page.ProviderRef
	first := f.by("visa", 180_00)
	if o := a.Query(ctx, r); o.Kind != pay.Awaiting || o.FormURL != page.FormURL || o.ProviderRef != page.ProviderRef {
		t.Errorf("one card paid, the page waits for the other: %+v", o)
	}
	second := f.by("master", 120_00)
	for _, known := range []string{page.ProviderRef, "", first.ref(), second.ref()} {
		r.ProviderRef = known
		o := a.Query(ctx, r)
		if o.Kind != pay.Approved || o.Local != r.Local || o.MoneyRef != first.ref() || len(o.Also) != 0 {
			t.Errorf("with the id %q: %+v", known, o)
		}
	}
	twoCards(t)
}

// If the rest does not come, the part is money of another amount: the operator decides about it.
func TestAPartThatStaysAloneIsAnotherAmount(t *testing.T) {
	for what, end := range map[string]func(a *account, f *fake, r provider.Request) pay.Outcome{
		"the page is over": func(a *account, f *fake, r provider.Request) pay.Outcome {
			f.Charges[0].page["expiration_date_to"] = providertest.Noon.Add(-time.Second).Format(time.RFC3339)
			return a.Query(context.Background(), r)
		},
		"it is canceled": func(a *account, _ *fake, r provider.Request) pay.Outcome { return a.Cancel(context.Background(), r) },
	} {
		a, f, _ := connect(t)
		p, r, routes := waitingFor(t, a, "card.BRA")
		r.ProviderRef = p.Attempts[0].ProviderRef
		part := f.by("visa", 180_00)
		f.try(f.Charges[0], "master").set("rejected", "cc_rejected_insufficient_amount")
		o := end(a, f, r)
		if o.Kind != pay.Approved || o.Local != money.New(180_00, money.BRL) || o.MoneyRef != part.ref() {
			t.Fatalf("%s: %+v", what, o)
		}
		routes.Claim = "CLM-1"
		p, change := p.ApplyAnswer(o, routes, providertest.Noon)
		if len(change.Claims) != 1 || change.Claims[0].Local != o.Local || p.Strays[0].MoneyRef != part.ref() {
			t.Errorf("%s: the claims are %v", what, change.Claims)
		}
		list := about(t, a, part)
		if len(list) != 1 || list[0].Outcome.Local != o.Local {
			t.Errorf("%s: the notices are %+v", what, list)
		}
	}
}

// A second card that is still examined may complete the money, also after the page is over; and if it cannot be stopped, it is waited for.
func TestAPartWaitsForACardThatIsExamined(t *testing.T) {
	a, f, _ := connect(t)
	ctx := context.Background()
	r := request("card.BRA")
	r.ProviderRef = a.Charge(ctx, r).ProviderRef
	f.by("visa", 180_00)
	second := f.try(f.Charges[0], "master").set("in_process", "pending_review_manual")
	second.amount.Minor = 120_00
	f.Charges[0].page["expiration_date_to"] = providertest.Noon.Add(-time.Second).Format(time.RFC3339)
	if o := a.Query(ctx, r); o.Kind != pay.Awaiting {
		t.Errorf("%+v", o)
	}
	second.set("approved", "accredited")
	if o := a.Query(ctx, r); o.Kind != pay.Approved || o.Local != r.Local {
		t.Errorf("it was approved: %+v", o)
	}
}

// Mercado Pago gives the first part back if the second card is refused: it is no part of what other cards pay then.
func TestAPartThatWentBackIsNoPart(t *testing.T) {
	a, f, _ := connect(t)
	r := request("card.BRA")
	r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
	gone := f.by("visa", 180_00)
	f.Charges[0].Refunds = append(f.Charges[0].Refunds, providertest.Refund{Local: money.New(180_00, money.BRL)})
	gone.backs = []int{0}
	gone.set("refunded", "refunded")
	first := f.by("visa", 150_00)
	f.by("master", 150_00)
	o := a.Query(context.Background(), r)
	if o.Kind != pay.Approved || o.Local != r.Local || o.MoneyRef != first.ref() || len(o.Also) != 0 {
		t.Errorf("%+v", o)
	}
}

// Money that went back before anybody heard of it does not hide what came after it.
func TestMoneyThatWentBackHidesNoOther(t *testing.T) {
	for _, minor := range []int64{300_00, 150_00, 310_00} {
		a, f, _ := connect(t)
		r := request("card.BRA")
		r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
		gone := f.by("visa", 300_00)
		f.Charges[0].Refunds = append(f.Charges[0].Refunds, providertest.Refund{Local: gone.amount})
		gone.backs = []int{0}
		gone.set("refunded", "refunded")
		if o := a.Query(context.Background(), r); o.Kind != pay.Reversed {
			t.Errorf("it alone: %+v", o)
		}
		late := f.by("master", minor)
		o := a.Query(context.Background(), r)
		if o.Kind != pay.Approved || o.Local != late.amount || o.MoneyRef != late.ref() || len(o.Also) != 0 {
			t.Errorf("%s came after it: %+v", late.amount, o)
		}
	}
}

// partly gives back a part of a payment in the panel.
func (p *paid) partly(minor int64) {
	p.of.Refunds = append(p.of.Refunds, providertest.Refund{Local: money.New(minor, p.amount.Currency)})
	p.backs = append(p.backs, len(p.of.Refunds)-1)
	p.version++
}

// Of money that went back in part, the operator finds out what is left, whichever came first. The other money completes the payment.
func TestMoneyThatWentBackInPartIsNotLeftOut(t *testing.T) {
	for n, what := range []string{"the first", "the second"} {
		a, f, _ := connect(t)
		p, r, routes := waitingFor(t, a, "card.BRA")
		r.ProviderRef = p.Attempts[0].ProviderRef
		both := []*paid{f.by("visa", 300_00), f.by("master", 300_00)}
		part, whole := both[n], both[1-n]
		part.partly(100_00)
		o := a.Query(context.Background(), r)
		if o.Kind != pay.Reversed || o.MoneyRef != part.ref() || o.Back.Total.Minor != 100_00 || len(o.Also) != 1 || o.Also[0].Ref != whole.ref() {
			t.Fatalf("%s went back in part: %+v", what, o)
		}
		o.Also[0].Claim, routes.Claim = "CLM-2", "CLM-1"
		p, change := p.ApplyAnswer(o, routes, providertest.Noon)
		if p.Status != pay.Completed || p.Attempts[0].MoneyRef != whole.ref() || len(change.Claims) != 0 {
			t.Errorf("%s: the payment is %s, by %s, with the claims %v", what, p, p.Attempts[0].MoneyRef, change.Claims)
		}
		if len(change.Notices) != 1 || change.Notices[0].Verdict != pay.Mismatched || !strings.Contains(string(change.Notices[0].Body), part.ref()) {
			t.Errorf("%s: the operator hears %+v", what, change.Notices)
		}
		// A later try changes nothing of what is booked.
		for range 2 {
			list := about(t, a, f.try(f.Charges[0], "amex").set("rejected", "cc_rejected_other_reason"))
			if len(list) != 1 || !slices.Equal(list[0].Outcome.Also, []pay.Money{{Ref: whole.ref(), ProviderRef: whole.ref(), Local: r.Local}}) {
				t.Fatalf("%s: %+v", what, list)
			}
			next, change := list[0].ApplyRefundList(p, nil, []string{"CLM-3", "CLM-4"}, providertest.Noon)
			if next.Status != pay.Completed || len(change.Claims)+len(change.Transfers) != 0 {
				t.Errorf("%s: a later try: %s, %+v", what, next, change)
			}
		}
	}
}

// An answer has room for one money that went back in part. Of two, somebody has to look, but a completed payment stays as it is.
func TestTwoMoneysThatWentBackInPartAreTheOperators(t *testing.T) {
	a, f, _ := connect(t)
	p, r, routes := waitingFor(t, a, "card.BRA")
	r.ProviderRef = p.Attempts[0].ProviderRef
	both := []*paid{f.by("visa", 300_00), f.by("master", 300_00)}
	p, _ = p.ApplyNotice(about(t, a, both[0])[0], routes, "CLM-1", providertest.Noon)
	for _, part := range both {
		part.partly(100_00)
	}
	if o := a.Query(context.Background(), r); o.Kind != pay.Unknown || o.Decline != "several_went_back_in_part" {
		t.Errorf("%+v", o)
	}
	list := about(t, a, f.try(f.Charges[0], "amex").set("rejected", "cc_rejected_other_reason"))
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	next, change := p.ApplyNotice(list[0], routes, "CLM-2", providertest.Noon)
	if next.Status != pay.Completed || len(change.Claims) != 0 || len(change.Notices) != 1 || change.Notices[0].Verdict != pay.Mismatched {
		t.Errorf("%s, %+v", next, change)
	}
}

// Whatever comes on a page after it was paid is other money, each with its own id; a refund of it goes to that payment alone.
func TestMoneyAfterTwoCardsIsMoneyOfItsOwn(t *testing.T) {
	a, f, _, p, r, cards := twoCards(t)
	ctx := context.Background()
	var lates []*paid
	for i, minor := range []int64{300_00, 100_00} {
		late := f.by("amex", minor)
		lates = append(lates, late)
		list := about(t, a, late)
		if len(list) != 1 || list[0].Outcome.MoneyRef != late.ref() || list[0].Outcome.Local.Minor != minor {
			t.Fatalf("%+v", list)
		}
		next, change := p.ApplyNotice(list[0], pay.Cascade{}, "CLM-2", providertest.Noon)
		if len(change.Claims) != 1 || change.Claims[0].Local.Minor != minor {
			t.Errorf("the claims are %v", change.Claims)
		}
		p = next
		o := a.Query(ctx, r)
		if o.Local != r.Local || o.MoneyRef != cards[0].ref() || len(o.Also) != i+1 || o.Also[i].Ref != late.ref() || o.Also[i].Local.Minor != minor {
			t.Errorf("a query: %+v", o)
		}
	}
	for i, late := range lates {
		back := provider.RefundRequest{Reference: fmt.Sprintf("01M7ZLATE%d-1", i), Charge: r, Local: late.amount}
		back.Charge.ProviderRef, back.Charge.MoneyRef = late.ref(), late.ref()
		if o := a.Refund(ctx, back); o.Kind != pay.Approved || late.left() != 0 || cards[0].left() != 180_00 {
			t.Errorf("its refund: %+v, %d left of it", o, late.left())
		}
	}
}

// A dispute of one card is about its part of the money.
func TestADisputeOfOneCardIsAboutItsPart(t *testing.T) {
	for _, status := range []string{"in_mediation", "charged_back"} {
		a, _, _, p, r, cards := twoCards(t)
		ctx := context.Background()
		cards[1].set(status, "in_process")
		list := about(t, a, cards[1])
		if len(list) != 1 || !list[0].Dispute || list[0].Outcome.Local != cards[1].amount || list[0].Outcome.MoneyRef != cards[0].ref() {
			t.Fatalf("%s: %+v", status, list)
		}
		_, change := list[0].ApplyDispute(p, nil, [2]string{"CLM-2", "CLM-3"}, providertest.Noon)
		if len(change.Claims) != 1 || change.Claims[0].Local != cards[1].amount || change.Notices[0].Verdict != pay.Applied {
			t.Errorf("%s: %s, the claims are %v", status, change.Notices[0].Verdict, change.Claims)
		}
		asked := provider.DisputeRequest{Charge: r}
		if n, known := a.QueryDispute(ctx, asked); !known || !n.Dispute || n.Outcome.Local != cards[1].amount {
			t.Errorf("%s: a query: %+v", status, n)
		}
		cards[1].set("approved", "accredited")
		if n, known := a.QueryDispute(ctx, asked); !known || n.Ruling != pay.DisputeWon {
			t.Errorf("%s, both are approved: %+v", status, n)
		}
		cards[1].set("refunded", "refunded")
		if n, known := a.QueryDispute(ctx, asked); known {
			t.Errorf("%s, one card has its money: %+v", status, n)
		}
	}
}

// Whatever is approved on a page, and in whatever order: a money that was reported stays what it is.
func TestMoneysOfAPageOnlyGrow(t *testing.T) {
	price := money.New(300_00, money.BRL)
	rapid.Check(t, func(t *rapid.T) {
		var list []payment
		var before []string
		for i := range rapid.IntRange(1, 7).Draw(t, "payments") {
			minor := rapid.SampledFrom([]int64{300_00, 180_00, 120_00, 100_00, 200_00, 400_00}).Draw(t, "minor")
			list = append([]payment{{
				ID: text(fmt.Sprint(rapid.IntRange(100, 999).Draw(t, "id")*10 + i)), Status: "approved", CurrencyID: "BRL",
				TransactionAmount: decimal(minor), DateApproved: text(providertest.Noon.Add(time.Duration(i) * time.Minute).Format(time.RFC3339)),
			}}, list...)
			came := sorted(list, price)
			var now []string
			for _, f := range came.all() {
				now = append(now, fmt.Sprint(f.ref(), f.sum()))
			}
			for _, told := range before {
				if !slices.Contains(now, told) {
					t.Fatalf("%s was reported, now there are %v", told, now)
				}
			}
			sum := came.part.sum().Minor
			for _, f := range came.all() {
				sum += f.sum().Minor
			}
			for _, p := range list {
				local, _ := p.local()
				sum -= local.Minor
			}
			if sum != 0 {
				t.Fatalf("%d are missing or double: %v and %v", sum, now, came.part)
			}
			before = now
		}
	})
}
