// Package claims gives money back: refunds by merchants, and disputes by the issuer, with the
// evidence against them. Each is a claim on a payment.
package claims

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Get reads one claim of the shop.
//
// Errors: claim_not_found, also for another shop's claim.
func (cl *Claims) Get(ctx context.Context, scope merchants.Scope, id string) (pay.Claim, error) {
	return base.Named(id, base.Missing(problem.ClaimNotFound, scope, id), func() (pay.Claim, error) { return cl.Store.Claims().Get(ctx, scope, id) })
}

func noClaim() error { return problem.New(problem.ClaimNotFound, claimMissing) }

// List lists a shop's claims, newest first, with the number that the filter selects.
//
// Errors: invalid_request for an unknown cursor.
func (cl *Claims) List(ctx context.Context, scope merchants.Scope, f lists.ClaimFilter) ([]pay.Claim, int64, error) {
	if err := base.Behind(f.After, func() error {
		_, err := cl.Store.Claims().Get(ctx, scope, f.After)
		return err
	}); err != nil {
		return nil, 0, err
	}
	return cl.Store.Claims().List(ctx, scope, f)
}

// Accept accepts a claim for the merchant: the shopper gets the money. The provider gets no call: a dispute that nobody answers is
// lost there at its deadline.
//
// Errors: claim_not_found, claim_already_resolved, conflict_state.
func (cl *Claims) Accept(ctx context.Context, scope merchants.Scope, id string, by audit.Actor) (pay.Claim, error) {
	c, err := cl.Get(ctx, scope, id)
	if err != nil {
		return c, err
	}
	said := cl.Audited(by, c.Scope, audit.ClaimAccepted, c.ID, map[string]string{"payment": c.Payment})
	c, err = cl.resolveClaim(ctx, c, pay.Accept, pay.PartyMerchant, "", said, view.Cause{RequestID: by.Request})
	if err == nil && c.Live && c.Case.Account != "" {
		cl.Log.InfoContext(ctx, "a merchant accepted a dispute: accept it in the provider's panel too, or it ends there at its deadline",
			"claim", c.ID, "payment", c.Payment, "account", c.Case.Account, "dispute", c.Case.ID, "deadline", c.DueBy)
	}
	return c, err
}

// NewEvidence is a merchant's evidence against a claim; File is nil if there is none. Its parts
// were checked.
type NewEvidence struct {
	Kind    string
	Text    string
	File    *pay.EvidenceFile
	Content []byte
	By      audit.Actor
	// Once leaves out what the claim has already: a form that is sent twice adds it once.
	Once bool
}

// SubmitEvidence adds evidence to a claim.
//
// Errors: claim_not_found, claim_already_resolved, conflict_state,
// invalid_request.
func (cl *Claims) SubmitEvidence(ctx context.Context, scope merchants.Scope, id string, n NewEvidence) (pay.Claim, error) {
	c, err := cl.Get(ctx, scope, id)
	if err = cmp.Or(err, n.fit()); err != nil {
		return c, err
	}
	return cl.onClaim(ctx, c.ID, view.Cause{}, func(c pay.Claim, p pay.Payment) (pay.Claim, pay.Change, error) {
		now := cl.TimeOf(c.Scope)
		e := pay.Evidence{ID: cl.NewID(pay.EvidencePrefix, now), Kind: n.Kind, Text: n.Text, File: n.File}
		if n.Once && slices.ContainsFunc(c.Evidence, e.Same) {
			return c, pay.Change{}, nil
		}
		next, change, err := c.Submit(p, e, n.Content, now)
		change.Audit = cl.Audited(n.By, c.Scope, audit.EvidenceSubmitted, c.ID, map[string]string{"evidence": e.ID})
		return next, change, err
	})
}

// fit returns an error if a text of the evidence is too long.
func (n NewEvidence) fit() error {
	texts := []problem.Text{{Param: "kind", Text: n.Kind, Most: evidence.MaxKind}, {Param: "text", Text: n.Text, Most: evidence.MaxText}}
	if n.File != nil {
		texts = append(texts, problem.Text{Param: "file.name", Text: n.File.Name, Most: evidence.MaxFileName})
	}
	return problem.Fit(texts...)
}

// EvidenceFile reads the file of a piece of evidence.
//
// Errors: claim_not_found, not_found if the claim has no such file.
func (cl *Claims) EvidenceFile(ctx context.Context, scope merchants.Scope, claim, evidence string) (pay.File, error) {
	if _, err := cl.Get(ctx, scope, claim); err != nil {
		return pay.File{}, err
	}
	if base.Storable(evidence) {
		f, err := cl.Store.Claims().File(ctx, scope, claim, evidence)
		if !errors.Is(err, store.ErrNotFound) {
			return f, err
		}
	}
	return pay.File{}, problem.New(problem.NotFound, noFile)
}

