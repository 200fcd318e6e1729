package woovi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

const (
	page      = 100 // objects in one answer: Woovi's default
	deepest   = 10  // pages of one time span; the largest skip is not documented
	mostPages = 100 // of one query
	// before and after are how far around the last call the search reaches: an earlier call
	// may have made the object, and clocks differ.
	before = 24 * time.Hour
	after  = time.Hour
)

// paymentReply is a payment in an answer or a list.
type paymentReply struct {
	Payment struct {
		CorrelationID string      `json:"correlationID"`
		Status        string      `json:"status"`
		Value         json.Number `json:"value"` // centavos
		Alias         string      `json:"destinationAlias"`
		AliasType     string      `json:"destinationAliasType"`
	} `json:"payment"`
	Transaction *struct {
		EndToEndID string      `json:"endToEndId"`
		Value      json.Number `json:"value"` // centavos
		Reason     string      `json:"providerRejectedReason"`
		Code       string      `json:"providerErrorCode"`
	} `json:"transaction"`
}

// ref is the bank's number of a payment. Until there is one, our reference stands in for it
// and shows that the payment existed.
func (r paymentReply) ref() string {
	if r.Transaction != nil {
		if number := provider.Exact(r.Transaction.EndToEndID, 64); number != "" {
			return number
		}
	}
	return r.Payment.CorrelationID
}

// moved is the amount that the bank moved; before that, the amount of the order.
func (r paymentReply) moved() money.Amount {
	if r.Transaction != nil {
		if moved := amount(r.Transaction.Value); moved != (money.Amount{}) {
			return moved
		}
	}
	return amount(r.Payment.Value)
}

// why is why a payment failed: a code, and a text that begins with a code.
func (r paymentReply) why() (code, text string) {
	if r.Transaction == nil {
		return "", ""
	}
	return provider.Exact(r.Transaction.Code, 64), provider.Exact(r.Transaction.Reason, 512)
}

// presence says whether there is a payment.
type presence int

const (
	unsure presence = iota
	there
	gone
)

// read is the payment of an answer, false if it is not the requested one.
func read(answer provider.Reply, reference string) (found paymentReply, ok bool) {
	err := json.Unmarshal(answer.Body, &found)
	return found, err == nil && found.Payment.CorrelationID == reference
}

// find looks for the payment of a request. The answer for an unknown reference is not
// documented, so only the list proves absence.
func (p *payer) find(ctx context.Context, r payouts.Request) (paymentReply, presence) {
	found, state := p.get(ctx, r.Reference)
	if state != gone {
		return found, state
	}
	// The request uses the merchant's clock, the payment Woovi's.
	now := p.account.account.Now()
	from := now.Add(-max(r.Now.Sub(r.Sent), 0) - before)
	state = p.account.find(ctx, "/api/v1/payment", from, now.Add(after), func(body []byte) (has, more, ok bool) {
		var list paymentList
		if json.Unmarshal(body, &list) != nil || list.Payments == nil || list.PageInfo.HasNextPage == nil {
			return false, false, false
		}
		for _, one := range *list.Payments {
			if one.Payment.CorrelationID == r.Reference {
				found, has = one, true
			}
		}
		return has, *list.PageInfo.HasNextPage, true
	})
	return found, state
}

// get reads a payment by our reference. Gone is not a proof: see find.
func (p *payer) get(ctx context.Context, reference string) (paymentReply, presence) {
	answer, failed := p.account.call(ctx, http.MethodGet, "/api/v1/payment/"+escape(reference), nil)
	switch {
	case failed != nil:
		return paymentReply{}, unsure
	case answer.Status == http.StatusBadRequest, answer.Status == http.StatusNotFound:
		return paymentReply{}, gone
	case !good(answer):
		return paymentReply{}, unsure
	}
	if found, ok := read(answer, reference); ok {
		return found, there
	}
	return paymentReply{}, unsure
}

