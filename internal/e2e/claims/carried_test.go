package claims

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// defense lets time pass until the evidence of a claim has come to a state.
func defense(t *testing.T, s *harness.Instance, claim string, state pay.DefenseState) (c pay.Claim) {
	t.Helper()
	s.Clock.Advance(20 * time.Minute)
	lookAtClaims(t, s, "the evidence is "+string(state), func() bool {
		var err error
		c, err = s.App.Claims.AnyClaim(ctx, claim)
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
		c, err := d.App.Claims.AnyClaim(ctx, claim)
		if harness.Must(t, err); c.Status != pay.ClaimApproved || c.Defense.State != pay.DefenseOver || len(line.Evidence()) != 0 {
			t.Errorf("the claim is %s, and the provider has %v", c, line.Evidence())
		}
	})
}
