package access

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/vault"
)

// masterKeys configures a service with these master keys. Each key is one byte, repeated.
func masterKeys(seeds ...byte) func(*daemon.Config) {
	var keys []string
	for _, seed := range seeds {
		keys = append(keys, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{seed}, 32)))
	}
	return func(c *daemon.Config) {
		c.MasterKey = strings.Join(keys, "\n")
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		c.Adapters = []provider.Adapter{providertest.Plain()}
	}
}

// A master key is rotated while the service runs. Keys, tokens, webhooks and accounts work before,
// during and after the rotation, also without the old key.
func TestMasterKeyIsRotatedWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		c := &harness.Clock{}
		s := harness.StartWith(t, database, c, masterKeys(1))
		s.Rate(t, "BRL 5.4", "MXN 18.35")
		u := providertest.NewUpstream(t, "key-1")
		s.OpenAccount(t, "bank", u)
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		secret := o.Subscribe(t, endpoint.URL, `"payment.completed"`).Text(t, "secret")
		in, refresh := login(t, o)
		o.Post(t, "/wallets", `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`","label":"Ana"}`).Want(t, http.StatusCreated)
		pix := o.PixOrder(t)
		rounds := 0
		works := func(when string) {
			t.Helper()
			rounds++
			o.Instance, in.Instance, endpoint.Instance = s, s, s
			o.Get(t, "/me").Want(t, http.StatusOK)
			in.Get(t, "/me").Want(t, http.StatusOK)
			o.Create(t, harness.Card)
			for _, d := range endpoint.Await(t, rounds) {
				d.Verify(t, s, secret)
			}
			if id := o.Production().Create(t, pix); o.Production().Status(t, id) != "pending" {
				t.Errorf("%s: the account accepts no payment", when)
			}
		}
		works("before")
		s.End(t)

		s = harness.StartWith(t, database, c, masterKeys(1, 2))
		works("with a key that was added")
		keys, current, _, err := s.App.Secrets.MasterKeys(ctx)
		harness.Must(t, err)
		if len(keys) != 2 || current != keys[0] {
			t.Fatalf("the current key of %v is %s, want the first one until the rotation", keys, current)
		}
		// An operator's command runs in its own process.
		config := daemon.Config{Database: database, Now: c.Now, Log: slog.New(&harness.Faults{}), Existing: true, Operator: "ana@desk"}
		masterKeys(1, 2)(&config)
		command, err := daemon.Open(ctx, config)
		harness.Must(t, err)
		harness.Must(t, command.Secrets.RotateMasterKey(ctx, command.Self()))
		if err := command.Secrets.RotateMasterKey(ctx, command.Self()); err == nil {
			t.Error("a second rotation to the same key succeeds")
		}
		works("before the service knows of the rotation")
		harness.Eventually(t, "the service knows of the rotation", func() bool {
			_, current, _, err := s.App.Secrets.MasterKeys(ctx)
			harness.Must(t, err)
			return current == keys[1]
		})
		works("before everything is encrypted again")
		again, err := command.Secrets.Reencrypt(ctx)
		harness.Must(t, err)
		command.Close()
		if again < 4 { // a signing key, an account, a wallet, a webhook
			t.Errorf("%d secrets were encrypted again, want at least 4", again)
		}
		_, _, sealed, err := s.App.Secrets.MasterKeys(ctx)
		harness.Must(t, err)
		if sealed[keys[0]] != 0 || sealed[""] != 0 || sealed[keys[1]] < again {
			t.Errorf("secrets under each key: %v, want all under %s", sealed, keys[1])
		}
		works("after everything is encrypted again")
		s.End(t)

		s = harness.StartWith(t, database, c, masterKeys(2))
		works("without the old key")
		o.Instance = s
		refreshLogin(t, o, refresh).Want(t, http.StatusOK)
		var told audit.Entry
		list, err := s.App.Audit(ctx, "", "", time.Time{}, 1000)
		harness.Must(t, err)
		for _, e := range list {
			if e.Act == audit.MasterKeyRotated {
				told = e
			}
		}
		if told.Object != keys[1] || told.By.ID != "ana@desk" || told.Details["before"] != keys[0] {
			t.Errorf("the entry of the rotation is %+v", told)
		}
		s.End(t)

		config = daemon.Config{Database: database, Now: c.Now, Log: slog.New(&harness.Faults{}), Existing: true}
		masterKeys(1)(&config)
		if _, err := daemon.Open(ctx, config); err == nil || !strings.Contains(message.Sentence(err), "does not fit") {
			t.Errorf("a start with only the old key returns %v, want that it does not fit", err)
		}
	})
}

// A database that lost its root secret is refused: with another root every hash and key would differ.
func TestDatabaseWithoutItsRootIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		keys, err := vault.New(bytes.Repeat([]byte{1}, vault.KeySize))
		harness.Must(t, err)
		db, err := store.Open(ctx, database, store.Options{})
		harness.Must(t, err)
		text := keys.Encrypt("jwt/1", bytes.Repeat([]byte{9}, 32))
		harness.Must(t, db.Commit(ctx, pay.Change{Secrets: []merchants.Encrypted{{ID: "jwt/1", Version: 1, Text: text, CreatedAt: time.Now()}}}))
		db.Close()

		c := &harness.Clock{}
		config := daemon.Config{Database: database, Now: c.Now, Log: slog.New(&harness.Faults{}), Existing: true}
		masterKeys(1)(&config)
		if _, err := daemon.Open(ctx, config); err == nil || !strings.Contains(message.Sentence(err), "lacks its root secret") {
			t.Errorf("a start without the root returns %v, want that it is missing", err)
		}
	})
}

// A node that lacks the new master key is not ready, so that it gets no more traffic.
func TestNodeWithoutTheNewMasterKeyIsNotReady(t *testing.T) {
	t.Parallel()
	database, c := dbtest.Postgres(t), &harness.Clock{}
	one := harness.StartWith(t, database, c, masterKeys(1))
	two := harness.StartWith(t, database, c, masterKeys(1, 2))
	harness.Must(t, two.App.Secrets.RotateMasterKey(ctx, two.App.Self()))
	harness.Eventually(t, "the node without the new key is not ready", func() bool { return one.App.Ready(ctx) != nil })
	harness.Must(t, two.App.Ready(ctx))
	one.Log.Extract(t, "a work loop failed")
	defer one.Log.Mute()
	r, err := http.Get(one.URL + "/readyz")
	harness.Must(t, err)
	r.Body.Close()
	if r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("/readyz returns %s, want 503", r.Status)
	}
}
