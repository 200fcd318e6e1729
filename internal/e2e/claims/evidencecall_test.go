package claims

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// court is a provider that takes evidence, and keeps what it got: the names of the files and the texts, by our reference.
type court struct {
	*sandbox.Provider
	answer func(call int) (takes bool, kind pay.DefenseState) // nil: it takes everything
	mu     sync.Mutex                                         // owns what follows
	calls  int
	has    map[string]string
	last   provider.EvidenceRequest
}

func newCourt(answer func(int) (bool, pay.DefenseState)) *court {
	return &court{Provider: sandbox.New("sandbox-1", func() []byte { return []byte("secret") }), answer: answer, has: map[string]string{}}
}

func (c *court) Defend(ctx context.Context, r provider.EvidenceRequest) pay.DefenseAnswer {
	c.mu.Lock()
	c.calls++
	call := c.calls
	c.last = r
	c.mu.Unlock()
	takes, kind := true, pay.DefenseSubmitted
	if c.answer != nil {
		takes, kind = c.answer(call)
	}
	if takes {
		var got []string
		for _, p := range r.Pieces {
			words := p.Kind + ":" + p.Text
			if p.File != nil {
				content, err := p.File.Read(ctx)
				if err != nil {
					return pay.DefenseAnswer{Kind: pay.DefenseDelayed}
				}
				words += p.File.Name + "=" + string(content)
			}
			got = append(got, words)
		}
		c.mu.Lock()
		c.has[r.Reference] = strings.Join(got, ", ")
		c.mu.Unlock()
	}
	return pay.DefenseAnswer{Kind: kind, Reason: "the time is over"}
}

// trial is a disputed payment at a court, with nodes on one database.
type trial struct {
	stage
	court   *court
	node    *app.App
	payment string
}

// disputed opens a dispute of a card payment, whose evidence is due in seven days.
func disputed(t *testing.T, database string, c *court) trial {
	t.Helper()
	s := stage{database, &harness.Clock{}, &harness.Faults{}}
	s.clock.Freeze()
	tr := trial{stage: s, court: c, node: s.node(t, c)}
	_, tr.payment = harness.PaidCard(t, tr.node)
	bank := issuer{Provider: c.Provider}
	bank.send(t, tr.node.Notices, tr.payment, `"status":"disputed","dispute":"dp_1"`)
	return tr
}

func (tr trial) claim(t *testing.T) pay.Claim {
	t.Helper()
	return disputeOf(t, tr.node.Claims, tr.payment)
}

// says submits a text, or a file if it has a name.
func (tr trial) says(t *testing.T, name, text string) {
	t.Helper()
	n := claims.NewEvidence{Kind: "receipt", Text: text}
	if name != "" {
		n = claims.NewEvidence{Kind: "receipt", File: evidence.Describe(name, evidence.Text, []byte(text)), Content: []byte(text)}
	}
	c := tr.claim(t)
	_, err := tr.node.Claims.SubmitEvidence(ctx, c.Scope, c.ID, n)
	harness.Must(t, err)
}

// after lets a time pass and sweeps on a node.
func (tr trial) after(t *testing.T, d time.Duration) pay.Claim {
	t.Helper()
	tr.sweep(t, tr.node.Claims.Sweep, 1, d)
	return tr.claim(t)
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

func eachCourt(t *testing.T, answer func(int) (bool, pay.DefenseState), test func(t *testing.T, tr trial)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		tr := disputed(t, database, newCourt(answer))
		test(t, tr)
		harness.Sound(t, tr.node, tr.log)
	})
}

