package main_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// verdict is the result of comparing the clients' notes with the service.
type verdict struct {
	asked, keyed, lost, doubled, untrue int
	complaints                          []string
}

func (v *verdict) complain(n *int, format string, args ...any) {
	*n++
	v.complaints = append(v.complaints, fmt.Sprintf(format, args...))
}

// report fails the test for each complaint.
func (v *verdict) report(c *crowd) {
	c.t.Helper()
	for i, text := range v.complaints {
		if i == killFailures {
			c.t.Errorf("and %d more", len(v.complaints)-i)
			break
		}
		c.t.Error(text)
	}
}

// rest waits until the service has finished all open work.
func (c *crowd) rest() {
	c.t.Helper()
	await(c.t, "all payments to be decided", func() bool {
		return c.server(nil).total(c.key, "status=processing") == 0 && c.server(nil).claims(c.key, "status=pending") == 0
	})
}

// audit compares what clients asked for, and what they were answered, with the data of the service: every
// request was done once or not at all, and every answer is true.
func (c *crowd) audit() *verdict {
	c.t.Helper()
	found := c.found()
	v := &verdict{asked: len(c.asked)}
	known := map[string]map[string]bool{}
	clock := map[said]int{}
	for _, a := range c.asked {
		if known[a.kind] == nil {
			known[a.kind] = map[string]bool{}
		}
		known[a.kind][a.tag] = true
		if a.key != "" {
			v.keyed++
		}
		if a.kind == clocks {
			clock[a.said]++
			continue
		}
		n := found[a.kind][a.tag]
		switch {
		case n > 1:
			v.complain(&v.doubled, "%s %s is there %d times; answered %s %v", a.kind, a.tag, n, a.said, a.reply)
		case n == 0 && a.said == made:
			v.complain(&v.lost, "%s %s is not there; answered %v", a.kind, a.tag, a.reply)
		case n == 1 && a.said == refused:
			v.complain(&v.untrue, "%s %s is there; refused with %v", a.kind, a.tag, a.reply)
		}
	}
	for kind, tags := range found {
		for tag, n := range tags {
			if n > 0 && !known[kind][tag] {
				v.complain(&v.doubled, "%s %q is there, and nobody asked for it", kind, tag)
			}
		}
	}
	for name, n := range c.codes {
		if strings.HasPrefix(name, "500") {
			v.complain(&v.untrue, "%d answers are %s: a fault of the service's own", n, name)
		}
	}
	// All moves of the clock are equal, so only their number is compared.
	if c.live {
		c.repeat(v)
		return v
	}
	if got := c.ahead() - c.moves; got < clock[made] {
		v.complain(&v.lost, "the clock was moved %d times, answered were %d", got, clock[made])
	} else if most := clock[made] + clock[unclear]; got > most {
		v.complain(&v.doubled, "the clock was moved %d times, at most %d were asked for", got, most)
	}
	c.repeat(v)
	return v
}

// repeat sends every request with a key again, as a client does that has lost its notes: the answer must
// be the same.
func (c *crowd) repeat(v *verdict) {
	for _, a := range c.asked {
		if a.key == "" || a.said != made {
			continue
		}
		again := &asked{kind: a.kind, reply: c.must(a.method, a.path, a.body, merged(a.header, a.key))}
		if got := again.made(); got != a.id {
			v.complain(&v.untrue, "%s %s was %s, and the same key is told %v", a.kind, a.tag, a.id, again.reply)
		}
	}
}

// merged returns a request's header with its key.
func merged(header http.Header, key string) http.Header {
	all := http.Header{}
	for name, value := range header {
		all[name] = value
	}
	if key != "" {
		all.Set("Idempotency-Key", key)
	}
	return all
}

// list reads all pages of a list.
func (c *crowd) list(path string) (rows []map[string]any) {
	c.t.Helper()
	for {
		data, _ := c.must("GET", fmt.Sprintf("%s?limit=100&offset=%d", path, len(rows)), "", nil)["data"].([]any)
		for _, one := range data {
			entry, _ := one.(map[string]any)
			rows = append(rows, entry)
		}
		if len(data) < 100 {
			return rows
		}
	}
}

// ahead returns how many seconds the test clock is ahead.
func (c *crowd) ahead() int {
	ahead, _ := c.must("GET", "/sandbox/clock", "", nil)["advanceSeconds"].(float64)
	return int(ahead)
}

