// Package payulatam charges with cash, bank references and SPEI at PayU Latam, the PayU of
// Argentina, Colombia, Mexico and Peru.
//
// PayU has no idempotency: two orders may have one referenceCode, unless "Control duplicate payments" is on in the
// PayU Module, which is recommended (what PayU answers then is *unproved*). Charge searches for our
// reference first, and makes one charge at a time under a reference. One risk remains: a
// second process charges under the same reference at the same time, or within the seven
// minutes in which PayU asks us not to query and may not show the order yet. Then the
// shopper has two vouchers. If both are paid, both are reported: a confirmation that money came looks up the
// orders, because their ids are not signed. For the same seven minutes an order that is not found proves nothing.
// That a confirmation's reference_pol is the id of the order follows from a merchant's client, which queries orders by it
// (AlejoMoreno/phomeworkServer, serchOrderId.php). How often PayU sends a confirmation again is *unproved*.
//
// Not served, with the reason:
//   - cards, and so installments: the API requires the card's number, and the hosted WebCheckout starts with a
//     POST form, to which a shopper cannot be redirected.
//   - PSE, Botón Bancolombia, Nequi: the shopper's bank, kind of person and document, or
//     the browser's cookie, agent and device session are mandatory, and we do not collect
//     them.
//   - boleto and PIX: a boleto requires the shopper's address. A refund names only the
//     order, so two PIX refunds of one amount cannot be told apart, and a refund without an
//     answer could be made twice.
//   - Baloto: it is no longer in the newest list of methods.
//
// Payments in cash or by transfer cannot be refunded: PayU's agents decline such requests,
// and the newer pages send the merchant to its payouts.
//
// What PayU tells, and what is done (confirmation page, updated 2022-06-07; tables of states; disputes and disputes
// webhook; all read on 2026-11-28):
//
//	confirmation 4, approved               booked, with each order that was paid, once the report shows the money of
//	                                       the order that it names. Until then PayU has to send it again
//	confirmation 6 and 104, rejected       the charge has ended
//	confirmation 5, expired                the charge has ended
//	confirmation 7, 10, 12, 14, 15, 18     irrelevant: still open
//	confirmation with any other state      kept for the operator, and counted
//	an order's REFUND, PARTIAL_REFUND,     booked when a query shows them (an order's VOID and CHARGEBACK: all of it).
//	VOID, CHARGEBACK                       No confirmation is known to tell of them (*unproved*): reconciliation
//	                                       finds them
//	the disputes webhook                   not read: no signature of it is documented, and disputes are of cards,
//	                                       which are not served. PayU's e-mails tell the operator
//
// There is no call for a dispute, so none can be queried.
//
// A refused transaction is a try, by its id, which the answer, the report and the confirmation have. On PayU's own page an order may have
// several, each with a confirmation (confirmation page, 42c09c2); orders that are made by call have one. There is no call that ends an
// order: what can still be paid ends with its expirationDate.
//
// Signatures: the order's is MD5 in each example of the payments API, in PayU's SDK for PHP (4.5.8) and in ActiveMerchant
// (ca45b1b). The payment form, and the page that checks a confirmation's, have SHA-1 and SHA-256 too (42c09c2), the newer
// page also HMAC-SHA256 with a secret key. So MD5 is the default for orders, and see signatures for confirmations.
// Which algorithm PayU uses for an account's confirmations, and whether it accepts an order's signature in each
// of them, is *unproved*. No call that is free shows it.
//
// Checked in PayU's documentation, in the repository
// developers-payu-latam/developers-payu-latam.github.io and its sources: the payments,
// queries and refunds APIs, the confirmation URL, the tables of states, response codes, types of transactions and
// documents, the methods by country. That expirationDate is in UTC
// follows from the examples' answers.
//
// An order's description is the purchase's title, and its language, es, pt or en, that of the e-mails that PayU sends to the shopper (payments
// API of each country and supported languages, 42c09c2; ActiveMerchant, ca45b1b, sends both, and dniType). No call has lines of a purchase, a number of the
// shop's beside referenceCode, which is ours, or the shop's name.
//
// Not documented, and so not checked: the answer to a query by an unused reference (we read
// SUCCESS without a payload as that; an ERROR proves nothing). The newer pages call the buyer's phone and document,
// addresses, a birth date (Mexico) and a device session (SPEI) mandatory. Phone and document are sent if the shop
// gave them, the document with its type where its form tells. Nothing is refused for want of them: ActiveMerchant
// sends orders without them, older examples too, so that PayU enforces them is *unproved*. Addresses, birth dates
// and device sessions are not sent, because we do not collect them.
package payulatam

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/work"
)

