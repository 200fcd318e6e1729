package openapi

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// about describes what an operation's types do not show: what it does, its own codes, a sample request.
type about struct {
	text    string // Markdown: paragraphs, lists, code
	replies string // what it returns; empty: the status's name
	codes   []problem.Code
	body    []sample // nil: composed from the schema
	anyShop bool     // accepts a whole merchant's credentials
}

// sample is one example of a request.
type sample struct{ name, summary, json string }

// body is a single example.
func body(text string) []sample { return []sample{{"example", "Example", text}} }

func aboutOf(method, path string) about {
	return abouts[strings.ToUpper(method)+" "+canonical(path)]
}

// canonical is the path that an alias stands for. Both behave identically.
func canonical(path string) string {
	if rest, ok := strings.CutPrefix(path, "/transactions"); ok {
		return "/payments" + rest
	}
	return path
}

// The texts tell durations and numbers as the code has them.
func days(d time.Duration) string    { return strconv.Itoa(int(d/(24*time.Hour))) + " days" }
func hours(d time.Duration) string   { return strconv.Itoa(int(d/time.Hour)) + " hours" }
func seconds(d time.Duration) string { return strconv.Itoa(int(d/time.Second)) + " seconds" }
func thousands(n int) string         { return fmt.Sprintf("%d,%03d", n/1000, n%1000) } // below a million

var (
	chargeCodes = []problem.Code{
		problem.AmountInvalid, problem.AmountAboveMaximum, problem.AmountOutOfLimits,
		problem.UnsupportedMethod, problem.UnsupportedCountry, problem.UnsupportedCurrency, problem.ProductionKeyRefused, problem.Forbidden,
		problem.CardDeclined, problem.InsufficientFunds, problem.ExpiredCard, problem.FraudBlocked, problem.ThreeDSRequired,
		problem.CascadeExhausted,
	}
	paymentSamples = []sample{
		{"pix", "PIX in Brazil", `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725","merchantOrderId":"order-8412","userEmail":"ana@example.com"}`},
		{"local", "100 BRL, with the code to show in the reply", `{"amount":100,"currency":"BRL","paymentMethodId":"sbx_pix","documentId":"52998224725","expand":["paymentData"],"metadata":{"cart":"c-311"},"lineItems":[{"name":"Coffee, 1 kg","quantity":2,"unitAmount":50,"sku":"CF-1"}]}`},
		{"card", "A card", `{"amount":25.5,"paymentMethodId":"sbx_card","merchantOrderId":"order-8413"}`},
		{"hosted", "With our own checkout page", `{"amount":25.5,"paymentMethodId":"sbx_cash","hostedCheckout":true,"returnUrl":"https://shop.example/thanks"}`},
	}
)

