// Package stripe takes payments at Stripe: Pix, OXXO and SPEI with the code
// shown on our own page, cards and boletos on Stripe's hosted one. It pays out there
// too: see Payouts.
//
// # What is asked of Stripe
//
//   - Pix, OXXO, SPEI: a PaymentIntent, made and confirmed in one call. SPEI is
//     a bank transfer to a customer balance, so a Customer of its own comes
//     first: its CLABE belongs to one payment.
//   - Cards and boletos: a Checkout Session in payment mode. We see no card, and a
//     boleto needs a street address, which we do not have; Stripe's page asks for
//     both, and plays the issuer's challenges. A card that is declined there may
//     be followed by another one until the session expires, so a decline is told
//     by nobody before that.
//
// # Our reference
//
// It is in the metadata of whatever is made, and it is the Idempotency-Key of
// the call that makes it. Stripe keeps a key for at least 24 hours and then
// forgets it: after that only a question says whether there was a charge, and
// the caller asks before it charges again. A refund is looked for among all of its
// payment before it is made, since it may be asked for again after days. What
// became of it is told by the refund's own events, which hold its metadata.
//
// Query under our reference lists what was created since the payment was and
// compares metadata. That is a proof: lists tell at once of what was made, which
// Stripe's search, a minute late by its own account and an hour on a bad day, does
// not. Repeating the call with its key would prove as much and would make the
// charge that was not there. A list longer than maxPages proves nothing. What
// remains is a call that Stripe works on for longer than the caller waits before
// it asks; the caller's lease is more than twice its timeout.
//
// # What was checked, and where
//
// Paths, fields, types, enumerations and the states of PaymentIntent, Checkout
// Session, Refund, Dispute and errors: Stripe's OpenAPI document of the version
// below, as published in stripe/openapi, and every request that this package
// makes is played against stripe-mock, which validates it by that document.
// Idempotency keys, the freshness of search and lists, eight digits of an amount
// (more of a few currencies; a larger one is refused by Stripe and charges nobody),
// boletos without refunds, refunds of bank transfers (to the shopper's bank,
// whose details Stripe may have to ask for by e-mail; 45 days), the days of a
// voucher, the signature of notifications: docs.stripe.com.
//
// Not checked against Stripe itself, for want of an account: which rails an
// account of which country is given, whether Pix insists on a tax id, whether
// the intent of a boleto that was issued can be canceled.
//
// # The report
//
// cascada reconcile reads the itemized "Balance change from activity" of the Balance
// report (docs.stripe.com/reports/report-types/balance, the schema of
// balance_change_from_activity.itemized.3; docs.stripe.com/reports/reporting-categories).
// Metadata are columns that one chooses for it. gross is in the settlement's
// currency, so what is compared is customer_facing_amount. Not seen: whether that has a
// sign for refunds, which does not matter here.
//
// # Payouts
//
// Global Payouts (API v2, money management): a recipient, a bank account of the recipient,
// an outbound payment. The first two are made anew for each payout, since nothing of them
// is kept between payouts and lists of them cannot be searched. Each of the three calls has
// a key of our reference, so a call after a crash, or of another node, finds what there is.
//
// Stripe keeps a key for 30 days, answers a success with the object as it stands now, and
// carries a call that failed out again (docs.stripe.com/api-v2-overview). So:
//
//   - That a payment was refused is no end of its key. It proves something of a first call
//     alone, after which nobody calls under that reference again. The one refusal that
//     counts later too is that of the balance, which Stripe looks at while it pays.
//   - What fails before the payment is asked for has paid nothing, in a first call.
//   - Before a later call the payment is looked for: by its id, or among all that were made
//     since, by our reference in the metadata. Lists cannot be narrowed to that. They are
//     not narrowed to the recipient either, who may have been made twice. A list that was
//     read to its end proves that there is none; how soon a new payment is in it is not
//     documented, so five minutes have to pass.
//
// Posted means that the money has left. It counts as paid at the time, or after the day, on
// which Stripe expects it to arrive, or a week after it was posted where no day is told
// (docs.stripe.com/global-payouts/send-money: one to seven days). What comes back after
// that is told as returned (docs.stripe.com/global-payouts/manage-payouts). What a person
// canceled is rejected: it is not to go another way. Events hold no state, so the payment
// is asked for.
//
// Checked in docs.stripe.com and in stripe-go's branch beta: paths, fields, statuses,
// reasons, types of errors, event types, the version (changelog, endive, 2026-10-28), the
// numbers of bank accounts in the United States and the United Kingdom, e-mail and name for
// companies in Austria, Belgium and Bulgaria. The pages with all countries could be read in
// part: that Mexico and the rest of the euro area want no more than that is taken from
// them, and a recipient who needs an address is refused before money moves.
//
// Only a real account can tell: the HTTP statuses of errors, whether the documents' types
// come as type or as code, whether a British account needs its holder's name confirmed
// first (then it is not paid here), which statuses a new recipient's capability goes
// through, the largest page of a list (none is asked for), and the rate of a payment in
// another currency than the balance's: the amount is the recipient's, what it costs is
// told by Stripe alone.
package stripe

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/cascadapay/cascada/internal/provider"
)

