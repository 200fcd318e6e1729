package stripe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// transfer is a payment by bank transfer of so many centavos.
func transfer(reference string, minor int64) provider.Request {
	r := request("spei.MEX", reference)
	r.Local.Minor = minor
	return r
}

// order makes a payment by bank transfer, a second after the last one, and returns it with its Customer.
func (b *bench) order(t *testing.T, r provider.Request) (made provider.Request, customer string) {
	t.Helper()
	b.Lock()
	b.tick++
	b.Unlock()
	o := b.Charge(ctx(), r)
	if o.Kind != pay.Awaiting || len(o.Data.CLABE) != 18 || o.Data.Reference == "" {
		t.Fatalf("%s: %+v, want a CLABE", r.Reference, o)
	}
	r.ProviderRef = o.ProviderRef
	b.Lock()
	defer b.Unlock()
	return r, b.Must(r.Reference).form.Get("customer")
}

// told are the notices of all events of a balance, each of which comes twice, and once more as the balance's own event. One money is
// one notice.
func (b *bench) told(t *testing.T, customer string, since int) (list []pay.Notice) {
	t.Helper()
	events := b.balanceEvents(customer, since)
	for _, event := range append(events, append(events, b.fundsAvailable(customer))...) {
		published.Sent(t, b.fake, event.Header, event.Query, event.Body)
		news, err := b.Notices(ctx(), event)
		if err != nil {
			t.Fatal(err)
		}
		providertest.Sound(t, news, nil)
		for _, n := range news {
			same := func(o pay.Notice) bool {
				return o.Reference == n.Reference && o.Outcome.MoneyRef == n.Outcome.MoneyRef && o.Outcome.Kind == n.Outcome.Kind
			}
			if at := slices.IndexFunc(list, same); at < 0 {
				list = append(list, n)
			} else if list[at].Outcome.Local != n.Outcome.Local {
				t.Errorf("one money has two amounts: %+v and %+v", list[at], n)
			}
		}
	}
	return list
}

// moneys are the payments and amounts of the notices that are about money in a balance. The end of each payment came before.
func moneys(list []pay.Notice) (all []string) {
	for _, n := range loose(list) {
		all = append(all, n.Reference+" "+string(n.Outcome.Kind)+" "+n.Outcome.Local.String())
	}
	return all
}

func loose(list []pay.Notice) (some []pay.Notice) {
	for _, n := range list {
		if strings.HasPrefix(n.Outcome.MoneyRef, "ccsbtxn_") {
			some = append(some, n)
		}
	}
	return some
}

// A merchant's shopper has one Customer, and so one CLABE, however the address is written, and also if two payments are made at once.
func TestAShopperHasOneCustomer(t *testing.T) {
	b := connect(t)
	var all sync.WaitGroup
	for _, reference := range []string{"01M7ZA-1", "01M7ZB-1", "01M7ZC-1", "01M7ZD-1"} {
		all.Go(func() { b.Charge(ctx(), transfer(reference, 1000)) })
	}
	all.Wait()
	again := transfer("01M7ZE-1", 1000)
	again.Buyer.Email, again.Buyer.Name = " Ana@Example.com", "Ana"
	_, customer := b.order(t, again)
	b.fake.Forget()
	if _, later := b.order(t, transfer("01M7ZF-1", 1000)); later != customer || len(b.customers) != 1 {
		t.Errorf("one shopper has %d customers", len(b.customers))
	}
	other := transfer("01M7ZG-1", 1000)
	other.Merchant = "mer_2"
	if _, theirs := b.order(t, other); theirs == customer {
		t.Error("two merchants share a shopper's balance")
	}
	if form := b.customers[0].form; form.Get("email") != "ana@example.com" || form.Get("cash_balance[settings][reconciliation_mode]") != "automatic" {
		t.Errorf("the customer is %v", form)
	}
}

// Without a Customer there is no charge.
func TestWithoutACustomerNobodyIsAsked(t *testing.T) {
	for _, fault := range []providertest.Fault{providertest.BrokenAfter, providertest.Empty, providertest.RateLimited} {
		b := connect(t)
		b.line.Fail(fault)
		if o := b.Charge(ctx(), transfer("01M7ZSPEI-1", 1000)); o.Kind != pay.Unavailable || len(b.Books()) != 0 {
			t.Errorf("%s: %+v", fault, o)
		}
	}
}

