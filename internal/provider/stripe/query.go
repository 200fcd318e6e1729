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
	// made is how long after its request an object may be created: the duration of the call and
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
		s, o := find[session](ctx, p, "/v1/checkout/sessions", r.Reference, p.since(r))
		if o != nil {
			return *o
		}
		return p.readSession(ctx, s.ID, r) // the list does not contain the intent
	case r.ProviderRef != "":
		var i intent
		if f := p.get(ctx, "/v1/payment_intents/"+url.PathEscape(r.ProviderRef), nil, &i); f != nil {
			return f.queryFailed() // also 404: what was there once cannot be proven missing
		}
		if i.reference() != r.Reference {
			return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
		}
		return p.withLoose(ctx, i, p.reversed(ctx, p.intent(i, r), i))
	}
	i, o := find[intent](ctx, p, "/v1/payment_intents", r.Reference, p.since(r))
	if o != nil {
		return *o
	}
	return p.withLoose(ctx, i, p.reversed(ctx, p.intent(i, r), i))
}

func (p *Provider) readSession(ctx context.Context, id string, r provider.Request) pay.Outcome {
	s, f := p.loadSession(ctx, id)
	if f != nil {
		return f.queryFailed()
	}
	return p.loaded(ctx, s, r)
}

// loaded is the outcome of a session that was read with its intent. It is not known while a payment is under way on a page that has ended.
func (p *Provider) loaded(ctx context.Context, s session, r provider.Request) pay.Outcome {
	switch {
	case s.reference() != r.Reference:
		return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	case s.underway() && !p.Now().After(r.Expires.Add(challenge)):
		o := p.session(s, r)
		o.Kind, o.Decline = pay.Unknown, "payment_under_way"
		return o
	case s.Intent.value == nil:
		return p.session(s, r)
	}
	return p.reversed(ctx, p.session(s, r), *s.Intent.value)
}

func (p *Provider) loadSession(ctx context.Context, id string) (s session, f *failure) {
	f = p.get(ctx, "/v1/checkout/sessions/"+url.PathEscape(id), url.Values{"expand[]": {"payment_intent.latest_charge"}}, &s) // and the intent
	return s, f
}

// find looks for the object with our reference in a part of a list. If it finds none, the outcome
// says whether that is proven.
func find[T listed](ctx context.Context, p *Provider, path, reference string, part url.Values) (found T, o *pay.Outcome) {
	there := false
	f := walk(ctx, p, path, part, func(object T) bool {
		if there = object.reference() == reference; there {
			found = object
		}
		return there
	})
	switch {
	case f != nil:
		asked := f.queryFailed()
		return found, &asked
	case !there:
		return found, &pay.Outcome{Kind: pay.Missing}
	}
	return found, nil
}

// since is the part of a list in which a charge must be, if it was made.
func (p *Provider) since(r provider.Request) url.Values { return p.between(r.Now, r.Sent, r.Sent) }

// between is the part of a list with what a call may have made, by the times at which it was first
// and last sent; zero if one is not known. They are by the merchant's clock, which may have been
// moved ahead since, so their age at now is used instead.
func (p *Provider) between(now, first, last time.Time) url.Values {
	query, ours := url.Values{}, p.Now()
	if age := now.Sub(first); !first.IsZero() && age >= 0 {
		query.Set("created[gte]", strconv.FormatInt(ours.Add(-age-skew).Unix(), 10))
	}
	if age := now.Sub(last); !last.IsZero() && age >= 0 && now.Sub(ours).Abs() < time.Minute {
		query.Set("created[lte]", strconv.FormatInt(ours.Add(made-age).Unix(), 10))
	}
	return query
}

// challenge is how long after the end of its page a payment is waited for that was under way when the page ended: an issuer's
// challenge, mostly. Then the shopper is taken to have left it.
const challenge = time.Hour

// underway reports whether a session has ended while a payment on it was not over: it may still succeed.
func (s session) underway() bool {
	i := s.Intent.value
	return s.Status == "expired" && i != nil && i.Status != "requires_payment_method" && i.Status != "canceled" && i.Status != "succeeded"
}

// Cancel cancels an intent or expires a session. A session with an issued boleto cannot be
// expired any more.
func (p *Provider) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	if r.ProviderRef == "" {
		o := p.Query(ctx, r)
		if o.Kind != pay.Awaiting && o.Kind != pay.Lapsed {
			return provider.Ended(o)
		}
		r.ProviderRef = o.ProviderRef
	}
	if strings.HasPrefix(r.ProviderRef, "cs_") {
		return p.expire(ctx, r)
	}
	var i intent
	f := p.post(ctx, "/v1/payment_intents/"+url.PathEscape(r.ProviderRef)+"/cancel", url.Values{}, "", &i)
	switch {
	case f == nil:
		return provider.Ended(p.intent(i, r))
	case f.outcome.Kind == pay.Errored: // also if it had ended before
		return provider.RefusedCancel(p.Query(ctx, r))
	}
	return provider.Ended(p.Query(ctx, r))
}

// expire ends a session. That proves that nobody pays any more, unless a payment on it is under way.
func (p *Provider) expire(ctx context.Context, r provider.Request) pay.Outcome {
	var s session
	failed := p.post(ctx, "/v1/checkout/sessions/"+url.PathEscape(r.ProviderRef)+"/expire", url.Values{"expand[]": {"payment_intent"}}, "", &s)
	if failed != nil { // also if it had ended before
		var f *failure
		if s, f = p.loadSession(ctx, r.ProviderRef); f != nil {
			return provider.Ended(f.queryFailed())
		}
	}
	o := p.loaded(ctx, s, r)
	if failed != nil && failed.outcome.Kind == pay.Errored {
		return provider.RefusedCancel(o)
	}
	return provider.Ended(o)
}
