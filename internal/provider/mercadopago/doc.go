// Package mercadopago takes payments at Mercado Pago: the Payments API for Pix, SPEI and
// vouchers, Checkout Pro preferences for everything that the shopper pays on Mercado Pago's
// page. It is a client of one account in one country; it stores nothing and makes no
// decisions about payments. Payouts have their own adapter.
//
// # What is paid where
//
// Our page shows a Pix code. SPEI and vouchers have a page at Mercado Pago
// (external_resource_url), as the documentation shows for both; the data also hold a
// voucher's reference and bar code. Cards, PSE, boletos and the wallet use a Checkout Pro
// preference: in the Payments API PSE requires the shopper's bank and address, and a boleto
// the address, and we ask for neither. On a preference the wallet's balance cannot be
// excluded.
//
// Amounts have the decimals of their currency; in pesos of Chile none. Pesos of Colombia have
// to be whole too (its error, quoted in odoo's pull requests 124162 and 185664; its
// WooCommerce plugin, commit 4ecb9e8, rounds both): other amounts are not taken.
//
// # References
//
// Ours is the external_reference of the payment or the preference. A payment's
// X-Idempotency-Key is a UUID made of it, because the OpenAPI document says uuid. How long
// a key is kept is not documented. A preference has no such key, so we search for it first:
// two calls at one moment can make two preferences under one reference, and the shopper
// sees the page of one; a cancel closes both, and what is paid on either is found. A page
// whose id is known is read, not searched. In a search a preference's items are titles, and
// it has no address (the SDKs' fixtures: sdk-go, sdk-nodejs, sdk-php); the list may be null
// (answers of the merchant orders' search, page "IPN, troubleshooting").
//
// A refund has our reference in its metadata: the WooCommerce plugin (4ecb9e8) sends metadata with
// a refund and knows its own by them, and the OpenAPI document (f224df3) has them in the answers;
// of its requests only one version had them (9d90143). We search for it before we make one, because
// Mercado Pago may forget a key. If a refund of the same amount has no reference, the result is
// Unknown and not Missing; then we rely on the key. An unknown field is an error (cause 8).
//
// # What proves absence
//
// A 404 of a payment with the cause 2000, of a refund with the cause 2032 (reference, errors
// of each call), of a chargeback with the sentence that its case does not exist (seen by a
// public project in October 2026; *unproved* otherwise). Another 404 is the edge's, and proves
// nothing. "The same request was posted in the last minute" (2001) and a failed call to its own
// gateway (2004) are not refusals.
//
// Missing means that neither the payments nor the preferences have our reference. How far the
// searches lag is not documented: sdk-nodejs#180 (2020) has payments that were found by their id,
// and a day later by their reference. No time is waited for, because a charge that they do not
// show yet cannot be paid: only we have its code or page. Refunds are listed by their payment. A
// search covers the last twelve months.
//
// # A page has many tries
//
// A shopper whose card is refused on a preference's page may try another one there. So the
// charge stays open until it is paid or the preference expires, and only then is it
// declined, with the last reason. Each refused payment is a try, told by its notification, by a query and
// with the money of a later one; one that the shopper canceled is a try too.
//
// To end a page, its preference is made to expire, and then each payment that may still be paid is
// canceled. The end of a preference is the last moment to pay on it (guide "term of preference", the
// same in each country, read on 2026-11-28; sdk-java ff614c1, PreferenceRequest: no longer usable); a payment that
// was begun is not affected (sdk-dotnet#74). If a payment was made on a page that no search finds, nothing is proved. A payment that is
// just being made, and that no search shows yet, is late money if it is approved: whether Mercado Pago
// then still approves it is *unproved*.
//
// A page may also be paid with two cards (guide "payments with two cards"): two payments, each
// of a part of the price. Its merchant order is paid once the approved payments come to the
// price, and its WooCommerce plugin adds them and splits a refund. So those that come to the
// price are one money, with the id of the one that was approved first. Until then they wait.
// If the page ends before that, each is money of another amount. What comes later is other
// money. A part that had gone back before the next one came is not counted; that Mercado Pago
// gives the first part back if the second is refused is *unproved*. A refund takes what the
// oldest payment has left, then the next, all with our reference and its total; if the first answer
// does not have them, no second part is made.
//
// # Installments
//
// A page takes the most installments that a shopper may choose (payment_methods.installments: OpenAPI document f224df3, sdk-go
// f910ee5, guides); without terms it is 1. Which numbers there are depends on the card and the country, and is not known before the
// shopper enters it. Who bears the interest is a setting of the seller's panel, not of a call: so none is promised free of
// it, and a panel that takes over the interest does so for the numbers that the page offers. On the wallet's page the shopper's own
// cards are the wallet's matter. A payment has the count, one installment and what the shopper pays in all
// (installment_amount, total_paid_amount: OpenAPI document, WooCommerce plugin 4ecb9e8); its own amount stays the price, and so does
// what is refunded. Of two cards, whose plans may differ, none is told.
//
// # What means money
//
// What a notification or a query may tell, what happens then, and why:
//
//	approved                       booked: the payment, or money of its own
//	refunds of ours                booked: each by our reference, also if it fails later
//	refunds without our reference  booked: made in the panel, or by Mercado Pago
//	refunded                       booked: all went back; before it was paid: reversed
//	several refunded in part       operator: an answer has room for one of them
//	in_mediation, claims           booked: a dispute without an id; ends with the payment's state
//	charged_back, chargebacks      booked: a dispute, by the chargeback's id if that can be found
//	bpp_… details                  operator: a mediation that Mercado Pago paid for; who lost is not clear
//	settled, reimbursed            operator: the documents contradict each other, so no ruling
//	an unknown status              operator: the result is unknown, and the word is counted
//	fraud alerts                   the payment's state is queried; no money has moved yet
//	pending, in_process            nothing yet; authorized too: we never capture later
//	rejected, cancelled            ends the charge, once nothing can follow on its page
//	merchant orders                nothing: the sum of its payments, which are notified of
//	orders, subscriptions, points  nothing: products that are not used here
//	mp-connect                     nothing: the next call is refused with 401
//	an unknown topic               operator: the word is counted
//
// # Notifications
//
// The signature is over the data.id of the address, X-Request-Id and the time, each if it is
// there, and not over the body: we ignore the body and query the payment. The documentation has
// the time in milliseconds, its example in seconds; we read both. A notification is repeated for
// four days, perhaps with its old time, so we accept an age of five days; an old one only causes
// a query. By sdk-java#420 real notifications of some test accounts fail the check: we
// refuse those, and queries find the result. A fraud alert is not repeated, and its payment is in
// the body alone; it has to be enabled, as chargebacks and claims.
//
// A change of a refund comes as a notification of its payment, whose list of refunds has
// the result; we report those with our reference, and the whole list as what went back. A
// refund of the seller's panel, or one that Mercado Pago decides, is in the same list
// without our reference; the list's shape for those is *unproved*. That one which is made at
// Mercado Pago is notified says the guide of its WooCommerce plugin (manage orders, refunds;
// read on 2026-11-28); not seen live.
//
// # Disputes
//
// A mediation has no object that can be read, and a claim no amount. The payment is in_mediation
// while it lasts, and approved again or refunded after it (status list of the payments
// reference); the last step is *unproved* with an account. A claim leads to its payment, if the
// token may read it: in October 2026 a public project's might not (403).
//
// A chargeback is queried by its id, and found by its payment (GET /v1/chargebacks/search; the
// form of its results is *unproved*). coverage_applied is a text in the reference's example, a
// boolean in the OpenAPI document, and null in the newer guide while nothing is decided. The
// older guide has false while the documentation is open: pending or review_pending is not the
// end. What the details settled and reimbursed of charged_back mean is
// *unproved*: by the reference the money is retained or given back, by the Orders API settled
// is for the seller. bpp_refunded is covered by Mercado Pago says the reference; sellers report
// that it is taken from them.
//
// Evidence goes by POST /v1/chargebacks/{id}/documentation: files[], JPEG, PNG or PDF, at most ten
// with ten megabytes in all (guides of chargebacks; reference, upload supporting documentation, of
// 2026-10-08, which has the errors). It is taken once, while documentation_status is pending; the guides
// add that documentation_required is of no use any more. Only the reference names the caller by
// X-Caller-Id, which we take from the payment. No idempotency key is documented, so the chargeback is
// read before each call. Its documents have the names of their files in the older guide's example, and
// others in the newer reference's: *unproved*, and then a lost answer is never known to have arrived. That
// the word of a refusal is in the field error is *unproved* too; another field is read as well. An older guide has the
// status pending until the documents were read. No call sends evidence for a mediation.
//
// # Checked
//
// Against github.com/mercadopago/openapi (f224df3: payments, refunds, preferences, each
// country's overlay), mercadopago/sdk-go (fields, the manifest), mercadopago/devsite-docs (SPEI
// "clabe", PSE, cash in each country, webhooks, status details, chargebacks) and the pages behind
// mercadopago.com/developers, read on 2026-11-28. Not checked, for lack of an account: limits of
// keys and searches, rejected_high_risk and the other undocumented reasons, whether PSE or a
// boleto can be the only choice on a page, and whether a transfer of too little is ever
// credited. Each rail was checked only by its documented example. Retry-After of a 429 (OpenAPI
// document) is not read: the engine has its own pauses.
//
// # The report
//
// cascada reconcile reads the Account balance report, which is the settlement report of
// their API (mercadopago.com/developers, Reports, Account balance: the fields and the words
// of TRANSACTION_TYPE). On refunds too, EXTERNAL_REFERENCE is the charge's. A SETTLEMENT below
// zero without a reference is money that left the account, as in the page's own example. DISPUTE
// is money that a complaint holds. Its column METADATA is JSON whose quotes are not doubled in
// files that others have shown: leave it out of the report. A payment by two cards has a line for
// each of them, which are added.
//
// # Payouts
//
// One call makes a payout: POST /v1/transaction-intents/process, in Brazil to a Pix key. An
// account belongs to one country, and Mercado Pago has to enable payouts for it. Production
// requires a signed body (X-signature: Ed25519, Base64); a test account sends X-test-token.
//
// Chile and Mexico are refused, because Mercado Pago's documents contradict each other. The
// OpenAPI document (f224df3) has this call for Brazil alone, while its list of changes names Chile
// and SPEI; the guide of Money Out describes Chile, whose one example has a bank and documents of
// Brazil. For Mexico an older guide has this call with savings accounts, and the reference pages
// and the OpenAPI document have /v1/payouts, a batch, as for Argentina. So both are *unproved*.
//
// A payout can be queried only by Mercado Pago's id, which the answer and each notification
// have: there is no search by external_reference. If the answer is lost, the payout is
// Unknown until a notification names the id. The reference pages say of X-Idempotency-Key
// that it makes repetitions safe, and the Spanish guide that an external_reference cannot
// be used twice; so a payout is made once. No document says how Mercado Pago answers a
// repetition, or how long it keeps a key (the pages of Wallet Connect do, for another API).
// So a repetition counts only if its answer shows the payout, and no query returns Missing
// or Unsent.
//
// A first call that is refused with 401, 403, 429 or an error of the documented list made
// no payout; a later one proves nothing. "Invalid external_reference" proves nothing
// either: the reference may be taken. We read the three lists of statuses as one: see
// states. A rejection counts as final: two of the lists then advise making another payout,
// and the third calls it failed. Insufficient funds show as a rejected payout, not as an
// error.
//
// No document has a CNPJ with letters, as a Pix key or a holder's: such a payout is refused before the call.
//
// No document says how a notification of payouts is signed: we use only its id, and query
// the payout. We assume that an account's token reads only its own payouts. There is no
// documented balance; Check queries a payout that does not exist, which should be forbidden
// to an account without payouts.
//
// Checked against mercadopago/devsite-docs guides/money-out (configuration, tests,
// encryption, prerequisites), the pages docs/payouts and reference/…/payouts behind
// mercadopago.com/developers as far as they were available, and mercadopago/openapi, whose
// bodies the other pages contradict. Only a real account can show: the answer to a
// repetition; the form of errors; which statuses there really are and whether the amounts of a
// returned one shrink; how payouts are named in the reports. The test environment keeps
// nothing, so queries about payouts have no answer there.
package mercadopago