// Stripe repeats the first answer to a key for a day, also a failure of its own. The shopper does not wait that long, and still has one
// Customer.
func TestACustomerAfterAFailure(t *testing.T) {
	for name, test := range map[string]struct {
		outage int
		half   bool
		want   []pay.OutcomeKind // of payments, ten minutes apart
	}{
		"once":                  {1, false, []pay.OutcomeKind{pay.Awaiting, pay.Awaiting}},
		"once, and it was made": {1, true, []pay.OutcomeKind{pay.Awaiting, pay.Awaiting}},
		"again":                 {2, false, []pay.OutcomeKind{pay.Unavailable, pay.Awaiting}},
		"for a while":           {3, false, []pay.OutcomeKind{pay.Unavailable, pay.Unavailable, pay.Awaiting}},
	} {
		b := connect(t)
		b.outage, b.half = test.outage, test.half
		for i, want := range test.want {
			b.Now = func() time.Time { return providertest.Noon.Add(time.Duration(i) * 10 * time.Minute) }
			var all sync.WaitGroup
			for _, shop := range []string{"A", "B", "C", "D"} {
				all.Go(func() {
					if o := b.Charge(ctx(), transfer(fmt.Sprintf("01M7Z%s%d-1", shop, i), 1000)); o.Kind != want {
						t.Errorf("%s, payment %d: %+v, want %s", name, i, o, want)
					}
				})
			}
			all.Wait()
		}
		if len(b.customers) != 1 {
			t.Errorf("%s: there are %d Customers", name, len(b.customers))
		}
	}
}

// Money in a balance is in the books of the payment that it came for. A new payment would take it at once, so it gets another balance.
func TestACustomerWithMoneyIsPassedOver(t *testing.T) {
	b := connect(t)
	_, first := b.order(t, transfer("01M7ZA-1", 1000))
	b.transfer(first, 1100, "")
	if _, second := b.order(t, transfer("01M7ZB-1", 1000)); second == first {
		t.Error("the payment takes the money of another one")
	}
	b.returnByHand(first, 100)
	if _, third := b.order(t, transfer("01M7ZC-1", 1000)); third != first {
		t.Error("the balance is empty and not used again")
	}
}

// Stripe divides the money of a balance that two payments share: by the transfer's reference, by the exact amount, and then the oldest
// first. What a payment got is that payment's, and no money is reported twice.
func TestTwoPaymentsShareABalance(t *testing.T) {
	type transfers []struct {
		minor int64
		of    string // the payment whose reference it has
	}
	for name, test := range map[string]struct {
		come           transfers
		older, younger pay.OutcomeKind
		rest           []string
	}{
		"the exact amount of the younger":    {transfers{{500, ""}}, pay.Awaiting, pay.Approved, nil},
		"the exact amount of both":           {transfers{{1500, ""}}, pay.Approved, pay.Approved, nil},
		"a reference, and another amount":    {transfers{{400, "01M7ZYOUNGER-1"}, {100, "01M7ZYOUNGER-1"}}, pay.Awaiting, pay.Approved, nil},
		"another amount: the oldest first":   {transfers{{510, ""}}, pay.Awaiting, pay.Awaiting, nil},
		"too much for the oldest":            {transfers{{1200, ""}}, pay.Approved, pay.Awaiting, nil},
		"too much for both":                  {transfers{{1600, ""}}, pay.Approved, pay.Approved, []string{"01M7ZYOUNGER-1 approved 1.00 MXN"}},
		"both, and then again what one cost": {transfers{{1500, ""}, {1000, ""}}, pay.Approved, pay.Approved, []string{"01M7ZOLDER-1 approved 10.00 MXN"}},
	} {
		b := connect(t)
		older, customer := b.order(t, transfer("01M7ZOLDER-1", 1000))
		younger, same := b.order(t, transfer("01M7ZYOUNGER-1", 500))
		if same != customer {
			t.Fatal("they share no balance")
		}
		for _, c := range test.come {
			reference := ""
			if c.of != "" {
				reference = b.Must(c.of).bankReference()
			}
			b.transfer(customer, c.minor, reference)
		}
		if got := moneys(b.told(t, customer, 0)); !slices.Equal(got, test.rest) {
			t.Errorf("%s: told of %v, want %v", name, got, test.rest)
		}
		also := 0
		for r, want := range map[*provider.Request]pay.OutcomeKind{&older: test.older, &younger: test.younger} {
			o := b.Query(ctx(), *r)
			if also += len(o.Also); o.Kind != want || want == pay.Approved && o.Local != r.Local {
				t.Errorf("%s: %s is %+v, want %s", name, r.Reference, o, want)
			}
		}
		if also != len(test.rest) {
			t.Errorf("%s: the queries tell of %d other moneys, want %d", name, also, len(test.rest))
		}
	}
}

