package frame

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

func get(path string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// shown is a page of the gallery.
func shownPage(t *testing.T, r *Pages, v *Visit, name, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	if err := r.Show(w, get(path, headers...), v, name, sample()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return w
}

// Every part is in the gallery, and every page of the gallery is made in every language, under the policy, with nothing
// in it that the policy refuses.
func TestEveryPartRendersInEveryLanguage(t *testing.T) {
	f, r := start(t)
	ids := regexp.MustCompile(`\sid="([^"]+)"`)
	for _, name := range r.Pages() {
		for _, lang := range merchants.Languages() {
			for _, v := range []*Visit{visit("payments/TXN-1", false, lang), visit("webhooks", true, lang), console("merchants"), nil} {
				w := shownPage(t, r, v, name, "/dashboard/shp_1/sandbox/payments?status=paid&cursor=c1&sort=-amount")
				body := w.Body.String()
				if got := w.Header().Get("Content-Security-Policy"); got != Policy || w.Code != http.StatusOK {
					t.Errorf("%s: status %d, policy %q", name, w.Code, got)
				}
				if found := Forbidden(regexp.MustCompile(`<script defer src="/dashboard/assets/[^"]+"></script>`).ReplaceAllString(body, "")); found != "" {
					t.Errorf("%s in %s has %q", name, lang, found)
				}
				for _, wrong := range []string{"ZgotmplZ", "<no value>", "%!", "&lt;nil&gt;", "<nil>", "&amp;amp;", "&amp;#"} {
					if strings.Contains(body, wrong) {
						t.Errorf("%s in %s has %q", name, lang, wrong)
					}
				}
				seen := map[string]bool{}
				for _, id := range ids.FindAllStringSubmatch(body, -1) {
					if seen[id[1]] {
						t.Errorf("%s has two elements with the id %q", name, id[1])
					}
					seen[id[1]] = true
				}
				if opened, closed := strings.Count(body, "<div"), strings.Count(body, "</div>"); opened != closed {
					t.Errorf("%s opens %d and closes %d elements", name, opened, closed)
				}
			}
		}
	}
	files, err := fs.Glob(os.DirFS("testdata/gallery"), "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile("testdata/gallery/" + file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	described, err := os.ReadFile("templates/parts.html")
	if err != nil {
		t.Fatal(err)
	}
	inner := map[string]bool{"copy": true} // other parts have it
	if err := f.parsed(); err != nil || len(f.known) == 0 {
		t.Fatalf("the frame has %d parts (%v)", len(f.known), err)
	}
	for part := range f.known {
		if !inner[part] && !regexp.MustCompile(`part [.$] "`+part+`"`).MatchString(all.String()) {
			t.Errorf("the gallery does not have the part %q", part)
		}
		if !regexp.MustCompile(`(?m)^  ` + part + `\s`).Match(described) {
			t.Errorf("the comment in parts.html does not tell of the part %q", part)
		}
	}
}

// What a room gets wrong is found before anybody sees a page.
func TestMistakesOfRoomsAreFound(t *testing.T) {
	texts := func(en, es, pt string) fstest.MapFS {
		return fstest.MapFS{"text/en.json": {Data: []byte(en)}, "text/es.json": {Data: []byte(es)}, "text/pt.json": {Data: []byte(pt)}}
	}
	page := func(content string) fstest.MapFS {
		return fstest.MapFS{"templates/x.html": {Data: []byte(`{{define "content"}}` + content + `{{end}}`)}}
	}
	for want, files := range map[string]fstest.MapFS{
		`text "a" is in en.json and not in es.json`: texts(`{"a": "A"}`, `{}`, `{"a": "A"}`),
		`text "b" is in pt.json and not in en.json`: texts(`{}`, `{}`, `{"b": "B"}`),
		`has other values`:                          texts(`{"a": "{n}"}`, `{"a": "{m}"}`, `{"a": "{n}"}`),
		`the frame has the text "close"`:            texts(`{"close": "A"}`, `{"close": "A"}`, `{"close": "A"}`),
		`the text "nothing"`:                        page(`{{range .Data}}{{if $.Has "x"}}{{$.T "nothing"}}{{end}}{{end}}`),
		`there is no part "cart"`:                   page(`{{part . "cart"}}`),
		`takes no "titel"`:                          page(`{{part . "card" "titel" "x"}}{{done . "card"}}`),
		`"style="`:                                  page(`<p style="color: red">`),
		`"onclick="`:                                page(`<p onclick="x()">`),
		`"<script"`:                                 page(`<script>x()</script>`),
		`"hx-on"`:                                   page(`<p hx-on:click="x()">`),
		`the block content`:                         {"templates/x.html": {Data: []byte(`{{define "title"}}x{{end}}`)}},
	} {
		f, _ := start(t)
		r, err := f.NewPages(files)
		if err == nil {
			err = r.Check()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f, _ := start(t)
	open, err := f.NewPages(page(`{{part . "card" "title" "x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := open.Show(httptest.NewRecorder(), get("/"), visit("", true, "en"), "x", nil); err == nil || !strings.Contains(err.Error(), "does not close the part card") {
		t.Errorf("a part that stays open: %v", err)
	}
}

func TestNavigationShowsWhatTheVisitorMay(t *testing.T) {
	_, r := start(t)
	v := visit("payments/TXN-1", true, "en")
	body := shownPage(t, r, v, "list", "/dashboard/shp_1/production/payments/TXN-1").Body.String()
	for _, want := range []string{
		`href="/dashboard/shp_1/production/payments" data-nav="payments" aria-current="page"`, `href="/dashboard/shp_1/production" data-nav="home">`,
		`data-nav="team"`, `href="/dashboard/shp_1/sandbox/payments"`, `href="/dashboard/shp_2/production/payments"`, `href="/dashboard/shp_9/production"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	v.Rights = []merchants.Right{merchants.RightRead}
	if body := shownPage(t, r, v, "list", "/").Body.String(); strings.Contains(body, `data-nav="team"`) || strings.Contains(body, `data-nav="keys"`) {
		t.Error("a viewer sees the team and the keys")
	}
	body = shownPage(t, r, console("merchants/mer_1"), "list", "/dashboard/console/merchants").Body.String()
	if !strings.Contains(body, `href="/dashboard/console/merchants" data-nav="merchants" aria-current="page"`) || strings.Contains(body, `class="switch"`) {
		t.Error("the console has other navigation")
	}
}

func TestFragmentsAreForHTMXOnly(t *testing.T) {
	_, r := start(t)
	for name, c := range map[string]struct {
		headers []string
		whole   bool
	}{
		"a browser": {nil, true}, "a part": {[]string{"HX-Request", "true", "HX-Target", "div#list", "HX-Request-Type", "partial"}, false},
		"a link": {[]string{"HX-Request", "true", "HX-Target", "body", "HX-Boosted", "true", "HX-Request-Type", "full"}, true},
	} {
		w := httptest.NewRecorder()
		if err := r.Fragment(w, get("/", c.headers...), visit("payments", true, "en"), "list", "list", sample()); err != nil {
			t.Fatal(err)
		}
		if whole := strings.Contains(w.Body.String(), "<html"); whole != c.whole || !strings.Contains(w.Body.String(), "TXN-") {
			t.Errorf("%s: a whole page %v", name, whole)
		}
	}
}

func TestProblemsSayWhatToDoAndNoMore(t *testing.T) {
	var lines bytes.Buffer
	f, err := New(Config{Log: slog.New(slog.NewTextHandler(&lines, nil)), Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []*Visit{nil, visit("payments", true, "es")} {
		w := httptest.NewRecorder()
		f.Problem(w, get("/x", "Accept-Language", "es-MX"), v, errors.New("pq: secret table"))
		if body := w.Body.String(); w.Code != 500 || strings.Contains(body, "secret") || !strings.Contains(body, "Algo salió mal") {
			t.Errorf("a fault: %d %s", w.Code, body)
		}
	}
	if !strings.Contains(lines.String(), "secret table") {
		t.Error("a fault is not in the log")
	}
	lines.Reset()
	w := httptest.NewRecorder()
	f.Problem(w, get("/x"), nil, message.Refusal(problem.TransactionNotFound, "there is no <payment>"))
	if body := w.Body.String(); w.Code != 404 || !strings.Contains(body, "There is no &lt;payment&gt;") || lines.Len() > 0 {
		t.Errorf("an unknown payment: %d %s", w.Code, body)
	}
	w = httptest.NewRecorder()
	f.Problem(w, get("/x", "HX-Request", "true", "HX-Target", "div#list", "HX-Request-Type", "partial"), visit("", true, "en"), message.Refusal(problem.ConflictState, "it is paid already"))
	if body := w.Body.String(); w.Code != 409 || strings.Contains(body, "<html") || !strings.Contains(body, `role="alert"`) || w.Header().Get("HX-Retarget") != "#notices" {
		t.Errorf("to htmx: %d %s", w.Code, body)
	}
	if got := FieldErrors("en", message.FieldRefusal(problem.InvalidRequest, "url", "no")); got["url"] != "No" {
		t.Errorf("fields: %v", got)
	}
}

// A message is shown in the language of the page, with amounts and statuses as pages write them; what a room has said itself
// stays.
func TestErrorsSpeakTheVisitorsLanguage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 13, 0, 0, 0, time.UTC)
	above := accounts.AboveMaximum.With(money.New(120050, money.USD))
	expired := pay.Payment{Status: pay.Expired}.CheckCancel()
	missing := base.Missing(problem.TransactionNotFound, merchants.Scope{}, "")
	wallet := pay.Wallet{Status: pay.WalletPending, ActiveAt: at}
	_, _, cools := wallet.Withdraw("", money.Amount{}, merchants.Terms{}, rates.Conversion{}, nil, at.Add(-time.Hour))
	two := problem.Invalid(problem.Issue{Path: "a", Reason: above}, problem.Issue{Path: "b", Reason: missing.Reason})
	for _, c := range []struct {
		lang merchants.Language
		err  error
		want string
	}{
		{"es", expired, "El estado del pago es vencido: solo se cancela uno pendiente."},
		{"en", expired, "The payment is expired: only a pending one can be canceled"},
		{"pt", problem.New(problem.AmountAboveMaximum, above), "O valor é no máximo 1.200,50\u00a0USD. Está em dólares, não em centavos."},
		{"pt", missing, "Este pagamento não existe nesta loja e neste ambiente."},
		{"es", cools, "La billetera es nueva y está en su tiempo de espera: espera hasta 29 nov 2026, 13:00\u00a0UTC."},
		{"es", message.Refusal(problem.InvalidRequest, "falta el nombre"), "Falta el nombre"},
		{"en", two, "The amount may be at most 1,200.50\u00a0USD. It is in dollars, not in cents. There is no such payment in this shop and environment."},
	} {
		shown, _ := errors.AsType[*problem.Error](c.err)
		if got := ErrorText(c.lang, shown); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.lang, c.err, got, c.want)
		}
	}
	if got := FieldErrors("pt", two); got["b"] != "Este pagamento não existe nesta loja e neste ambiente." || len(got) != 2 {
		t.Errorf("the fields have %q", got)
	}
}

func TestFlashIsShownOnce(t *testing.T) {
	f, r := start(t)
	set := httptest.NewRecorder()
	f.Flash(set, "g_saved", "id", "<TXN-1>")
	cookie := set.Result().Cookies()[0]
	if !cookie.HttpOnly || cookie.MaxAge > 120 {
		t.Errorf("the cookie is %v", cookie)
	}
	w := shownPage(t, r, visit("payments", true, "pt"), "list", "/", "Cookie", cookie.Name+"="+cookie.Value)
	if !strings.Contains(w.Body.String(), "O pagamento &lt;TXN-1&gt; foi reembolsado.") {
		t.Error("it is not shown")
	}
	if again := w.Result().Cookies(); len(again) != 1 || again[0].MaxAge >= 0 {
		t.Errorf("it stays: %v", again)
	}
	for _, value := range []string{"x", "e30", "bm90IGpzb24", strings.Repeat("A", 9000)} {
		if w := shownPage(t, r, visit("payments", true, "pt"), "list", "/", "Cookie", f.cookieName(flashCookie)+"="+value); strings.Contains(w.Body.String(), `notice good`) {
			t.Errorf("%.20q is shown", value)
		}
	}
}

// Assets are kept forever and sent compressed; a page with all of them stays below 100 KB.
func TestAssetsAreSmallAndKept(t *testing.T) {
	f, r := start(t)
	mux := http.NewServeMux()
	f.Assets(mux)
	page := shownPage(t, r, visit("", true, "en"), "home", "/dashboard/shp_1/production").Body.String()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(z, page); err != nil || z.Close() != nil {
		t.Fatal("gzip")
	}
	total := zipped.Len()
	found := regexp.MustCompile(`/dashboard/assets/[0-9a-f]{12}-[a-z.-]+`).FindAllString(page, -1)
	seen := map[string]bool{}
	for _, path := range found {
		if seen[path] {
			continue
		}
		seen[path] = true
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, get(path, "Accept-Encoding", "br, gzip"))
		if w.Code != 200 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		total += w.Body.Len()
		plain := httptest.NewRecorder()
		mux.ServeHTTP(plain, get(path, "Accept-Encoding", "gzip;q=0"))
		if plain.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed for who cannot read it", path)
		}
		if w.Header().Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(z); err != nil || !bytes.Equal(body, plain.Body.Bytes()) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if len(seen) < 7 || total > 100_000 {
		t.Errorf("the page has %d assets and %d bytes with them", len(seen), total)
	}
	t.Logf("a page with charts: %d bytes, with all assets %d", zipped.Len(), total)
}
