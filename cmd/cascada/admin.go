package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// open returns the use cases over the database of a command.
func (d database) open(ctx context.Context, log *slog.Logger) (*app.App, error) {
	c := d.base(log)
	c.Operator = operator()
	return daemon.Open(ctx, c)
}

// existing is open for commands that make nothing on a path that was mistyped:
// a check of an empty database would find that every invariant holds.
func (d database) existing(ctx context.Context, log *slog.Logger) (*app.App, error) {
	return daemon.Open(ctx, d.command(log))
}

type merchantCmd struct {
	Create merchantCreateCmd `cmd:"" help:"Make a merchant with a shop and keys. Works while the server runs."`
	List   merchantListCmd   `cmd:"" help:"List merchants and their shops, oldest first."`
	Set    merchantSetCmd    `cmd:"" help:"Change where a merchant is written to."`
	Terms  merchantTermsCmd  `cmd:"" help:"Show what was agreed with a merchant, or change it for the payments to come."`
}

type merchantCreateCmd struct {
	database
	Name     string          `required:"" help:"Name of the merchant and its shop."`
	Email    string          `required:"" help:"Where the merchant is written to: one address."`
	Industry string          `help:"What it sells."`
	Tier     tenant.Tier     `default:"starter" enum:"starter,standard,premium,trusted" help:"starter, standard, premium or trusted."`
	Language tenant.Language `default:"en" enum:"es,pt,en" help:"Language of receipts and reports: es, pt or en."`
	JSON     bool            `name:"json" help:"Print JSON."`

	RefundFees tenant.RefundFees `default:"kept" enum:"kept,returned" help:"Fees of a refunded payment: kept (the merchant pays the whole refund) or returned."`
}

// created is the shape of merchant create --json, which others depend on.
type created struct {
	Merchant struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"merchant"`
	Shop struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Slug string `json:"slug"`
	} `json:"shop"`
	Keys struct {
		Sandbox    onboarding.KeyPair `json:"sandbox"`
		Production onboarding.KeyPair `json:"production"`
	} `json:"keys"`
}

func (c *merchantCreateCmd) Run(ctx context.Context, log *slog.Logger) error {
	n := onboarding.NewMerchant{Name: c.Name, Email: c.Email, Industry: c.Industry, Tier: c.Tier, Language: c.Language, RefundFees: c.RefundFees}
	if err := n.Check(); err != nil { // before there is a database that it did not want
		return err
	}
	a, err := c.open(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	o, err := a.Onboarding.CreateMerchant(ctx, n)
	if err != nil {
		return err
	}
	if c.JSON {
		var out created
		out.Merchant.ID, out.Merchant.Name = o.Merchant.ID, o.Merchant.Name
		out.Shop.ID, out.Shop.Name, out.Shop.Slug = o.Shop.ID, o.Shop.Name, o.Shop.Slug
		out.Keys.Sandbox, out.Keys.Production = o.Sandbox, o.Live
		return json.NewEncoder(stdout).Encode(out)
	}
	_, err = fmt.Fprintf(stdout, "merchant    %s  %s\nshop        %s  %s\nsandbox     %s\n            %s\nproduction  %s\n            %s\nThe keys are shown this once.\n",
		o.Merchant.ID, o.Merchant.Name, o.Shop.ID, o.Shop.Slug, o.Sandbox.Publishable, o.Sandbox.Secret, o.Live.Publishable, o.Live.Secret)
	return err
}

type storyCmd struct {
	database
	ID string `arg:"" name:"id" help:"Of a payment (TXN-…), of a withdrawal (wdr_…), or of a refund or another claim (CLM-…), which its payment's story tells."`
}

func (c *storyCmd) Run(ctx context.Context, log *slog.Logger) error {
	a, err := c.existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	story, err := a.Story(ctx, c.ID)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, story)
	return nil
}
