package webhooks

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// A gateway in front of the endpoint asks for credentials. Deliveries carry them, nobody is shown them, and they never
// follow to another host.
func TestEndpointGetsItsCredentials(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const first, second = "pass-of-the-gateway", "token-of-the-gateway"
		gateway, other := s.Receive(t), s.Receive(t)
		var replies [][]byte
		shown := func(r harness.Reply, want string) {
			t.Helper()
			replies = append(replies, r.Body)
			var sub struct{ Authentication json.RawMessage }
			harness.Must(t, json.Unmarshal(r.Body, &sub))
			if string(sub.Authentication) != want {
				t.Errorf("authentication is shown as %s, want %s", sub.Authentication, want)
			}
		}
		got := func(c *harness.Receiver, n int, header, want string) {
			t.Helper()
			o.Create(t, harness.Card)
			list := c.Await(t, n)
			if len(list) != n || list[n-1].Header.Get(header) != want {
				t.Errorf("%d deliveries arrived, the last with %s %q, want %q", len(list), header, list[n-1].Header.Get(header), want)
			}
		}
		made := o.Post(t, "/webhooks", fmt.Sprintf(`{"url":%q,"events":["payment.completed"],"authentication":{"username":"cascada","password":%q}}`, gateway.URL, first)).Want(t, http.StatusCreated)
		path := "/webhooks/" + made.Text(t, "id")
		shown(made, `{"username":"cascada"}`)
		shown(o.Get(t, path), `{"username":"cascada"}`)
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("cascada:"+first))
		got(gateway, 1, "Authorization", basic)

		// Other changes keep them: of the events, and of the path.
		shown(patch(t, o, path, `{"description":"x"}`), `{"username":"cascada"}`)
		shown(patch(t, o, path, fmt.Sprintf(`{"url":%q}`, gateway.URL+"/hooks?a=1")), `{"username":"cascada"}`)
		got(gateway, 2, "Authorization", basic)

		// Another port is another address.
		shown(patch(t, o, path, fmt.Sprintf(`{"url":%q}`, other.URL)), `null`)
		got(other, 1, "Authorization", "")
		shown(patch(t, o, path, fmt.Sprintf(`{"url":%q,"authentication":{"header":"X-Gateway-Key","value":%q}}`, gateway.URL, second)), `{"header":"X-Gateway-Key"}`)
		got(gateway, 3, "X-Gateway-Key", second)
		if sent := gateway.Deliveries()[2].Header["Authorization"]; sent != nil {
			t.Errorf("both kinds are sent: %v", sent)
		}

		// The gateway refuses them, and sends back what it got.
		gateway.Answers(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("wrong key " + r.Header.Get("X-Gateway-Key")))
		})
		got(gateway, 4, "X-Gateway-Key", second)
		list := o.Get(t, path+"/deliveries?status=failed")
		harness.Eventually(t, "the refusal is in the log", func() bool {
			list = o.Get(t, path+"/deliveries?status=failed")
			return strings.Contains(string(list.Body), `"lastError":"credentials_refused"`) && strings.Contains(string(list.Body), `"lastStatusCode":403`)
		})
		replies = append(replies, list.Body, o.Get(t, "/events").Body)
		gateway.Answers(harness.Respond(http.StatusNoContent))

		shown(patch(t, o, path, `{"authentication":null}`), `null`)
		o.Delete(t, path).Want(t, http.StatusOK)
		entries, err := s.App.Audit(ctx, "", "", time.Time{}, 1000)
		harness.Must(t, err)
		var told []string
		for _, e := range entries {
			text, err := json.Marshal(e)
			harness.Must(t, err)
			replies = append(replies, text)
			if kind := e.Details["authentication"]; kind != "" && (e.Act == audit.WebhookCreated || e.Act == audit.WebhookUpdated) {
				told = append(told, kind)
			}
		}
		if got := strings.Join(told, " "); got != "basic none header none" {
			t.Errorf("the audit log tells of %q", got)
		}
		for _, reply := range replies {
			for _, secret := range []string{first, second, basic} {
				if bytes.Contains(reply, []byte(secret)) {
					t.Errorf("somebody is shown %s: %.300s", secret, reply)
				}
			}
		}
		query, done := s.Open(t)
		defer done()
		if rows := query("SELECT doc FROM subscriptions"); strings.Contains(strings.Join(rows, " "), "credentials") {
			t.Errorf("a deleted endpoint keeps credentials: %v", rows)
		}
	})
}

