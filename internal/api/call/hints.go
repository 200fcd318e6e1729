package call

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/near"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// NotNumber says that an amount is not a number, and quotes it.
func NotNumber(text string) string {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		v = text
	}
	return "amount must be a number, such as 49.90, without quotes; you sent " + wire.Quoted(v)
}

// LongestAmount is how much of an amount is quoted.
const LongestAmount = 30

// Clip cuts a text that was sent to what a message quotes of it.
func Clip(text string) string {
	if len(text) > LongestAmount {
		return text[:LongestAmount] + "…"
	}
	return text
}

// IsNumber reports whether the text of an amount is a JSON number.
func IsNumber(text string) bool { return strings.Trim(text[:1], "-0123456789") == "" }

// ownNames are the names of countries in their own languages.
var ownNames = map[string]string{
	"brasil": "BR", "méxico": "MX", "perú": "PE", "panamá": "PA", "haití": "HT", "república dominicana": "DO", "estados unidos": "US", "usa": "US",
	"united states of america": "US", "uk": "GB", "great britain": "GB", "england": "GB", "españa": "ES", "belice": "BZ",
}

// CountryIssue says that a text is not a country code, and suggests the likely one.
func CountryIssue(field, text string) string {
	message := field + " must be an ISO 3166 code of two or three letters, such as BR or BRA"
	wanted := strings.ToLower(strings.TrimSpace(text))
	var names []string
	byName := map[string]geo.Country{}
	for _, c := range geo.All() {
		name := strings.ToLower(c.Name)
		names, byName[name] = append(names, name), c
	}
	for name, code := range ownNames {
		byName[name], _ = geo.Parse(code)
		names = append(names, name)
	}
	c, found := byName[wanted]
	if slices.Sort(names); !found && len(wanted) > 3 {
		c, found = byName[near.Typo(wanted, names)], true
	}
	if !found || c.Alpha2 == "" {
		return message
	}
	return fmt.Sprintf("%s; %s is %s or %s", message, c.Name, c.Alpha2, c.Alpha3)
}

// URLIssue is what is wrong with a returnUrl that is no address of a page.
const URLIssue = "returnUrl must be an absolute http or https URL, such as https://shop.example/thanks"

// WebURL reports whether a text is the address of a page on the web.
func WebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// Below is the path of a field of an object in a body. (*huma.PathBuffer).With takes away one name again: with two of them it would leave one for the
// issues that follow.
func Below(prefix *huma.PathBuffer, object, field string) string {
	return prefix.With(object) + "." + field
}
