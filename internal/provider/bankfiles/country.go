package bankfiles

import "github.com/cascadapay/cascada/internal/geo"

// alpha2 is a country as ISO 20022 has it, "" where nobody said.
func alpha2(alpha3 string) string {
	country, _ := geo.Parse(alpha3)
	return country.Alpha2
}
