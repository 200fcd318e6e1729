package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/vault"
)

// watched is a cipher that reports each text before it is encrypted.
type watched struct {
	*vault.Vault
	before func(about string)
}

func (w watched) EncryptData(about string, plain []byte) []byte {
	if w.before != nil {
		w.before(about)
	}
	return w.Vault.EncryptData(about, plain)
}

func cipher(t testing.TB, before func(about string)) watched {
	t.Helper()
	v, err := vault.New(bytes.Repeat([]byte{5}, vault.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return watched{v, before}
}

func note(n int) pay.KeptNotice {
	return pay.KeptNotice{ID: fmt.Sprintf("acc/n%03d", n), Account: "acc", Verdict: pay.Ignored, Body: fmt.Appendf(nil, `{"name":"Ana %d"}`, n), At: noon}
}

// old writes as the service did before it encrypted, and returns the current store.
func old(t *testing.T, database string, changes ...pay.Change) *store.Store {
	t.Helper()
	before, err := store.Open(ctx, database, store.Options{})
	must(t, err)
	for _, c := range changes {
		must(t, before.Commit(ctx, c))
	}
	before.Close()
	if slices.ContainsFunc(changes, func(c pay.Change) bool { return len(c.Notices) > 0 }) {
		newVandal(t, database).exec("UPDATE receipts SET row_hash = ''") // as a program did that knew neither
	}
	s, err := store.Open(ctx, database, store.Options{Cipher: cipher(t, nil)})
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

// Encrypting older texts may stop at any point, and several nodes may do it at once.
func TestEncryptingOldTextsContinuesWhereItStopped(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		const notes = 230
		var all pay.Change
		for n := range notes {
			all.Notices = append(all.Notices, note(n))
		}
		s := old(t, database, all)
		short, cancel := context.WithCancel(ctx)
		var sealed atomic.Int64
		s.SealWith(nil, cipher(t, func(string) {
			if sealed.Add(1) == 120 {
				cancel()
			}
		}))
		first, err := s.EncryptPersonal(short)
		if err == nil || first == 0 || first >= 120 {
			t.Fatalf("it stopped after %d of %d: %v", first, notes, err)
		}
		for n := range notes { // some are encrypted, others are not
			got, err := s.Notices().Get(ctx, note(n).ID)
			must(t, err)
			if !bytes.Equal(got.Body, note(n).Body) {
				t.Fatalf("meanwhile %s reads as %q", got.ID, got.Body)
			}
		}
		var rest atomic.Int64
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				n, err := s.EncryptPersonal(ctx)
				if err != nil {
					t.Error(err)
				}
				rest.Add(int64(n))
			})
		}
		group.Wait()
		if first+int(rest.Load()) != notes {
			t.Errorf("%d were encrypted, and then %d, of %d", first, rest.Load(), notes)
		}
		if n, err := s.EncryptPersonal(ctx); n != 0 || err != nil {
			t.Errorf("encrypted again: %d, %v", n, err)
		}
		stranger, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer stranger.Close()
		for n := range notes {
			got, err := s.Notices().Get(ctx, note(n).ID)
			must(t, err)
			if !bytes.Equal(got.Body, note(n).Body) {
				t.Errorf("%s reads as %q", got.ID, got.Body)
			}
			if got, err := stranger.Notices().Get(ctx, note(n).ID); err == nil || got.Body != nil || !strings.Contains(err.Error(), note(n).ID) {
				t.Errorf("without the key %s reads as %q, %v", got.ID, got.Body, err)
			}
		}
	})
}

// A claim that changes while its old evidence is encrypted keeps the change.
func TestEncryptingOldEvidenceUndoesNoDecision(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		p, opened := create(t, "A")
		claim := pay.Claim{
			ID: "CLM-1", Scope: acme, Version: 1, Kind: pay.UserDispute, Status: pay.ClaimPending, Payment: p.ID, Local: p.Price.Local, Reason: "first",
			Evidence:  []pay.Evidence{{ID: "ev_1", Kind: "note", Text: "Ana signed"}, {ID: "ev_2", Kind: "receipt", File: &pay.EvidenceFile{Name: "Ana.pdf"}}},
			Timeline:  []pay.ClaimStep{{Status: pay.ClaimPending}},
			CreatedAt: noon, UpdatedAt: noon,
		}
		opened.Claims = []pay.Claim{claim}
		s := old(t, database, opened)
		var met atomic.Bool
		s.SealWith(nil, cipher(t, func(string) {
			if met.Swap(true) {
				return
			}
			decided := claim
			decided.Version, decided.Reason = 2, "second"
			if err := s.Commit(ctx, pay.Change{Claims: []pay.Claim{decided}}); err != nil {
				t.Error(err)
			}
		}))
		for range 2 {
			_, err := s.EncryptPersonal(ctx)
			must(t, err)
			got, err := s.Claims().Any(ctx, claim.ID)
			must(t, err)
			if got.Version != 2 || got.Reason != "second" || got.Evidence[0].Text != "Ana signed" || got.Evidence[1].File.Name != "Ana.pdf" {
				t.Errorf("the claim is %+v", got)
			}
		}
		stranger, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer stranger.Close()
		got, err := stranger.Claims().Any(ctx, claim.ID)
		must(t, err)
		if strings.Contains(got.String(), "Ana") || got.Evidence[0].Shut == "" || got.Evidence[1].File.Shut == "" {
			t.Errorf("without the key the claim is %s", got)
		}
	})
}

// If a notification arrives again, the first one is kept, although the ciphertexts differ.
func TestEncryptedReceiptIsKeptOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := old(t, database)
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
	for name, c := range map[string]table.Cipher{"plain": nil, "encrypted": cipher(b, nil)} {
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
