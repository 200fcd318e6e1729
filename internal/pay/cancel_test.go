package pay

import (
	"testing"
	"time"
)

// pendingVoucher waits for its shopper, whose window is days.
func pendingVoucher(t *testing.T) Payment {
	t.Helper()
	p := sent(t, pixRail(), 25_50)
	p.Way.Window = 24 * time.Hour
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting, FormURL: "https://bank.example/v"}, routes, noon)
	return p
}

// The provider's answer decides about a payment that is being canceled: approved completes it,
// unknown leaves it pending, and all others cancel it, with one event and later queries for late
// money.
func TestCancelDecides(t *testing.T) {
	for kind, want := range map[OutcomeKind]Status{
		Approved: Completed, Unknown: Pending, Lapsed: Failed, Declined: Failed, Missing: Failed, Awaiting: Failed,
	} {
		p := pendingVoucher(t)
		asked, change := p.AskCancel(p.Times.Created.Add(time.Minute))
		if !asked.Canceling() || len(change.Payments) != 1 || len(change.Events) != 0 || asked.Work.DueAt.Sub(asked.Times.CancelAsked) != callLease {
			t.Fatalf("the intent writes %+v", change)
		}
		if again, none := asked.AskCancel(asked.Times.CancelAsked.Add(time.Second)); len(none.Payments) != 0 || again.Version != asked.Version {
			t.Errorf("a second intent writes %+v", none)
		}
		now := asked.Times.CancelAsked.Add(time.Second)
		var next Payment
		if kind == Approved || kind == Declined {
			next, change = asked.ApplyAnswer(Outcome{Kind: kind}, Cascade{}, now)
		} else {
			next, change = asked.Cancel(Outcome{Kind: kind}, now)
		}
		if next.Status != want || next.End.Canceled() != (want == Failed) || (want == Pending) != next.Canceling() {
			t.Errorf("%s: the payment is %s, canceled %t", kind, next, next.End.Canceled())
		}
		if events := map[bool]int{true: 0, false: 1}[want == Pending]; len(change.Events) != events {
			t.Errorf("%s: %d events", kind, len(change.Events))
		}
		switch {
		case want == Failed && next.Work.DueAt != now.Add(looks[0]):
			t.Errorf("%s: the query for late money is due at %s", kind, next.Work.DueAt)
		case want == Pending && (!next.Work.DueAt.After(now) || next.Work.DueAt.After(now.Add(queryPauses.first))):
			t.Errorf("%s: the next query is due at %s", kind, next.Work.DueAt)
		case len(change.Transfers) > 0 != (want == Completed):
			t.Errorf("%s: %d transfers", kind, len(change.Transfers))
		}
		if err := next.CheckCancel(); (err == nil) != (want == Pending) {
			t.Errorf("%s: canceling it then: %v", kind, err)
		}
	}
	// The end counts as a cancellation, whether it comes by notification or by query.
	p := pendingVoucher(t)
	asked, _ := p.AskCancel(p.Times.Created.Add(time.Minute))
	told, _ := asked.ApplyNotice(Notice{ID: "1", Account: "one", Reference: asked.Reference(1), Outcome: Outcome{Kind: Lapsed}}, Cascade{}, "CLM-1", asked.Times.CancelAsked)
	if !told.End.Canceled() {
		t.Errorf("after the notice that its charge has ended, the payment is %s", told)
	}
	if told, _ := p.ApplyNotice(Notice{ID: "1", Account: "one", Reference: p.Reference(1), Outcome: Outcome{Kind: Lapsed}}, Cascade{}, "CLM-1", p.Times.Created); told.End.Canceled() || told.Status != Expired {
		t.Errorf("without a cancellation it is %s", told)
	}
	// Another amount is for the operator.
	p.Strays = []Stray{{Code: AmountMismatch}}
	if err := p.CheckCancel(); err == nil {
		t.Error("a payment that has received money may be canceled")
	}
}
