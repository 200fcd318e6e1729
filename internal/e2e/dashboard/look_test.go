package dashboard

import (
	"context"
	"os"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// look checks that a page is accessible and no wider than a phone. If ARTIFACTS names a directory, it saves
// pictures of it on a phone and a desktop, light and dark.
func look(t *testing.T, tab context.Context, name string) {
	t.Helper()
	harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(360, 740)))
	width, err := chromedp.Run(tab, chromedp.Evaluate[int64]("document.documentElement.scrollWidth"))
	if err != nil || width > 360 {
		t.Errorf("%s is %d wide on a phone (%v)", name, width, err)
	}
	for _, screen := range [][2]int64{{390, 844}, {1280, 900}} {
		harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(screen[0], screen[1])))
		for _, colours := range []string{"dark", "light"} {
			if os.Getenv("ARTIFACTS") == "" {
				continue
			}
			_, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}})
			harness.Must(t, err)
			harness.Shoot(t, tab, name+"-"+colours+map[int64]string{390: "-phone", 1280: ""}[screen[0]])
		}
	}
	harness.Accessible(t, tab, name)
}
