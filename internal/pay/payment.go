package pay

import (
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// Payment is the API's Transaction (PAY-4), with what the API hides (SVC-7): its
// attempts, its terms and its place in the books. It is a value; a decision
// returns the next one and the Change that writes it.
type Payment struct {
	ID string // TXN-…
	tenant.Scope
	Version  int64  // 1 when created; each written change adds one
	Stored   Status // the status of the row this value was read from, "" when new
	Status   Status
	Sequence int64 // events so far

	Price    Price
	Way      Way
	OrderID  string // the merchant's own reference, or ""
	Buyer    Buyer
	Purchase Purchase
	Terms    PaymentTerms
	Page     PaymentPage

	Attempts   []Attempt
	Owner      string   // the node that has a call or an answer of it in hand, or ""
	caller     Caller   // who makes the next call; not stored
	Answered   Status   // the status that the create call replied with, "" before
	Script     Script   // what the sandbox was asked for
	Challenged bool     // the issuer wanted a 3-D Secure challenge
	Failure    *Failure // why it failed or expired
	Captured   int      // order of the attempt that completed it
	Refunds    Refunds
	Disputes   Disputes
	Strays     []Stray // money that came late, or of another amount
	// Unsure is since when nobody knows whether the shopper paid, zero where that is known.
	Unsure time.Time
	// CancelAsked is when the shop wanted it canceled, zero: it did not, or was refused.
	CancelAsked time.Time
	After       string // the payment of the same order that came to nothing, which this tries again; or ""
	Times       Times
	DueAt       time.Time // when to look again; zero when there is nothing to wait for

	Erased time.Time // when the shopper was taken out of it; zero: never

	// Settlement is where the batch stands that claimed the capture, "" where
	// none has. It is known where a merchant reads the payment, and not stored
	// with it.
	Settlement SettlementStatus
}

// Price is what the shopper pays, and what that is worth.
type Price struct {
	Amount money.Amount // USD
	Local  money.Amount // what the shopper pays
	Asked  money.Amount // what the shop asked for, in another currency than USD; else zero
	Rate   money.Rate   // Local for one USD, as used
	Source string       // who told the rate; "" for US dollars
	At     time.Time    // of when the rate is; zero for US dollars
}

// Way is how the shopper pays: the method, as it was when it was chosen.
type Way struct {
	RailID  string
	Method  string
	Country string        // ISO 3166 alpha-3
	Sync    bool          // the rail answers at once (cards)
	Window  time.Duration // how long the shopper has once a provider took it
}

// PaymentTerms is what was agreed with the merchant when the payment was made.
type PaymentTerms struct {
	Fees       tenant.Fees
	Reserve    int64 // USD cents held back on capture
	Delay      time.Duration
	DisputeFee int64 // USD cents of a dispute, as agreed when it was made
	// RefundFees is the merchant's term when the payment was made; "" where that was
	// before there was one, which is FeesReturned.
	RefundFees tenant.RefundFees
}

// PaymentPage is what the shopper sees of the payment, and where.
type PaymentPage struct {
	Hosted    bool
	ReturnURL string
	Lang      string // in which the shopper asked for our pages when choosing, or ""
	FormURL   string // where the shopper pays; empty until a provider took it
	Data      PaymentData
}

// Refunds is what went back to the shopper, of all refunds that stand.
type Refunds struct {
	Local int64 // minor units of Price.Local
	USD   Parts // what the merchant, and who took fees, give back
}

// Disputes is what the issuer took, or wants.
type Disputes struct {
	Any     bool     // a chargeback was opened, real or played
	Takings []Taking // what disputes hold or took, in the order in which they came
	Held    []Held   // news of disputes that cannot be applied yet
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
	Scope  tenant.Scope
	Amount money.Amount // USD
	Local  money.Amount
	Asked  money.Amount // in the shop's currency; zero for Amount
	Rate   money.Rate
	// Who told the rate, and of when; "" and zero for US dollars.
	RateSource string
	RateAt     time.Time
	Rail       acquirer.Rail
	Country    string
	OrderID    string
	Buyer      Buyer
	Purchase   Purchase
	Hosted     bool
	ReturnURL  string
	Lang       string // of the pages, as the shopper asked for it, or ""
	Terms      tenant.Terms
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
		return Payment{}, problem.Field(problem.UnsupportedCurrency, "country",
			fmt.Sprintf("this payment method does not take %s: send a country whose currency it takes; its currencyLimits in GET /payment-methods list them", o.Local.Currency))
	}
	if err := limit.Check(o.Local); err != nil {
		return Payment{}, err
	}
	if o.Rail.Document != "" && o.Buyer.Document == "" {
		return Payment{}, problem.Field(problem.MissingField, "documentId",
			fmt.Sprintf("documentId is required: this payment method needs the buyer's document (%s)", o.Rail.Document))
	}
	fees, reserve := o.Terms.Charge(o.Amount, o.Rail.Fee)
	asked := o.Asked
	if asked.Currency == money.USD {
		asked = money.Amount{} // it is Amount
	}
	return Payment{
		ID: o.ID, Scope: o.Scope, Status: Processing,
		Price: Price{Amount: o.Amount, Local: o.Local, Asked: asked, Rate: o.Rate, Source: o.RateSource, At: o.RateAt},
		Way:   Way{RailID: o.Rail.ID, Method: o.Rail.Method, Country: o.Country, Sync: o.Rail.Sync, Window: o.Rail.Window}, OrderID: o.OrderID,
		Buyer: o.Buyer, Purchase: o.Purchase, Terms: PaymentTerms{Fees: fees, Reserve: reserve, Delay: o.Terms.Delay, DisputeFee: o.Terms.ChargebackFee, RefundFees: o.Terms.RefundFees},
		Page: PaymentPage{Hosted: o.Hosted, ReturnURL: o.ReturnURL, Lang: o.Lang}, Script: o.Script, After: o.After,
		Times: Times{Created: now, Updated: now},
	}, nil
}

