package providers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestExplanationOverHTTPTellsOfAFailover(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		op.Clock.Freeze()
		one, two := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		live := op.NewShop(t).Production()
		op.Post(t, "/accounts", harness.PlainAccount("bank-1", one, `,"priority":1`)).Want(t, http.StatusCreated)
		op.Post(t, "/accounts", harness.PlainAccount("bank-2", two, `,"priority":2,"terms":[{"price":"1%"}]`)).Want(t, http.StatusCreated)
		op.Post(t, "/accounts", harness.PlainAccount("small", two, `,"terms":[{"limits":["BRL:1-20"]}]`)).Want(t, http.StatusCreated)
		op.Get(t, "/health").Is(t, http.StatusOK, `{"node":"<text>","at":"<time>","rails":[]}`)

		one.Next("down")
		asked, release := two.Hold()
		order, done := live.PixOrder(t), make(chan harness.Reply)
		go func() { done <- live.Post(t, "/payments", order) }()
		harness.Soon(t, "the call that the test holds to begin", asked)
		op.Clock.Advance(1500 * time.Millisecond) // as long as the second call takes
		release()
		id := (harness.Soon(t, "the request to be answered", done)).Want(t, http.StatusCreated).Text(t, "transactionId")
		tried := func(second string) string {
			return `"id":"` + id + `","rail":"pix.BRA","attempts":[
			{"order":1,"account":"bank-1","outcome":"unavailable","reason":"http_429","why":"by priority: 1; its price is not known",
				"passedOver":["small: takes BRL:1-20"],"startedAt":"<time>","durationMs":0,"endedAt":"<time>"},
			{"order":2,"account":"bank-2",` + second + `,"why":"by priority: 2; it costs 0.10 USD",
				"passedOver":["small: takes BRL:1-20"],"startedAt":"<time>","durationMs":1500,"endedAt":"<time>"}]`
		}
		now := `"rulesNow":[],"accountsNow":[
			{"account":"bank-1","takes":true,"circuit":{"state":"closed","callsOfLate":1,"failedOfLate":1,"failedInARow":1},"score":{"band":"10-50 USD","opened":0,"payments":1,"succeeded":0,"successRate":0}},
			{"account":"bank-2","takes":true,"circuit":{"state":"closed","callsOfLate":1,"failedOfLate":0,"failedInARow":0},"score":{"band":"10-50 USD","opened":1,"payments":1,"succeeded":1,"successRate":1}},
			{"account":"small","takes":false,"reason":"does not take 54.00 BRL","circuit":{"state":"closed","callsOfLate":0,"failedOfLate":0,"failedInARow":0}}]`
		op.Get(t, "/payments/"+id+"/explanation").Is(t, http.StatusOK, `{`+tried(`"outcome":"pending"`)+`,"status":"pending",`+now+`}`)

		// The shopper pays a minute later. The explanation keeps what the call answered, and how long
		// it took.
		op.Clock.Advance(time.Minute)
		op.TellUpstream(t, two, id, 2, "paid", "bank-2-hush").Want(t, http.StatusOK)
		r := op.Get(t, "/payments/"+id+"/explanation").Want(t, http.StatusOK)
		if r.Text(t, "status") != "completed" || r.Text(t, "attempts.1.outcome") != "approved" || r.Text(t, "attempts.1.said") != "pending" || r.Text(t, "attempts.1.durationMs") != "1500" {
			t.Errorf("after the shopper paid the explanation is %s", r)
		}

		for range 5 {
			live.Create(t, order)
		}
		op.Get(t, "/health").Is(t, http.StatusOK, `{"node":"<text>","at":"<time>","rails":[
			{"account":"bank-1","rail":"pix.BRA","circuit":{"state":"open","until":"<time>","callsOfLate":4.2,"failedOfLate":4.2,"failedInARow":5},
				"scores":[{"band":"10-50 USD","opened":0,"payments":5,"succeeded":0,"successRate":0}]},
			{"account":"bank-2","rail":"pix.BRA","circuit":{"state":"closed","callsOfLate":5.3,"failedOfLate":0,"failedInARow":0},
				"scores":[{"band":"10-50 USD","opened":6,"payments":6,"succeeded":6,"successRate":1}]}]}`)
		r = op.Get(t, "/payments/"+live.Create(t, order)+"/explanation").Want(t, http.StatusOK)
		if r.Text(t, "attempts.0.account") != "bank-2" || !strings.Contains(r.Text(t, "attempts.0.passedOver"), "bank-1: it failed too often recently") ||
			r.Text(t, "accountsNow.0.circuit.state") != "open" || r.Text(t, "accountsNow.0.takes") != "true" {
			t.Errorf("with an open circuit the explanation is %s", r)
		}
		op.Clock.Advance(31 * time.Second)
		if r := op.Get(t, "/health"); r.Text(t, "rails.0.circuit.state") != "trial" {
			t.Errorf("after the rest the circuit is not in trial: %s", r)
		}
		one.Next("open")
		live.Create(t, order)
		if r := op.Get(t, "/health"); r.Text(t, "rails.0.circuit.state") != "closed" {
			t.Errorf("after a successful trial the circuit is not closed: %s", r)
		}
		op.Remove(t, "/accounts/bank-1?force=true").Want(t, http.StatusOK)
		if r := op.Get(t, "/health"); strings.Contains(string(r.Body), "bank-1") {
			t.Errorf("the health lists a removed account: %s", r)
		}
	})
}
