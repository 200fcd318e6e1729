// Package pdftest reads the texts of our PDFs for tests, as a reader of PDFs gives them to who copies or searches. It knows only
// what ours contain.
package pdftest

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
)

var (
	stream = regexp.MustCompile(`(?s)/FlateDecode[^>]*>>\nstream\n(.*?)\nendstream`)
	fonts  = regexp.MustCompile(`/(F\w+) (\d+) 0 R`)
	wide   = regexp.MustCompile(`(?m)^(\d+) 0 obj\n<</Type /Font\n/Subtype /Type0`)
	// piece is a choice of font, a text that stands for glyphs, its end, or glyphs.
	piece = regexp.MustCompile(`(?s)/(F\w+) [\d.]+ Tf|ActualText <FEFF(\w*)>|(EMC)|\(((?:\\.|[^\\)])*)\) ?Tj`)
	mark  = regexp.MustCompile(`(?s)\\(.)`)
)

// Text returns the texts of a PDF, each on a line.
func Text(pdf []byte) string {
	isWide := map[string]bool{}
	for _, object := range wide.FindAllSubmatch(pdf, -1) {
		isWide[string(object[1])] = true
	}
	object := map[string]string{}
	for _, font := range fonts.FindAllSubmatch(pdf, -1) {
		object[string(font[1])] = string(font[2])
	}
	var out strings.Builder
	for _, packed := range stream.FindAllSubmatch(pdf, -1) {
		r, err := zlib.NewReader(bytes.NewReader(packed[1]))
		if err != nil {
			continue // a picture
		}
		page, _ := io.ReadAll(r) // a test looks for what is missing
		if !bytes.Contains(page, []byte(" Tf ")) {
			continue // a font
		}
		var font string
		told := false // by a text that stands for the glyphs
		for _, p := range piece.FindAllSubmatch(page, -1) {
			switch {
			case p[1] != nil:
				font = string(p[1])
			case p[2] != nil:
				units, _ := hex.DecodeString(string(p[2]))
				told = true
				out.WriteString(fromUTF16(units) + "\n")
			case p[3] != nil:
				told = false
			case told:
			case isWide[object[font]]:
				out.WriteString(fromUTF16(unescape(p[4])) + "\n")
			default:
				text, _ := charmap.Windows1252.NewDecoder().Bytes(unescape(p[4]))
				out.Write(append(text, '\n'))
			}
		}
	}
	return out.String()
}

func unescape(text []byte) []byte {
	return mark.ReplaceAllFunc(text, func(m []byte) []byte {
		if m[1] == 'r' {
			return []byte("\r")
		}
		return m[1:]
	})
}

func fromUTF16(bytes []byte) string {
	units := make([]uint16, 0, len(bytes)/2)
	for ; len(bytes) > 1; bytes = bytes[2:] {
		units = append(units, uint16(bytes[0])<<8|uint16(bytes[1]))
	}
	return string(utf16.Decode(units))
}