// Requested is what the shop asked for, in its own currency.
func (p Payment) Requested() money.Amount {
	if p.Price.Asked.Currency != "" {
		return p.Price.Asked
	}
	return p.Price.Amount
}

// Net is what the merchant gets on capture, in USD cents.
func (p Payment) Net() int64 { return p.Price.Amount.Minor - p.Terms.Fees.Total() - p.Terms.Reserve }

// Refundable is what a refund may still give back to the shopper, in the local
// currency: nothing while the payment is disputed.
func (p Payment) Refundable() money.Amount {
	if p.OpenDispute() != "" {
		return money.New(0, p.Price.Local.Currency)
	}
	return p.unrefunded()
}

// unrefunded is what the shopper has not got back, of a payment that can be
// refunded at all.
func (p Payment) unrefunded() money.Amount {
	if _, ok := p.Status.After(Refunding); !ok {
		return money.New(0, p.Price.Local.Currency)
	}
	return money.New(p.Price.Local.Minor-p.Refunds.Local, p.Price.Local.Currency)
}

// Suffix is the id without its prefix; ids of what belongs to the payment are
// made from it, so that the same thing cannot be written twice.
func (p Payment) Suffix() string { return strings.TrimPrefix(p.ID, PaymentPrefix) }

// String tells the payment's story in a failing test.
func (p Payment) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s v%d %s %s (%s) %s", p.ID, p.Version, p.Status, p.Price.Amount, p.Price.Local, p.Way.RailID)
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
		Kind: ledger.Capture, Payment: p.ID, Local: p.Price.Local, At: now,
		Postings: ledger.Post(
			ledger.Posting{Account: ledger.Receivable, Amount: -p.Price.Amount.Minor},
			ledger.Posting{Account: ledger.PlatformFees, Amount: p.Terms.Fees.Platform},
			ledger.Posting{Account: ledger.ProviderFees, Amount: p.Terms.Fees.Provider},
			ledger.Posting{Account: ledger.FlatFees, Amount: p.Terms.Fees.Flat},
			ledger.Posting{Account: ledger.NetworkFees, Amount: p.Terms.Fees.Network},
			ledger.Posting{Account: ledger.Reserve, Amount: p.Terms.Reserve},
			ledger.Posting{Account: ledger.Pending, Amount: p.Net()},
		),
	}
}

