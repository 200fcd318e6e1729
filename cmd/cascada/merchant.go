package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

type merchantListCmd struct {
	database
	JSON bool `name:"json" help:"Print an object a line."`
}

// merchantLine is the shape of merchant list --json.
type merchantLine struct {
	ID    string      `json:"id"`
	Name  string      `json:"name"`
	Email string      `json:"email"`
	Tier  tenant.Tier `json:"tier"`
	Shops []shopLine  `json:"shops"`
}

type shopLine struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// merchantPage is how many merchants are read at a time.
const merchantPage = 100

func (c *merchantListCmd) Run(ctx context.Context, log *slog.Logger) error {
	a, err := c.existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(table, "MERCHANT\tNAME\tEMAIL\tTIER\tSHOP\tSHOP'S NAME")
	}
	for after := ""; ; {
		page, shops, err := a.Onboarding.Merchants(ctx, after, merchantPage)
		if err != nil {
			return err
		}
		for _, m := range page {
			after = m.ID
			told := merchantLine{ID: m.ID, Name: m.Name, Email: m.Email, Tier: m.Tier, Shops: []shopLine{}}
			for _, s := range shops[m.ID] {
				told.Shops = append(told.Shops, shopLine{s.ID, s.Name})
				if !c.JSON {
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", m.ID, m.Name, m.Email, m.Tier, s.ID, s.Name)
				}
			}
			if c.JSON {
				if err := json.NewEncoder(stdout).Encode(told); err != nil {
					return err
				}
			}
		}
		if len(page) < merchantPage {
			return table.Flush()
		}
	}
}

type merchantSetCmd struct {
	database
	Merchant string `arg:"" help:"Merchant's id, mer_…"`
	Email    string `required:"" placeholder:"ADDRESS" help:"Where the merchant is written to from now on: one address."`
}

func (c *merchantSetCmd) Run(ctx context.Context, log *slog.Logger) error {
	a, err := c.existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Onboarding.SetEmail(ctx, a.Self(), c.Merchant, c.Email)
}

type merchantTermsCmd struct {
	database
	Merchant   string             `arg:"" help:"Merchant's id, mer_…"`
	RefundFees *tenant.RefundFees `enum:"kept,returned" placeholder:"kept|returned" help:"Running servers know within five seconds: from then on the fees of a refunded payment are kept, or returned."`
	JSON       bool               `name:"json" help:"Print JSON."`
}

func (c *merchantTermsCmd) Run(ctx context.Context, log *slog.Logger) error {
	a, err := c.existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	m, err := a.AnyMerchant(ctx, c.Merchant)
	if err == nil && c.RefundFees != nil {
		m, err = a.Onboarding.SetRefundFees(ctx, a.Self(), c.Merchant, *c.RefundFees)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(stdout).Encode(shape.NewMerchant(m))
	}
	told := shape.NewMerchant(m)
	for _, line := range [][2]string{
		{"merchant", m.ID + "  " + m.Name}, {"tier", string(m.Tier)}, {"platform fee", percent(told.PlatformFeePct)},
		{"rolling reserve", percent(told.RollingReservePct)}, {"settled after", told.SettlementDelay},
		{"withdrawal fee", told.WithdrawalFeeUSD.String()}, {"dispute fee", told.ChargebackFeeUSD.String()}, {"refund fees", string(m.RefundFees)},
	} {
		fmt.Fprintf(stdout, "%-16s %s\n", line[0], line[1])
	}
	return nil
}

func percent(r json.Marshaler) string {
	text, _ := r.MarshalJSON() // a rate always has one
	return string(text) + " %"
}
