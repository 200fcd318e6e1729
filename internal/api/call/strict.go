package call

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

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
	help := wire.Help{About: aboutCustomer, Schemas: a.Huma.OpenAPI().Components.Schemas, Strict: strict || own == wire.OwnRefused, Open: own != nil}
	if body := ctx.Operation().RequestBody; body != nil && body.Content["application/json"] != nil {
		help.Body = body.Content["application/json"].Schema
	}
	return help
}

// aboutCustomer reports whether an issue is about a session's customer: such issues are always
// invalid_request (ERR-14).
func aboutCustomer(i wire.Issue) bool {
	return i.Path == "customer" || strings.HasPrefix(i.Path, "customer.")
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
		most = MaxBody
	}
	if r.ContentLength <= int64(most) && r.Body != nil {
		help.Sent = wire.Keep(r.Body, r.ContentLength, most)
		r.Body = help.Sent
	}
	return help
}
