package apireference

import (
	"encoding/json"
	"html"
	"html/template"
	"regexp"
	"slices"
	"strings"
)

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	boldSpan = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// prose renders the Markdown subset of descriptions: paragraphs, lists, tables, bold words and
// code. Everything else is text.
func prose(text string) template.HTML {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if block == "" {
			continue
		}
		if strings.HasPrefix(block, "- ") {
			b.WriteString("<ul>")
			for line := range strings.SplitSeq(block, "\n") {
				b.WriteString("<li>" + inline(strings.TrimPrefix(line, "- ")) + "</li>")
			}
			b.WriteString("</ul>")
			continue
		}
		if strings.HasPrefix(block, "| ") {
			b.WriteString(grid(block))
			continue
		}
		b.WriteString("<p>" + inline(block) + "</p>")
	}
	return template.HTML(b.String()) // escaped by inline
}

// grid renders a table: its first line is the heading, the second one separates it.
func grid(block string) string {
	var b strings.Builder
	b.WriteString(`<div class="scroll"><table>`)
	for i, line := range strings.Split(block, "\n") {
		row := "<td>" + strings.ReplaceAll(inline(strings.Trim(line, "| ")), " | ", "</td><td>") + "</td>"
		switch i {
		case 0:
			b.WriteString("<thead><tr>" + strings.NewReplacer("<td>", `<th scope="col">`, "</td>", "</th>").Replace(row) + "</tr></thead><tbody>")
		case 1:
		default:
			b.WriteString("<tr>" + row + "</tr>")
		}
	}
	return b.String() + "</tbody></table></div>"
}

func inline(text string) string {
	text = html.EscapeString(text)
	text = codeSpan.ReplaceAllString(text, "<code>$1</code>")
	return boldSpan.ReplaceAllString(text, "<strong>$1</strong>")
}

// printJSON writes an example in colour, its keys in the schema's order.
func (d document) printJSON(value, schema any) template.HTML {
	var b strings.Builder
	d.print(&b, value, schema, "")
	return template.HTML(b.String()) // escaped by span
}

func span(class, text string) string {
	return `<span class="` + class + `">` + html.EscapeString(text) + `</span>`
}

func literal(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "null"
	}
	return strings.TrimSpace(b.String())
}

func (d document) print(b *strings.Builder, value, schema any, indent string) {
	schema, _ = d.alternatives(schema)
	deeper := indent + "  "
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			b.WriteString("{}")
			return
		}
		b.WriteString("{")
		for i, key := range d.keys(v, schema) {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString("\n" + deeper + span("k", literal(key)) + ": ")
			d.print(b, v[key], d.at(schema, "properties", key), deeper)
		}
		b.WriteString("\n" + indent + "}")
	case []any:
		if len(v) == 0 {
			b.WriteString("[]")
			return
		}
		b.WriteString("[")
		for i, item := range v {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString("\n" + deeper)
			d.print(b, item, d.at(schema, "items"), deeper)
		}
		b.WriteString("\n" + indent + "]")
	case string:
		b.WriteString(span("s", literal(v)))
	default:
		b.WriteString(span("n", literal(v)))
	}
}

// keys orders an object's keys as its schema does, others after them.
func (d document) keys(v map[string]any, schema any) []string {
	order := d.order(schema)
	list := sorted(v)
	slices.SortStableFunc(list, func(a, b string) int {
		return rank(order, a) - rank(order, b)
	})
	return list
}

func rank(order []string, name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}
