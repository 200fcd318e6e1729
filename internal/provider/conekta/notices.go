package conekta

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// news is a notification.
type news struct {
	Type     text `json:"type"`
	Livemode bool `json:"livemode"`
	Data     struct {
		Object struct {
			Object  text `json:"object"`
			OrderID text `json:"order_id"`
			chargeback
		} `json:"object"`
	} `json:"data"`
}

// chargeback is the event's, nil if it is about something else. Its state may be in the event's
// name alone.
func (n news) chargeback() *chargeback {
	stage, ours := strings.CutPrefix(string(n.Type), "charge.chargeback.")
	if !ours || n.Data.Object.Object != "chargeback" {
		return nil
	}
	c := n.Data.Object.chargeback
	c.Status = cmp.Or(c.Status, text(stage))
	return &c
}

// about is the id of the order that an event is about, "" if it is about something else.
func (a *account) about(ctx context.Context, e news) (id string, err error) {
	o := e.Data.Object
	if id = string(o.OrderID); o.Object == "order" {
		id = string(o.ID)
	}
	if back := e.chargeback(); id == "" && back != nil && isID(string(back.Charge)) {
		found, lost := a.orderOf(ctx, string(back.Charge))
		switch {
		case lost != nil:
			return "", provider.ErrUnreachable
		case found == "": // of an order that we did not make, or too long ago
			a.Strange("chargeback of a charge that is not found", string(back.Charge))
		}
		return found, nil
	}
	switch {
	case id == "" && strings.HasPrefix(string(e.Type), "cash_refund."):
		a.Strange("event without its order", string(e.Type))
	case id != "" && !isID(id):
		return "", errors.New("conekta event: it names no order")
	}
	return id, nil
}

// Notices reads an event and then the order that it is about.
func (a *account) Notices(ctx context.Context, n provider.Notification) ([]pay.Notice, error) {
	if !a.signed(n) {
		return nil, provider.ErrUnsigned
	}
	var e news
	if err := read(n.Body, &e); err != nil {
		return nil, fmt.Errorf("conekta event: %w", err)
	}
	about := a.means(e)
	if e.Livemode != a.Live || about == noMoney {
		return nil, nil
	}
	id, err := a.about(ctx, e)
	if id == "" || err != nil {
		return nil, err
	}
	o, lost := a.order(ctx, id)
	if lost != nil && lost.Kind == pay.Missing {
		return nil, nil
	}
	if lost != nil {
		return nil, provider.ErrUnreachable
	}
	if _, _, ours := pay.ParseReference(o.reference()); !ours || o.Livemode != a.Live {
		return nil, nil
	}
	list := a.disputes(o, e.chargeback())
	paid := pay.Notice{
		// The id is of the order's state, which is what we read, not of the event. The state of a refund may change with neither the
		// order's status nor its second.
		ID:      strings.Join([]string{string(o.ID), string(o.Status), fmt.Sprint(o.Updated)}, "/"),
		Account: a.ID, Reference: o.reference(), Outcome: a.outcome(o, "", ""),
	}
	if about == ofReversal {
		paid.ID, paid.Outcome = "reversed/"+paid.ID, o.reversal(paid.Outcome, string(e.Data.Object.ID))
	}
	paid.ID += "/" + provider.Digest(paid.Outcome)
	// If nothing has changed and no card was tried, the data to pay with is not a notice's. A dispute makes the core query
	// a payment that it does not know.
	simply := len(list) > 0 && paid.Outcome.Kind == pay.Approved && len(paid.Outcome.Also) == 0
	waits := paid.Outcome.Kind == pay.Awaiting && len(paid.Outcome.Tries) == 0
	if !waits && !simply {
		list = append([]pay.Notice{paid}, list...)
	}
	for i := range list {
		list[i].Body = n.Body
	}
	return list, nil
}

// signed checks the signature of the raw body.
func (a *account) signed(n provider.Notification) bool {
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(n.Header.Get("Digest")))
	if err != nil || len(n.Body) == 0 {
		return false
	}
	sum := sha256.Sum256(n.Body)
	return rsa.VerifyPKCS1v15(a.sign, crypto.SHA256, sum[:], signature) == nil
}
