package evidence_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/pay/evidence"
)

func TestFileIsWhatItsContentIs(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"a.pdf", "%PDF-1.7 …", evidence.PDF},
		{"a.png", "\x89PNG\r\n\x1a\n", evidence.PNG},
		{"a.png", "\xff\xd8\xff\xe0", evidence.JPEG}, // whatever its name says
		{"a.txt", "Hello\n", evidence.Text},
		{"A.CSV", "a,b\r\n", evidence.Text},
		{"a.html", "<script>alert(1)</script>", ""},
		{"a.svg", "<svg/>", ""},
		{"a.txt", "\x00\x01", ""},
		{"a.gif", "GIF89a", ""},
		{"a", "", ""},
	} {
		if got := evidence.TypeOf(c.name, []byte(c.content)); got != c.want {
			t.Errorf("%s with %q is %q, want %q", c.name, c.content, got, c.want)
		}
	}
	for name, want := range map[string]bool{"a b.pdf": true, "": false, "../a": false, `a\b`: false, "a\nb": false} {
		if evidence.GoodName(name) != want {
			t.Errorf("the name %q is good: %v", name, !want)
		}
	}
	if f := evidence.Describe("receipt", evidence.JPEG, []byte("\xff\xd8\xff")); f.Name != "receipt.jpg" || f.Size != 3 {
		t.Errorf("described as %+v", f)
	}
}
