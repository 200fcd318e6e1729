// Package mails sends e-mails to merchants, to users of the dashboard, and receipts to shoppers. Each e-mail is a row, and
// is tried until a server accepts it.
package mails

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/mail"
	"github.com/cascadapay/cascada/internal/mail/letter"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/work"
)

const (
	// mailBatch is how many e-mails are sent at a time.
	mailBatch = 8
	// mailsEvery is how often a node without a mail server looks for e-mails that no node sends.
	mailsEvery = time.Hour
	// countedFor is the day of the limits of e-mails: the last 24 hours, whatever a recipient's midnight is.
	countedFor = 24 * time.Hour
	// walletsAtOnce is how many e-mails about new wallets of a merchant are due at once in a day. Each further one is due
	// walletPause later than the one before, and walletsWithin at the latest: none is left out, and others' e-mails
	// do not wait behind them.
	walletsAtOnce = 20
	walletPause   = 30 * time.Second
	walletsWithin = 12 * time.Hour
)

// InvitationsADay is the most invitations by e-mail that the users of a merchant send in a day: these go to any address.
const InvitationsADay = 30

// Outcome is the result of a try to send an e-mail.
type Outcome string

// The outcomes. Retried: the server asked for a repeat, or the result of the try is unknown.
const (
	Sent    Outcome = "sent"
	Retried Outcome = "retried"
	Failed  Outcome = "failed"
)

// mailTally counts the outcomes since this node started. The map is never changed.
type mailTally map[Outcome]*atomic.Int64

// Mails sends e-mails.
type Mails struct {
	*base.Base
	mailer  *mail.Sender // nil: no e-mails are sent
	letters *letter.Writer
	tries   mailTally
}

// New returns the Mails of a service. mailer is nil if it sends none.
func New(b *base.Base, mailer *mail.Sender) (*Mails, error) {
	letters, err := letter.NewWriter(b.CheckoutURL)
	if err != nil {
		return nil, err
	}
	tries := mailTally{Sent: new(atomic.Int64), Retried: new(atomic.Int64), Failed: new(atomic.Int64)}
	return &Mails{Base: b, mailer: mailer, letters: letters, tries: tries}, nil
}

// MailTries counts the outcomes of this node's tries since it started.
func (ms *Mails) MailTries() map[Outcome]int64 {
	counts := make(map[Outcome]int64, len(ms.tries))
	for outcome, n := range ms.tries {
		counts[outcome] = n.Load()
	}
	return counts
}

// WaitingMails counts the e-mails that no node has sent or given up yet.
func (ms *Mails) WaitingMails(ctx context.Context) (int64, error) {
	return ms.Store.Mails().Waiting(ctx)
}

// SendingMails is the loop that sends e-mails. On a node without a mail server, it ends from time
// to time the e-mails that no node sends.
func (ms *Mails) SendingMails() work.Loop {
	if ms.mailer == nil {
		return work.Loop{Name: base.MailsLoop, Every: max(mailsEvery, ms.Look), Do: ms.SendMails}
	}
	return ms.Woken(base.MailsLoop, ms.SendMails)
}

// TellOfWallet adds the e-mails about a new wallet, to the merchant and to its owners, to the Change that adds the wallet,
// if this node sends e-mails. So nobody who changes one of these addresses keeps the others from knowing.
func (ms *Mails) TellOfWallet(ctx context.Context, change *pay.Change, w pay.Wallet, by base.Principal) error {
	if ms.mailer == nil || !w.Live {
		return nil
	}
	merchant, err := ms.Store.Merchants().Get(ctx, w.Merchant)
	if err != nil {
		return err
	}
	owners, err := ms.owners(ctx, w.Merchant)
	if err != nil {
		return err
	}
	told, err := ms.Store.Mails().Count(ctx, w.Merchant, pay.WalletPrefix, w.CreatedAt.Add(-countedFor))
	if err != nil {
		return err
	}
	key, user := by.Preview, ""
	if by.User != "" {
		key, user = "", by.Preview
	}
	known := map[string]bool{}
	for _, to := range append([]recipient{{"", merchant.Email, merchant.Language}}, owners...) {
		merchant.Email, merchant.Language = to.email, to.language
		m, tell := w.Mail(merchant, key, user)
		if !tell || known[m.Wallet.To] {
			continue
		}
		if len(known) > 0 { // the id of the first one is the wallet's
			m.ID = ms.NewID(mails.Prefix, w.CreatedAt)
		}
		known[m.Wallet.To] = true
		if late := told - walletsAtOnce + 1; late > 0 {
			m.DueAt = m.DueAt.Add(min(time.Duration(late)*walletPause, walletsWithin))
		}
		told++
		change.Mails = append(change.Mails, m)
	}
	if len(known) == 0 {
		ms.Quiet.WarnSometimes(ctx, "a merchant has no e-mail address and gets no e-mail about a new wallet", w.Merchant, "merchant", w.Merchant, "wallet", w.ID)
	}
	return nil
}

