package e2e

import (
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var write = flag.Bool("write", false, "write what the programs print to docs/SDKS.md")

// Programs in four languages do the same on the same service, and print the same: what docs/SDKS.md shows.
func TestFourLanguagesDoTheSame(t *testing.T) {
	s := start(t)
	want := goLines(t.Context(), t, s.url, s.merchant(t, "go"), scenario)
	if len(want) < 35 {
		t.Fatalf("the Go client printed only %d lines: %s", len(want), strings.Join(want, "\n"))
	}
	if testing.Verbose() {
		t.Log("\n" + strings.Join(want, "\n"))
	}
	var lock sync.Mutex
	printed := map[string][]string{"go": want}
	t.Run("others", func(t *testing.T) {
		for name, command := range programs(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				got := run(t, command, "scenario", s.url, s.merchant(t, name))
				compare(t, name, got, want)
				lock.Lock()
				defer lock.Unlock()
				printed[name] = got
			})
		}
	})
	const page = "../../docs/SDKS.md"
	shown := sideBySide(printed)
	if *write {
		if err := os.WriteFile(page, []byte(shown), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != shown {
		t.Errorf("docs/SDKS.md does not show what the programs print (%v): ./sdk/check.sh -run TestFourLanguages -write", err)
	}
}

// sideBySide is a page of what each program printed. A line that is the same in all languages is there once.
func sideBySide(printed map[string][]string) string {
	languages := []string{"go", "typescript", "python", "php"}
	var b strings.Builder
	b.WriteString(`# What the SDKs do, side by side

For those who choose or judge an SDK. The same program in each language, on a new service: it pays with each method, repeats, is refused, opens a checkout,
receives and verifies webhooks, refunds, reads the books and exports them. Its sources are
[Go](../sdk/e2e/scenario_test.go), [TypeScript](../sdk/e2e/typescript/scenario.ts), [Python](../sdk/e2e/python/scenario.py) and [PHP](../sdk/e2e/php/scenario.php).

` + "`make sdks`" + ` installs the packages of the SDKs into empty projects, runs the programs and fails if one prints another line than here. ✓: this line, to the letter.

| Go | TypeScript | Python | PHP | line |
|---|---|---|---|---|
`)
	for i, line := range printed[languages[0]] {
		for _, language := range languages {
			cell := "missing"
			if i < len(printed[language]) {
				if cell = "✓"; printed[language][i] != line {
					cell = "`" + printed[language][i] + "`"
				}
			}
			b.WriteString("| " + cell + " ")
		}
		b.WriteString("| `" + line + "` |\n")
	}
	return b.String()
}

// A proxy loses answers, cuts them off and refuses, and each SDK repeats its requests. Nothing is paid, refunded or opened twice.
func TestRepeatsNeverPayTwice(t *testing.T) {
	s := start(t)
	want := []string{
		"paid completed:11.1 completed:12.1 completed:13.1", "refund 1.1", "webhook enabled", "webhooks 1", "wallet connection false", "wallets 1",
		"payments 3 gross 36.3",
	}
	languages := programs(t)
	languages["python, asynchronous"] = append(append([]string{}, languages["python"]...), "--async")
	for name, command := range languages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := newFlaky(s.url)
			server := httptest.NewServer(proxy)
			defer server.Close()
			compare(t, name, run(t, command, "flaky", server.URL, s.merchant(t, "flaky")), want)
			proxy.check(t)
		})
	}
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		proxy := newFlaky(s.url)
		server := httptest.NewServer(proxy)
		defer server.Close()
		got := goLines(t.Context(), t, server.URL, s.merchant(t, "flaky"), func(ctx context.Context, w *writer) error { return w.flaky(ctx) })
		compare(t, "go", got, want)
	})
}

// Replies that no service sends are read, or refused, in the same way by each SDK.
func TestStrangeReplies(t *testing.T) {
	text, err := os.ReadFile("testdata/attack.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range programs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strange := newStrange()
			server := httptest.NewServer(strange)
			defer server.Close()
			compare(t, name, run(t, command, "attack", server.URL, keys{"pk_test_a", "sk_test_b"}), strings.Split(strings.TrimSpace(string(text)), "\n"))
			strange.check(t)
		})
	}
}

// What is generated is of today's document.
func TestTheGeneratedFilesAreOfTodaysDocument(t *testing.T) {
	s := start(t)
	reply, err := http.Get(s.url + "/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	document := filepath.Join(dir, "openapi.json")
	if err := os.WriteFile(document, text, 0o600); err != nil {
		t.Fatal(err)
	}
	generate := exec.Command("go", "run", "./sdk/generate", "-document", document, "-to", filepath.Join(dir, "sdk"))
	generate.Dir, generate.Env = "../..", append(os.Environ(), "GOWORK=off")
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("generate: %v: %s", err, out)
	}
	made := 0
	err = filepath.Walk(filepath.Join(dir, "sdk"), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		made++
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Join(dir, "sdk"), path)
		if err != nil {
			return err
		}
		if got, err := os.ReadFile(filepath.Join("..", name)); err != nil || string(got) != string(want) {
			t.Errorf("sdk/%s is not of today's document: make sdk", name)
		}
		return nil
	})
	if err != nil || made == 0 {
		t.Errorf("%d files were generated, %v", made, err)
	}
}
