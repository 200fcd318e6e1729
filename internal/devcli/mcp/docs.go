package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// docsTools are the tools that read the documentation of the service: of its version, with its address.
func docsTools() []tool {
	return []tool{
		{
			name: "search_docs", title: "Search the documentation", run: searchDocs,
			about: "Searches the guides and the API reference. Each result has the page to read with read_docs.",
			arguments: []argument{
				{name: "query", about: "Words, such as: webhook signature", required: true},
				{name: "limit", kind: "integer", about: "Results, 8 without it", least: 1, most: 20},
			},
		},
		{
			name: "read_docs", title: "Read a page of the documentation", run: readDocs,
			about: "Reads a page as Markdown: a guide, an operation, an event or an error of the API reference. Without a page: the contents.",
			arguments: []argument{
				{name: "page", about: "As search_docs names it: a guide, such as webhooks, or a part of the reference, such as docs#createPayment or docs#error-card_declined"},
				{name: "offset", kind: "integer", about: "Where to begin: the \"next\" of the part before", most: 1e8},
			},
		},
	}
}

// section is a part of the documentation, as the service's index has it.
type section struct{ Page, Title, URL, Text string }

// found is a result of a search.
type found struct {
	Page    string `json:"page"`
	Title   string `json:"title"`
	Excerpt string `json:"excerpt"`
	score   int
}

func (d *door) sections(ctx context.Context) (list []section, err error) {
	text, err := d.caller.Page(ctx, "/docs/search.json")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, errNoDocs
	}
	return list, nil
}

var (
	errNoDocs = errors.New("the service publishes no documentation that can be read: is its version older than this program's?")
	errNoPage = errors.New("there is no such page: search_docs finds pages, and read_docs without a page lists the guides")
	errNoWord = errors.New("query has no word")
)

func searchDocs(ctx context.Context, d *door, in values) (result, error) {
	words := strings.FieldsFunc(strings.ToLower(in.text("query")), func(r rune) bool {
		return r != '_' && r != '.' && r != '-' && (r < '0' || r > '9' && r < 'a' || r > 'z' && r < utf8.RuneSelf)
	})
	if len(words) == 0 {
		return result{}, errNoWord
	}
	sections, err := d.sections(ctx)
	if err != nil {
		return result{}, err
	}
	var list []found
	for _, s := range sections {
		if score := s.score(words); score > 0 {
			list = append(list, found{Page: pageName(s.URL), Title: d.text(s.Page + ": " + s.Title), Excerpt: d.text(s.excerpt(words)), score: score})
		}
	}
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	most := 8
	if n, err := strconv.Atoi(in.text("limit")); err == nil {
		most = n
	}
	return result{Data: list[:min(len(list), most)], Note: fmt.Sprintf("%d parts match", len(list))}, nil
}

// score counts how well a part matches: words in titles weigh most, and parts with all words come first.
func (s section) score(words []string) (score int) {
	title, text, all := strings.ToLower(s.Title), strings.ToLower(s.Text), true
	anchor := strings.ToLower(s.URL)
	for _, w := range words {
		points := min(strings.Count(text, w), 3)
		if strings.Contains(title, w) {
			points += 6
		}
		if strings.HasSuffix(anchor, "/"+w) || strings.HasSuffix(anchor, "#"+w) || strings.HasSuffix(anchor, "#error-"+w) || strings.HasSuffix(anchor, "#event-"+w) {
			points += 10
		}
		all, score = all && points > 0, score+points
	}
	if all {
		score += 20
	}
	return score
}

// excerpt is what stands around the first word.
func (s section) excerpt(words []string) string {
	const before, length = 60, 240
	from := len(s.Text)
	lower := strings.ToLower(s.Text)
	for _, w := range words {
		if at := strings.Index(lower, w); at >= 0 {
			from = min(from, at)
		}
	}
	if from >= len(s.Text) || len(lower) != len(s.Text) {
		from = 0
	}
	from = max(0, from-before)
	return strings.ToValidUTF8(s.Text[from:min(len(s.Text), from+length)], "")
}

