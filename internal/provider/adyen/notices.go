package adyen

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// maxItems limits the items of a notification. Adyen sends one item in a JSON message.
const maxItems = 100

// item is the part of a notification that we read.
type item struct {
	Ref       string `json:"pspReference"`
	Original  string `json:"originalReference"`
	Merchant  string `json:"merchantAccountCode"`
	Reference string `json:"merchantReference"`
	Amount    struct {
		Value    number `json:"value"`
		Currency string `json:"currency"`
	} `json:"amount"`
	Event   string         `json:"eventCode"`
	Date    string         `json:"eventDate"`
	Success string         `json:"success"`
	Reason  string         `json:"reason"`
	Method  string         `json:"paymentMethod"`
	More    map[string]any `json:"additionalData"`
}

// number is a JSON number as it was sent, with or without quotes; "" if there is none.
type number string

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	if text == "null" {
		text = ""
	}
	*n = number(text)
	return nil
}

// more is a field of the additional data, or "".
func (i item) more(name string) string {
	text, _ := i.More[name].(string)
	return text
}

// local is the item's amount; false if it cannot be read.
func (i item) local() (money.Amount, bool) {
	value, err := strconv.ParseInt(string(i.Amount.Value), 10, 64)
	if err != nil {
		return money.Amount{}, false
	}
	return amount{value, i.Amount.Currency}.local()
}

// at is when it happened, in microseconds of Unix; 0 if that cannot be read.
func (i item) at() int64 {
	at, err := time.Parse(time.RFC3339, i.Date)
	if err != nil {
		return 0
	}
	return at.UnixMicro()
}

// payment is Adyen's reference of the payment that a modification or a dispute is about, or "".
func (i item) payment() string {
	if provider.Plain(i.Original, 64) {
		return i.Original
	}
	return ""
}

// Notices reads a standard webhook. The signature is in the body and covers the references,
// the account, the amount, the event and its success. It does not cover the date, a capture's reason, or the additional data with a
// dispute's status and the order's reference: these come over TLS, and only together with what is signed. The signed data has no
// time: a repeated notification is recognized by its id, and with another date it changes nothing (see identity).
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
// escapes. So only one of them may have a colon, or the boundaries between them could be moved: the merchant's reference, which may
// be another system's.
func (p *Provider) signed(i item) bool {
	fields := []string{i.Ref, i.Original, i.Merchant, i.Reference, string(i.Amount.Value), i.Amount.Currency, i.Event, i.Success}
	for at, f := range fields {
		if at != 3 && strings.Contains(f, ":") {
			return false
		}
	}
	got, err := base64.StdEncoding.DecodeString(i.more("hmacSignature"))
	mac := hmac.New(sha256.New, p.hmac)
	mac.Write([]byte(strings.Join(fields, ":")))
	return err == nil && hmac.Equal(got, mac.Sum(nil))
}

// ours reports whether a reference has the form of ours. Only the core knows whether there is such a payment.
func ours(reference string) bool {
	_, _, ok := pay.ParseReference(reference)
	return ok && provider.Plain(reference, 80) && !strings.Contains(reference, ":")
}

// charge is our reference of the charge that a modification is about, or "". What somebody requests in the Customer Area may have
// a reference of its own; then the order's reference, which each charge sends, is that of the charge. Neither the one nor the other is
// in all modifications.
func (i item) charge() string {
	list := []string{i.more("merchantOrderReference"), i.more("originalMerchantReference"), i.Reference}
	if at := slices.IndexFunc(list, ours); at >= 0 {
		return list[at]
	}
	return ""
}

// identity is the id of an item's news. Adyen repeats an event with the same code and reference, and then the latest counts
// (docs.adyen.com, handle webhook events): a capture may fail twice, and an issuer may open a case again. So the date belongs to it.
// The core ignores the same news under another date.
func (i item) identity() string {
	return i.Event + "/" + i.Ref + "/" + provider.Printable(i.Success, 5) + "/" + provider.Printable(i.Date, 40)
}

// notice is an item in our terms. ok is false if it is not about one of our charges, or moves no money.
func (p *Provider) notice(i item) (n pay.Notice, ok bool) {
	if i.Merchant != p.merchant || !provider.Plain(i.Ref, 64) || !ours(i.Reference) && i.charge() == "" {
		return n, false
	}
	read, known := events[i.Event]
	switch {
	case !known:
		p.Strange("event", i.Event)
		return n, false
	case read == nil:
		return n, false
	}
	n = pay.Notice{ID: i.identity(), Reference: i.Reference}
	ok = read(p, i, &n)
	return n, ok && (ours(n.Reference) || n.Refund != "")
}
