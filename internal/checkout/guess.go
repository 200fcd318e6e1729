package checkout

import (
	"net/http"
	"slices"

	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/pay"
	"golang.org/x/text/language"
)

// guess is the country that a shopper seems to come from, whose methods stand
// first, and the one the shopper asks for, whose methods alone are shown. Each is
// "" where there is no method for it.
func guess(r *http.Request, rails []pay.Rail) (home, asked string) {
	here := func(alpha3 string) bool {
		return slices.ContainsFunc(rails, func(r pay.Rail) bool { return r.Country == alpha3 })
	}
	if c, ok := geo.Parse(r.URL.Query().Get("country")); ok && here(c.Alpha3) {
		return c.Alpha3, c.Alpha3
	}
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil {
		return "", ""
	}
	for _, tag := range tags {
		region, sure := tag.Region()
		if c, ok := geo.Parse(region.String()); ok && sure == language.Exact && here(c.Alpha3) {
			return c.Alpha3, ""
		}
	}
	return "", ""
}
