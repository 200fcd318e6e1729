package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/leaving"
	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/mail/mailtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/store"
)

// shortlyKept is a retention that is over long before disputes stop coming.
const shortlyKept = 40 * 24 * time.Hour

const aDay = 24 * time.Hour

// leaver is a merchant that leaves, with the service around it.
type leaver struct {
	harness.Client // of its sandbox
	live           harness.Client
	owner          harness.Staff
	upstream       *providertest.Upstream // its production account, at acme-1
	mail           *mailtest.Server
}

// eachLeaver runs a test on each engine, with a service that charges, pays out and sends e-mails, and keeps shoppers shortly.
func eachLeaver(t *testing.T, test func(t *testing.T, l leaver)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		in, bank := mailtest.Start(t, mailtest.Options{}), harness.NewPayer()
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
			c.Adapters, c.WalletCoolDown = []provider.Adapter{providertest.Plain(), bank.Adapter()}, time.Millisecond
			c.Retention = privacy.Retention{Shoppers: shortlyKept}
			c.Mail = daemon.Mail{URL: "smtp://" + in.Address, From: "Cascada <no-reply@pay.example.com>"}
		})
		s.Rate(t, "BRL 5.4", "MXN 18.35")
		u := providertest.NewUpstream(t, "key-1")
		s.OpenAccount(t, "acme-1", u)
		s.PayOutBy(t, "bank", accounts.NewAccount{ID: "bank-1"})
		o := s.NewShop(t)
		live := o.Production()
		v := live.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Self(), v, merchants.KYCVerified, "", ""))
		test(t, leaver{o, live, o.Staff(t, people.Owner), u, in})
	})
}

// read reads the merchant.
func (l leaver) read(t *testing.T) merchants.Merchant {
	t.Helper()
	m, err := l.App.AnyMerchant(ctx, l.Merchant.ID)
	harness.Must(t, err)
	return m
}

// close closes the merchant.
func (l leaver) close(t *testing.T) {
	t.Helper()
	_, err := l.App.Leaving.Close(ctx, l.App.Self(), l.Merchant.ID, "You asked us to")
	harness.Must(t, err)
}

// step looks at those who leave, some time later.
func (l leaver) step(t *testing.T, later time.Duration) merchants.Merchant {
	t.Helper()
	l.Clock.Advance(later)
	harness.Must(t, l.App.Leaving.Step(ctx))
	return l.read(t)
}

// balance is a part of the balance in production, in cents.
func (l leaver) balance(t *testing.T, of ledger.Account) int64 {
	t.Helper()
	b, err := l.App.Store.Books().Balances(ctx, merchants.Scope{Merchant: l.Merchant.ID, Live: true})
	harness.Must(t, err)
	return b[of]
}

// waits is what the merchant's balance in production waits for.
func (l leaver) waits(t *testing.T) string {
	t.Helper()
	r, err := l.App.Leaving.Rest(ctx, l.read(t), true)
	harness.Must(t, err)
	return r.Waits
}

// heard sends what is due, and counts the e-mails to the owner whose subject begins so. It returns the newest one's text.
func (l leaver) heard(t *testing.T, subject string) (n int, text string) {
	t.Helper()
	harness.Eventually(t, "no e-mail waits", func() bool {
		_, err := l.App.Mails.SendMails(ctx)
		harness.Must(t, err)
		n, err := l.App.Mails.WaitingMails(ctx)
		harness.Must(t, err)
		return n == 0
	})
	for _, m := range l.mail.Accepted() {
		if m.To == l.owner.User.Email && strings.HasPrefix(m.Subject, subject) {
			n, text = n+1, m.Text
		}
	}
	return n, text
}

// disputed lets the issuer dispute a production payment, and rule for the shopper.
func (l leaver) disputed(t *testing.T, payment string) (rule func()) {
	t.Helper()
	l.TellUpstream(t, l.upstream, payment, 1, "disputed", "acme-1-hush").Want(t, http.StatusOK)
	claims, err := l.App.Store.Claims().Of(ctx, []string{payment})
	harness.Must(t, err)
	if len(claims) != 1 {
		t.Fatalf("the disputed payment has %d claims", len(claims))
	}
	return func() {
		_, err := harness.DecideClaim(l.App, claims[0].ID, pay.Approve, "the issuer says so")
		harness.Must(t, err)
	}
}

