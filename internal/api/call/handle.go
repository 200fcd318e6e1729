package call

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// Handle registers an operation. The table shows the handler's errors.
func Handle[I, O any](a *API, op huma.Operation, need Access, handler func(context.Context, Caller, *I) (*O, error)) {
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = MaxBody
	}
	op.MaxBodyBytes++ // huma refuses a body of this size
	if op.Metadata == nil {
		op.Metadata = map[string]any{}
	}
	op.Metadata[accessKey], op.Metadata[withinKey] = need, cmp.Or(op.BodyReadTimeout, web.BodyWithin)
	op.BodyReadTimeout = -1 // when huma reads the body, it has arrived: a time for it would end a slow request
	wire.BodyIn[I](&op)
	a.needs[op.OperationID] = need
	if op.Metadata[BrowserKey] == true {
		a.browsers[op.Method+" "+view.Base+op.Path] = true
	}
	if need != Open {
		op.Security = []map[string][]string{{"bearer": {}}}
	}
	if need == OrNone { // belongs to no shop
		op.Security = append(op.Security, map[string][]string{})
	}
	a.shared(&op, need)
	huma.Register(a.Huma, op, func(ctx context.Context, in *I) (out *O, err error) {
		caller := Of(ctx)
		ignored, err := wire.Unknown(ctx)
		wire.TellIgnored(caller.Reply, ignored)
		if err == nil {
			out, err = handler(ctx, caller, in)
		}
		err = wire.Mend(ctx, err)
		var envelope *wire.Envelope
		if err == nil || errors.As(err, &envelope) { // the handler built it, with headers
			return out, err
		}
		return nil, wire.Show(ctx, a.Log, err)
	})
	wire.Close(a.Huma.OpenAPI().Components.Schemas, a.bodyOf(op), op.Metadata[wire.OwnKey])
}

// bodyOf is the schema of a registered operation's body, nil for none.
func (a *API) bodyOf(op huma.Operation) *huma.Schema {
	at := a.Huma.OpenAPI().Paths[op.Path]
	registered := map[string]*huma.Operation{http.MethodPost: at.Post, http.MethodPatch: at.Patch, http.MethodPut: at.Put, http.MethodDelete: at.Delete}[op.Method]
	if registered == nil || registered.RequestBody == nil || registered.RequestBody.Content["application/json"] == nil {
		return nil
	}
	return registered.RequestBody.Content["application/json"].Schema
}