// A part that a canceled payment had got goes to the next open payment, as Stripe divides it. The rest is the canceled payment's.
func TestThePartOfACanceledPaymentGoesOn(t *testing.T) {
	b := connect(t)
	older, customer := b.order(t, transfer("01M7ZOLDER-1", 1000))
	younger, _ := b.order(t, transfer("01M7ZYOUNGER-1", 500))
	b.transfer(customer, 510, "")
	if o := b.Cancel(ctx(), older); o.Kind != pay.Lapsed {
		t.Errorf("the cancel: %+v", o)
	}
	if o := b.Query(ctx(), younger); o.Kind != pay.Approved || o.Local != younger.Local || len(o.Also) != 0 {
		t.Errorf("the younger payment: %+v", o)
	}
	want := []string{"01M7ZOLDER-1 approved 0.10 MXN"}
	if got := moneys(b.told(t, customer, 0)); !slices.Equal(got, want) {
		t.Errorf("told of %v, want %v", got, want)
	}
	if o := b.Query(ctx(), older); o.Kind != pay.Lapsed || len(o.Also) != 1 || o.Also[0].Local != money.New(10, "MXN") {
		t.Errorf("the older payment: %+v", o)
	}
}

// Money that does not fit is another money of its payment, under one id, by notification and by query: too much, again, too late, and
// a part that came before the end.
func TestMoneyThatDoesNotFitIsReported(t *testing.T) {
	const reference = "01M7ZSPEI-1"
	for name, test := range map[string]struct {
		come func(b *bench, r provider.Request, customer string)
		kind pay.OutcomeKind // of the payment
		want []string
	}{
		"in part":                {func(b *bench, _ provider.Request, c string) { b.transfer(c, 900, "") }, pay.Awaiting, nil},
		"in two parts":           {func(b *bench, _ provider.Request, c string) { b.transfer(c, 900, ""); b.transfer(c, 100, "") }, pay.Approved, nil},
		"too much":               {func(b *bench, _ provider.Request, c string) { b.transfer(c, 1100, "") }, pay.Approved, []string{reference + " approved 1.00 MXN"}},
		"again":                  {func(b *bench, _ provider.Request, c string) { b.transfer(c, 1000, ""); b.transfer(c, 1000, "") }, pay.Approved, []string{reference + " approved 10.00 MXN"}},
		"in part before the end": {func(b *bench, r provider.Request, c string) { b.transfer(c, 900, ""); b.Cancel(ctx(), r) }, pay.Lapsed, []string{reference + " approved 9.00 MXN"}},
		"after the end":          {func(b *bench, r provider.Request, c string) { b.Cancel(ctx(), r); b.transfer(c, 1000, "") }, pay.Lapsed, []string{reference + " approved 10.00 MXN"}},
		"twice, after the end": {func(b *bench, r provider.Request, c string) {
			b.Cancel(ctx(), r)
			b.transfer(c, 1000, "")
			b.transfer(c, 1000, "")
		}, pay.Lapsed, []string{reference + " approved 10.00 MXN", reference + " approved 10.00 MXN"}},
		"never": {func(b *bench, r provider.Request, _ string) { b.Cancel(ctx(), r) }, pay.Lapsed, nil},
		"after it was given back": {func(b *bench, r provider.Request, c string) {
			b.Cancel(ctx(), r)
			b.transfer(c, 700, "")
			b.returnByHand(c, 700)
		}, pay.Lapsed, []string{reference + " reversed 7.00 MXN"}},
	} {
		b := connect(t)
		r, customer := b.order(t, transfer(reference, 1000))
		test.come(b, r, customer)
		all := b.told(t, customer, 0)
		told := loose(all)
		if len(told) > 0 && (len(all) == len(told) || all[0].Outcome.Kind != test.kind || all[0].Reference != reference) {
			t.Errorf("%s: the end is not told first: %+v", name, all)
		}
		if got := moneys(all); !slices.Equal(got, test.want) {
			t.Errorf("%s: told of %v, want %v", name, got, test.want)
		}
		o := b.Query(ctx(), r)
		refs := []string{}
		if o.Kind != test.kind {
			t.Errorf("%s: the query says %+v, want %s", name, o, test.kind)
		}
		for _, m := range o.Also {
			refs = append(refs, m.Ref+" "+m.Local.String())
		}
		for _, n := range told {
			if ref := n.Outcome.MoneyRef + " " + n.Outcome.Local.String(); n.Outcome.Kind == pay.Approved && !slices.Contains(refs, ref) {
				t.Errorf("%s: the notice tells of %s, and the query of %v", name, ref, refs)
			}
			if n.Outcome.ProviderRef != r.ProviderRef {
				t.Errorf("%s: it cannot be found again: %+v", name, n.Outcome)
			}
		}
	}
}

