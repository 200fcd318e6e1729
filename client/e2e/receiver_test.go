package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// vectors are the test vectors for receivers in docs/WEBHOOKS.md.
type vectors struct {
	Secret         string
	PreviousSecret string
	Timestamp      int64
	EventID        string
	Body           string
	Header         string
	Rotation       struct {
		Header string
	} `json:"during a rotation"`
	Refused map[string]struct {
		Secret string
		Body   *string
		Header string
		Now    int64
	} `json:"must be refused"`
}

// documented returns the first code block in a language after a heading of docs/WEBHOOKS.md.
func documented(t *testing.T, heading, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/WEBHOOKS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), heading)
	_, after, fenced := strings.Cut(after, "```"+language+"\n")
	block, _, closed := strings.Cut(after, "```")
	if !found || !fenced || !closed {
		t.Fatalf("docs/WEBHOOKS.md has no %s after %q", language, heading)
	}
	return block
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	var v vectors
	// The keys are the header's name.
	block := strings.ReplaceAll(documented(t, "### Test vectors", "json"), strconv.Quote(sender.SignatureHeader), `"Header"`)
	if err := json.Unmarshal([]byte(block), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// at returns a clock that stands still.
func at(seconds int64) func() time.Time {
	return func() time.Time { return time.Unix(seconds, 0) }
}

func signed(header string) http.Header {
	return http.Header{sender.SignatureHeader: {header}}
}

func TestAReceiverKeepsToTheVectors(t *testing.T) {
	v := readVectors(t)
	for what, c := range map[string]struct {
		header  string
		secrets []string
	}{
		"as ever":                                {v.Header, []string{v.Secret}},
		"during a rotation, with the new secret": {v.Rotation.Header, []string{v.Secret}},
		"during a rotation, with the old secret": {v.Rotation.Header, []string{v.PreviousSecret}},
		"for two webhooks":                       {v.Header, []string{v.PreviousSecret, v.Secret}},
		"beside a later scheme, and with spaces": {"v2=00, " + strings.ReplaceAll(v.Header, ",", " , "), []string{v.Secret}},
	} {
		e, err := client.Receiver{Secrets: c.secrets, Now: at(v.Timestamp)}.Read(signed(c.header), []byte(v.Body))
		if err != nil || e.ID != v.EventID || e.Type != client.EventPaymentCompleted || e.Payment == nil || e.Payment.Amount != "25.5" {
			t.Errorf("%s: the event is %+v, %v", what, e, err)
		}
	}
	if len(v.Refused) != 4 {
		t.Errorf("the page has %d deliveries to refuse, want 4", len(v.Refused))
	}
	for what, change := range v.Refused {
		r, header, body, want := client.Receiver{Secrets: []string{v.Secret}, Now: at(v.Timestamp)}, v.Header, v.Body, client.ErrSignature
		if change.Secret != "" {
			r.Secrets = []string{change.Secret}
		}
		if change.Header != "" {
			header = change.Header
		}
		if change.Body != nil {
			body = *change.Body
		}
		if change.Now != 0 {
			r.Now, want = at(change.Now), client.ErrStale
		}
		if e, err := r.Read(signed(header), []byte(body)); !errors.Is(err, want) || e.ID != "" {
			t.Errorf("%s is read as %+v, %v, want %v", what, e, err, want)
		}
	}
}

func TestAReceiverAllows300SecondsEitherWay(t *testing.T) {
	v := readVectors(t)
	for offset, want := range map[int64]error{-301: client.ErrStale, -300: nil, 300: nil, 301: client.ErrStale} {
		_, err := client.Receiver{Secrets: []string{v.Secret}, Now: at(v.Timestamp + offset)}.Read(signed(v.Header), []byte(v.Body))
		if !errors.Is(err, want) {
			t.Errorf("%d seconds after the signature it ends with %v, want %v", offset, err, want)
		}
	}
	// Without a clock of the test, the receiver uses the system's.
	r, body := client.Receiver{Secrets: []string{v.Secret}}, []byte(v.Body)
	if _, err := r.Read(signed(sender.Sign(time.Now(), body, v.Secret, "")), body); err != nil {
		t.Errorf("a new signature is refused: %v", err)
	}
	if _, err := r.Read(signed(sender.Sign(time.Now().Add(-time.Hour), body, v.Secret, "")), body); !errors.Is(err, client.ErrStale) {
		t.Errorf("a signature from an hour ago ends with %v, want %v", err, client.ErrStale)
	}
}

func TestAReceiverRefusesWhatIsNotSigned(t *testing.T) {
	v := readVectors(t)
	body := []byte(v.Body)
	_, signature, _ := strings.Cut(v.Header, "v1=")
	for what, c := range map[string]struct {
		header  http.Header
		secrets []string
	}{
		"no header":              {http.Header{}, []string{v.Secret}},
		"an empty header":        {signed(""), []string{v.Secret}},
		"no signature":           {signed("t=1792281600"), []string{v.Secret}},
		"an empty signature":     {signed("t=1792281600,v1="), []string{v.Secret}},
		"half a signature":       {signed("t=1792281600,v1=" + signature[:32]), []string{v.Secret}},
		"no time":                {signed("v1=" + signature), []string{v.Secret}},
		"a time in words":        {signed(strings.Replace(v.Header, "1792281600", "noon", 1)), []string{v.Secret}},
		"two times":              {signed("t=1," + v.Header), []string{v.Secret}},
		"a later scheme":         {signed("t=1792281600,v2=" + signature), []string{v.Secret}},
		"an endless header":      {signed(v.Header + strings.Repeat(",v1="+signature, 20)), []string{v.Secret}},
		"no secret":              {signed(v.Header), nil},
		"signed with no secret":  {signed(sender.Sign(time.Unix(v.Timestamp, 0), body, "", "")), []string{""}},
		"a secret with an error": {signed(v.Header), []string{v.Secret + "\n"}},
	} {
		_, err := client.Receiver{Secrets: c.secrets, Now: at(v.Timestamp)}.Read(c.header, body)
		if !errors.Is(err, client.ErrSignature) || strings.Contains(err.Error(), "whsec_") {
			t.Errorf("%s ends with %v, want %v", what, err, client.ErrSignature)
		}
	}
}

func TestSignedBodiesThatAreNoEventsAreNotReadable(t *testing.T) {
	for _, body := range []string{
		``, `null`, `[]`, `{`, `{}`, `{"id":"evt_1"}`, `{"type":"payment.completed","data":{"object":{}}}`,
		`{"id":"evt_1","type":"payment.completed"}`,
		`{"id":"evt_1","type":"payment.completed","data":{"object":null}}`,
		`{"id":"evt_1","type":"payment.completed","data":{"object":{"amount":"25.5"}}}`,
		`{"id":"evt_1","type":"claim.opened","data":{"object":[]}}`,
		`{"id":"evt_1","type":"new.event","createdAt":"yesterday"}`,
	} {
		header := signed(sender.Sign(time.Unix(1, 0), []byte(body), "whsec_1", ""))
		_, err := client.Receiver{Secrets: []string{"whsec_1"}, Now: at(1)}.Read(header, []byte(body))
		if !errors.Is(err, client.ErrUnreadable) || errors.Is(err, client.ErrSignature) || errors.Is(err, client.ErrStale) {
			t.Errorf("%s ends with %v, want %v", body, err, client.ErrUnreadable)
		}
	}
}

func TestAnEndpointAnswersAsTheServiceReadsIt(t *testing.T) {
	const secret, event = "whsec_1", `{"id":"evt_1","type":"new.event"}`
	sign := func(body string) string { return sender.Sign(time.Unix(1, 0), []byte(body), secret, "") }
	large := strings.Repeat(" ", 4<<20+1)
	for what, c := range map[string]struct {
		body, header string
		take         error
		status       int
		says         string
	}{
		"an event":       {event, sign(event), nil, http.StatusNoContent, ""},
		"a failure":      {event, sign(event), errors.New("the disk of db-7 is full"), http.StatusInternalServerError, "the event was not taken\n"},
		"a forgery":      {event, sign("{}"), nil, http.StatusUnauthorized, client.ErrSignature.Error() + "\n"},
		"an old one":     {event, sender.Sign(time.Unix(-300, 0), []byte(event), secret, ""), nil, http.StatusUnauthorized, client.ErrStale.Error() + "\n"},
		"no event":       {"{", sign("{"), nil, http.StatusBadRequest, client.ErrUnreadable.Error() + ": unexpected end of JSON input\n"},
		"a body too big": {large, sign(large), nil, http.StatusRequestEntityTooLarge, "Request Entity Too Large\n"},
	} {
		taken := 0
		endpoint := client.Receiver{Secrets: []string{secret}, Now: at(1)}.Handle(func(_ context.Context, e client.Event) error {
			taken++
			return c.take
		})
		request := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(c.body))
		request.Header.Set(sender.SignatureHeader, c.header)
		reply := httptest.NewRecorder()
		endpoint.ServeHTTP(reply, request)
		if reply.Code != c.status || reply.Body.String() != c.says || (taken == 1) != (c.body == event && c.header == sign(event)) {
			t.Errorf("%s is answered %d %q and accepted %d times, want %d %q", what, reply.Code, reply.Body, taken, c.status, c.says)
		}
	}
}

