package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/pay"
)

type explainCmd struct {
	database
	Payment string `arg:"" help:"Transaction id, TXN-…"`
	JSON    bool   `name:"json" help:"Print JSON."`
}

func (c *explainCmd) Run(ctx context.Context, log *slog.Logger, adapters registry) error {
	a, err := desk{database: c.database}.over(ctx, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	e, err := a.Explain(ctx, c.Payment)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(stdout).Encode(shape.NewExplanation(e))
	}
	p := e.Payment
	fmt.Fprintf(stdout, "%s %s: %s (%s) by %s, %s\n", p.ID, p.Status, p.Amount, p.Local, e.Rail.Key, p.Environment())
	if len(p.Attempts) == 0 {
		fmt.Fprintln(stdout, "no account served it when it was made")
	}
	for i, at := range p.Attempts {
		fmt.Fprintf(stdout, "%d  %s: %s\n", at.Order, at.Provider, outcome(at))
		fmt.Fprintf(stdout, "   %s\n", called(at))
		if at.Why != "" {
			fmt.Fprintf(stdout, "   %s\n", at.Why)
		}
		for _, passed := range at.Passed {
			if i == 0 || fmt.Sprint(at.Passed) != fmt.Sprint(p.Attempts[i-1].Passed) { // of one decision: told once
				fmt.Fprintf(stdout, "   passed over %s\n", passed)
			}
		}
		if at.Stop != "" {
			fmt.Fprintf(stdout, "   no other was tried: %s\n", at.Stop)
		}
	}
	if len(e.Accounts) > 0 {
		fmt.Fprintln(stdout, "now")
	}
	for _, v := range e.Accounts {
		fmt.Fprintf(stdout, "   %s %s\n", v.Account, cmp.Or(v.Verdict, "takes such a payment"))
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

// called is when an attempt's call was made, how long it took and what it said.
func called(a pay.Attempt) string {
	started := time.UnixMicro(a.Started).UTC()
	text := "called " + started.Format("2006-01-02T15:04:05.000Z")
	kind, at, ok := a.Called()
	if !ok {
		return text + ", and nobody knows what the call itself said"
	}
	return fmt.Sprintf("%s, said %s after %s", text, kind, at.Sub(started).Round(time.Millisecond))
}
