package dlocal

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// settles is how long a new payout, or a new refund, may be missing from dLocal's answers; the documents do
// not say.
const settles = 5 * time.Minute

// PayoutAdapter is the adapter for accounts at dLocal that pay out.
func PayoutAdapter() provider.Adapter {
	return provider.Adapter{
		Name: "dlocal-payouts",
		Fields: []provider.Field{
			{Name: "clientId", Doc: "the Client ID for Payouts v3, which dLocal's Technical Account Manager gives. This server's address has to be registered in the Merchant Dashboard", Public: true},
			{Name: "clientSecret", Doc: "the Client Secret for the Client ID"},
			{Name: "purpose", Doc: "the purpose code agreed with dLocal for these payouts, from its API codes for Payouts v3: DIGITAL_GOODS, for example", Public: true},
		},
		Rails:       provider.Rails(corridors, "pix.BRL"),
		Needs:       payoutNeeds(),
		OpenPayouts: openPayouts,
	}
}

var purposeCode = regexp.MustCompile(`^[A-Z][A-Z0-9_]{1,63}$`)

func openPayouts(a provider.Account) (payouts.Provider, error) {
	for _, f := range PayoutAdapter().Fields {
		if _, err := a.Credential(f.Name, 4096); err != nil {
			return nil, err
		}
	}
	s := &sender{
		Account: a, base: a.Base(sandbox, production),
		id: a.Credentials["clientId"], secret: a.Credentials["clientSecret"], purpose: a.Credentials["purpose"],
	}
	if !purposeCode.MatchString(s.purpose) {
		return nil, &provider.FieldError{Field: "purpose", Reason: "it is not a code: capital letters, digits and underscores"}
	}
	return s, nil
}

// Send requests the payout. dLocal accepts a reference once, so calls need no turns here,
// and a used reference becomes a query.
func (s *sender) Send(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	body, refused := s.order(r)
	if refused != nil {
		return *refused
	}
	// The refusal of a later call proves nothing: an earlier call may have arrived.
	first := r.Calls == 1 && r.ProviderRef == ""
	answer, failed := s.call(ctx, http.MethodPost, "/payouts/v3", body)
	switch {
	case failed != nil && failed.Kind != pay.Unknown && first:
		return payouts.Unavailable("unreachable", "the provider cannot be called ("+failed.Decline+")")
	case failed != nil:
		return payouts.Unknown("there is no answer (" + failed.Decline + ")")
	case answer.Status >= http.StatusBadRequest:
		return s.refused(ctx, r, answer, first)
	}
	if found, ok := answer.payout(r.Reference); ok {
		return s.outcome(found)
	}
	return payouts.Unknown(unreadablePayout)
}

// refused is the outcome of a call that was refused. An earlier call may have made the
// payout.
func (s *sender) refused(ctx context.Context, r payouts.Request, answer reply, first bool) pay.PayoutOutcome {
	switch {
	case answer.refusedUs() && first:
		return payouts.Unavailable("not_permitted", "the account's credentials or this server's address are refused ("+saidOf(answer)+")")
	case answer.Status == http.StatusTooManyRequests && first:
		return payouts.Unavailable("rate_limited", "the account sent too many requests")
	case answer.Status != http.StatusBadRequest || answer.code() == 0: // it may be a gateway's
		return payouts.Unknown("the provider answers with " + saidOf(answer))
	}
	why, final := refusals[answer.code()]
	if final && first {
		return why.outcome(answer)
	}
	if found, state := s.find(ctx, r.Reference); state == there {
		return s.outcome(found)
	}
	return payouts.Unknown("the payout is refused (" + saidOf(answer) + "), and it is not known whether there is one")
}

// Query reads the payout by our reference.
func (s *sender) Query(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	found, state := s.find(ctx, r.Reference)
	switch {
	case state == there:
		return s.outcome(found)
	case state == gone:
		return payouts.NotFound(r, settles, "the payout was there, but is not found now")
	}
	return payouts.Unknown("the query got no usable answer")
}
