// Package packed stores JSON objects that look like many others in few bytes: without the texts that their rows have anyway, and
// compressed by S2 with a dictionary that this package has.
//
// A stored object begins with a byte that says how it is stored. "{" begins an object as it is. A byte below 16 is the number of a
// dictionary; the object's checksum (CRC-32C, four bytes) and a block of S2 follow. The other bytes are free for callers. A
// dictionary never changes, because nobody could read any more what was stored with it: a better one gets the next number, and the
// old ones stay.
//
// It knows no table.
package packed

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
)

//go:embed dictionary1.s2
var dictionary1 []byte

// dictionaries are all of them, by their numbers less one.
var dictionaries = []*s2.Dict{s2.NewDict(dictionary1)}

// newest is the number of the dictionary that objects are stored with.
const newest = 1

const (
	// Most is the size in bytes of the largest object that is compressed, and more is never read from a stored one. Larger objects
	// are stored as they are.
	Most = 1 << 20
	// head is how many bytes come before the block.
	head = 1 + crc32.Size
)

// ErrDamaged: stored bytes are not what Pack made, or the known texts are others.
var ErrDamaged = errors.New("what is stored is damaged")

var (
	checksums = crc32.MakeTable(crc32.Castagnoli)
	pool      = sync.Pool{New: func() any { return new(buffers) }}
)

// buffers are where objects are made. They are used again.
type buffers struct{ short, block, again []byte }

// mostKept is the size in bytes of the largest buffers that are used again.
const mostKept = 256 << 10

func (bu *buffers) free() {
	if cap(bu.short)+cap(bu.block)+cap(bu.again) <= mostKept {
		pool.Put(bu)
	}
}

// Pack returns a JSON object as stored. known are at most eight texts that the row has in other columns, in an order that never
// changes; empty ones are left out. The object that is read again is compared with the given one: where it differs, and where nothing is saved,
// the object is stored as it is, so that no mistake here loses it. An empty object is stored as nothing.
func Pack(object []byte, known ...string) []byte {
	if len(object) == 0 || len(object) > Most {
		return object
	}
	r := pool.Get().(*buffers)
	defer r.free()
	r.short = shorten(r.short[:0], object, known)
	r.block = slices.Grow(r.block[:0], s2.MaxEncodedLen(len(r.short)))
	block := dictionaries[newest-1].Encode(r.block[:cap(r.block)], r.short)
	if block == nil || head+len(block) >= len(object) {
		return object
	}
	stored := append(make([]byte, 0, head+len(block)), newest)
	stored = binary.BigEndian.AppendUint32(stored, crc32.Checksum(object, checksums))
	stored = append(stored, block...)
	again, err := r.unpack(r.again[:0], stored, known)
	if err != nil || !bytes.Equal(again, object) {
		return object
	}
	r.again = again
	return stored
}

// Unpack returns the object that Pack stored with the same known texts.
//
// Errors: ErrDamaged.
func Unpack(stored []byte, known ...string) ([]byte, error) {
	if len(stored) == 0 || stored[0] == '{' {
		return stored, nil
	}
	r := pool.Get().(*buffers)
	defer r.free()
	return r.unpack(nil, stored, known)
}

// unpack adds the object that is stored to b.
//
// Errors: ErrDamaged.
func (bu *buffers) unpack(b, stored []byte, known []string) ([]byte, error) {
	switch {
	case stored[0] == 0 || int(stored[0]) > len(dictionaries):
		return nil, fmt.Errorf("%w: this program has no dictionary %d", ErrDamaged, stored[0])
	case len(stored) < head:
		return nil, fmt.Errorf("%w: it has no checksum", ErrDamaged)
	}
	block := stored[head:]
	size, err := s2.DecodedLen(block)
	if err != nil || size > Most {
		return nil, fmt.Errorf("%w: a block of %d bytes says that it has %d", ErrDamaged, len(block), size)
	}
	bu.block = slices.Grow(bu.block[:0], size)
	short, err := dictionaries[stored[0]-1].Decode(bu.block[:size], block)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	object, err := lengthen(b, short, known)
	if err == nil && crc32.Checksum(object, checksums) != binary.BigEndian.Uint32(stored[1:]) {
		err = fmt.Errorf("%w: its checksum is of something else", ErrDamaged)
	}
	if err != nil {
		return nil, err
	}
	return object, nil
}

// mostKnown is how many known texts there may be.
const mostKnown = 8

// shorten adds an object to b, with a byte for each known text: 1 for the first one. JSON has no such bytes.
func shorten(b, object []byte, known []string) []byte {
	b = slices.Grow(b, len(object))
	var next [mostKnown]int // where each is found next
	find := func(i, from int) {
		next[i] = len(object)
		if at := bytes.Index(object[from:], []byte(known[i])); at >= 0 && known[i] != "" {
			next[i] = from + at
		}
	}
	for i := range known {
		find(i, 0)
	}
	for from := 0; ; {
		first := -1
		for i := range known {
			if next[i] < from {
				find(i, from)
			}
			if next[i] < len(object) && (first < 0 || next[i] < next[first]) {
				first = i
			}
		}
		if first < 0 {
			return append(b, object[from:]...)
		}
		b = append(append(b, object[from:next[first]]...), byte(first+1))
		from = next[first] + len(known[first])
		find(first, from)
	}
}

// lengthen adds to b the object that shorten shortened.
//
// Errors: ErrDamaged.
func lengthen(b, short []byte, known []string) ([]byte, error) {
	size := len(short)
	for i, text := range known {
		size += bytes.Count(short, []byte{byte(i + 1)}) * (len(text) - 1)
	}
	if size > Most {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrDamaged, size)
	}
	b = slices.Grow(b, size)
	start := 0
	for at, c := range short {
		if c > 0 && int(c) <= len(known) {
			b = append(append(b, short[start:at]...), known[c-1]...)
			start = at + 1
		}
	}
	return append(b, short[start:]...), nil
}
