package adyen

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// maxItems limits the items of a notification. Adyen sends one item in a JSON message.
const maxItems = 100

// item is the part of a notification that we read.
type item struct {
	Ref       string         `json:"pspReference"`
	Original  string         `json:"originalReference"`
	Merchant  string         `json:"merchantAccountCode"`
	Reference string         `json:"merchantReference"`
	Amount    amount         `json:"amount"`
	Event     string         `json:"eventCode"`
	Success   string         `json:"success"`
	Reason    string         `json:"reason"`
	Method    string         `json:"paymentMethod"`
	More      map[string]any `json:"additionalData"`
}

// more is a field of the additional data, or "".
func (i item) more(name string) string {
	text, _ := i.More[name].(string)
	return text
}

// Notices reads a standard webhook. The signature is in the body and covers the references,
// the account, the amount, the event and its success. It does not cover a dispute's reason
// and deadline, or the method, which says whether a failure is final; money depends on none
// of them. The signed data has no time: a repeated notification is recognized by its id.
func (p *Provider) Notices(_ context.Context, n provider.Notification) ([]pay.Notice, error) {
	var message struct {
		Items []struct {
			Item item `json:"NotificationRequestItem"`
		} `json:"notificationItems"`
	}
	if err := json.Unmarshal(n.Body, &message); err != nil {
		return nil, fmt.Errorf("read the notification: %w", err)
	}
	if len(message.Items) == 0 || len(message.Items) > maxItems {
		return nil, errors.New("read the notification: it has no items, or too many")
	}
	for _, i := range message.Items { // all or nothing
		if !p.signed(i.Item) {
			return nil, provider.ErrUnsigned
		}
	}
	var list []pay.Notice
	for _, i := range message.Items {
		notice, ok := p.notice(i.Item)
		if !ok {
			continue
		}
		notice.Account, notice.Body = p.ID, n.Body
		list = append(list, notice)
	}
	return list, nil
}

// signed checks an item's HMAC-SHA-256. The signed fields are joined by colons without
// escapes, so a colon within a field could move a boundary: our fields have none.
func (p *Provider) signed(i item) bool {
	fields := []string{
		i.Ref, i.Original, i.Merchant, i.Reference, strconv.FormatInt(i.Amount.Value, 10), i.Amount.Currency, i.Event, i.Success,
	}
	for _, f := range fields {
		if strings.Contains(f, ":") {
			return false
		}
	}
	got, err := base64.StdEncoding.DecodeString(i.more("hmacSignature"))
	mac := hmac.New(sha256.New, p.hmac)
	mac.Write([]byte(strings.Join(fields, ":")))
	return err == nil && hmac.Equal(got, mac.Sum(nil))
}

// notice is an item in our terms. ok is false if the item does not report the end of one of
// our charges, or a dispute.
func (p *Provider) notice(i item) (n pay.Notice, ok bool) {
	if i.Merchant != p.merchant || !provider.Plain(i.Ref, 64) {
		return n, false
	}
	if _, _, ours := pay.ParseReference(i.Reference); !ours {
		return n, false
	}
	if i.Event == "REFUND" || i.Event == "REFUND_FAILED" || i.Event == "REFUNDED_REVERSED" {
		return p.refunded(i), true
	}
	n = pay.Notice{ID: i.Event + "/" + i.Ref + "/" + provider.Printable(i.Success, 5), Reference: i.Reference}
	success := i.Success == "true"
	if i.disputes(&n) {
		return n, success
	}
	switch i.Event {
	case "AUTHORISATION":
		n.Outcome, ok = p.authorised(i)
	case "OFFER_CLOSED": // nobody paid with the code or the voucher in time
		n.Outcome, ok = pay.Outcome{Kind: pay.Lapsed}, success && !card(i.Method)
	}
	return n, ok
}

// disputes reads what an item reports about a dispute; false if it is about something else.
// All items of a dispute carry its reference. A second chargeback and the results of a
// pre-arbitration belong to the second instance.
func (i item) disputes(n *pay.Notice) bool {
	switch i.Event {
	case "NOTIFICATION_OF_CHARGEBACK", "CHARGEBACK":
		n.Dispute = true
	case "CHARGEBACK_REVERSED":
		n.Ruling = pay.DisputeWon
	case "PREARBITRATION_WON":
		n.Ruling, n.Instance = pay.DisputeWon, 2
	case "SECOND_CHARGEBACK", "PREARBITRATION_LOST":
		n.Ruling, n.Instance = pay.DisputeLost, 2
	default:
		return false
	}
	n.DisputeID, n.Stage, n.Network = i.Ref, i.Event, provider.Printable(i.more("chargebackReasonCode"), 20)
	n.Outcome.Message = provider.Printable(i.Reason, 100)
	if provider.Plain(i.Original, 64) { // of the disputed payment
		n.Outcome.MoneyRef = i.Original
	}
	n.Outcome.Local, _ = i.Amount.local()
	if until, err := time.Parse(time.RFC3339, i.more("defensePeriodEndsAt")); err == nil {
		n.RespondBy = until.UTC()
	}
	return true
}

// refunded is the end of a refund, which has its own reference. A refund that the bank
// sends back has failed, even if it was reported as successful before.
func (p *Provider) refunded(i item) pay.Notice {
	n := pay.Notice{ID: i.Event + "/" + i.Ref + "/" + provider.Printable(i.Success, 5), Refund: i.Reference}
	local, readable := i.Amount.local()
	n.Outcome = pay.Outcome{Kind: pay.Approved, ProviderRef: i.Ref, Local: local}
	switch {
	case i.Event != "REFUND", i.Success == "false":
		n.Outcome = pay.Outcome{Kind: pay.Declined, Decline: "refund_failed", Message: "the shopper's bank rejected the refund", ProviderRef: i.Ref}
	case i.Success != "true":
		n.Outcome = p.unclear(i)
	case !readable: // the refunded amount is not known
		n.Outcome = pay.Outcome{Kind: pay.Unknown, ProviderRef: i.Ref, Decline: "broken_answer"}
	}
	return n
}

// authorised is the result of an attempt to pay. On a link, another attempt may follow a
// failed one.
func (p *Provider) authorised(i item) (o pay.Outcome, ok bool) {
	switch i.Success {
	case "true": // below
	case "false":
		o = pay.Outcome{Kind: pay.Declined, Decline: "refused", Message: "the shopper's bank declined the payment", ProviderRef: i.Ref}
		return o, !card(i.Method)
	default:
		return p.unclear(i), true
	}
	o = pay.Outcome{Kind: pay.Unknown, ProviderRef: i.Ref, Decline: "broken_answer"}
	if o.Local, ok = i.Amount.local(); ok {
		o.Kind, o.Decline, o.MoneyRef = pay.Approved, "", i.Ref
	}
	return o, true
}

// unclear is an item that reports neither success nor failure.
func (p *Provider) unclear(i item) pay.Outcome {
	p.Strange(i.Event, i.Success)
	return pay.Outcome{Kind: pay.Unknown, Decline: "unmapped_status", ProviderRef: i.Ref}
}

// card reports whether a payment was tried on a link: any method that we do not request by
// name.
func card(method string) bool { return method != "pix" && method != "oxxo" }
