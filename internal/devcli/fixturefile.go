package devcli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/near"
	"github.com/cascadapay/cascada/internal/yamlfile"
	"go.yaml.in/yaml/v3"
)

// fixture is a step of a file.
type fixture struct {
	name, method, path string
	line               int
	headers            map[string]string
	body               *yaml.Node // nil: none
	expect             []int
	where              []condition
}

// condition is what a field of the reply must be.
type condition struct{ path, want string }

// fixtureFile is the file as it is written.
type fixtureFile struct {
	Steps []struct {
		Name    string            `yaml:"name"`
		Method  string            `yaml:"method"`
		Path    string            `yaml:"path"`
		Headers map[string]string `yaml:"headers"`
		Body    yaml.Node         `yaml:"body"`
		Expect  yaml.Node         `yaml:"expect"`
		Where   yaml.Node         `yaml:"where"`
	} `yaml:"steps"`
}

var (
	stepName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	methods  = []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete}
	reserved = []string{"run", "env"}
)

// parseFixtures reads a file of steps. Errors say which line is wrong.
func parseFixtures(text []byte) ([]fixture, error) {
	var file fixtureFile
	if err := yamlfile.Decode(text, maxFile, &file); err != nil {
		return nil, err
	}
	lines := yamlfile.NewLines(text)
	switch {
	case lines.Alias > 0:
		return nil, fmt.Errorf("line %d: aliases are not read here: write the value again", lines.Alias)
	case len(file.Steps) == 0:
		return nil, errors.New(`it has no steps: begin it with "steps:", and a list below`)
	case len(file.Steps) > maxSteps:
		return nil, fmt.Errorf("it has %d steps, and may have %d", len(file.Steps), maxSteps)
	}
	var list []fixture
	var names []string
	for i, s := range file.Steps {
		f := fixture{name: s.Name, method: strings.ToUpper(s.Method), path: s.Path, headers: s.Headers, line: lines.Of(fmt.Sprintf("steps[%d]", i))}
		wrong := func(format string, values ...any) error {
			return fmt.Errorf("line %d: %s", f.line, fmt.Sprintf(format, values...))
		}
		if f.name == "" {
			f.name = "step-" + strconv.Itoa(i+1)
		}
		if f.method == "" {
			f.method = http.MethodGet
		}
		switch {
		case !stepName.MatchString(f.name):
			return nil, wrong("%q is no name of a step: letters, digits, - and _, 64 at most", f.name)
		case slices.Contains(names, f.name):
			return nil, wrong("there are two steps %q", f.name)
		case slices.Contains(reserved, f.name):
			return nil, wrong("${%s} is something else: give the step another name", f.name)
		case !slices.Contains(methods, f.method):
			return nil, wrong("%q is no method: want one of %s", f.method, strings.Join(methods, ", "))
		case !strings.HasPrefix(f.path, "/"):
			return nil, wrong("path: %q does not begin with /: want such as /payments", f.path)
		}
		if s.Body.Kind != 0 {
			f.body = &s.Body
		}
		if err := f.expectations(&s.Expect, &s.Where); err != nil {
			return nil, wrong("%v", err)
		}
		if err := f.refersTo(names); err != nil {
			return nil, wrong("%v", err)
		}
		names = append(names, f.name)
		list = append(list, f)
	}
	return list, nil
}

// expectations reads expect and where.
func (f *fixture) expectations(expect, where *yaml.Node) error {
	list := expect.Content
	if expect.Kind == yaml.ScalarNode {
		list = []*yaml.Node{expect}
	}
	for _, n := range list {
		status, err := strconv.Atoi(n.Value)
		if err != nil || status < 100 || status > 599 {
			return fmt.Errorf("expect: %q is no status: want such as 201, or a list", n.Value)
		}
		f.expect = append(f.expect, status)
	}
	if where.Kind != 0 && where.Kind != yaml.MappingNode {
		return errors.New("where: want fields and their values, such as {status: completed}")
	}
	for i := 0; i+1 < len(where.Content); i += 2 {
		name, value := where.Content[i], where.Content[i+1]
		if value.Kind != yaml.ScalarNode {
			return fmt.Errorf("where: %s: want one value", name.Value)
		}
		want := value.Value
		if value.ShortTag() == "!!null" {
			want = "null"
		}
		f.where = append(f.where, condition{name.Value, want})
	}
	return nil
}

// reference is ${…} in a text.
var reference = regexp.MustCompile(`\$\{([^{}]*)\}`)

