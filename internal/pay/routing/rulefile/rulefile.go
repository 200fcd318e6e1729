// Package rulefile reads and writes the operator's routing rules as YAML, of which JSON is
// a subset. It knows the words of the file; internal/pay/routing knows their meaning.
package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"go.yaml.in/yaml/v3"
)

// File is a file of rules.
type File struct {
	Rules    routing.Rules
	Silent   bool               // it says nothing about rules, only about accounts
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
	Order    routing.Order `yaml:"order,omitempty" json:"order,omitempty"`
	Accounts []string      `yaml:"accounts,omitempty,flow" json:"accounts,omitempty"`
	Explored *int          `yaml:"explored,omitempty" json:"explored,omitempty"`
}

// MaxSize is the most bytes of a file, far more than rules for all rails take.
const MaxSize = 128 << 10

// mostMistakes is how many mistakes of a file an error lists.
const mostMistakes = 20

// Read reads a file. It does not interpret the part about accounts.
//
// Errors: which lines are wrong, and why.
func Read(text []byte) (File, error) {
	if len(text) > MaxSize {
		return File{}, fmt.Errorf("it is larger than %d KB", MaxSize>>10)
	}
	var written yaml.Node
	if err := yaml.Unmarshal(text, &written); err == nil { // or the decoder below says what is wrong
		if err := twice(&written); err != nil { // the decoder tells of each pair: a megabyte about some kilobytes
			return File{}, err
		}
	}
	var file struct {
		Text     `yaml:",inline"`
		Accounts map[string]Account `yaml:"accounts"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true) // a misspelt rule must not become the default
	switch err := decoder.Decode(&file); {
	case errors.Is(err, io.EOF):
		return File{}, fileEmpty
	case err != nil:
		return File{}, plain(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return File{}, errors.New("there is more than one document in it")
	}
	silent := reflect.ValueOf(file.Text).IsZero()
	if silent && len(file.Accounts) == 0 {
		return File{}, fileEmpty
	}
	rules, err := file.Rules()
	if err != nil {
		return File{}, err
	}
	return File{rules, silent, file.Accounts}, rules.Check()
}

// twice finds a name that a map has twice.
func twice(n *yaml.Node) error {
	lines := map[string]int{}
	for i, below := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if line, known := lines[below.Value]; known && below.Kind == yaml.ScalarNode {
				return fmt.Errorf("line %d: %q is in line %d already: keep one", below.Line, below.Value, line)
			}
			lines[below.Value] = below.Line
		}
		if err := twice(below); err != nil {
			return err
		}
	}
	return nil
}

// Rules returns the rules that the text says. It does not check them.
func (t Text) Rules() (routing.Rules, error) {
	rules := routing.Rules{Order: t.Order, Explored: t.Explored}
	for rail, r := range t.Rails {
		if rules.Rails == nil {
			rules.Rails = map[string]routing.Rule{}
		}
		if len(r.Accounts) == 0 {
			r.Accounts = nil // an empty list means the same as none
		}
		rules.Rails[rail] = routing.Rule{Order: r.Order, Accounts: r.Accounts, Explored: r.Explored}
	}
	if r := t.Retry; r != nil {
		if rules.Retry = (routing.Retry{Times: r.Times}); len(r.Reasons) > 0 {
			rules.Retry.Reasons = r.Reasons
		}
		if r.Within != "" {
			d, err := time.ParseDuration(r.Within)
			if err != nil || d == 0 {
				return rules, fmt.Errorf("retry: %q is not a duration: want such as 20m", r.Within)
			}
			rules.Retry.Within = d
		}
	}
	if t.Budget == nil {
		return rules, nil
	}
	if t.Budget.Attempts != nil {
		// In Rules, zero means that nothing is set.
		if rules.Budget.Attempts = *t.Budget.Attempts; rules.Budget.Attempts == 0 {
			return rules, errors.New("budget: 0 attempts: a payment needs at least one")
		}
	}
	if t.Budget.Time != "" {
		d, err := time.ParseDuration(t.Budget.Time)
		if err != nil || d == 0 {
			return rules, fmt.Errorf("budget: %q is not a duration: want such as 30s", t.Budget.Time)
		}
		rules.Budget.Time = d
	}
	return rules, nil
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
		t.Rails[rail] = Rail{Order: rule.Order, Accounts: rule.Accounts, Explored: rule.Explored}
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

var (
	// A name and a value may be empty or have several lines, and a tag may be any text.
	unknownField = regexp.MustCompile(`(?s)field (.*) not found in type .+`)
	wrongType    = regexp.MustCompile("(?s)cannot unmarshal !*(map|seq)?.*?(`(.*)`)? into (.+)")
)

// plain turns errors into the file's words, without the names of our types.
func plain(err error) error {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var list []error
	for i, line := range wrong.Errors {
		if i == mostMistakes {
			list = append(list, fmt.Errorf("and %d mistakes more", len(wrong.Errors)-i))
			break
		}
		line = unknownField.ReplaceAllString(line, `there is no field "$1" here`)
		if m := wrongType.FindStringSubmatch(line); m != nil {
			line = wrongType.ReplaceAllLiteralString(line, fmt.Sprintf("%s is not %s", found(m[1], m[3]), wanted(m[4])))
		}
		list = append(list, errors.New(line))
	}
	return errors.Join(list...)
}

func found(kind, value string) string {
	switch kind {
	case "map":
		return "a map"
	case "seq":
		return "a list"
	}
	return fmt.Sprintf("%q", value)
}

func wanted(kind string) string {
	switch {
	case kind == "int":
		return "a whole number"
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "[]"):
		return "a list"
	case kind == "string" || kind == "routing.Order":
		return "a word"
	}
	return "a map of settings"
}
