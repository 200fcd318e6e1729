// Package typeface writes texts of every script into a PDF. It has the fonts, and knows which letter is in which. It draws no
// page and knows no words.
package typeface

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/go-text/typesetting/font"
)

// files are the fonts, compressed. fonts/README.md says where they are from, and their licences stand beside them.
//
//go:embed fonts/*.gz
var files embed.FS

// typeface is a font in the program.
type typeface struct {
	name   string    // of the font in a PDF
	file   string    // below fonts
	blocks [][2]rune // the blocks of Unicode that it is asked for
	load   func() loaded
	glyphs func() []byte // the font with glyphs as its codes
}

// loaded is a font that was needed once. Nobody changes it.
type loaded struct {
	ttf  []byte
	font *font.Font
}

// The first two have every letter of Latin, Greek and Cyrillic, and the signs of currencies; what no font has is their box.
var (
	regular = face("regular", "NotoSans-Regular")
	bold    = face("bold", "NotoSans-Bold")
)

// others are asked by the block of a letter, so that a font that no document needs is never unpacked.
var others = []typeface{
	face("armenian", "NotoSansArmenian-Regular", [2]rune{0x530, 0x58f}, [2]rune{0xfb13, 0xfb17}),
	face("hebrew", "NotoSansHebrew-Regular", [2]rune{0x590, 0x5ff}, [2]rune{0xfb1d, 0xfb4f}),
	face("arabic", "NotoSansArabic-Regular", [2]rune{0x600, 0x6ff}, [2]rune{0x750, 0x77f}, [2]rune{0x8a0, 0x8ff}, [2]rune{0xfb50, 0xfdff}, [2]rune{0xfe70, 0xfeff}),
	face("devanagari", "NotoSansDevanagari-Regular", [2]rune{0x900, 0x97f}, [2]rune{0xa8e0, 0xa8ff}),
	face("bengali", "NotoSansBengali-Regular", [2]rune{0x980, 0x9ff}),
	face("gurmukhi", "NotoSansGurmukhi-Regular", [2]rune{0xa00, 0xa7f}),
	face("gujarati", "NotoSansGujarati-Regular", [2]rune{0xa80, 0xaff}),
	face("oriya", "NotoSansOriya-Regular", [2]rune{0xb00, 0xb7f}),
	face("tamil", "NotoSansTamil-Regular", [2]rune{0xb80, 0xbff}),
	face("telugu", "NotoSansTelugu-Regular", [2]rune{0xc00, 0xc7f}),
	face("kannada", "NotoSansKannada-Regular", [2]rune{0xc80, 0xcff}),
	face("malayalam", "NotoSansMalayalam-Regular", [2]rune{0xd00, 0xd7f}),
	face("sinhala", "NotoSansSinhala-Regular", [2]rune{0xd80, 0xdff}),
	face("thai", "NotoSansThai-Regular", [2]rune{0xe00, 0xe7f}),
	face("lao", "NotoSansLao-Regular", [2]rune{0xe80, 0xeff}),
	face("myanmar", "NotoSansMyanmar-Regular", [2]rune{0x1000, 0x109f}, [2]rune{0xa9e0, 0xa9ff}, [2]rune{0xaa60, 0xaa7f}),
	face("georgian", "NotoSansGeorgian-Regular", [2]rune{0x10a0, 0x10ff}, [2]rune{0x1c90, 0x1cbf}, [2]rune{0x2d00, 0x2d2f}),
	face("ethiopic", "NotoSansEthiopic-Regular", [2]rune{0x1200, 0x139f}, [2]rune{0x2d80, 0x2ddf}, [2]rune{0xab00, 0xab2f}),
	face("khmer", "NotoSansKhmer-Regular", [2]rune{0x1780, 0x17ff}, [2]rune{0x19e0, 0x19ff}),
	face("cjk", "DroidSansFallback", [2]rune{0x1100, 0x11ff}, [2]rune{0x2e80, 0x31ff}, [2]rune{0x3200, 0x9fff}, [2]rune{0xac00, 0xd7ff}, [2]rune{0xf900, 0xfaff}, [2]rune{0xfe30, 0xfe4f}, [2]rune{0xff00, 0xffef}),
}

func face(name, file string, blocks ...[2]rune) typeface {
	load := sync.OnceValue(func() loaded { return unpack(file) })
	return typeface{name, file, blocks, load, sync.OnceValue(func() []byte { return byGlyph(load().ttf) })}
}

// unpack reads a font of the program. It panics if it cannot, because then the program is broken.
func unpack(file string) loaded {
	packed, err := files.Open("fonts/" + file + ".ttf.gz")
	if err != nil {
		panic(fmt.Errorf("open a font: %w", err))
	}
	r, err := gzip.NewReader(packed)
	if err != nil {
		panic(fmt.Errorf("unpack the font %s: %w", file, err))
	}
	ttf, err := io.ReadAll(r)
	if err != nil {
		panic(fmt.Errorf("unpack the font %s: %w", file, err))
	}
	parsed, err := font.ParseTTF(bytes.NewReader(ttf))
	if err != nil {
		panic(fmt.Errorf("parse the font %s: %w", file, err))
	}
	return loaded{ttf, parsed.Font}
}

// firstGlyph is the code of a font's first glyph where codes are glyphs. It is the first that Unicode keeps free for private use,
// so that a reader who does not know the text beside a glyph shows no wrong letter.
const (
	firstGlyph = 0xe000
	lastGlyph  = 0xf8ff
)

// byGlyph returns a copy of a font in which codes are glyphs, not letters. A shaped text has glyphs that belong to no letter.
func byGlyph(ttf []byte) []byte {
	var cmap bytes.Buffer
	for _, v := range []uint16{
		0, 1, 3, 1, 0, 12, // one table, for Unicode
		4, 32, 0, 4, 4, 1, 0, // of two segments
		lastGlyph, 0xffff, 0, firstGlyph, 0xffff, 0x10000 - firstGlyph, 1, 0, 0,
	} {
		_ = binary.Write(&cmap, binary.BigEndian, v) // a buffer takes everything
	}
	out := slices.Concat(ttf, make([]byte, (4-len(ttf)%4)%4))
	at := len(out)
	out = append(out, cmap.Bytes()...)
	for record := out[12 : 12+16*int(binary.BigEndian.Uint16(out[4:]))]; len(record) > 0; record = record[16:] {
		if string(record[:4]) == "cmap" {
			binary.BigEndian.PutUint32(record[8:], uint32(at))
			binary.BigEndian.PutUint32(record[12:], uint32(cmap.Len()))
		}
	}
	return out
}
