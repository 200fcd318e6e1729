package e2e

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
)

// Deliveries come twice and in any order, and foreign ones are refused. Each changes the order once.
func testDeliveriesInAnyOrder(t *testing.T, s service) {
	o := openShop(t, s, "")
	v := newVisitor(t, o)
	v.add("BR", "mug")
	o.postman.hold()
	token, order := v.buy()
	payment := v.selected(token)
	o.simulate(t.Context(), t, payment, client.SimulatePaid)
	eventually(t, "payment.completed is sent", func() bool { return len(o.postman.held()) == 2 })
	pending, completed := o.postman.held()[0], o.postman.held()[1]
	if eventOf(t, pending) == "payment.completed 1" {
		pending, completed = completed, pending
	}
	if got := eventOf(t, pending) + ", " + eventOf(t, completed); got != "payment.pending 0, payment.completed 1" {
		t.Fatalf("the deliveries are %s", got)
	}
	// What somebody else sends.
	tampered := received{completed.header, bytes.Replace(completed.body, []byte(order), []byte("o-"+strings.Repeat("0", 32)), 1)}
	late := received{completed.header.Clone(), completed.body}
	stamp, rest, _ := strings.Cut(late.header.Get("X-Service-Signature"), ",")
	late.header.Set("X-Service-Signature", stamp+"0,"+rest)
	unsigned := received{http.Header{"Content-Type": {"application/json"}}, completed.body}
	for name, d := range map[string]received{"tampered": tampered, "of another time": late, "unsigned": unsigned} {
		if status := o.postman.bring(d); status != http.StatusUnauthorized {
			t.Errorf("a delivery that is %s is answered %d", name, status)
		}
	}
	if got := o.facts(t, `"fact":"event"`); len(got) != 0 {
		t.Errorf("refused deliveries are stored: %v", got)
	}
	// The newest first, each three times, two of them at once.
	for _, d := range []received{completed, pending} {
		if status := o.postman.bring(d); status != http.StatusNoContent {
			t.Fatalf("%s is answered %d", eventOf(t, d), status)
		}
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				if status := o.postman.bring(d); status != http.StatusNoContent {
					t.Errorf("again it is answered %d", status)
				}
			})
		}
		group.Wait()
		if got := o.statusOf(t, order); got != "paid" {
			t.Errorf("after %s the order is %s", eventOf(t, d), got)
		}
	}
	if got := o.facts(t, `"fact":"event"`); len(got) != 2 {
		t.Errorf("two events are stored %d times", len(got))
	}
}

// proxy is a service that loses answers on demand. The requests arrive.
type proxy struct {
	*httptest.Server
	lock sync.Mutex
	// lose is called with the path of a request that was answered. The answer is lost if it returns true.
	lose func(method, path string) bool
	keys []string
}

func newProxy(t *testing.T, s service) *proxy {
	t.Helper()
	to, err := url.Parse(s.url)
	must(t, err)
	p := &proxy{lose: func(string, string) bool { return false }}
	forward := httputil.NewSingleHostReverseProxy(to)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		forward.ServeHTTP(answer, r)
		p.lock.Lock()
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			p.keys = append(p.keys, r.URL.Path+" "+key)
		}
		lose := p.lose
		p.lock.Unlock()
		if lose(r.Method, r.URL.Path) {
			panic(http.ErrAbortHandler)
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(p.Close)
	return p
}

// loses sets what it loses.
func (p *proxy) loses(lose func(method, path string) bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.lose = lose
}

