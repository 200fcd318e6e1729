package mails

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/email"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// mostOwners is how many owners of a merchant are told of its keys and pauses. A merchant has few.
const mostOwners = 5

// AddAlert adds an e-mail about a user's account to the Change that changes it, if this node sends e-mails.
func (ms *Mails) AddAlert(ctx context.Context, change *pay.Change, u people.User, n people.News) error {
	return ms.alert(ctx, change, u.ID, "", email.Alert{To: u.Email, Language: u.Language, News: n, User: u.Email})
}

// KeyNews is what happened to a key.
type KeyNews struct {
	What  people.What
	Key   tenant.Key // the new one, if it was made or rolled
	By    audit.Actor
	Until time.Time // when the key from before ends, if it was rolled; zero: at once
}

// AddKeyAlerts adds e-mails to the owners of a merchant, or to the merchant if it has none, to the Change that changes a
// key. There are none for keys of the sandbox, and none if this node sends no e-mails.
func (ms *Mails) AddKeyAlerts(ctx context.Context, change *pay.Change, k KeyNews) error {
	if ms.mailer == nil || !k.Key.Live {
		return nil
	}
	merchant, err := ms.Store.Merchants().Get(ctx, k.Key.Merchant)
	if err != nil {
		return err
	}
	notice := email.Alert{
		News: people.News{What: k.What, At: ms.Now(), Address: k.By.IP, Browser: people.BrowserOf(k.By.Agent), Merchant: merchant.Name},
		Shop: k.Key.Shop, Key: k.Key.Preview, Until: k.Until,
	}
	if k.By.Kind == audit.ByUser {
		u, err := ms.Store.Users().Get(ctx, k.By.ID)
		if err != nil {
			return err
		}
		notice.News.By = u.Email
	}
	return ms.tellOwners(ctx, change, merchant, notice)
}

// AddPauseAlerts adds e-mails to the owners of a merchant, or to the merchant if it has none, to the Change that pauses or
// resumes it, if this node sends e-mails. The reason is the operator's own text, so the dashboard shows it, but no e-mail
// does.
func (ms *Mails) AddPauseAlerts(ctx context.Context, change *pay.Change, m tenant.Merchant) error {
	if ms.mailer == nil {
		return nil
	}
	what := email.MerchantPaused
	if m.Paused == "" {
		what = email.MerchantResumed
	}
	return ms.tellOwners(ctx, change, m, email.Alert{News: people.News{What: what, At: ms.Now(), Merchant: m.Name}})
}

func (ms *Mails) tellOwners(ctx context.Context, change *pay.Change, merchant tenant.Merchant, notice email.Alert) error {
	members, err := ms.Store.Users().Members(ctx, merchant.ID)
	if err != nil {
		return err
	}
	told := 0
	for _, m := range members {
		if m.Role != people.Owner || told == mostOwners {
			continue
		}
		told++
		notice.To, notice.Language = m.Email, m.Language
		if err := ms.alert(ctx, change, m.ID, merchant.ID, notice); err != nil {
			return err
		}
	}
	if told > 0 {
		return nil
	}
	notice.To, notice.Language = merchant.Email, merchant.Language
	return ms.alert(ctx, change, merchant.ID, merchant.ID, notice)
}

// alert adds an e-mail to a Change. After email.AlertsADay of a kind the recipient gets no more of it for a day, so that a
// stranger's guesses do not fill a mailbox, or hide another kind.
func (ms *Mails) alert(ctx context.Context, change *pay.Change, recipient, merchant string, n email.Alert) error {
	if ms.mailer == nil || n.To == "" {
		return nil
	}
	now := n.News.At
	object := email.AlertObject(n.News.What, recipient)
	sent, err := ms.Store.Mails().Count(ctx, merchant, object, now.Add(-countedFor))
	if err != nil {
		return err
	}
	if sent >= email.AlertsADay {
		ms.Quiet.WarnSometimes(ctx, "somebody gets no more alerts of a kind today", object, "kind", n.News.What, "recipient", recipient)
		return nil
	}
	n.Last = sent == email.AlertsADay-1
	change.Mails = append(change.Mails, n.Message(ms.NewID(email.Prefix, now), merchant, object))
	return nil
}
