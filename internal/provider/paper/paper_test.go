package paper

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/statement/pdftest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// drawn is a picture, which a PNG holds interlaced or not, transparent or not.
func drawn(t *testing.T, w, h int, as func(io.Writer, image.Image) error) []byte {
	t.Helper()
	m := image.NewNRGBA64(image.Rect(0, 0, w, h))
	m.Set(1, 1, color.NRGBA{200, 0, 0, 100})
	var out bytes.Buffer
	if err := as(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Texts are on pages, with every letter of Spanish and Portuguese, and no other character is lost silently.
func TestTextsAreWritten(t *testing.T) {
	pdf, err := Make([]Sheet{{Title: "Receipt", Text: "Ação número 7: € 5\r\nel niño. 😀"}, {Title: "Other", Text: strings.Repeat("line\n", 200)}}, noon)
	if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Fatal(err)
	}
	text := pdftest.Text(pdf)
	for _, want := range []string{"Receipt", "Ação número 7: € 5", "el niño. ", "😀", "Other"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	if n := bytes.Count(pdf, []byte("/Type /Page\n")); n != 5 {
		t.Errorf("it has %d pages", n)
	}
	if again, _ := Make([]Sheet{{Title: "Receipt", Text: "Ação número 7: € 5\r\nel niño. 😀"}, {Title: "Other", Text: strings.Repeat("line\n", 200)}}, noon); !bytes.Equal(pdf, again) {
		t.Error("the same sheets give another document")
	}
	if _, err := Make([]Sheet{{Text: strings.Repeat("a", maxText)}, {Text: "b"}}, noon); err == nil {
		t.Error("a text without end is written")
	}
}

// Each picture has its page, whatever its form.
func TestPicturesAreDrawn(t *testing.T) {
	asJPEG := func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }
	pdf, err := Make([]Sheet{
		{Title: "wide", Picture: drawn(t, 400, 20, png.Encode)}, {Title: "high", Picture: drawn(t, 20, 400, png.Encode)}, {Title: "a photo", Picture: drawn(t, 30, 30, asJPEG)},
	}, noon)
	if err != nil {
		t.Fatal(err)
	}
	if pages, pictures := bytes.Count(pdf, []byte("/Type /Page\n")), bytes.Count(pdf, []byte("/Subtype /Image")); pages != 3 || pictures != 3 {
		t.Errorf("%d pages with %d pictures", pages, pictures)
	}
	for what, content := range map[string][]byte{"no picture": []byte("\x89PNG\r\n\x1a\n"), "half a picture": drawn(t, 50, 50, png.Encode)[:60]} {
		if _, err := Make([]Sheet{{Picture: content}}, noon); err == nil || err.Error() != "a picture cannot be read" {
			t.Errorf("%s: %v", what, err)
		}
	}
	var huge bytes.Buffer
	_ = png.Encode(&huge, image.NewPaletted(image.Rect(0, 0, 8000, 6000), color.Palette{color.White}))
	if _, err := Make([]Sheet{{Picture: huge.Bytes()}}, noon); err == nil || err.Error() != "a picture has too many pixels" {
		t.Errorf("a huge picture: %v", err)
	}
}
