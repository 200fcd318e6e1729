package recovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Listing is a provider's own list of its activity in the window of a recovery.
type Listing struct {
	Account string
	Reports []reconciliation.Report
	Format  reconcile.Format
}

// Listed is the result of reading a provider's list.
type Listed struct {
	Lines, Known, Regained int
	Foreign                int         // lines without a reference of ours
	Other                  int         // lines that are no charge, refund or payout
	Found                  []pay.Found // entries without an object in our books
}

// ReadListing compares a provider's list of the window with the books. An entry whose payment or
// withdrawal exists is assigned to it, and queried. Others wait until their request is repeated, or
// for the operator.
//
// It returns an error if no recovery is under way, or if a line cannot be read.
func (re *Recovery) ReadListing(ctx context.Context, l Listing) (done Listed, err error) {
	if !re.Shut() {
		return done, pay.NoRecovery
	}
	account, err := re.Store.Accounts().Get(ctx, l.Account)
	if err != nil {
		return done, fmt.Errorf("provider account %s: %w", l.Account, err)
	}
	names := ""
	for _, report := range l.Reports {
		lines, err := reconcile.NewReader(filepath.Base(report.Name), report, l.Format)
		if err != nil {
			return done, err
		}
		names += " " + filepath.Base(report.Name)
		for {
			line, err := lines.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return done, fmt.Errorf("%s: %w", report.Name, err)
			}
			if line.Kind == reconcile.Other {
				done.Other++
				continue
			}
			done.Lines++
			if err := re.listed(ctx, account, line, &done); err != nil {
				return done, fmt.Errorf("%s:%d: %w", line.File, line.Number, err)
			}
		}
	}
	if done.Lines == 0 { // without a line, the account would count as covered
		return done, nothingListed.With(done.Other, account.ID)
	}
	return done, re.CoverAccount(ctx, account.ID, fmt.Sprintf("%d lines of%s", done.Lines, names))
}

// listed handles one line.
func (re *Recovery) listed(ctx context.Context, account accounts.Account, line reconcile.Line, done *Listed) error {
	f, ok := foundIn(account.ID, line)
	if !ok {
		done.Foreign++
		return nil
	}
	switch before, err := re.Store.Recoveries().FoundAt(ctx, f.ID()); {
	case err == nil && !before.Open():
		done.Known++
		return nil
	case err == nil:
		f.Version = before.Version + 1
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	known, regained, err := re.place(ctx, f, line)
	if refused, ok := errors.AsType[*problem.Error](err); ok {
		f.Why, err = refused.Reason.Error(), nil
	}
	switch {
	case err != nil:
		return err
	case known:
		done.Known++
		return nil
	case regained:
		done.Regained++
		return nil
	}
	done.Found = append(done.Found, f)
	return re.Store.Commit(ctx, pay.Change{Found: []pay.Found{f}})
}

// foundIn reads a line with one of our references; ok is false if it has none.
func foundIn(account string, l reconcile.Line) (f pay.Found, ok bool) {
	f = pay.Found{Version: 1, Account: account, Reference: l.Reference, FoundNotes: pay.FoundNotes{
		ProviderRef: l.ProviderRef, Minor: l.Amount.Minor, Currency: l.Amount.Currency,
	}}
	if !l.Date.IsZero() {
		f.At = l.Date.UnixMicro()
	}
	object := ""
	switch l.Kind {
	case reconcile.Charge:
		f.Kind = pay.FoundCharge
		object, _, ok = pay.ParseReference(f.Reference)
	case reconcile.Refund:
		f.Kind, f.Charge = pay.FoundRefund, l.Reference
		if l.RefundReference != "" {
			f.Reference = l.RefundReference
		}
		f.ProviderRef = l.RefundProviderRef
		object, _, ok = pay.ParseRefundReference(f.Reference)
	case reconcile.Payout:
		f.Kind = pay.FoundPayout
		object, _, ok = pay.ParsePayoutReference(f.Reference)
	}
	mark, long := id.MarkOf(object)
	f.Mark = mark
	return f, ok && long && base.Storable(object)
}

// place assigns a found entry to its object, if that exists. known: the object had it already.
func (re *Recovery) place(ctx context.Context, f pay.Found, l reconcile.Line) (known, regained bool, err error) {
	switch f.Kind {
	case pay.FoundCharge:
		return re.placeCharge(ctx, f)
	case pay.FoundRefund:
		return re.refunds.PlaceRefund(ctx, f, l)
	}
	return re.payouts.Place(ctx, f)
}

func (re *Recovery) placeCharge(ctx context.Context, f pay.Found) (known, regained bool, err error) {
	object, order, _ := pay.ParseReference(f.Reference)
	err = base.Again(func() error {
		p, err := re.Store.Payments().Any(ctx, object)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if known = err == nil && order <= len(p.Attempts) && p.Attempts[order-1].Provider == f.Account; err != nil {
			return err
		}
		if known {
			if _, change, news := f.Listed(p, order, re.TimeOf(p.Scope)); news {
				return re.Commit(ctx, change, view.Cause{})
			}
			return nil
		}
		by, err := re.Store.Hold(ctx)
		if err != nil {
			return err
		}
		_, change, err := f.Regain(p, order, by, re.TimeOf(p.Scope))
		if err != nil {
			return err
		}
		change.Found = []pay.Found{base.AsTaken(f, object)}
		regained = true
		return re.Commit(ctx, change, view.Cause{})
	})
	return known, regained && err == nil, err
}
