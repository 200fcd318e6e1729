package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// pngFile is a picture of one pixel.
const pngFile = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x05\x02\x00_\xc8\xf1\xd2\x00\x00\x00\x00IEND\xaeB`\x82"

// upload sends a form with files, as a browser does. files are field, name and content.
func upload(t *testing.T, u harness.Staff, path, text string, files ...[3]string) harness.Answer {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	harness.Must(t, form.WriteField("text", text))
	for _, f := range files {
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q; filename=%q`, f[0], f[1]))
		h.Set("Content-Type", "application/octet-stream")
		part, err := form.CreatePart(h)
		harness.Must(t, err)
		_, err = part.Write([]byte(f[2]))
		harness.Must(t, err)
	}
	harness.Must(t, form.Close())
	req, err := http.NewRequest(http.MethodPost, u.URL+u.At(path), &body)
	harness.Must(t, err)
	req.Header.Set("Content-Type", form.FormDataContentType())
	return u.Request(t, req)
}

// Refunds are listed, filtered and exported; the page of one tells who opened it and what it moved.
func TestRefundsAreSeen(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u, other := o.Staff(t, people.Viewer), s.NewShop(t).Staff(t, people.Owner)
		if page := u.Page(t, "/refunds"); !strings.Contains(page, "No refunds yet") {
			t.Error("an empty list does not say what to do")
		}
		one := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		two := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
		claim := o.Refund(t, one, `{"amount":25.5,"reason":"requested_by_customer"}`).Want(t, http.StatusOK).Text(t, "refundId")
		o.Refund(t, two, `{"amount":10,"reason":"=2+2"}`).Want(t, http.StatusOK)
		list := u.Ask(t, http.MethodGet, "/refunds", nil)
		for _, want := range []string{"25.50", "Requested by the customer", "sk_test_…", "1–2 of 2"} {
			if !strings.Contains(list.Text(), want) {
				t.Errorf("the list does not tell %q: %s", want, list.Text())
			}
		}
		if text := u.Ask(t, http.MethodGet, "/refunds?payment="+one, nil).Text(); strings.Contains(text, two) || !strings.Contains(text, one) {
			t.Errorf("the refunds of %s are %s", one, text)
		}
		if text := u.Ask(t, http.MethodGet, "/refunds?status=rejected", nil).Text(); !strings.Contains(text, "No refund matches") {
			t.Errorf("no refund was rejected: %s", text)
		}
		page := u.Ask(t, http.MethodGet, "/refunds/"+claim, nil)
		for _, want := range []string{"Refund of 25.50", one, "The bank confirmed the refund", "The customer was paid", "out of the pending balance"} {
			if !strings.Contains(page.Text(), want) {
				t.Errorf("the page does not tell %q: %s", want, page.Text())
			}
		}
		if strings.Contains(page.Body, "sandbox-1") {
			t.Error("the page names the provider (SVC-7)")
		}
		file := u.Ask(t, http.MethodGet, "/refunds.csv", nil)
		if !strings.Contains(file.Header.Get("Content-Type"), "text/csv") || strings.Count(file.Body, "\n") != 3 || !strings.Contains(file.Body, "'=2+2") || !strings.Contains(file.Body, ",25.50,USD,25.50,") {
			t.Errorf("the file is %s", file.Body)
		}
		if a := other.Ask(t, http.MethodGet, "/refunds/"+claim, nil); a.Status != http.StatusNotFound {
			t.Errorf("another merchant's user gets %d", a.Status)
		}
		if a := u.Ask(t, http.MethodGet, "/disputes/"+claim, nil); !strings.HasSuffix(a.Header.Get("Location"), "/refunds/"+claim) {
			t.Errorf("the address of a dispute leads to %s", a.Header.Get("Location"))
		}
		if a := u.Ask(t, http.MethodGet, "/refunds?cursor=CLM-none", nil); a.Status != http.StatusBadRequest {
			t.Errorf("an unknown cursor gets %d", a.Status)
		}
	})
}