// Pieces that come soon after each other are one submission, with the contents of files. What comes later is another one.
func TestEvidenceGoesToTheProvider(t *testing.T) {
	eachCourt(t, nil, func(t *testing.T, tr trial) {
		tr.says(t, "", "it was signed for")
		if c := tr.after(t, 10*time.Minute); tr.court.calls != 0 || c.Defense.State != pay.DefenseWaiting {
			t.Errorf("after ten minutes there were %d calls, and the evidence is %s", tr.court.calls, c.Defense.State)
		}
		tr.says(t, "slip.txt", "weight 2 kg")
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
		tr.says(t, "", "and he thanked us")
		c = tr.after(t, 16*time.Minute)
		if again := (pay.Filing{Claim: c}).Reference(); again == first || tr.court.calls != 2 || c.Defense.Sent != 3 || !tr.court.last.Pieces[1].Sent || tr.court.last.Pieces[2].Sent {
			t.Errorf("more evidence goes as %s in call %d with %+v", again, tr.court.calls, tr.court.last.Pieces)
		}
		if tr.after(t, 24*time.Hour); tr.court.calls != 2 {
			t.Errorf("a day later there were %d calls", tr.court.calls)
		}
	})
}

// An answer that never came counts as nothing: the same submission is repeated until the provider says that it has it.
func TestUnknownEvidenceIsSentAgain(t *testing.T) {
	eachCourt(t, func(call int) (bool, pay.DefenseState) {
		if call < 4 {
			return true, "" // it takes it, and its answer is lost
		}
		return true, pay.DefenseSubmitted
	}, func(t *testing.T, tr trial) {
		tr.says(t, "", "it was signed for")
		for n := range 3 {
			if c := tr.after(t, time.Hour); c.Defense.State != pay.DefenseUnknown || c.Defense.Sent != 0 || tr.court.last.Repeated != (n > 0) {
				t.Errorf("after %d calls the evidence is %s, repeated %v", n+1, c.Defense.State, tr.court.last.Repeated)
			}
		}
		if c := tr.after(t, time.Hour); c.Defense.State != pay.DefenseSubmitted || len(tr.court.has) != 1 {
			t.Errorf("in the end it is %s, and the provider has %v", c.Defense.State, tr.court.has)
		}
	})
}

// A provider that takes nothing now is tried until the deadline. Then it is the operator's task, who says that it is done.
func TestEvidenceThatMissesItsDeadlineIsTheOperators(t *testing.T) {
	eachCourt(t, func(int) (bool, pay.DefenseState) { return false, pay.DefenseDelayed }, func(t *testing.T, tr trial) {
		tr.says(t, "", "it was signed for")
		for range 8 * 12 {
			tr.after(t, 2*time.Hour)
		}
		c := tr.claim(t)
		if c.Defense.State != pay.DefenseMissed || timeline(c) != "system: the evidence could not be submitted in time" || tr.court.calls < 50 {
			t.Errorf("after %d calls the claim is %s", tr.court.calls, c)
		}
		list, err := tr.node.ClaimLists.Carrying(ctx, 10)
		harness.Must(t, err)
		open, err := tr.node.OldestOpen(ctx)
		harness.Must(t, err)
		if len(list) != 1 || list[0].ID != c.ID || open["evidence to submit"].IsZero() {
			t.Errorf("the operator sees %v, since %s", list, open["evidence to submit"])
		}
		calls := tr.court.calls
		c, err = tr.node.Claims.Carried(ctx, ana, c.ID, "uploaded by hand")
		harness.Must(t, err)
		list, err = tr.node.ClaimLists.Carrying(ctx, 10)
		harness.Must(t, err)
		tr.after(t, 48*time.Hour)
		if c.Defense.State != pay.DefenseByHand || len(list) != 0 || tr.court.calls != calls || !strings.HasSuffix(timeline(c), "operator: uploaded by hand") {
			t.Errorf("once it is carried, the claim is %s; %d calls since", c, tr.court.calls-calls)
		}
	})
}

