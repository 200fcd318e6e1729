package provider

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
)

// What a provider shows and scores comes from the payment as it was stored: a repeated call has the same body. Only the shop's name is read
// anew for each call.

// Words is a text for people on one line, in at most most characters. It has none that cannot be printed, and none outside the Basic
// Multilingual Plane (emoji): providers whose databases cannot store those refuse the whole payment.
func Words(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r > 0xFFFF, r == utf8.RuneError, !unicode.IsPrint(r), unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if letters := []rune(text); len(letters) > most {
		text = strings.TrimSpace(string(letters[:most]))
	}
	return text
}

// Title is what the shopper and the shop read of a purchase at the provider, in at most most characters: the shop's
// description, else its order's number, else our reference.
func (r Request) Title(most int) string {
	return cmp.Or(Words(r.Purchase.Description, most), Words(r.OrderID, most), Words(r.Reference, most))
}

// Language is the language in which the shopper reads the provider's pages: the one that he chose on ours, else his country's.
func (r Request) Language() string {
	return cmp.Or(r.Lang, map[string]string{"BRA": "pt", "USA": "en"}[r.Country], "es")
}

// Items are the lines of the purchase in the shopper's currency, if they make up the amount exactly. Providers add them up, so there are none
// after a conversion, with a discount, whose price is below zero, or with half of a thing. Names lose their line breaks (Words).
func (r Request) Items() []pay.LineItem {
	rest := r.Local.Minor
	for _, item := range r.Purchase.Items {
		if item.Told != nil { // no provider takes half of a thing, or a tenth of a cent
			return nil
		}
		unit := item.Unit
		if unit.Currency != r.Local.Currency || unit.Minor < 0 || item.Quantity < 1 || item.Quantity > math.MaxInt32 || Words(item.Name, 1) == "" {
			return nil
		}
		if unit.Minor > 0 && item.Quantity > rest/unit.Minor {
			return nil
		}
		rest -= unit.Minor * item.Quantity
	}
	if rest != 0 {
		return nil
	}
	return r.Purchase.Items
}

// Shopper is our name of a merchant's shopper, by which a provider sees that two payments are of one person. It says nothing else. "" without
// an e-mail address.
func (r Request) Shopper() string {
	email := strings.ToLower(strings.TrimSpace(r.Buyer.Email))
	if email == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(r.Merchant + "\x00" + email))
	return hex.EncodeToString(sum[:16])
}

// Phone is the shopper's telephone: its digits, after a + if the shop sent one. It is "" if it can be no telephone's.
func (r Request) Phone() string {
	text := strings.TrimSpace(r.Buyer.Phone)
	digits := strings.Map(func(c rune) rune {
		if strings.ContainsRune(" +-./()", c) {
			return -1
		}
		return c
	}, text)
	switch {
	case !Digits(digits, 6, 15):
		return ""
	case strings.HasPrefix(text, "+"):
		return "+" + digits
	}
	return digits
}

// documentType is a type of a document by its form, without separators.
type documentType struct {
	kind        string
	least, most int
	first       string // how it begins; "" for any
	letters     bool
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// documents are the types of each country, those that are tried first before the others (Mercado Pago's guide "document types", and the
// lengths of its OpenAPI document's countries, f224df3, 2026-06-24: both have a NIT of nine digits, or ten with its check digit). A cédula of
// Colombia has up to eight digits or ten, of which the first is 1; a company's NIT begins with 8 or 9. A foreigner's cédula there has a
// citizen's length, and counts as one; a person's NIT is a cédula of ten digits and its check digit. A passport there and in Peru begins with
// a letter (PayU's list of document types has PP; Mercado Pago's has none). A CUIT that begins with 3 is a company's; a person's is also the CUIL.
var documents = map[string][]documentType{
	"ARG": {{"DNI", 7, 8, "", false}, {"CUIT", 11, 11, "3", false}, {"CUIL", 11, 11, "", false}},
	"BRA": {{"CPF", 11, 11, "", false}, {"CNPJ", 14, 14, "", true}},
	"CHL": {{"RUT", 6, 10, "", true}},
	"COL": {{"NIT", 9, 9, "", false}, {"NIT", 10, 10, "89", false}, {"CC", 6, 10, "", false}, {"NIT", 11, 11, "1", false}, {"PP", 6, 13, letters, true}},
	"MEX": {{"RFC", 12, 13, "", true}, {"CURP", 18, 18, "", true}},
	"PER": {{"DNI", 8, 8, "", false}, {"RUC", 11, 11, "", false}, {"PP", 6, 13, letters, true}, {"CE", 9, 12, "", true}},
	"URY": {{"CI", 7, 8, "", false}, {"RUT", 12, 12, "", false}},
}

// Document is the shopper's document, as Document of this package reads it.
func (r Request) Document() (kind, number string) { return Document(r.Country, r.Buyer.Document) }

// Document is a document's number without separators, and its type as its country (alpha-3) calls it. kind is "" if its form tells
// none; then it may be a foreigner's, or mistyped.
func Document(country, text string) (kind, number string) {
	number = strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == 'Ñ' || c == '&' { // a Mexican RFC may have the last two
			return c
		}
		return -1
	}, strings.ToUpper(text))
	length := utf8.RuneCountInString(number)
	for _, d := range documents[country] {
		switch {
		case length < d.least, length > d.most, d.first != "" && !strings.ContainsRune(d.first, rune(number[0])), !d.letters && !Digits(number, d.least, d.most):
		case d.kind == "CNPJ" && !isCNPJ(number), d.kind == "RUT" && d.letters && !Digits(strings.TrimSuffix(number, "K"), 5, 10):
		default:
			return d.kind, number
		}
	}
	return "", number
}

func isCNPJ(text string) bool {
	_, ok := CNPJ(text)
	return ok
}

// IsCompany reports whether the shopper's document is a company's.
func (r Request) IsCompany() bool {
	kind, number := r.Document()
	if r.Country == "COL" && len(number) == 11 { // a person's NIT
		return false
	}
	return slices.Contains([]string{"CUIT", "CNPJ", "NIT", "RUC"}, kind) || kind == "RFC" && utf8.RuneCountInString(number) == 12 || kind == "RUT" && r.Country == "URY"
}
