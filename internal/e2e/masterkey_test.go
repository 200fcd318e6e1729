package e2e

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/vault"
)

// masterKeys is a configuration with keys that are made of a byte each.
func masterKeys(seeds ...byte) func(*daemon.Config) {
	var keys []string
	for _, seed := range seeds {
		keys = append(keys, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{seed}, 32)))
	}
	return func(c *daemon.Config) {
		c.MasterKey = strings.Join(keys, "\n")
		c.FX = daemon.FX{StaleAfter: century, MaxAge: century}
		c.Adapters = []provider.Adapter{providertest.Plain()}
	}
}

// A master key is rotated while the service runs. What merchants and the operator have, works
// before, meanwhile and after, when the old key is thrown away.
func TestMasterKeyIsRotatedWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		c := &clock{}
		s := startWith(t, database, c, masterKeys(1))
		s.rate(t, "BRL 5.4", "MXN 18.35")
		u := providertest.NewUpstream(t, "key-1")
		s.account(t, "bank", u)
		o := s.shop(t)
		endpoint := s.receive(t)
		secret := o.subscribe(t, endpoint.URL, `"payment.completed"`).text(t, "secret")
		in, refresh := o.login(t)
		o.post(t, "/wallets", `{"type":"bank_account","currency":"MXN","destination":"`+clabe+`","label":"Ana"}`).want(t, http.StatusCreated)
		pix := o.pix(t)
		rounds := 0
		works := func(when string) {
			t.Helper()
			rounds++
			o.service, in.service, endpoint.service = s, s, s
			o.get(t, "/me").want(t, http.StatusOK)
			in.get(t, "/me").want(t, http.StatusOK)
			o.create(t, card)
			for _, d := range endpoint.await(t, rounds) {
				d.verify(t, s, secret)
			}
			if id := o.live().create(t, pix); o.live().status(t, id) != "pending" {
				t.Errorf("%s: the account takes no payment", when)
			}
		}
		works("before")
		s.end(t)

		s = startWith(t, database, c, masterKeys(1, 2))
		works("with a key that was added")
		keys, current, _, err := s.App.Secrets.MasterKeys(ctx)
		must(t, err)
		if len(keys) != 2 || current != keys[0] {
			t.Fatalf("%s seals of %v, want the first one still", current, keys)
		}
		// The command of an operator, in a process of its own.
		config := daemon.Config{Database: database, Now: c.now, Log: slog.New(&faults{}), Existing: true, Operator: "ana@desk"}
		masterKeys(1, 2)(&config)
		command, err := daemon.Open(ctx, config)
		must(t, err)
		must(t, command.Secrets.RotateMasterKey(ctx, command.Self()))
		if err := command.Secrets.RotateMasterKey(ctx, command.Self()); err == nil {
			t.Error("the same key took over twice")
		}
		works("while the service has not heard of it")
		eventually(t, "the service has heard of it", func() bool {
			_, current, _, err := s.App.Secrets.MasterKeys(ctx)
			must(t, err)
			return current == keys[1]
		})
		works("while half is sealed again")
		again, err := command.Secrets.Reseal(ctx)
		must(t, err)
		command.Close()
		if again < 4 { // a signing key, an account, a wallet, a webhook
			t.Errorf("%d secrets were encrypted again", again)
		}
		_, _, sealed, err := s.App.Secrets.MasterKeys(ctx)
		must(t, err)
		if sealed[keys[0]] != 0 || sealed[""] != 0 || sealed[keys[1]] < again {
			t.Errorf("sealed under each key: %v, want all under %s", sealed, keys[1])
		}
		works("after all was sealed again")
		s.end(t)

		s = startWith(t, database, c, masterKeys(2))
		works("without the old key")
		o.service = s
		o.refresh(t, refresh).want(t, http.StatusOK)
		var told audit.Entry
		list, err := s.App.Audit(ctx, "", "", time.Time{}, 1000)
		must(t, err)
		for _, e := range list {
			if e.Act == audit.MasterKeyRotated {
				told = e
			}
		}
		if told.Object != keys[1] || told.By.ID != "ana@desk" || told.Details["before"] != keys[0] {
			t.Errorf("the audit log tells of the rotation: %+v", told)
		}
		s.end(t)

		config = daemon.Config{Database: database, Now: c.now, Log: slog.New(&faults{}), Existing: true}
		masterKeys(1)(&config)
		if _, err := daemon.Open(ctx, config); err == nil || !strings.Contains(err.Error(), "does not fit") {
			t.Errorf("a start with the old key alone: %v", err)
		}
	})
}

