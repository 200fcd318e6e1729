package typeface

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeberg.org/go-pdf/fpdf"
	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/language"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

const (
	// longestLine bounds what one cell is asked to show, in characters.
	longestLine = 1000
	// longestPiece is how much of a paragraph is laid out at once, in characters: measures of more would not fit their type.
	longestPiece = 4000
	em           = 100     // the size at which texts are laid out: measures are of 64 parts of a unit
	perEm        = 64 * em // what an em measures there
	ellipsis     = '…'
)

// Writer writes texts into one PDF. A text that Windows-1252 has, which is all of Spanish, Portuguese and English, is written with
// the standard font that every reader has. For any other, the letters that it needs of a font are put into the file.
type Writer struct {
	pdf    *fpdf.Fpdf
	style  string // "", "B" or "I"
	size   float64
	split  shaping.Segmenter
	shaper shaping.HarfbuzzShaper
	wrap   shaping.LineWrapper
	faces  map[string]*font.Face // by name
	names  map[*font.Font]typeface
	added  map[string]bool
}

// On returns a writer for a PDF.
func On(pdf *fpdf.Fpdf) *Writer {
	return &Writer{pdf: pdf, size: 10, faces: map[string]*font.Face{}, names: map[*font.Font]typeface{}, added: map[string]bool{}}
}

// Font chooses how what follows is written: "" or "B" for bold, "I" for italic, and the size in points.
func (w *Writer) Font(style string, size float64) { w.style, w.size = style, size }

// Cell writes a text on one line of a cell, and goes to the cell's right end. What is too long is made smaller if it is to stay
// whole, and else is cut off, with an ellipsis.
func (w *Writer) Cell(wide, high float64, text, align string, whole bool) {
	text = clean(firstOf(text, longestLine))
	if encoded, ok := standard(text); ok {
		w.standardCell(wide, high, encoded, align, whole)
		return
	}
	x, y := w.pdf.GetXY()
	letters, size, room := []rune(text), w.size, wide-1
	if measure := w.measure(w.shape(letters), size); whole && measure > room {
		size *= room / measure
	}
	line := w.line(&letters, room, whole)
	at := x + w.pdf.GetCellMargin()
	switch align {
	case "R":
		at = x + wide - w.pdf.GetCellMargin() - w.measure(line, size)
	case "C":
		at = x + (wide-w.measure(line, size))/2
	}
	w.draw(line, letters, at, baseline(y, high, w.mm(perEm, size)), size)
	w.pdf.SetXY(x+wide, y)
}

// standardCell writes a text with the standard font.
func (w *Writer) standardCell(wide, high float64, text, align string, whole bool) {
	w.pdf.SetFont("Helvetica", w.style, w.size)
	measure := w.pdf.GetStringWidth(text)
	switch {
	case measure <= wide-1:
	case whole:
		w.pdf.SetFontSize(w.size * (wide - 1) / measure)
	default:
		end, used := 0, w.pdf.GetStringWidth("\x85")
		for ; end < len(text); end++ {
			if used += w.pdf.GetStringWidth(text[end : end+1]); used > wide-1 {
				break
			}
		}
		text = strings.TrimRight(text[:end], " ") + "\x85"
	}
	w.pdf.CellFormat(wide, high, text, "", 0, align, false, 0, "")
	w.pdf.SetFontSize(w.size)
}

// Paragraphs writes a text on as many lines and pages as it needs.
func (w *Writer) Paragraphs(wide, high float64, text string) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	if encoded, ok := standard(strings.Join(lines, "\n")); ok {
		w.pdf.SetFont("Helvetica", w.style, w.size)
		w.pdf.MultiCell(wide, high, encoded, "", "L", false)
		return
	}
	for _, line := range lines {
		letters := []rune(line)
		for piece := range slices.Chunk(letters, longestPiece) {
			w.paragraph(wide, high, piece)
		}
		if len(letters) == 0 {
			w.pdf.Ln(high)
		}
	}
}

func (w *Writer) paragraph(wide, high float64, text []rune) {
	left, _, _, _ := w.pdf.GetMargins()
	_, page := w.pdf.GetPageSize()
	_, foot := w.pdf.GetAutoPageBreak()
	lines, _ := w.wrap.WrapParagraphF(shaping.WrapConfig{Direction: base(text), DisableTrailingWhitespaceTrim: true}, w.units(wide-2*w.pdf.GetCellMargin()), text, shaping.NewSliceIterator(w.shape(text)))
	for _, line := range lines {
		if w.pdf.GetY()+high > page-foot {
			w.pdf.AddPage()
		}
		w.draw(line, text, left+w.pdf.GetCellMargin(), baseline(w.pdf.GetY(), high, w.mm(perEm, w.size)), w.size)
		w.pdf.SetXY(left, w.pdf.GetY()+high)
	}
}

