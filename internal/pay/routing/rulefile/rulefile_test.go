package rulefile

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// The example that operators are shown says what it is meant to say.
func TestExampleOfTheDocumentIsRead(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/ROUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```yaml\n")
	example, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the document has no example")
	}
	file, err := Read([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	want := routing.Rules{
		Order: routing.SuccessRate, Explored: new(5), Budget: pay.Budget{Attempts: 3, Time: 20 * time.Second},
		Rails: map[string]routing.Rule{
			"pix.BRA":  {Order: routing.LeastCost},
			"spei.MEX": {Accounts: []string{"acme-2", "acme-1"}},
			"card.BRA": {Explored: new(10)},
		},
	}
	if !reflect.DeepEqual(file.Rules, want) || file.Accounts != nil || file.Silent {
		t.Errorf("read %+v, want %+v", file.Rules, want)
	}
}

// So do the others: each is a file by itself.
func TestEveryExampleOfTheDocumentIsRead(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/ROUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(text), "```yaml\n")[1:]
	conditional := 0
	for _, rest := range examples {
		example, _, _ := strings.Cut(rest, "```")
		file, err := Read([]byte(example))
		if err != nil {
			t.Errorf("%s: %v", example, err)
		}
		conditional += len(file.Rules.Conditional)
	}
	if len(examples) < 3 || conditional < 3 {
		t.Errorf("the document has %d examples with %d rules with conditions", len(examples), conditional)
	}
}

