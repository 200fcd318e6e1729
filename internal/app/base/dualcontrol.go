package base

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// appliedGrace is how long whoever does again what was approved may repeat it, if it was not written at first.
const appliedGrace = time.Minute

// mostProposals bounds the list of proposals, and how many can be open.
const mostProposals = 500

// DualControls let some rights be used only by two persons (OPR-2).
type DualControls struct {
	b     *Base
	apply map[string]func(ctx context.Context, by audit.Actor, body string) error // by the kind of proposal
}

func newDualControls(b *Base) *DualControls {
	d := &DualControls{b, map[string]func(context.Context, audit.Actor, string) error{}}
	applies(d, "dual_control.release", func(ctx context.Context, by audit.Actor, right operators.Right) error {
		return d.Set(ctx, by, right, false, "")
	})
	return d
}

// Ask is what an operator wants to do.
type Ask struct {
	Right   operators.Right
	Kind    string            // such as plan.apply
	Subject string            // what it is done to
	Details map[string]string // for people; no secret
	Body    any               // all that is done, for whoever applies it
	Secret  string            // is part of what is proposed, and is not stored: the maker does it again
}

// approvedKey is the context key of the digest that a second person approved.
type approvedKey struct{}

// Applies registers what applies the approved proposals of a kind, from the body of what was asked. Those of other kinds are applied when
// their maker does it again.
func Applies[T any](b *Base, kind string, apply func(ctx context.Context, by audit.Actor, body T) error) {
	applies(b.Dual, kind, apply)
}

func applies[T any](d *DualControls, kind string, apply func(ctx context.Context, by audit.Actor, body T) error) {
	d.apply[kind] = func(ctx context.Context, by audit.Actor, text string) error {
		var body T
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			return err
		}
		return apply(ctx, by, body)
	}
}

// Required reports whether a right needs two persons. To manage operators does as soon as any right does: otherwise one person could
// make himself a second one.
func (d *DualControls) Required(ctx context.Context, right operators.Right) (bool, error) {
	if right == operators.Manage {
		list, err := d.b.Store.DualControls().List(ctx)
		return slices.ContainsFunc(list, func(c operators.DualControl) bool { return c.Required }), err
	}
	c, err := d.b.Store.DualControls().Get(ctx, right)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return c.Required, err
}

// List lists the rights that may need two persons, with what is set.
func (d *DualControls) List(ctx context.Context) ([]operators.DualControl, error) {
	set, err := d.b.Store.DualControls().List(ctx)
	var list []operators.DualControl
	for _, right := range operators.DualRights() {
		c := operators.DualControl{Right: right}
		if i := slices.IndexFunc(set, func(s operators.DualControl) bool { return s.Right == right }); i >= 0 {
			c = set[i]
		}
		list = append(list, c)
	}
	return list, err
}

// Set requires two persons for a right, or releases it, which needs two persons itself. emergency is the reason of whoever
// runs the machine if no second person can be reached; then it is done at once.
//
// Errors: invalid_request for the right, those of Require.
func (d *DualControls) Set(ctx context.Context, by audit.Actor, right operators.Right, required bool, emergency string) error {
	if !slices.Contains(operators.DualRights(), right) {
		return problem.Field(problem.InvalidRequest, "right", unknownDualRight.With(dualWords()))
	}
	set, err := d.b.Store.DualControls().Get(ctx, right)
	if err != nil && !errors.Is(err, store.ErrNotFound) || set.Required == required {
		return OrRefuse(err, nil)
	}
	err = nil
	details := map[string]string{"right": string(right), "required": fmt.Sprint(required)}
	switch {
	case emergency != "" && AtTheMachine(by):
		details["emergency"] = emergency
	case !required:
		err = d.Require(ctx, by, Ask{Right: operators.Manage, Kind: "dual_control.release", Subject: string(right), Details: details, Body: right})
	}
	if err != nil {
		return err
	}
	return Again(func() error {
		c, err := d.b.Store.DualControls().Get(ctx, right)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		c.Right = right
		return d.b.Store.Commit(ctx, pay.Change{
			DualControls: []operators.DualControl{c.Change(required, by.ID, d.b.Now())},
			Audit:        d.b.Audited(by, merchants.Scope{Live: true}, audit.DualControlChanged, string(right), details),
		})
	})
}

