package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// RowIDs returns the ids of a list reply's rows. A row without an id has a number instead.
func RowIDs(t *testing.T, r Reply) (list []string) {
	t.Helper()
	rows, _ := r.Want(t, http.StatusOK).At(t, "data")
	for _, row := range rows.([]any) {
		fields := row.(map[string]any)
		id := fields["id"]
		if id == nil {
			id = fields["number"]
		}
		list = append(list, fmt.Sprint(id))
	}
	return list
}

// IDs returns the ids of a list reply's rows. It is never nil.
func IDs(t *testing.T, r Reply) []string {
	t.Helper()
	rows, _ := r.Want(t, http.StatusOK).At(t, "data")
	list := []string{}
	for _, row := range rows.([]any) {
		list = append(list, fmt.Sprint(row.(map[string]any)["id"]))
	}
	return list
}

// Cursor returns, as JSON, the nextCursor that a page must have. all is the ids of the whole list.
func Cursor(page, all []string) string {
	if len(page) == 0 || page[len(page)-1] == all[len(all)-1] {
		return "null"
	}
	return `"` + page[len(page)-1] + `"`
}

// Pagination returns the pagination of a list reply.
func Pagination(t *testing.T, r Reply) any {
	t.Helper()
	v, _ := r.At(t, "pagination")
	return v
}

const crockford = `[0-9A-HJKMNP-TV-Z]{26}`

// placeholders stand in a pattern for texts that a test cannot know beforehand. Besides them,
// "<number>" stands for any number and "<list>" for any list.
var placeholders = map[string]*regexp.Regexp{
	"<txn>":    regexp.MustCompile(`^TXN-` + crockford + `$`),
	"<claim>":  regexp.MustCompile(`^CLM-` + crockford + `$`),
	"<wallet>": regexp.MustCompile(`^wal_` + crockford + `$`),
	"<wdr>":    regexp.MustCompile(`^wdr_` + crockford + `$`),
	"<kyc>":    regexp.MustCompile(`^kyc_` + crockford + `$`),
	"<suffix>": regexp.MustCompile(`^` + crockford + `$`),
	"<hook>":   regexp.MustCompile(`^wh_` + crockford + `$`),
	"<event>":  regexp.MustCompile(`^evt_` + crockford + `-\d+$`),
	"<req>":    regexp.MustCompile(`^req_` + crockford + `$`),
	"<time>":   regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`),
	"<secret>": regexp.MustCompile(`^whsec_[A-Za-z0-9+/]{44}$`),
	"<masked>": regexp.MustCompile(`^\w+_…[\w+/-]{4}$`),
	"<url>":    regexp.MustCompile(`^http://127\.0\.0\.1:\d+/\S+$`),
	"<text>":   regexp.MustCompile(`\S`),
	"<token>":  regexp.MustCompile(`^cs_[\w-]{43}$`),
	"<jwt>":    regexp.MustCompile(`^[\w-]+\.[\w-]+\.[\w-]{43}$`),
	"<wd>":     regexp.MustCompile(`^wd_` + crockford + `-\d+-` + crockford + `$`),
	"<inb>":    regexp.MustCompile(`^inb_` + crockford + `$`),
	"<digits>": regexp.MustCompile(`^\d+$`),
}

// Compare lists how a JSON value differs from a pattern: the same JSON, with placeholders for
// texts. The keys must be the same. path is where the value is, for the messages; "" is the whole.
func Compare(path string, want, got any) (differences []string) {
	name := strings.TrimPrefix(path, ".")
	if name == "" {
		name = "the body"
	}
	differ := func() []string { return []string{fmt.Sprintf("%s is %s, want %s", name, show(got), show(want))} }
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return differ()
		}
		for _, key := range keys(w, g) {
			value, there := g[key]
			expected, known := w[key]
			switch {
			case !known:
				differences = append(differences, fmt.Sprintf("%s has %s: %s, want no %s", name, key, show(value), key))
			case !there:
				differences = append(differences, fmt.Sprintf("%s lacks %s", name, key))
			default:
				differences = append(differences, Compare(path+"."+key, expected, value)...)
			}
		}
		return differences
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return differ()
		}
		for i := range w {
			differences = append(differences, Compare(fmt.Sprintf("%s.%d", path, i), w[i], g[i])...)
		}
		return differences
	case string:
		if _, isNumber := got.(json.Number); w == "<number>" && isNumber {
			return nil
		}
		if _, isList := got.([]any); w == "<list>" && isList {
			return nil
		}
		text, isText := got.(string)
		if rule, ok := placeholders[w]; ok && isText && rule.MatchString(text) {
			return nil
		}
	}
	if want != got {
		return differ()
	}
	return nil
}

// keys returns the keys of both, sorted.
func keys(a, b map[string]any) []string {
	var list []string
	for _, m := range []map[string]any{a, b} {
		for key := range m {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}
