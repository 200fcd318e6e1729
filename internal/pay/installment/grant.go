package installment

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Grant is what a merchant may offer its shoppers over a rail from an amount on. Interest that the merchant bears lowers what the
// provider pays out, so the operator grants it, as a term of the merchant.
type Grant struct {
	Rail         string       // the catalog's key, "card.MEX"; all rails of a network, "card.*"; or "*"
	From         money.Amount // the least payment, in the currency in which the shopper pays; zero: any
	Max          int          // the most installments, from 2
	InterestFree int          // up to this count the merchant may bear the interest; 0: never
}

// String returns the form that ParseGrant reads.
func (g Grant) String() string {
	text := fmt.Sprintf("%s:%d/%d", g.Rail, g.Max, g.InterestFree)
	if !g.From.IsZero() {
		text += fmt.Sprintf("@%s:%s", g.From.Currency, g.From.Decimal())
	}
	return text
}

// ParseGrant reads a grant as people write it: "card.MEX:12/6", 12 installments at most and up to 6 without interest, or
// "card.MEX:12/6@MXN:3000" for payments from 3000 pesos on.
//
// Errors: invalid_request.
func ParseGrant(text string) (Grant, error) {
	bad := problem.Field(problem.InvalidRequest, "installments", grantUnreadable.With(text, Most))
	head, from, bounded := strings.Cut(strings.TrimSpace(text), "@")
	rail, counts, named := strings.Cut(head, ":")
	most, free, both := strings.Cut(counts, "/")
	if !named || !both || !railPattern(rail) {
		return Grant{}, bad
	}
	g := Grant{Rail: rail}
	var err, other error
	g.Max, err = strconv.Atoi(most)
	g.InterestFree, other = strconv.Atoi(free)
	if err != nil || other != nil || g.Max < 2 || g.Max > Most || g.InterestFree < 0 || g.InterestFree > g.Max {
		return Grant{}, bad
	}
	if !bounded {
		return g, nil
	}
	name, least, _ := strings.Cut(from, ":")
	currency, err := money.ParseCurrency(name)
	if err != nil {
		return Grant{}, bad
	}
	if g.From, err = money.Parse(least, currency); err != nil || !g.From.IsPositive() {
		return Grant{}, bad
	}
	return g, nil
}

// railPattern reports whether a text can be the key of a rail for cards, or a pattern of them: nothing else is paid in installments.
func railPattern(text string) bool {
	if text == "*" {
		return true
	}
	network, place, dotted := strings.Cut(text, ".")
	return dotted && network == "card" && place != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '.' && r != '*' && r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// Grants are a merchant's terms of installments, as ParseGrants returns them: comparable, and kept as they are. "" grants none.
type Grants string

// MostGrants is the largest number of terms of one merchant.
const MostGrants = 50

// MaxGrants is the longest text of terms, in characters.
const MaxGrants = 4000

// ParseGrants reads terms that are separated by commas or white space; "none" and "" are no terms.
//
// Errors: invalid_request for one that cannot be read, for two of a rail from the same amount, for too many, and for a text that is too long.
func ParseGrants(text string) (Grants, error) {
	var list []Grant
	var words []string
	if err := problem.Fit(problem.Text{Param: "installments", Text: text, Most: MaxGrants}); err != nil {
		return "", err
	}
	if strings.TrimSpace(text) == "none" {
		return "", nil
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		g, err := ParseGrant(part)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(list, func(o Grant) bool { return o.Rail == g.Rail && o.From == g.From }) {
			return "", problem.Field(problem.InvalidRequest, "installments", grantTwice.With(g.Rail))
		}
		list, words = append(list, g), append(words, g.String())
		if len(list) > MostGrants {
			return "", problem.Field(problem.InvalidRequest, "installments", tooManyGrants.With(MostGrants))
		}
	}
	return Grants(strings.Join(words, ",")), nil
}

// List returns the single terms.
func (gs Grants) List() (list []Grant) {
	for text := range strings.FieldsFuncSeq(string(gs), func(r rune) bool { return r == ',' }) {
		if g, err := ParseGrant(text); err == nil { // the text was parsed before it was stored
			list = append(list, g)
		}
	}
	return list
}

// sandboxGrant is what a merchant without terms may try in the sandbox, where nobody bears interest.
var sandboxGrant = Terms{Max: 12, InterestFree: 12}

// For returns what is granted for a payment over a rail: by the rows of the most specific pattern, that with the largest amount that
// the payment reaches. asked: the request asks for installments; then a merchant without any terms may try them in the sandbox. A
// zero amount stands for every payment over the rail.
func (gs Grants) For(rail string, local money.Amount, live, asked bool) Terms {
	if gs == "" && !live && asked {
		return sandboxGrant
	}
	network, _, _ := strings.Cut(rail, ".")
	list := gs.List()
	for _, pattern := range []string{rail, network + ".*", "*"} {
		best, at, known := Terms{}, int64(-1), false
		for _, g := range list {
			if g.Rail != pattern {
				continue
			}
			known = true
			reached := g.From.IsZero() || local.Currency == "" || g.From.Currency == local.Currency && g.From.Minor <= local.Minor
			if reached && g.From.Minor > at {
				best, at = Terms{Max: g.Max, InterestFree: g.InterestFree}, g.From.Minor
			}
		}
		if known {
			return best
		}
	}
	return Terms{}
}

// Widest is what is granted at most over the rails of a network: for a rail of the sandbox, which works in every country.
func (gs Grants) Widest(network string) (widest Terms) {
	if gs == "" {
		return sandboxGrant
	}
	for _, g := range gs.List() {
		if of, _, _ := strings.Cut(g.Rail, "."); of == network || g.Rail == "*" {
			widest.Max, widest.InterestFree = max(widest.Max, g.Max), max(widest.InterestFree, g.InterestFree)
		}
	}
	return widest
}

// Steps are what is granted over a rail, each from an amount on, ascending: by the rows of the most specific pattern. A rail that works
// in every country, as those of the sandbox do, has the rows of all of its network.
func (gs Grants) Steps(rail string) (steps []Grant) {
	network, place, dotted := strings.Cut(rail, ".")
	list := gs.List()
	if !dotted {
		for _, g := range list {
			if of, _, _ := strings.Cut(g.Rail, "."); of == network || g.Rail == "*" {
				steps = append(steps, g)
			}
		}
	}
	for _, pattern := range []string{network + "." + place, network + ".*", "*"} {
		for _, g := range list {
			if dotted && g.Rail == pattern {
				steps = append(steps, g)
			}
		}
		if len(steps) > 0 {
			break
		}
	}
	slices.SortStableFunc(steps, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.From.Currency, b.From.Currency), cmp.Compare(a.From.Minor, b.From.Minor))
	})
	return slices.CompactFunc(steps, func(a, b Grant) bool { return a.From == b.From && a.Max == b.Max && a.InterestFree == b.InterestFree })
}