// A refusal for good is not repeated. The merchant reads why, and the operator has it to do.
func TestRefusedEvidenceIsTheOperators(t *testing.T) {
	eachCourt(t, func(int) (bool, pay.DefenseState) { return false, pay.DefenseRefused }, func(t *testing.T, tr trial) {
		tr.says(t, "", "it was signed for")
		tr.after(t, time.Hour)
		c := tr.after(t, 48*time.Hour)
		if c.Defense.State != pay.DefenseRefused || tr.court.calls != 1 || timeline(c) != "provider: the evidence was refused: the time is over" || !strings.Contains(c.String(), "submit it by hand") {
			t.Errorf("after %d calls the claim is %s", tr.court.calls, c)
		}
		// It ends as any dispute, and then nothing is left to do.
		bank := issuer{Provider: tr.court.Provider}
		bank.send(t, tr.node.Notices, tr.payment, `"status":"dispute_lost","dispute":"dp_1"`)
		list, err := tr.node.ClaimLists.Carrying(ctx, 10)
		harness.Must(t, err)
		if c := tr.claim(t); c.Status != pay.ClaimApproved || len(list) != 0 {
			t.Errorf("once it is lost, the claim is %s, and the operator has to carry %v", c.Status, list)
		}
	})
}

// What has not left when the dispute ends is not sent any more, and can be erased.
func TestEvidenceOfAnEndedDisputeStays(t *testing.T) {
	eachCourt(t, nil, func(t *testing.T, tr trial) {
		tr.says(t, "slip.txt", "weight 2 kg")
		bank := issuer{Provider: tr.court.Provider}
		bank.send(t, tr.node.Notices, tr.payment, `"status":"dispute_won","dispute":"dp_1"`)
		c := tr.after(t, 24*time.Hour)
		if c.Defense.State != pay.DefenseOver || tr.court.calls != 0 {
			t.Errorf("after the end there were %d calls, and the evidence is %s", tr.court.calls, c.Defense.State)
		}
		next, words, err := c.Erase()
		if err != nil || len(words) == 0 || next.Defense != c.Defense {
			t.Errorf("erased are %d texts of %s (%v)", len(words), next, err)
		}
	})
}

// A node dies in the middle of a submission. Another one repeats it under the same reference, and not before the first call can have
// ended; the late answer of the first changes nothing.
func TestNodeThatDiesWhileItSendsEvidence(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		reached, answers := make(chan struct{}), make(chan struct{})
		tr := disputed(t, database, newCourt(func(call int) (bool, pay.DefenseState) {
			if call == 1 {
				close(reached)
				<-answers
				return true, pay.DefenseRefused
			}
			return true, pay.DefenseSubmitted
		}))
		tr.says(t, "", "it was signed for")
		second := tr.stage.node(t, tr.court)
		var first sync.WaitGroup
		tr.clock.Advance(16 * time.Minute)
		first.Go(func() { _, _ = tr.node.Claims.Sweep(ctx) })
		harness.Soon(t, "the call that the test holds to begin", reached)
		tr.sweep(t, second.Claims.Sweep, 1, 2*time.Minute)
		if tr.court.calls != 1 {
			t.Errorf("while the first node may still call, there were %d calls", tr.court.calls)
		}
		tr.sweep(t, second.Claims.Sweep, 1, 2*time.Minute)
		c := tr.claim(t)
		if tr.court.calls != 2 || c.Defense.State != pay.DefenseSubmitted || !tr.court.last.Repeated {
			t.Errorf("after %d calls the evidence is %s", tr.court.calls, c.Defense.State)
		}
		close(answers)
		first.Wait()
		if got := tr.claim(t); got.Defense.State != pay.DefenseSubmitted || len(tr.court.has) != 1 {
			t.Errorf("after the first node's answer the evidence is %s, and the provider has %v", got.Defense.State, tr.court.has)
		}
		harness.Sound(t, second, tr.log)
	})
}

// plainBank is a provider without a call for evidence.
type plainBank struct{ *court }

func (plainBank) CanDefend(provider.DisputeRequest) bool { return false }