// Disputes are sorted by their deadline. A support agent answers one with a text and files, which come back
// as they were, and run nothing; and gives in to another. A viewer can do neither.
func TestDisputeIsAnswered(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u, viewer := o.Staff(t, people.Support), o.Staff(t, people.Viewer)
		_, first := o.Dispute(t, true)
		s.Clock.Advance(time.Hour)
		_, second := o.Dispute(t, true)
		list := u.Page(t, "/disputes")
		if at, after := strings.Index(list, "disputes/"+first), strings.Index(list, "disputes/"+second); at < 0 || after < at || !strings.Contains(list, "in 6 days") {
			t.Errorf("the older is at %d, the newer at %d", at, after)
		}
		page := u.Ask(t, http.MethodGet, "/disputes/"+first, nil)
		for _, want := range []string{"Dispute of 100", "did not make this payment", "10.4", "Who the buyer is", "Answer", "Held from your balance"} {
			if !strings.Contains(page.Text(), want) {
				t.Errorf("the page does not tell %q: %s", want, page.Text())
			}
		}
		path := "/disputes/" + first + "/answer"
		u.Page(t, path)
		for _, c := range []struct {
			want string
			file [3]string
		}{
			{"is not a PDF", [3]string{"file_access_log", "a.svg", "<svg/>"}},
			{"is not a PDF", [3]string{"file_access_log", "a.html", "<p>"}},
			{"is empty", [3]string{"file_access_log", "a.png", ""}},
			{"larger than 10 MB", [3]string{"file_access_log", "a.pdf", "%PDF-" + strings.Repeat("x", pay.MaxEvidenceFile)}},
		} {
			a := upload(t, u, path, "It was them", c.file)
			if a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), c.want) || !strings.Contains(a.Body, "It was them") {
				t.Errorf("%s gets %d: %s", c.file[1], a.Status, a.Text())
			}
		}
		if a := upload(t, u, path, " "); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "Write an explanation") {
			t.Errorf("nothing gets %d: %s", a.Status, a.Text())
		}
		if got := harness.ClaimStatus(t, o, first); got != "needs_evidence" {
			t.Fatalf("a refused answer leaves the dispute %s", got)
		}
		a := upload(t, u, path, "It was them", [3]string{"file_delivery_proof", `C:\my "photo".png`, pngFile}, [3]string{"file_buyer_identity", "ü.pdf", "%PDF-1.7"}, [3]string{"file_other", "a.txt", "hello"}, [3]string{"file_nonsense", "b.txt", "x"})
		if a.Status != http.StatusSeeOther {
			t.Fatalf("the answer gets %d: %s", a.Status, a.Text())
		}
		answered(t, u, o, first, second, viewer)
	})
}

var evidenceLink = regexp.MustCompile(`/files/(ev_\w+)`)

func answered(t *testing.T, u harness.Staff, o harness.Client, first, second string, viewer harness.Staff) {
	t.Helper()
	claim := o.Get(t, "/claims/"+first)
	if claim.Text(t, "status") != "under_review" || claim.Text(t, "evidence.0.text") != "It was them" || claim.Text(t, "evidence.1.kind") != "delivery_proof" || claim.Text(t, "evidence.2.file.contentType") != "application/pdf" {
		t.Errorf("the API tells of the answer %s", claim)
	}
	page := u.Page(t, "/disputes/"+first)
	files := map[string]bool{}
	for _, found := range evidenceLink.FindAllStringSubmatch(page, -1) {
		files[found[1]] = true
	}
	if len(files) != 3 || strings.Count(page, "<img class") != 1 {
		t.Errorf("the page has the files %v and %d pictures", files, strings.Count(page, "<img class"))
	}
	for file := range files {
		a := viewer.Ask(t, http.MethodGet, "/disputes/"+first+"/files/"+file, nil)
		kind, how := a.Header.Get("Content-Type"), a.Header.Get("Content-Disposition")
		if a.Status != http.StatusOK || a.Header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" || a.Header.Get("X-Content-Type-Options") != "nosniff" || strings.HasPrefix(how, "inline") != (kind == "image/png") {
			t.Errorf("%s gets %d, %s, %s, %s", file, a.Status, kind, how, a.Header.Get("Content-Security-Policy"))
		}
		if a := u.Ask(t, http.MethodGet, "/disputes/"+second+"/files/"+file, nil); a.Status != http.StatusNotFound {
			t.Errorf("the file of another dispute gets %d", a.Status)
		}
	}
	if !audited(t, u, audit.EvidenceSubmitted) {
		t.Error("the answer is not in the audit log")
	}
	for _, path := range []string{"/disputes/" + second + "/answer", "/disputes/" + second + "/accept"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if a := viewer.Ask(t, method, path, url.Values{}); a.Status != http.StatusForbidden {
				t.Errorf("a viewer gets %d from %s %s", a.Status, method, path)
			}
		}
	}
	if page := viewer.Page(t, "/disputes/"+second); strings.Contains(page, "/accept") || strings.Contains(page, "/answer") {
		t.Error("a viewer sees buttons")
	}
	if text := u.Ask(t, http.MethodGet, "/disputes/"+second+"/accept", nil).Text(); !strings.Contains(text, "cannot be undone") || !strings.Contains(text, "100") {
		t.Errorf("the question is %s", text)
	}
	for range 2 { // a double click
		u.Do(t, "/disputes/"+second+"/accept")
	}
	ended := u.Ask(t, http.MethodGet, "/disputes?tab=ended", nil).Text()
	if !strings.Contains(ended, "Accepted") || harness.ClaimStatus(t, o, second) != "approved" {
		t.Errorf("the list of the ended is %s", ended)
	}
	if text := u.Ask(t, http.MethodGet, "/disputes/"+second, nil).Text(); !strings.Contains(text, "The customer was paid") {
		t.Errorf("the page does not tell of the money: %s", text)
	}
	if text := u.Ask(t, http.MethodGet, "/disputes?tab=under_review", nil).Text(); !strings.Contains(text, "Under review") || !strings.Contains(text, "Fraud") {
		t.Errorf("the list of those in review is %s", text)
	}
	for path, want := range map[string]int{"/disputes?tab=nonsense": 404, "/disputes/CLM-none": 404, "/disputes.csv?tab=ended": 200} {
		if a := u.Ask(t, http.MethodGet, path, nil); a.Status != want {
			t.Errorf("%s gets %d, want %d", path, a.Status, want)
		}
	}
}

