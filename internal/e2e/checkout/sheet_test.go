//go:build sheet

package checkout

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// tongues are the languages of a sheet, as in Accept-Language.
var tongues = []string{"en-US", "es-MX", "es-CO", "es-AR", "es-CL", "es-PE", "pt-BR"}

// TestContactSheet takes pictures of every page in every language, on a phone and a desktop, in
// light and dark colours. It joins the pictures of a page into one. Run it with `make sheet`.
func TestContactSheet(t *testing.T) {
	dir := os.Getenv("SHEET")
	harness.Must(t, os.MkdirAll(dir, 0o755))
	still := &harness.Clock{} // frozen, so that no payment moves on
	still.Freeze()
	s := harness.Start(t, dbtest.SQLite(t), still)
	o := s.NewShop(t)
	pages := sheetPages(t, s, o)
	index := "<!doctype html><meta charset=utf-8><title>Contact sheet</title>"
	for _, device := range []harness.Screen{{Name: "phone", Width: 360, Height: 740, Scale: 1, Phone: true}, {Name: "desktop", Width: 1000, Height: 800, Scale: 1}} {
		for _, p := range pages {
			tab := harness.Browser(t)
			_, err := chromedp.Call(tab, network.Enable, network.EnableParams{})
			harness.Must(t, err)
			harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(device.Width, device.Height)))
			var shots []image.Image
			for _, theme := range []string{"light", "dark"} {
				_, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
				harness.Must(t, err)
				for _, tongue := range tongues {
					_, err := chromedp.Call(tab, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": tongue}})
					harness.Must(t, err)
					harness.Must(t, chromedp.Do(tab, chromedp.Navigate(s.URL+p.path)))
					noOverflow(t, tab)
					body, err := chromedp.Run(tab, chromedp.FullScreenshot(100))
					harness.Must(t, err)
					shot, err := png.Decode(bytes.NewReader(body))
					harness.Must(t, err)
					shots = append(shots, shot)
				}
			}
			name := p.name + "-" + device.Name + ".png"
			f, err := os.Create(filepath.Join(dir, name))
			harness.Must(t, err)
			harness.Must(t, png.Encode(f, laidOut(shots, len(tongues))))
			harness.Must(t, f.Close())
			index += fmt.Sprintf("<h2>%s: %s</h2><img src=%q width=100%%>", name, strings.Join(tongues, ", "), name)
		}
	}
	harness.Must(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte(index), 0o644))
}

// sheetPage is a page of the checkout in one state.
type sheetPage struct{ name, path string }

