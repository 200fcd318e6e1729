package payouts

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

type payoutFloatCmd struct {
	cli.AccountFlags
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *payoutFloatCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Floats.List(ctx)
	if err != nil {
		return err
	}
	off := 0
	for _, f := range list {
		if f.Off.Minor != 0 {
			off++
		}
	}
	switch {
	case c.JSON:
		err = json.NewEncoder(cli.Stdout).Encode(floatsJSON(list))
	case len(list) == 0:
		fmt.Fprintln(cli.Stdout, "no float is kept: payouts are sent whatever the accounts' balances are (cascada payout top-up starts a float)")
	default:
		err = printFloats(list)
	}
	if err == nil && off > 0 {
		return fmt.Errorf("%d of %d balances differ from the ledger: look for fees, rates and money that you moved, and book them with cascada payout top-up", off, len(list))
	}
	return err
}

func printFloats(list []payouts.FloatStatus) error {
	w := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ACCOUNT\tENVIRONMENT\tFREE\tCOMMITTED\tPAID\tFUNDED\tPROVIDER'S BALANCE\tDIFFERENCE")
	for _, f := range list {
		in := func(minor int64) money.Amount { return money.New(minor, f.Currency) }
		has, off := f.Balance.String(), f.Off.String()
		if f.Unknown != "" {
			has, off = "unknown: "+f.Unknown, "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Account, merchants.EnvironmentOf(f.Live), in(f.Free), in(f.Committed), in(f.Paid), in(f.Funded), has, off)
	}
	return w.Flush()
}

type floatJSON struct {
	Account     string                `json:"account"`
	Environment merchants.Environment `json:"environment"`
	Currency    money.Currency        `json:"currency"`
	Free        json.Number           `json:"free"`
	Committed   json.Number           `json:"committed"`
	Paid        json.Number           `json:"paid"`
	Funded      json.Number           `json:"funded"`
	Balance     *json.Number          `json:"balance"`
	Off         *json.Number          `json:"off"`
	Unknown     string                `json:"unknown,omitempty"`
}

func floatsJSON(list []payouts.FloatStatus) []floatJSON {
	told := []floatJSON{}
	for _, f := range list {
		in := func(minor int64) json.Number { return json.Number(money.New(minor, f.Currency).Decimal()) }
		j := floatJSON{f.Account, merchants.EnvironmentOf(f.Live), f.Currency, in(f.Free), in(f.Committed), in(f.Paid), in(f.Funded), nil, nil, f.Unknown}
		if f.Unknown == "" {
			balance, off := in(f.Balance.Minor), in(f.Off.Minor)
			j.Balance, j.Off = &balance, &off
		}
		told = append(told, j)
	}
	return told
}

type payoutTopUpCmd struct {
	cli.AccountFlags
	Account   string `arg:"" help:"The payout account."`
	Amount    string `required:"" help:"Amount that arrived there, in units of the currency. A negative amount (--amount=-50) was taken out, or paid as fees."`
	Currency  string `required:"" placeholder:"CODE" help:"Currency that the account holds, such as MXN, or USD if it pays out of dollars."`
	Reference string `required:"" help:"The bank's reference of the transfer. Each reference is booked only once."`
	Note      string `help:"Reason, for the audit log."`
	Force     bool   `help:"Allow taking out more than is free, and a currency that the account does not pay out."`
}

func (c *payoutTopUpCmd) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[Uses]) error {
	currency, err := money.ParseCurrency(c.Currency)
	if err != nil {
		return fmt.Errorf("--currency %s: want a currency, such as MXN; the float for a token is in USD", c.Currency)
	}
	amount, err := money.Parse(c.Amount, currency)
	if err != nil {
		return fmt.Errorf("--amount %s: want an amount of %s, such as 10000", c.Amount, currency)
	}
	a, err := open.Over(ctx, c.AccountFlags, log, adapters)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.Floats.Enter(ctx, a.Self(), c.Account, amount, c.Reference, c.Note, c.Force); err != nil {
		return err
	}
	list, err := a.Floats.List(ctx)
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.Account == c.Account && f.Currency == currency {
			return printFloats([]payouts.FloatStatus{f})
		}
	}
	return nil
}
