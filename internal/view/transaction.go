package view

import (
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Created is the reply to a create call (contract: POST /payments).
type Created struct {
	TransactionID   string            `json:"transactionId" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Status          pay.Status        `json:"status" enum:"pending,processing,completed,failed,expired,refunded,chargeback"`
	Amount          Money             `json:"amount"`
	Currency        string            `json:"currency" enum:"USD"`
	AmountLocal     Money             `json:"amountLocal"`
	CurrencyLocal   money.Currency    `json:"currencyLocal"`
	FxRate          Rate              `json:"fxRate"`
	PaymentMethodID string            `json:"paymentMethodId"`
	PaymentMethod   string            `json:"paymentMethod"`
	Country         string            `json:"country" doc:"ISO 3166 alpha-3"`
	Fees            Fees              `json:"fees"`
	Settlement      CreatedSettlement `json:"settlement"`
	PaymentFormURL  *string           `json:"paymentFormUrl" doc:"Where the shopper pays"`
	CheckoutURL     string            `json:"checkoutUrl,omitempty" doc:"With hostedCheckout only"`
	PaymentData     struct{}          `json:"paymentData"`
	MerchantOrderID *string           `json:"merchantOrderId"`
	ExpiresAt       Time              `json:"expiresAt"`
	Timestamps      Timestamps        `json:"timestamps"`
}

// Transaction is a payment as get, list and events show it.
type Transaction struct {
	ID                    string         `json:"id" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Status                pay.Status     `json:"status" enum:"pending,processing,completed,failed,expired,refunded,chargeback"`
	Amount                Money          `json:"amount"`
	Currency              string         `json:"currency" enum:"USD"`
	AmountLocal           Money          `json:"amountLocal"`
	CurrencyLocal         money.Currency `json:"currencyLocal"`
	PaymentMethodID       string         `json:"paymentMethodId"`
	PaymentMethod         string         `json:"paymentMethod"`
	Country               string         `json:"country" doc:"ISO 3166 alpha-3"`
	Fees                  Fees           `json:"fees"`
	Settlement            Settling       `json:"settlement"`
	PaymentData           *PaymentData   `json:"paymentData,omitempty" doc:"What the shopper needs to pay; not in lists"`
	RefundedAmountLocal   Money          `json:"refundedAmountLocal"`
	RefundableAmountLocal Money          `json:"refundableAmountLocal"`
	Failure               *Failure       `json:"failure"`
	Attention             *Attention     `json:"attention" doc:"Money of this payment that came late or of another amount, until it is dealt with"`
	Timestamps            Timestamps     `json:"timestamps"`
	MerchantOrderID       *string        `json:"merchantOrderId"`
	Refund                *Refund        `json:"refund,omitempty" doc:"In payment.refunded only"`
}

// Fees is the price of a payment in USD.
type Fees struct {
	Platform Money `json:"platform"`
	Provider Money `json:"provider"`
	Network  Money `json:"network"`
	Total    Money `json:"total"`
}

// Settling is how and when a payment's money becomes available.
type Settling struct {
	Type   string `json:"type" enum:"delayed"`
	Delay  string `json:"delay" example:"48h"`
	Status string `json:"status" enum:"pending,settled,paid" doc:"settled: its settlement has closed and the money is available; paid: its payout is confirmed"`
}

// CreatedSettlement is Settling with the reserve.
type CreatedSettlement struct {
	Settling
	Reserve Money `json:"reserve" doc:"USD held back"`
}

// Timestamps says when a payment reached each status.
type Timestamps struct {
	Created    Time  `json:"created"`
	Updated    Time  `json:"updated"`
	Completed  *Time `json:"completed,omitempty"`
	Failed     *Time `json:"failed,omitempty"`
	Expired    *Time `json:"expired,omitempty"`
	Refunded   *Time `json:"refunded,omitempty"`
	Chargeback *Time `json:"chargeback,omitempty"`
}

// Failure says why a payment failed.
type Failure struct {
	Code        string  `json:"code"`
	DeclineCode *string `json:"declineCode"`
	Message     string  `json:"message"`
}

// Attention is money that came otherwise than was asked for, and waits for somebody to
// deal with it (gaps: Late or wrong money).
type Attention struct {
	Code          pay.AttentionCode `json:"code" enum:"late_payment,amount_mismatch" doc:"late_payment: it came after the payment had ended; amount_mismatch: another amount or currency was paid"`
	AmountLocal   Money             `json:"amountLocal" doc:"What came"`
	CurrencyLocal money.Currency    `json:"currencyLocal"`
	ClaimID       *string           `json:"claimId" doc:"The inquiry about late money"`
}

// PaymentData is what the shopper needs to pay (gaps: Transaction).
type PaymentData struct {
	Type            string `json:"type,omitempty" enum:"pix,spei,voucher,redirect"`
	QRCode          string `json:"qrCode,omitempty"`
	QRCodeImageURL  string `json:"qrCodeImageUrl,omitempty"`
	CLABE           string `json:"clabe,omitempty"`
	BankName        string `json:"bankName,omitempty"`
	Beneficiary     string `json:"beneficiary,omitempty"`
	Reference       string `json:"reference,omitempty"`
	Barcode         string `json:"barcode,omitempty"`
	BarcodeImageURL string `json:"barcodeImageUrl,omitempty"`
	VoucherURL      string `json:"voucherUrl,omitempty"`
	ExpiresAt       *Time  `json:"expiresAt,omitempty"`
}

// NewCreated shows a payment as its create call replied, also on a replay.
// checkoutURL is the service's own address for shoppers.
func NewCreated(p pay.Payment, checkoutURL string) Created {
	form, expires := p.FormURL, p.Times.Expires
	if p.Answered == pay.Processing {
		// A replay shows what was known then; both may have come since.
		form, expires = "", time.Time{}
	}
	if expires.IsZero() {
		expires = p.Times.Created.Add(p.Window)
	}
	c := Created{
		TransactionID: p.ID, Status: p.Answered, Amount: Money{p.Amount}, Currency: string(p.Amount.Currency),
		AmountLocal: Money{p.Local}, CurrencyLocal: p.Local.Currency, FxRate: Rate{p.Rate},
		PaymentMethodID: p.RailID, PaymentMethod: p.Method, Country: p.Country, Fees: newFees(p.Fees),
		Settlement:     CreatedSettlement{newSettling(pay.Payment{Delay: p.Delay}), USD(p.Reserve)},
		PaymentFormURL: text(form), MerchantOrderID: text(p.OrderID),
		ExpiresAt: Time{expires}, Timestamps: Timestamps{Created: Time{p.Times.Created}, Updated: Time{p.Times.Created}},
	}
	if p.Hosted {
		c.CheckoutURL = CheckoutURL(checkoutURL, p)
	}
	return c
}

// NewTransaction shows a payment as lists do.
func NewTransaction(p pay.Payment) Transaction {
	t := Transaction{
		ID: p.ID, Status: p.Status, Amount: Money{p.Amount}, Currency: string(p.Amount.Currency),
		AmountLocal: Money{p.Local}, CurrencyLocal: p.Local.Currency,
		PaymentMethodID: p.RailID, PaymentMethod: p.Method, Country: p.Country, Fees: newFees(p.Fees), Settlement: newSettling(p),
		RefundedAmountLocal: Money{money.New(p.Refunded, p.Local.Currency)}, RefundableAmountLocal: Money{p.Refundable()},
		Timestamps: newTimestamps(p.Times), MerchantOrderID: text(p.OrderID),
	}
	if f := p.Failure; f != nil {
		t.Failure = &Failure{Code: f.Code, DeclineCode: text(f.Decline), Message: f.Message}
	}
	if s, open := p.Attention(); open {
		t.Attention = &Attention{Code: s.Code, AmountLocal: Money{s.Local}, CurrencyLocal: s.Local.Currency, ClaimID: text(s.Claim)}
	}
	return t
}

// WithData adds what the shopper needs to pay, as get shows it.
func (t Transaction) WithData(p pay.Payment, checkoutURL string) Transaction {
	d := PaymentData{ExpiresAt: at(p.Times.Expires)}
	image := checkoutURL + "/pay/" + p.ID
	switch p.Method {
	case "pix":
		d.Type, d.QRCode, d.QRCodeImageURL = "pix", p.Data.QRCode, image+"/qr.svg"
	case "spei":
		d.Type, d.CLABE, d.BankName, d.Beneficiary, d.Reference = "spei", p.Data.CLABE, p.Data.Bank, p.Data.Beneficiary, p.Data.Reference
	case "cash", "oxxo", "voucher", "boleto":
		d.Type, d.Reference, d.Barcode, d.BarcodeImageURL = "voucher", p.Data.Reference, p.Data.Barcode, image+"/barcode.svg"
		d.VoucherURL = image
	default:
		d = PaymentData{Type: "redirect"}
	}
	if p.FormURL == "" { // no provider took it
		d = PaymentData{}
	}
	t.PaymentData = &d
	return t
}

func newFees(f pay.Fees) Fees {
	return Fees{USD(f.Platform), USD(f.Provider + f.Flat), USD(f.Network), USD(f.Total())}
}

func newSettling(p pay.Payment) Settling {
	s := Settling{Type: "delayed", Delay: duration(p.Delay), Status: "pending"}
	switch p.Settlement {
	case pay.BatchClosed:
		s.Status = "settled"
	case pay.BatchPaid:
		s.Status = "paid"
	}
	return s
}

func newTimestamps(t pay.Times) Timestamps {
	return Timestamps{
		Created: Time{t.Created}, Updated: Time{t.Updated}, Completed: at(t.Completed), Failed: at(t.Failed),
		Expired: at(t.Expired), Refunded: at(t.Refunded), Chargeback: at(t.Chargeback),
	}
}

// duration writes whole hours as the contract does: 48h.
func duration(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}
