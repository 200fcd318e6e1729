// Package dlocal charges (API 2.1) and pays out (Payouts v3) at dLocal: one contract for most
// of Latin America. It takes no card numbers.
//
// Where dLocal lets us show the code ourselves and the shopper's document is
// known, it does (flow DIRECT): Pix, boleto, SPEI, OXXO, Pago Fácil. Everything
// else is a page of dLocal's (flow REDIRECT): cards, so that no number passes
// through here, and vouchers that need more than our page can show (an Efecty
// agreement, a PagoEfectivo ticket).
//
// How a chargeback stands is asked under dLocal's id of it (docs: Chargebacks, retrieve
// a chargeback; reference: chargeback status).
//
// Checked against dLocal's documentation (docs.dlocal.com: security, payments,
// payment status codes, HTTP errors, orders, refunds, chargebacks, notifications
// and the pages of Argentina, Brazil, Chile, Colombia, Mexico and Peru; for what
// those excerpts cut off, the documentation's older sources on GitHub,
// fmazzoli-dlocal/documentation): headers and signature, the fields of payments,
// orders, refunds, tickets and bank transfers, every status and error code below,
// the method ids. Others saw in the sandbox that an address which does not exist
// answers 404 without a code (shhac/agent-dlocal): such a 404 proves nothing.
//
// Not checked, since only an account can tell:
//   - how long X-Idempotency-Key is remembered. A charge that comes after that
//     meets "order id is duplicated" (5009), and becomes a question;
//   - whether a payment that is read again still carries its ticket and a list of
//     its refunds. A refund's description is in its object (reference: The refund
//     object), order_refund_id in older sources alone; one that cannot be told apart
//     is Unknown, never missing, and whether it was made is for the idempotency key
//     to tell. The address of the search by order_refund_id is in none of the
//     excerpts, so it is not used;
//   - which fields a refund's notification has: "not all of them are necessarily
//     sent" (docs: Refunds). Where our reference or the amount is missing, the
//     refund is asked for;
//   - whether X-Date of a notification is of its first try or of this one: see
//     maxAge;
//   - the paths for ending a payment (the reference has "Cancel a cash payment";
//     its path is from a third party's OpenAPI file) and that it takes transfers;
//   - Servipag, Webpay, Abitab, Redpagos, Pago Express, Punto Pago, Clave and OCA:
//     in the older sources only.
//
// There is no field for when the shopper's time ends: what is left over is
// canceled by us.
//
// # Payouts
//
// A payout is one call, POST /payouts/v3. Our reference is its external_id, which dLocal takes
// once: a second call is refused with 5011 and becomes a question, never a rejection. The
// credentials are a client's of OAuth and not those of the charges. A token lives 180 seconds;
// all calls of an account share it, and one of them at a time renews it, 30 seconds early.
//
//   - Only the first call under a reference proves something by its refusal. 401, 403, 429, 5014
//     (no funds) and other reasons of the account hand the payout on; 5012, 5013 and 5015 are the
//     beneficiary's. 5011, everything from 7000 on, and what has no code of dLocal's prove
//     nothing.
//   - DELIVERED is on its way. PAID and REJECTED end a payout; why one is REJECTED is told in
//     words that are not documented. CANCELLED is a person's decision in the dashboard, so no
//     other account pays it.
//   - 5009 to a question proves absence, five minutes after the last call.
//   - Notifications: their signature is not documented, so the payout is asked about.
//   - A document tells whether its holder is a person (B2C) or a company (B2B): dLocal wants to
//     know. How they differ is each country's tax office's rule, not a page of dLocal's. What a
//     payout is for is agreed with dLocal, so the operator says it (purpose).
//   - Pix goes to keys that are a CPF, as in dLocal's example, or a CNPJ; how the page of Brazil
//     writes other keys is cut off.
//   - Colombia, Costa Rica and Peru need the holder's street (and Colombia a comment), which our
//     wallets do not have. Paraguay's documents do not tell CI and RUC apart; Guatemala's form of
//     accounts, and the other countries' pages, could not be read.
//
// Checked, in stored copies of which most show a page's beginning alone, in
// docs.dlocal.com/reference: security-payouts-v3 (the token), get-payout-v3 (the
// question by external_id, up to 100 characters), payout-status-v3, error-codes-payouts-v3,
// notification-parameters-payouts-v3 (the payout object), environments-payouts-v3 (a Pix payout
// in full); in /docs: the pages argentina-, brazil-, chile-, mexico- and uruguay-payouts-v3
// (mandatory fields, decimals, documents), mexico-payouts (codes of banks).
//
// Only an account can tell:
//   - that POST has the address of the question, which third parties say too; the address of the
//     balance, which is third parties' alone; whether a header X-Version is wanted, as third
//     parties send it;
//   - what a refused call does with its external_id, and for how long one is remembered: a
//     payout that was refused is sent again under another reference;
//   - whether PAID may change. No status and no page tells of a return: should a paid payout be
//     REJECTED later, the operator is told that it does not fit;
//   - CHECKING for an account's type (SAVINGS is shown); in which form codes of Chile's and
//     Uruguay's banks are taken (016 or 16); whether a company's Pix has other mandatory
//     fields; the full list of purposes;
//   - whether amount_to_pay is what arrives: it is read so, and before the amount of the order;
//   - what a report of payouts has: the dashboard's list is described, no file is.
package dlocal

