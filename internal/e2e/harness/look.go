package harness

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Look checks that a page is accessible and no wider than a phone. If ARTIFACTS names a directory, it saves
// pictures of it on a phone and a desktop, light and dark.
func Look(t *testing.T, tab context.Context, name string) {
	t.Helper()
	Must(t, chromedp.Do(tab, chromedp.EmulateViewport(360, 740)))
	width, err := chromedp.Run(tab, chromedp.Evaluate[int64]("document.documentElement.scrollWidth"))
	if err != nil || width > 360 {
		t.Errorf("%s is %d wide on a phone (%v)", name, width, err)
	}
	for _, screen := range [][2]int64{{390, 844}, {1280, 900}} {
		Must(t, chromedp.Do(tab, chromedp.EmulateViewport(screen[0], screen[1])))
		for _, colours := range []string{"dark", "light"} {
			if os.Getenv("ARTIFACTS") == "" {
				continue
			}
			_, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}})
			Must(t, err)
			Shoot(t, tab, name+"-"+colours+map[int64]string{390: "-phone", 1280: ""}[screen[0]])
		}
	}
	Accessible(t, tab, name)
}

// Did fails the test unless the audit log has an act of this user on an object.
func (u Staff) Did(t *testing.T, act audit.Act, object string) {
	t.Helper()
	list, err := u.App.AuditLog(ctx, audit.Filter{Object: object, Act: act}, 10)
	Must(t, err)
	for _, e := range list {
		if e.By.Kind == audit.ByUser && e.By.ID == u.User.ID && e.By.IP == "127.0.0.1" && strings.HasPrefix(e.By.Request, "req_") {
			return
		}
	}
	t.Errorf("the audit log has no %s of %s by the operator: %v", act, object, list)
}
