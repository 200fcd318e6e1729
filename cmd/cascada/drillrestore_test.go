package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// ageKey makes a recipient, and a file with the identity that decrypts for it.
func ageKey(t testing.TB, dir string) (recipient, identity string) {
	t.Helper()
	made, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	identity = filepath.Join(dir, "identity.txt")
	if err := os.WriteFile(identity, []byte(made.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return made.Recipient().String(), identity
}

// witness stands before a provider and keeps each call that the provider accepted.
type witness struct {
	mu    sync.Mutex // owns calls
	calls []seenCall
}

type seenCall struct{ kind, reference, charge, amount, currency, status string }

func (w *witness) before(upstream http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		answer := httptest.NewRecorder()
		upstream.ServeHTTP(answer, r)
		var asked, said struct{ Reference, Charge, Amount, Currency, Status string }
		if r.Method == http.MethodPost && json.Unmarshal(body, &asked) == nil && json.Unmarshal(answer.Body.Bytes(), &said) == nil {
			w.mu.Lock()
			w.calls = append(w.calls, seenCall{strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), "s"), asked.Reference, asked.Charge, asked.Amount, asked.Currency, said.Status})
			w.mu.Unlock()
		}
		out.WriteHeader(answer.Code)
		_, _ = out.Write(answer.Body.Bytes())
	})
}

