package dashboard

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/chromedp/chromedp"
	"github.com/golang-jwt/jwt/v5"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

// The service at the company's identity provider.
const (
	clientID     = "cascada"
	clientSecret = "the secret of the client"
)

// company is an identity provider. Who comes is signed in at once, as the claims say.
type company struct {
	*httptest.Server
	key   *rsa.PrivateKey
	clock *harness.Clock
	down  atomic.Bool

	mu     sync.Mutex
	codes  map[string]url.Values // that were given out, with what was asked
	asked  int                   // requests to the token endpoint
	claims map[string]any        // of the person; they win over the usual ones
}

func newCompany(t *testing.T, clock *harness.Clock) *company {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	harness.Must(t, err)
	co := &company{key: key, clock: clock, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		co.tell(w, map[string]any{
			"issuer": co.URL, "authorization_endpoint": co.URL + "/authorize", "token_endpoint": co.URL + "/token", "jwks_uri": co.URL + "/keys",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		co.tell(w, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "n": b64(key.N.Bytes()), "e": b64(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, co.agree(r.URL.Query()), http.StatusFound)
	})
	mux.HandleFunc("POST /token", co.token)
	co.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if co.down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(co.Close)
	return co
}

func (co *company) tell(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// agree gives a code for what was asked, and returns where the browser goes back to.
func (co *company) agree(asked url.Values) string {
	code := rand.Text()
	co.mu.Lock()
	defer co.mu.Unlock()
	co.codes[code] = asked
	return asked.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {asked.Get("state")}}.Encode()
}

// token takes a code once, from who has the secret and asked for it (PKCE).
func (co *company) token(w http.ResponseWriter, r *http.Request) {
	co.mu.Lock()
	defer co.mu.Unlock()
	co.asked++
	asked, known := co.codes[r.FormValue("code")]
	delete(co.codes, r.FormValue("code"))
	id, secret, _ := r.BasicAuth()
	secret, _ = url.QueryUnescape(secret)
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !known || id != clientID || secret != clientSecret || asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") != b64(sum[:]) || asked.Get("redirect_uri") != r.FormValue("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		co.tell(w, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := jwt.MapClaims{
		"iss": co.URL, "aud": clientID, "exp": co.clock.Now().Add(time.Minute).Unix(), "iat": co.clock.Now().Unix(), "nonce": asked.Get("nonce"),
	}
	maps.Copy(claims, co.claims)
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = "1"
	signed, err := token.SignedString(co.key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	co.tell(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": signed})
}

// is sets who the person is.
func (co *company) is(subject, email string, more ...any) {
	co.mu.Lock()
	defer co.mu.Unlock()
	co.claims = map[string]any{"sub": subject, "email": email, "email_verified": true, "name": "Ana Torres"}
	for i := 0; i+1 < len(more); i += 2 {
		co.claims[more[i].(string)] = more[i+1]
	}
}

// startWith starts a service with an identity provider.
func startWith(t *testing.T, database string) (*harness.Instance, *company) {
	t.Helper()
	clock := &harness.Clock{}
	co := newCompany(t, clock)
	return harness.StartWith(t, database, clock, func(c *daemon.Config) {
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		c.OIDC = daemon.OIDC{Issuer: co.URL, ClientID: clientID, Secret: clientSecret, Name: "Sign in with Acme", Timeout: 5 * time.Second}
	}), co
}

// leave begins a sign-in at the company: the cookie, and the address to which the browser goes.
func leave(t *testing.T, u harness.Staff, next string) (cookie string, to *url.URL) {
	t.Helper()
	a := stranger(u).Ask(t, http.MethodGet, "/dashboard/sign-in/company?next="+url.QueryEscape(next), nil)
	if a.Status != http.StatusSeeOther {
		t.Fatalf("the button gets %d: %s", a.Status, a.Text())
	}
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.Name == "cascada_company" {
			cookie = c.Value
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.MaxAge > 600 {
				t.Errorf("the cookie is %s", c)
			}
		}
	}
	to, err := url.Parse(a.Header.Get("Location"))
	harness.Must(t, err)
	return cookie, to
}

// back is the browser's request when it comes back from the company.
func back(t *testing.T, u harness.Staff, cookie, address string) harness.Answer {
	t.Helper()
	return stranger(u).Ask(t, http.MethodGet, strings.TrimPrefix(address, u.URL), nil, "Cookie: cascada_company="+cookie)
}

// enterAt signs in at the company.
func enterAt(t *testing.T, u harness.Staff, co *company, next string) harness.Answer {
	t.Helper()
	cookie, to := leave(t, u, next)
	return back(t, u, cookie, co.agree(to.Query()))
}

// The company's account signs a user in: the first time by the verified address, then by the subject, whatever the
// address is. It is the first factor only.
func TestCompanySignsIn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s, co := startWith(t, database)
		shop := s.NewShop(t)
		u := shop.Staff(t, people.Support)
		if page := stranger(u).Page(t, "/dashboard/sign-in"); !strings.Contains(page, "Sign in with Acme") {
			t.Error("the page to sign in has no button")
		}
		co.is("sub-1", strings.ToUpper(u.User.Email))
		a := enterAt(t, u, co, "/dashboard/profile")
		if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/dashboard/profile" || cookieOf(a) == "" {
			t.Fatalf("the company's account gets %d %s: %s", a.Status, a.Header.Get("Location"), a.Text())
		}
		in := u
		in.Cookie = cookieOf(a)
		if !strings.Contains(in.Page(t, "/dashboard/profile"), u.User.Email) {
			t.Error("it is another user")
		}
		co.is("sub-1", "another@acme.example", "email_verified", false)
		if a := enterAt(t, u, co, ""); a.Status != http.StatusSeeOther {
			t.Errorf("a known subject gets %d: %s", a.Status, a.Text())
		}
		co.is("sub-2", u.User.Email)
		if a := enterAt(t, u, co, ""); a.Status != http.StatusForbidden || cookieOf(a) != "" {
			t.Errorf("another subject with the same address gets %d: %s", a.Status, a.Text())
		}
		for _, act := range []audit.Act{audit.UserIdentityLinked, audit.UserSignedIn, audit.UserSignInRefused} {
			if !audited(t, u, act) {
				t.Errorf("%s is not in the merchant's audit log", act)
			}
		}
		d := newDevice(t, u)
		addPasskey(t, in, d, "Key")
		co.is("sub-1", u.User.Email)
		a = enterAt(t, u, co, "/dashboard/profile")
		if a.Header.Get("Location") != "/dashboard/sign-in/code?next=%2Fdashboard%2Fprofile" {
			t.Fatalf("with a second factor the company's account leads to %s", a.Header.Get("Location"))
		}
		half := u
		half.Cookie = cookieOf(a)
		if a := half.Ask(t, http.MethodGet, "/dashboard/profile", nil); a.Status != http.StatusSeeOther {
			t.Errorf("without the second factor a page opens: %d", a.Status)
		}
		q := askPasskey(t, half, "/dashboard/sign-in/code/challenge")
		if a := answerPasskey(t, half, "/dashboard/sign-in/code/passkey", q, d.get(t, q.challenge)); a.Status != http.StatusSeeOther {
			t.Errorf("the second factor gets %d", a.Status)
		}
		harness.Must(t, s.App.Team.SetRoleOf(ctx, s.App.Self(), shop.Merchant.ID, shop.Staff(t, people.Owner).User.Email, people.Owner))
		harness.Must(t, s.App.Team.Remove(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, u.User.Email))
		if a := enterAt(t, u, co, ""); a.Status != http.StatusForbidden || cookieOf(a) != "" {
			t.Errorf("a removed user gets %d", a.Status)
		}
	})
}