func dualWords() string {
	var words []string
	for _, r := range operators.DualRights() {
		words = append(words, string(r))
	}
	return strings.Join(words, ", ")
}

// AtTheMachine reports whether somebody acts by a command without a token: nobody knows which person that is.
func AtTheMachine(by audit.Actor) bool {
	return by.Kind == audit.ByOperator && strings.Contains(by.ID, "@")
}

// Require returns nil if what is asked may be done now: its right needs no second person, a second person has approved it, or the service
// does it by itself. Otherwise it is proposed; a repeat proposes nothing new.
//
// Errors: conflict_state with the reason approval_needed; forbidden with the reason token_needed for a command without a token.
func (d *DualControls) Require(ctx context.Context, by audit.Actor, ask Ask) error {
	if by.Kind == audit.BySystem {
		return nil
	}
	required, err := d.Required(ctx, ask.Right)
	if err != nil || !required {
		return err
	}
	if AtTheMachine(by) {
		return needsToken(ask.Right)
	}
	body, err := json.Marshal(ask.Body)
	if err != nil {
		return err
	}
	sum := d.b.Vault.MAC("proposal", strings.Join([]string{ask.Kind, ask.Subject, string(body), ask.Secret}, "\x00"))
	digest := hex.EncodeToString(sum[:])
	if approved, is := ctx.Value(approvedKey{}).(string); is {
		if approved == digest {
			return nil
		}
		return problem.Conflict("changed_meanwhile", changedMeanwhile) // what it changes is not as it was when it was proposed
	}
	var made operators.Proposal
	err = Again(func() error {
		open, err := d.b.Store.Proposals().List(ctx, mostProposals)
		if err != nil {
			return err
		}
		now := d.b.Now()
		again := func(p operators.Proposal) bool {
			return p.Status == operators.ProposalApplied && now.Before(p.AppliedAt.Add(appliedGrace))
		}
		open = slices.DeleteFunc(open, func(p operators.Proposal) bool { return !p.Open(now) && !again(p) })
		i := slices.IndexFunc(open, func(p operators.Proposal) bool { return p.Digest == digest && p.MadeBy == by.ID })
		switch {
		case i >= 0 && again(open[i]): // it was not written: others were faster, or the database was away
			made = open[i]
			return nil
		case i >= 0 && open[i].Status == operators.ProposalApproved:
			made, err = d.use(ctx, by, open[i])
			return err
		case i >= 0:
			made = open[i]
			return nil
		case len(open) >= mostProposals:
			return problem.Conflict("too_many_proposals", tooManyProposals.With(mostProposals))
		}
		made = operators.Proposal{
			ID: d.b.NewID(operators.ProposalPrefix, now), Version: 1, Right: ask.Right, Kind: ask.Kind, Subject: ask.Subject, Details: ask.Details,
			Digest: digest, MadeBy: by.ID, MadeAt: now, EndsAt: now.Add(operators.ProposalLife), Status: operators.ProposalPending,
		}
		if ask.Secret == "" {
			made.Body = string(body)
		}
		return d.b.Store.Commit(ctx, pay.Change{Proposals: []operators.Proposal{made}, Audit: d.audited(by, made, audit.ProposalMade, "")})
	})
	if err != nil || made.Status == operators.ProposalApplied {
		return err
	}
	return &problem.Error{
		Code: problem.ConflictState, Reason: approvalNeeded.With(made.ID),
		Details: problem.Details{Reason: "approval_needed", Proposal: made.ID},
	}
}

// Known returns an error for a command without a token, if a right needs two persons: nobody knows which person that is.
//
// Errors: forbidden with the reason token_needed.
func (d *DualControls) Known(ctx context.Context, by audit.Actor, right operators.Right) error {
	if !AtTheMachine(by) {
		return nil
	}
	required, err := d.Required(ctx, right)
	if err != nil || !required {
		return err
	}
	return needsToken(right)
}

func needsToken(right operators.Right) error {
	return &problem.Error{Code: problem.Forbidden, Reason: tokenNeeded.With(right), Details: problem.Details{Reason: "token_needed", Right: string(right)}}
}

