package payments

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

const (
	newestShown = 10
	// claimsRead bounds the open disputes that the home page looks through for the nearest deadline.
	claimsRead = 200
)

// homeView is the shop's first page.
type homeView struct {
	payments.Sales
	New       bool // the shop has no payment yet
	Disputes  disputes
	Next      settling
	Broken    []webhooks.Subscription // endpoints that fail, or were disabled because they failed
	Stale     []rates.KnownRate
	Unheard   bool // no webhook gets events
	Steps     []step
	Todo      int // steps that are left
	Feed      feedView
	Simulated bool // the sandbox
}

// Calm reports whether nothing needs anybody's attention.
func (h homeView) Calm() bool {
	return h.Disputes.Evidence == 0 && len(h.Broken) == 0 && len(h.Stale) == 0 && h.Waiting == 0 && !h.Unheard
}

// disputes are the open chargebacks of a shop.
type disputes struct {
	Open     int64
	Evidence int64     // that wait for the merchant's evidence
	First    pay.Claim // the one with the nearest deadline
}

// settling is the merchant's next settlement.
type settling struct {
	At      time.Time // when the open one closes; zero: it is not open yet
	Pending int64     // USD cents that wait to be settled
	Unpaid  pay.Settlement
}

// step is one thing that a new shop does first.
type step struct {
	Key  string // of the texts step_<key>, step_<key>_about and step_<key>_go
	Path string
	Done bool
}

func (s *sales) home(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	ctx := r.Context()
	h := homeView{Simulated: !v.Live}
	var err error
	if h.Sales, err = s.Uses.Payments.Sales(ctx, v.Scope); err != nil {
		return err
	}
	h.New = h.All == 0
	hooks, _, err := s.Uses.Webhooks.Subscriptions(ctx, v.Scope, lists.Page{Limit: webhooks.MostSubscriptions})
	if err != nil {
		return err
	}
	if h.Steps, err = s.steps(ctx, v, h.New, len(hooks) > 0); err != nil {
		return err
	}
	for _, step := range h.Steps {
		if !step.Done {
			h.Todo++
		}
	}
	if !h.New {
		if err := s.news(ctx, v, &h, hooks); err != nil {
			return err
		}
	}
	return s.room.Show(w, r, v, "home", h)
}

// news reads what a shop with payments wants to know first.
func (s *sales) news(ctx context.Context, v *frame.Visit, h *homeView, hooks []webhooks.Subscription) (err error) {
	for _, sub := range hooks {
		if sub.Status == webhooks.Enabled && sub.Circuit.Open || sub.Status == webhooks.Disabled && sub.DisabledReason != "" {
			h.Broken = append(h.Broken, sub)
		}
	}
	h.Unheard = !slices.ContainsFunc(hooks, func(sub webhooks.Subscription) bool { return sub.Status == webhooks.Enabled })
	if h.Disputes, err = s.disputes(ctx, v.Scope); err != nil {
		return err
	}
	if h.Next, err = s.settling(ctx, v.Scope); err != nil {
		return err
	}
	if h.Stale, err = s.Uses.Rates.StaleRates(ctx, v.Scope); err != nil {
		return err
	}
	h.Feed, err = s.newest(ctx, v)
	return err
}

func (s *sales) disputes(ctx context.Context, scope merchants.Scope) (d disputes, err error) {
	for _, status := range []pay.ClaimStatus{pay.ClaimNeedsEvidence, pay.ClaimUnderReview} {
		list, total, err := s.Uses.Claims.List(ctx, scope, lists.ClaimFilter{Kind: pay.ChargebackClaim, Status: status, Page: lists.Page{Limit: claimsRead}})
		if err != nil {
			return d, err
		}
		d.Open += total
		if status != pay.ClaimNeedsEvidence {
			continue
		}
		d.Evidence = total
		for _, c := range list {
			if d.First.ID == "" || c.DueBy.Before(d.First.DueBy) {
				d.First = c
			}
		}
	}
	return d, nil
}

func (s *sales) settling(ctx context.Context, scope merchants.Scope) (n settling, err error) {
	balances, err := s.Uses.Settlements.Balances(ctx, scope)
	if err != nil {
		return n, err
	}
	n.Pending = balances[pendingBucket]
	open, _, err := s.Uses.Settlements.List(ctx, scope, lists.SettlementFilter{Status: pay.BatchOpen, Page: lists.Page{Limit: 1}})
	if err != nil {
		return n, err
	}
	if len(open) > 0 {
		n.At = open[0].DueAt
	}
	closed, _, err := s.Uses.Settlements.List(ctx, scope, lists.SettlementFilter{Status: pay.BatchClosed, Page: lists.Page{Limit: 1}})
	if len(closed) > 0 {
		n.Unpaid = closed[0]
	}
	return n, err
}

// pendingBucket is what was captured and is not settled yet.
const pendingBucket = "pending"

// steps are what a new shop does first, as far as the visitor may do it.
func (s *sales) steps(ctx context.Context, v *frame.Visit, empty, heard bool) (list []step, err error) {
	tested := !empty
	if v.Live && empty {
		trial := v.Scope
		trial.Live = false
		some, err := s.Uses.Payments.Few(ctx, trial, lists.PaymentFilter{Page: lists.Page{Limit: 1}})
		if err != nil {
			return nil, err
		}
		tested = len(some) > 0
	}
	if v.May(merchants.RightPayments) || tested {
		list = append(list, step{"test", "payments/test", tested})
	}
	if v.May(merchants.RightWebhooks) || heard {
		list = append(list, step{"webhook", "webhooks", heard})
	}
	if v.May(merchants.RightTeam) {
		team, invited, err := s.Uses.Team.List(ctx, v.Merchant.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, step{"team", "team", len(team)+len(invited) > 1})
	}
	if v.May(merchants.RightShop) {
		list = append(list, step{"brand", "shop", v.Shop.Brand.Color != "" || v.Shop.Brand.Logo != ""})
	}
	return list, nil
}

// Waits is what waits to be settled.
func (h homeView) Waits() money.Amount { return money.New(h.Next.Pending, money.USD) }
