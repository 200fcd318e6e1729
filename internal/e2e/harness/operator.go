package harness

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const adminBase = "/admin/v1"

// Operator uses the admin API of a service with a token.
type Operator struct {
	*Instance
	Name, Token string
	Log         *Diary
}

// Diary is a log of every level, as text.
type Diary struct {
	mu   sync.Mutex // owns text
	text bytes.Buffer
}

// Write is for io.Writer.
func (d *Diary) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(line)
}

func (d *Diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

// Operated runs a test on each engine as the operator ana of a service that has the admin API and
// the adapter of the plain provider. After the test it fails if the log has an error or a secret.
func Operated(t *testing.T, test func(t *testing.T, op Operator)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		log := &Diary{}
		s := StartWith(t, database, &Clock{}, func(c *daemon.Config) {
			c.FX = daemon.FX{StaleAfter: Century, MaxAge: Century}
			c.Adapters = []provider.Adapter{providertest.Plain()}
			c.Admin, c.Log = "127.0.0.1:0", slog.New(slog.NewTextHandler(log, nil))
		})
		s.Rate(t, "BRL 5.4", "MXN 18.35")
		PublishedForOperators.Do(func() {
			PublishedForOperators.Spec = ReadOperatorsDocument(t, s)
		})
		if PublishedForOperators.Spec == nil {
			t.Fatal("the admin API's OpenAPI document could not be read")
		}
		test(t, s.Operator(t, "ana", log))
		if text := log.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "hush") || strings.Contains(text, "key-1") {
			t.Errorf("the service logged an error or a secret:\n%s", text)
		}
	})
}

// Operator adds an operator with all rights to the service.
func (s *Instance) Operator(t *testing.T, name string, log *Diary) Operator {
	t.Helper()
	return OperatorToken(t, s, auth.Newcomer{Name: name, Role: operators.Admin}, log)
}

// OperatorToken adds an operator to a service.
func OperatorToken(t *testing.T, s *Instance, n auth.Newcomer, log *Diary) Operator {
	t.Helper()
	token, _, err := s.App.Operators.Add(ctx, audit.Actor{Kind: audit.BySystem}, n)
	Must(t, err)
	return Operator{s, n.Name, token, log}
}

// Ask makes a request to the admin API. A header line "Name: " removes the header. It fails the
// test if the reply may be cached, names another request, has a secret, or differs from the
// OpenAPI document.
func (op Operator) Ask(t *testing.T, method, path, body string, header ...string) Reply {
	t.Helper()
	q := Request{Method: method, Path: adminBase + path, Body: body, Header: http.Header{"Authorization": {"Bearer " + op.Token}}}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if q.Header.Set(name, value); value == "" {
			q.Header.Del(name)
		}
	}
	req, err := http.NewRequest(method, op.AdminURL+path, strings.NewReader(body))
	Must(t, err)
	req.Header = q.Header
	res, err := http.DefaultClient.Do(req)
	Must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	Must(t, err)
	r := Reply{request: q, Status: res.StatusCode, Header: res.Header, Body: text}
	if got := r.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q, want no-store: %s", got, r)
	}
	if id := r.Header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") || r.Status >= 400 && id != r.Text(t, "error.requestId") {
		t.Errorf("X-Request-Id is %q, want the prefix req_, and the same id in an error: %s", id, r)
	}
	if strings.Contains(string(text), "hush") || strings.Contains(string(text), "key-1") || strings.Contains(string(text), op.Token) {
		t.Errorf("the reply has a secret: %s", r)
	}
	PublishedForOperators.check(t, r)
	return r
}

// Get makes a GET request.
func (op Operator) Get(t *testing.T, path string) Reply {
	t.Helper()
	return op.Ask(t, http.MethodGet, path, "")
}

// Post makes a POST request with a JSON body.
func (op Operator) Post(t *testing.T, path, body string) Reply {
	t.Helper()
	return op.Ask(t, http.MethodPost, path, body)
}

// Patch makes a PATCH request with a JSON body.
func (op Operator) Patch(t *testing.T, path, body string) Reply {
	t.Helper()
	return op.Ask(t, http.MethodPatch, path, body)
}

// Remove makes a DELETE request.
func (op Operator) Remove(t *testing.T, path string) Reply {
	t.Helper()
	return op.Ask(t, http.MethodDelete, path, "")
}

// PlainAccount returns the body that opens a production account at an upstream that accepts key-1.
// more is further fields: JSON that begins with a comma, or "".
func PlainAccount(id string, u *providertest.Upstream, more string) string {
	return fmt.Sprintf(`{"id":%q,"adapter":"plain","environment":"production","baseUrl":%q,"credentials":{"apiKey":"key-1","webhookSecret":"%[1]s-hush"}%[3]s}`,
		id, u.URL, more)
}

// Did fails the test unless the audit log has exactly one entry of the act on the object, by this
// operator and by the reply's request.
func (op Operator) Did(t *testing.T, act audit.Act, object string, r Reply) {
	t.Helper()
	list, err := op.App.Audit(ctx, "", "", time.Time{}, 1000)
	Must(t, err)
	var found []audit.Entry
	for _, e := range list {
		if strings.Contains(fmt.Sprint(e), "hush") || strings.Contains(fmt.Sprint(e), "key-1") {
			t.Errorf("the audit log has a secret: %+v", e)
		}
		if e.Act == act && e.Object == object && e.By.Request == r.Header.Get("X-Request-Id") {
			found = append(found, e)
		}
	}
	if len(found) != 1 || found[0].By.Kind != audit.ByOperator || found[0].By.ID != op.Name || found[0].By.IP != "127.0.0.1" {
		t.Errorf("the audit log has %+v for %s, want one entry by %s", found, act, op.Name)
	}
}

// AuditActs returns a merchant's audit log: 100 entries at most.
func AuditActs(t *testing.T, o Client) []audit.Entry {
	t.Helper()
	list, err := o.App.Audit(ctx, o.Merchant.ID, "", time.Time{}, 100)
	Must(t, err)
	return list
}

// AuditEntry returns the entry of an act on an object. It ends the test unless there is exactly
// one.
func AuditEntry(t *testing.T, o Client, act audit.Act, object string) audit.Entry {
	t.Helper()
	var found []audit.Entry
	for _, e := range AuditActs(t, o) {
		if e.Act == act && e.Object == object {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the audit log has %d entries of %s %s, want one: %v", len(found), act, object, AuditActs(t, o))
	}
	return found[0]
}

// AuditByRequest fails the test unless the entry names a key, the reply's request and the shop's
// sandbox.
func AuditByRequest(t *testing.T, o Client, e audit.Entry, r Reply) {
	t.Helper()
	by := e.By
	if by.Kind != audit.ByKey || !strings.HasPrefix(by.ID, "key_") || by.IP != "127.0.0.1" || by.Request != r.Header.Get("X-Request-Id") {
		t.Errorf("%s names the actor %+v, want a key and the request %s", e.Act, by, r.Header.Get("X-Request-Id"))
	}
	if want := (merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}); e.Scope != want {
		t.Errorf("%s has the scope %+v, want %+v", e.Act, e.Scope, want)
	}
	if since := time.Since(e.At); since < 0 || since > Patience {
		t.Errorf("%s has the time %s, want now", e.Act, e.At)
	}
}