// abouts has a line for every operation, by method and path; an alias shares the line of its canonical
// path.
var abouts = map[string]about{
	"POST /auth/token": {
		text: "Send both halves of a key pair of one environment. The access token goes into the `Authorization` header of every other call; " +
			"it is valid for `expiresIn` seconds. The refresh token is valid for " + days(auth.RefreshTTL) + " and works once.\n\n" +
			"A raw secret key works as the bearer value too.",
		codes: []problem.Code{problem.InvalidAPIKey},
		body:  body(`{"apiKey":"pk_test_example-not-a-real-key","secretKey":"sk_test_example-not-a-real-key"}`),
	},
	"POST /auth/refresh": {
		text:  "Returns a new pair of tokens. The refresh token that was sent stops working; sending it twice ends the login.",
		codes: []problem.Code{problem.InvalidToken},
		body:  body(`{"refreshToken":"rt_example-not-a-real-token"}`),
	},
	"POST /auth/logout": {
		text: "Ends the login of the access token, or of the `refreshToken` in the body: within two seconds no node accepts either of its tokens. " +
			"If the access token has expired, send the refresh token without an `Authorization` header. " +
			"The key's other logins stay valid. A raw key is not a login: ask the operator to revoke it.",
		codes: []problem.Code{problem.InvalidRequest}, anyShop: true,
	},
	"GET /ping": {text: "Shows whose credentials these are. It changes nothing.", anyShop: true},
	"GET /me":   {text: "The merchant behind the credentials, what it may use, and its balance in this environment.", anyShop: true},
	"GET /me/balance": {
		text:    "The merchant's balance, the fees paid, and what needs a person's attention.",
		anyShop: true,
	},
	"GET /shops": {
		text:    "The shops that the credentials can reach: their own shop, or all of them with the whole merchant's credentials. `shopId` takes these ids.",
		anyShop: true,
	},
	"GET /keys": {
		text: "The keys of this environment with their rights, masked: the shop's or, with the whole merchant's credentials, those of all shops and " +
			"the merchant's own. A key itself is shown once, when the operator makes it.",
		anyShop: true,
	},
	"GET /requests": {
		text: "What the shop's keys asked of the API, and how it was answered: at most the last 250 requests of the merchant in this environment. Requests that name no " +
			"shop belong to all. It is for developers, and not a record: each node of the service remembers what it answered since it started. It has no bodies, no " +
			"addresses and no credentials, and an error's message without the value that was sent. Calls to this endpoint itself are left out, as is the polling of " +
			"`cascada listen`.",
	},
	"GET /me/balance/movements": {text: "Every movement of the merchant's balance, newest first.", anyShop: true},
	"GET /payment-methods": {
		text: "Every method in one reply. Offer those whose `routable` is true: each can be charged with `POST /payments` and the same " +
			"`paymentMethodId`. Read the ids from here; they are never reused. In production `totalAvailable` counts, without the filters, the " +
			"methods that a provider could be connected for; others are not listed. The sandbox has the test methods (`sbx_…`), and those that an account " +
			"at a provider's own test environment takes.",
	},
	"POST /payments": {
		text: "Takes a payment through the cascade of providers. The payment starts as `pending`: redirect the shopper to " +
			"`paymentFormUrl` (or to `checkoutUrl` with `hostedCheckout`), and rely on webhooks for what happens then. Cards too: in production the shopper " +
			"enters the card on a page, passes 3-D Secure there, and may be refused and try again until the page ends (`tries`). A card is approved or declined " +
			"at once only in a sandbox that is not strict. Build for the page: send `Sandbox-Strict: true`, or set the sandbox to strict. The section *Sandbox* has the test amounts.\n\n" +
			"`amount` is in `currency`, USD by default, and is converted at the stored rate: the payment's `amount` is its worth in USD. " +
			"A shopper who pays in that currency pays exactly that amount.\n\n" +
			"`paymentData` is empty unless the request has `\"expand\":[\"paymentData\"]`: then it holds what the shopper needs to pay, as in a GET. " +
			"`metadata`, `description` and `lineItems` are returned wherever the payment is shown, also in events.\n\n" +
			"If the payment is declined, or no account is left to try, the reply is the error; the payment is stored and listed as `failed`, and `details.transactionId` names it.\n\n" +
			"Send an `Idempotency-Key`: a repeat gets the first reply, and nobody is charged twice.",
		codes: chargeCodes, body: paymentSamples,
	},
	"GET /payments": {
		text: "The shop's payments, newest first. Page with `limit` and `offset`, or with `startingAfter` if new payments may arrive meanwhile.\n\n" +
			"`email` and `amount` find the payment that a shopper asks about. With them, `pagination.total` counts at most 10000 payments, and `pagination.totalCapped` says that there may be more. " +
			"`amount` is in `currency`: in USD, the default, it finds a payment's `amount`, in another currency its `amountLocal` or `amountRequested`.",
		codes: []problem.Code{problem.UnsupportedCurrency},
	},
	"GET /payments/export": {
		text: "All payments that the filter selects as one CSV file, newest first: a column for each field, named as in JSON; " +
			"the name of a nested field has a dot. A text that a spreadsheet would run as a formula has an apostrophe in front. " +
			"`decimal` makes the file one for a spreadsheet. " +
			"A merchant can download a limited number of files at a time; more are refused with `rate_limited`.",
		codes: []problem.Code{problem.UnsupportedCurrency},
	},
	"GET /payments/{id}": {
		text: "One payment, with `paymentData`: what the shopper needs to pay. Rely on webhooks rather than polling.",
	},
	"POST /payments/{id}/cancel": {
		text: "Cancels a payment while it is `pending`. First the provider is told to end the charge, if it can. Then the payment is `failed`, with " +
			"`failure.code` `canceled`, and `payment.failed` reports it. Canceling it again returns it unchanged; any other status is a conflict, also " +
			"if the shopper paid first.\n\n" +
			"If the provider does not report in time whether the charge has ended, this answers 503 with `details.reason` `outcome_unknown`, and the payment " +
			"is still `pending`: Cascada keeps asking, and an event reports the result. You may repeat the request.\n\n" +
			"If the shopper still pays, with a voucher that cannot be revoked, that is late money: `attention` and `claim.opened` report it.",
		codes: []problem.Code{problem.ConflictState},
	},
	"POST /payments/{id}/simulate": {
		text: "Acts as the provider: `paid`, `failed` and `expired` move a pending payment, `refunded` and `chargeback` a completed one. " +
			"Anything else is a conflict.",
		codes: []problem.Code{problem.ConflictState, problem.ProductionKeyRefused, problem.BalanceInsufficient},
		body:  body(`{"action":"paid"}`),
	},
	"POST /payments/{id}/refund": {
		text: "Refunds a captured payment, in full or in part, and again while something remains. It opens a claim of type `user_dispute`, " +
			"whose id is `refundId`. The money is taken from the available balance, then from the pending one.",
		codes: []problem.Code{problem.AmountInvalid, problem.AmountAboveMaximum, problem.ConflictState, problem.BalanceInsufficient},
		body:  []sample{{"part", "In part", `{"amount":50,"reason":"requested_by_customer"}`}, {"whole", "All that remains", `{}`}},
	},
	"GET /claims":      {text: "The shop's refunds, disputes and inquiries, newest first."},
	"GET /claims/{id}": {text: "One claim, with its evidence and its history."},
	"POST /claims/{id}/evidence": {
		text:  "Answers a dispute with a text, a file, or both. The claim is then under review.",
		codes: []problem.Code{problem.ConflictState, problem.ClaimAlreadyResolved},
		body:  body(`{"kind":"delivery_proof","text":"Signed for by the customer on 12 November."}`),
	},
	"POST /claims/{id}/accept": {
		text:  "Accepts a dispute or an inquiry: the shopper gets the money back and the claim is resolved.",
		codes: []problem.Code{problem.ConflictState, problem.ClaimAlreadyResolved},
	},
	"GET /claims/{id}/evidence/{evidenceId}/file": {
		text:  "The file as it was sent, with its content type.",
		codes: []problem.Code{problem.NotFound}, replies: "The file.",
	},
	"POST /payment-links": {
		text: "Makes an address at which shoppers pay: once, or up to `uses` times. Each of them chooses the method on our page. Without `amount` the shopper types it, within `openAmount`.",
		codes: []problem.Code{
			problem.AmountInvalid, problem.AmountAboveMaximum, problem.AmountOutOfLimits, problem.UnsupportedCurrency, problem.CascadeExhausted, problem.IdempotencyConflict, problem.MissingField,
		},
		body: []sample{
			{"once", "An amount, paid once", `{"amount":25.5,"currency":"USD","description":"Two tickets","merchantOrderId":"1002"}`},
			{"open", "The shopper types the amount", `{"openAmount":{"min":5,"max":500},"currency":"USD","description":"A donation","uses":1000}`},
		},
	},
	"GET /payment-links":      {text: "The shop's payment links, newest first."},
	"GET /payment-links/{id}": {text: "One payment link, as it is now."},
	"PATCH /payment-links/{id}": {
		text:  "Closes a payment link, opens it again, or sets its end. Payments that are under way go on.",
		codes: []problem.Code{problem.ConflictState}, body: body(`{"status":"closed"}`),
	},
	"POST /wallets": {
		text: "Adds where withdrawals go: a bank account or an address. The destination is checked, kept encrypted and shown only masked. " +
			"In production a new wallet cannot be used at once: it has a cool-down.",
		codes: []problem.Code{problem.UnsupportedCurrency, problem.ProductionKeyRefused, problem.ConflictState},
		body: []sample{
			{"bank", "A bank account in Mexico", `{"label":"Main","type":"bank_account","currency":"MXN","network":"spei","destination":"032180000118359719"}`},
			{"crypto", "A USDT address", `{"label":"Treasury","type":"crypto","currency":"USDT","network":"tron","destination":"TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"}`},
		},
	},
	"GET /wallets":         {text: "The shop's wallets, newest first."},
	"GET /wallets/{id}":    {text: "One wallet. The destination is masked."},
	"DELETE /wallets/{id}": {text: "Disables a wallet. Withdrawals that were already sent still arrive."},
	"POST /withdrawals": {
		text: "Sends money from the available balance to a wallet. The funds leave the balance at once and return if the withdrawal fails or " +
			"is canceled. In production the merchant must be verified first.",
		codes: []problem.Code{
			problem.AmountInvalid, problem.AmountAboveMaximum, problem.AmountBelowMinimum, problem.BalanceInsufficient, problem.KYCRequired,
			problem.WalletNotFound, problem.ConflictState,
		},
		body: body(`{"amount":250,"walletId":"wal_` + suffix + `"}`),
	},
	"GET /withdrawals/quote": {
		text: "Shows what a withdrawal would cost now: the fee, what arrives and at which rate. It is refused if the withdrawal would be refused. Nothing is stored, " +
			"and the withdrawal itself uses the rate of the moment when it is made.",
		codes: []problem.Code{
			problem.AmountInvalid, problem.AmountAboveMaximum, problem.AmountBelowMinimum, problem.BalanceInsufficient, problem.KYCRequired,
			problem.WalletNotFound, problem.ConflictState, problem.MissingField,
		},
	},
	"GET /withdrawals":      {text: "The shop's withdrawals, newest first."},
	"GET /withdrawals/{id}": {text: "One withdrawal."},
	"POST /withdrawals/{id}/cancel": {
		text:  "Cancels a withdrawal while it is pending. The funds return at once.",
		codes: []problem.Code{problem.ConflictState},
	},
	"POST /kyc/init": {
		anyShop: true,
		text:    "Starts verifying the merchant: send a person to `url`. If a verification is already open, the reply is 200 with that one.",
		body:    body(`{"level":"basic","subjectType":"company","returnUrl":"https://shop.example/verified"}`),
	},
	"GET /kyc/{id}": {text: "One verification. It is the merchant's, whichever shop asks.", anyShop: true},
	"POST /sandbox/kyc/{id}": {
		anyShop: true,
		text:    "Sets the outcome of a verification, as the reviewer would.",
		codes:   []problem.Code{problem.ConflictState, problem.ProductionKeyRefused},
		body:    body(`{"status":"verified"}`),
	},
	"GET /settlements": {text: "The merchant's settlements, newest first. The first one is open: it still grows.", anyShop: true},
	"GET /settlements/{id}": {
		text: "One settlement with its totals. A closed one never changes; later lines go into the next one.", anyShop: true,
	},
	"GET /settlements/{id}/transactions": {text: "The lines of a settlement: payments, refunds, chargebacks, releases.", anyShop: true},
	"GET /settlements/{id}/report": {
		text:    "The receipt as PDF, or every line as CSV or JSON. The PDF is made when the settlement closes.",
		codes:   []problem.Code{problem.ConflictState},
		replies: "The report.", anyShop: true,
	},
	"POST /settlements/{id}/simulate": {
		text:    "Acts as the bank: pays what is left of a closed sandbox settlement to the default wallet, by a withdrawal.",
		codes:   []problem.Code{problem.SettlementAlreadyPaid, problem.ConflictState, problem.ProductionKeyRefused, problem.BalanceInsufficient},
		body:    body(`{"action":"paid"}`),
		anyShop: true,
	},
	"POST /checkout/sessions": {
		text: "Opens a page of ours for the shopper. Without `paymentMethodId` the shopper chooses the method there (`awaiting_method`); " +
			"with it the payment is made at once, as with `POST /payments` and `hostedCheckout`. `metadata`, `description` and `lineItems` are copied to the payment; whoever has the token can read them. Redirect the shopper to `checkoutUrl`. " +
			"A session is valid for " + hours(pay.SessionLife) + " and makes one payment.",
		codes: append([]problem.Code{problem.CheckoutSessionNotFound}, chargeCodes...),
		body: []sample{
			{"selector", "The shopper chooses", `{"amount":25.5,"country":"BR","customer":{"firstName":"Ana","lastName":"Souza","email":"ana@example.com","phone":"+55 11 91234-5678"},"merchantOrderId":"order-8412","returnUrl":"https://shop.example/thanks"}`},
			{"one-shot", "With the method", `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725","returnUrl":"https://shop.example/thanks"}`},
		},
	},
	"GET /checkout/sessions/{token}": {text: "What the page shows. The token is the credential."},
	"POST /checkout/sessions/{token}/select": {
		text: "Chooses the method and makes the payment, once. The token is the credential. The browser then goes to `checkoutUrl`. " +
			"While money for the order is held, because a payment came late or with another amount, the choice is refused with `conflict_state`, and `details.existingTxId` names that payment. So is a choice through a payment link that has ended or has no use left: `details.reason` is `payment_link_ended` or `payment_link_held`.",
		codes: []problem.Code{
			problem.CheckoutSessionAlreadyCompleted, problem.ConflictState, problem.UnsupportedMethod, problem.UnsupportedCountry, problem.AmountOutOfLimits,
			problem.CardDeclined, problem.InsufficientFunds, problem.ExpiredCard, problem.FraudBlocked, problem.ThreeDSRequired, problem.CascadeExhausted, problem.Forbidden,
		},
		body: body(`{"paymentMethodId":"sbx_pix","customer":{"email":"ana@example.com","fullName":"Ana Souza","documentId":"52998224725"}}`),
	},
	"POST /checkout/sessions/{token}/expire": {
		text: "Ends what a shopper may still choose through a session, such as one for a cart that has changed: the session, or, if the payment that was chosen in it failed or expired, the session of another try. " +
			"Its page says so, and the event `checkout.session.expired` is sent. While a payment waits for the shopper, or if it was paid, this is refused with `checkout_session_already_completed`: " +
			"`details.existingTxId` is that payment; `POST /payments/{id}/cancel` ends it if it waits.",
		codes: []problem.Code{problem.CheckoutSessionAlreadyCompleted},
	},
	"POST /webhooks": {
		text: "Subscribes an endpoint to events. The `secret` that signs its deliveries is in this reply, and in that to a repeat with the same `Idempotency-Key`, and nowhere else. " +
			"Without `url` a managed inbox is made. The number of a shop's subscriptions is limited, and no two may have the same URL and the same events.",
		codes: []problem.Code{problem.ConflictState, problem.ProductionKeyRefused, problem.WebhookNotFound},
		body: []sample{
			{"own", "Your own endpoint", `{"events":["payment.completed","payment.failed"],"url":"https://shop.example/hooks","description":"orders"}`},
			{"managed", "A managed inbox", `{"events":["*"]}`},
		},
	},
	"GET /webhooks":         {text: "The shop's subscriptions, newest first, without their secrets."},
	"DELETE /webhooks/{id}": {text: "Ends a subscription. Deliveries that still wait are dropped."},
	"GET /webhooks/{id}":    {text: "One subscription, without its secret."},
	"PATCH /webhooks/{id}": {
		text:  "Changes the fields that are given; the secret stays. `status` enables a subscription that was disabled.",
		codes: []problem.Code{problem.ConflictState, problem.ProductionKeyRefused},
		body:  body(`{"events":["*"],"url":"https://shop.example/hooks"}`),
	},
	"POST /webhooks/{id}/rotate-secret": {
		text: "Gives the subscription a new secret, which only this reply shows. For " + hours(webhooks.RotationGrace) + " deliveries are signed with both: `v1` is the new one, " +
			"`v0` the old one.",
	},
	"GET /webhooks/{id}/deliveries": {text: "The deliveries to the endpoint and their results, newest first."},
	"GET /webhooks/{id}/deliveries/{deliveryId}": {
		text: "One delivery with its payload and every try.",
	},
	"GET /sandbox/settings": {text: "The settings of the merchant's sandbox.", codes: []problem.Code{problem.ProductionKeyRefused}, anyShop: true},
	"PATCH /sandbox/settings": {
		text: "A strict sandbox works as production does: a card goes through a page, with redirect, 3-D Secure, refusals, abandonment and webhooks, and " +
			"the test amounts (at the top of this section) decide what the page answers to the first try. It refuses what production refuses: a country where the method is not available, a document whose check digits are wrong, " +
			"an irregular e-mail address or phone, a webhook's URL that is not https or not public. A card's payment starts as `pending` with a `paymentFormUrl`, as most do in production. " +
			"The header `Sandbox-Strict` (`true` or `false`) overrides this for one request.",
		codes: []problem.Code{problem.ProductionKeyRefused}, body: body(`{"strict":true}`), anyShop: true,
	},
	"GET /events": {
		text: "The shop's events, newest first, each as it is sent to webhooks. Page with `limit` and `offset`, or with `starting_after`, the id " +
			"after which the page begins. payment.created and payment.pending are included only if a webhook subscribed to them.",
	},
	"GET /events/{id}": {text: "One event: the body that webhooks get, byte for byte."},
	"POST /webhooks/{id}/replay": {
		text: "Sends every event of a period to one webhook again, also those that were delivered: at most " + days(webhooks.ReplaySpan) + ", " + thousands(webhooks.ReplayMost) + " events and " +
			strconv.Itoa(webhooks.ReplayStep*int(time.Second/webhooks.ReplayEvery)) + " events per second, in the " +
			"order in which they happened. Each is a delivery with a fresh set of tries. Event ids stay the same: ignore those that you have seen.\n\n" +
			"`events` is their number. A webhook has one replay at a time: repeating the same request returns it, and a different request is a conflict whose `details.replayId` names it. `GET /webhooks/{id}/replays/{replayId}` shows its progress.",
		codes: []problem.Code{problem.ConflictState},
		body:  body(`{"from":"2026-11-20T08:00:00Z","to":"2026-11-20T12:00:00Z","types":["payment.completed"]}`),
	},
	"GET /webhooks/{id}/replays": {text: "The replays to a webhook, newest first: the one that is running, and those before."},
	"GET /webhooks/{id}/replays/{replayId}": {
		text: "The progress of a replay. It is `stopped` if that was requested, or the webhook was disabled or deleted, also by an endpoint that answered 410; " +
			"`resumeFrom` is the `from` of a replay that continues where this one stopped.",
	},
	"POST /webhooks/{id}/replays/{replayId}/stop": {
		text: "Stops a replay: it begins no more deliveries, and those that it has begun are still sent. Stopping it again returns it unchanged; stopping one that is done is a conflict. " +
			"To continue later, begin another replay with its `resumeFrom` as `from` and the same `to`.",
		codes: []problem.Code{problem.ConflictState},
	},
	"POST /webhooks/{id}/deliveries/{deliveryId}/replay": {
		text:  "Sends a failed delivery again, the same one: it keeps its id, and its count of tries continues. It is sent within five seconds.",
		codes: []problem.Code{problem.ConflictState},
	},
	"GET /webhooks/{id}/inbox": {text: "What a managed inbox received, its signature checked, newest first."},
	"GET /sandbox/clock": {
		text:  "The merchant's own sandbox time.",
		codes: []problem.Code{problem.ProductionKeyRefused}, anyShop: true,
	},
	"POST /sandbox/clock": {
		text: "Moves the sandbox time of the merchant forward, so that expiry, settlement, reserve releases and retries take seconds. " +
			"It never moves back.",
		codes: []problem.Code{problem.ProductionKeyRefused}, anyShop: true,
		body: body(`{"advance":"48h"}`),
	},
}

