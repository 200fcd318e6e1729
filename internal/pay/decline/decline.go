// Package decline is the vocabulary of declines: why an issuer, a risk engine or a bank refused a shopper's try to pay, in our words,
// whichever provider said it. Each adapter maps its provider's codes to these reasons (docs/DECLINES.md has the table).
package decline

import (
	"cmp"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Reason is why a try was refused; the merchant reads it as declineCode.
type Reason string

// The reasons.
const (
	Declined             Reason = "declined" // no reason was given, or one that is not known
	DoNotHonor           Reason = "do_not_honor"
	CallIssuer           Reason = "call_issuer"
	InsufficientFunds    Reason = "insufficient_funds"
	LimitExceeded        Reason = "limit_exceeded"
	TooManyTries         Reason = "too_many_tries"
	ExpiredCard          Reason = "expired_card"
	InvalidNumber        Reason = "invalid_number"
	InvalidExpiry        Reason = "invalid_expiry"
	InvalidCVC           Reason = "invalid_cvc"
	InvalidPIN           Reason = "invalid_pin"
	InvalidData          Reason = "invalid_data" // the holder's name, document or address
	NotSupported         Reason = "card_not_supported"
	NotPermitted         Reason = "not_permitted"
	NoInstallments       Reason = "installments_not_supported"
	Duplicate            Reason = "duplicate"
	LostCard             Reason = "lost_card"
	StolenCard           Reason = "stolen_card"
	RestrictedCard       Reason = "restricted_card"
	InactiveCard         Reason = "inactive_card"
	FraudSuspected       Reason = "fraud_suspected"
	NotAuthenticated     Reason = "authentication_failed"
	AuthenticationNeeded Reason = "authentication_required" // the issuer wanted 3-D Secure, and the provider did not offer it
	Canceled             Reason = "canceled_by_shopper"
	Abandoned            Reason = "abandoned" // the shopper began, and did not finish
	IssuerUnavailable    Reason = "issuer_unavailable"
	ProcessingError      Reason = "processing_error"
	BankDeclined         Reason = "bank_declined"
	AccountUnavailable   Reason = "account_unavailable" // the shopper's bank account or wallet is closed, blocked or not allowed to pay
)

// Outcome is how a try on a provider's page ended, for merchants (PAY-38).
type Outcome string

// The outcomes.
const (
	Refused  Outcome = "declined"
	Blocked  Outcome = "blocked"               // a risk engine, or the issuer because of fraud
	Unproved Outcome = "authentication_failed" // 3-D Secure
	Left     Outcome = "abandoned"
	Faulty   Outcome = "error" // the issuer or the provider did not work
)

// Meaning is what follows from a reason.
type Meaning struct {
	Code    problem.Code // of the API; "" for one that is only a failure's: declined
	Outcome Outcome
	// Elsewhere: another provider may accept what this one refused. The issuer's own decision about the shopper's money is the same
	// everywhere.
	Elsewhere bool
	// Again: the shopper may try once more, with another card or corrected data.
	Again   bool
	Message string // for people; it names no provider
}

// meanings is the vocabulary; TestReasons keeps it whole.
var meanings = map[Reason]Meaning{
	Declined:             {"", Refused, false, true, "the payment was declined"},
	DoNotHonor:           {problem.CardDeclined, Refused, true, true, "the card's issuer declined the charge"},
	CallIssuer:           {problem.CardDeclined, Refused, true, true, "the card's issuer wants the shopper to call"},
	InsufficientFunds:    {problem.InsufficientFunds, Refused, false, true, "there are insufficient funds"},
	LimitExceeded:        {problem.InsufficientFunds, Refused, false, true, "the card or the account has reached its limit"},
	TooManyTries:         {problem.CardDeclined, Refused, false, true, "the card was tried too often"},
	ExpiredCard:          {problem.ExpiredCard, Refused, false, true, "the card has expired"},
	InvalidNumber:        {problem.CardDeclined, Refused, false, true, "the card's number is wrong"},
	InvalidExpiry:        {problem.CardDeclined, Refused, false, true, "the card's expiry date is wrong"},
	InvalidCVC:           {problem.CardDeclined, Refused, false, true, "the card's security code is wrong"},
	InvalidPIN:           {problem.CardDeclined, Refused, false, true, "the PIN is wrong"},
	InvalidData:          {problem.CardDeclined, Refused, false, true, "the shopper's data is wrong"},
	NotSupported:         {problem.CardDeclined, Refused, true, true, "this card cannot be used here"},
	NotPermitted:         {problem.CardDeclined, Refused, false, true, "the card may not be used for such a charge"},
	NoInstallments:       {problem.CardDeclined, Refused, true, true, "the card does not take these instalments"},
	Duplicate:            {problem.CardDeclined, Refused, false, false, "the same charge was made a moment ago"},
	LostCard:             {problem.FraudBlocked, Blocked, false, true, "the card was reported lost"},
	StolenCard:           {problem.FraudBlocked, Blocked, false, true, "the card was reported stolen"},
	RestrictedCard:       {problem.FraudBlocked, Blocked, false, true, "the card is blocked"},
	InactiveCard:         {problem.CardDeclined, Refused, false, true, "the card is not active"},
	AuthenticationNeeded: {problem.ThreeDSFailed, Unproved, true, true, "the issuer wants the shopper to be authenticated"},
	FraudSuspected:       {problem.FraudBlocked, Blocked, false, false, "the charge was blocked as a risk"},
	NotAuthenticated:     {problem.ThreeDSFailed, Unproved, false, true, "the shopper did not pass the issuer's challenge"},
	Canceled:             {"", Left, false, true, "the shopper canceled the payment"},
	Abandoned:            {"", Left, false, true, "the shopper began to pay, and did not finish"},
	IssuerUnavailable:    {problem.CardDeclined, Faulty, true, true, "the card's issuer or the shopper's bank does not answer now"},
	ProcessingError:      {problem.CardDeclined, Faulty, true, true, "the payment could not be processed"},
	BankDeclined:         {"", Refused, false, true, "the shopper's bank declined the payment"},
	AccountUnavailable:   {"", Refused, false, true, "the shopper's account cannot pay"},
}

// Meaning is what follows from the reason. One that is not in the vocabulary means the same as Declined.
func (r Reason) Meaning() Meaning {
	if m, known := meanings[r]; known {
		return m
	}
	return meanings[Declined]
}

// Known reports whether the reason is in the vocabulary.
func (r Reason) Known() bool { _, known := meanings[r]; return known }

// Of is the reason of a refusal that has a code of the API and a word: the word if it is a reason, else what the code says.
func Of(code problem.Code, word string) Reason {
	if r := Reason(word); r.Known() {
		return r
	}
	switch code {
	case problem.InsufficientFunds:
		return InsufficientFunds
	case problem.ExpiredCard:
		return ExpiredCard
	case problem.FraudBlocked:
		return FraudSuspected
	case problem.ThreeDSFailed:
		return NotAuthenticated
	}
	return Declined
}

// Reasons lists the vocabulary in the order of the alphabet.
func Reasons() (list []Reason) {
	for r := range meanings {
		list = append(list, r)
	}
	slices.Sort(list)
	return list
}

// Try is one try of the shopper on a provider's page that did not pay: a card that was declined, a challenge that failed.
type Try struct {
	ID     string `json:"id"` // the provider's; a try is kept once
	At     int64  `json:"at"` // microseconds UTC
	Reason Reason `json:"reason"`
	Raw    string `json:"raw,omitempty"`  // the provider's own code, for the operator
	Soft   bool   `json:"soft,omitempty"` // another provider may accept it
	// Country of the card, ISO 3166 alpha-3; "" if the provider does not report it.
	Country string `json:"country,omitempty"`
}

// String describes the try for the operator: its outcome, the reason, and the provider's own code.
func (t Try) String() string {
	text := string(t.Reason.Meaning().Outcome) + " (" + string(t.Reason)
	if t.Raw != "" && t.Raw != string(t.Reason) {
		text += ", the provider says " + t.Raw
	}
	if t.Country != "" {
		text += ", a card of " + t.Country
	}
	return text + ")"
}

// Tries are the tries of one attempt, oldest first.
type Tries []Try

// most is how many tries of an attempt are kept: the newest. A shopper tries a few times; more is a robot that tests cards.
const most = 20

// With adds tries that are not known yet, at now if the provider does not say when, or says what cannot be. The receiver stays as it is.
func (tr Tries) With(reported []Try, now time.Time) Tries {
	next := slices.Clone(tr)
	for _, t := range reported {
		if t.ID == "" || slices.ContainsFunc(next, func(k Try) bool { return k.ID == t.ID }) {
			continue
		}
		if at := now.UnixMicro(); t.At <= 0 || t.At > at {
			t.At = at
		}
		next = append(next, t)
	}
	slices.SortStableFunc(next, func(a, b Try) int { return cmp.Compare(a.At, b.At) })
	if len(next) > most {
		next = next[len(next)-most:]
	}
	if slices.Equal(next, tr) {
		return tr
	}
	return next
}

// Last is the newest try; false if there is none.
func (tr Tries) Last() (Try, bool) {
	if len(tr) == 0 {
		return Try{}, false
	}
	return tr[len(tr)-1], true
}