// In the browser: a support agent finds the dispute, sends an explanation and a file, and sees both.
func TestSupportAnswersInTheBrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Support)
	_, claim := o.Dispute(t, true)
	o.Create(t, `{"amount":42,"paymentMethodId":"sbx_card"}`)
	refunded := o.Create(t, `{"amount":80,"paymentMethodId":"sbx_card"}`)
	refund := o.Refund(t, refunded, `{"amount":30,"reason":"requested_by_customer"}`).Want(t, http.StatusOK).Text(t, "refundId")
	photo := filepath.Join(t.TempDir(), "delivered.png")
	harness.Must(t, os.WriteFile(photo, []byte(pngFile), 0o600))
	tab := u.Tab(t, "/disputes")
	harness.CheckPage(t, tab, "disputes")
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`main td[data-label="Amount"] a`), chromedp.WaitVisible(`.steps`)))
	harness.CheckPage(t, tab, "dispute")
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`main .actions .primary`), chromedp.WaitVisible(`#f-text`)))
	harness.CheckPage(t, tab, "answer")
	harness.Must(t, chromedp.Do(tab,
		chromedp.SendKeys(`#f-text`, "The customer signed for it.\nSee the photo."), chromedp.SetUploadFiles(`#f-file_delivery_proof`, []string{photo}),
		chromedp.Click(`main form .primary`), chromedp.WaitVisible(`main img.preview`)))
	text, err := chromedp.Run(tab, chromedp.Text(`main`))
	harness.Must(t, err)
	for _, want := range []string{"The customer signed for it.", "Under review", "would be stronger with", "delivered.png"} {
		if !strings.Contains(text, want) {
			t.Errorf("after the answer the page does not say %q: %s", want, text)
		}
	}
	width, err := chromedp.Run(tab, chromedp.Evaluate[int64](`document.querySelector('img.preview').naturalWidth`))
	if err != nil || width != 1 {
		t.Errorf("the picture is not shown: %d (%v)", width, err)
	}
	harness.CheckPage(t, tab, "answered")
	for path, name := range map[string]string{"/disputes?tab=ended": "disputes-empty", "/disputes/" + claim + "/accept": "accept", "/refunds": "refunds", "/refunds/" + refund: "refund", "/refunds?payment=x": "refunds-none"} {
		harness.Must(t, chromedp.Do(tab, chromedp.Navigate(u.URL+u.At(path))))
		harness.CheckPage(t, tab, name)
	}
}

// A dispute that nobody answered says so in the language of the page alone.
func TestUnansweredDisputeIsToldInOneLanguage(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		_, claim := o.Dispute(t, true)
		s.Clock.Advance(9 * 24 * time.Hour)
		u := o.Staff(t, people.Support)
		harness.Must(t, s.App.People.Introduce(ctx, u.User.ID, "Ana", merchants.Spanish))
		harness.Eventually(t, "the dispute is lost", func() bool {
			_, err := s.App.Claims.Sweep(ctx)
			harness.Must(t, err)
			return harness.ClaimStatus(t, o, claim) == "expired"
		})
		page := text(u.Page(t, "/disputes/"+claim))
		says(t, "the dispute", page, "Venció el plazo sin respuesta", "Automáticamente")
		if strings.Contains(page, "no evidence came") {
			t.Errorf("the page speaks English: %s", page)
		}
	})
}

