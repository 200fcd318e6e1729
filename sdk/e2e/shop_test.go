package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
)

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not happen that %s", what)
		}
	}
}

// demoShop is the shop of examples/shop, as sdk/check.sh built it, with a merchant of its own.
type demoShop struct {
	url, data, secret string
	env               []string
	api               *client.Client
	postman           *postman
	program           *exec.Cmd
	written           *log
}

const staffPassword = "of-the-staff"

// openShop starts a shop. service is what it calls instead of the service: a proxy, or "".
func openShop(t *testing.T, s service, proxy string) *demoShop {
	t.Helper()
	k, id := s.merchantWithShop(t, "shop")
	api, err := client.New(client.Config{URL: s.url, SecretKey: k.Secret})
	must(t, err)
	port := freePort(t)
	o := &demoShop{url: "http://127.0.0.1:" + port, data: filepath.Join(t.TempDir(), "orders.jsonl"), api: api, written: &log{}}
	o.postman = newPostman(t, o)
	if out, err := exec.Command(s.binary, "shop", "brand", id, "--frame", o.url, "--database", s.database).CombinedOutput(); err != nil {
		t.Fatalf("allow the shop's origin: %v: %s", err, out)
	}
	if proxy == "" {
		proxy = s.url
	}
	o.env = append(os.Environ(), "CASCADA_URL="+proxy, "CASCADA_SECRET_KEY="+k.Secret, "CASCADA_PUBLISHABLE_KEY="+k.Publishable, "SHOP_URL="+o.url, "PORT="+port,
		"DATA_FILE="+o.data, "ADMIN_PASSWORD="+staffPassword)
	// The webhook leads to the postman, who brings the deliveries to the shop.
	setup := exec.Command(program(t)[0], strings.Replace(program(t)[1], "main.js", "setup.js", 1))
	setup.Env, setup.Stderr = append(slices.Clone(o.env), "CASCADA_URL="+s.url, "SHOP_URL="+o.postman.server.URL), o.written
	out, err := setup.Output()
	if err != nil {
		t.Fatalf("set up the shop: %v: %s", err, o.written)
	}
	o.secret = strings.TrimSpace(string(out))
	o.env = append(o.env, "CASCADA_WEBHOOK_SECRET="+o.secret)
	o.start(t)
	t.Cleanup(func() {
		o.end(syscall.SIGTERM)
		if t.Failed() {
			t.Logf("the shop wrote: %s", o.written)
		}
	})
	return o
}

// program is the command of the shop.
func program(t *testing.T) []string {
	t.Helper()
	command := strings.Fields(os.Getenv("SDK_SHOP"))
	if len(command) != 2 {
		t.Fatal("SDK_SHOP is not set: make sdks runs these tests")
	}
	return command
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	return port
}

func (o *demoShop) start(t *testing.T) {
	t.Helper()
	command := program(t)
	o.program = exec.Command(command[0], command[1:]...)
	o.program.Env, o.program.Stdout, o.program.Stderr = o.env, o.written, o.written
	must(t, o.program.Start())
	eventually(t, "the shop is ready", func() bool {
		reply, err := http.Get(o.url)
		if err != nil {
			return false
		}
		reply.Body.Close()
		return true
	})
}

// end sends the shop a signal and waits for its end.
func (o *demoShop) end(signal syscall.Signal) error {
	_ = o.program.Process.Signal(signal)
	return o.program.Wait()
}

// payments are those of an order at the service.
func (o *demoShop) payments(t *testing.T, order string) []client.Payment {
	t.Helper()
	page, err := o.api.Payments(t.Context(), client.PaymentFilter{MerchantOrderID: order})
	must(t, err)
	return page.Data
}

// statusOf is the status that the page of an order shows.
func (o *demoShop) statusOf(t *testing.T, order string) string {
	t.Helper()
	_, _, page := newVisitor(t, o).get("/orders/" + order)
	match := regexp.MustCompile(`class="status (\w+)"`).FindStringSubmatch(page)
	if match == nil {
		t.Fatalf("the page of the order shows no status: %s", page)
	}
	return match[1]
}

func (o *demoShop) becomes(t *testing.T, order, want string) {
	t.Helper()
	eventually(t, "the order is "+want, func() bool { return o.statusOf(t, order) == want })
}

// facts are the lines of the shop's file that have a text.
func (o *demoShop) facts(t *testing.T, with string) []string {
	t.Helper()
	text, err := os.ReadFile(o.data)
	must(t, err)
	var found []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, with) {
			found = append(found, line)
		}
	}
	return found
}

// postman gets the deliveries of a shop. He brings each at once, unless he holds them.
type postman struct {
	server *httptest.Server
	shop   *demoShop
	lock   sync.Mutex
	holds  bool
	bag    []received
}

func newPostman(t *testing.T, o *demoShop) *postman {
	t.Helper()
	p := &postman{shop: o}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		d := received{r.Header.Clone(), body}
		p.lock.Lock()
		p.bag = append(p.bag, d)
		holds := p.holds
		p.lock.Unlock()
		if !holds {
			w.WriteHeader(p.bring(d))
		}
	}))
	t.Cleanup(p.server.Close)
	return p
}

