package pay

import (
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

// Payment is the API's Transaction (PAY-4), with what the API hides (SVC-7): its
// attempts, its terms and its place in the books. It is a value; a decision
// returns the next one and the Change that writes it.
type Payment struct {
	ID string // TXN-…
	Scope
	Version  int64  // 1 when created; each written change adds one
	Stored   Status // the status of the row this value was read from, "" when new
	Status   Status
	Sequence int64 // events so far

	Amount money.Amount // USD
	Local  money.Amount // what the shopper pays
	Asked  money.Amount // what the shop asked for, in another currency than USD; else zero
	Rate   money.Rate   // Local for one USD, as used
	// Who told the rate, and of when; "" and zero for US dollars.
	RateSource string
	RateAt     time.Time
	RailID     string
	Method     string
	Country    string // ISO 3166 alpha-3
	OrderID    string // the merchant's own reference, or ""
	Buyer      Buyer
	Purchase   Purchase
	Fees       Fees
	Reserve    int64 // USD cents held back on capture
	Delay      time.Duration
	Sync       bool // the rail answers at once (cards)

	Hosted    bool
	ReturnURL string
	Lang      string // in which the shopper asked for our pages when choosing, or ""
	FormURL   string // where the shopper pays; empty until a provider took it
	Data      PaymentData

	Attempts   []Attempt
	Owner      string   // the node that has a call or an answer of it in hand, or ""
	caller     Caller   // who makes the next call; not stored
	Answered   Status   // the status that the create call replied with, "" before
	Script     Script   // what the sandbox was asked for
	Challenged bool     // the issuer wanted a 3-D Secure challenge
	Failure    *Failure // why it failed or expired
	Captured   int      // order of the attempt that completed it
	Refunded   int64    // minor units of Local, of all refunds that stand
	Given      Parts    // what they give back, in USD
	Disputed   bool     // a chargeback was opened, real or played
	Disputes   []Taking // what disputes hold or took, in the order in which they came
	Held       []Held   // news of disputes that cannot be applied yet
	Strays     []Stray  // money that came late, or of another amount
	// Unsure is since when nobody knows whether the shopper paid, zero where that is known.
	Unsure time.Time
	// CancelAsked is when the shop wanted it canceled, zero: it did not, or was refused.
	CancelAsked time.Time
	After       string // the payment of the same order that came to nothing, which this tries again; or ""
	DisputeFee  int64  // USD cents of a dispute, as agreed when it was made
	Times       Times
	Window      time.Duration // how long the shopper has once a provider took it
	DueAt       time.Time     // when to look again; zero when there is nothing to wait for

	// RefundFees is the merchant's term when the payment was made; "" where that was
	// before there was one, which is FeesReturned.
	RefundFees RefundFees

	Erased time.Time // when the shopper was taken out of it; zero: never

	// Settlement is where the batch stands that claimed the capture, "" where
	// none has. It is known where a merchant reads the payment, and not stored
	// with it.
	Settlement SettlementStatus
}

// Script is what the sandbox was asked to play with a payment; zero in production. It is carried to
// the simulated provider, and nothing is decided by it here.
type Script struct {
	Action string // of the create call, or ""
	Strict bool   // as production does it: a card goes through its issuer's page
}

// Times says when a payment reached each status. Zero: never.
type Times struct {
	Created    time.Time
	Updated    time.Time
	Expires    time.Time // the shopper's deadline
	Completed  time.Time
	Failed     time.Time
	Expired    time.Time
	Refunded   time.Time
	Chargeback time.Time
}

// Buyer is the shopper, as the shop told us.
type Buyer struct {
	// Email stands first: the index of e-mails reads it from the beginning of a payment's document.
	Email    string `json:"email,omitempty"`
	Name     string `json:"name,omitempty"`
	Phone    string `json:"phone,omitempty"`
	IP       string `json:"ip,omitempty"`
	Document string `json:"document,omitempty"`
}

// PaymentData is what the shopper needs to pay on a local rail (PAY-7).
type PaymentData struct {
	QRCode      string `json:"qrCode,omitempty"`
	CLABE       string `json:"clabe,omitempty"`
	Bank        string `json:"bank,omitempty"`
	Beneficiary string `json:"beneficiary,omitempty"`
	Reference   string `json:"reference,omitempty"`
	Barcode     string `json:"barcode,omitempty"`
}

// Failure says why a payment failed (PAY-13).
type Failure struct {
	Code    string `json:"code"` // an error code of the API, or "declined", "expired"
	Decline string `json:"decline,omitempty"`
	Message string `json:"message"`
}

// Order is what a shop asks for, resolved: the rail is known, the amount is
// converted, the terms are the merchant's.
type Order struct {
	ID     string
	Scope  Scope
	Amount money.Amount // USD
	Local  money.Amount
	Asked  money.Amount // in the shop's currency; zero for Amount
	Rate   money.Rate
	// Who told the rate, and of when; "" and zero for US dollars.
	RateSource string
	RateAt     time.Time
	Rail       Rail
	Country    string
	OrderID    string
	Buyer      Buyer
	Purchase   Purchase
	Hosted     bool
	ReturnURL  string
	Lang       string // of the pages, as the shopper asked for it, or ""
	Terms      Terms
	Script     Script
	After      string // the payment that this tries again, or ""
}

// Create opens a payment. It is not written yet: Try or Exhaust returns the
// first Change. What it is worth was checked by Worth.
//
// Errors: unsupported_currency, amount_out_of_limits, missing_field for a document
// that the rail needs.
func Create(o Order, now time.Time) (Payment, error) {
	limit, ok := o.Rail.LimitIn(o.Local.Currency)
	if !ok {
		return Payment{}, FieldError(CodeUnsupportedCurrency, "country",
			fmt.Sprintf("this payment method does not take %s: send a country whose currency it takes; its currencyLimits in GET /payment-methods list them", o.Local.Currency))
	}
	if err := limit.Check(o.Local); err != nil {
		return Payment{}, err
	}
	if o.Rail.Document != "" && o.Buyer.Document == "" {
		return Payment{}, FieldError(CodeMissingField, "documentId",
			fmt.Sprintf("documentId is required: this payment method needs the buyer's document (%s)", o.Rail.Document))
	}
	fees, reserve := o.Terms.charge(o.Amount, o.Rail.Fee)
	asked := o.Asked
	if asked.Currency == money.USD {
		asked = money.Amount{} // it is Amount
	}
	return Payment{
		ID: o.ID, Scope: o.Scope, Status: Processing,
		Amount: o.Amount, Local: o.Local, Asked: asked, Rate: o.Rate, RateSource: o.RateSource, RateAt: o.RateAt,
		RailID: o.Rail.ID, Method: o.Rail.Method, Country: o.Country, OrderID: o.OrderID,
		Buyer: o.Buyer, Purchase: o.Purchase, Fees: fees, Reserve: reserve, Delay: o.Terms.Delay, DisputeFee: o.Terms.ChargebackFee, RefundFees: o.Terms.RefundFees, Sync: o.Rail.Sync,
		Hosted: o.Hosted, ReturnURL: o.ReturnURL, Lang: o.Lang, Window: o.Rail.Window, Script: o.Script, After: o.After,
		Times: Times{Created: now, Updated: now},
	}, nil
}

// Requested is what the shop asked for, in its own currency.
func (p Payment) Requested() money.Amount {
	if p.Asked.Currency != "" {
		return p.Asked
	}
	return p.Amount
}

// Net is what the merchant gets on capture, in USD cents.
func (p Payment) Net() int64 { return p.Amount.Minor - p.Fees.Total() - p.Reserve }

// Refundable is what a refund may still give back to the shopper, in the local
// currency: nothing while the payment is disputed.
func (p Payment) Refundable() money.Amount {
	if p.OpenDispute() != "" {
		return money.New(0, p.Local.Currency)
	}
	return p.unrefunded()
}

// unrefunded is what the shopper has not got back, of a payment that can be
// refunded at all.
func (p Payment) unrefunded() money.Amount {
	if _, ok := p.Status.After(Refunding); !ok {
		return money.New(0, p.Local.Currency)
	}
	return money.New(p.Local.Minor-p.Refunded, p.Local.Currency)
}

// Suffix is the id without its prefix; ids of what belongs to the payment are
// made from it, so that the same thing cannot be written twice.
func (p Payment) Suffix() string { return strings.TrimPrefix(p.ID, PaymentPrefix) }

// String tells the payment's story in a failing test.
func (p Payment) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s v%d %s %s (%s) %s", p.ID, p.Version, p.Status, p.Amount, p.Local, p.RailID)
	for _, a := range p.Attempts {
		fmt.Fprintf(&b, "\n  attempt %d at %s: %s %s %s", a.Order, a.Provider, a.Status, a.Code, a.Decline)
	}
	if p.Failure != nil {
		fmt.Fprintf(&b, "\n  failed: %s %s", p.Failure.Code, p.Failure.Message)
	}
	return b.String()
}

