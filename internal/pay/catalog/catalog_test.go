package catalog

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
)

// allRails is both sets, for the rules that hold in either environment.
func allRails() []accounts.Rail { return append(Rails(), Sandbox()...) }

func TestEveryRailIsComplete(t *testing.T) {
	document := regexp.MustCompile(`^[A-Z]{2,5}$`)
	for _, r := range allRails() {
		if r.Key == "" || r.Method == "" || r.Label == "" || r.Name == "" {
			t.Errorf("rail %q has an empty key, method, label or name: %+v", r.Key, r)
		}
		if r.Document != "" && !document.MatchString(r.Document) {
			t.Errorf("%s asks for the document %q, want its abbreviation in capitals", r.Key, r.Document)
		}
		if !r.Enabled || !r.Online {
			t.Errorf("%s is not enabled and online", r.Key)
		}
		if r.Fee.Bps < 0 || r.Fee.Bps > 600 || r.Fee.Flat < 0 || r.Fee.Flat > 200 || r.Fee == (money.Fee{}) {
			t.Errorf("%s costs %d bps and %d cents, want something up to 600 and 200", r.Key, r.Fee.Bps, r.Fee.Flat)
		}
	}
}

func TestKeysAreUniqueAndNameTheirCountry(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+(\.[a-z0-9]+)?\.[A-Z]{3}$`)
	seen := map[string]bool{}
	for _, r := range allRails() {
		if seen[r.Key] {
			t.Errorf("the key %s is used twice, so two rails would share an id", r.Key)
		}
		seen[r.Key] = true
	}
	for _, r := range Rails() {
		if !form.MatchString(r.Key) || !strings.HasSuffix(r.Key, "."+r.Country) {
			t.Errorf("the key %q of a rail in %s is not <kind>[.<network>].%s", r.Key, r.Country, r.Country)
		}
		if r.ID != "" {
			t.Errorf("%s has the id %s, but ids are allocated in the database", r.Key, r.ID)
		}
	}
}

// A merchant stores the id that was allocated for a key.
func TestKeysAreForLife(t *testing.T) {
	text, err := os.ReadFile("testdata/keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(text))
	var keys []string
	for _, r := range Rails() {
		keys = append(keys, r.Key)
		if !slices.Contains(known, r.Key) {
			t.Errorf("add the new key %s to testdata/keys.txt", r.Key)
		}
	}
	for _, key := range known {
		if !slices.Contains(keys, key) {
			t.Errorf("the key %s is gone; put it back, or merchants lose the rail's id", key)
		}
	}
}

func TestLimitsAreInMoneyThatTheCountryUses(t *testing.T) {
	for _, r := range allRails() {
		country, ok := geo.Parse(r.Country)
		if !ok || country.Alpha3 != r.Country {
			t.Errorf("%s is in %q, want an ISO 3166 alpha-3 code", r.Key, r.Country)
			continue
		}
		if len(r.Limits) == 0 {
			t.Errorf("%s has no limits, so it takes no currency", r.Key)
		}
		seen := map[money.Currency]bool{}
		for _, l := range r.Limits {
			if l.Currency != country.Currency && l.Currency != money.USD {
				t.Errorf("%s takes %s, want %s or USD", r.Key, l.Currency, country.Currency)
			}
			if seen[l.Currency] {
				t.Errorf("%s limits %s twice", r.Key, l.Currency)
			}
			seen[l.Currency] = true
			if l.Min <= 0 || l.Min >= l.Max {
				t.Errorf("%s takes %d to %d %s, want 0 < min < max", r.Key, l.Min, l.Max, l.Currency)
			}
		}
	}
}

// Panama's own currency exists as coins only. In the other countries a shopper
// is charged in the local one unless asked otherwise.
func TestTheFirstLimitIsTheLocalCurrency(t *testing.T) {
	for _, r := range Rails() {
		country, _ := geo.Parse(r.Country)
		want := country.Currency
		if r.Country == "PAN" {
			want = money.USD
		}
		if got := r.Limits[0].Currency; got != want {
			t.Errorf("%s is first in %s, want %s", r.Key, got, want)
		}
	}
}

// A currency with other decimals than one thinks (CLP and PYG have none, COP
// has two) or a zero too many puts a bound off by ten or a hundred. The rates
// are rough on purpose: they need to be right within a factor of two.
func TestLimitsAreOfTheRightSize(t *testing.T) {
	perDollar := map[money.Currency]float64{
		"ARS": 1400, "BOB": 7, "BRL": 5.4, "CLP": 950, "COP": 4000, "CRC": 510, "DOP": 62, "GTQ": 7.7,
		"HNL": 26, "MXN": 18, "PEN": 3.5, "PYG": 7300, "USD": 1, "UYU": 40,
	}
	for _, r := range Rails() {
		for _, l := range r.Limits {
			rate, ok := perDollar[l.Currency]
			if !ok {
				t.Errorf("%s takes %s, for which this test has no rate", r.Key, l.Currency)
				continue
			}
			for range l.Currency.Exponent() {
				rate *= 10
			}
			low, high := float64(l.Min)/rate, float64(l.Max)/rate
			if low > 10 || high < 100 || high > 110_000 {
				t.Errorf("%s takes about %.2f to %.0f dollars, want a minimum up to 10 and a maximum of 100 to 110,000",
					r.Key, low, high)
			}
		}
	}
}

func TestChannelFollowsTheMethod(t *testing.T) {
	for _, r := range allRails() {
		want := accounts.Online
		switch r.Method {
		case "card":
			want = accounts.CreditCard
		case "oxxo", "cash", "voucher", "boleto":
			want = accounts.Cash
		}
		if r.Channel != want {
			t.Errorf("%s is %s, want %s for the method %s", r.Key, r.Channel, want, r.Method)
		}
		if card := r.Method == "card"; r.Sync != card {
			t.Errorf("%s has Sync %t, want it for cards and nothing else", r.Key, r.Sync)
		}
	}
}

func TestWindowsLeaveTimeToPay(t *testing.T) {
	for _, r := range allRails() {
		low, high := 30*time.Minute, 24*time.Hour
		switch r.Channel {
		case accounts.Cash:
			low, high = 24*time.Hour, 7*24*time.Hour
		case accounts.CreditCard:
			high = 30 * time.Minute
		}
		if r.Window < low || r.Window > high {
			t.Errorf("%s leaves %s to pay, want %s to %s", r.Key, r.Window, low, high)
		}
	}
}

func TestEveryMarketIsThereAndSmall(t *testing.T) {
	const most = 30 // CAT-8
	sizes := map[string]int{}
	cards := map[string]bool{}
	for _, r := range Rails() {
		sizes[r.Country]++
		cards[r.Country] = cards[r.Country] || r.Method == "card"
	}
	markets := []string{
		"ARG", "BOL", "BRA", "CHL", "COL", "CRI", "DOM", "ECU", "GTM", "HND",
		"MEX", "PAN", "PER", "PRY", "SLV", "URY", "USA",
	}
	for _, country := range markets {
		if sizes[country] == 0 {
			t.Errorf("no rail in %s", country)
		}
		if !cards[country] {
			t.Errorf("no cards in %s", country)
		}
	}
	for country, n := range sizes {
		if n > most {
			t.Errorf("%s has %d rails, want at most %d", country, n, most)
		}
	}
}

func TestRailsAreListedByCountryAndMethod(t *testing.T) {
	order := []string{"pix", "spei", "bank_transfer", "wallet", "oxxo", "cash", "voucher", "boleto", "card"}
	sorted := slices.IsSortedFunc(Rails(), func(a, b accounts.Rail) int {
		if a.Country != b.Country {
			return strings.Compare(a.Country, b.Country)
		}
		return slices.Index(order, a.Method) - slices.Index(order, b.Method)
	})
	if !sorted {
		t.Errorf("the rails are not in the order of country and then of %v", order)
	}
}

func TestSandboxHasItsFiveMethods(t *testing.T) {
	type terms struct {
		ID, Method, Country string
		Channel             accounts.Channel
		Limit               accounts.Limit
		Document            string
		Window              time.Duration
	}
	want := []terms{
		{"sbx_pix", "pix", "BRA", accounts.Online, accounts.Limit{Currency: "BRL", Min: 1_00, Max: 1_000_000_00}, "CPF", 24 * time.Hour},
		{"sbx_spei", "spei", "MEX", accounts.Online, accounts.Limit{Currency: "MXN", Min: 1_00, Max: 10_000_000_00}, "RFC", 24 * time.Hour},
		{"sbx_pse", "bank_transfer", "COL", accounts.Online, accounts.Limit{Currency: "COP", Min: 1_000_00, Max: 1_000_000_000_00}, "", 24 * time.Hour},
		{"sbx_card", "card", "USA", accounts.CreditCard, accounts.Limit{Currency: "USD", Min: 1, Max: 100_000_00}, "", 30 * time.Minute},
		{"sbx_cash", "cash", "MEX", accounts.Cash, accounts.Limit{Currency: "MXN", Min: 10_00, Max: 10_000_00}, "", 7 * 24 * time.Hour},
	}
	rails := Sandbox()
	if len(rails) != len(want) {
		t.Fatalf("the sandbox has %d rails, want %d", len(rails), len(want))
	}
	for i, r := range rails {
		got := terms{r.ID, r.Method, r.Country, r.Channel, r.Limits[0], r.Document, r.Window}
		if got != want[i] || len(r.Limits) != 1 {
			t.Errorf("sandbox rail %d is %+v, want %+v", i, got, want[i])
		}
		if r.Key != r.ID {
			t.Errorf("the sandbox rail %s has the key %s, want its id", r.ID, r.Key)
		}
	}
}

// A payment of a rail's smallest worth leaves the merchant something, whatever its tier (PAY-36).
func TestSmallestPaymentOfARailLeavesSomething(t *testing.T) {
	for _, r := range Rails() {
		for _, tier := range merchants.Tiers() {
			fees, _ := plans.OfTier(tier).Charge(merchants.Charged{USD: money.New(r.Least, money.USD), Cost: r.Fee})
			if r.Least <= 0 || fees.Total() >= r.Least {
				t.Errorf("%s takes %d cents, of which fees take %d from a %s merchant", r.Key, r.Least, fees.Total(), tier)
			}
		}
		if r.Least > 3 && r.Least > r.Fee.Flat+r.Fee.Share(money.New(r.Least, money.USD))+2 {
			t.Errorf("%s could take less than %d cents", r.Key, r.Least)
		}
	}
	for _, r := range Sandbox() {
		if r.Least != 0 {
			t.Errorf("%s of the sandbox takes %d cents and more", r.Key, r.Least)
		}
	}
}
