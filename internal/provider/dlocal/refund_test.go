package dlocal

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// paid opens a paid payment at a new fake, and returns a refund of a part of it that was sent
// just now.
func paid(t *testing.T) (*fake, *account, provider.RefundRequest) {
	t.Helper()
	f := newFake()
	a := connect(t, f)
	r := providertest.Under(request(), "pix.BRA", "01M7Z-1")
	r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
	f.Move(r.Reference, providertest.Paid)
	return f, a, provider.RefundRequest{Reference: "01M7ZCLAIM1-1", Local: money.New(300_00, money.BRL), Charge: r, Sent: r.Now, Last: r.Now}
}

// What each documented answer proves about a refund (reference: Refunds HTTP Errors).
func TestAnswersToARefund(t *testing.T) {
	for _, c := range []struct {
		status, code int
		message      string
		want         pay.OutcomeKind
	}{
		{403, 3001, "Invalid Credentials.", pay.Unavailable},
		{403, 3002, "Unregistered IP address.", pay.Unavailable},
		{403, 3003, "Merchant has no authorization to use this API.", pay.Unavailable},
		{404, 4000, "Payment not found.", pay.Declined},
		{400, 5000, "Invalid request.", pay.Errored},
		{400, 5000, "Signature not match", pay.Unavailable},
		{400, 5001, "Invalid parameter: amount.", pay.Errored},
		{400, 5002, "Invalid transaction status.", pay.Declined},
		{400, 5003, "Country not supported.", pay.Declined},
		{400, 5004, "Currency not allowed for this country.", pay.Declined},
		{400, 5005, "User unauthorized due to cadastral situation.", pay.Declined},
		{400, 5006, "User limit exceeded.", pay.Declined},
		{400, 5007, "Amount exceeded.", pay.Declined},
		{400, 5010, "Method not available.", pay.Unknown},
		{400, 5011, "Order refund id is duplicated.", pay.Unknown},
		{400, 5012, "Insufficient funds.", pay.Unavailable},
		{400, 5013, "Unsupported operation.", pay.Declined},
		{400, 5016, "Amount too low.", pay.Declined},
		{400, 5017, "Invalid API Version.", pay.Errored},
		{400, 5018, "Chargeback in place for this transaction.", pay.Declined},
		{400, 5020, "Refund period exceeded.", pay.Declined},
		{400, 5021, "Acquirer could not process the request.", pay.Unknown},
		{400, 5999, "A code of tomorrow.", pay.Unknown},
		{429, 6000, "Too many requests to the API.", pay.Unavailable},
		{500, 7000, "Failed to process the request.", pay.Unknown},
		{504, 5010, "Request Timeout.", pay.Unknown},
		// A code of a refusal beside a status that is none.
		{404, 5002, "", pay.Unknown}, {500, 4000, "", pay.Unknown}, {500, 5007, "", pay.Unknown}, {504, 5018, "", pay.Unknown}, {504, 5020, "", pay.Unknown},
	} {
		f, a, q := paid(t)
		f.says = map[string]says{"POST refunds": {status: c.status, code: c.code, message: c.message}}
		o := a.Refund(context.Background(), q)
		if o.Kind != c.want || o.Decline == "" || o.Kind == pay.Declined && o.Message == "" {
			t.Errorf("%d %d %s: %+v, want %s", c.status, c.code, c.message, o, c.want)
		}
	}
}

// A refund that dLocal made, whatever it answered, is found in the payment's list, and is not made
// again.
func TestARefundThatTimedOutIsFoundAndMadeOnce(t *testing.T) {
	for _, said := range []says{
		{504, 5010, "Request Timeout.", true}, {400, 5010, "Request timeout.", true}, {400, 5021, "Acquirer could not process the request.", true}, {500, 7000, "", true},
	} {
		t.Run(fmt.Sprint(said.status, said.code), func(t *testing.T) {
			f, a, q := paid(t)
			f.says, f.late = map[string]says{"POST refunds": said}, 1
			if o := a.Refund(context.Background(), q); o.Kind != pay.Unknown {
				t.Errorf("the call: %+v, want unknown", o)
			}
			if o := a.QueryRefund(context.Background(), q); o.Kind != pay.Unknown {
				t.Errorf("a query before the list shows it: %+v, want unknown", o)
			}
			f.late, f.says = 0, nil
			if o := a.QueryRefund(context.Background(), q); o.Kind != pay.Approved || o.Local != q.Local {
				t.Errorf("a query: %+v, want the refund", o)
			}
			f.Forget()
			if o := a.Refund(context.Background(), q); o.Kind != pay.Approved || len(f.Books()[0].Refunds) != 1 {
				t.Errorf("the call again: %+v, want the same refund; the books have %v", o, f.Books()[0].Refunds)
			}
		})
	}
}

// A reference that was used is a refund, even if the list does not show it yet.
func TestADuplicateOfARefundIsTheRefund(t *testing.T) {
	f, a, q := paid(t)
	a.Refund(context.Background(), q)
	f.Forget()
	f.late = 1
	if o := a.Refund(context.Background(), q); o.Kind != pay.Unknown || len(f.Books()[0].Refunds) != 1 {
		t.Errorf("%+v, want unknown and one refund: %v", o, f.Books()[0].Refunds)
	}
}

// Nobody says how soon the list shows a refund.
func TestARefundThatIsNotListedIsMissingAfterMinutes(t *testing.T) {
	_, a, q := paid(t)
	for age, want := range map[time.Duration]pay.OutcomeKind{0: pay.Unknown, settles - time.Second: pay.Unknown, settles: pay.Missing} {
		q.Last = q.Charge.Now.Add(-age)
		q.Sent = q.Last.Add(-time.Hour)
		if o := a.QueryRefund(context.Background(), q); o.Kind != want {
			t.Errorf("%s after the last call: %s, want %s", age, o.Kind, want)
		}
	}
}
