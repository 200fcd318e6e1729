package store

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// dialect is all that differs between the two engines in SQL text.
//
//	{rows: id TEXT, n BIGINT}   a table of rows handed in as arguments from $1
//	{for update} {skip locked}  row locks; SQLite has one writer and needs none
//	{hot}                       storage of small rows that are updated all the time
//	{json doc key}              the text of a key of a JSON column
//	{each doc}                  the keys and values of a JSON column as rows
type dialect int

const (
	sqlite dialect = iota
	postgres
)

// sql returns the text for the engine.
func (d dialect) sql(text string) string {
	locks := [...]string{"{for update}", "", "{skip locked}", "", "{hot}", ""}
	if d == postgres {
		locks[1], locks[3] = "FOR UPDATE", "FOR UPDATE SKIP LOCKED"
		// Room for new versions of a row on its own page, so that an update
		// touches no index.
		locks[5] = " WITH (fillfactor = 40)"
	}
	text = strings.NewReplacer(locks[:]...).Replace(text)
	if d == postgres {
		text = jsonKey.ReplaceAllString(text, "($1::json ->> '$2')")
		text = jsonEach.ReplaceAllString(text, "json_each_text($1::json)")
	} else {
		text = jsonKey.ReplaceAllString(text, "($1 ->> '$2')")
		text = jsonEach.ReplaceAllString(text, "json_each($1)")
	}
	before, rest, found := strings.Cut(text, "{rows:")
	if !found {
		return text
	}
	spec, after, _ := strings.Cut(rest, "}")
	return before + d.rows(parseColumns(spec)) + after
}

var (
	jsonKey  = regexp.MustCompile(`\{json (\S+) (\w+)\}`)
	jsonEach = regexp.MustCompile(`\{each (\S+)\}`)
)

// rows returns the table expression of the columns. PostgreSQL takes one array
// per column, SQLite one JSON array of arrays.
func (d dialect) rows(columns []column) string {
	var list, names []string
	for i, c := range columns {
		names = append(names, c.name)
		if d == postgres {
			list = append(list, fmt.Sprintf("$%d::%s[]", i+1, strings.ToLower(c.kind)))
		} else {
			list = append(list, fmt.Sprintf("value ->> %d AS %s", i, c.name))
		}
	}
	if d == postgres {
		return "(SELECT * FROM unnest(" + strings.Join(list, ", ") + ") AS u(" + strings.Join(names, ", ") + "))"
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM json_each($1))"
}

// column is a column of a table or of rows handed in.
type column struct {
	name, kind string
	fixed      bool // never updated
}

// parseColumns reads "id TEXT!, n BIGINT"; the exclamation mark says that the
// column never changes.
func parseColumns(spec string) []column {
	var columns []column
	for _, part := range strings.Split(spec, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(part), " ")
		kind, fixed := strings.CutSuffix(kind, "!")
		columns = append(columns, column{name, kind, fixed})
	}
	return columns
}

// rows gathers values column by column, in the order of a {rows: …}.
type rows struct {
	columns []column
	n       int
	texts   [][]string
	ints    [][]int64
	bools   [][]bool
	values  [][]any // SQLite's form
	dialect dialect
}

func newRows(d dialect, columns []column, capacity int) *rows {
	r := &rows{columns: columns, dialect: d}
	if d == sqlite {
		r.values = make([][]any, 0, capacity)
		return r
	}
	r.texts, r.ints, r.bools = make([][]string, len(columns)), make([][]int64, len(columns)), make([][]bool, len(columns))
	for i, c := range columns {
		switch c.kind {
		case "TEXT":
			r.texts[i] = make([]string, 0, capacity)
		case "BIGINT":
			r.ints[i] = make([]int64, 0, capacity)
		case "BOOLEAN":
			r.bools[i] = make([]bool, 0, capacity)
		default:
			panic("store: column " + c.name + " of unknown kind " + c.kind)
		}
	}
	return r
}

// add appends one row. Its values are string, int64 and bool, as the columns
// say.
func (r *rows) add(values ...any) {
	if len(values) != len(r.columns) {
		panic(fmt.Sprintf("store: %d values for %d columns", len(values), len(r.columns)))
	}
	r.n++
	if r.dialect == sqlite {
		r.values = append(r.values, values)
		return
	}
	for i, c := range r.columns {
		switch c.kind {
		case "TEXT":
			r.texts[i] = append(r.texts[i], values[i].(string))
		case "BIGINT":
			r.ints[i] = append(r.ints[i], values[i].(int64))
		default:
			r.bools[i] = append(r.bools[i], values[i].(bool))
		}
	}
}

// args returns the arguments of the statement.
func (r *rows) args() []any {
	if r.dialect == sqlite {
		text, err := json.Marshal(r.values)
		if err != nil {
			panic("store: rows that are no JSON: " + err.Error()) // only strings, integers and booleans
		}
		return []any{string(text)}
	}
	args := make([]any, len(r.columns))
	for i, c := range r.columns {
		switch c.kind {
		case "TEXT":
			args[i] = r.texts[i]
		case "BIGINT":
			args[i] = r.ints[i]
		default:
			args[i] = r.bools[i]
		}
	}
	return args
}
