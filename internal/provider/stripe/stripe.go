// Package stripe takes payments at Stripe: Pix, OXXO and SPEI with the code shown on our
// own page, cards and boletos on Stripe's hosted page. It also pays out there: see Payouts.
//
// # Calls
//
//   - Pix, OXXO, SPEI: a PaymentIntent, created and confirmed in one call.
//   - Cards and boletos: a Checkout Session in payment mode. We see no card, and a
//     boleto needs a street address, which we do not have. Stripe's page collects
//     both, and runs the issuer's challenges. A shopper whose card is declined may
//     try another one there until the session expires, so a decline is a try: each
//     has an event, payment_intent.payment_failed, and the intent has the last one, with
//     the country of its card (last_payment_error.payment_method.card.country;
//     PaymentMethodCard of stripe-dotnet 03f5550). *Unproved*: whether every refusal has it.
//
// The Dashboard's settings decide which payment methods an intent or a session has, and
// allowed_payment_method_types narrows them to one. Stripe refuses payment_method_types,
// which needed no setting, since endive (changelog, 2026-09-30). A method that is not
// enabled is refused, and nobody is charged.
//
// # Instalments
//
// payment_method_options[card][installments][enabled] of a session lets a card of Mexico pay in months without interest: 3, 6, 9, 12, 18 or 24, of at least
// 300 to 2,400 pesos. The merchant pays a fee for them. Which ones, and from which amounts, is set in the Dashboard, and not by a session
// (docs.stripe.com/payments/mx-installments, and accept-a-payment there; read on 2026-11-28; Checkout/Sessions and Charges of stripe-node 6639421, 2026-08-19).
// So the credential installments says what the Dashboard allows, and a merchant's terms must allow as much. What the shopper chose is in the charge
// (payment_method_details.card.installments.plan.count), which the intent's event does not have: the session's event has it read. *Unproved*: whether
// a Dashboard with lower amounts shows more.
//
// # The end of a page
//
// The intent of a session cannot be canceled (docs.stripe.com/api/payment_intents/cancel). The session is expired instead: after that "a
// customer can't complete" it (docs.stripe.com/api/checkout/sessions/expire), and a pending purchase is canceled
// (docs.stripe.com/payments/checkout/managing-limited-inventory; both read on 2026-11-28). An expired session without an intent, or with one that is
// canceled or waits for a payment method, proves that no money comes: a charge that was refused is over. A payment that is under way then, in an
// issuer's challenge, is waited for, until an hour after the shopper's time. *Unproved*: which status the intent of an expired session gets.
//
// # Bank transfers
//
// SPEI is a bank transfer to a customer balance. A merchant's shopper, known by the e-mail
// address, has one Customer (customer.go) and so one CLABE, for ever. Stripe divides what
// arrives there among the shopper's open payments (balance.go says how). What fits no
// payment lies in the cash balance: too much, too late, a second transfer, or the part that
// a payment had got before it was canceled. Each such money is reported as another money of
// the payment that it is about, by Stripe's events and by the query of a payment that has
// ended. Its id is that of the movement that brought it. Its refund sends it back out of
// the balance. If the merchant is to have it, the operator has to take it at Stripe too, by
// a payment from the balance: until then it is the shopper's, and goes back after 75 days.
// What leaves the balance for the shopper's bank, or for another payment of ours, is
// reported as reversed.
//
// While one of the Customer's payments is open, nothing is loose: Stripe is about to give
// it the money. A part of an open payment is not reported, because the payment takes the
// rest too. A Customer whose balance is not empty gets no new payment, which would take
// what is in the books of another one.
//
// # Our reference
//
// It is in the metadata of every object but Customers, and it is the Idempotency-Key of the call that
// creates the object. Stripe keeps a key for at least 24 hours and then forgets it. After
// that only a query shows whether there was a charge, and the caller queries before it
// charges again. A refund may be requested again after days, so before it is made we search
// all refunds of its payment. The refund's own events, which hold its metadata, report the
// result. A refund without our metadata was made in the Dashboard or by Stripe; its events are
// the same: refund.created, refund.updated and refund.failed are of all refunds (changelog of
// 2024-10-28, and docs.stripe.com/refunds, which has refunds by API or Dashboard; read on 2026-11-28). events.go lists all events about
// money. A query of a paid payment reads its refunds too, because the intent stays
// succeeded. Without that list a paid payment counts as paid.
//
// Query under our reference lists what was created since the payment and compares metadata.
// That is a proof: lists show new objects at once. Stripe's search does not: it is a minute
// late by its own account, and an hour on a bad day. Repeating the call with its key would
// prove as much, but would create a charge that did not exist. A list longer than maxPages
// proves nothing. One risk remains: Stripe may still work on a call when the caller queries
// it; the caller's lease is more than twice its timeout.
//
// # What was checked, and where
//
// Paths, fields, types, enumerations and the states of PaymentIntent, Checkout Session,
// Customer, its cash balance, Refund, Dispute and errors: the types of stripe-node 23.1.0, which is the library of the version below, and
// Stripe's OpenAPI document of 2026-08-26, the last in stripe-mock. make conform plays every request of v1 against stripe-mock, which
// validates it by that document, and holds every request and answer to those types. The tables in published_test.go and payoutpublished_test.go hold the adapter
// and its fakes to both. docs.stripe.com: idempotency keys; how fresh search and
// lists are; eight digits of an amount (more in a few currencies; Stripe refuses a larger
// amount and charges nobody); boletos cannot be refunded; refunds of bank transfers (to the
// shopper's bank, whose details Stripe may have to request by e-mail; 45 days; 180 days); how cash balances are divided; the days of
// a voucher; the signature of notifications.
//
// Unproved, for lack of an account at Stripe: which rails an account in which country
// gets; whether Pix requires a tax id; whether the intent of an issued boleto can be
// canceled; whether a refund of a bank transfer that nobody collected ends as canceled, with its money in the cash balance, or as
// failed (the documents say both, and both are read); whether a canceled one names the transaction that reverses it; whether Mexican
// banks ever take a SPEI transfer back; whether a payment that a cash balance paid and its movement are shown at the same moment (a balance in
// which they are not is read again later); the codes with which Stripe refuses a refund that is too late or has no address; whether the
// permission for Customers covers their cash balances.
//
// # Evidence
//
// Each file is uploaded, and then one call writes all into the dispute's fields and submits it, with our reference in the dispute's
// metadata (docs.stripe.com/api/disputes/update and /files; the types of stripe-node 23.1.0). An answer is final: usually one
// submission is taken. So the dispute is read before each try and after each refusal. Ours is submitted if the metadata have its reference, and
// the dispute counts a submission or is under review. An inquiry (warning) and an appeal take evidence in the same way. A dispute of Klarna,
// PayPal or Amazon Pay has the same object; no rail of ours has them. Stripe charges a fee for an answer
// (support.stripe.com, dispute fees), except in Mexico and Japan; it is in no books of ours. A compliance dispute wants a
// fee acknowledged, which we never do. A dispute that a merchant accepts is not closed at Stripe
// (POST /v1/disputes/{id}/close cannot be undone): without an answer it is lost at its deadline (docs.stripe.com/disputes/responding).
//
// Unproved: whether the answer to a submission counts it already (if not, the next try sees it); with which error, besides that of
// too many pages, Stripe refuses evidence: each invalid request is taken for a refusal once the dispute still waits; whether 5 MB are
// counted in thousands.
//
// # The report
//
// cascada reconcile reads the itemized "Balance change from activity" of the Balance report
// (docs.stripe.com/reports/report-types/balance, the schema of
// balance_change_from_activity.itemized.3; docs.stripe.com/reports/reporting-categories).
// Metadata are optional columns. gross is in the settlement's currency, so
// customer_facing_amount is compared. Not seen: whether it has a sign for refunds, which
// does not matter here.
//
// # Payouts
//
// Global Payouts (API v2, money management): a recipient, a bank account of the recipient,
// an outbound payment. Each payout creates the first two anew, because we keep nothing of
// them between payouts and their lists cannot be searched. Each of the three calls has a
// key made of our reference, so a call after a crash, or from another node, finds what
// exists.
//
// Stripe keeps a key for 30 days. It answers a repeated successful call with the object's
// current state, and carries out a failed call again (docs.stripe.com/api-v2-overview). So:
//
//   - A refused payment does not end its key. A refusal proves something only for a first
//     call, after which we do not call under that reference again. The one refusal that
//     also counts later is insufficient funds: Stripe checks the balance while it pays.
//   - A first call that fails before the payment call has paid nothing.
//   - Before a later call we look for the payment: by its id, or by our reference in the
//     metadata of all payments since. Lists cannot be filtered by metadata. They are not
//     filtered by recipient either, because the recipient may have been created twice. A
//     list that was read to its end proves that there is no payment; how soon a new one
//     is in it is not documented, so we wait five minutes first.
//
// Posted means that the money has left. It counts as paid at the time, or after the day, on
// which Stripe expects it to arrive; without such a day, a week after it was posted
// (docs.stripe.com/global-payouts/send-money: one to seven days). Money that comes back
// after that is reported as returned (docs.stripe.com/global-payouts/manage-payouts). A
// payment that a person canceled is rejected: it must not leave through another account.
// Events hold no state, so the payment is queried.
//
// The list is filtered by created[gte]: stripe-node 23.1.0, which is of the same version.
// Its value is a text (RFC 3339), as stripe-python has it for the same filter of events.
//
// Checked in docs.stripe.com and in stripe-go's branch beta: paths, fields, statuses,
// reasons, types of errors, event types, the version (changelog, endive, 2026-10-28), the
// numbers of bank accounts in the United States and the United Kingdom, e-mail and name for
// companies in Austria, Belgium and Bulgaria. Only part of the pages for all countries
// could be read: they suggest that Mexico and the rest of the euro area require no more
// than that. A recipient who needs an address is refused before money moves.
//
// Only a real account can show: the HTTP statuses of errors; whether the documents' error
// types arrive as type or as code; whether a British account first needs its holder's name
// confirmed (then it is not paid here); which statuses a new recipient's capability goes
// through; the largest page of a list (we request no size); and the rate of a payment in
// another currency than the balance's. The amount is the recipient's; only Stripe reports
// its cost.
package stripe

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/provider"
)

