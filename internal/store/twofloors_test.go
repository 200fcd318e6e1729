package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/jackc/pgx/v5"
)

// Two nodes write at once: batches with a floor on one balance change other balances too, those of the two
// nodes in opposite order. They lock the balances in one order, and never deadlock.
func TestFloorsOfTwoNodesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	nodes := [2]*store.Store{openSealed(t, database, store.Options{}), openSealed(t, database, store.Options{})}
	const rounds = 200
	owners := [2]string{acme.Merchant, ledger.FloatOwner("bank", "MXN")}
	for _, owner := range owners {
		of := transfer("first "+owner, ledger.Posting{Account: ledger.Available, Amount: 1_000_000}, ledger.Posting{Account: ledger.Receivable, Amount: -1_000_000})
		of.Merchant = owner
		must(t, nodes[0].Commit(ctx, pay.Change{Transfers: []ledger.Transfer{of}}))
	}
	var all sync.WaitGroup
	var refused atomic.Int64
	for i := range rounds {
		for n, node := range nodes {
			for at, owner := range owners {
				all.Go(func() {
					of := transfer(fmt.Sprintf("t %d %d %d", i, n, at), ledger.Posting{Account: ledger.Available, Amount: -1}, ledger.Posting{Account: ledger.PaidOut, Amount: 1})
					of.Merchant = owner
					change := pay.Change{Transfers: []ledger.Transfer{of}}
					if at == n { // each node has its own floor
						change.Floors = []ledger.Floor{{Merchant: owner, Account: ledger.Available}}
					}
					if node.Commit(context.Background(), change) != nil {
						refused.Add(1)
					}
				})
			}
		}
	}
	all.Wait()
	if n := refused.Load(); n > 0 {
		t.Errorf("%d of %d changes were refused", n, 4*rounds)
	}
	time.Sleep(1500 * time.Millisecond) // the server publishes its counts once a second
	server, err := pgx.Connect(ctx, database)
	must(t, err)
	defer server.Close(ctx)
	deadlocks := 0
	must(t, server.QueryRow(ctx, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks))
	if deadlocks > 0 {
		t.Errorf("there were %d deadlocks", deadlocks)
	}
	for _, owner := range owners {
		b, err := nodes[1].Books().Balances(ctx, merchants.Scope{Merchant: owner})
		if must(t, err); b[ledger.PaidOut] != 2*rounds {
			t.Errorf("%s paid out %d, want %d", owner, b[ledger.PaidOut], 2*rounds)
		}
	}
}
