// Package dlocal charges (API 2.1) and pays out (Payouts v3) at dLocal: one contract for
// most of Latin America. It takes no card numbers.
//
// If dLocal lets us show the code and we know the shopper's document, our page shows it
// (flow DIRECT): Pix, boleto, SPEI, OXXO, Pago Fácil. Everything else is on dLocal's page
// (flow REDIRECT): cards, so that no card number passes through here, and vouchers that
// need more than our page can show (an Efecty agreement, a PagoEfectivo ticket).
//
// Checked against dLocal's documentation (docs.dlocal.com: security, payments, payment
// status codes, HTTP errors, orders, refunds, chargebacks, notifications and the pages of
// Argentina, Brazil, Chile, Colombia, Mexico and Peru; for what those excerpts cut off, the
// documentation's older sources on GitHub, fmazzoli-dlocal/documentation): headers and
// signature, the fields of payments, orders, refunds, tickets and bank transfers, every
// status and error code below, the method ids. In the sandbox, others saw an unknown
// address answer 404 without a code (shhac/agent-dlocal), so such a 404 proves nothing.
//
// What a refused refund proves follows dLocal's table (reference: Refunds HTTP Errors; older
// sources: refunds.md; both read on 2026-11-28). Only a documented code beside status 400 or 404
// is a refusal. 5010 is a time-out in the older sources, and in the newer ones a time-out (504) or
// a method that is not available (400). So it proves nothing, of a charge either, and neither does
// 5021. 5011 says that our reference was used: the refund exists. A refund that was called is
// missing if the payment's list does not have it five minutes after the last call; how soon the
// list shows it is *unproved*. No page names a rail without refunds: where the shopper has no card, dLocal asks for an
// account by e-mail.
//
// A wrong secret key was seen in the sandbox as 400 with code 5000 and "Signature not match"
// (shhac/agent-dlocal, b678255). dLocal's table has 5000 for any invalid request, and 403 for wrong
// credentials, so we read the message; what production says is *unproved*.
//
// Not checked, because only an account can show it:
//   - how long dLocal remembers an X-Idempotency-Key. A charge after that gets "order id is
//     duplicated" (5009), and becomes a query;
//   - whether a payment that is read again still carries its ticket and a list of its
//     refunds. A refund's description is in its object (reference: The refund object),
//     order_refund_id in older sources alone; a refund without such a name is Unknown,
//     never Missing, and we rely on the idempotency key. The address of the search by
//     order_refund_id is in none of the excerpts, so it is not used;
//   - which fields a refund's notification has: "not all of them are necessarily sent"
//     (docs: Refunds). If our reference or the amount is missing, we query the refund;
//   - whether a notification's X-Date is the time of its first try or of this one: see
//     maxAge;
//   - the paths for ending a payment (the reference has "Cancel a cash payment"; its path
//     is from a third party's OpenAPI file) and that it takes transfers;
//   - Pago Express: in the older sources only (until 2021). The page of Paraguay has Practipago (PH) instead, and
//     whether that is the same network is *unproved*.
//
// Two sources for each of these rails, read on 2026-11-28. "Page" is the country's page in docs.dlocal.com with its
// date, "2021" the older sources' branch v2.1 (5a60efb):
//
//	bank.khipu.CHL          IO   page of 2026-10-19, 2021
//	cash.bancopopular.DOM   ZP   page of 2026-03-03, 2021
//	wallet.nequi.COL        QP   page of 2026-09-23 names the method, its older copies the id; Gr4vy, Nequi via dLocal:
//	                             a redirect, pesos, refunds in full and in parts, no void
//	wallet.mercadopago.CHL  MP   page of 2026-10-19; Primer, Mercado Pago via dLocal: refunds in full and in parts, no cancel
//	wallet.mercadopago.BRA  MP   2021; Primer
//	card.SLV, card.HND      CARD pages, in copies without a date; Yuno, dLocal Checkout Redirect
//
// Chile requires a RUT and Colombia a document, which dLocal's page asks for if we have none; the Dominican Republic
// requires none. Amounts have no decimals in Chile and Colombia, and two in the others. That Khipu and Banco
// Popular are refunded is in no page that could be read: a refusal is told as for any rail.
//
// Left out, because only dLocal's own page has them: Yape (YP), Sencillito (SK), Infonet (IF), Wepa (WB), Zimple (ZM),
// Tigo Money (TO) and Billetera Personal (ZX) in Paraguay, PayCash (CY) in Panama, Puntoxpress and Tengo (PU), QR and
// Multipago in Bolivia (CY is two networks there), Deuna, MODO, Bre-B and SINPE, whose ids were cut off. Baloto (BU) is in
// the sources of 2021 and no longer on the page.
//
// There is no field for the end of the shopper's time: we cancel unpaid payments ourselves.
//
// A page has one try: its address works once "by default" (docs: Checkout redirect), and after it the payment is PAID or REJECTED
// (there, and Yuno, dLocal Checkout Redirect; both read on 2026-11-28). So a rejection ends the page, and proves that it takes no
// money any more; a page on which nobody was refused cannot be ended if it is for a card. What an account with another setting
// says after a rejection is *unproved*: money that comes then is late money. A rejection has no time of its own. The service
// that retries a rejected payment (docs: Payment retries) is another call, which we do not make.
//
// # Installments
//
// None are offered. A plan is made for the card's first digits and goes with the card in a DIRECT payment (docs: Installments; reference: the
// installment object; Yuno, dLocal Cards: who bears the interest is the account's setting; read on 2026-11-28), and we never see a
// card. No page that could be read has a field for dLocal's own page; whether an account's page offers some by itself is
// *unproved*. If a payment says how many the shopper chose (the card object, 5a60efb), that is told.
//
// # What dLocal is told
//
// The payer object (reference, updated 2026-03-03) has lengths, and asks for a document as its country has it (country reference,
// 2026-06-24): digits in Brazil, so a CNPJ with letters is not sent, and dLocal's page asks for one. user_reference is "required for
// fraud prevention": it is our own name of the shopper, which says nothing else. The basket is in the page of risk data (2026-07-27), its
// items in the older sources (5a60efb, 2021-10-12); that unit_price is in the payment's currency follows from their example. description has no
// length there; in the sandbox a status code in it is played (payments, 5a60efb). The descriptor and the device belong to cards and to sessions
// that we do not have; no field has the language, and order_id is ours.
//
// # What moves money without us
//
// dLocal repeats a notification every hour, six times, and then every twelve hours for four days. All
// that it reports, and what becomes of it:
//
//	payment     PAID                             booked
//	            REJECTED, CANCELLED, EXPIRED     the charge ends; if it was paid: the operator's task
//	            PENDING, AUTHORIZED, VERIFIED    nothing new: no money moved
//	refund      SUCCESS, PENDING                 booked: of our claim, or (made in dLocal's panel) as money that goes back
//	            REJECTED, CANCELLED              the claim is refused; money that was to go back comes back
//	chargeback  PENDING, COMPLETED, SUCCESS      a dispute: announced or executed, the merchant may answer
//	            DISPUTE_RECEIVED, IN_DISPUTE     a dispute that waits for the bank
//	            REVERSAL                         the dispute is won
//	            DISPUTE_LOST                     the dispute is lost
//	            CANCELLED                        the dispute is withdrawn
//	            INQUIRY                          the operator's task: the bank asks for documents
//	any         another status                   the operator's task
//
// Sources, read on 2026-11-28: docs.dlocal.com, reference: chargeback status, refund status codes (updated
// 2026-09-17), receive notifications (2026-07-24); docs: Chargebacks (2026-07-27); for SUCCESS of a chargeback,
// fmazzoli-dlocal/documentation 62930f3. Refunds and chargebacks look alike: our reference, the id's prefix
// (REF, CHAR), a reason or a status tells them apart; otherwise dLocal is asked for a refund with this id.
//
// Chargebacks are notified at an address of their own, in dLocal's dashboard, and queried by dLocal's id.
// The example of the query's answer names no payment, so the id alone may prove it. The answer's deadline is in
// no field, so our own applies; the values of chargeback_stage, and what a second stage looks like, are
// *unproved*. So is that a refund made in the panel is notified and in the payment's list.
//
// # Payouts
//
// A payout is one call, POST /payouts/v3. Our reference is its external_id, which dLocal
// accepts once: a second call is refused with 5011 and becomes a query, never a rejection.
// The credentials are those of an OAuth client, not those for charges. A token lives 180
// seconds; all calls of an account share it, and one of them at a time renews it, 30
// seconds early.
//
//   - A refusal proves something only for the first call under a reference. 401, 403, 429,
//     5014 (no funds) and other reasons of the account pass the payout to another account;
//     5012, 5013 and 5015 lie with the beneficiary. 5011, all codes from 7000 on, and
//     answers without a code prove nothing.
//   - DELIVERED is on its way. PAID and REJECTED end a payout; the reasons for REJECTED are
//     not documented. CANCELLED is a person's decision in the dashboard, so no other
//     account pays it.
//   - 5009 in answer to a query proves absence, five minutes after the last call.
//   - Notifications: their signature is not documented, so the payout is queried.
//   - A document shows whether its holder is a person (B2C) or a company (B2B), which
//     dLocal requires. The difference follows each country's tax office, not a page of
//     dLocal's. The purpose of payouts is agreed with dLocal, so the operator sets it
//     (purpose).
//   - In the sandbox a payout ends as its description says (reference: Environments, Payouts v3,
//     updated 2026-11-02), so ours are told to be paid. The status of its failures, BAD_REQUEST, is of the
//     sandbox alone: such a payout stays unknown.
//   - Pix goes to keys that are a CPF, as in dLocal's example, or a CNPJ of digits, as its page for Brazil has it
//     (read on 2026-11-28). One with letters is refused before the call. How that page writes other
//     keys is cut off.
//   - Colombia, Costa Rica and Peru need the holder's street (and Colombia a comment),
//     which our wallets do not have. Paraguay's documents do not tell CI and RUC apart;
//     Guatemala's form of accounts, and the other countries' pages, could not be read.
//
// Checked, in stored copies that mostly show only the beginning of a page, in
// docs.dlocal.com/reference: security-payouts-v3 (the token), get-payout-v3 (the query by
// external_id, up to 100 characters), payout-status-v3, error-codes-payouts-v3,
// notification-parameters-payouts-v3 (the payout object), environments-payouts-v3 (a Pix
// payout in full); in /docs: the pages argentina-, brazil-, chile-, mexico- and
// uruguay-payouts-v3 (mandatory fields, decimals, documents), mexico-payouts (codes of
// banks).
//
// Only an account can show:
//   - whether POST has the address of the query, as third parties say too; the address of
//     the balance, known only from third parties; whether the header X-Version is required,
//     as third parties send it;
//   - what a refused call does with its external_id, and for how long dLocal remembers one:
//     a payout that was refused is sent again under another reference;
//   - whether PAID may change. No status and no page mentions returns: if a paid payout is
//     REJECTED later, it is reported to the operator as contradictory;
//   - CHECKING for an account's type (SAVINGS is shown); in which form codes of Chile's and
//     Uruguay's banks are taken (016 or 16); whether a company's Pix has other mandatory
//     fields; the full list of purposes;
//   - whether amount_to_pay is what arrives: we read it so, in preference to the order's
//     amount;
//   - what a report of payouts contains: the documents describe the dashboard's list, but
//     no file.
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

