// Package id makes identifiers: a prefix and 26 characters that sort by creation time, so
// that new rows are close together in an index.
//
// They are names, not secrets: a bearer secret must be impossible to guess, so Secret makes
// those.
package id

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"strings"
	"sync"
	"time"
)

// alphabet is Crockford's base 32, whose order is that of its values.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// New returns a prefix with 48 bits of time (milliseconds) and 80 random bits.
func New(prefix string, now time.Time) string {
	var b [16]byte
	putTime(&b, now)
	// Never fails: crypto/rand ends the program if the system has no randomness.
	_, _ = rand.Read(b[6:])
	return prefix + encode(b)
}

// Maker makes ids that sort in the order in which it made them, even within a millisecond.
// The zero value is ready, and safe for concurrent use.
type Maker struct {
	mu    sync.Mutex // guards the fields below
	last  [16]byte
	began [6]byte // the millisecond from which last was reached in steps; last is later if that was full
}

// full is the first random byte from which on a millisecond has too little space left for its next ids.
const full = 0xf0

// New returns the next id, see New. Whoever knows one id of a millisecond does not know the next: it is a random step of 64
// bits away.
func (m *Maker) New(prefix string, now time.Time) string {
	var b [16]byte
	putTime(&b, now)
	_, _ = rand.Read(b[6:]) // never fails
	m.mu.Lock()
	defer m.mu.Unlock()
	if bytes.Compare(b[:6], m.began[:]) >= 0 && bytes.Compare(b[:6], m.last[:6]) <= 0 {
		b = after(m.last, binary.BigEndian.Uint64(b[8:]))
	} else {
		copy(m.began[:], b[:6])
		for b[6] >= full {
			_, _ = rand.Read(b[6:7])
		}
	}
	m.last = b
	return prefix + encode(b)
}

// after returns an id that comes a step and one after another. A millisecond that is full goes over into the next.
func after(id [16]byte, step uint64) [16]byte {
	low := binary.BigEndian.Uint64(id[8:])
	sum, carry := bits.Add64(low, step, 1)
	binary.BigEndian.PutUint64(id[8:], sum)
	binary.BigEndian.PutUint64(id[:], binary.BigEndian.Uint64(id[:])+carry)
	return id
}

// From returns the smallest id of a moment, to compare ids with times.
func From(prefix string, t time.Time) string {
	var b [16]byte
	putTime(&b, t)
	return prefix + encode(b)
}

// markSize is how many bytes of an id are random, or its mark.
const markSize = 10

// Mark replaces the random part of an id if the same request must be recognized by the id
// alone: 80 bits of an HMAC-SHA-256 of its name. It has 16 characters. Who does not have the key
// cannot compute it, even from a name that he knows.
func Mark(mac [sha256.Size]byte) string {
	var b [16]byte
	copy(b[len(b)-markSize:], mac[:])
	return encode(b)[26-16:]
}

// Marked returns an id with a mark instead of its random part. Its time stays.
func Marked(made, mark string) string { return made[:len(made)-len(mark)] + mark }

// MarkOf returns the random part or the mark of an id; false if the id is too short.
func MarkOf(id string) (mark string, ok bool) {
	if len(id) < 26 {
		return "", false
	}
	return id[len(id)-16:], true
}

// Made reports whether a text could be an id from New without its prefix.
func Made(text string) bool {
	return len(text) == 26 && text[0] < '8' && strings.Trim(text, alphabet) == ""
}

func putTime(b *[16]byte, t time.Time) {
	ms := uint64(max(0, t.UnixMilli()))
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
}

// encode writes 128 bits as 26 characters, the first of which holds three bits.
func encode(b [16]byte) string {
	var out [26]byte
	var acc uint32
	have, next := 2, 0 // two zero bits in front make 130
	for _, octet := range b {
		acc = acc<<8 | uint32(octet)
		have += 8
		for have >= 5 {
			have -= 5
			out[next] = alphabet[acc>>have&31]
			next++
		}
	}
	return string(out[:])
}

// Secret returns a prefix with 256 random bits, safe in a URL.
func Secret(prefix string) string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}
