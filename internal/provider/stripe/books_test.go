package stripe

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/catalog"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// account is our side of one payment: what the service does with what the adapter tells.
type account struct {
	t      *testing.T
	p      pay.Payment
	claims []pay.Claim
	books  ledger.Balances
	tasks  int // for the operator
	ids    int
}

// open makes a payment of 1,000 MXN, or 50 USD, and charges it.
func openPayment(t *testing.T, b *bench) (a *account, customer string) {
	t.Helper()
	rails := catalog.Rails()
	at := slices.IndexFunc(rails, func(r accounts.Rail) bool { return r.Key == "spei.MEX" })
	r := transfer("", 1000_00)
	p, err := pay.Create(pay.Order{
		ID: "TXN-01M7ZBOOKS", Amount: money.New(50_00, money.USD), Local: r.Local, Rail: rails[at], Country: "MEX", Buyer: r.Buyer, Terms: merchants.Terms{},
	}, providertest.Noon)
	if err != nil {
		t.Fatal(err)
	}
	a = &account{t: t, books: ledger.Balances{}}
	p, change := p.Begin(pay.Cascade{Routes: []pay.Route{{Provider: "acc"}}}, providertest.Noon)
	a.apply(p, change)
	r.Reference = p.Reference(1)
	b.Lock()
	b.tick++
	b.Unlock()
	a.apply(a.p.ApplyAnswer(b.Charge(ctx(), r), pay.Cascade{}, providertest.Noon))
	if a.p.Status != pay.Pending {
		t.Fatalf("the payment is %s", a.p.Status)
	}
	b.Lock()
	defer b.Unlock()
	return a, b.Must(r.Reference).form.Get("customer")
}

func (a *account) claim() string {
	a.ids++
	return fmt.Sprintf("CLM-%d", a.ids)
}

func (a *account) apply(p pay.Payment, change pay.Change) {
	a.p = p
	for _, c := range change.Claims {
		if at := slices.IndexFunc(a.claims, func(k pay.Claim) bool { return k.ID == c.ID }); at >= 0 {
			a.claims[at] = c
		} else {
			a.claims = append(a.claims, c)
		}
	}
	for _, moved := range change.Transfers {
		for _, posting := range moved.Postings {
			a.books[posting.Account] += posting.Amount
		}
	}
	for _, n := range change.Notices {
		if n.Verdict == pay.Mismatched {
			a.tasks++
		}
	}
}

// hear applies notices, each twice.
func (a *account) hear(list []pay.Notice) {
	for _, n := range append(slices.Clone(list), list...) {
		if n.OfRefunds(a.p) {
			a.apply(n.ApplyRefundList(a.p, a.claims, []string{a.claim(), a.claim(), a.claim()}, providertest.Noon))
		} else {
			a.apply(a.p.ApplyNotice(n, pay.Cascade{}, a.claim(), providertest.Noon))
		}
	}
}

// look is a query of a payment that ended unpaid.
func (a *account) look(b *bench) {
	r := transfer(a.p.Reference(1), 1000_00)
	r.ProviderRef = a.p.Attempts[0].ProviderRef
	o := b.Query(ctx(), r)
	for i := range o.Also {
		o.Also[i].Claim = a.claim()
	}
	a.apply(a.p.ApplyLook(o, a.claim(), providertest.Noon))
}

// expire ends the payment, as the service does: a query, and a cancel.
func (a *account) expire(b *bench) {
	r := transfer(a.p.Reference(1), 1000_00)
	r.ProviderRef = a.p.Attempts[0].ProviderRef
	if o := b.Query(ctx(), r); o.Kind != pay.Awaiting {
		a.t.Fatalf("the query: %+v", o)
	}
	if o := b.Cancel(ctx(), r); o.Kind != pay.Lapsed {
		a.t.Fatalf("the cancel: %+v", o)
	}
	a.apply(a.p.Expire(pay.Outcome{Kind: pay.Lapsed}, a.p.Times.Expires))
}

// Every peso that arrived is in the books once, by notifications or by queries, and can be sent back from there.
func TestTheBooksHaveEveryPeso(t *testing.T) {
	for name, test := range map[string]struct {
		pays             []int64 // before the end
		late             []int64 // after it
		status           pay.Status
		capture, suspend int64 // USD cents
		inquiries        int
	}{
		"in full":                {[]int64{1000_00}, nil, pay.Completed, 50_00, 0, 0},
		"in parts":               {[]int64{900_00, 100_00}, nil, pay.Completed, 50_00, 0, 0},
		"too much":               {[]int64{1100_00}, nil, pay.Completed, 50_00, 5_00, 1},
		"in parts, and too much": {[]int64{900_00, 300_00}, nil, pay.Completed, 50_00, 10_00, 1},
		"twice":                  {[]int64{1000_00, 1000_00}, nil, pay.Completed, 50_00, 50_00, 1},
		"too little":             {[]int64{900_00}, nil, pay.Expired, 0, 45_00, 1},
		"late":                   {nil, []int64{1000_00}, pay.Expired, 0, 50_00, 1},
		"little, and late":       {[]int64{400_00}, []int64{600_00}, pay.Expired, 0, 50_00, 2},
		"never":                  {nil, nil, pay.Expired, 0, 0, 0},
	} {
		for _, heard := range []bool{true, false} {
			b := connect(t)
			a, customer := openPayment(t, b)
			tell := func() {
				if heard {
					a.hear(b.told(t, customer, 0))
				}
			}
			for _, minor := range test.pays {
				b.transfer(customer, minor, "")
				tell()
			}
			if r := a.p.Reference(1); b.Must(r).Ending == providertest.Paid {
				list, err := b.Notices(ctx(), b.Notification(r))
				if err != nil {
					t.Fatal(err)
				}
				a.hear(list)
			} else {
				a.expire(b)
			}
			for _, minor := range test.late {
				b.transfer(customer, minor, "")
			}
			tell()
			if a.p.Looking() {
				a.look(b)
			} else if !heard {
				continue // nobody queries a completed payment
			}
			if a.p.Status != test.status || a.books[ledger.Receivable] != -test.capture-test.suspend || a.books[ledger.Suspense] != test.suspend || len(a.claims) != test.inquiries || a.tasks != 0 {
				t.Errorf("%s, told %t: %s, %v, %d inquiries, %d tasks", name, heard, a.p.Status, a.books, len(a.claims), a.tasks)
			}
			a.sendBack(b, customer, name)
		}
	}
}

