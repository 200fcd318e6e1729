package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/vault"
)

func cipher(t testing.TB) *vault.Vault {
	t.Helper()
	v, err := vault.New(bytes.Repeat([]byte{5}, vault.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func note(n int) pay.KeptNotice {
	return pay.KeptNotice{ID: fmt.Sprintf("acc/n%03d", n), Account: "acc", Verdict: pay.Ignored, Body: fmt.Appendf(nil, `{"name":"Ana %d"}`, n), At: noon}
}

// If a notification arrives again, the first one is kept, although the ciphertexts differ.
func TestEncryptedReceiptIsKeptOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{Cipher: cipher(t)})
		must(t, err)
		t.Cleanup(s.Close)
		must(t, s.Commit(ctx, pay.Change{Notices: []pay.KeptNotice{note(1)}}))
		if err := s.Commit(ctx, pay.Change{Notices: []pay.KeptNotice{note(1)}}); !errors.Is(err, store.ErrDuplicate) {
			t.Errorf("the second one: %v, want ErrDuplicate", err)
		}
	})
}

// BenchmarkReceipt writes notifications of a kilobyte, plain and encrypted.
func BenchmarkReceipt(b *testing.B) {
	database := os.Getenv("CASCADA_BENCH_DATABASE")
	if database == "" {
		database = "sqlite:" + b.TempDir() + "/bench.db"
	}
	for name, c := range map[string]table.Cipher{"plain": nil, "encrypted": cipher(b)} {
		b.Run(name, func(b *testing.B) {
			s, err := store.Open(ctx, database, store.Options{Cipher: c})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			b.SetParallelism(32)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n := pay.KeptNotice{ID: id.New("", noon), Account: "acc", Verdict: pay.Ignored, Body: benchPayload, At: noon}
					if err := s.Commit(ctx, pay.Change{Notices: []pay.KeptNotice{n}}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
