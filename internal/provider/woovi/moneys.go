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
	taken := value.Minor - paid.Minor
	return paid, paid.IsPositive() && taken > 0 && (taken == off || taken == gift || taken == off+gift)
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

// payments are the payments of a charge, the oldest first. ok is false if they cannot be read: the
// AppID may lack the scope.
func (c *client) payments(ctx context.Context, reference string) (list []received, ok bool) {
	query := url.Values{"charge": {reference}, "skip": {"0"}, "limit": {strconv.Itoa(page)}}
	answer, failed := c.call(ctx, http.MethodGet, "/api/v1/transaction?"+query.Encode(), nil)
	var reply struct {
		Transactions *[]received `json:"transactions"`
		PageInfo     pageInfo    `json:"pageInfo"`
	}
	if failed != nil || !good(answer) || json.Unmarshal(answer.Body, &reply) != nil || reply.Transactions == nil {
		return nil, false
	}
	for _, t := range *reply.Transactions {
		switch {
		case t.Type != "PAYMENT", slices.Contains([]string{"CREATED", "IN_PROCESSING", "REJECTED"}, t.Status):
			continue
		case t.Charge == nil || t.Charge.CorrelationID != reference, !slices.Contains(arrived, t.Status),
			provider.Exact(t.EndToEndID, 64) == "", !amount(t.Value).IsPositive():
			return nil, false
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b received) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.EndToEndID, b.EndToEndID))
	})
	return list, reply.PageInfo.HasNextPage == nil || !*reply.PageInfo.HasNextPage
}

// paid adds what was really paid to the outcome of a charge that is over. The first money's id is our
// reference, since a charge is paid once; another one's is the bank's number.
func (c *client) paid(ctx context.Context, reference string, o pay.Outcome) pay.Outcome {
	if o.Kind != pay.Approved && o.Kind != pay.Lapsed {
		return o
	}
	list, ok := c.payments(ctx, reference)
	if !ok || len(list) == 0 {
		return o
	}
	o.Kind, o.Decline, o.MoneyRef, o.Local = pay.Approved, "", reference, amount(list[0].Value)
	for _, t := range list[1:] {
		o.Also = append(o.Also, pay.Money{Ref: t.EndToEndID, ProviderRef: o.ProviderRef, Local: amount(t.Value)})
	}
	return o
}

// moneyRef is our id of the money of a transaction, "" if it is not known.
func (c *client) moneyRef(ctx context.Context, reference, number string) string {
	list, ok := c.payments(ctx, reference)
	at := slices.IndexFunc(list, func(t received) bool { return t.EndToEndID == number })
	switch {
	case !ok || at < 0:
		return ""
	case at == 0:
		return reference
	}
	return number
}
