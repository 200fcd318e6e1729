package pay

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Payment is the API's Transaction (PAY-4), with data that the API hides (SVC-7): its attempts, its
// terms and its place in the books. It is a value: a decision returns the next value, and the
// Change that writes it.
type Payment struct {
	ID string // TXN-…
	merchants.Scope
	Version  int64  // 1 when created; each written change adds one
	Stored   Status // the status of the row this value was read from, "" when new
	Status   Status
	Sequence int64 // events so far

	Order  PaymentOrder
	Price  Price
	Way    Way
	Terms  PaymentTerms
	Page   PaymentPage
	Script Script // what the sandbox was asked to play

	Attempts Attempts
	Work     PaymentWork
	End      PaymentEnd
	Refunds  Refunds
	Disputes Disputes
	Strays   Strays // money that came late, or of another amount
	Times    Times

	// Settlement is the state of the settlement that collected the capture, "" if none has. It is
	// set when a merchant reads the payment and when a refund is decided of it, and not stored with it.
	Settlement SettlementStatus
}

// PaymentOrder is the shop's order that the payment pays, as the shop described it.
type PaymentOrder struct {
	ID       string // the shop's own reference, or ""
	Buyer    Buyer
	Purchase Purchase
	After    string // the failed payment of the same order that this one tries again; or ""
	Link     string // the payment link through which the shopper came; or ""
}

// Price is what the shopper pays, and its value in USD.
type Price struct {
	Amount money.Amount // USD
	Local  money.Amount // in the currency in which the shopper pays
	Asked  money.Amount // the shop's amount, if it is not in USD; else zero
	Rate   money.Rate   // Local for one USD, as used
	Source string       // source of the rate; "" for US dollars
	At     time.Time    // time of the rate; zero for US dollars
}

// Way is how the shopper pays: the method as it was when it was chosen.
type Way struct {
	RailID  string
	Method  string
	Country string        // ISO 3166 alpha-3
	Sync    bool          // the rail answers at once (cards)
	Window  time.Duration // how long the shopper has once a provider accepted the payment
}

// PaymentTerms is what was agreed with the merchant when the payment was made.
type PaymentTerms struct {
	Plan         string // the price plan and its version, such as gold/3
	Fees         merchants.Fees
	Taxed        merchants.TaxRate // on Fees, Dispute and Refund
	Reserve      int64             // USD cents held back on capture
	ReserveDays  int               // how long they are held
	Delay        time.Duration
	Dispute      Charge               // for a dispute, as agreed when the payment was made
	Refund       Charge               // for each refund, alike
	RefundFees   merchants.RefundFees // the merchant's term when the payment was made
	Installments installment.Terms    // that the shopper may choose; zero: pays at once
}

// Charge is what a service costs a merchant, in USD cents, and the tax on it.
type Charge struct {
	Fee int64 `json:"fee,omitempty"`
	Tax int64 `json:"tax,omitempty"`
}

// Total is what the merchant pays.
func (c Charge) Total() int64 { return c.Fee + c.Tax }

// chargeOf is a fee with the tax that the terms put on it.
func chargeOf(t merchants.Terms, fee int64) Charge { return Charge{fee, t.Tax(fee)} }

// PaymentPage is what the shopper sees of the payment, and where.
type PaymentPage struct {
	Hosted    bool
	Opened    time.Time // when the shop opened the checkout in which the shopper chose, now or at an earlier try; else zero
	ReturnURL string
	Lang      string // language that the shopper chose for our pages, or ""
	FormURL   string // where the shopper pays; empty until a provider accepts the payment
	Data      PaymentData
	// Challenged: the issuer wanted a 3-D Secure challenge, which is at FormURL.
	Challenged bool
}

// PaymentWork says which node works on a payment, whether its create call was answered, and when to
// look again.
type PaymentWork struct {
	Owner    string    // the node that is handling a call of it, or the call's answer; or ""
	caller   Caller    // the node that makes the next call; not stored
	Answered Status    // the status that the create call replied with, "" before that
	DueAt    time.Time // when to look again; zero if there is nothing to wait for
}

// PaymentEnd is how a payment ended; zero while it is open.
type PaymentEnd struct {
	Failure  *Failure         // why it failed or expired
	Captured int              // order of the attempt that completed it
	Plan     installment.Plan // of installments that the shopper chose; zero: paid at once, or not known
}

// Refunds is what went back to the shopper, in all refunds that have not failed.
type Refunds struct {
	Local int64 // minor units of Price.Local
	USD   Parts // which parts of it the merchant and the fee earners give back
}

