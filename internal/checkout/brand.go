package checkout

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// forever lets a browser keep a file whose address changes with its contents.
const forever = "public, max-age=31536000, immutable"

// style is the stylesheet for a shop's colour. It depends only on the colour, so it needs
// no shop.
func (p *Pages) style(w http.ResponseWriter, r *http.Request) error {
	hex, found := strings.CutSuffix(r.PathValue("style"), ".css")
	brand := merchants.Brand{Color: "#" + hex}
	if !found || brand.Check() != nil {
		return message.Refusal(problem.NotFound, "there is no such style")
	}
	edge := func(card string) string { // it shows where the button is
		if brand.Faint(card) {
			return "var(--ink)"
		}
		return brand.Color
	}
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", forever)
	fmt.Fprintf(w, ":root { --brand: %s; --on-brand: %s; --edge: %s; }\n@media (prefers-color-scheme: dark) { :root { --brand: %[1]s; --on-brand: %[2]s; --edge: %[4]s; } }\n",
		brand.Color, brand.Ink(), edge(merchants.LightCard), edge(merchants.DarkCard))
	return nil
}

// logo is a shop's picture. It was checked when it was uploaded.
func (p *Pages) logo(w http.ResponseWriter, r *http.Request) error {
	logo, err := p.uses.Onboarding.Logo(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", logo.Kind)
	w.Header().Set("Cache-Control", forever)
	_, _ = w.Write(logo.Body) // the shopper may have left
	return nil
}
