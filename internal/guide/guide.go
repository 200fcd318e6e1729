// Package guide serves the guides for developers of shops beside the API reference: as pages below /docs/guides, as Markdown,
// as the files that language models read, and as an index to search in.
//
// A guide is Markdown (text/NAME.md) with snippets in five languages (snippets/NAME.*). Tests run the snippets of each guide and
// language, in their order, as one program: all languages print the same. A snippet is shown with what it needs, so that a reader can copy each by
// itself: the part "begin" of its file, its own lines that are shown and not run, and in Go a whole program. Tests compile what is shown.
package guide

import (
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cascadapay/cascada/internal/web"
)

//go:embed text/*.md snippets assets
var files embed.FS

// Guide is one guide.
type Guide struct {
	Name  string // in its address
	Title string
	About string // one sentence: its first paragraph
	text  string // Markdown, with directives for the snippets
}

// order is the order of the guides in the contents.
var order = []string{
	"start", "accept-a-payment", "hosted-checkout", "payment-links", "webhooks", "refunds-and-disputes", "installments", "testing", "errors", "ai-agents", "go-live",
	"medusa", "from-stripe", "from-mercado-pago",
}

// All reads the guides in their order.
func All() ([]Guide, error) {
	list := make([]Guide, 0, len(order))
	for _, name := range order {
		text, err := files.ReadFile("text/" + name + ".md")
		if err != nil {
			return nil, fmt.Errorf("guide %s: %w", name, err)
		}
		head, rest, _ := strings.Cut(strings.TrimSpace(string(text)), "\n\n")
		about, _, _ := strings.Cut(rest, "\n\n")
		list = append(list, Guide{Name: name, Title: strings.TrimPrefix(head, "# "), About: strings.ReplaceAll(about, "\n", " "), text: string(text)})
	}
	return list, nil
}

// A Language is one of those in which snippets are written.
type Language struct{ Name, Ending, Fence string }

// Languages are the languages of snippets, in the order in which they are shown.
var Languages = []Language{{"curl", "sh", "sh"}, {"TypeScript", "ts", "ts"}, {"Python", "py", "python"}, {"PHP", "php", "php"}, {"Go", "go.txt", "go"}}

// Snippet is a piece of code in one language.
type Snippet struct {
	Language
	Code string
}

// mark begins each snippet in the file of a guide and language: a comment, such as "#= create". One that is alone needs nothing of the part begin.
var mark = regexp.MustCompile(`(?m)^(?:#|//)= ([a-z-]+)( alone)?\n`)

// begin is the part of a file that each snippet begins with.
const begin = "begin"

// unrun begins a line that is shown and not run: it stands for what another snippet did.
var unrun = regexp.MustCompile(`(?m)^(?:#|//)\+ ?`)

// Programs returns the snippets of a guide as one program for each language, by the endings of their files, with the parts that only
// tests need.
func Programs(guide string) (map[string]string, error) {
	list := map[string]string{}
	for _, l := range Languages {
		code, err := files.ReadFile("snippets/" + guide + "." + l.Ending)
		if err != nil {
			return nil, err
		}
		list[l.Ending] = mark.ReplaceAllString(string(code), "")
	}
	return list, nil
}

// Snippets returns a snippet in every language. A name with a slash is that of another guide's.
func (g Guide) Snippets(name string) (list []Snippet, err error) {
	guide, own, found := strings.Cut(name, "/")
	if !found {
		guide, own = g.Name, name
	}
	for _, l := range Languages {
		file, err := files.ReadFile("snippets/" + guide + "." + l.Ending)
		if err != nil {
			return nil, fmt.Errorf("guide %s: %w", g.Name, err)
		}
		parts, alone := partsOf(string(file))
		code := parts[own]
		if code == "" {
			return nil, fmt.Errorf("guide %s: there is no snippet %s in %s", g.Name, name, l.Name)
		}
		if !alone[own] {
			code = strings.TrimSpace(parts[begin] + "\n\n" + code)
		}
		if l.Fence == "go" {
			code = program(code)
		}
		list = append(list, Snippet{l, code})
	}
	return list, nil
}

// partsOf reads the parts of a file as they are shown, and which are alone.
func partsOf(text string) (parts map[string]string, alone map[string]bool) {
	parts, alone = map[string]string{}, map[string]bool{}
	at := mark.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name := text[m[2]:m[3]]
		parts[name], alone[name] = strings.TrimSpace(unrun.ReplaceAllString(text[m[1]:end], "")), m[4] >= 0
	}
	return parts, alone
}

// packages are those that snippets in Go may use, in the order of their imports.
var packages = []string{"context", "errors", "fmt", "log", "net/http", "net/url", "path", "time", "github.com/cascadapay/cascada/client"}

// program is a snippet in Go as a whole program.
func program(code string) string {
	const main = "func main() {\n\tif err := run(context.Background()); err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n\nfunc run(ctx context.Context) error {\n"
	lines := strings.Split(code, "\n")
	if !strings.HasPrefix(lines[len(lines)-1], "return ") {
		lines = append(lines, "return nil")
	}
	for i, line := range lines {
		if line != "" {
			lines[i] = "\t" + line
		}
	}
	body := main + strings.Join(lines, "\n") + "\n}"
	var imports strings.Builder
	for _, path := range packages {
		if regexp.MustCompile(`\b` + path[strings.LastIndex(path, "/")+1:] + `\.[A-Z]`).MatchString(body) {
			if strings.Contains(path, ".") {
				imports.WriteString("\n")
			}
			fmt.Fprintf(&imports, "\t%q\n", path)
		}
	}
	return "package main\n\nimport (\n" + imports.String() + ")\n\n" + body
}

// directive begins a line that stands for a snippet.
const directive = "snippet: "

// Names are the names of a guide's snippets in the order in which they appear.
func (g Guide) Names() (list []string) {
	for line := range strings.Lines(g.text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), directive); ok && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// example is the address of the service in texts and snippets.
const example = "https://pay.example"

// Markdown is a guide with its snippets, about a service with a public address.
func (g Guide) Markdown(address string) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(g.text) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), directive)
		if !ok {
			b.WriteString(line)
			continue
		}
		list, err := g.Snippets(name)
		if err != nil {
			return "", err
		}
		for i, s := range list {
			if i > 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "%s:\n\n```%s\n%s\n```\n", s.Name, s.Fence, s.Code)
		}
	}
	return strings.ReplaceAll(b.String(), example, address), nil
}

// Reference is the API reference, as far as searches and language models need it.
type Reference interface {
	Markdown() (string, error)
	Sections() ([]web.Section, error)
}

// New returns the guides of a service with a public address, to be mounted at every path of Paths. They are made when somebody reads the first.
func New(address string, reference Reference) http.Handler {
	made := sync.OnceValues(func() (http.Handler, error) {
		list, err := All()
		if err != nil {
			return nil, err
		}
		layout, err := template.New("page.html").ParseFS(files, "assets/page.html")
		if err != nil {
			return nil, fmt.Errorf("guides: %w", err)
		}
		return site{address: address, list: list, layout: layout, reference: reference}.handler()
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, err := made()
		if err != nil {
			panic(err) // our own bug: the server logs it
		}
		h.ServeHTTP(w, r)
	})
}

// Paths are the patterns of the guides' addresses.
func Paths() []string {
	return []string{"/docs/guides", "/docs/guides/", "/docs/search.json", "/docs.md", "/llms.txt", "/llms-full.txt"}
}
