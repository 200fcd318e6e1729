package e2e

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

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const adminBase = "/admin/v1"

// operator is who uses the admin API of a service, with a token.
type operator struct {
	*service
	name, token string
	log         *diary
}

// diary is a log of every level, as text.
type diary struct {
	mu   sync.Mutex // owns text
	text bytes.Buffer
}

// Write is for io.Writer.
func (d *diary) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(line)
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

// operated runs a test on each engine as the operator of a service where accounts
// may be opened at the plain provider.
func operated(t *testing.T, test func(t *testing.T, op operator)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		log := &diary{}
		s := startWith(t, database, &clock{}, func(c *daemon.Config) {
			c.FX = daemon.FX{StaleAfter: century, MaxAge: century}
			c.Adapters = []provider.Adapter{providertest.Plain()}
			c.Admin, c.Log = "127.0.0.1:0", slog.New(slog.NewTextHandler(log, nil))
		})
		s.rate(t, "BRL 5.4", "MXN 18.35")
		publishedForOperators.Do(func() {
			publishedForOperators.spec = readSpec(t, s.AdminURL+"/openapi.json", adminBase, &witnessedByOperators)
		})
		if publishedForOperators.spec == nil {
			t.Fatal("the admin API's OpenAPI document could not be read")
		}
		test(t, s.operator(t, "ana", log))
		if text := log.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "hush") || strings.Contains(text, "key-1") {
			t.Errorf("the service logged a fault, or a secret:\n%s", text)
		}
	})
}

// operator adds one.
func (s *service) operator(t *testing.T, name string, log *diary) operator {
	t.Helper()
	token, _, err := s.App.Operators.Add(ctx, s.App.Self(), name, time.Time{})
	must(t, err)
	return operator{s, name, token, log}
}

// ask makes a request of the admin API and proves what holds for every reply.
func (op operator) ask(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	q := request{method: method, path: adminBase + path, body: body, header: http.Header{"Authorization": {"Bearer " + op.token}}}
	if body != "" {
		q.header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if q.header.Set(name, value); value == "" {
			q.header.Del(name)
		}
	}
	req, err := http.NewRequest(method, op.AdminURL+path, strings.NewReader(body))
	must(t, err)
	req.Header = q.header
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(t, err)
	r := reply{request: q, status: res.StatusCode, header: res.Header, body: text}
	if got := r.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q: %s", got, r)
	}
	if id := r.header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") || r.status >= 400 && id != r.text(t, "error.requestId") {
		t.Errorf("X-Request-Id is %q: %s", id, r)
	}
	if strings.Contains(string(text), "hush") || strings.Contains(string(text), "key-1") || strings.Contains(string(text), op.token) {
		t.Errorf("the reply tells a secret: %s", r)
	}
	publishedForOperators.check(t, r)
	return r
}

func (op operator) get(t *testing.T, path string) reply {
	t.Helper()
	return op.ask(t, http.MethodGet, path, "")
}

func (op operator) post(t *testing.T, path, body string) reply {
	t.Helper()
	return op.ask(t, http.MethodPost, path, body)
}

func (op operator) patch(t *testing.T, path, body string) reply {
	t.Helper()
	return op.ask(t, http.MethodPatch, path, body)
}

func (op operator) remove(t *testing.T, path string) reply {
	t.Helper()
	return op.ask(t, http.MethodDelete, path, "")
}

// plainAccount is the body that opens an account at an upstream which knows key-1.
func plainAccount(id string, u *providertest.Upstream, more string) string {
	return fmt.Sprintf(`{"id":%q,"adapter":"plain","environment":"production","baseUrl":%q,"credentials":{"apiKey":"key-1","webhookSecret":"%[1]s-hush"}%[3]s}`,
		id, u.URL, more)
}