const (
	production = "https://api.payulatam.com"
	sandbox    = "https://sandbox.api.payulatam.com"

	settles  = 7 * time.Minute  // PayU's limit: before the first query of an order
	patience = time.Hour        // PayU's limit: between queries of a cash payment
	transfer = 10 * time.Minute // PayU's limit: between queries of others
	largest  = 999_999_999_999  // minor units: "12, 2"

	longestName = 150
)

// method is how PayU charges on a rail.
type method struct {
	name     string // paymentMethod
	country  string // paymentCountry
	currency money.Currency
	whole    bool // the amount cannot have decimals
}

// methods is by rail. Su Red collects at Gana too, and Farmacias del Ahorro is
// one of several chains that the voucher is good for.
var methods = map[string]method{
	"cash.rapipago.ARG":        {"RAPIPAGO", "AR", money.ARS, false},
	"cash.pagofacil.ARG":       {"PAGOFACIL", "AR", money.ARS, false},
	"cash.efecty.COL":          {"EFECTY", "CO", money.COP, true},
	"cash.gana.COL":            {"OTHERS_CASH", "CO", money.COP, true},
	"cash.sured.COL":           {"OTHERS_CASH", "CO", money.COP, true},
	"spei.MEX":                 {"SPEI", "MX", money.MXN, false},
	"cash.oxxo.MEX":            {"OXXO", "MX", money.MXN, false},
	"cash.7eleven.MEX":         {"SEVEN_ELEVEN", "MX", money.MXN, false},
	"cash.farmaciasahorro.MEX": {"OTHERS_CASH_MX", "MX", money.MXN, false},
	"cash.bbva.MEX":            {"BANK_REFERENCED", "MX", money.MXN, false},
	"cash.pagoefectivo.PER":    {"PAGOEFECTIVO", "PE", money.PEN, false},
}

// Adapter is the adapter for accounts at PayU Latam.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name: "payulatam",
		Declines: []provider.Codes{{Field: "responseCode, response_message_pol", Table: declines,
			Source: "PayU, response codes and variables (42c09c2), read on 2026-11-28"}},
		Fields: []provider.Field{
			{Name: "apiLogin", Doc: "PayU Module: Settings, Technical configuration, API Login"},
			{Name: "apiKey", Doc: "PayU Module: Settings, Technical configuration, API Key"},
			{Name: "merchantId", Public: true, Doc: "PayU Module: Merchant ID, in the upper right corner"},
			{Name: "accountIds", Public: true, Doc: "PayU Module: Settings, Accounts: the account of each country, as in \"CO=512321 MX=512324\""},
			{Name: "secretKey", Optional: true, Doc: "PayU Module: Settings, Technical configuration, the secret key of HMAC-SHA256 signatures, which are used if it is set"},
			{Name: "signature", Optional: true, Public: true, Doc: "How orders are signed: md5 (the default, as in PayU's own clients), sha1 or sha256. Of no use with a secretKey"},
		},
		Rails: provider.Rails(methods, "cash.efecty.COL"),
		Open:  open,
	}
}

// client is an account at PayU.
type client struct {
	base       string
	apiLogin   string
	apiKey     string
	merchantID string
	accounts   map[string]string          // by paymentCountry
	hash       func(text string) string   // signs an order
	confirms   []func(text string) string // may sign a confirmation
	account    provider.Account
	charging   work.Turns // one charge at a time under a reference
}

func open(a provider.Account) (provider.Provider, error) {
	c := &client{
		base: a.Base(sandbox, production), apiLogin: a.Credentials["apiLogin"], apiKey: a.Credentials["apiKey"],
		merchantID: a.Credentials["merchantId"], account: a,
	}
	for _, name := range []string{"apiLogin", "apiKey"} {
		value, err := a.Credential(name, 64)
		if err != nil {
			return nil, err
		}
		if len(value) < 6 || strings.Contains(value, "~") { // ~ joins the signed fields
			return nil, &provider.FieldError{Field: name, Reason: "it has to be 6 to 64 letters and digits"}
		}
	}
	if !number(c.merchantID) {
		return nil, &provider.FieldError{Field: "merchantId", Reason: "it has to be a number"}
	}
	var err error
	if c.accounts, err = parseAccounts(a.Credentials["accountIds"]); err != nil {
		return nil, &provider.FieldError{Field: "accountIds", Reason: err.Error()}
	}
	if c.hash, c.confirms, err = signatures(a.Credentials["signature"], a.Credentials["secretKey"]); err != nil {
		return nil, &provider.FieldError{Field: "signature", Reason: err.Error()}
	}
	return c, nil
}

