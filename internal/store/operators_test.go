package store_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/store"
)

func TestOperatorIsFoundByTokenUntilRemoved(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		change := func(o operators.Operator) error { return s.Commit(ctx, pay.Change{Operators: []operators.Operator{o}}) }
		ana := operators.Operator{Name: "ana", Version: 1, Hash: "a hash", Preview: "op_…1234", CreatedAt: noon}
		if _, err := s.Operators().Get(ctx, "ana"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown operator: %v", err)
		}
		must(t, change(ana))
		read, err := s.Operators().ByHash(ctx, "a hash")
		must(t, err)
		if !reflect.DeepEqual(read, ana) {
			t.Errorf("read %+v, want %+v", read, ana)
		}
		if err := change(ana); !errors.Is(err, store.ErrStale) {
			t.Errorf("the same name again: %v, want ErrStale", err)
		}
		gone := ana
		gone.Version, gone.Hash, gone.RemovedAt = 2, "", noon
		must(t, change(gone))
		for _, hash := range []string{"a hash", ""} {
			if o, err := s.Operators().ByHash(ctx, hash); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the hash %q finds %+v (%v) after the operator was removed", hash, o, err)
			}
		}
		list, err := s.Operators().List(ctx)
		must(t, err)
		if len(list) != 1 || !reflect.DeepEqual(list[0], gone) {
			t.Errorf("listed %+v, want %+v", list, gone)
		}
		broken, err := s.Check(ctx)
		must(t, err)
		if len(broken) != 0 {
			t.Errorf("broken: %v", broken)
		}
		ghost := operators.Operator{Name: "ghost", Version: 1, Hash: "another", CreatedAt: noon, RemovedAt: noon} // removed, and yet with a token
		must(t, change(ghost))
		if broken, err = s.Check(ctx); err != nil || len(broken) != 1 {
			t.Errorf("a removed operator with a token: %v (%v)", broken, err)
		}
		ghost.Version, ghost.Hash = 2, ""
		must(t, change(ghost))
	})
}