// Any reads a claim of any tenant, for the operator.
//
// Errors: claim_not_found.
func (cl *Claims) Any(ctx context.Context, id string) (pay.Claim, error) {
	c, err := cl.Store.Claims().Any(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return c, noClaim()
	}
	return c, err
}

// AnyList lists claims of all tenants, newest first, for the operator. An empty status or kind
// selects all.
func (cl *Claims) AnyList(ctx context.Context, status pay.ClaimStatus, kind pay.ClaimKind, limit int) ([]pay.Claim, error) {
	return cl.Store.Claims().ListAny(ctx, lists.ClaimFilter{Status: status, Kind: kind, Page: lists.Page{Limit: limit}})
}

// Resolution is the operator's decision on a claim.
type Resolution struct {
	ID   string
	Word pay.ClaimVerb
	Note string
	// Force applies it although the provider says otherwise.
	Force bool
	// Of an inquiry that is approved. Keep is the part of its money that the merchant keeps, in
	// major units; "" is none. Complete: that part completes the payment. ByHand is the reference of
	// the operator's bank transfer to the shopper; then no provider is asked.
	Keep     string
	Complete bool
	ByHand   string
}

// Outcome is the word by which an operator says how a claim ended.
type Outcome string

// The outcomes.
const (
	Approved  Outcome = "approved"
	Rejected  Outcome = "rejected"
	Withdrawn Outcome = "withdrawn"
	Returned  Outcome = "returned" // it was approved, and the money came back
)

// Verbs are the verbs of the outcomes.
var Verbs = map[Outcome]pay.ClaimVerb{Approved: pay.Approve, Rejected: pay.Reject, Withdrawn: pay.Withdraw, Returned: pay.ReturnRefund}

// Resolve applies the operator's decision on a claim: approve, reject, withdraw, ask for
// evidence, or that the money of an approved one came back (REF-15), which a new claim tells. A
// refund that is under way is queried first: the provider's answer takes precedence, unless the
// operator forces the decision.
//
// Errors: claim_not_found, claim_already_resolved, conflict_state, also if the provider says
// otherwise (details.reason); invalid_request or missing_field if the parts of the decision do not
// fit.
func (cl *Claims) Resolve(ctx context.Context, by audit.Actor, r Resolution) (pay.Claim, error) {
	v, note := r.Word, r.Note
	c, err := cl.Any(ctx, r.ID)
	if err = cmp.Or(err, pay.FitNote(note), problem.Fit(problem.Text{Param: "byHand", Text: r.ByHand, Most: pay.MaxReference}), r.checkParts()); err != nil {
		return c, err
	}
	details := r.details(c)
	noted := func() []audit.Entry { return cl.Noted(by, c.Scope, audit.ClaimResolved, c.ID, note, details) }
	said := noted()
	if v == pay.AskEvidence {
		return cl.onClaim(ctx, c.ID, view.Cause{}, func(c pay.Claim, _ pay.Payment) (pay.Claim, pay.Change, error) {
			next, change, err := c.Ask(note, cl.TimeOf(c.Scope))
			change.Audit = said
			return next, change, err
		})
	}
	if v == pay.ReturnRefund {
		return cl.bookReturn(ctx, c, note, said)
	}
	if r.Keep != "" {
		if c, err = cl.keep(ctx, c, r, noted()); err != nil {
			return c, err
		}
	}
	if c.Calling() {
		node, err := cl.Store.Hold(ctx)
		if err != nil {
			return c, err
		}
		if c.Unanswered() {
			asking := ctx
			if v != pay.Approve {
				asking = provider.Looking(ctx)
			}
			if c, err = cl.askRefund(asking, c, true); err != nil {
				return c, err
			}
		}
		switch {
		case c.Status.Terminal() && c.Status.Pays() == (v == pay.Approve): // the provider says the same
			return c, nil
		case !c.Calling() && !c.Status.Terminal(): // it was refused just now: the decision was about that refund
			return c, base.SaidOtherwise(string(pay.Declined), c.Status, string(v))
		case c.Contradiction(v) != "" && !r.Force:
			return c, base.SaidOtherwise(c.Contradiction(v), c.Status, string(v))
		case c.Calling() && (v != pay.Approve || c.Kind == pay.Inquiry) && c.Call.OnItsWay(node.At):
			return c, base.CallOnItsWay(c.Status, string(v))
		}
	}
	return cl.decideClaim(ctx, c, view.Cause{}, func(read pay.Claim, p pay.Payment) (pay.Claim, pay.Change, error) {
		if read.Version != c.Version && (c.Calling() || read.Calling()) && !read.Status.Terminal() {
			return read, pay.Change{}, base.ChangedMeanwhile(read.Status, string(v)) // about a refund that the operator did not see
		}
		now := cl.TimeOf(read.Scope)
		next, change, err := read.Resolve(p, v, pay.PartyOperator, note, now)
		switch {
		case read.Kind == pay.Inquiry && read.Calling():
			next, change, err = read.Ended(p, v, note, now)
		case read.Kind == pay.Inquiry && v == pay.Withdraw:
			next, change, err = pay.Disposition{Note: note, At: now}.Unfounded(read, p)
		case r.ByHand != "":
			next, change, err = pay.Disposition{Note: note, At: now}.GiveByHand(read, p, r.ByHand)
		}
		change.Audit = said
		return next, change, err
	})
}

