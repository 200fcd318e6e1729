package money

// minorDigits is the ISO 4217 table (list one, up to amendment 180 of 2026): the digits after
// the decimal point for each active code, or -1 for a code not in it.
//
// These are the ISO digits, not the ones a shop prints: libraries built on CLDR
// say 0 for COP, IDR or IQD, which would be wrong by a factor of up to 1000.
//
// Funds codes (CLF, COU, UYI…) are in. Metals, bond units, XDR, XSU, XUA, XTS
// and XXX are out: they have no minor unit, so no Amount. So are withdrawn
// codes: ANG (now XCG), BGN and HRK (now EUR), CUC, SLL (now SLE) and ZWL (now
// ZWG). Withdrawing a code later makes stored amounts in it unreadable, so
// migrate them first. It is a switch so that nobody can write to it.
func minorDigits(c Currency) int {
	switch c {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG",
		"RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN",
		"BAM", "BBD", "BDT", "BMD", "BND", "BOB", "BOV", "BRL", "BSD",
		"BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHE", "CHF", "CHW",
		"CNY", "COP", "COU", "CRC", "CUP", "CVE", "CZK", "DKK", "DOP",
		"DZD", "EGP", "ERN", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL",
		"GHS", "GIP", "GMD", "GTQ", "GYD", "HKD", "HNL", "HTG", "HUF",
		"IDR", "ILS", "INR", "IRR", "JMD", "KES", "KGS", "KHR", "KPW",
		"KYD", "KZT", "LAK", "LBP", "LKR", "LRD", "LSL", "MAD", "MDL",
		"MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR", "MWK",
		"MXN", "MXV", "MYR", "MZN", "NAD", "NGN", "NIO", "NOK", "NPR",
		"NZD", "PAB", "PEN", "PGK", "PHP", "PKR", "PLN", "QAR", "RON",
		"RSD", "RUB", "SAR", "SBD", "SCR", "SDG", "SEK", "SGD", "SHP",
		"SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL", "THB",
		"TJS", "TMT", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "USD",
		"USN", "UYU", "UZS", "VED", "VES", "WST", "XAD", "XCD", "XCG",
		"YER", "ZAR", "ZMW", "ZWG":
		return 2
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	case "CLF", "UYW":
		return 4
	}
	return -1
}
