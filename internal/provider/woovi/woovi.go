// Package woovi charges and pays out with PIX at Woovi, which is also OpenPix.
//
// A charge is identified only by our reference: it is the correlationID, which is Woovi's
// idempotency key (with return_existing the same call returns the existing charge). A
// refund has a correlationID of its own under the charge's. Amounts are whole centavos.
//
// Woovi signs the notifications for all of its customers with one key. So the signature
// proves who sent a notification, but not whose charge it is about: another customer could
// make a charge under our reference and have it reported to our address. So we do not trust
// the body, but query our own account. That goes for refunds too
// (PIX_TRANSACTION_REFUND_SENT_*, and the older TRANSACTION_REFUND_RECEIVED): an event has
// the bank's numbers of the refund and of the payment, and the charge's own list of refunds
// says which of ours it is.
//
// # Money
//
// By the documentation a charge has a fixed value and is paid once (docs/charge/charge.md). What was
// really paid is in the charge's transactions (GET /api/v1/transaction?charge=…): a giftback takes a
// part off the price. The first payment's id is our reference, and that of any other the bank's
// number, so that each is booked once. If the AppID may not list transactions, valueWithDiscount
// counts, if discount or giftbackAppliedValue explains it. The money of an expired charge counts too.
// While the list does not answer, nothing is certain, and Woovi has to send its notification again. If
// the answer is not as documented, so it is for an expired charge and for notifications; a query takes
// what a completed one says of itself.
//
// A charge stays COMPLETED when it is refunded. So a query of a paid one reads its refunds
// too; one without our correlationID was made in Woovi's panel. That the list has those of the panel, and that
// their events come, is *unproved*. Without that list a paid charge counts as paid. The list of the
// documentation has numbers with E where the events have D, so a refund's event reports all refunds
// of its charge that have ended.
//
// # What Woovi is told
//
// A charge's comment is in the payer's bank (infoPagador) and has the purchase's title, its additional information the order's number (woovi.json;
// docs/charge/how-charge-additional-info.mdx, 2026-08-20; Woovi's plugin for WooCommerce, 3c33890, 2026-04-08, cuts a comment to 140 characters, as the
// Banco Central does). The lengths of additional information, 50 and 200 characters, are the Banco Central's. Whether a taxID may be a CNPJ with letters
// is in no page, so it is not sent; then the shopper is known by e-mail or telephone. No field has lines of a purchase, a language, the
// shopper's address, or whether the shopper is a company.
//
// # Disputes
//
// A dispute is identified by the bank's number of its transaction, by which it is read (GET
// /api/v1/dispute/{endToEndId}; woovi.json, docs/disputa/dispute-get-payload.mdx, 2026-08-20): its
// type is MED or CHARGEBACK (or DISPUTE, in one list), its status CREATED, ACCEPTED, REJECTED or
// CANCELED. Events and other examples also have OPENED and IN_REVIEW. A MED has no value, so it is of
// all that is left. The account's own answer counts, and the event's if there is none: the AppID may
// lack the scope. No page has a deadline for evidence.
//
// Evidence (POST /api/v1/dispute/:id/evidence; woovi.json, docs/disputa/how-add-new-evidence-in-evidence.md) goes to the
// dispute's own id, which GET shows; a chargeback without one there is the operator's. Woovi takes links, and by that page it
// fetches each file at once and stores a copy, whose address is in the answer under our correlationID. No page says what a repeated
// correlationID does, which types a link may have (the upload's, PDF, PNG and JPEG, are sent), how long a description may be, and
// nothing lists the documents of a dispute: so a repeated call may leave a document twice, which harms nothing; *unproved*. Since August 2026 files can be uploaded
// too (docs/arquivos/upload-de-arquivo.md, 32da44b), on accounts with a feature of their own; links work on all.
//
// Checked in the repositories woovibr/woovi-developers (OpenAPI document
// src/swaggers/woovi.json; docs/concepts, docs/refund, docs/webhook; the state diagrams in
// src/components/Playground) and orce-me/woovi-go-sdk: paths, fields, states, events, both
// signatures. The published key and the signed example of the documentation are in the
// tests.
//
// Absence: no page has the sentence of GET /charge/{id} for a charge that does not exist.
// woovi.json has "Charge not found" elsewhere, and only this sentence is taken for it. After any
// other one, the list of all charges proves absence, five minutes after the call.
//
// Not documented, and so not checked: how soon a list has a new charge; the answer to a repeated
// correlationID of a refund (we search before we report a refusal); whether a charge that
// is paid while we delete it is kept, so Cancel queries first; MED cases that have no
// DISPUTE event; whether the list of a charge's transactions has its refunds.
//
// # Payouts
//
// A payout is two calls: POST /api/v1/payment orders it, and POST /api/v1/payment/approve
// sends the money. Our reference is the correlationID, the idempotency key of the order: a
// second order is refused with 400, and then the existing payment is continued. While it is
// CREATED it is approved by Send, or by a Query a minute after the last Send, because we
// ordered the payout and the core sends again only if it is proven absent. It is approved
// only if amount and Pix key are as we ordered. Under provider.Looking nothing is approved.
//
//   - Insufficient funds: the payment stays, and a person may approve it at any time. So
//     the payout is accepted, never unavailable, and the next query tries the approval
//     again.
//   - Absence: the answer for a missing payment is not documented, so only the list of all
//     payments of that time proves it, five minutes after the last Send.
//   - FAILED is final, so each reason proves that nothing was paid. DENIED and REJECTED are
//     named but not explained: without a reason they prove nothing, and the payout is unknown.
//   - MOVEMENT_* events are signed with the key for all customers, so the payment is
//     queried. MOVEMENT_REMOVED counts if webhookSecrets prove that the event comes from
//     our own webhook and the payment is gone: a person decided against it, and only a
//     payment without approval can be removed. So the payout is rejected, and no other
//     account pays it. Otherwise a payment that has disappeared is unknown, and the
//     operator decides.
//   - A payment that came back stays CONFIRMED. PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED
//     reports the return with the bank's number of the payment (endToEndId), which we
//     therefore keep as the provider's reference. The return has to be among the account's
//     own transactions. It may be a part.
//
// Checked in woovibr/woovi-developers: src/swaggers/woovi.json (paths, fields, CREATED,
// FAILED, CONFIRMED, DENIED), docs/payment/payment-idempotency.md (the refused repetition),
// payment-state-machine.md (what is final), payment-how-to-list.md (spans, pages,
// APPROVED), payment-how-to-use-api-to-approve-a-payment.md (no balance),
// payment-how-to-remove.md, payment-failed-errors.md, docs/flows/error-codes-payment.md
// (reasons), docs/webhook/examples/payment-payload.mdx and refund-received-*.mdx (events).
//
// Only a real account can show: the answer to a second approval (for boletos it is a 400, by
// docs/boleto/boleto-out-api.md; we make none on purpose); the answer for a payment that does not
// exist, or was removed, and whether lists show removed ones; how soon a list has a new payment; the
// largest skip; in which words an order to a wrong Pix key is refused; how an answer writes Pix keys;
// whether a return is found under its own number (GET /api/v1/transaction/{endToEndId}); whether CNPJ
// with letters are accepted (such a key is refused here, before the call).
package woovi

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

