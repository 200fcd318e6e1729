package merchants

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Agreement is a change of what was agreed with a merchant. Empty fields change nothing.
type Agreement struct {
	// Version is that of the merchant as it was read; 0: any.
	Version    int64
	Tier       merchants.Tier
	RefundFees merchants.RefundFees
	TrustScore *int              // 0 to 1000; nil: it stays, or becomes that of a new tier
	Plan       *plans.Assignment // nil: it stays
	Reason     string            // for the audit log; required for a score
	// Installments replaces what shoppers may be offered in installments, as installment.ParseGrants reads it; nil: it stays.
	Installments *string
}

// Agree changes what was agreed with a merchant, for what is made from now on. Payments that exist keep their terms.
// Running servers use the new ones within base.CacheTTL.
//
// Errors: store.ErrNotFound, invalid_request, conflict_state if the merchant is of another version; those of
// base.DualControls.Require.
func (ob *Onboarding) Agree(ctx context.Context, by audit.Actor, id string, a Agreement) (merchants.Merchant, error) {
	return ob.change(ctx, id, func(m merchants.Merchant) (merchants.Merchant, []audit.Entry, error) {
		if a.Version != 0 && a.Version != m.Version {
			return m, nil, changedMeanwhile()
		}
		next, err := m.Agree(a.Tier, a.RefundFees)
		if err != nil {
			return m, nil, err
		}
		if a.Installments != nil {
			granted, err := installment.ParseGrants(*a.Installments)
			if err != nil {
				return m, nil, err
			}
			next = next.Grant(granted)
		}
		if a.TrustScore != nil && *a.TrustScore != next.TrustScore {
			if a.Reason == "" {
				return m, nil, problem.Field(problem.MissingField, "reason", scoreWithoutReason)
			}
			if next, err = next.Score(*a.TrustScore); err != nil {
				return m, nil, err
			}
		}
		var assigned []audit.Entry
		if a.Plan != nil {
			if next, assigned, err = ob.plans.Assign(next, by, *a.Plan); err != nil {
				return m, nil, err
			}
		}
		same := next.Tier == m.Tier && next.RefundFees == m.RefundFees && next.Installments == m.Installments && next.TrustScore == m.TrustScore
		if !same || assigned != nil {
			if err := ob.Dual.Require(ctx, by, base.Ask{
				Right: operators.Prices, Kind: "merchant.terms", Subject: id, Details: a.details(), Body: agreed{id, a, m.Version},
			}); err != nil {
				return m, nil, err
			}
		}
		next.Version = m.Version + 1
		if same {
			return next, assigned, nil
		}
		details := map[string]string{}
		if next.Tier != m.Tier {
			details["tier"], details["tierBefore"] = string(next.Tier), string(m.Tier)
		}
		if next.TrustScore != m.TrustScore {
			details["trustScore"], details["trustScoreBefore"] = strconv.Itoa(next.TrustScore), strconv.Itoa(m.TrustScore)
		}
		if next.RefundFees != m.RefundFees {
			details["refundFees"], details["before"] = string(next.RefundFees), string(m.RefundFees)
		}
		if next.Installments != m.Installments {
			details["installments"], details["installmentsBefore"] = cmp.Or(string(next.Installments), "none"), cmp.Or(string(m.Installments), "none")
		}
		return next, append(assigned, ob.Noted(by, merchants.Scope{Merchant: id, Live: true}, audit.MerchantTermed, id, a.Reason, details)...), nil
	})
}

// agreed is an agreement with a merchant.
type agreed struct {
	Merchant  string
	Agreement Agreement
	Version   int64 // of the merchant when it was proposed
}

