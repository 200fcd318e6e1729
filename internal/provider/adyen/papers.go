package adyen

import (
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
)

// anything marks the document types that take evidence of every kind.
var anything = pay.EvidenceKinds()

// papers says which kinds of evidence are the document that a type of Adyen's asks for, by what Adyen's own component for disputes tells
// people of each type (adyen-platform-experience-web 31a156d, defenseDocumentConfig.json). A type that is not here asks for what no kind of
// ours is for certain, or is written by Adyen itself.
var papers = map[string][]string{
	"DefenseMaterial": anything, "AlternativeDefenseMaterial": anything, "AdditionalInformation": anything, "SupplementalDocuments": anything,
	"TIDorInvoice": {"receipt"}, "CopyOfSalesDraft": {"receipt"},
	"ProofOfGoodsOrServicesProvided":    {"delivery_proof", "access_log"},
	"ProofOfFulfillment":                {"delivery_proof"},
	"DateMerchandiseShipped":            {"delivery_proof"},
	"UnauthorisedReason":                {"delivery_proof"},
	"MerchandiseDescription":            {"product_description", "receipt"},
	"GoodsWereAsDescribed":              {"product_description"},
	"SaleTermsNotMisrepresented":        {"product_description", "refund_policy"},
	"MerchandiseNotAsDescribedReason":   {"product_description", "refund_policy"},
	"EvidenceOfCardholderParticipation": {"buyer_identity", "access_log", "customer_communication", "delivery_proof"},
	"CardholderIdentification":          {"buyer_identity", "access_log", "customer_communication", "delivery_proof"},
	"DisclosureAtPointOfInteraction":    {"refund_policy"},
	"CancelledRecurringBillingReason":   {"refund_policy", "cancellation"},
	"CancellationNeverAccepted":         {"cancellation"},
	"NotCancelled":                      {"cancellation"},
	"TwoDifferentTIDs":                  {"separate_purchase"},
	"PaymentByOtherMeans":               {"separate_purchase"},
}

// plainReasons assert nothing of their own: they only hand over documents. Any other reason needs a document that is its own.
var plainReasons = []string{"SupplyDefenseMaterial", "SupplyDefenseDocument", "AdditionalInformation", "ProvideInformation"}

// defenseReason is a reason with which a dispute may be defended.
type defenseReason struct {
	Code      string         `json:"defenseReasonCode"`
	Satisfied bool           `json:"satisfied"`
	Documents []documentType `json:"defenseDocumentTypes"`
}

// documentType is a place for one document.
type documentType struct {
	Code      string `json:"defenseDocumentTypeCode"`
	Level     string `json:"requirementLevel"`
	Available bool   `json:"available"` // it was uploaded
}

// How much a document is needed.
const (
	required    = "Required"
	oneOrMore   = "OneOrMore"
	alternative = "AlternativeRequired" // in the place of the required ones, on accounts that may do that
)

// plan is a reason with a document for each place that is used.
type plan struct {
	reason defenseReason
	at     []int // by place: the document's index, or -1
	own    int   // documents at places that only their kinds have
}

// best returns the plan that proves most: one that places all documents and has all that its reason requires.
func best(reasons []defenseReason, documents []paper) (found plan, ok bool) {
	for _, r := range reasons {
		if p, fits := arrange(r, documents); fits && (!ok || p.own > found.own) {
			found, ok = p, true
		}
	}
	return found, ok
}

// arrange places all documents at a reason's places, each of which takes one.
func arrange(r defenseReason, documents []paper) (plan, bool) {
	p := plan{reason: r, at: slices.Repeat([]int{-1}, len(r.Documents))}
	if len(documents) > len(r.Documents) {
		return p, false
	}
	a := arrangement{r, documents, p.at}
	basic := a.fillEach(required)
	if !basic && !a.fillOne(alternative) || a.has(oneOrMore) && !a.fillOne(oneOrMore) || !a.fillOne(required, oneOrMore, alternative) {
		return p, false
	}
	for d := range documents {
		if !slices.Contains(p.at, d) && !a.place(d, map[int]bool{}) {
			return p, false
		}
	}
	for place, d := range p.at {
		if d >= 0 && !general(r.Documents[place].Code) {
			p.own++
		}
	}
	return p, p.own > 0 || slices.Contains(plainReasons, r.Code)
}

func general(code string) bool { return len(papers[code]) == len(anything) }

// arrangement is a matching of documents and places. What has found a partner keeps one.
type arrangement struct {
	reason    defenseReason
	documents []paper
	at        []int
}

func (a arrangement) has(level string) bool {
	return slices.ContainsFunc(a.reason.Documents, func(t documentType) bool { return t.Level == level })
}

func (a arrangement) accepts(place, document int) bool {
	return slices.ContainsFunc(a.documents[document].kinds, func(kind string) bool {
		return slices.Contains(papers[a.reason.Documents[place].Code], kind)
	})
}

// fillEach fills all places of a level.
func (a arrangement) fillEach(level string) bool {
	all := true
	for place, t := range a.reason.Documents {
		if t.Level == level {
			all = a.fill(place, map[int]bool{}) && all
		}
	}
	return all
}

// fillOne fills a place of one of the levels.
func (a arrangement) fillOne(levels ...string) bool {
	for place, t := range a.reason.Documents {
		if slices.Contains(levels, t.Level) && a.fill(place, map[int]bool{}) {
			return true
		}
	}
	return false
}

// fill finds a document for a place, and for the place that it leaves.
func (a arrangement) fill(place int, seen map[int]bool) bool {
	if a.at[place] >= 0 {
		return true
	}
	for d := range a.documents {
		if seen[d] || !a.accepts(place, d) {
			continue
		}
		seen[d] = true
		before := slices.Index(a.at, d)
		if before >= 0 {
			a.at[before] = -1
			if !a.fill(before, seen) {
				a.at[before] = d
				continue
			}
		}
		a.at[place] = d
		return true
	}
	return false
}

// place finds a place for a document, one of its own kind first, and another for the document that was there.
func (a arrangement) place(document int, seen map[int]bool) bool {
	for _, wide := range []bool{false, true} {
		for place, t := range a.reason.Documents {
			if seen[place] || general(t.Code) != wide || !a.accepts(place, document) {
				continue
			}
			seen[place] = true
			if a.at[place] < 0 || a.place(a.at[place], seen) {
				a.at[place] = document
				return true
			}
		}
	}
	return false
}
