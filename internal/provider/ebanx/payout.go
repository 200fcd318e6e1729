package ebanx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/work"
)

// The hosts of payouts, which differ from those of charges (API reference, SDK for Ruby).
const (
	payoutProduction = "https://api.ebanxpay.com"
	payoutSandbox    = "https://sandbox.ebanxpay.com"
)

// settles is how long a new payout, or a new refund, may be missing from EBANX's answers; the documents do not
// say.
const settles = 5 * time.Minute

// payoutCountries are the countries of the rails on which EBANX pays out.
var payoutCountries = map[string]string{"pix.BRL": "br", "spei.MXN": "mx"}

// PayoutAdapter is the adapter for accounts at EBANX that pay out.
func PayoutAdapter() provider.Adapter {
	payee := []pay.HolderField{pay.HolderName, pay.HolderDocument, pay.HolderEmail}
	return provider.Adapter{
		Name: "ebanx-payouts",
		Fields: []provider.Field{
			{Name: "integrationKey", Doc: "EBANX Dashboard, Account Settings, Integrations: the integration key of the environment, of an account with Payouts. In the same place, the Notification URL is the account's notification URL"},
			Adapter().Fields[1],
		},
		Rails:       provider.Rails(payoutCountries, "pix.BRL"),
		OpenPayouts: openPayouts,
		Needs:       map[string][]pay.HolderField{"pix.BRL": payee, "spei.MXN": payee},
	}
}

// payer is an account that pays out.
type payer struct {
	account *account
	turns   work.Turns // one call at a time under a reference
}

func openPayouts(a provider.Account) (payouts.Provider, error) {
	c, err := newAccount(a, payoutSandbox, payoutProduction)
	if err != nil {
		return nil, err
	}
	return &payer{account: c}, nil
}

// order is the body of POST /ws/payout/create, or why the account cannot pay the payout.
func order(r payouts.Request) (map[string]any, *pay.PayoutOutcome) {
	refuse := func(code, message string) (map[string]any, *pay.PayoutOutcome) {
		o := payouts.Unavailable(code, message)
		return nil, &o
	}
	country := payoutCountries[r.Network+"."+string(r.Local.Currency)]
	document := documentType(country, r.Document)
	switch {
	case country == "" || r.Currency != string(r.Local.Currency) || !r.Local.IsPositive():
		return refuse("unsupported", "the account pays out only BRL over Pix and MXN over SPEI")
	case len(r.Reference) < 6 || len(r.Reference) > 40:
		return refuse("unsupported", "the account accepts references of 6 to 40 characters")
	case r.Name == "" || r.Email == "" || document == "":
		return refuse("beneficiary_incomplete", "the account needs the beneficiary's name, document and email address")
	}
	payee := map[string]any{"name": r.Name, "email": r.Email, "document": r.Document, "document_type": document}
	body := map[string]any{
		"external_reference": r.Reference, "country": country, "amount": json.Number(r.Local.Decimal()), "currency_code": r.Local.Currency, "payee": payee,
	}
	if country == "mx" {
		if !clabe.MatchString(r.Destination) {
			return refuse("unsupported", "the account pays only to a CLABE")
		}
		payee["bank_info"] = map[string]any{"bank_details": r.Destination}
		return body, nil
	}
	key := pixKey(r.Destination)
	switch letters, _ := provider.CNPJ(r.Destination); {
	case letters: // createPixPayoutBR: fourteen digits
		return refuse("unsupported", "the account is known to pay only to a CNPJ of digits, and this Pix key is a CNPJ with letters")
	case key == "":
		return refuse("unsupported", "the account cannot pay to this kind of Pix key")
	}
	body["target"], body["target_account"] = "pix_key", key
	return body, nil
}

// documentType is EBANX's name for a beneficiary's document, "" if it has none.
func documentType(country, document string) string {
	_, company := provider.CNPJ(document)
	switch n := len(document); {
	case country == "br" && provider.Digits(document, 11, 11):
		return "CPF"
	case country == "br" && company: // with letters too, in each field document
		return "CNPJ"
	case country == "mx" && (n == 12 || n == 13):
		return "RFC"
	case country == "mx" && n == 18:
		return "CURP"
	}
	return ""
}

// pixKey is a Pix key in EBANX's form, "" if EBANX does not have it.
func pixKey(key string) string {
	switch {
	case strings.Contains(key, "@"), provider.Digits(key, 11, 11), provider.Digits(key, 14, 14),
		strings.HasPrefix(key, "+55") && provider.Digits(key[1:], 12, 13):
		return key
	case random(key):
		return strings.ReplaceAll(key, "-", "") // "thirty-two alphanumeric digits"
	}
	return ""
}

// random reports whether a Pix key is a random one.
func random(key string) bool { return len(key) == 36 && strings.Count(key, "-") == 4 }

// Fits implements payouts.Choosy.
func (*payer) Fits(r payouts.Request) error {
	r.Reference = "cascada-wallet" // a wallet has none yet
	if _, cannot := order(r); cannot != nil {
		return errors.New(cannot.Message)
	}
	return nil
}

