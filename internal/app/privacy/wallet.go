package privacy

import (
	"context"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// EraseWallet removes what leads to the destination of a wallet that was deleted, from its row and from its events (LEAVE-6). It reports false,
// and keeps it, while a withdrawal to the wallet is under way: its account may still be asked about it. A repeat changes nothing.
//
// Errors: store.ErrNotFound.
func (pv *Privacy) EraseWallet(ctx context.Context, scope merchants.Scope, id string) (erased bool, err error) {
	for _, status := range []pay.WithdrawalStatus{pay.WithdrawalPending, pay.WithdrawalProcessing} {
		open, _, err := pv.Store.Withdrawals().List(ctx, scope, lists.WithdrawalFilter{Page: lists.Page{Limit: 1}, Wallet: id, Status: status})
		if err != nil || len(open) > 0 {
			return false, err
		}
	}
	err = base.Again(func() error {
		w, err := pv.Store.Wallets().Get(ctx, scope, id)
		if err != nil {
			return err
		}
		change, fresh := w.Erase(pv.TimeOf(scope))
		if erased = fresh || w.Erased(); !fresh {
			return nil
		}
		change.Erasure = &pay.Erasure{}
		if err := pv.eraseEvents(ctx, id, &change); err != nil {
			return err
		}
		return pv.Store.Commit(ctx, change)
	})
	return erased && err == nil, err
}
