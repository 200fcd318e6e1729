package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Dialect is all that differs between the two engines in SQL text.
//
//	{rows: id TEXT, n BIGINT}   a table of rows handed in as arguments from $1
//	{for update} {skip locked d}  row locks; SQLite has one writer and needs none
//	{hot}                       storage of small rows that are updated all the time
//	{bytes}                     the type of a column of bytes; among rows it is BYTES
//	{json doc key}              the text of a key of a JSON column; key.key is a key of an object in it
//	{each doc}                  the keys and values of a JSON column as rows
//	{items t doc key}           a table t with the column value, for each element of a list in a JSON column, if it has the list
//	{lines t doc}               a table t with the column value, for each line of a text
//	{word t 3}                  a line's word with this number, from 0 on; the text has no quotes and no backslashes
//	{ids SELECT id …}           a table ids with the column value, for each row on the left
//	{in SELECT id …}            = one of the ids; few, so each is looked up
//	{among t.id id}             t.id is in the rows' column id: the join implies it, but saying it keeps
//	                            every plan from looking at other rows of t
//	{part t.id}                 t.id is in the part that is looked at: from $1 on and before $2
//	{last 4 text}               the last characters of a text, which has no braces
//	{named t.id tr_ p.id}       t.id is made from p.id: tr_, what follows the kind in p.id, a hyphen and more.
//	                            Write further conditions on that row as NOT (a <> b): for a = b
//	                            SQLite may make an index of the whole table
//	{given id}                  id is one of those handed in, as rows with only that column
//	{lost id}                   id; it also notes that the transaction would lose a guard
//	{unless lost}               no {lost id} has noted that, see look.go
//	{size t}                    how many rows a table has, about
//	{now}                       the database's clock, microseconds UTC
//	{tables}                    the names of the tables there are, as the column name
//	{append only t}             triggers that refuse to change or delete rows of t
//	{append only if c t}        the same, but rows in which the column c is false may be deleted
//	{concurrently}              an index is made while others write
//
// A column that is TEXT NOT NULL is compared byte by byte on both engines,
// whatever the locale of the database.
type Dialect int

// The dialects.
const (
	SQLite Dialect = iota
	PostgreSQL
)

// Texts has the text of every statement for an engine. The whole process shares it. A text is made when it is first
// needed: a command that reads one table would otherwise spend most of its time with the others.
type Texts map[string]func() string

// Of returns a statement's text. It panics if the text was not made with Statement: the test that prepares all
// statements would miss it.
func (t Texts) Of(statement string) string {
	text, ok := t[statement]
	if !ok {
		panic("store: a text that is no statement: " + statement)
	}
	return text()
}

// Texts returns the statements' texts for the engine.
func (d Dialect) Texts() Texts {
	if d == PostgreSQL {
		return postgresTexts()
	}
	return sqliteTexts()
}

var (
	sqliteTexts   = sync.OnceValue(func() Texts { return SQLite.translate(Statements) })
	postgresTexts = sync.OnceValue(func() Texts { return PostgreSQL.translate(Statements) })
)

func (d Dialect) translate(queries []string) Texts {
	texts := make(Texts, len(queries))
	for _, text := range queries {
		texts[text] = sync.OnceValue(func() string { return d.SQL(text) })
	}
	return texts
}

// words are the macros without arguments.
var words = [...]*strings.Replacer{
	SQLite: strings.NewReplacer("{for update}", "", "{skip locked d}", "", "{hot}", "", "{bytes}", "BLOB", "{concurrently}", "",
		" TEXT NOT NULL", " TEXT NOT NULL", "{now}", "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
		"{tables}", "sqlite_master", "{unless lost}", "TRUE"),
	// {hot}: room for new versions of a row on its own page, so that an update touches no index.
	PostgreSQL: strings.NewReplacer("{for update}", "FOR UPDATE", "{skip locked d}", "FOR UPDATE OF d SKIP LOCKED", "{hot}", " WITH (fillfactor = 40)",
		"{bytes}", "BYTEA", "{concurrently}", "CONCURRENTLY",
		" TEXT NOT NULL", ` TEXT COLLATE "C" NOT NULL`,
		"{now}", "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
		"{tables}", "(SELECT relname::text AS name FROM pg_class WHERE pg_table_is_visible(oid))",
		"{unless lost}", unlessForeseen),
}

