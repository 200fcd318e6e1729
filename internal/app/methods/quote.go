package methods

import (
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

// Wanted is how an order is to be paid: an amount over a method.
type Wanted struct {
	Amount   money.Amount  // in the shop's currency
	Rate     rates.Reading // of that currency, as it was promised; zero: the present rate
	MethodID string        // the method by its id, or by its name
	Method   string
	Country  string
	Strict   bool // as in production (StrictFor)
	Played   bool // the sandbox plays it, at no account: any amount will do
}

// Quote is what a shopper pays for an order over a method.
type Quote struct {
	USD     money.Amount
	Local   money.Amount
	Rate    rates.Reading // of Local's currency
	Rail    accounts.Rail
	Country string // alpha-3
	serving accounts.Accounts
}

// Quote prices an order over the method that it names.
//
// Errors: those of AskedRate and pay.Worth; missing_field, unsupported_method, unsupported_country;
// service_unavailable if there is no reliable rate of the shopper's currency.
func (ms *Methods) Quote(scope merchants.Scope, w Wanted) (q Quote, err error) {
	if w.Rate.Rate.IsZero() {
		if w.Rate, err = ms.AskedRate(scope.Live, w.Amount.Currency); err != nil {
			return q, err
		}
	}
	if q.USD, err = pay.Worth(w.Amount, w.Rate.Rate); err != nil {
		return q, err
	}
	rail, where, err := ms.choose(scope, w)
	if err != nil {
		return q, err
	}
	q.Country = where.Alpha3
	if !w.Played {
		q.serving = ms.Serving(scope, rail)
		rail = ms.worthwhile(scope.Live, q.serving.Narrow(rail))
	}
	q.Local, q.Rate, q.Rail, err = ms.local(scope.Live, q.serving, rail, where, q.USD, w.Amount, w.Rate)
	return q, err
}
