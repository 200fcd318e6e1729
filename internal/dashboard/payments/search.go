package payments

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// suffix is an id without its prefix.
var suffix = regexp.MustCompile(`^[0-9A-Za-z]{26}$`)

// object is the page of what an id names, below the shop. ok is false if the text is no id of anything that the
// shop has.
func (s *sales) object(ctx context.Context, v *frame.Visit, text string) (path string, ok bool) {
	prefix, rest := "", text
	if at := strings.IndexAny(text, "-_"); at > 0 {
		prefix, rest = text[:at+1], text[at+1:]
	}
	if prefix == "" && suffix.MatchString(text) { // the part that people copy
		prefix, text = pay.PaymentPrefix, pay.PaymentPrefix+strings.ToUpper(text)
	}
	id := strings.ToUpper(text)
	var err error
	switch strings.ToUpper(prefix) {
	case pay.PaymentPrefix:
		path = "/payments/" + id
		_, err = s.Uses.Cascade.Payment(ctx, v.Scope, id)
	case pay.ClaimPrefix:
		var c pay.Claim
		c, err = s.Uses.Claims.Get(ctx, v.Scope, id)
		path = claimPath(c)
	case pay.SettlementPrefix:
		path = "/settlements/" + id
		_, err = s.Uses.Settlements.Get(ctx, v.Scope, id)
	case strings.ToUpper(pay.WithdrawalPrefix):
		id = pay.WithdrawalPrefix + rest
		path = "/withdrawals/" + id
		_, err = s.Uses.Payouts.Withdrawal(ctx, v.Scope, id)
	case strings.ToUpper(webhooks.EventPrefix):
		id = webhooks.EventPrefix + rest
		path = "/events/" + id
		_, err = s.Uses.Events.Get(ctx, v.Scope, id)
	case strings.ToUpper(webhooks.SubscriptionPrefix):
		id = webhooks.SubscriptionPrefix + rest
		path = "/webhooks/" + id
		_, err = s.Uses.Webhooks.Subscription(ctx, v.Scope, id)
	case strings.ToUpper(webhooks.DeliveryPrefix), "DLV_": // named after its event and its endpoint
		endpoint := webhooks.SubscriptionPrefix + rest[strings.LastIndex(rest, "-")+1:]
		path = "/webhooks/" + endpoint + "/deliveries/" + text
		_, _, err = s.Uses.Webhooks.Delivery(ctx, v.Scope, endpoint, text)
	default:
		return "", false
	}
	return path, err == nil
}

// claimPath is the page of a claim.
func claimPath(c pay.Claim) string {
	if c.Kind == pay.UserDispute {
		return "/refunds/" + c.ID
	}
	return "/disputes/" + c.ID
}

// searchView is the page of a search that led nowhere.
type searchView struct{ Query string }

// search leads straight to what was typed: to the page of an id, to the only payment of an e-mail, an order or an
// amount, or to the list of them.
func (s *sales) search(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	text := clean(r.URL.Query().Get("q"))
	if text == "" {
		return s.room.Show(w, r, v, "search", searchView{})
	}
	home := s.here(v)
	if path, ok := s.object(r.Context(), v, text); ok {
		s.Go(w, r, home+path)
		return nil
	}
	var f lists.PaymentFilter
	if _, err := s.understand(r.Context(), v, text, &f); err != nil {
		return err
	}
	f.Limit = 2
	list, err := s.Uses.Payments.Few(r.Context(), v.Scope, f)
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return s.room.Show(w, r, v, "search", searchView{text})
	case len(list) == 1:
		s.Go(w, r, home+"/payments/"+list[0].ID)
	default:
		s.Go(w, r, home+"/payments?"+url.Values{"q": {text}}.Encode())
	}
	return nil
}