func parseAccounts(text string) (map[string]string, error) {
	accounts := map[string]string{}
	for _, pair := range strings.Fields(text) {
		country, id, _ := strings.Cut(pair, "=")
		if !slices.Contains([]string{"AR", "CO", "MX", "PE"}, country) || !number(id) || accounts[country] != "" {
			return nil, fmt.Errorf("it has to be pairs of AR, CO, MX or PE and a number, as in \"CO=512321\"")
		}
		accounts[country] = id
	}
	if len(accounts) == 0 {
		return nil, fmt.Errorf("it needs the account of at least one country")
	}
	return accounts, nil
}

func number(text string) bool { return provider.Digits(text, 1, 20) }

// Charge makes an order, unless there is one under our reference.
func (c *client) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	m := methods[r.Rail]
	switch {
	case !c.Accepts(r.Rail, r.Local):
		return pay.Outcome{Kind: pay.Errored, Decline: "unsupported"}
	case provider.Words(r.Buyer.Name, longestName) == "", provider.Exact(r.Buyer.Email, 255) == "", provider.Exact(r.Buyer.IP, 39) == "":
		return pay.Outcome{Kind: pay.Errored, Decline: "buyer_incomplete"}
	}
	done, err := c.charging.Lock(ctx, r.Reference)
	if err != nil {
		return pay.Outcome{Kind: pay.Unavailable, Decline: "timeout"}
	}
	defer done()
	orders, failed := c.orders(ctx, r.Reference)
	if failed != nil { // this call ordered nothing
		return pay.Outcome{Kind: pay.Unavailable, Decline: failed.Decline}
	}
	if len(orders) > 0 {
		return c.standing(r, orders)
	}
	return c.submit(ctx, r, m)
}

// Accepts implements provider.Accepter.
func (c *client) Accepts(rail string, local money.Amount) bool {
	m, served := methods[rail]
	return served && c.accounts[m.country] != "" && local.Currency == m.currency &&
		local.Minor >= 1 && local.Minor <= largest && !(m.whole && local.Minor%100 != 0)
}

func (c *client) submit(ctx context.Context, r provider.Request, m method) pay.Outcome {
	var reply submitReply
	if failed := c.call(ctx, paymentsPath, c.order(r, m), &reply); failed != nil {
		return *failed
	}
	switch {
	case reply.refuses() != nil:
		return *reply.refuses()
	case reply.Code == "ERROR": // refused in this form; there is no order
		return pay.Outcome{Kind: pay.Errored, Decline: "refused"}
	case reply.Code != "SUCCESS" || reply.Response == nil:
		return provider.Unknown("broken_answer")
	}
	o := c.outcome(r, *reply.Response, reply.Response.Extra)
	o.ProviderRef = reply.Response.OrderID.String()
	if !number(o.ProviderRef) {
		return provider.Unknown("broken_answer")
	}
	return o
}

// Query reads the orders with our reference.
func (c *client) Query(ctx context.Context, r provider.Request) pay.Outcome {
	orders, failed := c.orders(ctx, r.Reference)
	if failed != nil {
		return provider.Unknown(failed.Decline)
	}
	if len(orders) > 0 {
		return c.standing(r, orders)
	}
	if shown := r.Sent.Add(settles); r.Now.Before(shown) {
		o := provider.Unknown("too_early")
		o.CheckAt = shown
		return o
	}
	return pay.Outcome{Kind: pay.Missing}
}

// Refunds implements provider.Refunder: payments in cash or by transfer cannot be refunded.
func (*client) Refunds(string) bool { return false }

// Refund always declines.
func (c *client) Refund(context.Context, provider.RefundRequest) pay.Outcome {
	return pay.Outcome{Kind: pay.Declined, Decline: "not_refundable", Message: "payments made with this method cannot be refunded"}
}

// QueryRefund returns Missing, because Refund never requests one.
func (c *client) QueryRefund(context.Context, provider.RefundRequest) pay.Outcome {
	return pay.Outcome{Kind: pay.Missing}
}

// Check lists the account's payment methods, which is free. It proves the API's login and
// key, not the merchant's number, accounts or signature: PayU looks at these in an order alone, and there is no
// order without effect.
func (c *client) Check(ctx context.Context) error {
	var reply struct {
		status
		Methods *[]any `json:"paymentMethods"`
	}
	failed := c.call(ctx, paymentsPath, request{Command: "GET_PAYMENT_METHODS"}, &reply)
	switch {
	case failed != nil && failed.Decline == fmt.Sprintf("http_%d", http.StatusUnauthorized):
		return fmt.Errorf("the API login or key is refused")
	case failed != nil:
		return fmt.Errorf("the provider does not answer: %s", failed.Decline)
	case reply.Code == "ERROR":
		return fmt.Errorf("the API login or key is refused")
	case reply.Code != "SUCCESS" || reply.Methods == nil:
		return fmt.Errorf("the provider's answer cannot be read: is the address its own?")
	}
	return nil
}
