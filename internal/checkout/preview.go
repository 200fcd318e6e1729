package checkout

import (
	"encoding/base64"
	"html/template"
	"net/http"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// previewing is the policy of a preview: nothing on it can be sent, only our own pages may frame it, and a picture may
// be in the page itself, because it is not stored yet.
const previewing = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// samples are the orders of previews, by the language of who looks.
var samples = map[merchants.Language]struct {
	country string
	amount  money.Amount
}{
	merchants.English:    {"MEX", money.New(129900, money.MXN)},
	merchants.Spanish:    {"MEX", money.New(129900, money.MXN)},
	merchants.Portuguese: {"BRA", money.New(24990, money.BRL)},
}

// Preview shows the choice of a method for a sample order, with the brand that the shop has in memory; logo is its
// picture if it is not stored yet, or nil. Nothing is read or written of any session.
func (p *Pages) Preview(w http.ResponseWriter, r *http.Request, shop merchants.Shop, logo *merchants.Logo, lang merchants.Language) error {
	sample, known := samples[lang]
	if !known {
		lang, sample = merchants.English, samples[merchants.English]
	}
	q := r.URL.Query()
	q.Set("lang", string(lang))
	q.Del("country")
	copied := r.Clone(r.Context())
	copied.URL.RawQuery = q.Encode()
	rate, err := p.uses.Rates.AskedRate(false, sample.amount.Currency)
	if err != nil {
		return err
	}
	s := pay.Session{
		Scope: merchants.Scope{Merchant: shop.Merchant, Shop: shop.ID}, Asked: sample.amount, Country: sample.country, OrderID: "1042",
		Rate: rate.Rate, RateSource: rate.Source, RateAt: rate.At, CreatedAt: p.uses.Now(),
	}
	merchant, _, err := p.uses.Tenant(r.Context(), base.Principal{Scope: s.Scope})
	if err != nil {
		return err
	}
	merchant.Installments = ""
	v := p.selector(copied, s, shop, merchant)
	v.Sandbox, v.Languages = false, nil
	if logo != nil {
		v.Logo = template.URL("data:" + logo.Kind + ";base64," + base64.StdEncoding.EncodeToString(logo.Body)) //nolint:gosec // a picture that was checked
	}
	h := w.Header()
	h.Set("Content-Security-Policy", previewing)
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	p.render(w, http.StatusOK, "selector", v)
	return nil
}
