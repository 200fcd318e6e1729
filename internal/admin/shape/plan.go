package shape

import (
	appplans "github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/plans/planfile"
	"github.com/cascadapay/cascada/internal/view"
)

// Plan is a version of a price plan.
type Plan struct {
	planfile.PlanText
	Version int64      `json:"version" doc:"From 1 in each plan; 0: built in"`
	From    *view.Time `json:"from" nullable:"true" doc:"In force from then on, until the next version is; null: it always was"`
}

// NewPlan shows a version of a plan.
func NewPlan(v plans.Version) Plan {
	return Plan{planfile.New(v.Plan), v.Number, moment(v.From)}
}

// Assignment is a price plan that a merchant has from a time on.
type Assignment struct {
	Plan       string              `json:"plan" example:"gold"`
	From       view.Time           `json:"from"`
	Exceptions *planfile.PlanTerms `json:"exceptions,omitempty" doc:"What differs from the plan for this merchant; left out if nothing does"`
}

// NewAssignments shows a merchant's price plans, oldest first.
func NewAssignments(m merchants.Merchant, b *plans.Book) []Assignment {
	list := []Assignment{}
	for _, a := range m.Assignments {
		shown := Assignment{Plan: a.Plan, From: view.Time{Time: a.From}}
		if own, err := plans.ParseExceptions(a.Own); err == nil && !own.None() {
			v, _ := b.At(a.Plan, a.From)
			shown.Exceptions = new(planfile.NewTerms(own, v.Plan))
		}
		list = append(list, shown)
	}
	return list
}

// ReplayedPlan is what a plan would have earned of past payments.
type ReplayedPlan struct {
	Total     Earned           `json:"total"`
	Merchants []MerchantEarned `json:"merchants"`
	Unpriced  int64            `json:"unpriced" doc:"Payments over methods that the catalog no longer has; they are not counted"`
}

// MerchantEarned is what the payments of a merchant brought.
type MerchantEarned struct {
	Merchant string `json:"merchantId"`
	Earned
}

// Earned is what completed payments brought, in USD, with the terms that they were made with, and with the plan. Refunds and disputes
// are not in it.
type Earned struct {
	Payments int64      `json:"payments"`
	Volume   view.Money `json:"volumeUsd"`
	Was      FeesEarned `json:"was" doc:"With the terms that they were made with"`
	Is       FeesEarned `json:"is" doc:"With the plan"`
}

// FeesEarned are the parts of payments in USD.
type FeesEarned struct {
	Platform view.Money `json:"platform" doc:"What the operator earned"`
	Cost     view.Money `json:"providerCost" doc:"What was passed on for providers"`
	Tax      view.Money `json:"tax"`
	Reserve  view.Money `json:"reserve"`
}

// NewReplayedPlan shows the result of a replay.
func NewReplayedPlan(r appplans.Replayed) ReplayedPlan {
	out := ReplayedPlan{Total: newEarned(r.Total), Merchants: []MerchantEarned{}, Unpriced: r.Unpriced}
	for _, of := range r.Of {
		out.Merchants = append(out.Merchants, MerchantEarned{of.Merchant, newEarned(of.Earned)})
	}
	return out
}

func newEarned(e appplans.Earned) Earned {
	fees := func(s appplans.Sums) FeesEarned {
		return FeesEarned{view.USD(s.Platform), view.USD(s.Cost), view.USD(s.Tax), view.USD(s.Reserve)}
	}
	return Earned{e.Payments, view.USD(e.Volume), fees(e.Was), fees(e.Is)}
}
