package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// demo runs a service for the example, which has no testing.T.
func demo() (url, publishable, secret string, stop func()) {
	dir, err := os.MkdirTemp("", "cascada-example")
	if err != nil {
		panic(err)
	}
	s, keys, err := start("sqlite:"+filepath.Join(dir, "cascada.db"), nil)
	if err != nil {
		panic(err)
	}
	return s.URL, keys.Publishable, keys.Secret, func() {
		s.Shutdown()
		_ = os.RemoveAll(dir)
	}
}

func start(database string, now func() time.Time) (*daemon.Service, appmerchants.KeyPair, error) {
	ctx := context.Background()
	s, err := daemon.Start(ctx, daemon.Config{Listen: "127.0.0.1:0", Database: database, Now: now, AllowPrivateWebhooks: true})
	if err != nil {
		return nil, appmerchants.KeyPair{}, err
	}
	o, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Shop", Email: "shop@example.com", Tier: merchants.Standard})
	if err != nil {
		s.Shutdown()
	}
	return s, o.Sandbox, err
}

// service starts a service with one merchant; now is its clock, nil for the
// system's.
func service(t *testing.T, now func() time.Time) (*daemon.Service, appmerchants.KeyPair) {
	t.Helper()
	s, keys, err := start(dbtest.SQLite(t), now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s, keys
}

// liveKey returns the production secret key of a new merchant.
func liveKey(t *testing.T, s *daemon.Service) string {
	t.Helper()
	o, err := s.App.Onboarding.CreateMerchant(t.Context(), s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Live", Email: "live@example.com", Tier: merchants.Standard})
	if err != nil {
		t.Fatal(err)
	}
	return o.Live.Secret
}

// shop returns a client with tokens, for a new service.
func shop(t *testing.T) *client.Client {
	t.Helper()
	s, keys := service(t, nil)
	return newClient(t, client.Config{URL: s.URL, PublishableKey: keys.Publishable, SecretKey: keys.Secret})
}

func newClient(t *testing.T, c client.Config) *client.Client {
	t.Helper()
	api, err := client.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// refused returns err as the *client.Error that it must be.
func refused(t *testing.T, err error, code client.Code, status int) *client.Error {
	t.Helper()
	var e *client.Error
	if !errors.As(err, &e) {
		t.Fatalf("the call ended with %v, want %s", err, code)
	}
	if e.Code != code || e.Status != status || e.Message == "" || !strings.HasPrefix(e.RequestID, "req_") {
		t.Errorf("the call ended with %+v, want %d %s with a message and a request id", e, status, code)
	}
	return e
}

func TestAPaymentGoesFromCreationToTheBalance(t *testing.T) {
	api, ctx := shop(t), t.Context()
	created, err := api.CreatePayment(ctx, client.NewPayment{
		Amount: "25.50", PaymentMethodID: "sbx_pix", DocumentID: "52998224725", MerchantOrderID: "order-1",
		UserEmail: "buyer@example.com", HostedCheckout: true, ReturnURL: "https://shop.example/thanks",
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(created.ID, "TXN-") || created.Status != client.Pending || created.Amount != "25.5" || created.Currency != "USD" ||
		created.CurrencyLocal != "BRL" || created.FxRate == "" || created.PaymentFormURL == "" || created.CheckoutURL == "" ||
		created.Settlement.Reserve == "" || !created.ExpiresAt.After(time.Now()) || created.Replayed {
		t.Errorf("the new payment is %+v", created)
	}
	moved, err := api.Simulate(ctx, created.ID, client.SimulatePaid)
	if err != nil || moved.Status != client.Completed || !slices.Contains(moved.EventsFired, "payment.completed") {
		t.Errorf("Simulate is %+v, %v, want completed", moved, err)
	}
	p, err := api.Payment(ctx, created.ID)
	if err != nil || p.ID != created.ID || p.Status != client.Completed || p.Timestamps.Completed.IsZero() || !p.Timestamps.Failed.IsZero() ||
		p.PaymentData.QRCode == "" || p.RefundableAmountLocal != created.AmountLocal || p.Failure != nil || p.MerchantOrderID != "order-1" {
		t.Errorf("the payment is %+v, %v", p, err)
	}
	b, err := api.Balance(ctx)
	if err != nil || b.Balance.Pending == "0" || b.FeeSummary.GrossVolume != "25.5" || b.Currency != "USD" {
		t.Errorf("the balance is %+v, %v", b, err)
	}
	me, err := api.Me(ctx)
	if err != nil || me.Tier != "standard" || me.Balance != b.Balance || !me.Capabilities.DirectCharge {
		t.Errorf("the profile is %+v, %v", me, err)
	}
}

func TestARepeatWithTheSameKeyGetsTheFirstReply(t *testing.T) {
	api, ctx := shop(t), t.Context()
	n := client.NewPayment{Amount: "10", PaymentMethodID: "sbx_card", IdempotencyKey: "once"}
	first, err := api.CreatePayment(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	again, err := api.CreatePayment(ctx, n)
	if err != nil || again.ID != first.ID || !again.Replayed {
		t.Errorf("the repeat is %+v, %v, want a replay of %s", again, err, first.ID)
	}
	n.Amount = "11"
	_, err = api.CreatePayment(ctx, n)
	if e := refused(t, err, client.CodeIdempotencyConflict, http.StatusConflict); e.Replayed {
		t.Error("a conflict says that it is a replay")
	}

	declined := client.NewPayment{Amount: "10.05", PaymentMethodID: "sbx_card", IdempotencyKey: "declined"}
	for _, replayed := range []bool{false, true} {
		_, err := api.CreatePayment(ctx, declined)
		e := refused(t, err, client.CodeCardDeclined, http.StatusPaymentRequired)
		if e.DeclineCode != "do_not_honor" || !strings.HasPrefix(e.Details.TransactionID, "TXN-") || e.Replayed != replayed {
			t.Errorf("the decline is %+v, want do_not_honor, a transaction and replayed %t", e, replayed)
		}
	}
}

func TestErrorsHaveTheirDetails(t *testing.T) {
	api, ctx := shop(t), t.Context()
	_, err := api.CreatePayment(ctx, client.NewPayment{PaymentMethodID: "sbx_card"})
	if e := refused(t, err, client.CodeMissingField, http.StatusBadRequest); e.Param != "amount" || e.Type != "invalid_request_error" {
		t.Errorf("the error is %+v, want param amount", e)
	}
	_, err = api.CreatePayment(ctx, client.NewPayment{Amount: "-1", UserEmail: "nobody", PaymentMethodID: "sbx_card"})
	if e := refused(t, err, client.CodeInvalidRequest, http.StatusBadRequest); len(e.Details.Issues) != 2 {
		t.Errorf("the issues are %+v, want two", e.Details.Issues)
	}
	_, err = api.CreatePayment(ctx, client.NewPayment{Amount: "0.01", PaymentMethodID: "sbx_cash"})
	if e := refused(t, err, client.CodeAmountOutOfLimits, http.StatusUnprocessableEntity); e.Details.Limit == nil || e.Details.Limit.Min == "" || e.Details.BoundViolated != "min" {
		t.Errorf("the details are %+v, want the limit", e.Details)
	}
	_, err = api.CreatePayment(ctx, client.NewPayment{Amount: "1.91", PaymentMethodID: "sbx_card"})
	if e := refused(t, err, client.CodeCascadeExhausted, http.StatusUnprocessableEntity); len(e.Details.Attempts) == 0 {
		t.Errorf("the details are %+v, want the attempts", e.Details)
	}
	_, err = api.Payment(ctx, "TXN-no/such?one")
	refused(t, err, client.CodeTransactionNotFound, http.StatusNotFound)
	p, err := api.CreatePayment(ctx, client.NewPayment{Amount: "10", PaymentMethodID: "sbx_card"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.Simulate(ctx, p.ID, client.SimulatePaid)
	if e := refused(t, err, client.CodeConflictState, http.StatusConflict); e.Details.From != client.Completed || e.Details.Action != "paid" {
		t.Errorf("the details are %+v, want from completed", e.Details)
	}
}

func TestTheHeaderDecidesHowASandboxPaymentEnds(t *testing.T) {
	api := shop(t)
	for action, want := range map[client.Action]client.Status{
		client.SimulatePaid: client.Completed, client.SimulateFailed: client.Failed,
		client.SimulateExpired: client.Expired, client.SimulateSlowPayment: client.Pending,
	} {
		p, err := api.CreatePayment(t.Context(), client.NewPayment{
			Amount: "10", PaymentMethodID: "sbx_pix", DocumentID: "52998224725", Simulate: action,
		})
		if err != nil || p.Status != want {
			t.Errorf("a payment simulated %s is %s, %v, want %s", action, p.Status, err, want)
		}
	}
}

func TestListsAreFilteredAndGoneThroughPageByPage(t *testing.T) {
	api, ctx := shop(t), t.Context()
	var made []string
	for i := range 7 {
		order := "odd"
		if i%2 == 0 {
			order = "even"
		}
		p, err := api.CreatePayment(ctx, client.NewPayment{Amount: "10", PaymentMethodID: "sbx_card", MerchantOrderID: order})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, p.ID)
	}
	slices.Reverse(made) // newest first
	page, err := api.Payments(ctx, client.PaymentFilter{MerchantOrderID: "even", Limit: 3})
	want := client.Pagination{Total: 4, Limit: 3, Offset: 0, Pages: 2}
	if len(page.Data) == 3 {
		want.NextCursor = page.Data[2].ID
	}
	if err != nil || len(page.Data) != 3 || page.Pagination != want || page.Data[0].ID != made[0] {
		t.Errorf("the page has %d rows and %+v, %v, want 3 and %+v", len(page.Data), page.Pagination, err, want)
	}
	for _, limit := range []int{0, 1, 2, 7, 100, 1000} {
		if got := ids(t, api, client.PaymentFilter{Limit: limit}); !slices.Equal(got, made) {
			t.Errorf("with pages of %d the list is %v, want %v", limit, got, made)
		}
	}
	soon := time.Now().Add(time.Minute)
	for _, c := range []struct {
		filter client.PaymentFilter
		want   int
	}{
		{client.PaymentFilter{Offset: 5, Limit: 1}, 2},
		{client.PaymentFilter{Status: client.Completed, Method: "card", Country: "US", PaymentMethodID: "sbx_card"}, 7},
		{client.PaymentFilter{Status: client.Failed}, 0},
		{client.PaymentFilter{From: soon.Add(-time.Hour), To: soon}, 7},
		{client.PaymentFilter{From: soon}, 0},
		{client.PaymentFilter{StartingAfter: made[4]}, 2},
	} {
		if got := ids(t, api, c.filter); len(got) != c.want {
			t.Errorf("%+v selects %d payments, want %d", c.filter, len(got), c.want)
		}
	}
	_, err = api.Payments(ctx, client.PaymentFilter{Status: "lost"})
	refused(t, err, client.CodeInvalidRequest, http.StatusBadRequest)
	for _, err := range api.AllPayments(ctx, client.PaymentFilter{Status: "lost"}) {
		refused(t, err, client.CodeInvalidRequest, http.StatusBadRequest)
	}
}

func ids(t *testing.T, api *client.Client, f client.PaymentFilter) []string {
	t.Helper()
	var list []string
	for p, err := range api.AllPayments(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p.ID)
	}
	return list
}

func TestTheCatalogIsFiltered(t *testing.T) {
	api := shop(t)
	all, err := api.PaymentMethods(t.Context(), client.MethodFilter{})
	if err != nil || all.Count != len(all.Methods) || all.Count == 0 || all.Shop.Name != "Shop" {
		t.Fatalf("the catalog is %+v, %v", all, err)
	}
	pix, err := api.PaymentMethods(t.Context(), client.MethodFilter{Country: "BR", Channel: "ONLINE", Method: "pix"})
	if err != nil || pix.Count == 0 || pix.Count >= all.Count || pix.TotalAvailable != all.TotalAvailable {
		t.Errorf("pix in Brazil is %d of %d methods, %v", pix.Count, pix.TotalAvailable, err)
	}
	for _, m := range pix.Methods {
		if m.Method != "pix" || m.CountryISO3 != "BRA" || len(m.CurrencyLimits) == 0 || m.Fee.Percent == "" {
			t.Errorf("the filter let %+v through", m)
		}
	}
}

func TestWebhooksAreMadeListedAndDeleted(t *testing.T) {
	api, ctx := shop(t), t.Context()
	w, err := api.CreateWebhook(ctx, client.NewWebhook{URL: "http://127.0.0.1:9/hook", Events: []client.EventType{client.AllEvents}, Description: "test"})
	if err != nil || !strings.HasPrefix(w.ID, "wh_") || !strings.HasPrefix(w.Secret, "whsec_") || w.Managed || w.Status != "enabled" {
		t.Fatalf("the webhook is %+v, %v", w, err)
	}
	inbox, err := api.CreateWebhook(ctx, client.NewWebhook{Events: []client.EventType{client.EventPaymentCompleted}})
	if err != nil || !inbox.Managed || inbox.URL == "" {
		t.Errorf("the inbox is %+v, %v", inbox, err)
	}
	page, err := api.Webhooks(ctx, client.Page{Limit: 1, Offset: 1})
	if err != nil || page.Pagination.Total != 2 || len(page.Data) != 1 || page.Data[0].ID != w.ID || page.Data[0].Secret != "" {
		t.Errorf("the second page is %+v, %v, want the older webhook without its secret", page, err)
	}
	if err := api.DeleteWebhook(ctx, w.ID); err != nil {
		t.Errorf("DeleteWebhook is %v", err)
	}
	refused(t, api.DeleteWebhook(ctx, w.ID), client.CodeWebhookNotFound, http.StatusNotFound)
	_, err = api.CreateWebhook(ctx, client.NewWebhook{URL: "http://10.0.0.1/", Events: []client.EventType{"payment.lost"}})
	refused(t, err, client.CodeInvalidRequest, http.StatusBadRequest)
}

// The service's own document lists its codes: each must have a constant in the client.
func TestEveryCodeOfTheServiceHasAName(t *testing.T) {
	s, _ := service(t, nil)
	reply, err := http.Get(s.URL + "/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var document struct {
		Components struct {
			Schemas struct {
				Problem struct {
					Properties struct {
						Code struct{ Enum []string } `json:"code"`
					} `json:"properties"`
				} `json:"Problem"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.NewDecoder(reply.Body).Decode(&document); err != nil {
		t.Fatal(err)
	}
	codes := document.Components.Schemas.Problem.Properties.Code.Enum
	if len(codes) < 40 {
		t.Fatalf("the document lists %d codes", len(codes))
	}
	source, err := os.ReadFile("../error.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range codes {
		if !strings.Contains(string(source), `= "`+code+`"`) {
			t.Errorf("error.go has no constant for %s", code)
		}
	}
}

func TestLogoutEndsTheTokens(t *testing.T) {
	api, ctx := shop(t), t.Context()
	if err := api.Logout(ctx); err != nil { // there is no login yet
		t.Error(err)
	}
	if _, err := api.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	if err := api.Logout(ctx); err != nil {
		t.Error(err)
	}
	if _, err := api.Ping(ctx); err != nil { // with a new login
		t.Error(err)
	}
}
