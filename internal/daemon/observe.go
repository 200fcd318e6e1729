package daemon

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/api"
	"github.com/cascadapay/cascada/internal/app/requests"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/trace"
	"github.com/cascadapay/cascada/internal/web"
)

// observer wraps every request of a listener: it assigns an id and a span, counts it, and
// writes the access log.
type observer struct {
	metrics *metrics
	tracer  *trace.Tracer
	access  *slog.Logger   // nil: no access log
	proxies []netip.Prefix // proxies whose X-Forwarded-For is trusted
	newID   func() string
	now     func() time.Time
	log     *requests.Log // of the merchants' requests; nil: none is kept
}

func newObserver(c Config, m *metrics) observer {
	if c.Access != nil {
		c.Access = slog.New(ofRequests{c.Access.Handler()})
	}
	return observer{metrics: m, tracer: c.tracer, access: c.Access, proxies: c.Proxies, newID: func() string { return id.New("req_", time.Now()) }}
}

// see wraps a handler.
func (o observer) see(next http.Handler) http.Handler {
	return web.Identify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &reply{ResponseWriter: w, status: http.StatusOK}
		ctx, span := o.tracer.Start(r.Context(), "request", trace.Server)
		if span != nil {
			// The caller is another party: whether its trace is sampled does not concern us, and
			// must not decide whether ours is.
			span.Link(trace.Incoming(r.Header))
			r = r.WithContext(ctx)
		}
		o.metrics.under.Inc()
		defer func() { // also after a panic
			o.metrics.under.Dec()
			o.answered(r, span, seen, time.Since(began))
		}()
		next.ServeHTTP(seen, r)
	}), o.newID)
}

// noRoute is the label of requests without a matching pattern.
const noRoute = "other"

// answered records how a request was answered.
func (o observer) answered(r *http.Request, span *trace.Span, to *reply, took time.Duration) {
	known, method := web.RequestOf(r.Context()), methodLabel(r.Method)
	if !to.begun && r.Context().Err() != nil {
		to.status = web.StatusLeft
	}
	route := known.Route
	if route == "" {
		route = noRoute
	}
	o.metrics.answered(method, route, to.status, took)
	if span != nil {
		span.Named(method + " " + route)
		span.Text("http.request.method", method)
		span.Text("http.route", known.Route)
		span.Text("cascada.request.id", known.ID)
		span.Text("cascada.merchant.id", known.Merchant)
		span.Number("http.response.status_code", to.status)
		if to.status >= http.StatusInternalServerError {
			span.Fail(http.StatusText(to.status))
		}
		span.End()
	}
	fromPage := strings.HasPrefix(known.Key.Preview, "pk_") && to.status < http.StatusBadRequest // as often as shoppers come
	if o.log != nil && known.Key.ID != "" && !fromPage && !polls(r, known.Route, to.status) {
		o.remember(known, method, to.status, took)
	}
	if o.access == nil {
		return
	}
	// No path, which may hold a checkout's token, and no query: the route is enough.
	fields := []slog.Attr{
		slog.String("method", method), slog.String("route", route), slog.Int("status", to.status),
		slog.Float64("seconds", took.Seconds()), slog.Int64("bytes", to.bytes), slog.String("address", web.Peer(r, o.proxies).String()),
	}
	if known.Merchant != "" {
		fields = append(fields, slog.String("merchant", known.Merchant))
	}
	o.access.LogAttrs(r.Context(), slog.LevelInfo, "request", fields...)
}

// polls reports whether a request only asks what is new, again and again: in the log of requests it would take the
// place of those that a developer searches for.
func polls(r *http.Request, route string, status int) bool {
	switch route {
	case api.Base + "/requests":
		return true
	case api.Base + "/events":
		return status < http.StatusBadRequest && strings.HasPrefix(r.UserAgent(), api.ListenerAgent)
	}
	return false
}

// remember keeps an API request for its merchant's developers.
func (o observer) remember(known *web.Request, method string, status int, took time.Duration) {
	o.log.Add(known.Merchant, known.Key.Live, requests.Entry{
		ID: known.ID, Shop: known.Key.Shop, At: o.now().Add(-took), Took: took, Method: method, Route: known.Route, Object: requests.Object(known.Key.Object), Status: status,
		Key: known.Key.ID, Preview: known.Key.Preview, Code: known.Failure.Code, Message: known.Failure.Message, Param: known.Failure.Param, Fields: known.Failure.Fields,
	})
}

// methodLabel is a request's method in the metrics: "other" for a method that no endpoint
// has. Labels are kept for ever, so no client may invent one.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// reply records its status and size.
type reply struct {
	http.ResponseWriter
	status int
	begun  bool
	bytes  int64
}

// gone is the status that huma sets when a client has left before the end of the answer.
const gone = 499

func (r *reply) WriteHeader(status int) {
	if r.begun && status == gone {
		return
	}
	if !r.begun && status >= http.StatusOK { // an informational status is not the answer
		r.status, r.begun = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *reply) Write(b []byte) (int, error) {
	r.begun = true
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap implements http.ResponseController.
func (r *reply) Unwrap() http.ResponseWriter { return r.ResponseWriter }
