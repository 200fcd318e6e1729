// What a provider's library says otherwise than our adapter or its fake, and why we do not follow it. Each must still be
// needed. made: words that tests invent, to see what an adapter does with a word that it does not know.
const answer = 'the library lists fewer fields or words than the answers in the provider\'s documents have; the adapter\'s table (published_test.go) has the source';

export const known = {
  adyen: [
    ['newer events', /^notice body: .*eventCode is "(AUTHENTICATION|PREARBITRATION_(ACCEPTED|DECLINED|ISSUER_WITHDRAWN|OPEN)|SCHEME_ARBITRATION(_LOST|_WON)?)"/, 'the types of notifications are older than the webhooks document (Webhooks-v1), which has these events'],
  ],
  conekta: [
    ['stores of a cash payment', /payment_method\.store_names is unknown$/, answer],
    ['months of a charge', /charges\.data\[\]\.monthly_installments is unknown$/, answer],
    ['a dispute in arbitration', /chargeback\.status is "arbitration"/, answer],
  ],
  mercadopago: [
    ['reference of a refund', /^POST \/v1\/payments\/\{id\}\/refunds body: metadata is unknown$/, 'the library refunds amounts only; the provider\'s WooCommerce plugin sends metadata'],
    ['claims', /^GET \/post-purchase\/v1\/claims\/.*: no such call$/, 'the library has no claims'],
    ['documents of a chargeback', /^POST \/v1\/chargebacks\/.*\/documentation: no such call$/, 'the library only reads chargebacks'],
    ['payouts', /^(GET|POST) \/v1\/transaction-intents\/.*: no such call$/, 'the library has no payouts'],
    ['nulls of a preference', /^GET \/checkout\/preferences\/search answer: .* is null, not /, answer],
    ['chargebacks', /^GET \/v1\/chargebacks\/.* answer: .*((coverage_\w+|currency|date_\w+|documentation\w*|live_mode|payments) is unknown|amount is )/, answer],
    ['payments in a list', /^GET \/v1\/payments\/search answer: results\[\]\.((collector_)?id is |transaction_details\.\w+ is null|(order|payment_method|point_of_interaction|refunds|transaction_details\.barcode) is unknown)/, answer],
    ['order of a payment', /^(GET|PUT) \/v1\/payments\/\{id\} answer: order\.id is "/, answer],
  ],
  stripe: [
    ['range of v2', /^GET \/v2\/money_management\/outbound_payments query: created\.gte is /, 'the library gives v2 the range of v1, of Unix times; stripe-go says that instants in this query are RFC 3339'],
    ['every reason for both endings', /status_details\.(failed|returned)\.reason is "(payout_method|fx_rate|review)_/, 'a test shows the adapter each reason for both endings'],
  ],
  woovi: [
    ['type of a payout', /^POST \/api\/v1\/payment body: type is unknown$/, 'the library is older than the document, which has the type'],
    ['days of payments', /^GET \/api\/v1\/payment query: (start|end) is unknown$/, 'the library lists all; the document has the days'],
    ['disputes', /^(GET|POST) \/api\/v1\/dispute\/.*: no such call$/, 'the library has no disputes'],
    ['a list of charges', /^GET \/api\/v1\/charge (answer|query): /, 'the library calls the list of charges refunds, and has no query'],
    ['fields of answers', / answer: (.*\.)?(id|discount|giftbackAppliedValue|valueWithDiscount|comment|brCode|correlationID|type|destination|status|providerRejectedReason) is unknown$/, answer],
    ['charges without a customer', / answer: .*customer is null, not BasicCustomer$/, answer],
    ['words of payouts', / answer: payment(s\[\]\.payment)?\.status is "(APPROVED|PROCESSING|REJECTED)"/, answer],
    ['seconds of a charge', / answer: .*charge\.expiresIn is \d+, not string$/, answer],
  ],
};
export const made = {
  adyen: ['quantum', 'Quantum', 'perhaps', 'SETTLED_REVERSED'],
  conekta: [], mercadopago: [],
  stripe: ['quantum', 'sleeping', 'odd', 'found_under_the_mattress', 'a_new_word', 'Ana Gómez, RFC'],
  woovi: ['SLEEPING'],
};
