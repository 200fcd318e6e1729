package store

import (
	"context"
	"encoding/binary"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Rows that are handed to PostgreSQL are an array per column where they have few
// columns. pgx looks for a way to encode each element of one; these know it, which
// takes a quarter of the time. The form is that of array_send and array_recv in
// PostgreSQL's sources.

// arrayCodec is pgx's codec of an array's type but for the slices that rows holds.
type arrayCodec struct {
	pgtype.Codec
	element uint32 // the type of an element
}

// registerArrays makes the connection encode arrays in this way.
func registerArrays(_ context.Context, conn *pgx.Conn) error {
	types := conn.TypeMap()
	for array, element := range map[uint32]uint32{
		pgtype.TextArrayOID: pgtype.TextOID, pgtype.Int8ArrayOID: pgtype.Int8OID, pgtype.BoolArrayOID: pgtype.BoolOID,
	} {
		known, ok := types.TypeForOID(array)
		if ok {
			types.RegisterType(&pgtype.Type{Name: known.Name, OID: array, Codec: arrayCodec{known.Codec, element}})
		}
	}
	return nil
}

// PlanEncode returns how to encode the value.
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case []string:
			if c.element == pgtype.TextOID {
				return textArray{}
			}
		case []int64:
			if c.element == pgtype.Int8OID {
				return intArray{}
			}
		case []bool:
			if c.element == pgtype.BoolOID {
				return boolArray{}
			}
		}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

type (
	textArray struct{}
	intArray  struct{}
	boolArray struct{}
)

// appendHead begins an array of one dimension without nulls.
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

// Encode appends the array to b.
func (textArray) Encode(value any, b []byte) ([]byte, error) {
	texts := value.([]string)
	b = appendHead(b, pgtype.TextOID, len(texts))
	for _, text := range texts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	return b, nil
}

// Encode appends the array to b.
func (intArray) Encode(value any, b []byte) ([]byte, error) {
	ints := value.([]int64)
	b = appendHead(b, pgtype.Int8OID, len(ints))
	for _, n := range ints {
		b = binary.BigEndian.AppendUint32(b, 8)
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b, nil
}

// Encode appends the array to b.
func (boolArray) Encode(value any, b []byte) ([]byte, error) {
	flags := value.([]bool)
	b = appendHead(b, pgtype.BoolOID, len(flags))
	for _, flag := range flags {
		b = binary.BigEndian.AppendUint32(b, 1)
		b = append(b, byte(btoi(flag)))
	}
	return b, nil
}
