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

// FindMovements has a statement for each type of movement, and for all. Each kind of transfer yields its
// newest rows of the span through the index of kinds, and the newest of all are kept.
var FindMovements = func() map[pay.MovementType]string {
	texts := map[pay.MovementType]string{}
	for _, of := range append(pay.MovementTypes(), "") {
		var parts []string
		for _, kind := range pay.KindsOf(of) {
			parts = append(parts, fmt.Sprintf(`SELECT * FROM (SELECT id, kind, payment, claim, at, postings FROM transfers
    WHERE merchant = $1 AND live = $2 AND kind = '%[1]s' AND at >= $4 AND at < $5 AND at <= $6 AND (at < $6 OR id < $7)
    ORDER BY at DESC, id DESC LIMIT $3) AS of_%[1]s`, kind))
		}
		texts[of] = engine.Statement(`
SELECT t.id, t.kind, t.payment, t.claim, t.at, t.postings, ` + BalanceColumns + `, coalesce((SELECT p.shop FROM payments AS p WHERE p.id = t.payment), '')
FROM (
  ` + strings.Join(parts, "\n  UNION ALL ") + `
) AS t JOIN balances AS b ON b.merchant = $1 AND b.live = $2
ORDER BY t.at DESC, t.id DESC LIMIT $3`)
	}
	return texts
}()

// Found are movements with the place after the last one, and the balances now. The movements have no
// BalanceAfter.
type Found struct {
	Movements []pay.Movement
	Next      lists.MovementPlace // zero if there are no more
	Now       ledger.Balances
}

// Find lists what moved a merchant's balances, newest first. alone leaves out what belongs to the merchant's
// other shops. However old the page is, only its own rows are read; so it does not know the running balance.
func (bo Books) Find(ctx context.Context, scope merchants.Scope, f lists.MovementFilter, alone bool) (found Found, err error) {
	others := map[string]bool{}
	if alone {
		err := bo.b.Query(ctx, selectOthersWithdrawals, []any{scope.Merchant, scope.Live, scope.Shop}, func(r engine.Row) error {
			var id string
			err := r.Scan(&id)
			others[id] = true
			return err
		})
		if err != nil {
			return found, err
		}
	}
	from, to := base.Bounds(f.Span)
	at, behind := int64(base.Beyond), base.BehindAll
	if f.After.Transfer != "" {
		at, behind = table.Micros(f.After.At), f.After.Transfer
	}
	for read := f.Limit; ; {
		n, full := 0, false
		err := bo.b.Query(ctx, FindMovements[f.Type], []any{scope.Merchant, scope.Live, read, from, to, at, behind}, func(r engine.Row) error {
			if full {
				return nil
			}
			var shop string
			t, now, err := scanMovement(rowFunc(func(dest ...any) error { return r.Scan(append(dest, &shop)...) }))
			if err != nil {
				return err
			}
			n++
			if found.Now == nil {
				found.Now = now
			}
			at, behind = table.Micros(t.At), t.ID
			found.Next = lists.MovementPlace{At: t.At, Transfer: t.ID}
			if withdrawal, _ := pay.WithdrawalOf(t); alone && (shop != "" && shop != scope.Shop || others[withdrawal]) {
				return nil
			}
			for _, m := range slices.Backward(pay.Movements(t)) {
				if f.Type == "" || m.Type == f.Type {
					found.Movements = append(found.Movements, m)
				}
			}
			full = len(found.Movements) >= f.Limit
			return nil
		})
		if err != nil {
			return found, err
		}
		if n < read && !full { // that was all
			found.Next = lists.MovementPlace{}
			return found, nil
		}
		if full {
			return found, nil
		}
	}
}

// Between lists the transfers of a merchant with ids from first on and below after, oldest first. Those of a
// claim or a withdrawal are next to each other.
func (bo Books) Between(ctx context.Context, scope merchants.Scope, first, after string) ([]ledger.Transfer, error) {
	return base.Many(ctx, bo.b, selectTransfersBetween, TransfersTable.Scan(bo.b.Personal), first, after, scope.Merchant, scope.Live)
}

var selectTransfersBetween = engine.Statement(`SELECT ` + TransfersTable.List + ` FROM transfers
WHERE id >= $1 AND id < $2 AND merchant = $3 AND live = $4 ORDER BY at, id`)
