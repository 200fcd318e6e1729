package typeface

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/text/unicode/bidi"
)

// draw writes the runs of a line from x on, letters standing at y.
func (w *Writer) draw(line []shaping.Output, text []rune, x, y, size float64) {
	for _, run := range slices.SortedStableFunc(slices.Values(line), func(a, b shaping.Output) int { return cmp.Compare(a.VisualIndex, b.VisualIndex) }) {
		for rest := run.Glyphs; len(rest) > 0; {
			n := 0
			plain := isPlain(run, rest[0], text)
			for n < len(rest) && isPlain(run, rest[n], text) == plain {
				n++
			}
			if plain {
				w.letters(run, rest[:n], text, x, y, size)
			} else {
				w.glyphs(run, rest[:n], text, x, y, size)
			}
			for _, g := range rest[:n] {
				x += w.mm(g.Advance, size)
			}
			rest = rest[n:]
		}
	}
}

// isPlain says whether a glyph is just how its font draws one letter, at its place.
func isPlain(run shaping.Output, g shaping.Glyph, text []rune) bool {
	if run.Direction != di.DirectionLTR || g.RunesCount() != 1 || g.GlyphsCount() != 1 || g.XOffset != 0 || g.YOffset != 0 || g.GlyphID == 0 {
		return false
	}
	letter := text[g.TextIndex()]
	own, has := run.Face.NominalGlyph(letter)
	return has && own == g.GlyphID && letter <= 0xffff
}

// letters writes glyphs by their letters: then every reader of the file finds the text.
func (w *Writer) letters(run shaping.Output, glyphs []shaping.Glyph, text []rune, x, y, size float64) {
	of := w.names[run.Face.Font]
	w.use(of.name, of.load().ttf, size)
	letters := make([]rune, len(glyphs))
	for i, g := range glyphs {
		letters[i] = text[g.TextIndex()]
	}
	w.pdf.Text(x, y, string(letters))
}

// glyphs writes glyphs one by one, each at its place, and beside those of each letter which letter it is: readers of the file
// put letters into order by their places.
func (w *Writer) glyphs(run shaping.Output, glyphs []shaping.Glyph, text []rune, x, y, size float64) {
	of := w.names[run.Face.Font]
	w.use(of.name+"-glyphs", of.glyphs(), size)
	for i, g := range glyphs {
		if i == 0 || g.TextIndex() != glyphs[i-1].TextIndex() {
			w.pdf.RawWriteStr("/Span <</ActualText <FEFF" + asUTF16(seen(run, text[g.TextIndex():g.TextIndex()+g.RunesCount()])) + ">>> BDC")
		}
		code := firstGlyph + rune(g.GlyphID)
		if code > lastGlyph {
			code = firstGlyph // its box
		}
		w.pdf.Text(x+w.mm(g.XOffset, size), y-w.mm(g.YOffset, size), string(code))
		x += w.mm(g.Advance, size)
		if i == len(glyphs)-1 || g.TextIndex() != glyphs[i+1].TextIndex() {
			w.pdf.RawWriteStr("EMC")
		}
	}
}

// seen is a text as it looks: from right to left, a bracket has the form of the other one.
func seen(run shaping.Output, text []rune) []rune {
	if run.Direction == di.DirectionRTL && len(text) == 1 {
		return []rune(bidi.ReverseString(string(text)))
	}
	return text
}

func asUTF16(text []rune) string {
	var out strings.Builder
	for _, unit := range utf16.Encode(text) {
		fmt.Fprintf(&out, "%04X", unit)
	}
	return out.String()
}

// use chooses a font of the PDF, which gets it at its first use. fpdf writes into the bytes that it is given, so it has a copy.
func (w *Writer) use(name string, ttf []byte, size float64) {
	if !w.added[name] {
		w.added[name] = true
		w.pdf.AddUTF8FontFromBytes(name, "", bytes.Clone(ttf))
	}
	w.pdf.SetFont(name, "", size)
}