const (
	production = "https://api.woovi.com"
	sandbox    = "https://api.woovi-sandbox.com"

	brl     = money.BRL
	largest = 1<<53 - 1 // the largest exact number in JavaScript

	shortestLife = 5 * time.Minute // of a charge
	longestNote  = 140             // letters of a comment
	longestInfo  = 200             // letters of the value of additional information
)

// publishedKey is the key with which Woovi signs notifications, from its documentation. It
// is short (1024 bits), one more reason to query.
const publishedKey = `-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC/+NtIkjzevvqD+I3MMv3bLXDt
pvxBjY4BsRrSdca3rtAwMcRYYvxSnd7jagVLpctMiOxQO8ieUCKLSWHpsMAjO/zZ
WMKbqoG8MNpi/u3fp6zz0mcHCOSqYsPUUG19buW8bis5ZZ2IZgBObWSpTvJ0cnj6
HKBAA82Jln+lGwS1MwIDAQAB
-----END PUBLIC KEY-----
`

// Adapter is the adapter for accounts at Woovi that take payments.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name: "woovi",
		Fields: []provider.Field{
			{Name: "appId", Doc: "Panel: API/Plugins, an API application, AppID. It needs the scopes CHARGE_POST, CHARGE_GET, CHARGE_GET_LIST, CHARGE_DELETE, CHARGE_REFUND_POST, CHARGE_REFUND_GET_LIST, TRANSACTION_GET, TRANSACTION_GET_LIST, DISPUTE_GET and, for evidence, DISPUTE_POST. In the same place, webhooks for CHARGE_COMPLETED, CHARGE_EXPIRED, TRANSACTION_RECEIVED, PIX_TRANSACTION_REFUND_SENT_* and DISPUTE_* go to the account's notification URL"},
			{Name: "webhookSecrets", Optional: true, Doc: "Panel: API/Plugins, the webhooks, HMAC Secret Key of each, separated by spaces. If set, a notification needs that signature too"},
			{Name: "publicKey", Optional: true, Public: true, Doc: "GET /api/v1/webhook/public-keys: the keys that sign notifications (PEM, one after the other, or the Base64 of it). By default, the key from the documentation"},
		},
		Rails: []string{"pix.BRA"},
		Open:  open,
	}
}

