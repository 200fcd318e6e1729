package wire

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Unknown refuses a body with unknown fields if the caller asked for that. Otherwise a shop's own fields are ignored in an open
// body, and it returns their paths. Those are refused that could mean an amount, a currency, a method, a destination, a key, a plan or a
// capture under another name (ERR-30). Bodies that are not open have a closed schema.
//
// Errors: invalid_request.
func Unknown(ctx context.Context) (ignored []string, err error) {
	h := helpOf(ctx)
	ignored = h.Ignored
	if !h.Open || h.Sent == nil || h.plainlyOurs(h.Sent.text) {
		return ignored, nil
	}
	var issues []Issue
	own := own{harmless: map[string]bool{}, refused: map[string]bool{}}
	for i, s := range h.found(mostOwn + 1) { // lines are last
		before := len(issues)
		switch {
		case h.Strict:
			issues = append(issues, s.issue())
		case i == mostOwn && !s.inLine():
			issues = append(issues, tooMany(s.path()))
		default:
			issues = own.check(s, issues)
		}
		if len(issues) == before {
			ignored = append(ignored, s.path())
		}
		if len(issues) >= mostIssues {
			break
		}
	}
	return ignored, Invalid(issues...)
}

// Close makes a body refuse unknown fields (ERR-30): in it, and in the objects in it whose fields are known, unless open bodies have them
// too. own is its operation's OwnKey.
func Close(schemas huma.Registry, schema *huma.Schema, own any) {
	schema = Help{Schemas: schemas}.resolved(schema)
	if schema == nil || own == OwnIgnored || schema.AdditionalProperties == false {
		return
	}
	if _, open := schema.AdditionalProperties.(*huma.Schema); !open && len(schema.Properties) > 0 {
		schema.AdditionalProperties = false
	}
	if own == OwnRefused {
		return
	}
	Close(schemas, schema.Items, own)
	for _, below := range schema.Properties {
		Close(schemas, below, own)
	}
}

// plainlyOurs reports whether a body is one of plain values under our names, as nearly all are. It needs no decoding.
func (h Help) plainlyOurs(body []byte) bool {
	schema := h.resolved(h.Body)
	s := scanner{rest: body}
	for first := true; schema != nil; first = false {
		if first && !s.skip('{') || !first && !s.skip(',') {
			return !first && s.skip('}')
		}
		name := s.text()
		if name == nil || schema.Properties[string(name[1:len(name)-1])] == nil || !s.skip(':') {
			return false
		}
		if s.space(); s.scalar() == nil {
			return false
		}
	}
	return false
}

// mostOwn is how many different names of its own a shop may send beside ours: each is compared with many words.
const mostOwn = 200

// countries are names of the country of a payment in other APIs. In an address they are a shop's own.
var countries = []string{"country", "countrycode", "countryid", "pai", "paiscode", "paisid", "codigopai"} // parted takes the end of a plural away

// isCountry reports whether it is the payment's country, which was not sent.
func (st stranger) isCountry() bool {
	_, text := st.value.(string)
	return text && st.parent == "" && slices.Contains(st.absent, "country") && slices.Contains(countries, strings.Join(parted(st.name), ""))
}

func (st stranger) inLine() bool { return strings.HasPrefix(st.parent, "lineItems[") }

func tooMany(path string) Issue {
	return Issue{Path: clip(path), Message: fmt.Sprintf("the body has more than %d fields that are not ours: put your own data into metadata", mostOwn)}
}

// own has the names that a shop chose itself and that were checked, and the paths that were refused. A name means the same wherever it is,
// so it is checked once: a list may have it a thousand times. Paths are clipped, so two names may have one path.
type own struct{ harmless, refused map[string]bool }

// check adds what is wrong with an unknown field, and with what is in it.
func (o own) check(s stranger, issues []Issue) []Issue {
	if issue := cardField(clip(s.path()), s.name, s.value); issue.Path != "" {
		return append(issues, issue)
	}
	switch {
	case s.inLine(): // nothing is computed from them
		return issues
	case s.parent == "installments":
		return append(issues, s.issue())
	case s.isCountry(): // which decides the currency
		return append(issues, Issue{Path: clip(s.name), Message: fmt.Sprintf("there is no field %s: did you mean country?", clip(s.name))})
	}
	if issue := o.name(s.path(), s.name, s.value, s.known); issue.Path != "" {
		return append(issues, issue)
	}
	return o.below(s.path(), s.value, issues)
}

func (o own) below(path string, value any, issues []Issue) []Issue {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if issues = o.below(path+"[]", item, issues); len(issues) >= mostIssues {
				break
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if issue := o.name(path+"."+name, name, value[name], nil); issue.Path != "" {
				issues = append(issues, issue)
			} else {
				issues = o.below(path+"."+name, value[name], issues)
			}
			if len(issues) >= mostIssues {
				break
			}
		}
	}
	return issues
}

// name says what is wrong with an unknown name, once for each path. Known are the fields that the body has there.
func (o own) name(path, name string, value any, known []string) Issue {
	if path = clip(path); o.refused[path] {
		return Issue{}
	}
	if issue := cardField(path, name, value); issue.Path != "" {
		o.refused[path] = true
		return issue
	}
	m, sure := meansBy(name, value)
	field := ""
	if !sure {
		if o.harmless[name] {
			return Issue{}
		}
		if len(o.harmless) == mostOwn {
			o.refused[path] = true
			return tooMany(path)
		}
		m, field = means(name)
		o.harmless[name] = m == ""
	}
	o.refused[path] = m != ""
	switch {
	case m == "":
		return Issue{}
	case slices.Contains(known, field):
		return Issue{Path: path, Message: fmt.Sprintf("there is no field %s, and it could be meant as %s: did you mean %s? Put your own data into metadata", path, m, field)}
	case m == anIdempotency:
		return Issue{Path: path, Message: fmt.Sprintf("there is no field %s: send the header Idempotency-Key, or put your own data into metadata", path)}
	}
	return Issue{Path: path, Message: fmt.Sprintf("there is no field %s, and it could be meant as %s: leave it out, or put your own data into metadata", path, m)}
}

// IgnoredHeader lists the fields and parameters of a request that were ignored.
const IgnoredHeader = "Service-Ignored"

// mostIgnored is how many bytes of names the header has at most: a proxy may drop a reply with long headers, although the payment was made.
const mostIgnored = 1200

// TellIgnored says in the reply which fields of a request were ignored, mostStrangers of them. A name with other characters is
// encoded as in an address. Names that the header has already stay.
func TellIgnored(reply http.Header, names []string) {
	if len(names) == 0 {
		return
	}
	var list []string
	size := 0
	for _, name := range names[:min(mostStrangers, len(names))] {
		name = url.PathEscape(clip(name))
		if size += len(name); size > mostIgnored {
			break
		}
		list = append(list, name)
	}
	if more := len(names) - len(list); more > 0 {
		list = append(list, strconv.Itoa(more)+" more")
	}
	if before := reply.Get(IgnoredHeader); before != "" {
		list = append([]string{before}, list...)
	}
	reply.Set(IgnoredHeader, strings.Join(list, ", "))
}
