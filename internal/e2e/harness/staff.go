package harness

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Staff is a browser in which a user is signed in to the dashboard, at the first page of a shop's sandbox.
type Staff struct {
	Client
	User   people.User
	Cookie string // the token of the sign-in
	Live   bool   // the pages are those of production
}

// StaffPassword is the password of every user of the tests.
const StaffPassword = "correct horse battery"

// Staff makes a user with a role at the shop's merchant, as an invitation does, and signs it in.
func (o Client) Staff(t *testing.T, role people.Role) Staff {
	t.Helper()
	return o.invited(t, users.Invitee{Merchant: o.Merchant.ID, Role: role}, string(role))
}

// OperatorUser makes a user of the operator's console with all rights.
func OperatorUser(t *testing.T, o Client) Staff {
	t.Helper()
	return OperatorWithRole(t, o, operators.Admin)
}

// OperatorWithRole makes a user of the operator's console.
func OperatorWithRole(t *testing.T, o Client, role operators.Role) Staff {
	t.Helper()
	return o.invited(t, users.Invitee{Operator: role}, "operator")
}

func (o Client) invited(t *testing.T, n users.Invitee, name string) Staff {
	t.Helper()
	n.Email = fmt.Sprintf("%s-%s@acme.example", name, strings.ToLower(o.App.NewID("", o.App.Now())))
	told, err := o.App.Links.Invite(ctx, audit.Actor{Kind: audit.BySystem}, "", n)
	Must(t, err)
	token := told.Address[strings.LastIndex(told.Address, "/")+1:]
	e, err := o.App.Links.Accept(ctx, users.From{Address: "127.0.0.1", Agent: "test"}, token, "", users.NewUser{Name: strings.ToUpper(name[:1]) + name[1:], Password: StaffPassword, Language: merchants.English})
	Must(t, err)
	return Staff{Client: o, User: e.User, Cookie: e.Token}
}

// Answer is a page, or what an action answered.
type Answer struct {
	Status int
	Body   string // with HTML entities decoded
	Header http.Header
}

// Home is the address of the shop's pages, without a trailing slash.
func (u Staff) Home() string {
	return "/dashboard/" + u.Shop.ID + "/" + string(merchants.EnvironmentOf(u.Live))
}

// At is the address of a path: one of the shop's pages, such as "/payments", or one that begins with /dashboard.
func (u Staff) At(path string) string {
	if strings.HasPrefix(path, "/dashboard") {
		return path
	}
	return u.Home() + strings.TrimSuffix(path, "/")
}

// unfilled is the key of a text that a page shows instead of the text, or a hole that nothing filled.
var unfilled = regexp.MustCompile(`^(>[a-z]+_[a-z_]+<|\{[a-z]+\})`)

// findUnfilled returns what is unfilled in a page, "" for nothing. It looks only where that can begin: the expression
// alone takes longer than the page.
func findUnfilled(page string) string {
	for {
		begin := strings.IndexAny(page, ">{")
		if begin < 0 {
			return ""
		}
		page = page[begin:]
		if found := unfilled.FindString(page[:min(len(page), 100)]); found != "" {
			return found
		}
		page = page[1:]
	}
}

// windowTitle is the title of a page's window, where a browser shows tags as text.
var windowTitle = regexp.MustCompile(`<title>[^<]*</title>`)

// scriptWords are the texts that the script fills.
var scriptWords = regexp.MustCompile(`data-words="[^"]*"`)

// Ask makes a request as the user's browser does, and follows no redirect. It fails the test if a security header is
// missing, or if the page shows the key of a text.
func (u Staff) Ask(t *testing.T, method, path string, form url.Values, header ...string) Answer {
	t.Helper()
	kind := ""
	if form != nil {
		kind = "application/x-www-form-urlencoded"
	}
	return u.Send(t, method, path, kind, []byte(form.Encode()), header...)
}