// sent are the requests with a key that were sent to a path, in which each key is there once.
func (p *proxy) sent(path string) (requests int, keys []string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	for _, key := range p.keys {
		if strings.HasPrefix(key, "/api/v1"+path+" ") {
			requests++
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return requests, slices.Compact(keys)
}

// The shop is killed after the service has opened a checkout, and again after it has refunded, before it hears so. There is one of each.
func testKilledShopPaysOnce(t *testing.T, s service) {
	p := newProxy(t, s)
	o := openShop(t, s, p.URL)
	v := newVisitor(t, o)
	v.add("BR", "coffee")
	form := v.filled()
	killed := make(chan struct{})
	kill := func(path string) {
		var once sync.Once
		killed = make(chan struct{})
		p.loses(func(method, at string) bool {
			if method != http.MethodPost || !strings.HasSuffix(at, path) {
				return false
			}
			once.Do(func() {
				_ = o.end(syscall.SIGKILL)
				close(killed)
			})
			return true
		})
	}
	kill("/checkout/sessions")
	if status, _, _ := v.post("/buy", form); status != 0 {
		t.Fatalf("a shop that was killed answers %d", status)
	}
	<-killed
	if placed, opened := o.facts(t, `"fact":"placed"`), o.facts(t, `"fact":"opened"`); len(placed) != 1 || len(opened) != 0 {
		t.Fatalf("there are %d orders and %d checkouts in the file", len(placed), len(opened))
	}
	// What was being written when the power went is dropped.
	file, err := os.OpenFile(o.data, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteString(`{"fact":"placed","order":"o-1","dra`)
	must(t, err)
	must(t, file.Close())
	p.loses(func(string, string) bool { return false })
	o.start(t)
	// It opens the checkout by itself, with the key that was stored, and the shopper who presses Buy again gets the same one.
	eventually(t, "the checkout is stored", func() bool { return len(o.facts(t, `"fact":"opened"`)) == 1 })
	_, to, _ := v.post("/buy", form)
	token, order := v.checkout(to)
	if requests, keys := p.sent("/checkout/sessions"); requests != 2 || len(keys) != 1 {
		t.Errorf("the checkout was opened by %d requests with the keys %v", requests, keys)
	}
	o.simulate(t.Context(), t, v.selected(token), client.SimulatePaid)
	o.becomes(t, order, "paid")
	if paid := o.payments(t, order); len(paid) != 1 {
		t.Errorf("the order has %d payments", len(paid))
	}
	refundsOnce(t, o, p, order, kill, &killed)
}

// refundsOnce is the second half: the shop is killed between a refund and its answer.
func refundsOnce(t *testing.T, o *demoShop, p *proxy, order string, kill func(string), killed *chan struct{}) {
	t.Helper()
	staff := newVisitor(t, o).staff()
	form := refundForm(t, staff, order, "10.5")
	kill("/refund")
	if status, _, _ := staff.post("/admin/orders/"+order+"/refund", form); status != 0 {
		t.Fatalf("a shop that was killed answers %d", status)
	}
	<-*killed
	p.loses(func(string, string) bool { return false })
	o.start(t)
	o.becomes(t, order, "partly_refunded")
	// The same form again is the same refund.
	if status, _, page := staff.post("/admin/orders/"+order+"/refund", form); status != http.StatusSeeOther {
		t.Errorf("the second click is answered %d: %s", status, page)
	}
	payment := o.payments(t, order)[0]
	claims, err := o.api.Claims(t.Context(), client.ClaimFilter{TransactionID: payment.ID})
	must(t, err)
	if len(claims.Data) != 1 || claims.Data[0].Amount != "10.5" || payment.RefundedAmountLocal != "10.5" {
		t.Errorf("there are %d refunds, in all %s", len(claims.Data), payment.RefundedAmountLocal)
	}
}

// refundForm is the form of the staff's page.
func refundForm(t *testing.T, staff *visitor, order, amount string) url.Values {
	t.Helper()
	_, _, page := staff.get("/admin/orders/" + order)
	id, payment := hidden("refund").FindStringSubmatch(page), hidden("payment").FindStringSubmatch(page)
	if id == nil || payment == nil {
		t.Fatalf("there is no form to refund: %s", page)
	}
	return url.Values{"refund": {id[1]}, "payment": {payment[1]}, "amount": {amount}, "reason": {"damaged"}}
}

// A cart buys once: clicks at once, clicks again, and clicks on an old page after paying. A cart that was changed has one order that can be paid.
func testCartBuysOnce(t *testing.T, s service) {
	p := newProxy(t, s)
	o := openShop(t, s, p.URL)
	v := newVisitor(t, o)
	v.add("BR", "coffee")
	form := v.filled()
	var group sync.WaitGroup
	leads := make([]string, 5)
	for i := range leads {
		group.Go(func() { _, leads[i], _ = v.post("/buy", form) })
	}
	group.Wait()
	if slices.Sort(leads); len(slices.Compact(leads)) != 1 {
		t.Errorf("clicks at once lead to %v", leads)
	}
	if requests, _ := p.sent("/checkout/sessions"); requests != 1 {
		t.Errorf("%d checkouts were opened", requests)
	}
	token, first := v.checkout(leads[0])
	// Back, another product, buy: the payment that was begun is called off.
	pix := v.selected(token)
	o.becomes(t, first, "waiting")
	v.add("BR", "bag")
	token, second := v.buy()
	if first == second || o.statusOf(t, first) != "canceled" {
		t.Errorf("the order of the changed cart is %s, the first is %s", second, o.statusOf(t, first))
	}
	if payment, err := o.api.Payment(t.Context(), pix); err != nil || payment.Status != "failed" || payment.Failure == nil || payment.Failure.Code != "canceled" {
		t.Errorf("the first payment is %v, %v", payment.Status, err)
	}
	old := v.filled()
	o.simulate(t.Context(), t, v.selected(token), client.SimulatePaid)
	o.becomes(t, second, "paid")
	// The page from before leads to the order that is paid.
	if status, to, _ := v.post("/buy", old); status != http.StatusSeeOther || to != "/orders/"+second {
		t.Errorf("buying a paid cart again is answered %d %s", status, to)
	}
	if _, _, page := v.get("/cart"); !strings.Contains(page, "Your cart is empty") {
		t.Error("the cart of a paid order is not empty")
	}
	// A checkout without a choice cannot be ended. If its shopper chooses after all, the payment is called off.
	v.add("BR", "pin")
	token, third := v.buy()
	if status, to, _ := v.post("/orders/"+third+"/cancel", nil); status != http.StatusSeeOther || to != "/orders/"+third || o.statusOf(t, third) != "canceled" {
		t.Errorf("canceling is answered %d %s, the order is %s", status, to, o.statusOf(t, third))
	}
	late := v.selected(token)
	eventually(t, "the late choice is called off", func() bool { return o.payments(t, third)[0].Status == "failed" })
	o.becomes(t, third, "canceled")
	if got, err := o.api.Payment(t.Context(), late); err != nil || got.Failure == nil || got.Failure.Code != "canceled" {
		t.Errorf("the late choice is %v, %v", got, err)
	}
	paysLate(t, s, v)
}

// paysLate buys, and the money comes after the time to pay. The order is not paid, and the staff sees that money came.
func paysLate(t *testing.T, s service, v *visitor) {
	t.Helper()
	v.add("BR", "mug")
	token, order := v.buy()
	reply, err := http.PostForm(s.url+"/sandbox/bank/"+v.selected(token), url.Values{"action": {"late"}})
	must(t, err)
	reply.Body.Close()
	eventually(t, "the staff sees that money came", func() bool {
		_, _, page := newVisitor(t, v.shop).staff().get("/admin/orders/" + order)
		return strings.Contains(page, "Money came late")
	})
	if got := v.shop.statusOf(t, order); got != "held" {
		t.Errorf("an order whose money came late is %s", got)
	}
	if status, to, _ := v.post("/buy", v.filled()); status != http.StatusSeeOther || to != "/orders/"+order {
		t.Errorf("buying it again is answered %d %s", status, to)
	}
}

// The service is away for a while. Nothing is lost, nothing is twice.
func testServiceIsAway(t *testing.T, s service) {
	p := newProxy(t, s)
	o := openShop(t, s, p.URL)
	v := newVisitor(t, o)
	v.add("BR", "coffee")
	form := v.filled()
	p.loses(func(method, path string) bool { return strings.HasPrefix(path, "/api/v1/checkout") })
	if status, _, page := v.post("/buy", form); status != http.StatusServiceUnavailable || !strings.Contains(page, "press Buy again") {
		t.Errorf("buying without an answer is answered %d: %s", status, page)
	}
	p.loses(func(string, string) bool { return false })
	_, to, _ := v.post("/buy", form)
	token, order := v.checkout(to)
	if _, keys := p.sent("/checkout/sessions"); len(keys) != 1 {
		t.Errorf("the checkout was opened with the keys %v", keys)
	}
	// The shop is away while the shopper pays, and for longer than deliveries are tried.
	payment := v.selected(token)
	o.becomes(t, order, "waiting")
	o.postman.hold()
	if err := o.end(syscall.SIGTERM); err != nil {
		t.Errorf("the shop ends with %v", err)
	}
	o.simulate(t.Context(), t, payment, client.SimulatePaid)
	o.start(t)
	// Nobody looks at the order: the shop reads by itself what it missed.
	eventually(t, "payment.completed is stored beside payment.pending", func() bool { return len(o.facts(t, `"fact":"event"`)) == 2 })
	if got := o.statusOf(t, order); got != "paid" {
		t.Errorf("the order is %s", got)
	}
}

// What strangers send changes nothing.
func testStrangersChangeNothing(t *testing.T, s service) {
	o := openShop(t, s, "")
	v := newVisitor(t, o)
	v.add("BR", "mug")
	form := v.filled()
	// Another total than the one that was shown is not charged.
	seen := form.Get("seen")
	form.Set("seen", "BRL 0.01")
	if status, _, page := v.post("/buy", form); status != http.StatusConflict || !strings.Contains(page, "This is the total now") || seen != "BRL 89" {
		t.Errorf("a total of before is answered %d: %s", status, page)
	}
	form.Set("seen", seen)
	// Prices and amounts of the browser do not count, and a name is text.
	form.Set("amount", "0.01")
	form.Set("price", "0.01")
	form.Set("currency", "COP")
	form.Set("firstName", `"><script>alert(1)</script>`)
	status, to, page := v.post("/buy", form)
	if status != http.StatusSeeOther {
		t.Fatalf("buying is answered %d: %s", status, page)
	}
	token, order := v.checkout(to)
	session, err := o.api.CheckoutSession(t.Context(), token)
	must(t, err)
	if session.Amount != "89" || session.Currency != "BRL" {
		t.Errorf("the checkout is over %s %s", session.Amount, session.Currency)
	}
	if _, _, page := newVisitor(t, o).staff().get("/admin/orders/" + order); strings.Contains(page, "<script>alert") || !strings.Contains(page, "&lt;script&gt;alert") {
		t.Errorf("the name is shown as %s", page)
	}
	// The redirect's words prove nothing.
	if _, _, page := v.get("/orders/" + order + "?transactionId=TXN-1&status=completed"); strings.Contains(page, `"status paid"`) {
		t.Error("an address makes an order paid")
	}
	for _, quantity := range []string{"-3", "1.5", "1e3", "x"} {
		v.post("/cart", url.Values{"mug": {quantity}})
		if _, _, page := v.get("/cart"); strings.Contains(page, `value="`+quantity+`"`) {
			t.Errorf("the cart has %s mugs", quantity)
		}
	}
	stranger := newVisitor(t, o)
	stranger.origin, stranger.http = "https://evil.example", v.http // another site, in the shopper's browser
	for _, path := range []string{"/cart/add", "/cart", "/choice", "/buy", "/orders/" + order + "/cancel", "/admin/orders/" + order + "/refund"} {
		if status, _, _ := stranger.post(path, url.Values{"sku": {"mug"}}); status != http.StatusForbidden {
			t.Errorf("POST %s from another site is answered %d", path, status)
		}
	}
	for path, want := range map[string]int{
		"/admin": 401, "/admin/orders/" + order: 401, "/orders/o-none": 404, "/none": 404, "/buy": 405, "/assets/../main.js": 404, "/assets/%2e%2e/main.js": 404,
		"/orders/__proto__": 404, "/cart?x=%": 200,
	} {
		if status, _, _ := v.get(path); status != want {
			t.Errorf("GET %s is answered %d, want %d", path, status, want)
		}
	}
	raw, err := net.Dial("tcp", strings.TrimPrefix(o.url, "http://"))
	must(t, err)
	defer raw.Close()
	_, err = io.WriteString(raw, "GET //[?%zz HTTP/1.1\r\nHost: x\r\nCookie: cart=;;=%\r\nConnection: close\r\n\r\n")
	must(t, err)
	if answer, err := io.ReadAll(raw); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 404 ") {
		t.Errorf("an address that is none is answered %q, %v", answer, err)
	}
	if status, _, _ := v.post("/admin/orders/"+order+"/cancel", nil); status != http.StatusUnauthorized {
		t.Errorf("canceling as staff without the password is answered %d", status)
	}
	if status, _, _ := v.post("/buy", url.Values{"x": {strings.Repeat("x", 70<<10)}}); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long form is answered %d", status)
	}
	if got := o.statusOf(t, order); got != "open" {
		t.Errorf("the order is %s", got)
	}
}

// A demo that is ended leaves nothing.
func testDemoEnds(t *testing.T, s service) {
	dir := t.TempDir()
	command := program(t)
	var written log
	demo := exec.Command(command[0], "../../examples/demo.mjs", s.binary, strings.TrimSuffix(command[1], "/made/main.js"))
	demo.Env, demo.Stdout, demo.Stderr = append(os.Environ(), "CASCADA_PORT=0", "SHOP_PORT=0", "TMPDIR="+dir), &written, &written
	must(t, demo.Start())
	defer func() { _ = demo.Process.Signal(syscall.SIGTERM) }()
	eventually(t, "the demo prints what to try", func() bool { return strings.Contains(written.String(), "Ctrl-C ends both.") })
	addresses := regexp.MustCompile(`http://\S+:\d+`).FindAllString(written.String(), -1)
	for _, address := range addresses {
		if reply, err := http.Get(address); err != nil || reply.StatusCode >= 500 {
			t.Errorf("%s: %v %v", address, reply, err)
		}
	}
	must(t, demo.Process.Signal(os.Interrupt))
	if err := demo.Wait(); err != nil {
		t.Errorf("the demo ends with %v: %s", err, &written)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the demo leaves %v, %v", left, err)
	}
	for _, address := range addresses {
		if _, err := (&http.Client{Timeout: time.Second}).Get(address); err == nil {
			t.Errorf("%s still answers", address)
		}
	}
	if len(addresses) < 2 {
		t.Errorf("the demo prints no addresses: %s", &written)
	}
}