// method is dLocal's name for a rail.
type method struct {
	id      string // payment_method_id
	country string // alpha-2
	direct  bool   // our page shows the data to pay with
}

// methods are the rails for which dLocal's documentation has an id. A card rail of one
// brand uses that brand's id, all others CARD.
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
	"wallet.mercadopago.BRA": {"MP", "BR", false},
	"wallet.mercadopago.CHL": {"MP", "CL", false},
	"wallet.nequi.COL":       {"QP", "CO", false},
	"bank.khipu.CHL":         {"IO", "CL", false},
	"cash.bancopopular.DOM":  {"ZP", "DO", false},
	"card.SLV":               {"CARD", "SV", false},
	"card.HND":               {"CARD", "HN", false},
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

// Adapter is the adapter for accounts at dLocal that take payments.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name: "dlocal",
		Declines: []provider.Codes{{Field: "status_code, or code of a refused call", Table: declines,
			Source: "docs.dlocal.com, payment status codes (2026-09-17) and payments HTTP errors"}},
		Fields: []provider.Field{
			{Name: "login", Doc: "Merchant Dashboard, Settings, Integration: X-Login", Public: true},
			{Name: "transKey", Doc: "Merchant Dashboard, Settings, Integration: X-Trans-Key"},
			{Name: "secretKey", Doc: "Merchant Dashboard, Settings, Integration: the secret key for signatures"},
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

// Check lists the payment methods of a country, which every account may.
func (a *account) Check(ctx context.Context) error {
	reply, failed := a.call(ctx, http.MethodGet, "/payments-methods?country=BR", "", nil)
	switch {
	case failed != nil && failed.Decline == wrongSecret:
		return errors.New("the signature is not accepted: the secret key is not the one of this login")
	case failed != nil:
		return errors.New("there is no answer: " + failed.Decline)
	}
	var list []struct {
		ID string `json:"id"`
	}
	switch {
	case reply.Status == http.StatusForbidden:
		return errors.New("the login or the trans key is not known, or this server's address is not on the account's list")
	case reply.Status == http.StatusBadRequest:
		return errors.New("the request was refused")
	case !reply.read(&list):
		return errors.New("the answer is not a list of payment methods")
	}
	return nil
}
