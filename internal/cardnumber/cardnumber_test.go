package cardnumber

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

// cards are test numbers that schemes and providers publish, one of each range and length.
var cards = []string{
	"4242424242424242", "4111111111111111", "4012888888881881", "4000056655665556", "4917610000000000003", // Visa
	"5555555555554444", "5105105105105100", "2223003122003222", "2720990000000007", // Mastercard
	"378282246310005", "371449635398431", "343434343434343", // American Express
	"6011111111111117", "6445644564456445", "6500000000000002", // Discover
	"30569309025904", "36227206271667", "38520000023237", "3056930009020004", // Diners Club
	"3530111333300000", "3566002020360505", // JCB
	"6200000000000005", "6205500000000000004", // UnionPay
	"6362970000457013", "5067310000000010", "4389350000000004", // Elo
	"6062825624254001", "3841001111222233334", // Hipercard
	"6759649826438453", "5018000000000009", "6304000000000000", "501800000009", // Maestro
	"5896570000000008", "5895626746595650", // Cabal, Naranja
}

func init() { // some are made from their first digits
	for i, c := range cards {
		for d := byte('0'); d <= '9' && !luhn(values(cards[i])); d++ {
			cards[i] = c[:len(c)-1] + string(d)
		}
	}
}

func values(text string) (digits []byte) {
	for i := range len(text) {
		digits = append(digits, text[i]-'0')
	}
	return digits
}

// in groups a number.
func grouped(number, between string, sizes ...int) string {
	var parts []string
	for i := 0; number != ""; i++ {
		n := min(sizes[min(i, len(sizes)-1)], len(number))
		parts, number = append(parts, number[:n]), number[n:]
	}
	return strings.Join(parts, between)
}

func TestCardNumbersAreFound(t *testing.T) {
	for _, c := range cards {
		texts := []string{c, "card " + c, "pan=" + c + "&x=1", "Visa" + c + "exp1229", c + " 12/29 123", "(" + c + ")", "https://shop.example/?c=" + c}
		for _, mark := range []string{" ", "-", ".", "_", "\u00a0", "–", " - ", "\n", "+", "\u200b", "·", "/", ",", ":"} {
			texts = append(texts, grouped(c, mark, 4))
		}
		for _, mark := range []string{" ", "-", ".", "\u2009"} {
			texts = append(texts, grouped(c, mark, 1), grouped(c, mark, 2), "no. "+grouped(c, mark, 8)+".", "n "+grouped(c, mark, 4)+", 12/29", "7 "+grouped(c, mark, 4)+" 12 29")
			if len(c) == 14 || len(c) == 15 {
				texts = append(texts, grouped(c, mark, 4, 6, 5))
			}
		}
		arabic := strings.Map(func(r rune) rune { return r - '0' + '٠' }, c)
		wide := strings.Map(func(r rune) rune { return r - '0' + '０' }, c)
		bold := strings.Map(func(r rune) rune { return r - '0' + '𝟎' }, c)
		texts = append(texts, arabic, wide, bold, grouped(c, "%20", 4), grouped(c, "%C2%A0", 4), "%"+fmt.Sprintf("%x", c[0])+c[1:])
		for _, text := range texts {
			if !In(text) {
				t.Errorf("%q: not found", text)
			}
			body, err := json.Marshal(map[string]string{"a": "José \u20ac", text: "\\"})
			if err != nil {
				t.Fatal(err)
			}
			if !InJSON(body) {
				t.Errorf("%s: not found", body)
			}
			if escaped := escapedAll(text); !InJSON([]byte(escaped)) {
				t.Errorf("%s: not found", escaped)
			}
		}
		if !Is(" "+grouped(c, "-", 3)+" ") || Is(c+"x") || Is("1"+c+"00000") {
			t.Errorf("%s as a whole: %v", c, Is(c))
		}
	}
}

