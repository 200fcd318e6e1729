package provider_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// A text is cut between letters, and has nothing that a provider may refuse.
func TestWordsAreOneLineThatProvidersTake(t *testing.T) {
	for text, want := range map[string]string{
		"Two tickets": "Two tickets", "  two\n\ttickets ": "two tickets", "Niñas & Cía": "Niñas & Cía", "a\x00\u200bb\u202e": "ab", "🎫 Ticket 👩🏽‍💻": "Ticket",
		"❤️ love": "❤ love", "\xff": "", "🎫": "", "": "",
	} {
		if got := provider.Words(text, 100); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for most := range 12 {
		got := provider.Words("Ñandú ñoño 🎫", most)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > most || !strings.HasPrefix("Ñandú ñoño", got) || strings.TrimSpace(got) != got {
			t.Errorf("in %d characters: %q", most, got)
		}
	}
}

func TestATitleIsThereForEveryPurchase(t *testing.T) {
	r := provider.Request{Reference: "01M7Z-1", OrderID: "order-8412", Purchase: pay.Purchase{Description: "🎫"}}
	if got := r.Title(100); got != "order-8412" {
		t.Errorf("a description of which nothing is left: %q", got)
	}
	r.OrderID = "\x07"
	if got := r.Title(100); got != "01M7Z-1" {
		t.Errorf("an order's number of which nothing is left: %q", got)
	}
}

// Providers add items up: they get them only if the sum is the amount.
func TestItemsMakeUpTheAmount(t *testing.T) {
	reais := func(minor int64) money.Amount { return money.New(minor, money.BRL) }
	line := func(quantity, minor int64) pay.LineItem {
		return pay.LineItem{Name: "Ticket", Quantity: quantity, Unit: reais(minor)}
	}
	for name, c := range map[string]struct {
		items []pay.LineItem
		want  int
	}{
		"none":                {nil, 0},
		"the amount":          {[]pay.LineItem{line(2, 4_000), line(1, 2_000)}, 2},
		"with a gift":         {[]pay.LineItem{line(1, 10_000), line(1, 0)}, 2},
		"too little":          {[]pay.LineItem{line(1, 9_999)}, 0},
		"too much":            {[]pay.LineItem{line(1, 10_000), line(1, 1)}, 0},
		"a discount":          {[]pay.LineItem{line(1, 11_000), line(1, -1_000)}, 0},
		"overflow":            {[]pay.LineItem{line(1<<30, 1<<62), line(1, 10_000)}, 0},
		"none of a thing":     {[]pay.LineItem{line(0, 5), line(1, 10_000)}, 0},
		"another currency":    {[]pay.LineItem{{Name: "Ticket", Quantity: 1, Unit: money.New(10_000, money.USD)}}, 0},
		"half of a thing":     {[]pay.LineItem{{Name: "Queso", Unit: reais(0), Told: &pay.ToldNumbers{Quantity: "0.5", Unit: "200"}}, line(1, 10_000)}, 0},
		"a name of no letter": {[]pay.LineItem{{Name: "🎫", Quantity: 1, Unit: reais(10_000)}}, 0},
	} {
		if got := (provider.Request{Local: reais(10_000), Purchase: pay.Purchase{Items: c.items}}).Items(); len(got) != c.want {
			t.Errorf("%s: %v, want %d items", name, got, c.want)
		}
	}
}

func TestPhonesHaveOneForm(t *testing.T) {
	for text, want := range map[string]string{
		"+55 (11) 98765-4321": "+5511987654321", "11 98765.4321": "11987654321", "7563126": "7563126", " +525522997233 ": "+525522997233",
		"": "", "12345": "", "+55 11 98765-4321 ext. 5": "", "+5511987654321999": "", "call me": "", "\x00": "",
	} {
		if got := (provider.Request{Buyer: pay.Buyer{Phone: text}}).Phone(); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// A document's form tells its type, and whether it is a company's.
func TestDocumentsHaveTypes(t *testing.T) {
	for _, c := range []struct {
		country, text, kind, number string
		company                     bool
	}{
		{"BRA", "529.982.247-25", "CPF", "52998224725", false}, {"BRA", "11.222.333/0001-81", "CNPJ", "11222333000181", true},
		{"BRA", "12.abc.345/01de-35", "CNPJ", "12ABC34501DE35", true}, {"BRA", "12ABC34501DEXX", "", "12ABC34501DEXX", false}, {"BRA", "5299822472A", "", "5299822472A", false},
		{"ARG", "30-71234567-1", "CUIT", "30712345671", true}, {"ARG", "20-12345678-6", "CUIL", "20123456786", false}, {"ARG", "12.345.678", "DNI", "12345678", false},
		{"CHL", "12.345.678-k", "RUT", "12345678K", false}, {"CHL", "K2345678", "", "K2345678", false},
		{"CHL", "12.345-5", "RUT", "123455", false}, {"CHL", "100.000.000-7", "RUT", "1000000007", false},
		{"COL", "900.373.115-3", "NIT", "9003731153", true}, {"COL", "1020304050", "CC", "1020304050", false},
		{"COL", "900.123.456-8", "NIT", "9001234568", true}, {"COL", "1020304050-8", "NIT", "10203040508", false}, {"COL", "AV123456", "PP", "AV123456", false},
		{"MEX", "ÑAÑ&561231GR8", "RFC", "ÑAÑ&561231GR8", false}, {"MEX", "Ñ&O561231GR8", "RFC", "Ñ&O561231GR8", true}, {"MEX", "GODE561231HDFRRN09", "CURP", "GODE561231HDFRRN09", false},
		{"PER", "20100047218", "RUC", "20100047218", true}, {"PER", "001234567", "CE", "001234567", false}, {"PER", "AB1234567", "PP", "AB1234567", false}, {"PER", "12345678", "DNI", "12345678", false},
		{"URY", "211234567890", "RUT", "211234567890", true}, {"URY", "1.234.567-2", "CI", "12345672", false},
		{"BRA", "", "", "", false}, {"BOL", "1234567", "", "1234567", false}, {"BRA", "🎫\x00", "", "", false},
	} {
		r := provider.Request{Country: c.country, Buyer: pay.Buyer{Document: c.text}}
		if kind, number := r.Document(); kind != c.kind || number != c.number || r.IsCompany() != c.company {
			t.Errorf("%s %s is a %q %q, a company's: %t", c.country, c.text, kind, number, r.IsCompany())
		}
	}
}

// A shopper is one at a merchant, whatever the spelling of the address.
func TestAShopperHasOneName(t *testing.T) {
	of := func(merchant, email string) string {
		return provider.Request{Merchant: merchant, Buyer: pay.Buyer{Email: email}}.Shopper()
	}
	if one := of("mer_1", "ana@example.com"); one != of("mer_1", " Ana@Example.com") || one == of("mer_2", "ana@example.com") || one == of("mer_1", "bob@example.com") || len(one) != 32 {
		t.Errorf("a shopper is %q", one)
	}
	if got := of("mer_1", ""); got != "" {
		t.Errorf("nobody is %q", got)
	}
}
