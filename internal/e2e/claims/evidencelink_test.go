package claims

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/evidencelink"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// fetcher is a court that takes links. It fetches each file from every node while it answers.
type fetcher struct {
	*court
	nodes []*app.App
	log   *harness.Faults
	links map[string]string // by the file's name
	got   []string
}

func (f *fetcher) Defend(ctx context.Context, r provider.EvidenceRequest) pay.DefenseAnswer {
	f.links = map[string]string{}
	for _, p := range r.Pieces {
		if p.File == nil {
			continue
		}
		link, ok := p.File.Link()
		if !ok {
			return pay.DefenseAnswer{Kind: pay.DefenseRefused}
		}
		f.links[p.File.Name] = link
		for _, node := range f.nodes {
			f.got = append(f.got, fetch(node, f.log, http.MethodGet, link).Body.String())
		}
	}
	return f.court.Defend(ctx, r)
}

func fetch(node *app.App, log *harness.Faults, method, address string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	evidencelink.New(node.ClaimLists, slog.New(log)).ServeHTTP(w, httptest.NewRequest(method, address, nil))
	return w
}

// A link gives its one file, from every node, for some minutes and one submission. Every other link has one answer.
func TestALinkIsToOneFileOfOneSubmission(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		f := &fetcher{court: newCourt(nil), log: &harness.Faults{}}
		tr := disputed(t, database, f.court)
		f.log = tr.log
		f.nodes = []*app.App{harness.Node(t, database, tr.clock, f, tr.log), harness.Node(t, database, tr.clock, f, tr.log)}
		tr.node = f.nodes[0]
		tr.says(t, "", "it was signed for")
		tr.says(t, "slip.txt", "weight 2 kg")
		tr.says(t, "photo.txt", "a door")
		if c := tr.after(t, 16*time.Minute); c.Defense.State != pay.DefenseSubmitted || strings.Join(f.got, ", ") != "weight 2 kg, weight 2 kg, a door, a door" {
			t.Fatalf("the claim is %s; the provider fetched %q", c, f.got)
		}
		link := f.links["slip.txt"]
		reply := fetch(tr.node, f.log, http.MethodGet, link)
		h := reply.Header()
		for name, want := range map[string]string{
			"Content-Disposition": "attachment; filename=slip.txt", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Type": "text/plain",
			"Referrer-Policy": "no-referrer", "Content-Length": "11", "Set-Cookie": "",
		} {
			if h.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, h.Get(name), want)
			}
		}
		if reply.Code != http.StatusOK || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%d with %v", reply.Code, h)
		}
		nowhere := fetch(tr.node, f.log, http.MethodGet, "/evidence/")
		none := func(why, method, link string) {
			t.Helper()
			got := fetch(tr.node, f.log, method, link)
			if got.Code != http.StatusNotFound || got.Body.String() != nowhere.Body.String() || !maps.EqualFunc(got.Header(), nowhere.Header(), func(a, b []string) bool { return strings.Join(a, ",") == strings.Join(b, ",") }) {
				t.Errorf("%s: %d %q with %v", why, got.Code, got.Body, got.Header())
			}
		}
		path := len("http://127.0.0.1/evidence/")
		for i := path; i < len(link); i++ {
			other := "A"
			if link[i] == 'A' {
				other = "B"
			}
			none("another letter", http.MethodGet, link[:i]+other+link[i+1:])
		}
		body, mac, _ := strings.Cut(link[path:], ".")
		foreign, _, _ := strings.Cut(f.links["photo.txt"][path:], ".")
		for why, token := range map[string]string{"no signature": body, "an empty one": body + ".", "another file's": foreign + "." + mac, "more": link[path:] + ".x", "nothing signed": "." + mac} {
			none(why, http.MethodGet, "/evidence/"+token)
		}
		none("another method", http.MethodPost, link)
		none("a path below", http.MethodGet, link+"/x")
		tr.clock.Advance(10*time.Minute - time.Second)
		if got := fetch(tr.node, f.log, http.MethodHead, link); got.Code != http.StatusOK || got.Header().Get("Content-Length") != "11" {
			t.Errorf("before its end: %d", got.Code)
		}
		tr.clock.Advance(time.Second)
		none("its time is over", http.MethodGet, link)

		// A later submission ends the links of the one before.
		tr.says(t, "", "and he thanked us")
		tr.after(t, 16*time.Minute)
		link = f.links["slip.txt"]
		tr.says(t, "", "twice")
		if got := fetch(tr.node, f.log, http.MethodGet, link); got.Code != http.StatusNotFound {
			t.Errorf("a link of the submission before: %d", got.Code)
		}
		harness.Sound(t, tr.node, tr.log)
	})
}
