package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/jackc/pgx/v5"
)

// A pooler in transaction mode is refused also while others use it: then the connection that is asked may have the
// same session twice by chance.
func TestBusyPoolerIsRefused(t *testing.T) {
	t.Parallel()
	address := dbtest.Alone(t).Bouncer("transaction").Address
	busy, rest := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 3 {
		conn, err := pgx.Connect(t.Context(), address+"&default_query_exec_mode=simple_protocol")
		if err != nil {
			t.Fatal(err)
		}
		others.Go(func() {
			for busy.Err() == nil {
				if _, err := conn.Exec(t.Context(), "SELECT 1"); err != nil {
					t.Error(err)
					break
				}
			}
			if err := conn.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		s, err := store.Open(t.Context(), address, store.Options{})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, engine.ErrPooler) {
			t.Errorf("the store opens with the error %v, want ErrPooler", err)
		}
	}
	rest()
	others.Wait()
}
