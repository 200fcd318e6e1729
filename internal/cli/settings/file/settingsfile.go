// Package file reads a settings file: YAML with a line for each setting and the
// names of flags as keys. It knows lines, keys and values; the command line knows their
// meaning.
package file

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
)

// File is the content of a file.
type File struct{ Settings []Setting }

// Setting is one line of it: a word, a list of words, or words by name.
type Setting struct {
	Key    string
	Line   int
	Word   string
	List   []string
	Pairs  [][2]string
	IsList bool // List or Pairs has the value
}

// Get returns the setting of a key.
func (f File) Get(key string) (Setting, bool) {
	i := slices.IndexFunc(f.Settings, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return Setting{}, false
	}
	return f.Settings[i], true
}

// Problem is something wrong with a file.
type Problem struct {
	Line int    // 0 if not known
	Key  string // "" if it is about the file
	Text string // what is wrong, and how to fix it
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

// Read reads a file with these known keys. With problems, it returns what could be read.
func Read(from io.Reader, known []string) (File, []Problem) {
	var document yaml.Node
	decoder := yaml.NewDecoder(from)
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF): // empty, or only comments
		return File{}, nil
	case err != nil:
		return File{}, []Problem{{Text: "it is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ") + "; want a line such as listen: 127.0.0.1:8080 for each setting"}}
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return File{}, []Problem{{Text: "there is more than one document in it: remove the line ---"}}
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
	textOf := func(n *yaml.Node) string {
		switch {
		case n.Kind != yaml.ScalarNode:
			bad = "want a value, words in [a, b] or words by name in {a: b}, nothing deeper and no aliases"
		case n.Tag == "!!null":
			bad = "it has no value: set one, or remove the line for the default"
		}
		return n.Value
	}
	switch value.Kind {
	case yaml.SequenceNode:
		s.IsList = true
		for _, n := range value.Content {
			s.List = append(s.List, textOf(n))
		}
	case yaml.MappingNode:
		s.IsList = true
		for i := 0; i+1 < len(value.Content); i += 2 {
			s.Pairs = append(s.Pairs, [2]string{textOf(value.Content[i]), textOf(value.Content[i+1])})
		}
	default:
		s.Word = textOf(value)
	}
	return s, bad
}

// unknown refuses a key, and suggests the one that was probably meant.
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
