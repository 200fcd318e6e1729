package access

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// late is how long the bodies of these tests are held back: longer than the moment after which the service asks again.
const late = 150 * time.Millisecond

// held is a request whose headers and first bytes are sent.
type held struct {
	net.Conn
	rest string
}

// hold sends a request up to the middle of its body.
func hold(t *testing.T, address, path, body string, headers ...string) held {
	t.Helper()
	u, err := url.Parse(address)
	harness.Must(t, err)
	c, err := net.Dial("tcp", u.Host)
	harness.Must(t, err)
	t.Cleanup(func() { c.Close() })
	harness.Must(t, c.SetDeadline(time.Now().Add(harness.Patience)))
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nSec-Fetch-Site: same-origin\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
		path, u.Host, len(body), strings.Join(headers, "\r\n"), body[:len(body)/2])
	harness.Must(t, err)
	return held{c, body[len(body)/2:]}
}

// end sends the rest of the body and returns the answer.
func (h held) end(t *testing.T) (status int, header http.Header, body string) {
	t.Helper()
	_, err := io.WriteString(h, h.rest)
	harness.Must(t, err)
	r, err := http.ReadResponse(bufio.NewReader(h), nil)
	harness.Must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	harness.Must(t, err)
	return r.StatusCode, r.Header, string(text)
}

// Whoever is asked who he is, is asked once the body has arrived: rights that end while it is held back do nothing.
func TestHeldBodyDoesNotOutliveItsSender(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		s := op.Instance
		o := s.NewShop(t)
		key, err := s.App.Keys.Create(ctx, s.App.Self(), auth.NewKey{Scope: merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, Kind: merchants.Secret})
		harness.Must(t, err)
		leaver, console := o.Staff(t, people.Developer), harness.OperatorUser(t, o)
		before, _, err := s.App.Keys.List(ctx, o.Merchant.ID)
		harness.Must(t, err)

		part := func(name, value string) string {
			return "--XX\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
		}
		small := part("kind", "restricted") + part("rights", "read") + "--XX--\r\n"
		large := part("note", strings.Repeat("x", 40<<10)) + small
		parts := "Content-Type: multipart/form-data; boundary=XX"
		pages := map[string]held{
			"a small form":       hold(t, s.URL, leaver.At("/keys"), small, parts, "Cookie: cascada="+leaver.Cookie),
			"a large form":       hold(t, s.URL, leaver.At("/keys"), large, parts, "Cookie: cascada="+leaver.Cookie),
			"an operator's form": hold(t, s.URL, "/dashboard/console/merchants", large, parts, "Cookie: cascada="+console.Cookie),
		}
		stays := o.Staff(t, people.Support)
		_, claim := o.Dispute(t, true)
		answer := part("text", "it was signed for") + "--XX\r\nContent-Disposition: form-data; name=\"file_delivery_proof\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n" + strings.Repeat("x", 40<<10) + "\r\n--XX--\r\n"
		answered := hold(t, s.URL, stays.At("/disputes/"+claim+"/answer"), answer, parts, "Cookie: cascada="+stays.Cookie)
		calls := map[string]held{
			"a payment":   hold(t, s.URL, harness.APIPath+"/payments", harness.Card, "Content-Type: application/json", "Authorization: Bearer "+key),
			"an endpoint": hold(t, s.URL, harness.APIPath+"/webhooks", `{"url":"https://shop.example/hook","events":["*"]}`, "Content-Type: application/json", "Authorization: Bearer "+key),
			"an operator's account": hold(t, op.AdminURL, "/admin/v1/accounts", `{"id":"late-1","provider":"plain"}`, "Content-Type: application/json",
				"Authorization: Bearer "+op.Token),
		}
		endLinks, links := holdLinks(t, op, o)
		time.Sleep(late) // the service reads, and waits for the rest
		endLinks()
		harness.Must(t, s.App.Team.Remove(ctx, s.App.Self(), leaver.User.Email))
		harness.Must(t, s.App.Team.Remove(ctx, s.App.Self(), console.User.Email))
		_, err = s.App.Keys.Revoke(ctx, s.App.Self(), "sk_test_…"+key[len(key)-4:])
		harness.Must(t, err)
		harness.Must(t, s.App.Operators.Remove(ctx, s.App.Self(), op.Name))

		if status, header, body := answered.end(t); status != http.StatusSeeOther || !strings.Contains(header.Get("Location"), claim) {
			t.Errorf("an answer that was late gets %d to %q: %s", status, header.Get("Location"), body)
		}
		for what, h := range pages {
			if status, header, body := h.end(t); status != http.StatusSeeOther || !strings.HasPrefix(header.Get("Location"), "/dashboard/sign-in") {
				t.Errorf("%s of a removed user gets %d to %q, want the sign-in: %s", what, status, header.Get("Location"), body)
			}
		}
		for what, h := range calls {
			if status, _, body := h.end(t); status != http.StatusUnauthorized {
				t.Errorf("%s with an ended credential gets %d, want 401: %s", what, status, body)
			}
		}
		for _, l := range links {
			if status, _, body := l.end(t); status != l.want {
				t.Errorf("%s gets %d, want %d: %s", l.what, status, l.want, body)
			}
		}
		after, _, err := s.App.Keys.List(ctx, o.Merchant.ID)
		harness.Must(t, err)
		if len(after) != len(before) {
			t.Errorf("there are %d keys, want %d as before", len(after), len(before))
		}
		if paid := harness.RowIDs(t, o.Get(t, "/payments")); len(paid) != 2 {
			t.Errorf("a revoked key or a closed checkout made a payment beside the canceled and the disputed one: %v", paid)
		}
	})
}

