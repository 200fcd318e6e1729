// Package document checks the tax ids and identity numbers of people and companies in Latin
// America: length, form and check digits.
//
// It finds mistyped numbers. Only the tax office and the provider know whether a number
// exists, or is the shopper's.
package document

import (
	"regexp"
	"strings"
)

// numberCheck checks a number without its punctuation, in upper case.
type numberCheck func(number string) bool

// Verdict is what a number's form says about it.
type Verdict int

// The verdicts. An irregular number has a wrong check digit or an unusual length. Most are mistyped, but tax offices issued
// some so: a person who says that the number is right is believed.
const (
	Impossible Verdict = iota // no office issues such a number
	Irregular
	Regular
)

// forms are what numbers of a kind look like.
type forms struct{ regular, possible numberCheck }

// kinds are by country (ISO alpha-3) and kind, as the catalog's rails name it. A rail that
// requires a person's number also accepts a company's, if the country has both.
//
// The forms are those of python-stdnum and of the reports that its kind of libraries had from holders of real numbers.
// Passports have no form of their own: a few letters and digits (PayerMax's list of Latin American documents takes them in
// Colombia and Peru).
var kinds = map[string]forms{
	"ARG CUIT": {cuit, digits(6, 11)},
	"ARG DNI":  {either(digits(7, 8), cuit), digits(6, 11)},
	"BOL CI":   {pattern(`^E?\d{5,10}[A-Z0-9]{0,2}$`), numbered(`^[A-Z0-9]{4,14}$`)}, // E-: a foreigner's (unproved); the suffix of a duplicate number
	"BRA CPF":  {either(cpf, cnpj), either(digits(11, 11), cnpjForm.MatchString)},
	"CHL RUT":  {rut, rutForm.MatchString},
	"COL CC":   {either(either(digits(5, 10), nit), passport), numbered(`^[A-Z]{0,3}\d{4,15}[A-Z]?$`)}, // 15 digits: a migrant's permit
	"CRI CI":   {pattern(`^[1-9]\d{8,11}$`), digits(8, 12)},                                            // 9 digits, a company's 10, a foreigner's DIMEX 11 or 12
	"ECU CI":   {either(cedulaEcuador, rucEcuador), either(digits(9, 10), digits(13, 13))},
	"MEX RFC":  {either(rfc, curp), either(rfcForm.MatchString, curpForm.MatchString)},
	"PER DNI":  {either(either(digits(8, 9), rucPeru), either(passport, cePeru)), numbered(`^[A-Z0-9]{6,12}$`)}, // 9 digits: a carné de extranjería
	"PRY CI":   {pattern(`^\d{5,9}$|^\d{4,8}[A-Z]\d$`), numbered(`^\d{3,10}[A-Z]?\d?$`)},                        // a letter: a RUC of two people with one number, its check digit unproved
	"SLV DUI":  {either(dui, nitSalvador), either(digits(8, 9), digits(14, 14))},
	"URY CI":   {either(cedulaUruguay, rutUruguay), either(digits(6, 8), digits(12, 12))},
}

// examples are valid numbers, for hints in test payments.
var examples = map[string]string{
	"ARG CUIT": "20-12345678-6", "ARG DNI": "12.345.678", "BOL CI": "1234567", "BRA CPF": "529.982.247-25",
	"CHL RUT": "12.345.678-5", "COL CC": "1020304050", "CRI CI": "101230456", "ECU CI": "1710034065", "MEX RFC": "GODE561231GR8",
	"PER DNI": "12345678", "PRY CI": "1234567", "SLV DUI": "00016297-5", "URY CI": "1.234.567-2",
}

// Example returns a valid number of a kind, "" for an unknown kind.
func Example(country, kind string) string { return examples[country+" "+kind] }

// Check returns a number without its punctuation, and whether it is regular.
func Check(country, kind, text string) (number string, ok bool) {
	number, verdict := Normalize(country, kind, text)
	return number, verdict == Regular
}

// Lacks reports whether a person must still type the number of a document of a kind, because the known one cannot be of that kind: a passport
// is no CPF. An irregular number is accepted. The kind "" needs none.
func Lacks(country, kind, known string) bool {
	_, looks := Normalize(country, kind, known)
	return kind != "" && looks == Impossible
}