const (
	base = "https://api.stripe.com"
	// filesBase takes files.
	filesBase = "https://files.stripe.com"
	// version is the API version sent with every call, so that an account's default does not
	// matter.
	version = "2026-10-28.endive"
	// referenceKey holds our reference in the metadata. It names us: the account may serve
	// other systems, whose objects are not ours.
	referenceKey = "cascada_reference"
	// hostedKey marks the intents of Checkout Sessions, whose failures are not
	// final.
	hostedKey = "cascada_hosted"
	// shopperKey holds our name of a Customer's shopper.
	shopperKey = "cascada_shopper"
	// moneyKey holds, of a return of money in a cash balance, the id of that money.
	moneyKey = "cascada_money"
	// evidenceKey holds, of a dispute, our name of the evidence that was submitted.
	evidenceKey = "cascada_evidence"
)

// Adapter is the adapter for accounts at Stripe that take payments.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name:     "stripe",
		Declines: []provider.Codes{{Field: "last_payment_error.decline_code, or code without one", Source: "docs.stripe.com/declines/codes and docs.stripe.com/error-codes, read on 2026-11-28", Table: declines}},
		Report:   report(),
		Fields: []provider.Field{
			{Name: "secretKey", Doc: "Dashboard, Developers, API keys: a secret key (sk_…), or a restricted one (rk_…) " +
				"that may write PaymentIntents, Checkout Sessions, Customers, Refunds, Disputes and Files. Enable each payment method that you use under Settings, Payment methods"},
			{Name: "webhookSecret", Doc: "Dashboard, Developers, Webhooks: the endpoint's signing secret (whsec_…). The endpoint wants the events " +
				"payment_intent.*, checkout.session.*, refund.* and charge.dispute.*, and for SPEI customer_cash_balance_transaction.created and " +
				"cash_balance.funds_available"},
			{Name: "installments", Optional: true, Public: true, Doc: "Dashboard, Settings, Payment methods, Cards, Installments (Mexico): the most months that you enabled; 24 if you leave it out. " +
				"A merchant's terms must allow as many: the page cannot be told fewer"},
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
	base    string
	files   string // where files go
	key     string
	secret  []byte
	longest int // the most installments that the Dashboard allows
}

