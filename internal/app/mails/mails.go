// Package mails sends e-mails to merchants: each is a row, and is tried until a server takes it.
package mails

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/letter"
	"github.com/cascadapay/cascada/internal/mail"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/work"
)

const (
	// mailBatch is how many e-mails are taken to the server at a time.
	mailBatch = 8
	// mailLease is longer than one may take, with the commit after it.
	mailLease = 3 * time.Minute
	// mailsEvery is how often a node that sends none looks for those that nobody sends.
	mailsEvery = time.Hour
	// mailsADay is how many e-mails a merchant gets in a day: who was told so often is warned, and
	// others' e-mails do not wait behind.
	mailsADay = 20
)

// MailOutcome is what came of a try to send an e-mail.
type MailOutcome string

// The outcomes. A try that is repeated, because the server said so or because nobody knows what
// it did, is retried.
const (
	MailSent    MailOutcome = "sent"
	MailRetried MailOutcome = "retried"
	MailFailed  MailOutcome = "failed"
)

// mailTally counts what came of tries since this node started. The map is never changed.
type mailTally map[MailOutcome]*atomic.Int64

// Mails are the e-mails to merchants.
type Mails struct {
	*base.Base
	mailer  *mail.Sender // nil: no e-mails are sent
	letters *letter.Desk
	tries   mailTally
}

// NewMails returns the e-mails of a service that sends them by a server; nil where it sends none.
func NewMails(b *base.Base, mailer *mail.Sender) (*Mails, error) {
	letters, err := letter.NewDesk(b.CheckoutURL)
	if err != nil {
		return nil, err
	}
	tries := mailTally{MailSent: new(atomic.Int64), MailRetried: new(atomic.Int64), MailFailed: new(atomic.Int64)}
	return &Mails{Base: b, mailer: mailer, letters: letters, tries: tries}, nil
}

// MailTries counts what came of this node's tries to send an e-mail, since it started.
func (ms *Mails) MailTries() map[MailOutcome]int64 {
	counts := make(map[MailOutcome]int64, len(ms.tries))
	for outcome, n := range ms.tries {
		counts[outcome] = n.Load()
	}
	return counts
}

// WaitingMails counts the e-mails that are not sent yet, and not given up, by any node.
func (ms *Mails) WaitingMails(ctx context.Context) (int64, error) {
	return ms.Store.Mails.Waiting(ctx)
}

// SendingMails is the loop that sends e-mails. A node that sends none ends now and then those that
// nobody does.
func (ms *Mails) SendingMails() work.Loop {
	if ms.mailer == nil {
		return work.Loop{Name: base.MailsLoop, Every: max(mailsEvery, ms.Look), Do: ms.SendMails}
	}
	return ms.Woken(base.MailsLoop, ms.SendMails)
}

// TellOfWallet puts the e-mail about a new wallet into the Change that adds it, where this node
// sends e-mails.
func (ms *Mails) TellOfWallet(ctx context.Context, change *pay.Change, w pay.Wallet, by base.Principal) error {
	if ms.mailer == nil || !w.Live {
		return nil
	}
	merchant, err := ms.Store.Merchants.Get(ctx, w.Merchant)
	if err != nil {
		return err
	}
	told, err := ms.Store.Mails.Count(ctx, w.Merchant, w.CreatedAt.Add(-24*time.Hour))
	if err != nil {
		return err
	}
	if told >= mailsADay {
		ms.WarnSometimes(ctx, "a merchant gets no more e-mails about new wallets today", w.Merchant, "merchant", w.Merchant, "wallet", w.ID, "told", told)
		return nil
	}
	if m, tell := w.Mail(merchant, by.Preview); tell {
		change.Mails = append(change.Mails, m)
		return nil
	}
	ms.WarnSometimes(ctx, "a merchant has no e-mail address: nobody tells him of a new wallet", w.Merchant, "merchant", w.Merchant, "wallet", w.ID)
	return nil
}

// SendMails takes e-mails that are due to the server, some at a time, and waits for what it says.
// It returns how many it took. Where no node sends e-mails any more, those that wait are given up
// when their time is over.
func (ms *Mails) SendMails(ctx context.Context) (int, error) {
	now := ms.Now()
	from := now
	if ms.mailer == nil { // another node may send: what it sends is not as late
		from = now.Add(-pay.MailLife)
	}
	due, err := ms.Store.Mails.Lease(ctx, from, now.Add(mailLease), mailBatch)
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

// sendMail makes one try, and writes what came of it. Whoever ends before that leaves the e-mail
// to its lease, and it is sent once more.
func (ms *Mails) sendMail(ctx context.Context, m pay.Mail) error {
	if ms.mailer == nil {
		_, change := m.Refused(ms.Now())
		return ms.notedMail(ctx, m, change, MailFailed, errors.New("this service sends no e-mails any more"))
	}
	text := ms.letters.NewWallet(m.About)
	sent := ms.mailer.Send(ctx, mail.Message{ID: m.ID, To: m.About.To, Subject: text.Subject, Text: text.Text, At: m.CreatedAt})
	var failure *mail.Failure
	switch {
	case sent == nil:
		_, change := m.Sent(ms.Now())
		return ms.notedMail(ctx, m, change, MailSent, nil)
	case ctx.Err() != nil: // the service ends: that is no try
		return nil
	case errors.As(sent, &failure) && failure.Final:
		_, change := m.Refused(ms.Now())
		return ms.notedMail(ctx, m, change, MailFailed, sent)
	}
	next, change := m.Retry(ms.Now())
	outcome := MailRetried
	if next.Status == pay.MailFailed {
		outcome = MailFailed
	}
	return ms.notedMail(ctx, m, change, outcome, sent)
}

// notedMail writes what came of a try. A stale one is dropped: whoever had the e-mail meanwhile
// has written his.
func (ms *Mails) notedMail(ctx context.Context, m pay.Mail, change pay.Change, outcome MailOutcome, cause error) error {
	// A server has it: also who is told to end says so.
	err := ms.Store.Commit(context.WithoutCancel(ctx), change)
	if errors.Is(err, store.ErrStale) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("what came of e-mail %s is not written; it comes again: %w", m.ID, err)
	}
	switch outcome {
	case MailRetried:
		ms.Log.WarnContext(ctx, "an e-mail was not taken and is tried again", "mail", m.ID, "merchant", m.Merchant, "try", m.Tries+1, "again", change.Mails[0].DueAt, "error", cause)
	case MailFailed:
		ms.Log.ErrorContext(ctx, "an e-mail is given up: tell the merchant of the new wallet yourself", "mail", m.ID, "merchant", m.Merchant, "wallet", m.Object, "error", cause)
	}
	ms.tries[outcome].Add(1)
	return nil
}
