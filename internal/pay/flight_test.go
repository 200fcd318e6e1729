package pay

import (
	"testing"
	"time"
)

// While a call may still arrive, nothing proves that it did not. Of two calls, one may be
// refused and the other accepted.
func TestFlightProvesNothingEarly(t *testing.T) {
	end := noon.Add(35 * time.Second)
	for _, c := range []struct {
		name          string
		calls         int
		said          OutcomeKind
		early, late   OutcomeKind
		payout        PayoutKind
		pEarly, pLate PayoutKind
	}{
		{"it exists", 1, Approved, Approved, Approved, PayoutPaid, PayoutPaid, PayoutPaid},
		{"it exists, after two calls", 2, Awaiting, Awaiting, Awaiting, PayoutAccepted, PayoutAccepted, PayoutAccepted},
		{"it does not exist", 1, Missing, Unknown, Missing, PayoutMissing, PayoutUnknown, PayoutMissing},
		{"the call was refused", 1, Declined, Declined, Declined, PayoutRejected, PayoutRejected, PayoutRejected},
		{"one of two was refused", 2, Declined, Unknown, Declined, PayoutRejected, PayoutUnknown, PayoutRejected},
		{"the account could not pay", 1, Declined, Declined, Declined, PayoutUnavailable, PayoutUnavailable, PayoutUnavailable},
		{"at one of two the account could not pay", 2, Declined, Unknown, Declined, PayoutUnavailable, PayoutUnknown, PayoutUnavailable},
	} {
		f := Flight{Until: end.UnixMicro(), Calls: c.calls}
		for at, want := range map[time.Time]OutcomeKind{end.Add(-1000): c.early, end: c.late} {
			if got := f.ProvedByQuery(Outcome{Kind: c.said}, at).Kind; got != want {
				t.Errorf("%s, %s: %s is taken for %s, want %s", c.name, at.Sub(end), c.said, got, want)
			}
		}
		for at, want := range map[time.Time]PayoutKind{end.Add(-1000): c.pEarly, end: c.pLate} {
			if got := f.PayoutProvedByQuery(PayoutOutcome{Kind: c.payout}, at).Kind; got != want {
				t.Errorf("%s, %s: a payout that is %s is taken for %s, want %s", c.name, at.Sub(end), c.payout, got, want)
			}
		}
	}
}

// An answer about a refund belongs to the call that got it.
func TestRefundIsAnsweredCallByCall(t *testing.T) {
	p, first := paidClaim(t, UserDispute)
	lost, _ := first.ApplyRefundAnswer(p, first, Outcome{Kind: Missing}, noon)
	again, _ := lost.InHandOf(Caller{"node_b", noon.Add(time.Minute)}).Resend(noon)
	if _, change := again.ApplyRefundAnswer(p, first, Outcome{Kind: Declined}, noon); len(change.Claims)+len(change.Transfers) > 0 {
		t.Errorf("the first call was refused after the second one was begun, and that wrote %+v", change)
	}
	taken, _ := again.ApplyRefundAnswer(p, first, Outcome{Kind: Approved, Local: first.Local}, noon)
	if taken.Status != ClaimApproved {
		t.Errorf("the first call was accepted after all: the refund is %s", taken.Status)
	}
	refused, _ := again.ApplyRefundAnswer(p, again, Outcome{Kind: Declined}, noon)
	if refused.Status != ClaimRejected {
		t.Fatalf("the last call was refused: the refund is %s", refused.Status)
	}
	_, change := refused.ApplyRefundAnswer(p, first, Outcome{Kind: Approved, Local: first.Local}, noon)
	if len(change.Notices) != 1 || change.Notices[0].Verdict != Mismatched || len(change.Claims) > 0 {
		t.Errorf("a refund that was given up was made, and the operator gets %+v", change.Notices)
	}
}

// A provider may not list a refund at once. What counts is the last call, which may be hours after the first.
func TestRefundRemembersItsFirstAndItsLastCall(t *testing.T) {
	p, first := paidClaim(t, UserDispute)
	if sent, last := first.Call.SentAt(); sent != first.CreatedAt || last != sent {
		t.Errorf("sent at %s, last at %s, want both at %s", sent, last, first.CreatedAt)
	}
	lost, _ := first.ApplyRefundAnswer(p, first, Outcome{Kind: Missing}, noon)
	again, _ := lost.Resend(noon.Add(time.Hour))
	if sent, last := again.Call.SentAt(); sent != first.CreatedAt || last != noon.Add(time.Hour) {
		t.Errorf("sent at %s, last at %s, want the second one an hour after noon", sent, last)
	}
	if sent, last := (RefundCall{}).SentAt(); !sent.IsZero() || !last.IsZero() {
		t.Errorf("a row without times: %s, %s", sent, last)
	}
}

// Late money stays with the operator after its refund was refused. If the refund was made after all
// (by a call that was in progress, or according to a notice), the operator must decide.
func TestRefusedRefundOfLateMoneyThatWasMade(t *testing.T) {
	p, late := paidClaim(t, Inquiry)
	first, _ := late.send(ClaimApproved, PartyOperator, "", noon)
	refused, _ := first.ApplyRefundAnswer(p, first, Outcome{Kind: Declined}, noon)
	if refused.Calling() || refused.Status.Terminal() {
		t.Fatalf("the call was refused: the refund is %+v, the claim %s", refused.Call, refused.Status)
	}
	made := Outcome{Kind: Approved, Local: first.Local}
	_, answered := refused.ApplyRefundAnswer(p, first, made, noon)
	_, told := refused.ApplyRefundNotice(p, Notice{ID: "1", Refund: first.Reference(), Outcome: made}, "CLM-2", noon)
	for what, change := range map[string]Change{"an answer": answered, "a notification": told} {
		if len(change.Notices) != 1 || change.Notices[0].Verdict != Mismatched || len(change.Claims) > 0 {
			t.Errorf("%s: it was made, and that wrote %+v", what, change)
		}
	}
}

// A refund was requested twice and made, and failed later: the notice of that may be about either call, so it decides nothing. The call's
// own answer is older, and decides nothing either: a query has the end.
func TestAnswerThatIsOlderThanANoticeIsAskedAgain(t *testing.T) {
	p, first := paidClaim(t, UserDispute)
	lost, _ := first.ApplyRefundAnswer(p, first, Outcome{Kind: Missing}, noon)
	again, _ := lost.InHandOf(Caller{"node_b", noon.Add(time.Minute)}).Resend(noon)
	failed := again.Call.ProvedByNotice(Outcome{Kind: Declined}, noon)
	told, _ := again.ApplyRefundNotice(p, Notice{ID: "1", Refund: again.Reference(), Outcome: failed}, "CLM-2", noon)
	if told.Status.Terminal() {
		t.Fatalf("a refusal of one of two calls made the refund %s", told.Status)
	}
	open, _ := told.ApplyRefundAnswer(p, again, Outcome{Kind: Approved, Local: first.Local}, noon)
	if open.Status.Terminal() || open.DueAt.IsZero() {
		t.Errorf("an answer that is older than the notice made the refund %s", open.Status)
	}
	if asked, _ := open.ApplyRefundAnswer(p, open, Outcome{Kind: Approved, Local: first.Local}, noon); asked.Status != ClaimApproved {
		t.Errorf("a query says that it was made: the refund is %s", asked.Status)
	}
	if asked, _ := open.ApplyRefundAnswer(p, open, Outcome{Kind: Declined}, noon); asked.Status != ClaimRejected {
		t.Errorf("a query says that it failed: the refund is %s", asked.Status)
	}
}
