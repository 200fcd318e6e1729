package pay

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"
)

// What providers tell is untrusted input, and adapters may pass on what no database can store. Storable makes it storable, once for
// all that is told: texts for people are cut, and ids, which are of use only as a whole, are left out.

// The most bytes of a provider's id and of its texts. Real ids are far shorter; an index of PostgreSQL takes 2,704 bytes.
const (
	longestID   = 255
	longestText = 500
	longestCode = 100
)

// storableID returns an id of a provider's; "" if it cannot be stored. bad is set then.
func storableID(id string, bad *bool) string {
	if len(id) <= longestID && plain(id) == id {
		return id
	}
	*bad = true
	return ""
}

// plain returns a text of a provider's; "" if a database cannot store it.
func plain(text string) string {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return ""
	}
	return text
}

// storableText returns a text for people, of at most most bytes.
func storableText(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// Storable returns an answer as it can be stored. unread: an id was left out.
func (o Outcome) Storable() (_ Outcome, unread bool) {
	o.ProviderRef, o.MoneyRef = storableID(o.ProviderRef, &unread), storableID(o.MoneyRef, &unread)
	o.Decline, o.Message, o.FormURL = storableText(o.Decline, longestCode), storableText(o.Message, longestText), plain(o.FormURL)
	d := o.Data
	o.Data = PaymentData{QRCode: plain(d.QRCode), CLABE: plain(d.CLABE), Bank: plain(d.Bank), Beneficiary: plain(d.Beneficiary), Reference: plain(d.Reference), Barcode: plain(d.Barcode)}
	o.Also = slices.Clone(o.Also)
	for i := range o.Also {
		m := &o.Also[i]
		m.Ref, m.ProviderRef = storableID(m.Ref, &unread), storableID(m.ProviderRef, &unread)
	}
	if o.Back != nil {
		back := *o.Back
		back.Refunds = slices.Clone(back.Refunds)
		for i := range back.Refunds {
			back.Refunds[i].ID = storableID(back.Refunds[i].ID, &unread)
		}
		o.Back = &back
	}
	return o, unread
}

// Storable returns an answer as it can be stored. unread: the provider's id was left out.
func (o PayoutOutcome) Storable() (_ PayoutOutcome, unread bool) {
	o.ProviderRef = storableID(o.ProviderRef, &unread)
	o.Code, o.Message = storableText(o.Code, longestCode), storableText(o.Message, longestText)
	return o, unread
}

// Storable returns a notice as it can be stored. unread: an id was left out; if nothing else comes of the notice, it waits for the
// operator.
func (n Notice) Storable() (_ Notice, unread bool) {
	n.Outcome, unread = n.Outcome.Storable()
	n.DisputeID = storableID(n.DisputeID, &unread)
	n.Stage, n.Network = storableText(n.Stage, longestCode), storableText(n.Network, longestCode)
	n.ID, n.Body, n.Unread = noticeID(n.ID), storableBody(n.Body), unread
	return n, unread
}

// Storable returns a notice as it can be stored. unread: the provider's id was left out.
func (n PayoutNotice) Storable() (_ PayoutNotice, unread bool) {
	n.Outcome, unread = n.Outcome.Storable()
	n.ProviderRef = storableID(n.ProviderRef, &unread)
	n.ID, n.Body = noticeID(n.ID), storableBody(n.Body)
	return n, unread
}

// noticeID is a notice's id, by which it is known when it comes again: its hash if it is too long. One of other bytes is refused with
// its notice.
func noticeID(id string) string {
	if len(id) > longestID {
		sum := sha256.Sum256([]byte(id))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return id
}

// storableBody is a notification as it is kept: money must not wait because of a character.
func storableBody(body []byte) []byte {
	return []byte(strings.ReplaceAll(strings.ToValidUTF8(string(body), "?"), "\x00", "?"))
}
