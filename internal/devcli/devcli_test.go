package devcli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// Every type of event that the service has can be triggered, or says why not.
func TestEveryTypeOfEventHasARecipe(t *testing.T) {
	var names []string
	for _, r := range recipes {
		names = append(names, r.event)
		if r.how == "" {
			t.Errorf("%s says nothing", r.event)
		}
	}
	for _, kind := range webhooks.EventTypes() {
		if !slices.Contains(names, string(kind)) {
			t.Errorf("there is no recipe for %s", kind)
		}
		if kind.Optional() != slices.Contains(optional, string(kind)) {
			t.Errorf("whether %s is optional differs", kind)
		}
	}
	if len(names) != len(webhooks.EventTypes()) {
		t.Errorf("%d recipes, %d types", len(names), len(webhooks.EventTypes()))
	}
}

// The endpoint gets the signatures that docs/WEBHOOKS.md promises.
func TestSignaturesAreThoseOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/WEBHOOKS.md")
	if err != nil {
		t.Fatal(err)
	}
	var vectors map[string]any
	if err := json.Unmarshal([]byte(regexp.MustCompile("(?s)### Test vectors.*?```json\n(.*?)```").FindStringSubmatch(string(text))[1]), &vectors); err != nil {
		t.Fatal(err)
	}
	body, _ := vectors["body"].(string)
	id, _ := vectors["eventId"].(string)
	secret, _ := vectors["secret"].(string)
	stamp, _ := vectors["timestamp"].(float64)
	service, standard := sign(secret, id, time.Unix(int64(stamp), 0), []byte(body))
	if service != vectors["X-Service-Signature"] || standard != vectors["webhook-signature"] {
		t.Errorf("the signatures are %q and %q", service, standard)
	}
}

// fakeFeed is a service's list of events.
type fakeFeed struct {
	mu     sync.Mutex
	events []map[string]any // newest first
	pages  int              // how many were read
	broken func(w http.ResponseWriter, r *http.Request) bool
}

func (f *fakeFeed) put(at time.Time, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, map[string]any{"id": id, "type": "payment.completed", "createdAt": at.UTC().Format("2006-01-02T15:04:05.000Z"), "at": at, "data": map[string]any{"object": map[string]any{"id": "TXN-" + id}}})
	slices.SortStableFunc(f.events, func(a, b map[string]any) int { return b["at"].(time.Time).Compare(a["at"].(time.Time)) })
}

