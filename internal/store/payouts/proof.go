package payouts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// ErrNotProved says that a payout is not as the service wrote it, or not as the ledger has it.
var ErrNotProved = errors.New("the payout is not proved")

var (
	hashedWithdrawal = engine.Statement(`SELECT ` + Table.Hashing().List("w") + ` FROM withdrawals AS w WHERE w.id = $1`)
	hashedWallet     = engine.Statement(`SELECT ` + WalletsTable.Hashing().List("w") + ` FROM wallets AS w WHERE w.id = $1`)
	selectBookedOf   = engine.Statement(`SELECT ` + books.TransfersTable.List + ` FROM transfers WHERE id >= $1 AND id < $2 ORDER BY id`)
)

// Prove proves a withdrawal and its wallet before money leaves: that the service wrote both rows, that they are those
// that the caller has, and that amount, fee, rate and destination are those of the sealed transfer.
//
// Errors: ErrNotProved with the reason; ErrStale if one of the rows has moved on.
func (wi Withdrawals) Prove(ctx context.Context, w pay.Withdrawal, to pay.Wallet) error {
	// The transfers are read first. A commit that adds one raises the withdrawal's version, so if that is still the caller's
	// afterwards, these are its transfers: a withdrawal that is canceled meanwhile is stale, and not changed from outside.
	first, after := w.Transfers()
	booked, err := base.Many(ctx, wi.b, selectBookedOf, books.TransfersTable.Scan(table.Personal{}), first, after)
	if err != nil {
		return err
	}
	for _, row := range []struct {
		text, id string
		version  int64
		of       *table.Hashing
	}{
		{hashedWithdrawal, w.ID, w.Version, Table.Hashing()},
		{hashedWallet, to.ID, to.Version, WalletsTable.Hashing()},
	} {
		found, err := base.One(ctx, wi.b, row.text, row.of.Reader(wi.b.Personal.RowKey), row.id)
		switch {
		case err != nil:
			return err
		case found.State != table.HashFits:
			return fmt.Errorf("%w: the service did not write the row %s of %s as it is", ErrNotProved, row.id, row.of.Table)
		case found.Version != row.version:
			return base.ErrStale
		}
	}
	read, err := wi.Any(ctx, w.ID)
	if err == nil && read.Version != w.Version {
		err = base.ErrStale
	}
	if err != nil {
		return err
	}
	for _, one := range []pay.Withdrawal{w, read} { // the caller's, and the row that was just proved
		if why := pay.Differs(one, to, booked); why != "" {
			return fmt.Errorf("%w: %s", ErrNotProved, why)
		}
	}
	return nil
}

// SetAside keeps a withdrawal that is not proved from being paid: it is checked again in an hour. The row stays as it is.
func (wi Withdrawals) SetAside(ctx context.Context, id, why string, now time.Time) error {
	return wi.b.SetAside(ctx, WithdrawalDuty, id, why, now)
}