// Normalize returns a number without its punctuation, and whether it can be of that kind. An
// unknown kind accepts any 4 to 20 letters and digits.
func Normalize(country, kind, text string) (string, Verdict) {
	number := plain.ReplaceAllString(strings.ToUpper(Clean(text)), "")
	form, known := kinds[country+" "+kind]
	switch {
	case !known && anyKind(number):
		return number, Regular
	case !known || strings.Trim(number, "0") == "":
		return number, Impossible
	}
	if country == "CRI" && len(number) == 10 {
		number = strings.TrimPrefix(number, "0") // the province in two digits, as some offices write it
	}
	switch {
	case form.regular(number):
		return number, Regular
	case form.possible(number):
		return number, Irregular
	}
	return number, Impossible
}

var (
	plain    = regexp.MustCompile(`[\s./-]`)
	anyKind  = pattern(`^[A-Z0-9Ñ&]{4,20}$`)
	passport = pattern(`^[A-Z]{1,3}\d{5,9}[A-Z]?$`)
	cePeru   = pattern(`^\d{3}[A-Z0-9]{9}$`) // 12 places (PayU's and Mercado Pago's lengths)
)

// numbered is a pattern of which at least four characters are digits: a word is no number.
func numbered(expression string) numberCheck {
	form := pattern(expression)
	return func(s string) bool {
		count := 0
		for i := range len(s) {
			if s[i] >= '0' && s[i] <= '9' {
				count++
			}
		}
		return count >= 4 && form(s)
	}
}

func pattern(expression string) numberCheck { return regexp.MustCompile(expression).MatchString }

func digits(low, high int) numberCheck {
	return func(s string) bool { return len(s) >= low && len(s) <= high && allDigits(s) }
}

func either(a, b numberCheck) numberCheck { return func(s string) bool { return a(s) || b(s) } }

func allDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// same finds numbers like 111.111.111-11, whose check digits are right but which nobody
// has.
func same(s string) bool { return strings.Count(s, s[:1]) == len(s) }

// sum adds the digits (or ASCII codes less 48) times their weights.
func sum(s string, weights ...int) int {
	total := 0
	for i, w := range weights {
		total += int(s[i]-'0') * w
	}
	return total
}

// eleven is 11 less the remainder by 11; 10 and 11 become zero.
func eleven(total int) byte {
	if rest := total % 11; rest >= 2 {
		return byte('0' + 11 - rest)
	}
	return '0'
}

func cpf(s string) bool {
	return len(s) == 11 && allDigits(s) && !same(s) &&
		s[9] == eleven(sum(s, 10, 9, 8, 7, 6, 5, 4, 3, 2)) && s[10] == eleven(sum(s, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2))
}

// cnpjForm is a company's number. Since July 2026 new ones have letters in all places but the check digits, where a
// letter counts as its ASCII code less 48 (Instrução Normativa RFB 2.229/2024; Serpro's note on the calculation).
var cnpjForm = regexp.MustCompile(`^[A-Z0-9]{12}\d{2}$`)

func cnpj(s string) bool {
	return cnpjForm.MatchString(s) && !same(s) &&
		s[12] == eleven(sum(s, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)) && s[13] == eleven(sum(s, 6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2))
}

func cuit(s string) bool {
	if len(s) != 11 || !allDigits(s) {
		return false
	}
	rest := 11 - sum(s, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)%11
	return rest != 10 && int(s[10]-'0') == rest%11
}

// rutForm has five to nine digits before the check digit: old people have less than a million, and provisional numbers begin
// at 100 million (reports to ChileanBundle and rut_validation).
var rutForm = regexp.MustCompile(`^\d{5,9}[\dK]$`)

func rut(s string) bool {
	if !rutForm.MatchString(s) {
		return false
	}
	body, total := s[:len(s)-1], 0
	for i := range len(body) {
		total += int(body[len(body)-1-i]-'0') * (2 + i%6)
	}
	return s[len(s)-1] == "0K987654321"[total%11]
}

