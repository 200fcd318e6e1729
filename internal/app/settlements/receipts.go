package settlements

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/statement"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

const (
	// receiptLines is how many lines a receipt lists; the report has all.
	receiptLines = 500
	reportPage   = 1000
)

// Receipts does the due work of closed settlements: first the PDF, then the payout.
func (se *Settlements) Receipts(ctx context.Context) (int, error) {
	now := se.Now()
	due, err := se.Store.Settlements().LeaseReceipts(ctx, now, now.Add(pay.SettleLease), settleBatch)
	if err != nil {
		return 0, err
	}
	for _, s := range due {
		if err := base.UnlessStale(se.receipt(ctx, s)); err != nil && ctx.Err() == nil {
			se.Quiet.ComesAgain(ctx, s.Live, "a settlement's receipt was not made; it is retried later", err, "settlement", s.ID)
		}
	}
	return len(due), nil
}

// receipt makes a settlement's receipt. If the settlement was set off against another one meanwhile, it is read again: it does not wait for
// the end of its lease.
func (se *Settlements) receipt(ctx context.Context, s pay.Settlement) error {
	if !s.PDFAt.IsZero() {
		return se.payouts.SettlePayout(ctx, s.ID, s.Scope)
	}
	read := true
	return base.Again(func() (err error) {
		if !read {
			if s, err = se.Store.Settlements().Get(ctx, s.Scope, s.ID); err != nil || !s.PDFAt.IsZero() {
				return err
			}
		}
		read = false
		return se.writeReceipt(ctx, s)
	})
}

func (se *Settlements) writeReceipt(ctx context.Context, s pay.Settlement) error {
	pdf, err := se.drawReceipt(ctx, s)
	if err != nil {
		return err
	}
	to, err := base.AudienceOf(ctx, se.Base, s.Merchant, s)
	if err != nil {
		return err
	}
	agreed, err := payouts.Agreed(ctx, se.payouts, s.Scope)
	if err != nil {
		return err
	}
	return se.Commit(ctx, s.Receipt(pdf, agreed.Automatic, to, se.TimeOf(s.Scope)), view.Cause{})
}

func (se *Settlements) drawReceipt(ctx context.Context, s pay.Settlement) ([]byte, error) {
	merchant, err := se.Store.Merchants().Get(ctx, s.Merchant)
	if err != nil {
		return nil, err
	}
	lines, err := se.Store.Settlements().Lines(ctx, s.ID, 0, receiptLines)
	if err != nil {
		return nil, err
	}
	done, err := se.drawing.Lock(ctx, "")
	if err != nil {
		return nil, err
	}
	defer done()
	return statement.PDF(statement.Statement{Settlement: s, Merchant: merchant, Lines: lines})
}

// List lists a merchant's settlements, newest first, with the number that the filter selects. Like
// the balance, they belong to the merchant, whichever of its shops asks. The page begins after the
// settlement with the id f.After, if that is not empty.
//
// Errors: invalid_request for an unknown cursor.
func (se *Settlements) List(ctx context.Context, scope merchants.Scope, f lists.SettlementFilter) ([]pay.Settlement, int64, error) {
	below := int64(0)
	if err := base.Behind(f.After, func() error {
		s, err := se.Store.Settlements().Get(ctx, scope, f.After)
		below = s.Number
		return err
	}); err != nil {
		return nil, 0, err
	}
	return se.Store.Settlements().List(ctx, scope, f, below)
}

// Get reads one settlement of the merchant.
//
// Errors: settlement_not_found, also for another merchant's settlement.
func (se *Settlements) Get(ctx context.Context, scope merchants.Scope, id string) (pay.Settlement, error) {
	return base.Named(id, base.Missing(problem.SettlementNotFound, scope, id), func() (pay.Settlement, error) { return se.Store.Settlements().Get(ctx, scope, id) })
}

// For returns settlements as a scope sees them: a shop with siblings does not see which withdrawals of theirs pay them out.
func (se *Settlements) For(ctx context.Context, scope merchants.Scope, list []pay.Settlement) ([]pay.Settlement, error) {
	return base.SettlementsFor(ctx, se.Base, scope, list)
}

// PaidBy reads the settlements that a withdrawal pays out, oldest first.
func (se *Settlements) PaidBy(ctx context.Context, w pay.Withdrawal) ([]pay.Settlement, error) {
	var ids []string
	for _, c := range w.Covers {
		ids = append(ids, c.Settlement)
	}
	list, err := se.Store.Settlements().ByID(ctx, ids)
	slices.SortFunc(list, func(a, b pay.Settlement) int { return cmp.Compare(a.Number, b.Number) })
	return list, err
}

// WithdrawalsOf reads the withdrawals that cover a settlement, of every shop of the merchant, oldest first.
func (se *Settlements) WithdrawalsOf(ctx context.Context, s pay.Settlement) ([]pay.Withdrawal, error) {
	list, err := se.Store.Withdrawals().ByID(ctx, s.Withdrawals())
	slices.SortFunc(list, func(a, b pay.Withdrawal) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list, err
}

func noSettlement() error {
	return problem.New(problem.SettlementNotFound, base.NoSettlement)
}

func orNoSettlement(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return noSettlement()
	}
	return err
}

