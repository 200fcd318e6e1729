package published

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// judge is a test that records its failures.
type judge struct {
	testing.TB
	failures []string
}

func (j *judge) Helper()      {}
func (j *judge) Name() string { return "a judged test" }
func (j *judge) Errorf(format string, args ...any) {
	j.failures = append(j.failures, fmt.Sprintf(format, args...))
}

// shop is a provider that publishes four calls.
func shop() Table {
	money := Object(Fields{"value": Integer().Must().In("minor units"), "currency": String().Len(3, 3).Must()})
	order := Object(Fields{
		"id": String().OrNumber().Must(), "status": Enum("open", "paid").Status("paid").Must(), "note": String().OrNull(), "refunds": List(money), "total": Number().OrText(),
	})
	return Table{
		Documents: []Document{{"shop.json", "1.2", "2026-11-01"}},
		Strange:   []string{"perhaps"},
		Calls: []Call{
			{
				Name: "make an order", Method: http.MethodPost, Path: "/orders", Header: Fields{"X-Key": String().Must()},
				Body: Object(Fields{
					"amount": money.Must(), "reference": String().Len(1, 10).Must(), "kind": Enum("a", "b"), "at": String().Match(`\d{4}-\d\d`),
					"metadata": Object(nil).Open(), "lines": List(Object(Fields{"sku": String().Must()})).Len(1, 2),
				}),
				Answers: map[int]Value{201: order, 429: {}},
			},
			{Name: "read an order", Method: http.MethodGet, Path: "/orders/{id}", Query: Fields{"limit": Integer()}, Answers: map[int]Value{200: order}},
			{
				Name: "pay", Method: http.MethodPost, Path: "/orders/{id}/pay", Form: true, Answers: map[int]Value{204: {}},
				Body: Object(Fields{"amount": Integer().Must(), "types": List(Enum("card", "cash")), "options": Object(Fields{"card": Object(Fields{"day": Integer()})})}),
			},
			{
				Name: "upload", Method: http.MethodPost, Path: "/files", Parts: true, Answers: map[int]Value{200: {}},
				Body: Object(Fields{"purpose": Enum("proof").Must(), "files": List(File("image/png", "application/pdf")).Must()}),
			},
		},
		Notices: []Notice{{Name: "order paid", Header: Fields{"X-Signature": String().Must()}, Body: Object(Fields{"type": Enum("paid").Must(), "order": order.Must()})}},
	}
}

