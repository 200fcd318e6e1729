package devcli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// recipe is how an event is made.
type recipe struct {
	event string
	how   string // for people; why it cannot be made, if run is nil
	clock bool   // it moves the sandbox's clock
	by    string // how far
	run   func(context.Context, *triggering) (object string, err error)
}

// documentID is a CPF whose check digits are right.
const documentID = "52998224725"

// recipes has every type of event. A test compares it with the service's.
var recipes = []recipe{
	{event: "payment.created", how: "a PIX payment; needs the right to webhooks, for the webhook without which it does not exist", run: pending},
	{event: "payment.pending", how: "a PIX payment that waits for the shopper; needs the right to webhooks, too", run: pending},
	{event: "payment.completed", how: "a card payment of 25.00 USD, which is approved", run: paid},
	{event: "payment.failed", how: "a card payment of 20.05 USD, which is declined", run: declined},
	{event: "payment.refunded", how: "a card payment, and a refund of a part", run: refundedPart},
	{event: "payment.captured", how: "a PIX payment that the simulator pays", run: captured},
	{event: "payment.attention", how: "a PIX payment of which the shopper pays a cent less, on the simulated bank's page", run: wrongAmount},
	{event: "chargeback.created", how: "a card payment that its cardholder disputes", run: disputed},
	{event: "claim.opened", how: "a card payment that its cardholder disputes", run: disputed},
	{event: "claim.resolved", how: "a card payment that its cardholder disputes, and that you concede", run: conceded},
	{event: "checkout.session.expired", how: "a checkout session that you end before its shopper chooses", run: sessionExpired},
	{event: "payment_link.paid", how: "a payment link with which a shopper pays by card", run: linkPaid},
	{event: "payment_link.closed", how: "a payment link that you close", run: linkClosed},
	{event: "settlement.closed", how: "a card payment that is settled after the delay of your terms", clock: true, by: "73 hours", run: settled},
	{event: "settlement.pdf_ready", how: "a card payment that is settled; the receipt of the settlement follows", clock: true, by: "73 hours", run: settled},
	{event: "wallet.created", how: "a new wallet, with a random PIX key", run: walletCreated},
	{event: "withdrawal.completed", how: "a withdrawal of 100.00 USD to a new wallet; a payment is settled for it, if the balance is less", clock: true, by: "a minute, or 73 hours if the balance is less", run: withdrawn("100.00")},
	{event: "withdrawal.failed", how: "a withdrawal of 100.05 USD, which the simulated bank refuses; a payment is settled for it, if the balance is less", clock: true, by: "a minute, or 73 hours if the balance is less", run: withdrawn("100.05")},
	{event: "withdrawal.returned", how: "a bank sends a part back, and the sandbox's bank never does. Its object is a withdrawal: try your handler with withdrawal.completed, or with a body of your own"},
	{event: "balance.adjusted", how: "only the operator adjusts a balance: ask for `cascada adjust credit` in your sandbox"},
}

// charge makes a payment. The refusal of a declined one is refusedFine.
func (t *triggering) charge(ctx context.Context, method, amount, currency string) (string, error) {
	body := t.own(map[string]any{"amount": json.Number(amount), "currency": currency, "paymentMethodId": method, "documentId": documentID, "userEmail": "ana@example.com", "userName": "Ana Test"})
	var made struct{ TransactionID string }
	err := t.do(ctx, http.MethodPost, "/payments", body, &made, http.StatusPaymentRequired)
	if fine := (refusedFine{}); errors.As(err, &fine) {
		return fine.transactionID, err
	}
	if err == nil && made.TransactionID == "" {
		err = &foreign{"the answer to a payment has no transactionId"}
	}
	return made.TransactionID, err
}

// own adds what the user gave.
func (t *triggering) own(body map[string]any) map[string]any {
	body["merchantOrderId"] = t.Order
	if t.Order == "" {
		body["merchantOrderId"] = "trigger-" + strings.ToLower(rand.Text()[:8])
	}
	if len(t.Metadata) > 0 {
		body["metadata"] = t.Metadata
	}
	return body
}

func pending(ctx context.Context, t *triggering) (string, error) {
	return t.charge(ctx, "sbx_pix", "25.00", "BRL")
}