// A balance takes several calls to read. Whatever Stripe does between two of them, no peso is booked twice.
func TestABalanceThatMovesWhileItIsRead(t *testing.T) {
	for name, test := range map[string]struct {
		came             int64
		between, after   func(b *bench, s *shopperBalance, c *charge)
		status           pay.Status
		capture, suspend int64 // USD cents
	}{
		"a payment takes it": {1000_00, func(b *bench, s *shopperBalance, _ *charge) { b.divide(s, "") }, nil, pay.Completed, 50_00, 0},
		"a payment takes a part and is canceled": {900_00, func(b *bench, s *shopperBalance, c *charge) {
			b.divide(s, "")
			c.Ending = providertest.Canceled
			b.unapply(c)
		}, nil, pay.Expired, 0, 45_00},
		"a payment takes it, and the movement is shown later": {1000_00,
			func(_ *bench, _ *shopperBalance, c *charge) { c.Ending = providertest.Paid },
			func(b *bench, s *shopperBalance, c *charge) {
				b.move(s, "applied_to_payment", -1000_00, object{"applied_to_payment": object{"payment_intent": c.id()}})
			}, pay.Completed, 50_00, 0},
	} {
		b := connect(t)
		a, customer := openPayment(t, b)
		b.happens(customer, "funded", test.came, nil)
		event, c := b.balanceEvents(customer, 0)[0], b.Must(a.p.Reference(1))
		b.meanwhile = func(path string) {
			if path == "payment_intents" {
				test.between(b, b.fake.customer(customer), c)
				b.meanwhile = nil
			}
		}
		list, err := b.Notices(ctx(), event)
		if err != nil && !errors.Is(err, provider.ErrUnreachable) {
			t.Fatal(err)
		}
		a.hear(list)
		if test.after != nil {
			b.fake.Lock()
			test.after(b, b.fake.customer(customer), c)
			b.fake.Unlock()
		}
		if list, err = b.Notices(ctx(), b.Notification(c.Reference)); err != nil {
			t.Fatal(err)
		}
		a.hear(list)
		a.hear(b.told(t, customer, 0))
		if a.p.Status != test.status || a.books[ledger.Receivable] != -test.capture-test.suspend || a.books[ledger.Suspense] != test.suspend || a.tasks != 0 {
			t.Errorf("%s: %s, %v, %d tasks", name, a.p.Status, a.books, a.tasks)
		}
	}
}

// sendBack gives all money in inquiries back to the shopper, and hears of it.
func (a *account) sendBack(b *bench, customer, name string) {
	a.t.Helper()
	suspended := a.books[ledger.Suspense]
	for i := range a.claims {
		c, change, err := a.claims[i].Resolve(a.p, pay.Approve, pay.PartyOperator, "", providertest.Noon)
		if err != nil {
			a.t.Fatal(err)
		}
		a.apply(a.p, change)
		attempt, _ := c.PaidAttempt(a.p)
		r := transfer(a.p.Reference(1), 1000_00)
		r.ProviderRef, r.MoneyRef = attempt.ProviderRef, attempt.MoneyRef
		back := providerRefund(r, c)
		o := b.Refund(ctx(), back)
		if o.Kind != pay.Awaiting {
			a.t.Fatalf("%s: the refund of %s is %+v", name, r.MoneyRef, o)
		}
		c, change = c.ApplyRefundOutcome(a.p, o, providertest.Noon)
		a.apply(a.p, change)
		a.hear(b.told(a.t, customer, 0))
		b.endReturn(i, "succeeded")
		back.RefundRef = c.Call.Ref
		_, change = a.claims[i].ApplyRefundOutcome(a.p, b.QueryRefund(ctx(), back), providertest.Noon.Add(time.Hour))
		p := a.p
		if len(change.Payments) > 0 {
			p = change.Payments[0]
		}
		a.apply(p, change)
	}
	b.Lock()
	defer b.Unlock()
	if left := b.fake.customer(customer).left(); left != 0 || a.books[ledger.Suspense] != 0 || a.books[ledger.Refunds] != suspended || a.tasks != 0 {
		a.t.Errorf("%s: %d centavos are left at Stripe, the books are %v, with %d tasks", name, left, a.books, a.tasks)
	}
}
