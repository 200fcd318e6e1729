package privacy

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Retention is how long personal data is kept; 0: for ever.
type Retention struct {
	Shoppers      time.Duration // in payments, counted from their creation
	Evidence      time.Duration // in claims, counted from their creation
	Notifications time.Duration // notices of providers
	Addresses     time.Duration // in the audit log and in keys' uses
}

// ForgetEvery is the pause between two searches for data whose retention is over. Retention is counted in days.
const ForgetEvery = time.Hour

// forgetBatch is how many rows are erased at a time.
const forgetBatch = 500

// The kinds of data that are searched in rounds.
const (
	retainShoppers = "shoppers"
	retainEvidence = "evidence"
	// retentionRound is the time from one round to the next. The next one finds what had not ended
	// in this one.
	retentionRound = 30 * 24 * time.Hour
)

// Forget erases data whose retention is over, and returns a number above zero if there may be more.
func (pv *Privacy) Forget(ctx context.Context) (again int, err error) {
	now, keep := pv.Now(), pv.retention
	var failures []error
	batch := func(n int, err error) (int, bool, error) { return n, n == forgetBatch, err }
	for _, each := range []struct {
		what string
		kept time.Duration
		do   func(before time.Time) (n int, more bool, err error)
	}{
		{"notifications", keep.Notifications, func(before time.Time) (int, bool, error) {
			return batch(pv.Store.Notices().Forget(ctx, before, forgetBatch))
		}},
		{"addresses of the audit log", keep.Addresses, func(before time.Time) (int, bool, error) {
			return batch(pv.Store.Audit().ForgetAddresses(ctx, id.From(audit.Prefix, before), forgetBatch))
		}},
		{"uses of keys", keep.Addresses, func(before time.Time) (int, bool, error) {
			return batch(pv.Store.Keys().ForgetUses(ctx, before, forgetBatch))
		}},
		{retainShoppers, keep.Shoppers, func(before time.Time) (int, bool, error) { return pv.forgetShoppers(ctx, before) }},
		{retainEvidence, keep.Evidence, func(before time.Time) (int, bool, error) { return pv.forgetEvidence(ctx, before) }},
	} {
		if each.kept <= 0 {
			continue
		}
		n, more, err := each.do(now.Add(-each.kept))
		if n > 0 {
			pv.Log.InfoContext(ctx, "personal data was erased after its retention", "of", each.what, "rows", n)
		}
		if more {
			again++
		}
		failures = append(failures, err)
	}
	return again, errors.Join(failures...)
}

// round continues a round over data of a kind: it erases a page of ids after the last one. It
// returns how many rows were erased, and whether there may be more.
func (pv *Privacy) round(ctx context.Context, kind string, page func(after string) ([]string, error), erase func(id string) error) (n int, more bool, err error) {
	at, err := pv.Store.Recoveries().Retained(ctx, kind)
	if err != nil {
		return 0, false, err
	}
	now := pv.Now()
	if at.Version == 0 || now.Sub(at.Began) >= retentionRound {
		at.Began, at.UpTo = now, ""
	}
	list, err := page(at.UpTo)
	if err != nil || len(list) == 0 {
		return 0, false, err
	}
	for _, id := range list {
		err := erase(id)
		refusal, refused := errors.AsType[*problem.Error](err)
		switch {
		case err == nil:
			n++
		case ctx.Err() != nil:
			return n, false, err
		case errors.Is(err, errNothingLeft), refused && refusal.Code == problem.ConflictState: // or it has not ended
		default: // the next round finds it again
			pv.Log.ErrorContext(ctx, "personal data could not be erased after its retention", "of", id, "error", err)
		}
	}
	at.Version++
	at.UpTo = list[len(list)-1]
	err = base.UnlessStale(pv.Store.Commit(ctx, pay.Change{Retained: []pay.Retained{at}}))
	return n, err == nil && len(list) == forgetBatch, err
}

func (pv *Privacy) forgetShoppers(ctx context.Context, before time.Time) (int, bool, error) {
	return pv.round(ctx, retainShoppers, func(after string) ([]string, error) {
		return pv.Store.Payments().Old(ctx, after, id.From(pay.PaymentPrefix, before), forgetBatch)
	}, func(id string) error { return pv.erasePayment(ctx, nil, id, false) })
}

func (pv *Privacy) forgetEvidence(ctx context.Context, before time.Time) (int, bool, error) {
	return pv.round(ctx, retainEvidence, func(after string) ([]string, error) {
		return pv.Store.Claims().Old(ctx, after, id.From(pay.ClaimPrefix, before), forgetBatch)
	}, func(id string) error {
		return base.Again(func() error {
			c, err := pv.Store.Claims().Any(ctx, id)
			if err != nil {
				return err
			}
			change := pay.Change{Erasure: &pay.Erasure{}}
			words, err := pv.eraseClaim(ctx, c, &change)
			if err != nil {
				return err
			}
			if len(words) == 0 {
				return errNothingLeft
			}
			if err := pv.eraseEvents(ctx, c.Payment, &change); err != nil {
				return err
			}
			return pv.Store.Commit(ctx, change)
		})
	})
}