// use uses an approved proposal up, for its maker, who does it now.
func (d *DualControls) use(ctx context.Context, by audit.Actor, p operators.Proposal) (operators.Proposal, error) {
	next, err := p.Apply(d.b.Now())
	if err != nil {
		return p, err
	}
	return next, d.b.Store.Commit(ctx, pay.Change{Proposals: []operators.Proposal{next}, Audit: d.audited(by, next, audit.ProposalApplied, "")})
}

func (d *DualControls) audited(by audit.Actor, p operators.Proposal, act audit.Act, note string) []audit.Entry {
	return d.b.Noted(by, merchants.Scope{Live: true}, act, p.ID, note, map[string]string{"kind": p.Kind, "subject": p.Subject, "right": string(p.Right), "madeBy": p.MadeBy})
}

// open lists the proposals that can still be decided or applied, newest first.
func (d *DualControls) open(ctx context.Context) ([]operators.Proposal, error) {
	list, err := d.b.Store.Proposals().Open(ctx, mostProposals)
	now := d.b.Now()
	return slices.DeleteFunc(list, func(p operators.Proposal) bool { return !p.Open(now) }), err
}

// Proposals lists proposals, newest first: those that can be decided or applied, or all.
func (d *DualControls) Proposals(ctx context.Context, all bool) ([]operators.Proposal, error) {
	if all {
		return d.b.Store.Proposals().List(ctx, mostProposals)
	}
	return d.open(ctx)
}

// Proposal reads one.
//
// Errors: store.ErrNotFound.
func (d *DualControls) Proposal(ctx context.Context, id string) (operators.Proposal, error) {
	p, err := d.b.Store.Proposals().Get(ctx, id)
	if err != nil {
		return p, fmt.Errorf("proposal %s: %w", id, err)
	}
	return p, nil
}

// Approve approves what another person proposed, and applies it if the service can: otherwise its maker does it again. An approved
// proposal that was not applied, because the service stopped or the database was away, is applied by a repeat.
//
// Errors: store.ErrNotFound; forbidden if the role of either lacks the right, or for a command without a token; conflict_state for the
// maker and whoever counts as the same person, and if it has ended; those of what is applied, which reject the proposal.
func (d *DualControls) Approve(ctx context.Context, by audit.Actor, id string) (p operators.Proposal, err error) {
	err = Again(func() error {
		if p, err = d.Proposal(ctx, id); err != nil {
			return err
		}
		if err := d.mayDecide(ctx, by, p); err != nil {
			return err
		}
		if maker, err := d.RoleOf(ctx, audit.Actor{Kind: kindOf(p.MadeBy), ID: p.MadeBy}); err != nil || !maker.May(p.Right) {
			return OrRefuse(err, problem.Conflict("maker_lacks_right", makerLacksRight))
		}
		next, err := p.Approve(by.ID, d.b.Now())
		if err != nil || next.Version == p.Version {
			return err
		}
		p = next
		return d.b.Store.Commit(ctx, pay.Change{Proposals: []operators.Proposal{p}, Audit: d.audited(by, p, audit.ProposalApproved, "")})
	})
	if err != nil {
		return p, err
	}
	apply := d.apply[p.Kind]
	if apply == nil || p.Body == "" {
		return p, nil
	}
	maker := audit.Actor{Kind: kindOf(p.MadeBy), ID: p.MadeBy, IP: by.IP, Request: by.Request}
	if err := apply(context.WithValue(ctx, approvedKey{}, p.Digest), maker, p.Body); err != nil {
		if !final(err) {
			return p, err
		}
		return p, errors.Join(err, d.end(ctx, by, p.ID, func(p operators.Proposal) (operators.Proposal, audit.Act, error) {
			if p.Status != operators.ProposalApproved { // another request applied the proposal meanwhile
				return p, "", errApplied
			}
			return p.Fail("it could not be applied"), audit.ProposalRejected, nil
		}))
	}
	err = d.end(ctx, by, p.ID, func(present operators.Proposal) (operators.Proposal, audit.Act, error) {
		if p = present; present.Status == operators.ProposalApplied { // its maker did it again meanwhile
			return present, "", errApplied
		}
		next, err := present.Apply(d.b.Now())
		p = next
		return next, audit.ProposalApplied, err
	})
	if errors.Is(err, errApplied) {
		err = nil
	}
	return p, err
}

