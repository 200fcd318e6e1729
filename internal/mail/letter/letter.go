// Package letter writes the e-mails to merchants, users and shoppers, in their language. It only formats
// values: it sends nothing and does not choose the recipient.
package letter

import (
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/mail"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

//go:embed text/*.json
var textFiles embed.FS

// Letter is a subject and a text, plain and of several lines.
type Letter struct{ Subject, Text string }

// Writer writes letters. It is safe for concurrent use.
type Writer struct {
	service string // URL
	texts   map[merchants.Language]map[string]string
}

// NewWriter reads the texts. service is the service's URL for merchants.
func NewWriter(service string) (*Writer, error) {
	d := &Writer{service: service, texts: map[merchants.Language]map[string]string{}}
	for _, language := range merchants.Languages() {
		body, err := textFiles.ReadFile("text/" + string(language) + ".json")
		if err != nil {
			return nil, err
		}
		var texts map[string]string
		if err := json.Unmarshal(body, &texts); err != nil {
			return nil, fmt.Errorf("letters in %s: %w", language, err)
		}
		d.texts[language] = texts
	}
	return d, nil
}

// walletLines are the keys of a new wallet's letter, in their order. How it was added, and what to do if it
// was somebody else, depends on who added it: a program with a key, or a user in the dashboard.
func walletLines(by string) []string {
	return []string{
		"wallet_hello", "", "wallet_what", "", "wallet_destination", "wallet_added", "wallet_" + by, "wallet_id", "wallet_service", "",
		"wallet_usable", "wallet_known", "", "wallet_not_you_" + by, "wallet_delete_" + by, "wallet_revoke_" + by, "wallet_nothing_else", "", "wallet_automatic",
	}
}

// NewWallet is the letter about a destination to which a merchant's money can be paid out
// from now on, or soon.
func (w *Writer) NewWallet(n mails.Wallet) Letter {
	texts, known := w.texts[n.Language]
	if !known {
		texts = w.texts[merchants.English]
	}
	values := strings.NewReplacer(
		"{merchant}", plain(n.Merchant), "{destination}", plain(n.Destination), "{network}", plain(n.Network),
		"{currency}", plain(n.Currency), "{added}", moment(n.AddedAt), "{active}", moment(n.ActiveAt),
		"{key}", plain(n.Key), "{user}", plain(n.User), "{shop}", plain(n.Shop), "{wallet}", plain(n.Wallet), "{service}", w.service,
	)
	by := "key"
	if n.User != "" {
		by = "user"
	}
	var text strings.Builder
	for _, key := range walletLines(by) {
		text.WriteString(values.Replace(texts[key]) + "\n")
	}
	return Letter{Subject: values.Replace(texts["wallet_subject"]), Text: text.String()}
}

// Link is the letter with a one-time link.
func (w *Writer) Link(n mails.Link) Letter {
	texts, known := w.texts[n.Language]
	if !known {
		texts = w.texts[merchants.English]
	}
	kind := string(n.Kind)
	if n.Kind == people.Invitation && n.Merchant == "" {
		kind = "console"
	}
	values := strings.NewReplacer("{merchant}", plain(n.Merchant), "{address}", n.Address, "{ends}", moment(n.EndsAt), "{service}", w.service)
	var text strings.Builder
	for _, key := range []string{kind + "_what", "", "link_address", "", "link_ends", kind + "_not_you", "", "wallet_automatic"} {
		text.WriteString(values.Replace(texts[key]) + "\n")
	}
	return Letter{Subject: values.Replace(texts[kind+"_subject"]), Text: text.String()}
}

// Receipt is the letter with the receipt of a payment.
func (w *Writer) Receipt(n mails.Receipt) Letter {
	texts, known := w.texts[n.Language]
	if !known {
		texts = w.texts[merchants.English]
	}
	each := n.Plan.Each.String()
	if !n.Plan.Even() {
		each = strings.ReplaceAll(texts["receipt_about"], "{each}", each)
	}
	values := strings.NewReplacer("{shop}", plain(n.Shop), "{paid}", n.Paid.String(), "{back}", n.Back.String(), "{at}", moment(n.PaidAt),
		"{payment}", n.Payment, "{order}", plain(n.Order), "{description}", plain(n.Description),
		"{count}", strconv.Itoa(n.Plan.Count), "{each}", each, "{total}", n.Plan.Total.String())
	keys := []string{"receipt_what", "", "receipt_paid"}
	switch plan := n.Plan; {
	case plan.Known() && plan.By == installment.Merchant:
		keys = append(keys, "receipt_in_free")
	case plan.Known() && plan.By == installment.Shopper && !plan.Total.IsZero():
		keys = append(keys, "receipt_in_interest")
	case plan.Known():
		keys = append(keys, "receipt_in")
	}
	if n.Back.IsPositive() {
		keys = append(keys, "receipt_back")
	}
	keys = append(keys, "receipt_at")
	if n.Order != "" {
		keys = append(keys, "receipt_order")
	}
	if n.Description != "" {
		keys = append(keys, "receipt_description")
	}
	keys = append(keys, "receipt_payment", "")
	if n.Test {
		keys = append(keys, "receipt_test", "")
	}
	var text strings.Builder
	for _, key := range append(keys, "receipt_ask", "", "wallet_automatic") {
		text.WriteString(values.Replace(texts[key]) + "\n")
	}
	return Letter{Subject: values.Replace(texts["receipt_subject"]), Text: text.String()}
}

// maxValue bounds a value in a letter, in characters.
const maxValue = 80

// plain makes a value a short text of one line, so that a merchant's name adds no lines.
func plain(value string) string {
	value = mail.Line(value)
	if runes := []rune(value); len(runes) > maxValue {
		value = string(runes[:maxValue-1]) + "…"
	}
	return value
}

// moment is a time in a form that everybody reads the same way.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
