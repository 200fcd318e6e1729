// Package receipt decides which payments have a receipt for their shopper, and what is in it.
package receipt

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Check returns an error if there is no receipt of the payment for its shopper.
//
// Errors: conflict_state if it was not paid, invalid_request if its shopper has no e-mail address.
func Check(p pay.Payment) error {
	switch {
	case p.Times.Completed.IsZero():
		return &problem.Error{Code: problem.ConflictState, Reason: noReceiptUnpaid, Details: problem.Details{From: string(p.Status), Action: "receipt"}}
	case p.Order.Buyer.Email == "":
		return problem.Field(problem.InvalidRequest, "email", noReceiptAddress)
	}
	return nil
}

// Mail returns the e-mail with the receipt of a payment that passes Check, to an address. claims are all of
// the payment.
func Mail(p pay.Payment, claims []pay.Claim, id, to string, shop merchants.Shop, language merchants.Language, now time.Time) mails.Message {
	if l := merchants.Language(p.Page.Lang); slices.Contains(merchants.Languages(), l) {
		language = l
	}
	m := mails.New(id, merchants.Scope{Merchant: p.Merchant, Shop: p.Shop, Live: true}, p.ID, now)
	m.Receipt = mails.Receipt{
		To: to, Language: language, Shop: shop.Name, Payment: p.ID, Order: p.Order.ID, Description: p.Order.Purchase.Description,
		Paid: p.Price.Local, Back: gotBack(p, claims), PaidAt: p.Times.Completed, Test: !p.Live, Plan: p.End.Plan,
	}
	return m
}

// gotBack is what the shopper got back of the payment: in refunds that the provider confirmed and that did not fail later, and in disputes that the
// merchant lost. A refund that is under way may still fail, so it does not count.
func gotBack(p pay.Payment, claims []pay.Claim) money.Amount {
	back := money.New(0, p.Price.Local.Currency)
	for _, c := range claims {
		lost := c.Kind == pay.ChargebackClaim && slices.ContainsFunc(p.Disputes.Entries, func(t pay.DisputeEntry) bool { return t.Claim == c.ID && t.Attempt == 0 && !t.Followed })
		if (c.Kind == pay.UserDispute && c.Call.Returned == "" || lost) && c.Status.Pays() && c.Local.Currency == back.Currency {
			back.Minor += c.Local.Minor
		}
	}
	return back
}