// shape divides a text by direction, script and font, and chooses the glyphs of each part.
func (w *Writer) shape(text []rune) []shaping.Output {
	if len(text) == 0 {
		return nil
	}
	off := []shaping.FontFeature{{Tag: opentype.MustNewTag("kern")}, {Tag: opentype.MustNewTag("liga")}}
	var runs []shaping.Output
	for _, part := range w.split.Split(shaping.Input{Text: text, RunEnd: len(text), Size: em << 6, Language: language.NewLanguage("en")}, w) {
		if part.Direction == di.DirectionLTR && !complexScript(part.Script) {
			part.FontFeatures = off // a letter stays a letter, as readers of the file find it
		}
		runs = append(runs, w.shaper.ShapeNoExtents(part))
	}
	return runs
}

// complexScript says whether letters of a script join or change places.
func complexScript(s language.Script) bool {
	return !slices.Contains([]language.Script{language.Latin, language.Greek, language.Cyrillic, language.Armenian, language.Georgian, language.Han,
		language.Hiragana, language.Katakana, language.Hangul, language.Common, language.Inherited, language.Unknown}, s)
}

// ResolveFace returns the font that has a letter, or else the one whose box stands for it.
func (w *Writer) ResolveFace(letter rune) *font.Face {
	own := regular
	if w.style == "B" {
		own = bold
	}
	mine := w.face(own)
	if has(mine, letter) {
		return mine
	}
	for _, other := range others {
		for _, block := range other.blocks {
			if letter < block[0] || letter > block[1] {
				continue
			}
			if face := w.face(other); has(face, letter) {
				return face
			}
		}
	}
	return mine
}

func has(face *font.Face, letter rune) bool {
	_, found := face.NominalGlyph(letter)
	return found
}

func (w *Writer) face(of typeface) *font.Face {
	if face := w.faces[of.name]; face != nil {
		return face
	}
	parsed := of.load().font
	face := font.NewFace(parsed)
	w.faces[of.name], w.names[parsed] = face, of
	return face
}

// line lays out one line. If it is not to stay whole, it ends with an ellipsis where the room ends, which is then in the text too.
func (w *Writer) line(text *[]rune, room float64, whole bool) []shaping.Output {
	letters := *text
	how := shaping.WrapConfig{Direction: base(letters), BreakPolicy: shaping.Always, DisableTrailingWhitespaceTrim: true}
	width := fixed.Int26_6(math.MaxInt32)
	if !whole {
		*text = append(slices.Clone(letters), ellipsis)
		how.TruncateAfterLines, width = 1, w.units(room)
		how.Truncator = w.shaper.ShapeNoExtents(shaping.Input{
			Text: *text, RunStart: len(letters), RunEnd: len(letters) + 1, Direction: how.Direction, Face: w.ResolveFace(ellipsis), Size: em << 6, Script: language.Common,
		})
	}
	lines, _ := w.wrap.WrapParagraphF(how, width, letters, shaping.NewSliceIterator(w.shape(letters)))
	if len(lines) == 0 {
		return nil
	}
	return slices.Clone(lines[0])
}

// base is the direction of a text: that of its first letter.
func base(text []rune) di.Direction {
	for _, r := range text {
		if unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana, unicode.Nko) {
			return di.DirectionRTL
		}
		if unicode.IsLetter(r) {
			break
		}
	}
	return di.DirectionLTR
}

// measure returns how wide runs are, in the PDF's unit.
func (w *Writer) measure(runs []shaping.Output, size float64) (wide float64) {
	for _, r := range runs {
		wide += w.mm(r.Advance, size)
	}
	return wide
}

// mm converts a measure of a layout to the PDF's unit, and units back.
func (w *Writer) mm(measure fixed.Int26_6, size float64) float64 {
	return w.pdf.PointConvert(size) * float64(measure) / perEm
}

func (w *Writer) units(wide float64) fixed.Int26_6 {
	return fixed.Int26_6(wide / w.pdf.PointConvert(w.size) * perEm)
}

// baseline returns where letters of a height stand in a cell: where fpdf has them.
func baseline(y, high, letters float64) float64 { return y + high/2 + 0.3*letters }

// clean returns a text as it is laid out: letters composed, and without what has no form of its own, such as marks that would show
// the rest in another order than the one in which it is read.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == zeroWidthNonJoiner || r == zeroWidthJoiner: // choose between forms of letters
			return r
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
			return -1
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		}
		return r
	}, norm.NFC.String(strings.ToValidUTF8(text, string(utf8.RuneError))))
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

// firstOf returns at most n characters of a text.
func firstOf(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

// standard returns a text as the standard fonts encode it, if they have all of it.
func standard(text string) (string, bool) {
	encoded, err := charmap.Windows1252.NewEncoder().String(text)
	return encoded, err == nil
}
