package stripe

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

const (
	// maxPages limits a search; a page has a hundred objects.
	maxPages = 50
	// skew is how far Stripe's clock and ours may differ.
	skew = 5 * time.Minute
	// made is how long after its request a charge may be created: the duration of the call and
	// a wide margin.
	made = 15 * time.Minute
)

// Query asks for the state of a charge.
func (p *Provider) Query(ctx context.Context, r provider.Request) pay.Outcome {
	_, hosted := method(r.Rail)
	switch {
	case hosted && strings.HasPrefix(r.ProviderRef, "cs_"):
		return p.readSession(ctx, r.ProviderRef, r)
	case hosted:
		s, o := find[session](ctx, p, "/v1/checkout/sessions", r)
		if o != nil {
			return *o
		}
		return p.readSession(ctx, s.ID, r) // the list does not contain the intent
	case r.ProviderRef != "":
		var i intent
		if f := p.get(ctx, "/v1/payment_intents/"+url.PathEscape(r.ProviderRef), nil, &i); f != nil {
			return f.asked() // also 404: what was there once cannot be proven missing
		}
		if i.reference() != r.Reference {
			return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
		}
		return p.withLoose(ctx, i, p.reversed(ctx, p.intent(i, r), i))
	}
	i, o := find[intent](ctx, p, "/v1/payment_intents", r)
	if o != nil {
		return *o
	}
	return p.withLoose(ctx, i, p.reversed(ctx, p.intent(i, r), i))
}

func (p *Provider) readSession(ctx context.Context, id string, r provider.Request) pay.Outcome {
	s, f := p.loadSession(ctx, id)
	if f != nil {
		return f.asked()
	}
	if s.reference() != r.Reference {
		return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	if s.Intent.value == nil {
		return p.session(s, r)
	}
	return p.reversed(ctx, p.session(s, r), *s.Intent.value)
}

func (p *Provider) loadSession(ctx context.Context, id string) (s session, f *failure) {
	f = p.get(ctx, "/v1/checkout/sessions/"+url.PathEscape(id), url.Values{"expand[]": {"payment_intent"}}, &s)
	return s, f
}

// find looks for the object with our reference among those created since the payment. If it
// finds none, the outcome says whether that is proven.
func find[T listed](ctx context.Context, p *Provider, path string, r provider.Request) (found T, o *pay.Outcome) {
	there := false
	f := walk(ctx, p, path, p.since(r), func(object T) bool {
		if there = object.reference() == r.Reference; there {
			found = object
		}
		return there
	})
	switch {
	case f != nil:
		asked := f.asked()
		return found, &asked
	case !there:
		return found, &pay.Outcome{Kind: pay.Missing}
	}
	return found, nil
}

// since bounds a list by the time of the call. That time is by the merchant's clock, which
// may have been moved ahead since, so the age of the call is used instead.
func (p *Provider) since(r provider.Request) url.Values {
	query := url.Values{}
	age := r.Now.Sub(r.Sent)
	if r.Sent.IsZero() || age < 0 {
		return query
	}
	now := p.Now()
	from := now.Add(-age)
	query.Set("created[gte]", strconv.FormatInt(from.Add(-skew).Unix(), 10))
	if r.Now.Sub(now).Abs() < time.Minute {
		query.Set("created[lte]", strconv.FormatInt(from.Add(made).Unix(), 10))
	}
	return query
}

// Cancel cancels an intent or expires a session. A session with an issued boleto cannot be
// expired any more.
func (p *Provider) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	if r.ProviderRef == "" {
		o := p.Query(ctx, r)
		if o.Kind != pay.Awaiting {
			return provider.Ended(o)
		}
		r.ProviderRef = o.ProviderRef
	}
	var o pay.Outcome
	var f *failure
	id := url.PathEscape(r.ProviderRef)
	if strings.HasPrefix(r.ProviderRef, "cs_") {
		var s session
		if f = p.post(ctx, "/v1/checkout/sessions/"+id+"/expire", url.Values{"expand[]": {"payment_intent"}}, "", &s); f == nil {
			o = p.session(s, r)
		}
	} else {
		var i intent
		if f = p.post(ctx, "/v1/payment_intents/"+id+"/cancel", url.Values{}, "", &i); f == nil {
			o = p.intent(i, r)
		}
	}
	switch {
	case f == nil:
		return provider.Ended(o)
	case f.outcome.Kind == pay.Errored: // also if it had ended before
		return provider.Kept(p.Query(ctx, r))
	}
	return provider.Ended(p.Query(ctx, r))
}
