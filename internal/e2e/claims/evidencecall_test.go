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
		if open, err := op.App.OldestOpen(ctx); err != nil || open["evidence to submit"].IsZero() {
			t.Errorf("the oldest that waits are %v, %v", open, err)
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