// A merchant is not erased while disputes may still come, whatever its retention is: 180 days after its last payment and payout. Its owners
// hear of it 30 days ahead. What comes in between holds it up; what it owes then holds it up until the operator has booked it (LEAVE-4, LEAVE-7).
func TestALeavingWaitsForLateDisputes(t *testing.T) {
	eachLeaver(t, func(t *testing.T, l leaver) {
		var paid [2]string
		for i := range paid {
			l.upstream.Next("paid")
			paid[i] = l.live.Create(t, strings.Replace(l.PixOrder(t), `"amount":10,`, `"amount":1000,`, 1))
		}
		l.live.Wallet(t)
		l.close(t)
		if n, text := l.heard(t, "Your account is closed"); n != 1 || !strings.Contains(text, "default wallet of your first shop") || !strings.Contains(text, "an owner can make in the dashboard") {
			t.Errorf("%d e-mails about the closing came: %s", n, text)
		}
		harness.Eventually(t, "all is paid out", func() bool {
			m := l.step(t, 36*time.Hour)
			l.Work(t)
			_, err := l.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
			return !m.Leaving.EmptiedAt.IsZero()
		})
		if n, _ := l.heard(t, "Your balance is paid out"); n != 1 {
			t.Errorf("%d e-mails about the last payout came", n)
		}
		last, _, err := l.App.Store.Withdrawals().List(ctx, l.scope(true), lists.WithdrawalFilter{Page: lists.Page{Limit: 1}})
		harness.Must(t, err)
		from := last[0].CreatedAt.Add(180 * aDay)
		if held := l.read(t).Leaving.ClosedAt.Add(shortlyKept); !held.Before(l.Clock.Now()) {
			t.Fatal("the retention is not over yet: the test proves nothing")
		}

		m := l.step(t, from.Sub(l.Clock.Now())-merchants.ErasureNotice-time.Hour)
		if !m.Leaving.WarnedAt.IsZero() {
			t.Error("the owners hear of the erasure too early")
		}
		if m = l.step(t, 2*time.Hour); m.Leaving.WarnedAt.IsZero() {
			t.Fatal("the owners do not hear of the erasure 30 days ahead")
		}
		if n, text := l.heard(t, "Your account will be erased"); n != 1 || !strings.Contains(text, "Erased at the earliest: 20") {
			t.Errorf("%d e-mails about the erasure came, want one that says %s: %s", n, from, text)
		}
		if m = l.step(t, merchants.ErasureNotice-2*time.Hour); m.Leaving.Erased() {
			t.Fatal("the merchant was erased before its time")
		}

		// A dispute comes in the last moment.
		rule := l.disputed(t, paid[0])
		if m = l.step(t, 3*time.Hour); m.Leaving.Erased() || !m.Leaving.EmptiedAt.IsZero() || l.waits(t) != leaving.WaitsOpen {
			t.Errorf("with an open dispute the merchant is %+v, and waits for %q", m.Leaving, l.waits(t))
		}
		rule()
		if m = l.step(t, aDay); m.Leaving.Erased() || l.waits(t) != leaving.WaitsNegative {
			t.Errorf("a merchant that owes money is %+v, and waits for %q", m.Leaving, l.waits(t))
		}
		l.Fund(t, true, -l.balance(t, ledger.Available))

		// Opened again it stays; its leaving begins anew.
		_, err = l.App.Onboarding.Reopen(ctx, l.App.Self(), l.Merchant.ID)
		harness.Must(t, err)
		if m = l.step(t, 400*aDay); m.Leaving != (merchants.Leaving{}) {
			t.Errorf("a merchant that was opened again is %+v", m.Leaving)
		}
		l.close(t)
		l.step(t, shortlyKept)
		if m = l.step(t, time.Hour); m.Leaving.WarnedAt.IsZero() || m.Leaving.Erased() {
			t.Errorf("after its retention the merchant is %+v, want it warned", m.Leaving)
		}
		if m = l.step(t, merchants.ErasureNotice-time.Hour); m.Leaving.Erased() {
			t.Error("the owners had less than 30 days")
		}
		_, err = l.App.Privacy.Forget(ctx)
		harness.Must(t, err)
		if m = l.step(t, time.Hour); !m.Leaving.Erased() || m.Leaving.GoneAt.IsZero() {
			t.Fatalf("the merchant is %+v, want it gone", m.Leaving)
		}
		owes(t, l, paid[1])
	})
}

// owes checks that a merchant that has left and owes money again is listed until the operator has booked it.
func owes(t *testing.T, l leaver, payment string) {
	t.Helper()
	listed := func() bool {
		list, err := l.App.Leaving.Owing(ctx)
		harness.Must(t, err)
		return slices.ContainsFunc(list, func(m merchants.Merchant) bool { return m.ID == l.Merchant.ID })
	}
	if listed() {
		t.Error("a merchant that has left and owes nothing is listed")
	}
	l.disputed(t, payment)()
	if l.balance(t, ledger.Available) >= 0 || !listed() {
		t.Errorf("a merchant that has left with a balance of %d is not listed", l.balance(t, ledger.Available))
	}
	if m := l.step(t, aDay); m.Email != "" || m.Leaving.GoneAt.IsZero() {
		t.Errorf("a late dispute changes the merchant: %+v", m.Leaving)
	}
	l.Fund(t, true, -l.balance(t, ledger.Available))
	if listed() {
		t.Error("a merchant whose balance was booked is listed")
	}
	l.Clean(t)
}

