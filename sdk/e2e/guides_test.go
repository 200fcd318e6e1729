package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The snippets of each guide in a language, in the order of their file, are a program. All languages print the same, that is what curl prints.
func TestGuidesDoWhatTheySay(t *testing.T) {
	s := start(t)
	files, err := filepath.Glob("../../internal/guide/snippets/*.sh")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d guides have snippets (%v)", len(files), err)
	}
	var guides []string
	for _, file := range files {
		guides = append(guides, strings.TrimSuffix(filepath.Base(file), ".sh"))
	}
	languages := programs(t)
	native := compiled(t, guides)
	for _, name := range guides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := s.snippets(t, name, "sh", t.TempDir(), "", "bash", "-euo", "pipefail")
			if len(want) == 0 {
				t.Fatal("curl prints nothing")
			}
			typescript, php := languages["typescript"], languages["php"]
			got := map[string][]string{
				"Go":         s.native(t, native, name),
				"TypeScript": s.typescript(t, name, typescript),
				"Python":     s.snippets(t, name, "py", t.TempDir(), "", languages["python"][0]),
				"PHP":        s.snippets(t, name, "php", filepath.Dir(php[len(php)-1]), "<?php\nrequire 'vendor/autoload.php';\n", php[:len(php)-1]...),
			}
			for language, lines := range got {
				if !slices.Equal(lines, want) {
					t.Errorf("%s prints\n%s\nand curl\n%s", language, strings.Join(lines, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

var snippetMark = regexp.MustCompile(`(?m)^(?:#|//)= [a-z-]+( alone)?\n`)

// snippetsOf reads the program of a guide, for a service and a key.
func snippetsOf(t *testing.T, name, ending, url, key string) string {
	t.Helper()
	text, err := os.ReadFile("../../internal/guide/snippets/" + name + "." + ending)
	if err != nil {
		t.Fatal(err)
	}
	return addressed(snippetMark.ReplaceAllString(string(text), ""), url, key)
}

// addressed is a program with a service's address and a key in place of the guide's.
func addressed(code, url, key string) string {
	return strings.NewReplacer("https://pay.example", url, "https://shop.example/cascada", "http://127.0.0.1:9/cascada", "sk_test_…", key).Replace(code)
}

// snippets runs the program of a guide in a folder, with a merchant of its own, and returns what it prints.
func (s service) snippets(t *testing.T, name, ending, dir, first string, command ...string) []string {
	t.Helper()
	file := filepath.Join(dir, "guide-"+name+"."+ending)
	if err := os.WriteFile(file, []byte(first+snippetsOf(t, name, ending, s.url, s.merchant(t, name).Secret)), 0o600); err != nil {
		t.Fatal(err)
	}
	return output(t, dir, append(slices.Clone(command), file)...)
}

// typescript runs the program of a guide that tsc has compiled beside the scenario.
func (s service) typescript(t *testing.T, name string, command []string) []string {
	t.Helper()
	dir := filepath.Dir(command[len(command)-1])
	code, err := os.ReadFile(filepath.Join(dir, "guide-"+name+".js"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "run-"+name+".js")
	if err := os.WriteFile(file, []byte(addressed(string(code), s.url, s.merchant(t, name).Secret)), 0o600); err != nil {
		t.Fatal(err)
	}
	return output(t, dir, append(slices.Clone(command[:len(command)-1]), file)...)
}

func (s service) native(t *testing.T, program, name string) []string {
	t.Helper()
	return output(t, t.TempDir(), program, name, s.url, s.merchant(t, name).Secret)
}

func output(t *testing.T, dir string, command ...string) []string {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	var failed bytes.Buffer
	c.Dir, c.Stderr = dir, &failed
	out, err := c.Output()
	if err != nil {
		t.Errorf("%s: %v: %s%s", strings.Join(command, " "), err, out, failed.String())
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
}

// compiled builds the Go snippets of all guides as one program, whose arguments are a guide, the service's address and a key.
func compiled(t *testing.T, guides []string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, path := range []string{"context", "crypto/hmac", "crypto/sha256", "encoding/hex", "errors", "fmt", "net/http", "net/http/httptest", "net/url", "os", "path", "strconv", "strings", "time", "github.com/cascadapay/cascada/client"} {
		fmt.Fprintf(&b, "\t%q\n", path)
	}
	b.WriteString(")\n\nvar guides = map[string]func(ctx context.Context, url, key string) error{\n")
	for _, name := range guides {
		code := snippetsOf(t, name, "go.txt", "URL", "KEY")
		fmt.Fprintf(&b, "%q: func(ctx context.Context, address, key string) error {\n%s\nreturn nil\n},\n", name, strings.NewReplacer(`"URL"`, "address", `"KEY"`, "key").Replace(code))
	}
	b.WriteString("}\n\nvar _, _, _, _, _, _, _, _, _, _, _ = hmac.New, sha256.New, hex.EncodeToString, errors.As, http.MethodPost, httptest.NewRecorder, url.Parse, path.Base, strconv.Itoa, strings.NewReader, time.Now\n\n" +
		"func main() {\n\tif err := guides[os.Args[1]](context.Background(), os.Args[2], os.Args[3]); err != nil {\n\t\tfmt.Fprintln(os.Stderr, err)\n\t\tos.Exit(1)\n\t}\n}\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "guides")
	if out, err := exec.Command("go", "build", "-o", program, filepath.Join(dir, "main.go")).CombinedOutput(); err != nil {
		t.Fatalf("the Go snippets do not compile: %v: %s", err, out)
	}
	return program
}