// Send is Ask with a body of any type, such as a form with files.
func (u Staff) Send(t *testing.T, method, path, kind string, body []byte, header ...string) Answer {
	t.Helper()
	req, err := http.NewRequest(method, u.URL+u.At(path), bytes.NewReader(body))
	Must(t, err)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	return u.Request(t, req)
}

// Request makes a request as the user's browser does. See Ask.
func (u Staff) Request(t *testing.T, req *http.Request) Answer {
	t.Helper()
	if req.Method != http.MethodGet && req.Header.Get("Sec-Fetch-Site") == "" {
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if u.Cookie != "" {
		req.AddCookie(&http.Cookie{Name: "cascada", Value: u.Cookie})
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	Must(t, err)
	defer res.Body.Close()
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") { // it does not end by itself
		return Answer{Status: res.StatusCode, Header: res.Header}
	}
	body, err := io.ReadAll(res.Body)
	Must(t, err)
	a := Answer{res.StatusCode, html.UnescapeString(string(body)), res.Header}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || res.StatusCode == http.StatusSeeOther {
		return a
	}
	policy := res.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s %s: the policy is %q, Cache-Control is %q", req.Method, req.URL.Path, policy, res.Header.Get("Cache-Control"))
	}
	if found := windowTitle.Find(body); bytes.Contains(found, []byte("&lt;")) {
		t.Errorf("%s %s shows tags in the title of its window: %s", req.Method, req.URL.Path, found)
	}
	if found := findUnfilled(scriptWords.ReplaceAllString(string(body), "")); found != "" {
		t.Errorf("%s %s shows %s instead of a text", req.Method, req.URL.Path, found)
	}
	return a
}

// Page reads a page and ends the test unless it is there.
func (u Staff) Page(t *testing.T, path string) string {
	t.Helper()
	a := u.Ask(t, http.MethodGet, path, nil)
	if a.Status != http.StatusOK {
		t.Fatalf("GET %s answers %d: %s", path, a.Status, a.Text())
	}
	return a.Body
}

// Do sends a form and ends the test unless it leads to another page. It returns the address of that page.
func (u Staff) Do(t *testing.T, path string, pairs ...string) string {
	t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	a := u.Ask(t, http.MethodPost, path, form)
	if a.Status != http.StatusSeeOther {
		t.Fatalf("POST %s answers %d: %s", path, a.Status, a.Text())
	}
	return a.Header.Get("Location")
}

var (
	mainPart = regexp.MustCompile(`(?s)<main.*</main>`)
	tags     = regexp.MustCompile(`(?s)<[^>]*>`)
)

// Text is what the main part of a page says, without its tags.
func (a Answer) Text() string {
	body := a.Body
	if found := mainPart.FindString(body); found != "" {
		body = found
	}
	return strings.Join(strings.Fields(tags.ReplaceAllString(body, " ")), " ")
}

// Tab opens a new tab of the browser in which the user is signed in, at a page.
func (u Staff) Tab(t *testing.T, path string) context.Context {
	t.Helper()
	tab := Browser(t)
	u.Open(t, tab, path)
	return tab
}

// Open signs the user in in a tab, at a page.
func (u Staff) Open(t *testing.T, tab context.Context, path string) {
	t.Helper()
	_, err := chromedp.Call(tab, network.SetCookie, network.SetCookieParams{Name: "cascada", Value: u.Cookie, URL: u.URL})
	Must(t, err)
	Must(t, chromedp.Do(tab, chromedp.Navigate(u.URL+u.At(path))))
}

// Did fails the test unless the audit log has an act of this user on an object.
func (u Staff) Did(t *testing.T, act audit.Act, object string) {
	t.Helper()
	list, err := u.App.AuditLog(ctx, audit.Filter{Object: object, Act: act}, 10)
	Must(t, err)
	for _, e := range list {
		if e.By.Kind == audit.ByUser && e.By.ID == u.User.ID && e.By.IP == "127.0.0.1" && strings.HasPrefix(e.By.Request, "req_") {
			return
		}
	}
	t.Errorf("the audit log has no %s of %s by the operator: %v", act, object, list)
}
