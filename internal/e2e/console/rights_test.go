package console

import (
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/dashboard"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// whileItRuns are the actions whose forms a page shows for as long as a job runs.
var whileItRuns = []string{"/console/check/stop", "/console/routing/replay/stop"}

// consoleRoutes finds the page or action of the console that a request is for.
type consoleRoutes []consoleRoute

type consoleRoute struct {
	frame.Route
	path *regexp.Regexp
}

var holes = regexp.MustCompile(`\{[^}]*\}`)

func routesOfConsole(t *testing.T, s *harness.Instance) (list consoleRoutes) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	site, err := dashboard.New(dashboard.Config{App: s.App, Gate: gate.New(nil, nil, s.App.Access, log, s.Clock.Now), Log: log, Now: s.Clock.Now, URL: s.URL})
	harness.Must(t, err)
	for _, r := range site.Routes() {
		if r.Kind == frame.OfOperator {
			list = append(list, consoleRoute{r, regexp.MustCompile(`^` + holes.ReplaceAllString(r.Path, `[^/]+`) + `$`)})
		}
	}
	slices.SortStableFunc(list, func(x, y consoleRoute) int { return strings.Count(x.Path, "{") - strings.Count(y.Path, "{") }) // as the mux: the more exact one first
	return list
}

// needs is the right that a form is for. A proposal's page asks for the right of what is proposed, and that of inEveryState is a plan.
func (r consoleRoute) needs() operators.Right {
	if strings.HasPrefix(r.Path, "/console/proposals/") && r.Method == http.MethodPost {
		return operators.Prices
	}
	return r.Operators
}

// of is the route of a request, false if the address is not of the console.
func (list consoleRoutes) of(method, address string) (consoleRoute, bool) {
	path, _, _ := strings.Cut(html.UnescapeString(address), "?")
	path = strings.TrimPrefix(path, frame.Base)
	for _, r := range list {
		if r.Method == method && r.path.MatchString(path) {
			return r, true
		}
	}
	return consoleRoute{}, false
}

var (
	consoleForms = regexp.MustCompile(`<form [^>]*method="post"[^>]*action="([^"]*)"|<form [^>]*action="([^"]*)"[^>]*method="post"|formaction="([^"]*)"`)
	consoleLinks = regexp.MustCompile(`<a [^>]*href="(/dashboard/console[^"#]*)"`)
)

// offered are the addresses that a page posts to.
func offered(page string) (list []string) {
	for _, m := range consoleForms.FindAllStringSubmatch(page, -1) {
		list = append(list, m[1]+m[2]+m[3])
	}
	return list
}

// openedBy returns all pages of the console that links lead an operator to, one for each address without its query, and those that start has.
func openedBy(t *testing.T, u harness.Staff, start ...string) []string {
	t.Helper()
	seen, queue := map[string]bool{}, slices.Clone(start)
	for i := 0; i < len(queue); i++ {
		a := u.Ask(t, http.MethodGet, queue[i], nil)
		if a.Status != http.StatusOK {
			t.Errorf("%s answers %d: %s", queue[i], a.Status, a.Text())
		}
		for _, m := range consoleLinks.FindAllStringSubmatch(a.Body, -1) {
			to := html.UnescapeString(m[1])
			bare, _, _ := strings.Cut(to, "?")
			if !seen[bare] && !strings.HasSuffix(bare, ".csv") && !strings.HasSuffix(bare, ".txt") && !strings.Contains(bare, "/evidence/") {
				seen[bare] = true
				queue = append(queue, to)
			}
		}
	}
	return queue
}