// client is an account.
type client struct {
	base    string
	appID   string
	keys    []*rsa.PublicKey
	secrets [][]byte
	account provider.Account
}

func open(a provider.Account) (provider.Provider, error) {
	c, err := newClient(a)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func newClient(a provider.Account) (*client, error) {
	appID, err := a.Credential("appId", 1024)
	if err != nil {
		return nil, err
	}
	published := a.Credentials["publicKey"]
	if published == "" {
		published = publishedKey
	}
	keys, err := parseKeys(published)
	if err != nil {
		return nil, &provider.FieldError{Field: "publicKey", Reason: err.Error()}
	}
	c := &client{base: a.Base(sandbox, production), appID: appID, keys: keys, account: a}
	for _, secret := range strings.Fields(a.Credentials["webhookSecrets"]) {
		c.secrets = append(c.secrets, []byte(secret))
	}
	return c, nil
}

// parseKeys reads public keys, in PEM or in the Base64 of it; the documentation shows both.
// There are two keys while Woovi replaces one.
func parseKeys(text string) ([]*rsa.PublicKey, error) {
	rest := []byte(strings.TrimSpace(text))
	if decoded, err := base64.StdEncoding.DecodeString(string(rest)); err == nil {
		rest = decoded
	}
	var keys []*rsa.PublicKey
	for len(keys) < 8 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("one of the keys cannot be read")
		}
		key, ok := parsed.(*rsa.PublicKey)
		if !ok {
			return nil, fmt.Errorf("one of the keys is not an RSA key")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("it has to be a public key in PEM")
	}
	return keys, nil
}

// Accepts implements provider.Accepter.
func (c *client) Accepts(rail string, local money.Amount) bool {
	return rail == "pix.BRA" && local.Currency == brl && local.Minor >= 1 && local.Minor <= largest
}

// Charge makes the charge, or finds the existing one.
func (c *client) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	if !c.Accepts(r.Rail, r.Local) {
		return pay.Outcome{Kind: pay.Errored, Decline: "unsupported"}
	}
	life := max(r.Expires.Sub(r.Now), shortestLife)
	answer, failed := c.call(ctx, http.MethodPost, "/api/v1/charge?return_existing=true", chargeRequest{
		CorrelationID: r.Reference, Value: r.Local.Minor, Type: "DYNAMIC",
		ExpiresIn: int64(life / time.Second), Customer: customer(r), Comment: r.Title(longestNote), Info: moreInfo(r),
	})
	if failed != nil {
		return *failed
	}
	if answer.Status == http.StatusBadRequest {
		// Refused, or a parallel call was faster.
		if o := c.Query(ctx, r); o.Kind != pay.Missing {
			return o
		}
		return pay.Outcome{Kind: pay.Errored, Decline: "http_400"}
	}
	if !good(answer) {
		return provider.Refused(answer.Status)
	}
	o, _ := c.paid(ctx, r.Reference, c.outcome(r, answer))
	return o
}

// Query reads the charge by our reference.
func (c *client) Query(ctx context.Context, r provider.Request) pay.Outcome {
	o, _ := c.read(ctx, r)
	return o
}

// read reads the charge by our reference. A charge that existed and is gone was deleted, and can no
// longer be paid. why its payments are not listed, if they are not, see paid.
func (c *client) read(ctx context.Context, r provider.Request) (o pay.Outcome, why unlisted) {
	answer, failed := c.call(ctx, http.MethodGet, "/api/v1/charge/"+escape(r.Reference), nil)
	if failed != nil {
		return provider.Unknown(failed.Decline), ""
	}
	switch {
	case good(answer):
		o, why = c.paid(ctx, r.Reference, c.outcome(r, answer))
		return c.reversed(ctx, r.Reference, o), why
	case c.says(answer, noCharge):
		return none(r), ""
	case answer.Status == http.StatusBadRequest:
		return c.listed(ctx, r), ""
	}
	return provider.Unknown(provider.Refused(answer.Status).Decline), ""
}

