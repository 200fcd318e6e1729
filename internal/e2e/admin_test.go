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

// Operator is who uses the admin API of a service, with a token.
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

// Operated runs a test on each engine as the operator of a service where accounts
// may be opened at the plain provider.
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
			PublishedForOperators.Spec = ReadSpec(t, s.AdminURL+"/openapi.json", adminBase, &WitnessedByOperators)
		})
		if PublishedForOperators.Spec == nil {
			t.Fatal("the admin API's OpenAPI document could not be read")
		}
		test(t, s.Operator(t, "ana", log))
		if text := log.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "hush") || strings.Contains(text, "key-1") {
			t.Errorf("the service logged a fault, or a secret:\n%s", text)
		}
	})
}

// operator adds one.
func (s *Instance) Operator(t *testing.T, name string, log *Diary) Operator {
	t.Helper()
	token, _, err := s.App.Operators.Add(ctx, s.App.Self(), name, time.Time{})
	Must(t, err)
	return Operator{s, name, token, log}
}

// Ask makes a request of the admin API and proves what holds for every reply.
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
		t.Errorf("Cache-Control is %q: %s", got, r)
	}
	if id := r.Header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") || r.Status >= 400 && id != r.Text(t, "error.requestId") {
		t.Errorf("X-Request-Id is %q: %s", id, r)
	}
	if strings.Contains(string(text), "hush") || strings.Contains(string(text), "key-1") || strings.Contains(string(text), op.Token) {
		t.Errorf("the reply tells a secret: %s", r)
	}
	PublishedForOperators.check(t, r)
	return r
}

func (op Operator) Get(t *testing.T, path string) Reply {
	t.Helper()
	return op.Ask(t, http.MethodGet, path, "")
}

func (op Operator) Post(t *testing.T, path, body string) Reply {
	t.Helper()
	return op.Ask(t, http.MethodPost, path, body)
}

func (op Operator) Patch(t *testing.T, path, body string) Reply {
	t.Helper()
	return op.Ask(t, http.MethodPatch, path, body)
}

func (op Operator) Remove(t *testing.T, path string) Reply {
	t.Helper()
	return op.Ask(t, http.MethodDelete, path, "")
}

// PlainAccount is the body that opens an account at an upstream which knows key-1.
func PlainAccount(id string, u *providertest.Upstream, more string) string {
	return fmt.Sprintf(`{"id":%q,"adapter":"plain","environment":"production","baseUrl":%q,"credentials":{"apiKey":"key-1","webhookSecret":"%[1]s-hush"}%[3]s}`,
		id, u.URL, more)
}

// Did fails the test unless the audit log has one entry of the act, in the name of
// the operator and of the reply's request.
func (op Operator) Did(t *testing.T, act audit.Act, object string, r Reply) {
	t.Helper()
	list, err := op.App.Audit(ctx, "", "", time.Time{}, 1000)
	Must(t, err)
	var found []audit.Entry
	for _, e := range list {
		if strings.Contains(fmt.Sprint(e), "hush") || strings.Contains(fmt.Sprint(e), "key-1") {
			t.Errorf("the audit log tells a secret: %+v", e)
		}
		if e.Act == act && e.Object == object && e.By.Request == r.Header.Get("X-Request-Id") {
			found = append(found, e)
		}
	}
	if len(found) != 1 || found[0].By.Kind != audit.ByOperator || found[0].By.ID != op.Name || found[0].By.IP != "127.0.0.1" {
		t.Errorf("the audit log has %+v of %s, want one entry by %s", found, act, op.Name)
	}
}