// inEveryState makes a service that has something in each state in which a page of the console has a form. It returns the pages that
// no link leads to.
func inEveryState(t *testing.T, o harness.Client) []string {
	t.Helper()
	s := o.Instance
	for _, state := range []string{"made", "approved", "exported"} {
		waitsForAFile(t, o, "30")
		op, other := harness.OperatorUser(t, o), harness.OperatorUser(t, o) // the hours end a sign-in
		path := op.Do(t, consolePath+"payouts/batches", "account", "banco")
		if state != "made" {
			other.Do(t, path+"/approve")
		}
		if state == "exported" {
			op.Ask(t, http.MethodPost, path+"/file", url.Values{})
		}
	}
	limited := func(live bool, merchant string) {
		_, err := s.App.Payouts.LimitPayouts(ctx, s.App.Self(), merchant, live, func(l *pay.PayoutLimits) { l.ApprovalAbove = 50_00 })
		harness.Must(t, err)
	}
	limited(true, o.Merchant.ID)
	held := o.Withdraw(t, "250")
	s.Clock.Advance(pay.WithdrawalHold(true))
	op := harness.OperatorUser(t, o)
	harness.Eventually(t, "the withdrawal waits", func() bool {
		_, err := s.App.Payouts.PayOut(ctx)
		harness.Must(t, err)
		return strings.Contains(op.Page(t, consolePath+"decisions?kind=withdrawals"), held)
	})
	s.PayOutBy(t, "bank-file", accounts.NewAccount{ID: "banco-2", Credentials: map[string]string{"layout": "csv"}})
	_, err := s.App.Accounts.Enable(ctx, s.App.Self(), "banco-2", false)
	harness.Must(t, err)

	b := s.NewShop(t)
	limited(false, b.Merchant.ID)
	adjust(t, op, order(b, "50.01", "goodwill", "ticket 1"))
	applied := adjust(t, op, order(b, "5", "goodwill", "ticket 2"))
	mismatched := b.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
	s.Notify(t, "sandbox-1", harness.NoticeBody(mismatched, `"status":"paid","amount":"183","currency":"USD"`)).Want(t, http.StatusOK)
	late := b.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
	s.Notify(t, "sandbox-1", harness.NoticeBody(late, `"status":"declined"`)).Want(t, http.StatusOK)
	s.Notify(t, "sandbox-1", harness.NoticeBody(late, harness.Paid50)).Want(t, http.StatusOK)
	_, claim := b.Dispute(t, true)
	s.Upstream(t, sandbox.EvidenceRefused, sandbox.EvidenceRefused, sandbox.EvidenceRefused)
	b.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
	s.Clock.Advance(20 * time.Minute)
	harness.Eventually(t, "the evidence is refused", func() bool {
		_, err := s.App.Claims.Sweep(ctx)
		harness.Must(t, err)
		return strings.Contains(op.Page(t, consolePath+"claims/"+claim), "/carried")
	})
	s.Upstream(t, "", "", "")
	verification := b.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	address, err := url.Parse(s.App.Verifications.VerificationURL(verification))
	harness.Must(t, err)
	_, err = s.App.Verifications.HandIn(ctx, verification, address.Query().Get("token"))
	harness.Must(t, err)

	merchant := consolePath + "merchants/"
	op.Ask(t, http.MethodPost, merchant+b.Merchant.ID+"/invite", url.Values{"email": {"nora@example.com"}, "role": {"viewer"}})
	op.Ask(t, http.MethodPost, consolePath+"operators/invite", url.Values{"email": {b.Staff(t, people.Viewer).User.Email}, "role": {"viewer"}})
	op.Do(t, merchant+s.NewShop(t).Merchant.ID+"/pause", "reason", "we look at its orders")
	op.Do(t, merchant+s.NewShop(t).Merchant.ID+"/close", "closing", "it asked us to")
	op.Do(t, consolePath+"payouts/stop", "reason", "the bank is closed", "environment", "production")
	op.Do(t, consolePath+"routing/edit", "do", "apply", "version", "0", "file", "order: priority\n")
	op.Do(t, consolePath+"routing/edit", "do", "replay", "version", "1", "file", "order: least_cost\n", "since", "7", "environment", "production")
	harness.Eventually(t, "the replay has ended", func() bool {
		return strings.Contains(op.Page(t, consolePath+"routing/replay"), `value="apply"`)
	})
	require(t, s, operators.Prices)
	op.Ask(t, http.MethodPost, consolePath+"plans/edit", url.Values{"do": {"apply"}, "file": {"plan: gold\ncurrency: USD\nprices:\n  - percent: 2.9\nsettlement:\n  delay: 48h\n"}})
	return []string{
		strings.TrimSuffix(consolePath, "/"), consolePath + "decisions?kind=claims", consolePath + "decisions?kind=notices", consolePath + "decisions?kind=verifications", consolePath + "decisions?kind=adjustments",
		consolePath + "decisions?kind=withdrawals", consolePath + "adjustments/" + applied, consolePath + "payments/" + late, consolePath + "withdrawals/" + held,
		consolePath + "payouts?merchant=" + o.Merchant.ID, consolePath + "payouts/batches", consolePath + "payouts/floats", consolePath + "proposals", consolePath + "routing/replay",
		consolePath + "accounts/new?adapter=bank-file", consolePath + "rates/BRL", merchant + o.Merchant.ID,
	}
}

