package main_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

const (
	killRounds  = 5
	killClients = 4
	// killFailures is how many wrong payments are reported, and killStories how many of them
	// with their story.
	killFailures = 20
	killStories  = 3
)

var killSeed = flag.Uint64("kill.seed", 0, "the moments at which TestKill… kills; 0 draws them anew")

// moments draws the moments to kill at. The same seed draws the same moments; what the
// process is doing then may differ.
func moments(t *testing.T) *rand.Rand {
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test -run %s -kill.seed=%d kills at the same moments", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// The service is killed again and again under load. Everything that it acknowledged
// is there, everything else is done once when its key is repeated, the books are right, and
// every event arrives.
func TestKillAtAnyMomentLosesNothing(t *testing.T) {
	t.Parallel()
	rounds := killRounds
	if testing.Short() {
		rounds = 1
	}
	eachAtOnce(t, func(t *testing.T, database string) {
		random := moments(t)
		var pauses []time.Duration
		for range rounds {
			pauses = append(pauses, 150*time.Millisecond+time.Duration(random.Int64N(int64(450*time.Millisecond))))
		}
		k := &killing{t: t, user: newUser(t), database: database}
		k.server = k.user.serve(t, "--database", database)
		k.key = k.user.merchant(t, database).Keys.Sandbox.Secret
		in := k.server.subscribe(k.key)
		for round, pause := range pauses {
			k.load(round, pause)
			k.user.check(t, database) // as the dead process left it
			k.server = k.user.serve(t, "--database", database)
		}
		began := time.Now()
		await(t, "the dead processes' payments and refunds to be resolved", func() bool {
			return k.server.total(k.key, "status=processing") == 0 && k.server.claims(k.key, "status=pending") == 0
		})
		t.Logf("they were resolved %s after the last start", time.Since(began).Round(time.Second))
		k.each((*killing).retry)
		k.each((*killing).verify)
		k.books()
		k.attempts()
		in.settle(t, database)
		for _, o := range k.orders {
			if o.status == "completed" && !in.told("payment.completed", o.transaction) {
				k.fail(o, "the endpoint was not told payment.completed")
			}
			if o.refunds && !(in.told("payment.refunded", o.transaction) && in.told("claim.opened", o.refund) && in.told("claim.resolved", o.refund)) {
				k.fail(o, "the endpoint was not told all of the refund %s", o.refund)
			}
		}
		k.sealed()
		k.user.check(t, database)
		k.server.stop()
	})
}

// killing is a running test: a shop whose server is killed again and again.
type killing struct {
	t        *testing.T
	user     user
	database string
	server   *server
	key      string

	mu       sync.Mutex // owns what follows while clients run
	orders   []*order
	failures int
}

// order is a create call with its own key, perhaps followed by the shopper's payment, with
// the replies to its caller.
type order struct {
	key, body string
	cents     int64
	pays      bool // the shopper pays the PIX
	refunds   bool // and gets a refund
	// acknowledged is the last status in a reply, "" without a reply.
	acknowledged        string
	transaction, status string
	refund              string // the claim's id
}

// newOrder returns a card that is approved, a card that is declined, a PIX that is paid or one that is not.
func newOrder(key string, n int) *order {
	o := &order{key: key, cents: int64(100*(1+n%50) + 50)}
	rail := `"sbx_card"`
	switch n % 8 {
	case 1:
		o.refunds = true
	case 3:
		o.cents = int64(100*(1+n%50) + 5) // do not honor
	case 4, 5, 6:
		rail = `"sbx_pix","documentId":"52998224725"`
		o.pays = n%8 != 6
	}
	o.body = fmt.Sprintf(`{"amount":%d.%02d,"paymentMethodId":%s,"merchantOrderId":"%s"}`, o.cents/100, o.cents%100, rail, key)
	return o
}

// load sends orders from many clients and kills the server meanwhile.
func (k *killing) load(round int, pause time.Duration) {
	before := len(k.orders)
	var dead atomic.Bool
	var clients sync.WaitGroup
	for c := range killClients {
		clients.Go(func() {
			for n := 0; !dead.Load(); n++ {
				o := newOrder(fmt.Sprintf("k-%d-%d-%d", round, c, n), n+c)
				k.mu.Lock()
				k.orders = append(k.orders, o)
				k.mu.Unlock()
				k.place(o)
			}
		})
	}
	time.Sleep(pause) // the kill comes at a random moment
	k.server.kill()
	dead.Store(true)
	clients.Wait()
	k.server.faultless()
	acknowledged := 0
	for _, o := range k.orders[before:] {
		if o.acknowledged != "" {
			acknowledged++
		}
	}
	k.t.Logf("round %d: killed after %s, %d of %d orders acknowledged", round, pause.Round(time.Millisecond), acknowledged, len(k.orders)-before)
}

// place sends an order and its payment, and notes the replies. It returns false if there was
// no reply.
func (k *killing) place(o *order) bool {
	status, reply := k.server.call("POST", "/payments", k.key, o.body, http.Header{"Idempotency-Key": {o.key}})
	transaction, now := text(reply, "transactionId"), text(reply, "status")
	switch status {
	case 0:
		return false
	case http.StatusCreated:
	case http.StatusPaymentRequired:
		transaction, now = text(reply, "error", "details", "transactionId"), "failed"
	default:
		k.fail(o, "the create call replied %d %v", status, reply)
		return true
	}
	if o.transaction != "" && o.transaction != transaction {
		k.fail(o, "one key replied with %s and with %s", o.transaction, transaction)
	}
	if o.transaction == "" {
		o.transaction, o.acknowledged = transaction, now
	}
	if o.refunds && !k.giveBack(o) {
		return false
	}
	if !o.pays || o.acknowledged != "pending" {
		return true
	}
	status, reply = k.server.call("POST", "/payments/"+transaction+"/simulate", k.key, `{"action":"paid"}`, nil)
	switch status {
	case 0:
		return false
	case http.StatusOK:
		o.acknowledged = "completed"
	case http.StatusConflict: // an earlier try succeeded before the kill
	default:
		k.fail(o, "the shopper's payment was replied %d %v", status, reply)
	}
	return true
}

// giveBack refunds an order with its own key. It returns false if there was no
// reply. If the payment's outcome is unknown, the retry refunds it.
func (k *killing) giveBack(o *order) bool {
	status, reply := k.server.call("POST", "/payments/"+o.transaction+"/refund", k.key, `{}`, http.Header{"Idempotency-Key": {o.key}})
	refund := text(reply, "refundId")
	switch {
	case status == 0:
		return false
	case status != http.StatusOK || text(reply, "status") != "pending":
		k.fail(o, "the refund replied %d %v", status, reply)
	case o.refund != "" && o.refund != refund:
		k.fail(o, "one key replied with the refunds %s and %s", o.refund, refund)
	}
	o.refund = refund
	return true
}

// each runs do for every order, a few at a time.
func (k *killing) each(do func(*killing, *order)) {
	var clients sync.WaitGroup
	var next atomic.Int64
	for range killClients {
		clients.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(k.orders)); i = next.Add(1) - 1 {
				do(k, k.orders[i])
			}
		})
	}
	clients.Wait()
}

