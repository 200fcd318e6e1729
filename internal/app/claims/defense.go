package claims

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/view"
)

// defense is where a dispute's evidence goes.
type defense struct {
	account    string
	provider   provider.Defender // nil: the provider has no call for it
	configured bool
	asked      provider.DisputeRequest
}

// lookAtEvidence sends the evidence of a dispute if it is due. The dispute itself is queried now and then while that fails: its end
// must not wait for it.
func (cl *Claims) lookAtEvidence(ctx context.Context, c pay.Claim, may bool) (pay.Claim, bool, error) {
	node, err := cl.Store.Hold(ctx)
	if err != nil {
		return c, false, err
	}
	if !(pay.Filing{Claim: c, By: node, Now: cl.TimeOf(c.Scope)}).Due() {
		return c, true, nil
	}
	if cl.Shut() {
		return c, false, nil // the claim comes due again when its lease ends
	}
	if c, err = cl.defend(ctx, c, may); err != nil {
		return c, false, err
	}
	return c, c.Defense.State.UnderWay() && c.Defense.Tries%triesBetweenQueries == 0, nil
}

// triesBetweenQueries is how many tries to send evidence there are between two queries about its dispute.
const triesBetweenQueries = 6

// defend sends a dispute's evidence once, and commits what became of it.
func (cl *Claims) defend(ctx context.Context, c pay.Claim, may bool) (pay.Claim, error) {
	p, err := cl.Store.Payments().Any(ctx, c.Payment)
	if err != nil {
		return c, err
	}
	to := cl.defenseAt(p, c)
	var request provider.EvidenceRequest
	begun := false
	c, err = cl.onFiling(ctx, c.ID, func(f pay.Filing) (next pay.Claim, change pay.Change) {
		begun = false
		if to.configured && to.provider == nil {
			return f.Manual()
		}
		var unread error
		if request, unread = cl.evidenceOf(f.Claim, to.asked); unread != nil {
			cl.Quiet.ComesAgain(ctx, c.Live, "evidence cannot be sent to its provider; it is tried again until its deadline", unread, "claim", c.ID)
		}
		if to.provider == nil || unread != nil || !may {
			return f.Postpone()
		}
		next, change, begun = f.Begin()
		return next, change
	})
	if err != nil || !begun {
		cl.tellOperator(ctx, c)
		return c, err
	}
	return cl.submit(ctx, c, to, request)
}

// submit makes the calls of a try whose intent this node has committed. If it is too late for them, the try is repeated later.
func (cl *Claims) submit(ctx context.Context, c pay.Claim, to defense, request provider.EvidenceRequest) (pay.Claim, error) {
	fence := func(may func(time.Time) bool) func() bool {
		return func() bool {
			now, known := cl.Store.Now()
			return known && may(now)
		}
	}
	if !fence(c.Defense.MayStart)() {
		return c, nil
	}
	request.Reference, request.Repeated = pay.Filing{Claim: c}.Reference(), c.Defense.Unsure
	request.Pieces = request.Pieces[:c.Defense.Pieces]
	for i := range request.Pieces {
		piece := &request.Pieces[i]
		if piece.Sent = i < c.Defense.Sent; piece.File != nil {
			piece.File.Link = func() (string, bool) { return cl.linkTo(c, piece.ID) }
		}
	}
	calling, cancel := context.WithTimeout(provider.Fenced(ctx, fence(c.Defense.MayGoOn)), pay.DefenseTimeout)
	defer cancel()
	calling, call := cl.Calling(calling, base.OpDefend, to.account, request.Reference)
	answer := to.provider.Defend(calling, request).Storable()
	call.Ended(calling, string(answer.Kind), answer.Code)
	cl.evidence.Record(ctx, to.account, answer.Kind != pay.DefenseUnknown)
	before := c.Defense
	c, err := cl.onFiling(context.WithoutCancel(ctx), c.ID, func(f pay.Filing) (pay.Claim, pay.Change) { return f.ApplyEvidenceAnswer(before, answer) })
	cl.tellOperator(ctx, c)
	return c, err
}

