package store

import (
	"errors"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
)

// The database may fail again while the probe that found it still runs: one prober does all the probes,
// because two at once would race for its fence.
func TestDatabaseFailsAgainWhileItIsProbed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := Open(t.Context(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		for i := range 40 {
			s.gone(errors.New("no answer"))
			time.Sleep(time.Duration(i%4) * minFindPause / 2)
			s.back()
		}
		s.gone(errors.New("no answer"))
		for s.away.Load() {
			time.Sleep(minFindPause / 4)
		}
		if err := s.Commit(t.Context(), pay.Change{}); err != nil {
			t.Errorf("a commit after the database is back: %v", err)
		}
	})
}
