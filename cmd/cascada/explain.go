package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/pay"
)

type explainCmd struct {
	desk
	Payment string `arg:"" help:"Transaction id, TXN-…"`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// explanationJSON is the shape of explain --json.
type explanationJSON struct {
	ID       string        `json:"id"`
	Rail     string        `json:"rail"`
	Status   pay.Status    `json:"status"`
	Attempts []attemptJSON `json:"attempts"`
	Accounts []verdictJSON `json:"accountsNow"`
}

type attemptJSON struct {
	Order   int             `json:"order"`
	Account string          `json:"account"`
	Outcome pay.OutcomeKind `json:"outcome"`
	Reason  string          `json:"reason,omitempty"`
	Why     string          `json:"why,omitempty"`
	Passed  []string        `json:"passedOver,omitempty"`
}

type verdictJSON struct {
	Account string `json:"account"`
	Takes   bool   `json:"takes"`
	Reason  string `json:"reason,omitempty"`
}

func (c *explainCmd) Run(ctx context.Context, log *slog.Logger, adapters registry) error {
	a, err := c.over(ctx, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	e, err := a.Explain(ctx, c.Payment)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(newExplanationJSON(e))
	}
	p := e.Payment
	fmt.Printf("%s %s: %s (%s) by %s, %s\n", p.ID, p.Status, p.Amount, p.Local, e.Rail.Key, p.Environment())
	if len(p.Attempts) == 0 {
		fmt.Println("no account served it when it was made")
	}
	for i, at := range p.Attempts {
		fmt.Printf("%d  %s: %s\n", at.Order, at.Provider, outcome(at))
		if at.Why != "" {
			fmt.Printf("   %s\n", at.Why)
		}
		for _, passed := range at.Passed {
			if i == 0 || fmt.Sprint(at.Passed) != fmt.Sprint(p.Attempts[i-1].Passed) { // of one decision: told once
				fmt.Printf("   passed over %s\n", passed)
			}
		}
	}
	if len(e.Accounts) > 0 {
		fmt.Println("now")
	}
	for _, v := range e.Accounts {
		fmt.Printf("   %s %s\n", v.Account, cmp.Or(v.Verdict, "takes such a payment"))
	}
	return nil
}

// outcome is how an attempt ended, for people.
func outcome(a pay.Attempt) string {
	text := string(a.Status)
	if reason := cmp.Or(a.Decline, string(a.Code)); reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

func newExplanationJSON(e app.Explanation) explanationJSON {
	told := explanationJSON{ID: e.Payment.ID, Rail: e.Rail.Key, Status: e.Payment.Status, Attempts: []attemptJSON{}, Accounts: []verdictJSON{}}
	for _, a := range e.Payment.Attempts {
		told.Attempts = append(told.Attempts, attemptJSON{a.Order, a.Provider, a.Status, cmp.Or(a.Decline, string(a.Code)), a.Why, a.Passed})
	}
	for _, v := range e.Accounts {
		told.Accounts = append(told.Accounts, verdictJSON{v.Account, v.Verdict == "", v.Verdict})
	}
	return told
}
