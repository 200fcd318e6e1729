package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/schema"
)

// Keyed finds out what opening a database would report about its master key, and changes nothing.
func TestKeyedReadsADatabaseWithoutOpeningIt(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		ctx := t.Context()
		s, err := Open(ctx, database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if keyed, err := schema.Keyed(ctx, database, nil); err != nil || keyed {
			t.Errorf("a database without a secret is keyed: %v (%v)", keyed, err)
		}
		if err := s.Commit(ctx, pay.Change{Secrets: []merchants.Encrypted{{ID: "jwt/1", Version: 1, Text: []byte("sealed"), CreatedAt: time.Now()}}}); err != nil {
			t.Fatal(err)
		}
		if keyed, err := schema.Keyed(ctx, database, nil); err != nil || !keyed {
			t.Errorf("a database with a secret is keyed: %v (%v)", keyed, err)
		}
		if err := s.b.DB.Migrate(ctx, func(m engine.Migrator) error {
			return m.Exec("INSERT INTO schema_version (n, contract) VALUES (9999, TRUE)")
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := schema.Keyed(ctx, database, nil); err == nil || !strings.Contains(err.Error(), "start a newer one") {
			t.Errorf("a newer program's database: %v", err)
		}
	})
	fresh := filepath.Join(t.TempDir(), "a.db")
	if keyed, err := schema.Keyed(t.Context(), "sqlite:"+fresh, nil); err != nil || keyed {
		t.Errorf("a missing file is keyed: %v (%v)", keyed, err)
	}
	if _, err := os.Stat(fresh); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking made %s (%v)", fresh, err)
	}
}