// final reports whether what was approved can never be applied: what it changes is gone, or is not as it was.
func final(err error) bool {
	if errors.Is(err, store.ErrNotFound) {
		return true
	}
	shown, refused := errors.AsType[*problem.Error](err)
	return refused && shown.Code != problem.ServiceUnavailable && shown.Code != problem.Internal
}

// errApplied says that a proposal was applied already.
var errApplied = errors.New("the proposal is applied")

// Reject ends a proposal, for its maker or another operator with the right. note says why.
//
// Errors: store.ErrNotFound, forbidden, conflict_state.
func (d *DualControls) Reject(ctx context.Context, by audit.Actor, id, note string) (operators.Proposal, error) {
	if err := pay.FitNote(note); err != nil {
		return operators.Proposal{}, err
	}
	p, err := d.Proposal(ctx, id)
	if err != nil {
		return p, err
	}
	if err := d.Check(ctx, by, p.Right); err != nil {
		return p, err
	}
	err = d.end(ctx, by, id, func(present operators.Proposal) (operators.Proposal, audit.Act, error) {
		next, err := present.Reject(by.ID, note, d.b.Now())
		p = next
		return next, audit.ProposalRejected, err
	})
	return p, err
}

func (d *DualControls) end(ctx context.Context, by audit.Actor, id string, how func(operators.Proposal) (operators.Proposal, audit.Act, error)) error {
	return Again(func() error {
		p, err := d.Proposal(ctx, id)
		if err != nil {
			return err
		}
		next, act, err := how(p)
		if err != nil {
			return err
		}
		return d.b.Store.Commit(ctx, pay.Change{Proposals: []operators.Proposal{next}, Audit: d.audited(by, next, act, next.Note)})
	})
}

// mayDecide returns an error if somebody may not approve a proposal.
func (d *DualControls) mayDecide(ctx context.Context, by audit.Actor, p operators.Proposal) error {
	if AtTheMachine(by) {
		return needsToken(p.Right)
	}
	if err := d.Check(ctx, by, p.Right); err != nil {
		return err
	}
	return TwoPersons(ctx, d.b, by.ID, p.MadeBy)
}

// kindOf is the kind of the actor with an id.
func kindOf(id string) audit.ActorKind {
	if strings.HasPrefix(id, people.UserPrefix) {
		return audit.ByUser
	}
	return audit.ByOperator
}

// Check returns an error if the role of an operator lacks a right.
//
// Errors: forbidden.
func (d *DualControls) Check(ctx context.Context, by audit.Actor, right operators.Right) error {
	role, err := d.RoleOf(ctx, by)
	if err != nil {
		return err
	}
	return role.Check(right)
}

// AboutOperator asks for a second person for what lets its maker sign in as another operator.
//
// Errors: those of Require.
func (d *DualControls) AboutOperator(ctx context.Context, by audit.Actor, u people.User, kind string) error {
	if u.Operator == "" || by.ID == u.ID {
		return nil
	}
	return d.Require(ctx, by, Ask{Right: operators.Manage, Kind: kind, Subject: u.ID, Details: map[string]string{"email": u.Email}, Secret: u.ID})
}

// RoleOf reads the role of an operator: of a user of the console, or of a token, which has no more rights than the person whose it is.
// Whoever runs the machine, and the service, are admins. Somebody who is no operator has no role.
func (d *DualControls) RoleOf(ctx context.Context, by audit.Actor) (operators.Role, error) {
	if by.Kind == audit.BySystem || AtTheMachine(by) {
		return operators.Admin, nil
	}
	if by.Kind == audit.ByUser {
		u, err := d.b.Store.Users().Get(ctx, by.ID)
		if err != nil || !u.Active() {
			return "", OrRefuse(err, nil)
		}
		return u.Operator, nil
	}
	o, err := d.b.Store.Operators().Get(ctx, by.ID)
	if err != nil || !o.Good(d.b.Now()) {
		return "", OrRefuse(err, nil)
	}
	if o.Person == "" {
		return o.Role, nil
	}
	person, err := d.RoleOf(ctx, audit.Actor{Kind: audit.ByUser, ID: o.Person})
	return o.Role.Within(person), err
}
