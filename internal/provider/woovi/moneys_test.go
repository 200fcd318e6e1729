package woovi

import (
	"context"
	"errors"
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

// notListed is an account with a charge in a state, paid once or, if it has expired, late; and whose list of transactions does
// not answer but with a fault.
func notListed(t *testing.T, ending providertest.Ending, fault providertest.Fault) (*client, *fake, *providertest.Line) {
	t.Helper()
	f := newFake()
	c, line := providertest.OpenAccount[*client](t, Adapter(), credentials(), f)
	c.Charge(context.Background(), sample())
	f.Move(sample().Reference, ending)
	f.Charges[0].more = []int64{500}
	line.Spare(func(r *http.Request) bool { return r.URL.Path != "/api/v1/transaction" })
	line.Fail(fault)
	return c, f, line
}

// The list of payments says whether an expired charge was paid, and whether another one was paid again.
func TestANotificationWaitsWhileThePaymentsAreNotListed(t *testing.T) {
	ctx := context.Background()
	for _, fault := range []providertest.Fault{
		providertest.RateLimited, providertest.ServerError, providertest.GatewayAfter, providertest.Malformed, providertest.Truncated, providertest.HTML, providertest.Empty,
	} {
		for ending, moneys := range map[providertest.Ending]int{providertest.Paid: 2, providertest.Expired: 2} {
			c, f, line := notListed(t, ending, fault)
			if o := c.Query(ctx, sample()); o.Kind != pay.Unknown {
				t.Errorf("%s, %s, a question: %+v", ending, fault, o)
			}
			for name, n := range map[string]provider.Notification{"received": receivedEvent(f), "ended": f.Notification(sample().Reference)} {
				if list, err := c.Notices(ctx, n); len(list) != 0 || !errors.Is(err, provider.ErrUnreachable) {
					t.Errorf("%s, %s, %s: %+v %v, want ErrUnreachable", ending, fault, name, list, err)
				}
			}
			line.Fail(providertest.NoFault)
			list, err := c.Notices(ctx, receivedEvent(f))
			if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.Approved || 1+len(list[0].Outcome.Also) != moneys {
				t.Errorf("%s, %s, sent again: %+v %v", ending, fault, list, err)
			}
		}
		c, f, line := notListed(t, providertest.Paid, fault)
		f.Charges[0].dispute = f.Charges[0].opened("CHARGEBACK", "CREATED")
		n := disputeEvent("OPENPIX:DISPUTE_CREATED", f.Charges[0].bank())
		if list, err := c.Notices(ctx, n); len(list) != 0 || !errors.Is(err, provider.ErrUnreachable) {
			t.Errorf("%s, a dispute: %+v %v, want ErrUnreachable", fault, list, err)
		}
		line.Fail(providertest.NoFault)
		if list, err := c.Notices(ctx, n); err != nil || len(list) != 1 || list[0].Outcome.MoneyRef != sample().Reference {
			t.Errorf("%s, a dispute, sent again: %+v %v", fault, list, err)
		}
	}
}

// With an answer of another form, what the charge says of itself is certain, and nothing more.
func TestPaymentsInAFormThatIsNotKnown(t *testing.T) {
	ctx := context.Background()
	another := `{"transactions":[{"endToEndId":"E1","value":12345,"type":"PAYMENT","status":"SLEEPING","charge":{"correlationID":"01M7ZBVYT4-1"}}]}`
	for _, c := range []struct {
		status        int
		body          string
		paid, expired pay.OutcomeKind
		told          bool // whether the notification is read
	}{
		{http.StatusForbidden, `{"error":"Application does not have required scope: TRANSACTION_GET_LIST"}`, pay.Approved, pay.Lapsed, true},
		{http.StatusUnauthorized, `{"data":null,"errors":[]}`, pay.Approved, pay.Lapsed, true},
		{http.StatusBadRequest, `{"error":"Dados inválidos"}`, pay.Approved, pay.Unknown, false},
		{http.StatusOK, `{"transactions":{}}`, pay.Approved, pay.Unknown, false},
		{http.StatusOK, `{}`, pay.Approved, pay.Unknown, false},
		{http.StatusOK, another, pay.Approved, pay.Unknown, false},
		{http.StatusOK, `{"transactions":[],"pageInfo":{"hasNextPage":true}}`, pay.Approved, pay.Unknown, false},
	} {
		for ending, want := range map[providertest.Ending]pay.OutcomeKind{providertest.Paid: c.paid, providertest.Expired: c.expired} {
			f := newFake()
			a, line := providertest.OpenAccount[*client](t, Adapter(), credentials(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/v1/transaction" {
					w.WriteHeader(c.status)
					fmt.Fprint(w, c.body)
					return
				}
				f.ServeHTTP(w, r)
			}))
			a.Charge(ctx, sample())
			f.Move(sample().Reference, ending)
			if o := a.Query(ctx, sample()); o.Kind != want || want == pay.Approved && o.Local != sample().Local {
				t.Errorf("%d %s, %s: %+v, want %s", c.status, c.body, ending, o, want)
			}
			if (len(line.Unmapped()) == 0) != c.told {
				t.Errorf("%d %s, %s: reported %v", c.status, c.body, ending, line.Unmapped())
			}
			list, err := a.Notices(ctx, f.Notification(sample().Reference))
			if (len(list) == 1) != c.told || errors.Is(err, provider.ErrUnreachable) == c.told {
				t.Errorf("%d %s, %s: %+v %v", c.status, c.body, ending, list, err)
			}
		}
	}
}