// Without a call for it, the evidence is the operator's to carry, as soon as it is complete.
func TestEvidenceForAProviderWithoutACallIsCarried(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		c := newCourt(nil)
		tr := disputed(t, database, c)
		tr.node = harness.Node(t, database, tr.clock, plainBank{c}, tr.log)
		tr.says(t, "", "it was signed for")
		got := tr.after(t, 16*time.Minute)
		list, err := tr.node.ClaimLists.Carrying(ctx, 10)
		harness.Must(t, err)
		if got.Defense.State != pay.DefenseManual || len(list) != 1 || c.calls != 0 || timeline(got) != "" {
			t.Errorf("after %d calls the claim is %s, and the operator has to carry %d", c.calls, got, len(list))
		}
		harness.Sound(t, tr.node, tr.log)
	})
}

// The same over HTTP: an account of an adapter, with an upload for each file. Its first answer is lost after it took the evidence; a bank
// that has read its answer refuses more.
func TestEvidenceOverHTTP(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		line := d.Lines["acme-1"]
		line.Next("paid")
		d.Pay(t, 1, 1)
		id := d.IDs[0]
		d.TellUpstream(t, line.Upstream, id, 1, "disputed", "acme-1-hush").Want(t, http.StatusOK)
		claim := d.Live.Get(t, "/claims?transactionId="+id).Text(t, "data.0.id")
		d.Live.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		d.Live.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceFile(evidence.Text, "slip.txt", []byte("weight 2 kg"))).Want(t, http.StatusCreated)
		look := func(state pay.DefenseState) pay.Claim { return defense(t, d.Instance, claim, state) }
		line.Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if strings.HasPrefix(r.URL.Path, "/disputes/") {
				harness.CutsAfter(w, r, next)
			}
			next.ServeHTTP(w, r)
		})
		look(pay.DefenseUnknown)
		line.Fails(nil)
		c := look(pay.DefenseSubmitted)
		dispute := "d-" + strings.TrimPrefix(id, "TXN-") + "-1"
		reference := pay.Filing{Claim: c}.Reference()
		if got, want := line.Evidence()[dispute], reference+" slip.txt=weight 2 kg, delivery_proof: it was signed for"; got != want {
			t.Errorf("the provider has %q, want %q", got, want)
		}
		d.Live.Post(t, "/claims/"+claim+"/evidence", `{"kind":"other","text":"and he thanked us"}`).Want(t, http.StatusCreated)
		if c := look(pay.DefenseRefused); c.Defense.Sent != 2 {
			t.Errorf("after more was refused, the claim is %s", c)
		}
		if r := d.Live.Get(t, "/claims/"+claim); !strings.Contains(r.String(), "the evidence was refused: the bank takes no more evidence") || strings.Contains(r.String(), "acme") {
			t.Errorf("the merchant sees %s", r)
		}
	})
}

// defense lets time pass until the evidence of a claim has come to a state.
func defense(t *testing.T, s *harness.Instance, claim string, state pay.DefenseState) (c pay.Claim) {
	t.Helper()
	s.Clock.Advance(20 * time.Minute)
	lookAtClaims(t, s, "the evidence is "+string(state), func() bool {
		var err error
		c, err = s.App.Claims.Any(ctx, claim)
		harness.Must(t, err)
		return c.Defense.State == state
	})
	return c
}

// The simulated providers refuse evidence, or take it without an answer: the merchant sees the reason, and what was taken is found by
// another try.
func TestTheSandboxRehearsesEvidence(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		_, claim := o.Dispute(t, true)
		s.Upstream(t, sandbox.EvidenceTimeout, sandbox.EvidenceTimeout, sandbox.EvidenceTimeout)
		o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		if c := defense(t, s, claim, pay.DefenseUnknown); c.Defense.Sent != 0 || !c.Defense.Unsure {
			t.Errorf("without an answer the claim is %s", c)
		}
		s.Upstream(t, "", "", "")
		if c := defense(t, s, claim, pay.DefenseSubmitted); c.Defense.Sent != 1 {
			t.Errorf("once there is an answer the claim is %s", c)
		}
		s.Upstream(t, sandbox.EvidenceRefused, sandbox.EvidenceRefused, sandbox.EvidenceRefused)
		o.Post(t, "/claims/"+claim+"/evidence", `{"kind":"other","text":"and he thanked us"}`).Want(t, http.StatusCreated)
		if c := defense(t, s, claim, pay.DefenseRefused); c.Defense.Sent != 1 {
			t.Errorf("after more was refused, the claim is %s", c)
		}
		if r := o.Get(t, "/claims/"+claim); !strings.Contains(r.String(), "the evidence was refused: the bank takes no evidence for this dispute") {
			t.Errorf("the merchant sees %s", r)
		}
		s.Upstream(t, "", "", "")
	})
}