// retry sends an order again, acknowledged or not, as a caller does that has lost its
// notes.
func (k *killing) retry(o *order) {
	if !k.place(o) {
		k.fail(o, "no reply to the retry")
	}
}

// later lists the statuses that a payment may have after its caller saw a status.
var later = map[string][]string{
	"processing": {"pending", "completed", "failed"},
	"pending":    {"pending", "completed"},
	"completed":  {"completed", "refunded"},
	"failed":     {"failed"},
}

// verify compares the replies to the callers with the service's data.
func (k *killing) verify(o *order) {
	status, found := k.server.call("GET", "/payments/"+o.transaction, k.key, "", nil)
	o.status = text(found, "status")
	if status != http.StatusOK || !slices.Contains(later[o.acknowledged], o.status) {
		k.fail(o, "acknowledged as %s, found as %d %s", o.acknowledged, status, o.status)
	}
	want := "completed"
	switch {
	case o.refunds:
		want = "refunded"
		if n := k.server.claims(k.key, "transactionId="+o.transaction); n != 1 {
			k.fail(o, "%d refunds of one key", n)
		}
		if _, claim := k.server.call("GET", "/claims/"+o.refund, k.key, "", nil); text(claim, "status") != "approved" {
			k.fail(o, "its refund is %v", claim)
		}
	case strings.Contains(o.body, ".05"):
		want = "failed"
	case strings.Contains(o.body, "sbx_pix") && !o.pays:
		want = "pending"
	}
	if o.status != want {
		k.fail(o, "it is %s, want %s", o.status, want)
	}
	if n := k.server.total(k.key, "merchantOrderId="+o.key); n != 1 {
		k.fail(o, "%d payments of one order", n)
	}
}

