package woovi

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func receivedEvent(f *fake) provider.Notification {
	return signed(providertest.JSON(map[string]any{"event": "OPENPIX:TRANSACTION_RECEIVED", "charge": f.Charges[0].json(), "pix": map[string]any{"type": "PAYMENT"}}))
}

// The amount is that of the bank's transaction: a giftback takes a part off the price.
func TestWhatWasReallyPaidCounts(t *testing.T) {
	ctx := context.Background()
	for _, lacks := range []string{"", listsTransactions} { // then the charge's own fields say it
		f := newFake()
		f.lacks = lacks
		c := connected(t, f, credentials())
		c.Charge(ctx, sample())
		f.Charges[0].gift = 1000
		f.Move(sample().Reference, providertest.Paid)
		o := c.Query(ctx, sample())
		if o.Kind != pay.Approved || o.Local != money.New(11345, money.BRL) || o.MoneyRef != sample().Reference || len(o.Also) != 0 {
			t.Errorf("without %q: %+v", lacks, o)
		}
	}
}

func TestFieldsOfAChargeThatContradictEachOther(t *testing.T) {
	for fields, want := range map[string]int64{
		`"value":12345`: 12345, `"value":12345,"valueWithDiscount":12345,"discount":0`: 12345, `"value":12345,"valueWithDiscount":11345,"discount":1000`: 11345,
		`"value":12345,"valueWithDiscount":11345,"giftbackAppliedValue":1000`: 11345, `"value":12345,"valueWithDiscount":10345,"giftbackAppliedValue":1000,"discount":1000`: 10345,
		`"value":100,"valueWithDiscount":1500,"discount":0`: 0, `"value":12345,"valueWithDiscount":11345,"discount":10`: 0, `"value":1000,"valueWithDiscount":0,"discount":1000`: 0,
	} {
		c := connected(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/v1/charge/"+sample().Reference {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			fmt.Fprintf(w, `{"charge":{"correlationID":%q,"status":"COMPLETED",%s}}`, sample().Reference, fields)
		}), credentials())
		if o := c.Query(context.Background(), sample()); o.Local.Minor != want || (o.Kind == pay.Approved) != (want > 0) {
			t.Errorf("%s: %s of %v, want %d", fields, o.Kind, o.Local, want)
		}
	}
}

// By the documentation a charge is paid once. If it is paid again, that money is reported too.
func TestMoneyThatComesAgainIsReported(t *testing.T) {
	ctx, f := context.Background(), newFake()
	c := connected(t, f, credentials())
	c.Charge(ctx, sample())
	f.Move(sample().Reference, providertest.Paid)
	first, err := c.Notices(ctx, receivedEvent(f))
	if err != nil || len(first) != 1 || first[0].Outcome.Kind != pay.Approved || len(first[0].Outcome.Also) != 0 {
		t.Fatalf("the first: %+v %v", first, err)
	}
	f.Charges[0].more = []int64{12345, 500}
	list, err := c.Notices(ctx, receivedEvent(f))
	if err != nil || len(list) != 1 || list[0].ID == first[0].ID {
		t.Fatalf("again: %+v %v", list, err)
	}
	o := list[0].Outcome
	want := []pay.Money{{Ref: "E01M7ZBVYT412", ProviderRef: o.ProviderRef, Local: money.New(12345, money.BRL)}, {Ref: "E01M7ZBVYT413", ProviderRef: o.ProviderRef, Local: money.New(500, money.BRL)}}
	if o.Kind != pay.Approved || o.Local != sample().Local || o.MoneyRef != first[0].Outcome.MoneyRef || len(o.Also) != 2 || o.Also[0] != want[0] || o.Also[1] != want[1] {
		t.Errorf("%+v, want %+v", o, want)
	}
	r := sample()
	r.MoneyRef = want[0].Ref
	if o := c.Refund(ctx, provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: r.Local}); o.Kind != pay.Declined || len(f.Books()[0].Refunds) != 0 {
		t.Errorf("a refund of a charge does not say of which payment: %+v", o)
	}
	// A dispute is about one of them.
	f.Charges[0].dispute = f.Charges[0].opened("CHARGEBACK", "CREATED")
	if list, err := c.Notices(ctx, disputeEvent("OPENPIX:DISPUTE_CREATED", f.Charges[0].bank())); err != nil || len(list) != 1 || list[0].Outcome.MoneyRef != o.MoneyRef {
		t.Errorf("of the first: %+v %v", list, err)
	}
}

// The money of a charge that has expired is money.
func TestAnExpiredChargeThatWasPaid(t *testing.T) {
	ctx, f := context.Background(), newFake()
	c := connected(t, f, credentials())
	c.Charge(ctx, sample())
	f.Move(sample().Reference, providertest.Expired)
	if o := c.Query(ctx, sample()); o.Kind != pay.Lapsed {
		t.Errorf("nobody paid: %+v", o)
	}
	f.Charges[0].more = []int64{1}
	if o := c.Query(ctx, sample()); o.Kind != pay.Approved || o.Local != sample().Local {
		t.Errorf("somebody paid: %+v", o)
	}
}
