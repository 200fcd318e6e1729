package mercadopago

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func refundOfCards(r provider.Request, reference string, minor int64) provider.RefundRequest {
	return provider.RefundRequest{Reference: reference, Charge: r, Local: money.New(minor, r.Local.Currency)}
}

// A refund of more than one card paid goes back to both, under one reference, once.
func TestARefundGoesBackToBothCards(t *testing.T) {
	a, f, _, _, r, cards := twoCards(t)
	ctx := context.Background()
	most := refundOfCards(r, "01M7ZMOST-1", 250_00)
	o := a.Refund(ctx, most)
	if o.Kind != pay.Approved || o.Local != most.Local || cards[0].left() != 0 || cards[1].left() != 50_00 {
		t.Fatalf("%+v, left are %d and %d", o, cards[0].left(), cards[1].left())
	}
	f.Forget()
	again, asked := a.Refund(ctx, most), a.QueryRefund(ctx, most)
	most.RefundRef = o.ProviderRef
	for _, same := range []pay.Outcome{again, asked, a.QueryRefund(ctx, most)} {
		if same.Kind != pay.Approved || same.Local != o.Local || same.ProviderRef != o.ProviderRef {
			t.Errorf("the same again: %+v, want %+v", same, o)
		}
	}
	if o := a.QueryRefund(ctx, refundOfCards(r, "01M7ZNEVER-1", 10_00)); o.Kind != pay.Missing {
		t.Errorf("one that never was: %+v", o)
	}
	for _, c := range cards {
		list := about(t, a, c)
		if len(list) != 2 || list[1].Refund != most.Reference || list[1].Outcome.Local != most.Local || list[1].Outcome.ProviderRef != o.ProviderRef {
			t.Errorf("the notices about card %s are %+v", c.method, list)
		}
		back := list[0].Outcome.Back
		if back == nil || back.Total != most.Local || len(back.Refunds) != 1 || back.Refunds[0].Local != most.Local || back.Refunds[0].Kind != pay.Approved {
			t.Errorf("what went back is %+v", back)
		}
	}
	if n := len(f.Books()[0].Refunds); n != 2 {
		t.Errorf("%d refunds were made", n)
	}
	if o := a.Refund(ctx, refundOfCards(r, "01M7ZREST-1", 50_00)); o.Kind != pay.Approved || cards[1].left() != 0 {
		t.Errorf("the rest: %+v", o)
	}
	if o := a.Refund(ctx, refundOfCards(r, "01M7ZMORE-1", 1_00)); o.Kind != pay.Declined || o.Message == "" {
		t.Errorf("more than there is: %+v", o)
	}
}

// A refund that was broken off between the cards is finished by the next query, and not made twice.
func TestARefundOfBothCardsIsFinished(t *testing.T) {
	for _, arrived := range []bool{true, false} {
		a, f, line, _, r, cards := twoCards(t)
		ctx := context.Background()
		line.Spare(func(call *http.Request) bool {
			return !strings.Contains(call.URL.Path, cards[1].ref()) || call.Method != http.MethodPost
		})
		line.Fail(map[bool]providertest.Fault{true: providertest.BrokenAfter, false: providertest.ServerError}[arrived])
		q := refundOfCards(r, "01M7ZMOST-1", 250_00)
		if o := a.Refund(ctx, q); o.Kind != pay.Unknown {
			t.Errorf("the second call has no answer: %+v", o)
		}
		before := line.Calls()
		o := a.QueryRefund(provider.Looking(ctx), q)
		if want := map[bool]pay.OutcomeKind{true: pay.Approved, false: pay.Unknown}[arrived]; o.Kind != want || line.Calls() > before+3 {
			t.Errorf("looked at: %+v, %d calls", o, line.Calls()-before)
		}
		list := about(t, a, cards[0])
		if told := slices.ContainsFunc(list, func(n pay.Notice) bool { return n.Refund != "" }); told != arrived {
			t.Errorf("it is reported: %t", told)
		}
		if !arrived && list[0].Outcome.Back.Refunds[0].Kind != pay.Awaiting {
			t.Errorf("half of it counts as made: %+v", list[0].Outcome.Back)
		}
		line.Fail(providertest.NoFault)
		if o := a.QueryRefund(ctx, q); o.Kind != pay.Approved || o.Local != q.Local || cards[1].left() != 50_00 || len(f.Books()[0].Refunds) != 2 {
			t.Errorf("the query: %+v, %d refunds", o, len(f.Books()[0].Refunds))
		}
	}
}

