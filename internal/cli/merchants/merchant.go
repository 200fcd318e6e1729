// Package merchants has the commands about merchants, their shops, terms and verifications. It decides nothing: use cases do.
package merchants

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/admin/shape"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Merchant is cascada merchant.
type Merchant struct {
	Create merchantCreateCmd `cmd:"" help:"Create a merchant with a shop and keys. Works while the server runs."`
	List   merchantListCmd   `cmd:"" help:"List merchants and their shops, oldest first."`
	Set    merchantSetCmd    `cmd:"" help:"Change a merchant's e-mail address."`
	Empty  merchantEmptyCmd  `cmd:"" name:"empty-sandbox" help:"Delete everything in a merchant's sandbox. Its keys and settings stay."`
	Terms  merchantTermsCmd  `cmd:"" help:"Show the terms of a merchant, or change them for future payments."`
	Pause  merchantPauseCmd  `cmd:"" help:"Keep a merchant from beginning payments, checkouts, payment links and withdrawals in production. What is under way goes on."`
	Resume merchantResumeCmd `cmd:"" help:"End the pause of a merchant."`

	Close   merchantCloseCmd   `cmd:"" help:"Close a merchant's account: nothing new begins, what is open runs to its end, and the balance is paid out."`
	Reopen  merchantReopenCmd  `cmd:"" help:"Open a closed account again, until it is erased."`
	Leaving merchantLeavingCmd `cmd:"" help:"Show what merchants that leave still have, and why it is not paid out."`
	Export  merchantExportCmd  `cmd:"" help:"Write everything that is a merchant's to a ZIP archive, with a manifest and hashes."`
	Sandbox merchantSandboxCmd `cmd:"" help:"Switch a merchant's sandbox on or off."`
}

type merchantCreateCmd struct {
	cli.DatabaseFlags
	Name     string             `required:"" help:"Name of the merchant and its shop."`
	Email    string             `required:"" help:"E-mail address of the merchant."`
	Industry string             `help:"What the merchant sells."`
	Tier     merchants.Tier     `default:"starter" enum:"starter,standard,premium,trusted" help:"starter, standard, premium or trusted."`
	Language merchants.Language `default:"en" enum:"es,pt,en" help:"Language of receipts and reports: es, pt or en."`
	JSON     bool               `name:"json" help:"Print JSON."`

	RefundFees merchants.RefundFees `default:"kept" enum:"kept,returned" help:"Whether the fees of a refunded payment are kept (the merchant pays the whole refund) or returned."`
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
		Sandbox    appmerchants.KeyPair `json:"sandbox"`
		Production appmerchants.KeyPair `json:"production"`
	} `json:"keys"`
}