// In a database from before there was a root, the master key is the root: what merchants have
// is recognised.
func TestDatabaseFromBeforeThereWasARoot(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		old, err := vault.New(bytes.Repeat([]byte{1}, vault.KeySize))
		must(t, err)
		db, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		sealed := old.Seal("jwt/1", bytes.Repeat([]byte{9}, 32))
		must(t, db.Commit(ctx, pay.Change{Sealed: []tenant.Sealed{{ID: "jwt/1", Version: 1, Text: sealed, CreatedAt: time.Now()}}}))
		db.Close()

		c := &clock{}
		s := startWith(t, database, c, masterKeys(1))
		o := s.shop(t)
		if s.vault.Hash(o.credential) != old.Hash(o.credential) || !bytes.Equal(s.vault.Key("blocks"), old.Key("blocks")) {
			t.Error("the root is not the master key that it was")
		}
		in, _ := o.login(t)
		in.get(t, "/me").want(t, http.StatusOK)
		s.end(t)
		s = startWith(t, database, c, masterKeys(1, 2))
		must(t, s.App.Secrets.RotateMasterKey(ctx, s.App.Self()))
		_, err = s.App.Secrets.Reseal(ctx)
		must(t, err)
		s.end(t)
		s = startWith(t, database, c, masterKeys(2))
		o.service, in.service = s, s
		o.get(t, "/me").want(t, http.StatusOK)
		in.get(t, "/me").want(t, http.StatusOK)
	})
}

// A node that does not have the key that took over says so, and gets no more traffic.
func TestNodeWithoutTheNewMasterKeyIsNotReady(t *testing.T) {
	t.Parallel()
	database, c := dbtest.Postgres(t), &clock{}
	one := startWith(t, database, c, masterKeys(1))
	two := startWith(t, database, c, masterKeys(1, 2))
	must(t, two.App.Secrets.RotateMasterKey(ctx, two.App.Self()))
	eventually(t, "the node that lacks it is not ready", func() bool { return one.App.Ready(ctx) != nil })
	must(t, two.App.Ready(ctx))
	one.log.take(t, "a work loop failed")
	defer one.log.mute()
	r, err := http.Get(one.URL + "/readyz")
	must(t, err)
	r.Body.Close()
	if r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %s, want 503", r.Status)
	}
}

// Keys of access tokens change by themselves, once a month. Nobody's token ends by that.
func TestSigningKeysOfTokensAreRotated(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		kids := map[string]bool{}
		login := func() shop {
			in, _ := o.login(t)
			kids[kid(t, in.credential)] = true
			return in
		}
		const month = auth.RefreshTTL
		first := login()
		s.clock.advance(month)
		must(t, s.App.Secrets.RotateSigningKey(ctx))
		before := login()
		eventually(t, "the service knows another key", func() bool { return s.App.Secrets.SigningKeys() == 2 })
		if login(); len(kids) != 1 {
			t.Error("a key signs before all nodes can know it")
		}
		s.clock.advance(2 * time.Minute)
		eventually(t, "it signs", func() bool { login(); return len(kids) == 2 })
		before.get(t, "/me").want(t, http.StatusOK)
		first.get(t, "/me").refused(t, "401 token_expired authentication_error")
		after := login()
		s.clock.advance(month)
		before.get(t, "/me").refused(t, "401 token_expired authentication_error") // its client asks for another one
		must(t, s.App.Secrets.RotateSigningKey(ctx))
		eventually(t, "the first key is gone", func() bool { return s.App.Secrets.SigningKeys() == 2 && !s.signedBy(t, first) })
		login().get(t, "/me").want(t, http.StatusOK)
		after.get(t, "/me").refused(t, "401 token_expired authentication_error")
	})
}

// signedBy reports whether the service knows the key that signed a token.
func (s *service) signedBy(t *testing.T, o shop) bool {
	t.Helper()
	return o.get(t, "/me").problem(t) == "401 token_expired authentication_error"
}

// kid names the key that signed a token.
func kid(t *testing.T, token string) string {
	t.Helper()
	head, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	must(t, err)
	kid, _ := at(decode(t, text), "kid")
	return kid.(string)
}