// The Go code on the page is that of the example, which compiles and works.
func TestTheDocumentedReceiverIsTheExample(t *testing.T) {
	source, err := os.ReadFile("../example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	unindented := func(text string) string { return strings.ReplaceAll(text, "\t", "") }
	if page := documented(t, "### Verify", "go"); !strings.Contains(unindented(string(source)), unindented(page)) {
		t.Errorf("docs/WEBHOOKS.md shows\n%swhich is not in ExampleReceiver", page)
	}
}

// endpoint is a server that keeps the events that a shop's webhook delivers.
type endpoint struct {
	mu       sync.Mutex
	receiver client.Receiver
	events   []client.Event
}

func (p *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	receiver := p.receiver
	p.mu.Unlock()
	receiver.Handle(p.take).ServeHTTP(w, r)
}

func (p *endpoint) take(_ context.Context, e client.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e)
	return nil
}

// trust sets the secret of the endpoint.
func (p *endpoint) trust(secret string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.receiver = client.Receiver{Secrets: []string{secret}}
}

// first waits for an event of a type.
func (p *endpoint) first(t *testing.T, kind client.EventType) (first client.Event) {
	t.Helper()
	wait(t, string(kind)+" is received", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		i := slices.IndexFunc(p.events, func(e client.Event) bool { return e.Type == kind })
		if i >= 0 {
			first = p.events[i]
		}
		return i >= 0
	})
	return first
}

