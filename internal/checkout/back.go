package checkout

import (
	"html/template"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// back is the shop's own address with the result of the payment, and its name to show to the shopper: its host, or the shop's
// name if it is an app's. Both are empty if the shop gave none, or one to which its pages must not lead: a scheme that the shop
// had when the payment was made may be gone.
func back(p pay.Payment, shop merchants.Shop) (address template.URL, name string) {
	u, err := url.Parse(p.Page.ReturnURL)
	if err != nil || !shop.MayLeadTo(p.Page.ReturnURL) {
		return "", ""
	}
	parts := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(part string) bool {
		name, _, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		return part == "" || err == nil && (name == "transactionId" || name == "status")
	})
	// The shop's own stay as they are written: what we cannot read, the shop may.
	parts = append(parts, "status="+url.QueryEscape(string(p.Status)), "transactionId="+url.QueryEscape(p.ID))
	u.RawQuery = strings.Join(parts, "&")
	if merchants.AppScheme(p.Page.ReturnURL) == "" {
		return template.URL(u.String()), u.Host //nolint:gosec // a page on the web
	}
	// What comes before the query stays as it is written too: url.URL has one form for app:, app:/ and app://.
	_, rest, _ := strings.Cut(p.Page.ReturnURL, ":")
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	rest = u.Scheme + ":" + rest + "?" + u.RawQuery
	if u.Fragment != "" {
		rest += "#" + u.EscapedFragment()
	}
	return template.URL(rest), shop.Name //nolint:gosec // a scheme that the shop registered, and only what addresses may have
}