// details are what the audit log keeps of the decision.
func (r Resolution) details(c pay.Claim) map[string]string {
	details := map[string]string{"payment": c.Payment, "word": string(r.Word)}
	yes := map[bool]string{true: "true"}
	for name, value := range map[string]string{"keep": r.Keep, "byHand": r.ByHand, "complete": yes[r.Complete], "force": yes[r.Force]} {
		if value != "" {
			details[name] = value
		}
	}
	return details
}

// bookReturn takes back an approved refund whose money came back.
func (cl *Claims) bookReturn(ctx context.Context, c pay.Claim, note string, said []audit.Entry) (pay.Claim, error) {
	return cl.onClaim(ctx, c.ID, view.Cause{}, func(c pay.Claim, p pay.Payment) (pay.Claim, pay.Change, error) {
		now := cl.TimeOf(c.Scope)
		next, change, err := pay.Disposition{Note: note, At: now}.Returned(c, p, cl.NewID(pay.ClaimPrefix, now))
		change.Audit = said
		return next, change, err
	})
}

// keep gives the merchant the part of an inquiry's money that the operator's decision names. The
// rest is decided next. If the node dies in between, the claim is open, and about the rest.
func (cl *Claims) keep(ctx context.Context, c pay.Claim, r Resolution, said []audit.Entry) (pay.Claim, error) {
	part, err := money.Parse(r.Keep, c.Local.Currency)
	if err != nil {
		return c, problem.Field(problem.InvalidRequest, "keep", keptPartUnreadable.With(c.Local.Currency))
	}
	version := c.Version
	return cl.onClaim(ctx, c.ID, view.Cause{}, func(c pay.Claim, p pay.Payment) (pay.Claim, pay.Change, error) {
		if c.Version != version {
			return c, pay.Change{}, base.ChangedMeanwhile(c.Status, string(r.Word))
		}
		next, _, change, err := pay.Disposition{Note: r.Note, At: cl.TimeOf(c.Scope)}.Keep(c, p, part, r.Complete)
		change.Audit = said
		return next, change, err
	})
}

// checkParts says why the parts of a decision do not fit it.
func (r Resolution) checkParts() error {
	switch {
	case r.Keep+r.ByHand != "" && r.Word != pay.Approve:
		return problem.Field(problem.InvalidRequest, "outcome", partOnlyIfApproved)
	case r.Complete && r.Keep == "":
		return problem.Field(problem.MissingField, "keep", partRequired)
	}
	return nil
}

// resolveClaim decides a claim; said is the audit entry if a person decided. If a refund has to be
// made, it makes the refund at once, without waiting for the loop.
func (cl *Claims) resolveClaim(ctx context.Context, c pay.Claim, v pay.ClaimVerb, actor, note string, said []audit.Entry, cause view.Cause) (pay.Claim, error) {
	return cl.decideClaim(ctx, c, cause, func(c pay.Claim, p pay.Payment) (pay.Claim, pay.Change, error) {
		next, change, err := c.Resolve(p, v, actor, note, cl.TimeOf(c.Scope))
		change.Audit = said
		return next, change, err
	})
}

// decideClaim commits a decision about a claim, in the hands of this node, and makes the refund if
// the decision is the intent of one.
func (cl *Claims) decideClaim(ctx context.Context, c pay.Claim, cause view.Cause, decide func(pay.Claim, pay.Payment) (pay.Claim, pay.Change, error)) (pay.Claim, error) {
	decided, err := cl.decideOn(ctx, Claimed{claim: pay.Claim{ID: c.ID}}, cause, func(c pay.Claim, p pay.Payment) (pay.Claim, pay.Change, error) {
		by, err := cl.Store.Hold(ctx)
		if err != nil {
			return c, pay.Change{}, err
		}
		return decide(c.InHandOf(by), p)
	})
	if err != nil || !decided.claim.Calling() {
		return decided.claim, err
	}
	return cl.FinishRefund(ctx, decided, cause), nil
}

