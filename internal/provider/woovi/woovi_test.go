package woovi

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// example is the signed notification in the documentation.
const (
	exampleBody      = `{ "pixQrCode": null, "charge": { "status": "COMPLETED", "customer": { "name": "Antonio Victor", "taxID": { "taxID": "12345678976", "type": "BR:CPF" }, "email": "antoniocliente@example.com", "correlationID": "4979ceba-2132-4292-bd90-bee7fb2125e4" }, "value": 1000, "comment": "Pagamento OpenPix", "transactionID": "ea83401ed4834b3ea6f1f283b389af29", "correlationID": "417bae21-3d08-4cdb-9c2d-fee63c89e9e4", "paymentLinkID": "34697ed2-3790-4b60-8512-e7465b142d84", "createdAt": "2021-03-12T12:43:54.528Z", "updatedAt": "2021-03-12T12:44:09.360Z", "brCode": "https://api.openpix.com.br/openpix/openpix/testing?transactionID=ea83401ed4834b3ea6f1f283b389af29" }, "pix": { "charge": { "status": "COMPLETED", "customer": { "name": "Antonio Victor", "taxID": { "taxID": "12345678976", "type": "BR:CPF" }, "email": "antoniocliente@example.com", "correlationID": "4979ceba-2132-4292-bd90-bee7fb2125e4" }, "value": 1000, "comment": "Pagamento OpenPix", "transactionID": "ea83401ed4834b3ea6f1f283b389af29", "correlationID": "417bae21-3d08-4cdb-9c2d-fee63c89e9e4", "paymentLinkID": "34697ed2-3790-4b60-8512-e7465b142d84", "createdAt": "2021-03-12T12:43:54.528Z", "updatedAt": "2021-03-12T12:44:09.360Z" }, "customer": { "correlationID": "9134e286-6f71-427a-bf00-241681624586", "email": "email1@example.com", "name": "Loma", "phone": "+5511999999999", "taxID": { "taxID": "47043622050", "type": "BR:CPF" } }, "payer": { "correlationID": "9134e286-6f71-427a-bf00-241681624586", "email": "email1@example.com", "name": "Loma", "phone": "+5511999999999", "taxID": { "taxID": "47043622050", "type": "BR:CPF" } }, "time": "2021-03-12T12:44:09.269Z", "value": 1, "transactionID": "ea83401ed4834b3ea6f1f283b389af29", "infoPagador": "OpenPix testing" }, "company": { "id": "624f46f9e93f9f521c8308d7", "name": "Pizzaria do José", "taxID": "4722767300014" }, "account": { "clientId": "ZOJ64B9B-ZM1W-89MI-4UCI-OP2LVIU6NY75" } }`
	exampleSignature = "lL2nnXgmLFGgxJ8+jCDguqouU4ucrIxYJcU5SPrJFaNcJajTJHYVldqc/z4YFIjAjtPEALe699WosgPY08W7CLpidvtm06Qwa4YMB0l/DcTS93O91NdSH/adjugEKiOb76Zj/0jB8mqOmWCFYbweOBa17bssuEkd5Lw7Q5L314Y="
)

func credentials() map[string]string {
	return map[string]string{"appId": testAppID, "webhookSecrets": "another " + testSecret, "publicKey": providertest.PublicKey()}
}

func sample() provider.Request {
	return provider.Request{
		Reference: "01M7ZBVYT4-1", Rail: "pix.BRA", Method: "pix", Country: "BRA", Local: money.New(12345, money.BRL), PageURL: providertest.Page,
		Buyer:   pay.Buyer{Name: "Antônio Victor", Email: "a@example.com", Phone: "+55 11 99999-9999", Document: "529.982.247-25"},
		Created: providertest.Noon, Now: providertest.Noon, Expires: providertest.Noon.Add(time.Hour),
	}
}

func TestWooviIsAsTheCascadeNeedsIt(t *testing.T) {
	three := "a charge is ACTIVE, COMPLETED or EXPIRED (src/components/Playground/configs/charge.ts)"
	providertest.Suite{
		Adapter: Adapter(), Credentials: credentials(),
		New:     func(*testing.T) providertest.Fake { return newFake() },
		Charges: map[string]provider.Request{"pix.BRA": sample()},
		Amounts: map[string][]money.Amount{"pix.BRA": {money.New(1, money.BRL), money.New(100, money.BRL), money.New(largest, money.BRL)}},
		Without: map[providertest.Ending]string{
			providertest.Declined: three, providertest.SoftDeclined: three, providertest.Challenged: three,
			providertest.WrongAmount:   "a charge takes one payment, of its value (the same)",
			providertest.WrongCurrency: "PIX is in reais",
		},
		RefundsLater: true,
	}.Run(t)
}

