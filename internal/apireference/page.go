package apireference

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// page is everything that the template shows.
type page struct {
	Title, Version, Server, License string
	Intro, Security                 template.HTML
	Groups                          []group
	Headers, Sent                   []field // common to every reply, and to every request
	Events                          []event
	EventText                       template.HTML
	EventHeaders                    []field
	EventFields                     []field
	Errors                          []problem
	ErrorExample                    template.HTML
}

// group is a tag with its operations.
type group struct {
	ID, Name   string
	Text       template.HTML
	Operations []operation
	Aliases    []operation
}

// operation is one endpoint.
type operation struct {
	ID, Method, Path, Summary string
	Access                    string
	Text                      template.HTML
	Parameters                []parameters
	Body                      []field
	Curl                      []sample
	Replies                   []reply
	Errors                    []status
}

// parameters are the parameters in one place: path, query or header.
type parameters struct {
	In     string
	Fields []field
}

// sample is code to copy.
type sample struct {
	Title string
	Code  template.HTML
}

// reply is a successful reply.
type reply struct {
	Status string
	Text   template.HTML
	Kinds  string
	Fields []field
	Code   template.HTML
}

// status is an HTTP status with its codes.
type status struct {
	Status string
	Codes  []string
}

// event is a webhook.
type event struct {
	ID, Name string
	Text     template.HTML
	Object   string
	Fields   []field
	Code     template.HTML
}

// problem is a row of the table of errors.
type problem struct {
	Code, Status, Type, Meaning string
	Note                        string       // if no endpoint returns it
	By                          []*operation // the operations that list it
}

func newPage(d document) page {
	p := page{
		Title: d.text(d.tree, "info", "title"), Version: d.text(d.tree, "info", "version"),
		License: d.text(d.tree, "info", "license", "name"), Intro: prose(d.text(d.tree, "info", "description")),
		Security: prose(d.text(d.tree, "components", "securitySchemes", "bearer", "description")),
	}
	if servers := d.list(d.tree, "servers"); len(servers) > 0 {
		p.Server = d.text(servers[0], "url")
	}
	for _, tag := range d.list(d.tree, "tags") {
		name := d.text(tag, "name")
		if name == "Events" {
			p.EventText = prose(d.text(tag, "description"))
			continue
		}
		p.Groups = append(p.Groups, d.group(p.Server, name, d.text(tag, "description")))
	}
	headers := d.object(d.tree, "components", "headers")
	for _, name := range sorted(headers) {
		f := d.field(name, d.at(headers[name], "schema"), 0)
		f.Text = prose(d.text(headers[name], "description"))
		p.Headers = append(p.Headers, f)
	}
	shared := d.object(d.tree, "components", "parameters")
	for _, name := range sorted(shared) {
		f := d.field(d.text(shared[name], "name"), d.at(shared[name], "schema"), 0)
		f.Text = prose(d.text(shared[name], "description"))
		p.Sent = append(p.Sent, f)
	}
	d.events(&p)
	for _, e := range d.list(d.tree, "x-error-codes") {
		p.Errors = append(p.Errors, problem{d.text(e, "code"), number(d.at(e, "status")), d.text(e, "type"), d.text(e, "meaning"), d.text(e, "note"), p.returning(d.text(e, "code"))})
	}
	p.ErrorExample = d.printJSON(d.at(d.tree, "components", "examples", "amount_out_of_limits", "value"), d.at(d.tree, "components", "schemas", "Envelope"))
	return p
}

var methods = []string{"post", "get", "put", "patch", "delete"}

// group collects the operations of a tag: short paths first, and on one path creation
// before reading.
func (d document) group(server, name, text string) group {
	g := group{ID: "tag-" + strings.ToLower(strings.ReplaceAll(name, " ", "-")), Name: name, Text: prose(text)}
	paths := d.object(d.tree, "paths")
	list := sorted(paths)
	slices.SortStableFunc(list, func(a, b string) int { return len(a) - len(b) })
	for _, path := range list {
		for _, method := range methods {
			node := d.at(paths[path], method)
			if !slices.Contains(d.list(node, "tags"), any(name)) {
				continue
			}
			o := d.operation(server, path, method, node)
			if d.flag(node, "deprecated") {
				g.Aliases = append(g.Aliases, o)
			} else {
				g.Operations = append(g.Operations, o)
			}
		}
	}
	return g
}

