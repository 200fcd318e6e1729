// Package rulefile reads and writes the operator's routing rules as YAML, of which JSON is
// a subset. It knows the words of the file; internal/pay/routing knows their meaning.
package rulefile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/yamlfile"
	"go.yaml.in/yaml/v3"
)

// File is a file of rules.
type File struct {
	Rules    routing.Rules
	Silent   bool               // the file has no rules, only accounts
	Accounts map[string]Account // the accounts' changes for a replay, by id
}

// Account is the changes of a provider account for a replay, in the words of cascada
// provider set. Nil means no change.
type Account struct {
	Priority *int     `yaml:"priority"`
	Price    Words    `yaml:"price"`
	Limits   Words    `yaml:"limits"`
	Rails    []string `yaml:"rails"`
	Enabled  *bool    `yaml:"enabled"`
}

// Words is a word, or a list of them.
type Words []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (w *Words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*w = Words{n.Value}
		return nil
	}
	var list []string
	err := n.Decode(&list)
	*w = list
	return err
}

// Text is rules in the words of a file, for YAML and JSON.
type Text struct {
	Order    routing.Order   `yaml:"order,omitempty" json:"order,omitempty"`
	Explored *int            `yaml:"explored,omitempty" json:"explored,omitempty"`
	Budget   *Budget         `yaml:"budget,omitempty" json:"budget,omitempty"`
	Retry    *Retry          `yaml:"retry,omitempty" json:"retry,omitempty"`
	Zone     string          `yaml:"zone,omitempty" json:"zone,omitempty"`
	Rules    []Conditional   `yaml:"rules,omitempty" json:"rules,omitempty"`
	Rails    map[string]Rail `yaml:"rails,omitempty" json:"rails,omitempty"`
}

// Retry is the rule for refusals on a provider's page, in the words of a file.
type Retry struct {
	Times   *int             `yaml:"times,omitempty" json:"times,omitempty"`
	Within  string           `yaml:"within,omitempty" json:"within,omitempty"`
	Reasons []decline.Reason `yaml:"reasons,omitempty,flow" json:"reasons,omitempty"`
}

// Budget is one in the words of a file.
type Budget struct {
	Attempts *int   `yaml:"attempts,omitempty" json:"attempts,omitempty"`
	Time     string `yaml:"time,omitempty" json:"time,omitempty"`
}

// Rail is the rule of a rail in the words of a file.
type Rail struct {
	Order    routing.Order     `yaml:"order,omitempty" json:"order,omitempty"`
	Accounts []string          `yaml:"accounts,omitempty,flow" json:"accounts,omitempty"`
	Weights  map[string]Weight `yaml:"weights,omitempty,flow" json:"weights,omitempty"`
	Explored *int              `yaml:"explored,omitempty" json:"explored,omitempty"`
}

// Weight is a whole number. A fraction is refused: YAML's numbers would lose it.
type Weight int

// UnmarshalYAML implements yaml.Unmarshaler.
func (w *Weight) UnmarshalYAML(n *yaml.Node) error {
	value, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		return fmt.Errorf("line %d: %q is not a whole number", n.Line, n.Value)
	}
	*w = Weight(value)
	return nil
}

// MaxSize is the most bytes of a file, far more than rules for all rails take.
const MaxSize = 128 << 10

// Read reads a file. It does not interpret the part about accounts.
//
// Errors: which lines are wrong, and why.
func Read(text []byte) (File, error) {
	var file struct {
		Text     `yaml:",inline"`
		Accounts map[string]Account `yaml:"accounts"`
	}
	switch err := yamlfile.Decode(text, MaxSize, &file); {
	case errors.Is(err, yamlfile.ErrEmpty):
		return File{}, fileEmpty
	case err != nil:
		return File{}, err
	}
	silent := reflect.ValueOf(file.Text).IsZero()
	if silent && len(file.Accounts) == 0 {
		return File{}, fileEmpty
	}
	rules, err := file.Text.Read()
	if err = errors.Join(err, unset(text, file.Text), rules.Check()); err != nil {
		return File{}, AtLines(text, err)
	}
	return File{rules, silent, file.Accounts}, nil
}

// LineError is what is wrong with a line of a file.
type LineError struct {
	Line int
	Err  error
}

func (e LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Err) }

// Unwrap returns the error, so that it is shown as a sentence.
func (e LineError) Unwrap() error { return e.Err }

// mostMistakes is how many mistakes of a file an error lists.
const mostMistakes = 20

// AtLines returns an error about the rules of a file with the lines of the parts that are wrong. Any other error stays as it is.
func AtLines(text []byte, err error) error {
	var list []LineError
	var lines *yamlfile.Lines
	for _, one := range each(err) {
		mistake, ok := errors.AsType[routing.Mistake](one)
		if !ok {
			return err
		}
		if lines == nil {
			lines = yamlfile.NewLines(text)
		}
		list = append(list, LineError{lines.Of(mistake.Path), one})
	}
	slices.SortStableFunc(list, func(a, b LineError) int { return cmp.Compare(a.Line, b.Line) })
	wrong := make([]error, 0, len(list))
	for i, one := range list {
		if i == mostMistakes {
			wrong = append(wrong, fmt.Errorf("and %d mistakes more", len(list)-i))
			break
		}
		wrong = append(wrong, one)
	}
	return errors.Join(wrong...)
}

