package checkout

// keysOf is the keyboard for a document, and its mask: 0 is a digit, * a digit or K, A a digit or a letter. The
// masks for longer numbers, such as a company's, follow after |. A < in front means that
// the number may be shorter and is filled from its end. Numbers that may have letters need all keys, and since
// July 2026 a Brazilian company's may, wherever a CPF is asked for: a phone's keyboard of digits has no way to them.
// A mask leaves input alone that does not fit.
func keysOf(country, kind string) (keys, mask string) {
	switch country + " " + kind {
	case "MEX RFC", "BOL CI", "COL CC", "PER DNI", "PRY CI": // passports, and a RUC with a letter
		return "text", ""
	case "CHL RUT":
		return "text", "<000.000.000-*"
	case "BRA CPF":
		return "text", "000.000.000-00|AA.AAA.AAA/AAAA-00"
	case "ARG CUIT":
		return "numeric", "00-00000000-0"
	case "ARG DNI":
		return "numeric", "<00.000.000|00-00000000-0"
	case "SLV DUI":
		return "numeric", "00000000-0|0000-000000-000-0"
	case "URY CI":
		return "numeric", "<0.000.000-0|00-000000-000-0"
	case "CRI CI", "ECU CI":
		return "numeric", ""
	}
	return "text", ""
}
