package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
)

// writer keeps the lines of the scenario that the Go client does.
type writer struct {
	api   *client.Client
	lines []string
}

// goLines does a scenario with the Go client.
func goLines(ctx context.Context, t *testing.T, url string, k keys, do func(context.Context, *writer) error) []string {
	t.Helper()
	api, err := client.New(client.Config{URL: url, PublishableKey: k.Publishable, SecretKey: k.Secret})
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{api: api}
	if err := do(ctx, w); err != nil {
		t.Error(err)
	}
	return w.lines
}

func (w *writer) line(words ...any) {
	var texts []string
	for _, word := range words {
		texts = append(texts, fmt.Sprint(word))
	}
	w.lines = append(w.lines, strings.Join(texts, " "))
}

func or[T comparable](value, instead T) T {
	var zero T
	if value == zero {
		return instead
	}
	return value
}

// failure writes how a call failed.
func (w *writer) failure(what string, err error) {
	var e *client.Error
	if !errors.As(err, &e) {
		w.line(what, "connection", false)
		return
	}
	var paths []string
	for _, issue := range e.Details.Issues {
		paths = append(paths, issue.Path)
	}
	limit := "none"
	if e.Details.Limit != nil {
		limit = string(e.Details.Limit.Min + "-" + e.Details.Limit.Max)
	}
	w.line(what, e.Status, e.Code, e.Type, or(e.Param, "none"), or(e.DeclineCode, "none"), or(strings.Join(paths, ","), "none"), limit,
		or(e.Details.TransactionID[:min(4, len(e.Details.TransactionID))], "none"), or(e.Details.Reason, "none"), e.Details.HelpURL != "", e.RequestID != "")
}

func (w *writer) pay(ctx context.Context, method string, amount client.Decimal, order string) (client.Payment, error) {
	documents := map[string]string{"sbx_pix": "52998224725", "sbx_spei": "GODE561231GR8"}
	return w.api.CreatePayment(ctx, client.NewPayment{
		Amount: amount, PaymentMethodID: method, MerchantOrderID: order, DocumentID: documents[method], IdempotencyKey: order,
	})
}

func scenario(ctx context.Context, w *writer) error {
	ping, err := w.api.Ping(ctx)
	if err != nil {
		return err
	}
	w.line("ping", ping.OK, ping.Environment, ping.KeyKind, ping.APIVersion)
	catalog, err := w.api.PaymentMethods(ctx, client.MethodFilter{})
	if err != nil {
		return err
	}
	slices.SortFunc(catalog.Methods, func(a, b client.Method) int { return strings.Compare(a.PaymentMethodID, b.PaymentMethodID) })
	for _, m := range catalog.Methods {
		var limits []string
		for _, l := range m.CurrencyLimits {
			limits = append(limits, fmt.Sprintf("%s:%s-%s", l.Currency, l.Min, l.Max))
		}
		w.line("method", m.PaymentMethodID, m.Method, m.CountryISO3, m.Channel, m.Routable, m.Fee.Percent, strings.Join(limits, ","))
	}
	card, err := w.payments(ctx)
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{w.checkout, w.webhooks, func(ctx context.Context) error { return w.books(ctx, card) }, w.api.Logout} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	ping, err = w.api.Ping(ctx)
	w.line("after logout", ping.OK)
	return err
}

func (w *writer) payments(ctx context.Context) (client.Payment, error) {
	var card client.Payment
	for _, method := range []string{"sbx_card", "sbx_cash", "sbx_pix", "sbx_pse", "sbx_spei"} {
		p, err := w.pay(ctx, method, "25.50", "order-"+method)
		if err != nil {
			return card, err
		}
		if method == "sbx_card" {
			card = p
		}
		w.line("payment", method, p.Status, p.Amount, p.Currency, p.AmountLocal, p.CurrencyLocal, p.FxRate, "fees", p.Fees.Total, "reserve", p.Settlement.Reserve)
	}
	again, err := w.pay(ctx, "sbx_card", "25.50", "order-sbx_card")
	w.line("repeat", again.ID == card.ID, again.Replayed)
	if err != nil {
		return card, err
	}
	_, err = w.pay(ctx, "sbx_card", "26", "order-sbx_card")
	w.failure("conflict", err)
	_, err = w.pay(ctx, "sbx_card", "10.05", "order-declined")
	w.failure("declined", err)
	_, err = w.api.CreatePayment(ctx, client.NewPayment{Amount: "-1", PaymentMethodID: "sbx_card", UserEmail: "nobody"})
	w.failure("invalid", err)
	_, err = w.pay(ctx, "sbx_cash", "0.01", "order-limits")
	w.failure("limits", err)
	_, err = w.api.Payment(ctx, "TXN-no/such?one")
	w.failure("missing", err)
	return card, nil
}