// An ended payment is not known to be unpaid while its balance cannot be read.
func TestAnUnreadableBalanceProvesNothing(t *testing.T) {
	b := connect(t)
	r, customer := b.order(t, transfer("01M7ZSPEI-1", 1000))
	b.Cancel(ctx(), r)
	b.transfer(customer, 900, "")
	event := b.balanceEvents(customer, 0)[0]
	b.line.Fail(providertest.ServerError)
	if _, err := b.Notices(ctx(), event); !errors.Is(err, provider.ErrUnreachable) {
		t.Errorf("a notice: %v", err)
	}
	b.line.Fail(providertest.NoFault)
	b.page = 0 // no list can be read
	if o := b.Query(ctx(), r); o.Kind != pay.Unknown {
		t.Errorf("a query: %+v", o)
	}
}

// A payment that was made at the same moment as another one's money came takes that money, which is then not the other one's any more.
func TestALaterPaymentTakesLooseMoney(t *testing.T) {
	b := connect(t)
	first, customer := b.order(t, transfer("01M7ZFIRST-1", 1000))
	b.transfer(customer, 1100, "")
	lot := loose(b.told(t, customer, 0))[0].Outcome.MoneyRef
	since := len(b.customers[0].moves)
	held := b.customers[0].moves
	b.customers[0].moves = nil // the balance was empty when the Customer was chosen
	second := transfer("01M7ZSECOND-1", 300)
	_, same := b.order(t, second)
	b.customers[0].moves = held
	b.fake.Lock()
	b.divide(b.customers[0], "")
	b.fake.Unlock()
	if same != customer {
		t.Fatal("they share no balance")
	}
	list := loose(b.told(t, customer, since))
	if len(list) != 1 || list[0].Reference != first.Reference || list[0].Outcome.MoneyRef != lot || list[0].Outcome.Back == nil || list[0].Outcome.Back.Total != money.New(100, "MXN") {
		t.Errorf("told of %+v, want that the first payment's money is gone", list)
	}
}

// Money that Stripe gave to the merchant, or that a payment made by hand took, stays in the books. It cannot be sent back any more.
func TestMoneyThatTheMerchantGot(t *testing.T) {
	for kind, more := range map[string]object{
		"transferred_to_balance": nil,
		"applied_to_payment":     {"applied_to_payment": object{"payment_intent": "pi_by_hand"}},
	} {
		b := connect(t)
		r, customer := b.order(t, transfer("01M7ZSPEI-1", 1000))
		b.transfer(customer, 1100, "")
		told := loose(b.told(t, customer, 0))
		b.happens(customer, kind, -100, more)
		if got := moneys(b.told(t, customer, 0)); !slices.Equal(got, moneys(told)) {
			t.Errorf("%s: told of %v", kind, got)
		}
		if o := b.Refund(ctx(), giveBack(r, told[0])); o.Kind != pay.Declined || len(b.returns) != 0 {
			t.Errorf("%s: %+v, want declined", kind, o)
		}
	}
}

// If the shopper's bank takes a transfer back after a payment took it, the operator is told.
func TestATransferThatIsTakenBack(t *testing.T) {
	b := connect(t)
	r, customer := b.order(t, transfer("01M7ZSPEI-1", 1000))
	b.transfer(customer, 1000, "")
	since := len(b.customers[0].moves)
	b.happens(customer, "funding_reversed", -1000, nil)
	b.happens(customer, "adjusted_for_overdraft", 1000, object{"adjusted_for_overdraft": object{"balance_transaction": "txn_1", "linked_transaction": "ccsbtxn_3"}})
	list := b.told(t, customer, since)
	if len(list) != 1 || list[0].Reference != r.Reference || list[0].Outcome.Kind != pay.Reversed || list[0].Outcome.Back != nil {
		t.Errorf("told of %+v", list)
	}
}

// A new type of movement is reported, and its money too.
func TestAnUnknownMovement(t *testing.T) {
	b := connect(t)
	_, customer := b.order(t, transfer("01M7ZSPEI-1", 1000))
	b.transfer(customer, 1000, "")
	b.happens(customer, "found_under_the_mattress", 70, nil)
	want := []string{"01M7ZSPEI-1 approved 0.70 MXN"}
	if got := moneys(b.told(t, customer, 0)); !slices.Equal(got, want) || len(b.line.Unmapped()) == 0 {
		t.Errorf("told of %v, want %v; strange %v", got, want, b.line.Unmapped())
	}
}

// A balance of other payments at the account is not ours.
func TestAForeignBalance(t *testing.T) {
	b := connect(t)
	b.fake.Lock()
	foreign := b.addCustomer(nil)
	b.fake.Unlock()
	b.transfer(foreign.id, 500, "")
	if list := b.told(t, foreign.id, 0); len(list) != 0 {
		t.Errorf("told of %+v", list)
	}
	list, err := b.Notices(ctx(), notification("evt_1", "cash_balance.funds_available", object{"object": "cash_balance", "customer": nil, "customer_account": "acct_1"}))
	if err != nil || len(list) != 0 {
		t.Errorf("of an Account: %+v %v", list, err)
	}
}