func TestOperatorRunsAnAccountFromItsFirstDayToItsLast(t *testing.T) {
	Operated(t, func(t *testing.T, op Operator) {
		u := providertest.NewUpstream(t, "key-1")
		o := op.NewShop(t)
		live := o.Production()
		op.Get(t, "/adapters").Is(t, http.StatusOK, `{"data":[{"name":"plain","rails":["pix.BRA","spei.MEX"],"credentials":[
			{"name":"apiKey","doc":"Settings, API keys","required":true,"secret":true},
			{"name":"webhookSecret","doc":"Settings, Notifications","required":true,"secret":true},
			{"name":"merchantNumber","doc":"Settings, Profile","required":false,"secret":false}]}]}`)
		op.Get(t, "/accounts").Is(t, http.StatusOK, `{"data":[]}`)

		// It takes payments from the reply on.
		opened := op.Post(t, "/accounts", PlainAccount("bank", u, `,"rails":["pix.BRA"],"priority":7,"terms":[{"price":"2%+0.30","limits":["BRL:1-500"]}],"merchantId":"`+o.Merchant.ID+`"`))
		bank := func(version int, more string) string {
			return fmt.Sprintf(`{"id":"bank","adapter":"plain","environment":"production","merchantId":%q,"baseUrl":%q,"credentials":["apiKey","webhookSecret"],
				"notificationUrl":%q,"paysOut":false,"version":%d,"createdAt":"<time>","updatedAt":"<time>",%s}`, o.Merchant.ID, u.URL, op.URL+APIPath+"/providers/bank/notifications", version, more)
		}
		asOpened := `"status":"enabled","priority":7,"rails":["pix.BRA"],"allRails":false,"terms":[{"price":"2%+0.3","limits":["BRL:1-500"]}]`
		opened.Is(t, http.StatusCreated, bank(1, asOpened))
		op.Did(t, audit.ProviderAdded, "bank", opened)
		paid := live.Create(t, live.PixOrder(t))
		op.Get(t, "/accounts/bank").Is(t, http.StatusOK, bank(1, asOpened))
		op.Get(t, "/accounts").Is(t, http.StatusOK, `{"data":[`+bank(1, asOpened)+`]}`)
		op.Post(t, "/accounts/bank/check", "").Is(t, http.StatusOK, `{"account":"bank","result":"works"}`)

		changed := op.Patch(t, "/accounts/bank", `{"version":1,"priority":3,"rails":[],"terms":[]}`)
		asChanged := `"status":"enabled","priority":3,"rails":["pix.BRA","spei.MEX"],"allRails":true,"terms":[]`
		changed.Is(t, http.StatusOK, bank(2, asChanged))
		op.Did(t, audit.ProviderChanged, "bank", changed)
		op.Patch(t, "/accounts/bank", `{"version":2}`).Is(t, http.StatusOK, bank(2, asChanged)) // nothing is no change
		op.Patch(t, "/accounts/bank", `{"version":1,"priority":9}`).Refused(t, "409 conflict_state conflict_error reason=version")

		u.Revoke("key-1")
		if r := op.Post(t, "/accounts/bank/check", ""); r.Text(t, "result") != "fails" || !strings.Contains(r.Text(t, "problem"), "401") {
			t.Errorf("a dead key is checked: %s", r)
		}
		u2 := providertest.NewUpstream(t, "key-1") // where payments go on, after the first account could not take them
		op.Post(t, "/accounts", PlainAccount("second", u2, "")).Want(t, http.StatusCreated)
		// A credential may be a PEM text, which has many lines.
		rotated := op.Post(t, "/accounts/bank/credentials", `{"credentials":{"webhookSecret":"bank-hush-2","merchantNumber":"-----BEGIN KEY-----\n77\n-----END KEY-----\n"}}`).Want(t, http.StatusOK)
		if got := rotated.Text(t, "credentials"); got != "[apiKey merchantNumber webhookSecret]" || rotated.Text(t, "version") != "3" {
			t.Errorf("after a rotation it has %s: %s", got, rotated)
		}
		if at := rotated.Text(t, "rotatedAt"); at == "" {
			t.Errorf("it is not told when: %s", rotated)
		}
		op.Did(t, audit.ProviderRotated, "bank", rotated)
		op.TellUpstream(t, u, paid, 1, "paid", "bank-hush-2").Want(t, http.StatusOK)
		if got := live.Status(t, paid); got != "completed" {
			t.Errorf("a notification with the new secret leaves the payment %s", got)
		}

		disabled := op.Post(t, "/accounts/second/disable", "").Want(t, http.StatusOK)
		op.Did(t, audit.ProviderDisabled, "second", disabled)
		op.Post(t, "/accounts/second/disable", "").Is(t, http.StatusOK, string(disabled.Body)) // twice changes nothing
		if r := live.Post(t, "/payments", live.PixOrder(t)); r.Status == http.StatusCreated {
			t.Errorf("a disabled account took a payment: %s", r)
		}
		op.Did(t, audit.ProviderEnabled, "second", op.Post(t, "/accounts/second/enable", "").Want(t, http.StatusOK))
		open := live.Create(t, live.PixOrder(t))
		op.Remove(t, "/accounts/second").Refused(t, "409 conflict_state conflict_error reason=open_payments")
		op.TellUpstream(t, u2, open, 2, "paid", "second-hush").Want(t, http.StatusOK)
		removed := op.Remove(t, "/accounts/second").Want(t, http.StatusOK)
		if removed.Text(t, "status") != "removed" || removed.Text(t, "credentials") != "[]" {
			t.Errorf("removed: %s", removed)
		}
		op.Did(t, audit.ProviderRemoved, "second", removed)
		op.Remove(t, "/accounts/bank?force=true").Want(t, http.StatusOK)
		op.Get(t, "/accounts").Is(t, http.StatusOK, `{"data":[]}`)
		if r := op.Get(t, "/accounts?all=true").Want(t, http.StatusOK); strings.Count(string(r.Body), `"status":"removed"`) != 2 {
			t.Errorf("with the removed ones: %s", r)
		}
		const gone = "409 conflict_state conflict_error reason=removed"
		op.Patch(t, "/accounts/bank", `{"version":4}`).Refused(t, gone)
		op.Post(t, "/accounts/bank/credentials", `{"credentials":{"apiKey":"key-1"}}`).Refused(t, gone)
		op.Post(t, "/accounts/bank/enable", "").Refused(t, gone)
		op.Post(t, "/accounts/bank/disable", "").Refused(t, gone)
		op.Post(t, "/accounts/bank/check", "").Refused(t, gone)
		op.Remove(t, "/accounts/bank").Refused(t, gone)
		op.Post(t, "/accounts", PlainAccount("bank", u2, "")).Refused(t, "409 conflict_state conflict_error param=id reason=id_taken")
	})
}

