package docs

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/getkin/kin-openapi/openapi3"
)

// mends fails the test unless the reply is the error want, in the form of Problem, and its message
// has the text mend.
func mends(t *testing.T, r harness.Reply, want, mend string) {
	t.Helper()
	r.Refused(t, want)
	if message := r.Text(t, "error.message"); !strings.Contains(message, mend) {
		t.Errorf("the message is %q, want …%s…", message, mend)
	}
}

// A query parameter that is sent twice is refused, because the client cannot know which value would
// count. This is true of every parameter of every operation (ERR-29).
func TestParameterThatIsSentTwiceIsRefused(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		doc, err := openapi3.NewLoader().LoadFromData(s.Spec.Text)
		harness.Must(t, err)
		seen := 0
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				for _, p := range op.Parameters {
					if p.Value.In != "query" {
						continue
					}
					seen++
					name := p.Value.Name
					query := "?" + name + "=a&" + name + "=b"
					if name == "shopId" { // the first value is checked with the credentials
						query = "?shopId=" + o.Shop.ID + "&shopId=b"
					}
					if name == "strict" {
						query = "?strict=true&strict=false"
					}
					r := o.Call(t, method, strings.NewReplacer("{", "", "}", "").Replace(path)+query, `{}`, harness.AsJSON)
					mends(t, r, "400 invalid_request invalid_request_error param="+name+" issues="+name, name+" is sent 2 times: send it once")
				}
			}
		}
		if seen < 50 {
			t.Errorf("%d query parameters were sent twice, want 50 at least", seen)
		}
		o.Get(t, "/payment-methods?utm=1&utm=2").Want(t, http.StatusOK) // unknown parameters are ignored, but those of lists
	})
}

// A header with two values, or an empty Idempotency-Key, is refused, because it would not do what
// the client expects (IDEM-2).
func TestHeaderThatIsSentTwiceIsRefused(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		payment := o.Create(t, harness.Card)
		h := o.Hook(t, s.Receive(t).URL, `"payment.completed"`)
		before := o.Total(t, nil)
		send := func(path, body, name string, values ...string) harness.Reply {
			return s.Send(t, harness.Request{Method: http.MethodPost, Path: harness.APIPath + path, Body: body, Header: http.Header{
				"Authorization": {"Bearer " + o.Credential}, "Content-Type": {"application/json"}, name: values,
			}})
		}
		span := fmt.Sprintf(`{"from":%q}`, s.Clock.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
		for path, body := range map[string]string{
			"/payments": harness.Card, "/transactions": harness.Card, "/checkout/sessions": harness.CheckoutBody, "/withdrawals": `{"amount":1}`,
			"/payments/" + payment + "/refund": `{"amount":1}`, h.Path("/replay"): span,
		} {
			const refused = "400 invalid_request invalid_request_error param=Idempotency-Key issues=Idempotency-Key"
			mends(t, send(path, body, "Idempotency-Key", "a", "b"), refused, "Idempotency-Key is sent with two values: send it once")
			mends(t, send(path, body, "Idempotency-Key", "a", ""), refused, "send it once")
			mends(t, send(path, body, "Idempotency-Key", ""), refused, "must have 1 to 255 printable characters: send a UUID, for one, or leave the header out")
			mends(t, send(path, body, "Idempotency-Key", " \t"), refused, "must have 1 to 255 printable characters")
		}
		for _, name := range []string{"Sandbox-Strict", "Sandbox-Simulate"} {
			values := map[string][]string{"Sandbox-Strict": {"false", "true"}, "Sandbox-Simulate": {"paid", "failed"}}[name]
			mends(t, send("/payments", harness.Card, name, values...), "400 invalid_request invalid_request_error param="+name+" issues="+name, name+" is sent with two values: send it once")
		}
		mends(t, send("/webhooks", `{"events":["*"]}`, "Sandbox-Strict", "false", "true"), "400 invalid_request invalid_request_error param=Sandbox-Strict issues=Sandbox-Strict", "send it once")
		if after := o.Total(t, nil); after != before {
			t.Errorf("refused requests changed the number of payments from %s to %s", before, after)
		}
		if n := len(harness.RowIDs(t, o.Get(t, "/claims"))); n != 0 {
			t.Errorf("refused requests made %d refunds", n)
		}
		// The same value twice is one value.
		first := send("/payments", harness.Card, "Idempotency-Key", "c", "c").Want(t, http.StatusCreated)
		harness.Same(t, first, send("/payments", harness.Card, "Idempotency-Key", "c"))
	})
}