// escapedAll writes each character as an escape of JSON.
func escapedAll(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r > 0xffff {
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			continue
		}
		fmt.Fprintf(&out, `\u%04x`, r)
	}
	return `"` + out.String() + `"`
}

// Other numbers pass, also where their digits end as a card's do.
func TestOtherNumbersPass(t *testing.T) {
	for _, text := range []string{
		"", "1", "4242", "4222222222222", "670000000000",
		"3526 0142 4242 4242 4242 4200 1000 0000 4212 3456 7890", "ES91 4242 4242 4242 4242 1332", "AT61 4242 4242 4242 4242",
		"4.242424242424242", "-42.42424242424242", "30012026101401", "30032099101419", "2301202610141248", "36120310144807", "4242424242424241", "0000000000000000", "1234567890123452", "9999999999999995",
		"52998224725", "529.982.247-25", "36.227.206/2716-67", "GODE561231HDFRRN09", "2026113001144804", "1700000000000000",
		"42424242424242424242", "142424242424242424242", "00000000000042424242424242424242", "4006381333931", "+4915123456789", "4915123456786",
		"+57 300 123 4567", "573001234567", "+58 412 1234567", "+55 11 91234-5678", "+54 9 11 2345-6789", "+52 1 55 1234 5678", "+378282246310005",
		"34191.79001 01043.510047 91020.150008 5 84410026000", "23793.38128 60007.827136 95000.063305 9 84410000019900", "34191790010104351004791020150008584410026000",
		"846700000017 435900240209 024050002435 842210108119", "84670000001-7 43590024020-9 02405000243-5 84221010811-9",
		"30-11-2026 10.14.48", "30.11.2026 10:14:48", "2026-11-30T10:14:48.123456Z", "192.168.100.100", "4.532.015.112",
		"550e8400-e29b-41d4-a716-446655440000", "TXN-01JQZ5XK7M3V8N2B4C6D8F0G1H", "DE89 3704 0044 0532 0130 00", "DE89370400440532013000",
		"e3b0c44298fc1c149afb4242424242424242b27ae41e4649b934ca495991b785", "12 14 25 42 38 44 45 51 60 11", "4500, 1200, 3300, 4100, 2800",
	} {
		if In(text) {
			t.Errorf("%q is said to hold a card's number", text)
		}
	}
}

// A CLABE, a CNPJ and an EAN pass whatever their digits are.
func TestNumbersWithACheckDigitOfTheirOwnPass(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		number := func(start string, n int) []byte {
			digits := values(start)
			for len(digits) < n {
				digits = append(digits, byte(random.IntN(10)))
			}
			return digits
		}
		clabe, ean, company := number("646", 18), number("4", 13), number([]string{"36", "38", "39", "300", "3095"}[random.IntN(5)], 14)
		for !weighted(clabe, 10, 3, 7, 1) {
			clabe[17] = (clabe[17] + 1) % 10
		}
		for !weighted(ean, 10, 1, 3) {
			ean[12] = (ean[12] + 1) % 10
		}
		for _, place := range []int{12, 13} {
			for company[place] = 0; !cnpj(company, place); {
				company[place]++
			}
		}
		for _, digits := range [][]byte{clabe, ean, company} {
			text := ""
			for _, d := range digits {
				text += string('0' + rune(d))
			}
			if In(text) || Is(text) {
				t.Fatalf("%s is said to be a card's number", text)
			}
		}
	}
}

// Marks, an expiry and other texts beside a number do not hide it.
func TestNumbersBesideOthersAreFound(t *testing.T) {
	for _, text := range []string{
		"4242 4242 4242 4242 1229", "4242 4242 4242 4242 0127 123", "6759 6498 2643 8453", "6700 0000 0000", "4242.4242.4242.4242", "4242424242424242.0",
		"dcf75201-f1f0-4988-9712-53755037a0a7 4242424242424242", "4242424242424242-f1f0-4988-9712-53755037a0a7", "e3b0c44298fc1c149afb4242424242424242b27ae41e4649 4242424242424242",
	} {
		if !In(text) {
			t.Errorf("%q: not found", text)
		}
	}
}

