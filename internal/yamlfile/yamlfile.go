// Package yamlfile reads the files that operators write, such as routing rules and price plans: YAML, of which JSON is a subset, without
// anything that could be meant otherwise. It knows no word of a file. The settings of the service are read in cli/settings/file.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ErrEmpty: there is nothing in the file.
var ErrEmpty = errors.New("it is empty")

// mostMistakes is how many mistakes of a file an error lists.
const mostMistakes = 20

// Decode reads a file of at most some bytes into a value. A name that the value does not have, or that stands twice, is a mistake.
//
// Errors: which lines are wrong, and why, in the file's words; ErrEmpty.
func Decode(text []byte, most int, into any) error {
	if len(text) > most {
		return fmt.Errorf("it is larger than %d KB", most>>10)
	}
	var written yaml.Node
	if err := yaml.Unmarshal(text, &written); err == nil { // or the decoder below says what is wrong
		if err := twice(&written); err != nil { // the decoder has a sentence for each pair: a megabyte about some kilobytes
			return err
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true) // a misspelt word must not become the default
	switch err := decoder.Decode(into); {
	case errors.Is(err, io.EOF):
		return ErrEmpty
	case err != nil:
		return plain(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one document in it")
	}
	return nil
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

// Lines are where the parts of a file are, by their paths: rails.pix.BRA.order, rules[0].when.
type Lines struct {
	at    map[string]int
	Alias int      // the first line with an alias, 0 if there is none; the parts of one have no lines
	Nulls []string // the paths of names that have no value
}

// NewLines returns the lines of a file that Decode has read.
func NewLines(text []byte) *Lines {
	lines := &Lines{at: map[string]int{}}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err == nil && len(root.Content) > 0 {
		lines.find(root.Content[0], "")
	}
	return lines
}

// find collects the lines of the parts below a part.
func (l *Lines) find(n *yaml.Node, path string) {
	if n.Kind == yaml.AliasNode && l.Alias == 0 {
		l.Alias = n.Line
	}
	for i, below := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		if n.Kind == yaml.MappingNode {
			at = strings.TrimPrefix(path+"."+n.Content[i&^1].Value, ".") // a name and its value
			if i%2 == 1 && (below.ShortTag() == "!!null" || below.Kind == yaml.ScalarNode && below.Value == "") {
				l.Nulls = append(l.Nulls, at)
			}
		}
		if l.at[at] == 0 {
			l.at[at] = below.Line
		}
		l.find(below, at)
	}
}

// Of is the line of a part. One that is not there is wrong where its map begins.
func (l *Lines) Of(path string) int {
	for l.at[path] == 0 && path != "" {
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return max(1, l.at[path])
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
	case slices.Contains([]string{"string", "routing.Order", "routing.Try", "money.Currency", "accounts.Channel"}, kind):
		return "a word"
	}
	return "a map of settings"
}
