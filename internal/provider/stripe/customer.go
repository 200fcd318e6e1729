package stripe

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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

// ours reports whether we made the Customer.
func (c customer) ours() bool { return c.reference() != "" }

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

// spell is for how long a key is used after another one failed.
const spell = 10 * time.Minute

// customer returns the Customer whose cash balance a shopper's transfer fills. A merchant's shopper has one, and so one CLABE, which is
// the shopper's for ever (docs.stripe.com/payments/customer-balance/virtual-bank-account-numbers, read on 2026-11-28: Stripe limits
// how many there are). It is found by the list of a given e-mail address, which shows new ones at once.
//
// A Customer with money in its balance is passed over: that money is in the books of an earlier payment, and a new one would take it
// at once. The next one is made under a key that counts those before it. So two calls at the same time make the same one.
//
// Stripe repeats the first answer to a key for a day, also a failure of its own (docs.stripe.com/api/idempotent_requests, read on
// 2026-11-28). So if a failure made no Customer, another key is used, which is a new one every ten minutes. At worst the first Customer
// appears later, and the shopper has two. No money is lost: both balances are watched, and the oldest empty one is used from then on.
func (p *Provider) customer(ctx context.Context, r provider.Request) (found string, o *pay.Outcome) {
	name := r.Shopper()
	form := url.Values{
		"email":                        {email(r)},
		"metadata[" + shopperKey + "]": {name},
		"cash_balance[settings][reconciliation_mode]": {"automatic"},
	}
	var f *failure
	for _, suffix := range []string{"", "-" + strconv.FormatInt(p.Now().Truncate(spell).Unix(), 10)} {
		var ours []customer
		if ours, f = p.madeFor(ctx, r); f != nil {
			break
		}
		if at := slices.IndexFunc(ours, customer.empty); at >= 0 {
			return ours[at].ID, nil
		}
		var made customer
		f = p.post(ctx, "/v1/customers", form, "cascada-shopper-"+name+"-"+strconv.Itoa(len(ours))+suffix, &made)
		if f == nil && id(made.ID) {
			return made.ID, nil
		}
		if f == nil {
			f = &failure{outcome: provider.Unknown("broken_answer")}
		}
		if f.kind == "" || f.status < http.StatusInternalServerError { // not a failure of Stripe's own
			break
		}
	}
	// whatever the result, nobody has been asked for money yet
	return "", &pay.Outcome{Kind: pay.Unavailable, Decline: f.outcome.Decline}
}

// madeFor lists a shopper's Customers, the oldest first.
func (p *Provider) madeFor(ctx context.Context, r provider.Request) (ours []customer, f *failure) {
	name := r.Shopper()
	query := url.Values{"email": {email(r)}, "expand[]": {"data.cash_balance"}}
	f = walk(ctx, p, "/v1/customers", query, func(c customer) bool {
		if c.reference() == name && id(c.ID) {
			ours = append(ours, c)
		}
		return false
	})
	slices.Reverse(ours)
	return ours, f
}
