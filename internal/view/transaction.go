package view

import (
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Created is the reply to a create call (PAY-9).
type Created struct {
	TransactionID     string            `json:"transactionId" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Status            pay.Status        `json:"status" enum:"pending,processing,completed,failed,expired,refunded,chargeback"`
	Amount            Money             `json:"amount"`
	Currency          string            `json:"currency" enum:"USD"`
	AmountLocal       Money             `json:"amountLocal"`
	CurrencyLocal     money.Currency    `json:"currencyLocal"`
	FxRate            Rate              `json:"fxRate"`
	PaymentMethodID   string            `json:"paymentMethodId"`
	PaymentMethod     string            `json:"paymentMethod"`
	Country           string            `json:"country" doc:"ISO 3166 alpha-3"`
	Fees              Fees              `json:"fees"`
	Settlement        CreatedSettlement `json:"settlement"`
	PaymentFormURL    *string           `json:"paymentFormUrl" doc:"Where the shopper pays"`
	CheckoutURL       string            `json:"checkoutUrl,omitempty" doc:"With hostedCheckout only"`
	PaymentData       PaymentData       `json:"paymentData" doc:"Empty unless the request has paymentData in expand"`
	MerchantOrderID   *string           `json:"merchantOrderId"`
	ExpiresAt         Time              `json:"expiresAt"`
	Timestamps        Timestamps        `json:"timestamps"`
	AmountRequested   *Money            `json:"amountRequested,omitempty" doc:"What the shop asked for, in currencyRequested; absent if it asked in USD"`
	CurrencyRequested money.Currency    `json:"currencyRequested,omitempty"`
	Description       string            `json:"description,omitempty" doc:"As the shop sent it"`
	Metadata          map[string]string `json:"metadata,omitempty" doc:"As the shop sent it"`
	LineItems         []LineItem        `json:"lineItems,omitempty" doc:"As the shop sent them"`
}

// Transaction is a payment as get, lists and events show it.
type Transaction struct {
	ID                    string            `json:"id" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Status                pay.Status        `json:"status" enum:"pending,processing,completed,failed,expired,refunded,chargeback"`
	Amount                Money             `json:"amount"`
	Currency              string            `json:"currency" enum:"USD"`
	AmountLocal           Money             `json:"amountLocal"`
	CurrencyLocal         money.Currency    `json:"currencyLocal"`
	PaymentMethodID       string            `json:"paymentMethodId"`
	PaymentMethod         string            `json:"paymentMethod"`
	Country               string            `json:"country" doc:"ISO 3166 alpha-3"`
	Fees                  Fees              `json:"fees"`
	Settlement            Settling          `json:"settlement"`
	PaymentData           *PaymentData      `json:"paymentData,omitempty" doc:"What the shopper needs to pay; not in lists"`
	RefundedAmountLocal   Money             `json:"refundedAmountLocal"`
	RefundableAmountLocal Money             `json:"refundableAmountLocal"`
	Failure               *Failure          `json:"failure"`
	Tries                 []Try             `json:"tries,omitempty" doc:"The shopper's tries that did not pay, oldest first; absent if there are none"`
	Installments          *Installments     `json:"installments" doc:"How the shopper paid in installments; null: at once, or not known"`
	Disputes              []Dispute         `json:"disputes,omitempty" doc:"The disputes of the transaction, oldest first; absent if there are none"`
	Attention             *Attention        `json:"attention" doc:"Money for this payment that came late or with another amount, until that is resolved"`
	Timestamps            Timestamps        `json:"timestamps"`
	MerchantOrderID       *string           `json:"merchantOrderId"`
	AmountRequested       *Money            `json:"amountRequested,omitempty" doc:"What the shop asked for, in currencyRequested; absent if it asked in USD"`
	CurrencyRequested     money.Currency    `json:"currencyRequested,omitempty"`
	Description           string            `json:"description,omitempty" doc:"As the shop sent it" personal:"text"`
	Metadata              map[string]string `json:"metadata,omitempty" doc:"As the shop sent it" personal:"pairs"`
	LineItems             []LineItem        `json:"lineItems,omitempty" doc:"As the shop sent them"`
	FxRate                *Rate             `json:"fxRate,omitempty" doc:"Local currency for one USD"`
	PaymentFormURL        *string           `json:"paymentFormUrl,omitempty" doc:"Where the shopper pays"`
	CheckoutURL           string            `json:"checkoutUrl,omitempty" doc:"With hostedCheckout" personal:"address"`
	ExpiresAt             *Time             `json:"expiresAt,omitempty" doc:"The shopper's deadline"`
	UserName              *string           `json:"userName,omitempty" doc:"As the shop or the shopper gave it" personal:"text"`
	UserEmail             *string           `json:"userEmail,omitempty" doc:"As the shop or the shopper gave it" personal:"text"`
	PaymentLinkID         string            `json:"paymentLinkId,omitempty" doc:"The payment link through which the shopper came"`
	DocumentID            *string           `json:"documentId,omitempty" doc:"As the shop or the shopper gave it" personal:"text"`
	Refund                *Refund           `json:"refund,omitempty" doc:"In payment.refunded only"`
}

// LineItem is one item of a purchase, as the shop described it.
type LineItem struct {
	Name       string `json:"name" personal:"text"`
	Quantity   Number `json:"quantity"`
	UnitAmount Number `json:"unitAmount" doc:"In the currency that the shop asked in"`
	SKU        string `json:"sku,omitempty" personal:"text"`
}

// Fees is the price of a payment in USD.
type Fees struct {
	Platform Money  `json:"platform"`
	Provider Money  `json:"provider"`
	Network  Money  `json:"network"`
	Tax      *Money `json:"tax,omitempty" doc:"On the other fees; left out if there is none"`
	TaxName  string `json:"taxName,omitempty" doc:"Of the tax; left out with it, and in a settlement's sums, whose taxes lists each" example:"IVA"`
	TaxRate  *Rate  `json:"taxPercent,omitempty" doc:"Percent of the other fees; left out with taxName" example:"16"`
	Total    Money  `json:"total"`
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

// Try is a try of the shopper that did not pay, as the issuer or the provider reported it (PAY-38).
type Try struct {
	At          Time            `json:"at"`
	Outcome     decline.Outcome `json:"outcome" enum:"declined,blocked,authentication_failed,abandoned,error" doc:"blocked: for suspected fraud; authentication_failed: 3-D Secure; abandoned: the shopper began and left; error: the issuer or the provider did not work"`
	Code        string          `json:"code" doc:"As failure.code"`
	DeclineCode *string         `json:"declineCode" doc:"As failure.declineCode"`
}

func newTries(p *pay.Payment) (list []Try) {
	for _, t := range p.Attempts.Tries() {
		f := p.Way.Refused(t)
		list = append(list, Try{Time{time.UnixMicro(t.At).UTC()}, t.Reason.Meaning().Outcome, f.Code, text(f.Decline)})
	}
	return list
}

// Dispute is a dispute of a payment, as its claim has it (CLAIM-16).
type Dispute struct {
	ClaimID string          `json:"claimId" example:"CLM-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Status  pay.ClaimStatus `json:"status" enum:"pending,needs_evidence,under_review,approved,rejected,expired,withdrawn"`
	Outcome *string         `json:"outcome" doc:"null until it is resolved; approved: the shopper has the money; rejected or withdrawn: it is the merchant's"`
	Amount  Money           `json:"amount" doc:"Local currency, as the claim's; it may be a part of the transaction"`
}

func newDisputes(p *pay.Payment) (list []Dispute) {
	for _, t := range p.Disputes.Entries {
		list = append(list, Dispute{t.Claim, t.Status, outcome(t.Status), Money{t.Disputed(p.Price)}})
	}
	return list
}

// Attention is money that came late or in another amount, and waits for somebody to deal with it (LATE-6).
type Attention struct {
	Code          pay.AttentionCode `json:"code" enum:"late_payment,paid_twice,amount_mismatch" doc:"late_payment: it came after the payment had ended; paid_twice: the payment had been paid before; amount_mismatch: another amount or currency was paid"`
	AmountLocal   Money             `json:"amountLocal" doc:"The amount that arrived"`
	CurrencyLocal money.Currency    `json:"currencyLocal"`
	ClaimID       *string           `json:"claimId" doc:"The inquiry about late money"`
}

// PaymentData is what the shopper needs to pay (PAY-7).
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

// NewCreated shows a payment as its create call replied, also on a replay. checkoutURL is the service's
// address for shoppers.
func NewCreated(p *pay.Payment, checkoutURL, key string) Created {
	if p.Work.Answered == pay.Processing {
		// A replay shows the state at creation; all these may have come since.
		created := *p
		p = &created
		p.Page.FormURL, p.Page.Data, p.Times.Expires = "", pay.PaymentData{}, time.Time{}
	}
	c := Created{
		TransactionID: p.ID, Status: p.Work.Answered, Amount: Money{p.Price.Amount}, Currency: string(p.Price.Amount.Currency),
		AmountLocal: Money{p.Price.Local}, CurrencyLocal: p.Price.Local.Currency, FxRate: Rate{p.Price.Rate},
		PaymentMethodID: p.Way.RailID, PaymentMethod: p.Way.Method, Country: p.Way.Country, Fees: newTaxedFees(p.Terms.Fees, p.Terms.Taxed),
		Settlement:     CreatedSettlement{newSettling(&pay.Payment{Terms: pay.PaymentTerms{Delay: p.Terms.Delay}}), USD(p.Terms.Reserve)},
		PaymentFormURL: formURL(p, checkoutURL), MerchantOrderID: text(p.Order.ID),
		ExpiresAt: Time{deadline(p)}, Timestamps: Timestamps{Created: Time{p.Times.Created}, Updated: Time{p.Times.Created}},
	}
	c.AmountRequested, c.CurrencyRequested = requested(p)
	c.Description, c.Metadata, c.LineItems = p.Order.Purchase.Description, p.Order.Purchase.Metadata, newLineItems(p.Order.Purchase.Items)
	if p.Page.Hosted {
		c.CheckoutURL = Keyed(CheckoutURL(checkoutURL, p), key)
	}
	if form := c.PaymentFormURL; form != nil && strings.HasSuffix(*form, PageURL("", p.ID)) { // ours, also under an earlier public address
		c.PaymentFormURL = text(Keyed(*form, key))
	}
	return c
}

// WithData adds what the shopper needed to pay when the create call replied.
func (v Created) WithData(p *pay.Payment, checkoutURL string) Created {
	if p.Work.Answered != pay.Processing {
		v.PaymentData = newPaymentData(p, checkoutURL)
	}
	return v
}

// formURL is where a direct charge is paid. For a hosted checkout it is our own page or nil: the integrator
// never sees the provider's page (CHK-1).
func formURL(p *pay.Payment, checkoutURL string) *string {
	if p.Page.Hosted && p.Page.FormURL != PageURL(checkoutURL, p.ID) {
		return nil
	}
	return text(p.Page.FormURL)
}

// deadline is the end of the shopper's payment window.
func deadline(p *pay.Payment) time.Time {
	if p.Times.Expires.IsZero() {
		return p.Times.Created.Add(p.Way.Window)
	}
	return p.Times.Expires
}

// requested is the amount that the shop requested, if not in USD.
func requested(p *pay.Payment) (*Money, money.Currency) {
	if p.Price.Asked.Currency == "" {
		return nil, ""
	}
	return &Money{p.Price.Asked}, p.Price.Asked.Currency
}

func newLineItems(items []pay.LineItem) (list []LineItem) {
	for _, i := range items {
		list = append(list, LineItem{i.Name, Number{i.Numbers().Quantity}, Number{i.Numbers().Unit}, i.SKU})
	}
	return list
}

// NewTransaction shows a payment as lists do.
func NewTransaction(p *pay.Payment, checkoutURL string) Transaction {
	t := Transaction{
		ID: p.ID, Status: p.Status, Amount: Money{p.Price.Amount}, Currency: string(p.Price.Amount.Currency),
		AmountLocal: Money{p.Price.Local}, CurrencyLocal: p.Price.Local.Currency,
		PaymentMethodID: p.Way.RailID, PaymentMethod: p.Way.Method, Country: p.Way.Country, Fees: newTaxedFees(p.Terms.Fees, p.Terms.Taxed), Settlement: newSettling(p),
		RefundedAmountLocal: Money{money.New(p.Refunds.Local, p.Price.Local.Currency)}, RefundableAmountLocal: Money{p.Refundable()},
		Timestamps: newTimestamps(p.Times), MerchantOrderID: text(p.Order.ID),
	}
	t.PaymentLinkID = p.Order.Link
	t.AmountRequested, t.CurrencyRequested = requested(p)
	t.Description, t.Metadata, t.LineItems = p.Order.Purchase.Description, p.Order.Purchase.Metadata, newLineItems(p.Order.Purchase.Items)
	t.Disputes, t.Tries, t.Installments = newDisputes(p), newTries(p), newInstallments(p)
	if f := p.End.Failure; f != nil {
		t.Failure = &Failure{Code: f.Code, DeclineCode: text(f.Decline), Message: f.Message}
	}
	if s, open := p.Strays.Attention(); open {
		t.Attention = &Attention{Code: s.Code, AmountLocal: Money{s.Local}, CurrencyLocal: s.Local.Currency, ClaimID: text(s.Claim)}
	}
	t.FxRate, t.PaymentFormURL, t.ExpiresAt = &Rate{p.Price.Rate}, formURL(p, checkoutURL), &Time{deadline(p)}
	if p.Page.Hosted {
		t.CheckoutURL = CheckoutURL(checkoutURL, p)
	}
	t.UserName, t.UserEmail, t.DocumentID = text(p.Order.Buyer.Name), text(p.Order.Buyer.Email), text(p.Order.Buyer.Document)
	return t
}

// NewTransactionWithData is NewTransaction with what the shopper needs to pay, as get shows it.
func NewTransactionWithData(p *pay.Payment, checkoutURL string) Transaction {
	t := NewTransaction(p, checkoutURL)
	d := newPaymentData(p, checkoutURL)
	t.PaymentData = &d
	return t
}

func newPaymentData(p *pay.Payment, checkoutURL string) PaymentData {
	d := PaymentData{ExpiresAt: at(p.Times.Expires)}
	image := checkoutURL + "/pay/" + p.ID
	switch p.Way.Method {
	case "pix":
		d.Type, d.QRCode, d.QRCodeImageURL = "pix", p.Page.Data.QRCode, image+"/qr.svg"
	case "spei":
		d.Type, d.CLABE, d.BankName, d.Beneficiary, d.Reference = "spei", p.Page.Data.CLABE, p.Page.Data.Bank, p.Page.Data.Beneficiary, p.Page.Data.Reference
	case "cash", "oxxo", "voucher", "boleto":
		d.Type, d.Reference, d.Barcode, d.BarcodeImageURL = "voucher", p.Page.Data.Reference, p.Page.Data.Barcode, image+"/barcode.svg"
		d.VoucherURL = image
	default:
		d = PaymentData{Type: "redirect"}
	}
	if p.Page.FormURL == "" { // no provider accepted it
		d = PaymentData{}
	}
	return d
}

// newTaxedFees is newFees with the name of the tax.
func newTaxedFees(f merchants.Fees, by merchants.TaxRate) Fees {
	fees := newFees(f)
	if fees.Tax != nil && by.Bps != 0 {
		fees.TaxName, fees.TaxRate = by.Name, new(Percent(by.Bps))
	}
	return fees
}

// FeeTax is a tax on fees, with its name.
type FeeTax struct {
	Name    string `json:"name" example:"IVA"`
	Percent Rate   `json:"percent" doc:"Of the fees" example:"16"`
	Amount  Money  `json:"amount" doc:"USD"`
}

// newFeeTax shows the tax that a fee has, nil if there is none.
func newFeeTax(by merchants.TaxRate, cents int64) *FeeTax {
	if cents == 0 {
		return nil
	}
	return &FeeTax{by.Name, Percent(by.Bps), USD(cents)}
}

func newFees(f merchants.Fees) Fees {
	fees := Fees{Platform: USD(f.Platform), Provider: USD(f.Provider + f.Flat), Network: USD(f.Network), Total: USD(f.Total())}
	if f.Tax != 0 {
		fees.Tax = new(USD(f.Tax))
	}
	return fees
}

func newSettling(p *pay.Payment) Settling {
	s := Settling{Type: "delayed", Delay: duration(p.Terms.Delay), Status: "pending"}
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

// duration writes whole hours (PAY-6), such as 48h.
func duration(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}
