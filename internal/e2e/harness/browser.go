package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// browser is shared by all tests. Each test opens its own tabs.
type browser struct {
	program string // to look for; without it, chromedp looks for a browser
	once    sync.Once
	ctx     context.Context
	end     context.CancelFunc
	err     error
}

// shell draws and runs pages as whole does, for a third of the cost. It has no windows and no viewer of PDFs.
var shell, whole = &browser{program: "chromium-headless-shell"}, &browser{}

// EndBrowser closes the browsers that tests opened.
func EndBrowser() {
	for _, b := range []*browser{shell, whole} {
		if b.end != nil {
			b.end()
		}
	}
}

// Browser returns a new tab that shares nothing with other tabs. In it, no host but 127.0.0.1 and localhost
// resolves.
func Browser(t *testing.T) context.Context {
	t.Helper()
	if _, err := exec.LookPath(shell.program); err != nil {
		return whole.tab(t)
	}
	return shell.tab(t)
}

// WholeBrowser returns a tab like Browser's of a browser with everything that people's browsers have, such as a viewer of
// PDFs.
func WholeBrowser(t *testing.T) context.Context {
	t.Helper()
	return whole.tab(t)
}

func (b *browser) tab(t *testing.T) context.Context {
	t.Helper()
	if b.once.Do(b.start); b.err != nil {
		t.Fatalf("start Chromium for the tests (make test installs it): %v", b.err)
	}
	tab, close := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(close)
	tab, cancel := context.WithTimeout(tab, 8*Patience)
	t.Cleanup(cancel)
	return tab
}

func (b *browser) start() {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-prefers-reduced-motion", true),
		chromedp.Flag("js-flags", "--no-opt --no-maglev"), // a page lives too short for optimized code to pay
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost"),
		chromedp.WSURLReadTimeout(time.Minute))
	if b.program != "" {
		options = append(options, chromedp.ExecPath(b.program))
	}
	parent, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(parent)
	b.ctx, b.end = ctx, func() { end(); stop() }
	b.err = chromedp.Do(ctx, chromedp.Navigate("about:blank"))
}

// Screen is the screen of a device.
type Screen struct {
	Name          string
	Width, Height int64 // in CSS pixels
	Scale         float64
	Phone         bool
}

// Screens are a phone and a desktop.
var Screens = []Screen{{"phone", 360, 740, 3, true}, {"desktop", 1280, 900, 1, false}}

// Shoot saves a picture of the whole page, for people to look at, if ARTIFACTS names a directory.
func Shoot(t *testing.T, tab context.Context, name string) {
	t.Helper()
	if dir := os.Getenv("ARTIFACTS"); dir != "" {
		Must(t, os.MkdirAll(dir, 0o755))
		Picture(t, tab, filepath.Join(dir, name+".png"))
	}
}

// Picture saves a picture of the whole page.
func Picture(t *testing.T, tab context.Context, path string) {
	t.Helper()
	png, err := chromedp.Run(tab, chromedp.FullScreenshot(100))
	Must(t, err)
	Must(t, os.WriteFile(path, png, 0o644))
}

// axe is the script of Deque's accessibility checker. make spec installs it.
var axe = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("../../../bin/spec/node_modules/axe-core/axe.min.js")
	return string(text), err
})

// runAxe returns one line for each element that breaks a rule.
const runAxe = `axe.run(document, {resultTypes: ['violations'], runOnly: [%s]}).then((found) => found.violations.flatMap(
  (v) => v.nodes.map((n) => v.id + ' (' + v.help + '): ' + n.html + ': ' + n.failureSummary)).join('\n'))`

// Accessible fails the test if axe finds an error on the page, in light or dark colours. For dark
// colours it checks only the contrast, because nothing else differs.
func Accessible(t *testing.T, tab context.Context, what string) {
	t.Helper()
	script, err := axe()
	if err != nil {
		t.Fatalf("axe is not installed (make spec installs it): %v", err)
	}
	_, err = chromedp.Run(tab, chromedp.Evaluate[bool](script+"; true"))
	Must(t, err)
	for colours, rules := range map[string]string{
		"light": "'wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'", "dark": "'color-contrast'",
	} {
		_, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}})
		Must(t, err)
		found, err := chromedp.Run(tab, chromedp.Evaluate[string](fmt.Sprintf(runAxe, rules), chromedp.EvalAwaitPromise))
		Must(t, err)
		if found != "" {
			t.Errorf("%s in %s colours:\n%s", what, colours, found)
		}
	}
}

// CheckPage checks that a page is accessible and no wider than a phone. If ARTIFACTS names a directory, it saves
// pictures of it on a phone and a desktop, light and dark.
func CheckPage(t *testing.T, tab context.Context, name string) {
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
