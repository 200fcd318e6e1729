package claims_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// court is a provider that accepts evidence, and keeps what it got: the names of the files and the texts, by our reference.
type court struct {
	provider.Provider
	answer func(call int) (accepts bool, kind pay.DefenseState) // nil: it accepts everything
	never  bool                                                 // it has no call for evidence
	mu     sync.Mutex                                           // owns what follows
	calls  int
	has    map[string]string
	last   provider.EvidenceRequest
}

func (c *court) CanDefend(provider.DisputeRequest) bool { return !c.never }

func (c *court) Defend(ctx context.Context, r provider.EvidenceRequest) pay.DefenseAnswer {
	c.mu.Lock()
	c.calls++
	call := c.calls
	c.last = r
	c.mu.Unlock()
	accepts, kind := true, pay.DefenseSubmitted
	if c.answer != nil {
		accepts, kind = c.answer(call)
	}
	if accepts {
		var got []string
		for _, p := range r.Pieces {
			text := p.Kind + ":" + p.Text
			if p.File != nil {
				content, err := p.File.Read(ctx)
				if err != nil {
					return pay.DefenseAnswer{Kind: pay.DefenseDelayed}
				}
				text += p.File.Name + "=" + string(content)
			}
			got = append(got, text)
		}
		c.mu.Lock()
		c.has[r.Reference] = strings.Join(got, ", ")
		c.mu.Unlock()
	}
	return pay.DefenseAnswer{Kind: kind, Reason: "the time is over"}
}

// trial is a disputed payment at a court.
type trial struct {
	service
	court   *court
	payment pay.Payment
}

// disputed opens a dispute of a card payment, whose evidence is due in seven days.
func disputed(t *testing.T, answer func(int) (bool, pay.DefenseState)) trial {
	t.Helper()
	s := open(t)
	tr := trial{service: s, court: &court{Provider: s.Till, answer: answer, has: map[string]string{}}}
	s.Providers.StandIns["sandbox-1"] = tr.court
	tr.payment = s.card(t, 25_50)
	s.dispute(t, tr.payment, sandbox.Notification{Status: "disputed", Dispute: "dp_1"})
	return tr
}

// submit submits a text, or a file if it has a name.
func (tr trial) submit(t *testing.T, name, text string) {
	t.Helper()
	n := claims.NewEvidence{Kind: "receipt", Text: text}
	if name != "" {
		n = claims.NewEvidence{Kind: "receipt", File: evidence.Describe(name, evidence.Text, []byte(text)), Content: []byte(text)}
	}
	_, err := tr.claims.SubmitEvidence(t.Context(), tr.Scope, tr.now(t).ID, n)
	must(t, err)
}

func (tr trial) now(t *testing.T) pay.Claim {
	t.Helper()
	return tr.one(t, tr.payment.ID, pay.ChargebackClaim)
}

// after lets a time pass and sweeps.
func (tr trial) after(t *testing.T, d time.Duration) pay.Claim {
	t.Helper()
	tr.sweep(t, 1, d)
	return tr.now(t)
}

// carrying counts the claims whose evidence the operator has to submit.
func (tr trial) carrying(t *testing.T) int {
	t.Helper()
	list, err := tr.lists.Carrying(t.Context(), 10)
	must(t, err)
	return len(list)
}

func timeline(c pay.Claim) string {
	var notes []string
	for _, s := range c.Timeline {
		if s.Note != "" {
			notes = append(notes, s.Actor+": "+s.Note)
		}
	}
	return strings.Join(notes, "; ")
}

// Pieces that come soon after each other are one submission, with the contents of files. What comes later is another one
// (CLAIM-18).
func TestEvidenceGoesToTheProvider(t *testing.T) {
	tr := disputed(t, nil)
	tr.submit(t, "", "it was signed for")
	if c := tr.after(t, 10*time.Minute); tr.court.calls != 0 || c.Defense.State != pay.DefenseWaiting {
		t.Errorf("after ten minutes there were %d calls, and the evidence is %s", tr.court.calls, c.Defense.State)
	}
	tr.submit(t, "slip.txt", "weight 2 kg")
	if tr.after(t, 10*time.Minute); tr.court.calls != 0 {
		t.Errorf("ten minutes after the second piece there were %d calls", tr.court.calls)
	}
	c := tr.after(t, 6*time.Minute)
	first := pay.Filing{Claim: c}.Reference()
	if got := tr.court.has[first]; tr.court.calls != 1 || got != "receipt:it was signed for, receipt:slip.txt=weight 2 kg" || tr.court.last.ID != "dp_1" || !tr.court.last.RespondBy.Equal(c.DueBy) {
		t.Errorf("after %d calls the provider has %q of dispute %s until %s", tr.court.calls, got, tr.court.last.ID, tr.court.last.RespondBy)
	}
	if c.Defense.State != pay.DefenseSubmitted || c.Defense.Sent != 2 || c.DueAt.IsZero() || timeline(c) != "provider: the evidence was submitted" || c.Status != pay.ClaimUnderReview {
		t.Errorf("the claim is %s", c)
	}
	tr.submit(t, "", "and he thanked us")
	c = tr.after(t, 16*time.Minute)
	if again := (pay.Filing{Claim: c}).Reference(); again == first || tr.court.calls != 2 || c.Defense.Sent != 3 || !tr.court.last.Pieces[1].Sent || tr.court.last.Pieces[2].Sent {
		t.Errorf("more evidence goes as %s in call %d with %+v", again, tr.court.calls, tr.court.last.Pieces)
	}
	if tr.after(t, 24*time.Hour); tr.court.calls != 2 {
		t.Errorf("a day later there were %d calls", tr.court.calls)
	}
}

