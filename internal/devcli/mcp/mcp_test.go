package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cascadapay/cascada/internal/devcli"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	testKey = "rk_test_abcdefghijklmnop0123456789ABCDEF"
	liveKey = "rk_live_abcdefghijklmnop0123456789ABCDEF"
)

// fake is a service that answers with what a test wants.
type fake struct {
	*httptest.Server
	calls atomic.Int64 // those that change something
}

func newFake(t *testing.T, answer http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			f.calls.Add(1)
		}
		answer(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func always(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// opened is the door of a service with a key.
func opened(t *testing.T, address, key string, allowSandbox bool) *door {
	t.Helper()
	caller, err := devcli.Access{URL: address, Key: key, Shop: "shp_1"}.Caller("cascada-mcp")
	if err != nil {
		t.Fatal(err)
	}
	return newDoor(caller, allowSandbox, "")
}

// agent is a client of a door, in this process.
func agent(t *testing.T, d *door) *sdk.ClientSession {
	t.Helper()
	here, there := sdk.NewInMemoryTransports()
	if _, err := d.server.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	return connect(t, here)
}

func connect(t *testing.T, by sdk.Transport) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), by, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the test is over
	return session
}

// uses calls a tool. It returns everything that the agent reads, and the structured part.
func uses(t *testing.T, session *sdk.ClientSession, name string, arguments map[string]any) (all string, out result, failed bool) {
	t.Helper()
	r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	structured, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(structured, &out) // a refused argument has none
	return string(text), out, r.IsError
}

func names(t *testing.T, session *sdk.ClientSession) (all, changing []string) {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		all = append(all, tool.Name)
		if !tool.Annotations.ReadOnlyHint {
			changing = append(changing, tool.Name)
		}
		if tool.Description == "" || tool.Title == "" || tool.OutputSchema == nil || tool.Annotations.DestructiveHint == nil {
			t.Errorf("%s does not describe itself", tool.Name)
		}
	}
	return all, changing
}

// Tools that change something are there only for a key of the sandbox, and only if they were asked for.
func TestToolsFollowTheKeyAndTheFlag(t *testing.T) {
	sandboxOnly := []string{"cancel_payment", "create_sandbox_payment", "refund_payment", "replay_delivery", "simulate_payment", "trigger_event"}
	service := newFake(t, always(http.StatusOK, `{}`))
	for name, c := range map[string]struct {
		key   string
		allow bool
		want  []string
	}{
		"a key of the sandbox":        {testKey, false, nil},
		"and the flag":                {testKey, true, sandboxOnly},
		"a live key":                  {liveKey, false, nil},
		"a live key with the flag":    {liveKey, true, nil},
		"a secret live key":           {"sk_live_abcdefghijklmnop0123456789", true, nil},
		"a secret key of the sandbox": {"sk_test_abcdefghijklmnop0123456789", true, sandboxOnly},
	} {
		session := agent(t, opened(t, service.URL, c.key, c.allow))
		all, changing := names(t, session)
		if !slices.Equal(changing, c.want) || len(all) != len(c.want)+21 {
			t.Errorf("%s: %v can change something, of %d tools", name, changing, len(all))
		}
		if c.want == nil {
			for _, tool := range sandboxOnly {
				if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"id": "TXN-1", "action": "paid"}}); err == nil {
					t.Errorf("%s: %s is called", name, tool)
				}
			}
		}
	}
	if service.calls.Load() > 0 {
		t.Error("the service was changed")
	}
}

// Keys and flags that do not fit are refused before anything is called.
func TestKeysAndFlagsAreChecked(t *testing.T) {
	t.Setenv(secretVariable, "")
	for name, c := range map[string]struct {
		key     string
		command Command
		want    string // "" if it is accepted
	}{
		"a restricted key":             {testKey, Command{AllowSandbox: true}, ""},
		"a restricted live key":        {liveKey, Command{}, ""},
		"a live key for the sandbox":   {liveKey, Command{AllowSandbox: true}, "--allow-sandbox needs"},
		"a secret live key":            {"sk_live_1", Command{}, "restricted"},
		"a secret live key that is ok": {"sk_live_1", Command{AllowLiveSecretKey: true}, ""},
		"a publishable key":            {"pk_test_1", Command{}, "no secret or restricted key"},
		"an access token":              {"eyJ.a.b", Command{}, "no secret or restricted key"},
		"a short secret":               {testKey, Command{HTTP: "127.0.0.1:0", HTTPSecret: "short"}, "32"},
		"a secret without an address":  {testKey, Command{HTTPSecret: strings.Repeat("x", 40)}, "need --http"},
		"an origin without an address": {testKey, Command{AllowOrigin: []string{"http://localhost:1"}}, "need --http"},
	} {
		err := c.command.check(c.key)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), c.key) {
			t.Errorf("%s: the key is shown: %v", name, err)
		}
	}
}

