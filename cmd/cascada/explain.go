package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

type explainCmd struct {
	database
	Payment string `arg:"" help:"Transaction id, TXN-…, or withdrawal id, wdr_…"`
	JSON    bool   `name:"json" help:"Print JSON."`
}

func (c *explainCmd) Run(ctx context.Context, log *slog.Logger, adapters registry) error {
	a, err := accountFlags{database: c.database}.over(ctx, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	if strings.HasPrefix(c.Payment, pay.WithdrawalPrefix) {
		return c.payout(ctx, a)
	}
	e, err := a.Providers.Explain(ctx, c.Payment)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(stdout).Encode(shape.NewExplanation(e))
	}
	p := e.Payment
	fmt.Fprintf(stdout, "%s %s: %s (%s) by %s, %s\n", p.ID, p.Status, p.Price.Amount, p.Price.Local, e.Rail.Key, p.Environment())
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

// payout explains a withdrawal.
func (c *explainCmd) payout(ctx context.Context, a *app.App) error {
	e, err := a.Payouts.ExplainPayout(ctx, c.Payment)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(stdout).Encode(shape.NewPayoutExplanation(e))
	}
	w := e.Withdrawal
	arrives := ""
	if !w.Local.IsZero() {
		arrives = " (" + w.Local.String() + ")"
	}
	fmt.Fprintf(stdout, "%s %s: %s%s by %s, %s\n", w.ID, w.Status, money.New(w.Net(), money.USD), arrives, e.Rail, w.Environment())
	if w.Status == pay.WithdrawalPending && w.Waiting == "" && !w.DueAt.IsZero() {
		fmt.Fprintln(stdout, "is sent from "+moment(w.DueAt)+" on")
	}
	for _, at := range w.Tried {
		fmt.Fprintf(stdout, "%s: did not pay it (%s), reference %s\n", at.Account, strings.Trim(at.Code+": "+at.Message, ": "), at.Reference)
		chosen(at.Why, at.Passed)
	}
	if w.Provider != "" {
		fmt.Fprintf(stdout, "%s: reference %s %s\n", w.Provider, w.Reference(), w.Said)
		chosen(w.Why, w.Passed)
	}
	if w.Waiting != "" {
		fmt.Fprintln(stdout, "waits: "+w.Waiting)
	}
	if len(e.Accounts) > 0 {
		fmt.Fprintln(stdout, "now")
	}
	for _, v := range e.Accounts {
		fmt.Fprintf(stdout, "   %s %s\n", v.Account, cmp.Or(v.Verdict, "pays such a withdrawal"))
		if v.Balance != "" {
			fmt.Fprintf(stdout, "   %s says that it has %s\n", v.Account, v.Balance)
		}
		if v.Float != "" {
			fmt.Fprintf(stdout, "   %s has %s free of its float\n", v.Account, v.Float)
		}
	}
	return nil
}

func chosen(why string, passed []string) {
	if why != "" {
		fmt.Fprintf(stdout, "   %s\n", why)
	}
	for _, p := range passed {
		fmt.Fprintf(stdout, "   passed over %s\n", p)
	}
}
