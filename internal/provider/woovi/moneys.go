package woovi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// worth is what the shopper paid of a charge, by its own fields: less than its value if Woovi took a
// discount off. It returns false if they contradict each other.
func (r chargeReply) worth() (money.Amount, bool) {
	value := amount(r.Value)
	if r.WithDiscount == "" || r.WithDiscount == r.Value {
		return value, value.IsPositive()
	}
	paid := amount(r.WithDiscount)
	off, gift := amount(r.Discount).Minor, amount(r.Giftback).Minor
	discount := value.Minor - paid.Minor
	return paid, paid.IsPositive() && discount > 0 && (discount == off || discount == gift || discount == off+gift)
}

// received is a transaction of a charge.
type received struct {
	EndToEndID string      `json:"endToEndId"`
	Value      json.Number `json:"value"` // centavos
	Type       string      `json:"type"`
	Status     string      `json:"status"`
	Time       string      `json:"time"`
	Charge     *struct {
		CorrelationID string `json:"correlationID"`
	} `json:"charge"`
}

// arrived are the statuses of a payment that arrived, whatever became of it.
var arrived = []string{"", "CONFIRMED", "REFUNDED", "PARTIAL_REFUND"}

// unlisted says why the payments of a charge cannot be read; "" if they can.
type unlisted string

const (
	denied unlisted = "transactions_denied"       // the AppID lacks the scope, so the charge's own fields count
	silent unlisted = "transactions_no_answer"    // now
	odd    unlisted = "transactions_not_readable" // an answer of a form that is not documented, or a refusal: it may stay so
)

// payments are the payments of a charge, the oldest first.
func (c *client) payments(ctx context.Context, reference string) ([]received, unlisted) {
	query := url.Values{"charge": {reference}, "skip": {"0"}, "limit": {strconv.Itoa(page)}}
	answer, failed := c.call(ctx, http.MethodGet, "/api/v1/transaction?"+query.Encode(), nil)
	switch {
	case failed != nil:
		return nil, silent
	case answer.Status == http.StatusUnauthorized, answer.Status == http.StatusForbidden:
		return nil, denied
	case !good(answer) && provider.Refused(answer.Status).Kind != pay.Errored, !json.Valid(answer.Body): // or it is a gateway's page
		return nil, silent
	}
	list, word := paymentsIn(answer, reference)
	if word != "" {
		c.account.Strange("transactions", word)
		return nil, odd
	}
	return list, ""
}

// paymentsIn reads the payments of a charge from a list of its transactions. strange is what is not as documented.
func paymentsIn(answer provider.Reply, reference string) (list []received, strange string) {
	var reply struct {
		Transactions *[]received `json:"transactions"`
		PageInfo     pageInfo    `json:"pageInfo"`
	}
	switch {
	case !good(answer), json.Unmarshal(answer.Body, &reply) != nil, reply.Transactions == nil:
		return nil, strconv.Itoa(answer.Status)
	case reply.PageInfo.HasNextPage != nil && *reply.PageInfo.HasNextPage:
		return nil, "too many"
	}
	for _, t := range *reply.Transactions {
		switch {
		case t.Type != "PAYMENT", slices.Contains([]string{"CREATED", "IN_PROCESSING", "REJECTED"}, t.Status):
			continue
		case !slices.Contains(arrived, t.Status):
			return nil, t.Status
		case t.Charge == nil || t.Charge.CorrelationID != reference, provider.Exact(t.EndToEndID, 64) == "", !amount(t.Value).IsPositive():
			return nil, "not of the charge"
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b received) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.EndToEndID, b.EndToEndID))
	})
	return list, ""
}

// paid adds what was really paid to the outcome of a charge that is over. The first money's id is our
// reference, since a charge is paid once; another one's is the bank's number.
//
// If the payments are not listed, an expired charge may have been paid. A completed one was, but
// perhaps not once: why is then odd, and a notification of it is not read.
func (c *client) paid(ctx context.Context, reference string, o pay.Outcome) (_ pay.Outcome, why unlisted) {
	if o.Kind != pay.Approved && o.Kind != pay.Lapsed {
		return o, ""
	}
	list, why := c.payments(ctx, reference)
	switch {
	case why == silent, why == odd && o.Kind == pay.Lapsed:
		return provider.Unknown(string(why)), why
	case len(list) == 0:
		return o, why
	}
	o.Kind, o.Decline, o.MoneyRef, o.Local = pay.Approved, "", reference, amount(list[0].Value)
	for _, t := range list[1:] {
		o.Also = append(o.Also, pay.Money{Ref: t.EndToEndID, ProviderRef: o.ProviderRef, Local: amount(t.Value)})
	}
	return o, ""
}

// moneyRef is our id of the money of a transaction, "" if it is not known. lost: the provider does not answer now.
func (c *client) moneyRef(ctx context.Context, reference, number string) (ref string, lost bool) {
	list, why := c.payments(ctx, reference)
	switch slices.IndexFunc(list, func(t received) bool { return t.EndToEndID == number }) {
	case -1:
		return "", why == silent
	case 0:
		return reference, false
	}
	return number, false
}