// heldLink is a held body of somebody who has a link, or a signature.
type heldLink struct {
	held
	what string
	want int // its answer, once the link has ended
}

// holdLinks holds bodies of whoever has a link or signs, and returns what ends those links.
func holdLinks(t *testing.T, op harness.Operator, o harness.Client) (end func(), links []heldLink) {
	s := op.Instance
	const form, text = "Content-Type: application/x-www-form-urlencoded", "Content-Type: application/json"
	add := func(what string, want int, path, body string, headers ...string) {
		links = append(links, heldLink{hold(t, s.URL, path, body, headers...), what, want})
	}
	link := o.Post(t, "/payment-links", `{"amount":25.5}`).Want(t, http.StatusCreated).Text(t, "id")
	token, err := s.App.PaymentLinks.Begin(ctx, link, pay.Customer{FirstName: "Ana", Email: "ana@b.example"}, money.Amount{})
	harness.Must(t, err)
	add("a shopper at a closed link", http.StatusSeeOther, "/l/"+link, "name=Ana&email=ana@b.example", form)
	add("a choice at a closed link's page", http.StatusSeeOther, "/checkout/"+token, "method=sbx_pse", form)
	add("a choice at a closed link", http.StatusConflict, harness.APIPath+"/checkout/sessions/"+token+"/select", harness.Choice("sbx_pse"), text)

	v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"individual"}`).Want(t, http.StatusCreated)
	page, err := url.Parse(v.Text(t, "url"))
	harness.Must(t, err)
	add("a verification that was rejected", http.StatusSeeOther, page.RequestURI(), "handed=in", form)

	h := harness.Inbox(t, o, `"*"`)
	o.Post(t, "/payments/"+o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse"}`)+"/cancel", "").Want(t, http.StatusOK)
	var delivery string
	harness.Eventually(t, "the inbox has a delivery", func() bool {
		r := o.Get(t, h.Path("/inbox")).Want(t, http.StatusOK)
		if !strings.Contains(string(r.Body), "X-Service-Delivery") {
			return false
		}
		delivery = r.Text(t, "data.0.headers.X-Service-Delivery")
		return true
	})
	body := `{"id":"evt_1"}`
	signed := []string{text, "X-Service-Delivery: " + delivery, sender.SignatureHeader + ": " + sender.Sign(s.Clock.Now(), []byte(body), h.Secret, "")}
	add("a delivery to a removed inbox", http.StatusUnauthorized, "/inbox/"+o.Shop.Slug, body, signed...)

	op.Post(t, "/accounts", harness.PlainAccount("bank", providertest.NewUpstream(t, "key-1"), "")).Want(t, http.StatusCreated)
	body = `{"reference":"01M7ZFUZZ-1","status":"paid"}`
	mac := hmac.New(sha256.New, []byte("bank-hush"))
	mac.Write([]byte(body))
	add("a notification to a removed account", http.StatusUnauthorized, harness.APIPath+"/providers/bank/notifications", body, text, providertest.PlainSignature+": "+hex.EncodeToString(mac.Sum(nil)))

	return func() {
		_, err := s.App.PaymentLinks.Update(ctx, s.App.Self(), harness.SandboxScope(o), link, payments.LinkChange{Status: pay.LinkClosed})
		harness.Must(t, err)
		harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Self(), v.Text(t, "verificationId"), merchants.KYCRejected, "document_unreadable", "send it again"))
		o.Delete(t, h.Path("")).Want(t, http.StatusOK)
		op.Remove(t, "/accounts/bank").Want(t, http.StatusOK)
		t.Cleanup(func() {
			if got := o.Get(t, "/kyc/"+v.Text(t, "verificationId")).Text(t, "status"); got != "rejected" {
				t.Errorf("a held body made a rejected verification %s", got)
			}
		})
	}, links
}

