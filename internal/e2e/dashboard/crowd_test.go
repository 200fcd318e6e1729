package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cascadapay/cascada/internal/api/gate"
	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dashboard"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/pquerna/otp/totp"
)

// Neither one address nor one account fills the queue of passwords that wait to be hashed: the rest is refused, and
// others sign in meanwhile.
func TestPasswordsWaitInABoundedQueue(t *testing.T) {
	t.Parallel()
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) { c.HashMemory = 4 << 10 }) // slow enough that others wait
	o := s.NewShop(t)
	u, target := o.Staff(t, people.Viewer), o.Staff(t, people.Viewer)
	for name, guess := range map[string]func(i int) (address, email string){
		"one address": func(i int) (string, string) { return "203.0.113.7", fmt.Sprintf("nobody-%d@acme.example", i) },
		"one account": func(i int) (string, string) { return fmt.Sprintf("203.0.113.%d", i), target.User.Email },
	} {
		var (
			all     sync.WaitGroup
			refused atomic.Int64
			full    = make(chan struct{})
			once    sync.Once
		)
		for i := range 200 {
			all.Go(func() {
				address, email := guess(i)
				_, err := s.App.People.Enter(ctx, users.From{Address: address}, email, "wrong horse battery")
				if shown, ok := errors.AsType[*problem.Error](err); ok && shown.Code == problem.RateLimited {
					refused.Add(1)
					once.Do(func() { close(full) })
				}
			})
		}
		done := make(chan struct{})
		go func() { all.Wait(); close(done) }()
		select {
		case <-full:
			if _, err := s.App.People.Enter(ctx, users.From{Address: "198.51.100.1"}, u.User.Email, harness.StaffPassword); err != nil {
				t.Errorf("%s guesses; another user gets %v", name, err)
			}
		case <-done:
			t.Errorf("%s: none of 200 passwords at once is refused", name)
		}
		<-done
		if n := refused.Load(); n < 100 {
			t.Errorf("%s: %d of 200 passwords at once are refused, want at least 100", name, n)
		}
	}
}

// A sign-in that ends while its change of a credential waits, as passwords do in the queue, changes nothing: whoever stole the cookie would
// have a credential of their own afterwards.
func TestEndedSignInChangesNoCredential(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		u := s.NewShop(t).Staff(t, people.Owner)
		present, err := s.App.Store.Users().Get(ctx, u.User.ID)
		harness.Must(t, err)
		harness.Must(t, s.App.Store.Commit(ctx, pay.Change{Users: []people.User{present.SetPassword("")}})) // as who signs in at the company
		phone := newDevice(t, u)
		addPasskey(t, u, phone, "My phone")
		u.Cookie = cookieOf(enterBy(t, u, phone))              // with the second factor
		held, before, err := s.App.People.Known(ctx, u.Cookie) // who sends the request is known, and it waits
		harness.Must(t, err)
		q, thiefs := askPasskey(t, u, "/dashboard/profile/passkeys/challenge"), newDevice(t, u)
		secret, err := s.App.Factors.NewTOTP()
		harness.Must(t, err)
		code, err := totp.GenerateCode(secret, s.Clock.Now())
		harness.Must(t, err)
		harness.Must(t, s.App.People.SignOut(ctx, audit.Actor{Kind: audit.ByOperator, ID: "test"}, before.Email))
		for what, change := range map[string]func() error{
			"a password": func() error {
				return s.App.People.SetPassword(ctx, usersFrom, held, "", "a horse of another colour")
			},
			"an app": func() error {
				_, err := s.App.Factors.AddTOTP(ctx, usersFrom, held, users.NewApp{Secret: secret, Code: code})
				return err
			},
			"recovery codes": func() error {
				_, err := s.App.Factors.NewRecovery(ctx, usersFrom, held)
				return err
			},
			"a passkey": func() error {
				n := users.NewPasskey{Name: "Mine", Encrypted: q.cookie, Answer: thiefs.create(q.challenge, q.user)}
				_, err := s.App.Passkeys.Add(ctx, usersFrom, held, n)
				return err
			},
			"no passkey": func() error { return s.App.Passkeys.Drop(ctx, usersFrom, held, before.Passkeys[0].ID) },
		} {
			if err := change(); !errors.Is(err, users.ErrSignedOut) {
				t.Errorf("the ended sign-in makes %s: %v", what, err)
			}
		}
		after, err := s.App.Store.Users().Get(ctx, before.ID)
		if err != nil || after.Password != "" || after.TOTP != before.TOTP || len(after.Passkeys) != 1 || !slices.Equal(after.Recovery, before.Recovery) {
			t.Errorf("the ended sign-in left %+v (%v)", after, err)
		}
	})
}

