package bankfiles

import "github.com/cascadapay/cascada/internal/geo"

// alpha2 is a country's code in ISO 20022, "" if the country is not known.
func alpha2(alpha3 string) string {
	country, _ := geo.Parse(alpha3)
	return country.Alpha2
}