// Disputes is what disputes took of the payment, or hold now.
type Disputes struct {
	Any     bool           // a chargeback was opened, real or played
	Entries []DisputeEntry // what disputes hold or took, in the order in which they came
	Held    []Held         // news of disputes that cannot be applied yet
}

// Times says when a payment reached each status, and when other things happened to it; zero if they
// did not.
type Times struct {
	Created     time.Time
	Updated     time.Time
	Expires     time.Time // the shopper's deadline
	Unsure      time.Time // when it became unknown whether the shopper paid; zero if it is known
	CancelAsked time.Time // when the shop asked to cancel it; zero if it did not, or was refused
	Completed   time.Time
	Failed      time.Time
	Expired     time.Time
	Refunded    time.Time
	Chargeback  time.Time
	Erased      time.Time // when the shopper's data was erased
}

// Buyer is the shopper, as the shop reported it.
type Buyer struct {
	Email    string `json:"email,omitempty"`
	Name     string `json:"name,omitempty"`
	Phone    string `json:"phone,omitempty"`
	IP       string `json:"ip,omitempty"`
	Document string `json:"document,omitempty"`
}

// Or returns the buyer with those fields replaced that are not empty in told, what the shopper has typed now.
func (b Buyer) Or(told Buyer) Buyer {
	return Buyer{
		Email: cmp.Or(told.Email, b.Email), Name: cmp.Or(told.Name, b.Name), Phone: cmp.Or(told.Phone, b.Phone),
		IP: cmp.Or(told.IP, b.IP), Document: cmp.Or(told.Document, b.Document),
	}
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

// Order is a shop's request for a payment, resolved: the rail is known, the amount is converted,
// the terms are the merchant's.
type Order struct {
	ID     string
	Scope  merchants.Scope
	Amount money.Amount // USD
	Local  money.Amount
	Asked  money.Amount // in the shop's currency; zero if that is USD (Amount)
	Rate   money.Rate
	// Source and time of the rate; "" and zero for US dollars.
	RateSource string
	RateAt     time.Time
	Rail       accounts.Rail
	Country    string
	OrderID    string
	Buyer      Buyer
	Purchase   Purchase
	Hosted     bool
	Opened     time.Time // as PaymentPage has it
	ReturnURL  string
	Lang       string // language that the shopper chose for our pages, or ""
	Terms      merchants.Terms
	Reserved   int64 // USD cents that the merchant's reserve holds, if the terms have a cap
	Script     Script
	After      string // the payment that this one tries again, or ""
	Link       string // the payment link through which the shopper came, or ""
	// Installments that the shopper may choose, within the merchant's terms; zero: pays at once.
	Installments installment.Terms
}

// Create opens a payment. It is not written yet: Try or Exhaust returns the first Change. Worth has
// checked its value.
//
// Errors: unsupported_currency, amount_out_of_limits, missing_field for a document that the rail
// needs.
func Create(o Order, now time.Time) (Payment, error) {
	limit, ok := o.Rail.LimitIn(o.Local.Currency)
	if !ok {
		return Payment{}, problem.Field(problem.UnsupportedCurrency, "country",
			currencyNotTaken.With(o.Local.Currency))
	}
	if err := limit.Check(o.Local); err != nil {
		return Payment{}, err
	}
	if o.Rail.Document != "" && o.Buyer.Document == "" {
		return Payment{}, problem.Field(problem.MissingField, "documentId",
			documentRequired.With(o.Rail.Document))
	}
	t := o.Terms
	fees, reserve := t.Charge(merchants.Charged{USD: o.Amount, Cost: o.Rail.Fee, Converted: o.Local.Currency != money.USD, Held: o.Reserved})
	asked := o.Asked
	if asked.Currency == money.USD {
		asked = money.Amount{} // the shop's amount is Amount
	}
	return Payment{
		ID: o.ID, Scope: o.Scope, Status: Processing,
		Order: PaymentOrder{ID: o.OrderID, Buyer: o.Buyer, Purchase: o.Purchase, After: o.After, Link: o.Link},
		Price: Price{Amount: o.Amount, Local: o.Local, Asked: asked, Rate: o.Rate, Source: o.RateSource, At: o.RateAt},
		Way:   Way{RailID: o.Rail.ID, Method: o.Rail.Method, Country: o.Country, Sync: o.Rail.Sync, Window: o.Rail.Window},
		Terms: PaymentTerms{
			Plan: t.Plan, Fees: fees, Taxed: t.Taxed, Reserve: reserve, ReserveDays: t.ReserveDays, Delay: t.Delay,
			Dispute: chargeOf(t, t.ChargebackFee), Refund: chargeOf(t, t.RefundFee), RefundFees: t.RefundFees, Installments: o.Installments,
		},
		Page:   PaymentPage{Hosted: o.Hosted, Opened: o.Opened, ReturnURL: o.ReturnURL, Lang: o.Lang},
		Script: o.Script,
		Times:  Times{Created: now, Updated: now},
	}, nil
}

// Requested is the shop's amount, in its own currency.
func (p Price) Requested() money.Amount {
	if p.Asked.Currency != "" {
		return p.Asked
	}
	return p.Amount
}

// rounding is what a provider owes for an amount in the shopper's currency beyond usd, in USD cents: the merchant's worth is
// rounded down, the provider's debt to the nearest cent.
func (p Price) rounding(local money.Amount, usd int64) int64 {
	if p.Rate.IsZero() {
		return 0
	}
	owed, err := p.Rate.OwedInUSD(local)
	if err != nil { // beyond every amount
		return 0
	}
	return max(0, owed.Minor-usd)
}

// net is what the merchant gets on capture, in USD cents.
func (p *Payment) net() int64 { return p.Price.Amount.Minor - p.Terms.Fees.Total() - p.Terms.Reserve }

// Reference is our name of an attempt at the provider. It is unique and made before the call, so
// that we can query a call that got no answer.
func (p *Payment) Reference(order int) string { return fmt.Sprintf("%s-%d", p.suffix(), order) }

// Get returns the attempt with this order; false if there is none, as for order 0.
func (as Attempts) Get(order int) (Attempt, bool) {
	if order < 1 || order > len(as) {
		return Attempt{}, false
	}
	return as[order-1], true
}

// suffix is the id without its prefix. The ids of everything that belongs to the payment are made
// from it, so that nothing can be written twice.
func (p *Payment) suffix() string { return strings.TrimPrefix(p.ID, PaymentPrefix) }

// String describes the payment in failing tests.
func (p Payment) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s v%d %s %s (%s) %s", p.ID, p.Version, p.Status, p.Price.Amount, p.Price.Local, p.Way.RailID)
	for _, a := range p.Attempts {
		fmt.Fprintf(&b, "\n  attempt %d at %s: %s %s %s", a.Order, a.Provider, a.Status, a.Code, a.Reason())
	}
	if p.End.Failure != nil {
		fmt.Fprintf(&b, "\n  failed: %s %s", p.End.Failure.Code, p.End.Failure.Message)
	}
	return b.String()
}