// passes moves the test clock, and waits until every node knows it.
func (c *crowd) passes(advance string) {
	c.t.Helper()
	c.must("POST", "/sandbox/clock", `{"advance":"`+advance+`"}`, nil)
	want, known := time.Now().Add(time.Duration(c.ahead())*time.Second), 0
	await(c.t, "every node to know the test clock", func() bool {
		r := c.must("POST", "/payments", `{"amount":1,"paymentMethodId":"sbx_card"}`, nil)
		at, err := time.Parse(time.RFC3339, text(r, "timestamps", "created"))
		if known++; err != nil || at.Before(want.Add(-time.Second)) {
			known = 0
		}
		return known == 4 // requests go to the nodes in turn
	})
}

// found counts the objects there are, by kind and by tag.
func (c *crowd) found() map[string]map[string]int {
	c.t.Helper()
	found := map[string]map[string]int{}
	for _, kind := range []string{payments, shoppers, refunds, evidences, accepts, withdrawals, endpoints, endings, wallets} {
		found[kind] = map[string]int{}
	}
	count := func(kind, tag string) {
		if tag != "" { // otherwise it is not the crowd's
			found[kind][tag]++
		}
	}
	status := map[string]string{}
	for _, p := range c.list("/payments") {
		count(payments, text(p, "merchantOrderId"))
		status[text(p, "id")] = text(p, "status")
	}
	for _, claim := range c.list("/claims") {
		if text(claim, "type") == "user_dispute" {
			count(refunds, text(claim, "reason"))
			continue
		}
		status[text(claim, "id")] = text(claim, "status")
		pieces, _ := c.must("GET", "/claims/"+text(claim, "id"), "", nil)["evidence"].([]any)
		for _, one := range pieces {
			piece, _ := one.(map[string]any)
			count(evidences, text(piece, "text"))
		}
	}
	for _, w := range c.list("/withdrawals") {
		count(withdrawals, fmt.Sprint(w["amount"]))
	}
	for _, w := range c.list("/wallets") {
		count(wallets, text(w, "label"))
	}
	listed := map[string]bool{}
	for _, e := range c.list("/webhooks") {
		count(endpoints, text(e, "description"))
		listed[text(e, "id")] = true
	}
	c.follow(found, status, listed)
	return found
}

// follow checks the later states of objects.
func (c *crowd) follow(found map[string]map[string]int, status map[string]string, listed map[string]bool) {
	tags := map[string]string{} // of endpoints, by id
	for _, a := range c.asked {
		switch {
		case a.kind == endpoints && a.id != "":
			tags[a.id] = a.tag
		case a.kind == shoppers && slices.Contains([]string{"completed", "refunded"}, status[a.tag]),
			a.kind == accepts && status[a.tag] == "approved":
			found[a.kind][a.tag] = 1
		case a.kind == endings && !listed[a.tag]:
			found[endings][a.tag] = 1
			found[endpoints][tags[a.tag]]++ // it was created before
		}
		if told := text(a.reply, "status"); a.kind == payments && a.said == made && status[a.id] != "" && !slices.Contains(later[told], status[a.id]) {
			c.t.Errorf("payment %s was answered as %s, and is %s", a.id, told, status[a.id])
		}
	}
}

// unheard lists the events that the endpoint should have got and did not get.
func (c *crowd) unheard(in *inbox) (missing []string) {
	want := func(object string, kinds ...string) {
		for _, kind := range kinds {
			if !in.told(kind, object) {
				missing = append(missing, kind+" of "+object)
			}
		}
	}
	for _, a := range c.asked {
		if a.said != made {
			continue
		}
		switch {
		case a.kind == payments && text(a.reply, "status") == "completed":
			want(a.id, "payment.completed")
		case a.kind == shoppers:
			want(a.tag, "payment.completed")
		case a.kind == refunds:
			want(a.id, "claim.opened", "claim.resolved")
		case a.kind == withdrawals:
			want(a.id, "withdrawal.completed")
		}
	}
	return missing
}

// hears waits until every event has arrived. It fails the test unless each arrived once, signed, and numbered
// without gaps for its object.
func (c *crowd) hears(in *inbox, database string) {
	c.t.Helper()
	for _, status := range []string{"pending", "processing"} { // each lasts some seconds of the test clock
		c.passes("6s")
		await(c.t, "no withdrawal to be "+status, func() bool { return c.server(nil).count("/withdrawals", c.key, "status="+status) == 0 })
	}
	db := openDatabase(c.t, database)
	await(c.t, "no delivery to be left", func() bool {
		if undelivered(db) == 0 {
			return true
		}
		c.passes("30s") // failed or delayed deliveries are due then
		return false
	})
	in.settle(c.t, database)
	if missing := c.unheard(in); len(missing) > 0 {
		c.t.Errorf("the endpoint did not get %s", strings.Join(missing, ", "))
	}
	if broken := in.broken(); len(broken) > 0 {
		c.t.Errorf("the endpoint got %s", strings.Join(broken, ", "))
	}
}
