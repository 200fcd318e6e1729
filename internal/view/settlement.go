package view

import (
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Base is the path of the API's root (VER-1).
const Base = "/api/v1"

// Settlement is a batch of a merchant's earnings (SETTLE-10).
type Settlement struct {
	ID               string               `json:"id" example:"STL-06EN7G7FQR8N7M5D5S2Q9K1V3W"`
	Status           pay.SettlementStatus `json:"status" enum:"open,closed,paid" doc:"closed: fixed, and its money is available; paid: withdrawals that cover its net have arrived"`
	PeriodStart      Time                 `json:"periodStart"`
	PeriodEnd        *Time                `json:"periodEnd" nullable:"true" doc:"Payments captured up to here; null while open"`
	Currency         string               `json:"currency" enum:"USD"`
	TransactionCount int64                `json:"transactionCount" doc:"Its lines, refunds and releases included"`
	GrossVolume      Money                `json:"grossVolume" doc:"What shoppers paid"`
	Fees             Fees                 `json:"fees" doc:"Less what refunds gave back"`
	Taxes            []FeeTax             `json:"taxes" doc:"What fees.tax is made of: one for each name and percent. Less what refunds gave back"`
	Refunds          Money                `json:"refunds" doc:"What shoppers got back"`
	Chargebacks      Money                `json:"chargebacks"`
	ChargebackFees   Money                `json:"chargebackFees"`
	ReserveHeld      Money                `json:"reserveHeld"`
	ReserveReleased  Money                `json:"reserveReleased" doc:"Releases, and what refunds gave back of the reserve"`
	Adjustments      Money                `json:"adjustments"`
	NetAmount        Money                `json:"netAmount" doc:"Exactly the sum of its lines: grossVolume - fees.total - refunds - chargebacks - chargebackFees - reserveHeld + reserveReleased + adjustments"`
	PDFURL           *string              `json:"pdfUrl" doc:"null until the receipt is ready"`
	CSVURL           *string              `json:"csvUrl" doc:"null while open"`
	PayoutID         *string              `json:"payoutId" doc:"The latest withdrawal that pays it out automatically, if that was agreed"`
	PayoutReason     *string              `json:"payoutReason" doc:"Why a part is not paid out automatically yet: below_minimum, balance_insufficient (claims hold the money), payout_day, no_wallet, merchant_paused, or why the withdrawal was refused or came back"`
	WithdrawalIDs    []string             `json:"withdrawalIds" doc:"The withdrawals that cover its net, oldest first. A shop with siblings sees its own" example:"[\"wdr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6\"]"`
	Payout           *SettlementPayout    `json:"payout" doc:"How far it is paid out; null while open"`
	CreatedAt        Time                 `json:"createdAt"`
	ClosedAt         *Time                `json:"closedAt" nullable:"true"`
	PaidAt           *Time                `json:"paidAt" nullable:"true"`
}

// SettlementPayout says how far a settlement is paid out (SETTLE-11).
type SettlementPayout struct {
	Status pay.PayoutState   `json:"status" enum:"owed,in_progress,paid,nothing_to_pay" doc:"owed: a part is covered by nothing; in_progress: withdrawals cover all of it, and some have not arrived; nothing_to_pay: its net is zero or a debt, or was set off"`
	Amount Money             `json:"amount" doc:"What withdrawals cover of its net, arrived or not"`
	Owed   Money             `json:"owed" doc:"What nothing covers yet; below zero: a debt that later settlements are set off against"`
	Covers []SettlementCover `json:"covers" doc:"What its net is paid out by or set off against"`
}

// SettlementCover is a part of a settlement's net.
type SettlementCover struct {
	WithdrawalID *string `json:"withdrawalId" example:"wdr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6" doc:"The withdrawal that pays the part out; null too if it is of another shop of the merchant"`
	SettlementID *string `json:"settlementId" example:"STL-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6" doc:"The settlement that the part is set off against"`
	Amount       Money   `json:"amount" doc:"USD; below zero: this settlement is a debt"`
	Paid         bool    `json:"paid" doc:"The withdrawal has arrived, or it is a set-off"`
}

func newSettlementPayout(s pay.Settlement) *SettlementPayout {
	if s.Status == pay.BatchOpen {
		return nil
	}
	v := &SettlementPayout{Status: s.PayoutState(), Amount: USD(s.PaidOut()), Owed: USD(s.Uncovered()), Covers: []SettlementCover{}}
	for _, c := range s.Covers {
		part := SettlementCover{Amount: USD(c.Amount), Paid: c.Paid}
		if c.SetOff() {
			part.SettlementID = text(c.By)
		} else {
			part.WithdrawalID = text(c.By)
		}
		v.Covers = append(v.Covers, part)
	}
	return v
}

// NewSettlement shows a settlement. publicURL is the service's own address.
func NewSettlement(s pay.Settlement, publicURL string) Settlement {
	v := Settlement{
		ID: s.ID, Status: s.Status, PeriodStart: Time{s.PeriodStart}, Currency: string(money.USD), TransactionCount: s.Lines,
		GrossVolume: USD(s.Gross), Fees: newFees(s.Totals.Fees()), Taxes: []FeeTax{}, Refunds: USD(s.Refunds), Chargebacks: USD(s.Chargebacks),
		ChargebackFees: USD(s.ChargebackFees), ReserveHeld: USD(s.Held), ReserveReleased: USD(s.Released),
		Adjustments: USD(s.Adjustments), NetAmount: USD(s.Net),
		PayoutID: text(s.Payout), PayoutReason: text(s.PayoutWhy), WithdrawalIDs: append([]string{}, s.Withdrawals()...), Payout: newSettlementPayout(s),
		CreatedAt: Time{s.CreatedAt}, ClosedAt: at(s.ClosedAt), PaidAt: at(s.PaidAt),
	}
	for _, t := range s.Taxes {
		v.Taxes = append(v.Taxes, FeeTax{t.Name, Percent(t.Bps), USD(t.Amount)})
	}
	if s.Status == pay.BatchOpen {
		return v
	}
	report := publicURL + Base + "/settlements/" + s.ID + "/report?format="
	v.PeriodEnd, v.CSVURL = at(s.PeriodEnd), text(report+"csv")
	if !s.PDFAt.IsZero() {
		v.PDFURL = text(report + "pdf")
	}
	return v
}

// SettlementLine is a settlement's line: a payment, or a later change of one.
type SettlementLine struct {
	Number          int64          `json:"number" doc:"From 1 within the settlement"`
	Type            pay.LineType   `json:"type" enum:"charge,refund,refund_fee,chargeback,chargeback_fee,reserve_release,adjustment"`
	TransactionID   *string        `json:"transactionId"`
	ClaimID         *string        `json:"claimId"`
	MerchantOrderID *string        `json:"merchantOrderId"`
	AmountLocal     Money          `json:"amountLocal"`
	CurrencyLocal   money.Currency `json:"currencyLocal"`
	Amount          Money          `json:"amount" doc:"What the shopper paid; negative: got back"`
	Fees            Fees           `json:"fees" doc:"Negative where a refund gave them back"`
	ChargebackFee   Money          `json:"chargebackFee"`
	Reserve         Money          `json:"reserve" doc:"Held back; negative: given back or released"`
	Adjustment      Money          `json:"adjustment"`
	NetAmount       Money          `json:"netAmount" doc:"amount - fees.total - chargebackFee - reserve + adjustment"`
	CreatedAt       Time           `json:"createdAt"`
}

// NewSettlementLine shows a line.
func NewSettlementLine(l pay.SettlementLine) SettlementLine {
	return SettlementLine{
		Number: l.Number, Type: l.Type, TransactionID: text(l.Payment), ClaimID: text(l.Claim), MerchantOrderID: text(l.OrderID),
		AmountLocal: Money{l.Local}, CurrencyLocal: l.Local.Currency, Amount: USD(l.Amount()), Fees: newTaxedFees(l.Fees(), l.Taxed),
		ChargebackFee: USD(l.ChargebackFee), Reserve: USD(l.Reserve), Adjustment: USD(l.Adjustment), NetAmount: USD(l.Net),
		CreatedAt: Time{l.At},
	}
}

// Movement is one line of a merchant's balance (BAL-5).
type Movement struct {
	ID            string           `json:"id" example:"mov_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6-capture-1"`
	Type          pay.MovementType `json:"type" enum:"charge,fee,refund,claim_freeze,claim_release,claim_debit,chargeback_fee,reserve_hold,reserve_release,settlement,withdrawal,withdrawal_reversal,adjustment"`
	Amount        Money            `json:"amount" doc:"USD; negative: out of the bucket"`
	Bucket        string           `json:"bucket" enum:"pending,available,frozen,reserve"`
	BalanceAfter  Money            `json:"balanceAfter" doc:"Of the bucket"`
	TransactionID *string          `json:"transactionId"`
	ClaimID       *string          `json:"claimId"`
	SettlementID  *string          `json:"settlementId"`
	WithdrawalID  *string          `json:"withdrawalId"`
	AdjustmentID  *string          `json:"adjustmentId" doc:"Of an adjustment by the operator; null otherwise"`
	Reason        *string          `json:"reason" doc:"Why the operator adjusted the balance; null otherwise. The description is the operator's note"`
	Description   string           `json:"description"`
	CreatedAt     Time             `json:"createdAt"`
}

// NewMovements shows movements.
func NewMovements(list []pay.Movement) []Movement {
	shown := make([]Movement, 0, len(list))
	for _, m := range list {
		shown = append(shown, NewMovement(m))
	}
	return shown
}

// NewMovement shows a movement.
func NewMovement(m pay.Movement) Movement {
	return Movement{
		ID: m.ID, Type: m.Type, Amount: USD(m.Amount), Bucket: string(m.Bucket), BalanceAfter: USD(m.BalanceAfter),
		TransactionID: text(m.Payment), ClaimID: text(m.Claim), SettlementID: text(m.Settlement), WithdrawalID: text(m.Withdrawal),
		AdjustmentID: text(m.Adjustment), Reason: text(string(m.Reason)),
		Description: m.Text, CreatedAt: Time{m.At},
	}
}

// Adjustment is money that the operator booked to a merchant's available balance by hand (ADJ-3).
type Adjustment struct {
	ID        string               `json:"id" example:"adj_0000000000AJ0Y3ZK9VQ4T4R1M"`
	Amount    Money                `json:"amount" doc:"USD; negative: from the merchant"`
	Currency  string               `json:"currency" enum:"USD"`
	Bucket    string               `json:"bucket" enum:"available"`
	Reason    pay.AdjustmentReason `json:"reason" doc:"Why, from a list"`
	Note      string               `json:"note" doc:"Why, in the operator's words"`
	Reverses  *string              `json:"reverses" doc:"The adjustment that it takes back, null for none"`
	CreatedAt Time                 `json:"createdAt"`
}

// NewAdjustment shows an adjustment to its merchant.
func NewAdjustment(a pay.Adjustment) Adjustment {
	return Adjustment{a.ID, USD(a.Amount), string(money.USD), string(ledger.Available), a.Reason, a.Note, text(a.Reverses), Time{a.UpdatedAt}}
}

// Release is a day on which a part of the reserve becomes available.
type Release struct {
	ReleaseAt Time   `json:"releaseAt"`
	Amount    Money  `json:"amount"`
	Currency  string `json:"currency" enum:"USD"`
	Percent   Rate   `json:"percent" doc:"Of each payment, by the current terms"`
	Status    string `json:"status" enum:"scheduled,due"`
}

// NewReleases shows the days' reserves; bps is the held share in the merchant's terms, in basis points.
func NewReleases(list []pay.Reserve, bps int64, now time.Time) []Release {
	shown := make([]Release, 0, len(list))
	for _, v := range list {
		status := "scheduled"
		if !now.Before(v.ReleaseAt) {
			status = "due"
		}
		shown = append(shown, Release{Time{v.ReleaseAt}, USD(v.Remaining()), string(money.USD), Percent(bps), status})
	}
	return shown
}