// If the second card takes nothing back, less went back than was requested: the operator has to see it.
func TestARefundThatOneCardRefusesIsOfAnotherAmount(t *testing.T) {
	a, f, line, _, r, cards := twoCards(t)
	ctx := context.Background()
	q := refundOfCards(r, "01M7ZMOST-1", 250_00)
	line.Spare(func(call *http.Request) bool {
		if call.Method == http.MethodPost && strings.Contains(call.URL.Path, cards[1].ref()) {
			f.RefuseRefunds()
		}
		return true
	})
	for range 2 {
		if o := a.Refund(ctx, q); o.Kind != pay.Approved || o.Local != money.New(180_00, money.BRL) {
			t.Errorf("%+v", o)
		}
	}
	if o := a.QueryRefund(ctx, q); o.Kind != pay.Approved || o.Local != money.New(180_00, money.BRL) {
		t.Errorf("a query: %+v", o)
	}
	a, f, _, _, r, cards = twoCards(t)
	f.RefuseRefunds()
	if o := a.Refund(ctx, refundOfCards(r, "01M7ZNONE-1", 250_00)); o.Kind != pay.Declined || cards[0].left() != 180_00 {
		t.Errorf("both refuse: %+v", o)
	}
}

// A part that Mercado Pago has not made yet is not what went back: it may still fail.
func TestARefundOfOneCardCountsOnceItIsMade(t *testing.T) {
	for _, c := range []struct {
		first, then providertest.Ending
		want        pay.OutcomeKind
	}{
		{providertest.Open, providertest.Paid, pay.Approved}, {providertest.Open, providertest.Declined, pay.Declined},
		{providertest.Nonsense, providertest.Paid, pay.Approved},
	} {
		a, f, line, _, r, cards := twoCards(t)
		ctx := context.Background()
		q := refundOfCards(r, "01M7ZMOST-1", 250_00)
		line.Spare(func(call *http.Request) bool {
			if call.Method == http.MethodPost && strings.Contains(call.URL.Path, cards[1].ref()) && !f.Refusing {
				f.MoveRefund(r.Reference, 0, c.first)
				f.RefuseRefunds()
			}
			return true
		})
		first := fmt.Sprint(cards[0].id * 100)
		for range 2 { // the answer to the first call was before that
			a.Refund(ctx, q)
			for _, o := range []pay.Outcome{a.Refund(ctx, q), a.QueryRefund(ctx, q)} {
				if o.Kind != pay.Unknown || o.Decline != "refund_not_finished" || o.ProviderRef != first {
					t.Errorf("the first is %s: %+v", c.first, o)
				}
			}
		}
		f.MoveRefund(r.Reference, 0, c.then)
		if o := a.QueryRefund(ctx, q); o.Kind != c.want || o.Local.Minor != 180_00 || o.ProviderRef != first {
			t.Errorf("and then %s: %+v", c.then, o)
		}
	}
}

// A refund of one card in the panel is a part of the money, and the second makes it whole.
func TestAPanelsRefundOfOneCardIsAPart(t *testing.T) {
	a, f, _, p, _, cards := twoCards(t)
	var claims []pay.Claim
	for i, c := range []*paid{cards[1], cards[0]} {
		f.Charges[0].Refunds = append(f.Charges[0].Refunds, providertest.Refund{Local: c.amount})
		c.backs = []int{i}
		c.set("refunded", "refunded")
		n := about(t, a, c)[0]
		next, change := n.ApplyRefundList(p, claims, []string{fmt.Sprint("CLM-A", i), fmt.Sprint("CLM-B", i)}, providertest.Noon)
		if change.Notices[0].Verdict != pay.Applied || len(change.Claims) != 1 || change.Claims[0].Local != c.amount {
			t.Errorf("card %s: %s, the claims are %v", c.method, change.Notices[0].Verdict, change.Claims)
		}
		p, claims = next, append(claims, change.Claims...)
	}
	if p.Status != pay.Refunded || p.Refundable().IsPositive() {
		t.Errorf("%s, %s is left", p, p.Refundable())
	}
}

// If Mercado Pago keeps no reference of ours, a second part could not be told from a refund of the panel: it is not made, and the
// operator sees what is missing.
func TestARefundIsNotSplitWithoutAReference(t *testing.T) {
	a, f, _, _, r, cards := twoCards(t)
	f.bare = true
	o := a.Refund(context.Background(), refundOfCards(r, "01M7ZMOST-1", 200_00))
	if o.Kind != pay.Approved || o.Local != cards[0].amount || cards[0].left() != 0 || cards[1].left() != 120_00 {
		t.Fatalf("%+v", o)
	}
	back := about(t, a, cards[1])[0].Outcome.Back
	if back.Total != o.Local || len(back.Refunds) != 1 || back.Refunds[0].ID != o.ProviderRef || back.Refunds[0].Local != o.Local {
		t.Errorf("what went back is %+v", back)
	}
	if o := a.Refund(context.Background(), refundOfCards(r, "01M7ZREST-1", 20_00)); o.Kind != pay.Approved || o.Local.Minor != 20_00 {
		t.Errorf("the rest: %+v", o)
	}
}
