package pay

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// ErasedText stands where a shopper's words were.
const ErasedText = "[erased]"

// Erasure takes what tells of shoppers out of rows that the books need, and away what they do
// not. It comes with the payments and claims that it is about, in one Change.
type Erasure struct {
	Payments []string // their notifications lose their bodies, their checkout sessions go
	Claims   []string // their files go
	Events   []Event  // of the claims, with the payload that stays: ID and Payload are read
	Sessions []string // that came to no payment
	Notes    []string // objects of which the audit log forgets what operators wrote
}

// Erase takes the shopper out of a payment that is over, with what the shop told of the
// purchase, which may tell of him. Amounts, times and who was called stay.
//
// Errors: conflict_state where it is not over.
func (p Payment) Erase(now time.Time) (Payment, error) {
	if p.Status.Open() {
		return p, problem.New(problem.ConflictState, "it is "+string(p.Status))
	}
	if !p.DueAt.IsZero() || !p.Unsure.IsZero() {
		return p, problem.New(problem.ConflictState, "its provider is still asked whether it was paid: for a week, or a month where it does not answer")
	}
	if !p.Erased.IsZero() {
		now = p.Erased // what came since goes, too
	}
	from := p
	p.Buyer, p.Purchase, p.Page.ReturnURL, p.Erased = Buyer{}, Purchase{}, "", now
	p = p.written(from, now)
	p.Times.Updated = from.Times.Updated // nothing happened to the payment
	return p, nil
}

// Erase takes the words of persons out of a claim that is over, and returns those words; none
// where there were none.
//
// Errors: conflict_state where it is not over.
func (c Claim) Erase() (next Claim, words []string, err error) {
	if !c.Status.Terminal() || !c.DueAt.IsZero() {
		return c, nil, problem.New(problem.ConflictState, "its claim "+c.ID+" is not over")
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
	if c.Kind != ChargebackClaim { // there the network says it, in words of its own
		erase(&c.Reason)
	}
	if len(words) > 0 {
		c.Version++
	}
	return c, words, nil
}

// NamedKind is a kind of evidence as the API names it: other for a shop's own word.
func NamedKind(kind string) string {
	if slices.Contains(evidenceKinds, kind) {
		return kind
	}
	return otherEvidence
}

// evidenceKinds are the kinds that the API names; a shop may send others.
var evidenceKinds = []string{"receipt", "delivery_proof", "customer_communication", "refund_policy", otherEvidence}

const otherEvidence = "other"

// Retained is how far data of a kind was looked through for what is kept no longer.
type Retained struct {
	Kind    string
	Version int64
	Began   time.Time // when this round began
	UpTo    string    // an id
}

// Commitment stands in a sealed row for an address: whoever has the address and the salt can
// show that it was this one, and without the salt nobody can find it out.
func Commitment(address, salt string) string {
	if address == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(salt + " " + address))
	return hex.EncodeToString(sum[:])
}
