package settlements

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

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
	pay.Withdrawal        // without a status for a set-off
	ID, At         string // At is the address of its page
	Part           money.Amount
}

// Out is what left the balance, the fee included.
func (c coverRow) Out() money.Amount { return usd(c.Amount) }

// coversOf are the withdrawals that cover a settlement, and what it is set off against. A withdrawal of another shop of the merchant
// has its page there.
func (p *pages) coversOf(r *http.Request, v *frame.Visit, s pay.Settlement) (rows []coverRow, err error) {
	list, err := p.Uses.Settlements.WithdrawalsOf(r.Context(), s)
	made := map[string]pay.Withdrawal{}
	for _, w := range list {
		made[w.ID] = w
	}
	for _, c := range s.Covers {
		row := coverRow{ID: c.By, At: p.in(v, v.Shop.ID, "settlements/"+c.By), Part: usd(c.Amount)}
		if w, read := made[c.By]; read {
			row.Withdrawal, row.At = w, p.in(v, w.Shop, "withdrawals/"+w.ID)
		}
		rows = append(rows, row)
	}
	return rows, err
}

// in is the address of a page of a shop of the visit's merchant.
func (p *pages) in(v *frame.Visit, shop, path string) string {
	return p.At("/" + shop + "/" + string(v.Environment()) + "/" + path)
}
