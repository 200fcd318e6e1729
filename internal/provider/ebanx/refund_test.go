package ebanx

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// paid opens a paid payment at a new fake, and returns a refund of a part of it that was sent just now.
func paid(t *testing.T) (*fake, *account, provider.RefundRequest) {
	t.Helper()
	f := newFake()
	a := connect(t, f)
	r := providertest.Under(request(), "pix.BRA", "01M7Z-1")
	r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
	f.Move(r.Reference, providertest.Paid)
	return f, a, provider.RefundRequest{Reference: "01M7ZCLAIM1-1", Local: money.New(300_00, money.BRL), Charge: r, Sent: r.Now, Last: r.Now}
}

// EBANX accepts a refund's code twice. So after a call without an answer, a refund that is not listed
// counts as missing only in time.
func TestARefundThatIsNotListedYetIsNotMadeAgain(t *testing.T) {
	f, a, q := paid(t)
	a.Refund(context.Background(), q) // its answer is lost
	f.late = 1
	if o := a.QueryRefund(context.Background(), q); o.Kind != pay.Unknown {
		t.Errorf("at once: %+v, want unknown", o)
	}
	f.late = 0
	if o := a.QueryRefund(context.Background(), q); o.Kind != pay.Awaiting || o.Local != q.Local {
		t.Errorf("once it is listed: %+v", o)
	}
	q.Reference = "01M7ZCLAIM2-1"
	for age, want := range map[time.Duration]pay.OutcomeKind{settles - time.Second: pay.Unknown, settles: pay.Missing} {
		q.Last = q.Charge.Now.Add(-age)
		q.Sent = q.Last.Add(-time.Hour)
		if o := a.QueryRefund(context.Background(), q); o.Kind != want {
			t.Errorf("another one, %s after the last call: %s, want %s", age, o.Kind, want)
		}
	}
}

// What each answer proves about a refund (API error codes; ActiveMerchant's remote tests for BP-REF-1; the
// plugin for WooCommerce for BP-REF-7).
func TestRefusalsOfARefund(t *testing.T) {
	for body, want := range map[string]pay.OutcomeKind{
		`{"status":"ERROR","status_code":"BP-REF-1","status_message":"Parameters hash or merchant_payment_code not informed"}`:      pay.Errored,
		`{"status":"ERROR","status_code":"BP-REF-7","status_message":"The payment cannot be refunded because it is not confirmed"}`: pay.Declined,
		`{"status":"ERROR","status_code":"BP-REF-CAN-2","status_message":"Payment not found with this hash: "}`:                     pay.Declined,
		`{"status":"ERROR","status_code":"BP-DR-35"}`:                                        pay.Errored,
		`{"status":"ERROR","status_code":"DA-1","status_message":"Invalid integration key"}`: pay.Unavailable,
		`{"status":"ERROR","status_code":"XX-1"}`:                                            pay.Unknown,
		`{"status":"ERROR"}`: pay.Unknown,
	} {
		f, _, q := paid(t)
		f.says = map[string]string{"/ws/refund": body}
		a := connect(t, http.HandlerFunc(f.ServeHTTP)) // some answers are in no document
		if o := a.Refund(context.Background(), q); o.Kind != want {
			t.Errorf("%s: %+v, want %s", body, o, want)
		}
	}
}