// send sends a request through a gate to a fake with one answer, and returns what failed and the answer.
func send(method, path, media, body string, status int, answer string) (failures []string, said *httptest.ResponseRecorder, reached bool) {
	j := &judge{}
	g := shop().Gate(j, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached = true
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if r.Header.Set("X-Key", "k"); method == http.MethodGet || strings.Contains(media, "form") {
		r.Header.Del("X-Key")
	}
	r.Header.Set("Content-Type", media)
	said = httptest.NewRecorder()
	g.ServeHTTP(said, r)
	return j.failures, said, reached
}

const good = `{"id":"o1","status":"open"}`

// What the document does not allow is refused, and the failure says what it is.
func TestRequestsThatNoDocumentAllowsAreRefused(t *testing.T) {
	const media, form, parts = "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
	part := func(name, media, content string) string {
		return "--b\r\nContent-Disposition: form-data; name=" + name + "\r\nContent-Type: " + media + "\r\n\r\n" + content + "\r\n"
	}
	amount := `"amount":{"value":100,"currency":"BRL"},"reference":"r1"`
	for body, want := range map[string]string{
		`{` + amount + `}`: "",
		`{` + amount + `,"kind":"b","at":"2026-11","metadata":{"any":1},"lines":[{"sku":"1"}]}`: "",
		`{` + amount + `,"ip":"127.0.0.1"}`:                                                     "body has ip, which no document has",
		`{"reference":"r1"}`:                                                                    "body lacks amount",
		`{"amount":{"value":"100","currency":"BRL"},"reference":"r1"}`:                          `body.amount.value is "100", want an integer`,
		`{"amount":{"value":1.5,"currency":"BRL"},"reference":"r1"}`:                            "body.amount.value is 1.5, want an integer",
		`{"amount":{"value":100,"currency":"BRL","cents":1},"reference":"r1"}`:                  "body.amount has cents, which no document has",
		`{"amount":{"value":100,"currency":"REAL"},"reference":"r1"}`:                           "of 4 characters, want 3 to 3",
		`{` + amount + `,"kind":"c"}`:                                                           `body.kind is "c", want one of a, b`,
		`{` + amount + `,"kind":null}`:                                                          "body.kind is null, want a string",
		`{` + amount + `,"at":"in 2026-11"}`:                                                    "body.at is",
		`{` + amount + `,"lines":[]}`:                                                           "body.lines has 0 entries",
		`{` + amount + `,"lines":[{"sku":"1","name":"x"}]}`:                                     "body.lines[0] has name",
		`[]`:                  "body is [], want an object",
		`{` + amount + `} {}`: "the body is not JSON",
	} {
		failures, said, reached := send(http.MethodPost, "/orders", media, body, 201, good)
		if want == "" && (len(failures) > 0 || !reached) || want != "" && (!strings.Contains(strings.Join(failures, ""), want) || reached || said.Code != 400) {
			t.Errorf("%s: %q, want %q", body, failures, want)
		}
	}
	for _, c := range []struct{ method, path, media, body, want string }{
		{http.MethodPut, "/orders", media, `{}`, "no document has this call"},
		{http.MethodGet, "/orders/", media, "", "no document has this call"},
		{http.MethodGet, "/orders/1?limit=2", media, "", ""},
		{http.MethodGet, "/orders/1?limit=two", media, "", `query.limit is "two", want an integer`},
		{http.MethodGet, "/orders/1?created_gte=1", media, "", "query has created_gte"},
		{http.MethodGet, "/orders/1", media, "{}", "it has a body, and the document has none"},
		{http.MethodPost, "/orders", form, `{` + amount + `}`, "the header X-Key is missing"},
		{http.MethodPost, "/orders/1/pay", form, "amount=100&types[0]=card&types[1]=cash&options[card][day]=3", ""},
		{http.MethodPost, "/orders/1/pay", form, "amount=1.5", `body.amount is "1.5", want an integer`},
		{http.MethodPost, "/orders/1/pay", form, "amount=1&types[]=boleto", `body.types[0] is "boleto"`},
		{http.MethodPost, "/orders/1/pay", form, "amount=1&options[cash][day]=3", "body.options has cash"},
		{http.MethodPost, "/orders/1/pay", form, "amount=1&options[card]=3", "body.options.card is"},
		{http.MethodPost, "/orders/1/pay", media, `{"amount":1}`, "the content type is"},
		{http.MethodPost, "/files", parts, part(`"purpose"`, "", "proof") + part(`"files[]"; filename="a.png"`, "image/png", "x") + part(`"files[]"; filename="a.pdf"`, "application/pdf", "y") + "--b--", ""},
		{http.MethodPost, "/files", parts, part(`"purpose"`, "", "proof") + "--b--", "body lacks files"},
		{http.MethodPost, "/files", parts, part(`"purpose"`, "", "proof") + part(`"files[]"`, "", "image") + "--b--", `body.files[0] is "image"`},
		{http.MethodPost, "/files", parts, part(`"purpose"`, "", "proof") + part(`"files[]"; filename="a.gif"`, "image/gif", "x") + "--b--", `body.files[0] is "image/gif"`},
		{http.MethodPost, "/files", parts, part(`"purpose"`, "", "proof") + part(`"files[]"; filename="a.png"`, "image/png", "") + "--b--", "the file a.png is empty"},
		{http.MethodPost, "/files", parts, part(`"purpose"`, "", "proof") + part(`"note"`, "", "x") + "--b--", "body has note"},
		{http.MethodPost, "/files", parts, part(`"purpose"`, "", "proof"), "the body is not a form in parts"},
		{http.MethodPost, "/files", form, "purpose=proof", "the content type is"},
	} {
		status, answer := 200, good
		switch {
		case strings.HasSuffix(c.path, "/pay"):
			status, answer = 204, ""
		case c.path == "/files":
			answer = ""
		}
		failures, _, reached := send(c.method, c.path, c.media, c.body, status, answer)
		if got := strings.Join(failures, ""); c.want == "" && (got != "" || !reached) || c.want != "" && (!strings.Contains(got, c.want) || reached) {
			t.Errorf("%s %s %s: %q, want %q", c.method, c.path, c.body, failures, c.want)
		}
	}
}

// A fake answers only what the document allows; a word that the table calls strange may be a status.
func TestAnswersThatNoDocumentAllowsFail(t *testing.T) {
	for _, c := range []struct {
		status       int
		answer, want string
	}{
		{200, good, ""},
		{200, `{"id":1,"status":"perhaps","note":null,"refunds":[{"value":1,"currency":"BRL"}],"total":"1.50"}`, ""},
		{200, `{"id":"o1","status":"expired"}`, `body.status is "expired"`},
		{200, `{"id":"o1","status":"open","items":[]}`, "body has items"},
		{200, `{"id":true,"status":"open"}`, "body.id is true, want a string or a number"},
		{200, ``, "the body is not JSON"},
		{404, `{}`, "which no document has"},
	} {
		failures, _, _ := send(http.MethodGet, "/orders/1", "", "", c.status, c.answer)
		if got := strings.Join(failures, ""); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%d %s: %q, want %q", c.status, c.answer, failures, c.want)
		}
	}
}

