package typeface

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"codeberg.org/go-pdf/fpdf"
	"github.com/cascadapay/cascada/internal/bench/growth"
	"github.com/cascadapay/cascada/internal/statement/pdftest"
)

// page is a PDF of one text in a cell.
func page(t *testing.T, wide float64, style, text string) []byte {
	t.Helper()
	pdf := fpdf.New("P", "mm", "A4", "")
	pdf.AddPage()
	w := On(pdf)
	w.Font(style, 10)
	w.Cell(wide, 5, text, "L", false)
	if x, _ := pdf.GetXY(); x < wide {
		t.Errorf("%q: the cell ends at %g", text, x)
	}
	var out bytes.Buffer
	if err := pdf.Output(&out); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out.Bytes()
}

func TestEveryFontIsReadAndAsked(t *testing.T) {
	all := append(slices.Clone(others), regular, bold)
	found, err := fs.Glob(files, "fonts/*.gz")
	if err != nil || len(found) != len(all) {
		t.Errorf("%d fonts are in the program, and %d are asked (%v)", len(found), len(all), err)
	}
	w := On(fpdf.New("P", "mm", "A4", ""))
	for _, of := range others {
		face, has := w.face(of), 0
		for _, block := range of.blocks {
			for r := block[0]; r <= block[1]; r++ {
				if w.ResolveFace(r) == face {
					has++
				}
			}
		}
		if has < 40 {
			t.Errorf("%s is asked for %d letters", of.name, has)
		}
	}
}

// Letters of one font, of several, and shaped ones are in the file as they are read.
func TestLettersAreFound(t *testing.T) {
	for _, style := range []string{"", "B", "I"} {
		for _, text := range []string{
			"ẼẽĨĩŨũỸỹÃãÕõÑñ ʼ", "ĄąČčĐđĞğİıŁłŐőŘřŞşŢţŻż", "Ắắằẳẵặ Ữữ Ợợ Ðð Þþ ſ", "ΑΒΓ αβγ άέήίόύώ ϊϋ ς", "АБВ абв ЁёЇїЄєҐґЎў Ѣѣ Ққ", "漢字 汉字 ひらがな カタカナ 한글",
			"Հայ ქარ አማ", "हिन्दी ไทย ລາວ ខ្មែរ မြန်မာ தமிழ் తెలుగు ಕನ್ನಡ മലയാളം සිංහල ਪੰਜਾਬੀ ગુજરાતી ଓଡ଼ିଆ বাংলা", "₲₡₿€₱₹₺₽₩₫₴₵₦₪", "«» „“ ‘’ – — … №",
		} {
			if got := strings.ReplaceAll(pdftest.Text(page(t, 180, style, text)), "\n", ""); got != text {
				t.Errorf("%q%s: the file says %q", text, style, got)
			}
		}
	}
}

// What no font has is a box, and whoever copies it gets the character.
func TestWhatNoFontHasIsABox(t *testing.T) {
	for _, text := range []string{"😀", "𠮷", "𓀀", "\U0010ffff", "\uf8ff", "߷"} {
		pdf := fpdf.New("P", "mm", "A4", "")
		pdf.SetCompression(false)
		pdf.AddPage()
		On(pdf).Cell(100, 5, text, "L", false)
		var out bytes.Buffer
		if err := pdf.Output(&out); err != nil || !strings.Contains(out.String(), "(\xe0\x00) Tj") {
			t.Errorf("%q has no box (%v)", text, err)
		}
		if got := pdftest.Text(page(t, 100, "", text)); got != text+"\n" {
			t.Errorf("%q is copied as %q", text, got)
		}
	}
}

// A text that is too long for its cell says so.
func TestWhatIsCutOffHasAnEllipsis(t *testing.T) {
	for _, piece := range []string{"Peluquería ", "Кафе ", "山田", "محمد ", "g\u0303"} {
		got := strings.ReplaceAll(pdftest.Text(page(t, 40, "", strings.Repeat(piece, 500))), "\n", "")
		if !strings.Contains(got, "…") || len(got) > 200 {
			t.Errorf("%q is cut to %q", piece, got)
		}
		if got := strings.ReplaceAll(pdftest.Text(page(t, 40, "", piece)), "\n", ""); strings.Contains(got, "…") {
			t.Errorf("%q alone is cut to %q", piece, got)
		}
	}
}

// fpdf writes into the bytes of a font while it makes a file.
func TestFontsStayAsTheyAre(t *testing.T) {
	before := bytes.Clone(regular.load().ttf)
	page(t, 100, "", "Кафе g\u0303")
	if !bytes.Equal(before, regular.load().ttf) {
		t.Error("a document changed the font of the next one")
	}
}

func FuzzCell(f *testing.F) {
	for _, text := range []string{"Кафе", "g\u0303", "محمد (1)", "\xff\u202e", "👩\u200d👧", "\u1100\u1161\u11a8", "か\u3099", "\U000e0041"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { page(t, 60, "", text) })
}

// A text costs what its letters cost: with or without lines, in one script or in turns of two.
func TestTextsCostNoMoreThanTheirSize(t *testing.T) {
	for _, piece := range []string{"Кафе ", "محمد", "a山", "g\u0303", "a\u05d0", "😀\n"} {
		growth.Of(t, piece, 64<<10, growth.Repeated("", piece, "ж"), func(text string) int {
			pdf := fpdf.New("P", "mm", "A4", "")
			pdf.SetAutoPageBreak(true, 15)
			pdf.AddPage()
			w := On(pdf)
			w.Paragraphs(180, 5, text)
			w.Cell(60, 5, text, "L", false)
			var out bytes.Buffer
			if err := pdf.Output(&out); err != nil {
				t.Errorf("%q: %v", piece, err)
			}
			return out.Len()
		})
	}
}
