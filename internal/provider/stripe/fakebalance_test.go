package stripe

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// expiredRefund is a refund of a bank transfer whose shopper named no bank account.
const expiredRefund providertest.Ending = "expired_refund"

// shopperBalance is a Customer with its cash balance, which Stripe divides among its payments.
type shopperBalance struct {
	id    string
	form  url.Values
	moves []object // oldest first
}

func (f *fake) now() int64 { return providertest.Noon.Unix() + f.tick }

func (f *fake) customer(id string) *shopperBalance {
	at := slices.IndexFunc(f.customers, func(s *shopperBalance) bool { return s.id == id })
	if at < 0 {
		return nil
	}
	return f.customers[at]
}

func (f *fake) addCustomer(form url.Values) *shopperBalance {
	s := &shopperBalance{id: fmt.Sprintf("cus_%d", len(f.customers)+1), form: form}
	f.customers = append(f.customers, s)
	return s
}

// fails is the answer to a call that fails within Stripe. It is the key's answer for a day.
func (f *fake) fails(key, path string, form url.Values) (int, any) {
	if !f.outages[key] {
		f.outage--
		f.outages[key] = true
		if f.half {
			f.write(path, form)
		}
	}
	return fail(500, "api_error", "")
}

// customersOf lists the Customers of an address, newest first.
func (f *fake) customersOf(email string, expand bool) (list []object) {
	for _, s := range slices.Backward(f.customers) {
		if email == "" || s.form.Get("email") == email {
			list = append(list, s.show(expand))
		}
	}
	return list
}

// show returns the Customer as the API shows it.
func (s *shopperBalance) show(expand bool) object {
	c := object{"id": s.id, "object": "customer", "email": s.form.Get("email"), "metadata": object{}, "created": providertest.Noon.Unix(), "livemode": false}
	if s.form.Has("metadata[" + shopperKey + "]") {
		c["metadata"] = object{shopperKey: s.form.Get("metadata[" + shopperKey + "]")}
	}
	if expand {
		c["cash_balance"] = s.balance()
	}
	return c
}

func (s *shopperBalance) balance() object {
	b := object{
		"object": "cash_balance", "customer": s.id, "available": nil, "livemode": false,
		"settings": object{"reconciliation_mode": "automatic", "using_merchant_default": false},
	}
	if len(s.moves) > 0 {
		b["available"] = object{"mxn": s.left()}
	}
	return b
}

func (s *shopperBalance) left() (sum int64) {
	for _, m := range s.moves {
		sum += m["net_amount"].(int64)
	}
	return sum
}

// move writes a transaction of a cash balance.
func (f *fake) move(s *shopperBalance, kind string, net int64, more object) {
	f.moves++
	m := object{
		"id": fmt.Sprintf("ccsbtxn_%d", f.moves), "object": "customer_cash_balance_transaction", "type": kind, "created": f.now(), "currency": "mxn",
		"customer": s.id, "net_amount": net, "ending_balance": s.left() + net, "livemode": false,
	}
	for name, value := range more {
		m[name] = value
	}
	s.moves = append(s.moves, m)
}

// transfer is a transfer that arrives at a Customer's CLABE a second later.
func (f *fake) transfer(customer string, minor int64, reference string) {
	f.Lock()
	defer f.Unlock()
	f.tick++
	s := f.customer(customer)
	f.move(s, "funded", minor, object{"funded": object{"bank_transfer": object{"type": "mx_bank_transfer", "reference": reference}}})
	f.divide(s, reference)
}

// divide gives what is in a balance to the payments that wait for it, as
// docs.stripe.com/payments/customer-balance/reconciliation has it for Mexico.
func (f *fake) divide(s *shopperBalance, reference string) {
	var open []*charge // oldest first
	for _, c := range f.Charges {
		if c.form.Get("customer") == s.id && c.Ending == providertest.Open {
			open = append(open, c)
		}
	}
	group := slices.DeleteFunc(slices.Clone(open), func(c *charge) bool { return reference == "" || c.bankReference() != reference })
	for n := 1; n <= 5 && len(group) == 0; n++ {
		group = groupOf(open, n, s.left())
	}
	for _, c := range append(group, open...) {
		n := min(s.left(), c.Local.Minor-c.funded)
		if n <= 0 {
			continue
		}
		f.move(s, "applied_to_payment", -n, object{"applied_to_payment": object{"payment_intent": c.id()}})
		if c.funded += n; c.funded == c.Local.Minor {
			c.Ending = providertest.Paid
		}
	}
}