// move returns p in the status that verb leads to, with the time noted. The
// caller has checked that the move is allowed; that it is not is our own bug.
func (p Payment) move(v Verb, now time.Time) Payment {
	next, ok := p.Status.After(v)
	if !ok {
		panic(fmt.Sprintf("pay: %s of a %s payment", v, p.Status))
	}
	p.Status = next
	switch next {
	case Completed:
		p.Times.Completed = now
	case Failed:
		p.Times.Failed = now
	case Expired:
		p.Times.Expired = now
	case Refunded:
		p.Times.Refunded = now
	case Chargeback:
		p.Times.Chargeback = now
	}
	if !next.Open() {
		p.DueAt = time.Time{}
	}
	return p
}

// written returns p as the version after from.
func (p Payment) written(from Payment, now time.Time) Payment {
	p.Version = from.Version + 1
	switch {
	case !p.inHand():
		p.Owner = ""
	case p.caller.Node != "":
		p.Owner = p.caller.Node
	}
	p.Stored = ""
	if from.Version > 0 {
		p.Stored = from.Status
	}
	p.Times.Updated = now
	return p
}

// capture is the transfer of a completed payment (design: Ledger). Its id is
// made from the payment's, so a second capture cannot be written.
func (p Payment) capture(now time.Time) ledger.Transfer {
	return ledger.Transfer{
		ID: "tr_" + p.Suffix() + "-capture", Merchant: p.Merchant, Live: p.Live,
		Kind: ledger.Capture, Payment: p.ID, Local: p.Local, At: now,
		Postings: ledger.Post(
			ledger.Posting{Account: ledger.Receivable, Amount: -p.Amount.Minor},
			ledger.Posting{Account: ledger.PlatformFees, Amount: p.Fees.Platform},
			ledger.Posting{Account: ledger.ProviderFees, Amount: p.Fees.Provider},
			ledger.Posting{Account: ledger.FlatFees, Amount: p.Fees.Flat},
			ledger.Posting{Account: ledger.NetworkFees, Amount: p.Fees.Network},
			ledger.Posting{Account: ledger.Reserve, Amount: p.Reserve},
			ledger.Posting{Account: ledger.Pending, Amount: p.Net()},
		),
	}
}