// What comes back is refused unless it is the provider's answer to this browser's question: once, in time, for us.
func TestCompanyAnswersAreChecked(t *testing.T) {
	t.Parallel()
	s, co := startWith(t, dbtest.SQLite(t))
	shop := s.NewShop(t)
	u, other := shop.Staff(t, people.Support), shop.Staff(t, people.Owner)
	refused := func(what string, status int, a harness.Answer) {
		t.Helper()
		if a.Status != status || cookieOf(a) != "" || !strings.Contains(a.Text(), "Sign in with Acme") {
			t.Errorf("%s gets %d, want %d: %s", what, a.Status, status, a.Text())
		}
	}
	co.is("sub-1", u.User.Email)
	cookie, to := leave(t, u, "")
	address := co.agree(to.Query())
	refused("an answer without the cookie", http.StatusUnauthorized, back(t, u, "", address))
	_, elsewhere := leave(t, other, "")
	refused("another browser's answer", http.StatusUnauthorized, back(t, u, cookie, co.agree(elsewhere.Query())))
	refused("a wrong state", http.StatusUnauthorized, back(t, u, cookie, strings.Replace(address, "state=", "state=x", 1)))
	refused("no state", http.StatusUnauthorized, back(t, u, cookie, "/dashboard/sign-in/company/back?code=x"))
	refused("a refusal", http.StatusUnauthorized, back(t, u, cookie, "/dashboard/sign-in/company/back?error=access_denied&state="+to.Query().Get("state")))
	if co.asked != 0 {
		t.Errorf("%d of these reached the token endpoint", co.asked)
	}
	if a := back(t, u, cookie, address); a.Status != http.StatusSeeOther {
		t.Fatalf("the right answer gets %d: %s", a.Status, a.Text())
	}
	refused("the same code again", http.StatusUnauthorized, back(t, u, cookie, address))

	stolen := co.agree(elsewhere.Query()) // PKCE: a code of another question, with our state
	code := stolen[strings.Index(stolen, "code=")+5 : strings.Index(stolen, "&")]
	refused("another question's code", http.StatusUnauthorized, back(t, u, cookie, "/dashboard/sign-in/company/back?code="+code+"&state="+to.Query().Get("state")))

	now := s.Clock.Now()
	for what, wrong := range map[string][]any{
		"a wrong nonce":       {"nonce", "x"},
		"no nonce":            {"nonce", nil},
		"an expired token":    {"exp", now.Add(-time.Minute).Unix()},
		"another audience":    {"aud", "other"},
		"another party":       {"aud", []string{clientID, "other"}, "azp", "other"},
		"another issuer":      {"iss", "https://evil.example"},
		"a token of no one":   {"sub", ""},
		"claims of odd types": {"email", 7},
	} {
		co.is("sub-1", u.User.Email, wrong...)
		refused(what, http.StatusUnauthorized, enterAt(t, u, co, ""))
	}
	key := co.key
	forged, err := rsa.GenerateKey(rand.Reader, 2048)
	harness.Must(t, err)
	co.is("sub-1", u.User.Email)
	co.key = forged
	refused("another key's signature", http.StatusUnauthorized, enterAt(t, u, co, ""))
	co.key = key

	co.is("sub-3", other.User.Email, "email_verified", false)
	refused("an address that is not verified", http.StatusForbidden, enterAt(t, u, co, ""))
	co.is("sub-3", other.User.Email, "email_verified", nil)
	refused("an address of which nothing is told", http.StatusForbidden, enterAt(t, u, co, ""))
	co.is("sub-3", "nobody@acme.example")
	refused("an unknown address", http.StatusForbidden, enterAt(t, u, co, ""))
	if a := enterAt(t, u, co, "https://evil.example/"); a.Status != http.StatusForbidden {
		t.Errorf("another site as the next page gets %d", a.Status)
	}
	co.is("sub-1", u.User.Email)
	if a := enterAt(t, u, co, "https://evil.example/"); a.Header.Get("Location") != "/dashboard" {
		t.Errorf("the sign-in leads to %s", a.Header.Get("Location"))
	}
	cookie, to = leave(t, u, "")
	s.Clock.Advance(users.CompanyLife)
	refused("a late answer", http.StatusUnauthorized, back(t, u, cookie, co.agree(to.Query())))
}

