package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/vault"
)

const (
	paidEvent, claimEvent = "evt_01M8MM4Z8N5ZF66HACSMVC8SAA-1", "evt_01M8MM4Z8N5ZF66HACSMVC8SAB-1"
	payloadText           = `{"id":"%s","type":"%s","apiVersion":"2026-11-21","createdAt":"2026-11-29T21:42:32.982Z","environment":"production","merchantId":"%s","shopId":"%s","sequence":1,"request":{"id":null,"idempotencyKey":null},"data":{"object":{"id":"%s","status":"completed","amount":31.74,"currency":"USD"},"previous":{"status":"processing"}}}`
)

// withPayloads opens a store that has an event of a payment and one of a claim.
func withPayloads(t *testing.T, database string, c table.Cipher) (s *store.Store, payloads map[string]string) {
	t.Helper()
	s, err := store.Open(ctx, database, store.Options{Cipher: c})
	must(t, err)
	t.Cleanup(s.Close)
	payloads = map[string]string{}
	var events []pay.Event
	for id, object := range map[string]string{paidEvent: "TXN-01M8MM4Z8N5ZF66HACSMVC8SAA", claimEvent: "CLM-01M8MM4Z8N5ZF66HACSMVC8SAB"} {
		e := pay.Event{ID: id, Type: webhooks.PaymentCompleted, Scope: acme, Object: object, Sequence: 1, At: noon}
		e.Payload = fmt.Appendf(nil, payloadText, id, e.Type, acme.Merchant, acme.Shop, object)
		payloads[id], events = string(e.Payload), append(events, e)
	}
	must(t, s.Commit(ctx, pay.Change{Events: events}))
	return s, payloads
}

// A payload is stored in few bytes, one of a claim is encrypted beside that, and both are read byte for byte as they were. One
// that was written as plain JSON is read too.
func TestPayloadsAreStoredInFewBytes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, payloads := withPayloads(t, database, cipher(t))
		exec, stored := raw(t, database)
		for id, first := range map[string]byte{paidEvent: 1, claimEvent: 0x80} {
			got := stored(id)
			if len(got) == 0 || got[0] != first || len(got) > len(payloads[id])/2 || bytes.Contains(got, []byte("completed")) {
				t.Errorf("the %d bytes of %s are stored as the %d bytes %q", len(payloads[id]), id, len(got), got)
			}
			if e, err := s.Events().Get(ctx, acme, id); err != nil || string(e.Payload) != payloads[id] {
				t.Errorf("%s is read as %s, %v", id, e.Payload, err)
			}
		}
		list, err := s.Events().List(ctx, acme, lists.EventFilter{Page: lists.Page{Limit: 10}})
		if err != nil || len(list) != 2 || string(list[0].Payload) != payloads[list[0].ID] || string(list[1].Payload) != payloads[list[1].ID] {
			t.Errorf("the list is %v, %v", list, err)
		}
		exec(paidEvent, []byte(payloads[paidEvent]))
		if e, err := s.Events().Get(ctx, acme, paidEvent); err != nil || string(e.Payload) != payloads[paidEvent] {
			t.Errorf("what is stored as it is, is read as %s, %v", e.Payload, err)
		}
	})
}

// A payload that cannot be read is no other payload: the error names the row, and the other rows are read.
func TestDamagedPayloadIsNamed(t *testing.T) {
	other, err := vault.New(bytes.Repeat([]byte{6}, vault.KeySize))
	must(t, err)
	dbtest.Each(t, func(t *testing.T, database string) {
		s, payloads := withPayloads(t, database, cipher(t))
		exec, stored := raw(t, database)
		paid, claim := stored(paidEvent), stored(claimEvent)
		changed := func(b []byte) []byte {
			b = bytes.Clone(b)
			b[len(b)-3] ^= 4
			return b
		}
		for name, damage := range map[string]struct {
			id     string
			stored []byte
		}{
			"a changed byte":                      {paidEvent, changed(paid)},
			"a cut":                               {paidEvent, paid[:len(paid)-1]},
			"nothing but the first byte":          {claimEvent, claim[:1]},
			"a changed byte of what is encrypted": {claimEvent, changed(claim)},
			"a later version":                     {paidEvent, append([]byte{9}, paid[1:]...)},
			"a payment's as a claim's":            {claimEvent, paid},
		} {
			exec(damage.id, damage.stored)
			e, err := s.Events().Get(ctx, acme, damage.id)
			if !errors.Is(err, table.ErrShut) || !strings.Contains(err.Error(), "events.payload "+damage.id) || e.Payload != nil {
				t.Errorf("%s: it is read as %q, %v", name, e.Payload, err)
			}
			exec(paidEvent, paid)
			exec(claimEvent, claim)
		}
		for name, c := range map[string]table.Cipher{"another key": other, "no key": nil} {
			stranger, err := store.Open(ctx, database, store.Options{Cipher: c})
			must(t, err)
			defer stranger.Close()
			if e, err := stranger.Events().Get(ctx, acme, claimEvent); !errors.Is(err, table.ErrShut) || !strings.Contains(err.Error(), claimEvent) {
				t.Errorf("with %s it is read as %q, %v", name, e.Payload, err)
			}
			if e, err := stranger.Events().Get(ctx, acme, paidEvent); err != nil || string(e.Payload) != payloads[paidEvent] {
				t.Errorf("with %s, one that is not encrypted is read as %q, %v", name, e.Payload, err)
			}
		}
	})
}

// raw returns functions that write and read an event's payload without the store.
func raw(t *testing.T, database string) (write func(id string, stored []byte), read func(id string) []byte) {
	t.Helper()
	driver, address := "pgx", database
	if path, found := strings.CutPrefix(database, "sqlite:"); found {
		driver, address = "sqlite", path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, address)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return func(id string, stored []byte) {
			t.Helper()
			_, err := db.ExecContext(ctx, "UPDATE events SET payload = $1 WHERE id = $2", stored, id)
			must(t, err)
		}, func(id string) (stored []byte) {
			t.Helper()
			must(t, db.QueryRowContext(ctx, "SELECT payload FROM events WHERE id = $1", id).Scan(&stored))
			return stored
		}
}
