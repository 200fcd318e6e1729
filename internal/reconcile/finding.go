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
	// MissingHere: the provider has a charge that we do not know, or know as not
	// paid. Money was taken and nothing was sold.
	MissingHere Discrepancy = "missing_here"
	// MissingThere: we say paid, and the report of that time has no such charge.
	MissingThere Discrepancy = "missing_there"
	WrongAmount  Discrepancy = "amount"
	WrongMoney   Discrepancy = "currency"
	// ChargedTwice: two charges of one payment, or one that is listed twice.
	ChargedTwice Discrepancy = "charged_twice"
	// RefundMissingHere: the shopper got money back of which we know nothing, or
	// that we say was not given.
	RefundMissingHere     Discrepancy = "refund_missing_here"
	RefundMissingThere    Discrepancy = "refund_missing_there"
	RefundAmount          Discrepancy = "refund_amount"
	RefundedTwice         Discrepancy = "refunded_twice"
	ChargebackMissingHere Discrepancy = "chargeback_missing_here"
	BadLine               Discrepancy = "unreadable"

	// PaidOutTwice: two payouts of one withdrawal, or one that is listed twice.
	PaidOutTwice Discrepancy = "paid_out_twice"
	// PayoutMissingHere: the provider paid out what we do not know, or say did not arrive.
	PayoutMissingHere  Discrepancy = "payout_missing_here"
	PayoutMissingThere Discrepancy = "payout_missing_there"
	PayoutAmount       Discrepancy = "payout_amount"
	ReturnMissingHere  Discrepancy = "return_missing_here"
	ReturnMissingThere Discrepancy = "return_missing_there"
)

// Discrepancies lists all differences, the gravest first.
func Discrepancies() []Discrepancy {
	return []Discrepancy{ChargedTwice, MissingHere, MissingThere, WrongAmount, WrongMoney, RefundedTwice, RefundMissingHere,
		RefundMissingThere, RefundAmount, ChargebackMissingHere,
		PaidOutTwice, PayoutMissingHere, PayoutMissingThere, PayoutAmount, ReturnMissingHere, ReturnMissingThere, BadLine}
}

// Meaning says what a difference is, for people.
func (f Discrepancy) Meaning() string {
	return map[Discrepancy]string{
		ChargedTwice:          "charged twice for one payment",
		MissingHere:           "charged by the provider, not paid here",
		MissingThere:          "paid here, not charged by the provider",
		WrongAmount:           "charged another amount",
		WrongMoney:            "charged in another currency",
		RefundedTwice:         "given back twice",
		RefundMissingHere:     "given back by the provider, not refunded here",
		RefundMissingThere:    "refunded here, not given back by the provider",
		RefundAmount:          "another amount given back",
		ChargebackMissingHere: "charged back at the provider, not disputed here",
		PaidOutTwice:          "paid out twice for one withdrawal",
		PayoutMissingHere:     "paid out by the provider, not arrived here",
		PayoutMissingThere:    "paid out here, not by the provider",
		PayoutAmount:          "another amount paid out, or sent back",
		ReturnMissingHere:     "sent back at the provider, not returned here",
		ReturnMissingThere:    "returned here, not sent back at the provider",
		BadLine:               "lines that could not be read",
	}[f]
}

// Finding is one difference.
type Finding struct {
	Discrepancy Discrepancy
	File        string
	Line        int // 0: it is about what the report does not have
	Merchant    string
	Payment     string // TXN-…, "" where none is known
	Claim       string // CLM-…, of a refund that is known
	Withdrawal  string // wdr_…, of a payout that is known
	Reference   string // ours
	ProviderRef string
	Here, There money.Amount // without a currency: nothing
	USD         int64        // cents that the difference is worth; 0 where that is not known
	Note        string
}

// String is the finding as a line that a person can act on.
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