func (c *merchantCreateCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	n := appmerchants.NewMerchant{Name: c.Name, Email: c.Email, Industry: c.Industry, Tier: c.Tier, Language: c.Language, RefundFees: c.RefundFees}
	if err := n.Check(); err != nil { // before Open creates a database
		return err
	}
	a, err := open.OrNew(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	o, err := a.Onboarding.CreateMerchant(ctx, a.Onboarding.Self(), n)
	if err != nil {
		return err
	}
	if c.JSON {
		var out created
		out.Merchant.ID, out.Merchant.Name = o.Merchant.ID, o.Merchant.Name
		out.Shop.ID, out.Shop.Name, out.Shop.Slug = o.Shop.ID, o.Shop.Name, o.Shop.Slug
		out.Keys.Sandbox, out.Keys.Production = o.Sandbox, o.Live
		return json.NewEncoder(cli.Stdout).Encode(out)
	}
	_, err = fmt.Fprintf(cli.Stdout, "merchant    %s  %s\nshop        %s  %s\nsandbox     %s\n            %s\nproduction  %s\n            %s\nThe keys are shown only once.\n",
		o.Merchant.ID, o.Merchant.Name, o.Shop.ID, o.Shop.Slug, o.Sandbox.Publishable, o.Sandbox.Secret, o.Live.Publishable, o.Live.Secret)
	return err
}

type merchantListCmd struct {
	cli.DatabaseFlags
	JSON bool `name:"json" help:"Print one JSON object per line."`
}

func (c *merchantListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
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
				if err := json.NewEncoder(cli.Stdout).Encode(told); err != nil {
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
	cli.DatabaseFlags
	Merchant string `arg:"" help:"Merchant's id, mer_…"`
	Email    string `required:"" placeholder:"ADDRESS" help:"New e-mail address of the merchant."`
}

func (c *merchantSetCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Onboarding.SetEmail(ctx, a.Self(), c.Merchant, c.Email)
}

type merchantEmptyCmd struct {
	cli.DatabaseFlags
	Merchant string `arg:"" help:"Merchant's id, mer_…"`
}

func (c *merchantEmptyCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	if _, err := a.Sandbox.Reset(ctx, a.Self(), merchants.Scope{Merchant: c.Merchant}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cli.Stdout, "The sandbox of %s is closed. A running server empties it within about a minute.\n", c.Merchant)
	return err
}

type merchantTermsCmd struct {
	cli.DatabaseFlags
	Merchant   string                `arg:"" help:"Merchant's id, mer_…"`
	Tier       *merchants.Tier       `enum:"starter,standard,premium,trusted" placeholder:"TIER" help:"starter, standard, premium or trusted: the limits of requests follow from it, and the price plan of a merchant to which none was assigned. Running servers apply it within five seconds."`
	RefundFees *merchants.RefundFees `enum:"kept,returned" placeholder:"kept|returned" help:"Whether the fees of a refunded payment are kept or returned. Running servers apply it within five seconds."`

	TrustScore *int   `placeholder:"SCORE" help:"Trust score, 0 to 1000; needs --reason. A new tier brings its own."`
	Reason     string `help:"Why, for the audit log."`

	Installments *string `placeholder:"TERMS" help:"What shoppers may be offered in installments, in place of all earlier terms: RAIL:MAX/INTERESTFREE, for payments from an amount on with @CURRENCY:FROM, separated by commas, such as card.MEX:12/6,card.MEX:18/12@MXN:3000. card.* is all rails of a network, * all rails; none: nothing. Running servers apply it within five seconds."`
	JSON         bool    `name:"json" help:"Print JSON."`
}

func (c *merchantTermsCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	m, err := a.AnyMerchant(ctx, c.Merchant)
	var to appmerchants.Agreement
	if c.Tier != nil {
		to.Tier = *c.Tier
	}
	if c.RefundFees != nil {
		to.RefundFees = *c.RefundFees
	}
	to.Installments, to.TrustScore, to.Reason = c.Installments, c.TrustScore, c.Reason
	if err == nil && to != (appmerchants.Agreement{Reason: c.Reason}) {
		m, err = a.Onboarding.Agree(ctx, a.Self(), c.Merchant, to)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		terms, err := liveTerms(ctx, a.Plans, m)
		if err != nil {
			return err
		}
		return json.NewEncoder(cli.Stdout).Encode(shape.NewMerchant(m, terms, a.Plans.Book()))
	}
	return writeTerms(ctx, a.Plans, m)
}

// writeTerms writes for people what was agreed with a merchant, and whether it is paused.
func writeTerms(ctx context.Context, pl *plans.Plans, m merchants.Merchant) error {
	terms, err := liveTerms(ctx, pl, m)
	if err != nil {
		return err
	}
	told := shape.NewMerchant(m, terms, pl.Book())
	lines := [][2]string{
		{"merchant", m.ID + "  " + m.Name}, {"tier", string(m.Tier)}, {"trust score", strconv.Itoa(m.TrustScore)}, {"price plan", terms.Plan}, {"platform fee", percent(told.PlatformFeePct)},
		{"rolling reserve", percent(told.RollingReservePct)}, {"settled after", told.SettlementDelay},
		{"withdrawal fee", told.WithdrawalFeeUSD.String()}, {"dispute fee", told.ChargebackFeeUSD.String()}, {"refund fees", string(m.RefundFees)},
		{"installments", strings.Join(told.Installments, " ")},
	}
	if m.Installments == "" {
		lines[len(lines)-1][1] = "none"
	}
	if m.Paused != "" {
		lines = append(lines, [2]string{"paused", m.PausedAt.UTC().Format(time.DateTime) + "  " + m.Paused})
	}
	if m.Leaving.Closed() {
		lines = append(lines, [2]string{"closed", m.Leaving.ClosedAt.UTC().Format(time.DateTime) + "  " + m.Leaving.Reason})
	}
	if m.Leaving.Erased() {
		lines = append(lines, [2]string{"erased", m.Leaving.ErasedAt.UTC().Format(time.DateTime)})
	}
	if m.SandboxOff {
		lines = append(lines, [2]string{"sandbox", "off"})
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(cli.Stdout, "%-16s %s\n", line[0], line[1]); err != nil {
			return err
		}
	}
	return nil
}

// liveTerms are the merchant's terms in production now.
func liveTerms(ctx context.Context, pl *plans.Plans, m merchants.Merchant) (merchants.Terms, error) {
	return pl.Terms(ctx, merchants.Scope{Merchant: m.ID, Live: true}, m)
}

type merchantPauseCmd struct {
	cli.DatabaseFlags
	Merchant string `arg:"" help:"Merchant's id, mer_…"`
	Reason   string `required:"" help:"Reason; the merchant's team reads it. Running servers obey within five seconds."`
}

func (c *merchantPauseCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	m, err := a.Onboarding.Pause(ctx, a.Self(), c.Merchant, c.Reason)
	if err != nil {
		return err
	}
	return writeTerms(ctx, a.Plans, m)
}

type merchantResumeCmd struct {
	cli.DatabaseFlags
	Merchant string `arg:"" help:"Merchant's id, mer_…"`
}

func (c *merchantResumeCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	m, err := a.Onboarding.Resume(ctx, a.Self(), c.Merchant, appmerchants.AnyReason)
	if err != nil {
		return err
	}
	return writeTerms(ctx, a.Plans, m)
}

// merchantLine is the shape of merchant list --json.
type merchantLine struct {
	ID    string         `json:"id"`
	Name  string         `json:"name"`
	Email string         `json:"email"`
	Tier  merchants.Tier `json:"tier"`
	Shops []shopLine     `json:"shops"`
}

type shopLine struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// merchantPage is how many merchants are read at once.
const merchantPage = 100

func percent(r json.Marshaler) string {
	text, _ := r.MarshalJSON() // it never fails for a rate
	return string(text) + " %"
}