import (
	"context"
	"errors"
	"net/http"

	"github.com/cascadapay/cascada/internal/provider"
)

const (
	production = "https://api.dlocal.com"
	sandbox    = "https://sandbox.dlocal.com"
)

// method is how dLocal knows a rail.
type method struct {
	id      string // payment_method_id
	country string // alpha-2
	direct  bool   // our page shows what the shopper needs
}

// methods are the rails that dLocal's documentation has an id for. A card rail of
// one brand is asked for by that brand's id, all others by CARD.
var methods = map[string]method{
	"pix.BRA":                {"PQ", "BR", true},
	"boleto.BRA":             {"BL", "BR", true},
	"card.BRA":               {"CARD", "BR", false},
	"card.elo.BRA":           {"EL", "BR", false},
	"card.hipercard.BRA":     {"HI", "BR", false},
	"spei.MEX":               {"SE", "MX", true},
	"cash.oxxo.MEX":          {"OX", "MX", true},
	"bank.codi.MEX":          {"CQ", "MX", false},
	"wallet.mercadopago.MEX": {"MP", "MX", false},
	"card.MEX":               {"CARD", "MX", false},
	"bank.pse.COL":           {"PC", "CO", false},
	"bank.bancolombia.COL":   {"BN", "CO", false},
	"cash.efecty.COL":        {"EY", "CO", false},
	"card.COL":               {"CARD", "CO", false},
	"card.codensa.COL":       {"CZ", "CO", false},
	"cash.rapipago.ARG":      {"RP", "AR", false},
	"cash.pagofacil.ARG":     {"PF", "AR", true},
	"card.ARG":               {"CARD", "AR", false},
	"card.naranja.ARG":       {"NJ", "AR", false},
	"card.cabal.ARG":         {"CL", "AR", false},
	"cash.servipag.CHL":      {"SP", "CL", false},
	"card.webpay.CHL":        {"WP", "CL", false},
	"card.CHL":               {"CARD", "CL", false},
	"bank.bcp.PER":           {"BC", "PE", false},
	"cash.pagoefectivo.PER":  {"EF", "PE", false},
	"card.PER":               {"CARD", "PE", false},
	"cash.abitab.URY":        {"AI", "UY", false},
	"cash.redpagos.URY":      {"RE", "UY", false},
	"card.URY":               {"CARD", "UY", false},
	"card.oca.URY":           {"OA", "UY", false},
	"cash.pagoexpress.PRY":   {"PE", "PY", false},
	"card.PRY":               {"CARD", "PY", false},
	"cash.puntopago.PAN":     {"PV", "PA", false},
	"card.PAN":               {"CARD", "PA", false},
	"card.clave.PAN":         {"CV", "PA", false},
	"card.BOL":               {"CARD", "BO", false},
	"card.CRI":               {"CARD", "CR", false},
	"card.DOM":               {"CARD", "DO", false},
	"card.ECU":               {"CARD", "EC", false},
	"card.GTM":               {"CARD", "GT", false},
}

// Adapter is dLocal.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name: "dlocal",
		Fields: []provider.Field{
			{Name: "login", Doc: "Merchant Dashboard, Settings, Integration: X-Login", Public: true},
			{Name: "transKey", Doc: "Merchant Dashboard, Settings, Integration: X-Trans-Key"},
			{Name: "secretKey", Doc: "Merchant Dashboard, Settings, Integration: the secret key, which signs"},
		},
		Rails: provider.Rails(methods, "pix.BRA"),
		Open:  open,
	}
}

// account is a merchant's account.
type account struct {
	provider.Account
	base                    string
	login, transKey, secret string
}

func open(a provider.Account) (provider.Provider, error) {
	for _, name := range []string{"login", "transKey", "secretKey"} {
		if _, err := a.Credential(name, 4096); err != nil { // they go into headers
			return nil, err
		}
	}
	return &account{
		Account: a, base: a.Base(sandbox, production),
		login: a.Credentials["login"], transKey: a.Credentials["transKey"], secret: a.Credentials["secretKey"],
	}, nil
}

// Check asks for the methods of a country, which every account may.
func (a *account) Check(ctx context.Context) error {
	reply, failed := a.call(ctx, http.MethodGet, "/payments-methods?country=BR", "", nil)
	if failed != nil {
		return errors.New("there is no answer: " + failed.Decline)
	}
	var list []struct {
		ID string `json:"id"`
	}
	switch {
	case reply.Status == http.StatusForbidden:
		return errors.New("login or trans key are not known, or this server's address is not on the account's list")
	case reply.Status == http.StatusBadRequest:
		return errors.New("the request was refused: the secret key may be another account's")
	case !reply.read(&list):
		return errors.New("the answer is not the list of methods that was asked for")
	}
	return nil
}