// paymentList is a page of GET /api/v1/payment.
type paymentList struct {
	Payments *[]paymentReply `json:"payments"`
	PageInfo pageInfo        `json:"pageInfo"`
}

// pageInfo is of a list's page.
type pageInfo struct {
	HasNextPage *bool `json:"hasNextPage"`
}

// find searches a list for one object, page by page. look reads a page: whether it has the object,
// whether another page follows, and whether it can be read.
func (c *client) find(ctx context.Context, path string, from, to time.Time, look func(body []byte) (has, more, ok bool)) presence {
	left := mostPages
	return c.walk(ctx, path, from, to, &left, look)
}

// walk searches a time span. If the span has too many pages, it searches each half of it, as the
// documents advise.
func (c *client) walk(ctx context.Context, path string, from, to time.Time, left *int, look func(body []byte) (has, more, ok bool)) presence {
	for n := range deepest {
		if *left--; *left < 0 {
			return unsure
		}
		query := url.Values{
			"start": {from.UTC().Format(time.RFC3339)}, "end": {to.UTC().Format(time.RFC3339)},
			"skip": {strconv.Itoa(n * page)}, "limit": {strconv.Itoa(page)},
		}
		answer, failed := c.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil)
		if failed != nil || !good(answer) {
			return unsure
		}
		switch has, more, ok := look(answer.Body); {
		case !ok:
			return unsure
		case has:
			return there
		case !more:
			return gone
		}
	}
	half := to.Sub(from) / 2
	if half < time.Second {
		return unsure
	}
	middle := from.Add(half).Truncate(time.Second)
	// The halves overlap: it is not documented whether a span includes its ends.
	if state := c.walk(ctx, path, from, middle.Add(time.Second), left, look); state != gone {
		return state
	}
	return c.walk(ctx, path, middle, to, left, look)
}

// amount is whole centavos, zero if no payment can have it.
func amount(text json.Number) money.Amount {
	value, err := text.Int64()
	if err != nil || value < 1 || value > largest {
		return money.Amount{}
	}
	return money.New(value, brl)
}

// goesTo reports whether a payment goes to the Pix key of the order. How answers write keys
// is not documented, so punctuation does not count; an answer may omit the key.
func (r paymentReply) goesTo(key string) bool {
	told, kind := r.Payment.Alias, aliasType(key)
	switch {
	case told == "":
		return true
	case r.Payment.AliasType != "" && r.Payment.AliasType != kind:
		return false
	case kind == "EMAIL", kind == "RANDOM":
		return strings.EqualFold(told, key)
	case kind == "PHONE":
		return digits(told) != "" && strings.TrimPrefix(digits(told), "55") == strings.TrimPrefix(digits(key), "55")
	}
	return digits(told) == key
}

// aliasType is the kind of Pix key of a destination, "" if Woovi does not have it.
func aliasType(key string) string {
	switch {
	case strings.Contains(key, "@"):
		return "EMAIL"
	case strings.HasPrefix(key, "+") && provider.Digits(key[1:], 12, 15):
		return "PHONE"
	case len(key) == 36:
		return "RANDOM"
	case provider.Digits(key, 11, 11):
		return "CPF"
	case provider.Digits(key, 14, 14):
		return "CNPJ"
	}
	return ""
}

// usable says why an answer is not usable, in words for the operator.
func usable(answer provider.Reply, failed *pay.Outcome, scope string, into any, whole func() bool) error {
	switch {
	case failed != nil:
		return fmt.Errorf("the provider does not answer: %s", failed.Decline)
	case answer.Status == http.StatusUnauthorized, answer.Status == http.StatusForbidden:
		return fmt.Errorf("the AppID is refused, or lacks the scope %s (status %d)", scope, answer.Status)
	case !good(answer):
		return fmt.Errorf("the provider answers with status %d", answer.Status)
	case json.Unmarshal(answer.Body, into) != nil || !whole():
		return fmt.Errorf("the provider's answer cannot be read: is the address its own?")
	}
	return nil
}