// scope is the shop's in an environment.
func (l leaver) scope(live bool) merchants.Scope {
	return merchants.Scope{Merchant: l.Merchant.ID, Shop: l.Shop.ID, Live: live}
}

// A merchant that was opened after it was listed, and before its turn, gets no payout (LEAVE-3).
func TestAMerchantIsReadAgainBeforeItsPayout(t *testing.T) {
	eachLeaver(t, func(t *testing.T, first leaver) {
		other := first
		other.Client = first.NewShop(t) // its id is greater: its turn is later
		for _, l := range []leaver{first, other} {
			l.Fund(t, false, 500_00)
			l.Wallet(t)
			l.close(t)
		}
		n := another(t, first, func(change *pay.Change, commit func() error) error {
			if len(change.Withdrawals) > 0 && change.Withdrawals[0].Merchant == first.Merchant.ID {
				_, err := first.App.Onboarding.Reopen(ctx, first.App.Self(), other.Merchant.ID)
				harness.Must(t, err)
			}
			return commit()
		})
		harness.Must(t, n.Leaving.Step(ctx))
		for want, l := range map[int]leaver{1: first, 0: other} {
			list, _, err := l.App.Store.Withdrawals().List(ctx, merchants.Scope{Merchant: l.Merchant.ID, Shop: l.Shop.ID}, lists.WithdrawalFilter{Page: lists.Page{Limit: 5}})
			harness.Must(t, err)
			if len(list) != want {
				t.Errorf("there are %d withdrawals, want %d", len(list), want)
			}
		}
	})
}

// another opens another node, whose commits go through a function.
func another(t *testing.T, l leaver, through func(change *pay.Change, commit func() error) error) *app.App {
	t.Helper()
	open := false
	n := harness.NodeOf(t, l.Database, l.Clock, l.Log, func(c *app.Config) {
		of := l.App.Config
		c.Providers, c.Sandbox, c.Adapters, c.SandboxPayout, c.Retention, c.FX = of.Providers, of.Sandbox, of.Adapters, of.SandboxPayout, of.Retention, of.FX
		c.Commits = func(_ context.Context, change *pay.Change, commit func() error) error {
			if !open {
				return commit()
			}
			return through(change, commit)
		}
	})
	open = true
	return n
}

var errKilled = errors.New("the process is gone")

// Nodes die after each commit of a clean-up, and each next one goes on. In the end nothing is left that was the merchant's alone: no key, no
// endpoint, no destination of a wallet, whatever became of the wallet, no role, and no user who had only this one (LEAVE-4, LEAVE-6).
func TestACleanUpGoesOnWhereItStopped(t *testing.T) {
	eachLeaver(t, func(t *testing.T, l leaver) {
		harness.Inbox(t, l.Client, `"*"`)
		replaced := l.live.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`","label":"Ana Ruiz at home","holderName":"Ana Ruiz"}`)
		l.live.Delete(t, "/wallets/"+replaced).Want(t, http.StatusOK)
		l.live.Wallet(t)
		l.Fund(t, false, 500_00)
		l.Wallet(t, `{"type":"bank_account","currency":"BRL","network":"pix","destination":"ana@example.com","label":"Ana's key"}`)
		l.Post(t, "/wallets", `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`"}`, "Sandbox-Simulate: cool_down").Want(t, http.StatusCreated)
		_, elsewhere := l.Staff(t, people.Developer), l.NewShop(t)
		both := l.Staff(t, people.Admin)
		link, err := l.App.Links.Invite(ctx, audit.Actor{Kind: audit.BySystem}, "", users.Invitee{Email: both.User.Email, Merchant: elsewhere.Merchant.ID, Role: people.Viewer})
		harness.Must(t, err)
		_, err = l.App.Links.Accept(ctx, users.From{Address: "127.0.0.1"}, link.Address[strings.LastIndex(link.Address, "/")+1:], both.User.ID, users.NewUser{})
		harness.Must(t, err)
		under := l.Withdraw(t, "50") // in the sandbox: it holds up the end of the clean-up, and no erasure
		l.close(t)
		l.step(t, time.Hour)
		l.step(t, shortlyKept)
		l.Clock.Advance(merchants.ErasureNotice)

		killed, alive := 0, false
		for range 80 {
			if alive {
				break
			}
			t.Run("a node", func(t *testing.T) { alive = l.dies(t); killed++ })
			if list, err := l.App.Leaving.List(ctx); !alive && (err != nil || len(list) != 1) {
				t.Fatalf("after %d commits the merchant is not listed: it is %+v (%v)", killed, l.read(t).Leaving, err)
			}
			if _, err := l.App.People.Enters(ctx, both.User, people.SignIn{}, l.Shop.ID, true); l.read(t).Leaving.Erased() != errors.Is(err, store.ErrNotFound) {
				t.Errorf("after %d commits a member finds %v: nothing is to be found from the erasure on", killed, err)
			}
		}
		if killed < 6 {
			t.Errorf("the clean-up made %d commits: nothing was interrupted", killed)
		}
		harness.Eventually(t, "the withdrawals of the sandbox end, and the merchant is gone", func() bool {
			l.Clock.Advance(time.Hour)
			_, err := l.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
			return !l.step(t, time.Hour).Leaving.GoneAt.IsZero()
		})
		if w, err := l.App.Store.Withdrawals().Any(ctx, under); err != nil || w.Open() {
			t.Errorf("the withdrawal that was under way is %s (%v)", w.Status, err)
		}
		nothingIsLeft(t, l, both)
	})
}

