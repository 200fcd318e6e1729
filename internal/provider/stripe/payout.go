package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

const (
	recipientsPath = "/v2/core/accounts"
	setupsPath     = "/v2/money_management/outbound_setup_intents"
	paymentsPath   = "/v2/money_management/outbound_payments"
	balancesPath   = "/v2/money_management/financial_accounts/"
)

// PayoutAdapter is the adapter for accounts at Stripe that pay out.
func PayoutAdapter() provider.Adapter {
	holder := []pay.HolderField{pay.HolderName, pay.HolderEmail}
	return provider.Adapter{
		Name: "stripe-payouts",
		Fields: []provider.Field{
			{Name: "secretKey", Doc: "Dashboard, Developers, API keys: a secret key (sk_…), or a restricted one (rk_…) that may write Accounts (v2), " +
				"Outbound Setup Intents and Outbound Payments and read Financial Accounts. Global Payouts must be enabled. For tests use a sandbox: the old test mode has no /v2"},
			{Name: "webhookSecret", Doc: "Workbench, Webhooks: the signing secret (whsec_…) of an event destination with thin events " +
				"v2.money_management.outbound_payment.* that go to the account's notification URL"},
			{Name: "financialAccount", Public: true, Doc: "Dashboard, Balances: the id (fa_…) of the financial account that pays"},
			{Name: "currency", Public: true, Optional: true, Doc: "The currency of the balance that pays: USD by default, EUR or GBP"},
			{Name: "recipients", Public: true, Optional: true, Doc: "What the merchants who are paid are: company by default, or individual. " +
				"A holder's Mexican tax id overrides it"},
		},
		Rails:       []string{"spei.MXN", "iban.EUR", "iban.GBP", "account.USD"},
		OpenPayouts: openPayouts,
		Needs: map[string][]pay.HolderField{
			"spei.MXN": holder, "iban.EUR": holder, "iban.GBP": holder,
			"account.USD": append(slices.Clone(holder), pay.BankCode, pay.BankCountry),
		},
	}
}

// payer is an account that pays out.
type payer struct {
	*Provider
	from     string         // the financial account
	currency money.Currency // of the account's balance that pays
	entity   string         // company or individual
}

func openPayouts(a provider.Account) (payouts.Provider, error) {
	charges, err := open(a)
	if err != nil {
		return nil, err
	}
	from, err := a.Credential("financialAccount", 255)
	if err != nil {
		return nil, err
	}
	p := &payer{Provider: charges.(*Provider), from: from, currency: money.USD, entity: "company"}
	if text := a.Credentials["currency"]; text != "" {
		p.currency = money.Currency(strings.ToUpper(text))
	}
	if text := a.Credentials["recipients"]; text != "" {
		p.entity = text
	}
	switch {
	case !strings.HasPrefix(from, "fa_"):
		return nil, &provider.FieldError{Field: "financialAccount", Reason: "it has to begin with fa_"}
	case !slices.Contains([]money.Currency{"USD", "EUR", "GBP"}, p.currency):
		return nil, &provider.FieldError{Field: "currency", Reason: "it has to be USD, EUR or GBP"}
	case p.entity != "company" && p.entity != "individual":
		return nil, &provider.FieldError{Field: "recipients", Reason: "it has to be company or individual"}
	}
	return p, nil
}

