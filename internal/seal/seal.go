// Package seal makes the keyed hashes that prove that the service wrote a database's rows:
// one for each row, one for each commit, and one for each block, which covers the hashes of
// its rows and of the block before.
//
// It knows neither tables nor the database. Only the key is secret: without it nobody can
// make a seal.
package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
)

// rowSize is how many bytes of a row's HMAC are kept: as strong as the tag of AES-GCM, in
// half the space. Blocks keep all 32.
const rowSize = 16

// Hasher makes hashes with one key. It is for one goroutine.
//
// The input is a list of fields, each with its length in front, so that no two lists give
// the same bytes. The first field names the kind of hash, so that a row's hash can never be
// a block's.
type Hasher struct {
	mac hash.Hash
	buf []byte
}

// New returns a Hasher with a key.
func New(key []byte) *Hasher { return &Hasher{mac: hmac.New(sha256.New, key)} }

func (h *Hasher) begin(kind string) {
	h.buf = h.buf[:0]
	h.put(kind)
}

func (h *Hasher) put(text string) {
	h.buf = binary.AppendUvarint(h.buf, uint64(len(text)))
	h.buf = append(h.buf, text...)
}

func (h *Hasher) putNumber(n int64) { h.buf = binary.BigEndian.AppendUint64(h.buf, uint64(n)) }

func (h *Hasher) putFlag(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	h.buf = append(h.buf, b)
}

func (h *Hasher) sum() []byte {
	h.mac.Reset()
	h.mac.Write(h.buf)
	return h.mac.Sum(nil)
}

// Row begins the hash of a row. Add its fields, sorted by name, and then call RowSum. A
// field that is "", 0 or false is left out, so that a column added to a table later does
// not change the hashes of existing rows.
func (h *Hasher) Row(table string) {
	h.begin("row")
	h.put(table)
}

// Text adds a text field to the row.
func (h *Hasher) Text(name, value string) {
	if value != "" {
		h.put(name)
		h.buf = append(h.buf, 't')
		h.put(value)
	}
}

// Number adds a number field to the row.
func (h *Hasher) Number(name string, value int64) {
	if value != 0 {
		h.put(name)
		h.buf = append(h.buf, 'n')
		h.putNumber(value)
	}
}

// Flag adds a boolean field to the row.
func (h *Hasher) Flag(name string, value bool) {
	if value {
		h.put(name)
		h.buf = append(h.buf, 'f')
	}
}

// RowSum returns the hash of the row.
func (h *Hasher) RowSum() string {
	return base64.RawURLEncoding.EncodeToString(h.sum()[:rowSize])
}

// fieldsBytes is how many bytes of the HMAC of a row that changes are kept: there is one in each row, and nobody can try
// hashes without a check that reads them.
const fieldsBytes = 12

// Fields begins the hash of a row that may change, which stands in the row itself. Add its fields as for Row, and then call
// FieldsSum.
func (h *Hasher) Fields(table string) {
	h.begin("fields")
	h.put(table)
}

// FieldsSum returns the hash of the fields.
func (h *Hasher) FieldsSum() string {
	return base64.RawURLEncoding.EncodeToString(h.sum()[:fieldsBytes])
}

// Mark returns the hash of what one commit wrote; it is kept until the rows are in a block.
// It differs from the rows' hashes, which stay readable in the blocks: those alone do not
// allow anybody to submit rows for sealing again.
func (h *Hasher) Mark(id, doc string) string {
	h.begin("mark")
	h.put(id)
	h.put(doc)
	return base64.RawURLEncoding.EncodeToString(h.sum()[:rowSize])
}

// Proof returns the hash of a check's result, for the file that holds the result.
func (h *Hasher) Proof(text string) string {
	h.begin("proof")
	h.put(text)
	return hex.EncodeToString(h.sum())
}

// Block is a part of a chain: rows that were written at about the same time.
type Block struct {
	Merchant string
	Live     bool
	N        int64             // from 1
	At       int64             // when it was made, in microseconds UTC
	Rows     map[string]string // row id to hash
	Previous string            // hash of block N-1, "" for the first
	Hash     string            // of all above
}

// Sum returns the correct hash of the block.
func (h *Hasher) Sum(b Block) string {
	h.begin("block")
	h.put(b.Merchant)
	h.putFlag(b.Live)
	h.putNumber(b.N)
	h.putNumber(b.At)
	h.put(b.Previous)
	for _, id := range slices.Sorted(maps.Keys(b.Rows)) {
		h.put(id)
		h.put(b.Rows[id])
	}
	return hex.EncodeToString(h.sum())
}
