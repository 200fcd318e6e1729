package devcli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Open is the command open.
type Open struct {
	Access
	ID    string `arg:"" optional:"" help:"TXN-…, CLM-…, STL-…, evt_…, lnk_…, wh_…, wal_…, wdr_… or req_…; without it, the shop's first page."`
	Print bool   `short:"p" help:"Print the address, and open no browser."`
}

// Help is shown below the command's summary.
func (Open) Help() string {
	return `It prints the address and opens it in the browser, if there is one. The dashboard asks you to sign in: the key does not open it, and whoever runs the shop
can invite you (docs/DASHBOARD.md).`
}

// page is where the dashboard shows things whose ids begin with prefix, and where the API does.
type page struct{ prefix, dashboard, api, end string }

var pages = []page{
	{"TXN-", "payments", "/payments", ""}, {"CLM-", "disputes", "/claims", ""}, {"STL-", "settlements", "/settlements", ""}, {"evt_", "events", "/events", ""},
	{"lnk_", "payments/links", "/payment-links", "/show"}, {"wh_", "webhooks", "/webhooks", ""}, {"wal_", "wallets", "/wallets", ""}, {"wdr_", "withdrawals", "/withdrawals", ""}, {"req_", "requests", "", ""},
}

// Run opens a page.
func (o Open) Run(ctx context.Context) error {
	a, err := o.open()
	if err != nil {
		return err
	}
	me, shop, err := a.identify(ctx)
	if err != nil {
		return err
	}
	a.Shop = shop.ID
	address := a.URL + "/dashboard/" + url.PathEscape(shop.ID) + "/" + url.PathEscape(me.Environment)
	if o.ID != "" {
		below, err := o.page(ctx, a)
		if err != nil {
			return err
		}
		address += below
	}
	printLine(stdout, "%s", address)
	if o.Print {
		return nil
	}
	if err := browse(address); err != nil {
		printLine(stderr, "No browser opened (%v): open the address yourself.", err)
	}
	return nil
}

// page finds the page of an id, and checks that there is such a thing.
func (o Open) page(ctx context.Context, a *api) (string, error) {
	var prefixes []string
	for _, p := range pages {
		prefixes = append(prefixes, p.prefix+"…")
		if !strings.HasPrefix(o.ID, p.prefix) {
			continue
		}
		below := p.dashboard
		if p.api != "" {
			var thing struct{ Type string }
			if err := a.get(ctx, p.api+"/"+url.PathEscape(o.ID), nil, &thing); err != nil {
				return "", err
			}
			if p.prefix == "CLM-" && thing.Type == "user_dispute" {
				below = "refunds"
			}
		}
		return "/" + below + "/" + url.PathEscape(o.ID) + p.end, nil
	}
	return "", fmt.Errorf("%q is no id that the dashboard shows: want one of %s", o.ID, strings.Join(prefixes, ", "))
}

// browse opens an address in the user's browser.
func browse(address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("there is no screen")
		}
	}
	return exec.Command(name, args...).Start()
}