// Send makes the recipient, the recipient's bank account and the payment, each once under
// our reference. Only the last of the three calls moves money.
func (pa *payer) Send(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	o, refused := pa.order(r)
	if r.Calls > 1 || r.ProviderRef != "" { // Stripe forgets a key after 30 days, and would pay again
		switch found, state := pa.find(ctx, r); {
		case state == there:
			return pa.outcome(found, r)
		case state != gone || r.ProviderRef != "":
			return payouts.Unknown("it is not known whether it was paid before")
		}
	}
	if refused != nil {
		return *refused
	}
	var made struct {
		ID string `json:"id"`
	}
	if f := pa.send(ctx, recipientsPath, "", r.Reference+"-recipient", o.recipient, &made); f != nil {
		return unbegun(r, f)
	}
	var setup struct {
		Status string `json:"status"`
		Method struct {
			ID         string `json:"id"`
			Restricted bool   `json:"restricted"`
		} `json:"payout_method"`
	}
	if !provider.Plain(made.ID, 255) {
		return unbegun(r, &unanswered{why: unreadable})
	}
	if f := pa.send(ctx, setupsPath, made.ID, r.Reference+"-account", o.setup, &setup); f != nil {
		return unbegun(r, f)
	}
	switch {
	case setup.Status == "requires_action" || setup.Method.Restricted:
		return unbegun(r, &unanswered{kind: "restricted"})
	case setup.Status != "succeeded" || !provider.Plain(setup.Method.ID, 255):
		return unbegun(r, &unanswered{why: unreadable})
	}
	o.payment.To.Recipient, o.payment.To.Method = made.ID, setup.Method.ID
	var paid payment
	if f := pa.send(ctx, paymentsPath, "", r.Reference, o.payment, &paid); f != nil {
		return unpaid(r, f)
	}
	if !paid.of(r.Reference) {
		return payouts.Unknown(unreadable)
	}
	return pa.outcome(paid, r)
}

// Query finds the payment by Stripe's id, or by our reference among all payments made since
// the call.
func (pa *payer) Query(ctx context.Context, r payouts.Request) pay.PayoutOutcome {
	found, state := pa.find(ctx, r)
	switch {
	case state == there:
		return pa.outcome(found, r)
	case state != gone:
		return payouts.Unknown("the query got no usable answer")
	}
	return payouts.NotFound(r, settles, "the payout was there and is gone")
}

// Check reads the financial account and a page of payments; both calls are free.
func (pa *payer) Check(ctx context.Context) error {
	if _, err := pa.Balance(ctx); err != nil {
		return err
	}
	var list paymentList
	f := pa.ask(ctx, paymentsPath, &list)
	if f == nil && list.Data == nil {
		f = &unanswered{why: unreadable}
	}
	return f.operator("Outbound Payments")
}

// Balance is what the financial account can pay out now, in its own currency.
//
// Errors: in words for the operator.
func (pa *payer) Balance(ctx context.Context) (money.Amount, error) {
	var account struct {
		ID      string `json:"id"`
		Status  string `json:"status"`
		Balance struct {
			Available map[string]minor `json:"available"`
		} `json:"balance"`
	}
	f := pa.ask(ctx, balancesPath+url.PathEscape(pa.from), &account)
	if f == nil && (account.ID != pa.from || account.Balance.Available == nil) {
		f = &unanswered{why: unreadable}
	}
	if err := f.operator("Financial Accounts"); err != nil {
		return money.Amount{}, err
	}
	if account.Status != "open" {
		return money.Amount{}, errors.New("the financial account is not open")
	}
	held, ok := account.Balance.Available[strings.ToLower(string(pa.currency))]
	if !ok || held.Value == nil || !strings.EqualFold(held.Currency, string(pa.currency)) {
		return money.Amount{}, fmt.Errorf("the financial account has no balance in %s", pa.currency)
	}
	return money.New(*held.Value, pa.currency), nil
}

// operator says, for the operator, why a query has no answer; nil if it has one.
func (u *unanswered) operator(right string) error {
	switch {
	case u == nil:
		return nil
	case u.status == http.StatusUnauthorized:
		return errors.New("the secret key is not valid")
	case u.status == http.StatusForbidden:
		return fmt.Errorf("the secret key may not read %s", right)
	case u.why == unreadable:
		return errors.New("the answer is not the provider's: is the address right?")
	}
	return fmt.Errorf("the provider does not answer the query for %s now: %s", right, u.reason())
}