// connected returns an account at an upstream.
func connected(t *testing.T, upstream http.Handler, with map[string]string) *client {
	t.Helper()
	c, _ := providertest.OpenAccount[*client](t, Adapter(), with, upstream)
	return c
}

func TestTheDocumentationsSignaturesAreGood(t *testing.T) {
	c := connected(t, newFake(), map[string]string{"appId": testAppID})
	n := provider.Notification{Header: http.Header{}, Body: []byte(exampleBody)}
	n.Header.Set("x-webhook-signature", exampleSignature)
	if !c.signed(n) {
		t.Error("the example's RSA signature is refused")
	}
	n.Body = []byte(strings.Replace(exampleBody, "1000", "1001", 1))
	if c.signed(n) {
		t.Error("another body is accepted")
	}

	// The page later got a field "event", and still has the old signature.
	c.secrets = [][]byte{[]byte("hmac-secret-key")}
	n = provider.Notification{Header: http.Header{}, Body: []byte(`{"data_criacao":"2021-08-10T20:32:14.429Z","evento":"teste_webhook"}`)}
	n.Header.Set("X-OpenPix-Signature", "jgR2XF0PKDiAwHP1s+TryvxMySQ=")
	if !c.ours(n) {
		t.Error("the example's HMAC is refused")
	}
	if c.signed(n) {
		t.Error("the HMAC alone is accepted")
	}
}

func TestAKeyIsReadInBothForms(t *testing.T) {
	twice := publishedKey + providertest.PublicKey()
	for text, want := range map[string]int{
		publishedKey: 1, twice: 2, base64.StdEncoding.EncodeToString([]byte(publishedKey)): 1, "": 0, "no key": 0,
	} {
		keys, err := parseKeys(text)
		if len(keys) != want || (err == nil) != (want > 0) {
			t.Errorf("%d keys of %q: %v, want %d", len(keys), text, err, want)
		}
	}
}

func TestNotificationOfAnotherCustomersChargeIsRefused(t *testing.T) {
	f := newFake()
	c := connected(t, f, credentials())
	ctx := context.Background()
	if o := c.Charge(ctx, sample()); o.Kind != pay.Awaiting {
		t.Fatalf("the charge: %+v", o)
	}
	// Signed by Woovi, but for another customer's charge with our reference.
	forged := signed([]byte(`{"event":"OPENPIX:CHARGE_COMPLETED","charge":{"correlationID":"01M7ZBVYT4-1","status":"COMPLETED","value":12345}}`))
	if list, err := c.Notices(ctx, forged); len(list) != 0 || err != nil {
		t.Errorf("%+v %v, want nothing", list, err)
	}
	c.secrets = [][]byte{[]byte("ours alone")}
	if _, err := c.Notices(ctx, forged); !errors.Is(err, provider.ErrUnsigned) {
		t.Errorf("without our webhook's signature: %v, want ErrUnsigned", err)
	}
}

func TestOtherNotificationsTellNothing(t *testing.T) {
	c, line := providertest.OpenAccount[*client](t, Adapter(), credentials(), newFake())
	for _, body := range []string{
		`{"data_criacao":"2024-01-23T20:32:14.429Z","event":"OPENPIX:CHARGE_COMPLETED"}`, // Woovi's test of an address
		`{"event":"OPENPIX:CHARGE_COMPLETED","charge":{"correlationID":"never"}}`,
		`{"event":"OPENPIX:CHARGE_COMPLETED","charge":{"correlationID":"01M7ZNEVER-1"}}`,
		`{"event":"PIX_TRANSACTION_REFUND_SENT_CONFIRMED","refundTransaction":{"value":1}}`,
		`{"event":"OPENPIX:DISPUTE_CREATED","dispute":{"endToEndId":"E-of-nobody"}}`,
		`{"event":"OPENPIX:TRANSACTION_RECEIVED","charge":null,"pix":{"value":200,"endToEndId":"E1","type":"PAYMENT"}}`,
		`{"event":"PIX_TRANSACTION_REFUND_RECEIVED_REJECTED","error":"AC06 - Conta bloqueada do Pix"}`, `{"event":"BOLETO_SETTLED"}`,
		`{}`,
	} {
		if list, err := c.Notices(context.Background(), signed([]byte(body))); len(list) != 0 || err != nil {
			t.Errorf("%s: %+v %v, want nothing", body, list, err)
		}
	}
	if len(line.Unmapped()) != 0 {
		t.Errorf("known events were reported: %v", line.Unmapped())
	}
	if list, err := c.Notices(context.Background(), signed([]byte(`{"event":"OPENPIX:CHARGE_RAFFLED"}`))); len(list) != 0 || err != nil || len(line.Unmapped()) != 1 {
		t.Errorf("a new event: %+v %v, reported %v", list, err, line.Unmapped())
	}
	for _, body := range []string{`{"event":7}`, `[]`, `{"event":"OPENPIX:CHARGE_COMPLETED","charge":{"correlationID":"a\u0000b"}}`, `{}{}`} {
		if list, err := c.Notices(context.Background(), signed([]byte(body))); len(list) != 0 || err == nil {
			t.Errorf("%s: %+v %v, want an error", body, list, err)
		}
	}
}