// A service that says that the key is not one of the sandbox is not changed, whatever the key looks like.
func TestServiceSaysWhetherItIsTheSandbox(t *testing.T) {
	for environment, want := range map[string]int64{"production": 0, "": 0, "sandbox": 1} {
		service := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/ping") {
				_, _ = io.WriteString(w, `{"environment":"`+environment+`"}`)
				return
			}
			_, _ = io.WriteString(w, `{"transactionId":"TXN-1"}`)
		})
		session := agent(t, opened(t, service.URL, testKey, true))
		_, out, failed := uses(t, session, "create_sandbox_payment", map[string]any{"amount": 25.5, "paymentMethodId": "sbx_card"})
		if service.calls.Load() != want || failed == (want == 1) || failed && out.Error.Code != "not_sandbox" {
			t.Errorf("a service that says %q is changed %d times: %+v", environment, service.calls.Load(), out.Error)
		}
	}
}

// Arguments that the schema does not allow never reach the service.
func TestArgumentsAreChecked(t *testing.T) {
	asked := atomic.Int64{}
	service := newFake(t, func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); always(http.StatusOK, `{}`)(w, nil) })
	session := agent(t, opened(t, service.URL, testKey, true))
	for _, c := range []struct {
		tool      string
		arguments map[string]any
	}{
		{"get_payment", nil},
		{"get_payment", map[string]any{"id": "../keys"}},
		{"get_payment", map[string]any{"id": ".."}},
		{"get_payment", map[string]any{"id": "TXN-1?shopId=2"}},
		{"get_payment", map[string]any{"id": 5}},
		{"get_payment", map[string]any{"id": "TXN-1", "more": 1}},
		{"list_payments", map[string]any{"status": "paid"}},
		{"list_payments", map[string]any{"limit": 1000}},
		{"list_payments", map[string]any{"limit": 0}},
		{"list_payments", map[string]any{"email": strings.Repeat("a", maxArgument+1)}},
		{"list_deliveries", map[string]any{"webhookId": "wh_1/../.."}},
		{"create_sandbox_payment", map[string]any{"amount": -1, "paymentMethodId": "sbx_card"}},
		{"create_sandbox_payment", map[string]any{"amount": "25", "paymentMethodId": "sbx_card"}},
		{"create_sandbox_payment", map[string]any{"amount": 1, "paymentMethodId": "sbx_card", "metadata": map[string]any{"a": []int{1}}}},
		{"simulate_payment", map[string]any{"id": "TXN-1", "action": "explode"}},
		{"trigger_event", map[string]any{"event": "payment.exploded"}},
		{"read_docs", map[string]any{"page": "../../api/v1/keys"}},
		{"read_docs", map[string]any{"page": "webhooks", "offset": -1}},
		{"search_docs", map[string]any{"query": "?!"}},
	} {
		if all, _, failed := uses(t, session, c.tool, c.arguments); !failed {
			t.Errorf("%s accepts %v: %s", c.tool, c.arguments, all)
		}
	}
	if asked.Load() > 0 {
		t.Errorf("the service was asked %d times", asked.Load())
	}
}

