package payments

import (
	"context"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// moment is a line of a payment's story.
type moment struct {
	At         time.Time
	Tone, Icon string
	title      sentence
	text       sentence
	rank       int // of moments at the same time
}

// Quiet reports whether a moment is only an event or a successful delivery: the page folds those away.
func (m moment) Quiet() bool { return m.rank >= rankEvent && m.Tone == "neutral" }

// sentence is a sentence in the language of the page.
type sentence func(*frame.Page) template.HTML

// Title is what happened.
func (m moment) Title(p *frame.Page) template.HTML { return m.title(p) }

// Text says more; "" if there is no more to say.
func (m moment) Text(p *frame.Page) template.HTML {
	if m.text == nil {
		return ""
	}
	return m.text(p)
}

// t is a sentence of the texts.
func t(key string, args ...any) sentence {
	return func(p *frame.Page) template.HTML { return p.T(key, args...) }
}

// link is a link to a page of the shop.
func link(p *frame.Page, path, text string) template.HTML {
	return template.HTML(`<a href="` + template.HTMLEscapeString(p.Link(path)) + `">` + template.HTMLEscapeString(text) + `</a>`) //nolint:gosec // escaped
}

// The ranks of moments at the same time: causes before what follows from them.
const (
	rankCreated = iota
	rankAttempt
	rankStatus
	rankClaim
	rankBooked
	rankEvent
	rankDelivery
)

// moments is the whole story of a payment, oldest first.
func (s *sales) moments(ctx context.Context, v *frame.Visit, p pay.Payment, l payments.Life) ([]moment, error) {
	hooks := map[string]string{}
	if len(l.Deliveries) > 0 {
		list, _, err := s.Uses.Webhooks.Subscriptions(ctx, v.Scope, lists.Page{Limit: 2 * webhooks.MostSubscriptions})
		if err != nil {
			return nil, err
		}
		for _, sub := range list {
			hooks[sub.ID] = sub.URL
		}
	}
	list := slices.Concat(ofPayment(p), ofAttempts(p, operator(v)), ofClaims(l.Claims), ofBooks(l.Movements), ofEvents(l.Events), ofDeliveries(l.Deliveries, hooks))
	slices.SortStableFunc(list, func(a, b moment) int {
		if c := a.At.Truncate(time.Millisecond).Compare(b.At.Truncate(time.Millisecond)); c != 0 {
			return c
		}
		return a.rank - b.rank
	})
	return list, nil
}

// ofPayment tells how the payment's status changed.
func ofPayment(p pay.Payment) []moment {
	at := p.Times
	created := t("m_created_about")
	if p.Order.ID != "" {
		created = t("m_created_order", "order", p.Order.ID)
	}
	list := []moment{{At: at.Created, Icon: "plus", rank: rankCreated, title: t("m_created", "amount", p.Price.Requested()), text: created}}
	add := func(when time.Time, tone, key string, text sentence) {
		if !when.IsZero() {
			list = append(list, moment{At: when, Tone: tone, rank: rankStatus, title: t(key), text: text})
		}
	}
	add(at.Completed, "good", "m_completed", t("m_completed_about", "amount", p.Price.Local))
	switch {
	case p.End.Canceled():
		add(at.Failed, "neutral", "m_canceled", nil)
	case p.End.Failure != nil:
		add(at.Failed, "bad", "m_failed", why(*p.End.Failure))
	}
	add(at.Expired, "neutral", "m_expired", nil)
	add(at.Chargeback, "bad", "m_chargeback", nil)
	if p.Canceling() {
		add(p.Times.CancelAsked, "waiting", "m_canceling", nil)
	}
	if p.Status == pay.Pending {
		list = append(list, moment{At: at.Updated, Tone: "waiting", rank: rankDelivery + 1, title: t("m_waits"), text: t("m_waits_until", "time", at.Expires)})
	}
	for _, stray := range p.Strays {
		list = append(list, moment{At: at.Updated, Tone: "waiting", Icon: "warning", rank: rankStatus, title: t("m_stray", "amount", stray.Local)})
	}
	return list
}

// why is the reason of a failure: in our words if the texts have it, else the code with the message.
func why(f pay.Failure) sentence {
	return func(p *frame.Page) template.HTML {
		for _, code := range []string{f.Decline, f.Code} {
			if key := "why_" + code; code != "" && p.Has(key) {
				return p.T(key)
			}
		}
		return p.T("why_other", "message", f.Message)
	}
}

// ofAttempts tells of the calls to providers. Their names and the reasons of the routing are for operators alone.
func ofAttempts(p pay.Payment, names bool) (list []moment) {
	for _, a := range p.Attempts {
		m := moment{At: time.UnixMicro(a.Started).UTC(), Tone: "neutral", Icon: "rules", rank: rankAttempt, title: t("m_attempt_"+string(a.Status), "n", a.Order)}
		if a.Status == pay.Lapsed && a.Order < len(p.Attempts) && p.Attempts[a.Order].Again {
			m.title = t("m_attempt_left", "n", a.Order)
		}
		switch a.Status {
		case pay.Declined, pay.Unavailable, pay.Errored, pay.Missing:
			m.Tone, m.Icon = "bad", ""
			m.text = why(pay.Failure{Code: string(a.Code), Decline: a.Decline, Message: strings.ReplaceAll(string(a.Code), "_", " ")})
			if a.Code == "" && a.Decline == "" {
				m.text = nil
			}
		case pay.Unknown, pay.Sending:
			m.Tone, m.Icon = "waiting", ""
		case pay.Approved, pay.Reversed, pay.Awaiting, pay.Lapsed:
		}
		if names {
			inner, account, reason := m.text, a.Provider, a.Why
			m.text = func(p *frame.Page) template.HTML {
				more := p.T("m_account", "account", account, "why", reason)
				if inner != nil {
					return inner(p) + " · " + more
				}
				return more
			}
		}
		list = append(list, m)
		for _, try := range a.Tries {
			f := p.Way.Refused(try)
			list = append(list, moment{At: time.UnixMicro(try.At).UTC(), Tone: "bad", rank: rankAttempt, title: t("m_try_" + string(try.Reason.Meaning().Outcome)), text: why(f)})
		}
	}
	return list
}

// ofClaims tells of refunds, disputes and inquiries.
func ofClaims(claims []pay.Claim) (list []moment) {
	for _, c := range claims {
		path := strings.TrimPrefix(claimPath(c), "/")
		about := func(p *frame.Page) template.HTML { return p.T("m_claim", "id", link(p, path, c.ID)) }
		if c.Reason != "" {
			about = func(p *frame.Page) template.HTML {
				reason := template.HTML(template.HTMLEscapeString(c.Reason)) //nolint:gosec // escaped
				if key := "reason_" + c.Reason; p.Has(key) {
					reason = p.T(key)
				}
				return p.T("m_claim_reason", "id", link(p, path, c.ID), "reason", reason)
			}
		}
		kind := string(c.Kind)
		opened := moment{At: c.CreatedAt, Tone: "neutral", Icon: "refunds", rank: rankClaim, title: t("m_"+kind+opening[c.Kind], "amount", c.Local), text: about}
		if c.Kind != pay.UserDispute {
			opened.Tone, opened.Icon = "bad", "disputes"
		}
		list = append(list, opened)
		if c.Kind != pay.UserDispute && c.Status == pay.ClaimNeedsEvidence && !c.DueBy.IsZero() {
			list = append(list, moment{At: c.UpdatedAt, Tone: "waiting", rank: rankDelivery + 1, title: t("m_evidence"), text: t("m_evidence_until", "time", c.DueBy)})
		}
		if c.Resolved.IsZero() {
			continue
		}
		end, tone := "kept", "good"
		if c.Status.Pays() {
			end, tone = "paid", "bad"
		}
		if c.Kind == pay.UserDispute {
			tone = map[string]string{"paid": "good", "kept": "bad"}[end]
		}
		list = append(list, moment{At: c.Resolved, Tone: tone, rank: rankClaim, title: t("m_"+kind+"_"+end, "amount", c.Local)})
	}
	return list
}

// ofBooks tells what was booked, a line for each transfer.
func ofBooks(movements []pay.Movement) (list []moment) {
	type lines []pay.Movement
	var transfers []lines
	last := ""
	for _, m := range movements {
		transfer := m.ID[:strings.LastIndex(m.ID, "-")]
		if transfer != last {
			transfers, last = append(transfers, nil), transfer
		}
		transfers[len(transfers)-1] = append(transfers[len(transfers)-1], m)
	}
	for _, moved := range transfers {
		list = append(list, moment{At: moved[0].At, Tone: "neutral", Icon: "balance", rank: rankBooked, title: t("m_booked"), text: func(p *frame.Page) template.HTML {
			var parts []string
			for _, m := range moved {
				parts = append(parts, string(p.T("m_moved", "what", p.T("moved_"+string(m.Type)), "amount", signed(p, m.Amount), "bucket", p.T("bucket_"+string(m.Bucket)))))
			}
			return template.HTML(strings.Join(parts, "<br>")) //nolint:gosec // made of texts
		}})
	}
	return list
}

// signed is an amount with its sign.
func signed(p *frame.Page, cents int64) template.HTML {
	text := p.Money(money.New(cents, money.USD))
	if cents > 0 {
		return "+" + text
	}
	return text
}

func ofEvents(events []pay.ToldEvent) (list []moment) {
	for _, e := range events {
		list = append(list, moment{At: e.At, Tone: "neutral", Icon: "events", rank: rankEvent, title: t("m_event", "type", string(e.Type)), text: func(p *frame.Page) template.HTML {
			return link(p, "events/"+e.ID, e.ID)
		}})
	}
	return list
}

// ofDeliveries tells how events reached the shop's endpoints.
func ofDeliveries(deliveries []webhooks.Delivery, hooks map[string]string) (list []moment) {
	for _, d := range deliveries {
		m := moment{At: d.LastAt, rank: rankDelivery, Icon: "webhooks", Tone: map[webhooks.DeliveryStatus]string{webhooks.DeliveryDelivered: "neutral", webhooks.DeliveryPending: "waiting"}[d.Status]}
		if m.Tone == "" {
			m.Tone = "bad"
		}
		if m.At.IsZero() {
			m.At = d.CreatedAt
		}
		m.title = t("m_delivery_"+string(d.Status), "type", string(d.EventType))
		m.text = func(p *frame.Page) template.HTML {
			to, known := hooks[d.Subscription]
			if !known {
				to = words(p, "m_endpoint_gone")
			}
			where := link(p, "webhooks/"+d.Subscription+"/deliveries/"+d.ID, to)
			switch {
			case d.Attempts == 0:
				return p.T("m_delivery_to", "where", where)
			case d.LastCode == 0:
				return p.T("m_delivery_error", "where", where, "error", p.T("reason_"+d.LastError), "tries", d.Attempts)
			}
			took, _ := p.Took(d.LastMs) // a number
			return p.T("m_delivery_code", "where", where, "code", d.LastCode, "took", took, "tries", d.Attempts)
		}
		list = append(list, m)
	}
	return list
}

// opening completes the key of a claim's first moment: a refund is asked for, the others are opened.
var opening = map[pay.ClaimKind]string{pay.ChargebackClaim: "_opened", pay.Inquiry: "_opened"}
