package pay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

// Float is the operator's money at a payout account in one currency, as the ledger has it. It is
// kept from the operator's first entry on. Amounts are minor units of Currency.
type Float struct {
	Account   string
	Live      bool
	Currency  money.Currency
	Free      int64 // may be paid out; below zero after an entry that took out more than there was
	Committed int64 // sent, and not known to have arrived
	Paid      int64 // arrived
	Funded    int64 // what the operator put in
}

// NewFloat reads a float from its balances; false for a merchant's.
func NewFloat(owner string, live bool, b ledger.Balances) (Float, bool) {
	account, currency, ok := ledger.FloatOf(owner)
	return Float{
		Account: account, Live: live, Currency: money.Currency(currency),
		Free: b[ledger.Float], Committed: b[ledger.FloatCommitted], Paid: b[ledger.FloatPaid], Funded: -b[ledger.FloatFunding],
	}, ok
}

// Off is by how much the balance that the provider tells is not what the ledger has: zero where
// it is between what is free and that with what is committed, of which nobody knows whether it has left.
func (f Float) Off(balance money.Amount) money.Amount {
	switch most := f.Free + f.Committed; {
	case balance.Minor > most:
		return money.New(balance.Minor-most, f.Currency)
	case balance.Minor < f.Free:
		return money.New(balance.Minor-f.Free, f.Currency)
	}
	return money.New(0, f.Currency)
}

// mostEntry bounds an entry, in minor units: thousands of them still fit into a balance.
const mostEntry = 1e15

// EnterFloat books what the operator put into a payout account, or, below zero, took out or lost there.
// Its id is made from the reference: the same entry cannot be booked twice.
//
// Errors: invalid_request.
func EnterFloat(account string, live bool, amount money.Amount, reference string, now time.Time) (ledger.Transfer, error) {
	switch {
	case amount.Minor == 0:
		return ledger.Transfer{}, FieldError(CodeInvalidRequest, "amount", "the amount is zero")
	case amount.Minor > mostEntry || amount.Minor < -mostEntry:
		return ledger.Transfer{}, FieldError(CodeInvalidRequest, "amount", "the amount is too large")
	case reference == "" || strings.ContainsFunc(reference, Unprintable):
		return ledger.Transfer{}, FieldError(CodeInvalidRequest, "reference", "the reference must be a line of text: what the bank calls the transfer")
	}
	owner := ledger.FloatOwner(account, string(amount.Currency))
	sum := sha256.Sum256([]byte(fmt.Sprintf("%t %s %s", live, owner, reference)))
	return ledger.Transfer{
		ID: "tr_float_" + hex.EncodeToString(sum[:16]), Merchant: owner, Live: live, Kind: ledger.FloatEntered, Local: amount, At: now,
		Postings: ledger.Post(
			ledger.Posting{Account: ledger.FloatFunding, Amount: -amount.Minor},
			ledger.Posting{Account: ledger.Float, Amount: amount.Minor},
		),
	}, nil
}

// moveFloat books what a step of the withdrawal does to its account's float; nothing where none is kept.
func (w Withdrawal) moveFloat(step string, kind ledger.Kind, from, to ledger.Account, now time.Time) []ledger.Transfer {
	if w.Float.Minor == 0 {
		return nil
	}
	return []ledger.Transfer{{
		ID:       fmt.Sprintf("tr_%s-float-%d-%s", w.suffix(), w.Round+1, step),
		Merchant: ledger.FloatOwner(w.Provider, string(w.Float.Currency)), Live: w.Live, Kind: kind, Local: w.Float, At: now,
		Postings: ledger.Post(
			ledger.Posting{Account: from, Amount: -w.Float.Minor},
			ledger.Posting{Account: to, Amount: w.Float.Minor},
		),
	}}
}

// freeFloat gives back to the float what the withdrawal had taken and was not paid.
func (w Withdrawal) freeFloat(now time.Time) (Withdrawal, []ledger.Transfer) {
	back := w.moveFloat("back", ledger.FloatBack, ledger.FloatCommitted, ledger.Float, now)
	w.Float = money.Amount{}
	return w, back
}
