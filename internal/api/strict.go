package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// shared adds the parameters that follow from an operation's access.
func (a *API) shared(op *huma.Operation, need access) {
	if need != open && need != orNone {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: shopParam, In: "query", Schema: &huma.Schema{Type: huma.TypeString}, Example: "shp_01J0000000000000000000000A",
			Description: "The shop that the request is about, if the credentials are the whole merchant's",
		})
	}
}

// checkParameters checks the query string and the headers, and reports whether the call is strict, and which parameters are ignored.
//
// Errors: invalid_request.
func (a *API) checkParameters(ctx huma.Context) (strict bool, ignored []string, err error) {
	r, _ := humago.Unwrap(ctx)
	if err := keyOf(r.Header); err != nil {
		return false, nil, err
	}
	if err := unclear(ctx.Operation(), r.Header); err != nil {
		return false, nil, err
	}
	return wire.CheckQuery(ctx.Operation(), r.URL.RawQuery, false, a.about(ctx, false).Has)
}

// keyHeader protects a request from running twice. otherKeyHeaders are what other providers call it: Mercado Pago and dLocal, YooKassa,
// Checkout.com, PayPal, and clients that write a header as a field.
const keyHeader = "Idempotency-Key"

var otherKeyHeaders = []string{"X-Idempotency-Key", "Idempotence-Key", "X-Idempotence-Key", "Cko-Idempotency-Key", "Idempotency_key", "X_idempotency_key", "Idempotencykey", "X-Idempotencykey", "Paypal-Request-Id"}

// keyWords are in the names of headers that look like it, as net/http writes them.
var keyWords = []string{"dempoten", "Idem-Key", "Idem_key", "Idemkey", "Dedup", "X_dedup"}

// sandboxHeaders decide what a sandbox does.
var sandboxHeaders = []string{"Sandbox-Simulate", "Sandbox-Strict"}

// keyOf reads the key under another name (IDEM-12). A header whose name only looks like it is refused: its sender believes that the
// request is protected. So is one that looks like a header of the sandbox.
//
// Errors: invalid_request.
func keyOf(header http.Header) error {
	for name, sent := range header { // net/http writes names as Idempotency-Key
		if sandbox := strings.HasPrefix(name, "Sandbox-") || strings.HasPrefix(name, "X-Sandbox"); sandbox && !slices.Contains(sandboxHeaders, name) {
			return message.FieldRefusal(problem.InvalidRequest, name, "there is no header "+name+": the sandbox has "+strings.Join(sandboxHeaders, " and "))
		}
		used := slices.Contains(otherKeyHeaders, name)
		if name == keyHeader || !used && !slices.ContainsFunc(keyWords, func(word string) bool { return strings.Contains(name, word) }) {
			continue
		}
		if !used {
			return message.FieldRefusal(problem.InvalidRequest, name, "there is no header "+name+": did you mean "+keyHeader+"?")
		}
		header[keyHeader] = append(header[keyHeader], sent...) // unclear refuses two values
	}
	return nil
}

// checkKey checks the value of that header, for every request that takes one.
func checkKey(key string) []error {
	if len(key) <= pay.MaxIdempotencyKey && !strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		return nil
	}
	return []error{wire.Coded(problem.InvalidRequest, keyHeader, keyIssue)}
}

// unclear refuses an ambiguous header of the operation, and an empty key: its sender believes that the
// request is protected.
//
// Errors: invalid_request.
func unclear(op *huma.Operation, header http.Header) error {
	var issues []wire.Issue
	for _, p := range op.Parameters {
		sent := header.Values(p.Name)
		if p.In != "header" || len(sent) == 0 {
			continue
		}
		if slices.ContainsFunc(sent, func(value string) bool { return value != sent[0] }) {
			issues = append(issues, wire.Issue{Path: p.Name, Message: p.Name + " is sent with two values: send it once"})
		} else if p.Name == keyHeader && sent[0] == "" {
			issues = append(issues, wire.Issue{Path: p.Name, Message: keyIssue + ", or leave the header out"})
		}
	}
	return wire.Invalid(issues...)
}

// about is the known part of an operation's body.
func (a *API) about(ctx huma.Context, strict bool) wire.Help {
	own := ctx.Operation().Metadata[wire.OwnKey]
	help := wire.Help{About: aboutCustomer, Schemas: a.huma.OpenAPI().Components.Schemas, Strict: strict || own == wire.OwnRefused, Open: own != nil}
	if body := ctx.Operation().RequestBody; body != nil && body.Content["application/json"] != nil {
		help.Body = body.Content["application/json"].Schema
	}
	return help
}

// keep buffers a body whose fields may be wrong, and returns the known part.
func (a *API) keep(ctx huma.Context, strict bool) wire.Help {
	help := a.about(ctx, strict)
	if help.Body == nil {
		return help
	}
	r, _ := humago.Unwrap(ctx)
	most := gate.SmallBody
	if strict || help.Open {
		most = maxBody
	}
	if r.ContentLength <= int64(most) && r.Body != nil {
		help.Sent = wire.Keep(r.Body, r.ContentLength, most)
		r.Body = help.Sent
	}
	return help
}

// StrictHeader asks for production's strictness in the sandbox, which is more lenient.
type StrictHeader struct {
	Strict string `header:"Sandbox-Strict" doc:"Sandbox only: true treats the request as production does, false does not, whatever the sandbox is set to"`
}

// Resolve checks the header.
func (s *StrictHeader) Resolve(huma.Context) []error {
	if s.Strict == "" || s.Strict == "true" || s.Strict == "false" {
		return nil
	}
	return []error{wire.Coded(problem.InvalidRequest, "Sandbox-Strict", "Sandbox-Strict must be true or false")}
}

// strict is the header's value, nil if absent.
func (s StrictHeader) strict() *bool {
	if s.Strict == "" {
		return nil
	}
	strict := s.Strict == "true"
	return &strict
}

// sandboxOnly refuses the header in production.
//
// Errors: production_key_refused.
func (s StrictHeader) sandboxOnly(call Call) error {
	if call.Live && s.Strict != "" {
		return message.FieldRefusal(problem.ProductionKeyRefused, "Sandbox-Strict", "production is always strict: the header is for the sandbox only")
	}
	return nil
}
