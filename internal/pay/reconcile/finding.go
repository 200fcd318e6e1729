package reconcile

import (
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
)

// Discrepancy names a difference between a report and our books.
type Discrepancy string

// The differences.
const (
	// MissingHere: the provider has a charge that we do not know, or know as unpaid. The
	// shopper paid for nothing.
	MissingHere Discrepancy = "missing_here"
	// MissingThere: we have a paid charge, but the report for that time does not.
	MissingThere Discrepancy = "missing_there"
	WrongAmount  Discrepancy = "amount"
	WrongMoney   Discrepancy = "currency"
	// ChargedTwice: two charges of one payment, or one that is listed twice.
	ChargedTwice Discrepancy = "charged_twice"
	// RefundMissingHere: the shopper got a refund that we do not know, or that we recorded as
	// not made.
	RefundMissingHere     Discrepancy = "refund_missing_here"
	RefundMissingThere    Discrepancy = "refund_missing_there"
	RefundAmount          Discrepancy = "refund_amount"
	RefundedTwice         Discrepancy = "refunded_twice"
	ChargebackMissingHere Discrepancy = "chargeback_missing_here"
	BadLine               Discrepancy = "unreadable"

	// PaidOutTwice: two payouts of one withdrawal, or one that is listed twice.
	PaidOutTwice Discrepancy = "paid_out_twice"
	// PayoutMissingHere: the provider made a payout that we do not know, or that we recorded
	// as not arrived.
	PayoutMissingHere  Discrepancy = "payout_missing_here"
	PayoutMissingThere Discrepancy = "payout_missing_there"
	PayoutAmount       Discrepancy = "payout_amount"
	ReturnMissingHere  Discrepancy = "return_missing_here"
	ReturnMissingThere Discrepancy = "return_missing_there"
)

// Discrepancies lists all differences, the most serious first.
func Discrepancies() []Discrepancy {
	return []Discrepancy{ChargedTwice, MissingHere, MissingThere, WrongAmount, WrongMoney, RefundedTwice, RefundMissingHere,
		RefundMissingThere, RefundAmount, ChargebackMissingHere,
		PaidOutTwice, PayoutMissingHere, PayoutMissingThere, PayoutAmount, ReturnMissingHere, ReturnMissingThere, BadLine}
}

// Meaning is the meaning of a difference, for people.
func (d Discrepancy) Meaning() string {
	return map[Discrepancy]string{
		ChargedTwice:          "charged twice for one payment",
		MissingHere:           "charged by the provider, not paid here",
		MissingThere:          "paid here, not charged by the provider",
		WrongAmount:           "charged a different amount",
		WrongMoney:            "charged in another currency",
		RefundedTwice:         "refunded twice",
		RefundMissingHere:     "refunded by the provider, not refunded here",
		RefundMissingThere:    "refunded here, not refunded by the provider",
		RefundAmount:          "a different amount refunded",
		ChargebackMissingHere: "charged back at the provider, not disputed here",
		PaidOutTwice:          "paid out twice for one withdrawal",
		PayoutMissingHere:     "paid out by the provider, not arrived here",
		PayoutMissingThere:    "paid out here, not by the provider",
		PayoutAmount:          "a different amount paid out, or sent back",
		ReturnMissingHere:     "sent back at the provider, not returned here",
		ReturnMissingThere:    "returned here, not sent back at the provider",
		BadLine:               "lines that could not be read",
	}[d]
}

// Finding is one difference.
type Finding struct {
	Discrepancy Discrepancy
	File        string
	Line        int // 0: it is missing from the report
	Merchant    string
	Payment     string // TXN-…, "" if not known
	Claim       string // CLM-…, if it is about a known refund
	Withdrawal  string // wdr_…, if it is about a known payout
	Reference   string // ours
	ProviderRef string
	Here, There money.Amount // without a currency: nothing
	USD         int64        // the difference in US cents; 0 if not known
	Note        string
}

// String is the finding as a line for the operator.
func (f Finding) String() string {
	var words []string
	add := func(form string, value any) { words = append(words, fmt.Sprintf(form, value)) }
	add("%s", f.Discrepancy)
	if f.Line > 0 {
		add("%s", fmt.Sprintf("%s:%d", f.File, f.Line))
	}
	for _, id := range []string{f.Payment, f.Claim, f.Withdrawal} {
		if id != "" {
			add("%s", id)
		}
	}
	if f.Reference != "" {
		add("reference %s", f.Reference)
	}
	if f.ProviderRef != "" {
		add("provider's %s", f.ProviderRef)
	}
	if f.Here.Currency != "" {
		add("here %s", f.Here)
	}
	if f.There.Currency != "" {
		add("there %s", f.There)
	}
	text := strings.Join(words, "  ")
	if f.Note != "" {
		text += "  (" + f.Note + ")"
	}
	return text
}
