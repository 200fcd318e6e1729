package pay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// ErasedText replaces personal text that was erased.
const ErasedText = "[erased]"

// Erasure removes personal data from rows that the books need, and deletes rows that they do not
// need. It is in one Change with the payments and claims that it concerns.
type Erasure struct {
	Payments []string // their notifications lose their bodies, their checkout sessions are deleted
	Claims   []string // their files are deleted
	Events   []Event  // of the claims, with the payload that stays, and no snapshot
	Sessions []string // sessions without a payment
	Notes    []string // objects for which the audit log forgets the operators' notes
}

// Erase removes the shopper from a payment that has ended, and the purchase, which may name the
// shopper. Amounts, times and attempts stay.
//
// Errors: conflict_state if it has not ended, or if its provider is still queried.
func (p Payment) Erase(now time.Time) (Payment, error) {
	if p.Status.Open() {
		return p, problem.New(problem.ConflictState, keptForStatus.With(p.Status))
	}
	if !p.Work.DueAt.IsZero() || !p.Times.Unsure.IsZero() {
		return p, problem.New(problem.ConflictState, keptForProvider)
	}
	if !p.Times.Erased.IsZero() {
		now = p.Times.Erased // also erases data that came since
	}
	from := p
	p.Order.Buyer, p.Order.Purchase, p.Page.ReturnURL, p.Times.Erased = Buyer{}, Purchase{}, "", now
	p.written(&from, now)
	p.Times.Updated = from.Times.Updated // for the merchant the payment has not changed
	return p, nil
}

// Erase removes what the shop wrote on a payment link, which may name the shopper of its only payment. For the merchant the link has not changed.
func (l PaymentLink) Erase() PaymentLink {
	updated := l.UpdatedAt
	l.Purchase, l.ReturnURL = Purchase{}, ""
	return l.written(updated)
}

// Erase removes personal text from a claim that has ended, and returns the removed texts; none if
// there were none.
//
// Errors: conflict_state if it has not ended.
func (c Claim) Erase() (next Claim, words []string, err error) {
	if !c.Status.Terminal() || !c.DueAt.IsZero() {
		return c, nil, problem.New(problem.ConflictState, keptForClaim.With(c.ID))
	}
	erase := func(text *string) {
		if *text != "" && *text != ErasedText {
			words = append(words, *text)
			*text = ErasedText
		}
	}
	list := make([]Evidence, len(c.Evidence)) // values that were handed out do not change
	for i, e := range c.Evidence {
		e.Shut = ""
		if kind := NamedKind(e.Kind); kind != e.Kind {
			words = append(words, e.Kind)
			e.Kind = kind
		}
		erase(&e.Text)
		if e.File != nil {
			file := *e.File
			file.Shut = ""
			erase(&file.Name)
			e.File = &file
		}
		list[i] = e
	}
	c.Evidence = list
	c.Timeline = slices.Clone(c.Timeline)
	for i := range c.Timeline {
		erase(&c.Timeline[i].Note)
	}
	if c.Kind != ChargebackClaim { // for a chargeback the reason is the network's text, not a person's
		erase(&c.Reason)
	}
	if len(words) > 0 {
		c.Version++
	}
	return c, words, nil
}

// NamedKind is a kind of evidence as the API names it. A shop's own kind becomes other.
func NamedKind(kind string) string {
	if slices.Contains(EvidenceKinds(), kind) {
		return kind
	}
	return otherEvidence
}

// EvidenceKinds lists the kinds of evidence that the API and the dashboard name. A shop may send others.
func EvidenceKinds() []string {
	return []string{
		"receipt", "delivery_proof", "customer_communication", "refund_policy", "access_log", "buyer_identity", "product_description",
		"cancellation", "separate_purchase", otherEvidence,
	}
}

const otherEvidence = "other"