func paid(ctx context.Context, t *triggering) (string, error) {
	return t.charge(ctx, "sbx_card", "25.00", "USD")
}

func declined(ctx context.Context, t *triggering) (string, error) {
	id, err := t.charge(ctx, "sbx_card", "20.05", "USD")
	if fine := (refusedFine{}); errors.As(err, &fine) {
		return id, nil
	}
	if err == nil {
		err = errors.New("the card was not declined")
	}
	return id, err
}

// refundedPart refunds a part. In a sandbox with many disputes the balance may not be enough for it: then more is sold first.
func refundedPart(ctx context.Context, t *triggering) (string, error) {
	id, err := paid(ctx, t)
	if err != nil {
		return id, err
	}
	for try := 1; ; try++ {
		err := t.do(ctx, http.MethodPost, "/payments/"+url.PathEscape(id)+"/refund", map[string]any{"amount": json.Number("5.00"), "reason": "requested_by_customer"}, nil)
		if short := (*refusal)(nil); !errors.As(err, &short) || short.code != "balance_insufficient" || try == 3 {
			return id, err
		}
		if _, err := t.charge(ctx, "sbx_card", "1000.00", "USD"); err != nil {
			return id, err
		}
	}
}

// simulate lets a payment be moved.
func (t *triggering) simulate(ctx context.Context, id, action string) error {
	return t.do(ctx, http.MethodPost, "/payments/"+url.PathEscape(id)+"/simulate", map[string]any{"action": action}, nil)
}

func captured(ctx context.Context, t *triggering) (string, error) {
	id, err := pending(ctx, t)
	if err == nil {
		err = t.simulate(ctx, id, "paid")
	}
	return id, err
}

// wrongAmount clicks on the simulated bank's page, as a shopper would.
func wrongAmount(ctx context.Context, t *triggering) (string, error) {
	id, err := pending(ctx, t)
	if err != nil {
		return id, err
	}
	_, err = t.click(ctx, "/sandbox/bank/"+url.PathEscape(id), "action=wrong_amount", id)
	return id, err
}

// click sends the form of a page for shoppers, and returns where it leads.
func (t *triggering) click(ctx context.Context, page, form, object string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.api.URL+page, strings.NewReader(form))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := t.api.http.Do(request)
	if err != nil {
		return "", unreachable(t.api.URL, err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) // a page for shoppers
	t.steps = append(t.steps, step{"POST " + page, answer.StatusCode, object})
	if answer.StatusCode != http.StatusSeeOther {
		return "", fmt.Errorf("the page %s answered %d", page, answer.StatusCode)
	}
	return answer.Header.Get("Location"), nil
}

// paymentLink makes a payment link.
func (t *triggering) paymentLink(ctx context.Context) (string, error) {
	var made struct{ ID string }
	err := t.do(ctx, http.MethodPost, "/payment-links", t.own(map[string]any{"amount": json.Number("25.00"), "currency": "USD"}), &made)
	return made.ID, err
}

// linkPaid pays with a new payment link, as its shopper would.
func linkPaid(ctx context.Context, t *triggering) (string, error) {
	id, err := t.paymentLink(ctx)
	if err != nil {
		return id, err
	}
	to, err := t.click(ctx, "/l/"+url.PathEscape(id), "name=Ana+Test&email=ana%40example.com", id)
	if err != nil {
		return id, err
	}
	_, token, _ := strings.Cut(to, "/checkout/")
	token, _, _ = strings.Cut(token, "?")
	return id, t.do(ctx, http.MethodPost, "/checkout/sessions/"+url.PathEscape(token)+"/select", map[string]any{"paymentMethodId": "sbx_card"}, nil)
}

func linkClosed(ctx context.Context, t *triggering) (string, error) {
	id, err := t.paymentLink(ctx)
	if err == nil {
		err = t.do(ctx, http.MethodPatch, "/payment-links/"+url.PathEscape(id), map[string]any{"status": "closed"}, nil)
	}
	return id, err
}

