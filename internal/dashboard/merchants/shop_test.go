package merchants

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// Everything that pages say by a key that is put together has a text in every language.
func TestEveryRightHasAText(t *testing.T) {
	var keys []string
	for _, kind := range audit.ActorKinds() {
		keys = append(keys, "by_"+string(kind), "all_"+string(kind))
	}
	for _, right := range merchants.PeopleRights() {
		keys = append(keys, "right_"+string(right), "right_"+string(right)+"_about")
	}
	for _, role := range people.Roles() {
		keys = append(keys, "about_"+string(role))
	}
	for _, tier := range merchants.Tiers() {
		keys = append(keys, "tier_"+string(tier))
	}
	for _, fees := range merchants.AllRefundFees() {
		keys = append(keys, "fees_"+string(fees))
	}
	for _, name := range audit.ForMerchants {
		keys = append(keys, "detail_"+name)
	}
	for _, text := range reasons {
		keys = append(keys, text[1])
	}
	for _, text := range mistakes {
		keys = append(keys, text)
	}
	for _, lang := range merchants.Languages() {
		body, err := files.ReadFile("text/" + string(lang) + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]string
		if err := json.Unmarshal(body, &texts); err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if texts[key] == "" {
				t.Errorf("%s has no text %s", lang, key)
			}
		}
	}
}

// Keys of texts that Go code names exist.
func TestTextsOfTheCodeExist(t *testing.T) {
	body, err := files.ReadFile("text/en.json")
	if err != nil {
		t.Fatal(err)
	}
	common, err := os.ReadFile("../frame/text/en.json")
	if err != nil {
		t.Fatal(err)
	}
	body = append(body, common...)
	asked := regexp.MustCompile(`(?:Text\(v, |rd\.text\(|Flash\(w, |\bt\()"([a-z_]+)"`)
	for _, name := range []string{"team.go", "audit.go", "acts.go", "settings.go", "brand.go", "shop.go"} {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range asked.FindAllStringSubmatch(string(source), -1) {
			if key := found[1]; !strings.HasSuffix(key, "_") && !strings.Contains(string(body), `"`+key+`":`) {
				t.Errorf("%s asks for the text %s, which does not exist", name, key)
			}
		}
	}
}

// The table of rights says of each role what the core says.
func TestRightsTableIsTheRoles(t *testing.T) {
	for _, line := range rightsTable() {
		for _, role := range line.Roles {
			live, test := role.Role.May(line.Right, true), role.Role.May(line.Right, false)
			want := map[[2]bool]string{{true, true}: everywhere, {false, true}: sandbox, {false, false}: nowhere}[[2]bool{live, test}]
			if role.May != want {
				t.Errorf("%s and %s: the table says %s, production %t, sandbox %t", role.Role, line.Right, role.May, live, test)
			}
		}
	}
}

func TestContrastFollowsTheRules(t *testing.T) {
	for color, want := range map[string]contrastView{
		"":        {},
		"red":     {},
		"#1F4FD8": {Known: true, White: true, Dark: true},
		"#c2410c": {Known: true, White: true},
		"#ffffff": {Known: true, Light: true},
		"#000000": {Known: true, White: true, Dark: true},
	} {
		if got := contrastOf(color); got != want {
			t.Errorf("%q: %+v, want %+v", color, got, want)
		}
	}
}
