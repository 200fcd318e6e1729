package main_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCompletionOffersTheNextWords(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, c := range []struct {
		typed []string
		want  []string // if all is false, there may be more
		all   bool
	}{
		{[]string{""}, []string{"serve", "merchant", "check", "completion"}, false},
		{[]string{"merch"}, []string{"merchant"}, true},
		{[]string{"merchant", "cr"}, []string{"create"}, true},
		{[]string{"serve", "--retain-s"}, []string{"--retain-shoppers"}, true},
		{[]string{"serve", "--routing", ""}, []string{"least_cost", "priority", "success_rate"}, true},
		{[]string{"serve", "--routing=l"}, []string{"--routing=least_cost"}, true},
		{[]string{"serve", "--database", "x", "--ad"}, []string{"--admin"}, true},
		{[]string{"--config", "merchant", "fx", "s"}, []string{"set"}, true},
		{[]string{"serve", "--database", ""}, nil, true},
		{[]string{"completion", "w"}, nil, true},
	} {
		out, log, code := u.run(t, append([]string{"completion", "words", "--"}, c.typed...)...)
		var got []string
		for line := range strings.Lines(out) {
			word, about, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got = append(got, word)
			if strings.HasPrefix(word, "--") && !strings.Contains(word, "=") && about == "" {
				t.Errorf("%q: no help beside %s", c.typed, word)
			}
		}
		missing := slices.DeleteFunc(slices.Clone(c.want), func(w string) bool { return slices.Contains(got, w) })
		if code != 0 || len(missing) > 0 || c.all && len(got) != len(c.want) {
			t.Errorf("%q: exit %d, %q %s, want %q", c.typed, code, got, log, c.want)
		}
	}
}

// Bash runs its own script, because it splits words in its own way.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Fatal("this test needs bash: install it")
	}
	u := newUser(t)
	script, _, _ := u.run(t, "completion", "bash")
	for typed, want := range map[string]string{
		"cascada merch": "merchant", "cascada fx s": "set", "cascada serve --routing l": "least_cost", "cascada serve --routing = l": "least_cost",
		"cascada serve --listen 127.0.0.1 : 8080 --adm": "--admin",
	} {
		shell := exec.Command("bash", "-c", script+"\nCOMP_WORDS=("+typed+"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cascada cascada; echo \"${COMPREPLY[*]}\"")
		shell.Dir, shell.Env = u.dir, append(u.env, "PATH="+filepath.Dir(binary)+":/usr/bin:/bin")
		out, err := shell.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("bash completes %q to %q (%v), want %q", typed, out, err, want)
		}
	}
}

// The small program completes its own commands with the same script.
func TestSmallProgramCompletes(t *testing.T) {
	t.Parallel()
	program, err := small()
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(t)
	u.program = program
	script, _, _ := u.run(t, "completion", "bash")
	shell := exec.Command("bash", "-c", script+"\nCOMP_WORDS=(cascada-cli trig); COMP_CWORD=1; _cascada-cli cascada-cli; echo \"${COMPREPLY[*]}\"; complete -p cascada-cli")
	shell.Dir, shell.Env = u.dir, append(u.env, "PATH="+filepath.Dir(program)+":/usr/bin:/bin")
	out, err := shell.CombinedOutput()
	if err != nil || string(out) != "trigger\ncomplete -o default -F _cascada-cli cascada-cli\n" {
		t.Errorf("bash completes cascada-cli trig to %q (%v)", out, err)
	}
	for _, name := range []string{"zsh", "fish"} {
		if script, _, code := u.run(t, "completion", name); code != 0 || !strings.Contains(script, "cascada-cli") || strings.Contains(script, "{{") {
			t.Errorf("the script for %s: exit %d\n%s", name, code, script)
		}
	}
}