// claimOf disputes a new payment and returns its claim.
func (t *triggering) claimOf(ctx context.Context) (string, error) {
	id, err := paid(ctx, t)
	if err == nil {
		err = t.simulate(ctx, id, "chargeback")
	}
	if err != nil {
		return "", err
	}
	var claims struct{ Data []struct{ ID string } }
	if err := t.api.get(ctx, "/claims", url.Values{"transactionId": {id}}, &claims); err != nil {
		return "", err
	}
	if len(claims.Data) == 0 {
		return "", fmt.Errorf("%s has no claim", id)
	}
	return claims.Data[0].ID, nil
}

func disputed(ctx context.Context, t *triggering) (string, error) { return t.claimOf(ctx) }

func conceded(ctx context.Context, t *triggering) (string, error) {
	claim, err := t.claimOf(ctx)
	if err == nil {
		err = t.do(ctx, http.MethodPost, "/claims/"+url.PathEscape(claim)+"/accept", nil, nil)
	}
	return claim, err
}

// advance moves the sandbox's clock.
func (t *triggering) advance(ctx context.Context, by string) error {
	return t.do(ctx, http.MethodPost, "/sandbox/clock", map[string]any{"advance": by}, nil)
}

func sessionExpired(ctx context.Context, t *triggering) (string, error) {
	body := t.own(map[string]any{
		"amount": json.Number("25.00"), "currency": "USD",
		"customer": map[string]any{"firstName": "Ana", "lastName": "Test", "email": "ana@example.com", "phone": "+5511912345678"},
	})
	var made struct{ SessionID string }
	err := t.do(ctx, http.MethodPost, "/checkout/sessions", body, &made)
	if err == nil {
		err = t.do(ctx, http.MethodPost, "/checkout/sessions/"+url.PathEscape(made.SessionID)+"/expire", nil, nil)
	}
	return made.SessionID, err
}

func settled(ctx context.Context, t *triggering) (string, error) {
	if _, err := t.charge(ctx, "sbx_card", "500.00", "USD"); err != nil {
		return "", err
	}
	return "", t.advance(ctx, "73h") // beyond the longest delay of the built-in terms, and a day
}

// wallet makes a wallet that no other shop has.
func (t *triggering) wallet(ctx context.Context) (string, error) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	key := fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	var made struct{ ID string }
	err := t.do(ctx, http.MethodPost, "/wallets", map[string]any{"type": "bank_account", "network": "pix", "currency": "BRL", "destination": key, "label": "cascada trigger"}, &made)
	return made.ID, err
}

func walletCreated(ctx context.Context, t *triggering) (string, error) { return t.wallet(ctx) }

// withdrawn makes a withdrawal of an amount, whose cents decide how it ends.
func withdrawn(amount string) func(context.Context, *triggering) (string, error) {
	return func(ctx context.Context, t *triggering) (string, error) {
		if err := t.fund(ctx, 200); err != nil {
			return "", err
		}
		wallet, err := t.wallet(ctx)
		if err != nil {
			return "", err
		}
		var made struct{ ID string }
		if err := t.do(ctx, http.MethodPost, "/withdrawals", map[string]any{"amount": json.Number(amount), "walletId": wallet}, &made); err != nil {
			return "", err
		}
		return made.ID, t.advance(ctx, "1m") // the time to cancel it, and to arrive
	}
}

// fund makes sure that so many dollars are available.
func (t *triggering) fund(ctx context.Context, dollars int) error {
	read := func() (bool, error) {
		var account struct {
			Balance struct{ Available json.Number }
		}
		err := t.api.get(ctx, "/me/balance", nil, &account)
		whole, _, _ := strings.Cut(account.Balance.Available.String(), ".")
		available, _ := strconv.Atoi(whole) // none is 0
		return available >= dollars, err
	}
	if enough, err := read(); enough || err != nil {
		return err
	}
	if _, err := settled(ctx, t); err != nil {
		return err
	}
	for until := time.Now().Add(t.Wait); ; sleep(ctx, 300*time.Millisecond) {
		enough, err := read()
		switch {
		case enough || refused(err):
			return err
		case ctx.Err() != nil || time.Now().After(until):
			return exit{errors.Join(err, fmt.Errorf("a payment of 500.00 USD was made and the clock moved, but %d USD are not available after %s", dollars, t.Wait)), exitUnknown}
		}
	}
}
