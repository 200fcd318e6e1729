package docs

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// fetchPage fetches a page outside the API.
func fetchPage(t *testing.T, s *harness.Instance, path string) (*http.Response, string) {
	t.Helper()
	res, err := http.Get(s.URL + path)
	harness.Must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	harness.Must(t, err)
	return res, string(body)
}

func TestReferenceShowsTheWholeDocument(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		res, html := fetchPage(t, s, "/docs")
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Fatalf("GET /docs returns %d %v", res.StatusCode, res.Header)
		}
		ids := map[string]bool{}
		for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
			if ids[m[1]] {
				t.Errorf("two elements have the id %s", m[1])
			}
			ids[m[1]] = true
		}
		for path, item := range s.Spec.Paths {
			for method, operation := range item.(map[string]any) {
				id, _ := harness.At(operation, "operationId")
				if !ids[id.(string)] || !strings.Contains(html, `<code class="path">`+path+`</code>`) {
					t.Errorf("the page does not show %s %s", method, path)
				}
			}
		}
		if !strings.Contains(html, "<td>.65</td><td>3-D Secure: the shopper passes it") {
			t.Error("the page does not list the test amounts of the sandbox")
		}
		for name := range s.Spec.Tree["webhooks"].(map[string]any) {
			if !ids["event-"+name] {
				t.Errorf("the page does not show the event %s", name)
			}
		}
		for _, code := range s.Spec.Tree["x-error-codes"].([]any) {
			if name, _ := harness.At(code, "code"); !ids["error-"+name.(string)] {
				t.Errorf("the page does not show the error %v", name)
			}
		}
		for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(html, -1) {
			if !ids[m[1]] {
				t.Errorf("a link leads to #%s, which does not exist", m[1])
			}
		}
	})
}

// The home page of a service says in the README's words what it is, and its links work.
func TestHomePageSaysWhatThisIs(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		res, html := fetchPage(t, s, "/")
		if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/html") {
			t.Fatalf("GET / returns %d %s", res.StatusCode, kind)
		}
		for _, m := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(html, -1) {
			if res, _ := fetchPage(t, s, m[1]); res.StatusCode != http.StatusOK {
				t.Errorf("the page links to %s, which returns %d", m[1], res.StatusCode)
			}
		}
		for _, want := range []string{`href="/docs"`, `href="/readyz"`, s.URL + harness.APIPath} {
			if !strings.Contains(html, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		if strings.Contains(html, `href="/demo"`) { // this service has no demo
			t.Error("the page links to a demo that does not exist")
		}
		readme, err := os.ReadFile("../../../README.md")
		harness.Must(t, err)
		lead := regexp.MustCompile(`<p class="lead">([^<]+)</p>`).FindStringSubmatch(html)
		if lead == nil || !strings.Contains(strings.Join(strings.Fields(string(readme)), " "), lead[1]) {
			t.Errorf("the page's first sentence is not in the README: %q", lead)
		}
	})
}

// The reference loads nothing from other hosts, and its policy allows no inline script or style.
func TestReferenceStandsAlone(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		res, html := fetchPage(t, s, "/docs")
		policy := res.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("the policy is %q", policy)
		}
		for _, m := range regexp.MustCompile(`(?:src|href)="([^"#][^"]*)"`).FindAllStringSubmatch(html, -1) {
			if !strings.HasPrefix(m[1], "/") || strings.HasPrefix(m[1], "//") {
				t.Errorf("the page refers to the outside address %s", m[1])
				continue
			}
			if res, _ := fetchPage(t, s, m[1]); res.StatusCode != http.StatusOK {
				t.Errorf("the page refers to %s, which returns %d", m[1], res.StatusCode)
			}
		}
		if found := regexp.MustCompile(`(?i)<[^>]+\s(on\w+|style)=|<style|<script>`).FindString(html); found != "" {
			t.Errorf("the page has what its policy forbids: %s", found)
		}
		again, err := http.NewRequest(http.MethodGet, s.URL+"/docs", nil)
		harness.Must(t, err)
		again.Header.Set("If-None-Match", res.Header.Get("ETag"))
		same, err := http.DefaultTransport.RoundTrip(again)
		harness.Must(t, err)
		same.Body.Close()
		if same.StatusCode != http.StatusNotModified {
			t.Errorf("a second load with the ETag returns %d, want 304", same.StatusCode)
		}
		if res, _ := fetchPage(t, s, "/docs/nothing"); res.StatusCode != http.StatusNotFound {
			t.Errorf("/docs/nothing returns %d, want 404", res.StatusCode)
		}
	})
}
