package providers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	approuting "github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/pay/routing/rulefile"
)

// applied puts a file of rules in force.
func applied(t *testing.T, s *harness.Instance, text string) routing.Rules {
	t.Helper()
	file, err := rulefile.Read([]byte(text))
	harness.Must(t, err)
	rules(t, s, file.Rules)
	return file.Rules
}

// Payments go to different accounts by their amount, country, merchant, shop, hour and day; the explanation names the rule and what
// decided, and a replay by the same rules repeats each decision (ROUTE-1, ROUTE-2, ROUTE-4).
func TestPaymentsGoWhereTheirConditionsSay(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		s.Clock.Freeze()
		for until := s.Clock.Now(); s.Clock.Now().Weekday() != time.Monday || s.Clock.Now().UTC().Hour() != 12; until = s.Clock.Now() {
			s.Clock.Advance(until.Truncate(time.Hour).Add(time.Hour).Sub(until))
		}
		since := s.Clock.Now()
		one, two := s.NewShop(t).Production(), s.NewShop(t).Production()
		banks := banks(t, s, 4)
		for _, u := range banks {
			u.Next("paid")
		}
		applied(t, s, fmt.Sprintf(`
zone: America/Sao_Paulo
rules:
  - name: large
    when: {rail: pix.BRA, amount: "BRL:100-"}
    accounts: [bank-4]
  - name: mexico
    when: {country: MX, currency: MXN}
    accounts: [bank-3, bank-1]
  - name: other
    when: {merchant: %s, shop: %s}
    accounts: [bank-2]
  - name: night
    when: {hours: 22-6, weekdays: [mon, tue]}
    order: priority
    accounts: [bank-3]
  - name: gone
    when: {attempt: first, installments: 2-}
    accounts: [bank-2]
`, two.Merchant.ID, two.Shop.ID))
		pix := func(o harness.Client, amount string) string {
			return strings.Replace(o.PixOrder(t), `"amount":10`, `"amount":`+amount, 1)
		}
		spei := `{"amount":10,"documentId":"XAXX010101000","paymentMethodId":"` + harness.Method(t, one, "MEX", "spei") + `"}`
		check := func(o harness.Client, order, want, why string) approuting.Explanation {
			t.Helper()
			got, e := triedAt(t, o, order)
			if got != want || !strings.HasPrefix(e.Payment.Attempts[0].Why, why) {
				t.Errorf("tried at %s because %q, want %s because %q", got, e.Payment.Attempts[0].Why, want, why)
			}
			return e
		}
		check(one, pix(one, "10"), "bank-1", "by priority: 1")
		check(one, pix(one, "18.51"), "bank-1", "by priority: 1") // 99.95 BRL
		e := check(one, pix(one, "18.52"), "bank-4", "rule large (rail pix.BRA, amount BRL:100- (it is 100.01 BRL)): as the rules list them: 1 of 1")
		verdicts := []routing.Verdict{
			{Rule: "large", Decides: true, Why: "rail pix.BRA, amount BRL:100- (it is 100.01 BRL)"}, {Rule: "mexico", Why: "country: it is BRA"}, {Rule: "other", Why: "merchant: it is " + one.Merchant.ID},
			{Rule: "night", Why: "hours: it is 09:00 in America/Sao_Paulo"}, {Rule: "gone", Why: "installments: it is up to 1"},
		}
		if fmt.Sprint(e.Rules) != fmt.Sprint(verdicts) {
			t.Errorf("the explanation says of the rules %+v, want %+v", e.Rules, verdicts)
		}
		for _, v := range e.Accounts {
			if (v.Verdict == "is not in the list of rule large") != (v.Account != "bank-4") {
				t.Errorf("the explanation says of %s %q", v.Account, v.Verdict)
			}
		}
		check(one, spei, "bank-3", "rule mexico (currency MXN, country MEX): as the rules list them: 1 of 2")
		check(two, pix(two, "10"), "bank-2", "rule other (merchant "+two.Merchant.ID+", shop "+two.Shop.ID+"): ")
		check(two, pix(two, "100"), "bank-4", "rule large")
		s.Clock.Advance(13*time.Hour - time.Second)
		check(one, pix(one, "10"), "bank-1", "by priority: 1")
		s.Clock.Advance(time.Second)
		check(one, pix(one, "10"), "bank-3", "rule night (weekdays mon, hours 22:00-06:00 (it was 22:00 in America/Sao_Paulo)): by priority: 3")
		s.Clock.Advance(2 * time.Hour)
		check(one, pix(one, "10"), "bank-3", "rule night (weekdays tue, hours 22:00-06:00 (it was 00:00 in America/Sao_Paulo)): by priority: 3")
		s.Clock.Advance(6 * time.Hour)
		check(one, pix(one, "10"), "bank-1", "by priority: 1")

		r := replays(t, s, since, nil)
		var by []string
		for _, of := range r.Rules {
			by = append(by, fmt.Sprintf("%s:%d", of.Decider, of.Payments))
		}
		if r.Payments != 10 || r.Unexplained != 0 || r.Elsewhere != 0 || fmt.Sprint(by) != "[large:2 mexico:1 other:1 night:2 gone:0 :4]" {
			t.Errorf("the replay by the rules in force has %d payments, %d elsewhere, %d unexplained; by rule %v", r.Payments, r.Elsewhere, r.Unexplained, by)
		}
		none := replays(t, s, since, &routing.Rules{})
		if none.Elsewhere != 6 || none.Rules != nil {
			t.Errorf("without rules %d payments begin elsewhere, want 6: %+v", none.Elsewhere, none.Rules)
		}
	})
}