func (d document) operation(server, path, method string, node any) operation {
	o := operation{
		ID: d.text(node, "operationId"), Method: strings.ToUpper(method), Path: path, Summary: d.text(node, "summary"),
		Text: prose(d.text(node, "description")), Access: d.access(node),
	}
	for _, in := range []string{"path", "query", "header"} {
		list := parameters{In: in}
		for _, p := range d.list(node, "parameters") {
			if m, _ := p.(map[string]any); d.text(p, "in") != in || m["$ref"] != nil { // documented once for all operations
				continue
			}
			f := d.field(d.text(p, "name"), d.at(p, "schema"), 0)
			f.Text, f.Required = prose(d.text(p, "description")), d.flag(p, "required")
			list.Fields = append(list.Fields, f)
		}
		if len(list.Fields) > 0 {
			o.Parameters = append(o.Parameters, list)
		}
	}
	media := d.at(node, "requestBody", "content", "application/json")
	o.Body = d.fields(d.at(media, "schema"), 0)
	o.Curl = d.curl(server, o, node, media)
	responses := d.object(node, "responses")
	for _, code := range sorted(responses) {
		response := d.resolve(responses[code])
		if codes := d.list(response, "x-error-codes"); codes != nil {
			s := status{Status: code}
			for _, c := range codes {
				s.Codes = append(s.Codes, fmt.Sprint(c))
			}
			o.Errors = append(o.Errors, s)
			continue
		}
		o.Replies = append(o.Replies, d.reply(code, response))
	}
	return o
}

// returning lists the operations that may return a code.
func (p *page) returning(code string) (list []*operation) {
	for _, g := range p.Groups {
		for i := range g.Operations {
			if slices.ContainsFunc(g.Operations[i].Errors, func(s status) bool { return slices.Contains(s.Codes, code) }) {
				list = append(list, &g.Operations[i])
			}
		}
	}
	return list
}

func (d document) reply(code string, response any) reply {
	r := reply{Status: code, Text: prose(d.text(response, "description"))}
	content := d.object(response, "content")
	r.Kinds = strings.Join(sorted(content), ", ")
	media := content["application/json"]
	r.Fields = d.fields(d.at(media, "schema"), 0)
	if example := d.at(media, "example"); example != nil {
		r.Code = d.printJSON(example, d.at(media, "schema"))
	}
	return r
}

// access says which key an operation requires.
func (d document) access(node any) string {
	if security := d.list(node, "security"); security != nil && len(security) == 0 {
		return "No key"
	}
	if slices.Contains(d.list(node, "responses", "403", "x-error-codes"), any("key_kind_not_allowed")) {
		return "Secret key"
	}
	return "Any key"
}

// curl writes a call for each example of the body.
func (d document) curl(server string, o operation, node, media any) (list []sample) {
	start := "curl"
	if o.Method != "GET" && o.Method != "POST" || o.Method == "POST" && media == nil {
		start += " -X " + o.Method
	}
	path := o.Path
	for _, p := range d.list(node, "parameters") {
		if d.text(p, "in") == "path" {
			if example := d.at(p, "example"); example != nil {
				path = strings.Replace(path, "{"+d.text(p, "name")+"}", fmt.Sprint(example), 1)
			}
		}
	}
	lines := []string{start + " " + server + path}
	if o.Access != "No key" {
		lines = append(lines, `-H "Authorization: Bearer $TOKEN"`)
	}
	idempotencyKey := ""
	for _, p := range d.list(node, "parameters") {
		if d.text(p, "name") == "Idempotency-Key" {
			idempotencyKey = d.text(p, "example")
		}
	}
	write := func(title, suffix string, body any) {
		all := lines
		if idempotencyKey != "" {
			all = append(slices.Clone(lines), `-H "Idempotency-Key: `+idempotencyKey+suffix+`"`)
		}
		if body != nil {
			all = append(slices.Clone(all), `-H "Content-Type: application/json"`)
		}
		code := template.HTMLEscapeString(strings.Join(all, " \\\n  "))
		if body != nil {
			text := string(d.printJSON(body, d.at(media, "schema")))
			code += " \\\n  -d '" + strings.ReplaceAll(text, "&#39;", `&#39;\&#39;&#39;`) + "'" // a quote within quotes
		}
		list = append(list, sample{title, template.HTML(code)}) // escaped piece by piece
	}
	if examples := d.object(media, "examples"); examples != nil {
		for _, name := range sorted(examples) {
			write(d.text(examples[name], "summary"), "-"+name, d.at(examples[name], "value"))
		}
		return list
	}
	write("Request", "", d.at(media, "example"))
	return list
}

// events reads the webhooks; their common fields are shown once.
func (d document) events(p *page) {
	webhooks := d.object(d.tree, "webhooks")
	for _, name := range sorted(webhooks) {
		post := d.at(webhooks[name], "post")
		media := d.at(post, "requestBody", "content", "application/json")
		schema := d.at(media, "schema")
		if p.EventFields == nil {
			p.EventFields = d.fields(schema, deepest-1)
			for _, h := range d.list(post, "parameters") {
				f := d.field(d.text(h, "name"), d.at(h, "schema"), 0)
				f.Text = prose(d.text(h, "description"))
				p.EventHeaders = append(p.EventHeaders, f)
			}
		}
		p.Events = append(p.Events, event{
			ID: "event-" + name, Name: name, Text: prose(d.text(post, "description")),
			Fields: d.fields(d.at(schema, "properties", "data", "properties", "object"), deepest-2),
			Code:   d.printJSON(d.at(media, "example"), schema),
		})
	}
}
