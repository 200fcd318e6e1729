package destination_test

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/destination"
)

func TestGoodDestinationsAreTakenInOneSpelling(t *testing.T) {
	for _, c := range []struct{ name, kind, network, currency, account, wantNetwork, want, masked string }{
		{"CLABE", "bank_account", "", "MXN", "032 180 00011835971 9", "spei", "032180000118359719", "032****9719"},
		{"CLABE by name", "bank_account", "CLABE", "mxn", "646180157000000004", "spei", "646180157000000004", "646****0004"},
		{"PIX CPF", "bank_account", "", "BRL", "529.982.247-25", "pix", "52998224725", "****725"},
		{"PIX CNPJ", "bank_account", "pix", "BRL", "11.222.333/0001-81", "pix", "11222333000181", "****0181"},
		{"PIX CNPJ with letters", "bank_account", "pix", "BRL", "12.abc.345/01de-35", "pix", "12ABC34501DE35", "****DE35"},
		{"PIX email", "bank_account", "pix", "BRL", "Maria@Example.com", "pix", "maria@example.com", "m***@example.com"},
		{"PIX telephone", "bank_account", "pix", "BRL", "+55 (11) 98765-4321", "pix", "+5511987654321", "+55****4321"},
		{"PIX random key", "bank_account", "pix", "BRL", "123E4567-E89B-12D3-A456-426614174000", "pix", "123e4567-e89b-12d3-a456-426614174000", "****4000"},
		{"a bank account in Brazil", "bank_account", "TED", "BRL", "55555-x", "ted", "55555X", "****5X"},
		{"a long one", "bank_account", "ted", "BRL", "123456789012-3", "ted", "1234567890123", "****0123"},
		{"no network in Brazil", "bank_account", "", "BRL", "52998224725", "pix", "52998224725", "****725"},
		{"CBU", "bank_account", "", "ARS", "28505909 40090418135201", "cbu", "2850590940090418135201", "285****5201"},
		{"IBAN", "bank_account", "", "EUR", "de89 3704 0044 0532 0130 00", "iban", "DE89370400440532013000", "DE****3000"},
		{"IBAN of Costa Rica", "bank_account", "iban", "CRC", "CR05015202001026284066", "iban", "CR05015202001026284066", "CR****4066"},
		{"a plain account", "bank_account", "", "COP", "001-234567-89", "account", "00123456789", "****789"},
		{"an account with points", "bank_account", "", "COP", "12.345.678", "account", "12345678", "****78"},
		{"copied IBAN", "bank_account", "", "EUR", "DE89\u00a03704\u00a00044\u202f0532\u00a00130\u200b00\ufeff", "iban", "DE89370400440532013000", "DE****3000"},
		{"copied CLABE", "bank_account", "", "MXN", "032\u2013180\u201100011835971\u00a09", "spei", "032180000118359719", "032****9719"},
		{"copied PIX telephone", "bank_account", "", "BRL", "\u202a+55\u00a011 98765\u20134321\u202c", "pix", "+5511987654321", "+55****4321"},
		{"copied TRON", "crypto", "tron", "USDT", "\u200bTR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t\u2060", "tron", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TR7NHq…Lj6t"},
		{"a short account", "bank_account", "account", "USD", "12345", "account", "12345", "****5"},
		{"TRON", "crypto", "TRC20", "USDT", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "tron", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TR7NHq…Lj6t"},
		{"Ethereum, checksummed", "crypto", "ethereum", "USDT", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "ethereum", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5aAe…eAed"},
		{"Ethereum, lower case", "crypto", "", "USDC", "0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359", "ethereum", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "0xfB69…d359"},
		{"Ethereum, upper case", "crypto", "erc20", "ETH", "0xDBF03B407C01E7CD3CBEA99509D93F8DDDC8C6FB", "ethereum", "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xdbF0…C6FB"},
		{"Bitcoin", "crypto", "", "BTC", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "bitcoin", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "1A1zP1…vfNa"},
		{"Bitcoin script", "crypto", "bitcoin", "BTC", "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", "bitcoin", "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", "3J98t1…WNLy"},
		{"Bitcoin segwit", "crypto", "bitcoin", "BTC", "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", "bitcoin", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "bc1qw5…f3t4"},
		{"Bitcoin taproot", "crypto", "bitcoin", "BTC", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0", "bitcoin", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0", "bc1p0x…5jj0"},
	} {
		d, problems := destination.Parse(c.kind, c.network, c.currency, c.account)
		if len(problems) > 0 {
			t.Errorf("%s: refused: %v", c.name, problems)
			continue
		}
		if d.Network != c.wantNetwork || d.Account != c.want || d.Masked != c.masked || d.Type != c.kind || d.Currency != strings.ToUpper(c.currency) {
			t.Errorf("%s: got %+v, want %s %s %s", c.name, d, c.wantNetwork, c.want, c.masked)
		}
	}
}

func TestBadDestinationsAreNamed(t *testing.T) {
	for _, c := range []struct{ name, kind, network, currency, account, want string }{
		{"nothing", "", "", "", "", "type destination"},
		{"an unknown type", "cash", "", "USD", "12345", "type"},
		{"no currency", "bank_account", "", "", "12345", "currency"},
		{"an unknown currency", "bank_account", "", "XYZ", "12345", "currency"},
		{"a token at a bank", "bank_account", "", "USDT", "12345", "currency"},
		{"a currency on a chain", "crypto", "", "USD", "12345", "currency"},
		{"an unknown network", "crypto", "solana", "USDT", "12345", "network"},
		{"a network of another type", "crypto", "pix", "BRL", "12345", "network"},
		{"a token on two networks", "crypto", "", "USDT", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "network"},
		{"another network's currency", "bank_account", "pix", "MXN", "52998224725", "currency"},
		{"an unchecked account in pesos", "bank_account", "account", "MXN", "032180000118359719", "currency"},
		{"CLABE, a digit off", "bank_account", "spei", "MXN", "032180000118359718", "destination"},
		{"CLABE, swapped digits", "bank_account", "spei", "MXN", "032180000118357919", "destination"},
		{"CLABE, short", "bank_account", "spei", "MXN", "03218000011835971", "destination"},
		{"CPF, a digit off", "bank_account", "pix", "BRL", "52998224724", "destination"},
		{"CPF, all the same", "bank_account", "pix", "BRL", "11111111111", "destination"},
		{"CNPJ, a digit off", "bank_account", "pix", "BRL", "11222333000182", "destination"},
		{"CNPJ, other characters", "bank_account", "pix", "BRL", "1122233300ñ81", "destination"},
		{"a telephone of another country", "bank_account", "pix", "BRL", "+521234567890", "destination"},
		{"a bank account without its network", "bank_account", "", "BRL", "55555-X", "destination"},
		{"a check digit alone", "bank_account", "ted", "BRL", "X", "destination"},
		{"a check digit that is none", "bank_account", "ted", "BRL", "55555-A", "destination"},
		{"a letter in the account", "bank_account", "ted", "BRL", "5X555-5", "destination"},
		{"too long for a bank in Brazil", "bank_account", "ted", "BRL", "12345678901234", "destination"},
		{"an account in dollars", "bank_account", "ted", "USD", "55555-X", "currency"},
		{"an email with a name", "bank_account", "pix", "BRL", "Maria <m@example.com>", "destination"},
		{"an email of other letters", "bank_account", "pix", "BRL", "ñ@example.com", "destination"},
		{"a random key with letters", "bank_account", "pix", "BRL", "123e4567-e89b-12d3-a456-42661417400z", "destination"},
		{"CBU, bank off", "bank_account", "cbu", "ARS", "2850590840090418135201", "destination"},
		{"CBU, account off", "bank_account", "cbu", "ARS", "2850590940090418135211", "destination"},
		{"IBAN, a digit off", "bank_account", "iban", "EUR", "DE89370400440532013001", "destination"},
		{"IBAN, another length", "bank_account", "iban", "EUR", "DE8937040044053201300", "destination"},
		{"IBAN of a country without", "bank_account", "iban", "EUR", "US89370400440532013000", "destination"},
		{"IBAN, other characters", "bank_account", "iban", "EUR", "DE8937040044053201300é", "destination"},
		{"an account with others", "bank_account", "account", "USD", "12345;DROP", "destination"},
		{"an account of four", "bank_account", "account", "USD", "1234", "destination"},
		{"an account of 35", "bank_account", "account", "USD", strings.Repeat("1", 35), "destination"},
		{"TRON, a character off", "crypto", "tron", "USDT", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6s", "destination"},
		{"Bitcoin's on TRON", "crypto", "tron", "USDT", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "destination"},
		{"TRON's on Ethereum", "crypto", "ethereum", "USDT", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "destination"},
		{"Ethereum, a case off", "crypto", "ethereum", "USDT", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", "destination"},
		{"Ethereum, no 0x", "crypto", "ethereum", "USDT", "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "destination"},
		{"Ethereum, nobody's", "crypto", "ethereum", "USDT", "0x0000000000000000000000000000000000000000", "destination"},
		{"Bitcoin, one too many", "crypto", "bitcoin", "BTC", "11A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "destination"},
		{"Bitcoin, mixed case", "crypto", "bitcoin", "BTC", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3T4", "destination"},
		{"Bitcoin, a character off", "crypto", "bitcoin", "BTC", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", "destination"},
		{"Bitcoin, taproot with the old checksum", "crypto", "bitcoin", "BTC", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd", "destination"},
		{"Bitcoin's test network", "crypto", "bitcoin", "BTC", "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", "destination"},
		{"a megabyte", "crypto", "bitcoin", "BTC", strings.Repeat("1", 1<<20), "destination"},
	} {
		_, problems := destination.Parse(c.kind, c.network, c.currency, c.account)
		var got []string
		for _, p := range problems {
			got = append(got, string(p.Field))
			if p.Message == "" || len(c.account) > 5 && strings.Contains(p.Message, c.account) {
				t.Errorf("%s: the message is %q", c.name, p.Message)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want a problem with %s", c.name, problems, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("crypto", "bitcoin", "BTC", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")
	f.Add("bank_account", "", "BRL", "+5511987654321")
	f.Fuzz(func(t *testing.T, kind, network, currency, account string) {
		d, problems := destination.Parse(kind, network, currency, account)
		if len(problems) > 0 {
			return
		}
		again, problems := destination.Parse(d.Type, d.Network, d.Currency, d.Account)
		if len(problems) > 0 || again != d {
			t.Errorf("%+v read again is %+v %v", d, again, problems)
		}
		if strings.Contains(d.Masked, d.Account) && !strings.HasPrefix(d.Account, "*") { // "*@a" is seen in "****@a"
			t.Errorf("%q shows %q", d.Masked, d.Account)
		}
	})
}

// An account of zeros, a number with a word, and a telephone of no area are none.
func TestWhatCanBeNoDestinationIsRefused(t *testing.T) {
	for _, c := range []struct{ currency, account string }{
		{"MXN", "000000000000000000"}, {"ARS", "0000000000000000000000"}, {"COP", "00000000"}, {"COP", "000.000-00"}, {"COP", "Ahorros 12345678"}, {"BRL", "+5500987654321"}, {"BRL", "+55 10 98765-4321"},
	} {
		if d, problems := destination.Parse("bank_account", "", c.currency, c.account); len(problems) != 1 || problems[0].Field != destination.Account {
			t.Errorf("%s %s is %+v, %v", c.currency, c.account, d, problems)
		}
	}
}