const (
	base = "https://api.stripe.com"
	// version is the API's, sent with every call, so that an account's default
	// changes nothing for us.
	version = "2026-08-26.dahlia"
	// referenceKey is our reference in the metadata. It names us: the account may
	// serve other systems, whose objects are none of ours.
	referenceKey = "cascada_reference"
	// hostedKey marks the intents of Checkout Sessions, whose failures are not
	// final.
	hostedKey = "cascada_hosted"
)

// Adapter is what the operator may open accounts at.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name:   "stripe",
		Report: report(),
		Fields: []provider.Field{
			{Name: "secretKey", Doc: "Dashboard, Developers, API keys: a secret key (sk_…), or a restricted one (rk_…) " +
				"that may write PaymentIntents, Checkout Sessions, Customers and Refunds and read Disputes"},
			{Name: "webhookSecret", Doc: "Dashboard, Developers, Webhooks: the endpoint's signing secret (whsec_…). The endpoint wants the events " +
				"payment_intent.*, checkout.session.*, refund.* and charge.dispute.*"},
		},
		Rails: []string{
			"pix.BRA", "boleto.BRA", "cash.oxxo.MEX", "spei.MEX",
			"card.ARG", "card.BOL", "card.BRA", "card.CHL", "card.COL", "card.CRI", "card.DOM", "card.ECU", "card.GTM",
			"card.HND", "card.MEX", "card.PAN", "card.PER", "card.PRY", "card.SLV", "card.URY", "card.USA",
		},
		Open: open,
	}
}

// Provider is an account at Stripe.
type Provider struct {
	provider.Account
	base   string
	key    string
	secret []byte
}

func open(a provider.Account) (provider.Provider, error) {
	key, err := a.Credential("secretKey", 4096)
	if err != nil {
		return nil, err
	}
	secret, err := a.Credential("webhookSecret", 4096)
	if err != nil {
		return nil, err
	}
	p := &Provider{Account: a, base: a.Base(base, base), key: key, secret: []byte(secret)}
	environment := "test_"
	if a.Live {
		environment = "live_"
	}
	kind, rest, _ := strings.Cut(key, "_")
	switch {
	case kind != "sk" && kind != "rk":
		return nil, &provider.FieldError{Field: "secretKey", Reason: "it has to begin with sk_ or rk_"}
	case !strings.HasPrefix(rest, environment):
		return nil, &provider.FieldError{Field: "secretKey", Reason: "it is a key of the other environment: want one with " + environment}
	case !strings.HasPrefix(secret, "whsec_"):
		return nil, &provider.FieldError{Field: "webhookSecret", Reason: "it has to begin with whsec_"}
	}
	return p, nil
}

// Check lists at most one payment: it costs nothing, and needs the right that
// every question needs.
func (p *Provider) Check(ctx context.Context) error {
	var list page[intent]
	f := p.get(ctx, "/v1/payment_intents", url.Values{"limit": {"1"}}, &list)
	switch {
	case f == nil && list.whole():
		return nil
	case f == nil:
		return errors.New("the answer is not the provider's: is the address right?")
	case f.status == http.StatusUnauthorized:
		return errors.New("the secret key is not valid")
	case f.status == http.StatusForbidden:
		return errors.New("the secret key may not read payments")
	}
	return errors.New("the provider cannot be asked now: " + f.outcome.Decline)
}

// method is how a rail is called at Stripe, and whether the shopper pays on
// Stripe's page.
func method(rail string) (name string, hosted bool) {
	switch rail {
	case "pix.BRA":
		return "pix", false
	case "cash.oxxo.MEX":
		return "oxxo", false
	case "spei.MEX":
		return "customer_balance", false
	case "boleto.BRA":
		return "boleto", true
	}
	return "card", true
}

// refundable reports whether Stripe gives the money of a rail back. What was
// paid in cash or by boleto goes back by other ways.
func refundable(rail string) bool { return rail != "boleto.BRA" && rail != "cash.oxxo.MEX" }
