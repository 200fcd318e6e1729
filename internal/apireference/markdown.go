package apireference

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/web"
)

var markup = regexp.MustCompile(`<[^>]*>`)

// plain is the text of rendered prose: its paragraphs are lines, its code is in backquotes.
func plain(text template.HTML) string {
	s := strings.NewReplacer("<code>", "`", "</code>", "`", "</p>", "\n\n", "</li>", "\n", "<li>", "- ", "</tr>", "\n", "</td>", " | ", "</th>", " | ").Replace(string(text))
	return strings.TrimSpace(html.UnescapeString(markup.ReplaceAllString(s, "")))
}

// Markdown is the reference for programs that read text.
func (r *Reference) Markdown() (string, error) {
	p, err := r.page()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s API reference\n\nVersion %s. Base URL: %s\n\n%s\n\n## Credentials\n\n%s\n\n## Headers of any request\n\n%s\n## Headers of replies\n\n%s", p.Title, p.Version, p.Server, plain(p.Intro), plain(p.Security), rows(p.Sent, ""), rows(p.Headers, ""))
	for _, g := range p.Groups {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", g.Name, plain(g.Text))
		for _, o := range g.Operations {
			o.write(&b)
		}
	}
	fmt.Fprintf(&b, "\n## Events\n\n%s\n\n### Headers of a delivery\n\n%s\n### The envelope\n\n%s", plain(p.EventText), rows(p.EventHeaders, ""), rows(p.EventFields, ""))
	for _, e := range p.Events {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", e.Name, plain(e.Text))
	}
	b.WriteString("\n## Errors\n\n| code | status | meaning |\n|---|---|---|\n")
	for _, e := range p.Errors {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Code, e.Status, strings.TrimSpace(e.Meaning+" "+e.Note))
	}
	return b.String(), nil
}

func (o operation) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n`%s %s` · `%s` · %s\n", o.Summary, o.Method, o.Path, o.ID, o.Access)
	part := func(title, text string) {
		if text != "" {
			b.WriteString("\n" + title + text)
		}
	}
	part("", plain(o.Text)+"\n")
	for _, p := range o.Parameters {
		part(strings.ToUpper(p.In[:1])+p.In[1:]+":\n\n", rows(p.Fields, ""))
	}
	part("Body:\n\n", rows(o.Body, ""))
	for _, r := range o.Replies {
		part("Reply "+r.Status+":\n\n", rows(r.Fields, ""))
	}
	for _, e := range o.Errors {
		part("Errors "+e.Status+": ", strings.Join(e.Codes, ", ")+"\n")
	}
	for _, c := range o.Curl[:min(1, len(o.Curl))] {
		part("", "```sh\n"+plain(c.Code)+"\n```\n")
	}
}

// rows lists fields, those inside of others below them.
func rows(list []field, indent string) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s- `%s` %s", indent, f.Name, f.Type)
		if f.Required {
			b.WriteString(", required")
		}
		for _, l := range f.Limits {
			b.WriteString(", " + l)
		}
		if text := plain(f.Text); text != "" {
			b.WriteString(": " + strings.Join(strings.Fields(text), " "))
		}
		if len(f.Enum) > 0 {
			b.WriteString(" (" + strings.Join(f.Enum, ", ") + ")")
		}
		b.WriteString("\n" + rows(f.Fields, indent+"  "))
	}
	return b.String()
}

// words is the text of fields, for searches.
func words(list []field) string {
	var b strings.Builder
	for _, f := range list {
		b.WriteString(f.Name + " " + plain(f.Text) + " " + strings.Join(f.Enum, " ") + " " + words(f.Fields))
	}
	return b.String()
}

// Sections are the parts of the reference that a search may find.
func (r *Reference) Sections() (list []web.Section, err error) {
	p, err := r.page()
	if err != nil {
		return nil, err
	}
	add := func(title, anchor, text string) {
		list = append(list, web.Section{Page: "API reference", Title: title, URL: "/docs#" + anchor, Text: strings.Join(strings.Fields(text), " ")})
	}
	add("Introduction", "main", plain(p.Intro))
	add("Credentials", "credentials", plain(p.Security))
	add("Headers", "headers", words(p.Sent)+words(p.Headers))
	for _, g := range p.Groups {
		add(g.Name, g.ID, plain(g.Text))
		for _, o := range g.Operations {
			text := o.Method + " " + o.Path + " " + plain(o.Text) + " " + words(o.Body)
			for _, of := range o.Parameters {
				text += " " + words(of.Fields)
			}
			add(o.Summary, o.ID, text)
		}
	}
	add("Events", "events", plain(p.EventText)+" "+words(p.EventHeaders)+words(p.EventFields))
	for _, e := range p.Events {
		add(e.Name, e.ID, plain(e.Text))
	}
	for _, e := range p.Errors {
		add(e.Code, "error-"+e.Code, e.Status+" "+e.Meaning+" "+e.Note)
	}
	return list, nil
}
