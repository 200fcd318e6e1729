package routing

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/pay/routing/rulefile"
)

// railRow is a line of the form: the rule of a rail.
type railRow struct {
	Key, Order, Accounts, Weights, Explored string
}

// conditionalRow is a rule with conditions in the form. Lists are words with spaces between them.
type conditionalRow struct {
	Place, Name                                                                         string
	Rail, Amount, Currency, Merchant, Shop, Country, CardCountry, Hours, Weekdays, Zone string
	Installments, Attempt                                                               string
	Order, Accounts, Weights, Explored                                                  string
}

// Bound reports whether the rule has conditions.
func (r conditionalRow) Bound() bool {
	return r.Rail+r.Amount+r.Currency+r.Merchant+r.Shop+r.Country+r.CardCountry+r.Hours+r.Weekdays+r.Zone+r.Installments+r.Attempt != ""
}

type editView struct {
	desk.Form
	Version  int64 // that is in force, and is edited
	Order    string
	Explored string
	Attempts string
	Time     string
	Retries  string // after a refusal on a provider's page
	Within   string
	Reasons  string
	Zone     string
	Rules    []conditionalRow // with conditions
	Rails    []railRow
	Known    []string // rails that accounts serve
	Ids      []string // of accounts
	File     string
	Checked  bool // the file is right
	Since    string
	Live     string
}

// numbered is a line with its place in the form.
type numbered struct {
	railRow
	N int
}

// Lines are the rules of rails with an empty line after them.
func (e editView) Lines() (lines []numbered) {
	for i, row := range append(slices.Clone(e.Rails), railRow{}) {
		lines = append(lines, numbered{row, i})
	}
	return lines
}

// numberedConditional is a rule with its place in the form.
type numberedConditional struct {
	conditionalRow
	N int
}

// ConditionalLines are the rules with conditions with an empty one after them.
func (e editView) ConditionalLines() (lines []numberedConditional) {
	for i, row := range append(slices.Clone(e.Rules), conditionalRow{}) {
		lines = append(lines, numberedConditional{row, i})
	}
	return lines
}

// fill writes rules into the form and the file.
func (e *editView) fill(rules routing.Rules) error {
	text, err := rulefile.Write(rules)
	if err != nil {
		return err
	}
	e.File = string(text)
	e.Order, e.Explored, e.Attempts, e.Time, e.Rails = string(rules.Order), "", "", "", nil
	if rules.Explored != nil {
		e.Explored = strconv.Itoa(*rules.Explored)
	}
	if rules.Budget.Attempts > 0 {
		e.Attempts = strconv.Itoa(rules.Budget.Attempts)
	}
	if rules.Budget.Time > 0 {
		e.Time = rules.Budget.Time.String()
	}
	e.Retries, e.Within, e.Reasons = "", "", ""
	if n := rules.Retry.Times; n != nil {
		e.Retries = strconv.Itoa(*n)
	}
	if d := rules.Retry.Within; d > 0 {
		e.Within = d.String()
	}
	for _, reason := range rules.Retry.Reasons {
		e.Reasons = strings.TrimSpace(e.Reasons + " " + string(reason))
	}
	t := rulefile.New(rules)
	for key, rule := range t.Rails {
		e.Rails = append(e.Rails, railRow{key, string(rule.Order), strings.Join(rule.Accounts, " "), shares(rule.Weights), optional(rule.Explored)})
	}
	e.Zone, e.Rules = t.Zone, nil
	for i, rule := range t.Rules {
		e.Rules = append(e.Rules, newConditionalRow(i+1, rule))
	}
	slices.SortFunc(e.Rails, func(x, y railRow) int { return strings.Compare(x.Key, y.Key) })
	return nil
}

func newConditionalRow(place int, rule rulefile.Conditional) conditionalRow {
	w := rulefile.When{}
	if rule.When != nil {
		w = *rule.When
	}
	joined := func(list []string) string { return strings.Join(list, " ") }
	return conditionalRow{
		Place: strconv.Itoa(place), Name: rule.Name, Rail: joined(w.Rail), Amount: joined(w.Amount), Currency: joined(w.Currency), Merchant: joined(w.Merchant),
		Shop: joined(w.Shop), Country: joined(w.Country), CardCountry: joined(w.CardCountry), Hours: joined(w.Hours), Weekdays: joined(w.Weekdays), Zone: w.Zone,
		Installments: w.Installments, Attempt: string(w.Attempt),
		Order: string(rule.Order), Accounts: joined(rule.Accounts), Weights: shares(rule.Weights), Explored: optional(rule.Explored),
	}
}

// shares writes weights as acme-1:70 acme-2:30.
func shares(weights map[string]rulefile.Weight) string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(weights)) {
		list = append(list, fmt.Sprintf("%s:%d", id, weights[id]))
	}
	return strings.Join(list, " ")
}