// groupOf is the oldest group of so many payments that wait for exactly a sum.
func groupOf(open []*charge, size int, sum int64) []*charge {
	if size == 0 || len(open) == 0 {
		return nil
	}
	for at, c := range open {
		rest := sum - (c.Local.Minor - c.funded)
		if size == 1 && rest == 0 {
			return []*charge{c}
		}
		if more := groupOf(open[at+1:], size-1, rest); more != nil {
			return append([]*charge{c}, more...)
		}
	}
	return nil
}

// unapply gives back what a canceled payment had taken.
func (f *fake) unapply(c *charge) {
	if s := f.customer(c.form.Get("customer")); s != nil && c.funded > 0 {
		f.move(s, "unapplied_from_payment", c.funded, object{"unapplied_from_payment": object{"payment_intent": c.id()}})
		c.funded = 0
		f.divide(s, "")
	}
}

// endTransfer writes the transfer of a payment that the suite has paid.
func (f *fake) endTransfer(c *charge) {
	s := f.customer(c.form.Get("customer"))
	if s == nil || c.Ending != providertest.Paid || c.funded > 0 {
		return
	}
	c.funded = c.Local.Minor
	f.move(s, "funded", c.funded, object{"funded": object{"bank_transfer": object{"type": "mx_bank_transfer", "reference": nil}}})
	f.move(s, "applied_to_payment", -c.funded, object{"applied_to_payment": object{"payment_intent": c.id()}})
}

// makeReturn sends money in a cash balance back to the shopper's bank.
func (f *fake) makeReturn(form url.Values) (int, any) {
	s := f.customer(form.Get("customer"))
	minor, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	switch {
	case s == nil:
		return fail(404, "invalid_request_error", "resource_missing")
	case err != nil || minor < 1 || form.Get("currency") != "mxn" || form.Get("origin") != "customer_balance":
		return invalid("parameter_invalid")
	case minor > s.left():
		return invalid("")
	}
	return 200, f.sendBack(s, minor, object{referenceKey: form.Get("metadata[" + referenceKey + "]"), moneyKey: form.Get("metadata[" + moneyKey + "]")})
}

func (f *fake) sendBack(s *shopperBalance, minor int64, metadata object) object {
	f.move(s, "return_initiated", -minor, nil)
	made := object{
		"id": fmt.Sprintf("re_cash_%d", len(f.returns)), "object": "refund", "status": "requires_action", "amount": minor, "currency": "mxn",
		"payment_intent": nil, "charge": nil, "customer": s.id, "metadata": metadata, "created": f.now(),
	}
	f.returns = append(f.returns, made)
	return made
}

// returnByHand is a return that somebody makes in the Dashboard, or Stripe after 75 days.
func (f *fake) returnByHand(customer string, minor int64) {
	f.Lock()
	defer f.Unlock()
	f.tick += 600
	f.sendBack(f.customer(customer), minor, object{})
}

// endReturn ends a return. The money of one that is canceled is in the balance again.
func (f *fake) endReturn(n int, status string) {
	f.Lock()
	defer f.Unlock()
	f.tick += 600
	made := f.returns[n]
	if made["status"] = status; status == "canceled" {
		f.move(f.customer(made["customer"].(string)), "return_canceled", made["amount"].(int64), nil)
	}
}

// refundToBalance brings a refund to an ending in which its money is in the cash balance.
func (f *fake) refundToBalance(reference string, n int, e providertest.Ending) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	c.Refunds[n].Ending = e
	f.move(f.customer(c.form.Get("customer")), "refunded_from_payment", c.Refunds[n].Local.Minor, object{
		"refunded_from_payment": object{"refund": fmt.Sprintf("re_%d_%d", c.number, n)},
	})
}

// happens writes a movement that has no cause here.
func (f *fake) happens(customer, kind string, net int64, more object) {
	f.Lock()
	defer f.Unlock()
	f.tick++
	f.move(f.customer(customer), kind, net, more)
}

// balanceEvents are the notifications of a balance's transactions since the first so many.
func (f *fake) balanceEvents(customer string, since int) (list []provider.Notification) {
	f.Lock()
	defer f.Unlock()
	for _, m := range f.customer(customer).moves[since:] {
		list = append(list, notification("evt_"+m["id"].(string), "customer_cash_balance_transaction.created", m))
	}
	return list
}

// fundsAvailable is the other notification, of the balance as a whole.
func (f *fake) fundsAvailable(customer string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	return notification(fmt.Sprintf("evt_balance_%d", f.moves), "cash_balance.funds_available", f.customer(customer).balance())
}

// bankReference is what a shopper should write on a transfer.
func (c *charge) bankReference() string { return strings.ToUpper(fmt.Sprintf("kzqlp%04d", c.number)) }
