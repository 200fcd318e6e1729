package console

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/routing/rulefile"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// The form shows and changes every condition, and says the same as the file; a wrong file is answered with its lines. A payment's page
// names the rule that decided (ROUTE-4, ROUTE-5).
func TestOperatorWritesConditions(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o := s.NewShop(t)
		op, live := harness.OperatorUser(t, o), o.Production()
		s.OpenAccount(t, "bank-1", u, func(n *accounts.NewAccount) { n.Priority = 1 })
		s.OpenAccount(t, "bank-2", u)
		work := func(do, file string, form url.Values) harness.Answer {
			form.Set("do", do)
			form.Set("file", file)
			return op.Ask(t, http.MethodPost, "/dashboard/console/routing/edit", form)
		}
		area := regexp.MustCompile(`(?s)<textarea id="f-file"[^>]*>(.*?)</textarea>`)
		fileOf := func(a harness.Answer) string {
			t.Helper()
			found := area.FindStringSubmatch(a.Body)
			if a.Status != http.StatusOK || len(found) < 2 {
				t.Fatalf("the page answers %d: %s", a.Status, a.Text())
			}
			return strings.TrimPrefix(html.UnescapeString(found[1]), "\n")
		}
		every := `zone: America/Sao_Paulo
rules:
  - name: every
    when:
      rail: [pix.BRA]
      amount: ['BRL:1-5000.5', 'USD:1-']
      currency: [BRL]
      merchant: [` + o.Merchant.ID + `]
      shop: [` + o.Shop.ID + `]
      country: [BRA]
      card_country: [USA, CAN]
      hours: ['22:00-06:00']
      weekdays: [sat, sun]
      zone: Europe/Lisbon
      installments: 2-12
      attempt: later
    accounts: [bank-2]
    weights: {bank-1: 70}
  - name: brazil
    when:
      country: [BRA]
    order: success_rate
    accounts: [bank-2]
    explored: 7
rails:
  pix.BRA:
    weights: {bank-1: 70, bank-2: 30}
`
		// What the file says is in the form, and what the form says is written as the same file.
		form := url.Values{"version": {"0"}, "since": {"7"}, "environment": {"production"}}
		a := work("read", every, form)
		fileOf(a)
		named := regexp.MustCompile(`<(?:input|select)[^>]* name="((?:rule|rail)[a-z-]*|zone)"[^>]*>`)
		value := regexp.MustCompile(` value="([^"]*)"`)
		selects := regexp.MustCompile(`(?s)(<select[^>]* name="(?:rule|rail)-[a-z]+"[^>]*>)(.*?)</select>`)
		chosen := regexp.MustCompile(`<option value="([^"]*)" selected`)
		body := selects.ReplaceAllStringFunc(a.Body, func(text string) string { // as an input with the chosen value
			part := selects.FindStringSubmatch(text)
			picked := ""
			if one := chosen.FindStringSubmatch(part[2]); one != nil {
				picked = one[1]
			}
			return strings.TrimSuffix(part[1], ">") + ` value="` + picked + `">`
		})
		for _, field := range named.FindAllStringSubmatch(body, -1) {
			text := ""
			if v := value.FindStringSubmatch(field[0]); v != nil {
				text = html.UnescapeString(v[1])
			}
			form.Add(field[1], text)
		}
		if n := len(form["rule-name"]); n != 3 { // two, and an empty one
			t.Fatalf("the form has %d rules with conditions: %v", n, form)
		}
		if got := fileOf(work("write", "", form)); got != every {
			t.Errorf("the form is written as\n%s, want\n%s", got, every)
		}
		form["rule-place"][1], form["rule-country"][1], form["rule-hours"][0] = "1", "mx br", ""
		form["rule-weekdays"][0], form["rule-zone"][0] = "", ""
		got, err := rulefile.Read([]byte(fileOf(work("write", "", form))))
		if err != nil || got.Rules.Conditional[0].Name != "brazil" || strings.Join(got.Rules.Conditional[0].When.Countries, " ") != "MEX BRA" || got.Rules.Conditional[1].When.Hours != nil {
			t.Errorf("the changed form is written as %+v (%v)", got.Rules, err)
		}
		for text, change := range map[string]func(url.Values){
			`ule brazil: country: there is no country "UK"`: func(f url.Values) { f["rule-country"][1] = "UK" },
			"ank-1 is no weight of an account":              func(f url.Values) { f["rule-weights"][0] = "bank-1" },
			`ule number 1 has no name`:                      func(f url.Values) { f["rule-name"][0] = "" },
		} {
			wrong := url.Values{}
			for name, list := range form {
				wrong[name] = append([]string{}, list...)
			}
			wrong["rule-place"] = []string{"1", "2", ""}
			change(wrong)
			if a := work("write", "", wrong); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), text) {
				t.Errorf("a wrong form gets %d, want %q: %s", a.Status, text, a.Text())
			}
		}
		wrong := strings.Replace(strings.Replace(every, "22:00-06:00", "22-22", 1), "accounts: [bank-2]\n    explored", "accounts: [bank-3]\n    explored", 1)
		if a := work("apply", wrong, form); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), `ine 12: rule every: hours: "22-22" is no part of a day`) {
			t.Errorf("wrong hours get %d: %s", a.Status, a.Text())
		}
		if a := work("apply", strings.Replace(wrong, "22-22", "22-23", 1), form); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "ine 23: rule brazil lists bank-3: there is no such account") {
			t.Errorf("an unknown account gets %d: %s", a.Status, a.Text())
		}
		if a := work("apply", every, form); a.Status != http.StatusSeeOther {
			t.Fatalf("applying the rules answers %d: %s", a.Status, a.Text())
		}
		id := live.Create(t, o.PixOrder(t))
		text := harness.Answer{Body: op.Page(t, "/dashboard/console/payments/"+id)}.Text()
		for _, want := range []string{"rule brazil (country BRA): by success", "bank-1: rule brazil does not list it", "Routing rules now", "attempt: it is number 1"} {
			if !strings.Contains(text, want) {
				t.Errorf("the payment's page does not say %q: %s", want, text)
			}
		}
	})
}
