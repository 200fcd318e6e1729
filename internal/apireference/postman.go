package apireference

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/cascadapay/cascada/internal/web"
)

// collectionSchema says of which format a collection is.
const collectionSchema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"

// CollectionPath is where the collection for Postman is served.
const CollectionPath = "/docs/cascada.postman_collection.json"

// collection is the API for Postman, in its format 2.1.0.
type collection struct {
	Info struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Version     string `json:"version"`
		Schema      string `json:"schema"`
	} `json:"info"`
	Auth     access     `json:"auth"`
	Variable []variable `json:"variable"`
	Item     []folder   `json:"item"`
}

// access is how a request says whose it is.
type access struct {
	Type   string     `json:"type"`
	Bearer []variable `json:"bearer,omitempty"`
}

// variable is a name with its value: of the collection, a path, a query or a header.
type variable struct {
	Key         string `json:"key"`
	Value       string `json:"value"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Disabled    bool   `json:"disabled,omitempty"`
}

// folder has the requests of a tag.
type folder struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Item        []item `json:"item"`
}

// item is a request with what is done with its reply.
type item struct {
	Name     string `json:"name"`
	Event    []hook `json:"event,omitempty"`
	Request  call   `json:"request"`
	Response []any  `json:"response"`
}

// hook is a script that Postman runs.
type hook struct {
	Listen string `json:"listen"`
	Script script `json:"script"`
}

type script struct {
	Type string   `json:"type"`
	Exec []string `json:"exec"`
}

// call is a request.
type call struct {
	Auth        *access    `json:"auth,omitempty"`
	Method      string     `json:"method"`
	Header      []variable `json:"header"`
	Body        *content   `json:"body,omitempty"`
	URL         address    `json:"url"`
	Description string     `json:"description"`
}

// content is a request's body.
type content struct {
	Mode    string `json:"mode"`
	Raw     string `json:"raw"`
	Options struct {
		Raw struct {
			Language string `json:"language"`
		} `json:"raw"`
	} `json:"options"`
}

type address struct {
	Raw      string     `json:"raw"`
	Host     []string   `json:"host"`
	Path     []string   `json:"path"`
	Query    []variable `json:"query,omitempty"`
	Variable []variable `json:"variable,omitempty"`
}

// postman is the whole document as a collection. Nothing of it is written by hand: an operation that the document gains is in it.
func (d document) postman() collection {
	c := collection{Auth: access{Type: "bearer", Bearer: []variable{{Key: "token", Value: "{{secretKey}}", Type: "string"}}}}
	c.Info.Name, c.Info.Version, c.Info.Schema = d.text(d.tree, "info", "title"), d.text(d.tree, "info", "version"), collectionSchema
	c.Info.Description = d.text(d.tree, "info", "description")
	server := ""
	if servers := d.list(d.tree, "servers"); len(servers) > 0 {
		server = d.text(servers[0], "url")
	}
	c.Variable = []variable{
		{Key: "baseUrl", Value: server, Type: "string", Description: "The root of the API"},
		{Key: "secretKey", Type: "string", Description: "Your secret key, sk_test_… Set its current value only: an initial value is shared with whoever gets the collection"},
	}
	places := d.places()
	for _, name := range slices.Sorted(maps.Keys(places)) {
		c.Variable = append(c.Variable, variable{Key: name, Value: places[name].example, Type: "string", Description: "Filled by the replies that have one"})
	}
	for _, tag := range d.list(d.tree, "tags") {
		f := folder{Name: d.text(tag, "name"), Description: d.text(tag, "description")}
		for _, o := range d.tagged(f.Name) {
			f.Item = append(f.Item, d.items(o, places)...)
		}
		if len(f.Item) > 0 {
			c.Item = append(c.Item, f)
		}
	}
	return c
}

// published is an operation with its place in the document.
type published struct {
	path, method string
	node         any
}

// tagged lists the operations of a tag that are not deprecated, in the order of the page.
func (d document) tagged(tag string) (list []published) {
	paths := d.object(d.tree, "paths")
	names := sorted(paths)
	slices.SortStableFunc(names, func(a, b string) int { return len(a) - len(b) })
	for _, path := range names {
		for _, method := range methods {
			if node := d.at(paths[path], method); slices.Contains(d.list(node, "tags"), any(tag)) && !d.flag(node, "deprecated") {
				list = append(list, published{path, method, node})
			}
		}
	}
	return list
}

// place is where a variable of paths comes from.
type place struct {
	of      string // the path above it: /payments
	example string
}

// places are the variables of all paths, by their names in the collection.
func (d document) places() map[string]place {
	all := map[string]place{}
	for path, operations := range d.object(d.tree, "paths") {
		for _, operation := range d.object(operations) {
			if d.flag(operation, "deprecated") {
				continue
			}
			for _, p := range d.list(operation, "parameters") {
				name := d.text(p, "name")
				above, _, inPath := strings.Cut(path, "/{"+name+"}")
				if d.text(p, "in") != "path" || !inPath {
					continue
				}
				key := variableOf(above, name)
				if known, ok := all[key]; !ok || known.example == "" || known.example == d.text(p, "example") && len(above) < len(known.of) {
					all[key] = place{above, d.text(p, "example")}
				}
			}
		}
	}
	return all
}

// variableOf names the variable of a path's parameter: the id below /payment-links is paymentLinkId.
func variableOf(above, parameter string) string {
	if parameter != "id" {
		return parameter
	}
	first, more, hyphen := strings.Cut(strings.TrimSuffix(above[strings.LastIndexByte(above, '/')+1:], "s"), "-")
	if hyphen {
		first += strings.ToUpper(more[:1]) + more[1:]
	}
	return first + "Id"
}

// items are the requests of an operation: one for each example of its body.
func (d document) items(o published, places map[string]place) (list []item) {
	media := d.at(o.node, "requestBody", "content", "application/json")
	name := d.text(o.node, "summary")
	examples := d.object(media, "examples")
	for _, key := range sorted(examples) {
		title := name
		if len(examples) > 1 {
			title += ": " + d.text(examples[key], "summary")
		}
		list = append(list, d.item(o, places, title, d.at(examples[key], "value")))
	}
	if len(list) > 0 {
		return list
	}
	return append(list, d.item(o, places, name, d.at(media, "example")))
}

func (d document) item(o published, places map[string]place, name string, body any) item {
	i := item{Name: name, Response: []any{}, Event: d.remembers(o, places)}
	i.Request = call{Method: strings.ToUpper(o.method), Header: []variable{}, Description: d.text(o.node, "description"), URL: d.address(o, places)}
	if security := d.list(o.node, "security"); security != nil && len(security) == 0 {
		i.Request.Auth = &access{Type: "noauth"}
	}
	for _, p := range d.list(o.node, "parameters") {
		h := variable{Key: d.text(p, "name"), Value: d.exampleOf(p, places), Description: d.text(p, "description"), Disabled: true}
		if d.text(p, "in") != "header" {
			continue
		}
		if h.Key == "Idempotency-Key" {
			h.Value, h.Disabled = "{{$guid}}", false
		}
		i.Request.Header = append(i.Request.Header, h)
	}
	if body != nil {
		raw, err := json.MarshalIndent(filledBody(body, places), "", "  ")
		if err != nil {
			panic(err) // it was read from JSON
		}
		i.Request.Header = append(i.Request.Header, variable{Key: "Content-Type", Value: "application/json"})
		i.Request.Body = &content{Mode: "raw", Raw: string(raw)}
		i.Request.Body.Options.Raw.Language = "json"
	}
	return i
}

// address is where an operation is called. Parameters of the query that are not required are switched off.
func (d document) address(o published, places map[string]place) address {
	a := address{Host: []string{"{{baseUrl}}"}}
	var query []string
	for _, p := range d.list(o.node, "parameters") {
		v := variable{Key: d.text(p, "name"), Value: d.exampleOf(p, places), Description: d.text(p, "description")}
		switch d.text(p, "in") {
		case "path":
			above, _, _ := strings.Cut(o.path, "/{"+v.Key+"}")
			v.Value = "{{" + variableOf(above, v.Key) + "}}"
			a.Variable = append(a.Variable, v)
		case "query":
			if d.flag(p, "deprecated") {
				continue
			}
			if v.Disabled = !d.flag(p, "required"); !v.Disabled {
				query = append(query, v.Key+"="+v.Value)
			}
			a.Query = append(a.Query, v)
		}
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(o.path, "/"), "/") {
		if strings.HasPrefix(segment, "{") {
			segment = ":" + strings.Trim(segment, "{}")
		}
		a.Path = append(a.Path, segment)
	}
	a.Raw = "{{baseUrl}}/" + strings.Join(a.Path, "/")
	if len(query) > 0 {
		a.Raw += "?" + strings.Join(query, "&")
	}
	return a
}

// exampleOf is a value to begin with: the variable of that name, the example, or one of what is allowed.
func (d document) exampleOf(parameter any, places map[string]place) string {
	if name := d.text(parameter, "name"); places[name].of != "" {
		return "{{" + name + "}}"
	}
	schema := d.at(parameter, "schema")
	for _, v := range []any{d.at(parameter, "example"), first(d.list(schema, "examples")), d.at(schema, "default"), first(d.list(schema, "enum"))} {
		if v != nil {
			return number(v)
		}
	}
	return ""
}

func first(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// filledBody is an example of a body in which ids that the collection knows are its variables.
func filledBody(v any, places map[string]place) any {
	switch v := v.(type) {
	case map[string]any:
		filled := maps.Clone(v)
		for name, value := range v {
			if _, text := value.(string); text && (places[name].of != "" || name == "secretKey") {
				filled[name] = "{{" + name + "}}"
			} else {
				filled[name] = filledBody(value, places)
			}
		}
		return filled
	case []any:
		filled := make([]any, len(v))
		for i := range v {
			filled[i] = filledBody(v[i], places)
		}
		return filled
	}
	return v
}

// remembers is the script that keeps the id of a reply for the requests below it: a list has it in its first row, what was created in itself, and
// a part of something in the last row of that part.
func (d document) remembers(o published, places map[string]place) []hook {
	if o.method != "get" && o.method != "post" {
		return nil
	}
	for _, status := range []string{"200", "201"} {
		media := d.at(o.node, "responses", status, "content", "application/json")
		example := d.object(media, "example")
		if rows := d.list(example, "data"); rows != nil {
			example = d.object(first(rows))
		}
		for _, name := range slices.Sorted(maps.Keys(places)) {
			if from := d.memberWith(o, media, example, places[name]); from != "" {
				return []hook{{"test", script{"text/javascript", []string{
					"if (pm.response.code < 300) {",
					"  const reply = pm.response.json();",
					"  const row = Array.isArray(reply.data) ? reply.data[0] : reply;",
					fmt.Sprintf("  const id = row && %s;", from),
					fmt.Sprintf("  if (id) pm.collectionVariables.set(%q, id);", name),
					"}",
				}}}}
			}
		}
	}
	return nil
}

// memberWith is where the row of a reply has the id of a place, as JavaScript; "" if it has none.
func (d document) memberWith(o published, media any, example map[string]any, p place) string {
	above, part := p.of[:strings.LastIndexByte(p.of, '/')], p.of[strings.LastIndexByte(p.of, '/')+1:]
	if (o.path == p.of || o.path == above) && d.at(media, "schema", "properties", part, "items", "properties", "id") != nil {
		return fmt.Sprintf("row.%s && row.%s.length > 0 && row.%s[row.%s.length - 1].id", part, part, part, part)
	}
	if o.path != p.of && (strings.Contains(o.path, "{") || !strings.HasPrefix(o.path, p.of+"/")) {
		return ""
	}
	for _, member := range slices.Sorted(maps.Keys(example)) {
		if value, _ := example[member].(string); p.example == "" && member == "id" || p.example != "" && kindOf(value) == kindOf(p.example) {
			return "row." + member
		}
	}
	return ""
}

// kindOf is how an id begins: TXN-, evt_.
func kindOf(id string) string {
	at := strings.IndexAny(id, "-_")
	if at < 0 {
		return id
	}
	return id[:at+1]
}

// newCollection serves the collection of a document. It is made on the first request.
func newCollection(spec func() ([]byte, error)) http.Handler {
	made := sync.OnceValues(func() (*web.File, error) {
		d, err := readDocument(spec)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(d.postman())
		return web.NewFile("application/json", body), err
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := made()
		if err != nil {
			panic(err) // our own bug: the server logs it
		}
		guarded(f).ServeHTTP(w, r)
	})
}
