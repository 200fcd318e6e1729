package devcli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Links is the group of commands links.
type Links struct {
	Create LinkCreate `cmd:"" help:"Make a payment link, and print its address."`
	List   LinkList   `cmd:"" help:"List payment links, newest first."`
	Show   LinkShow   `cmd:"" help:"Print a payment link."`
	Close  LinkClose  `cmd:"" help:"Close a payment link: nobody can begin to pay any more."`
	Reopen LinkReopen `cmd:"" help:"Open a closed or expired payment link again, or set its end."`
}

// LinkCreate is the command links create.
type LinkCreate struct {
	Access
	Amount      string   `placeholder:"25.50" help:"What each shopper pays, in units of the currency. Without it, --min and --max: the shopper types the amount."`
	Min         string   `placeholder:"5" help:"The least that a shopper may type."`
	Max         string   `placeholder:"500" help:"The most that a shopper may type."`
	Currency    string   `default:"USD" help:"ISO 4217."`
	Country     string   `placeholder:"BR" help:"Offer the methods of one country alone."`
	Description string   `short:"d" placeholder:"TEXT" help:"What is paid for. The shopper sees it."`
	Order       string   `placeholder:"ID" help:"The shop's own order id of each payment."`
	Uses        int      `default:"1" help:"How many payments may be paid, at most 10000."`
	Expires     string   `placeholder:"72h" help:"A time such as 2027-01-31T18:00:00Z, or how long from now. 30 days by default."`
	ReturnURL   string   `name:"return-url" placeholder:"URL" help:"Where the shopper is led after paying."`
	Metadata    []string `placeholder:"KEY=VALUE" help:"Own data of each payment. May be repeated."`
	Live        bool     `help:"Make it with a live key: shoppers pay real money."`
	JSON        bool     `name:"json" help:"Print the link as the API shows it."`
}

// paymentLink is a link as the API shows it.
type paymentLink struct {
	ID          string
	Status      string
	URL         string
	Amount      *json.Number
	OpenAmount  *struct{ Min, Max json.Number }
	Currency    string
	Description string
	Uses, Paid  int
	ExpiresAt   time.Time
}

// String is the link as a line for people.
func (l paymentLink) String() string {
	amount := ""
	switch {
	case l.Amount != nil:
		amount = l.Amount.String()
	case l.OpenAmount != nil:
		amount = l.OpenAmount.Min.String() + " to " + l.OpenAmount.Max.String()
	}
	line := l.ID + "  " + l.Status + "  " + amount + " " + l.Currency + "  " + strconv.Itoa(l.Paid) + " of " + strconv.Itoa(l.Uses) + " paid, until " + l.ExpiresAt.Format(time.RFC3339)
	if l.Description != "" {
		line += "  " + l.Description
	}
	return line
}

// Run makes a link.
func (c LinkCreate) Run(ctx context.Context) error {
	a, err := c.open()
	if err != nil {
		return err
	}
	if a.live() && !c.Live {
		return errors.New("the key is live: shoppers would pay real money. Give --live if you mean that")
	}
	body := map[string]any{"currency": c.Currency, "uses": c.Uses}
	if c.Min != "" || c.Max != "" {
		body["openAmount"] = map[string]any{"min": json.Number(c.Min), "max": json.Number(c.Max)}
	}
	if c.Amount != "" {
		body["amount"] = json.Number(c.Amount)
	}
	for name, value := range map[string]string{"country": c.Country, "description": c.Description, "merchantOrderId": c.Order, "returnUrl": c.ReturnURL} {
		if value != "" {
			body[name] = value
		}
	}
	if c.Expires != "" {
		if body["expiresAt"], err = moment(ctx, a, c.Expires); err != nil {
			return err
		}
	}
	if body["metadata"], err = pairs(c.Metadata); err != nil {
		return err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return errors.New("an amount must be a number, such as 25.50")
	}
	return showLink(ctx, a, call{method: http.MethodPost, path: "/payment-links", body: text, header: map[string]string{idempotencyHeader: newKey()}}, c.JSON, func(l paymentLink) {
		printLine(stdout, "%s", l.URL)
		printLine(stderr, "%s", l)
	})
}

