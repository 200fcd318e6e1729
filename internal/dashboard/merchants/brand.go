package merchants

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// brandView is the page of the shop's look.
type brandView struct {
	Wrong    map[string]string
	Color    string // as typed
	Frames   string // an origin a line
	PassFee  bool
	Logo     string // address of the present picture, or ""
	Picker   template.HTML
	Contrast contrastView
}

// contrastView says how visible a colour is on shoppers' pages.
type contrastView struct {
	Known bool // it is a colour
	White bool // the button's text is white, else black
	Light bool // the button is faint on a light page
	Dark  bool // and on a dark one
}

// usual is the button's colour of a shop without one.
const usual = "#1f4fd8"

func contrastOf(color string) contrastView {
	b := merchants.Brand{Color: strings.ToLower(color)}
	if b.Color == "" || b.Check() != nil {
		return contrastView{}
	}
	return contrastView{true, b.Ink() == "#ffffff", b.Faint(merchants.LightCard), b.Faint(merchants.DarkCard)}
}

// brandPage is the page for a brand, saved or typed.
func (p *shopPages) brandPage(v *frame.Visit, b merchants.Brand) brandView {
	view := brandView{Color: b.Color, Frames: strings.Join(b.Frames, "\n"), PassFee: b.PassFee, Contrast: contrastOf(b.Color)}
	if v.Shop.Brand.Logo != "" {
		view.Logo = strings.TrimSuffix(p.At(""), frame.Base) + "/checkout/logos/" + v.Shop.Brand.Logo
	}
	picked := usual
	if view.Contrast.Known {
		picked = strings.ToLower(b.Color)
	}
	view.Picker = template.HTML(fmt.Sprintf(`<input type="color" class="js-only" data-mirror="f-color" value="%s" aria-label="%s">`, picked, template.HTMLEscapeString(p.room.Text(v, "color_pick")))) //nolint:gosec // a checked colour
	return view
}

func (p *shopPages) brand(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.room.Show(w, r, v, "brand", p.brandPage(v, v.Shop.Brand))
}

// typed reads the form: the brand, and a new picture or nil.
//
// Errors: invalid_request for the picture.
func typed(r *http.Request, now merchants.Brand) (merchants.Brand, *merchants.Logo, error) {
	now.Color, now.PassFee = strings.TrimSpace(r.FormValue("color")), r.FormValue("pass_fee") != ""
	now.Frames = strings.Fields(r.FormValue("frames"))
	if r.FormValue("no_logo") != "" {
		now.Logo = ""
	}
	file, _, err := r.FormFile("logo")
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		return now, nil, nil
	}
	if err != nil { // the form is longer than any
		return now, nil, problem.Field(problem.InvalidRequest, "logo", pictureTooLarge)
	}
	defer file.Close()
	body, err := io.ReadAll(file)
	if err != nil {
		return now, nil, err
	}
	if len(body) == 0 {
		return now, nil, nil
	}
	logo, err := appmerchants.ReadLogo(body)
	return now, &logo, err
}

func (p *shopPages) rebrand(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	wanted, logo, err := typed(r, v.Shop.Brand)
	if err == nil {
		_, err = p.Uses.Onboarding.Rebrand(r.Context(), v.Actor(), v.Shop.ID, func(present merchants.Brand) merchants.Brand {
			if wanted.Logo != "" { // the present one is kept, whoever changed it meanwhile
				wanted.Logo = present.Logo
			}
			return wanted
		}, logo)
	}
	if err != nil {
		wrong, status := p.wrong(v, err)
		if wrong == nil {
			return err
		}
		view := p.brandPage(v, wanted)
		view.Wrong = wrong
		return p.room.ShowStatus(w, r, v, status, "brand", view)
	}
	p.Flash(w, "brand_saved")
	p.to(w, r, v, "/shop/brand")
	return nil
}

// contrast is the part of the page that follows the colour.
func (p *shopPages) contrast(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.room.Fragment(w, r, v, "brand", "contrast", p.brandPage(v, merchants.Brand{Color: r.FormValue("color")}))
}

// show is the checkout with the saved brand, or with what was typed. A value with a mistake stays as it was: the
// form reports the mistake when it is saved.
func (p *shopPages) show(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if p.preview == nil {
		return noSuch()
	}
	shop, logo := v.Shop, (*merchants.Logo)(nil)
	if r.Method == http.MethodPost {
		wanted, picture, err := typed(r, shop.Brand)
		if err == nil {
			logo = picture
		}
		if next, err := shop.Rebrand(merchants.Brand{Color: wanted.Color}); err == nil {
			shop.Brand.Color = next.Brand.Color
		}
		shop.Brand.PassFee, shop.Brand.Logo = wanted.PassFee, wanted.Logo
	}
	return p.preview(w, r, shop, logo, v.Language())
}