// details are what an agreement changes, for people.
func (a Agreement) details() map[string]string {
	d := map[string]string{}
	for name, value := range map[string]string{"tier": string(a.Tier), "refundFees": string(a.RefundFees), "reason": a.Reason} {
		if value != "" {
			d[name] = value
		}
	}
	if a.TrustScore != nil {
		d["trustScore"] = strconv.Itoa(*a.TrustScore)
	}
	if a.Installments != nil {
		d["installments"] = cmp.Or(*a.Installments, "none")
	}
	if a.Plan != nil {
		d["plan"] = a.Plan.Plan
		if own := a.Plan.Own.Text(); own != "" {
			d["exceptions"] = own
		}
		if !a.Plan.From.IsZero() {
			d["from"] = a.Plan.From.UTC().Format(time.RFC3339)
		}
	}
	return d
}

func changedMeanwhile() error {
	return problem.Conflict("version", merchantChanged)
}

// Pause stops a merchant from beginning payments, checkouts and withdrawals in production (SVC-17). Its team reads the
// reason. Running servers obey within base.CacheTTL.
//
// Errors: store.ErrNotFound, invalid_request.
func (ob *Onboarding) Pause(ctx context.Context, by audit.Actor, id, reason string) (merchants.Merchant, error) {
	return ob.change(ctx, id, func(m merchants.Merchant) (merchants.Merchant, []audit.Entry, error) {
		next, err := m.Pause(strings.TrimSpace(reason), ob.Now())
		if err != nil || next.Paused == m.Paused {
			return m, nil, err
		}
		return next, ob.Noted(by, merchants.Scope{Merchant: id, Live: true}, audit.MerchantPaused, id, next.Paused, nil), nil
	})
}

// AnyReason ends a pause whatever its reason is.
const AnyReason = "*"

// Resume ends a merchant's pause. Running servers know within base.CacheTTL. reason is that of the pause which the caller
// means to end: another operator may have paused the merchant for another reason meanwhile.
//
// Errors: store.ErrNotFound, conflict_state if the pause has another reason.
func (ob *Onboarding) Resume(ctx context.Context, by audit.Actor, id, reason string) (merchants.Merchant, error) {
	return ob.change(ctx, id, func(m merchants.Merchant) (merchants.Merchant, []audit.Entry, error) {
		switch {
		case m.Paused == "":
			return m, nil, nil
		case reason != AnyReason && reason != m.Paused:
			return m, nil, changedMeanwhile()
		}
		return m.Resume(), ob.Noted(by, merchants.Scope{Merchant: id, Live: true}, audit.MerchantResumed, id, m.Paused, nil), nil
	})
}

// change decides about a merchant and writes it, with the entries of the audit log. Nothing is written without entries.
// This node's next requests read the merchant again; other nodes do so within base.CacheTTL. tell adds e-mails about it.
//
// Errors: store.ErrNotFound, and those of decide and tell.
func (ob *Onboarding) change(ctx context.Context, id string, decide func(merchants.Merchant) (merchants.Merchant, []audit.Entry, error),
	tell ...func(written *pay.Change, before merchants.Merchant) error) (merchants.Merchant, error) {
	done, err := base.Decide(func() (merchants.Merchant, error) {
		m, err := ob.AnyMerchant(ctx, id)
		if err != nil {
			return m, err
		}
		next, entries, err := decide(m)
		if err != nil || len(entries) == 0 {
			return m, err
		}
		written := pay.Change{Merchants: []merchants.Merchant{next}, Audit: entries}
		if (m.Paused == "") != (next.Paused == "") {
			if err := ob.mails.AddPauseAlerts(ctx, &written, next); err != nil {
				return m, err
			}
		}
		for _, add := range tell {
			if err := add(&written, m); err != nil {
				return m, err
			}
		}
		return next, ob.Store.Commit(ctx, written)
	})
	if err != nil {
		return done, err
	}
	shops, err := ob.Store.Merchants().Shops(ctx, id)
	for _, s := range shops {
		ob.Tenants.Forget(id + "/" + s.ID)
	}
	ob.Tenants.Forget(id + "/") // of credentials of the whole merchant
	ob.Sandboxes.Forget(id)
	return done, err
}
