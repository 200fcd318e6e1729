package mails

import (
	"cmp"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// Prefix begins the id of an e-mail.
const Prefix = "mail_"

// Status is the state of an e-mail.
type Status string

// States of an e-mail. It fails if a server refuses it for good, or if none accepts it within
// Life.
const (
	Waiting Status = "waiting"
	Sent    Status = "sent"
	Failed  Status = "failed"
)

// Life is how long the delivery of an e-mail is tried.
const Life = 48 * time.Hour

// Lease is how long an e-mail belongs to the node that sends it, before another node may: longer than the sending of one
// e-mail and its commit may take.
const Lease = 3 * time.Minute

// pauses are the pauses between tries; the last one repeats.
var pauses = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 4 * time.Hour}

// Message is an e-mail to a merchant about a new wallet, to a user with a one-time link or an alert, or to a shopper with a
// receipt. It has one of the four contents. It is written in one change with what it is about, and sent at least once; a
// second copy does no harm.
type Message struct {
	ID string // mail_…; about a wallet or a link: with the suffix of its id
	merchants.Scope
	Version   int64
	Object    string // id of the wallet, the link or the payment; of an alert its AlertObject
	Status    Status
	Tries     int
	DueAt     time.Time // next try; while leased, the end of the lease; zero once it has ended
	CreatedAt time.Time
	UpdatedAt time.Time
	Wallet    Wallet // of a wallet; empty once it has ended
	Link      Link   // of a link; empty once it has ended
	Receipt   Receipt
	Alert     Alert
}

// New returns an e-mail that is due at once, still without content.
func New(id string, s merchants.Scope, object string, now time.Time) Message {
	return Message{ID: id, Scope: s, Version: 1, Object: object, Status: Waiting, DueAt: now, CreatedAt: now, UpdatedAt: now}
}

// To is the address that the e-mail goes to.
func (m Message) To() string {
	return cmp.Or(m.Link.To, m.Receipt.To, m.Alert.To, m.Wallet.To)
}

// Sent records that a server accepted the e-mail.
func (m Message) Sent(now time.Time) Message { return m.over(Sent, now) }

// Refused records that a server refused it for good.
func (m Message) Refused(now time.Time) Message { return m.over(Failed, now) }

// Retry records a try without a clear result. The next one follows after a pause. If Life is
// over by then, the e-mail has failed.
func (m Message) Retry(now time.Time) Message {
	again := now.Add(pauses[min(m.Tries, len(pauses)-1)])
	if again.Sub(m.CreatedAt) > Life {
		return m.over(Failed, now)
	}
	m.Version++
	m.Tries++
	m.DueAt, m.UpdatedAt = again, now
	return m
}

// over ends the e-mail after a try. Its address and content are deleted.
func (m Message) over(s Status, now time.Time) Message {
	m.Version++
	m.Tries++
	m.Status, m.DueAt, m.UpdatedAt, m.Wallet, m.Link = s, time.Time{}, now, Wallet{}, Link{}
	m.Receipt, m.Alert = Receipt{}, Alert{}
	return m
}

// Wallet is the content of an e-mail about a new wallet. It has no text that the thief of a
// key could choose freely, such as the wallet's label: the merchant would get the thief's text in
// our name.
type Wallet struct {
	To          string // the merchant's address
	Language    merchants.Language
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

// Link is the content of an e-mail with a one-time link.
type Link struct {
	To       string
	Language merchants.Language
	Kind     people.LinkKind
	Merchant string // name of the one that an invitation is for; "": the operator's console
	Address  string // of the link's page
	EndsAt   time.Time
}

// Message returns the e-mail with the one-time link.
func (l Link) Message(of people.Link) Message {
	m := New(Prefix+strings.TrimPrefix(of.ID, people.LinkPrefix), merchants.Scope{Merchant: of.Merchant, Live: true}, of.ID, of.CreatedAt)
	m.Link = l
	return m
}

// Receipt is the content of an e-mail with the receipt of a payment.
type Receipt struct {
	To          string
	Language    merchants.Language
	Shop        string // name
	Payment     string // id
	Order       string // or ""
	Description string // or ""
	Paid        money.Amount
	Back        money.Amount // what the shopper got back; zero for nothing
	PaidAt      time.Time
	Test        bool             // a payment of the sandbox
	Plan        installment.Plan // of installments; zero: paid at once
}

// AlertPrefix begins the object of an alert.
const AlertPrefix = "alr_"

// AlertsADay is the most alerts of one kind that somebody gets in a day: a stranger's guesses must not fill a mailbox.
const AlertsADay = 5

// News of a merchant's production environment, for its owners (DASH-18).
const (
	KeyMade         people.What = "key_made"
	KeyRolled       people.What = "key_rolled"
	KeyRevoked      people.What = "key_revoked"
	MerchantPaused  people.What = "paused"
	MerchantResumed people.What = "resumed"
	MerchantMoved   people.What = "moved" // its e-mail address was changed

	MerchantClosed   people.What = "closed"   // an operator closed it (LEAVE-7)
	MerchantReopened people.What = "reopened" // and opened it again
	MerchantPaidOut  people.What = "paid_out" // the last of a closed merchant's balance arrived
	MerchantErasing  people.What = "erasing"  // the merchant will be erased
)

// Alert is the content of an e-mail about an account, a key or a merchant. It has no secret, and no text that the person
// who caused it could choose freely.
type Alert struct {
	To       string
	Language merchants.Language
	News     people.News
	User     string    // e-mail address of the account; "" for a key or a merchant
	Shop     string    // id, of a key; "" for a key of the whole merchant
	Key      string    // masked; "" for an account or a merchant
	Until    time.Time // when a key that was rolled ends; when the last reserve of a merchant that was closed is released, or when it is erased; zero: at once, or none
	Last     bool      // nobody sends another one of this kind today
}

// AlertObject is the name under which alerts of a kind to one recipient are counted. to is the id of a user
// or a merchant.
func AlertObject(what people.What, to string) string { return AlertPrefix + string(what) + "/" + to }

// Message returns the e-mail with the alert. merchant is "" for one about an account.
func (a Alert) Message(id, merchant, object string) Message {
	m := New(id, merchants.Scope{Merchant: merchant, Live: true}, object, a.News.At)
	m.Alert = a
	return m
}