// Canceled reports whether the payment ended because its shop canceled it or its shopper called it
// off: see WayChanged.
func (e PaymentEnd) Canceled() bool { return e.Failure != nil && e.Failure.Code == failedCanceled }

// Reversed reports whether the payment failed because the provider gave all of it back before it was
// completed: the shopper was charged, and has the money.
func (e PaymentEnd) Reversed() bool { return e.Failure != nil && e.Failure.Code == failedReversed }

// written gives p the version after from's.
func (p *Payment) written(from *Payment, now time.Time) {
	p.Version = from.Version + 1
	switch {
	case !p.inHand():
		p.Work.Owner = ""
	case p.Work.caller.Node != "":
		p.Work.Owner = p.Work.caller.Node
	}
	p.Stored = ""
	if from.Version > 0 {
		p.Stored = from.Status
	}
	p.Times.Updated = now
}

// inHand reports whether a node has something to finish: a call, or a create call without a reply.
func (p *Payment) inHand() bool {
	a, ok := p.Attempts.Current()
	return ok && p.Status.Open() && (a.Status == Sending || p.Work.Answered == "")
}

// transferID is the id of a transfer that a step of a payment, a claim, a settlement or a withdrawal makes. suffix is the id
// of that without its prefix, so that the same step cannot be booked twice.
func transferID(suffix, step string) string { return ledger.TransferPrefix + suffix + "-" + step }

// transfersOf returns the range of the ids that transferID makes of a suffix: first is inclusive, after exclusive.
func transfersOf(suffix string) (first, after string) {
	first = transferID(suffix, "")
	return first, first[:len(first)-1] + "." // the dot follows the hyphen in the order of characters
}

