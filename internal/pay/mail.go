package pay

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// MailPrefix begins the id of an e-mail.
const MailPrefix = "mail_"

// MailStatus is the state of an e-mail.
type MailStatus string

// States of an e-mail. It fails if a server refuses it for good, or if none accepts it within
// MailLife.
const (
	MailWaiting MailStatus = "waiting"
	MailSent    MailStatus = "sent"
	MailFailed  MailStatus = "failed"
)

// MailLife is how long the delivery of an e-mail is tried.
const MailLife = 48 * time.Hour

// MailLease is how long an e-mail belongs to the node that sends it, before another node may: longer than the sending of one
// e-mail and its commit may take.
const MailLease = 3 * time.Minute

// mailPauses are the pauses between tries; the last one repeats.
var mailPauses = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 4 * time.Hour}

// Mail is an e-mail to a merchant about a new wallet, to a user with a one-time link or an alert, or to a shopper with a receipt. It is written in
// one Change with what it is about, and sent at least once; a second copy does no harm.
type Mail struct {
	ID string // mail_…, with the suffix of the wallet's id
	tenant.Scope
	Version   int64
	Object    string // id of the wallet, the link or the payment; of an alert its AlertObject
	Status    MailStatus
	Tries     int
	DueAt     time.Time // next try; while leased, the end of the lease; zero once it has ended
	CreatedAt time.Time
	UpdatedAt time.Time
	About     WalletNotice // of a wallet; empty once it has ended
	Link      LinkNotice   // of a link; empty once it has ended
	Receipt   ReceiptNotice
	Alert     AlertNotice
}

// LinkNotice is the content of an e-mail with a one-time link.
type LinkNotice struct {
	To       string
	Language tenant.Language
	Kind     people.LinkKind
	Merchant string // name of the one that an invitation is for; "": the operator's console
	Address  string // of the link's page
	EndsAt   time.Time
}

// To is the address that the e-mail goes to.
func (m Mail) To() string {
	return cmp.Or(m.Link.To, m.Receipt.To, m.Alert.To, m.About.To)
}

// LinkMail returns the e-mail with a one-time link.
func LinkMail(l people.Link, n LinkNotice) Mail {
	return Mail{
		ID: MailPrefix + strings.TrimPrefix(l.ID, people.LinkPrefix), Scope: tenant.Scope{Merchant: l.Merchant, Live: true}, Version: 1, Object: l.ID,
		Status: MailWaiting, DueAt: l.CreatedAt, CreatedAt: l.CreatedAt, UpdatedAt: l.CreatedAt, Link: n,
	}
}

// ReceiptNotice is the content of an e-mail with the receipt of a payment.
type ReceiptNotice struct {
	To          string
	Language    tenant.Language
	Shop        string // name
	Payment     string // id
	Order       string // or ""
	Description string // or ""
	Paid        money.Amount
	Back        money.Amount // what the shopper got back; zero for nothing
	PaidAt      time.Time
	Test        bool // a payment of the sandbox
}

// CheckReceipt returns an error if there is no receipt of the payment for its shopper.
//
// Errors: conflict_state if it was not paid, invalid_request if its shopper has no e-mail address.
func CheckReceipt(p Payment) error {
	switch {
	case p.Times.Completed.IsZero():
		return &problem.Error{Code: problem.ConflictState, Message: "only a payment that was paid has a receipt", Details: problem.Details{From: string(p.Status), Action: "receipt"}}
	case p.Order.Buyer.Email == "":
		return problem.Field(problem.InvalidRequest, "email", "the payment has no e-mail address to send a receipt to")
	}
	return nil
}

// ReceiptMail returns the e-mail with the receipt of a payment that passes CheckReceipt, to an address. claims are all of
// the payment.
func ReceiptMail(p Payment, claims []Claim, id, to string, shop tenant.Shop, language tenant.Language, now time.Time) Mail {
	if l := tenant.Language(p.Page.Lang); slices.Contains(tenant.Languages(), l) {
		language = l
	}
	return Mail{
		ID: id, Scope: tenant.Scope{Merchant: p.Merchant, Shop: p.Shop, Live: true}, Version: 1,
		Object: p.ID, Status: MailWaiting, DueAt: now, CreatedAt: now, UpdatedAt: now,
		Receipt: ReceiptNotice{
			To: to, Language: language, Shop: shop.Name, Payment: p.ID, Order: p.Order.ID, Description: p.Order.Purchase.Description,
			Paid: p.Price.Local, Back: p.gotBack(claims), PaidAt: p.Times.Completed, Test: !p.Live,
		},
	}
}

// gotBack is what the shopper got back of the payment: in refunds that the provider confirmed, and in disputes that the
// merchant lost. A refund that is under way may still fail, so it does not count.
func (p Payment) gotBack(claims []Claim) money.Amount {
	back := money.New(0, p.Price.Local.Currency)
	for _, c := range claims {
		lost := c.Kind == ChargebackClaim && slices.ContainsFunc(p.Disputes.Takings, func(t Taking) bool { return t.Claim == c.ID && t.Attempt == 0 })
		if (c.Kind == UserDispute || lost) && c.Status.Pays() && c.Local.Currency == back.Currency {
			back.Minor += c.Local.Minor
		}
	}
	return back
}

