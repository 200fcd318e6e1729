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

// On a disk that is almost full the smallest commit succeeds and the next one fails. The database is not back until
// there is room for more: else each commit would find it back, the next one away, and so on.
func TestDatabaseIsBackWhenItHasRoom(t *testing.T) {
	disk := dbtest.NewDisk(t, "64")
	s, err := Open(t.Context(), disk.SQLite(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	disk.Fill()
	disk.Spare(64 << 10)
	if _, err := s.prober.claim(t.Context()); err != nil {
		t.Fatal("the smallest commit does not fit:", err)
	}
	s.watching.Store(true) // the test is the watch
	s.gone(errors.New("the disk is full"))
	if s.probe(); !s.away.Load() {
		t.Error("the database is back on a full disk")
	}
	if s.back(); !s.away.Load() {
		t.Error("a small commit brings the database back on a full disk")
	}
	disk.Free()
	if s.probe(); s.away.Load() {
		t.Error("the database stays away on a disk with room")
	}
}