// books fails the test if a shopper was charged twice or not at all.
func (k *killing) books() {
	var cents int64
	for _, o := range k.orders {
		if o.status == "completed" || o.refunds {
			cents += o.cents
		}
	}
	_, balance := k.server.call("GET", "/me/balance", k.key, "", nil)
	fees, _ := balance["feeSummary"].(map[string]any)
	if got := fmt.Sprintf("%.2f", fees["grossVolume"]); got != fmt.Sprintf("%d.%02d", cents/100, cents%100) {
		k.t.Errorf("shoppers were charged %s in total, want %d cents", got, cents)
	}
	if n := k.server.total(k.key, ""); n != len(k.orders) {
		k.t.Errorf("%d payments for %d keys", n, len(k.orders))
	}
}

// sealed waits until every row of the ledger and the audit log is in a block, including those
// of the killed processes. The check then proves the chains.
func (k *killing) sealed() {
	db := openDatabase(k.t, k.database)
	waits, blocks := 0, 0
	await(k.t, "the ledger to be sealed", func() bool {
		if err := db.QueryRow("SELECT (SELECT count(*) FROM unsealed), (SELECT count(*) FROM blocks)").Scan(&waits, &blocks); err != nil {
			k.t.Fatal(err)
		}
		return waits == 0
	})
	if blocks < killRounds && !testing.Short() {
		k.t.Errorf("the ledger is sealed in %d blocks", blocks)
	}
}

// attempts fails the test if a payment with an unknown outcome went on to another
// provider: the first one approves everything, so the shopper would have been charged
// twice.
func (k *killing) attempts() {
	rows, err := openDatabase(k.t, k.database).Query(`SELECT id FROM payments WHERE doc LIKE '%"attempts":[{%},{%}]%'`)
	if err != nil {
		k.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		o := &order{}
		if err := rows.Scan(&o.transaction); err != nil {
			k.t.Fatal(err)
		}
		k.fail(o, "it was tried at two providers")
	}
	if err := rows.Err(); err != nil {
		k.t.Fatal(err)
	}
}

// fail reports what is wrong with an order, with the story of the first few.
func (k *killing) fail(o *order, format string, args ...any) {
	k.mu.Lock()
	k.failures++
	n := k.failures
	k.mu.Unlock()
	if n > killFailures {
		return // the test has failed already
	}
	story := ""
	if n <= killStories && o.transaction != "" {
		story = "\n" + k.user.story(k.t, k.database, o.transaction)
	}
	k.t.Errorf("order %s %s: %s%s", o.key, o.transaction, fmt.Sprintf(format, args...), story)
}

// If the first start is killed at any moment, the next start can use the database and the key
// that it left.
func TestKillWhileStartingHarmsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		random := moments(t)
		u := newUser(t)
		for range 8 {
			s := u.start(t, "--database", database)
			time.Sleep(time.Duration(random.Int64N(int64(120 * time.Millisecond)))) // the kill comes at a random moment
			s.kill()
			s.faultless()
		}
		s := u.serve(t, "--database", database)
		k := u.merchant(t, database).Keys.Sandbox.Secret
		if status, reply := s.call("POST", "/payments", k, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil); status != http.StatusCreated {
			t.Errorf("create: %d %v", status, reply)
		}
		u.check(t, database)
		s.stop()
	})
}