// dies lets a node look at those who leave. It dies after its first commit, and reports whether it had no more to write.
func (l leaver) dies(t *testing.T) (alive bool) {
	t.Helper()
	left := 1
	n := another(t, l, func(_ *pay.Change, commit func() error) error {
		if left--; left < 0 {
			return errKilled
		}
		return commit()
	})
	err := n.Leaving.Step(ctx)
	if err != nil && !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	return err == nil
}

// nothingIsLeft checks what a merchant that has left keeps: nothing that was its alone. both is a user who has a role elsewhere too.
func nothingIsLeft(t *testing.T, l leaver, both harness.Staff) {
	t.Helper()
	if m := l.read(t); m.Leaving.GoneAt.IsZero() {
		t.Fatalf("the merchant is %+v, want it gone", m.Leaving)
	}
	query, closeDB := l.Open(t)
	defer closeDB()
	for _, row := range query(`SELECT doc FROM wallets`) {
		if strings.Contains(row, "holder") || strings.Contains(row, "label") || !strings.Contains(row, `"sealed":null`) {
			t.Errorf("a wallet keeps %s", row)
		}
	}
	for _, text := range []string{"Ana Ruiz", "Ana's key"} {
		for _, row := range query(`SELECT id FROM wallets WHERE doc LIKE '%` + strings.ReplaceAll(text, "'", "''") + `%'`) {
			t.Errorf("%s keeps %q", row, text)
		}
	}
	for _, live := range []bool{true, false} {
		wallets, _, err := l.App.Store.Wallets().List(ctx, l.scope(live), "", lists.Page{Limit: 10})
		harness.Must(t, err)
		for _, w := range wallets {
			if w.Fingerprint == "" || w.Masked == "" || w.Status != pay.WalletDisabled {
				t.Errorf("the wallet %s lost what payouts were proved against, or works: %+v", w.ID, w)
			}
			events, err := l.App.Store.Events().Of(ctx, w.ID)
			harness.Must(t, err)
			for _, e := range events {
				if strings.Contains(string(e.Payload), "Ana") {
					t.Errorf("an event keeps the label: %s", e.Payload)
				}
			}
		}
	}
	if members, err := l.App.Store.Users().Members(ctx, l.Merchant.ID); err != nil || len(members) > 0 {
		t.Errorf("%d users have a role (%v)", len(members), err)
	}
	if u, err := l.App.Store.Users().Get(ctx, l.owner.User.ID); err != nil || u.Active() || u.Email != "" {
		t.Errorf("the user of this merchant alone is %+v (%v), want it removed", u, err)
	}
	if u, err := l.App.Store.Users().Get(ctx, both.User.ID); err != nil || !u.Active() {
		t.Errorf("the user with a role elsewhere was removed (%v)", err)
	}
	if a := l.owner.Ask(t, http.MethodGet, "/payments", nil); a.Status == http.StatusOK {
		t.Error("an owner opens a merchant that has left")
	}
	if _, err := l.App.People.Enters(ctx, both.User, people.SignIn{}, l.Shop.ID, true); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a former member of a merchant that has left finds it: %v", err)
	}
	if erased, err := l.App.Store.Audit().Latest(ctx, audit.Filter{Object: l.Merchant.ID, Act: audit.MerchantErased}, 5); err != nil || len(erased) != 1 {
		t.Errorf("the erasure is in the audit log %d times (%v)", len(erased), err)
	}
	l.Clean(t)
}
