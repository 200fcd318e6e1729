package payments

import (
	"cmp"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// checkPayable returns an error if no shopper could pay a session, or if no method has the installments that are asked for.
//
// Errors: cascade_exhausted if no method can be charged now, amount_out_of_limits if no method
// accepts the amount, invalid_request about installments.
func (ss *Sessions) checkPayable(s pay.Session, granted installment.Grants) error {
	rails := ss.SessionMethods(s)
	if len(rails) == 0 {
		why := nothingChargeable
		if s.Country != "" {
			why = nothingChargeableIn.With(s.Country)
		}
		return &problem.Error{Code: problem.CascadeExhausted, Param: "country", Details: problem.Details{Reason: pay.NoProvider},
			Reason: why}
	}
	var refused error
	for _, rail := range rails {
		q, err := ss.quote(s, rail.ID)
		if err != nil {
			continue
		}
		limit, ok := q.Rail.LimitIn(q.Local.Currency)
		if !ok {
			continue
		}
		why := limit.Check(q.Local)
		if why == nil && ss.methods.Accepts(q) {
			if _, why = ss.methods.AskedInstallments(s.Scope, granted, s.Installments, q); why == nil {
				return nil
			}
			if rail.Sync { // what it says about a card helps more than that a voucher has none
				refused = why
			}
		}
		if refused == nil {
			refused = cmp.Or(why, limit.Untaken(q.Local))
		}
	}
	if refused == nil { // the rates became unusable meanwhile
		return &problem.Error{Code: problem.ServiceUnavailable, Reason: noReliableRate}
	}
	return refused
}

// askedOf is what the shop asked about the installments of a payment whose method it chose, as far as the payment says.
func askedOf(p pay.Payment) installment.Request {
	t := p.Terms.Installments
	switch {
	case !p.Way.Sync:
		return installment.Request{}
	case !t.Offered():
		return installment.Request{Max: 1}
	}
	return installment.Request{Max: t.Max, InterestFree: max(1, t.InterestFree), Min: least(t)}
}

// least is the least amount of an installment, "" for any.
func least(t installment.Terms) string {
	if t.Min.IsZero() {
		return ""
	}
	return t.Min.Decimal()
}

// SessionInstallments is what a session's customer may choose over a rail: the terms, and what is offered for the amount.
func (ss *Sessions) SessionInstallments(s pay.Session, granted installment.Grants, rail accounts.Rail) (installment.Terms, installment.Offer) {
	q, err := ss.quote(s, rail.ID)
	if err != nil {
		return installment.Terms{}, installment.Offer{}
	}
	return ss.methods.Installments(s.Scope, granted, s.Installments, q)
}

// noPage reports whether a card answers at once, so that there is no page on which a shopper could choose installments, and the request
// asks for none: in a sandbox that is not strict.
func noPage(live, strict bool, asked installment.Request) bool {
	return !live && !strict && asked.IsZero()
}