// Step is what shoppers may choose from an amount on; from any amount if it is zero.
type Step struct {
	From  money.Amount
	Offer Offer
}

// Request is what a request says about installments. The zero value leaves it to the merchant's terms.
type Request struct {
	Max          int    `json:"max,omitempty"`          // 0: as granted; 1: the shopper pays at once
	InterestFree int    `json:"interestFree,omitempty"` // 0: as granted; 1: the shopper bears the interest
	Min          string `json:"min,omitempty"`          // of one installment, in major units of whatever currency the shopper pays in; "": any
}

// IsZero reports whether the request says nothing.
func (r Request) IsZero() bool { return r == Request{} }

// Wants reports whether the request asks for installments, and not only for fewer.
func (r Request) Wants() bool { return r.Max > 1 || r.Max == 0 && !r.IsZero() }

// Terms are those of a payment of an amount: what is asked, within what is granted.
func (r Request) Terms(granted Terms, local money.Amount) Terms {
	t := granted
	if r.Max > 0 {
		t.Max = min(t.Max, r.Max)
	}
	if r.InterestFree > 0 {
		t.InterestFree = min(t.InterestFree, r.InterestFree)
	}
	if t.InterestFree < 2 {
		t.InterestFree = 0
	}
	if r.Min != "" {
		least, err := money.Parse(r.Min, local.Currency)
		if err != nil { // more decimals than the currency has, or beyond every amount
			if whole, _, _ := strings.Cut(r.Min, "."); whole != r.Min {
				if least, err = money.Parse(whole, local.Currency); err == nil {
					least = least.Add(unit(local.Currency))
				}
			}
		}
		if err != nil {
			return Terms{}
		}
		t.Min = least
	}
	return t.Of(local)
}

// unit is one major unit of a currency.
func unit(c money.Currency) money.Amount {
	one, _ := money.Parse("1", c)
	return one
}

// Check returns an error if more is asked than is granted.
//
// Errors: invalid_request.
func (r Request) Check(granted Terms) error {
	for _, f := range []struct {
		param        string
		asked, least int
	}{{"installments.max", r.Max, granted.Max}, {"installments.interestFree", r.InterestFree, granted.InterestFree}} {
		switch {
		case f.asked < 2 || f.asked <= f.least:
		case !granted.Offered():
			return problem.Field(problem.InvalidRequest, f.param,
				noInstallmentsGranted)
		case f.least < 2:
			return problem.Field(problem.InvalidRequest, f.param, noInterestFreeGranted)
		case f.param == "installments.max":
			return problem.Field(problem.InvalidRequest, f.param, tooManyInstallments.With(f.least))
		default:
			return problem.Field(problem.InvalidRequest, f.param, tooManyInterestFree.With(f.least))
		}
	}
	return nil
}

// Unserved is the error for a request for installments over a rail at which no provider offers them.
func Unserved() error {
	return problem.Field(problem.InvalidRequest, "installments",
		noInstallmentsOffered)
}