// sheetPages makes every page that a shopper may see.
func sheetPages(t *testing.T, s *harness.Instance, o harness.Client) []sheetPage {
	t.Helper()
	const cash, hosted = `"paymentMethodId":"sbx_cash"`, `{"amount":25.5,"merchantOrderId":"A-1042","returnUrl":"https://shop.example/thanks","hostedCheckout":true,`
	opens := func(method string) string { return o.Create(t, hosted+method+`}`) }
	wrong := func() string {
		_, _, h := s.Browse(t, http.MethodPost, selector(t, o, `,"country":"BRA"`), "method=sbx_pix&document-sbx_pix=1")
		return h.Get("Location")
	}
	card := func() string {
		r := o.Post(t, "/payments", `{"amount":25.65,"paymentMethodId":"sbx_card"}`)
		return r.Text(t, "error.details.transactionId")
	}
	ended := func(how ...string) string {
		id := opens(cash)
		for _, action := range how {
			o.Simulate(t, id, action).Want(t, http.StatusOK)
		}
		return "/pay/" + id
	}
	atBank := func(how string) string {
		id := opens(cash)
		s.AtBank(t, id, how)
		return "/pay/" + id
	}
	chosen := func() string {
		_, _, h := s.Browse(t, http.MethodPost, selector(t, o, ""), "method=sbx_cash")
		return strings.TrimPrefix(h.Get("Location"), "/c/")
	}
	part := opens(cash)
	o.Simulate(t, part, "paid").Want(t, http.StatusOK)
	o.Post(t, "/payments/"+part+"/refund", `{"amount":5}`).Want(t, http.StatusOK)
	canceled := opens(cash)
	o.Post(t, "/payments/"+canceled+"/cancel", `{}`).Want(t, http.StatusOK)
	changed := chosen()
	again, _, _ := strings.Cut(callOff(t, s, changed), "?")
	ruled := func(how pay.ClaimVerb) string {
		id := opens(cash)
		s.AtBank(t, id, "late")
		_, err := harness.DecideClaim(s.App, o.Get(t, "/payments/"+id).Text(t, "attention.claimId"), how, "as the shop wishes")
		harness.Must(t, err)
		return "/pay/" + id
	}
	dealtWith := func() string {
		path := atBank("wrong_amount")
		_, err := harness.DecideClaim(s.App, o.Get(t, "/payments/"+strings.TrimPrefix(path, "/pay/")).Text(t, "attention.claimId"), pay.Reject, "the shop keeps it")
		harness.Must(t, err)
		return path
	}
	disputed := func() string {
		id, _ := o.Dispute(t, true)
		harness.RuleClaim(t, o, id, "lost")
		return "/pay/" + id
	}
	earlier := func() string {
		first := opens(cash)
		s.AtBank(t, first, "timeout")
		_, _, h := s.Browse(t, http.MethodPost, "/pay/"+first+"/again", "")
		session, _, _ := strings.Cut(h.Get("Location"), "?")
		_, _, h = s.Browse(t, http.MethodPost, session, "method=sbx_cash")
		s.Notify(t, "sandbox-1", harness.NoticeBody(first, harness.Paid50)).Want(t, http.StatusOK)
		return "/pay/" + strings.TrimPrefix(h.Get("Location"), "/c/")
	}
	refused := func(reason string) string {
		id := cardPage(t, o)
		s.AtBank(t, id, "decline:"+reason)
		return id
	}
	over := func(reason string) string {
		id := refused(reason)
		o.Simulate(t, id, "failed").Want(t, http.StatusOK)
		return "/pay/" + id
	}
	bank := opens(`"paymentMethodId":"sbx_pse"`)
	return []sheetPage{
		{"01-choice", selector(t, o, "")}, {"02-choice-of-a-country", selector(t, o, `,"country":"MEX"`)}, {"03-wrong-document", wrong()},
		{"04-pix", "/pay/" + opens(`"paymentMethodId":"sbx_pix","documentId":"52998224725"`)}, {"05-spei", "/pay/" + opens(`"paymentMethodId":"sbx_spei","documentId":"XAXX010101000"`)},
		{"06-cash", "/pay/" + opens(cash)}, {"07-boleto", "/pay/" + opens(`"paymentMethod":"boleto","country":"BR","documentId":"52998224725"`)},
		{"08-redirect", "/pay/" + bank}, {"09-card", "/pay/" + card()}, {"10-bank", "/sandbox/bank/" + bank},
		{"11-paid", ended("paid")}, {"12-failed", ended("failed")}, {"13-expired", ended("expired")}, {"14-late", atBank("late")}, {"15-other-amount", atBank("wrong_amount")},
		{"16-part-refunded", "/pay/" + part}, {"17-unknown", "/pay/TXN-UNKNOWN"}, {"18-session-over", "/checkout/cs_unknown"},
		{"19-refunded", ended("paid", "refunded")}, {"20-disputed", disputed()}, {"21-canceled", "/pay/" + canceled},
		{"22-chosen-before", "/pay/" + chosen() + "?note=taken"}, {"23-not-ended", "/pay/" + chosen() + "?note=not_ended"}, {"24-changed", "/pay/" + changed}, {"25-choice-after-another", again},
		{"26-accepted", ruled(pay.Reject)}, {"27-given-back", ruled(pay.Approve)}, {"28-dealt-with", dealtWith()}, {"29-earlier", earlier()},
		{"30-processing", "/pay/" + o.Create(t, `{"amount":10.96,"paymentMethodId":"sbx_card"}`)}, {"31-out-of-limits", selectorOf(t, o, "10000", `,"country":"MX"`)},
		{"32-card-page", "/pay/" + cardPage(t, o)}, {"33-bank-for-cards", "/sandbox/bank/" + cardPage(t, o)}, {"34-refused", "/pay/" + refused("insufficient_funds")},
		{"35-refused-elsewhere", "/pay/" + refused("do_not_honor")}, {"36-refused-not-ended", "/pay/" + refused("do_not_honor") + "?note=page_open"},
		{"37-refused-challenge", "/pay/" + refused("authentication_failed")}, {"38-refused-as-a-risk", "/pay/" + refused("fraud_suspected")}, {"39-card-failed", over("insufficient_funds")},
	}
}

// laidOut joins pictures into one, in rows of across pictures.
func laidOut(shots []image.Image, across int) image.Image {
	const gap = 8
	var w, h int
	for _, s := range shots {
		w, h = max(w, s.Bounds().Dx()+gap), max(h, s.Bounds().Dy()+gap)
	}
	sheet := image.NewRGBA(image.Rect(0, 0, w*across, h*((len(shots)+across-1)/across)))
	draw.Draw(sheet, sheet.Bounds(), image.NewUniform(color.Gray{128}), image.Point{}, draw.Src)
	for i, s := range shots {
		at := image.Pt(w*(i%across), h*(i/across))
		draw.Draw(sheet, s.Bounds().Add(at), s, s.Bounds().Min, draw.Src)
	}
	return sheet
}