// slow is a browser that does not read on until it is told to.
type slow struct {
	*httptest.ResponseRecorder
	began chan<- struct{}
	read  <-chan struct{}
	once  sync.Once
}

func (w *slow) Write(b []byte) (int, error) {
	if w.Header().Get("Content-Disposition") != "" {
		w.once.Do(func() { w.began <- struct{}{} })
		<-w.read
	}
	return w.ResponseRecorder.Write(b)
}

// One user, and one merchant, does not hold all files that a node writes at a time.
func TestFilesLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u, colleague, other := o.Staff(t, people.Owner), o.Staff(t, people.Owner), s.NewShop(t).Staff(t, people.Owner)
	site, err := dashboard.New(dashboard.Config{App: s.App, Gate: gate.New(nil, nil, s.App.Access, slog.New(slog.DiscardHandler), s.Clock.Now), Log: slog.New(slog.DiscardHandler), Now: s.Clock.Now, URL: s.URL})
	harness.Must(t, err)
	ask := func(who harness.Staff, path string, w http.ResponseWriter) {
		request, end := context.WithCancel(ctx)
		defer end() // as the server does once the request is answered
		r := httptest.NewRequestWithContext(request, http.MethodGet, who.At(path), nil)
		r.AddCookie(&http.Cookie{Name: "cascada", Value: who.Cookie})
		site.ServeHTTP(w, r)
	}
	began, read := make(chan struct{}, 20), make(chan struct{})
	var all sync.WaitGroup
	paths := []string{"/payments/export", "/refunds.csv", "/disputes.csv", "/balance.csv", "/audit.csv", "/withdrawals.csv", "/settlements.csv", "/events.csv"}
	for _, path := range paths {
		all.Go(func() { ask(u, path, &slow{ResponseRecorder: httptest.NewRecorder(), began: began, read: read}) })
	}
	for range paths {
		<-began
	}
	for _, who := range []harness.Staff{u, colleague} {
		w := httptest.NewRecorder()
		if ask(who, "/refunds.csv", w); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("the ninth file of a merchant gets %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
		}
	}
	w := httptest.NewRecorder()
	if ask(other, "/refunds.csv", w); w.Code != http.StatusOK {
		t.Errorf("the file of another merchant gets %d", w.Code)
	}
	close(read)
	all.Wait()
	w = httptest.NewRecorder()
	if ask(u, "/refunds.csv", w); w.Code != http.StatusOK {
		t.Errorf("once the files are read, the next gets %d", w.Code)
	}
}

// One operator does not hold all that a node reads at a time for pages of the console that read much (OPR-4).
func TestConsoleReadsLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	op, other := harness.OperatorWithRole(t, o, operators.Viewer), harness.OperatorWithRole(t, o, operators.Viewer)
	log := slog.New(slog.DiscardHandler)
	site, err := dashboard.New(dashboard.Config{App: s.App, Gate: gate.New(nil, nil, s.App.Access, log, s.Clock.Now), Log: log, Now: s.Clock.Now, URL: s.URL})
	harness.Must(t, err)
	ask := func(who harness.Staff, path string, w http.ResponseWriter) {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, who.At(path), nil)
		r.AddCookie(&http.Cookie{Name: "cascada", Value: who.Cookie})
		site.ServeHTTP(w, r)
	}
	see := func(who harness.Staff, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		ask(who, path, w)
		return w
	}
	began, read := make(chan struct{}, 2), make(chan struct{})
	var held sync.WaitGroup
	for range 2 {
		held.Go(func() {
			ask(op, "/dashboard/console/seals/heads.txt", &slow{ResponseRecorder: httptest.NewRecorder(), began: began, read: read})
		})
	}
	for range 2 {
		<-began
	}
	if w := see(op, "/dashboard/console/seals"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("the third page of an operator gets %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	if w := see(op, "/dashboard/console"); w.Code != http.StatusOK {
		t.Errorf("a page that reads little gets %d", w.Code)
	}
	if w := see(other, "/dashboard/console/seals"); w.Code != http.StatusOK {
		t.Errorf("the page of another operator gets %d", w.Code)
	}
	close(read)
	held.Wait()
	if w := see(op, "/dashboard/console/seals"); w.Code != http.StatusOK {
		t.Errorf("once the pages are read, the next gets %d", w.Code)
	}
}