// hold makes him keep what comes.
func (p *postman) hold() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.holds, p.bag = true, nil
}

// held are the deliveries that he has, oldest first.
func (p *postman) held() []received {
	p.lock.Lock()
	defer p.lock.Unlock()
	return slices.Clone(p.bag)
}

// bring delivers, and returns the shop's answer.
func (p *postman) bring(d received) int {
	request, err := http.NewRequest(http.MethodPost, p.shop.url+"/webhooks/cascada", bytes.NewReader(d.body))
	if err != nil {
		return http.StatusInternalServerError
	}
	request.Header = d.header
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return http.StatusBadGateway
	}
	reply.Body.Close()
	return reply.StatusCode
}

// eventOf is the type and the sequence of a delivery's event.
func eventOf(t *testing.T, d received) string {
	t.Helper()
	var e struct {
		Type     string
		Sequence int
	}
	must(t, json.Unmarshal(d.body, &e))
	return fmt.Sprint(e.Type, " ", e.Sequence)
}

// visitor is a browser without pictures: it has cookies and sends forms. It follows no redirect.
type visitor struct {
	t      *testing.T
	shop   *demoShop
	origin string
	http   *http.Client
	basic  string
}

func newVisitor(t *testing.T, o *demoShop) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &visitor{t: t, shop: o, origin: o.url, http: &http.Client{Jar: jar, Timeout: 2 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// staff is a visitor with the staff's password.
func (v *visitor) staff() *visitor {
	v.basic = "Basic " + base64.StdEncoding.EncodeToString([]byte("ana:"+staffPassword))
	return v
}

func (v *visitor) do(method, path string, form url.Values) (status int, to, page string) {
	request, err := http.NewRequest(method, v.shop.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", err.Error()
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", v.origin)
	}
	if v.basic != "" {
		request.Header.Set("Authorization", v.basic)
	}
	reply, err := v.http.Do(request)
	if err != nil {
		return 0, "", err.Error()
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, "", err.Error()
	}
	return reply.StatusCode, reply.Header.Get("Location"), string(text)
}

func (v *visitor) get(path string) (status int, to, page string) {
	return v.do(http.MethodGet, path, nil)
}

func (v *visitor) post(path string, form url.Values) (status int, to, page string) {
	return v.do(http.MethodPost, path, form)
}

var hidden = func(name string) *regexp.Regexp { return regexp.MustCompile(`name="` + name + `" value="([^"]+)"`) }

// filled is the form of the cart's page for Ana.
func (v *visitor) filled() url.Values {
	v.t.Helper()
	_, _, page := v.get("/cart")
	cart, seen := hidden("cart").FindStringSubmatch(page), hidden("seen").FindStringSubmatch(page)
	if cart == nil || seen == nil {
		v.t.Fatalf("the cart has no form: %s", page)
	}
	return url.Values{"cart": {cart[1]}, "seen": {seen[1]}, "firstName": {"Ana"}, "lastName": {"Souza"}, "email": {"ana@example.com"}, "phone": {"+55 11 98765-4321"}, "mode": {"redirect"}}
}

// add puts a product into the cart, in a country.
func (v *visitor) add(country, sku string) {
	v.t.Helper()
	v.post("/choice", url.Values{"country": {country}, "language": {"en"}})
	if status, to, page := v.post("/cart/add", url.Values{"sku": {sku}}); status != http.StatusSeeOther || to != "/cart" {
		v.t.Fatalf("%d %s: %s", status, to, page)
	}
}

// checkout is where the shop sends a shopper who buys: the token of the session, and the order that it is for.
func (v *visitor) checkout(to string) (token, order string) {
	v.t.Helper()
	address, err := url.Parse(to)
	must(v.t, err)
	token = strings.TrimPrefix(address.Path, "/checkout/")
	if !strings.HasPrefix(token, "cs_") {
		v.t.Fatalf("the shop leads to %s, want a checkout", to)
	}
	placed := v.shop.facts(v.t, `"url":"`+to)
	if len(placed) != 1 {
		v.t.Fatalf("the checkout %s is of %d orders", token, len(placed))
	}
	var fact struct{ Order string }
	must(v.t, json.Unmarshal([]byte(placed[0]), &fact))
	return token, fact.Order
}

// buy buys what is in the cart.
func (v *visitor) buy() (token, order string) {
	v.t.Helper()
	status, to, page := v.post("/buy", v.filled())
	if status != http.StatusSeeOther {
		v.t.Fatalf("buying is answered %d: %s", status, page)
	}
	return v.checkout(to)
}

// selected chooses PIX in a session, and returns the payment.
func (v *visitor) selected(token string) string {
	v.t.Helper()
	choice := client.Choice{PaymentMethodID: "sbx_pix"}
	choice.Customer.DocumentID = "52998224725"
	chosen, err := v.shop.api.SelectMethod(v.t.Context(), token, choice)
	must(v.t, err)
	return chosen.TransactionID
}

func (o *demoShop) simulate(ctx context.Context, t *testing.T, payment string, action client.Action) {
	t.Helper()
	_, err := o.api.Simulate(ctx, payment, action)
	must(t, err)
}
