package access

import (
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payments"
	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/people"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spans is an OpenTelemetry collector that keeps the spans that it gets.
type spans struct {
	*httptest.Server
	mu  sync.Mutex // owns what follows
	got []*tracepb.Span
	by  []string // names and versions of the senders
}

func collect(t *testing.T) *spans {
	t.Helper()
	c := &spans{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("the collector got %s %s of the type %s with the error %v", r.Method, r.URL.Path, r.Header.Get("Content-Type"), err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, of := range sent.ResourceSpans {
			for _, a := range of.Resource.Attributes {
				if a.Key == "service.name" || a.Key == "service.version" {
					c.by = append(c.by, a.Value.GetStringValue())
				}
			}
			for _, scope := range of.ScopeSpans {
				c.got = append(c.got, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// where returns the spans with a name whose attribute key has the value. If key is "", it returns
// all spans with the name.
func (c *spans) where(name, key, value string) (list []*tracepb.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.got {
		if s.Name == name && (key == "" || attribute(s, key) == value) {
			list = append(list, s)
		}
	}
	return list
}

func attribute(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

func within(child, parent *tracepb.Span) bool {
	return string(child.TraceId) == string(parent.TraceId) && string(child.ParentSpanId) == string(parent.SpanId)
}

// A payment's request, commits, provider call and delivery are one trace. The endpoint does not get
// the trace's id.
func TestATraceHasAPaymentsWayThroughTheService(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		to := collect(t)
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.Traces, c.Version = to.URL, "v-test"
			c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		})
		s.Rate(t, "BRL 5.4")
		o, c := s.NewShop(t), s.Receive(t)
		o.Subscribe(t, c.URL, `"payment.completed"`)
		const theirs = "0af7651916cd43dd8448eb211c80319c"
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_card"}`, "traceparent: 00-"+theirs+"-b7ad6b7169203331-01")
		sent := c.Awaits(t, 1)[0]
		if got := sent.Header.Get("Traceparent"); got != "" {
			t.Errorf("the endpoint got the trace %s, want none", got)
		}
		event := sent.Text("id")
		s.End(t) // sends the spans that wait

		requests := to.where("POST /api/v1/payments", "http.route", "/api/v1/payments")
		if len(requests) != 1 {
			t.Fatalf("the request has %d spans, want 1", len(requests))
		}
		request := requests[0]
		if request.Kind != tracepb.Span_SPAN_KIND_SERVER || len(request.ParentSpanId) != 0 || !strings.HasPrefix(attribute(request, "cascada.request.id"), "req_") {
			t.Errorf("the request's span is %v, want a root with the request's id", request)
		}
		if len(request.Links) != 1 || hex.EncodeToString(request.Links[0].TraceId) != theirs {
			t.Errorf("the request's links are %v, want the caller's trace", request.Links)
		}
		commits := to.where("commit", "cascada.payment.id", id)
		if len(commits) < 2 || slices.ContainsFunc(commits, func(s *tracepb.Span) bool { return !within(s, request) }) {
			t.Fatalf("the payment has %d commits, want the intent and the outcome, all within the request", len(commits))
		}
		calls := to.where("charge at a provider", "cascada.outcome", "approved")
		if len(calls) != 1 || !within(calls[0], request) || calls[0].Kind != tracepb.Span_SPAN_KIND_CLIENT {
			t.Errorf("the calls to providers are %v, want one within the request", calls)
		}
		for _, commit := range commits {
			if len(commit.Links) != 1 {
				t.Fatalf("a commit's links are %v, want its transaction", commit.Links)
			}
			found := slices.ContainsFunc(to.where("transaction", "", ""), func(tx *tracepb.Span) bool {
				return string(tx.SpanId) == string(commit.Links[0].SpanId) && attribute(tx, "db.system.name") != ""
			})
			if !found {
				t.Error("the transaction of a commit has no span")
			}
		}
		deliveries := to.where("delivery", "cascada.event.id", event)
		if len(deliveries) != 1 || !slices.ContainsFunc(commits, func(c *tracepb.Span) bool { return within(deliveries[0], c) }) {
			t.Fatalf("the deliveries of %s are %v, want one within a commit of the payment", event, deliveries)
		}
		if outcome := to.where("commit", "cascada.delivery.id", strings.Replace(attribute(deliveries[0], "cascada.delivery.id"), "dlv_", "wd_", 1)); len(outcome) != 1 || !within(outcome[0], deliveries[0]) {
			t.Errorf("the commit of the delivery's outcome is %v, want one within it", outcome)
		}
		if !slices.Contains(to.by, "cascada") || !slices.Contains(to.by, "v-test") {
			t.Errorf("the senders of the spans are %v, want cascada and v-test", to.by)
		}
	})
}

// A collector that cannot be reached costs one warning, and no payment.
func TestPaymentsAreMadeWithoutTheCollector(t *testing.T) {
	t.Parallel()
	dead := httptest.NewServer(nil)
	dead.Close()
	log := &harness.Diary{}
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.Traces, c.Log = dead.URL, slog.New(slog.NewTextHandler(log, nil))
	})
	s.NewShop(t).Create(t, `{"amount":25.5,"paymentMethodId":"sbx_card"}`)
	s.End(t)
	if strings.Count(log.String(), "traces cannot be sent") != 1 {
		t.Error("the log does not say once that traces cannot be sent")
	}
}

// The key of a payment's page is the shopper's alone: no line of a log, no span, metric, event or page of the staff has it, and
// no key of the API gets it but by the reply that creates the payment.
func TestThePagesKeyIsOnlyTheShoppers(t *testing.T) {
	t.Parallel()
	to, log := collect(t), &harness.Diary{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	metrics := l.Addr().String()
	harness.Must(t, l.Close())
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.Traces, c.Metrics, c.FX = to.URL, metrics, daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		verbose := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Log, c.Access = verbose, verbose
	})
	s.Rate(t, "BRL 5.4", "COP 4120.5")
	o, endpoint := s.NewShop(t), s.Receive(t)
	o.Subscribe(t, endpoint.URL, `"*"`)
	inbox := harness.Inbox(t, o, `"*"`)
	told := map[string]string{}
	var ids, keys []string
	for _, body := range []string{`{"amount":25.5,"paymentMethodId":"sbx_pse","hostedCheckout":true,` + harness.Ana + `}`, `{"amount":25.5,"paymentMethodId":"sbx_card","hostedCheckout":true,` + harness.Ana + `}`} {
		made := o.Post(t, "/payments", body).Want(t, http.StatusCreated)
		id := made.Text(t, "transactionId")
		_, key, found := strings.Cut(s.PageOf(id), "?key=")
		if !found || !strings.Contains(string(made.Body), key) {
			t.Fatalf("the reply has no key of the page: %s", made)
		}
		ids, keys = append(ids, id), append(keys, key)
		for _, path := range []string{"/pay/" + id, "/c/" + id, "/sandbox/bank/" + id} {
			s.Visit(t, path)
		}
		s.Browse(t, http.MethodPost, "/pay/"+id+"/retry", "a=b")
		s.Browse(t, http.MethodPost, "/sandbox/bank/"+id, "action=pay")
		told["a read of a payment"] += string(o.Get(t, "/payments/"+id).Body)
		story, err := s.App.Store.Story(ctx, id)
		harness.Must(t, err)
		told["the story"] += story
	}
	told["the list"] = string(o.Get(t, "/payments").Body)
	told["the file"] = string(o.Get(t, "/payments/export").Body)
	_, token, _, err := s.App.Sessions.Create(ctx, base.Principal{Scope: harness.SandboxScope(o)}, payments.NewSession{Amount: money.New(2550, money.USD)})
	harness.Must(t, err)
	operator := harness.OperatorUser(t, o)
	harness.Must(t, s.App.People.Visit(ctx, users.From{Address: "127.0.0.1", Agent: "test"}, operator.Cookie, o.Merchant.ID))
	for who, u := range map[string]harness.Staff{"an owner": o.Staff(t, people.Owner), "a viewer": o.Staff(t, people.Viewer), "an operator": operator} {
		for _, path := range []string{"/payments", "/payments/" + ids[0], "/payments/" + ids[1], "/payments/links", "/events", "/requests"} {
			told["a page of "+who] += u.Ask(t, http.MethodGet, path, nil).Body
		}
	}
	harness.Eventually(t, "the events have arrived", func() bool {
		return strings.Count(string(o.Get(t, inbox.Path("/inbox")).Body), "payment.completed") > 0
	})
	told["the inbox"] = string(o.Get(t, inbox.Path("/inbox")).Body)
	for _, sent := range endpoint.Awaits(t, 2) {
		told["an event"] += string(sent.Body)
	}
	reply, err := http.Get("http://" + metrics + "/metrics")
	harness.Must(t, err)
	defer reply.Body.Close()
	page, err := io.ReadAll(reply.Body)
	harness.Must(t, err)
	told["the metrics"] = string(page)
	s.End(t) // sends the spans that wait
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, span := range to.got {
		told["a span"] += span.String()
	}
	told["the log"] = log.String()
	for where, text := range told {
		if text == "" {
			t.Errorf("%s says nothing", where)
		}
		for _, key := range keys {
			if strings.Contains(text, key) {
				t.Errorf("%s has the key of a payment's page", where)
			}
		}
	}
	// The address of a checkout leads to the key of its payment.
	for where, text := range told {
		if strings.Contains(text, token) {
			t.Errorf("%s has the address of a checkout", where)
		}
	}
	if !strings.Contains(told["the log"], "route=/pay/{id}") {
		t.Errorf("the access log has no line of a page: %.2000s", told["the log"])
	}
}
