package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/pay"
)

type merchantTermsCmd struct {
	database
	Merchant   string          `arg:"" help:"Merchant's id, mer_…"`
	RefundFees *pay.RefundFees `enum:"kept,returned" placeholder:"kept|returned" help:"Running servers know within five seconds: from then on the fees of a refunded payment are kept, or returned."`
	JSON       bool            `name:"json" help:"Print JSON."`
}

func (c *merchantTermsCmd) Run(ctx context.Context, log *slog.Logger) error {
	a, err := c.existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	m, err := a.AnyMerchant(ctx, c.Merchant)
	if err == nil && c.RefundFees != nil {
		m, err = a.SetRefundFees(ctx, a.Self(), c.Merchant, *c.RefundFees)
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