func TestANotificationWaitsWhileTheProviderCannotBeAsked(t *testing.T) {
	f := newFake()
	c := connected(t, f, credentials())
	ctx := context.Background()
	c.Charge(ctx, sample())
	f.Move("01M7ZBVYT4-1", providertest.Paid)
	n := f.Notification("01M7ZBVYT4-1")
	c.base = "http://127.0.0.1:1"
	if _, err := c.Notices(ctx, n); !errors.Is(err, provider.ErrUnreachable) {
		t.Errorf("%v, want ErrUnreachable", err)
	}
}

func TestTheShopperIsNamedOnlyWhenThereIsEnough(t *testing.T) {
	for name, c := range map[string]struct {
		buyer pay.Buyer
		want  *customerRequest
	}{
		"all":           {sample().Buyer, &customerRequest{Name: "Antônio Victor", TaxID: "52998224725", Email: "a@example.com", Phone: "5511999999999"}},
		"nobody":        {pay.Buyer{}, nil},
		"a name alone":  {pay.Buyer{Name: "Ana"}, nil},
		"an email only": {pay.Buyer{Email: "a@example.com"}, nil},
		"a company":     {pay.Buyer{Name: "Sul", Document: "11.222.333/0001-81"}, &customerRequest{Name: "Sul", TaxID: "11222333000181"}},
		"letters":       {pay.Buyer{Name: "Sul", Document: "12.ABC.345/01DE-35", Email: "s@example.com"}, &customerRequest{Name: "Sul", Email: "s@example.com"}},
		"no document":   {pay.Buyer{Name: "Ana", Document: "X-12345", Phone: "+55 (11) 98765-4321"}, &customerRequest{Name: "Ana", Phone: "5511987654321"}},
	} {
		got := customer(provider.Request{Buyer: c.buyer})
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestACodeLivesAsLongAsTheShoppersTime(t *testing.T) {
	f := newFake()
	c := connected(t, f, credentials())
	r := sample()
	for life, want := range map[time.Duration]int64{time.Hour: 3600, time.Second: 300, -time.Hour: 300} {
		r.Reference, r.Expires = "01M7Z"+life.String()+"-1", r.Now.Add(life)
		if o := c.Charge(context.Background(), r); o.Kind != pay.Awaiting || f.expires != want {
			t.Errorf("%s: %s and %d s, want %d", life, o.Kind, f.expires, want)
		}
	}
}

func TestWhatCannotBeChargedIsNotSent(t *testing.T) {
	c := connected(t, http.NotFoundHandler(), credentials())
	for _, local := range []money.Amount{{}, money.New(0, money.BRL), money.New(-1, money.BRL), money.New(100, money.USD), money.New(largest+1, money.BRL)} {
		r := sample()
		r.Local = local
		if o := c.Charge(context.Background(), r); o.Kind != pay.Errored || o.Decline != "unsupported" {
			t.Errorf("%v: %+v, want it refused here", local, o)
		}
	}
}

func TestARefundWithoutBalanceMayBeTriedAgain(t *testing.T) {
	f := newFake()
	c := connected(t, f, credentials())
	ctx := context.Background()
	c.Charge(ctx, sample())
	f.Move("01M7ZBVYT4-1", providertest.Paid)
	f.sentence = "Saldo insuficiente"
	f.RefuseRefunds()
	q := provider.RefundRequest{Reference: "CLM1-1", Charge: sample(), Local: money.New(100, money.BRL)}
	if o := c.Refund(ctx, q); o.Kind != pay.Errored {
		t.Errorf("%+v, want Errored", o)
	}
}

// Errors are 400s with a sentence. Many of them say that something is not found: a company, a customer, an account.
func TestOnlyTheSentenceAboutChargesProvesThatThereIsNoCharge(t *testing.T) {
	for body, want := range map[string]pay.OutcomeKind{
		`{"error":"Charge not found"}`: pay.Missing, `{"error":"Company not found"}`: pay.Unknown, `{"error":"Application not found"}`: pay.Unknown,
		`{"error":"Account not found"}`: pay.Unknown, `{"error":"Company bank account not found"}`: pay.Unknown, `{"error":"Customer not found"}`: pay.Unknown,
		`{"error":"Cobrança não encontrada"}`: pay.Unknown, `{"error":"The company of Charge not found"}`: pay.Unknown,
		`{"error":{"message":"Charge not found"}}`: pay.Unknown, `Charge not found`: pay.Unknown, ``: pay.Unknown,
	} {
		c := connected(t, providertest.Says(http.StatusBadRequest, body), credentials())
		if o := c.Query(context.Background(), sample()); o.Kind != want {
			t.Errorf("%s: %s, want %s", body, o.Kind, want)
		}
		r := sample()
		r.ProviderRef = "theirs" // it existed, so it was deleted
		if o := c.Query(context.Background(), r); want == pay.Missing && o.Kind != pay.Lapsed {
			t.Errorf("%s: %s, want %s", body, o.Kind, pay.Lapsed)
		}
	}
}

// No page has the sentence for GET /charge/{id}. With any other one, the list of all charges of that time proves it.
func TestTheListProvesThatThereIsNoCharge(t *testing.T) {
	ctx, f := context.Background(), newFake()
	f.unknown = "Nada por aqui"
	c := connected(t, f, credentials())
	r := sample()
	r.Sent = r.Now
	if o := c.Query(ctx, r); o.Kind != pay.Unknown || !o.CheckAt.Equal(r.Sent.Add(settles)) {
		t.Errorf("a new charge may be missing from the list: %+v", o)
	}
	r.Sent = r.Now.Add(-settles)
	if o := c.Query(ctx, r); o.Kind != pay.Missing {
		t.Errorf("the list is read to its end without it: %+v", o)
	}
	if o := c.Cancel(ctx, r); o.Kind != pay.Lapsed {
		t.Errorf("a cancel of what never was: %+v", o)
	}
	c.Charge(ctx, r)
	f.hidden = true
	if o := c.Query(ctx, r); o.Kind != pay.Unknown {
		t.Errorf("it is in the list: %+v", o)
	}
	f.crowd = page*deepest + 1
	r.Reference = "01M7ZNEVER-1"
	if o := c.Query(ctx, r); o.Kind != pay.Missing {
		t.Errorf("the list has many: %+v", o)
	}
}

func TestAnswersAreNotTrusted(t *testing.T) {
	for _, charge := range []string{
		`{"correlationID":"another-1","status":"COMPLETED","value":12345}`,
		`{"correlationID":"01M7ZBVYT4-1","status":"COMPLETED","value":-5}`,
		`{"correlationID":"01M7ZBVYT4-1","status":"COMPLETED","value":0}`,
		`{"correlationID":"01M7ZBVYT4-1","status":"COMPLETED","value":12.5}`,
		`{"correlationID":"01M7ZBVYT4-1","status":"COMPLETED","value":1e30}`,
		`{"correlationID":"01M7ZBVYT4-1","status":"COMPLETED"}`,
		`{"correlationID":"01M7ZBVYT4-1","status":"ACTIVE","brCode":"a\u0000b"}`,
		`{"correlationID":"01M7ZBVYT4-1","status":"ACTIVE","brCode":"` + strings.Repeat("0", 2000) + `"}`,
		`{"correlationID":["01M7ZBVYT4-1"],"status":"ACTIVE"}`,
	} {
		c := connected(t, providertest.Says(http.StatusOK, `{"charge":`+charge+`}`), credentials())
		if o := c.Query(context.Background(), sample()); o.Kind != pay.Unknown {
			t.Errorf("%.80s: %s, want %s", charge, o.Kind, pay.Unknown)
		}
	}
}

func TestARefusedKeyIsSaid(t *testing.T) {
	with := credentials()
	with["appId"] = "another"
	err := connected(t, newFake(), with).Check(context.Background())
	if err == nil || !strings.Contains(err.Error(), "AppID") || strings.Contains(err.Error(), "another") {
		t.Errorf("%v, want the AppID named but not shown", err)
	}
}
