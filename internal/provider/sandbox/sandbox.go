// Package sandbox is the simulated provider behind test keys. It is called like a real one
// and keeps no state: its answer follows from the request alone, so that a charge and a
// later query agree, even after a restart.
package sandbox

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
)

// Accounts are the three simulated providers, in the cascade's order.
func Accounts() []string { return []string{"sandbox-1", "sandbox-2", "sandbox-3"} }

// SignatureHeader carries the hex HMAC-SHA-256 of a notification's body.
const SignatureHeader = "X-Sandbox-Signature"

// SlowPayment is the action that the simulated provider performs by itself, when its time
// has come (SBX-9).
const SlowPayment = "slow_payment"

// SlowAfter is how long a slow payment takes.
const SlowAfter = 30 * time.Second

// Fault is a way for a simulated provider to misbehave (SBX-11).
type Fault string

// Faults on a charge.
const (
	NoFault Fault = ""
	Decline Fault = "decline" // softly: another provider may approve
	Error   Fault = "error"
	Timeout Fault = "timeout" // it charges the shopper and does not answer
	Slow    Fault = "slow"
	Down    Fault = "unavailable"
)

// Faults of a confirmation.
const (
	Duplicate    Fault = "duplicate"     // it comes twice
	OutOfOrder   Fault = "out_of_order"  // an older decline comes after it
	WrongAmount  Fault = "wrong_amount"  // a cent is missing, and the money has no id
	BadSignature Fault = "bad_signature" // signed by somebody else
)

// Faults lists all faults.
func Faults() []Fault {
	return append([]Fault{Decline, Error, Timeout, Slow, Down, Duplicate, OutOfOrder, WrongAmount, BadSignature, EvidenceRefused, EvidenceTimeout}, refundFaults()...)
}

// slowness is how much longer a slow provider takes.
const slowness = 2 * time.Second

// Provider is one simulated provider.
type Provider struct {
	account string
	secret  func() []byte
	fault   atomic.Value // of Fault
}

// New returns a simulated provider. It gets the secret for signing notifications from a
// function; nil: it signs with none.
func New(account string, secret func() []byte) *Provider {
	if secret == nil {
		secret = func() []byte { return nil }
	}
	p := &Provider{account: account, secret: secret}
	p.fault.Store(NoFault)
	return p
}

// Check refuses a fault that does not exist.
func (f Fault) Check() error {
	if f != NoFault && !slices.Contains(Faults(), f) {
		return fmt.Errorf("sandbox fault %q: it has to be one of %v", f, Faults())
	}
	return nil
}

// SetFault makes the provider misbehave from now on.
func (p *Provider) SetFault(f Fault) error {
	if err := f.Check(); err != nil {
		return err
	}
	p.fault.Store(f)
	return nil
}

// Charge follows the sandbox's rules (SBX-10).
func (p *Provider) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	switch p.fault.Load() {
	case Decline:
		return pay.Outcome{Kind: pay.Declined, Soft: true, Code: problem.CardDeclined, Decline: "issuer_unavailable", Message: "declined"}
	case Error:
		return pay.Outcome{Kind: pay.Errored, Decline: "processing_error"}
	case Down:
		return pay.Outcome{Kind: pay.Unavailable, Decline: "unavailable"}
	case Timeout:
		return pay.Outcome{Kind: pay.Unknown, Decline: "timeout"}
	case Slow:
		select {
		case <-time.After(slowness):
		case <-ctx.Done():
			return pay.Outcome{Kind: pay.Unknown, Decline: "timeout"}
		}
	}
	o := p.answer(r)
	if r.Sync && r.Script.Action == "" && cents(r.Amount) == 96 {
		return pay.Outcome{Kind: pay.Unknown, Decline: "timeout"}
	}
	return o
}

// Query returns the result of Charge.
func (p *Provider) Query(_ context.Context, r provider.Request) pay.Outcome {
	switch p.fault.Load() {
	case Decline, Error:
		return pay.Outcome{Kind: pay.Missing}
	case Down:
		return pay.Outcome{Kind: pay.Unknown, Decline: "unavailable"}
	}
	return p.answer(r)
}

