//go:build sheet

package dashboard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestContactSheet takes pictures of every page that links lead to, on a phone and a desktop, in light and dark
// colours. Run it with `make sheet`.
func TestContactSheet(t *testing.T) {
	dir := filepath.Join(os.Getenv("SHEET"), "dashboard")
	harness.Must(t, os.MkdirAll(dir, 0o755))
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	busy(t, o)
	owner, operator := o.Staff(t, people.Owner), harness.OperatorUser(t, o)
	index := "<!doctype html><meta charset=utf-8><title>The dashboard</title>"
	for _, who := range []struct {
		user  harness.Staff
		pages []string
	}{{owner, crawl(t, owner, owner.Home())}, {operator, crawl(t, operator, "/dashboard/console")}, {stranger(owner), []string{"/dashboard/sign-in", "/dashboard/forgot"}}} {
		for _, path := range who.pages {
			name := strings.Trim(strings.NewReplacer("/", "-", "?", "-", "{", "", "}", "").Replace(kindOf(strings.TrimPrefix(path, owner.Home()))), "-")
			if name == "" {
				name = "home"
			}
			index += "<h2>" + name + "</h2>"
			for _, device := range harness.Screens {
				tab := who.user.Tab(t, path)
				harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(device.Width, device.Height)))
				for _, theme := range []string{"light", "dark"} {
					_, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
					harness.Must(t, err)
					harness.Must(t, chromedp.Do(tab, chromedp.Navigate(who.user.URL+path)))
					file := fmt.Sprintf("%s-%s-%s.png", name, device.Name, theme)
					harness.Picture(t, tab, filepath.Join(dir, file))
					index += fmt.Sprintf("<img src=%q height=500> ", file)
				}
			}
		}
	}
	harness.Must(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte(index), 0o644))
}