func optional(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// typed reads the form and the file.
func typed(r *http.Request) editView {
	view := editView{
		Order: r.FormValue("order"), Explored: strings.TrimSpace(r.FormValue("explored")), Attempts: strings.TrimSpace(r.FormValue("attempts")),
		Time: strings.TrimSpace(r.FormValue("time")), File: strings.ReplaceAll(r.FormValue("file"), "\r\n", "\n"), Since: r.FormValue("since"), Live: r.FormValue("environment"),
		Retries: strings.TrimSpace(r.FormValue("retries")), Within: strings.TrimSpace(r.FormValue("within")), Reasons: strings.TrimSpace(r.FormValue("reasons")),
	}
	view.Version, _ = strconv.ParseInt(r.FormValue("version"), 10, 64) // another version than the one in force is refused
	view.Zone = strings.TrimSpace(r.FormValue("zone"))
	for i := range r.Form["rule-name"] {
		of := func(name string) string { return strings.TrimSpace(nth(r.Form["rule-"+name], i)) }
		row := conditionalRow{
			Place: of("place"), Name: of("name"), Rail: of("rail"), Amount: of("amount"), Currency: of("currency"), Merchant: of("merchant"), Shop: of("shop"),
			Country: of("country"), CardCountry: of("card-country"), Hours: of("hours"), Weekdays: of("weekdays"), Zone: of("zone"),
			Installments: of("installments"), Attempt: of("attempt"), Order: of("order"), Accounts: of("accounts"), Weights: of("weights"), Explored: of("explored"),
		}
		if (row != conditionalRow{Place: row.Place}) {
			view.Rules = append(view.Rules, row)
		}
	}
	for i, key := range r.Form["rail"] {
		of := func(name string) string { return strings.TrimSpace(nth(r.Form["rail-"+name], i)) }
		row := railRow{Key: strings.TrimSpace(key), Order: of("order"), Accounts: of("accounts"), Weights: of("weights"), Explored: of("explored")}
		if row != (railRow{}) {
			view.Rails = append(view.Rails, row)
		}
	}
	return view
}

func nth(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// asText is the form in the words of a file, which says what is wrong.
func (e *editView) asText() (rulefile.Text, error) {
	t := rulefile.Text{Order: routing.Order(e.Order)}
	var err error
	if t.Explored, err = number("explored", e.Explored); err != nil {
		return t, err
	}
	attempts, err := number("attempts", e.Attempts)
	if err != nil {
		return t, err
	}
	if attempts != nil || e.Time != "" {
		t.Budget = &rulefile.Budget{Attempts: attempts, Time: e.Time}
	}
	retries, err := number("retries", e.Retries)
	if err != nil {
		return t, err
	}
	if retries != nil || e.Within != "" || e.Reasons != "" {
		t.Retry = &rulefile.Retry{Times: retries, Within: e.Within}
		for _, reason := range words(e.Reasons) {
			t.Retry.Reasons = append(t.Retry.Reasons, decline.Reason(reason))
		}
	}
	t.Zone = e.Zone
	if t.Rules, err = e.conditional(); err != nil {
		return t, err
	}
	for _, row := range e.Rails {
		if row.Key == "" {
			return t, problem.Field(problem.InvalidRequest, "rails", ruleNeedsRail)
		}
		if t.Rails == nil {
			t.Rails = map[string]rulefile.Rail{}
		}
		if _, twice := t.Rails[row.Key]; twice {
			return t, problem.Field(problem.InvalidRequest, "rails", railTwice.With(row.Key))
		}
		rail := rulefile.Rail{Order: routing.Order(row.Order), Accounts: words(row.Accounts)}
		if rail.Explored, err = number("rails", row.Explored); err != nil {
			return t, err
		}
		if rail.Weights, err = weights("rails", row.Weights); err != nil {
			return t, err
		}
		t.Rails[row.Key] = rail
	}
	return t, nil
}

// conditional are the rules with conditions, those with the smallest places first. A rule that was given another's place goes before it
// if it came from below, and after it if it came from above.
func (e *editView) conditional() (list []rulefile.Conditional, err error) {
	type seat struct{ place, moved int }
	seats := map[string]seat{} // by name
	for i, row := range e.Rules {
		place, err := number("rules", row.Place)
		if err != nil {
			return nil, err
		}
		s := seat{place: math.MaxInt}
		if place != nil {
			s = seat{*place, cmp.Compare(*place, i+1)}
		}
		seats[row.Name] = s
	}
	slices.SortStableFunc(e.Rules, func(x, y conditionalRow) int {
		a, b := seats[x.Name], seats[y.Name]
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.moved, b.moved))
	})
	for i, row := range e.Rules {
		e.Rules[i].Place = strconv.Itoa(i + 1)
		rule := rulefile.Conditional{Name: row.Name, Rail: rulefile.Rail{Order: routing.Order(row.Order), Accounts: words(row.Accounts)}}
		if rule.Explored, err = number("rules", row.Explored); err != nil {
			return nil, err
		}
		if rule.Weights, err = weights("rules", row.Weights); err != nil {
			return nil, err
		}
		if row.Bound() {
			rule.When = &rulefile.When{
				Rail: words(row.Rail), Amount: words(row.Amount), Currency: words(row.Currency), Merchant: words(row.Merchant), Shop: words(row.Shop), Country: words(row.Country),
				CardCountry: words(row.CardCountry), Hours: words(row.Hours), Weekdays: words(row.Weekdays), Zone: row.Zone, Installments: row.Installments, Attempt: routing.Try(row.Attempt),
			}
		}
		list = append(list, rule)
	}
	return list, nil
}

// weights reads acme-1:70 acme-2:30.
func weights(field, text string) (shares map[string]rulefile.Weight, err error) {
	for _, word := range words(text) {
		id, share, _ := strings.Cut(word, ":")
		n, err := strconv.Atoi(share)
		if _, twice := shares[id]; err != nil || id == "" || twice {
			return nil, problem.Field(problem.InvalidRequest, field, weightUnreadable.With(word))
		}
		if shares == nil {
			shares = map[string]rulefile.Weight{}
		}
		shares[id] = rulefile.Weight(n)
	}
	return shares, nil
}

// words are separated by spaces or commas.
func words(text string) []string {
	list := strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ',' })
	if len(list) == 0 {
		return nil
	}
	return list
}

// number reads an optional whole number.
func number(field, text string) (*int, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // none was given
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, problem.Field(problem.InvalidRequest, field, notAWholeNumber.With(text))
	}
	return &n, nil
}