func (w *writer) checkout(ctx context.Context) error {
	session, err := w.api.CreateCheckout(ctx, client.NewCheckout{
		Amount: "49.90", Currency: "BRL", Country: "BR", MerchantOrderID: "order-session",
		Purchase: client.Purchase{Metadata: map[string]string{"cart": "c-311"}, LineItems: []client.LineItem{{Name: "Tea", Quantity: "0.5", UnitAmount: "99.80"}}},
		Customer: client.Customer{FirstName: "Ana", LastName: "Souza", Email: "ana@example.com", Phone: "+5511999990000", DocumentID: "52998224725"},
	})
	if err != nil {
		return err
	}
	w.line("session", session.Status, session.Amount, session.Currency, session.LineItems[0].Quantity, session.Metadata["cart"])
	read, err := w.api.CheckoutSession(ctx, session.SessionID)
	if err != nil {
		return err
	}
	w.line("session of", read.Customer.FirstName, read.Status)
	selected, err := w.api.SelectMethod(ctx, session.SessionID, client.Choice{PaymentMethodID: "sbx_pix"})
	if err != nil {
		return err
	}
	w.line("selected", selected.Status, selected.TransactionStatus)
	_, err = w.api.SelectMethod(ctx, session.SessionID, client.Choice{PaymentMethodID: "sbx_pix"})
	w.failure("selected again", err)
	return nil
}

// received is a delivery.
type received struct {
	header http.Header
	body   []byte
}

// paid pays an order and returns the delivery about it.
func (w *writer) paid(ctx context.Context, amount client.Decimal, order string, deliveries chan received) (client.Payment, received, error) {
	p, err := w.pay(ctx, "sbx_pix", amount, order)
	if err != nil {
		return p, received{}, err
	}
	if _, err := w.api.Simulate(ctx, p.ID, client.SimulatePaid); err != nil {
		return p, received{}, err
	}
	select {
	case r := <-deliveries:
		return p, r, nil
	case <-ctx.Done():
		return p, received{}, ctx.Err()
	}
}

func (w *writer) read(what, secret string, r received, now time.Time) {
	receiver := client.Receiver{Secrets: []string{secret}}
	if !now.IsZero() {
		receiver.Now = func() time.Time { return now }
	}
	_, err := receiver.Read(r.header, r.body)
	switch {
	case errors.Is(err, client.ErrStale):
		w.line(what, "stale")
	case errors.Is(err, client.ErrSignature):
		w.line(what, "signature")
	case err == nil:
		w.line(what, "accepted")
	default:
		w.line(what, err)
	}
}

func (w *writer) webhooks(ctx context.Context) error {
	deliveries := make(chan received, 10)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		deliveries <- received{r.Header, body}
	}))
	defer endpoint.Close()
	webhook, err := w.api.CreateWebhook(ctx, client.NewWebhook{URL: endpoint.URL, Events: []client.EventType{client.EventPaymentCompleted}})
	if err != nil {
		return err
	}
	w.line("webhook", webhook.Status, webhook.Secret[:6], webhook.Managed)
	_, first, err := w.paid(ctx, "12.34", "order-hook-1", deliveries)
	if err != nil {
		return err
	}
	event, err := client.Receiver{Secrets: []string{webhook.Secret}}.Read(first.header, first.body)
	if err != nil {
		return err
	}
	w.line("event", event.Type, event.Sequence, event.Payment.MerchantOrderID, event.Payment.Amount, event.Data.Previous.Status)
	w.read("tampered", webhook.Secret, received{first.header, []byte(strings.Replace(string(first.body), "12.34", "99.34", 1))}, time.Time{})
	w.read("foreign", "whsec_foreign", first, time.Time{})
	var sent int64
	if _, err := fmt.Sscanf(first.header.Get("X-Service-Signature"), "t=%d", &sent); err != nil {
		return err
	}
	w.read("in time", webhook.Secret, first, time.Unix(sent+300, 0))
	w.read("late", webhook.Secret, first, time.Unix(sent+301, 0))
	w.read("early", webhook.Secret, first, time.Unix(sent-301, 0))
	rotated, err := w.api.RotateWebhookSecret(ctx, webhook.ID)
	if err != nil {
		return err
	}
	p, second, err := w.paid(ctx, "10", "order-hook-2", deliveries)
	if err != nil {
		return err
	}
	w.read("old secret", webhook.Secret, second, time.Time{})
	w.read("new secret", rotated.Secret, second, time.Time{})
	log, err := w.api.Deliveries(ctx, webhook.ID, client.DeliveryFilter{})
	if err != nil {
		return err
	}
	w.line("deliveries", len(log.Data))
	events, err := w.api.Events(ctx, client.EventFilter{ObjectID: p.ID})
	if err != nil {
		return err
	}
	var types []string
	for _, e := range events.Data {
		types = append(types, fmt.Sprintf("%s:%d", e.Type, e.Sequence))
	}
	w.line("events", strings.Join(types, " "))
	err = w.api.DeleteWebhook(ctx, webhook.ID)
	w.line("deleted", err == nil)
	return err
}
