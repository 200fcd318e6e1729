package file

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

var known = []string{"listen", "metrics", "max-connections", "trusted-proxies", "rate-limit-tiers", "database"}

func TestSettingsAreReadWithTheirLines(t *testing.T) {
	f, problems := Read(strings.NewReader("# a comment\nlisten: 127.0.0.1:8080\n\ntrusted-proxies: [10.0.0.0/8, \"::1/128\"]\nrate-limit-tiers:\n  starter: 5\n  trusted: 10\nmetrics: \"\"\n"), known)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := fmt.Sprintf("%+v", f.Settings)
	for _, want := range []string{
		"{Key:listen Line:2 Word:127.0.0.1:8080 ", "{Key:trusted-proxies Line:4 Word: List:[10.0.0.0/8 ::1/128] ",
		"{Key:rate-limit-tiers Line:5 Word: List:[] Pairs:[[starter 5] [trusted 10]] ", "{Key:metrics Line:8 Word: ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in %s", want, got)
		}
	}
}

func TestFilesThatSayNothingAreRead(t *testing.T) {
	for _, text := range []string{"", "# no more\n", "---\n", "~\n", "{}"} {
		if f, problems := Read(strings.NewReader(text), known); len(f.Settings) > 0 || len(problems) > 0 {
			t.Errorf("%q is read as %v, %v", text, f, problems)
		}
	}
}

func TestMistakesAreNamedWithTheirLines(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"listen: a\nmetrcs: b", "line 2: metrcs: there is no such setting; did you mean metrics?"},
		{"max_connections: 3", "line 1: max_connections: there is no such setting; did you mean max-connections?"},
		{"Listen: a", "line 1: Listen: there is no such setting; did you mean listen?"},
		{"elephants: 3", "line 1: elephants: there is no such setting: cascada serve --help lists them"},
		{"listen: a\nmetrics: b\nlisten: c", "line 3: listen: it is in line 1 already: keep one"},
		{"listen:\nmetrics: b", "line 1: listen: it has no value"},
		{"trusted-proxies: [a, [b]]", "line 1: trusted-proxies: want a value"},
		{"rate-limit-tiers: {a: {b: 1}}", "line 1: rate-limit-tiers: want a value"},
		{"listen: &a b\nmetrics: *a", "line 2: metrics: want a value"},
		{"- listen", "line 1: want settings"},
		{"listen", "line 1: want settings"},
		{"listen: a\n---\nlisten: b", "there is more than one document"},
		{"listen: a\n\tmetrics: b", "it is not YAML: line 2"},
		{"listen: [a", "it is not YAML: line 1"},
		{"[a]: b", "line 1: a key is one word"},
	} {
		_, problems := Read(strings.NewReader(c.text), known)
		if !slices.ContainsFunc(problems, func(p Problem) bool { return strings.HasPrefix(p.String(), c.want) }) {
			t.Errorf("%q: %v, want %s", c.text, problems, c.want)
		}
	}
}

// Whatever a file holds, it is read or refused, and of what is read each key is known and there once.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"listen: a", "listen: [a]", "metrics: {a: b}", "a: &a [*a]", "---\n---", "\"\": 1", "listen: !!binary AA==", "? [a]\n: b", "<<: {listen: a}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, _ := Read(strings.NewReader(text), known)
		seen := map[string]bool{}
		for _, s := range file.Settings {
			if seen[s.Key] || !slices.Contains(known, s.Key) || s.Line < 1 {
				t.Errorf("%q: %+v", text, s)
			}
			seen[s.Key] = true
		}
	})
}
