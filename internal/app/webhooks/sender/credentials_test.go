package sender_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

func TestCredentialsAreSentAsTheyWereGiven(t *testing.T) {
	for _, c := range []struct {
		credentials  sender.Credentials
		header, want string
	}{
		{sender.Credentials{Username: "shop", Password: "pässword: 1"}, "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("shop:pässword: 1"))},
		{sender.Credentials{Header: "Authorization", Value: "Bearer abc.def"}, "Authorization", "Bearer abc.def"},
		{sender.Credentials{Header: "X-API-key", Value: "k-1"}, "X-Api-Key", "k-1"},
		{sender.Credentials{}, "Authorization", ""},
	} {
		endpoint := newReceiver(t, nil, answerOK)
		sender := newSender(t, sender.Config{})
		m := message(endpoint.URL)
		m.Credentials = c.credentials
		if result := sender.Send(t.Context(), false, m); !result.Delivered() {
			t.Fatalf("the delivery ended with %+v", result)
		}
		got := endpoint.only(t)
		if got.header.Get(c.header) != c.want {
			t.Errorf("%s is %q, want %q", c.header, got.header.Get(c.header), c.want)
		}
		if len(sender.Header(m)["Authorization"]) != 0 {
			t.Error("an inbox keeps credentials")
		}
	}
}

// An answer is shown to people. Whoever sends back what it got shows them no secret, also if the answer was cut within it.
func TestAnAnswerShowsNoCredentials(t *testing.T) {
	basic := sender.Credentials{Username: "shop", Password: `pa<s"s`}
	for _, c := range []struct {
		credentials sender.Credentials
		before      string
		want        sender.Reason
		status      int
	}{
		{basic, "", sender.CredentialsRefused, 401},
		{basic, `you sent pa<s"s or "pa<s\"s" or "pa\u003cs\"s" `, sender.CredentialsRefused, 403},
		{basic, strings.Repeat("x", 1<<10-20), "", 200},
		{sender.Credentials{Header: "X-Key", Value: "secret-token-of-mine"}, strings.Repeat("x", 1<<10-12), sender.HTTPStatus, 500},
		{sender.Credentials{Header: "Authorization", Value: "Bearer secret-token-of-mine"}, "secret-token-of-mine", sender.HTTPStatus, 404},
		{sender.Credentials{Header: "X", Value: "y"}, strings.Repeat("y", 2000), sender.HTTPStatus, 500},
	} {
		endpoint := newReceiver(t, nil, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.before))
			for _, name := range []string{"Authorization", "X-Key"} {
				_, _ = w.Write([]byte(r.Header.Get(name)))
			}
		})
		m := message(endpoint.URL)
		m.Credentials = c.credentials
		result := newSender(t, sender.Config{}).Send(t.Context(), false, m)
		if result.Err != c.want || len(result.Snippet) > 1<<10 {
			t.Errorf("%+v: the delivery ended with %q and %d bytes, want %q", c.credentials, result.Err, len(result.Snippet), c.want)
		}
		for _, shown := range []string{`pa<s`, `pa\u`, "c2hv", "secre", "y"} {
			if strings.Contains(result.Snippet, shown) && !(shown == "y" && c.credentials.Value != "y") {
				t.Errorf("%+v: the answer shows %q: %.200q", c.credentials, shown, result.Snippet)
			}
		}
	}
	// Without credentials, 401 is a status like another.
	endpoint := newReceiver(t, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) })
	if result := newSender(t, sender.Config{}).Send(t.Context(), false, message(endpoint.URL)); result.Err != sender.HTTPStatus {
		t.Errorf("401 without credentials is %q", result.Err)
	}
}

func TestCredentialsAreNotSentAfterARedirect(t *testing.T) {
	second := newReceiver(t, nil, answerOK)
	first := newReceiver(t, nil, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, second.URL, http.StatusTemporaryRedirect)
	})
	m := message(first.URL)
	m.Credentials = sender.Credentials{Username: "shop", Password: "secret"}
	if result := newSender(t, sender.Config{}).Send(t.Context(), false, m); result.StatusCode != 307 || len(second.arrived()) != 0 {
		t.Errorf("the delivery ended with %+v, and the second address got %d requests", result, len(second.arrived()))
	}
}