// An answer that never came counts as nothing: the same submission is repeated until the provider says that it has it.
func TestUnknownEvidenceIsSentAgain(t *testing.T) {
	tr := disputed(t, func(call int) (bool, pay.DefenseState) {
		if call < 4 {
			return true, "" // it accepts it, and its answer is lost
		}
		return true, pay.DefenseSubmitted
	})
	tr.submit(t, "", "it was signed for")
	for n := range 3 {
		if c := tr.after(t, time.Hour); c.Defense.State != pay.DefenseUnknown || c.Defense.Sent != 0 || tr.court.last.Repeated != (n > 0) {
			t.Errorf("after %d calls the evidence is %s, repeated %v", n+1, c.Defense.State, tr.court.last.Repeated)
		}
	}
	if c := tr.after(t, time.Hour); c.Defense.State != pay.DefenseSubmitted || len(tr.court.has) != 1 {
		t.Errorf("in the end it is %s, and the provider has %v", c.Defense.State, tr.court.has)
	}
}

// A provider that accepts nothing now is tried until the deadline. Then it is the operator's task, who says that it is done
// (CLAIM-19).
func TestEvidenceThatMissesItsDeadlineIsTheOperators(t *testing.T) {
	tr := disputed(t, func(int) (bool, pay.DefenseState) { return false, pay.DefenseDelayed })
	tr.submit(t, "", "it was signed for")
	tr.sweep(t, 8*12, 2*time.Hour)
	c := tr.now(t)
	if c.Defense.State != pay.DefenseMissed || timeline(c) != "system: the evidence could not be submitted in time" || tr.court.calls < 50 || tr.carrying(t) != 1 {
		t.Errorf("after %d calls the operator has to carry %d, and the claim is %s", tr.court.calls, tr.carrying(t), c)
	}
	calls := tr.court.calls
	c, err := tr.claims.Carried(t.Context(), tr.Operator, c.ID, "uploaded by hand")
	must(t, err)
	tr.after(t, 48*time.Hour)
	if c.Defense.State != pay.DefenseByHand || tr.carrying(t) != 0 || tr.court.calls != calls || !strings.HasSuffix(timeline(c), "operator: uploaded by hand") {
		t.Errorf("once it is carried, the claim is %s; %d calls since", c, tr.court.calls-calls)
	}
}

// A refusal for good is not repeated. The merchant reads why, and the operator has it to do, until the dispute ends (CLAIM-19).
func TestRefusedEvidenceIsTheOperators(t *testing.T) {
	tr := disputed(t, func(int) (bool, pay.DefenseState) { return false, pay.DefenseRefused })
	tr.submit(t, "", "it was signed for")
	tr.after(t, time.Hour)
	c := tr.after(t, 48*time.Hour)
	if c.Defense.State != pay.DefenseRefused || tr.court.calls != 1 || timeline(c) != "provider: the evidence was refused: the time is over" || !strings.Contains(c.String(), "submit it by hand") || tr.carrying(t) != 1 {
		t.Errorf("after %d calls the operator has to carry %d, and the claim is %s", tr.court.calls, tr.carrying(t), c)
	}
	tr.dispute(t, tr.payment, sandbox.Notification{Status: "dispute_lost", Dispute: "dp_1"})
	if c := tr.now(t); c.Status != pay.ClaimApproved || tr.carrying(t) != 0 {
		t.Errorf("once it is lost, the claim is %s, and the operator has to carry %d", c, tr.carrying(t))
	}
}

// What has not left when the dispute ends is not sent any more, and can be erased.
func TestEvidenceOfAnEndedDisputeStays(t *testing.T) {
	tr := disputed(t, nil)
	tr.submit(t, "slip.txt", "weight 2 kg")
	tr.dispute(t, tr.payment, sandbox.Notification{Status: "dispute_won", Dispute: "dp_1"})
	c := tr.after(t, 24*time.Hour)
	if c.Defense.State != pay.DefenseOver || tr.court.calls != 0 {
		t.Errorf("after the end there were %d calls, and the evidence is %s", tr.court.calls, c.Defense.State)
	}
	if next, texts, err := c.Erase(); err != nil || len(texts) == 0 || next.Defense != c.Defense {
		t.Errorf("erased are %d texts of %s (%v)", len(texts), next, err)
	}
}

// Without a call for it, the evidence is the operator's to carry, as soon as it is complete (CLAIM-19).
func TestEvidenceForAProviderWithoutACallIsCarried(t *testing.T) {
	tr := disputed(t, nil)
	tr.court.never = true
	tr.submit(t, "", "it was signed for")
	if c := tr.after(t, 16*time.Minute); c.Defense.State != pay.DefenseManual || tr.carrying(t) != 1 || tr.court.calls != 0 || timeline(c) != "" {
		t.Errorf("after %d calls the claim is %s, and the operator has to carry %d", tr.court.calls, c, tr.carrying(t))
	}
}