// WalletNotice is the content of an e-mail about a new wallet. It has no text that the thief of a
// key could choose freely, such as the wallet's label: the merchant would get the thief's text in
// our name.
type WalletNotice struct {
	To          string // the merchant's address
	Language    tenant.Language
	Merchant    string // name
	Wallet      string // id
	Network     string
	Currency    string
	Destination string // masked
	Shop        string // id
	Key         string // preview of the key that added it; "" if a user did
	User        string // e-mail address of the user who added it in the dashboard; "" if a key did
	AddedAt     time.Time
	ActiveAt    time.Time // when it can first be paid to
}

// Mail returns the e-mail to a merchant about the new wallet. preview shows the key that added it; user is
// the e-mail address of the user who did. It returns false if no e-mail is sent: in the sandbox, where
// a wallet does no harm, and if the merchant has no address.
func (w Wallet) Mail(m tenant.Merchant, preview, user string) (Mail, bool) {
	to := strings.TrimSpace(m.Email)
	if !w.Live || to == "" {
		return Mail{}, false
	}
	return Mail{
		ID: MailPrefix + strings.TrimPrefix(w.ID, WalletPrefix), Scope: w.Scope, Version: 1, Object: w.ID,
		Status: MailWaiting, DueAt: w.CreatedAt, CreatedAt: w.CreatedAt, UpdatedAt: w.CreatedAt,
		About: WalletNotice{
			To: to, Language: m.Language, Merchant: m.Name, Wallet: w.ID, Network: w.Network, Currency: w.Currency,
			Destination: w.Masked, Shop: w.Shop, Key: preview, User: user, AddedAt: w.CreatedAt, ActiveAt: w.ActiveAt,
		},
	}, true
}

// Sent records that a server accepted the e-mail.
func (m Mail) Sent(now time.Time) (Mail, Change) { return m.over(MailSent, now) }

// Refused records that a server refused it for good.
func (m Mail) Refused(now time.Time) (Mail, Change) { return m.over(MailFailed, now) }

// Retry records a try without a clear result. The next one follows after a pause. If MailLife is
// over by then, the e-mail has failed.
func (m Mail) Retry(now time.Time) (Mail, Change) {
	again := now.Add(mailPauses[min(m.Tries, len(mailPauses)-1)])
	if again.Sub(m.CreatedAt) > MailLife {
		return m.over(MailFailed, now)
	}
	m.Version++
	m.Tries++
	m.DueAt, m.UpdatedAt = again, now
	return m, Change{Mails: []Mail{m}}
}

// over ends the e-mail after a try. Its address and content are deleted.
func (m Mail) over(s MailStatus, now time.Time) (Mail, Change) {
	m.Version++
	m.Tries++
	m.Status, m.DueAt, m.UpdatedAt, m.About, m.Link = s, time.Time{}, now, WalletNotice{}, LinkNotice{}
	m.Receipt, m.Alert = ReceiptNotice{}, AlertNotice{}
	return m, Change{Mails: []Mail{m}}
}

// AlertPrefix begins the object of an alert.
const AlertPrefix = "alr_"

// AlertsADay is the most alerts of one kind that somebody gets in a day: a stranger's guesses must not fill a mailbox.
const AlertsADay = 5

// What the owners of a merchant are told about its production environment (DASH-18).
const (
	KeyMade         people.What = "key_made"
	KeyRolled       people.What = "key_rolled"
	KeyRevoked      people.What = "key_revoked"
	MerchantPaused  people.What = "paused"
	MerchantResumed people.What = "resumed"
)

// AlertNotice is the content of an e-mail about an account, a key or a merchant. It has no secret, and no text that the person who
// caused it could choose freely.
type AlertNotice struct {
	To       string
	Language tenant.Language
	News     people.News
	User     string    // e-mail address of the account; "" for a key or a merchant
	Shop     string    // id, of a key; "" for a key of the whole merchant
	Key      string    // masked; "" for an account or a merchant
	Until    time.Time // when a key that was rolled ends; zero: at once
	Last     bool      // nobody sends another one of this kind today
}

// AlertObject is the name under which alerts of a kind to one recipient are counted. to is the id of a user
// or a merchant.
func AlertObject(what people.What, to string) string { return AlertPrefix + string(what) + "/" + to }

// AlertMail returns the e-mail with an alert. merchant is "" for one about an account.
func AlertMail(id, merchant, object string, n AlertNotice) Mail {
	at := n.News.At
	return Mail{
		ID: id, Scope: tenant.Scope{Merchant: merchant, Live: true}, Version: 1, Object: object,
		Status: MailWaiting, DueAt: at, CreatedAt: at, UpdatedAt: at, Alert: n,
	}
}