// pageName is how read_docs calls an address of the documentation.
func pageName(url string) string {
	return strings.TrimPrefix(strings.TrimPrefix(url, "/docs/guides/"), "/")
}

// guideName is the name of a guide in its address.
var guideName = regexp.MustCompile(`^[a-z0-9-]{1,60}$`)

func readDocs(ctx context.Context, d *door, in values) (result, error) {
	name, anchor, _ := strings.Cut(strings.TrimPrefix(in.text("page"), d.caller.Address()), "#")
	name = strings.TrimSuffix(pageName(name), ".md")
	var text []byte
	var err error
	switch {
	case name == "" || name == "docs/guides":
		text, err = d.caller.Page(ctx, "/llms.txt")
	case name == "docs" && anchor != "":
		text, err = d.reference(ctx, anchor)
	case name == "docs":
		text, err = d.caller.Page(ctx, "/docs.md")
	case guideName.MatchString(name):
		if text, err = d.caller.Page(ctx, "/docs/guides/"+name+".md"); err != nil {
			err = errors.Join(errNoPage, err)
		}
	default:
		err = errNoPage
	}
	if err != nil {
		return result{}, err
	}
	return d.part(string(text), in.text("offset"))
}

// maxPart is how many bytes of a page are read at a time.
const maxPart = 24_000

// part is the part of a page from an offset on. It ends at the end of a line, if there is one.
func (d *door) part(text, offset string) (result, error) {
	text = strings.ToValidUTF8(d.text(text), "")
	from, _ := strconv.Atoi(offset) // the schema was checked
	if from < 0 || from > len(text) {
		return result{}, fmt.Errorf("the page ends at offset %d", len(text))
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	rest := text[from:]
	if len(rest) <= maxPart {
		return result{Data: map[string]any{"markdown": rest}}, nil
	}
	end := strings.LastIndexByte(rest[:maxPart], '\n') + 1
	if end == 0 {
		for end = maxPart; !utf8.RuneStart(rest[end]); {
			end--
		}
	}
	return result{Data: map[string]any{"markdown": rest[:end]}, Next: strconv.Itoa(from + end), Note: fmt.Sprintf("%d bytes follow", len(rest)-end)}, nil
}

// text is a text of the documentation without what must never be shown. Its examples of keys and secrets stay: they are none.
func (d *door) text(text string) string { return cleaner{d.secrets}.exact(text) }

// reference is a part of the API reference.
func (d *door) reference(ctx context.Context, anchor string) ([]byte, error) {
	sections, err := d.sections(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(sections, func(s section) bool { return s.URL == "/docs#"+anchor })
	if at < 0 {
		return nil, errNoPage
	}
	text, err := d.caller.Page(ctx, "/docs.md")
	if err != nil {
		return nil, err
	}
	if part := partOf(string(text), sections[at].Title, anchor); part != "" {
		return []byte(part), nil
	}
	return nil, errNoPage
}

// partOf is the part of the reference below a title: up to the next heading, or a row of the table of errors.
func partOf(text, title, anchor string) string {
	if code, ok := strings.CutPrefix(anchor, "error-"); ok {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "| `"+code+"` |") {
				return "| code | status | meaning |\n|---|---|---|\n" + line
			}
		}
	}
	var b strings.Builder
	inside, fenced := anchor == "main", false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if level := strings.TrimLeft(line, "#"); !fenced && len(level) < len(line) && strings.HasPrefix(level, " ") {
			heading := strings.TrimSpace(level)
			switch {
			case inside && b.Len() > 0 && !strings.HasPrefix(heading, "Headers"):
				return b.String()
			case heading == title || anchor == "headers" && strings.HasPrefix(heading, "Headers"):
				inside = true
			}
		}
		if inside {
			b.WriteString(line)
		}
	}
	return b.String()
}
