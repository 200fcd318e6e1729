package money

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// coveredRow is a settlement that a withdrawal pays out.
type coveredRow struct {
	settlementRow
	Part money.Amount
}

// coveredBy are the settlements that a withdrawal pays out, each with its part.
func (m *moneyPages) coveredBy(r *http.Request, w pay.Withdrawal) (rows []coveredRow, err error) {
	list, err := m.Uses.Settlements.PaidBy(r.Context(), w)
	for _, s := range list {
		for _, c := range w.Covers {
			if c.Settlement == s.ID {
				rows = append(rows, coveredRow{settlementRow{s}, usd(c.Amount)})
			}
		}
	}
	return rows, err
}

// Returned is what came back after it had arrived; zero if nothing did.
func (w withdrawalRow) Returned() money.Amount { return usd(w.Withdrawal.Returned) }

// ReturnedLocal is the same in the currency that arrived; without a currency for a token, or where USD arrived.
func (w withdrawalRow) ReturnedLocal() money.Amount {
	if !w.Converted() {
		return money.Amount{}
	}
	return money.New(w.Withdrawal.ReturnedLocal, w.Local.Currency)
}

// About is the key of the text that says what its status means.
func (w withdrawalRow) About() string {
	switch {
	case w.Status == pay.WithdrawalDone && w.Withdrawal.Returned > 0:
		return "withdrawal_part_about"
	case w.Status == pay.WithdrawalRefused && !w.CompletedAt.IsZero():
		return "withdrawal_returned_about"
	}
	return "withdrawal_" + string(w.Status) + "_about"
}

// Uncovered is the part of a withdrawal that arrived and pays out no settlement yet.
func (w withdrawalRow) Uncovered() money.Amount {
	if w.Status != pay.WithdrawalDone {
		return usd(0)
	}
	return usd(w.Amount - w.Withdrawal.Returned - pay.CoveredSum(w.Covers))
}

// Withdrawn is what withdrawals cover of the net, arrived or not.
func (s settlementRow) Withdrawn() money.Amount { return usd(s.PaidOut()) }

// Rest is what nothing covers yet; below zero: a debt.
func (s settlementRow) Rest() money.Amount { return usd(s.Uncovered()) }

// SetOff is the part of the net that is set off against other settlements.
func (s settlementRow) SetOff() money.Amount {
	sum := int64(0)
	for _, c := range s.Covers {
		if c.SetOff() {
			sum += c.Amount
		}
	}
	return usd(sum)
}

// About is the key of the text that says what its status means.
func (s settlementRow) About() string { return "settlement_" + string(s.Status) + "_about" }

// coverRow is what a part of a settlement's net is paid out by or set off against.
type coverRow struct {
	withdrawalRow        // without a status for a set-off
	ID, At        string // At is the address of its page
	Part          money.Amount
}

// coversOf are the withdrawals that cover a settlement, and what it is set off against. A withdrawal of another shop of the merchant
// has its page there.
func (m *moneyPages) coversOf(r *http.Request, v *frame.Visit, s pay.Settlement) (rows []coverRow, err error) {
	list, err := m.Uses.Settlements.WithdrawalsOf(r.Context(), s)
	made := map[string]pay.Withdrawal{}
	for _, w := range list {
		made[w.ID] = w
	}
	for _, c := range s.Covers {
		row := coverRow{ID: c.By, At: m.in(v, v.Shop.ID, "settlements/"+c.By), Part: usd(c.Amount)}
		if w, read := made[c.By]; read {
			row.withdrawalRow, row.At = withdrawalRow{Withdrawal: w}, m.in(v, w.Shop, "withdrawals/"+w.ID)
		}
		rows = append(rows, row)
	}
	return rows, err
}

// in is the address of a page of a shop of the visit's merchant.
func (m *moneyPages) in(v *frame.Visit, shop, path string) string {
	return m.At("/" + shop + "/" + string(v.Environment()) + "/" + path)
}
