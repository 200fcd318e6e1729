package pay

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/decline"
)

// retried are routes with which a shopper may try again.
var retried = Cascade{Routes: routes.Routes, Retry: RetryLimits{Times: 2}}

// onPage is a card payment whose card was refused on a page that is still open.
func onPage(t *testing.T, reasons ...decline.Reason) Payment {
	t.Helper()
	p := sent(t, cardRail(), 2550)
	p.Page.Hosted = true
	p, _ = p.ApplyAnswer(refusedAt(), routes, noon)
	p, _ = p.ApplyAnswer(refusedAt(reasons...), routes, noon.Add(time.Minute))
	return p
}

// What the provider says when it ends the page counts: a charge that was blocked as a risk goes nowhere else, and money that came
// beside is booked (PAY-39).
func TestRetryHeedsWhatTheProviderSaysAtTheEnd(t *testing.T) {
	at := noon.Add(2 * time.Minute)
	for name, o := range map[string]Outcome{
		"a try":          {Kind: Lapsed, Tries: refusedAt(decline.DoNotHonor, decline.FraudSuspected).Tries},
		"without a name": {Kind: Declined, Code: decline.FraudSuspected.Meaning().Code, Decline: string(decline.FraudSuspected)},
	} {
		p, _, err := routes.TryAgain(onPage(t, decline.DoNotHonor), o, at)
		if err != nil || p.Status != Failed || len(p.Attempts) != 1 || p.End.Failure.Code != "fraud_blocked" {
			t.Errorf("%s: a blocked charge goes on: %s, %v", name, p, err)
		}
	}
	p, _, err := routes.TryAgain(onPage(t, decline.DoNotHonor), Outcome{Kind: Lapsed, Tries: refusedAt(decline.DoNotHonor, decline.InsufficientFunds).Tries}, at)
	if err != nil || p.Status != Processing || len(p.Attempts) != 2 { // its page has ended: the next one is the shopper's only chance
		t.Errorf("after a decline that was not heard of before: %s, %v", p, err)
	}
	part := money.New(p.Price.Local.Minor/2, p.Price.Local.Currency)
	p, change, err := routes.TryAgain(onPage(t, decline.DoNotHonor), Outcome{Kind: Lapsed, Also: []Money{{Ref: "m1", Local: part, Claim: "CLM-1"}}}, at)
	if err != nil || len(p.Attempts) != 1 || len(change.Claims) != 1 {
		t.Errorf("the shopper, who paid a part, is asked for all again: %s, %+v, %v", p, change.Claims, err)
	}
}

// A time that cannot be is not the time of a try.
func TestTryHasATimeThatCanBe(t *testing.T) {
	for _, at := range []int64{-1 << 63, -1, 0, noon.Add(time.Hour).UnixMicro(), 1<<63 - 1} {
		if tries := decline.Tries(nil).With([]decline.Try{{ID: "1", At: at}}, noon); tries[0].At != noon.UnixMicro() {
			t.Errorf("a try at %d is kept at %d", at, tries[0].At)
		}
	}
}

// A payment waits after a refusal that ended its page only if its shopper may try again, whatever the rules say.
func TestNoPaymentWaitsForARetryThatIsRefused(t *testing.T) {
	c := retried
	c.Retry.Reasons = []decline.Reason{decline.FraudSuspected}
	p := sent(t, cardRail(), 2550)
	p, _ = p.ApplyAnswer(refusedAt(), c, noon)
	p, _ = p.ApplyAnswer(Outcome{Kind: Declined, Code: decline.FraudSuspected.Meaning().Code, Decline: string(decline.FraudSuspected)}, c, noon.Add(time.Minute))
	if p.Status != Failed {
		t.Errorf("it waits, and the shopper cannot try again (%v): %s", CheckRetry(p), p)
	}
}

// A shopper whose page ended with a refusal may choose another way, although the next provider might take the card.
func TestWayIsChangedAfterARefusalThatEndedThePage(t *testing.T) {
	o := Outcome{Kind: Declined, Code: decline.DoNotHonor.Meaning().Code, Decline: string(decline.DoNotHonor), Soft: true}
	p := onPage(t)
	p, _ = p.ApplyAnswer(o, retried, noon.Add(time.Minute))
	if p.Status != Pending || CheckRetry(p) != nil {
		t.Fatalf("it does not wait: %s", p)
	}
	p, _, err := p.ChangeWay(o, retried, noon.Add(2*time.Minute))
	if err != nil || p.Status != Failed || !p.Retriable() || p.End.Failure.Decline != string(decline.DoNotHonor) {
		t.Errorf("the shopper cannot choose again: %s, %v", p, err)
	}
}
