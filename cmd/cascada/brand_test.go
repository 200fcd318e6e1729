package main_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The operator gives a shop its colour and logo, as the help says.
func TestShopIsBranded(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		var k struct{ Shop struct{ ID string } }
		if err := json.Unmarshal([]byte(u.does(t, "merchant", "create", "--database", database, "--name", "Acme", "--email", "a@example.com", "--json")), &k); err != nil || k.Shop.ID == "" {
			t.Fatalf("the merchant has no shop: %+v (%v)", k, err)
		}
		var picture bytes.Buffer
		if err := png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 60, 20))); err != nil {
			t.Fatal(err)
		}
		logo := filepath.Join(t.TempDir(), "logo.png")
		if err := os.WriteFile(logo, picture.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		brand := func(args ...string) string {
			return u.does(t, append([]string{"shop", "brand", "--database", database, k.Shop.ID}, args...)...)
		}
		if told := brand("--color", "#0a2540", "--logo", logo); !strings.Contains(told, `colour "#0a2540"`) || strings.Contains(told, `logo ""`) {
			t.Errorf("with a brand, the shop is %s", told)
		}
		if told := brand("--frame", "https://shop.example"); strings.Contains(told, `logo ""`) || !strings.Contains(told, "#0a2540") {
			t.Errorf("settings that were not given changed: %s", told)
		}
		if told := brand("--no-logo", "--color", ""); !strings.Contains(told, `colour "", logo ""`) {
			t.Errorf("without a logo and a colour it is %s", told)
		}
		if told := brand("--pass-fee"); !strings.Contains(told, "fee shown") {
			t.Errorf("the fee is not shown: %s", told)
		}
		if told := brand("--color", "#0a2540"); !strings.Contains(told, "fee shown") {
			t.Errorf("the fee did not stay shown: %s", told)
		}
		if told := brand("--no-pass-fee"); !strings.Contains(told, "fee hidden") {
			t.Errorf("the fee is not hidden again: %s", told)
		}
		for _, wrong := range []string{filepath.Join(t.TempDir(), "none.png"), t.TempDir()} {
			if _, log, code := u.run(t, "shop", "brand", "--database", database, k.Shop.ID, "--logo", wrong); code == 0 || !strings.Contains(log, "--logo") {
				t.Errorf("a logo that does not exist: exit %d, %s", code, log)
			}
		}
		schemes := func(args ...string) string {
			return u.does(t, append([]string{"shop", "schemes", "--database", database, k.Shop.ID}, args...)...)
		}
		for _, step := range []struct {
			args []string
			want string
		}{
			{nil, "Acme: no app schemes"}, {[]string{"--scheme", "MyApp://", "--scheme", "com.acme.pay"}, "Acme: myapp, com.acme.pay"},
			{nil, "Acme: myapp, com.acme.pay"}, {[]string{"--none"}, "Acme: no app schemes"},
		} {
			if told := schemes(step.args...); !strings.Contains(told, step.want) {
				t.Errorf("schemes %v: %s, want %s", step.args, told, step.want)
			}
		}
		if _, log, code := u.run(t, "shop", "schemes", "--database", database, k.Shop.ID, "--scheme", "intent"); code == 0 || !strings.Contains(log, "addresses of intent open files and programs") {
			t.Errorf("a scheme of the phone: exit %d, %s", code, log)
		}
		// A name that displays differently from how it is written deceives shoppers.
		for _, args := range [][]string{
			{"shop", "create", "--merchant", "mer_x", "--name", "Sure\u202eshop"},
			{"merchant", "create", "--name", "Sure\u2066shop", "--email", "b@example.com"},
		} {
			if _, log, code := u.run(t, append(args, "--database", database)...); code == 0 || !strings.Contains(log, "name") {
				t.Errorf("%q: exit %d, %s", args, code, log)
			}
		}
		u.does(t, "check", "--database", database)
	})
}