// Cancel ends a card's page, so that the next provider may open one. Other charges cannot be ended: they say what Query says.
func (p *Provider) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	o := p.Query(ctx, r)
	if o.Kind == pay.Awaiting && r.Sync && r.Script.Strict {
		o = pay.Outcome{Kind: pay.Lapsed, ProviderRef: p.ref(r)}
		if r.Script.Challenge == r.Reference { // the shopper typed a card, and left
			o.Tries = []decline.Try{tried(Challenge, decline.Abandoned)}
		}
	}
	return o
}

func cents(usd money.Amount) int64 { return usd.Minor % 100 }

// answer is the present state of a charge.
func (p *Provider) answer(r provider.Request) pay.Outcome {
	if r.Script.Action == SlowPayment {
		due := r.Created.Add(SlowAfter)
		if !r.Now.Before(due) {
			return pay.Outcome{Kind: pay.Approved, MoneyRef: p.money(r.Reference, r.Local), Local: r.Local, Played: true}
		}
		o := p.await(r)
		o.CheckAt = due
		return o
	}
	if r.Script != (pay.Script{}) || !r.Sync {
		o := p.await(r)
		o.Played = r.Script.Action != "" // it is played now
		return o
	}
	return p.card(r)
}

// card answers by the cents of the amount, an ISO 8583 response code.
func (p *Provider) card(r provider.Request) pay.Outcome {
	declined := func(code problem.Code, reason, message string) pay.Outcome {
		return pay.Outcome{Kind: pay.Declined, Code: code, Decline: reason, Message: message, ProviderRef: p.ref(r)}
	}
	switch cents(r.Amount) {
	case 5:
		return declined(problem.CardDeclined, "do_not_honor", "the card's issuer declined the charge")
	case 51:
		return declined(problem.InsufficientFunds, "insufficient_funds", "the card has insufficient funds")
	case 54:
		return declined(problem.ExpiredCard, "expired_card", "the card has expired")
	case 59:
		return declined(problem.FraudBlocked, "fraud_suspected", "the risk engine blocked the charge")
	case 65:
		o := p.await(r)
		o.Code = problem.ThreeDSRequired
		return o
	case 91:
		return pay.Outcome{Kind: pay.Unavailable, Decline: "issuer_unavailable"}
	}
	return pay.Outcome{
		Kind: pay.Approved, ProviderRef: p.ref(r), MoneyRef: p.money(r.Reference, r.Local), Local: r.Local, FormURL: r.PageURL, Installments: chosen(r),
	}
}

// await is a charge that waits for the shopper.
func (p *Provider) await(r provider.Request) pay.Outcome {
	return pay.Outcome{Kind: pay.Awaiting, ProviderRef: p.ref(r), FormURL: r.PageURL, Data: data(r)}
}

func (p *Provider) ref(r provider.Request) string { return p.account + ":" + r.Reference }

// money is the id of a payment of a charge. A shopper pays the same amount once, unless the
// notification names the money.
func (p *Provider) money(reference string, local money.Amount) string {
	return p.account + ":" + reference + ":" + local.Decimal()
}

// data invents what the shopper needs to pay; the same reference gets the same data.
func data(r provider.Request) pay.PaymentData {
	h := fnv.New64a()
	h.Write([]byte(r.Reference))
	number := h.Sum64() % 1e12
	switch r.Method {
	case "pix":
		return pay.PaymentData{QRCode: brCode(r, number)}
	case "spei":
		return pay.PaymentData{CLABE: clabe(number), Bank: "STP", Beneficiary: "Cascada Sandbox", Reference: fmt.Sprintf("%07d", number%1e7)}
	case "boleto":
		return boleto(r, number)
	case "cash", "oxxo", "voucher":
		return pay.PaymentData{Reference: fmt.Sprintf("%012d", number), Barcode: fmt.Sprintf("9000%014d", number)}
	}
	return pay.PaymentData{}
}

// clabe is an 18-digit account number of the bank 646 with its check digit
// (weights 3, 7, 1).
func clabe(number uint64) string {
	digits := fmt.Sprintf("64618%012d", number)
	sum := 0
	for i, d := range digits {
		sum += int(d-'0') * []int{3, 7, 1}[i%3] % 10
	}
	return digits + fmt.Sprint((10-sum%10)%10)
}