// The service starts without the provider, says clearly that it is down, and finds it when it is back.
func TestCompanyIsDown(t *testing.T) {
	t.Parallel()
	s, co := startWith(t, dbtest.SQLite(t))
	u := s.NewShop(t).Staff(t, people.Support)
	co.is("sub-1", u.User.Email)
	co.down.Store(true)
	nobody := stranger(u)
	if a := nobody.Ask(t, http.MethodGet, "/dashboard/sign-in/company", nil); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Text(), "does not answer") || !strings.Contains(a.Text(), "Password") {
		t.Errorf("while the provider is down the button gets %d: %s", a.Status, a.Text())
	}
	if _, a := signIn(t, u, harness.StaffPassword); a.Status != http.StatusSeeOther {
		t.Errorf("meanwhile the password gets %d", a.Status)
	}
	co.down.Store(false)
	cookie, to := leave(t, u, "")
	co.down.Store(true)
	if a := back(t, u, cookie, co.agree(to.Query())); a.Status != http.StatusServiceUnavailable {
		t.Errorf("while the token endpoint is down the answer gets %d: %s", a.Status, a.Text())
	}
	co.down.Store(false)
	if a := enterAt(t, u, co, ""); a.Status != http.StatusSeeOther {
		t.Errorf("when the provider is back, its account gets %d: %s", a.Status, a.Text())
	}
}