// SQL returns the text for the engine.
func (d Dialect) SQL(text string) string {
	text = words[d].Replace(text)
	if !strings.Contains(text, "{") { // most queries of lists
		return d.limits(text)
	}
	text = partOf.ReplaceAllString(text, "$1 >= $$1 AND $1 < $$2")
	text = namedAfter.ReplaceAllString(text, "$1 > '$2' || substr($3, 5) || '-' AND $1 < '$2' || substr($3, 5) || '.'")
	if d == PostgreSQL {
		text = given.ReplaceAllString(text, "$1 = ANY($$1::text[])")
		text = lostOf.ReplaceAllString(text, "CASE WHEN set_config('cascada.lost', 'yes', TRUE) = 'yes' THEN $1 END")
		text = sizeOf.ReplaceAllString(text, "(SELECT CAST(greatest(reltuples, pg_relation_size(oid) / 1000) AS BIGINT) FROM pg_class WHERE oid = '$1'::regclass)")
		text = jsonKey.ReplaceAllString(text, "($1::json ->> '$2')")
		text = jsonPath.ReplaceAllString(text, "($1::json #>> '{$2,$3}')")
		text = jsonEach.ReplaceAllString(text, "json_each_text($1::json)")
		text = itemsOf.ReplaceAllString(text, "LATERAL json_array_elements(coalesce($2::json -> '$3', '[]')) AS $1(value)")
		text = lastOf.ReplaceAllString(text, "right($2, $1)")
		text = linesOf.ReplaceAllString(text, "LATERAL unnest(string_to_array($2, chr(10))) AS $1(value)")
		text = wordOf.ReplaceAllString(text, "(string_to_array($1.value, ' '))[1 + $2]")
		text = idsOf.ReplaceAllString(text, "LATERAL ($1) AS ids(value)")
		text = byIndex.ReplaceAllString(text, "")
		text = inIDs.ReplaceAllString(text, "= ANY(ARRAY($1))") // without the count, the planner would scan
		text = appendOnly.ReplaceAllString(text, postgresAppendOnly)
		text = appendOnlyIf.ReplaceAllString(text, postgresAppendOnlyIf)
	} else {
		text = given.ReplaceAllString(text, "$1 IN (SELECT value ->> 0 FROM jsonb_each($$1))")
		text = lostOf.ReplaceAllString(text, "$1")
		text = sizeOf.ReplaceAllString(text, "(SELECT coalesce(max(rowid), 0) FROM $1)")
		text = jsonKey.ReplaceAllString(text, "($1 ->> '$2')")
		text = jsonPath.ReplaceAllString(text, "($1 ->> '$$.$2.$3')")
		text = jsonEach.ReplaceAllString(text, "json_each($1)")
		text = itemsOf.ReplaceAllString(text, "json_each($2, '$$.$3') AS $1")
		text = lastOf.ReplaceAllString(text, "substr($2, -$1)")
		text = linesOf.ReplaceAllString(text, `json_each('["' || replace($2, char(10), '","') || '"]') AS $1`)
		text = wordOf.ReplaceAllString(text, `(('["' || replace($1.value, ' ', '","') || '"]') ->> $2)`)
		text = idsOf.ReplaceAllString(text, "json_each((SELECT json_group_array(id) FROM ($1))) AS ids")
		text = byIndex.ReplaceAllString(text, "INDEXED BY $1")
		text = inIDs.ReplaceAllString(text, "IN ($1)")
		text = appendOnly.ReplaceAllString(text, sqliteAppendOnly)
		text = appendOnlyIf.ReplaceAllString(text, sqliteAppendOnlyIf)
	}
	text = d.limits(text)
	before, rest, found := strings.Cut(text, "{rows:")
	if !found {
		return text
	}
	spec, after, _ := strings.Cut(rest, "}")
	columns := ParseColumns(spec)
	text = before + d.rows(columns) + after
	return among.ReplaceAllStringFunc(text, func(macro string) string {
		names := among.FindStringSubmatch(macro)
		at := slices.IndexFunc(columns, func(c Column) bool { return c.Name == names[2] })
		if at < 0 {
			panic("store: " + macro + " names no column of the rows")
		}
		if d == SQLite {
			return "TRUE"
		}
		if composite(columns) {
			return fmt.Sprintf("%s = ANY(ARRAY(SELECT %s FROM unnest($1::%s[])))", names[1], names[2], rowType(columns))
		}
		return fmt.Sprintf("%s = ANY($%d)", names[1], at+1)
	})
}

// limits hands SQLite the arguments of limits in a way that does not change its plan.
func (d Dialect) limits(text string) string {
	if d == PostgreSQL {
		return text
	}
	return limited.ReplaceAllString(text, "LIMIT CAST($1 AS INTEGER)")
}

