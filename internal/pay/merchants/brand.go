package merchants

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/printable"
)

// Brand is how a shop looks on the pages that its shoppers see.
type Brand struct {
	Color  string   `json:"color,omitempty"`  // #rrggbb of the main button
	Logo   string   `json:"logo,omitempty"`   // id of the image
	Frames []string `json:"frames,omitempty"` // origins that may embed the pages

	PassFee bool `json:"passFee,omitempty"` // the shop passes the fee on in its prices: the choice of methods shows it
}

// Logo is a shop's image. Its id is made from its content.
type Logo struct {
	ID   string
	Kind string // image/png or image/jpeg
	Body []byte
}

var hexColor = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// Check returns invalid_request for an invalid colour or origin.
func (b Brand) Check() error {
	if b.Color != "" && !hexColor.MatchString(b.Color) {
		return problem.Field(problem.InvalidRequest, "color", colorUnreadable)
	}
	for _, origin := range b.Frames {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || origin != u.Scheme+"://"+u.Host || strings.ContainsAny(u.Host, " ;,*'") {
			return problem.Field(problem.InvalidRequest, "frames", originUnreadable)
		}
	}
	return nil
}

// Ink is the text colour on the brand's colour: black or white, whichever has more contrast. One of
// the two always has at least 4.5 to 1 (WCAG 2.2, 1.4.3).
func (b Brand) Ink() string {
	if Contrast(b.Color, "#ffffff") >= Contrast(b.Color, "#000000") {
		return "#ffffff"
	}
	return "#000000"
}

// The colours of the cards on shoppers' pages, in light and dark. A button must stand out from them.
const (
	LightCard = "#ffffff"
	DarkCard  = "#1a1d23"
)

// Faint reports whether the brand's colour is so close to a card's that the button gets an edge (WCAG 2.2, 1.4.11: 3
// to 1).
func (b Brand) Faint(card string) bool { return Contrast(b.Color, card) < 3 }

// Contrast is the contrast ratio of two colours, from 1 to 21 (WCAG 2.2,
// relative luminance).
func Contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(color string) float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		if err != nil {
			return 0 // an empty colour counts as black
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// Rebrand changes the shop's brand.
func (s Shop) Rebrand(b Brand) (Shop, error) {
	b.Color = strings.ToLower(b.Color)
	if err := b.Check(); err != nil {
		return s, err
	}
	s.Version++
	s.Brand = b
	return s, nil
}

// MaxShopName is the longest name of a shop, in characters.
const MaxShopName = 80

// A logo has at most so many bytes, and so many pixels a side: it is most of what a shopper's page loads.
const (
	MaxLogo     = 24 << 10
	MaxLogoSide = 1024
)

// Rename changes the name that shoppers see.
//
// Errors: invalid_request.
func (s Shop) Rename(name string) (Shop, error) {
	name = strings.Join(strings.Fields(name), " ")
	if n := len([]rune(name)); n == 0 || n > MaxShopName || strings.ContainsFunc(name, printable.Unprintable) {
		return s, problem.Field(problem.InvalidRequest, "name", shopNameLength)
	}
	s.Version++
	s.Name = name
	return s, nil
}

// NewShop makes a new shop of a merchant.
func NewShop(id, merchant, name, slug string, now time.Time) Shop {
	return Shop{ID: id, Version: 1, Merchant: merchant, Name: name, Slug: slug, CreatedAt: now}
}