// onClaim is decideOn for a claim that is read first.
func (cl *Claims) onClaim(ctx context.Context, id string, cause view.Cause, decide func(pay.Claim, pay.Payment) (pay.Claim, pay.Change, error)) (pay.Claim, error) {
	decided, err := cl.decideOn(ctx, Claimed{claim: pay.Claim{ID: id}}, cause, decide)
	return decided.claim, err
}

// decideOn calls decide with a claim and its payment, and commits. It reads them if the payment is not known, and when they were
// changed meanwhile. An empty Change writes nothing.
func (cl *Claims) decideOn(ctx context.Context, known Claimed, cause view.Cause, decide func(pay.Claim, pay.Payment) (pay.Claim, pay.Change, error)) (c Claimed, err error) {
	id := known.claim.ID
	err = base.Again(func() (err error) {
		if known.payment.ID == "" {
			if known.claim, err = cl.Store.Claims().Any(ctx, id); err != nil {
				return err
			}
			if known.payment, err = cl.Store.Payments().Any(ctx, known.claim.Payment); err != nil {
				return err
			}
		}
		c, known = known, Claimed{} // until the decision is written
		next, change, err := decide(c.claim, c.payment)
		if err != nil {
			return err
		}
		if len(change.Claims)+len(change.Notices) > 0 {
			if err := cl.Commit(ctx, change, cause); err != nil {
				return err
			}
		}
		c.claim = next
		for _, p := range change.Payments {
			c.payment = p
		}
		return nil
	})
	return c, err
}

// Sweep looks at due claims: refunds with an unknown outcome, and deadlines that have passed.
// It waits until that is done, and returns how many it leased. Looking at one twice is harmless.
func (cl *Claims) Sweep(ctx context.Context) (int, error) {
	return base.Waiting(ctx, cl.HandOut)
}

// HandOut hands due claims to the lanes of their accounts.
func (cl *Claims) HandOut(ctx context.Context, begun *sync.WaitGroup) (int, error) {
	now := cl.Now()
	due, err := cl.Store.Claims().Lease(ctx, now, now.Add(pay.SweepLease), base.SweepBatch)
	if err != nil {
		return 0, err
	}
	for _, c := range due {
		account, lanes := "", cl.lanes
		if c.Calling() || c.Defense.State.UnderWay() {
			p, err := cl.Store.Payments().Any(ctx, c.Payment)
			if err != nil {
				cl.Quiet.ComesAgain(ctx, c.Live, "the payment of a due claim could not be read; it is retried later", err, "claim", c.ID)
				continue
			}
			attempt, _ := c.PaidAttempt(p)
			account = attempt.Provider
		}
		if !c.Calling() && c.Defense.State.UnderWay() {
			lanes = cl.evidence
		}
		lanes.Submit(account, c.ID, begun, func(may bool) {
			if err := cl.lookAtClaim(ctx, c, may); err != nil {
				cl.Quiet.ComesAgain(ctx, c.Live, "a due claim could not be checked; it is retried later", err, "claim", c.ID)
			}
		})
	}
	return len(due), nil
}

// lookAtClaim queries the provider about a refund, requests it again if the provider proved that it
// had not made it, or ends a claim whose deadline has passed.
func (cl *Claims) lookAtClaim(ctx context.Context, c pay.Claim, may bool) (err error) {
	if c.Calling() && c.Unanswered() {
		if c, err = cl.askRefund(ctx, c, may); err != nil {
			return err
		}
		if c.Calling() && c.Call.State != pay.Missing {
			return nil // still unknown; or refused, and requested again later
		}
	}
	if c.Calling() {
		begun := false
		sent, err := cl.decideOn(ctx, Claimed{claim: pay.Claim{ID: c.ID}}, view.Cause{}, func(c pay.Claim, _ pay.Payment) (pay.Claim, pay.Change, error) {
			if begun = c.Calling() && !c.Unanswered(); !begun {
				return c, pay.Change{}, nil // another node was first, and makes the call
			}
			by, err := cl.Store.Hold(ctx)
			if err != nil {
				return c, pay.Change{}, err
			}
			next, change := c.InHandOf(by).Resend(cl.TimeOf(c.Scope))
			return next, change, nil
		})
		if err != nil || !begun {
			return err
		}
		_, err = cl.makeRefund(ctx, sent, view.Cause{})
		return err
	}
	if c.Kind == pay.ChargebackClaim {
		c, queries, err := cl.lookAtEvidence(ctx, c, may)
		if err != nil || !queries {
			return err
		}
		return cl.lookAtDispute(ctx, c)
	}
	if !c.Overdue(cl.TimeOf(c.Scope)) {
		return nil
	}
	_, err = cl.resolveClaim(ctx, c, pay.Lapse, pay.PartySystem, "no evidence came in time", nil, view.Cause{})
	return orMoved(err)
}