// An operator sees only the forms and links that the role may use: what a page shows and what a click is refused cannot differ. Whoever
// has all rights sees every action of the console.
func TestPagesShowWhatTheRoleMay(t *testing.T) {
	t.Parallel()
	o := fileShop(t, dbtest.SQLite(t))
	start := inEveryState(t, o)
	staff := map[operators.Role]harness.Staff{}
	for _, role := range operators.Roles() {
		staff[role] = harness.OperatorWithRole(t, o, role)
		staff[role].Ask(t, http.MethodPost, consolePath+"operators/tokens", url.Values{"name": {"of-" + string(role)}})
		if role.May(operators.Merchants) {
			staff[role].Do(t, consolePath+"merchants/"+o.Merchant.ID+"/visit")
		}
	}
	pages, routes := openedBy(t, staff[operators.Admin], start...), routesOfConsole(t, o.Instance)
	shown := map[string]map[operators.Role]bool{} // by the path of the action
	for role, u := range staff {
		for _, page := range pages {
			a := u.Ask(t, http.MethodGet, page, nil)
			if of, known := routes.of(http.MethodGet, page); !known || (a.Status == http.StatusOK) != role.May(of.Operators) {
				t.Errorf("%s, who has the right %q: %t, gets for %s %d", role, of.Operators, role.May(of.Operators), page, a.Status)
			}
			if a.Status != http.StatusOK {
				continue
			}
			for _, form := range offered(a.Body) {
				of, known := routes.of(http.MethodPost, form)
				switch {
				case !known && !strings.HasPrefix(form, frame.Base+"/sign-out"):
					t.Errorf("%s posts to %s, which is no action of the console", page, form)
				case known && !role.May(of.needs()):
					t.Errorf("%s shows %s a form to %s, which needs the right %s", page, role, form, of.needs())
				case known:
					if shown[of.Path] == nil {
						shown[of.Path] = map[operators.Role]bool{}
					}
					shown[of.Path][role] = true
				}
			}
			for _, m := range consoleLinks.FindAllStringSubmatch(a.Body, -1) {
				if of, known := routes.of(http.MethodGet, m[1]); known && !role.May(of.Operators) {
					t.Errorf("%s shows %s a link to %s, which needs the right %s", page, role, m[1], of.Operators)
				}
			}
		}
	}
	for _, r := range routes {
		if r.Method == http.MethodGet || slices.Contains(whileItRuns, r.Path) {
			continue
		}
		for _, role := range operators.Roles() {
			if role.May(r.needs()) && !shown[r.Path][role] && (r.Path != "/console/visit/end" || role.May(operators.Merchants)) {
				t.Errorf("no page shows %s the form of %s, which needs the right %s", role, r.Path, r.needs())
			}
		}
	}
	if len(pages) < 50 || len(shown) < 50 {
		t.Errorf("the walk came to %d pages with %d actions", len(pages), len(shown))
	}
}
