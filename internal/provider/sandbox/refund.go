package sandbox

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Faults on a refund.
const (
	RefundDecline Fault = "refund_decline"
	RefundError   Fault = "refund_error"   // it says so, and does nothing
	RefundTimeout Fault = "refund_timeout" // it refunds and does not answer
	RefundSlow    Fault = "refund_pending" // it stays pending until the fault is lifted
)

func refundFaults() []Fault {
	return []Fault{RefundDecline, RefundError, RefundTimeout, RefundSlow}
}

// Refund gives every charge back, unless a fault is set.
func (p *Provider) Refund(_ context.Context, r provider.RefundRequest) pay.Outcome {
	switch p.fault.Load() {
	case RefundDecline:
		return pay.Outcome{Kind: pay.Declined, Decline: "refund_not_possible", Message: "the shopper's account cannot be credited"}
	case RefundError:
		return pay.Outcome{Kind: pay.Errored, Decline: "processing_error"}
	case RefundTimeout:
		return pay.Outcome{Kind: pay.Unknown, Decline: "timeout"}
	case RefundSlow:
		return pay.Outcome{Kind: pay.Awaiting, ProviderRef: p.refundRef(r)}
	case Down:
		return pay.Outcome{Kind: pay.Unavailable, Decline: "unavailable"}
	}
	return pay.Outcome{Kind: pay.Approved, ProviderRef: p.refundRef(r), Local: r.Local}
}

// QueryRefund returns the result of Refund.
func (p *Provider) QueryRefund(_ context.Context, r provider.RefundRequest) pay.Outcome {
	switch p.fault.Load() {
	case RefundDecline, RefundError:
		return pay.Outcome{Kind: pay.Missing}
	case RefundSlow:
		return pay.Outcome{Kind: pay.Awaiting, ProviderRef: p.refundRef(r)}
	case Down:
		return pay.Outcome{Kind: pay.Unknown, Decline: "unavailable"}
	}
	return pay.Outcome{Kind: pay.Approved, ProviderRef: p.refundRef(r), Local: r.Local}
}

func (p *Provider) refundRef(r provider.RefundRequest) string {
	return p.account + ":refund:" + r.Reference
}
