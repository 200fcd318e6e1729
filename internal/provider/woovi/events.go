package woovi

import "strings"

// news is what an event is about.
type news int

const (
	ofCharge  news = iota + 1 // the charge is read, and what was paid of it is booked
	ofRefunds                 // the charge's refunds are read: ours, and those of Woovi's panel, which are booked
	ofDispute                 // the dispute is read
	ofPayout                  // the payment is read
	ofReturn                  // the transaction is read: a payout came back, or a part of it
	noMoney                   // it moves no money of ours
)

// events are those of docs/webhook/webhook-events-type.md (woovibr/woovi-developers bb0dddf, 2026-08-20).
var events = map[string]news{
	"CHARGE_COMPLETED": ofCharge, "CHARGE_COMPLETED_NOT_SAME_CUSTOMER_PAYER": ofCharge, "CHARGE_EXPIRED": ofCharge,
	"CHARGE_CREATED":                        noMoney,
	"TRANSACTION_RECEIVED":                  ofCharge, // without a charge: a Pix to a key or a static code, of no payment of ours
	"PIX_TRANSACTION_REFUND_SENT_CONFIRMED": ofRefunds, "PIX_TRANSACTION_REFUND_SENT_REJECTED": ofRefunds,
	"TRANSACTION_REFUND_RECEIVED": ofRefunds, // deprecated
	"DISPUTE_CREATED":             ofDispute, "DISPUTE_ACCEPTED": ofDispute, "DISPUTE_REJECTED": ofDispute, "DISPUTE_CANCELED": ofDispute,
	"MOVEMENT_CONFIRMED": ofPayout, "MOVEMENT_FAILED": ofPayout, "MOVEMENT_REMOVED": ofPayout,
	"PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED": ofReturn,
	"PIX_TRANSACTION_REFUND_RECEIVED_REJECTED":  noMoney, // the return was refused: the payout stays paid
	// Of products that are not used.
	"BOLETO_SETTLED": noMoney, "ACCOUNT_REGISTER_APPROVED": noMoney, "ACCOUNT_REGISTER_REJECTED": noMoney, "ACCOUNT_REGISTER_PENDING": noMoney,
	"PIX_AUTOMATIC_APPROVED": noMoney, "PIX_AUTOMATIC_REJECTED": noMoney, "PIX_AUTOMATIC_COBR_CREATED": noMoney, "PIX_AUTOMATIC_COBR_APPROVED": noMoney,
	"PIX_AUTOMATIC_COBR_REJECTED": noMoney, "PIX_AUTOMATIC_COBR_COMPLETED": noMoney, "PIX_AUTOMATIC_COBR_TRY_REJECTED": noMoney, "PIX_AUTOMATIC_COBR_TRY_REQUESTED": noMoney,
}

// newsOf is an event's name without its prefix, which is OPENPIX, or woovi in newer examples, and what it
// is about. A new event is reported: it may mean money.
func (c *client) newsOf(event string) (name string, about news) {
	name = event[strings.Index(event, ":")+1:]
	about, known := events[name]
	if !known && name != "" {
		c.account.Strange("event", name)
	}
	return name, about
}
