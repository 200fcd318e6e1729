package pay

import (
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// The budget of a payment: a card is never charged after its shopper has left, but a voucher may be
// made later.
func TestBudgetEndsTheCascade(t *testing.T) {
	budget := Budget{Attempts: 2, Time: 30 * time.Second}
	down, unknown, missing := Outcome{Kind: Unavailable}, Outcome{Kind: Unknown}, Outcome{Kind: Missing}
	for _, c := range []struct {
		name    string
		rail    accounts.Rail
		after   []time.Duration // since the payment was created
		answers []Outcome
		tries   int
		stop    string
	}{
		{"attempts", cardRail(), seconds(1, 2), []Outcome{down, down}, 2, "budget: at most 2 attempts"},
		{"time", cardRail(), seconds(30), []Outcome{down}, 1, "budget: no attempt begins later than 30s"},
		{"within its time", cardRail(), seconds(29), []Outcome{down}, 2, ""},
		{"a card after an unknown outcome", cardRail(), seconds(1, 31), []Outcome{unknown, missing}, 1, "budget: no attempt begins later than 30s"},
		{"a voucher whose shopper waits", pixRail(), seconds(30), []Outcome{down}, 1, "budget: no attempt begins later than 30s"},
		{"a voucher after an unknown outcome", pixRail(), seconds(1, 31), []Outcome{unknown, missing}, 2, ""},
		{"a voucher after a crash", pixRail(), seconds(46), []Outcome{missing}, 2, ""},
		{"a voucher after a crash, tries used up", pixRail(), seconds(46, 47), []Outcome{missing, down}, 2, "budget: at most 2 attempts"},
		{"a voucher that could not be paid any more", pixRail(), []time.Duration{time.Second, pixRail().Window}, []Outcome{unknown, missing}, 1, "budget: the payment's window is over"},
		{"a hard decline is no matter of budgets", cardRail(), seconds(40), []Outcome{{Kind: Declined, Code: problem.CardDeclined}}, 1, ""},
	} {
		p := sent(t, c.rail, 1000)
		for i, o := range c.answers {
			cascade := routes
			cascade.Budget = budget
			p, _ = p.ApplyAnswer(o, cascade, noon.Add(c.after[i]))
		}
		last, _ := p.Attempts.Current()
		if len(p.Attempts) != c.tries || c.stop == "" && last.Stop != "" || !strings.HasPrefix(last.Stop, c.stop) {
			t.Errorf("%s: %d tries, stopped by %q; want %d by %q", c.name, len(p.Attempts), last.Stop, c.tries, c.stop)
		}
		if c.stop != "" && (p.Status != Failed || p.End.Failure.Code != string(problem.CascadeExhausted)) {
			t.Errorf("%s: %s, want it exhausted", c.name, p)
		}
	}
}

func seconds(list ...int) (after []time.Duration) {
	for _, n := range list {
		after = append(after, time.Duration(n)*time.Second)
	}
	return after
}

// The last account of the cascade needs no budget to be the last.
func TestStopIsRecordedOnlyIfAnAccountWasLeft(t *testing.T) {
	p := sent(t, cardRail(), 1000)
	c := Cascade{Routes: routes.Routes[:1], Budget: Budget{Attempts: 1}}
	p, _ = p.ApplyAnswer(Outcome{Kind: Unavailable}, c, noon)
	if last, _ := p.Attempts.Current(); p.Status != Failed || last.Stop != "" {
		t.Errorf("%s, stopped by %q", p, last.Stop)
	}
}

// An account's health is judged by the result of its call, not by a later result.
func TestAttemptKeepsTheResultOfItsCall(t *testing.T) {
	p := sent(t, pixRail(), 1000)
	if _, _, ok := p.Attempts[0].CallResult(); ok {
		t.Error("a running call has a result")
	}
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting}, routes, noon.Add(time.Second))
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting}, routes, noon.Add(time.Hour))
	p, _ = p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon.Add(2*time.Hour))
	said, at, ok := p.Attempts[0].CallResult()
	if said != Awaiting || !at.Equal(noon.Add(time.Second)) || !ok || p.Attempts[0].Status != Approved {
		t.Errorf("the call returned %s at %s (%t), the attempt is %s", said, at, ok, p.Attempts[0].Status)
	}
	p = sent(t, pixRail(), 1000)
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting}, routes, noon.Add(time.Hour))
	if _, _, ok := p.Attempts[0].CallResult(); ok {
		t.Error("the result of the sweep counts as the call's result")
	}
}