// textOf is what the field of an answer's text has.
func textOf(a harness.Answer) string {
	_, rest, _ := strings.Cut(a.Body, `<textarea`)
	_, rest, _ = strings.Cut(rest, ">")
	text, _, _ := strings.Cut(rest, "</textarea>")
	return text
}

// The form of an answer offers a template for the reason, in the reader's language or another, with what is known of the
// payment. It is not sent before the places are filled in.
func TestAnswerBeginsWithATemplate(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u, viewer := o.Staff(t, people.Support), o.Staff(t, people.Viewer)
		create := func(order string) string {
			return o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card","userEmail":"ana@example.com","userName":"Ana Pérez","merchantOrderId":"`+order+`","description":"Two tickets"}`)
		}
		earlier, payment := create("A-1"), create("A-2")
		o.Refund(t, payment, `{"amount":25,"reason":"requested_by_customer"}`).Want(t, http.StatusOK)
		o.Notify(t, "sandbox-1", harness.NoticeBody(payment, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4"`)).Want(t, http.StatusOK)
		claim := o.Get(t, "/claims?transactionId="+payment+"&type=chargeback").Text(t, "data.0.id")
		path := "/disputes/" + claim + "/answer"
		form := u.Ask(t, http.MethodGet, path, nil)
		if textOf(form) != "" || strings.Index(form.Body, "?draft=en") > strings.Index(form.Body, "?draft=es") {
			t.Errorf("the form begins with %q, or offers another language first", textOf(form))
		}
		english := u.Ask(t, http.MethodGet, path+"?draft=en", nil)
		for _, want := range []string{"We contest this dispute. The cardholder", payment, "A-2", "ana@example.com", "Ana Pérez", "Two tickets", "25.00 USD was refunded", "100.00 USD, order A-1, " + earlier, "UTC"} {
			if !strings.Contains(textOf(english), want) {
				t.Errorf("the template does not tell %q:\n%s", want, textOf(english))
			}
		}
		for language, want := range map[string]string{"es": "Impugnamos esta disputa", "pt": "Contestamos esta disputa"} {
			if a := u.Ask(t, http.MethodGet, path+"?draft="+language, nil); !strings.Contains(textOf(a), want) {
				t.Errorf("the template in %s is:\n%s", language, textOf(a))
			}
		}
		if a := u.Ask(t, http.MethodGet, path+"?draft=xx", nil); a.Status != http.StatusBadRequest {
			t.Errorf("a template in no language gets %d", a.Status)
		}
		if a := viewer.Ask(t, http.MethodGet, path+"?draft=en", url.Values{}); a.Status != http.StatusForbidden {
			t.Errorf("a viewer gets %d", a.Status)
		}
		if a := upload(t, u, path, textOf(english)); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "or remove their lines") || textOf(a) != strings.TrimSpace(textOf(english)) {
			t.Errorf("a template that is not filled in gets %d: %s", a.Status, a.Text())
		}
		done := strings.ReplaceAll(textOf(english), "[…]", "see the attached files")
		if a := upload(t, u, path, done); a.Status != http.StatusSeeOther {
			t.Errorf("the answer gets %d: %s", a.Status, a.Text())
		}
		if got := o.Get(t, "/claims/"+claim).Text(t, "evidence.0.text"); got != strings.TrimSpace(done) {
			t.Errorf("the bank gets:\n%s", got)
		}
	})
}

