// Package settingsfile reads a file of settings: YAML, a line for each, names of flags for keys. It knows lines,
// keys and values and nothing of what they mean, which is the command line's.
package settingsfile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
)

// File is what a file says.
type File struct{ Settings []Setting }

// Setting is one line of it: a word, a list of words, or words by name.
type Setting struct {
	Key    string
	Line   int
	Word   string
	List   []string
	Pairs  [][2]string
	IsList bool // of words, or of pairs
}

// Get returns the setting of a key.
func (f File) Get(key string) (Setting, bool) {
	i := slices.IndexFunc(f.Settings, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return Setting{}, false
	}
	return f.Settings[i], true
}

// Problem is something that is wrong with a file.
type Problem struct {
	Line int    // 0 where it is not known
	Key  string // "" where it is about the file
	Text string // what is wrong, and how to mend it
}

// String is the problem for people.
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Read reads a file whose keys may be those that are known. What it returns beside problems is what
// could be read.
func Read(from io.Reader, known []string) (File, []Problem) {
	var document yaml.Node
	decoder := yaml.NewDecoder(from)
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF): // nothing, or comments alone
		return File{}, nil
	case err != nil:
		return File{}, []Problem{{Text: "it is no YAML: " + strings.TrimPrefix(err.Error(), "yaml: ") + "; want a line such as listen: 127.0.0.1:8080 for each setting"}}
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return File{}, []Problem{{Text: "there is more than one document in it: take the line --- out"}}
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return File{}, nil
	}
	if root.Kind != yaml.MappingNode {
		return File{}, []Problem{{Line: root.Line, Text: "want settings, a line such as listen: 127.0.0.1:8080 for each"}}
	}
	var f File
	var problems []Problem
	for i := 0; i+1 < len(root.Content); i += 2 {
		s, problem := read(root.Content[i], root.Content[i+1], known)
		before, twice := f.Get(s.Key)
		switch {
		case problem != "":
			problems = append(problems, Problem{s.Line, s.Key, problem})
		case twice:
			problems = append(problems, Problem{s.Line, s.Key, fmt.Sprintf("it is in line %d already: keep one", before.Line)})
		default:
			f.Settings = append(f.Settings, s)
		}
	}
	return f, problems
}

// read reads a setting, or says what is wrong with it.
func read(key, value *yaml.Node, known []string) (s Setting, problem string) {
	s = Setting{Key: key.Value, Line: key.Line}
	if key.Kind != yaml.ScalarNode {
		return s, "a key is one word"
	}
	if !slices.Contains(known, s.Key) {
		return s, unknown(s.Key, known)
	}
	bad := ""
	take := func(n *yaml.Node) string {
		switch {
		case n.Kind != yaml.ScalarNode:
			bad = "want a value, words in [a, b] or words by name in {a: b}, nothing deeper and no aliases"
		case n.Tag == "!!null":
			bad = "it has no value: give one, or take the line out for the default"
		}
		return n.Value
	}
	switch value.Kind {
	case yaml.SequenceNode:
		s.IsList = true
		for _, n := range value.Content {
			s.List = append(s.List, take(n))
		}
	case yaml.MappingNode:
		s.IsList = true
		for i := 0; i+1 < len(value.Content); i += 2 {
			s.Pairs = append(s.Pairs, [2]string{take(value.Content[i]), take(value.Content[i+1])})
		}
	default:
		s.Word = take(value)
	}
	return s, bad
}

// unknown refuses a key, and names the one that was meant.
func unknown(key string, known []string) string {
	const text = "there is no such setting"
	wanted := strings.ToLower(strings.ReplaceAll(key, "_", "-"))
	nearest, least := "", len(wanted)/2+1
	for _, k := range known {
		if d := levenshtein.ComputeDistance(wanted, k); d < least {
			nearest, least = k, d
		}
	}
	if nearest == "" {
		return text + ": cascada serve --help lists them, without the --"
	}
	return text + "; did you mean " + nearest + "?"
}