// shortestSecret is less than Stripe's secrets have (32 characters after whsec_): a shorter one was cut off, and could be guessed.
const shortestSecret = len("whsec_") + 16

func open(a provider.Account) (provider.Provider, error) {
	key, err := a.Credential("secretKey", 4096)
	if err != nil {
		return nil, err
	}
	secret, err := a.Credential("webhookSecret", 4096)
	if err != nil {
		return nil, err
	}
	p := &Provider{Account: a, base: a.Base(base, base), files: a.Base(filesBase, filesBase), key: key, secret: []byte(secret)}
	if p.longest = plans[len(plans)-1]; a.Credentials["installments"] != "" {
		if p.longest, err = strconv.Atoi(a.Credentials["installments"]); err != nil || !slices.Contains(plans, p.longest) {
			return nil, &provider.FieldError{Field: "installments", Reason: "it has to be 3, 6, 9, 12, 18 or 24"}
		}
	}
	environment := "test_"
	if a.Live {
		environment = "live_"
	}
	kind, rest, _ := strings.Cut(key, "_")
	switch {
	case kind != "sk" && kind != "rk" || !strings.HasPrefix(rest, environment):
		return nil, &provider.FieldError{Field: "secretKey", Reason: "in this environment it has to begin with sk_" + environment + " or rk_" + environment}
	case !strings.HasPrefix(secret, "whsec_") || len(secret) < shortestSecret:
		return nil, &provider.FieldError{Field: "webhookSecret", Reason: "it has to begin with whsec_, with 16 characters or more after it"}
	}
	return p, nil
}

// Check lists at most one payment: it is free, and needs the permission that every query
// needs.
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
	return errors.New("the provider does not answer now: " + f.outcome.Decline)
}

// method is Stripe's name for a rail, and whether the shopper pays on Stripe's page.
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

// Refunds implements provider.Refunder: payments in cash or by boleto are refunded in other ways.
func (*Provider) Refunds(rail string) bool { return rail != "boleto.BRA" && rail != "cash.oxxo.MEX" }