// onFiling reads a claim, calls decide, and commits.
func (cl *Claims) onFiling(ctx context.Context, id string, decide func(pay.Filing) (pay.Claim, pay.Change)) (pay.Claim, error) {
	return cl.onClaim(ctx, id, view.Cause{}, func(c pay.Claim, _ pay.Payment) (pay.Claim, pay.Change, error) {
		node, err := cl.Store.Hold(ctx)
		if err != nil {
			return c, pay.Change{}, err
		}
		next, change := decide(pay.Filing{Claim: c, By: node, Now: cl.TimeOf(c.Scope)})
		return next, change, nil
	})
}

// tellOperator logs that the operator has to submit evidence by hand. A provider without a call for it is no news.
func (cl *Claims) tellOperator(ctx context.Context, c pay.Claim) {
	if c.Defense.State.Carries() && c.Defense.State != pay.DefenseManual {
		cl.Log.WarnContext(ctx, "evidence was not submitted: submit it in the provider's panel, then cascada claim carried",
			"claim", c.ID, "payment", c.Payment, "account", c.Case.Account, "dispute", c.Case.ID, "state", c.Defense.State, "deadline", c.DueBy)
	}
}

// defenseAt finds the provider of a claim's dispute.
func (cl *Claims) defenseAt(p pay.Payment, c pay.Claim) defense {
	attempt, _ := c.PaidAttempt(p)
	to := defense{account: attempt.Provider, asked: provider.DisputeRequest{ID: c.Case.ID, Charge: cl.cascade.Request(p, attempt)}}
	upstream, configured := cl.providers.Upstream(attempt.Provider)
	to.configured = configured || attempt.Provider == ""
	if defender, can := upstream.(provider.Defender); configured && can && defender.CanDefend(to.asked) {
		to.provider = defender
	}
	return to
}

// evidenceOf is the request with a claim's evidence, whose files are read when the provider's client wants them.
func (cl *Claims) evidenceOf(c pay.Claim, asked provider.DisputeRequest) (provider.EvidenceRequest, error) {
	r := provider.EvidenceRequest{DisputeRequest: asked, Local: c.Local, Reason: c.Reason, Network: c.Network, RespondBy: c.DueBy}
	for _, e := range c.Evidence {
		if e.Shut != "" {
			return r, fmt.Errorf("the text of evidence %s cannot be opened", e.ID)
		}
		piece := provider.EvidencePiece{ID: e.ID, Kind: e.Kind, Text: e.Text}
		if f := e.File; f != nil {
			if f.Shut != "" {
				return r, fmt.Errorf("the file's name of evidence %s cannot be opened", e.ID)
			}
			piece.File = &provider.EvidenceFile{Name: f.Name, Type: f.Type, Size: f.Size, SHA256: f.SHA256, Read: func(ctx context.Context) ([]byte, error) {
				file, err := cl.Store.Claims().File(ctx, c.Scope, c.ID, e.ID)
				return file.Content, err
			}}
		}
		r.Pieces = append(r.Pieces, piece)
	}
	return r, nil
}

// Carried records that the operator has submitted the evidence of a dispute in the provider's panel.
//
// Errors: claim_not_found, claim_already_resolved, conflict_state, also while a call may be on its way.
func (cl *Claims) Carried(ctx context.Context, by audit.Actor, id, note string) (pay.Claim, error) {
	c, err := cl.Any(ctx, id)
	if err = cmp.Or(err, pay.FitNote(note)); err != nil {
		return c, err
	}
	return cl.onClaim(ctx, id, view.Cause{RequestID: by.Request}, func(c pay.Claim, _ pay.Payment) (pay.Claim, pay.Change, error) {
		node, err := cl.Store.Hold(ctx)
		if err != nil {
			return c, pay.Change{}, err
		}
		if c.Defense.OnItsWay(node.At) && c.Defense.State == pay.DefenseSending {
			return c, pay.Change{}, base.CallOnItsWay(c.Status, "carried")
		}
		next, change, err := pay.Filing{Claim: c, By: node, Now: cl.TimeOf(c.Scope)}.Carried(note)
		change.Audit = cl.Noted(by, c.Scope, audit.EvidenceCarried, c.ID, note, map[string]string{"payment": c.Payment})
		return next, change, err
	})
}

// Carrying lists open disputes of all tenants whose evidence the operator has to submit, oldest first.
func (l *Lists) Carrying(ctx context.Context, limit int) ([]pay.Claim, error) {
	return l.Store.Claims().Carrying(ctx, "", limit)
}
