package routing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Explain is cascada explain.
type Explain struct {
	cli.DatabaseFlags
	Payment string `arg:"" help:"Transaction id, TXN-…, or withdrawal id, wdr_…"`
	JSON    bool   `name:"json" help:"Print JSON."`
}

func (ex *Explain) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, cli.AccountFlags{DatabaseFlags: ex.DatabaseFlags}, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	if strings.HasPrefix(ex.Payment, pay.WithdrawalPrefix) {
		return ex.payout(ctx, a)
	}
	e, err := a.Rules.Explain(ctx, ex.Payment)
	if err != nil {
		return err
	}
	if ex.JSON {
		return json.NewEncoder(cli.Stdout).Encode(shape.NewExplanation(e))
	}
	p := e.Payment
	fmt.Fprintf(cli.Stdout, "%s %s: %s (%s) by %s, %s\n", p.ID, p.Status, p.Price.Amount, p.Price.Local, e.Rail.Key, p.Environment())
	if len(p.Attempts) == 0 {
		fmt.Fprintln(cli.Stdout, "no account served it when it was made")
	}
	for i, at := range p.Attempts {
		fmt.Fprintf(cli.Stdout, "%d  %s: %s\n", at.Order, at.Provider, outcome(at))
		fmt.Fprintf(cli.Stdout, "   %s\n", called(at))
		if at.Again {
			fmt.Fprintln(cli.Stdout, "   the shopper tried again, after the refusal on the page before")
		}
		for _, t := range at.Tries {
			fmt.Fprintf(cli.Stdout, "   on its page %s: %s\n", time.UnixMicro(t.At).UTC().Format("2006-01-02T15:04:05Z"), t)
		}
		if at.Why != "" {
			fmt.Fprintf(cli.Stdout, "   %s\n", at.Why)
		}
		for _, passed := range at.Passed {
			if i == 0 || fmt.Sprint(at.Passed) != fmt.Sprint(p.Attempts[i-1].Passed) { // of one decision: print it once
				fmt.Fprintf(cli.Stdout, "   passed over %s\n", passed)
			}
		}
		if at.Stop != "" {
			fmt.Fprintf(cli.Stdout, "   no other was tried: %s\n", at.Stop)
		}
	}
	if e.Retry != "" {
		fmt.Fprintln(cli.Stdout, e.Retry)
	}
	if len(e.Accounts) > 0 {
		fmt.Fprintln(cli.Stdout, "now")
	}
	for _, v := range e.Rules {
		decides := "does not decide"
		if v.Decides {
			decides = "decides about such a payment"
		}
		fmt.Fprintf(cli.Stdout, "   rule %s %s: %s\n", v.Rule, decides, v.Why)
	}
	for _, v := range e.Accounts {
		fmt.Fprintf(cli.Stdout, "   %s %s\n", v.Account, cmp.Or(v.Verdict, "takes such a payment"))
	}
	return nil
}

// outcome writes for people how an attempt ended.
func outcome(a pay.Attempt) string {
	text := string(a.Status)
	if reason := cmp.Or(a.Reason(), string(a.Code)); reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

// called writes when an attempt's call was made, how long it took and what it returned.
func called(a pay.Attempt) string {
	started := time.UnixMicro(a.Started).UTC()
	text := "called " + started.Format("2006-01-02T15:04:05.000Z")
	kind, at, ok := a.CallResult()
	if !ok {
		return text + ", and the result of the call is unknown"
	}
	took := at.Sub(started)
	if took > time.Millisecond {
		took = took.Round(time.Millisecond)
	}
	return fmt.Sprintf("%s, said %s after %s", text, kind, took)
}

// payout explains a withdrawal.
func (ex *Explain) payout(ctx context.Context, a Uses) error {
	e, err := a.Payouts.ExplainPayout(ctx, ex.Payment)
	if err != nil {
		return err
	}
	if ex.JSON {
		return json.NewEncoder(cli.Stdout).Encode(shape.NewPayoutExplanation(e))
	}
	w := e.Withdrawal
	arrives := ""
	if !w.Local.IsZero() {
		arrives = " (" + w.Local.String() + ")"
	}
	fmt.Fprintf(cli.Stdout, "%s %s: %s%s by %s, %s\n", w.ID, w.Status, money.New(w.Net(), money.USD), arrives, e.Rail, w.Environment())
	if w.Status == pay.WithdrawalPending && w.Waiting == "" && !w.DueAt.IsZero() {
		fmt.Fprintln(cli.Stdout, "is due at "+cli.Moment(w.DueAt))
	}
	for _, at := range w.Tried {
		fmt.Fprintf(cli.Stdout, "%s: did not pay it (%s), reference %s\n", at.Account, strings.Trim(at.Code+": "+at.Message, ": "), at.Reference)
		chosen(at.Why, at.Passed)
	}
	if w.Payout.Provider != "" {
		fmt.Fprintf(cli.Stdout, "%s: reference %s %s\n", w.Payout.Provider, w.Reference(), w.Payout.Said)
		chosen(w.Payout.Why, w.Payout.Passed)
	}
	if w.Waiting != "" {
		fmt.Fprintln(cli.Stdout, "waits: "+w.Waiting)
	}
	if len(e.Accounts) > 0 {
		fmt.Fprintln(cli.Stdout, "now")
	}
	for _, v := range e.Accounts {
		fmt.Fprintf(cli.Stdout, "   %s %s\n", v.Account, cmp.Or(v.Verdict, "pays such a withdrawal"))
		if v.Balance != "" {
			fmt.Fprintf(cli.Stdout, "   %s says that it has %s\n", v.Account, v.Balance)
		}
		if v.Float != "" {
			fmt.Fprintf(cli.Stdout, "   %s has %s free of its float\n", v.Account, v.Float)
		}
	}
	return nil
}

func chosen(why string, passed []string) {
	if why != "" {
		fmt.Fprintf(cli.Stdout, "   %s\n", why)
	}
	for _, p := range passed {
		fmt.Fprintf(cli.Stdout, "   passed over %s\n", p)
	}
}