var (
	jsonKey  = regexp.MustCompile(`\{json (\S+) (\w+)\}`)
	jsonPath = regexp.MustCompile(`\{json (\S+) (\w+)\.(\w+)\}`)
	jsonEach = regexp.MustCompile(`\{each (\S+)\}`)
	itemsOf  = regexp.MustCompile(`\{items (\w+) (\S+) (\w+)\}`)
	lastOf   = regexp.MustCompile(`\{last (\d+) ([^{}]+)\}`)
	linesOf  = regexp.MustCompile(`\{lines (\w+) (\S+)\}`)
	wordOf   = regexp.MustCompile(`\{word (\w+) (\d+)\}`)
	idsOf    = regexp.MustCompile(`\{ids\s+([^{}]+)\}`)
	// byIndex names the index that SQLite must use; PostgreSQL knows how often a value occurs, and chooses itself.
	byIndex = regexp.MustCompile(`\{by\s+(\w+)\}`)
	inIDs   = regexp.MustCompile(`\{in\s+([^{}]+)\}`)

	partOf     = regexp.MustCompile(`\{part (\S+)\}`)
	namedAfter = regexp.MustCompile(`\{named (\S+) (\w+_) (\S+)\}`)
	sizeOf     = regexp.MustCompile(`\{size (\w+)\}`)
	given      = regexp.MustCompile(`\{given (\S+)\}`)
	lostOf     = regexp.MustCompile(`\{lost (\S+)\}`)

	among = regexp.MustCompile(`\{among (\S+) (\w+)\}`)

	// limited finds arguments that affect SQLite's plan: SQLite prepares such a statement anew for each
	// value.
	limited = regexp.MustCompile(`LIMIT (\$\d+)`)

	appendOnly   = regexp.MustCompile(`\{append only (\w+)\}`)
	appendOnlyIf = regexp.MustCompile(`\{append only if (\w+) (\w+)\}`)
)

// Triggers of an insert-only table. They stop our own mistakes and everybody but the tables' owner; the
// seals reveal the rest.
const (
	sqliteAppendOnly = `CREATE TRIGGER ${1}_no_update BEFORE UPDATE ON ${1} BEGIN SELECT RAISE(ABORT, '${1} is append-only'); END;
CREATE TRIGGER ${1}_no_delete BEFORE DELETE ON ${1} BEGIN SELECT RAISE(ABORT, '${1} is append-only'); END;`
	sqliteAppendOnlyIf = `CREATE TRIGGER ${2}_no_update BEFORE UPDATE ON ${2} BEGIN SELECT RAISE(ABORT, '${2} is append-only'); END;
CREATE TRIGGER ${2}_no_delete BEFORE DELETE ON ${2} WHEN OLD.${1} BEGIN SELECT RAISE(ABORT, '${2} is append-only'); END;`

	postgresAppendOnly = refuseChange + `
CREATE TRIGGER ${1}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ${1} FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();`
	postgresAppendOnlyIf = refuseChange + `
CREATE TRIGGER ${2}_append_only BEFORE UPDATE OR TRUNCATE ON ${2} FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ${2}_no_delete BEFORE DELETE ON ${2} FOR EACH ROW WHEN (OLD.${1}) EXECUTE FUNCTION refuse_change();`
	refuseChange = `CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
  $$$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$$$;`
)

// rows returns the table expression of the columns. PostgreSQL takes one array of rows, or one array per
// column if there are few; SQLite takes one JSON array of arrays.
func (d Dialect) rows(columns []Column) string {
	if d == PostgreSQL && composite(columns) {
		return "(SELECT * FROM unnest($1::" + rowType(columns) + "[]) AS u)"
	}
	var list, names []string
	for i, c := range columns {
		names = append(names, c.Name)
		if d == PostgreSQL {
			list = append(list, fmt.Sprintf("$%d::%s[]", i+1, strings.ToLower(postgresKind(c.Kind))))
		} else if c.Kind == bytesKind {
			list = append(list, fmt.Sprintf("unhex(value ->> %d) AS %s", i, c.Name))
		} else {
			list = append(list, fmt.Sprintf("value ->> %d AS %s", i, c.Name))
		}
	}
	if d == PostgreSQL {
		return "(SELECT * FROM unnest(" + strings.Join(list, ", ") + ") AS u(" + strings.Join(names, ", ") + "))"
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM jsonb_each($1))"
}

// Column is a column of a table or of argument rows.
type Column struct {
	Name, Kind string
	Fixed      bool // never updated
	WriteOnly  bool // among the fields' columns: readers skip it
}

// bytesKind is the Kind of a column of bytes: BYTEA of PostgreSQL, BLOB of SQLite.
const bytesKind = "BYTES"

// postgresKind is PostgreSQL's word for a kind.
func postgresKind(kind string) string {
	if kind == bytesKind {
		return "BYTEA"
	}
	return kind
}

// ParseColumns reads "id TEXT, n BIGINT".
func ParseColumns(spec string) []Column {
	var columns []Column
	for _, part := range strings.Split(spec, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(part), " ")
		columns = append(columns, Column{Name: name, Kind: kind})
	}
	return columns
}