// Whatever goes wrong is an error with a code and what helps, and nothing of what answered is shown unless it is the API.
func TestErrorsSayWhatHelps(t *testing.T) {
	const leak = "whsec_0123456789abcdefghij"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		code   string
	}{
		"a refused key":  {always(http.StatusUnauthorized, `{"error":{"code":"invalid_api_key","message":"no `+testKey+` here","requestId":"req_1"}}`), "invalid_api_key"},
		"not found":      {always(http.StatusNotFound, `{"error":{"code":"transaction_not_found","message":"Authorization: Bearer `+leak+`"}}`), "transaction_not_found"},
		"an odd code":    {always(http.StatusConflict, `{"error":{"code":"conflict_state","message":"`+leak+` of ana@example.com, 529.982.247-25"}}`), "conflict_state"},
		"a code that is": {always(http.StatusConflict, `{"error":{"code":"`+leak+`","message":"x"}}`), "whsec_…"},
		"a proxy":        {always(http.StatusBadGateway, `<html>`+leak+` ana@example.com</html>`), "not_cascada"},
		"no JSON":        {always(http.StatusOK, `<html>`+leak+`</html>`), "not_cascada"},
		"nothing":        {always(http.StatusOK, ``), "not_cascada"},
		"cut off":        {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "unreachable"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/"+leak, http.StatusFound)
		}, "not_cascada"},
	} {
		session := agent(t, opened(t, newFake(t, c.answer).URL, testKey, false))
		all, out, failed := uses(t, session, "get_payment", map[string]any{"id": "TXN-1"})
		if !failed || out.Error == nil || out.Error.Code != c.code || out.Error.Mend == "" || out.Error.Message == "" {
			t.Errorf("%s: %s", name, all)
		}
		for _, secret := range []string{testKey, leak, "ana@example.com", "529.982.247-25"} {
			if strings.Contains(all, secret) {
				t.Errorf("%s: %s is shown: %s", name, secret, all)
			}
		}
	}
}

// A call that its agent cancels ends, and so does the call of the service.
func TestCallsAreCancelled(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	service := newFake(t, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	})
	session := agent(t, opened(t, service.URL, testKey, false))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "get_payment", Arguments: map[string]any{"id": "TXN-1"}})
		failed <- err
	}()
	<-began
	cancel()
	if err := <-failed; err == nil {
		t.Error("a cancelled call has a result")
	}
	<-ended
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Errorf("after a cancelled call: %v", err)
	}
}

// Lists are bounded, and what does not fit is on the next page. A thing that is too large is cut.
func TestResultsAreBounded(t *testing.T) {
	var rows []string
	for range 40 {
		rows = append(rows, `{"id":"TXN-`+strings.Repeat("0", 26)+`","description":"`+strings.Repeat("words of others ", 300)+`"}`)
	}
	rows[20] = strings.Replace(rows[20], "TXN-0", "TXN-7", 1)
	for i := range rows {
		rows[i] = strings.Replace(rows[i], "TXN-00", "TXN-"+string(rune('A'+i%26))+string(rune('A'+i/26)), 1)
	}
	service := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/payments"):
			_, _ = io.WriteString(w, `{"data":[`+strings.Join(rows, ",")+`],"pagination":{"nextCursor":"TXN-last","total":99}}`)
		case strings.HasSuffix(r.URL.Path, "/huge"):
			_, _ = io.WriteString(w, `{"id":"CLM-1","x":"`+strings.Repeat("y", maxRaw)+`"}`)
		default:
			_, _ = io.WriteString(w, `{"id":"CLM-1","timeline":[`+strings.Repeat(`{"note":"`+strings.Repeat("long words ", 200)+`"},`, 150)+`{}]}`)
		}
	})
	session := agent(t, opened(t, service.URL, testKey, false))
	all, out, failed := uses(t, session, "list_payments", map[string]any{"limit": 50})
	data, _ := out.Data.(map[string]any)
	list, _ := data["data"].([]any)
	if failed || len(list) == 0 || len(list) == 40 || len(all) > 3*maxData || out.Note == "" {
		t.Fatalf("%d rows in %d bytes, %q", len(list), len(all), out.Note)
	}
	if last, _ := list[len(list)-1].(map[string]any); out.Next == "" || last["id"] != out.Next {
		t.Errorf("the next page begins after %q, and the last row is %v", out.Next, last["id"])
	}
	if all, out, failed := uses(t, session, "get_claim", map[string]any{"id": "CLM-1"}); failed || len(all) > 3*maxData || out.Note == "" {
		t.Errorf("a large claim has %d bytes: %q", len(all), out.Note)
	}
	if all, _, failed := uses(t, session, "get_settlement", map[string]any{"id": "huge"}); !failed || len(all) > maxData {
		t.Errorf("a huge answer has %d bytes", len(all))
	}
}
