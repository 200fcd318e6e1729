package guide

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/web"
)

// bare is a reference of one operation.
type bare struct{}

func (bare) Markdown() (string, error) { return "# API reference\n\nrefundPayment\n", nil }
func (bare) Sections() ([]web.Section, error) {
	return []web.Section{{Page: "API reference", Title: "Refund a payment", URL: "/docs#refundPayment", Text: "amount"}}, nil
}

func pages(t *testing.T) http.Handler {
	t.Helper()
	return New("https://shop.test", bare{})
}

func get(t *testing.T, h http.Handler, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every guide has a page and its Markdown, with all snippets in all languages at this service's address; all links between guides lead somewhere.
func TestGuidesAreWhole(t *testing.T) {
	h := pages(t)
	list, err := All()
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`href="(/docs/guides[^"#]*)`)
	index := body(t, get(t, h, "/llms.txt"))
	for _, g := range list {
		page, markdown := body(t, get(t, h, "/docs/guides/"+g.Name)), body(t, get(t, h, "/docs/guides/"+g.Name+".md"))
		for _, text := range []string{page, markdown} {
			if strings.Contains(text, "pay.example") || strings.Contains(text, directive) || !strings.Contains(text, g.Title) {
				t.Errorf("%s has a directive, lacks its title, or has the example's address: %.300s", g.Name, text)
			}
		}
		if len(g.About) < 20 || strings.Contains(g.About, "#") || !strings.Contains(index, "["+g.Title+"](https://shop.test/docs/guides/"+g.Name+".md): "+g.About) {
			t.Errorf("llms.txt does not name %s: %s", g.Name, g.About)
		}
		for _, name := range g.Names() {
			snippets, err := g.Snippets(name)
			if err != nil || len(snippets) != len(Languages) {
				t.Errorf("%s: %s is in %d languages (%v)", g.Name, name, len(snippets), err)
			}
			for _, s := range snippets {
				if code := strings.ReplaceAll(s.Code, example, "https://shop.test"); !strings.Contains(markdown, "```"+s.Fence+"\n"+code+"\n```") {
					t.Errorf("the Markdown of %s lacks %s in %s", g.Name, name, s.Name)
				}
			}
		}
		for _, found := range links.FindAllStringSubmatch(page, -1) {
			if r := get(t, h, found[1]); r.StatusCode != http.StatusOK {
				t.Errorf("%s links to %s, which answers %d", g.Name, found[1], r.StatusCode)
			}
		}
	}
	all := body(t, get(t, h, "/llms-full.txt"))
	if !strings.Contains(all, "# Webhooks") || !strings.Contains(all, "refundPayment") {
		t.Error("llms-full.txt is not everything")
	}
	for _, path := range []string{"/docs/guides/none", "/docs/guides/none.md", "/docs/guides/../guide.go"} {
		if r := get(t, h, path); r.StatusCode < 300 {
			t.Errorf("%s answers %d", path, r.StatusCode)
		}
	}
}

// A search finds words of the text, not only of titles, and what it finds has an anchor on its page.
func TestSearchSeesTheText(t *testing.T) {
	h := pages(t)
	var index []web.Section
	if err := json.Unmarshal([]byte(body(t, get(t, h, "/docs/search.json"))), &index); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{"dead_letter": "", "sbx_cash": "", "external_reference": "", "amount": ""}
	for _, s := range index {
		for word := range found {
			if strings.Contains(s.Text, word) {
				found[word] = s.URL
			}
		}
		path, anchor, _ := strings.Cut(s.URL, "#")
		if anchor != "" && path != "/docs" && !strings.Contains(body(t, get(t, h, path)), `id="`+anchor+`"`) {
			t.Errorf("a search finds %s, and its page has no such part", s.URL)
		}
	}
	for word, url := range found {
		if url == "" {
			t.Errorf("a search does not find %s", word)
		}
	}
}

// Files are compressed for those who can read that, and sent once.
func TestFilesAreCompressedAndKnown(t *testing.T) {
	h := pages(t)
	plain, small := get(t, h, "/docs/guides/webhooks"), get(t, h, "/docs/guides/webhooks", "Accept-Encoding", "br, gzip;q=0.8")
	z, err := gzip.NewReader(small.Body)
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := io.ReadAll(z)
	if err != nil || string(unzipped) != body(t, plain) {
		t.Errorf("the compressed page is another one (%v)", err)
	}
	if plain.Header.Get("ETag") == small.Header.Get("ETag") || small.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("a cache confuses the two: %v, %v", plain.Header, small.Header)
	}
	for header, want := range map[string]int{small.Header.Get("ETag"): http.StatusNotModified, `"another"`: http.StatusOK} {
		if r := get(t, h, "/docs/guides/webhooks", "Accept-Encoding", "gzip", "If-None-Match", header); r.StatusCode != want {
			t.Errorf("If-None-Match %s is answered %d, want %d", header, r.StatusCode, want)
		}
	}
	if r := get(t, h, "/docs/guides/webhooks", "Accept-Encoding", "gzip;q=0, identity"); r.Header.Get("Content-Encoding") != "" {
		t.Error("a page is compressed for a client that refuses it")
	}
}