// refersTo checks that what a step refers to comes before it.
func (f *fixture) refersTo(before []string) error {
	texts := []string{f.path}
	for _, value := range f.headers {
		texts = append(texts, value)
	}
	for _, w := range f.where {
		texts = append(texts, w.want)
	}
	texts = append(texts, scalars(f.body)...)
	for _, text := range texts {
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			name, _, _ := strings.Cut(m[1], ".")
			if slices.Contains(before, name) || slices.Contains(reserved, name) {
				continue
			}
			guess := near.Meant(name, append(slices.Clone(reserved), before...))
			if guess != "" {
				guess = ": did you mean " + guess + "?"
			}
			return fmt.Errorf("%s: no step %q comes before this one%s", m[0], name, guess)
		}
	}
	return nil
}

// scalars are the texts in a value.
func scalars(n *yaml.Node) (list []string) {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	for _, below := range n.Content {
		list = append(list, scalars(below)...)
	}
	return list
}

// references are what ${…} stands for.
type references struct {
	run     string
	replies map[string]any
}

// value is what a reference stands for.
func (r references) value(name string) (any, error) {
	first, rest, _ := strings.Cut(name, ".")
	switch first {
	case "run":
		return r.run, nil
	case "env":
		text, set := os.LookupEnv(rest)
		if !set {
			return nil, fmt.Errorf("${%s}: the environment has no %s", name, rest)
		}
		return text, nil
	}
	reply, known := r.replies[first]
	if !known {
		return nil, fmt.Errorf("${%s}: the reply to %q was not JSON", name, first)
	}
	found, err := field(reply, rest)
	if err != nil {
		return nil, fmt.Errorf("${%s}: %w", name, err)
	}
	return found, nil
}

// field is a part of a reply, by a path such as data.0.id. "" is all of it.
func field(value any, path string) (any, error) {
	if path == "" {
		return value, nil
	}
	for name := range strings.SplitSeq(path, ".") {
		switch of := value.(type) {
		case map[string]any:
			below, has := of[name]
			if !has {
				var names []string
				for known := range of {
					names = append(names, known)
				}
				slices.Sort(names)
				return nil, fmt.Errorf("the reply has no %q; it has %s", name, strings.Join(names, ", "))
			}
			value = below
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(of) {
				return nil, fmt.Errorf("the list has %d rows, and no row %q", len(of), name)
			}
			value = of[i]
		default:
			return nil, fmt.Errorf("there is nothing below %v", plainText(of))
		}
	}
	return value, nil
}

// plainText is a value as text: a text without quotes, other values as JSON.
func plainText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return string(text)
}

// replace replaces the references in a text.
func (r references) replace(text string, write func(string) string) (out string, err error) {
	out = reference.ReplaceAllStringFunc(text, func(found string) string {
		value, wrong := r.value(found[2 : len(found)-1])
		err = errors.Join(err, wrong)
		return write(plainText(value))
	})
	return out, err
}

func (r references) inText(text string) (string, error) {
	return r.replace(text, func(s string) string { return s })
}

// inPath replaces references in a path. What they stand for cannot lead elsewhere.
func (r references) inPath(path string) (string, error) {
	before, query, has := strings.Cut(path, "?")
	before, err := r.replace(before, url.PathEscape)
	if has {
		var wrong error
		query, wrong = r.replace(query, url.QueryEscape)
		before, err = before+"?"+query, errors.Join(err, wrong)
	}
	return before, err
}

// inValue returns a value as JSON. Numbers keep their digits.
func (r references) inValue(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	err := r.write(&out, n)
	return out.Bytes(), err
}

// number is a number as JSON writes it.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (r references) write(out *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		return r.scalar(out, n)
	case yaml.MappingNode:
		out.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				out.WriteByte(',')
			}
			out.Write(quoted(n.Content[i].Value))
			out.WriteByte(':')
			if err := r.write(out, n.Content[i+1]); err != nil {
				return err
			}
		}
		out.WriteByte('}')
		return nil
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, below := range n.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := r.write(out, below); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	}
	return fmt.Errorf("line %d: this is no value of JSON", n.Line)
}

func quoted(text string) []byte {
	out, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`) // a string is always written
	}
	return out
}

func (r references) scalar(out *bytes.Buffer, n *yaml.Node) error {
	switch tag := n.ShortTag(); {
	case tag == "!!null":
		out.WriteString("null")
	case tag == "!!bool":
		out.WriteString(strings.ToLower(n.Value))
	case (tag == "!!int" || tag == "!!float") && number.MatchString(n.Value):
		out.WriteString(n.Value)
	default:
		if m := reference.FindStringSubmatch(n.Value); m != nil && m[0] == n.Value { // alone: it keeps its type
			value, err := r.value(m[1])
			if err != nil {
				return err
			}
			text, err := json.Marshal(value)
			out.Write(text)
			return err
		}
		text, err := r.inText(n.Value)
		if err != nil {
			return err
		}
		out.Write(quoted(text))
	}
	return nil
}