// tagTexts are the sections of the API in reading order.
var tagTexts = []struct{ name, text string }{
	{"Authentication", "Exchange a key pair for tokens."},
	{"Merchant", "Who you are, and your balance."},
	{"Catalog", "What a shopper can pay with."},
	{"Payments", "Take payments and read them. `/transactions` is the older name of `/payments` and behaves identically."},
	{"Refunds", "Give money back."},
	{"Checkout", "Payment pages that we host."},
	{"Claims", "Refunds, disputes and inquiries."},
	{"Settlements", "What became available, settlement by settlement."},
	{"Payment links", "Addresses at which shoppers pay, once or many times."},
	{"Payouts", "Where withdrawals go, and taking your money out."},
	{"Verification", "Verify the merchant's identity, which production withdrawals need."},
	{"Webhooks", "Subscribe to events, and see what was delivered."},
	{"Sandbox", "Simulate providers, banks and reviewers without real money. Test keys only.\n\n" +
		"**Begin with a strict sandbox**: `PATCH /sandbox/settings` with `{\"strict\":true}`, or the header `Sandbox-Strict: true`. It takes cards as production " +
		"does: the payment is `pending`, the shopper is sent to a page, passes 3-D Secure there or is refused and tries again, and a webhook tells the end.\n\n" +
		"**Test amounts.** The cents of the USD amount of an `sbx_card` payment are what the card answers. A second try on the page is another card, and pays.\n\n" +
		sandbox.AmountTable() + "\n**Played outcomes.** The header `Sandbox-Simulate` and `POST /payments/{id}/simulate` play an outcome at once. They skip a card's page, also in a " +
		"strict sandbox: use them to try your handlers of events."},
	{"Events", "What we POST to your endpoints. Answer with any 2xx within " + seconds(sender.DefaultTimeout) + "; process the event afterwards."},
}