// Sends reports whether this node sends e-mails.
func (ms *Mails) Sends() bool { return ms.mailer != nil }

// AddLink adds the e-mail with a one-time link to the Change that makes the link, and reports whether it did:
// a node without a mail server sends none. merchant is the name of the one that an invitation is for.
func (ms *Mails) AddLink(change *pay.Change, l people.Link, to string, language merchants.Language, merchant, address string) bool {
	if ms.mailer == nil {
		return false
	}
	content := mails.Link{To: to, Language: language, Kind: l.Kind, Merchant: merchant, Address: address, EndsAt: l.EndsAt}
	change.Mails = append(change.Mails, content.Message(l))
	return true
}

// MayInvite returns rate_limited after InvitationsADay of a merchant in a day (DASH-4).
func (ms *Mails) MayInvite(ctx context.Context, merchant string) error {
	if ms.mailer == nil {
		return nil
	}
	sent, err := ms.Store.Mails().Count(ctx, merchant, people.LinkPrefix, ms.Now().Add(-countedFor))
	if err == nil && sent >= InvitationsADay {
		err = &problem.Error{Code: problem.RateLimited, Reason: manyInvitations, Details: problem.Details{Reason: "many_invitations"}}
	}
	return err
}

// SendMails sends due e-mails, some at a time, and waits for the server's answers. It returns how
// many it leased. If no node sends e-mails any more, waiting ones are given up when their time is
// over.
func (ms *Mails) SendMails(ctx context.Context) (int, error) {
	now := ms.Now()
	from := now
	if ms.mailer == nil { // another node may send, and its e-mails are not as late
		from = now.Add(-mails.Life)
	}
	due, err := ms.Store.Mails().Lease(ctx, from, now.Add(mails.Lease), mailBatch)
	if err != nil {
		return 0, err
	}
	failures := make([]error, len(due))
	var sending sync.WaitGroup
	for i, m := range due {
		sending.Go(func() { failures[i] = ms.sendMail(ctx, m) })
	}
	sending.Wait()
	return len(due), errors.Join(failures...)
}

// sendMail makes one try, and writes the result. If the node dies before that, the e-mail is sent
// again after its lease.
func (ms *Mails) sendMail(ctx context.Context, m mails.Message) error {
	if ms.mailer == nil {
		return ms.notedMail(ctx, m.Refused(ms.Now()), Failed, errors.New("this service no longer sends e-mails"))
	}
	if m.Receipt.To != "" {
		p, err := ms.Store.Payments().Any(ctx, m.Receipt.Payment)
		if err != nil {
			return err
		}
		if !p.Times.Erased.IsZero() {
			return ms.notedMail(ctx, m.Refused(ms.Now()), Failed, errors.New("the shopper's data was erased"))
		}
	}
	text := ms.letters.NewWallet(m.Wallet)
	switch {
	case m.Link.To != "":
		text = ms.letters.Link(m.Link)
	case m.Alert.To != "":
		text = ms.letters.Alert(m.Alert)
	case m.Receipt.To != "":
		text = ms.letters.Receipt(m.Receipt)
	}
	sent := ms.mailer.Send(ctx, mail.Message{ID: m.ID, To: m.To(), Subject: text.Subject, Text: text.Text, At: m.CreatedAt})
	var failure *mail.Failure
	switch {
	case sent == nil:
		return ms.notedMail(ctx, m.Sent(ms.Now()), Sent, nil)
	case ctx.Err() != nil: // the service stops: this does not count as a try
		return nil
	case errors.As(sent, &failure) && failure.Final:
		return ms.notedMail(ctx, m.Refused(ms.Now()), Failed, sent)
	}
	next := m.Retry(ms.Now())
	outcome := Retried
	if next.Status == mails.Failed {
		outcome = Failed
	}
	return ms.notedMail(ctx, next, outcome, sent)
}

// notedMail writes the e-mail after a try. A stale one is dropped: another node had the e-mail and has
// written its own result.
func (ms *Mails) notedMail(ctx context.Context, m mails.Message, outcome Outcome, cause error) error {
	// The server has the e-mail, so write this even while the service stops.
	err := ms.Store.Commit(context.WithoutCancel(ctx), pay.Change{Mails: []mails.Message{m}})
	if errors.Is(err, store.ErrStale) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the result of e-mail %s was not written; it is sent again: %w", m.ID, err)
	}
	switch outcome {
	case Retried:
		ms.Log.WarnContext(ctx, "an e-mail was not accepted; it is retried later", "mail", m.ID, "merchant", m.Merchant, "try", m.Tries, "again", m.DueAt, "error", cause)
	case Failed:
		ms.Log.ErrorContext(ctx, "an e-mail is given up: tell the merchant about the new wallet or key, or the user about the account, yourself; make a new link; or send the receipt again", "mail", m.ID, "merchant", m.Merchant, "about", m.Object, "error", cause)
	}
	ms.tries[outcome].Add(1)
	return nil
}