// A refund of Woovi's panel has happened, its event says. Until the charge's list has it too, Woovi has to send the event again: nothing
// else tells of it.
func TestARefundOfThePanelWaitsForTheList(t *testing.T) {
	ctx := context.Background()
	paid := func() (*client, *fake, *providertest.Line) {
		f := newFake()
		c, line := providertest.OpenAccount[*client](t, Adapter(), credentials(), f)
		c.Charge(ctx, sample())
		f.Move(sample().Reference, providertest.Paid)
		f.Give(f.Charges[0], "devolvido", money.New(1000, money.BRL))
		return c, f, line
	}
	booked := func(name string, c *client, n provider.Notification, wants ...int64) {
		t.Helper()
		list, err := c.Notices(ctx, n)
		if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.Reversed || len(list[0].Outcome.Back.Refunds) != len(wants) {
			t.Fatalf("%s: %+v %v", name, list, err)
		}
		for i, want := range wants {
			if r := list[0].Outcome.Back.Refunds[i]; r.Kind != pay.Approved || r.Local.Minor != want {
				t.Errorf("%s: %+v, want %d", name, r, want)
			}
		}
	}
	waits := func(name string, c *client, n provider.Notification) {
		t.Helper()
		if list, err := c.Notices(ctx, n); len(list) != 0 || !errors.Is(err, provider.ErrUnreachable) {
			t.Errorf("%s: %+v %v, want ErrUnreachable", name, list, err)
		}
	}
	c, f, _ := paid()
	entry := &f.Charges[0].Entry
	n := f.RefundNotification(sample().Reference, 0)
	waits("in processing", c, n)
	kept := entry.Refunds
	entry.Refunds = nil
	waits("not listed", c, n)
	entry.Refunds = kept
	entry.Refunds[0].Ending = providertest.Nonsense
	waits("in a state that is not known", c, n)
	entry.Refunds[0].Ending = providertest.Paid
	booked("the first", c, n, 1000)
	f.Give(f.Charges[0], "2c8a-painel", money.New(2000, money.BRL))
	second := f.RefundNotification(sample().Reference, 1)
	waits("the second", c, second)
	entry.Refunds[1].Ending = providertest.Paid
	booked("the second", c, second, 1000, 2000)

	// Its maker chose a name in the form of ours.
	c, f, _ = paid()
	f.Charges[0].Entry.Refunds[0] = providertest.Refund{Reference: "pedido-17", Local: money.New(1000, money.BRL), Ending: providertest.Paid}
	if list, err := c.Notices(ctx, f.RefundNotification(sample().Reference, 0)); err != nil || len(list) != 1 || list[0].Reference != sample().Reference || list[0].Refund != "pedido-17" {
		t.Errorf("a name in the form of ours: %+v %v", list, err)
	}

	// The list answers once, and not again.
	c, f, line := paid()
	f.Charges[0].Entry.Refunds[0].Ending = providertest.Paid
	asked := 0
	line.Spare(func(r *http.Request) bool {
		if r.URL.Path == "/api/v1/charge/"+sample().Reference+"/refund" {
			asked++
		}
		return asked < 2
	})
	line.Fail(providertest.RateLimited)
	if list, err := c.Notices(ctx, f.RefundNotification(sample().Reference, 0)); err == nil && (len(list) != 1 || list[0].Outcome.Kind != pay.Reversed) {
		t.Errorf("the list answers once: %+v", list)
	}
}