// Retained is the progress of the search for data of a kind whose retention period is over.
type Retained struct {
	Kind    string
	Version int64
	Began   time.Time // when this round began
	UpTo    string    // the id up to which the rows were checked
}

// Commitment replaces an address in a row of the hash chain. Whoever has the address and the salt
// can prove the commitment; without the salt, nobody can find out the address.
func Commitment(address, salt string) string {
	if address == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(salt + " " + address))
	return hex.EncodeToString(sum[:])
}

// LineItem is one item of a purchase.
type LineItem struct {
	Name     string
	Quantity int64        // 0 with Told
	Unit     money.Amount // price of one, in the shop's currency; below zero for a discount; 0 with Told
	SKU      string       // the shop's own number of it, or ""

	// Told are the numbers as the shop wrote them, if they are no whole number or no amount of the currency, such as half a
	// kilo at 1.102: they are shown, and nothing is computed from them.
	Told *ToldNumbers
}

// ToldNumbers are the quantity and price of a line item, in plain decimals.
type ToldNumbers struct{ Quantity, Unit string }

// Numbers are the quantity and the price of one, in plain decimals.
func (i LineItem) Numbers() ToldNumbers {
	if i.Told != nil {
		return *i.Told
	}
	return ToldNumbers{strconv.FormatInt(i.Quantity, 10), i.Unit.Decimal()}
}

// Price is the price of one, with its currency.
func (i LineItem) Price() string {
	if i.Told != nil {
		return i.Told.Unit + " " + string(i.Unit.Currency)
	}
	return i.Unit.String()
}

// Limits of what names a shopper and an order, in characters.
const (
	MaxOrderID   = 120
	MaxEmail     = 254 // of anybody
	MaxBuyerName = 120
	MaxFirstName = 60
	MaxLastName  = 60
	MaxPhone     = 40
	MaxIP        = 45
	MaxDocument  = 40 // with its punctuation
	MaxURL       = 2048
)

// Fit returns an error if a text of an order is too long. The fields are named as in the API.
//
// Errors: invalid_request.
func (b Buyer) Fit(orderID, returnURL string, p Purchase) error {
	return problem.Fit(append(p.texts(orderID, returnURL),
		problem.Text{Param: "userEmail", Text: b.Email, Most: MaxEmail},
		problem.Text{Param: "userName", Text: b.Name, Most: MaxBuyerName},
		problem.Text{Param: "userPhone", Text: b.Phone, Most: MaxPhone},
		problem.Text{Param: "userIp", Text: b.IP, Most: MaxIP},
		problem.Text{Param: "documentId", Text: b.Document, Most: MaxDocument})...)
}

// Fit is Buyer.Fit for a checkout.
func (c Customer) Fit(orderID, returnURL string, p Purchase) error {
	return problem.Fit(append(p.texts(orderID, returnURL),
		problem.Text{Param: "customer.firstName", Text: c.FirstName, Most: MaxFirstName},
		problem.Text{Param: "customer.lastName", Text: c.LastName, Most: MaxLastName},
		problem.Text{Param: "customer.email", Text: c.Email, Most: MaxEmail},
		problem.Text{Param: "customer.phone", Text: c.Phone, Most: MaxPhone},
		problem.Text{Param: "customer.documentId", Text: c.Document, Most: MaxDocument})...)
}

// texts are the texts of an order that have a limit.
func (p Purchase) texts(orderID, returnURL string) []problem.Text {
	list := []problem.Text{{Param: "merchantOrderId", Text: orderID, Most: MaxOrderID}, {Param: "returnUrl", Text: returnURL, Most: MaxURL},
		{Param: "description", Text: p.Description, Most: MaxDescription}}
	for i, item := range p.Items {
		at := fmt.Sprintf("lineItems[%d].", i)
		list = append(list, problem.Text{Param: at + "name", Text: item.Name, Most: MaxItemName}, problem.Text{Param: at + "sku", Text: item.SKU, Most: MaxSKU})
	}
	return list
}