func TestCredentialsAreChecked(t *testing.T) {
	for _, c := range []struct {
		credentials sender.Credentials
		want        string // fields; a missing one with !
	}{
		{sender.Credentials{Username: "a", Password: "b"}, ""},
		{sender.Credentials{Username: "josé ñandú", Password: "clave segura ñ 1"}, ""},
		{sender.Credentials{Header: "Authorization", Value: "Token token=\"x\", a=b"}, ""},
		{sender.Credentials{Header: "Ocp-Apim-Subscription-Key", Value: strings.Repeat("x", 4096)}, ""},
		{sender.Credentials{}, "whole"},
		{sender.Credentials{Username: "a", Password: "b", Header: "X-Key", Value: "v"}, "whole"},
		{sender.Credentials{Username: "a", Value: "v"}, "whole"},
		{sender.Credentials{Username: "a"}, "password!"},
		{sender.Credentials{Password: "a"}, "username!"},
		{sender.Credentials{Header: "X-Key"}, "value!"},
		{sender.Credentials{Value: "v"}, "header!"},
		{sender.Credentials{Username: "a:b", Password: "c"}, "username"},
		{sender.Credentials{Username: " a", Password: "c\u200b"}, "username password"},
		{sender.Credentials{Username: "a", Password: "c\nd"}, "password"},
		{sender.Credentials{Username: "a", Password: "c\u00a0d"}, "password"},
		{sender.Credentials{Username: strings.Repeat("a", 201), Password: "c"}, "username"},
		{sender.Credentials{Header: "X Key", Value: "v"}, "header"},
		{sender.Credentials{Header: "X-Key:", Value: "v"}, "header"},
		{sender.Credentials{Header: "Clé", Value: "v"}, "header"},
		{sender.Credentials{Header: "X-Key\r\nX-Other", Value: "v"}, "header"},
		{sender.Credentials{Header: "X-Key", Value: "v\r\nX-Other: 1"}, "value"},
		{sender.Credentials{Header: "X-Key", Value: "clé"}, "value"},
		{sender.Credentials{Header: "X-Key", Value: "v "}, "value"},
		{sender.Credentials{Header: "X-Key", Value: strings.Repeat("x", 4097)}, "value"},
	} {
		var fields []string
		for _, m := range c.credentials.Check() {
			field := m.Field
			if field == "" {
				field = "whole"
			}
			if m.Missing {
				field += "!"
			}
			fields = append(fields, field)
			for _, secret := range []string{c.credentials.Password, c.credentials.Value} {
				if len(secret) > 3 && strings.Contains(m.Why.Error(), secret) {
					t.Errorf("the message shows the secret: %v", m.Why)
				}
			}
		}
		if got := strings.Join(fields, " "); got != c.want {
			t.Errorf("%.100q: wrong are %q, want %q", c.credentials, got, c.want)
		}
	}
	for _, name := range []string{
		"Host", "HOST", "Content-Length", "content-type", "Content-Encoding", "Transfer-Encoding", "TE", "Trailer", "Connection", "Keep-Alive", "Upgrade", "Expect",
		"User-Agent", "Accept-Encoding", "Idempotency-Key", "X-Service-Signature", "X-Service-Event", "Webhook-Id", "webhook-signature", "Proxy-Authorization",
		"Proxy-Connection", "Forwarded", "X-Forwarded-For", "X-Real-IP", "Via", "traceparent", "tracestate", "baggage", "Cookie", "Set-Cookie", "Origin", "Referer",
	} {
		if list := (sender.Credentials{Header: name, Value: "v"}).Check(); len(list) != 1 || list[0].Field != "header" {
			t.Errorf("%s may carry credentials: %v", name, list)
		}
	}
}
