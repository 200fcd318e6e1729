package stripe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// customer is the part of a Customer that we read.
type customer struct {
	ID       string            `json:"id"`
	Metadata map[string]string `json:"metadata"`
	Balance  *struct {
		Available map[string]int64 `json:"available"`
	} `json:"cash_balance"`
}

func (c customer) key() string       { return c.ID }
func (c customer) reference() string { return c.Metadata[shopperKey] }

// ours reports whether we made the Customer. Older ones served one payment, and have its reference.
func (c customer) ours() bool { return c.Metadata[shopperKey]+c.Metadata[referenceKey] != "" }

// empty reports whether nothing is in the cash balance.
func (c customer) empty() bool {
	if c.Balance == nil {
		return true
	}
	for _, minor := range c.Balance.Available {
		if minor != 0 {
			return false
		}
	}
	return true
}

// email is a shopper's address, in one spelling: Stripe's filter knows capital letters.
func email(r provider.Request) string { return strings.ToLower(strings.TrimSpace(r.Buyer.Email)) }

// shopper is our name of a merchant's shopper.
func shopper(r provider.Request) string {
	sum := sha256.Sum256([]byte(r.Merchant + "\x00" + email(r)))
	return hex.EncodeToString(sum[:16])
}

// customer returns the Customer whose cash balance a shopper's transfer fills. A merchant's shopper has one, and so one CLABE, which is
// the shopper's for ever (docs.stripe.com/payments/customer-balance/virtual-bank-account-numbers, read on 2026-11-28: Stripe limits
// how many there are). It is found by the list of a given e-mail address, which shows new ones at once.
//
// A Customer with money in its balance is passed over: that money is in the books of an earlier payment, and a new one would take it
// at once. The next one is made under a key that counts those before it. So two calls at the same time make the same one.
func (p *Provider) customer(ctx context.Context, r provider.Request) (found string, o *pay.Outcome) {
	name := shopper(r)
	var ours []customer
	query := url.Values{"email": {email(r)}, "expand[]": {"data.cash_balance"}}
	f := walk(ctx, p, "/v1/customers", query, func(c customer) bool {
		if c.reference() == name && id(c.ID) {
			ours = append(ours, c)
		}
		return false
	})
	for _, c := range slices.Backward(ours) { // the oldest first
		if f == nil && c.empty() {
			return c.ID, nil
		}
	}
	var made customer
	if f == nil {
		form := url.Values{
			"email":                        {email(r)},
			"metadata[" + shopperKey + "]": {name},
			"cash_balance[settings][reconciliation_mode]": {"automatic"},
		}
		f = p.post(ctx, "/v1/customers", form, "cascada-shopper-"+name+"-"+strconv.Itoa(len(ours)), &made)
	}
	switch {
	case f != nil: // whatever the result, nobody has been asked for money yet
		return "", &pay.Outcome{Kind: pay.Unavailable, Decline: f.outcome.Decline}
	case !id(made.ID):
		return "", &pay.Outcome{Kind: pay.Unavailable, Decline: "broken_answer"}
	}
	return made.ID, nil
}
