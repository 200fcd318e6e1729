// Package lists says what a list selects, and which page of it is read. It also has the counts that the store returns. It
// decides nothing.
package lists

import (
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// PageRows is how many rows a page of a list has if nobody asks for a number, MostPageRows how many it has at most
// (LIST-1).
const (
	PageRows     = 50
	MostPageRows = 100
)

// Page is a part of a list.
type Page struct {
	Limit, Offset int
	After         string // in place of Offset: the rows after the one with this id; "" for all
}

// CursorParam is the parameter that an error about Page.After names.
const CursorParam = "startingAfter"

// Span is the time from From on and before To. A zero time means no bound.
type Span struct{ From, To time.Time }

// What lists select: rows of a scope that were created, or happened, in Span. Empty fields select all.
type (
	// PaymentFilter selects payments of a shop.
	PaymentFilter struct {
		Page
		Span    // to the millisecond
		Status  pay.Status
		Rail    string
		Method  string
		Country string // alpha-3
		OrderID string
		Email   string // in any case
		// Document is the end of the shopper's document, as DocumentEnd has it; "": any.
		Document string
		// An Amount in USD is what a payment is worth. In another currency it is what the shopper
		// pays, or what the shop asked for. Zero: any.
		Amount money.Amount
	}
	// ClaimFilter selects claims of a shop.
	ClaimFilter struct {
		Page
		Status  pay.ClaimStatus
		Kind    pay.ClaimKind
		Payment string
	}
	// EventFilter selects events of a shop.
	EventFilter struct {
		Page
		Span
		Types  []webhooks.EventType
		Object string // id of what they are about
	}
	// DeliveryFilter selects deliveries to an endpoint.
	DeliveryFilter struct {
		Page
		Span
		Status webhooks.DeliveryStatus
		Type   webhooks.EventType
	}
	// SettlementFilter selects settlements of a merchant.
	SettlementFilter struct {
		Page
		Span
		Status pay.SettlementStatus
	}
	// WithdrawalFilter selects withdrawals of a shop.
	WithdrawalFilter struct {
		Page
		Span
		Status pay.WithdrawalStatus
		Wallet string
	}
)

// MovementFilter selects movements of a merchant's balances, newest first.
type MovementFilter struct {
	Span
	Type  pay.MovementType // "": all
	Limit int              // about as many: a transfer's movements stay together
	After MovementPlace
}

// MovementPlace is a place in the list of movements: after those of a transfer. The zero value is before all.
type MovementPlace struct {
	At       time.Time
	Transfer string
}

// MostCounted is the largest count of the payments of an e-mail, a document or an amount: it means
// that there are that many, or more.
const MostCounted = 10_000

// Capped reports whether the list counts only up to MostCounted: there is no counter for an e-mail, a document
// or an amount.
func (f PaymentFilter) Capped() bool {
	return f.OrderID == "" && (f.Email != "" || f.Document != "" || !f.Amount.IsZero())
}

// FewestOfDocument is how many characters of the end of a shopper's document a search needs.
const FewestOfDocument = 4

// DocumentEnd turns what somebody typed as the end of a shopper's document into the form of a filter: lower-case
// letters and digits. ok is false if it is too short, or has characters other than letters, digits and punctuation.
func DocumentEnd(text string) (end string, ok bool) {
	for _, r := range strings.ToLower(text) {
		switch {
		case '0' <= r && r <= '9', 'a' <= r && r <= 'z':
			end += string(r)
		case !strings.ContainsRune(".-/ ", r):
			return "", false
		}
	}
	return end, len(end) >= FewestOfDocument
}

// KindCount counts the payments of a kind that a shop created on a day and that have a status now.
type KindCount struct {
	Day     time.Time // UTC
	Rail    string
	Method  string
	Country string // alpha-3
	Status  pay.Status
	N       int64
}

// DayCount counts the payments that a shop created on a day and that have a status now.
type DayCount struct {
	Day    time.Time // UTC
	Status pay.Status
	N      int64
}