func (f *fakeFeed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil && f.broken(w, r) {
		return
	}
	if id, one := strings.CutPrefix(r.URL.Path, apiPath+"/events/"); one {
		for _, e := range f.events {
			if e["id"] == id {
				_ = json.NewEncoder(w).Encode(e)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":{"code":"event_not_found","message":"gone"}}`))
		return
	}
	f.pages++
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	from, _ := time.Parse(time.RFC3339Nano, r.FormValue("from"))
	after, begun := r.FormValue("startingAfter"), r.FormValue("startingAfter") == ""
	total, rows, next := 0, []map[string]any{}, any(nil)
	for _, e := range f.events {
		if e["at"].(time.Time).Before(from) {
			continue
		}
		if total++; begun {
			if len(rows) < limit {
				rows = append(rows, e)
			} else if next == nil {
				next = rows[limit-1]["id"]
			}
		}
		begun = begun || e["id"] == after
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": rows, "pagination": map[string]any{"total": total, "nextCursor": next}})
}

// newFeed returns a feed of a fake service.
func newFeed(t *testing.T) (*feed, *fakeFeed) {
	t.Helper()
	service := &fakeFeed{}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	a, err := newAPI(profile{URL: server.URL, Key: "sk_test_1", Shop: "shp_1"})
	if err != nil {
		t.Fatal(err)
	}
	return &feed{api: a, known: map[string]time.Time{}}, service
}

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func ids(list []event) (all []string) {
	for _, e := range list {
		all = append(all, e.ID)
	}
	return all
}

func (f *feed) must(t *testing.T, want ...string) {
	t.Helper()
	list, err := f.poll(context.Background())
	if got := ids(list); err != nil || !slices.Equal(got, want) {
		t.Errorf("found %v (%v), want %v", got, err, want)
	}
}

// An event is found once and in its order, also one that appears below others that were found before, and one of an emptied sandbox
// whose clock went back.
func TestFeedFindsEveryEventOnce(t *testing.T) {
	f, service := newFeed(t)
	service.put(noon, "evt_old")
	if err := f.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.must(t)
	service.put(noon.Add(2*time.Second), "evt_2")
	service.put(noon.Add(time.Second), "evt_1")
	f.must(t, "evt_1", "evt_2")
	for i := range 150 { // more than a page above it
		service.put(noon.Add(time.Minute+time.Duration(i)*time.Second), fmt.Sprintf("evt_b%03d", i))
	}
	if list, err := f.poll(t.Context()); err != nil || len(list) != 150 || list[0].ID != "evt_b000" {
		t.Fatalf("%d events, %v", len(list), err)
	}
	service.put(noon.Add(3*time.Second), "evt_late")
	f.must(t, "evt_late")
	before := service.pages
	f.must(t)
	if service.pages != before+1 {
		t.Errorf("a look at nothing new costs %d pages", service.pages-before)
	}
	service.mu.Lock()
	service.events = nil
	service.mu.Unlock()
	f.must(t)
	service.put(noon.Add(-24*time.Hour), "evt_anew")
	f.must(t, "evt_anew")
	f.must(t)
}

// What is known stays bounded, and nothing is found twice for it. The bodies of many waiting events are read again.
func TestFeedForgetsAndHoldsLittle(t *testing.T) {
	f, service := newFeed(t)
	for i := range mostKnown + 50 {
		service.events = append(service.events, map[string]any{"id": fmt.Sprintf("evt_%05d", i), "type": "claim.opened", "at": noon.Add(-time.Duration(i) * time.Second),
			"createdAt": noon.Add(-time.Duration(i) * time.Second).Format(time.RFC3339)})
	}
	list, err := f.poll(t.Context())
	if err != nil || len(list) != mostKnown+50 {
		t.Fatalf("%d events, %v", len(list), err)
	}
	if !f.trim() || len(f.known) > mostKnown/2+50 {
		t.Errorf("%d events are known", len(f.known))
	}
	f.must(t)
	f.held = maxHeld
	if e := f.hold(list[0]); e.raw != nil {
		t.Error("the body of an event beyond the bound is held")
	} else if e, err := f.body(t.Context(), e); err != nil || len(e.raw) == 0 {
		t.Errorf("its body is not read again: %v", err)
	}
}

// Whatever a service answers, it is an error that says what to do, and nothing hangs.
func TestFeedRefusesGarbage(t *testing.T) {
	for name, text := range map[string]string{
		"a page":                 "<!doctype html><title>Welcome</title>",
		"nothing":                "",
		"no list":                `{"ok":true}`,
		"an event without an id": `{"data":[{"type":"x","createdAt":"2026-11-26T12:00:00Z"}],"pagination":{"total":1}}`,
		"an event of another":    `{"data":["evt"],"pagination":{"total":1}}`,
		"a number for a cursor":  `{"data":[],"pagination":{"total":1,"nextCursor":5}}`,
		"a circle":               `{"data":[{"id":"evt_1","type":"x","createdAt":"2026-11-26T12:00:00Z"}],"pagination":{"total":9,"nextCursor":"evt_1"}}`,
	} {
		f, service := newFeed(t)
		service.broken = func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(text))
			return true
		}
		list, err := f.poll(t.Context())
		if err == nil || refused(err) {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
	f, service := newFeed(t)
	service.broken = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"code":"invalid_api_key","message":"no"}}`))
		return true
	}
	if _, err := f.poll(t.Context()); !refused(err) || !strings.Contains(err.Error(), "run login") {
		t.Errorf("a revoked key: %v", err)
	}
	service.broken = func(w http.ResponseWriter, _ *http.Request) bool { // a cursor of another merchant
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":{"code":"invalid_request","message":"startingAfter must be the id of an event"}}`))
		return true
	}
	if _, err := f.poll(t.Context()); err == nil || refused(err) {
		t.Errorf("a cursor that is gone ends it: %v", err)
	}
}