// nit is a company's number of nine digits, or a person's cédula of ten, and its check digit.
func nit(s string) bool {
	if len(s) != 10 && len(s) != 11 || !allDigits(s) {
		return false
	}
	total, last := 0, len(s)-1
	for i, w := range []int{3, 7, 13, 17, 19, 23, 29, 37, 41, 43}[:last] {
		total += int(s[last-1-i]-'0') * w
	}
	return s[last] == "01987654321"[total%11]
}

// doubling sums the digits, after doubling every other one and subtracting 9 from results
// above 9.
func doubling(s string) int {
	total := 0
	for i := range len(s) {
		d := int(s[i] - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		total += d
	}
	return total
}

// provinceEcuador is where a number was issued: 30 is for people who registered abroad.
func provinceEcuador(s string) bool {
	return s[:2] >= "01" && s[:2] <= "24" || s[:2] == "30"
}

// cedulaEcuador: the third digit of foreigners is 6 (reports to ec-validador-cedula-ruc and validacion-cedula-ruc-ecuador).
func cedulaEcuador(s string) bool {
	return len(s) == 10 && allDigits(s) && provinceEcuador(s) && s[2] <= '6' && (doubling(s[:9])+int(s[9]-'0'))%10 == 0
}

func rucEcuador(s string) bool {
	return len(s) == 13 && allDigits(s) && strings.HasSuffix(s, "001") && provinceEcuador(s) &&
		(s[2] == '9' || s[2] == '6' || cedulaEcuador(s[:10]))
}

func rucPeru(s string) bool {
	if len(s) != 11 || !allDigits(s) {
		return false
	}
	rest := 11 - sum(s, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)%11
	return int(s[10]-'0') == rest%10
}

func dui(s string) bool {
	return len(s) == 9 && allDigits(s) && int(s[8]-'0') == (10-sum(s, 9, 8, 7, 6, 5, 4, 3, 2)%10)%10
}

// nitSalvador has one check digit for sequences up to 100, and another for later ones.
func nitSalvador(s string) bool {
	switch {
	case len(s) != 14 || !allDigits(s) || !strings.Contains("019", s[:1]):
		return false
	case s[10:13] <= "100":
		return int(s[13]-'0') == sum(s, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2)%11%10
	}
	return int(s[13]-'0') == (11-sum(s, 2, 7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)%11)%11%10
}

// rutUruguay is a company's number.
func rutUruguay(s string) bool {
	return len(s) == 12 && allDigits(s) && s[:2] >= "01" && s[:2] <= "22" && s[8:11] == "001" &&
		int(s[11]-'0') == (11-sum(s, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)%11)%11
}

func cedulaUruguay(s string) bool {
	if len(s) != 7 && len(s) != 8 || !allDigits(s) {
		return false
	}
	s = strings.Repeat("0", 8-len(s)) + s
	return int(s[7]-'0') == (10-sum(s, 2, 9, 8, 7, 6, 3, 4)%10)%10
}

var rfcForm = regexp.MustCompile(`^[A-ZÑ&]{3,4}\d{6}[A-Z0-9]{3}$`)

// rfc checks a Mexican RFC. The tax office issued about one in seventy with another check digit (python-stdnum's issue 32
// counts 1.4 % of 85,000): those are irregular. The two numbers for the general public and for foreigners have
// no valid check digit.
func rfc(s string) bool {
	if s == "XAXX010101000" || s == "XEXX010101000" {
		return true
	}
	const order = "0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ"
	if !rfcForm.MatchString(s) {
		return false
	}
	letters := []rune(s)
	if len(letters) == 12 { // a company
		letters = append([]rune{' '}, letters...)
	}
	values, total := []rune(order), 0
	for i, letter := range letters[:12] {
		for value, l := range values {
			if l == letter {
				total += value * (13 - i)
			}
		}
	}
	return letters[12] == rune("0A987654321"[total%11])
}

var curpForm = regexp.MustCompile(`^[A-Z]{4}\d{6}[HMX][A-Z]{5}[A-Z0-9]\d$`)

func curp(s string) bool {
	const order = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
	if !curpForm.MatchString(s) {
		return false
	}
	values, total := []rune(order), 0
	for i, letter := range s[:17] {
		for value, l := range values {
			if l == letter {
				total += value * (18 - i)
			}
		}
	}
	return int(s[17]-'0') == (10-total%10)%10
}
