package mercadopago

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// intents is the path of payouts: Mercado Pago calls one a transaction intent.
const intents = "/v1/transaction-intents/"

// most is the largest payout, in reais.
const most = 10_000_000_000

// receiver is the account that a payout goes to.
type receiver struct {
	Type   string      `json:"type"`
	Amount json.Number `json:"amount"`
	PixKey pixKey      `json:"chave"`
	Owner  owner       `json:"owner"`
}

type pixKey struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

type owner struct {
	Identification identification `json:"identification"`
}

type sum struct {
	Amount json.Number `json:"amount"`
}

// intentRequest is the body of POST /v1/transaction-intents/process.
type intentRequest struct {
	Reference   string `json:"external_reference"`
	Interaction struct {
		Type string `json:"type"`
	} `json:"point_of_interaction"`
	Seller      *seller `json:"seller_configuration,omitempty"`
	Transaction struct {
		From struct {
			Accounts []sum `json:"accounts"`
		} `json:"from"`
		To struct {
			Accounts []receiver `json:"accounts"`
		} `json:"to"`
		Total json.Number `json:"total_amount"`
	} `json:"transaction"`
}

type seller struct {
	Notification struct {
		URL string `json:"notification_url"`
	} `json:"notification_info"`
}

// order is the body of a payout. It is the same for every call.
func (p *payer) order(r payouts.Request, to receiver) (q intentRequest) {
	q.Reference, q.Interaction.Type = r.Reference, "PSP_TRANSFER"
	if p.account.NotificationURL != "" {
		q.Seller = &seller{}
		q.Seller.Notification.URL = p.account.NotificationURL
	}
	q.Transaction.From.Accounts, q.Transaction.To.Accounts = []sum{{to.Amount}}, []receiver{to}
	q.Transaction.Total = to.Amount
	return q
}

// Fits implements payouts.Choosy.
func (p *payer) Fits(r payouts.Request) error {
	if _, wrong := p.receiver(r); wrong != nil {
		return errors.New(wrong.Message)
	}
	return nil
}

// receiver is the recipient of a payout; wrong says why the account cannot pay it out.
func (p *payer) receiver(r payouts.Request) (to receiver, wrong *pay.PayoutOutcome) {
	refuse := func(kind pay.PayoutKind, code, message string) (receiver, *pay.PayoutOutcome) {
		return receiver{}, &pay.PayoutOutcome{Kind: kind, Code: code, Message: message}
	}
	unsupported := func(message string) (receiver, *pay.PayoutOutcome) {
		return refuse(pay.PayoutUnavailable, "unsupported", message)
	}
	kind, number := provider.Document("BRA", r.Document)
	key := pixKeyType(r.Destination)
	asKey, _ := provider.CNPJ(r.Destination)
	asHolder, _ := provider.CNPJ(number)
	switch {
	case r.Network+"."+string(r.Local.Currency) != pixRail:
		return unsupported("the account does not pay out over this rail")
	case r.Local.Minor < 1 || r.Local.Minor > most*100:
		return unsupported("the account cannot pay out this amount")
	case asKey || asHolder: // no document has one
		return unsupported("the account is known to pay only to a CNPJ of digits, and this one has letters")
	case key == "":
		return unsupported("the account cannot pay to this kind of Pix key")
	case kind == "":
		return refuse(pay.PayoutRejected, "invalid_account", "the holder's tax id is neither a CPF nor a CNPJ")
	}
	return receiver{"current", json.Number(r.Local.Decimal()), pixKey{key, r.Destination}, owner{identification{kind, number}}}, nil
}

// pixKeys are Mercado Pago's names for the kinds of Pix keys, by their form in our wallets.
var pixKeys = map[string]*regexp.Regexp{
	"CPF": regexp.MustCompile(`^\d{11}$`), "CNPJ": regexp.MustCompile(`^\d{14}$`), "EMAIL": regexp.MustCompile(`^[^@ ]+@[^@ ]+$`),
	"PHONE": regexp.MustCompile(`^\+55\d{10,11}$`), "PIX_CODE": regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
}

