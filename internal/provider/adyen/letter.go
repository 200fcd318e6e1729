package adyen

import (
	"bytes"
	"fmt"
	"strings"
)

// A page of a letter: A4, in points, in a font whose letters are all equally wide, so nothing has to be measured.
const (
	pageWidth, pageHeight = 595, 842
	pageMargin            = 57
	fontSize, lineHeight  = 10, 13
	lettersInLine         = (pageWidth - 2*pageMargin) / (fontSize * 6 / 10)
	linesOnPage           = (pageHeight - 2*pageMargin) / lineHeight
)

// letter is a PDF of a text. Adyen takes documents alone, no texts. The same text is always the same file. A letter that Western
// European languages do not have becomes a question mark.
func letter(text string) []byte {
	lines := wrap(text)
	pages := max(1, (len(lines)+linesOnPage-1)/linesOnPage)
	var out bytes.Buffer
	var at []int
	object := func(format string, values ...any) {
		at = append(at, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(at)}, values...)...)
	}
	out.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object("<< /Type /Pages /Count %d /Kids [ %s] >>", pages, kids.String())
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>")
	for i := range pages {
		var shown bytes.Buffer
		fmt.Fprintf(&shown, "BT /F1 %d Tf %d TL %d %d Td\n", fontSize, lineHeight, pageMargin, pageHeight-pageMargin-fontSize)
		for _, line := range lines[i*linesOnPage : min(len(lines), (i+1)*linesOnPage)] {
			shown.WriteString("(")
			shown.Write(western(line))
			shown.WriteString(") Tj T*\n")
		}
		shown.WriteString("ET")
		object("<< /Type /Page /Parent 2 0 R /MediaBox [ 0 0 %d %d ] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", pageWidth, pageHeight, 5+2*i)
		object("<< /Length %d >>\nstream\n%s\nendstream", shown.Len(), shown.Bytes())
	}
	table := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, table)
	return out.Bytes()
}

// wrap breaks a text into lines that fit, between words where it can.
func wrap(text string) (lines []string) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\f", "\n", "\t", "    ").Replace(text)
	for line := range strings.SplitSeq(text, "\n") {
		rest := []rune(line)
		for len(rest) > lettersInLine {
			cut := lettersInLine
			for i := cut; i > cut/2; i-- {
				if rest[i] == ' ' {
					cut = i
					break
				}
			}
			lines = append(lines, string(rest[:cut]))
			rest = rest[cut:]
			if rest[0] == ' ' {
				rest = rest[1:]
			}
		}
		lines = append(lines, string(rest))
	}
	return lines
}

// marks are the letters of WinAnsiEncoding that have another number in Unicode.
var marks = map[rune]byte{
	'€': 0x80, '‚': 0x82, 'ƒ': 0x83, '„': 0x84, '…': 0x85, '†': 0x86, '‡': 0x87, 'ˆ': 0x88, '‰': 0x89, 'Š': 0x8a, '‹': 0x8b, 'Œ': 0x8c, 'Ž': 0x8e,
	'‘': 0x91, '’': 0x92, '“': 0x93, '”': 0x94, '•': 0x95, '–': 0x96, '—': 0x97, '˜': 0x98, '™': 0x99, 'š': 0x9a, '›': 0x9b, 'œ': 0x9c, 'ž': 0x9e, 'Ÿ': 0x9f,
}

// western is a line in WinAnsiEncoding, as the content of a PDF's string.
func western(line string) (out []byte) {
	for _, r := range line {
		switch mark, known := marks[r]; {
		case r == '(' || r == ')' || r == '\\':
			out = append(out, '\\', byte(r))
		case r >= ' ' && r <= '~' || r >= 0xa0 && r <= 0xff:
			out = append(out, byte(r))
		case known:
			out = append(out, mark)
		default:
			out = append(out, '?')
		}
	}
	return out
}
