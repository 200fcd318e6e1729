package provider

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Defender is a provider that takes the merchant's evidence against a dispute. Without it the operator carries the evidence.
type Defender interface {
	// CanDefend reports whether the provider has a call for the evidence of a dispute at all. It makes no call.
	CanDefend(r DisputeRequest) bool
	// Defend submits evidence, so that the issuer gets it. It may be several calls: for each file, and one for the whole. Each is safe
	// to repeat, because the core calls again under the same reference, with the same pieces, after an answer that it did not get.
	//
	// pay.DefenseSubmitted: the provider says that it has submitted this evidence. If it was submitted already, that counts only
	// where the provider shows that it is this one, by our reference or its files. pay.DefenseRefused: the
	// provider will never take it: the time is over, an answer was given already, a file is of a wrong kind. pay.DefenseDelayed:
	// the provider refused a call, which proves that nothing was submitted, and may take it later: a limit, a maintenance; or no call was
	// made that submits anything, but reads alone. All
	// else is pay.DefenseUnknown: a timeout, a 5xx, an answer that cannot be read. It is never counted as submitted.
	Defend(ctx context.Context, r EvidenceRequest) pay.DefenseAnswer
}

// EvidenceRequest is the evidence against a dispute. A request has all pieces; those that an earlier request submitted are marked.
type EvidenceRequest struct {
	DisputeRequest
	Reference string       // ours; the idempotency key at the provider: the same one always has the same pieces
	Local     money.Amount // the disputed amount
	Reason    string       // as the provider reported it; "" if it did not
	Network   string       // the card network's code of the reason, or ""
	RespondBy time.Time    // the deadline; in the clock of Charge.Now
	Repeated  bool         // an earlier call under this reference may have arrived
	Pieces    []EvidencePiece
}

// EvidencePiece is a text, a file, or both.
type EvidencePiece struct {
	ID   string        // ours
	Kind string        // one of pay.EvidenceKinds, or a word of the shop's own
	Text string        // "" for none
	File *EvidenceFile // nil for none
	Sent bool          // an earlier request submitted it
}

// EvidenceFile is a file, whose content is read when it is needed.
type EvidenceFile struct {
	Name   string
	Type   string // one of the types of internal/pay/evidence
	Size   int64
	SHA256 string // hex
	// Read reads the content. If it fails, the answer is pay.DefenseDelayed unless a call was made before.
	Read func(ctx context.Context) ([]byte, error)
	// Link is for a provider that takes links, not files: an address at which it can fetch this file, and nothing else, for some minutes.
	// Each try makes one of its own. ok is false if the service has no address that a provider may be given (Linkable).
	Link func() (address string, ok bool)
}

// Linkable reports whether a provider may be given links to a service at an address: in production only over https.
func Linkable(address string, live bool) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && !live)
}

// Texts joins the texts of each named kind; those of a shop's own kinds are under "other".
func (r EvidenceRequest) Texts() map[string]string {
	texts := map[string][]string{}
	for _, p := range r.Pieces {
		if p.Text != "" {
			kind := pay.NamedKind(p.Kind)
			texts[kind] = append(texts[kind], p.Text)
		}
	}
	joined := map[string]string{}
	for kind, list := range texts {
		joined[kind] = strings.Join(list, "\n\n")
	}
	return joined
}

// FileName is our name of a file at a provider: the same in each call under a reference, of another submission another, and of letters,
// digits and dashes. nth counts from one; kind is one of pay.EvidenceKinds or a word of the shop's own; media is a type of
// internal/pay/evidence.
func (r EvidenceRequest) FileName(nth int, kind, media string) string {
	ending := map[string]string{"application/pdf": ".pdf", "image/png": ".png", "image/jpeg": ".jpg"}[media]
	return fmt.Sprintf("%s-%02d-%s%s", r.Reference, nth, strings.ReplaceAll(pay.NamedKind(kind), "_", "-"), ending)
}