// pixKeyType is the kind of Pix key of a destination, "" if it is none.
func pixKeyType(key string) string {
	for kind, form := range pixKeys {
		if form.MatchString(key) {
			return kind
		}
	}
	return ""
}

// call makes a call about payouts. A body is signed.
func (p *payer) call(ctx context.Context, method, path string, body any, key string) (provider.Reply, *pay.Outcome) {
	req, unsent := p.account.prepare(ctx, method, path, body, key)
	if unsent != nil {
		return provider.Reply{}, unsent
	}
	if body != nil {
		if !p.account.Live {
			req.Header.Set("X-Test-Token", "true")
		}
		if err := p.sign(req); err != nil {
			return provider.Reply{}, &pay.Outcome{Kind: pay.Errored, Decline: "bad_request"}
		}
	}
	return provider.Do(p.account.Client, req)
}

// sign signs the bytes of a body. Without a key, which only a test account may lack, it
// marks the request as unsigned.
func (p *payer) sign(req *http.Request) error {
	req.Header.Set("X-Enforce-Signature", fmt.Sprint(p.key != nil))
	if p.key == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	req.Header.Set("X-Signature", base64.StdEncoding.EncodeToString(ed25519.Sign(p.key, text)))
	return nil
}

// intent is the part of a payout that we read.
type intent struct {
	ID          text `json:"id"`
	Status      text `json:"status"`
	Reference   text `json:"external_reference"`
	Transaction struct {
		From     side `json:"from"`
		To       side `json:"to"`
		Refunded text `json:"refunded_amount"`
		Total    text `json:"total_amount"`
	} `json:"transaction"`
}

// side is one account, the source or the destination of a payout's money.
type side struct {
	Accounts []struct {
		Amount text `json:"amount"` // a number, or a text with a comma
		Detail text `json:"status_detail"`
	} `json:"accounts"`
}

// detail is why a payout has its status. In the guide it is at the receiver, on the page
// about tests at the sender.
func (i intent) detail() string {
	for _, s := range []side{i.Transaction.To, i.Transaction.From} {
		if len(s.Accounts) == 1 && s.Accounts[0].Detail != "" {
			return string(s.Accounts[0].Detail)
		}
	}
	return ""
}

// arrived is what the receiver got or will get, or the total if that is not reported. Zero:
// neither is known.
func (i intent) arrived() money.Amount {
	told := i.Transaction.Total
	if to := i.Transaction.To.Accounts; len(to) == 1 && to[0].Amount != "" {
		told = to[0].Amount
	}
	return amount(told)
}

// amount is an amount of Mercado Pago's, zero if no payout can have it.
func amount(told text) money.Amount {
	local, ok := provider.Major(strings.Replace(string(told), ",", ".", 1), string(money.BRL))
	if !ok {
		return money.Amount{}
	}
	return local
}

// isIntentID reports whether s can be the id of a payout: it goes into addresses.
var isIntentID = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`).MatchString

// readIntent is the payout of an answer, false if there is none.
func readIntent(answer provider.Reply) (i intent, ok bool) {
	err := read(answer.Body, &i)
	return i, err == nil && isIntentID(string(i.ID))
}

// errNoIntent means that the account has no such payout.
var errNoIntent = errors.New("there is no such payout")

// get reads a payout by its id.
//
// Errors: errNoIntent; provider.ErrUnreachable if the answer is not clear.
func (p *payer) get(ctx context.Context, id string) (intent, error) {
	answer, lost := p.call(ctx, http.MethodGet, intents+id, nil, "")
	switch {
	case lost != nil:
		return intent{}, provider.ErrUnreachable
	case noIntent(answer):
		return intent{}, errNoIntent
	case answer.Status != http.StatusOK:
		return intent{}, provider.ErrUnreachable
	}
	found, ok := readIntent(answer)
	if !ok || string(found.ID) != id {
		return intent{}, provider.ErrUnreachable
	}
	return found, nil
}
