package merchants

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Shop is cascada shop.
type Shop struct {
	Schemes shopSchemesCmd `cmd:"" help:"Show or set the schemes of a shop's apps, to which its pages may lead shoppers back (returnUrl)."`
	Create  shopCreateCmd  `cmd:"" help:"Create another shop for a merchant, with its keys."`
	Brand   shopBrandCmd   `cmd:"" help:"Set how a shop's pages look to shoppers, and which sites may embed them."`
}

type shopCreateCmd struct {
	cli.DatabaseFlags
	Merchant string `required:"" placeholder:"ID" help:"Merchant's id, mer_…"`
	Name     string `required:"" help:"Name of the shop, as shoppers see it."`
}

func (c *shopCreateCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	o, err := a.Onboarding.CreateShop(ctx, a.Self(), c.Merchant, c.Name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cli.Stdout, "shop        %s  %s\nsandbox     %s\n            %s\nproduction  %s\n            %s\nThe keys are shown only once.\n",
		o.Shop.ID, o.Shop.Slug, o.Sandbox.Publishable, o.Sandbox.Secret, o.Live.Publishable, o.Live.Secret)
	return err
}

type shopSchemesCmd struct {
	cli.DatabaseFlags
	Shop   string   `arg:"" help:"Shop's id, shp_…"`
	Scheme []string `placeholder:"SCHEME" help:"Scheme of an app, such as com.example.shop for com.example.shop://paid; up to 10. Repeat it for more; it replaces the current list. Any app can claim any scheme: prefer https addresses that open the app."`
	None   bool     `xor:"scheme" help:"Remove all schemes."`
}

func (c *shopSchemesCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	var shop merchants.Shop
	if c.None || len(c.Scheme) > 0 {
		shop, err = a.Onboarding.SetSchemes(ctx, a.Self(), c.Shop, c.Scheme)
	} else {
		shop, err = a.Onboarding.AnyShop(ctx, c.Shop)
	}
	if err != nil {
		return err
	}
	if len(shop.Schemes) == 0 {
		_, err = fmt.Fprintf(cli.Stdout, "%s: no app schemes\n", shop.Name)
		return err
	}
	_, err = fmt.Fprintf(cli.Stdout, "%s: %s\n", shop.Name, strings.Join(shop.Schemes, ", "))
	return err
}

type shopBrandCmd struct {
	cli.DatabaseFlags
	Shop   string   `arg:"" help:"Shop's id, shp_…"`
	Color  *string  `placeholder:"#RRGGBB" help:"Colour of the main button; empty for the default."`
	Logo   string   `type:"existingfile" placeholder:"FILE" help:"Logo as PNG or JPEG, at most 24 KB and 1024 pixels wide and high."`
	NoLogo bool     `help:"Remove the logo: pages show only the shop's name."`
	Frame  []string `placeholder:"ORIGIN" help:"Origin that may embed the pages, such as https://shop.example. Repeat it for more; it replaces the current list."`

	PassFee *bool `negatable:"" help:"The shop passes the payment method's fee on in its prices: show it beside the methods, in the shopper's currency. It is the fee of the catalog, without the service's own (fees.platform); --no-pass-fee hides it again."`
}

func (c *shopBrandCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	var logo *merchants.Logo
	if c.Logo != "" {
		body, err := os.ReadFile(c.Logo)
		if err != nil {
			return err
		}
		read, err := appmerchants.ReadLogo(body)
		if err != nil {
			return err
		}
		logo = &read
	}
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	shop, err := a.Onboarding.Rebrand(ctx, a.Self(), c.Shop, func(b merchants.Brand) merchants.Brand {
		if c.Color != nil {
			b.Color = *c.Color
		}
		if c.NoLogo {
			b.Logo = ""
		}
		if c.PassFee != nil {
			b.PassFee = *c.PassFee
		}
		if len(c.Frame) > 0 {
			b.Frames = c.Frame
		}
		return b
	}, logo)
	if err != nil {
		return err
	}
	fee := "hidden"
	if shop.Brand.PassFee {
		fee = "shown, without the service's own fee"
	}
	fmt.Fprintf(cli.Stdout, "%s: colour %q, logo %q, embedded by %v, the methods' fee %s\n", shop.Name, shop.Brand.Color, shop.Brand.Logo, shop.Brand.Frames, fee)
	return nil
}
