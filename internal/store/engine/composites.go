package engine

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// PostgreSQL receives rows of many columns as one array, of a type with the columns' names. One array per
// column costs a function and a temporary store each: for twenty columns and a batch's rows, half as much
// again as the insert itself. The format is that of array_recv and record_recv in PostgreSQL's sources.

// compositeColumns is the number of columns from which rows have their own type.
const compositeColumns = 4

func composite(columns []Column) bool { return len(columns) >= compositeColumns }

const rowTypePrefix = "rows_"

// rowType names the row type after its columns: an existing type never changes, and an older program finds
// its own next to a newer one's.
func rowType(columns []Column) string {
	sum := sha256.Sum256([]byte(typeColumns(columns)))
	return rowTypePrefix + hex.EncodeToString(sum[:6])
}

func typeColumns(columns []Column) string {
	var list []string
	for _, c := range columns {
		list = append(list, c.Name+" "+postgresKind(c.Kind))
	}
	return strings.Join(list, ", ")
}

// rowTypes lists the row types of the queries by name.
func rowTypes() map[string][]Column {
	types := map[string][]Column{}
	for _, query := range Statements {
		_, rest, found := strings.Cut(query, "{rows:")
		spec, _, _ := strings.Cut(rest, "}")
		if columns := ParseColumns(spec); found && composite(columns) {
			types[rowType(columns)] = columns
		}
	}
	return types
}

// createRowTypes creates missing types.
func createRowTypes(ctx context.Context, tx pgx.Tx) error {
	missing := rowTypes()
	found, err := tx.Query(ctx, selectRowTypes, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	err = Drain(found, func(r Row) error {
		name, _, _, err := scanRowType(r)
		delete(missing, name)
		return err
	})
	if err != nil {
		return err
	}
	var create strings.Builder
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		create.WriteString("CREATE TYPE " + name + " AS (" + typeColumns(missing[name]) + ");\n")
	}
	_, err = tx.Exec(ctx, create.String(), pgx.QueryExecModeSimpleProtocol)
	return err
}

const selectRowTypes = `SELECT typname, oid, typarray FROM pg_type
WHERE typname LIKE '` + rowTypePrefix + `%' AND typtype = 'c' AND typnamespace = current_schema()::regnamespace`

func scanRowType(r Row) (name string, element, array uint32, err error) {
	err = r.Scan(&name, &element, &array)
	return name, element, array, err
}

// registerRows registers the row types on a writer's connection.
func registerRows(ctx context.Context, conn *pgx.Conn) error {
	found, err := conn.Query(ctx, selectRowTypes, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	return Drain(found, func(r Row) error {
		name, element, array, err := scanRowType(r)
		if err != nil {
			return err
		}
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "_" + name, OID: array, Codec: rowsCodec{element}})
		return nil
	})
}

// rowsCodec encodes rows as an array of the type.
type rowsCodec struct{ element uint32 }

// FormatSupported implements pgtype.Codec.
func (rowsCodec) FormatSupported(format int16) bool { return format == pgtype.BinaryFormatCode }

// PreferredFormat implements pgtype.Codec.
func (rowsCodec) PreferredFormat() int16 { return pgtype.BinaryFormatCode }

// PlanEncode returns the encoder of rows.
func (c rowsCodec) PlanEncode(_ *pgtype.Map, _ uint32, _ int16, value any) pgtype.EncodePlan {
	if _, ok := value.(*binaryRows); !ok {
		return nil
	}
	return c
}

// Encode appends the rows to b. If b is empty, it returns the rows' own buffer, so that they are not copied.
func (c rowsCodec) Encode(value any, b []byte) ([]byte, error) {
	r := value.(*binaryRows)
	if len(b) == 0 && r.n > 0 {
		appendHead(r.b[:0], c.element, r.n)
		return r.b, nil
	}
	b = slices.Grow(b, len(r.b))
	return append(appendHead(b, c.element, r.n), r.b[arrayHead:]...), nil
}

// arrayHead is how many bytes the head of an array with rows has.
const arrayHead = 20

// appendHead starts an array of one dimension without nulls.
func appendHead(b []byte, element uint32, n int) []byte {
	dimensions := uint32(1)
	if n == 0 {
		dimensions = 0
	}
	b = binary.BigEndian.AppendUint32(b, dimensions)
	b = binary.BigEndian.AppendUint32(b, 0) // no nulls
	b = binary.BigEndian.AppendUint32(b, element)
	if n == 0 {
		return b
	}
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	return binary.BigEndian.AppendUint32(b, 1) // the first index
}

var errNeverRead = errors.New("rows are handed in, never read")

// PlanScan implements pgtype.Codec; scanning is not supported.
func (rowsCodec) PlanScan(*pgtype.Map, uint32, int16, any) pgtype.ScanPlan { return nil }

// DecodeDatabaseSQLValue implements pgtype.Codec.
func (rowsCodec) DecodeDatabaseSQLValue(*pgtype.Map, uint32, int16, []byte) (driver.Value, error) {
	return nil, errNeverRead
}

// DecodeValue implements pgtype.Codec.
func (rowsCodec) DecodeValue(*pgtype.Map, uint32, int16, []byte) (any, error) {
	return nil, errNeverRead
}