// list returns everything that the provider did, paid or not, as its own export.
func (w *witness) list(t testing.TB, path string) string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var table strings.Builder
	table.WriteString("reference,provider_reference,refund_reference,refund_provider_reference,type,amount,currency\n")
	for _, c := range w.once() {
		if c.kind == "refund" {
			fmt.Fprintf(&table, "%s,,%s,up-%s,refund,%s,%s\n", c.charge, c.reference, c.reference, c.amount, c.currency)
			continue
		}
		fmt.Fprintf(&table, "%s,up-%s,,,charge,%s,%s\n", c.reference, c.reference, c.amount, c.currency)
	}
	if err := os.WriteFile(path, []byte(table.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// once returns each reference once, because the provider charges once for it. The caller holds the lock.
func (w *witness) once() []seenCall {
	seen := map[string]seenCall{}
	for _, c := range w.calls {
		seen[c.reference] = c
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b seenCall) int { return strings.Compare(a.reference, b.reference) })
}

// demand is a request that its client repeats later.
type demand struct{ path, key, body, id string }

// restoring is a running drill.
type restoring struct {
	t        *testing.T
	user     user
	database string
	server   *server
	keys     keys
	method   string
	first    *providertest.Upstream
	books    map[string]*witness
	bank     *drillBooks
	orders   []demand
	codes    map[string]int
	longest  time.Duration
}

// ask sends a request of the shop, with its key.
func (d *restoring) ask(o demand) (int, map[string]any) {
	secret := d.keys.Keys.Production.Secret
	if o.path == "/withdrawals" {
		secret = d.keys.Keys.Sandbox.Secret
	}
	began := time.Now()
	status, reply := d.server.call("POST", o.path, secret, o.body, http.Header{"Idempotency-Key": {o.key}})
	d.longest = max(d.longest, time.Since(began))
	if judge(status, reply) != made {
		d.codes[code(status, reply)]++
	}
	return status, reply
}

// does sends a request that must succeed, and keeps it.
func (d *restoring) does(o demand, id string) demand {
	d.t.Helper()
	status, reply := d.ask(o)
	if judge(status, reply) != made {
		d.t.Fatalf("%s %s: %d %v", o.path, o.key, status, reply)
	}
	o.id = text(reply, id)
	d.orders = append(d.orders, o)
	return o
}

// window creates payments, refunds and withdrawals.
func (d *restoring) window(name string, n int, known []demand) (paid []demand) {
	for i := range n {
		next := "paid"
		switch i % 5 {
		case 1:
			next = "soft" // so that it goes to the second account
		case 2:
			next = "open"
		}
		d.first.Next(next)
		p := d.does(demand{path: "/payments", key: fmt.Sprintf("%s-pay-%d", name, i),
			body: fmt.Sprintf(`{"amount":%d,"documentId":"52998224725","paymentMethodId":%q}`, 10+len(d.orders), d.method)}, "transactionId")
		if next != "open" {
			paid = append(paid, p)
		}
	}
	for i, p := range append(slices.Clone(known), paid...) {
		if i%4 == 0 {
			d.does(demand{path: "/payments/" + p.id + "/refund", key: fmt.Sprintf("%s-refund-%d", name, i), body: fmt.Sprintf(`{"amount":%d}`, 1+len(name))}, "refundId")
		}
	}
	for i := range max(n/10, 2) {
		w := d.does(demand{path: "/withdrawals", key: fmt.Sprintf("%s-out-%d", name, i), body: fmt.Sprintf(`{"amount":%d}`, 20+len(d.orders))}, "id")
		await(d.t, "the bank to pay "+w.id, func() bool {
			d.bank.mu.Lock()
			defer d.bank.mu.Unlock()
			return d.bank.paid[strings.TrimPrefix(w.id, "wdr_")] > 0
		})
	}
	return paid
}

// begin opens the accounts, and creates money that can be withdrawn.
func (d *restoring) begin() {
	u := d.user.with("PLAIN_KEY=key-1", "PLAIN_SECRET=hush")
	u.does(d.t, "migrate")
	d.bank.paid, d.bank.not = map[string]int64{}, map[string]bool{}
	bank := httptest.NewServer(d.bank)
	d.t.Cleanup(bank.Close)
	u.does(d.t, "provider", "add", "drill", "--id", "bank", "--environment", "sandbox", "--base-url", bank.URL)
	u.does(d.t, "fx", "set", "BRL", "5.4")
	for i, account := range []string{"first", "second"} {
		upstream := providertest.NewUpstream(d.t, "key-1")
		upstream.Next("paid")
		if i == 0 {
			d.first = upstream
		}
		d.books[account] = &witness{}
		door := httptest.NewServer(d.books[account].before(upstream))
		d.t.Cleanup(door.Close)
		u.does(d.t, "provider", "add", "plain", "--id", account, "--base-url", door.URL, "--priority", fmt.Sprint(i+1),
			"--credential", "apiKey=env:PLAIN_KEY", "--credential", "webhookSecret=env:PLAIN_SECRET")
	}
	d.server = d.user.serve(d.t)
	d.keys = d.user.merchant(d.t, d.database)
	sandbox := d.keys.Keys.Sandbox.Secret
	for i := range 2 {
		d.server.call("POST", "/payments", sandbox, `{"amount":90000,"paymentMethodId":"sbx_card"}`, http.Header{"Idempotency-Key": {fmt.Sprint("fund", i)}})
	}
	d.server.call("POST", "/wallets", sandbox, `{"type":"bank_account","currency":"MXN","destination":"032180000118359719"}`, nil)
	d.server.call("POST", "/sandbox/clock", sandbox, `{"advance":"720h"}`, nil)
	await(d.t, "money to withdraw", func() bool {
		_, reply := d.server.call("GET", "/me/balance", sandbox, "", nil)
		balance, _ := reply["balance"].(map[string]any)
		available, _ := balance["available"].(float64)
		return available > 50_000
	})
	_, list := d.server.call("GET", "/payment-methods?country=BR&method=pix", d.keys.Keys.Production.Secret, "", nil)
	methods, _ := list["methods"].([]any)
	pix, _ := methods[0].(map[string]any)
	d.method = text(pix, "paymentMethodId")
}

// doubled counts what providers did more than once for one order. Orders have unique amounts: payments and
// payouts are counted by their amount, refunds by their charge.
func (d *restoring) doubled() (n int) {
	times := map[string]int{}
	for _, w := range d.books {
		w.mu.Lock()
		for _, c := range w.once() {
			if c.status != "soft" {
				times[c.kind+" "+c.charge+" "+c.amount]++
			}
		}
		w.mu.Unlock()
	}
	d.bank.mu.Lock()
	defer d.bank.mu.Unlock()
	for _, minor := range d.bank.paid {
		times[fmt.Sprint("payout ", minor)]++
	}
	for what, k := range times {
		if k > 1 {
			n += k - 1
			d.t.Errorf("%s: %d times", what, k)
		}
	}
	return n
}

// repeat lets clients repeat all their requests. Each must get the same result as before.
func (d *restoring) repeat(orders []demand, closed bool) (refusals, untrue int) {
	for _, o := range orders {
		status, reply := d.ask(o)
		id := text(reply, map[string]string{"/payments": "transactionId", "/withdrawals": "id"}[o.path])
		if strings.HasSuffix(o.path, "/refund") {
			id = text(reply, "refundId")
		}
		switch {
		case closed && status == http.StatusServiceUnavailable && text(reply, "error", "details", "reason") == "recovering",
			closed && status == http.StatusNotFound && strings.HasSuffix(o.path, "/refund"): // its payment is unknown too
			refusals++
		case judge(status, reply) != made || id != o.id:
			untrue++
			d.t.Errorf("%s %s is answered %d %v, was %s", o.path, o.key, status, reply, o.id)
		}
	}
	return refusals, untrue
}

// A database is restored to an earlier moment, so later changes are lost. Clients repeat all their
// requests with the same keys: nothing is charged, refunded or paid out twice, and each request gets the
// same answer as before.
//
//	go test ./cmd/cascada -run TestDrillRestore -v -full -timeout 30m
func TestDrillRestore(t *testing.T) {
	t.Parallel()
	restoringHeading()
	atOnce(t, map[string]func(t *testing.T){"sqlite": func(t *testing.T) {
		database := dbtest.SQLite(t)
		file := ""
		restore(t, "SQLite", database, func(d *restoring) {
			file = filepath.Join(d.user.dir, "copy.db")
			d.user.does(t, "backup", file)
		}, func(d *restoring) string {
			d.server.kill()
			d.user.does(t, "restore", file, "--move-aside")
			return database
		})
	}, "postgres": func(t *testing.T) {
		primary := dbtest.Archiving(t)
		var base *dbtest.Server
		var at time.Time
		restore(t, "PostgreSQL", dbtest.Address(primary), func(*restoring) {
			base = primary.Base()
			at = time.Now()
		}, func(d *restoring) string {
			to := time.Now()
			d.server.kill()
			primary.Archived()
			primary.Kill()
			base.PutBack(primary, at)
			d.user = d.user.with("CASCADA_DATABASE=" + dbtest.Address(base))
			d.user.does(t, "recover", "begin", "--from", at.UTC().Add(-time.Second).Format(time.RFC3339), "--to", to.UTC().Add(time.Second).Format(time.RFC3339))
			return dbtest.Address(base)
		})
	}})
}

func restoringHeading() {
	heading("database", "requests before", "in the lost time", "answered 503 while closed", "charges, refunds and payouts at providers", "errors", "longest answer", "lost", "doubled", "untrue answers")
}

func restore(t *testing.T, name, database string, backup func(*restoring), putBack func(*restoring) string) {
	n := 10
	if *full {
		n = 200
	}
	d := &restoring{t: t, user: plainly(t, database), database: database, bank: &drillBooks{}, books: map[string]*witness{}, codes: map[string]int{}}
	d.begin()
	known := d.window("before", n, nil)
	backup(d)
	before := len(d.orders)
	d.user.does(t, "fx", "set", "BRL", "5.5") // lost too, so the local amount is different afterwards
	time.Sleep(time.Second)                   // running servers learn of a rate within seconds
	d.window("lost", n, known)
	d.codes, d.longest = map[string]int{}, 0
	database = putBack(d)

	d.first.Next("paid") // a second call to the first account would charge
	d.server = d.user.serve(t)
	refusals, untrue := d.repeat(d.orders, true)
	if lost := len(d.orders) - before; refusals != lost {
		t.Errorf("while the service was closed, %d of %d requests of the lost time were refused", refusals, lost)
	}
	if wait := d.waits(d.orders[before]); wait != "60" {
		t.Errorf("a refused request has Retry-After %q", wait)
	}
	if _, log, code := d.user.run(t, "recover", "end"); code == 0 || !strings.Contains(log, "it is not known what account first did") {
		t.Errorf("recover end before the lists were read: exit %d, %s", code, log)
	}
	empty := filepath.Join(d.user.dir, "empty.csv")
	if err := os.WriteFile(empty, []byte("reference,type,amount,currency\nx,fee,1.00,USD\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, log, code := d.user.run(t, "recover", "list", "--provider", "first", "--report", empty); code == 0 || !strings.Contains(log, "1 are other kinds") {
		t.Errorf("a list that cannot be read: exit %d, %s", code, log)
	}
	for account, w := range d.books {
		d.user.does(t, "recover", "list", "--provider", account, "--report", w.list(t, filepath.Join(d.user.dir, account+".csv")))
	}
	d.user.does(t, "recover", "list", "--provider", "bank", "--report", d.payouts())
	d.user.does(t, "recover", "end", "--waiting")
	await(t, "the service to be open", func() bool {
		status, _ := d.ask(d.orders[before])
		return status == http.StatusCreated
	})
	_, more := d.repeat(d.orders, false)
	_, again := d.repeat(d.orders, false)
	untrue += more + again
	calls := 0
	for _, w := range d.books {
		w.mu.Lock()
		calls += len(w.once())
		w.mu.Unlock()
	}
	doubled := d.doubled()
	if left := d.user.does(t, "recover", "--database", database); strings.Contains(left, "FOUND") {
		t.Errorf("found entries are left:\n%s", left)
	}
	d.does(demand{path: "/payments", key: "new", body: fmt.Sprintf(`{"amount":9,"documentId":"52998224725","paymentMethodId":%q}`, d.method)}, "transactionId")
	d.settled()
	d.user.check(t, database)
	lost := d.lost()
	within(t, "an answer", d.longest, answerLimit)
	row(name, before, len(d.orders)-before-1, refusals, calls+len(d.bank.paid), failures(d.codes), ms(d.longest), lost, doubled, untrue)
}

// lost counts the requests that were answered as done and have no object.
func (d *restoring) lost() (n int) {
	for _, o := range d.orders {
		path, secret := "/payments/"+o.id, d.keys.Keys.Production.Secret
		switch {
		case o.path == "/withdrawals":
			path, secret = "/withdrawals/"+o.id, d.keys.Keys.Sandbox.Secret
		case strings.HasSuffix(o.path, "/refund"):
			path = "/claims/" + o.id
		}
		if status, reply := d.server.call("GET", path, secret, "", nil); status != http.StatusOK {
			n++
			d.t.Errorf("%s %s, done before, is %d %v now", o.path, o.key, status, reply)
		}
	}
	return n
}

// waits returns the Retry-After of a request's answer.
func (d *restoring) waits(o demand) string {
	r, err := http.NewRequest("POST", d.server.url+"/api/v1"+o.path, strings.NewReader(o.body))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+d.keys.Keys.Production.Secret)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", o.key)
	reply, err := connections.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer reply.Body.Close()
	return reply.Header.Get("Retry-After")
}

// payouts returns the bank's list.
func (d *restoring) payouts() string {
	d.bank.mu.Lock()
	defer d.bank.mu.Unlock()
	var table strings.Builder
	table.WriteString("reference,provider_reference,type,amount,currency\n")
	for reference, minor := range d.bank.paid {
		fmt.Fprintf(&table, "%s,bank-%s,payout,%d.%02d,MXN\n", reference, reference, minor/100, minor%100)
	}
	path := filepath.Join(d.user.dir, "bank.csv")
	if err := os.WriteFile(path, []byte(table.String()), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return path
}

// settled waits until no refund and no withdrawal is open.
func (d *restoring) settled() {
	for path, secret := range map[string]string{
		"/withdrawals?status=pending": d.keys.Keys.Sandbox.Secret, "/withdrawals?status=processing": d.keys.Keys.Sandbox.Secret,
		"/claims?status=pending": d.keys.Keys.Production.Secret,
	} {
		await(d.t, "nothing in "+path, func() bool {
			_, list := d.server.call("GET", path, secret, "", nil)
			page, _ := list["pagination"].(map[string]any)
			total, told := page["total"].(float64)
			return told && total == 0
		})
	}
}
