package books

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// selectMovements reads a merchant's newest transfers with the current balances in one statement, so that
// both agree. There is one index, by kind: each kind yields its newest rows, and the newest of all are
// kept.
var selectMovements, selectShopMovements = engine.Statement(movementsOf("")), engine.Statement(movementsOf(`, coalesce((SELECT p.shop FROM payments AS p WHERE p.id = t.payment), '')`))

func movementsOf(more string) string {
	var parts []string
	for _, kind := range pay.MovingKinds() {
		parts = append(parts, fmt.Sprintf(`SELECT * FROM (SELECT id, kind, payment, claim, at, postings FROM transfers
    WHERE merchant = $1 AND live = $2 AND kind = '%[1]s' ORDER BY at DESC LIMIT $3) AS of_%[1]s`, kind))
	}
	return `
SELECT t.id, t.kind, t.payment, t.claim, t.at, t.postings, ` + BalanceColumns + more + `
FROM (
  ` + strings.Join(parts, "\n  UNION ALL ") + `
) AS t JOIN balances AS b ON b.merchant = $1 AND b.live = $2
ORDER BY t.at DESC, t.id DESC LIMIT $3`
}

var selectOthersWithdrawals = engine.Statement(`
SELECT id FROM withdrawals WHERE live = $2 AND shop IN (SELECT s.id FROM shops AS s WHERE s.merchant = $1 AND s.id <> $3)`)

var countMovements = engine.Statement(`SELECT movements FROM balances WHERE merchant = $1 AND live = $2`)

// Movements lists what moved a merchant's balances, newest first, and the total count. The cost grows with
// the rows above the page, also with a cursor: running balances are computed backwards from the newest.
//
// Errors: ErrNotFound if the page's cursor names no movement.
func (bo Books) Movements(ctx context.Context, scope merchants.Scope, page lists.Page) ([]pay.Movement, int64, error) {
	total := int64(0)
	err := bo.b.Query(ctx, countMovements, []any{scope.Merchant, scope.Live}, func(r engine.Row) error { return r.Scan(&total) })
	if err != nil || page.After == "" && total <= int64(page.Offset) {
		return nil, total, err
	}
	// A transfer has at least one movement, except a refund of less than a cent.
	for transfers := page.Limit + page.Offset; ; transfers *= 2 {
		list, found, read, err := movements(ctx, bo.b, scope, page, transfers)
		switch {
		case err != nil || len(list) == page.Limit:
			return list, total, err
		case read < transfers && !found:
			return nil, total, base.ErrNotFound
		case read < transfers:
			return list, total, nil
		}
	}
}

// movements shows the newest transfers. It returns how many it read, and whether they include the cursor's
// movement.
func movements(ctx context.Context, b *base.Base, scope merchants.Scope, page lists.Page, transfers int) (list []pay.Movement, found bool, read int, err error) {
	var balances ledger.Balances
	found = page.After == ""
	skip := page.Offset
	err = b.Query(ctx, selectMovements, []any{scope.Merchant, scope.Live, transfers}, func(r engine.Row) error {
		if read++; len(list) == page.Limit {
			return nil
		}
		t, now, err := scanMovement(r)
		if err != nil {
			return err
		}
		if balances == nil {
			balances = now
		}
		for _, m := range slices.Backward(pay.Movements(t)) {
			m.BalanceAfter = balances[m.Bucket]
			balances[m.Bucket] -= m.Amount
			switch {
			case !found:
				found = m.ID == page.After
			case skip > 0:
				skip--
			case len(list) < page.Limit:
				list = append(list, m)
			}
		}
		return nil
	})
	return list, found, read, err
}

// ShopMovements lists what moved a merchant's balances, newest first, without the payments, claims and
// withdrawals of the merchant's other shops. It searches the newest depth transfers and counts its matches.
//
// Errors: ErrNotFound if the page's cursor names no movement.
func (bo Books) ShopMovements(ctx context.Context, scope merchants.Scope, page lists.Page, depth int) (list []pay.Movement, total int64, err error) {
	others := map[string]bool{}
	err = bo.b.Query(ctx, selectOthersWithdrawals, []any{scope.Merchant, scope.Live, scope.Shop}, func(r engine.Row) error {
		var id string
		err := r.Scan(&id)
		others[id] = true
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	var balances ledger.Balances
	found := page.After == ""
	err = bo.b.Query(ctx, selectShopMovements, []any{scope.Merchant, scope.Live, depth}, func(r engine.Row) error {
		var shop string
		t, now, err := scanMovement(rowFunc(func(dest ...any) error { return r.Scan(append(dest, &shop)...) }))
		if err != nil {
			return err
		}
		if balances == nil {
			balances = now
		}
		withdrawal, _ := pay.WithdrawalOf(t)
		foreign := shop != "" && shop != scope.Shop || others[withdrawal]
		for _, m := range slices.Backward(pay.Movements(t)) {
			m.BalanceAfter = balances[m.Bucket]
			balances[m.Bucket] -= m.Amount
			if foreign {
				continue
			}
			if total++; found && total > int64(page.Offset) && len(list) < page.Limit {
				list = append(list, m)
			}
			found = found || m.ID == page.After
		}
		return nil
	})
	if err == nil && !found {
		err = base.ErrNotFound
	}
	return list, total, err
}

// scanMovement reads a transfer and the balances next to it.
func scanMovement(r engine.Row) (t ledger.Transfer, b ledger.Balances, err error) {
	var at int64
	var text string
	scan := func(dest ...any) error {
		return r.Scan(append([]any{&t.ID, &t.Kind, &t.Payment, &t.Claim, &at, &text}, dest...)...)
	}
	_, b, err = ScanBalances(rowFunc(scan))
	if err != nil {
		return t, b, err
	}
	t.At = table.FromMicros(at)
	t.Postings, err = parsePostings(text)
	return t, b, err
}

// rowFunc is a row without some of its columns.
type rowFunc func(dest ...any) error

// Scan implements Row.
func (f rowFunc) Scan(dest ...any) error { return f(dest...) }