// brCode is a static PIX payload: EMV fields (tag, length, value) and a CRC-16.
func brCode(r provider.Request, number uint64) string {
	field := func(tag, value string) string { return fmt.Sprintf("%s%02d%s", tag, len(value), value) }
	amount, _, _ := strings.Cut(r.Local.String(), " ") // with both decimals, as banks write it
	code := field("00", "01") +
		field("26", field("00", "br.gov.bcb.pix")+field("01", fmt.Sprintf("sandbox-%012d", number))) +
		field("52", "0000") + field("53", "986") + field("54", amount) + field("58", "BR") +
		field("59", "CASCADA SANDBOX") + field("60", "SAO PAULO") +
		field("62", field("05", fmt.Sprintf("SB%012d", number))) + "6304"
	crc := uint16(0xFFFF) // CRC-16/CCITT-FALSE
	for i := range len(code) {
		crc ^= uint16(code[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return code + fmt.Sprintf("%04X", crc)
}

// Notification is what a simulated provider sends.
type Notification struct {
	ID        string `json:"id"`
	Reference string `json:"reference"` // of the charge, or of the refund
	Status    string `json:"status"`    // paid, declined, expired, disputed, dispute_won, dispute_lost, dispute_withdrawn, refunded, refund_failed, reversed
	Amount    string `json:"amount,omitempty"`
	Currency  string `json:"currency,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Money     string `json:"money,omitempty"`     // id of the money; "": one for each amount; unnamed: none
	Simulated bool   `json:"simulated,omitempty"` // the merchant asked for it

	// Of paid in installments: their number, what the shopper pays in all, and who bears the interest, merchant or shopper.
	Installments int    `json:"installments,omitempty"`
	Total        string `json:"total,omitempty"`
	Interest     string `json:"interest,omitempty"`

	Refund string `json:"refund,omitempty"` // only of reversed: the provider's id of a refund of Amount that it made by itself

	// Only for disputes. Amount and Currency are the disputed amount, if set.
	Dispute   string `json:"dispute,omitempty"`  // its id
	Instance  int    `json:"instance,omitempty"` // 2 is the second instance
	Stage     string `json:"stage,omitempty"`
	Code      string `json:"networkReasonCode,omitempty"`
	RespondBy string `json:"respondBy,omitempty"` // RFC 3339
}

// unnamed is the money of a notification that does not say which money it is about.
const unnamed = "-"

// Send returns what the provider sends to confirm a payment: one signed notification, or
// whatever its fault makes of it.
func (p *Provider) Send(n Notification) []provider.Notification {
	switch p.fault.Load() {
	case Duplicate:
		return []provider.Notification{p.sign(n), p.sign(n)}
	case OutOfOrder:
		older := n
		older.ID, older.Status = n.ID+"-older", "declined"
		return []provider.Notification{p.sign(n), p.sign(older)}
	case WrongAmount:
		if paid, err := money.Parse(n.Amount, money.Currency(n.Currency)); err == nil {
			paid.Minor--
			n.Amount, n.Money = paid.Decimal(), unnamed
		}
	case BadSignature:
		s := p.sign(n)
		s.Header.Set(SignatureHeader, p.Signature(append([]byte("forged"), s.Body...))) // of another body: never right by chance
		return []provider.Notification{s}
	}
	return []provider.Notification{p.sign(n)}
}

func (p *Provider) sign(n Notification) provider.Notification {
	body, err := json.Marshal(n)
	if err != nil {
		panic("sandbox: " + err.Error()) // strings and a boolean
	}
	return provider.Notification{Header: http.Header{SignatureHeader: {p.Signature(body)}}, Body: body}
}

// Signature is the header's value for a body.
func (p *Provider) Signature(body []byte) string {
	mac := hmac.New(sha256.New, p.secret())
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Notices reads a simulated notification, which reports one charge.
func (p *Provider) Notices(_ context.Context, n provider.Notification) ([]pay.Notice, error) {
	if !hmac.Equal([]byte(n.Header.Get(SignatureHeader)), []byte(p.Signature(n.Body))) {
		return nil, provider.ErrUnsigned
	}
	notice, err := p.notice(n.Body)
	if err != nil {
		return nil, err
	}
	return []pay.Notice{notice}, nil
}

func (p *Provider) notice(body []byte) (pay.Notice, error) {
	var n Notification
	if err := json.Unmarshal(body, &n); err != nil {
		return pay.Notice{}, fmt.Errorf("sandbox notification: %w", err)
	}
	if n.ID == "" || n.Reference == "" {
		return pay.Notice{}, errors.New("sandbox notification: no id or no reference")
	}
	notice := pay.Notice{ID: n.ID, Account: p.account, Reference: n.Reference, Body: body}
	switch n.Status {
	case "paid":
		local, err := n.local()
		if err != nil {
			return pay.Notice{}, err
		}
		plan, err := n.planned(local)
		if err != nil {
			return pay.Notice{}, fmt.Errorf("sandbox notification: total: %w", err)
		}
		notice.Outcome = pay.Outcome{Kind: pay.Approved, MoneyRef: cmp.Or(n.Money, p.money(n.Reference, local)), Local: local, Installments: plan}
		if n.Money == unnamed {
			notice.Outcome.MoneyRef = ""
		}
	case "tried": // on a card's page, which stays open
		notice.Outcome = pay.Outcome{Kind: pay.Awaiting, Tries: []decline.Try{tried(n.ID, decline.Reason(n.Reason))}}
	case "declined":
		notice.Outcome = pay.Outcome{Kind: pay.Declined, Code: decline.Reason(n.Reason).Meaning().Code, Decline: n.Reason, Message: "the provider declined the payment"}
	case "expired", "left": // left: a card's page ended, as pages end in production
		notice.Outcome = pay.Outcome{Kind: pay.Lapsed}
		if n.Reason != "" { // the shopper typed a card before
			notice.Outcome.Tries = []decline.Try{tried(Challenge, decline.Reason(n.Reason))}
		}
	case "disputed", "dispute_won", "dispute_lost", "dispute_withdrawn":
		return n.disputed(notice)
	case "reversed":
		return n.reversed(notice)
	case "refunded":
		notice.Reference, notice.Refund, notice.Outcome = "", n.Reference, pay.Outcome{Kind: pay.Approved}
	case "refund_failed":
		notice.Reference, notice.Refund, notice.Outcome = "", n.Reference, pay.Outcome{Kind: pay.Declined, Decline: n.Reason}
	default:
		return pay.Notice{}, fmt.Errorf("sandbox notification: unknown status %q", n.Status)
	}
	notice.Outcome.Played = n.Simulated && n.Status != "left"
	return notice, nil
}

// tried is a try on a card's page. One is kept by the id of its notification.
func tried(id string, reason decline.Reason) decline.Try {
	return decline.Try{ID: id, Reason: reason, Raw: string(reason), Soft: reason.Meaning().Elsewhere}
}

// reversed reads the report of a refund that the provider made by itself, or, with the reason
// failed, that failed later.
func (n Notification) reversed(notice pay.Notice) (pay.Notice, error) {
	local, err := n.local()
	if err != nil {
		return pay.Notice{}, err
	}
	refund := pay.ProviderRefund{ID: n.Refund, Kind: pay.Approved, Local: local}
	notice.Outcome = pay.Outcome{Kind: pay.Reversed, Back: &pay.Reversal{Total: local}}
	if n.Reason == "failed" {
		refund.Kind, notice.Outcome.Back.Total = pay.Declined, money.Amount{}
	}
	notice.Outcome.Back.Refunds = []pay.ProviderRefund{refund}
	return notice, nil
}

// disputed reads the report of a dispute.
func (n Notification) disputed(notice pay.Notice) (pay.Notice, error) {
	notice.DisputeID, notice.Instance, notice.Stage, notice.Network = n.Dispute, n.Instance, n.Stage, n.Code
	notice.Outcome.Message, notice.Outcome.Played = n.Reason, n.Simulated
	if notice.Dispute = n.Status == "disputed"; !notice.Dispute {
		notice.Ruling = pay.Ruling(strings.TrimPrefix(n.Status, "dispute_"))
	}
	var err error
	if n.Amount != "" {
		if notice.Outcome.Local, err = n.local(); err != nil {
			return pay.Notice{}, err
		}
	}
	if n.RespondBy != "" {
		if notice.RespondBy, err = time.Parse(time.RFC3339, n.RespondBy); err != nil {
			return pay.Notice{}, fmt.Errorf("sandbox notification: respondBy: %w", err)
		}
	}
	return notice, nil
}

// local is the amount in a notification.
func (n Notification) local() (money.Amount, error) {
	currency, err := money.ParseCurrency(n.Currency)
	if err != nil {
		return money.Amount{}, fmt.Errorf("sandbox notification: %w", err)
	}
	local, err := money.Parse(n.Amount, currency)
	if err != nil {
		return money.Amount{}, fmt.Errorf("sandbox notification: %w", err)
	}
	return local, nil
}
