package stripe

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
)

// meaning is what an event means for the books.
type meaning struct {
	// tell reads the event; nil if it says nothing that the books need.
	tell func(*Provider, context.Context, event, pay.Notice) ([]pay.Notice, error)
	why  string // of an event that is not read
}

// events are all events about money that came, goes or may go, of payments that this account takes (docs.stripe.com/api/events/types,
// the list of stripe-node 23.1.0, WebhookEndpoints.d.ts; read on 2026-11-28). Left out are products that no adapter uses: invoices and
// subscriptions, Connect, Issuing, Treasury, Terminal, Climate.
var events = map[string]meaning{
	// Payments: the end of an intent. On the hosted page only a success is one: the shopper may try again.
	"payment_intent.succeeded":      {tell: (*Provider).intentNotice},
	"payment_intent.payment_failed": {tell: (*Provider).intentNotice},
	"payment_intent.canceled":       {tell: (*Provider).intentNotice},

	"checkout.session.completed":               {tell: (*Provider).sessionNotice},
	"checkout.session.expired":                 {tell: (*Provider).sessionNotice},
	"checkout.session.async_payment_succeeded": {tell: (*Provider).sessionNotice},
	"checkout.session.async_payment_failed":    {tell: (*Provider).sessionNotice},

	"payment_intent.created":                   {why: "nobody has paid yet"},
	"payment_intent.requires_action":           {why: "nobody has paid yet"},
	"payment_intent.processing":                {why: "nobody has paid yet"},
	"payment_intent.amount_capturable_updated": {why: "we request no manual capture"},
	// The part is the intent's, which takes the rest too. If it is canceled instead, the part goes back to the cash balance, which is
	// another event.
	"payment_intent.partially_funded": {why: "the payment has the part until it ends"},

	// Cash balances: money that no payment took, and what becomes of it.
	"customer_cash_balance_transaction.created": {tell: (*Provider).balanceNotice},
	"cash_balance.funds_available":              {tell: (*Provider).balanceNotice},

	// Refunds of ours, of the Dashboard's and of Stripe's.
	"refund.created":        {tell: (*Provider).refundNotice},
	"refund.updated":        {tell: (*Provider).refundNotice},
	"refund.failed":         {tell: (*Provider).refundNotice},
	"charge.refund.updated": {tell: (*Provider).refundNotice},
	"charge.refunded":       {why: "refund.created has the refund itself"},

	// Disputes. Every event leads to a query, so the money's own events add nothing but a later state.
	"charge.dispute.created":          {tell: (*Provider).disputeNotice},
	"charge.dispute.updated":          {tell: (*Provider).disputeNotice},
	"charge.dispute.closed":           {tell: (*Provider).disputeNotice},
	"charge.dispute.funds_withdrawn":  {tell: (*Provider).disputeNotice},
	"charge.dispute.funds_reinstated": {tell: (*Provider).disputeNotice},

	// Charges are parts of intents, which report the same.
	"charge.succeeded": {why: "payment_intent.succeeded has it"},
	"charge.failed":    {why: "payment_intent.payment_failed has it"},
	"charge.pending":   {why: "nobody has paid yet"},
	"charge.captured":  {why: "we request no manual capture"},
	"charge.expired":   {why: "we request no manual capture"},
	"charge.updated":   {why: "it changes descriptions"},

	// No money moves.
	"radar.early_fraud_warning.created": {why: "a dispute may follow, which is reported"},
	"radar.early_fraud_warning.updated": {why: "a dispute may follow, which is reported"},
	"review.opened":                     {why: "the payment is captured; a refusal is a refund, which is reported"},
	"review.closed":                     {why: "the payment is captured; a refusal is a refund, which is reported"},

	// The merchant's own balance at Stripe, not a payment. Reconciliation and the bank's statement have it.
	"payout.created":                    {why: "the merchant's balance"},
	"payout.updated":                    {why: "the merchant's balance"},
	"payout.paid":                       {why: "the merchant's balance"},
	"payout.failed":                     {why: "the merchant's balance"},
	"payout.canceled":                   {why: "the merchant's balance"},
	"payout.reconciliation_completed":   {why: "the merchant's balance"},
	"balance.available":                 {why: "the merchant's balance"},
	"balance_settings.updated":          {why: "the merchant's balance"},
	"topup.created":                     {why: "the merchant's balance"},
	"topup.succeeded":                   {why: "the merchant's balance"},
	"topup.failed":                      {why: "the merchant's balance"},
	"topup.canceled":                    {why: "the merchant's balance"},
	"topup.reversed":                    {why: "the merchant's balance"},
	"reserve.hold.created":              {why: "the merchant's balance"},
	"reserve.hold.updated":              {why: "the merchant's balance"},
	"reserve.plan.created":              {why: "the merchant's balance"},
	"reserve.plan.updated":              {why: "the merchant's balance"},
	"reserve.plan.disabled":             {why: "the merchant's balance"},
	"reserve.plan.expired":              {why: "the merchant's balance"},
	"reserve.release.created":           {why: "the merchant's balance"},
	"transfer.created":                  {why: "we make none"},
	"transfer.updated":                  {why: "we make none"},
	"transfer.reversed":                 {why: "we make none"},
	"source.chargeable":                 {why: "we make none"},
	"source.canceled":                   {why: "we make none"},
	"source.failed":                     {why: "we make none"},
	"source.refund_attributes_required": {why: "we make none"},
	"source.transaction.created":        {why: "we make none"},
	"source.transaction.updated":        {why: "we make none"},
}
