package mails

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// AddAlert adds an e-mail about a user's account to the Change that changes it, if the service sends e-mails.
func (ms *Mails) AddAlert(ctx context.Context, change *pay.Change, u people.User, n people.News) error {
	return ms.alert(ctx, change, u.ID, "", bounded, mails.Alert{To: u.Email, Language: u.Language, News: n, User: u.Email})
}

// AddOperatorAlert adds an e-mail to an operator about another one, whose address is in the news. News of a new operator is always sent.
func (ms *Mails) AddOperatorAlert(ctx context.Context, change *pay.Change, to people.User, n people.News) error {
	other := n.Merchant
	n.Merchant = ""
	return ms.alert(ctx, change, to.ID, "", often(n.What == people.OperatorAdded), mails.Alert{To: to.Email, Language: to.Language, News: n, User: other})
}

// KeyNews is what happened to a key.
type KeyNews struct {
	What  people.What
	Key   merchants.Key // the new one, if it was made or rolled
	By    audit.Actor
	Until time.Time // when the key from before ends, if it was rolled; zero: at once
}

// AddKeyAlerts adds e-mails to the owners of a merchant, or to the merchant if it has none, to the Change that changes a
// key. There are none for keys of the sandbox, and none if the service sends no e-mails.
func (ms *Mails) AddKeyAlerts(ctx context.Context, change *pay.Change, k KeyNews) error {
	if !k.Key.Live {
		return nil
	}
	if writes, err := ms.writes(ctx); !writes {
		return err
	}
	merchant, err := ms.Store.Merchants().Get(ctx, k.Key.Merchant)
	if err != nil {
		return err
	}
	notice := mails.Alert{
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
	how := bounded
	if k.Key.May(merchants.RightWithdrawals) {
		how = always
	}
	return ms.tellOwners(ctx, change, merchant, how, notice)
}

// AddPauseAlerts adds e-mails to the owners of a merchant, or to the merchant if it has none, to the Change that pauses or
// resumes it, if the service sends e-mails. The reason is the operator's own text, so the dashboard shows it, but no e-mail
// does.
func (ms *Mails) AddPauseAlerts(ctx context.Context, change *pay.Change, m merchants.Merchant) error {
	if writes, err := ms.writes(ctx); !writes {
		return err
	}
	what := mails.MerchantPaused
	if m.Paused == "" {
		what = mails.MerchantResumed
	}
	return ms.tellOwners(ctx, change, m, bounded, mails.Alert{News: people.News{What: what, At: ms.Now(), Merchant: m.Name}})
}

// AddLeavingAlerts adds e-mails to the owners of a merchant, or to the merchant if it has none, to the Change that takes it a step on its
// way out, if the service sends e-mails (LEAVE-7). As with a pause, the operator's reason is in no e-mail. until is as in mails.Alert.
func (ms *Mails) AddLeavingAlerts(ctx context.Context, change *pay.Change, m merchants.Merchant, what people.What, until time.Time) error {
	if writes, err := ms.writes(ctx); !writes {
		return err
	}
	return ms.tellOwners(ctx, change, m, often(what == mails.MerchantErasing), mails.Alert{News: people.News{What: what, At: ms.Now(), Merchant: m.Name}, Until: until})
}

// AddMoveAlerts adds e-mails to the owners of a merchant and to the address that it had, to the Change that gives it
// another one, if the service sends e-mails. A thief must not be able to send the merchant's e-mails elsewhere unseen.
func (ms *Mails) AddMoveAlerts(ctx context.Context, change *pay.Change, before merchants.Merchant, by audit.Actor) error {
	if writes, err := ms.writes(ctx); !writes {
		return err
	}
	notice := mails.Alert{News: people.News{What: mails.MerchantMoved, At: ms.Now(), Address: by.IP, Browser: people.BrowserOf(by.Agent), Merchant: before.Name}}
	if by.Kind == audit.ByUser {
		u, err := ms.Store.Users().Get(ctx, by.ID)
		if err != nil {
			return err
		}
		notice.News.By = u.Email
	}
	owners, err := ms.owners(ctx, before.ID)
	if err != nil {
		return err
	}
	for _, to := range append([]recipient{{before.ID, before.Email, before.Language}}, owners...) {
		notice.To, notice.Language = to.email, to.language
		if err := ms.alert(ctx, change, to.id, before.ID, always, notice); err != nil {
			return err
		}
	}
	return nil
}

// recipient is a user or a merchant who gets an e-mail.
type recipient struct {
	id, email string
	language  merchants.Language
}

// owners are the owners of a merchant: all of them get news of it.
func (ms *Mails) owners(ctx context.Context, merchant string) (list []recipient, err error) {
	members, err := ms.Store.Users().Members(ctx, merchant)
	for _, m := range members {
		if m.Role == people.Owner {
			list = append(list, recipient{m.ID, m.Email, m.Language})
		}
	}
	return list, err
}

func (ms *Mails) tellOwners(ctx context.Context, change *pay.Change, merchant merchants.Merchant, how often, notice mails.Alert) error {
	owners, err := ms.owners(ctx, merchant.ID)
	if err != nil {
		return err
	}
	if len(owners) == 0 && merchant.Email != "" { // one that has left has none
		owners = []recipient{{merchant.ID, merchant.Email, merchant.Language}}
	}
	for _, to := range owners {
		notice.To, notice.Language = to.email, to.language
		if err := ms.alert(ctx, change, to.id, merchant.ID, how, notice); err != nil {
			return err
		}
	}
	return nil
}

// often says whether e-mails of a kind are limited to a number a day.
type often bool

const (
	bounded often = false // mails.AlertsADay
	always  often = true  // what opens a way to the money
)

// alert adds an e-mail to a Change. After mails.AlertsADay of a kind the recipient gets no more of it for a day, so that a
// stranger's guesses do not fill a mailbox, or hide another kind. News of what opens a way to the money is always sent.
func (ms *Mails) alert(ctx context.Context, change *pay.Change, recipient, merchant string, how often, n mails.Alert) error {
	if n.To == "" {
		return nil
	}
	if writes, err := ms.writes(ctx); !writes {
		return err
	}
	now := n.News.At
	object := mails.AlertObject(n.News.What, recipient)
	sent, err := ms.Store.Mails().Count(ctx, merchant, object, now.Add(-countedFor))
	if err != nil {
		return err
	}
	if how == always {
		sent = 0
	}
	if sent >= mails.AlertsADay {
		ms.Quiet.WarnSometimes(ctx, "somebody gets no more alerts of a kind today", object, "kind", n.News.What, "recipient", recipient)
		return nil
	}
	n.Last = sent == mails.AlertsADay-1
	change.Mails = append(change.Mails, n.Message(ms.NewID(mails.Prefix, now), merchant, object))
	return nil
}

// writes reports whether alerts are written: this node sends e-mails, or it is a command, and the nodes of the database send some.
func (ms *Mails) writes(ctx context.Context) (bool, error) {
	if ms.mailer != nil || ms.Operator == "" {
		return ms.mailer != nil, nil
	}
	return ms.Store.Mails().Sent(ctx)
}