// Without a provider there is no button and no page.
func TestNoCompany(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	u := stranger(s.NewShop(t).Staff(t, people.Viewer))
	if strings.Contains(u.Page(t, "/dashboard/sign-in"), "sign-in/company") {
		t.Error("there is a button to no provider")
	}
	for _, path := range []string{"/dashboard/sign-in/company", "/dashboard/sign-in/company/back?code=a&state=b"} {
		if a := u.Ask(t, http.MethodGet, path, nil); a.Status != http.StatusNotFound {
			t.Errorf("%s gets %d", path, a.Status)
		}
	}
}

// Whoever is invited joins with the company's account, from the page of the invitation and with its address only.
func TestInvitedByCompany(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s, co := startWith(t, database)
		owner := s.NewShop(t).Staff(t, people.Owner)
		invite := func(email string) string {
			told, err := s.App.Links.Invite(ctx, audit.Actor{Kind: audit.ByUser, ID: owner.User.ID}, people.Owner, users.Invitee{Email: email, Merchant: owner.Merchant.ID, Role: people.Finance})
			harness.Must(t, err)
			return strings.TrimPrefix(told.Address, s.URL)
		}
		link := invite("ana@acme.example")
		if page := stranger(owner).Page(t, link); !strings.Contains(page, "Sign in with Acme") {
			t.Error("the invitation does not offer the company's account")
		}
		co.is("sub-2", "other@acme.example")
		if a := enterAt(t, owner, co, link); a.Status != http.StatusForbidden {
			t.Errorf("another address accepts the invitation: %d", a.Status)
		}
		co.is("sub-1", "ana@acme.example")
		if a := enterAt(t, owner, co, ""); a.Status != http.StatusForbidden {
			t.Errorf("without the page of the invitation a user is made: %d", a.Status)
		}
		a := enterAt(t, owner, co, link)
		if a.Status != http.StatusSeeOther || cookieOf(a) == "" || a.Header.Get("Location") != "/dashboard" {
			t.Fatalf("the invited one gets %d %s: %s", a.Status, a.Header.Get("Location"), a.Text())
		}
		ana := owner
		ana.Cookie = cookieOf(a)
		if page := ana.Page(t, "/dashboard/profile"); !strings.Contains(page, "Ana Torres") || !strings.Contains(page, "ana@acme.example") {
			t.Error("the profile has another name or address")
		}
		u, err := s.App.Store.Users().ByEmail(ctx, "ana@acme.example")
		harness.Must(t, err)
		m, err := s.App.Store.Memberships().Get(ctx, u.ID, owner.Merchant.ID)
		if err != nil || m.Role != people.Finance || u.Password != "" || u.Subject == "" || strings.Contains(u.Subject, "sub-1") {
			t.Errorf("the user is %+v with the role %q (%v)", u, m.Role, err)
		}
		if a := stranger(owner).Ask(t, http.MethodGet, link, nil); a.Status != http.StatusNotFound {
			t.Errorf("the invitation still works: %d", a.Status)
		}
	})
}