// The operator says over the admin API that the evidence was submitted in the provider's panel. Nothing of it is sent any more.
func TestOperatorCarriesEvidenceOverTheAdminAPI(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		payment, claim := o.Dispute(t, true)
		path, words := "/claims/"+claim+"/carried", `{"note":"uploaded on Monday"}`
		op.Ask(t, http.MethodPost, path, words).Refused(t, "409 conflict_state conflict_error from=needs_evidence action=carried") // there is none
		op.Ask(t, http.MethodPost, path, `{}`).Refused(t, "400 missing_field invalid_request_error param=note issues=note missing=note")
		op.Ask(t, http.MethodPost, "/claims/CLM-NONE/carried", words).Refused(t, "404 claim_not_found invalid_request_error")
		op.Upstream(t, sandbox.EvidenceRefused, sandbox.EvidenceRefused, sandbox.EvidenceRefused)
		o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		defense(t, op.Instance, claim, pay.DefenseRefused)
		list, err := op.App.ClaimLists.Carrying(ctx, 10)
		if harness.Must(t, err); len(list) != 1 || list[0].ID != claim {
			t.Errorf("the operator has to carry %v", list)
		}
		op.Upstream(t, "", "", "")
		r := op.Ask(t, http.MethodPost, path, words)
		r.Is(t, http.StatusOK, `{"id":"`+claim+`","status":"under_review","transactionId":"`+payment+`"}`)
		if e := harness.AuditEntry(t, o, audit.EvidenceCarried, claim); e.By.ID != "ana" || e.By.Request != r.Header.Get("X-Request-Id") {
			t.Errorf("the entry is %+v", e)
		}
		if list, err := op.App.ClaimLists.Carrying(ctx, 10); err != nil || len(list) != 0 {
			t.Errorf("the operator still has to carry %v, %v", list, err)
		}
		if c := defense(t, op.Instance, claim, pay.DefenseByHand); c.Defense.Tries != 1 || !strings.Contains(timeline(c), "uploaded on Monday") {
			t.Errorf("the claim is %s: %s", c, timeline(c))
		}
		harness.RuleClaim(t, o, payment, "won")
		op.Ask(t, http.MethodPost, path, words).Refused(t, "409 claim_already_resolved conflict_error from=rejected action=evidence")
	})
}

// A merchant accepts a dispute before its evidence has left: nothing is sent, and the operator is told.
func TestAcceptedDisputeIsNotAnswered(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		d := harness.DrilledBy(t, op.Instance)
		line := d.Lines["acme-1"]
		line.Next("paid")
		d.Pay(t, 1, 1)
		id := d.IDs[0]
		d.TellUpstream(t, line.Upstream, id, 1, "disputed", "acme-1-hush").Want(t, http.StatusOK)
		claim := d.Live.Get(t, "/claims?transactionId="+id).Text(t, "data.0.id")
		d.Live.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		d.Live.Post(t, "/claims/"+claim+"/accept", "").Want(t, http.StatusOK)
		if text := op.Log.String(); !strings.Contains(text, "accept it in the provider's panel too") || !strings.Contains(text, "dispute=d-") {
			t.Errorf("the log does not name the dispute:\n%s", text)
		}
		d.Pass(t, time.Hour)
		c, err := d.App.Claims.Any(ctx, claim)
		if harness.Must(t, err); c.Status != pay.ClaimApproved || c.Defense.State != pay.DefenseOver || len(line.Evidence()) != 0 {
			t.Errorf("the claim is %s, and the provider has %v", c, line.Evidence())
		}
	})
}
