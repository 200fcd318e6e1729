package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// drillBank is the adapter of the drill's banks.
func drillBank() provider.Adapter {
	return provider.Adapter{Name: "drill", Rails: []string{"spei.MXN"}, OpenPayouts: func(a provider.Account) (payouts.Provider, error) { return drillPayer{a}, nil }}
}

// drillPayout is the request to a bank, and its reply.
type drillPayout struct {
	Reference string `json:"reference"`
	Minor     int64  `json:"minor"`
	Status    string `json:"status,omitempty"`
}

type drillPayer struct{ provider.Account }

func (p drillPayer) Send(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	return p.call(ctx, http.MethodPost, "/payouts", drillPayout{Reference: r.Reference, Minor: r.Local.Minor})
}

func (p drillPayer) Query(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	return p.call(ctx, http.MethodGet, "/payouts/"+r.Reference, nil)
}

func (p drillPayer) call(ctx context.Context, method, path string, body any) pay.PayoutOutcome {
	unknown := pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	request, none := provider.NewRequest(ctx, method, p.Base("", "")+path, body)
	if none != nil {
		return unknown
	}
	answer, none := provider.Do(p.Client, request)
	var told drillPayout
	switch {
	case none != nil:
		return unknown
	case answer.Status == http.StatusNotFound:
		return pay.PayoutOutcome{Kind: pay.PayoutMissing}
	case answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &told) != nil:
		return unknown
	case told.Status == "rejected":
		return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "invalid_account"}
	}
	return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "bank-" + told.Reference, Local: money.New(told.Minor, money.MXN)}
}

// drillBooks are a bank's books. The bank breaks off a share of the calls after it has paid, and rejects
// another share, both in percent.
type drillBooks struct {
	breaks, rejects int

	mu    sync.Mutex // owns what follows
	calls int
	paid  map[string]int64 // minor units
	cut   int              // calls that were broken off after they paid
	not   map[string]bool  // rejected
}

