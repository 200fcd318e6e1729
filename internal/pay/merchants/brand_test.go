package merchants

import (
	"fmt"
	"testing"
)

// Whatever a shop's colour is, the text of its button is readable (WCAG 2.2, 1.4.3).
func TestBrandCanAlwaysBeRead(t *testing.T) {
	for r := 0; r < 256; r += 15 {
		for g := 0; g < 256; g += 15 {
			for b := 0; b < 256; b += 15 {
				brand := Brand{Color: fmt.Sprintf("#%02x%02x%02x", r, g, b)}
				if got := Contrast(brand.Color, brand.Ink()); got < 4.5 {
					t.Errorf("%s on %s has a contrast of %.2f, want 4.5", brand.Ink(), brand.Color, got)
				}
			}
		}
	}
	if got := fmt.Sprintf("%.2f %.2f", Contrast("#000000", "#ffffff"), Contrast("#767676", "#ffffff")); got != "21.00 4.54" {
		t.Errorf("contrasts are %s, want 21.00 4.54", got)
	}
}

func TestBrandRefusesNonsense(t *testing.T) {
	for _, b := range []Brand{
		{Color: "red"}, {Color: "#fff"}, {Color: "#12345g"}, {Color: "#123456;"}, {Frames: []string{"*"}}, {Frames: []string{"https://a.example/x"}},
		{Frames: []string{"https://*.example"}}, {Frames: []string{"javascript:alert(1)"}}, {Frames: []string{"https://a.example; script-src *"}}, {Frames: []string{"shop.example"}},
	} {
		if err := b.Check(); err == nil {
			t.Errorf("%+v is accepted", b)
		}
	}
	if err := (Brand{Color: "#1a2b3c", Frames: []string{"https://shop.example", "http://127.0.0.1:3000"}}).Check(); err != nil {
		t.Errorf("a valid brand is refused: %v", err)
	}
}