// Worth is the value of a shop's amount in USD, at the rate of its currency, rounded down. It is the check
// of a payment's amount (PAY-14), and every way to create a payment uses it. The API tells of dollars beyond MaxAmount
// earlier, with a request's other issues.
//
// Errors: amount_invalid, amount_above_maximum.
func Worth(asked money.Amount, rate money.Rate) (money.Amount, error) {
	usd, err := rate.ToUSD(asked)
	if err != nil { // too large to convert
		usd = money.New(accounts.MaxAmount+1, money.USD)
	}
	return usd, checkWorth(usd, asked)
}

// checkWorth checks an amount by its value in USD. Its errors name the amount as the shop wrote it.
func checkWorth(usd, asked money.Amount) error {
	dollars := asked.Currency == money.USD
	switch {
	case usd.IsPositive() && usd.Minor <= accounts.MaxAmount:
		return nil
	case usd.IsPositive() && dollars:
		return problem.Field(problem.AmountAboveMaximum, "amount", accounts.AboveMaximum.With(accounts.MaxAmountText))
	case usd.IsPositive():
		return problem.Field(problem.AmountAboveMaximum, "amount",
			worthTooMuch.With(asked, accounts.MaxAmountText, asked.Currency))
	case asked.IsPositive() && !dollars:
		return problem.Field(problem.AmountInvalid, "amount", worthTooLittle.With(asked))
	}
	return problem.Field(problem.AmountInvalid, "amount", amountNotPositive)
}

// Purchase is the shop's description of what is paid for (PAY-21). Nothing depends on it. It may
// contain personal data, so it is erased with the shopper (Erase). Its map and list are never
// changed once set.
type Purchase struct {
	Metadata    map[string]string // nil for none
	Description string
	Items       []LineItem
}

// Limits of a purchase, in characters and number of entries (PAY-21).
const (
	MaxMetadata      = 50
	MaxMetadataKey   = 40
	MaxMetadataValue = 500
	MaxDescription   = 500
	MaxItems         = 100
	MaxItemName      = 200
	MaxSKU           = 100
)

// IsZero reports whether the shop described nothing.
func (p Purchase) IsZero() bool {
	return len(p.Metadata) == 0 && p.Description == "" && len(p.Items) == 0
}

// Status is the state of a payment (PAY-22).
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
	Await     Verb = "await"    // a provider accepted it; the shopper has to act
	Retry     Verb = "retry"    // the shopper was refused on a card's page, and tries another provider's
	Complete  Verb = "complete" // the shopper paid
	Fail      Verb = "fail"     // declined, exhausted or abandoned
	Expire    Verb = "expire"   // the window has passed
	Refunding Verb = "refund"   // money goes back, in full or in part
	Dispute   Verb = "dispute"  // the issuer takes the money back
)

// Verbs lists all verbs.
func Verbs() []Verb { return []Verb{Await, Retry, Complete, Fail, Expire, Refunding, Dispute} }

// moves is the life cycle: status × verb → the next status. A move that is not listed is not
// allowed. A refund after a dispute leaves the status chargeback. Processing does not expire: its outcome is unknown, and only the provider's answer may
// end it (UNK-1).
var moves = map[Status]map[Verb]Status{
	Processing: {Await: Pending, Complete: Completed, Fail: Failed},
	Pending:    {Retry: Processing, Complete: Completed, Fail: Failed, Expire: Expired},
	Completed:  {Refunding: Refunded, Dispute: Chargeback},
	Refunded:   {Refunding: Refunded, Dispute: Chargeback},
	Failed:     {},
	Expired:    {},
	Chargeback: {Refunding: Chargeback}, // what no dispute took can still go back
}

// After returns the status to which the verb leads from s, and whether the move is allowed.
func (s Status) After(v Verb) (Status, bool) {
	next, ok := moves[s][v]
	return next, ok
}

// Valid reports whether s is one of the seven.
func (s Status) Valid() bool { _, ok := moves[s]; return ok }

// Open reports whether the payment has no final outcome yet.
func (s Status) Open() bool { return s == Pending || s == Processing }

const day = 24 * time.Hour

// DayOf is the start of a time's day, in UTC.
func DayOf(t time.Time) time.Time { return t.UTC().Truncate(day) }

// ReserveID is the id of a day's reserve.
func ReserveID(s merchants.Scope, day time.Time) string {
	return derivedID("rsv_", day, s.Merchant, string(s.Environment()), day.Format(time.DateOnly))
}

// derivedID makes the same id from the same words, on every node: 48 bits of time and 80 of a hash,
// in Crockford's base 32.
func derivedID(prefix string, at time.Time, words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "|")))
	var b [16]byte
	ms := uint64(max(0, at.UnixMilli()))
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	copy(b[6:], sum[:])
	return prefix + base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding).EncodeToString(b[:])
}