// did fails the test unless the audit log has one entry of the act, in the name of
// the operator and of the reply's request.
func (op operator) did(t *testing.T, act audit.Act, object string, r reply) {
	t.Helper()
	list, err := op.App.Audit(ctx, "", "", time.Time{}, 1000)
	must(t, err)
	var found []audit.Entry
	for _, e := range list {
		if strings.Contains(fmt.Sprint(e), "hush") || strings.Contains(fmt.Sprint(e), "key-1") {
			t.Errorf("the audit log tells a secret: %+v", e)
		}
		if e.Act == act && e.Object == object && e.By.Request == r.header.Get("X-Request-Id") {
			found = append(found, e)
		}
	}
	if len(found) != 1 || found[0].By.Kind != audit.ByOperator || found[0].By.ID != op.name || found[0].By.IP != "127.0.0.1" {
		t.Errorf("the audit log has %+v of %s, want one entry by %s", found, act, op.name)
	}
}

func TestOperatorRunsAnAccountFromItsFirstDayToItsLast(t *testing.T) {
	operated(t, func(t *testing.T, op operator) {
		u := providertest.NewUpstream(t, "key-1")
		o := op.shop(t)
		live := o.live()
		op.get(t, "/adapters").is(t, http.StatusOK, `{"data":[{"name":"plain","rails":["pix.BRA","spei.MEX"],"credentials":[
			{"name":"apiKey","doc":"Settings, API keys","required":true,"secret":true},
			{"name":"webhookSecret","doc":"Settings, Notifications","required":true,"secret":true},
			{"name":"merchantNumber","doc":"Settings, Profile","required":false,"secret":false}]}]}`)
		op.get(t, "/accounts").is(t, http.StatusOK, `{"data":[]}`)

		// It takes payments from the reply on.
		opened := op.post(t, "/accounts", plainAccount("bank", u, `,"rails":["pix.BRA"],"priority":7,"terms":[{"price":"2%+0.30","limits":["BRL:1-500"]}],"merchantId":"`+o.Merchant.ID+`"`))
		bank := func(version int, more string) string {
			return fmt.Sprintf(`{"id":"bank","adapter":"plain","environment":"production","merchantId":%q,"baseUrl":%q,"credentials":["apiKey","webhookSecret"],
				"notificationUrl":%q,"paysOut":false,"version":%d,"createdAt":"<time>","updatedAt":"<time>",%s}`, o.Merchant.ID, u.URL, op.URL+apiPath+"/providers/bank/notifications", version, more)
		}
		asOpened := `"status":"enabled","priority":7,"rails":["pix.BRA"],"allRails":false,"terms":[{"price":"2%+0.3","limits":["BRL:1-500"]}]`
		opened.is(t, http.StatusCreated, bank(1, asOpened))
		op.did(t, audit.ProviderAdded, "bank", opened)
		paid := live.create(t, live.pix(t))
		op.get(t, "/accounts/bank").is(t, http.StatusOK, bank(1, asOpened))
		op.get(t, "/accounts").is(t, http.StatusOK, `{"data":[`+bank(1, asOpened)+`]}`)
		op.post(t, "/accounts/bank/check", "").is(t, http.StatusOK, `{"account":"bank","result":"works"}`)

		changed := op.patch(t, "/accounts/bank", `{"version":1,"priority":3,"rails":[],"terms":[]}`)
		asChanged := `"status":"enabled","priority":3,"rails":["pix.BRA","spei.MEX"],"allRails":true,"terms":[]`
		changed.is(t, http.StatusOK, bank(2, asChanged))
		op.did(t, audit.ProviderChanged, "bank", changed)
		op.patch(t, "/accounts/bank", `{"version":2}`).is(t, http.StatusOK, bank(2, asChanged)) // nothing is no change
		op.patch(t, "/accounts/bank", `{"version":1,"priority":9}`).refused(t, "409 conflict_state conflict_error reason=version")

		u.Revoke("key-1")
		if r := op.post(t, "/accounts/bank/check", ""); r.text(t, "result") != "fails" || !strings.Contains(r.text(t, "problem"), "401") {
			t.Errorf("a dead key is checked: %s", r)
		}
		u2 := providertest.NewUpstream(t, "key-1") // where payments go on, after the first account could not take them
		op.post(t, "/accounts", plainAccount("second", u2, "")).want(t, http.StatusCreated)
		// A credential may be a PEM text, which has many lines.
		rotated := op.post(t, "/accounts/bank/credentials", `{"credentials":{"webhookSecret":"bank-hush-2","merchantNumber":"-----BEGIN KEY-----\n77\n-----END KEY-----\n"}}`).want(t, http.StatusOK)
		if got := rotated.text(t, "credentials"); got != "[apiKey merchantNumber webhookSecret]" || rotated.text(t, "version") != "3" {
			t.Errorf("after a rotation it has %s: %s", got, rotated)
		}
		if at := rotated.text(t, "rotatedAt"); at == "" {
			t.Errorf("it is not told when: %s", rotated)
		}
		op.did(t, audit.ProviderRotated, "bank", rotated)
		op.told(t, u, paid, 1, "paid", "bank-hush-2").want(t, http.StatusOK)
		if got := live.status(t, paid); got != "completed" {
			t.Errorf("a notification with the new secret leaves the payment %s", got)
		}

		disabled := op.post(t, "/accounts/second/disable", "").want(t, http.StatusOK)
		op.did(t, audit.ProviderDisabled, "second", disabled)
		op.post(t, "/accounts/second/disable", "").is(t, http.StatusOK, string(disabled.body)) // twice changes nothing
		if r := live.post(t, "/payments", live.pix(t)); r.status == http.StatusCreated {
			t.Errorf("a disabled account took a payment: %s", r)
		}
		op.did(t, audit.ProviderEnabled, "second", op.post(t, "/accounts/second/enable", "").want(t, http.StatusOK))
		open := live.create(t, live.pix(t))
		op.remove(t, "/accounts/second").refused(t, "409 conflict_state conflict_error reason=open_payments")
		op.told(t, u2, open, 2, "paid", "second-hush").want(t, http.StatusOK)
		removed := op.remove(t, "/accounts/second").want(t, http.StatusOK)
		if removed.text(t, "status") != "removed" || removed.text(t, "credentials") != "[]" {
			t.Errorf("removed: %s", removed)
		}
		op.did(t, audit.ProviderRemoved, "second", removed)
		op.remove(t, "/accounts/bank?force=true").want(t, http.StatusOK)
		op.get(t, "/accounts").is(t, http.StatusOK, `{"data":[]}`)
		if r := op.get(t, "/accounts?all=true").want(t, http.StatusOK); strings.Count(string(r.body), `"status":"removed"`) != 2 {
			t.Errorf("with the removed ones: %s", r)
		}
		const gone = "409 conflict_state conflict_error reason=removed"
		op.patch(t, "/accounts/bank", `{"version":4}`).refused(t, gone)
		op.post(t, "/accounts/bank/credentials", `{"credentials":{"apiKey":"key-1"}}`).refused(t, gone)
		op.post(t, "/accounts/bank/enable", "").refused(t, gone)
		op.post(t, "/accounts/bank/disable", "").refused(t, gone)
		op.post(t, "/accounts/bank/check", "").refused(t, gone)
		op.remove(t, "/accounts/bank").refused(t, gone)
		op.post(t, "/accounts", plainAccount("bank", u2, "")).refused(t, "409 conflict_state conflict_error param=id reason=id_taken")
	})
}

