package dlocal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

const unreadablePayout = "the provider's answer cannot be read"

// codeNotFound means that there is no payout with an id (reference: Error codes, Payouts
// v3).
const codeNotFound = 5009

// payoutRefusal is why a payout is refused, in our terms.
type payoutRefusal struct {
	kind          pay.PayoutKind
	code, message string
}

// refusals are by dLocal's codes (reference: Error codes, Payouts v3). Codes that are not
// listed prove nothing: 5011 (the reference is used), 5010 (of other calls), and all from
// 7000 on, which concern transactions.
var refusals = map[int]payoutRefusal{
	3000: {pay.PayoutUnavailable, "refused", "the account refuses the payout in this form"},
	3001: {pay.PayoutUnavailable, "refused", "the account refuses the payout in this form"},
	3003: {pay.PayoutUnavailable, "bank_not_served", "the account does not pay to this bank"},
	5007: {pay.PayoutUnavailable, "unsupported", "the account does not pay to this country"},
	5008: {pay.PayoutUnavailable, "limit_exceeded", "the payout is above a limit of the account"}, // its name says whose limit it is
	5012: {pay.PayoutRejected, "limit_exceeded", "the beneficiary may not receive that much"},
	5013: {pay.PayoutRejected, "compliance_rejected", "the payout was rejected for compliance"},
	5014: {pay.PayoutUnavailable, "insufficient_funds", "the account has too little money"},
	5015: {pay.PayoutRejected, "compliance_rejected", "the payout was rejected for compliance"},
}

// parameter is the name of one of our fields: it says which one is wrong and holds no
// value.
var parameter = regexp.MustCompile(`^[a-z_]{1,40}(\.[a-z_]{1,40}){0,3}$`)

func (r payoutRefusal) outcome(answer reply) pay.PayoutOutcome {
	o := pay.PayoutOutcome{Kind: r.kind, Code: r.code, Message: r.message}
	var e struct {
		Param string `json:"param"`
	}
	if r.code == "refused" && json.Unmarshal(answer.Body, &e) == nil && parameter.MatchString(e.Param) {
		o.Message += ": " + e.Param
	}
	return o
}

// saidOf is what an answer says that is not about a payout.
func saidOf(answer reply) string {
	if code := answer.code(); code != 0 {
		return fmt.Sprintf("status %d, code %d", answer.Status, code)
	}
	return fmt.Sprintf("status %d", answer.Status)
}

// outcome is the outcome of a payout (reference: Payout status, v3).
func (s *sender) outcome(found payoutReply) pay.PayoutOutcome {
	o := pay.PayoutOutcome{Kind: pay.PayoutUnknown, ProviderRef: found.ID, Local: found.paid()}
	switch found.Status {
	case "PENDING", "DELIVERED": // delivered to the bank, which has not paid yet
		o.Kind = pay.PayoutAccepted
	case "ON_HOLD":
		o.Kind, o.Message = pay.PayoutAccepted, "the payout is on hold at the provider"
	case "ON_HOLD_BY_COMPLIANCE":
		o.Kind, o.Message = pay.PayoutAccepted, "the provider checks the payout"
	case "PAID":
		if o.Local.IsPositive() {
			o.Kind = pay.PayoutPaid
		} else {
			o.Message = unreadablePayout
		}
	case "REJECTED":
		if fine := string(found.Code); strings.HasPrefix(fine, "3") && fine != "300" { // more precise codes are not documented
			s.Strange("rejection", fine)
		}
		return pay.PayoutOutcome{Kind: pay.PayoutRejected, ProviderRef: found.ID, Code: "rejected", Message: "the payout was rejected"}
	case "CANCELLED": // a person decided against it, so no other account pays it
		return pay.PayoutOutcome{Kind: pay.PayoutRejected, ProviderRef: found.ID, Code: "rejected", Message: "a person canceled the payout before it was paid"}
	case "BAD_REQUEST": // a failure of the sandbox's play: no document says what became of the payout
		o.Message = "the sandbox could not play the payout's end"
	default:
		s.Strange("payout", found.Status)
		o.Message = "the payout's status is unknown to us"
	}
	return o
}

// paid is what the beneficiary gets, in the currency to pay, or in the order's if none is
// named; zero if it is not reported.
func (p payoutReply) paid() money.Amount {
	number, currency := p.Details.ToPay.String(), p.CurrencyToPay
	if currency == "" {
		currency = p.Currency
	}
	if number == "" && currency == p.Currency {
		number = p.Amount.String()
	}
	if local, ok := provider.Major(number, currency); ok {
		return local
	}
	return money.Amount{}
}

// Check gets a new token and queries a payout that does not exist; both calls are free.
func (s *sender) Check(ctx context.Context) error {
	s.forget(ctx, "")
	answer, failed := s.call(ctx, http.MethodGet, "/payouts/v3?external_id=cascada-check", nil)
	switch {
	case failed == nil && answer.Status == http.StatusBadRequest && answer.code() == codeNotFound:
		return nil
	case failed != nil:
		return errors.New("there is no answer, or no token: " + failed.Decline)
	case answer.refusedUs():
		return fmt.Errorf("the token is refused, or this server's address is not on the account's list (%s)", saidOf(answer))
	}
	return fmt.Errorf("the answer to a query for an unknown payout is not the documented one (%s): is the address the provider's own?", saidOf(answer))
}

// Balance is what the account can pay out now.
//
// Errors: in words for the operator.
func (s *sender) Balance(ctx context.Context) (money.Amount, error) {
	answer, failed := s.call(ctx, http.MethodGet, "/payouts/v3/balance", nil)
	if failed != nil {
		return money.Amount{}, errors.New("there is no answer: " + failed.Decline)
	}
	var b struct {
		Currency  string      `json:"currency"`
		Available json.Number `json:"available_balance"`
	}
	if !answer.read(&b) {
		return money.Amount{}, fmt.Errorf("the balance cannot be read (%s)", saidOf(answer))
	}
	c, err := money.ParseCurrency(b.Currency)
	if err != nil {
		return money.Amount{}, errors.New("the balance has no currency")
	}
	left, err := money.Parse(b.Available.String(), c)
	if err != nil {
		return money.Amount{}, errors.New("the balance is not an amount")
	}
	return left, nil
}