// each is the errors of one that was joined, also of those that were joined before.
func each(err error) (list []error) {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // not what it wraps
	if !ok {
		return []error{err}
	}
	for _, one := range joined.Unwrap() {
		list = append(list, each(one)...)
	}
	return list
}

// unset finds conditions without a value: a rule with one would be for more payments than it seems.
//
// Errors: routing.Mistakes.
func unset(text []byte, file Text) error {
	if len(file.Rules) == 0 {
		return nil
	}
	var wrong []error
	for _, path := range yamlfile.NewLines(text).Nulls {
		if strings.HasPrefix(path, "rules[") {
			wrong = append(wrong, routing.Mistake{Path: path, Err: fmt.Errorf("%s has no value: write one, or remove it", path[strings.LastIndex(path, ".")+1:])})
		}
	}
	return errors.Join(wrong...)
}

// Read returns the rules that the text says. It does not check them.
//
// Errors: routing.Mistakes.
func (t Text) Read() (routing.Rules, error) {
	r := &reader{}
	rules := routing.Rules{Order: t.Order, Explored: t.Explored}
	for rail, of := range t.Rails {
		if rules.Rails == nil {
			rules.Rails = map[string]routing.Rule{}
		}
		rules.Rails[rail] = of.read()
	}
	if t.Zone != "" {
		rules.Zone = parsed(r, "zone", "zone", t.Zone, routing.ParseZone)
	}
	for i, of := range t.Rules {
		rules.Conditional = append(rules.Conditional, r.conditional(i, of))
	}
	if of := t.Retry; of != nil {
		if rules.Retry = (routing.Retry{Times: of.Times}); len(of.Reasons) > 0 {
			rules.Retry.Reasons = of.Reasons
		}
		rules.Retry.Within = r.duration("retry.within", "retry", of.Within, "20m")
	}
	if of := t.Budget; of != nil {
		if of.Attempts != nil {
			// In Rules, zero means that nothing is set.
			if rules.Budget.Attempts = *of.Attempts; rules.Budget.Attempts == 0 {
				r.bad("budget.attempts", errors.New("budget: 0 attempts: a payment needs at least one"))
			}
		}
		rules.Budget.Time = r.duration("budget.time", "budget", of.Time, "30s")
	}
	return rules, errors.Join(r.wrong...)
}

func (r Rail) read() routing.Rule {
	if len(r.Accounts) == 0 {
		r.Accounts = nil // an empty list means the same as none
	}
	rule := routing.Rule{Order: r.Order, Accounts: r.Accounts, Explored: r.Explored}
	for id, n := range r.Weights {
		if rule.Weights == nil {
			rule.Weights = make(map[string]int, len(r.Weights))
		}
		rule.Weights[id] = int(n)
	}
	return rule
}

// reader turns words into values, and collects what is wrong.
type reader struct{ wrong []error }

func (r *reader) bad(path string, err error) {
	r.wrong = append(r.wrong, routing.Mistake{Path: path, Err: err})
}

// duration reads an optional duration.
func (r *reader) duration(path, of, text, such string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d == 0 {
		r.bad(path, fmt.Errorf("%s: %q is not a duration: want such as %s", of, text, such))
	}
	return d
}

// parsed reads a word.
func parsed[T any](r *reader, path, of, text string, parse func(string) (T, error)) (value T) {
	value, err := parse(text)
	if err != nil {
		r.bad(path, fmt.Errorf("%s: %w", of, err))
	}
	return value
}

// New returns rules in the words of a file.
func New(r routing.Rules) Text {
	t := Text{Order: r.Order, Explored: r.Explored}
	if r.Budget != (pay.Budget{}) {
		t.Budget = &Budget{}
		if n := r.Budget.Attempts; n != 0 {
			t.Budget.Attempts = &n
		}
		if d := r.Budget.Time; d != 0 {
			t.Budget.Time = d.String()
		}
	}
	if of := r.Retry; of.Times != nil || of.Within != 0 || len(of.Reasons) > 0 {
		t.Retry = &Retry{Times: of.Times, Reasons: of.Reasons}
		if of.Within != 0 {
			t.Retry.Within = of.Within.String()
		}
	}
	for rail, rule := range r.Rails {
		if t.Rails == nil {
			t.Rails = map[string]Rail{}
		}
		t.Rails[rail] = newRail(rule)
	}
	t.Zone = r.Zone.String()
	for _, of := range r.Conditional {
		t.Rules = append(t.Rules, newConditional(of))
	}
	return t
}

func newRail(r routing.Rule) Rail {
	t := Rail{Order: r.Order, Accounts: r.Accounts, Explored: r.Explored}
	for id, n := range r.Weights {
		if t.Weights == nil {
			t.Weights = make(map[string]Weight, len(r.Weights))
		}
		t.Weights[id] = Weight(n)
	}
	return t
}

// Write returns the text for Read, with rails in order.
func Write(r routing.Rules) ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(New(r)); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}
