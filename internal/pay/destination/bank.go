package destination

import (
	"net/mail"
	"strings"

	"github.com/cascadapay/cascada/internal/document"
)

// compact removes the separators between the digits of an account.
func compact(s string) string { return strings.NewReplacer(" ", "", "-", "").Replace(s) }

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// weighted is the check digit of a block: its digits times the repeating weights,
// subtracted from the next multiple of ten. CLABE takes each product modulo ten, with the
// same result.
func weighted(block string, weights ...int) byte {
	sum := 0
	for i := range len(block) {
		sum += int(block[i]-'0') * weights[i%len(weights)]
	}
	return byte('0' + (10-sum%10)%10)
}

// parseCLABE reads a Mexican account: bank, place, account, check digit.
func parseCLABE(text string) (normal, masked, wrong string) {
	s := compact(text)
	if len(s) != 18 || !digits(s) || weighted(s[:17], 3, 7, 1) != s[17] {
		return "", "", "a CLABE: 18 digits, with a valid check digit at the end"
	}
	return s, s[:3] + tail(s), ""
}

// parseCBU reads an Argentine account (CBU or CVU): a block for the bank and
// one for the account, each with a check digit.
func parseCBU(text string) (normal, masked, wrong string) {
	s := compact(text)
	if len(s) != 22 || !digits(s) || weighted(s[:7], 7, 1, 3, 9) != s[7] || weighted(s[8:21], 3, 9, 7, 1) != s[21] {
		return "", "", "a CBU or CVU: 22 digits, with valid check digits at the 8th and the last place"
	}
	return s, s[:3] + tail(s), ""
}

// parsePIX reads a key of Brazil's PIX: a CPF, a CNPJ, a telephone number, an
// email address or a random key. A telephone number needs its +55: eleven plain
// digits are a CPF.
func parsePIX(text string) (normal, masked, wrong string) {
	tax, isTax := document.Check("BRA", "CPF", text) // also a company's CNPJ
	phone := strings.NewReplacer(" ", "", "-", "", "(", "", ")", "").Replace(text)
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(text, "@"):
		if a, err := mail.ParseAddress(lower); err == nil && a.Address == lower && len(lower) <= 77 && ascii(lower) {
			return lower, lower[:1] + "***" + lower[strings.LastIndexByte(lower, '@'):], ""
		}
	case strings.HasPrefix(phone, "+"): // no area code of Brazil has a zero
		if n := len(phone); strings.HasPrefix(phone, "+55") && (n == 13 || n == 14) && digits(phone[1:]) && phone[3] != '0' && phone[4] != '0' {
			return phone, "+55" + tail(phone), ""
		}
	case len(text) == 36:
		if uuid(lower) {
			return lower, tail(lower), ""
		}
	case isTax:
		return tax, tail(tax), ""
	}
	return "", "", "a PIX key: a CPF, a CNPJ, +55 and a telephone number, an email address or a random key"
}

// parseTED reads an account at a bank in Brazil: its number, and its check digit at the end, which
// some banks write as X or P. The bank and the branch are not in it.
func parseTED(text string) (normal, masked, wrong string) {
	s := strings.ToUpper(compact(text))
	if n := len(s); n < 2 || n > 13 || !digits(s[:n-1]) || !strings.Contains("0123456789XP", s[n-1:]) {
		return "", "", "an account of at most 12 digits, and its check digit"
	}
	return s, tail(s), ""
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > '~' })
}

// uuid reports whether s is 8-4-4-4-12 lower-case hexadecimal digits.
func uuid(s string) bool {
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !strings.Contains("0123456789abcdef", s[i:i+1]) {
			return false
		}
	}
	return true
}

// parseIBAN reads an international account number (ISO 13616): its length
// belongs to its country, and modulo 97 it is 1.
func parseIBAN(text string) (normal, masked, wrong string) {
	s := strings.ToUpper(compact(text))
	if len(s) < 5 || ibanLength(s[:2]) != len(s) || !digits(s[2:4]) {
		return "", "", "an IBAN of the right length for its country"
	}
	rest := 0
	for _, c := range s[4:] + s[:4] {
		switch {
		case c >= '0' && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			rest = (rest*100 + int(c-'A') + 10) % 97
		default:
			return "", "", "an IBAN of letters and digits"
		}
	}
	if rest != 1 {
		return "", "", "an IBAN with valid check digits"
	}
	return s, s[:2] + tail(s), ""
}

// ibanLength is the length of a country's IBAN, 0 for a country without one
// (the registry of SWIFT).
func ibanLength(country string) int {
	const registry = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27" +
		"GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MR27" +
		"MT31MU30NI28NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24SC31SE24SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20"
	for i := 0; i < len(registry); i += 4 {
		if registry[i:i+2] == country {
			return int(registry[i+2]-'0')*10 + int(registry[i+3]-'0')
		}
	}
	return 0
}

// parseAccount reads an account number of an unknown kind.
func parseAccount(text string) (normal, masked, wrong string) {
	for _, word := range strings.Fields(text) {
		if len(word) > 4 && strings.Trim(strings.ToUpper(word), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			return "", "", "the account number alone, without words such as its kind"
		}
	}
	s := strings.ToUpper(compact(text))
	if plain := strings.ReplaceAll(s, ".", ""); digits(plain) { // points between digits only group them
		s = plain
	}
	for i := range len(s) {
		if !strings.Contains("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ/.", s[i:i+1]) {
			return "", "", "an account number of 5 to 34 letters and digits"
		}
	}
	if len(s) < 5 || len(s) > 34 {
		return "", "", "an account number of 5 to 34 letters and digits"
	}
	return s, tail(s), ""
}
