// Package rulefile reads and writes the operator's routing rules as YAML, of which JSON is
// a subset. It knows the words of the file; internal/pay/routing knows their meaning.
package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
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
	rules, err := file.Rules()
	if err != nil {
		return File{}, err
	}
	return File{rules, silent, file.Accounts}, rules.Check()
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