// An answer that was lost is asked for again with the same key, and only then.
func TestLostAnswersAreRepeatedWithTheSameKey(t *testing.T) {
	before := pauses
	pauses = []time.Duration{time.Millisecond, time.Millisecond}
	t.Cleanup(func() { pauses = before })
	var mu sync.Mutex // of an answer that is cut off, the client hears before the handler ends
	var keys []string
	fail := func(w http.ResponseWriter) {}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if keys = append(keys, r.Header.Get(idempotencyHeader)); len(keys) < 3 {
			fail(w)
			return
		}
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	defer server.Close()
	a, err := newAPI(profile{URL: server.URL, Key: "sk_test_1"})
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(status int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(status); _, _ = w.Write([]byte(body)) }
	}
	cut := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		name       string
		fail       func(http.ResponseWriter)
		key        string
		calls, end int // how often it is called; 0: it is done, else the exit code
	}{
		{"cut off", cut, "k", 3, 0},
		{"cut off, no key", cut, "", 1, exitUnknown},
		{"unknown", refuse(503, `{"error":{"code":"service_unavailable","details":{"reason":"outcome_unknown"}}}`), "k", 3, 0},
		{"unknown, no key", refuse(503, `{"error":{"code":"service_unavailable","details":{"reason":"outcome_unknown"}}}`), "", 1, exitUnknown},
		{"nothing was done", refuse(503, `{"error":{"code":"service_unavailable"}}`), "", 3, 0},
		{"still running", refuse(409, `{"error":{"code":"idempotency_conflict","details":{"reason":"request_in_progress"}}}`), "k", 3, 0},
		{"a proxy", refuse(502, `<html>`), "k", 3, 0},
		{"refused", refuse(409, `{"error":{"code":"conflict_state"}}`), "k", 1, 0},
	} {
		mu.Lock()
		keys, fail = nil, c.fail
		mu.Unlock()
		one := call{method: "POST", path: "/payments", header: map[string]string{}}
		if c.key != "" {
			one.header[idempotencyHeader] = c.key
		}
		_, err := a.send(t.Context(), one)
		code := 0
		if e, ok := err.(exit); ok {
			code = e.code
		}
		mu.Lock()
		if len(keys) != c.calls || code != c.end || len(slices.Compact(slices.Clone(keys))) != 1 {
			t.Errorf("%s: called with %q, exit %d (%v)", c.name, keys, code, err)
		}
		mu.Unlock()
	}
}

// A key stays with the service that it was stored for, and a live one is not sent in the clear.
func TestKeysGoNowhereElse(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	path, err := profilesPath()
	if err != nil {
		t.Fatal(err)
	}
	if err := (profiles{map[string]profile{defaultProfile: {"https://pay.example.com", "sk_live_1", "shp_1"}}}).write(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := (Access{}).chosen(); err != nil || p.Key != "sk_live_1" {
		t.Errorf("the profile is %v, %v", p, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file stays readable for others: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
	for name, c := range map[string]struct {
		access Access
		want   string
	}{
		"another service":    {Access{URL: "https://evil.example"}, "belongs to https://pay.example.com"},
		"another port":       {Access{URL: "https://pay.example.com:8443"}, "belongs to"},
		"in the clear":       {Access{URL: "http://pay.example.com", Key: "sk_live_1"}, "https://pay.example.com"},
		"no such profile":    {Access{Profile: "other"}, "login --profile other"},
		"a publishable key":  {Access{URL: "https://pay.example.com", Key: "pk_test_1"}, "sk_test_"},
		"a key in two lines": {Access{URL: "https://pay.example.com", Key: "sk_test_\n1"}, "copy it again"},
		"no address":         {Access{URL: "pay.example.com", Key: "sk_test_1"}, "https://pay.example.com"},
		"a password":         {Access{URL: "https://a:b@pay.example.com", Key: "sk_test_1"}, "user name"},
	} {
		if _, err := c.access.open(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
	if _, err := (Access{URL: "https://PAY.example.com/api/v1/"}).open(); err != nil {
		t.Errorf("the same service: %v", err)
	}
}