var introduction = `Payment orchestration for Latin America: one API over a cascade of providers.

**Conventions.** Requests and replies are JSON in UTF-8 with camelCase names. Times are ISO 8601 in UTC. Money is a JSON number in major units, an exact decimal: the ` + "`amount`" + ` of a request is in its ` + "`currency`" + `; a payment's ` + "`amount`" + ` is its worth in USD, and its ` + "`amountLocal`" + ` is in the shopper's currency. Ids are opaque. An unknown field of a request is refused. Payments and checkout sessions may have fields of the shop's own: those are ignored, and the header ` + "`Service-Ignored`" + ` lists them, but a name that could mean an amount, a currency, a method, a destination or a key is refused there, too. Unknown parameters of lists, quotes and calls that change something, apparent typos such as ` + "`stauts`" + ` and a parameter that is given twice are refused. With ` + "`?strict=true`" + ` every unknown field and parameter is refused; the error names the one that was probably meant. New fields may appear in replies.

**Environments.** A test key reaches the sandbox, a live key production. The two never mix. Begin with a strict sandbox (` + "`Sandbox-Strict: true`" + `): it takes cards on a page, with redirect and 3-D Secure, as production does.

**Idempotency.** Send an ` + "`Idempotency-Key`" + ` with every request that moves money. A repeat within ` + days(pay.OnceKept) + ` gets the first reply, marked ` + "`Idempotency-Replayed: true`" + `; the same key with another body is a conflict.

**Lists.** ` + "`limit`" + ` (1 to 100) and ` + "`offset`" + ` are clamped; ` + "`pagination.total`" + ` counts what the filter selects. ` + "`pagination.nextCursor`" + ` is the ` + "`startingAfter`" + ` of the next page, and null on the last one. Paged this way, rows that arrive meanwhile shift nothing.

**Errors.** All have the same envelope: switch on ` + "`error.code`" + `, never on the message.

**Versions.** Replies carry ` + "`Service-Version`" + `. A request may send it; an unknown one is refused.`

// deliveryHeaders are the headers of each delivery (HOOK-9).
var deliveryHeaders = []struct{ name, doc, example string }{
	{sender.SignatureHeader, "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 of `<t>.<raw body>` with the subscription's secret; for " + hours(webhooks.RotationGrace) + " after a rotation " +
		"also `v0=` with the previous secret. Compare in constant time; refuse anything more than " + seconds(sender.Tolerance) + " old.",
		sampleSignature},
	{sender.EventHeader, "The event's type.", "payment.completed"},
	{sender.DeliveryHeader, "The delivery's id, the same on every try.", "dlv_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"},
	{"webhook-id", "The event's id, for Standard Webhooks libraries.", "evt_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6-1"},
	{"webhook-timestamp", "Unix seconds.", "1763726400"},
	{"webhook-signature", "The Standard Webhooks signature.", sampleStandardSignature},
}
