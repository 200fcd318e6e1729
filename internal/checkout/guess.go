package checkout

import (
	"net/http"
	"slices"

	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"golang.org/x/text/language"
)

// guess returns the country that a shopper probably comes from, whose methods come first,
// and the country that the shopper chose, whose methods alone are shown. Each is "" if no
// method is for it.
func guess(r *http.Request, rails []accounts.Rail) (home, asked string) {
	here := func(alpha3 string) bool {
		return slices.ContainsFunc(rails, func(r accounts.Rail) bool { return r.Country == alpha3 })
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

// zones are a country's time zones by the last part of their IANA names, by which a script
// finds the shopper's country. Browsers use both America/Buenos_Aires and
// America/Argentina/Buenos_Aires.
var zones = map[string]string{
	"ARG": "Buenos_Aires Cordoba Rosario Mendoza Tucuman Salta Jujuy Catamarca La_Rioja San_Juan San_Luis Rio_Gallegos Ushuaia",
	"BOL": "La_Paz",
	"BRA": "Sao_Paulo Bahia Fortaleza Recife Maceio Belem Santarem Araguaina Manaus Cuiaba Campo_Grande Porto_Velho Boa_Vista Rio_Branco Eirunepe Noronha",
	"CHL": "Santiago Punta_Arenas Coyhaique Easter",
	"COL": "Bogota",
	"CRI": "Costa_Rica",
	"DOM": "Santo_Domingo",
	"ECU": "Guayaquil Galapagos",
	"GTM": "Guatemala",
	"HND": "Tegucigalpa",
	"MEX": "Mexico_City Monterrey Merida Cancun Chihuahua Ciudad_Juarez Ojinaga Hermosillo Mazatlan Bahia_Banderas Tijuana Matamoros",
	"PAN": "Panama",
	"PER": "Lima",
	"PRY": "Asuncion",
	"SLV": "El_Salvador",
	"URY": "Montevideo",
}
