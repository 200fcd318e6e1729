package pay

import (
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// An unknown outcome is queried after half a minute, then with pauses that double up to an hour,
// and after 24 of those every six hours.
func TestUnknownOutcomeIsQueriedWithLongerPauses(t *testing.T) {
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute}
	want = append(want, slices.Repeat([]time.Duration{time.Hour}, hourlyQuestions)...)
	want = append(want, slices.Repeat([]time.Duration{6 * time.Hour}, 3)...)
	p := sent(t, pixRail(), 1000)
	now := noon
	for i, pause := range want {
		p, _ = p.ApplyAnswer(Outcome{Kind: Unknown}, routes, now)
		if got := p.Work.DueAt.Sub(now); got != pause {
			t.Fatalf("after %d unanswered queries the next one is in %s, want %s", i+1, got, pause)
		}
		if !p.Times.Unsure.Equal(noon) {
			t.Fatalf("unknown since %s, want %s", p.Times.Unsure, noon)
		}
		now = p.Work.DueAt
	}
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting}, routes, now)
	if p.Status != Pending || !p.Times.Unsure.IsZero() || p.Attempts[0].Unanswered != 0 {
		t.Errorf("when it is known: %s, unsure since %s, %d unanswered queries", p, p.Times.Unsure, p.Attempts[0].Unanswered)
	}
}

// The operator's finding is accepted if the outcome is unknown, or if the provider says the same.
func TestProviderContradictsTheOperator(t *testing.T) {
	p := sent(t, pixRail(), 1000)
	other := Outcome{Kind: Approved, Local: money.New(p.Price.Local.Minor-1, p.Price.Local.Currency)}
	for _, c := range []struct {
		o                Outcome
		paid, notCharged bool // the finding is contradicted
	}{
		{Outcome{Kind: Unknown}, false, false}, {Outcome{Kind: Approved}, false, true}, {Outcome{Kind: Approved, Local: p.Price.Local}, false, true},
		{other, true, true}, {Outcome{Kind: Awaiting}, true, true}, {Outcome{Kind: Declined}, true, false},
		{Outcome{Kind: Missing}, true, false}, {Outcome{Kind: Lapsed}, true, false},
	} {
		if got := WordPaid.Contradicts(p, c.o); got != c.paid {
			t.Errorf("paid, and the provider says %s %s: contradicted %v", c.o.Kind, c.o.Local, got)
		}
		if got := WordNotCharged.Contradicts(p, c.o); got != c.notCharged {
			t.Errorf("not charged, and the provider says %s %s: contradicted %v", c.o.Kind, c.o.Local, got)
		}
	}
}

// However many amounts a provider reports, a payment stays small enough to be read. Late money is
// never left out.
func TestStraysAreBounded(t *testing.T) {
	p := sent(t, pixRail(), 1000)
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting}, routes, noon)
	told, receipts := 0, 0
	for i := range int64(3 * maxStrays) {
		next, change := p.ApplyAnswer(Outcome{Kind: Approved, Local: money.New(i+1, money.BRL)}, routes, noon)
		told, receipts, p = told+len(change.Events), receipts+len(change.Notices), next
	}
	if len(p.Strays) != maxStrays || told != maxStrays || receipts != maxStrays {
		t.Errorf("%d strays, %d events and %d receipts, want %d of each", len(p.Strays), told, receipts, maxStrays)
	}
	p, _ = p.Expire(Outcome{Kind: Lapsed}, noon.Add(p.Way.Window))
	p, _ = p.ApplyLook(Outcome{Kind: Approved, Local: p.Price.Local}, "CLM-1", noon.Add(p.Way.Window+time.Hour))
	if last := p.Strays[len(p.Strays)-1]; last.Code != LatePayment || last.Claim != "CLM-1" || !p.Work.DueAt.IsZero() {
		t.Errorf("late money is recorded as %+v, and queried at %s", last, p.Work.DueAt)
	}
}

// While another amount is held, no other provider is called for the payment, whatever this one says
// next.
func TestNobodyElseIsTriedWhileMoneyIsHeld(t *testing.T) {
	for _, kind := range []OutcomeKind{Missing, Unavailable, Errored} {
		p := sent(t, pixRail(), 1000)
		p, _ = p.ApplyAnswer(Outcome{Kind: Approved, Local: money.New(p.Price.Local.Minor-1, p.Price.Local.Currency)}, routes, noon)
		p, _ = p.ApplyAnswer(Outcome{Kind: kind}, routes, noon)
		if p.Status != Failed || p.End.Failure.Code != amountMismatch || len(p.Attempts) != 1 {
			t.Errorf("then it says %s: %s, %+v", kind, p, p.End.Failure)
		}
	}
}

// Each pause is twice the one before, up to its longest.
func TestPausesDouble(t *testing.T) {
	claim, withdrawal := Claim{}, Withdrawal{Status: WithdrawalProcessing}
	for _, c := range []struct {
		what  string
		pause func(n int) time.Duration // after the n-th time, from 1
		want  []time.Duration
	}{
		{"a payment's unknown outcome", func(n int) time.Duration { return Attempt{Unanswered: n}.pause() },
			[]time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour}},
		{"a refund", func(n int) time.Duration { return RefundCall{Tries: n}.pause() },
			[]time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour}},
		{"a dispute", func(n int) time.Duration {
			claim.Case.Asked = n - 1
			return claim.lookAgain(noon).Sub(noon)
		}, []time.Duration{6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 96 * time.Hour, 168 * time.Hour}},
		{"a payout", func(n int) time.Duration {
			withdrawal.Payout.Checks = n - 1
			next, _, _ := withdrawal.ApplyPayoutOutcome(PayoutOutcome{Kind: PayoutUnknown}, noon)
			return next.DueAt.Sub(noon)
		}, []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute}},
		{"an account that did not pay", func(n int) time.Duration {
			w := Withdrawal{Tried: slices.Repeat([]PayoutAttempt{{Account: "one", Ended: noon.UnixMicro()}, {Account: "two"}}, n)}
			return w.Rests("one").Sub(noon)
		}, []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour}},
	} {
		longest := c.want[len(c.want)-1]
		for i, want := range append(c.want, longest, longest, longest) {
			if got := c.pause(i + 1); got != want {
				t.Errorf("%s: pause %d is %s, want %s", c.what, i+1, got, want)
			}
		}
	}
	if first, last := (RefundCall{}).pause(), (RefundCall{Tries: 10_000}).pause(); first != 30*time.Second || last != time.Hour {
		t.Errorf("a refund's pauses before the first call and after many: %s, %s", first, last)
	}
}
