package call

import (
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// IDPath is the id of an object in a path.
type IDPath struct {
	ID string `path:"id"`
}

// Catalog is the query string's choice of methods.
type Catalog struct {
	Country string `query:"country" doc:"ISO 3166 alpha-2 or alpha-3"`
	Method  string `query:"method" doc:"Slug"`
	alpha3  string
}

// Resolve reads the country and looks up the method. A type that embeds this one and has its own Resolve
// calls it.
func (c *Catalog) Resolve(ctx huma.Context) (issues []error) {
	if c.Country != "" {
		country, ok := geo.Parse(c.Country)
		if !ok {
			issues = append(issues, wire.Coded(problem.InvalidRequest, "country", CountryIssue("country", c.Country)))
		}
		c.alpha3 = country.Alpha3
	}
	if c.Method != "" {
		if err := OfferOf(ctx).CheckSlug(c.Method); err != nil {
			issues = append(issues, AsFieldIssue(err))
		}
	}
	return issues
}

// Alpha3 is the country as ISO 3166 alpha-3, "" for all.
func (c *Catalog) Alpha3() string { return c.alpha3 }

// Sheet asks for a CSV file that a spreadsheet opens.
type Sheet struct {
	Decimal string `query:"decimal" enum:"point,comma" doc:"A CSV file for a spreadsheet, with a byte order mark: point for one that writes 1.5 (commas between columns), comma for one that writes 1,5 (semicolons between columns). Without it the file is for programs"`
}

// StrictHeader asks for production's strictness in the sandbox, which is more lenient.
type StrictHeader struct {
	Strict string `header:"Sandbox-Strict" doc:"Sandbox only: true treats the request as production does, false does not, whatever the sandbox is set to"`
}

// Resolve checks the header.
func (h *StrictHeader) Resolve(huma.Context) []error {
	if h.Strict == "" || h.Strict == "true" || h.Strict == "false" {
		return nil
	}
	return []error{wire.Coded(problem.InvalidRequest, "Sandbox-Strict", "Sandbox-Strict must be true or false")}
}

// Chosen is the header's value, nil if absent.
func (h StrictHeader) Chosen() *bool {
	if h.Strict == "" {
		return nil
	}
	strict := h.Strict == "true"
	return &strict
}

// SandboxOnly refuses the header in production.
//
// Errors: production_key_refused.
func (h StrictHeader) SandboxOnly(caller Caller) error {
	if caller.Live && h.Strict != "" {
		return message.FieldRefusal(problem.ProductionKeyRefused, "Sandbox-Strict", "production is always strict: the header is for the sandbox only")
	}
	return nil
}