func (b *drillBooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var told drillPayout
	b.mu.Lock()
	broken := false
	if r.Method == http.MethodPost {
		if json.NewDecoder(r.Body).Decode(&told) != nil || told.Reference == "" {
			b.mu.Unlock()
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, known := b.paid[told.Reference]
		switch b.calls++; {
		case known: // it pays nothing
		case b.not[told.Reference] || b.calls%100 < b.rejects:
			b.not[told.Reference] = true
		default:
			b.paid[told.Reference] = told.Minor
			if broken = b.calls%100 < b.breaks; broken {
				b.cut++
			}
		}
	} else {
		told.Reference = r.URL.Path[len("/payouts/"):]
	}
	minor, paid := b.paid[told.Reference]
	rejected := b.not[told.Reference]
	b.mu.Unlock()
	switch {
	case broken:
		if connection, _, err := w.(http.Hijacker).Hijack(); err == nil {
			connection.Close()
		}
		return
	case paid:
		told.Minor, told.Status = minor, "paid"
	case rejected:
		told.Status = "rejected"
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(told) // a closed connection is fine
}

// Withdrawals go over two payout accounts while nodes are killed. One account breaks calls off after it has
// paid, the other rejects some: nothing is paid twice, nothing is lost, and the books match the banks' to the cent.
//
//	go test ./cmd/cascada -run TestDrillPayouts -v -full
func TestDrillPayouts(t *testing.T) {
	t.Parallel()
	n, kills := 10_000, 12
	if !*full {
		n, kills = 80, 2
	}
	heading("database", "withdrawals", "time", "nodes killed", "calls broken off after they paid", "rejected", "paid", "paid twice", "lost", "difference in cents")
	dbtest.Each(t, func(t *testing.T, database string) {
		nodes := 1
		if strings.HasSuffix(t.Name(), "postgres") {
			nodes = 2
		}
		books := map[string]*drillBooks{"bank-a": {breaks: 5}, "bank-b": {rejects: 10}}
		u := plainly(t, database)
		u.does(t, "migrate")
		for id, limit := range map[string]string{"bank-a": "USD:0.01-50.99", "bank-b": "USD:51-1000"} {
			books[id].paid, books[id].not = map[string]int64{}, map[string]bool{}
			bank := httptest.NewServer(books[id])
			t.Cleanup(bank.Close)
			u.does(t, "provider", "add", "drill", "--id", id, "--environment", "sandbox", "--base-url", bank.URL, "--limit", limit)
			u.does(t, "payout", "top-up", id, "--amount", "20000000", "--currency", "MXN", "--reference", "drill")
		}
		k := &pack{t: t, user: u, database: database, nodes: make([]atomic.Pointer[server], nodes)}
		for i := range nodes {
			k.nodes[i].Store(u.serve(t))
		}
		key := u.merchant(t, database).Keys.Sandbox.Secret
		// call sends a request to one node after another until one answers.
		call := func(method, path, body, idempotency string) map[string]any {
			for range 600 {
				header := http.Header{}
				if idempotency != "" {
					header.Set("Idempotency-Key", idempotency)
				}
				status, reply := k.any(nil).call(method, path, key, body, header)
				if status == http.StatusOK || status == http.StatusCreated {
					return reply
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Errorf("%s %s %s was never answered", method, path, body)
			return nil
		}
		for i := range n/80 + 2 {
			call("POST", "/payments", `{"amount":9000,"paymentMethodId":"sbx_card"}`, fmt.Sprint("fund", i))
		}
		call("POST", "/sandbox/clock", `{"advance":"720h"}`, "")
		available := func() float64 {
			balance, _ := call("GET", "/me/balance", "", "")["balance"].(map[string]any)
			value, _ := balance["available"].(float64)
			return value
		}
		await(t, "the money to be available", func() bool { return available() >= float64(n)*60 })
		funded := available()
		call("POST", "/wallets", `{"type":"bank_account","currency":"MXN","destination":"032180000118359719"}`, "wallet")

		began := time.Now()
		killing := make(chan struct{})
		go func() {
			defer close(killing)
			for i := range kills {
				time.Sleep(2 * time.Second)
				k.replace(i % nodes)
			}
		}()
		var all sync.WaitGroup
		ids := make([]string, n)
		for client := range 16 {
			all.Go(func() {
				for i := client; i < n; i += 16 {
					ids[i] = text(call("POST", "/withdrawals", fmt.Sprintf(`{"amount":%d.%02d}`, 6+i*94/n, i%100), fmt.Sprint("w", i)), "id")
				}
			})
		}
		all.Wait()
		<-killing
		open := func() (n float64) {
			for _, status := range []string{"pending", "processing"} {
				page, _ := call("GET", "/withdrawals?limit=1&status="+status, "", "")["pagination"].(map[string]any)
				total, _ := page["total"].(float64)
				n += total
			}
			return n
		}
		for deadline := time.Now().Add(20 * time.Minute); open() > 0; time.Sleep(time.Second) {
			if time.Now().After(deadline) {
				t.Fatalf("%v withdrawals never end", open())
			}
		}
		took := time.Since(began)

		twice, lost, spent, paidOut := 0, 0, 0.0, int64(0)
		known, arrived, failed := map[string]bool{}, 0, 0
		for _, id := range ids {
			w := call("GET", "/withdrawals/"+id, "", "")
			known[id] = true
			ref, _ := w["reference"].(string)
			a, inA := books["bank-a"].paid[ref]
			b, inB := books["bank-b"].paid[ref]
			told, _ := w["payout"].(map[string]any)
			local, _ := told["amount"].(float64)
			switch status := text(w, "status"); {
			case inA && inB:
				twice++
			case status == "completed" && (inA || inB) && a+b == int64(math.Round(local*100)):
				amount, _ := w["amount"].(float64)
				arrived, spent, paidOut = arrived+1, spent+amount, paidOut+a+b
			case status == "failed" && !inA && !inB:
				failed++
			default:
				lost++
				t.Errorf("%s is %s, the banks paid %d and %d", id, status, a, b)
			}
		}
		theirs := int64(0)
		for _, b := range books {
			for _, minor := range b.paid {
				theirs += minor
			}
		}
		difference := int64(math.Round((funded-spent-available())*100)) + theirs - paidOut
		if twice+lost > 0 || difference != 0 || len(known) != n || arrived+failed != n {
			t.Errorf("%d of %d: %d paid twice, %d lost, %d cents apart", len(known), n, twice, lost, difference)
		}
		row(t.Name()[len("TestDrillPayouts/"):], n, took.Round(time.Second), kills, books["bank-a"].cut, failed, arrived, twice, lost, difference)
		for i := range nodes {
			k.nodes[i].Load().stop()
		}
		u.check(t, database)
		var floats []struct {
			Account, Currency     string
			Free, Committed, Paid float64
		}
		if err := json.Unmarshal([]byte(u.does(t, "payout", "float", "--json")), &floats); err != nil || len(floats) != 2 {
			t.Errorf("floats: %+v, %v", floats, err)
		}
		for _, f := range floats {
			sum := int64(0)
			for _, minor := range books[f.Account].paid {
				sum += minor
			}
			if paid := int64(math.Round(f.Paid * 100)); f.Committed != 0 || paid != sum || int64(math.Round(f.Free*100)) != 20_000_000_00-sum {
				t.Errorf("the float of %s: %+v; the bank paid %d centavos", f.Account, f, sum)
			}
		}
	})
}