// Answers reach the adapter with everything that a document allows besides, and the same in each run.
func TestAnswersVaryWithinTheDocument(t *testing.T) {
	seen := map[string]bool{}
	j := &judge{}
	g := shop().Gate(j, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"o1","status":"open","total":150}`)
	}))
	for range 40 {
		said := httptest.NewRecorder()
		g.ServeHTTP(said, httptest.NewRequest(http.MethodGet, "/orders/1", nil))
		got, err := read(said.Body.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		fields := got.(map[string]any)
		for name, is := range map[string]bool{
			"added": fields["added_later"] != nil, "null": fields["note"] == nil && strings.Contains(said.Body.String(), "note"),
			"empty": strings.Contains(said.Body.String(), `"refunds":[]`), "text": fields["total"] == "150", "as it was": len(fields) == 3,
		} {
			seen[name] = seen[name] || is
		}
	}
	if len(j.failures) > 0 || len(seen) != 5 || !(seen["added"] && seen["null"] && seen["empty"] && seen["text"] && seen["as it was"]) {
		t.Errorf("seen %v, failures %v", seen, j.failures)
	}
}

// The suites let a fake answer each documented status.
func TestStatusesAreSaid(t *testing.T) {
	var words []string
	for _, w := range shop().Words() {
		words = append(words, fmt.Sprint(w))
	}
	if got := strings.Join(words, ""); got != "{make an order open false}{make an order paid true}{read an order open false}{read an order paid true}" {
		t.Errorf("the words are %s", got)
	}
	g := shop().Gate(&judge{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, good) }))
	for word, want := range map[string]bool{"paid": true, "void": false} {
		g.SetStatus("read an order", word)
		said := httptest.NewRecorder()
		g.ServeHTTP(said, httptest.NewRequest(http.MethodGet, "/orders/1", nil))
		if got := strings.Contains(said.Body.String(), word); got != want {
			t.Errorf("the answer has %s: %t, want %t", word, got, want)
		}
	}
	if !g.Gave("read an order") || g.Gave("pay") {
		t.Error("want one answer with the word")
	}
}

func TestNotificationsThatNoDocumentAllowsFail(t *testing.T) {
	signed := http.Header{"X-Signature": {"s"}, "X-Forwarded-For": {"127.0.0.1"}}
	for _, c := range []struct {
		header     http.Header
		body, want string
	}{
		{signed, `{"type":"paid","order":` + good + `}`, ""},
		{signed, `{"type":"paid","order":{"id":"o1","status":"perhaps"}}`, ""},
		{signed, `{"type":"sent","order":` + good + `}`, `body.type is "sent"`},
		{http.Header{}, `{"type":"paid","order":` + good + `}`, "the header X-Signature is missing"},
	} {
		j := &judge{}
		shop().notified(j, c.header, nil, []byte(c.body))
		if got := strings.Join(j.failures, ""); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.body, j.failures, c.want)
		}
	}
}