// A refusal names the parameter as it was sent, and the bounds of a number.
func TestRefusalsNameBoundsAndTheCursorAsItWasSent(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Create(t, harness.Card)
		h := o.Hook(t, s.Receive(t).URL, `"*"`)
		for _, path := range []string{"/payments", "/claims", "/wallets", "/withdrawals", "/settlements", "/me/balance/movements", "/webhooks", h.Path("/deliveries"), h.Path("/replays"), "/events", "/shops", "/keys"} {
			for _, cursor := range []string{"starting_after", "startingAfter"} {
				r := o.Get(t, path+"?"+cursor+"=TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6")
				r.Refused(t, "400 invalid_request invalid_request_error param="+cursor)
				other := map[string]string{"starting_after": "startingAfter", "startingAfter": "starting_after"}[cursor]
				if message := r.Text(t, "error.message"); !strings.Contains(message, "leave "+cursor+" out") || strings.Contains(message, other) {
					t.Errorf("%s with %s returns the message %q, want only that name", path, cursor, message)
				}
			}
		}
		item := func(quantity, unit string) string {
			return harness.With(fmt.Sprintf(`"lineItems":[{"name":"a","quantity":%s,"unitAmount":%s}]`, quantity, unit))
		}
		const quantity, unit = "400 invalid_request invalid_request_error param=lineItems[0].quantity issues=lineItems[0].quantity", "400 invalid_request invalid_request_error param=lineItems[0].unitAmount issues=lineItems[0].unitAmount"
		for _, n := range []string{"0", "-1", "1000000001", "1e30"} {
			mends(t, o.Post(t, "/payments", item(n, "1")), quantity, "must be a number above 0, and at most 1000000000")
		}
		for _, n := range []string{"92233720368547758.08", "-92233720368547758.09", "1e30"} {
			mends(t, o.Post(t, "/payments", item("1", n)), unit, "must be a number from -92233720368547758.08 to 92233720368547758.07 in USD; you sent "+n)
		}
		for _, n := range [][2]string{{"0.5", "10"}, {"700", "1.102"}, {"1.0", "1"}, {"1", "0.001"}} {
			r := o.Post(t, "/payments", item(n[0], n[1]))
			r.Want(t, http.StatusCreated)
			if got := r.Text(t, "lineItems.0.quantity") + " " + r.Text(t, "lineItems.0.unitAmount"); got != strings.TrimSuffix(n[0], ".0")+" "+n[1] {
				t.Errorf("an item of %s at %s comes back as %s", n[0], n[1], got)
			}
		}
		o.Post(t, "/payments", item("1000000000", "-92233720368547758.08")).Want(t, http.StatusCreated)
	})
}

// A misspelt bound of a replay is refused, because without the bound the replay would send more
// events than wanted.
func TestMisspeltEndOfAReplayIsRefused(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		h := o.Hook(t, s.Receive(t).URL, `"*"`)
		for _, name := range []string{"tos", "To", "TO", "too", "t_o"} {
			r := o.Post(t, h.Path("/replay"), fmt.Sprintf(`{"from":"2026-11-20","%s":"2026-11-21"}`, name))
			mends(t, r, "400 invalid_request invalid_request_error param="+name+" issues="+name, "did you mean to?")
		}
		for _, name := range []string{"form", "From", "frm", "fro"} {
			r := o.Post(t, h.Path("/replay"), fmt.Sprintf(`{"%s":"2026-11-20","to":"2026-11-21"}`, name))
			mends(t, r, "400 missing_field invalid_request_error param=from issues=from missing=from", "did you mean from?")
		}
		if n := len(harness.RowIDs(t, o.Get(t, h.Path("/replays")))); n != 0 {
			t.Errorf("%d replays were started, want none", n)
		}
		mends(t, o.Post(t, h.Path("/replay"), `{"from":"2026-11-20","note":"outage 7"}`), "400 invalid_request invalid_request_error param=note issues=note", "there is no field note")
	})
}

// The document lists exactly the reasons for a stop that a merchant can see.
func TestDocumentNamesWhyAReplayStops(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		if strings.Contains(string(s.Spec.Text), "webhook_deleted") {
			t.Error("the document lists webhook_deleted, but replays of a deleted webhook cannot be read")
		}
		if !strings.Contains(string(s.Spec.Text), `"requested","webhook_disabled",null`) {
			t.Error("the document does not list the reasons why a replay stops")
		}
		o := s.NewShop(t)
		h := o.Hook(t, s.Receive(t).URL, `"*"`)
		begun := o.Post(t, h.Path("/replay"), fmt.Sprintf(`{"from":%q}`, s.Clock.Now().Add(-time.Hour).UTC().Format(time.RFC3339))).Want(t, http.StatusOK)
		o.Delete(t, h.Path("")).Want(t, http.StatusOK)
		for _, path := range []string{"/replays", "/replays/" + begun.Text(t, "id")} {
			o.Get(t, h.Path(path)).Refused(t, "404 webhook_not_found invalid_request_error")
		}
	})
}
