package docs

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// papers are the pages that integrators read.
var papers = []string{"README.md", "docs/API.md", "docs/WEBHOOKS.md", "docs/CHECKOUT.md"}

// unrun begins the line above a snippet that no test can run. fewest is how many such snippets there
// are.
const (
	unrun  = "<!-- not run: "
	fewest = 3
)

// snippet is a piece of code in a page. An indented snippet is of the shell, and has language "".
type snippet struct {
	paper, language, code string
	line                  int
	unrun                 bool
}

// snippetsOf lists the snippets of a page, fenced or indented.
func snippetsOf(t *testing.T, paper string) (list []snippet) {
	t.Helper()
	text, err := os.ReadFile("../../../" + paper)
	harness.Must(t, err)
	lines, before := strings.Split(string(text), "\n"), ""
	for i := 0; i < len(lines); i++ {
		s := snippet{paper: paper, line: i + 1, unrun: strings.HasPrefix(before, unrun)}
		var code []string
		language, fenced := strings.CutPrefix(lines[i], "```")
		switch {
		case fenced:
			for i++; lines[i] != "```"; i++ {
				code = append(code, lines[i])
			}
			s.language = language
		case strings.HasPrefix(lines[i], "    ") && (i == 0 || lines[i-1] == ""):
			for ; i < len(lines) && (strings.HasPrefix(lines[i], "    ") || lines[i] == ""); i++ {
				code = append(code, strings.TrimPrefix(lines[i], "    "))
			}
			i--
		}
		if code != nil {
			s.code = strings.TrimRight(strings.Join(code, "\n"), "\n") + "\n"
			list = append(list, s)
		}
		if lines[i] != "" {
			before = lines[i]
		}
	}
	return list
}

// commands returns the commands of a shell snippet. If one starts a server, all of them are one
// command, because the others use the server.
func (s snippet) commands() []string {
	if strings.Contains(s.code, " &\n") {
		return []string{s.code}
	}
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(s.code, "\\\n", " ")), "\n")
}

// script runs a program in a new directory and returns its output. It fails the test if the program
// fails.
func script(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	c := exec.Command(program, args...)
	c.Dir, c.Env = t.TempDir(), append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("the snippet fails: %v: %s", err, out)
	}
	return string(out)
}

// Every snippet in the pages for integrators runs as it is.
func TestEverySnippetRuns(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		var all []snippet
		skipped := 0
		for _, paper := range papers {
			all = append(all, snippetsOf(t, paper)...)
		}
		var vectors struct {
			Secret, Body string
			Timestamp    int64
			Header       string
		}
		for _, p := range all {
			if p.language == "json" && strings.Contains(p.code, "must be refused") {
				text := strings.ReplaceAll(p.code, strconv.Quote(sender.SignatureHeader), `"Header"`) // the keys are the header's name
				harness.Must(t, json.Unmarshal([]byte(text), &vectors))
			}
		}
		example, err := os.ReadFile("../../../client/example_test.go")
		harness.Must(t, err)
		for _, p := range all {
			if p.unrun {
				skipped++
				continue
			}
			t.Run(fmt.Sprintf("%s:%d", p.paper, p.line), func(t *testing.T) {
				_, hex, _ := strings.Cut(vectors.Header, "v1=")
				input := []string{"secret=" + vectors.Secret, "header=" + vectors.Header, "body=" + vectors.Body, fmt.Sprintf("t=%d", vectors.Timestamp)}
				switch p.language {
				case "json":
					if !json.Valid([]byte(p.code)) {
						t.Errorf("the snippet is not JSON: %s", p.code)
					}
				case "go": // compiled and run as ExampleReceiver
					if flat := strings.NewReplacer("\t", ""); !strings.Contains(flat.Replace(string(example)), flat.Replace(p.code)) {
						t.Errorf("the snippet is not in client/example_test.go: %s", p.code)
					}
				case "html": // a page of a test of the checkout
					if page, err := os.ReadFile("../checkout/testdata/shop.html"); err != nil || strings.TrimSpace(string(page)) != strings.TrimSpace(p.code) {
						t.Errorf("the snippet is not testdata/shop.html (%v): %s", err, p.code)
					}
				case "python":
					got := script(t, input, "python3", "-c", p.code+`
import os
e = os.environ
print(verify(e["secret"], e["header"], e["body"].encode(), int(e["t"])), verify(e["secret"], e["header"], b"{}", int(e["t"])), verify(e["secret"], e["header"], e["body"].encode(), int(e["t"]) + 301))
`)
					if got != "True False False\n" {
						t.Errorf("the snippet prints %s, want True False False", got)
					}
				case "js":
					got := script(t, input, "node", "-e", p.code+`
const { secret, header, body, t } = process.env;
console.log(verify(secret, header, body, +t), verify(secret, header, '{}', +t), verify(secret, header, body, +t + 301));
`)
					if got != "true false false\n" {
						t.Errorf("the snippet prints %s, want true false false", got)
					}
				case "sh":
					if got := script(t, input, "bash", "-euo", "pipefail", "-c", p.code); !strings.Contains(got, hex) {
						t.Errorf("the snippet prints %s, want %s", got, hex)
					}
				case "":
					for _, command := range p.commands() {
						shell(t, s, command)
					}
				default:
					t.Errorf("this test cannot run %s: add the language", p.language)
				}
			})
		}
		if skipped != fewest || len(all) < 10 {
			t.Errorf("%d of %d snippets are not run, want %d", skipped, len(all), fewest)
		}
	})
}

// shell runs commands against the service as a new shop would.
func shell(t *testing.T, s *harness.Instance, commands string) {
	t.Helper()
	o := s.NewShop(t)
	login := harness.Pair(t, o)
	hook := o.Post(t, "/webhooks", `{"events":["payment.completed"]}`).Want(t, http.StatusCreated).Text(t, "id")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	receiver := listener.Addr().String()
	listener.Close()
	commands = strings.NewReplacer("http://127.0.0.1:8080", s.URL, "127.0.0.1:9000", receiver, "('127.0.0.1', 9000)", "('127.0.0.1', "+strings.TrimPrefix(receiver, "127.0.0.1:")+")").Replace(commands)
	text := `curl() { command curl -sS --fail-with-body "$@"; }` + "\ntrap 'jobs -p | xargs -r kill' EXIT\n" + commands
	if strings.Contains(commands, receiver) { // the server of the snippet must accept a delivery
		text += "\ncurl --retry 50 --retry-connrefused --retry-delay 1 -d '{\"taken\":true}' http://" + receiver + "/"
	}
	got := script(t, []string{
		"U=" + s.URL + harness.APIPath, "KEY=" + o.Credential, "TOKEN=" + login.Text(t, "accessToken"), "REFRESH=" + login.Text(t, "refreshToken"), "WEBHOOK=" + hook,
	}, "bash", "-euo", "pipefail", "-c", text)
	if strings.Contains(commands, receiver) && (!strings.Contains(got, `"secret":"whsec_`) || !strings.Contains(got, `{"taken":true}`)) {
		t.Errorf("the snippet prints %s, want the secret and the delivery", got)
	}
}