// Of two operators who read the same account neither undoes what the other does.
func TestOperatorsDoNotOverwriteEachOther(t *testing.T) {
	Operated(t, func(t *testing.T, op Operator) {
		u := providertest.NewUpstream(t, "key-1")
		bo := op.Operator(t, "bo", op.Log)
		op.Post(t, "/accounts", PlainAccount("bank", u, "")).Want(t, http.StatusCreated)
		for version := 1; version <= 5; version++ {
			replies := make([]Reply, 2)
			var both sync.WaitGroup
			for i, who := range []Operator{op, bo} {
				both.Go(func() {
					replies[i] = who.Patch(t, "/accounts/bank", fmt.Sprintf(`{"version":%d,"priority":%d}`, version, 10*version+i))
				})
			}
			both.Wait()
			won := 0
			if replies[1].Status == http.StatusOK {
				won = 1
			}
			who := []Operator{op, bo}[won]
			replies[won].Want(t, http.StatusOK)
			who.Did(t, audit.ProviderChanged, "bank", replies[won])
			replies[1-won].Refused(t, "409 conflict_state conflict_error reason=version")
			if got := op.Get(t, "/accounts/bank").Text(t, "priority"); got != fmt.Sprint(10*version+won) {
				t.Errorf("the priority is %s, and %s set another one", got, who.Name)
			}
		}
	})
}