// Forms of strangers are small, so that whoever sends none to its end holds little, and others come in.
// Behind a proxy, all connections come from one address.
func TestUnendedFormsHoldLittle(t *testing.T) {
	t.Parallel()
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")} })
	for what, who := range map[string][2]string{"direct": {"127.0.0.3"}, "behind a proxy": {"127.0.0.2", "X-Forwarded-For: 198.51.100.7\r\n"}} {
		t.Run(what, func(t *testing.T) { holdForms(t, s, who[0], who[1]) })
	}
}

// holdForms leaves forms unended from an address, in headers that a proxy adds.
func holdForms(t *testing.T, s *harness.Instance, from, forwarded string) {
	o := s.NewShop(t)
	u := o.Staff(t, people.Owner)
	const form = "Content-Type: application/x-www-form-urlencoded\r\n"
	beginFrom := func(from, forwarded, path string, length, come int) net.Conn {
		c := dialFrom(t, s, from)
		_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: cascada\r\n%s%sContent-Length: %d\r\n\r\n", path, form, forwarded, length)
		harness.Must(t, err)
		_, _ = c.Write(blanks[:come]) // it may have been refused
		return c
	}
	begin := func(path string, length, come int) { beginFrom(from, forwarded, path, length, come) }
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	payment := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse","hostedCheckout":true}`)
	open := []string{"/dashboard/sign-in", "/checkout/" + o.Session(t, harness.CheckoutBody), "/pay/" + payment + "/change", "/kyc/kyc_1", "/evidence/x", "/inbox/" + o.Shop.Slug, harness.APIPath + "/providers/sandbox-1/notifications"}
	held, most := heap(), uint64(24<<20)
	for i := range 420 {
		begin(open[i%len(open)], 1<<20, 30<<10)
		if i%2 == 0 {
			begin(open[i%len(open)], 15<<10, 15<<10-10)
		}
	}
	harness.Eventually(t, "the service has read what came", func() bool {
		now := heap()
		return now < held+most
	})
	other, elsewhere := "127.0.0.4", ""
	if forwarded != "" {
		other, elsewhere = from, "X-Forwarded-For: 198.51.100.9\r\n"
	}
	for path, want := range map[string]int{"/dashboard/sign-in": http.StatusBadRequest, u.At("/keys"): http.StatusSeeOther, "/dashboard/profile": http.StatusBadRequest,
		"/checkout/none": http.StatusRequestEntityTooLarge, "/kyc/kyc_1": http.StatusRequestEntityTooLarge, "/evidence/x": http.StatusRequestEntityTooLarge} {
		c := beginFrom(other, elsewhere, path, 64<<10, 20<<10)
		if got := status(t, c); got != want {
			t.Errorf("a large form of a stranger for %s gets %d, want %d before all of it has come", path, got, want)
		}
	}
	o.Create(t, harness.Card)
	u.Page(t, "/payments")
	if a := u.Ask(t, http.MethodPost, "/dashboard/sign-in", url.Values{"email": {u.User.Email}, "password": {harness.StaffPassword}}); a.Status != http.StatusSeeOther {
		t.Errorf("a sign-in gets %d: %s", a.Status, a.Text())
	}
	c := dialFrom(t, s, "127.0.0.2")
	const wrong = "email=ana%40shop.example&password=wrong"
	_, err := fmt.Fprintf(c, "POST /dashboard/sign-in HTTP/1.1\r\nHost: cascada\r\n%sX-Forwarded-For: 198.51.100.8\r\nContent-Length: %d\r\n\r\n%s", form, len(wrong), wrong)
	harness.Must(t, err)
	if got := status(t, c); got != http.StatusUnauthorized {
		t.Errorf("a wrong password from another address behind the proxy gets %d, want 401", got)
	}
}