// SettlementLines reads a page of a settlement's lines, with their number. A shop with siblings
// does not see theirs. The page begins after the line with the number page.After.
//
// Errors: invalid_request for an unknown cursor.
func (se *Settlements) SettlementLines(ctx context.Context, scope merchants.Scope, s pay.Settlement, page lists.Page) ([]pay.SettlementLine, int64, error) {
	siblings, err := se.siblings(ctx, scope)
	if err != nil {
		return nil, 0, err
	}
	after := int64(0)
	if err := base.Behind(page.After, func() error {
		if after, err = strconv.ParseInt(page.After, 10, 64); err != nil || after < 1 || after > s.Lines {
			return store.ErrNotFound
		}
		return nil
	}); err != nil {
		return nil, 0, err
	}
	if !siblings {
		list, err := se.Store.Settlements().Lines(ctx, s.ID, after+int64(page.Offset), page.Limit)
		return list, s.Lines, err
	}
	total, err := se.Store.Settlements().CountShopLines(ctx, s.ID, scope.Shop)
	if err != nil {
		return nil, 0, err
	}
	list, err := se.Store.Settlements().ShopLines(ctx, s.ID, scope.Shop, after, page.Limit, page.Offset)
	return list, total, err
}

// EachLine calls each with all lines of a settlement, in order, as SettlementLines lists them.
func (se *Settlements) EachLine(ctx context.Context, scope merchants.Scope, s pay.Settlement, each func(pay.SettlementLine) error) error {
	siblings, err := se.siblings(ctx, scope)
	if err != nil {
		return err
	}
	read := func(after int64) ([]pay.SettlementLine, error) {
		if siblings {
			return se.Store.Settlements().ShopLines(ctx, s.ID, scope.Shop, after, reportPage, 0)
		}
		return se.Store.Settlements().Lines(ctx, s.ID, after, reportPage)
	}
	for after := int64(0); after < s.Lines; {
		page, err := read(after)
		if err != nil {
			return err
		}
		if len(page) == 0 && siblings {
			return nil
		}
		if len(page) == 0 {
			return fmt.Errorf("settlement %s: %d of its %d lines found", s.ID, after, s.Lines)
		}
		for _, l := range page {
			if err := each(l); err != nil {
				return err
			}
		}
		after = page[len(page)-1].Number
	}
	return nil
}

// ReceiptFor is ReceiptOf for a scope. The receipt lists the payments of all shops of the merchant.
//
// Errors: forbidden for a shop with siblings; conflict_state.
func (se *Settlements) ReceiptFor(ctx context.Context, scope merchants.Scope, s pay.Settlement) ([]byte, error) {
	siblings, err := se.siblings(ctx, scope)
	if err != nil {
		return nil, err
	}
	if siblings {
		return nil, problem.New(problem.Forbidden, receiptOfAllShops)
	}
	return se.ReceiptOf(ctx, s)
}

// ReceiptOf returns the PDF of a closed settlement: the stored one, or, just before it is stored,
// an equal one that is drawn now.
//
// Errors: conflict_state while the settlement is open.
func (se *Settlements) ReceiptOf(ctx context.Context, s pay.Settlement) ([]byte, error) {
	if s.Status == pay.BatchOpen {
		return nil, &problem.Error{Code: problem.ConflictState, Reason: receiptWhenClosed,
			Details: problem.Details{From: string(s.Status), Action: "report"}}
	}
	if s.PDFAt.IsZero() {
		return se.drawReceipt(ctx, s)
	}
	d, err := se.Store.Settlements().Receipt(ctx, s.Scope, s.ID)
	return d.Body, err
}

// Language is the language of a merchant's reports.
func (se *Settlements) Language(ctx context.Context, merchant string) (merchants.Language, error) {
	m, err := se.Store.Merchants().Get(ctx, merchant)
	return m.Language, err
}

// SimulatePayout pays a sandbox settlement at the merchant's request, as the operator pays one by hand.
//
// Errors: production_key_refused, those of payouts.Payouts.PaySettlement.
func (se *Settlements) SimulatePayout(ctx context.Context, by base.Principal, id string) (pay.Settlement, error) {
	if by.Live {
		return pay.Settlement{}, merchants.NoSimulation("")
	}
	s, err := se.Get(ctx, by.Scope, id)
	if err != nil {
		return s, err
	}
	paid, _, err := se.payouts.PaySettlement(ctx, by.Actor(), payouts.HandPayment{Settlement: s.ID, Reference: "simulated"})
	return paid, err
}

// AnySettlements lists settlements of all merchants, newest first, for the operator.
func (se *Settlements) AnySettlements(ctx context.Context, merchant string, status pay.SettlementStatus, limit int) ([]pay.Settlement, error) {
	return se.Store.Settlements().All(ctx, merchant, status, "", limit)
}

// AnySettlement reads a settlement of any merchant, with its first lines, for the operator.
func (se *Settlements) AnySettlement(ctx context.Context, id string, limit int) (pay.Settlement, []pay.SettlementLine, error) {
	s, err := se.Store.Settlements().Any(ctx, id)
	if err != nil {
		return s, nil, orNoSettlement(err)
	}
	lines, err := se.Store.Settlements().Lines(ctx, id, 0, limit)
	return s, lines, err
}
