package decisions

import (
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

type claimView struct {
	desk.Form
	pay.Claim
	Ends  []frame.Option // how it can end by the operator's word
	Asks  bool           // the operator may ask the merchant for evidence
	Carry bool           // the operator may say that the evidence was submitted by hand
	Steps []step
	Pages *desk.Accounts
}

type step struct {
	Status pay.ClaimStatus
	At     time.Time
	Text   string
}

func (p *pages) claim(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.showClaim(w, r, v, http.StatusOK, desk.Form{})
}

func (p *pages) showClaim(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, typed desk.Form) error {
	c, err := p.Uses.Claims.Any(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	view := claimView{Form: typed, Claim: c, Ends: p.ends(v, c), Pages: desk.NewAccounts(r.Context(), p.Uses.Providers)}
	_, err = c.After(pay.AskEvidence)
	view.Asks = err == nil
	_, err = c.After(pay.Submit)
	view.Carry = err == nil && c.Kind == pay.ChargebackClaim && len(c.Evidence) > c.Defense.Sent
	for _, s := range c.Timeline {
		by := s.Actor
		if text := p.Room.Text(v, "party_"+s.Actor); text != "party_"+s.Actor {
			by = text
		}
		if s.Note != "" {
			by += ": " + s.Note
		}
		view.Steps = append(view.Steps, step{s.Status, time.UnixMicro(s.At), by})
	}
	return p.Room.ShowStatus(w, r, v, status, "claim", view)
}

// ends are the ends that a claim can have by the operator's word.
func (p *pages) ends(v *frame.Visit, c pay.Claim) (list []frame.Option) {
	for _, word := range []struct {
		outcome claims.Outcome
		text    string
	}{{claims.Approved, "claim_approve"}, {claims.Rejected, "claim_reject"}, {claims.Withdrawn, "claim_withdraw"}, {claims.Returned, "claim_return"}} {
		verb := claims.Verbs[word.outcome]
		_, err := c.After(verb)
		stuck := c.Kind == pay.Inquiry && c.Calling() && verb != pay.Withdraw // its refund is under way, and its provider may not tell
		unfounded := c.Kind == pay.Inquiry && verb == pay.Withdraw && !c.Calling() && !c.Status.Terminal() && strings.HasPrefix(c.Reason, "another amount")
		cameBack := verb == pay.ReturnRefund && c.Kind != pay.ChargebackClaim && c.Status.Pays() && c.Call.Returned == ""
		if verb != pay.ReturnRefund && (err == nil || stuck || unfounded) || cameBack {
			list = append(list, frame.Option{Value: string(word.outcome), Label: p.Room.Text(v, word.text)})
		}
	}
	return list
}

func (p *pages) resolveClaim(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	verb, known := claims.Verbs[claims.Outcome(r.FormValue("outcome"))]
	if !known {
		return p.claimRefused(w, r, v, problem.Field(problem.InvalidRequest, "outcome", chooseClaimEnd))
	}
	return p.word(w, r, v, verb)
}

// askClaim asks the merchant for evidence about an inquiry.
func (p *pages) askClaim(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.word(w, r, v, pay.AskEvidence)
}

// carriedClaim records that the operator submitted the evidence in the provider's panel.
func (p *pages) carriedClaim(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	note, err := desk.ReadNote(r)
	if err == nil {
		_, err = p.Uses.Claims.Carried(r.Context(), v.Actor(), r.PathValue("id"), note)
	}
	if err != nil {
		return p.claimRefused(w, r, v, err)
	}
	return p.Done(w, r, "claims/"+r.PathValue("id"), "decided")
}

func (p *pages) word(w http.ResponseWriter, r *http.Request, v *frame.Visit, verb pay.ClaimVerb) error {
	note, err := desk.ReadNote(r)
	if err == nil {
		_, err = p.Uses.Claims.Resolve(r.Context(), v.Actor(), claims.Resolution{
			ID: r.PathValue("id"), Word: verb, Note: note, Force: r.FormValue("force") != "",
			Keep: strings.TrimSpace(r.FormValue("keep")), Complete: r.FormValue("complete") != "", ByHand: strings.TrimSpace(r.FormValue("byHand")),
		})
	}
	if err != nil {
		return p.claimRefused(w, r, v, err)
	}
	return p.Done(w, r, "claims/"+r.PathValue("id"), "decided")
}

func (p *pages) claimRefused(w http.ResponseWriter, r *http.Request, v *frame.Visit, err error) error {
	typed := desk.Typed(r, "outcome", "note", "keep", "complete", "byHand")
	status, fault := refused(v, &typed, err)
	if fault != nil {
		return fault
	}
	return p.showClaim(w, r, v, status, typed)
}

// evidenceFile serves a file of evidence.
func (p *pages) evidenceFile(w http.ResponseWriter, r *http.Request, _ *frame.Visit) error {
	c, err := p.Uses.Claims.Any(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	f, err := p.Uses.Claims.EvidenceFile(r.Context(), c.Scope, c.ID, r.PathValue("evidence"))
	if err != nil {
		return err
	}
	frame.Foreign(w, f.Name, f.Type, f.Content, false)
	return nil
}
