package checkout

// keysOf is the keyboard for a document, and its mask: 0 stands for a digit, * for a digit or K.
// The masks of a longer number, such as a company's, follow after |. Before one that may be shorter
// stands <: it is filled from its end. Numbers that have letters need all keys; a mask leaves alone
// what does not fit.
func keysOf(country, kind string) (keys, mask string) {
	switch country + " " + kind {
	case "MEX RFC", "BOL CI":
		return "text", ""
	case "CHL RUT":
		return "text", "<00.000.000-*"
	case "BRA CPF":
		return "numeric", "000.000.000-00|00.000.000/0000-00"
	case "ARG CUIT":
		return "numeric", "00-00000000-0"
	case "ARG DNI":
		return "numeric", "<00.000.000|00-00000000-0"
	case "SLV DUI":
		return "numeric", "00000000-0"
	case "URY CI":
		return "numeric", "<0.000.000-0"
	case "COL CC", "CRI CI", "ECU CI", "PER DNI", "PRY CI":
		return "numeric", ""
	}
	return "text", ""
}