// Of two operators who read the same account neither undoes what the other does.
func TestOperatorsDoNotOverwriteEachOther(t *testing.T) {
	operated(t, func(t *testing.T, op operator) {
		u := providertest.NewUpstream(t, "key-1")
		bo := op.operator(t, "bo", op.log)
		op.post(t, "/accounts", plainAccount("bank", u, "")).want(t, http.StatusCreated)
		for version := 1; version <= 5; version++ {
			replies := make([]reply, 2)
			var both sync.WaitGroup
			for i, who := range []operator{op, bo} {
				both.Go(func() {
					replies[i] = who.patch(t, "/accounts/bank", fmt.Sprintf(`{"version":%d,"priority":%d}`, version, 10*version+i))
				})
			}
			both.Wait()
			won := 0
			if replies[1].status == http.StatusOK {
				won = 1
			}
			who := []operator{op, bo}[won]
			replies[won].want(t, http.StatusOK)
			who.did(t, audit.ProviderChanged, "bank", replies[won])
			replies[1-won].refused(t, "409 conflict_state conflict_error reason=version")
			if got := op.get(t, "/accounts/bank").text(t, "priority"); got != fmt.Sprint(10*version+won) {
				t.Errorf("the priority is %s, and %s set another one", got, who.name)
			}
		}
	})
}