func TestEndpointsCredentialsAreChecked(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const secret = "k9-secret"
		made := o.Post(t, "/webhooks", `{"url":"https://shop.example/hooks","events":["*"],"authentication":{"username":"u","password":"`+secret+`"}}`).Want(t, http.StatusCreated)
		inbox := o.Post(t, "/webhooks", `{"events":["*"],"authentication":null}`).Want(t, http.StatusCreated)
		for _, c := range []struct{ authentication, want string }{
			{`{}`, "400 invalid_request invalid_request_error param=authentication issues=authentication"},
			{`{"username":"u","password":"` + secret + `","header":"X-Key","value":"` + secret + `"}`, "400 invalid_request invalid_request_error param=authentication issues=authentication"},
			{`{"username":"u"}`, "400 missing_field invalid_request_error param=authentication.password issues=authentication.password missing=authentication.password"},
			{`{"value":"` + secret + `"}`, "400 missing_field invalid_request_error param=authentication.header issues=authentication.header missing=authentication.header"},
			{`{"header":"Host","value":"` + secret + `"}`, "400 invalid_request invalid_request_error param=authentication.header issues=authentication.header"},
			{`{"header":"X-Service-Signature","value":"` + secret + `"}`, "400 invalid_request invalid_request_error param=authentication.header issues=authentication.header"},
			{`{"header":"X Key","value":"` + secret + `"}`, "400 invalid_request invalid_request_error param=authentication.header issues=authentication.header"},
			{`{"header":"X-Key","value":"` + secret + `\r\nHost: x"}`, "400 invalid_request invalid_request_error param=authentication.value issues=authentication.value"},
			{`{"header":"X-Key","value":"` + secret + `é"}`, "400 invalid_request invalid_request_error param=authentication.value issues=authentication.value"},
			{`{"header":"X-Key","values":"` + secret + `"}`, "400 invalid_request invalid_request_error param=authentication.values issues=authentication.values"},
			{`"Bearer ` + secret + `"`, "400 invalid_request invalid_request_error param=authentication issues=authentication"},
			{`["` + secret + `"]`, "400 invalid_request invalid_request_error param=authentication issues=authentication"},
			{`{"username":"u","password":["` + secret + `"]}`, "400 invalid_request invalid_request_error param=authentication.password issues=authentication.password"},
			{`{"username":"u","password":1234987}`, "400 invalid_request invalid_request_error param=authentication.password issues=authentication.password"},
		} {
			for _, r := range []harness.Reply{
				o.Post(t, "/webhooks", `{"url":"https://shop.example/2","events":["*"],"authentication":`+c.authentication+`}`),
				patch(t, o, "/webhooks/"+made.Text(t, "id"), `{"authentication":`+c.authentication+`}`),
			} {
				r.Refused(t, c.want)
				if strings.Contains(string(r.Body), secret) || strings.Contains(string(r.Body), "1234987") {
					t.Errorf("the refusal shows the secret: %s", r.Body)
				}
			}
		}
		// An inbox asks for nothing, and the URL is no place for credentials.
		const pair = `"authentication":{"username":"u","password":"` + secret + `"}`
		o.Post(t, "/webhooks", `{"events":["*"],`+pair+`}`).Refused(t, "400 invalid_request invalid_request_error param=authentication issues=authentication")
		patch(t, o, "/webhooks/"+inbox.Text(t, "id"), `{`+pair+`}`).Refused(t, "400 invalid_request invalid_request_error param=authentication issues=authentication")
		if r := o.Post(t, "/webhooks", `{"url":"https://u:p@shop.example/","events":["*"]}`); !strings.Contains(string(r.Body), "send them as authentication") {
			t.Errorf("credentials in the URL: %s", r.Body)
		}
		o.Get(t, "/webhooks/"+made.Text(t, "id")).Want(t, http.StatusOK)
	})
}
