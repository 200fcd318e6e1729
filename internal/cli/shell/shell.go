// Package shell completes command lines in bash, zsh and fish. It knows no command: the scripts ask the program for the words that may
// come next, and the program asks its own model. Each program that is built with kong can have it.
package shell

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// The scripts contain no command and no flag. The release puts them into packages: {{program}} stands for the program's name.
//
//go:embed scripts
var scripts embed.FS

// Completion is the command that prints the scripts.
type Completion struct {
	Bash  bashCmd  `cmd:"" help:"Print the script for bash: source <(${program} completion bash)."`
	Zsh   zshCmd   `cmd:"" help:"Print the script for zsh: save it as _${program} in a directory of $$fpath."`
	Fish  fishCmd  `cmd:"" help:"Print the script for fish: ${program} completion fish | source."`
	Words wordsCmd `cmd:"" hidden:"" help:"Print the words that may come next, for the scripts."`
}

type (
	bashCmd struct{}
	zshCmd  struct{}
	fishCmd struct{}
)

// Run prints the script.
func (bashCmd) Run(k *kong.Context) error { return printed(k, "bash") }

// Run prints the script.
func (zshCmd) Run(k *kong.Context) error { return printed(k, "zsh") }

// Run prints the script.
func (fishCmd) Run(k *kong.Context) error { return printed(k, "fish") }

func printed(k *kong.Context, shell string) error {
	script, err := scripts.ReadFile("scripts/complete." + shell)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(k.Stdout, strings.ReplaceAll(string(script), "{{program}}", k.Model.Name))
	return err
}

type wordsCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words typed after the program's name. The last one is the word to complete; it may be empty."`
}

// Run prints the words, each with its help behind a tab.
func (c *wordsCmd) Run(k *kong.Context) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, w := range nextWords(k.Model.Node, words) {
		if _, err := fmt.Fprintf(k.Stdout, "%s\t%s\n", w.text, w.about); err != nil {
			return err
		}
	}
	return nil
}

// word is a word that may come next, with its help.
type word struct{ text, about string }

// nextWords returns the words that may replace the last one. If there are none, the shell offers files.
func nextWords(root *kong.Node, words []string) []word {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	at, flags := root, slices.Clone(root.Flags)
	var waits *kong.Flag // the next word is its value
	for _, w := range words[:len(words)-1] {
		if waits != nil {
			waits = nil
			continue
		}
		if strings.HasPrefix(w, "-") {
			waits = wanting(flags, w)
			continue
		}
		if i := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == w }); i >= 0 {
			at = at.Children[i]
			flags = append(flags, at.Flags...)
		}
	}
	name, _, hasValue := strings.Cut(last, "=")
	switch {
	case waits != nil:
		return starting(enumWords(waits.Enum, ""), last)
	case hasValue && strings.HasPrefix(name, "-"):
		if flag := wanting(flags, name); flag != nil {
			return starting(enumWords(flag.Enum, name+"="), last)
		}
		return nil
	case strings.HasPrefix(last, "-"):
		return starting(flagWords(flags), last)
	}
	return starting(commandWords(at), last)
}

// wanting returns the flag of that name, or nil if no value follows it.
func wanting(flags []*kong.Flag, name string) *kong.Flag {
	i := slices.IndexFunc(flags, func(f *kong.Flag) bool {
		return "--"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name
	})
	if i < 0 || flags[i].IsBool() {
		return nil
	}
	return flags[i]
}

func commandWords(at *kong.Node) (found []word) {
	for _, n := range at.Children {
		if !n.Hidden {
			found = append(found, word{n.Name, firstSentence(n.Help)})
		}
	}
	for _, p := range at.Positional {
		found = append(found, enumWords(p.Enum, "")...)
	}
	return found
}

func flagWords(flags []*kong.Flag) (found []word) {
	for _, f := range flags {
		if !f.Hidden {
			found = append(found, word{"--" + f.Name, firstSentence(f.Help)})
		}
	}
	return found
}

func enumWords(enum, prefix string) (found []word) {
	for text := range strings.SplitSeq(enum, ",") {
		if text = strings.TrimSpace(text); text != "" {
			found = append(found, word{prefix + text, ""})
		}
	}
	return found
}

func starting(words []word, with string) []word {
	words = slices.DeleteFunc(words, func(w word) bool { return !strings.HasPrefix(w.text, with) })
	slices.SortFunc(words, func(a, b word) int { return cmp.Compare(a.text, b.text) })
	return words
}

// firstSentence returns the start of a help text, short enough to stand beside a word.
func firstSentence(help string) string {
	for i, r := range help {
		if (r == '.' || r == ';' || r == ':' || r == '(') && i > 0 && (i+1 == len(help) || help[i+1] == ' ' || r == '(') {
			return strings.TrimSpace(help[:i])
		}
	}
	return help
}
