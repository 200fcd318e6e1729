package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/check"
)

// reset empties the sandbox of acme, as the use case does.
func reset(t *testing.T, s *store.Store) {
	t.Helper()
	r, begins := merchants.Reset{Merchant: acme.Merchant}.Begin(noon)
	if !begins {
		t.Fatal("no reset begins")
	}
	must(t, s.Commit(ctx, pay.Change{Resets: []merchants.Reset{r}}))
	for over := false; !over; {
		clean(t, s)
		swept, err := s.EmptySandbox(ctx, acme.Merchant, noon, func() error { return nil })
		must(t, err)
		clean(t, s)
		if r, over = r.Swept(swept.Found, swept.Deleted, noon); over {
			r.SealedTo = swept.SealedTo
		}
		must(t, s.Commit(ctx, pay.Change{Resets: []merchants.Reset{r}}))
	}
	clean(t, s)
}

// After a reset the seals accept that the sandbox's older transfers are gone, and no others: neither a later one of
// that sandbox, nor one of production, nor an entry of the audit log (SBX-16).
func TestSealsMissWhatAResetDidNotTake(t *testing.T) {
	eachSealed(t, func(t *testing.T, s *store.Store, v vandal) {
		produced := transfer("tr_live", ledger.Posting{Account: ledger.Available, Amount: 7}, ledger.Posting{Account: ledger.Receivable, Amount: -7})
		produced.Live = true
		must(t, s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{produced}}))
		reset(t, s)
		written(t, s, "later")
		sealAll(t, s)
		clean(t, s)
		for id, table := range map[string]string{"tr_later": "transfers", "tr_live": "transfers", "aud_b1a": "audit"} {
			v.exec(fmt.Sprintf("DELETE FROM %s WHERE id = '%s'", table, id))
			v.broken(s, "a sealed row is as it was written", id, "was removed")
		}
	})
}

// A check that goes on from an earlier one knows that the sums which that one proved are gone.
func TestCheckGoesOnAfterAReset(t *testing.T) {
	eachSealed(t, func(t *testing.T, s *store.Store, _ vandal) {
		sealAll(t, s)
		before, err := store.ReaderOf(s).Check(ctx, check.Options{})
		must(t, err)
		if before.Proof == nil {
			t.Fatalf("nothing is proved: %v", before.Broken)
		}
		reset(t, s)
		written(t, s, "later")
		sealAll(t, s)
		after, err := store.ReaderOf(s).Check(ctx, check.Options{Since: before.Proof})
		must(t, err)
		for _, b := range after.Broken {
			t.Errorf("broken: %s", b)
		}
	})
}

// A node that sleeps in the middle of a pass wakes up after another one has ended the reset: it deletes nothing of what
// the sandbox has by then.
func TestLatePassDeletesNothing(t *testing.T) {
	eachSealed(t, func(t *testing.T, s *store.Store, _ vandal) {
		reset(t, s)
		once := &pay.Once{Key: "sandbox|" + acme.Shop + "|late", Hash: "h", Object: "o", At: noon}
		must(t, s.Commit(ctx, pay.Change{Once: once}))
		written(t, s, "late")
		sealAll(t, s)
		swept, err := s.EmptySandbox(ctx, acme.Merchant, noon, func() error { return nil })
		must(t, err)
		if swept.Deleted > 0 {
			t.Errorf("it deleted %d rows", swept.Deleted)
		}
		if _, err = s.Idempotency().Get(ctx, once.Key); err != nil {
			t.Errorf("the key of a request: %v", err)
		}
		clean(t, s)
	})
}

// A repair of counters leaves a sandbox alone while it is emptied: what it adds to a counter that a reset deletes at the
// same time would stay.
func TestRepairLeavesASandboxThatIsEmptied(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, v := openSealed(t, database, store.Options{}), newVandal(t, database)
		withShop(t, s)
		takeOn(t, s, noon, pay.Approved)
		r, _ := merchants.Reset{Merchant: acme.Merchant}.Begin(noon)
		must(t, s.Commit(ctx, pay.Change{Resets: []merchants.Reset{r}}))
		v.exec("DELETE FROM payments WHERE merchant = '" + acme.Merchant + "'")
		mended, err := s.RepairCounters(ctx)
		must(t, err)
		if len(mended) > 0 {
			t.Errorf("it mended %q", mended)
		}
	})
}

// A reset is over when a pass finds nothing, and not the first one: work that had begun may still be written.
func TestResetEndsWithAPassThatFindsNothing(t *testing.T) {
	r, _ := merchants.Reset{Merchant: "mer_1"}.Begin(noon)
	if _, again := r.Begin(noon); again || !r.Running() || !r.DueAt.Equal(noon.Add(merchants.ResetCloses)) {
		t.Errorf("it began as %+v", r)
	}
	for i, c := range []struct {
		found int64
		over  bool
	}{{0, false}, {3, false}, {0, true}} {
		var over bool
		if r, over = r.Swept(c.found, c.found, noon.Add(time.Minute)); over != c.over || r.Running() == over {
			t.Errorf("after pass %d it is %+v", i+1, r)
		}
	}
	if r.Deleted != 3 || !r.DueAt.IsZero() {
		t.Errorf("it ended as %+v", r)
	}
}