// Every event of a running service is delivered to an endpoint made with this
// package, and has the same data as the API.
func TestEveryEventIsReceived(t *testing.T) {
	s, keys := service(t, nil)
	api, ctx := newClient(t, client.Config{URL: s.URL, PublishableKey: keys.Publishable, SecretKey: keys.Secret}), t.Context()
	p := &endpoint{}
	server := httptest.NewServer(p)
	defer server.Close()
	w, err := api.CreateWebhook(ctx, client.NewWebhook{URL: server.URL, Events: []client.EventType{client.AllEvents}})
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := api.RotateWebhookSecret(ctx, w.ID)
	if err != nil {
		t.Fatal(err)
	}
	p.trust(w.Secret) // until the endpoint gets the new secret
	receivesPayments(t, api, p)
	receivesClaims(t, api, p)
	receivesAttention(t, api, p)
	p.trust(rotated.Secret)
	receivesPayouts(t, s, api, p)
	receivesAdjustments(t, s, api, p)
	receivesLinks(t, s, api, p)
	for _, kind := range webhooks.EventTypes() {
		p.first(t, client.EventType(kind))
	}
}

// receivesPayments completes a payment and fails another one.
func receivesPayments(t *testing.T, api *client.Client, p *endpoint) {
	t.Helper()
	ctx := t.Context()
	if _, err := api.CreateCheckout(ctx, client.NewCheckout{ // nobody will choose a method in it
		Amount: "20", Customer: client.Customer{FirstName: "Ana", LastName: "Souza", Email: "ana@example.com", Phone: "+55 11 98765 4321"},
	}); err != nil {
		t.Fatal(err)
	}
	pix, err := api.CreatePayment(ctx, client.NewPayment{Amount: "25.50", PaymentMethodID: "sbx_pix", DocumentID: "52998224725", MerchantOrderID: "order-1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Simulate(ctx, pix.ID, client.SimulatePaid); err != nil {
		t.Fatal(err)
	}
	e := p.first(t, client.EventPaymentCompleted)
	if e.Payment == nil || e.Payment.ID != pix.ID || e.Payment.Status != client.Completed || e.Payment.Amount != "25.5" || e.Payment.Country != "BRA" ||
		e.Payment.MerchantOrderID != "order-1" || e.Payment.PaymentData.QRCode == "" || e.Payment.Refund != nil || e.Payment.Timestamps.Completed.IsZero() {
		t.Errorf("payment.completed is about %+v", e.Payment)
	}
	if !strings.HasPrefix(e.ID, "evt_") || e.APIVersion == "" || e.Environment != "sandbox" || !strings.HasPrefix(e.MerchantID, "mer_") ||
		!strings.HasPrefix(e.ShopID, "shp_") || e.Sequence != 1 || time.Since(e.CreatedAt) > time.Hour || !strings.HasPrefix(e.Request.ID, "req_") ||
		e.Data.Previous.Status != "pending" {
		t.Errorf("payment.completed is %+v", e)
	}
	if e := p.first(t, client.EventPaymentCaptured); e.Payment == nil || e.Payment.ID != pix.ID || e.Sequence != 2 {
		t.Errorf("payment.captured is %+v", e)
	}

	_, err = api.CreatePayment(ctx, client.NewPayment{Amount: "25.51", PaymentMethodID: "sbx_card", IdempotencyKey: "declined"})
	declined := refused(t, err, client.CodeInsufficientFunds, http.StatusPaymentRequired)
	if e := p.first(t, client.EventPaymentFailed); e.Payment == nil || e.Payment.ID != declined.Details.TransactionID || e.Payment.Failure == nil ||
		e.Payment.Failure.Code != client.CodeInsufficientFunds || e.Request.IdempotencyKey != "declined" {
		t.Errorf("payment.failed is %+v about %+v", e, e.Payment)
	}
}

// receivesAttention lets a shopper pay a cent less than requested.
func receivesAttention(t *testing.T, api *client.Client, p *endpoint) {
	t.Helper()
	ctx := t.Context()
	less, err := api.CreatePayment(ctx, client.NewPayment{Amount: "10", PaymentMethodID: "sbx_spei", DocumentID: "XAXX010101000"})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.PostForm(strings.Replace(less.PaymentFormURL, "/pay/", "/sandbox/bank/", 1), url.Values{"action": {"wrong_amount"}})
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatal(reply, err)
	}
	_ = reply.Body.Close()
	read, err := api.Payment(ctx, less.ID)
	if a := read.Attention; err != nil || a == nil || a.Code != client.AttentionAmountMismatch || a.AmountLocal == "" || a.AmountLocal == less.AmountLocal || a.ClaimID == "" {
		t.Fatalf("the payment is %+v, %v", read, err)
	}
	e := p.first(t, client.EventPaymentAttention)
	if e.Payment == nil || e.Payment.ID != less.ID || e.Payment.Status != client.Pending || e.Payment.Attention == nil || *e.Payment.Attention != *read.Attention {
		t.Errorf("payment.attention is about %+v", e.Payment)
	}
}