// No random UUID is refused, of version 4 or 7.
func TestUUIDsPass(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	texts := []string{"dcf75201-f1f0-4988-9712-53755037a0a7", "65556908-5436-4696-9e55-3ebf0a845daa", "06d00e15-56fd-4043-8314-39393132f1d4"}
	for i := range 1_000_000 {
		a, b := random.Uint64(), random.Uint64()
		version := uint64(4)
		if i%2 == 1 {
			a, version = a>>24|0x0199<<48, 7
		}
		texts = append(texts, fmt.Sprintf("%08x-%04x-%x%03x-%04x-%012x", a>>32, a>>16&0xffff, version, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff))
		for _, id := range texts {
			if In(id) || i%16 == 0 && InJSON([]byte(`{"id":"`+id+`"}`)) {
				t.Fatalf("%s is said to hold a card's number", id)
			}
		}
		texts = texts[:0]
	}
}

// Of what the core makes itself and of random ids nothing is refused.
func TestRandomIDsPass(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const crockford, hexadecimal = "0123456789ABCDEFGHJKMNPQRSTVWXYZ", "0123456789abcdef"
	text := func(letters string, n int) string {
		out := make([]byte, n)
		for i := range out {
			out[i] = letters[random.IntN(len(letters))]
		}
		return string(out)
	}
	for range 300_000 {
		if id, hash := "TXN-"+text(crockford, 26), text(hexadecimal, 64); In(id) || In(hash) {
			t.Fatalf("%s or %s is said to hold a card's number", id, hash)
		}
	}
}

func TestTextsCostNoAllocation(t *testing.T) {
	body := []byte(`{"amount":25.5,"currency":"BRL","paymentMethodId":"pix","orderId":"1700000000000000","description":"Café nº 12 \u00e9","metadata":{"cart":"c-311","phone":"+55 11 91234-5678"}}`)
	if n := testing.AllocsPerRun(100, func() {
		if InJSON(body) || In("José, order 2026-11-30 10 14 48 of 4500 1200 3300") {
			t.Error("a card's number was found where there is none")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkInJSON(b *testing.B) {
	for name, body := range map[string]string{
		"small": `{"amount":25.5,"currency":"BRL","paymentMethodId":"pix","orderId":"1700000000000000","description":"Two books"}`,
		"large": `{"amount":25.5,"lineItems":[` + strings.Repeat(`{"name":"A book of one title","quantity":1,"unitAmount":12.50,"sku":"978-3-16-148410-0"},`, 100) + `{}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			text := []byte(body)
			b.ReportAllocs()
			for b.Loop() {
				InJSON(text)
			}
		})
	}
}

// A text costs no more than its size.
func TestCardNumbersCostNoMoreThanTheirSize(t *testing.T) {
	for _, text := range []string{"4", "4 ", "4242 ", "4242-42", "%34", `\u0034`, " ", "٤", "424242424242 "} {
		growth.Of(t, "a text of "+text, 64<<10, growth.Repeated("", text, ""), func(text string) int {
			if In(text) || InJSON([]byte(text)) || Is(text) {
				return 1
			}
			return 0
		})
	}
}

// Whatever In finds in a text, InJSON finds in the text as JSON.
func FuzzIn(f *testing.F) {
	for _, c := range cards {
		f.Add(c)
		f.Add("x " + grouped(c, " ", 4) + " 1")
	}
	f.Add("%34242 4242 4242 4242 + 12")
	f.Fuzz(func(t *testing.T, text string) {
		body, err := json.Marshal([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		if In(strings.ToValidUTF8(text, "\ufffd")) && !InJSON(body) {
			t.Errorf("%q is found, and not in %s", text, body)
		}
		Is(text)
	})
}
