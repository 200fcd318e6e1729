package checkout

import (
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// plan is a number of installments that the shopper may choose, in words.
type plan struct {
	Count int
	Text  string
}

// installmentsText says what a shopper may choose for an amount: the number, the amount of one and the total of those without
// interest, and that others cost interest; "" for nothing. The total is always beside the installments.
func (v view) installmentsText(o installment.Offer, local money.Amount) string {
	var said []string
	if n := o.Free(); n > 1 {
		said = append(said, v.T("installments_free", "count", strconv.Itoa(n), "each", v.each(installment.Each(local, n), installment.Even(local, n)), "total", v.money(local)))
	}
	if n := o.Max(); n > max(1, o.Free()) {
		said = append(said, v.T("installments_interest", "count", strconv.Itoa(n)))
	}
	return strings.Join(said, " ")
}

// each is the amount of one installment. If they cannot all be the same, it says that this is about one of them: the issuer decides
// which one differs, and the exact total stands beside it.
func (v view) each(a money.Amount, even bool) string {
	if even {
		return v.money(a)
	}
	return v.T("installments_about", "each", v.money(a))
}

// installments says in how many installments a payment may be paid, or was.
func (v view) installments(s payments.Shown, state string) string {
	if state == "waiting" || state == "refused" {
		return v.installmentsText(s.Offer, s.Price.Local)
	}
	return v.planText(s.End.Plan)
}

// planText says how a shopper pays, or paid; "" if at once.
func (v view) planText(p installment.Plan) string {
	if !p.Known() {
		return ""
	}
	key := "installments_plan"
	switch {
	case p.Each.IsZero():
		key = "installments_count"
	case p.By == installment.Merchant:
		key = "installments_plan_free"
	case p.Total.IsZero():
		key = "installments_each"
	}
	pairs := []string{"count", strconv.Itoa(p.Count)}
	if !p.Each.IsZero() {
		pairs = append(pairs, "each", v.each(p.Each, p.Even()))
	}
	if !p.Total.IsZero() {
		pairs = append(pairs, "total", v.money(p.Total))
	}
	return v.T(key, pairs...)
}