// receivesClaims lets one payment be refunded, and another one disputed.
func receivesClaims(t *testing.T, api *client.Client, p *endpoint) {
	t.Helper()
	ctx := t.Context()
	paid, err := api.CreatePayment(ctx, client.NewPayment{Amount: "10", PaymentMethodID: "sbx_card", MerchantOrderID: "order-2"})
	if err != nil {
		t.Fatal(err)
	}
	refund, err := api.Refund(ctx, paid.ID, client.NewRefund{Amount: "1", Reason: "duplicate"})
	if err != nil {
		t.Fatal(err)
	}
	if e := p.first(t, client.EventPaymentRefunded); e.Payment == nil || e.Payment.ID != paid.ID || e.Payment.Refund == nil || *e.Payment.Refund != refund {
		t.Errorf("payment.refunded is about %+v, want the refund %+v", e.Payment, refund)
	}
	if e := p.first(t, client.EventClaimOpened); e.Claim == nil || e.Claim.ID != refund.ID || e.Claim.Status != client.ClaimPending {
		t.Errorf("claim.opened is about %+v", e.Claim)
	}
	e := p.first(t, client.EventClaimResolved)
	if e.Claim == nil || e.Claim.ID != refund.ID || e.Claim.Outcome != client.ClaimApproved || e.Claim.Transaction == nil ||
		e.Claim.Transaction.ID != paid.ID || e.Claim.Transaction.MerchantOrderID != "order-2" || e.Claim.Transaction.AmountLocal != paid.AmountLocal {
		t.Errorf("claim.resolved is about %+v", e.Claim)
	}

	if _, err := api.CreatePayment(ctx, client.NewPayment{Amount: "10", PaymentMethodID: "sbx_card", Simulate: client.SimulateChargeback}); err != nil {
		t.Fatal(err)
	}
	if e := p.first(t, client.EventChargebackCreated); e.Claim == nil || e.Claim.Type != client.ChargebackClaim || e.Claim.Status != client.ClaimNeedsEvidence ||
		e.Claim.Transaction == nil || e.Claim.Transaction.AmountLocal != "10" {
		t.Errorf("chargeback.created is about %+v of %+v", e.Claim, e.Claim.Transaction)
	}
}

