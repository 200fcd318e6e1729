package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/near"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// strictParam is how a caller asks that nothing he sends is ignored.
const strictParam = "strict"

// shared adds the parameters that follow from what an operation asks of credentials.
func (a *API) shared(op *huma.Operation, need access) {
	if need != open && need != orNone {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: shopParam, In: "query", Schema: &huma.Schema{Type: huma.TypeString}, Example: "shp_01J0000000000000000000000A",
			Description: "The shop that the request is about, where the credentials are the whole merchant's",
		})
	}
}

// asked reads the query string: whether the call is strict, and what is wrong with its parameters.
// One that is not known is ignored, as a field of a body is; but for a slip of the pen, which would
// list what nobody asked for. So would one that is sent twice, of which one is read (ERR-29).
//
// Errors: invalid_request.
func (a *API) asked(ctx huma.Context) (strict bool, err error) {
	r, _ := humago.Unwrap(ctx)
	if err := unclear(ctx.Operation(), r.Header); err != nil || r.URL.RawQuery == "" {
		return false, err
	}
	sent, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // wire.Mux has refused it
		return false, err
	}
	var issues []problem.Issue
	switch word := sent.Get(strictParam); word {
	case "true":
		strict = true
	case "", "false":
	default:
		issues = append(issues, problem.Issue{Path: strictParam, Message: wire.OneOf(strictParam, word, []string{"true", "false"})})
	}
	known := []string{strictParam}
	for _, p := range ctx.Operation().Parameters {
		if p.In == "query" {
			known = append(known, p.Name)
		}
	}
	// Of a list one gets more than was asked for where a filter goes by another name, as of a field of its rows.
	list := slices.Contains(known, "limit")
	for _, name := range sortedNames(sent) {
		if slices.Contains(known, name) {
			if len(sent[name]) > 1 { // none of them is a list
				issues = append(issues, problem.Issue{Path: name, Message: fmt.Sprintf("%s is sent %d times: send it once, one value a call", name, len(sent[name]))})
			}
			continue
		}
		typo := near.Typo(name, known)
		switch meant := near.Meant(name, known); {
		case a.about(ctx, false).Has(name):
			issues = append(issues, problem.Issue{Path: name, Message: fmt.Sprintf("%s is no query parameter here: send it in the body, {%q: …}", name, name)})
		case typo != "" || (strict || list) && meant != "":
			issues = append(issues, problem.Issue{Path: name, Message: fmt.Sprintf("there is no query parameter %s: did you mean %s?", name, meant)})
		case strict:
			issues = append(issues, problem.Issue{Path: name, Message: fmt.Sprintf("there is no query parameter %s: leave it out; there are %s", name, strings.Join(known, ", "))})
		}
	}
	return strict, problem.Invalid(issues...)
}

// keyHeader guards a request against being carried out twice.
const keyHeader = "Idempotency-Key"

// unclear refuses a header of the operation's own that says two things, and a key that is empty: its
// sender thinks that the request is guarded.
//
// Errors: invalid_request.
func unclear(op *huma.Operation, header http.Header) error {
	var issues []problem.Issue
	for _, p := range op.Parameters {
		sent := header.Values(p.Name)
		if p.In != "header" || len(sent) == 0 {
			continue
		}
		if slices.ContainsFunc(sent, func(value string) bool { return value != sent[0] }) {
			issues = append(issues, problem.Issue{Path: p.Name, Message: p.Name + " is sent with two values: send it once"})
		} else if p.Name == keyHeader && sent[0] == "" {
			issues = append(issues, problem.Issue{Path: p.Name, Message: keyIssue + ", or leave the header out"})
		}
	}
	return problem.Invalid(issues...)
}

// mostNames is how many unknown parameters are told of, and longestName how long they are.
const mostNames, longestName = 20, 64

func sortedNames(sent url.Values) (names []string) {
	for name := range sent {
		if len(name) <= longestName && !strings.ContainsFunc(name, problem.Unprintable) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(mostNames, len(names))]
}

// about is what is known of an operation's body.
func (a *API) about(ctx huma.Context, strict bool) wire.Help {
	help := wire.Help{About: aboutCustomer, Schemas: a.huma.OpenAPI().Components.Schemas, Strict: strict}
	if body := ctx.Operation().RequestBody; body != nil && body.Content["application/json"] != nil {
		help.Body = body.Content["application/json"].Schema
	}
	return help
}

// keep remembers the body of a request whose fields may be wrong, and says what is known of it.
func (a *API) keep(ctx huma.Context, strict bool) wire.Help {
	help := a.about(ctx, strict)
	if help.Body == nil {
		return help
	}
	r, _ := humago.Unwrap(ctx)
	most := smallBody
	if strict {
		most = maxBody
	}
	if r.ContentLength <= int64(most) && r.Body != nil {
		help.Sent = wire.Keep(r.Body, r.ContentLength, most)
		r.Body = help.Sent
	}
	return help
}

// StrictHeader is what a request may carry that the sandbox takes more easily than production.
type StrictHeader struct {
	Strict string `header:"Sandbox-Strict" doc:"Sandbox only: true treats the request as production does, false does not, whatever the sandbox is set to"`
}

// Resolve checks the header.
func (in *StrictHeader) Resolve(huma.Context) []error {
	if in.Strict == "" || in.Strict == "true" || in.Strict == "false" {
		return nil
	}
	return []error{wire.Coded(problem.InvalidRequest, "Sandbox-Strict", "Sandbox-Strict must be true or false")}
}

// strict is what the header asks for, nil for nothing.
func (in StrictHeader) strict() *bool {
	if in.Strict == "" {
		return nil
	}
	strict := in.Strict == "true"
	return &strict
}

// sandboxOnly refuses the header in production.
//
// Errors: production_key_refused.
func (in StrictHeader) sandboxOnly(call Call) error {
	if call.Live && in.Strict != "" {
		return problem.Field(problem.ProductionKeyRefused, "Sandbox-Strict", "production is always strict: the header is for the sandbox only")
	}
	return nil
}