// In the browser: files are shown before they are sent. A picture is drawn and a PDF opens in a tab of its own; what cannot be
// sent is said at once; a file is taken away again; a page that calls itself a PDF is refused. What is left is sent.
func TestFilesAreSeenBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Support)
	_, claim := o.Dispute(t, true)
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		harness.Must(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	const script = "<html><script>opener && (opener.ran = true); document.title = 'ran'</script></html>"
	tab := harness.WholeBrowser(t)
	u.Open(t, tab, "/disputes/"+claim+"/answer")
	is := func(what, expression, want string) {
		t.Helper()
		got := ""
		harness.Eventually(t, what+" is "+want, func() bool {
			var err error
			got, err = chromedp.Run(tab, chromedp.Evaluate[string]("String("+expression+")"))
			harness.Must(t, err)
			return got == want
		})
	}
	choose := func(field string, paths ...string) {
		t.Helper()
		harness.Must(t, chromedp.Do(tab, chromedp.SetUploadFiles("#f-file_"+field, paths)))
	}
	const names = `[...document.querySelectorAll('.files-name')].map((e) => e.textContent).join()`
	is("the script's readiness", `typeof window.cascadaFiles`, "function")
	var picture bytes.Buffer
	harness.Must(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 300, 200))))
	choose("delivery_proof", file("a.png", picture.String()), file("evil.pdf", script), file("b.pdf", "%PDF-1.4\n% "+script+fmt.Sprintf(actingPDF, u.URL)), file("c.svg", "<svg onload='document.title=1'/>"), file("empty.png", ""))
	is("what is shown", names, "a.png,b.pdf")
	is("the drawing", `document.querySelector('.files canvas').dataset.drawn`, "yes")
	is("what is wrong", `document.querySelector('#f-file_delivery_proof ~ [role=alert]').textContent`,
		"evil.pdf is not a PDF, PNG, JPEG or text. Save it as one of these. c.svg is not a PDF, PNG, JPEG or text. Save it as one of these. empty.png is empty.")
	is("what the field sends", `[...document.querySelector('#f-file_delivery_proof').files].map((f) => f.name).join()`, "a.png,b.pdf")
	harness.CheckPage(t, tab, "answer-files")
	choose("delivery_proof", file("big.pdf", "%PDF-"+strings.Repeat("x", pay.MaxEvidenceFile)))
	is("what is too large", `document.querySelector('#f-file_delivery_proof ~ [role=alert]').textContent`, "big.pdf is larger than 10 MB.")
	is("what was chosen before", names, "a.png,b.pdf")
	choose("access_log", file("log.txt", script)) // a text with the ending of one: its name and size are all that is shown
	is("the text", names, "a.png,b.pdf,log.txt")
	is("what ran", `document.title.includes('ran') || String(window.ran)`, "undefined")
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`.files li:first-child button`)))
	is("what is left", names, "b.pdf,log.txt")
	opensAsPDF(t, tab)
	harness.Must(t, chromedp.Do(tab, chromedp.SendKeys(`#f-text`, "See the files."), chromedp.Click(`main form .primary`), chromedp.WaitVisible(`main .pre`)))
	for i, want := range []string{"b.pdf", "log.txt"} {
		if got := o.Get(t, "/claims/"+claim).Text(t, fmt.Sprintf("evidence.%d.file.name", i+1)); got != want {
			t.Errorf("the bank gets %s, want %s", got, want)
		}
	}
	sent := map[string]bool{}
	for _, found := range evidenceLink.FindAllString(u.Page(t, "/disputes/"+claim), -1) {
		sent[found] = true
	}
	if len(sent) != 2 {
		t.Errorf("the files %v were sent, want 2", sent)
	}
}

// actingPDF is the rest of a PDF that signs the reader out when it is opened, if its viewer lets it send a form to the address.
const actingPDF = `
1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(this.submitForm\(\{cURL: '%s/dashboard/sign-out', cSubmitAs: 'HTML'\}\);)>>>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 144]>>endobj
trailer<</Root 1 0 R>>`

// opensAsPDF opens the PDF that is shown. It has a page in it and acts when it is opened: the browser takes it for what its
// type says, and nothing of it runs in the dashboard.
func opensAsPDF(t *testing.T, tab context.Context) {
	t.Helper()
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`.files a`)))
	var opened *target.Info
	harness.Eventually(t, "the PDF has a tab of its own", func() bool {
		list, err := chromedp.Targets(tab)
		harness.Must(t, err)
		for _, one := range list {
			if strings.HasPrefix(one.URL, "blob:") {
				opened = one
			}
		}
		return opened != nil
	})
	other, end := chromedp.NewContext(tab, chromedp.WithTargetID(opened.TargetID))
	defer end()
	kind, err := chromedp.Run(other, chromedp.Evaluate[string](`document.contentType + ' ' + document.title`))
	if err != nil || strings.TrimSpace(kind) != "application/pdf" {
		t.Errorf("the PDF is opened as %q (%v)", kind, err)
	}
	if ran, err := chromedp.Run(tab, chromedp.Evaluate[string](`String(window.ran)`)); err != nil || ran != "undefined" {
		t.Errorf("what stands in the PDF ran: %s (%v)", ran, err)
	}
}