// receivesPayouts lets a capture be settled and withdrawn.
func receivesPayouts(t *testing.T, s *daemon.Service, api *client.Client, p *endpoint) {
	t.Helper()
	ctx := t.Context()
	if _, err := api.CreatePayment(ctx, client.NewPayment{Amount: "100", PaymentMethodID: "sbx_card"}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.AdvanceClock(ctx, 50*time.Hour); err != nil {
		t.Fatal(err)
	}
	e := p.first(t, client.EventSettlementClosed)
	if e.Settlement == nil || e.Settlement.Status != client.SettlementClosed || e.Settlement.PDFURL != "" || e.Settlement.ClosedAt.IsZero() || e.Data.Previous.Status != "open" {
		t.Fatalf("settlement.closed is %+v about %+v", e, e.Settlement)
	}
	if e := p.first(t, client.EventSettlementPDFReady); e.Settlement == nil || e.Settlement.PDFURL == "" {
		t.Errorf("settlement.pdf_ready is about %+v", e.Settlement)
	}
	if s, err := api.Settlement(ctx, e.Settlement.ID); err != nil || s.NetAmount != e.Settlement.NetAmount || s.Fees != e.Settlement.Fees {
		t.Errorf("the settlement is %+v, %v, the event's %+v", s, err, e.Settlement)
	}

	if _, err := api.CreateWallet(ctx, client.NewWallet{Type: "bank_account", Currency: "MXN", Destination: "032180000118359719"}); err != nil {
		t.Fatal(err)
	}
	made := map[client.Decimal]client.Withdrawal{}
	for _, amount := range []client.Decimal{"10", "10.05"} { // the cents decide about the bank's answer
		w, err := api.CreateWithdrawal(ctx, client.NewWithdrawal{Amount: amount})
		if err != nil {
			t.Fatal(err)
		}
		made[amount] = w
	}
	// Past the time in which it can be canceled, and past the bank's time, which begins when the
	// payout is sent.
	wait(t, "both withdrawals have ended", func() bool {
		if _, err := api.AdvanceClock(ctx, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		done, err := api.Withdrawals(ctx, client.WithdrawalFilter{Status: "completed"})
		if err != nil {
			t.Fatal(err)
		}
		failed, err := api.Withdrawals(ctx, client.WithdrawalFilter{Status: "failed"})
		return err == nil && done.Pagination.Total == 1 && failed.Pagination.Total == 1
	})
	if e := p.first(t, client.EventWithdrawalCompleted); e.Withdrawal == nil || e.Withdrawal.ID != made["10"].ID || e.Withdrawal.CompletedAt.IsZero() || e.Data.Previous.Status != "processing" {
		t.Errorf("withdrawal.completed is %+v about %+v", e, e.Withdrawal)
	}
	if e := p.first(t, client.EventWithdrawalFailed); e.Withdrawal == nil || e.Withdrawal.ID != made["10.05"].ID || e.Withdrawal.FailureCode != "invalid_account" {
		t.Errorf("withdrawal.failed is %+v about %+v", e, e.Withdrawal)
	}
	wait(t, "some of it came back", func() bool { // the node may still note the bank's answer: then the operator looks again
		_, _, err := s.App.Payouts.ResolveWithdrawal(ctx, s.App.Self(), base.Resolution{
			ID: made["10"].ID, Word: pay.WordReturned, Amount: "20", Note: "the statement of today", Force: true,
		})
		var refused *problem.Error
		if errors.As(err, &refused) && refused.Details.Reason == "changed_meanwhile" {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	})
	if e := p.first(t, client.EventWithdrawalReturned); e.Withdrawal == nil || e.Withdrawal.ID != made["10"].ID || e.Withdrawal.ReturnedAmount == "" || e.Withdrawal.Status != "completed" {
		t.Errorf("withdrawal.returned is %+v about %+v", e, e.Withdrawal)
	}
}

func receivesAdjustments(t *testing.T, s *daemon.Service, api *client.Client, p *endpoint) {
	t.Helper()
	me, err := api.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.App.Adjustments.Make(t.Context(), s.App.Self(), settlements.NewAdjustment{
		Merchant: me.ID, Amount: money.New(12_50, money.USD), Reason: pay.ForGoodwill, Note: "the delay of last week", Reference: "ticket 1",
	})
	if err != nil {
		t.Fatal(err)
	}
	e := p.first(t, client.EventBalanceAdjusted)
	if a := e.Adjustment; a == nil || a.ID != made.ID || a.Amount != "12.5" || a.Reason != "goodwill" || a.Note != made.Note || a.Bucket != "available" || a.Reverses != "" || a.CreatedAt.IsZero() {
		t.Errorf("balance.adjusted is about %+v", a)
	}
	page, err := api.Movements(t.Context(), client.Page{Limit: 1})
	if err != nil || len(page.Data) != 1 || page.Data[0].AdjustmentID != made.ID || page.Data[0].Reason != "goodwill" || page.Data[0].Description != made.Note {
		t.Errorf("the movement is %+v, %v", page.Data, err)
	}
}
