package stripe

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

const (
	// settles is how long a new payment may be missing from lists; the documents do not say.
	settles = 5 * time.Minute
	// before is how far before the last call the search begins: clocks differ, and an earlier
	// call may have made the payment.
	before = 24 * time.Hour
	// mostPages limits a search.
	mostPages = 100
)

// minor is an amount in an answer, in minor units.
type minor struct {
	Value    *int64 `json:"value"`
	Currency string `json:"currency"`
}

// payment is the part of an OutboundPayment that we read.
type payment struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Status   string            `json:"status"`
	Metadata map[string]string `json:"metadata"`
	Arrival  string            `json:"expected_arrival_date"`
	To       struct {
		Credited minor `json:"credited"`
	} `json:"to"`
	Moved struct {
		Posted string `json:"posted_at"`
	} `json:"status_transitions"`
	Details struct {
		Failed   why `json:"failed"`
		Returned why `json:"returned"`
	} `json:"status_details"`
}

type why struct {
	Reason string `json:"reason"`
}

// paymentList is a page of a list.
type paymentList struct {
	Data *[]payment `json:"data"`
	Next string     `json:"next_page_url"`
}

// of reports whether p is a payment of ours with that reference.
func (p payment) of(reference string) bool {
	return p.Object == "v2.money_management.outbound_payment" && provider.Plain(p.ID, 255) && reference != "" && p.Metadata[referenceKey] == reference
}

// credited is what the recipient gets; zero if that is not reported.
func (p payment) credited() money.Amount {
	c, err := money.ParseCurrency(strings.ToUpper(p.To.Credited.Currency))
	if err != nil || p.To.Credited.Value == nil || *p.To.Credited.Value < 1 {
		return money.Amount{}
	}
	return money.New(*p.To.Credited.Value, c)
}

// presence says whether a payment exists.
type presence int

const (
	unsure presence = iota
	there
	gone
)

// find looks for the payment of a request. A payment that was there once is never gone.
func (pa *payer) find(ctx context.Context, r payouts.Request) (payment, presence) {
	if r.ProviderRef == "" {
		return pa.walk(ctx, r)
	}
	var found payment
	if f := pa.ask(ctx, paymentsPath+"/"+url.PathEscape(r.ProviderRef), &found); f != nil || !found.of(r.Reference) {
		return payment{}, unsure
	}
	return found, there
}

// walk searches all payments since the call. The list is not narrowed to a recipient: after
// Stripe forgets our key, one beneficiary may have two. The request uses the merchant's
// clock and the list uses Stripe's, so the search begins at the age of the call.
func (pa *payer) walk(ctx context.Context, r payouts.Request) (payment, presence) {
	since := pa.Now().Add(-max(r.Now.Sub(r.Sent), 0) - before)
	next := paymentsPath + "?" + url.Values{"created[gte]": {since.UTC().Format(time.RFC3339)}}.Encode()
	for range mostPages {
		var list paymentList
		if f := pa.ask(ctx, next, &list); f != nil || list.Data == nil {
			return payment{}, unsure
		}
		for _, found := range *list.Data {
			if found.of(r.Reference) {
				return found, there
			}
		}
		if next = list.Next; next == "" {
			return payment{}, gone
		}
		if !strings.HasPrefix(next, paymentsPath+"?") { // never send our key to another address
			return payment{}, unsure
		}
	}
	return payment{}, unsure
}

// unanswered is a call that got no usable answer.
type unanswered struct {
	never  bool   // the call never left
	status int    // 0: no answer
	kind   string // the code of Stripe's error
	why    string // our reason, if there is no such code
}

// ask makes a query.
func (pa *payer) ask(ctx context.Context, path string, into any) *unanswered {
	return pa.v2(ctx, http.MethodGet, path, "", "", nil, into)
}

// send makes a call that changes something, once for a key, as the account itself or as a
// recipient.
func (pa *payer) send(ctx context.Context, path, recipient, key string, body, into any) *unanswered {
	return pa.v2(ctx, http.MethodPost, path, recipient, key, body, into)
}

func (pa *payer) v2(ctx context.Context, method, path, recipient, key string, body, into any) *unanswered {
	req, unsent := provider.NewRequest(ctx, method, pa.base+path, body)
	if unsent != nil {
		return &unanswered{never: true, why: unsent.Decline}
	}
	if recipient != "" {
		req.Header.Set("Stripe-Context", recipient)
	}
	reply, broken := pa.do(req, version, key)
	if broken != nil {
		return &unanswered{never: broken.Kind == pay.Unavailable, why: broken.Decline}
	}
	if reply.Status == http.StatusOK || reply.Status == http.StatusCreated {
		if json.Unmarshal(reply.Body, into) != nil {
			return &unanswered{status: reply.Status, why: unreadable}
		}
		return nil
	}
	f := &unanswered{status: reply.Status}
	var text struct {
		Error *apiError `json:"error"`
	}
	if json.Unmarshal(reply.Body, &text) != nil || text.Error == nil {
		return f // not from Stripe: a gateway's answer proves nothing
	}
	f.kind = word(text.Error.Type)
	code := word(text.Error.Code)
	if _, known := refusals[code]; known || f.kind == "" || strings.HasPrefix(code, "idempotency") { // the code is more precise
		f.kind = code
	}
	return f
}