// conditional are rules with every condition.
func conditional(t *testing.T) routing.Rules {
	t.Helper()
	sao, err := routing.ParseZone("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	lisbon, err := routing.ParseZone("Europe/Lisbon")
	if err != nil {
		t.Fatal(err)
	}
	return routing.Rules{Zone: sao, Conditional: []routing.Conditional{
		{Name: "every", When: routing.Conditions{
			Rails: []string{"pix.BRA", "card.BRA"}, Amounts: []routing.Span{{Currency: "BRL", Min: 1000_50}, {Currency: "USD", Min: 1, Max: 20_00}}, Currencies: []money.Currency{"BRL"},
			Merchants: []string{"mer_1"}, Shops: []string{"shp_1", "shp_2"}, Countries: []string{"BRA"}, CardCountries: []string{"USA", "CAN"},
			Hours: []routing.Hours{{From: 22 * 60, To: 6*60 + 30}}, Weekdays: []string{"sat", "sun"}, Zone: lisbon, Installments: &routing.Counts{Min: 2, Max: 12}, Attempt: routing.LaterTry,
		}, Rule: routing.Rule{Weights: map[string]int{"a": 70, "b": 30}, Accounts: []string{"c"}, Order: routing.Listed}},
		{Name: "none", Rule: routing.Rule{Order: routing.LeastCost}},
	}}
}

// People write one value without a list, small letters, and countries with two.
func TestConditionsAreReadAsPeopleWriteThem(t *testing.T) {
	file, err := Read([]byte("rules:\n  - name: x\n    when: {country: br, card_country: [us, CAN], currency: brl, weekdays: Sat, hours: 9-18, installments: 3}\n"))
	want := routing.Conditions{
		Countries: []string{"BRA"}, CardCountries: []string{"USA", "CAN"}, Currencies: []money.Currency{"BRL"}, Weekdays: []string{"sat"},
		Hours: []routing.Hours{{From: 9 * 60, To: 18 * 60}}, Installments: &routing.Counts{Min: 3, Max: 3},
	}
	if err != nil || !reflect.DeepEqual(file.Rules.Conditional[0].When, want) {
		t.Errorf("read %+v (%v), want %+v", file.Rules.Conditional, err, want)
	}
}

func TestRulesAreReadAsTheyWereWritten(t *testing.T) {
	for _, rules := range []routing.Rules{
		{},
		{Order: routing.LeastCost, Explored: new(0)},
		{Budget: pay.Budget{Attempts: 7}}, {Budget: pay.Budget{Time: 1500 * time.Millisecond}},
		conditional(t),
		{Rails: map[string]routing.Rule{"spei.MEX": {Weights: map[string]int{"a": 70, "b": 30}, Accounts: []string{"c"}}}},
		{Rails: map[string]routing.Rule{"pix.BRA": {Order: routing.SuccessRate, Explored: new(1), Accounts: []string{"b", "a"}}, "spei.MEX": {Order: routing.Priority}}},
	} {
		text, err := Write(rules)
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(New(rules))
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{string(text), string(asJSON)} {
			file, err := Read([]byte(form))
			if reflect.DeepEqual(rules, routing.Rules{}) {
				if err == nil || !strings.Contains(err.Error(), "rule.file_empty") {
					t.Errorf("nothing was read as %+v, %v", file, err)
				}
				continue
			}
			if err != nil || !reflect.DeepEqual(file.Rules, rules) {
				t.Errorf("%s was read as %+v (%v), want %+v", form, file.Rules, err, rules)
			}
		}
	}
}

func TestAccountsMayBeTakenToBeOtherwise(t *testing.T) {
	file, err := Read([]byte("accounts:\n  acme-2: {price: 1.5%, limits: [BRL:1-50, \"pix.BRA=BRL:5-60\"], rails: [pix.BRA], priority: 3, enabled: false}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Account{Priority: new(3), Price: Words{"1.5%"}, Limits: Words{"BRL:1-50", "pix.BRA=BRL:5-60"}, Rails: []string{"pix.BRA"}, Enabled: new(false)}
	if !reflect.DeepEqual(file.Accounts["acme-2"], want) || !file.Silent {
		t.Errorf("read %+v, silent %t", file.Accounts, file.Silent)
	}
}

// Every mistake is told with its line, in the file's words.
func TestMistakesNameTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "rule.file_empty",
		"# a comment\n":                          "rule.file_empty",
		"{}":                                     "rule.file_empty",
		"order: priority\nordr: x\n":             `line 2: there is no field "ordr" here`,
		"rails:\n  pix.BRA:\n    accunts: [a]\n": `line 3: there is no field "accunts" here`,
		"budget:\n  attempts: many\n":            `line 2: "many" is not a whole number`,
		"budget: 5\n":                            `line 1: "5" is not a map of settings`,
		"rails: [pix.BRA]\n":                     "line 1: a list is not a map of settings",
		"rails:\n  pix.BRA: {accounts: a}\n":     `line 2: "a" is not a list`,
		"order: [a]\n":                           "line 1: a list is not a word",
		"accounts:\n  a: {enabled: 3}\n":         `line 2: "3" is not true or false`,
		"budget: {attempts: 0}\n":                "budget: 0 attempts",
		"budget: {time: 30}\n":                   `budget: "30" is not a duration: want such as 30s`,
		"budget: {time: 0s}\n":                   `budget: "0s" is not a duration`,
		"order: random\n":                        `there is no order "random"`,
		"order: priority\norder: least_cost\n":   "line 2",
		"order: priority\n---\norder: x\n":       "more than one document",
		"order: [\n":                             "line",
		"budget:\n  attempts: 21\n":              "line 2: budget: 21 attempts",
		"rails:\n  pix.BRA: {order: random}\n":   `line 2: pix.BRA: order: there is no order "random"`,
		"rules:\n  - when: {}\n":                 "line 2: rule number 1 has no name",
		"rules:\n  - nam: x\n":                   `line 2: there is no field "nam" here`,
		"rules:\n  - name: x\n    when: {amuont: BRL:1-}\n":                                `line 3: there is no field "amuont" here`,
		"rules:\n  - name: x\n    when:\n      amount:\n        - BRL:1-\n        - BRL\n": `line 6: rule x: amount: "BRL" is no amount`,
		"rules:\n  - name: x\n    when: {hours: 9}\n":                                      `line 3: rule x: hours: "9" is no part of a day`,
		"rules:\n  - name: x\n    when:\n      zone: X/Y\n    accounts: [a, a]\n":          "line 4: rule x: zone: there is no time zone \"X/Y\": want such as America/Sao_Paulo\nline 5: rule x lists a twice",
		"rules:\n  - name: x\n    when:\n      merchant:\n":                                "line 4: merchant has no value: write one, or remove it",
		"rules:\n  - name: x\n    when: {shop: []}\n":                                      "line 3: rule x: shop: the list is empty",
		"rules:\n  - name: x\n    when: {country: [BR, UK]}\n":                             `line 3: rule x: country: there is no country "UK"`,
		"rules:\n  - name: x\n  - name: x\n":                                               "line 3: there are two rules x",
		"rules:\n  - name: x\n    weights: {a: 0}\n":                                       "line 3: rule x: a weight of 0 for a",
		"rules:\n  - name: x\n    weights: {a: 0.5}\n":                                     `line 3: "0.5" is not a whole number`,
		"rules:\n  - name: x\n    when: {installments: 99}\n":                              `line 3: rule x: installments: "99" is no number`,
		"zone: Local\n": `line 1: zone: there is no time zone "Local"`,
	} {
		_, err := Read([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "rulefile") || strings.Contains(err.Error(), "struct") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
