package sandbox

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Faults on the evidence of a dispute.
const (
	EvidenceRefused Fault = "evidence_refused"
	EvidenceTimeout Fault = "evidence_timeout" // it takes the evidence and does not answer
)

// CanDefend implements provider.Defender.
func (p *Provider) CanDefend(provider.DisputeRequest) bool { return true }

// Defend takes all evidence, unless a fault is set. It reads each file, as a real provider's client does.
func (p *Provider) Defend(ctx context.Context, r provider.EvidenceRequest) pay.DefenseAnswer {
	for _, piece := range r.Pieces {
		if piece.File == nil {
			continue
		}
		if _, err := piece.File.Read(ctx); err != nil {
			return pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: "file_unread"}
		}
	}
	switch p.fault.Load() {
	case EvidenceRefused:
		return pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: "evidence_refused", Reason: "the bank takes no evidence for this dispute"}
	case EvidenceTimeout, Timeout:
		return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: "timeout"}
	case Down:
		return pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: "unavailable"}
	}
	return pay.DefenseAnswer{Kind: pay.DefenseSubmitted}
}
