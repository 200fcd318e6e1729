package shape

import (
	"cmp"
	"math"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	approuting "github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/view"
)

// Explanation says why a payment took its route.
type Explanation struct {
	ID       string           `json:"id" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Rail     string           `json:"rail" example:"pix.BRA"`
	Status   pay.Status       `json:"status" enum:"pending,processing,completed,failed,expired,refunded,chargeback"`
	Attempts []Attempt        `json:"attempts" doc:"Where it was tried, as recorded then"`
	Retry    string           `json:"retry,omitempty" doc:"Where the next try of a shopper whose card was refused on a page goes, and why; absent if no card was refused on the last page" example:"the shopper's next try stays with stripe-mx: another provider is not tried after insufficient_funds"`
	Rules    []RoutingVerdict `json:"rulesNow" doc:"The routing rules with conditions that are in force, in their order, and what they have to do with such a payment"`
	Accounts []Verdict        `json:"accountsNow" doc:"All accounts of the operator, in their current state"`
}

// RoutingVerdict says whether a routing rule with conditions decides about such a payment.
type RoutingVerdict struct {
	Name    string `json:"rule" example:"large-at-night"`
	Decides bool   `json:"decides"`
	Why     string `json:"why" doc:"The conditions that the payment meets, or why the rule does not decide" example:"amount BRL:1000- (it is 1500.00 BRL)"`
}

// Attempt is one try at one account.
type Attempt struct {
	Order      int             `json:"order" doc:"From 1"`
	Account    string          `json:"account" example:"stripe-mx"`
	Outcome    pay.OutcomeKind `json:"outcome" enum:"sending,approved,pending,declined,unavailable,error,unknown,missing,expired,reversed" doc:"The latest known outcome"`
	Reason     string          `json:"reason,omitempty" doc:"Of a refusal, one of the vocabulary of declines"`
	Raw        string          `json:"providerCode,omitempty" doc:"The provider's own code of a refusal"`
	Why        string          `json:"why,omitempty" doc:"Why it went there"`
	Passed     []string        `json:"passedOver,omitempty" doc:"Accounts that were left out, each with the reason"`
	Stop       string          `json:"stop,omitempty" doc:"Why no other account was tried after it, though there was one"`
	StartedAt  view.Time       `json:"startedAt"`
	DurationMs *int64          `json:"durationMs,omitempty" doc:"How long the call took; absent while it runs, or if the service died during it"`
	Said       pay.OutcomeKind `json:"said,omitempty" enum:"sending,approved,pending,declined,unavailable,error,unknown,missing,expired,reversed" doc:"What the call itself returned, if more was learnt later"`
	EndedAt    *view.Time      `json:"endedAt,omitempty" doc:"When the outcome was learnt"`
	Again      bool            `json:"again,omitempty" doc:"The shopper asked for it, after a refusal on the page before"`
	Tries      []Try           `json:"tries,omitempty" doc:"The shopper's tries on the provider's page that did not pay"`
}

// Try is a try of the shopper on a provider's page.
type Try struct {
	At      view.Time       `json:"at"`
	Outcome decline.Outcome `json:"outcome" enum:"declined,blocked,authentication_failed,abandoned,error"`
	Reason  decline.Reason  `json:"reason" example:"do_not_honor"`
	Raw     string          `json:"providerCode,omitempty" doc:"The provider's own code"`
	Country string          `json:"cardCountry,omitempty" doc:"Of the card, ISO 3166 alpha-3; absent if the provider does not report it" example:"USA"`
}

// Verdict says whether an account would accept such a payment now.
type Verdict struct {
	Account string   `json:"account" example:"stripe-mx"`
	Accepts bool     `json:"takes"`
	Reason  string   `json:"reason,omitempty" doc:"Why it does not"`
	Circuit *Circuit `json:"circuit,omitempty" doc:"For this rail, as the answering node sees it; absent in a command's output"`
	Score   *Score   `json:"score,omitempty" doc:"For such payments, as the answering node sees it; absent if it had none"`
}

// NewExplanation shows an explanation.
func NewExplanation(e approuting.Explanation) Explanation {
	told := Explanation{ID: e.Payment.ID, Rail: e.Rail.Key, Status: e.Payment.Status, Retry: e.Retry, Attempts: []Attempt{}, Rules: []RoutingVerdict{}, Accounts: []Verdict{}}
	for _, a := range e.Payment.Attempts {
		told.Attempts = append(told.Attempts, newAttempt(a))
	}
	for _, v := range e.Rules {
		told.Rules = append(told.Rules, RoutingVerdict{v.Rule, v.Decides, v.Why})
	}
	for _, v := range e.Accounts {
		verdict := Verdict{Account: v.Account, Accepts: v.Verdict == "", Reason: v.Verdict}
		if e.Watched {
			circuit := newCircuit(v.Circuit, e.At)
			verdict.Circuit = &circuit
			if v.Score.Known() {
				score := newScore(e.Band, v.Score)
				verdict.Score = &score
			}
		}
		told.Accounts = append(told.Accounts, verdict)
	}
	return told
}

func newAttempt(a pay.Attempt) Attempt {
	told := Attempt{
		Order: a.Order, Account: a.Provider, Outcome: a.Status, Reason: cmp.Or(a.Decline, string(a.Code)), Raw: a.Raw, Why: a.Why, Passed: a.Passed, Stop: a.Stop,
		StartedAt: view.Time{Time: time.UnixMicro(a.Started)}, Said: a.Said, Again: a.Again,
	}
	for _, t := range a.Tries {
		told.Tries = append(told.Tries, Try{view.Time{Time: time.UnixMicro(t.At)}, t.Reason.Meaning().Outcome, t.Reason, t.Raw, t.Country})
	}
	if a.Ended > 0 {
		told.EndedAt = moment(time.UnixMicro(a.Ended))
	}
	if _, at, called := a.CallResult(); called {
		took := at.Sub(told.StartedAt.Time).Milliseconds()
		told.DurationMs = &took
	}
	return told
}

// Circuit says how an account has done on a rail recently.
type Circuit struct {
	State  routing.State `json:"state" enum:"closed,open,trial" doc:"open: payments pass it over; trial: the next payment finds out whether it works again"`
	Until  *view.Time    `json:"until,omitempty" doc:"If open: when a payment is let through as a trial"`
	Calls  float64       `json:"callsOfLate" doc:"A call half a minute ago counts half"`
	Failed float64       `json:"failedOfLate"`
	InARow int           `json:"failedInARow" doc:"Failed calls since the last one that did not fail"`
}

func newCircuit(c routing.Circuit, now time.Time) Circuit {
	failed, all := c.Late(now)
	told := Circuit{State: c.State(now), Calls: rounded(all, 1), Failed: rounded(failed, 1), InARow: c.InARow()}
	if until, open := c.Open(now); open {
		told.Until = moment(until)
	}
	return told
}

// Score is how many payments of a size succeeded.
type Score struct {
	Band      string   `json:"band" example:"10-50 USD"`
	Opened    float64  `json:"opened" doc:"About how many pages and vouchers were opened"`
	Payments  float64  `json:"payments" doc:"About how many payments were decided: a card's page once its shopper paid or was refused, a voucher or a transfer once the account accepted or refused it. One a day older than the last one counts half"`
	Succeeded float64  `json:"succeeded" doc:"How many of them succeeded"`
	Rate      *float64 `json:"successRate,omitempty" minimum:"0" maximum:"1" doc:"The share that succeeded; absent if none was decided. Accounts are ordered by it, pulled towards one half while there are few"`
}

func newScore(band string, s routing.Score) Score {
	told := Score{Band: band, Opened: rounded(s.Pages(), 1), Payments: rounded(s.Payments(), 1), Succeeded: rounded(s.Succeeded(), 1)}
	if s.Payments() > 0 {
		rate := rounded(s.Succeeded()/s.Payments(), 3)
		told.Rate = &rate
	}
	return told
}

// Health is the health of the accounts, as one node sees it.
type Health struct {
	Node  string       `json:"node" doc:"The node that answers; each sees only its own calls" example:"web-1:9465"`
	At    view.Time    `json:"at"`
	Rails []RailHealth `json:"rails" doc:"What the node has called since it started"`
}

// RailHealth is the health of an account on a rail.
type RailHealth struct {
	Account string  `json:"account" example:"stripe-mx"`
	Rail    string  `json:"rail" example:"card.MEX"`
	Circuit Circuit `json:"circuit"`
	Scores  []Score `json:"scores"`
}

// NewHealth shows a node's view.
func NewHealth(node string, list []accounts.RailHealth, now time.Time) Health {
	told := Health{Node: node, At: view.Time{Time: now}, Rails: []RailHealth{}}
	for _, r := range list {
		rail := RailHealth{Account: r.Account, Rail: r.Rail, Circuit: newCircuit(r.Circuit, now), Scores: []Score{}}
		for _, b := range r.Bands {
			rail.Scores = append(rail.Scores, newScore(b.Band, b.Score))
		}
		told.Rails = append(told.Rails, rail)
	}
	return told
}

// rounded rounds a number for display.
func rounded(n float64, decimals int) float64 {
	unit := math.Pow10(decimals)
	return math.Round(n*unit) / unit
}
