package main_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
)

// The kinds of requests, as the audit has them.
const (
	payments    = "payment"
	shoppers    = "shopper" // who pay waiting payments
	refunds     = "refund"
	evidences   = "evidence"
	accepts     = "accept"
	withdrawals = "withdrawal"
	endpoints   = "endpoint"
	endings     = "ending" // of an endpoint
	wallets     = "wallet"
	clocks      = "clock"
)

// operations are what clients do, each with its share in percent. An operation returns nil if it
// has no object to work on.
var operations = []struct {
	weight int
	ask    func(c *crowd, random *rand.Rand) *asked
}{
	{40, pays},
	{6, waits},
	{6, isPaid},
	{16, givesBack},
	{8, submits},
	{2, accepted},
	{8, withdraws},
	{5, subscribes},
	{2, unsubscribes},
	{3, addsWallet},
	{4, movesClock},
}

// choose draws the next operation of a client.
func (c *crowd) choose(random *rand.Rand) *asked {
	dice := random.IntN(100)
	for _, o := range operations {
		if dice -= o.weight; dice >= 0 {
			continue
		}
		if a := o.ask(c, random); a != nil {
			return a
		}
		break
	}
	return pays(c, random)
}

// perhaps returns a key for every second request.
func (a *asked) perhaps(random *rand.Rand) *asked {
	if random.IntN(2) == 0 {
		a.key = "key-" + a.tag
	}
	return a
}

func pays(c *crowd, random *rand.Rand) *asked {
	return c.pays("sbx_card", random).perhaps(random)
}

// waits creates a payment that waits for its shopper.
func waits(c *crowd, random *rand.Rand) *asked { return c.pays("sbx_pix", random).perhaps(random) }

func (c *crowd) pays(method string, random *rand.Rand) *asked {
	tag := c.tag(payments)
	return &asked{kind: payments, tag: tag, method: http.MethodPost, path: "/payments", body: body(map[string]any{
		"amount": 20 + random.IntN(50), "paymentMethodId": method, "documentId": "52998224725", "merchantOrderId": tag,
	})}
}

func isPaid(c *crowd, random *rand.Rand) *asked {
	id := c.take("pending", random)
	if id == "" {
		return nil
	}
	return &asked{kind: shoppers, tag: id, method: http.MethodPost, path: "/payments/" + id + "/simulate", body: `{"action":"paid"}`}
}

// givesBack refunds a part, or all that is left. Other clients may refund the same payment meanwhile.
func givesBack(c *crowd, random *rand.Rand) *asked {
	part := map[string]any{"reason": c.tag(refunds)}
	var id string
	if random.IntN(4) == 0 {
		id = c.take("paid", random)
	} else {
		id = c.peek("paid", random)
		part["amount"] = 1 + random.IntN(5)
	}
	if id == "" {
		return nil
	}
	a := &asked{kind: refunds, tag: fmt.Sprint(part["reason"]), method: http.MethodPost, path: "/payments/" + id + "/refund", body: body(part)}
	return a.perhaps(random)
}

func submits(c *crowd, random *rand.Rand) *asked {
	claim := c.peek("disputed", random)
	if claim == "" || c.number(claim) > 20 { // a claim has at most that many
		return nil
	}
	tag := c.tag(evidences)
	return &asked{kind: evidences, tag: tag, method: http.MethodPost, path: "/claims/" + claim + "/evidence", body: body(map[string]any{"kind": "note", "text": tag})}
}

func accepted(c *crowd, random *rand.Rand) *asked {
	claim := c.take("lost", random)
	if claim == "" {
		return nil
	}
	return &asked{kind: accepts, tag: claim, method: http.MethodPost, path: "/claims/" + claim + "/accept"}
}

// withdraws withdraws an amount that no other withdrawal has.
func withdraws(c *crowd, random *rand.Rand) *asked {
	amount := 10 + c.number(withdrawals)
	a := &asked{kind: withdrawals, tag: fmt.Sprint(amount), method: http.MethodPost, path: "/withdrawals", body: body(map[string]any{"amount": amount})}
	return a.perhaps(random)
}

// subscribes adds an endpoint that gets no events.
func subscribes(c *crowd, _ *rand.Rand) *asked {
	tag := c.tag(endpoints)
	return &asked{kind: endpoints, tag: tag, method: http.MethodPost, path: "/webhooks", body: body(map[string]any{
		"events": []string{"settlement.pdf_ready"}, "url": "http://127.0.0.1:1/" + tag, "description": tag,
	})}
}

func unsubscribes(c *crowd, random *rand.Rand) *asked {
	id := c.take("endpoints", random)
	if id == "" {
		return nil
	}
	return &asked{kind: endings, tag: id, method: http.MethodDelete, path: "/webhooks/" + id}
}

func addsWallet(c *crowd, _ *rand.Rand) *asked {
	tag := c.tag(wallets)
	return &asked{kind: wallets, tag: tag, method: http.MethodPost, path: "/wallets", body: body(map[string]any{
		"type": "bank_account", "network": "pix", "currency": "BRL", "destination": tag + "@shop.example", "label": tag,
	})}
}

// movesClock moves the test clock by a second; the total is checked at the end.
func movesClock(c *crowd, _ *rand.Rand) *asked {
	return &asked{kind: clocks, tag: c.tag(clocks), method: http.MethodPost, path: "/sandbox/clock", body: `{"advance":"1s"}`}
}

// made returns the id of the object in an answer.
func (a *asked) made() string {
	switch a.kind {
	case payments:
		return text(a.reply, "transactionId")
	case refunds:
		return text(a.reply, "refundId")
	}
	return text(a.reply, "id")
}

// keep puts a new object on a shelf for other requests. The caller holds the lock.
func (a *asked) keep(c *crowd) {
	a.id = a.made()
	shelf := ""
	switch a.kind {
	case payments:
		shelf = map[string]string{"pending": "pending", "completed": "paid"}[text(a.reply, "status")]
	case endpoints:
		shelf = "endpoints"
	}
	c.shelves[shelf] = append(c.shelves[shelf], a.id)
}

// stock creates what the crowd works on: money that can be withdrawn, and disputes.
func (c *crowd) stock(disputes int) {
	c.t.Helper()
	for range 3 {
		c.must(http.MethodPost, "/payments", `{"amount":90000,"paymentMethodId":"sbx_card"}`, nil)
	}
	c.must(http.MethodPost, "/wallets", `{"type":"bank_account","network":"pix","currency":"BRL","destination":"shop@shop.example"}`, nil)
	c.passes("72h")
	c.moves = c.ahead()
	await(c.t, "money to withdraw", func() bool {
		balance, _ := c.must(http.MethodGet, "/me/balance", "", nil)["balance"].(map[string]any)
		available, _ := balance["available"].(float64)
		return available > 10_000
	})
	for i := range disputes {
		id := text(c.must(http.MethodPost, "/payments", `{"amount":100,"paymentMethodId":"sbx_card"}`, nil), "transactionId")
		c.must(http.MethodPost, "/payments/"+id+"/simulate", `{"action":"chargeback"}`, nil)
		claims, _ := c.must(http.MethodGet, "/claims?transactionId="+id, "", nil)["data"].([]any)
		if len(claims) != 1 {
			c.t.Fatalf("the dispute of %s is %v", id, claims)
		}
		shelf := "disputed"
		if i%2 == 1 {
			shelf = "lost"
		}
		claim, _ := claims[0].(map[string]any)
		c.shelves[shelf] = append(c.shelves[shelf], text(claim, "id"))
	}
}