// Send orders the payout and commits it. An existing payout is continued from its present
// state.
func (p *payer) Send(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	body, cannot := order(r)
	if cannot != nil {
		return *cannot
	}
	done, err := p.turns.Lock(ctx, r.Reference)
	if err != nil {
		return payouts.Unknown("the payout's turn did not come in time")
	}
	defer done()
	first := r.Calls == 1 && r.ProviderRef == ""
	got := readAnswer(p.account.sendJSON(ctx, "/ws/payout/create", body))
	switch {
	case got.is == idle && first && provider.MayLeave(ctx):
		return payouts.Unavailable(got.Code, got.why)
	case got.is == idle, got.is == silent: // the result of an earlier call is not known either
		return payouts.Unknown(got.why)
	case got.is == denied:
		return p.refused(ctx, r, got, first)
	case !got.Payout.about(r.Reference, r.ProviderRef):
		return payouts.Unknown(unreadable)
	}
	return p.goOn(ctx, r, got.Payout)
}

// refused is the outcome of an order that was refused. An earlier call may have made the
// payout.
func (p *payer) refused(ctx context.Context, r payouts.Request, got payoutAnswer, first bool) pay.PayoutOutcome {
	if got.Code == referenceUsed || !first {
		found, state := p.find(ctx, "external_reference", r.Reference)
		switch {
		case state == there && found.about(r.Reference, r.ProviderRef):
			return p.goOn(ctx, r, found)
		case state != gone, r.ProviderRef != "", got.Code == referenceUsed:
			return payouts.Unknown("the payout was refused, but it is not known whether there is one")
		}
	}
	why, known := refusals[got.Code]
	switch {
	case !known:
		p.account.Strange("refusal", got.Code)
		why = payouts.NotHere("refused", "the account does not accept the payout")
	case got.Code == "HP-BR-03" && random(r.Destination): // the key's form may be the reason
		why = payouts.NotHere("unsupported", "the account does not accept the random Pix key")
	}
	return why.Outcome()
}

// goOn commits an open payout, and returns the state of any other. It commits only a payout
// that is as we ordered it: in the dashboard a person may use our references too.
func (p *payer) goOn(ctx context.Context, r payouts.Request, found payoutReply) pay.PayoutOutcome {
	o := p.outcome(found)
	if found.Status != opened {
		return o
	}
	if !found.ours(r) {
		o.Kind, o.Message = pay.PayoutUnknown, foreign
		return o
	}
	got := readAnswer(p.account.sendJSON(ctx, "/ws/payout/commit", map[string]any{"uid": found.UID}))
	switch got.is {
	case agreed:
		o.Message = ""
		return o
	case denied:
		// For example, it is committed already. It stays there, and may still be paid.
		if again, state := p.find(ctx, "uid", found.UID); state == there && again.about(r.Reference, found.UID) && again.Status != opened {
			return p.outcome(again)
		}
		p.account.Strange("commit", got.Code)
		o.Code, o.Message = "not_committed", "the provider has the payout but refused its commit"
		return o
	}
	o.Kind, o.Message = pay.PayoutUnknown, "the provider has the payout, but the result of its commit is not known: "+got.why
	return o
}

// Query reads the payout by our reference. An open payout waits for another Send, which
// commits it.
func (p *payer) Query(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	done, err := p.turns.Lock(ctx, r.Reference)
	if err != nil {
		return payouts.Unknown("the payout's turn did not come in time")
	}
	defer done()
	found, state := p.find(ctx, "external_reference", r.Reference)
	switch {
	case state == there && !found.about(r.Reference, r.ProviderRef):
		return payouts.Unknown("the provider answers with another payout")
	case state == there:
		o := p.outcome(found)
		if found.Status == opened {
			o.Kind = pay.PayoutUnsent
			if !found.ours(r) {
				o.Kind, o.Message = pay.PayoutUnknown, foreign
			}
		}
		return o
	case state == gone:
		return payouts.NotFound(r, settles, "the payout was there and is gone")
	}
	return payouts.Unknown("the query got no usable answer")
}

// Check reads the balance, which is free.
func (p *payer) Check(ctx context.Context) error {
	_, err := p.Balance(ctx)
	return err
}

// Balance is what the account can pay out now, in the currency that EBANX lists first.
//
// Errors: in words for the operator.
func (p *payer) Balance(ctx context.Context) (money.Amount, error) {
	got := readAnswer(p.account.sendForm(ctx, "/ws/payout/balance", url.Values{}))
	if got.is == denied {
		return money.Amount{}, fmt.Errorf("the provider refuses the query of the balance (%s)", got.Code)
	}
	if got.is != agreed {
		return money.Amount{}, errors.New(got.why)
	}
	currency, err := money.ParseCurrency(got.Currency)
	if err != nil || got.Balance == "" || len(got.Balance) > 40 {
		return money.Amount{}, errors.New("the provider's answer holds no balance: is the address its own?")
	}
	left, err := money.Parse(got.Balance.String(), currency)
	if err != nil {
		return money.Amount{}, errors.New("the provider's balance is not an amount in its currency")
	}
	return left, nil
}
