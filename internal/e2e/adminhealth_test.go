package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestExplanationOverHTTPTellsOfAFailover(t *testing.T) {
	operated(t, func(t *testing.T, op operator) {
		op.clock.freeze()
		one, two := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		live := op.shop(t).live()
		op.post(t, "/accounts", plainAccount("bank-1", one, `,"priority":1`)).want(t, http.StatusCreated)
		op.post(t, "/accounts", plainAccount("bank-2", two, `,"priority":2,"terms":[{"price":"1%"}]`)).want(t, http.StatusCreated)
		op.post(t, "/accounts", plainAccount("small", two, `,"terms":[{"limits":["BRL:1-20"]}]`)).want(t, http.StatusCreated)
		op.get(t, "/health").is(t, http.StatusOK, `{"node":"<text>","at":"<time>","rails":[]}`)

		one.Next("down")
		asked, release := two.Hold()
		order, done := live.pix(t), make(chan reply)
		go func() { done <- live.post(t, "/payments", order) }()
		soon(t, "the call that the test holds to begin", asked)
		op.clock.advance(1500 * time.Millisecond) // as long as the second call takes
		release()
		id := (soon(t, "it to be done", done)).want(t, http.StatusCreated).text(t, "transactionId")
		tried := func(second string) string {
			return `"id":"` + id + `","rail":"pix.BRA","attempts":[
			{"order":1,"account":"bank-1","outcome":"unavailable","reason":"http_429","why":"by priority: 1; its price is not known",
				"passedOver":["small: takes BRL:1-20"],"startedAt":"<time>","durationMs":0,"endedAt":"<time>"},
			{"order":2,"account":"bank-2",` + second + `,"why":"by priority: 2; it costs 0.10 USD",
				"passedOver":["small: takes BRL:1-20"],"startedAt":"<time>","durationMs":1500,"endedAt":"<time>"}]`
		}
		now := `"accountsNow":[
			{"account":"bank-1","takes":true,"circuit":{"state":"closed","callsOfLate":1,"failedOfLate":1,"failedInARow":1},"score":{"band":"10-50 USD","successRate":0.333,"payments":1}},
			{"account":"bank-2","takes":true,"circuit":{"state":"closed","callsOfLate":1,"failedOfLate":0,"failedInARow":0},"score":{"band":"10-50 USD","successRate":0.667,"payments":1}},
			{"account":"small","takes":false,"reason":"does not take 54.00 BRL","circuit":{"state":"closed","callsOfLate":0,"failedOfLate":0,"failedInARow":0}}]`
		op.get(t, "/payments/"+id+"/explanation").is(t, http.StatusOK, `{`+tried(`"outcome":"pending"`)+`,"status":"pending",`+now+`}`)

		// The shopper pays a minute later: the call is told as it was.
		op.clock.advance(time.Minute)
		op.told(t, two, id, 2, "paid", "bank-2-hush").want(t, http.StatusOK)
		r := op.get(t, "/payments/"+id+"/explanation").want(t, http.StatusOK)
		if r.text(t, "status") != "completed" || r.text(t, "attempts.1.outcome") != "approved" || r.text(t, "attempts.1.said") != "pending" || r.text(t, "attempts.1.durationMs") != "1500" {
			t.Errorf("after the shopper paid: %s", r)
		}

		for range 5 {
			live.create(t, order)
		}
		op.get(t, "/health").is(t, http.StatusOK, `{"node":"<text>","at":"<time>","rails":[
			{"account":"bank-1","rail":"pix.BRA","circuit":{"state":"open","until":"<time>","callsOfLate":4.2,"failedOfLate":4.2,"failedInARow":5},
				"scores":[{"band":"10-50 USD","successRate":0.143,"payments":5}]},
			{"account":"bank-2","rail":"pix.BRA","circuit":{"state":"closed","callsOfLate":5.3,"failedOfLate":0,"failedInARow":0},
				"scores":[{"band":"10-50 USD","successRate":0.875,"payments":6}]}]}`)
		r = op.get(t, "/payments/"+live.create(t, order)+"/explanation").want(t, http.StatusOK)
		if r.text(t, "attempts.0.account") != "bank-2" || !strings.Contains(r.text(t, "attempts.0.passedOver"), "bank-1: it failed too often recently") ||
			r.text(t, "accountsNow.0.circuit.state") != "open" || r.text(t, "accountsNow.0.takes") != "true" {
			t.Errorf("with an open circuit: %s", r)
		}
		op.clock.advance(31 * time.Second)
		if r := op.get(t, "/health"); r.text(t, "rails.0.circuit.state") != "trial" {
			t.Errorf("after its rest: %s", r)
		}
		one.Next("open")
		live.create(t, order)
		if r := op.get(t, "/health"); r.text(t, "rails.0.circuit.state") != "closed" {
			t.Errorf("after a trial that went well: %s", r)
		}
		op.remove(t, "/accounts/bank-1?force=true").want(t, http.StatusOK)
		if r := op.get(t, "/health"); strings.Contains(string(r.body), "bank-1") {
			t.Errorf("a removed account has no health: %s", r)
		}
	})
}
