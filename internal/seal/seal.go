// Package seal makes the keyed hashes that prove a database's rows are what
// the service wrote: one for each row, one for what a commit wrote, and one
// for each block, which holds the rows' and the hash of the block before.
//
// It knows neither tables nor the database, and nothing here is secret but the
// key: whoever has it can make any seal, whoever has not can make none.
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

// rowSize is how many bytes of a row's HMAC are kept: as strong as the tag of
// AES-GCM, at half the room. Blocks keep all 32.
const rowSize = 16

// Hasher makes hashes under one key. It is for one goroutine.
//
// What is hashed is a list of fields, each with its length before it, so that
// no two lists read the same. The first names what kind of thing it is, so
// that a row's hash is never a block's.
type Hasher struct {
	mac hash.Hash
	buf []byte
}

// New returns a Hasher under a key.
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

// Row begins the hash of a row. Its fields follow, sorted by name, then
// RowSum. A field that is "", 0 or false is left out, so that a column that is
// added to a table later leaves the hashes of the rows that are there.
func (h *Hasher) Row(table string) {
	h.begin("row")
	h.put(table)
}

// Text adds a text to the row.
func (h *Hasher) Text(name, value string) {
	if value != "" {
		h.put(name)
		h.buf = append(h.buf, 't')
		h.put(value)
	}
}

// Number adds a number to the row.
func (h *Hasher) Number(name string, value int64) {
	if value != 0 {
		h.put(name)
		h.buf = append(h.buf, 'n')
		h.putNumber(value)
	}
}

// Flag adds a truth to the row.
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

// Mark returns the hash of what one commit wrote, as it is noted until it is
// in a block. It is another one than the rows', which stay readable in the
// blocks: nobody can put rows up for sealing again with those alone.
func (h *Hasher) Mark(id, doc string) string {
	h.begin("mark")
	h.put(id)
	h.put(doc)
	return base64.RawURLEncoding.EncodeToString(h.sum()[:rowSize])
}

// Proof returns the hash of what a check has proved, for the file that it is kept in.
func (h *Hasher) Proof(text string) string {
	h.begin("proof")
	h.put(text)
	return hex.EncodeToString(h.sum())
}

// Block is a part of a chain: rows that were written by about the same time.
type Block struct {
	Merchant string
	Live     bool
	N        int64             // from 1
	At       int64             // when it was made, microseconds UTC
	Rows     map[string]string // a row's id to its hash
	Previous string            // hash of block N-1, "" of the first
	Hash     string            // of all above
}

// Sum returns the hash that the block should have.
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
