// Package overview lists what all merchants have, a page at a time, for operators' programs. What waits for a person is listed by the
// noun's own use cases too.
package overview

import (
	"context"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/comparison"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Lists are the lists of all merchants. Each begins after the row that the page names, and has page.Limit rows at most.
//
// Errors of all: invalid_request for a cursor that is no row.
type Lists struct{ *base.Base }

// New returns the lists of a service.
func New(b *base.Base) *Lists { return &Lists{b} }

// Merchants lists merchants whose name or e-mail address contains a text, newest first; "" selects all.
func (l *Lists) Merchants(ctx context.Context, text string, page lists.Page) ([]merchants.Merchant, error) {
	err := base.Behind(page.After, func() error { _, err := l.Store.Merchants().Get(ctx, page.After); return err })
	if err != nil {
		return nil, err
	}
	return l.Store.Merchants().Find(ctx, text, page.After, page.Limit)
}

// Claims lists claims, newest first.
func (l *Lists) Claims(ctx context.Context, f lists.ClaimFilter) ([]pay.Claim, error) {
	if err := l.behindClaim(ctx, f.Page); err != nil {
		return nil, err
	}
	return l.Store.Claims().ListAny(ctx, f)
}

// Carrying lists the open disputes whose evidence the operator has to submit, oldest first.
func (l *Lists) Carrying(ctx context.Context, page lists.Page) ([]pay.Claim, error) {
	if err := l.behindClaim(ctx, page); err != nil {
		return nil, err
	}
	return l.Store.Claims().Carrying(ctx, page.After, page.Limit)
}

func (l *Lists) behindClaim(ctx context.Context, page lists.Page) error {
	return base.Behind(page.After, func() error { _, err := l.Store.Claims().Any(ctx, page.After); return err })
}

// Waiting lists withdrawals that are due and not sent, with the reason, oldest first.
func (l *Lists) Waiting(ctx context.Context, page lists.Page) ([]pay.Withdrawal, error) {
	if err := l.behindWithdrawal(ctx, page); err != nil {
		return nil, err
	}
	return l.Store.Withdrawals().Waiting(ctx, page.After, page.Limit)
}

// Sent lists withdrawals that were sent and whose end is not known, oldest first.
func (l *Lists) Sent(ctx context.Context, page lists.Page) ([]pay.Withdrawal, error) {
	if err := l.behindWithdrawal(ctx, page); err != nil {
		return nil, err
	}
	return l.Store.Withdrawals().Sent(ctx, page.After, page.Limit)
}

func (l *Lists) behindWithdrawal(ctx context.Context, page lists.Page) error {
	return base.Behind(page.After, func() error { _, err := l.Store.Withdrawals().Any(ctx, page.After); return err })
}

// Batches lists batches without their files, of one account or of all, newest first.
func (l *Lists) Batches(ctx context.Context, account string, page lists.Page) ([]pay.Batch, error) {
	err := base.Behind(page.After, func() error { _, err := l.Store.Batches().Get(ctx, page.After); return err })
	if err != nil {
		return nil, err
	}
	return l.Store.Batches().List(ctx, account, page.After, page.Limit)
}

// Misfits lists the notifications that wait for the operator, oldest first.
func (l *Lists) Misfits(ctx context.Context, page lists.Page) ([]pay.KeptNotice, error) {
	if err := l.behindNotice(ctx, page); err != nil {
		return nil, err
	}
	return l.Store.Notices().Unclosed(ctx, page.After, page.Limit)
}

// Unknown lists notifications about objects that the books do not have, newest first. One that was closed has the verdict pay.Closed.
func (l *Lists) Unknown(ctx context.Context, page lists.Page) (list []pay.KeptNotice, err error) {
	if err := l.behindNotice(ctx, page); err != nil {
		return nil, err
	}
	for after := page.After; len(list) < page.Limit; {
		rows, err := l.Store.Notices().Unknown(ctx, after, page.Limit)
		if err != nil || len(rows) == 0 {
			return list, err
		}
		for _, n := range rows {
			after = n.ID
			if n.Verdict == pay.Closed || len(list) == page.Limit { // the record that one was closed
				continue
			}
			switch _, err := l.Store.Notices().Get(ctx, n.Closing()); {
			case err == nil:
				n.Verdict = pay.Closed
			case !base.Absent(err):
				return nil, err
			}
			list = append(list, n)
		}
		if len(rows) < page.Limit {
			break
		}
	}
	return list, nil
}

func (l *Lists) behindNotice(ctx context.Context, page lists.Page) error {
	return base.Behind(page.After, func() error { _, err := l.Store.Notices().Get(ctx, page.After); return err })
}

// Verifications lists verifications, newest first. An empty status or merchant selects all.
func (l *Lists) Verifications(ctx context.Context, status merchants.VerificationStatus, merchant string, page lists.Page) ([]merchants.Verification, error) {
	err := base.Behind(page.After, func() error { _, err := l.Store.Verifications().Any(ctx, page.After); return err })
	if err != nil {
		return nil, err
	}
	return l.Store.Verifications().List(ctx, status, merchant, page.After, page.Limit)
}

// Settlements lists settlements, newest first. An empty status or merchant selects all.
func (l *Lists) Settlements(ctx context.Context, merchant string, status pay.SettlementStatus, page lists.Page) ([]pay.Settlement, error) {
	err := base.Behind(page.After, func() error { _, err := l.Store.Settlements().Any(ctx, page.After); return err })
	if err != nil {
		return nil, err
	}
	return l.Store.Settlements().All(ctx, merchant, status, page.After, page.Limit)
}

// Adjustments lists adjustments, newest first. An empty status or merchant selects all.
func (l *Lists) Adjustments(ctx context.Context, merchant string, status pay.AdjustmentStatus, page lists.Page) ([]pay.Adjustment, error) {
	err := base.Behind(page.After, func() error { _, err := l.Store.Adjustments().Any(ctx, page.After); return err })
	if err != nil {
		return nil, err
	}
	return l.Store.Adjustments().All(ctx, merchant, status, page.After, page.Limit)
}

// Comparisons lists the kept results of comparisons with providers' reports, of one account or of all, newest first. A cursor need not be
// a row: the ids say where the page begins.
func (l *Lists) Comparisons(ctx context.Context, account string, page lists.Page) ([]comparison.Result, error) {
	if !base.Storable(page.After) {
		return nil, nil
	}
	return l.Store.Reconciliations().List(ctx, account, page.After, page.Limit)
}

// Audit lists the entries of the audit log that match a filter, newest first. A cursor need not be a row: the ids say where the page
// begins.
func (l *Lists) Audit(ctx context.Context, f audit.Filter, page lists.Page) ([]audit.Entry, error) {
	if !base.Storable(page.After) {
		return nil, nil
	}
	f.Before = page.After
	return l.Store.Audit().Latest(ctx, f, page.Limit)
}