// Weights choose by the payment's id: in their shares, alike when it is decided again, and with the next draw after a soft decline (ROUTE-3).
func TestWeightsChooseByThePayment(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		s.Clock.Freeze()
		since := s.Clock.Now()
		s.Clock.Advance(time.Second)
		live := s.NewShop(t).Production()
		banks := banks(t, s, 3)
		for _, u := range banks {
			u.Next("paid")
		}
		applied(t, s, "rails:\n  pix.BRA: {weights: {bank-1: 70, bank-2: 30}}\n")
		order, first := live.PixOrder(t), map[string]int{}
		const n = 60
		for range n {
			got, e := triedAt(t, live, order)
			first[got]++
			weight := map[string]string{"bank-1": "70", "bank-2": "30"}[got]
			if !strings.HasPrefix(e.Payment.Attempts[0].Why, "by weight: "+weight+" of 100, drawn by the payment's id") {
				t.Errorf("tried at %s because %q", got, e.Payment.Attempts[0].Why)
			}
			p := e.Payment
			p.Attempts = nil
			if again := s.App.Providers.Routes(p).Routes; len(again) != 2 || again[0].Provider != got {
				t.Errorf("tried at %s, and decided again as %+v", got, again)
			}
		}
		if first["bank-1"]+first["bank-2"] != n || first["bank-1"] < 25 || first["bank-2"] < 4 { // a chance of one in a million
			t.Errorf("with weights of 70 and 30 the payments began at %v", first)
		}
		if r := replays(t, s, since, nil); r.Payments != n || r.Unexplained != 0 || r.Elsewhere != 0 {
			t.Errorf("in the replay of %d payments %d are unexplained and %d begin elsewhere", r.Payments, r.Unexplained, r.Elsewhere)
		}
		for _, u := range banks {
			u.Next("soft")
		}
		if got, _ := triedAt(t, live, order); got != "bank-1 bank-2" && got != "bank-2 bank-1" {
			t.Errorf("where both decline, the payment was tried at %s", got)
		}
	})
}

// Rules that name what is not there are refused, with the lines of the file (ROUTE-5).
func TestConditionsNameWhatIsThere(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		banks(t, s, 1)
		text := "rules:\n  - name: x\n    when:\n      rail: [pix.BRA, pix.XYZ]\n      merchant: [" + o.Merchant.ID + ", mer_none]\n      shop: shp_none\n    accounts: [bank-1]\n" +
			"  - name: y\n    when: {rail: cash.oxxo.MEX}\n    weights: {bank-1: 1, bank-2: 2}\n"
		file, err := rulefile.Read([]byte(text))
		harness.Must(t, err)
		_, _, err = s.App.Rules.Apply(ctx, s.App.Self(), file.Rules)
		want := "line 4: rule x: there is no rail pix.XYZ: cascada provider adapters lists them\nline 5: rule x: there is no merchant mer_none\nline 6: rule x: there is no shop shp_none\n" +
			"line 10: rule y lists bank-1: it takes payments by "
		if got := message.Sentence(rulefile.AtLines([]byte(text), err)); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "line 10: rule y lists bank-2: there is no such account") {
			t.Errorf("the rules are refused with %q, want %q", got, want)
		}
		if v, err := s.App.Rules.Current(ctx); err != nil || v.Applied {
			t.Errorf("the rules in force are %+v (%v), want none", v, err)
		}
	})
}