// Worth is what a shop's amount is in USD, at the rate of its currency. It is the one check of a
// payment's amount (PAY-14), and every entry comes by it.
//
// Errors: amount_invalid, amount_above_maximum.
func Worth(asked money.Amount, rate money.Rate) (money.Amount, error) {
	usd, err := rate.ConvertBack(asked, money.USD, money.HalfEven)
	if err != nil { // beyond every amount
		usd = money.New(acquirer.MaxAmount+1, money.USD)
	}
	return usd, checkWorth(usd, asked)
}

// checkWorth checks what an amount is worth in USD, and tells of the amount as the shop asked it.
func checkWorth(usd, asked money.Amount) error {
	dollars := asked.Currency == money.USD
	switch {
	case usd.IsPositive() && usd.Minor <= acquirer.MaxAmount:
		return nil
	case usd.IsPositive() && dollars:
		return problem.Field(problem.AmountAboveMaximum, "amount", acquirer.AboveMaxAmount)
	case usd.IsPositive():
		return problem.Field(problem.AmountAboveMaximum, "amount",
			fmt.Sprintf("%s are worth more than "+acquirer.MaxAmountText+": send less; amount is in units of %s, not in cents", asked, asked.Currency))
	case asked.IsPositive() && !dollars:
		return problem.Field(problem.AmountInvalid, "amount", fmt.Sprintf("%s are worth less than 0.01 USD: send more", asked))
	}
	return problem.Field(problem.AmountInvalid, "amount", "amount must be greater than zero, such as 49.90")
}

// Purchase is what the shop tells of what is paid for, in words of its own (PAY-21).
// Nothing is decided by it. It may tell of persons, so it goes where the
// shopper goes (Erase). Its map and list are never changed once they are set.
type Purchase struct {
	Metadata    map[string]string // nil for none
	Description string
	Items       []LineItem
}

// LineItem is one thing of a purchase.
type LineItem struct {
	Name     string
	Quantity int64
	Unit     money.Amount // the price of one, in the currency that the shop asked in; below zero for what is taken off
	SKU      string       // the shop's own number of it, or ""
}

// Bounds of a purchase, in characters and pieces (PAY-21).
const (
	MaxMetadata      = 50
	MaxMetadataKey   = 40
	MaxMetadataValue = 500
)

// IsZero reports whether the shop told nothing.
func (p Purchase) IsZero() bool {
	return len(p.Metadata) == 0 && p.Description == "" && len(p.Items) == 0
}

// Status is where a payment stands (PAY-22).
type Status string

// The seven statuses.
const (
	Pending    Status = "pending"
	Processing Status = "processing"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Expired    Status = "expired"
	Refunded   Status = "refunded"
	Chargeback Status = "chargeback"
)

// Statuses lists all statuses in the order of a payment's life.
func Statuses() []Status {
	return []Status{Processing, Pending, Completed, Failed, Expired, Refunded, Chargeback}
}

// Verb is something that happens to a payment.
type Verb string

// The verbs of the life cycle.
const (
	Await     Verb = "await"    // the provider took it; the customer has to act
	Complete  Verb = "complete" // the customer paid
	Fail      Verb = "fail"     // declined, exhausted or abandoned
	Expire    Verb = "expire"   // the window has passed
	Refunding Verb = "refund"   // money goes back, in full or in part
	Dispute   Verb = "dispute"  // the issuer takes the money back
)

// Verbs lists all verbs.
func Verbs() []Verb { return []Verb{Await, Complete, Fail, Expire, Refunding, Dispute} }

// moves is the life cycle: status × verb → the next status. What is not in
// it is not allowed. Processing does not expire: its outcome is unknown, and
// only the provider's answer may end it (UNK-1).
var moves = map[Status]map[Verb]Status{
	Processing: {Await: Pending, Complete: Completed, Fail: Failed},
	Pending:    {Complete: Completed, Fail: Failed, Expire: Expired},
	Completed:  {Refunding: Refunded, Dispute: Chargeback},
	Refunded:   {Refunding: Refunded, Dispute: Chargeback},
	Failed:     {},
	Expired:    {},
	Chargeback: {},
}

// After returns the status that verb leads to from s, and whether the move is
// allowed.
func (s Status) After(v Verb) (Status, bool) {
	next, ok := moves[s][v]
	return next, ok
}

// Valid reports whether s is one of the seven.
func (s Status) Valid() bool { _, ok := moves[s]; return ok }

// Open reports whether the payment still waits for its outcome.
func (s Status) Open() bool { return s == Pending || s == Processing }