// moment reads a time, or how long from now, and writes it as the API reads it. In a sandbox now is its clock's.
func moment(ctx context.Context, a *api, text string) (string, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.Format(time.RFC3339), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return "", errors.New("--expires must be a time such as 2027-01-31T18:00:00Z, or how long from now, such as 72h")
	}
	clock := struct{ Now time.Time }{time.Now()}
	if !a.live() {
		if err := a.get(ctx, "/sandbox/clock", nil, &clock); err != nil {
			return "", err
		}
	}
	return clock.Now.Add(d).UTC().Format(time.RFC3339), nil
}

// pairs reads metadata.
func pairs(list []string) (map[string]string, error) {
	read := map[string]string{}
	for _, pair := range list {
		key, value, found := strings.Cut(pair, "=")
		if !found {
			return nil, errors.New("--metadata must be KEY=VALUE, such as cart=c-311")
		}
		read[key] = value
	}
	return read, nil
}

// showLink makes a call that answers with a link, and prints it. Repeats of these calls change nothing more.
func showLink(ctx context.Context, a *api, c call, asJSON bool, show func(paymentLink)) error {
	r, err := a.send(ctx, c)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := r.read(a.URL, &raw); err != nil {
		return err
	}
	if asJSON {
		return printJSON(raw)
	}
	var l paymentLink
	if err := r.read(a.URL, &l); err != nil {
		return err
	}
	show(l)
	return nil
}

// LinkList is the command links list.
type LinkList struct {
	Access
	Status string `enum:"open,used,expired,closed," default:"" placeholder:"STATUS" help:"Only links that are open, used, expired or closed."`
	Limit  int    `short:"n" default:"20" help:"How many, 100 at most."`
	JSON   bool   `name:"json" help:"Print one line of JSON for each link."`
}

// Run lists links.
func (ll LinkList) Run(ctx context.Context) error {
	a, err := ll.open()
	if err != nil {
		return err
	}
	query := url.Values{"limit": {strconv.Itoa(ll.Limit)}}
	if ll.Status != "" {
		query.Set("status", ll.Status)
	}
	var page struct{ Data []json.RawMessage }
	if err := a.get(ctx, "/payment-links", query, &page); err != nil {
		return err
	}
	for _, raw := range page.Data {
		if ll.JSON {
			if err := printJSON(raw); err != nil {
				return err
			}
			continue
		}
		var l paymentLink
		if err := json.Unmarshal(raw, &l); err != nil {
			return &foreign{a.URL + " does not answer as Cascada's API does"}
		}
		printLine(stdout, "%s", l)
	}
	return nil
}

// LinkShow is the command links show.
type LinkShow struct {
	Access
	ID   string `arg:"" help:"lnk_…"`
	JSON bool   `name:"json" help:"Print it as the API shows it."`
}

// Run prints a link.
func (ls LinkShow) Run(ctx context.Context) error {
	a, err := ls.open()
	if err != nil {
		return err
	}
	return showLink(ctx, a, call{method: http.MethodGet, path: "/payment-links/" + url.PathEscape(ls.ID)}, ls.JSON, func(l paymentLink) {
		printLine(stdout, "%s", l)
		printLine(stdout, "%s", l.URL)
	})
}

// LinkClose is the command links close.
type LinkClose struct {
	Access
	ID   string `arg:"" help:"lnk_…"`
	JSON bool   `name:"json" help:"Print it as the API shows it."`
}

// Run closes a link.
func (c LinkClose) Run(ctx context.Context) error {
	a, err := c.open()
	if err != nil {
		return err
	}
	return patchLink(ctx, a, c.ID, map[string]string{"status": "closed"}, c.JSON)
}

// LinkReopen is the command links reopen.
type LinkReopen struct {
	Access
	ID      string `arg:"" help:"lnk_…"`
	Expires string `placeholder:"72h" help:"Its new end: a time such as 2027-01-31T18:00:00Z, or how long from now. An expired link needs one."`
	JSON    bool   `name:"json" help:"Print it as the API shows it."`
}

// Run opens a link again.
func (lr LinkReopen) Run(ctx context.Context) error {
	a, err := lr.open()
	if err != nil {
		return err
	}
	body := map[string]string{"status": "open"}
	if lr.Expires != "" {
		if body["expiresAt"], err = moment(ctx, a, lr.Expires); err != nil {
			return err
		}
	}
	return patchLink(ctx, a, lr.ID, body, lr.JSON)
}

func patchLink(ctx context.Context, a *api, id string, body map[string]string, asJSON bool) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return showLink(ctx, a, call{method: http.MethodPatch, path: "/payment-links/" + url.PathEscape(id), body: text}, asJSON, func(l paymentLink) { printLine(stdout, "%s", l) })
}
