// Package paper makes a PDF of texts and pictures, for providers that take evidence only as files, or one file where there are
// several.
package paper

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	_ "image/png" // pictures of evidence
	"strconv"
	"time"
	"unicode/utf8"

	"codeberg.org/go-pdf/fpdf"
	"github.com/cascadapay/cascada/internal/statement/typeface"
)

// Sheet begins a new page: a text, or a picture.
type Sheet struct {
	Title   string
	Text    string
	Picture []byte // PNG or JPEG; nil for a text
}

const (
	// maxText is the longest text in all, in characters: about two hundred pages.
	maxText = 500_000
	// maxPixels bounds a picture in memory: at most twelve bytes each.
	maxPixels = 25_000_000
	quality   = 85

	margin, width, height = 15.0, 210 - 2*15.0, 297 - 2*15.0 // millimetres
	head                  = 10.0                             // what a title takes
)

// Make makes a PDF. The same sheets always give the same bytes. A character that no font has is shown as a box; who copies the
// text of the document gets the character.
//
// Errors: what is wrong with a sheet, in words for the merchant.
func Make(sheets []Sheet, at time.Time) ([]byte, error) {
	pdf := fpdf.New("P", "mm", "A4", "")
	pdf.SetCatalogSort(true)
	pdf.SetCreationDate(at)
	pdf.SetModificationDate(at)
	pdf.SetMargins(margin, margin, margin)
	pdf.SetAutoPageBreak(true, margin)
	write := typeface.On(pdf)
	left := maxText
	for i, s := range sheets {
		pdf.AddPage()
		write.Font("B", 11)
		write.Cell(width, head, s.Title, "L", false)
		pdf.Ln(head)
		if s.Picture != nil {
			if err := picture(pdf, strconv.Itoa(i), s.Picture); err != nil {
				return nil, err
			}
			continue
		}
		if left -= utf8.RuneCountInString(s.Text); left < 0 {
			return nil, errors.New("the texts are too long for a document")
		}
		write.Font("", 10)
		write.Paragraphs(width, 5, s.Text)
	}
	var out bytes.Buffer
	if err := pdf.Output(&out); err != nil {
		return nil, fmt.Errorf("the document cannot be made: %w", err)
	}
	return out.Bytes(), nil
}

// picture draws a picture on the rest of a page. It is drawn anew first, because a PDF knows only some kinds.
func picture(pdf *fpdf.Fpdf, name string, content []byte) error {
	size, _, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return errors.New("a picture cannot be read")
	}
	if size.Width < 1 || size.Height < 1 || size.Width > maxPixels/size.Height {
		return errors.New("a picture has too many pixels")
	}
	drawn, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return errors.New("a picture cannot be read")
	}
	flat := image.NewRGBA(image.Rect(0, 0, size.Width, size.Height))
	draw.Draw(flat, flat.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(flat, flat.Bounds(), drawn, drawn.Bounds().Min, draw.Over)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, flat, &jpeg.Options{Quality: quality}); err != nil {
		return errors.New("a picture cannot be drawn")
	}
	as := fpdf.ImageOptions{ImageType: "JPG"}
	pdf.RegisterImageOptionsReader(name, as, &out)
	w, h := width, width*float64(size.Height)/float64(size.Width)
	if most := height - head; h > most {
		w, h = w*most/h, most
	}
	pdf.ImageOptions(name, margin, margin+head, w, h, false, as, 0, "")
	return nil
}
