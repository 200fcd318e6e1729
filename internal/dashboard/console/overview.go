package console

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/store"
)

// decision is a kind of thing that waits for an operator.
type decision struct {
	Key   string // its text is decide_<Key>
	Path  string
	Count int
	More  bool // there are more than Count
	Since time.Time
}

// waiting is a kind of work with the time of its oldest piece.
type waiting struct {
	Kind  string
	Since time.Time
	Late  bool // it came due long ago
}

type overviewView struct {
	Decisions   []decision // those that wait
	Quiet       bool       // nothing waits
	Circuits    int
	Stale       []string // currencies
	Held        int      // rates
	Quarantined []store.Quarantined
	Due         []waiting
	Open        []waiting
	Node        string
	Engine      string
	Version     string
}

// overview shows what needs a decision.
func (pg *pages) overview(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	ctx := r.Context()
	view := overviewView{Engine: pg.Uses.Engine(), Version: pg.Version, Circuits: pg.Uses.Providers.OpenCircuits()}
	view.Node, _ = os.Hostname() // a machine without a name has none to show
	var err error
	if view.Decisions, err = pg.decisions(ctx); err != nil {
		return err
	}
	rates, err := pg.Uses.Rates.RateList(ctx)
	if err != nil {
		return err
	}
	for _, rate := range rates {
		if rate.State == "stale" || rate.State == "expired" {
			view.Stale = append(view.Stale, string(rate.Currency))
		}
	}
	_, _, view.Held = pg.Uses.Rates.RateAges()
	if view.Quarantined, err = pg.Uses.Quarantine(ctx); err != nil {
		return err
	}
	due, err := pg.Uses.OldestDue(ctx)
	if err != nil {
		return err
	}
	open, err := pg.Uses.OldestOpen(ctx)
	if err != nil {
		return err
	}
	now := pg.Uses.Now()
	view.Due, view.Open = oldest(due, now, desk.Late), oldest(open, now, 0)
	view.Quiet = len(view.Decisions)+view.Circuits+len(view.Stale)+view.Held+len(view.Quarantined) == 0
	return pg.Room.Show(w, r, v, "overview", view)
}

// oldest lists kinds of work, the oldest first. What is not due yet is left out.
func oldest(of map[string]time.Time, now time.Time, patience time.Duration) []waiting {
	var list []waiting
	for kind, since := range of {
		if !since.IsZero() && !since.After(now) {
			list = append(list, waiting{kind, since, patience > 0 && now.Sub(since) > patience})
		}
	}
	slices.SortFunc(list, func(x, y waiting) int { return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.Kind, y.Kind)) })
	return list
}

// decisions counts what waits for an operator, the most urgent kind first.
func (pg *pages) decisions(ctx context.Context) ([]decision, error) {
	var list []decision
	add := func(key, path string, n int, since time.Time) {
		if n > 0 {
			list = append(list, decision{key, path, min(n, desk.Most), n > desk.Most, since})
		}
	}
	const most = desk.Most + 1
	unsure, err := pg.Uses.Payments.Unsure(ctx, most)
	if err != nil {
		return nil, err
	}
	add("payments", "decisions?kind=payments", len(unsure), firstOf(unsure, func(p pay.Payment) time.Time { return p.Times.Unsure }))
	notices, err := pg.Uses.Notices.Notifications(ctx, "", most)
	if err != nil {
		return nil, err
	}
	add("notices", "decisions?kind=notices", len(notices), firstOf(notices, func(n pay.KeptNotice) time.Time { return n.At }))
	held, err := pg.Uses.Payouts.WaitingWithdrawals(ctx, most)
	if err != nil {
		return nil, err
	}
	held = slices.DeleteFunc(held, func(w pay.Withdrawal) bool { return w.Waiting != string(pay.WaitsApproval) })
	add("withdrawals", "decisions?kind=withdrawals", len(held), firstOf(held, func(w pay.Withdrawal) time.Time { return w.CreatedAt }))
	adjustments, err := pg.Uses.Adjustments.List(ctx, "", pay.AdjustmentPending, most)
	if err != nil {
		return nil, err
	}
	add("adjustments", "decisions?kind=adjustments", len(adjustments), firstOf(adjustments, func(a pay.Adjustment) time.Time { return a.UpdatedAt }))
	_, invitations, err := pg.Uses.Team.Operators(ctx)
	if err != nil {
		return nil, err
	}
	invitations = slices.DeleteFunc(invitations, func(l people.Link) bool { return !l.Waits })
	add("operators", "operators", len(invitations), firstOf(invitations, func(l people.Link) time.Time { return l.CreatedAt }))
	proposals, err := pg.Uses.Dual.Proposals(ctx, false)
	if err != nil {
		return nil, err
	}
	add("proposals", "proposals", len(proposals), firstOf(proposals, func(p operators.Proposal) time.Time { return p.MadeAt }))
	kyc, err := pg.Uses.Verifications.List(ctx, merchants.KYCProcessing, "", most)
	if err != nil {
		return nil, err
	}
	add("verifications", "decisions?kind=verifications", len(kyc), firstOf(kyc, func(v merchants.Verification) time.Time { return v.UpdatedAt }))
	var claims []pay.Claim
	for _, of := range []struct {
		status pay.ClaimStatus
		kind   pay.ClaimKind
	}{{pay.ClaimUnderReview, ""}, {pay.ClaimPending, pay.Inquiry}} {
		found, err := pg.Uses.Claims.AnyList(ctx, of.status, of.kind, most)
		if err != nil {
			return nil, err
		}
		claims = append(claims, found...)
	}
	add("claims", "decisions?kind=claims", len(claims), firstOf(claims, func(c pay.Claim) time.Time { return c.CreatedAt }))
	return list, nil
}

// firstOf is the earliest time of a list.
func firstOf[T any](list []T, at func(T) time.Time) (first time.Time) {
	for i, one := range list {
		if t := at(one); i == 0 || t.Before(first) {
			first = t
		}
	}
	return first
}