// An address that nobody proved is nobody's: whoever registers a colleague's address has nothing of her account once she proves that it
// is hers, and no operator has such an address. The other operators are told of a new one.
func TestUnprovedAddressIsNobodys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s, co := startWith(t, database)
		shop := s.NewShop(t)
		admin, op := shop.Staff(t, people.Admin), harness.OperatorUser(t, shop)
		const boss = "boss@psp.example"
		invite := func(by harness.Staff, role people.Role, n users.Invitee) string {
			n.Email = boss
			told, err := s.App.Links.Invite(ctx, audit.Actor{Kind: audit.ByUser, ID: by.User.ID}, role, n)
			harness.Must(t, err)
			return strings.TrimPrefix(told.Address, s.URL)
		}
		squat := stranger(admin)
		a := squat.Ask(t, http.MethodPost, invite(admin, people.Admin, users.Invitee{Merchant: shop.Merchant.ID, Role: people.Viewer}), url.Values{"name": {"Boss"}, "password": {harness.StaffPassword}})
		if squat.Cookie = cookieOf(a); a.Status != http.StatusSeeOther || squat.Cookie == "" {
			t.Fatalf("the invitation that the admin reads himself gets %d: %s", a.Status, a.Text())
		}
		u, err := s.App.Store.Users().ByEmail(ctx, boss)
		harness.Must(t, err)
		harness.Must(t, s.App.Store.Commit(ctx, pay.Change{Users: []people.User{u.AddTOTP("JBSWY3DPEHPK3PXP", 1, []string{"a recovery code"})}}))
		told, err := s.App.Links.Invite(ctx, s.App.Links.Self(), "", users.Invitee{Email: boss, Operator: operators.Admin})
		harness.Must(t, err)
		if a := squat.Ask(t, http.MethodPost, strings.TrimPrefix(told.Address, s.URL), url.Values{}); a.Status != http.StatusConflict {
			t.Errorf("who registered the address is signed in, and accepts an invitation that another one was given: %d %s", a.Status, a.Text())
		}
		link := invite(op, "", users.Invitee{Operator: operators.Admin})
		if a := squat.Ask(t, http.MethodPost, link, url.Values{}); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "address must be proved") {
			t.Errorf("who registered the address accepts the operator's invitation: %d %s", a.Status, a.Text())
		}
		co.is("sub-1", boss)
		hers := enterAt(t, admin, co, "")
		mine := stranger(admin)
		if mine.Cookie = cookieOf(hers); hers.Status != http.StatusSeeOther || mine.Cookie == "" {
			t.Fatalf("the owner of the address gets %d: %s", hers.Status, hers.Text())
		}
		if a := squat.Ask(t, http.MethodGet, "/dashboard/profile", nil); a.Status == http.StatusOK {
			t.Error("whoever registered the address is signed in still")
		}
		if u, err = s.App.Store.Users().ByEmail(ctx, boss); err != nil || u.Password != "" || u.HasFactor() || len(u.Recovery) > 0 || u.Unproved {
			t.Errorf("of the one who registered the address stays %+v (%v)", u, err)
		}
		if a := mine.Ask(t, http.MethodPost, link, url.Values{}); a.Status != http.StatusSeeOther {
			t.Errorf("whoever proved the address accepts the operator's invitation with %d: %s", a.Status, a.Text())
		}
		if page := op.Page(t, "/dashboard/profile"); !strings.Contains(page, "New operator") || !strings.Contains(page, boss) {
			t.Error("the other operator is not told of the new one")
		}
	})
}

// In a browser the button leads to the company and back. The policy of pages allows it.
func TestCompanyInABrowser(t *testing.T) {
	t.Parallel()
	s, co := startWith(t, dbtest.SQLite(t))
	u := s.NewShop(t).Staff(t, people.Support)
	co.is("sub-1", u.User.Email)
	tab := harness.Browser(t)
	do(t, tab, chromedp.EmulateViewport(390, 844), chromedp.Navigate(s.URL+"/dashboard/sign-in?next=/dashboard/profile"), chromedp.WaitVisible(`a[href*="sign-in/company"]`))
	harness.Accessible(t, tab, "the page to sign in with a company's account")
	harness.Shoot(t, tab, "company")
	do(t, tab, chromedp.Click(`a[href*="sign-in/company"]`))
	shows(t, tab, "the page", "location.pathname", "/dashboard/profile")
	do(t, tab, chromedp.WaitVisible(`#f-name`))
	harness.Shoot(t, tab, "profile-phone")
	co.is("sub-2", u.User.Email)
	do(t, tab, chromedp.Navigate(s.URL+"/dashboard/sign-in/company"), chromedp.WaitVisible(`.notice.bad`))
	harness.Shoot(t, tab, "company-refused")
}
