package mercadopago

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// Try implements providertest.CardFake. Each card that is tried on a page is a payment of its own.
func (f *fake) Try(reference, code string) (n provider.Notification, open bool) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	until, err := time.Parse(time.RFC3339, fmt.Sprint(c.page["expiration_date_to"]))
	paid := slices.ContainsFunc(c.payments, func(p *paid) bool { return p.status == "approved" })
	if err != nil || paid || !until.After(providertest.Noon) {
		return n, false
	}
	p := f.try(c, "visa")
	if p.set("approved", "accredited"); code != "" {
		p.set("rejected", code)
	}
	f.serial++
	return notification("payment", p.ref(), f.serial, providertest.Noon.UnixMilli()), true
}

func TestAPageIsOpenUntilItIsPaidOrOver(t *testing.T) {
	a, f, _ := connect(t)
	ctx := context.Background()
	r := request("card.BRA")
	o := a.Charge(ctx, r)
	c := f.Charges[0]
	refused := f.try(c, "visa").set("rejected", "cc_rejected_other_reason")
	at := providertest.Noon.Add(time.Minute).UnixMicro()
	want := []decline.Try{{ID: refused.ref(), At: at, Reason: decline.DoNotHonor, Raw: "cc_rejected_other_reason", Soft: true}}
	list, err := a.Notices(ctx, f.Notification(r.Reference))
	if err != nil || len(list) != 1 {
		t.Fatalf("one try was refused: %+v, %v", list, err)
	}
	for what, got := range map[string]pay.Outcome{"query": a.Query(ctx, r), "notification": list[0].Outcome} {
		if got.Kind != pay.Awaiting || got.ProviderRef != o.ProviderRef || got.FormURL != o.FormURL || !slices.Equal(got.Tries, want) {
			t.Errorf("one try was refused, by %s: %+v", what, got)
		}
	}
	f.try(c, "amex").set("cancelled", "by_payer")
	f.try(c, "master").set("approved", "accredited")
	list, err = a.Notices(ctx, f.Notification(r.Reference))
	if err != nil || len(list) != 1 {
		t.Fatalf("the third try was paid: %+v, %v", list, err)
	}
	f.try(c, "visa").set("rejected", "cc_rejected_insufficient_amount")
	for what, got := range map[string]pay.Outcome{"query": a.Query(ctx, r), "cancel": a.Cancel(ctx, r), "notification": list[0].Outcome} {
		if got.Kind != pay.Approved || got.Local != r.Local || got.ProviderRef == o.ProviderRef {
			t.Errorf("the third try was paid, by %s: %+v", what, got)
		}
		want := []decline.Reason{decline.InsufficientFunds, decline.Canceled, decline.DoNotHonor}
		if what == "notification" { // from before the last try
			want = want[1:]
		}
		if got := reasons(got.Tries); !slices.Equal(got, want) {
			t.Errorf("by %s the tries are %v, want %v", what, got, want)
		}
	}
	if n := len(f.Books()); n != 1 {
		t.Errorf("there are %d pages", n)
	}
}

// reasons are why tries were refused.
func reasons(tries []decline.Try) (list []decline.Reason) {
	for _, one := range tries {
		list = append(list, one.Reason)
	}
	return list
}

// PAY-39: a page is ended, with a payment that is under review, before the shopper tries at the next provider. A page that no search finds
// is not proved to have ended.
func TestAPageIsEndedBeforeTheNextProviderIsTried(t *testing.T) {
	a, f, _ := connect(t)
	ctx := context.Background()
	p, r, _ := waitingFor(t, a, "card.BRA")
	r.ProviderRef, p.Way.Sync = p.Attempts[0].ProviderRef, true // a card
	f.try(f.Charges[0], "visa").set("rejected", "cc_rejected_other_reason")
	review := f.try(f.Charges[0], "visa").set("in_process", "pending_review_manual")
	routes := pay.Cascade{Routes: []pay.Route{{Provider: "acc"}, {Provider: "two"}}, Retry: pay.RetryLimits{Times: 1}}
	p, _ = p.ApplyAnswer(a.Query(ctx, r), routes, providertest.Noon)
	unknown := r
	unknown.ProviderRef = "5000000002" // a payment's
	f.unlisted = true
	for what, o := range map[string]pay.Outcome{"query": a.Query(ctx, unknown), "cancel": a.Cancel(ctx, unknown)} {
		if o.Kind != pay.Unknown || o.Decline != noPage {
			t.Errorf("a search does not find the page, by %s: %+v", what, o)
		}
	}
	next, _, err := routes.TryAgain(p, a.Cancel(ctx, r), providertest.Noon)
	if err != nil || next.Status != pay.Processing || len(next.Attempts) != 2 || len(next.Attempts[0].Tries) != 1 || review.status != "cancelled" {
		t.Errorf("%v: %s, the payment under review is %s", err, next, review.status)
	}
}

func TestAPageThatIsOverIsDeclinedWithTheLastReason(t *testing.T) {
	for ending, want := range map[providertest.Ending]pay.Outcome{
		providertest.Declined:     {Kind: pay.Declined, Code: problem.InsufficientFunds, Decline: "insufficient_funds"},
		providertest.SoftDeclined: {Kind: pay.Declined, Code: problem.CardDeclined, Decline: "do_not_honor", Soft: true},
		providertest.Expired:      {Kind: pay.Lapsed, Decline: "expired"},
	} {
		a, f, _ := connect(t)
		r := request("card.ARG")
		r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
		f.Move(r.Reference, ending)
		o := a.Query(context.Background(), r)
		if o.Kind != want.Kind || o.Code != want.Code || o.Decline != want.Decline || o.Soft != want.Soft {
			t.Errorf("%s: %+v, want %+v", ending, o, want)
		}
		if ending == providertest.Expired {
			continue
		}
		list, err := a.Notices(context.Background(), f.Notification(r.Reference))
		if err != nil || len(list) != 1 || list[0].Outcome.Decline != want.Decline {
			t.Errorf("%s: %+v, %v", ending, list, err)
		}
	}
}