// none is the outcome of a charge that does not exist.
func none(r provider.Request) pay.Outcome {
	if r.ProviderRef != "" {
		return pay.Outcome{Kind: pay.Lapsed, ProviderRef: r.ProviderRef}
	}
	return pay.Outcome{Kind: pay.Missing}
}

// listed is the outcome of a query that got an error of unknown meaning: there is no charge if the
// list of all charges since the call does not have it.
func (c *client) listed(ctx context.Context, r provider.Request) pay.Outcome {
	if r.Sent.IsZero() { // of a notification
		return provider.Unknown("http_400")
	}
	// The request uses the merchant's clock, the charge Woovi's.
	now := c.account.Now()
	from := now.Add(-max(r.Now.Sub(r.Sent), 0) - before)
	switch c.find(ctx, "/api/v1/charge", from, now.Add(after), func(body []byte) (has, more, ok bool) {
		var list struct {
			Charges  *[]chargeReply `json:"charges"`
			PageInfo pageInfo       `json:"pageInfo"`
		}
		if json.Unmarshal(body, &list) != nil || list.Charges == nil || list.PageInfo.HasNextPage == nil {
			return false, false, false
		}
		has = slices.ContainsFunc(*list.Charges, func(found chargeReply) bool { return found.CorrelationID == r.Reference })
		return has, *list.PageInfo.HasNextPage, true
	}) {
	case there:
		return provider.Unknown("http_400")
	case unsure:
		return provider.Unknown("not_listed")
	}
	if shown := r.Sent.Add(settles); r.Now.Before(shown) {
		o := provider.Unknown("too_early")
		o.CheckAt = shown
		return o
	}
	return none(r)
}

// Cancel deletes an unpaid charge.
func (c *client) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	o := c.Query(ctx, r)
	switch o.Kind {
	case pay.Missing:
		return pay.Outcome{Kind: pay.Lapsed}
	case pay.Awaiting:
	default:
		return o
	}
	answer, failed := c.call(ctx, http.MethodDelete, "/api/v1/charge/"+escape(r.Reference), nil)
	if failed != nil {
		return provider.Unknown(failed.Decline)
	}
	if good(answer) || c.says(answer, noCharge) {
		return pay.Outcome{Kind: pay.Lapsed, ProviderRef: o.ProviderRef}
	}
	// Refused: the shopper may have been faster.
	switch o = c.Query(ctx, r); {
	case o.Kind != pay.Awaiting:
		return o
	case provider.Refused(answer.Status).Kind == pay.Errored:
		return provider.RefusedCancel(o)
	}
	return provider.Unknown("not_canceled")
}

// Check lists one charge, which is free.
func (c *client) Check(ctx context.Context) error {
	answer, failed := c.call(ctx, http.MethodGet, "/api/v1/charge?skip=0&limit=1", nil)
	var list struct {
		Charges *[]chargeReply `json:"charges"`
	}
	switch {
	case failed != nil:
		return fmt.Errorf("the provider does not answer: %s", failed.Decline)
	case answer.Status == http.StatusUnauthorized, answer.Status == http.StatusForbidden:
		return fmt.Errorf("the AppID is refused, or lacks the scope CHARGE_GET_LIST (status %d)", answer.Status)
	case !good(answer):
		return fmt.Errorf("the provider answers with status %d", answer.Status)
	case json.Unmarshal(answer.Body, &list) != nil || list.Charges == nil:
		return fmt.Errorf("the provider's answer cannot be read: is the address its own?")
	}
	return nil
}

// outcome is the outcome of an answer about a charge.
func (c *client) outcome(r provider.Request, answer provider.Reply) pay.Outcome {
	var reply struct {
		Charge chargeReply `json:"charge"`
	}
	if json.Unmarshal(answer.Body, &reply) != nil || reply.Charge.CorrelationID != r.Reference {
		return provider.Unknown("broken_answer")
	}
	charge := reply.Charge
	o := pay.Outcome{ProviderRef: charge.ref(), FormURL: r.PageURL}
	switch charge.Status {
	case "ACTIVE":
		o.Data.QRCode = provider.Exact(charge.BRCode, 1024)
		if o.Data.QRCode == "" {
			return provider.Unknown("broken_answer")
		}
		o.Kind = pay.Awaiting
	case "COMPLETED":
		worth, ok := charge.worth()
		if !ok {
			return provider.Unknown("broken_answer")
		}
		o.Kind, o.Local, o.MoneyRef = pay.Approved, worth, charge.CorrelationID
	case "EXPIRED":
		o.Kind = pay.Lapsed
	default:
		c.account.Strange("charge", charge.Status)
		o.Kind, o.Decline = pay.Unknown, unmapped
	}
	return o
}
