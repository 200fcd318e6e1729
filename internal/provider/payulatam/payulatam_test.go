package payulatam

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func credentials(more ...string) map[string]string {
	with := map[string]string{"apiLogin": testLogin, "apiKey": testKey, "merchantId": testMerchant, "accountIds": testAccounts}
	for i := 0; i+1 < len(more); i += 2 {
		with[more[i]] = more[i+1]
	}
	return with
}

func hashes(t *testing.T, algorithm, secret string) func(string) string {
	t.Helper()
	hash, err := hashOf(algorithm, secret)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func sample(rail string, minor int64) provider.Request {
	m := methods[rail]
	return provider.Request{
		Reference: "01M7ZBVYT4-1", Rail: rail, Method: "cash", Local: money.New(minor, m.currency), PageURL: providertest.Page,
		Buyer: pay.Buyer{Name: "José Pérez", Email: "jose@example.com", Phone: "7563126", Document: "1020304050", IP: "190.242.116.98"},
		Sent:  providertest.Noon.Add(-settles), Now: providertest.Noon, Expires: providertest.Noon.Add(24 * time.Hour),
	}
}

func TestPayULatamIsAsTheCascadeNeedsIt(t *testing.T) {
	charges, back := map[string]provider.Request{}, map[string]string{}
	for rail, m := range methods {
		minor := int64(199_99)
		if m.whole {
			minor = 65_000_00
		}
		charges[rail] = sample(rail, minor)
		back[rail] = "refunds are of cards; of cash and transfers they are declined (Voids and Refunds API)"
	}
	hash := hashes(t, "", testSecret)
	providertest.Suite{
		Adapter: Adapter(), Credentials: credentials("secretKey", testSecret),
		New:     func(*testing.T) providertest.Fake { return newFake(hash) },
		Charges: charges,
		Amounts: map[string][]money.Amount{
			"cash.oxxo.MEX":         {money.New(1, money.MXN), money.New(10, money.MXN), money.New(100, money.MXN), money.New(150_25, money.MXN), money.New(largest, money.MXN)},
			"cash.efecty.COL":       {money.New(1_00, money.COP), money.New(20_000_00, money.COP), money.New(999_999_999_900, money.COP)},
			"cash.pagofacil.ARG":    {money.New(1, money.ARS), money.New(1_500_50, money.ARS)},
			"cash.pagoefectivo.PER": {money.New(50_05, money.PEN)},
		},
		Without: map[providertest.Ending]string{
			providertest.Challenged: "no card is charged",
			providertest.Disputed:   "disputes are shown in the PayU Module; a confirmation has no state of one",
		},
		Unrefundable: back,
		Looks:        func(r *http.Request) bool { return r.URL.Path == reportsPath },
		Settles:      settles,
		Unsigned: func(n provider.Notification) provider.Notification {
			form, err := url.ParseQuery(string(n.Body))
			if err != nil {
				t.Fatal(err)
			}
			form.Del("sign")
			n.Body = []byte(form.Encode())
			return n
		},
	}.Run(t)
}

// connected returns an account at an upstream.
func connected(t *testing.T, upstream http.Handler, with map[string]string) *client {
	t.Helper()
	c, _ := providertest.OpenAccount[*client](t, Adapter(), with, upstream)
	return c
}

func TestSignaturesAreTheDocumentations(t *testing.T) {
	for text, want := range map[string]string{
		testKey + "~508029~PayUTest01~150.0~USD~4":  "65fb2b3452572784e23e7d6480359fd2507c54dd285ca3c4dceffb8764cfb66f",
		testKey + "~508029~PayUTest01~150.25~USD~4": "7770a7933b90570a078fcacce1790eb13079cdf8f8a6e900b79f4f5eb96b8024",
	} {
		if got := hashes(t, "md5", testSecret)(text); got != want {
			t.Errorf("HMAC-SHA256 of %s is %s, want %s", text, got, want)
		}
	}
	if got := hashes(t, "md5", "")(testKey + "~508029~TestPayU~3~USD"); got != "ba9ffa71559580175585e45ce70b6c37" {
		t.Errorf("the MD5 is %s", got)
	}
	if got := hashes(t, "", "")("a"); len(got) != 64 {
		t.Errorf("without a choice the signature is %s, want SHA-256", got)
	}
	if _, err := hashOf("sha1", ""); err == nil {
		t.Error("SHA-1 is taken")
	}
}

func TestTheSignedValueHasOneDecimalOrTwo(t *testing.T) {
	for value, want := range map[string]string{
		"150.00": "150.0", "150.26": "150.26", "150.10": "150.1", "150.01": "150.01", "150": "150.0", "150.5": "150.5", "0.01": "0.01", "0": "0.0",
	} {
		if got := newValue(value); got != want {
			t.Errorf("%s is signed as %s, want %s", value, got, want)
		}
	}
}

func TestAConfirmationNeedsTheChosenAlgorithm(t *testing.T) {
	form := func() url.Values {
		return url.Values{"merchant_id": {testMerchant}, "reference_sale": {"01M7ZBVYT4-1"}, "value": {"150.00"}, "currency": {"MXN"}, "state_pol": {"4"}}
	}
	algorithms := map[string][2]string{"md5": {"md5", ""}, "sha256": {"sha256", ""}, "hmac": {"", testSecret}}
	for chosen, with := range algorithms {
		c := connected(t, http.NotFoundHandler(), credentials("signature", with[0], "secretKey", with[1]))
		for used, by := range algorithms {
			list, err := c.Notices(context.Background(), confirmation(hashes(t, by[0], by[1]), form()))
			if used == chosen && (err != nil || len(list) != 1 || list[0].Outcome.Local != money.New(150_00, money.MXN)) {
				t.Errorf("%s: %+v %v, want the payment", chosen, list, err)
			}
			if used != chosen && !errors.Is(err, provider.ErrUnsigned) {
				t.Errorf("%s where %s is chosen: %v, want ErrUnsigned", used, chosen, err)
			}
		}
	}
}

func TestASignedConfirmationIsOfOneReading(t *testing.T) {
	hash := hashes(t, "", testSecret)
	c := connected(t, http.NotFoundHandler(), credentials("secretKey", testSecret))
	for what, change := range map[string]func(url.Values){
		"a field boundary moved":      func(f url.Values) { f.Set("reference_sale", "01M7ZBVYT4-1~150.0"); f.Set("value", "1.5") },
		"a longer state":              func(f url.Values) { f.Set("state_pol", "4\x80") },
		"a value with three decimals": func(f url.Values) { f.Set("value", "150.001") },
		"a negative value":            func(f url.Values) { f.Set("value", "-150.00") },
		"an exponent":                 func(f url.Values) { f.Set("value", "1e9") },
		"another merchant":            func(f url.Values) { f.Set("merchant_id", "508030") },
		"no currency":                 func(f url.Values) { f.Set("currency", "") },
	} {
		form := url.Values{"merchant_id": {testMerchant}, "reference_sale": {"01M7ZBVYT4-1"}, "value": {"150.00"}, "currency": {"MXN"}, "state_pol": {"4"}}
		change(form)
		if list, err := c.Notices(context.Background(), confirmation(hash, form)); !errors.Is(err, provider.ErrUnsigned) || len(list) != 0 {
			t.Errorf("%s: %+v %v, want ErrUnsigned", what, list, err)
		}
	}
	twice := confirmation(hash, url.Values{"merchant_id": {testMerchant}, "reference_sale": {"01M7ZBVYT4-1"}, "value": {"150.00"}, "currency": {"MXN"}, "state_pol": {"4"}})
	twice.Body = append(twice.Body, "&state_pol=6"...)
	if _, err := c.Notices(context.Background(), twice); !errors.Is(err, provider.ErrUnsigned) {
		t.Errorf("a field twice: %v, want ErrUnsigned", err)
	}
}

func TestConfirmationsEndInEachState(t *testing.T) {
	hash := hashes(t, "", testSecret)
	c := connected(t, http.NotFoundHandler(), credentials("secretKey", testSecret))
	var unmapped []string
	c.account.Unmapped = func(word string) { unmapped = append(unmapped, word) }
	for state, want := range map[string]pay.OutcomeKind{
		"4": pay.Approved, "6": pay.Declined, "104": pay.Declined, "5": pay.Lapsed, "7": "", "14": "", "18": "", "99": pay.Unknown,
	} {
		list, err := c.Notices(context.Background(), confirmation(hash, url.Values{
			"merchant_id": {testMerchant}, "reference_sale": {"01M7ZBVYT4-1"}, "value": {"150.00"}, "currency": {"MXN"}, "state_pol": {state},
			"response_message_pol": {"INSUFFICIENT_FUNDS"},
		}))
		if err != nil || want == "" && len(list) != 0 || want != "" && (len(list) != 1 || list[0].Outcome.Kind != want) {
			t.Errorf("state %s: %+v %v, want %q", state, list, err, want)
		}
	}
	if !slices.Equal(unmapped, []string{"state_pol: 99"}) {
		t.Errorf("unmapped: %v", unmapped)
	}
}

func TestATestsConfirmationDoesNotPayAtALiveAccount(t *testing.T) {
	c := connected(t, http.NotFoundHandler(), credentials("secretKey", testSecret))
	c.account.Live = true
	list, err := c.Notices(context.Background(), confirmation(hashes(t, "", testSecret), url.Values{
		"merchant_id": {testMerchant}, "reference_sale": {"01M7ZBVYT4-1"}, "value": {"150.00"}, "currency": {"MXN"}, "state_pol": {"4"}, "test": {"1"},
	}))
	if err == nil || len(list) != 0 {
		t.Errorf("%+v %v, want an error", list, err)
	}
}

func TestDeclinesAreToldApart(t *testing.T) {
	c := connected(t, http.NotFoundHandler(), credentials())
	var unmapped int
	c.account.Unmapped = func(string) { unmapped++ }
	for code, want := range map[string]struct {
		soft bool
		code problem.Code
	}{
		"ANTIFRAUD_REJECTED": {false, problem.FraudBlocked}, "BANK_FRAUD_REJECTED": {false, problem.FraudBlocked},
		"INSUFFICIENT_FUNDS": {false, problem.InsufficientFunds}, "EXPIRED_CARD": {false, problem.ExpiredCard},
		"ENTITY_DECLINED": {true, ""}, "BANK_UNREACHABLE": {true, ""}, "PAYMENT_NETWORK_NO_RESPONSE": {true, ""}, "WHO_KNOWS": {false, ""},
	} {
		o := c.account.Declined(declines, code, "")
		if o.Kind != pay.Declined || o.Soft != want.soft || o.Code != want.code || o.Decline == "" || o.Message == "" {
			t.Errorf("%s: %+v, want soft %t and code %q", code, o, want.soft, want.code)
		}
	}
	if unmapped != 1 {
		t.Errorf("%d codes were reported, want the unknown one", unmapped)
	}
	for code, d := range declines {
		if strings.Contains(strings.ToLower(d.Message), "payu") || d.Message == "" {
			t.Errorf("%s: the message for people is %q", code, d.Message)
		}
	}
}

func TestAnOrderThatIsNotFoundProvesNothingAtFirst(t *testing.T) {
	c := connected(t, newFake(hashes(t, "", testSecret)), credentials("secretKey", testSecret))
	r := sample("cash.oxxo.MEX", 100_00)
	if o := c.Query(context.Background(), r); o.Kind != pay.Missing {
		t.Errorf("after seven minutes: %s, want %s", o.Kind, pay.Missing)
	}
	r.Sent = r.Sent.Add(time.Second)
	if o := c.Query(context.Background(), r); o.Kind != pay.Unknown || o.CheckAt != providertest.Noon.Add(time.Second) {
		t.Errorf("before: %+v, want %s and a query at seven minutes", o, pay.Unknown)
	}
}

func TestOfTwoOrdersThePaidOneCounts(t *testing.T) {
	f := newFake(hashes(t, "", testSecret))
	c := connected(t, f, credentials("secretKey", testSecret))
	r := sample("cash.oxxo.MEX", 100_00)
	for range 2 { // two processes at once
		if o := c.submit(context.Background(), r, methods[r.Rail]); o.Kind != pay.Awaiting {
			t.Fatalf("the charge: %+v", o)
		}
	}
	for _, e := range []struct {
		first, second providertest.Ending
		want          pay.OutcomeKind
	}{
		{providertest.Open, providertest.Paid, pay.Approved}, {providertest.Paid, providertest.Expired, pay.Approved},
		{providertest.Expired, providertest.Open, pay.Awaiting}, {providertest.Expired, providertest.Declined, pay.Declined},
		{providertest.Declined, providertest.Nonsense, pay.Unknown}, {providertest.Expired, providertest.Expired, pay.Lapsed},
	} {
		f.Charges[0].Ending, f.Charges[1].Ending = e.first, e.second
		if o := c.Query(context.Background(), r); o.Kind != e.want {
			t.Errorf("%s and %s: %s, want %s", e.first, e.second, o.Kind, e.want)
		}
	}
}

func TestAnOrderIsAskedForAsDocumented(t *testing.T) {
	f := newFake(hashes(t, "", testSecret))
	c := connected(t, f, credentials("secretKey", testSecret))
	r := sample("cash.oxxo.MEX", 150_50)
	o := c.Charge(context.Background(), r)
	if o.Kind != pay.Awaiting || !strings.HasPrefix(o.FormURL, "https://sandbox.checkout.payulatam.com/") || o.Data.Reference != "1400449740" ||
		o.Data.Barcode == "" || o.ProviderRef != "1400449740" || o.CheckAt != providertest.Noon.Add(time.Hour) {
		t.Errorf("the voucher is %+v", o)
	}
	if v := f.last.Order.AdditionalValues["TX_VALUE"]; v.Value != "150.5" || v.Currency != "MXN" {
		t.Errorf("the amount is %v", v)
	}
	if f.last.ExpirationDate != "2026-11-22T12:00:00" || f.last.Order.NotifyURL != c.account.NotificationURL || f.last.IPAddress != "190.242.116.98" {
		t.Errorf("the order is %+v", f.last)
	}
	r = sample("spei.MEX", 150_50)
	r.Reference = "01M7ZBVYT4-2"
	if o = c.Charge(context.Background(), r); o.Data.CLABE != "646180132800000009" || o.Data.Bank != "STP" || o.CheckAt != providertest.Noon.Add(10*time.Minute) {
		t.Errorf("the CLABE is %+v", o)
	}
}

func TestWhatCannotBeChargedIsNotSent(t *testing.T) {
	calls := 0
	c := connected(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls++ }), credentials("accountIds", "CO=512321"))
	for what, change := range map[string]func(*provider.Request){
		"a card":                       func(r *provider.Request) { r.Rail = "card.COL" },
		"a country without the method": func(r *provider.Request) { *r = sample("cash.oxxo.MEX", 100_00) },
		"cents of a peso":              func(r *provider.Request) { r.Local.Minor++ },
		"nothing":                      func(r *provider.Request) { r.Local.Minor = 0 },
		"a negative amount":            func(r *provider.Request) { r.Local.Minor = -100 },
		"more than PayU accepts":       func(r *provider.Request) { r.Local.Minor = largest + 1 },
		"another currency":             func(r *provider.Request) { r.Local.Currency = money.USD },
		"nobody's name":                func(r *provider.Request) { r.Buyer.Name = "" },
		"no email":                     func(r *provider.Request) { r.Buyer.Email = "" },
		"no address":                   func(r *provider.Request) { r.Buyer.IP = "" },
		"a control character":          func(r *provider.Request) { r.Buyer.Name = "a\x00b" },
	} {
		r := sample("cash.efecty.COL", 65_000_00)
		change(&r)
		if o := c.Charge(context.Background(), r); o.Kind != pay.Errored || calls != 0 {
			t.Errorf("%s: %+v after %d calls, want it refused here", what, o, calls)
		}
	}
}

func TestAnswersAreNotTrusted(t *testing.T) {
	order := func(state, value, page string) string {
		return `{"id":1,"referenceCode":"01M7ZBVYT4-1","transactions":[{"type":"AUTHORIZATION_AND_CAPTURE","transactionResponse":{"state":"` + state + `","extraParameters":` + page + `},"additionalValues":{"TX_VALUE":` + value + `}}]}`
	}
	for body, want := range map[string]pay.OutcomeKind{
		order("APPROVED", `{"value":100.00,"currency":"MXN"}`, `null`):  pay.Approved,
		order("APPROVED", `{"value":-100.00,"currency":"MXN"}`, `null`): pay.Unknown,
		order("APPROVED", `{"value":0,"currency":"MXN"}`, `null`):       pay.Unknown,
		order("APPROVED", `{"value":100.001,"currency":"MXN"}`, `null`): pay.Unknown,
		order("APPROVED", `{"value":100,"currency":"mxn"}`, `null`):     pay.Unknown,
		order("APPROVED", `{"value":1e300,"currency":"MXN"}`, `null`):   pay.Unknown,
		order("APPROVED", `{}`, `null`):                                 pay.Unknown,
		`{"id":1,"referenceCode":"another","transactions":[]}`:          pay.Unknown,
		`{"id":1,"referenceCode":"01M7ZBVYT4-1","transactions":[]}`:     pay.Unknown,
		`{"id":"1;","referenceCode":"01M7ZBVYT4-1"}`:                    pay.Unknown,
		``: pay.Missing,
	} {
		c := connected(t, providertest.Says(http.StatusOK, `{"code":"SUCCESS","result":{"payload":[`+body+`]}}`), credentials())
		if o := c.Query(context.Background(), sample("cash.oxxo.MEX", 100_00)); o.Kind != want {
			t.Errorf("%s: %s, want %s", body, o.Kind, want)
		}
	}
	c := connected(t, providertest.Says(http.StatusOK, `{"code":"ERROR","error":"who knows"}`), credentials())
	if o := c.Query(context.Background(), sample("cash.oxxo.MEX", 100_00)); o.Kind != pay.Unknown {
		t.Errorf("an error proves nothing: %s", o.Kind)
	}
}

func TestInvalidCredentialsAreRefused(t *testing.T) {
	for field, value := range map[string]string{
		"apiLogin": "a b", "apiKey": "with~tilde", "merchantId": "12x", "accountIds": "512321", "signature": "sha1",
	} {
		_, err := open(provider.Account{Credentials: credentials(field, value)})
		var wrong *provider.FieldError
		if !errors.As(err, &wrong) || wrong.Field != field || strings.Contains(err.Error(), value) && field != "accountIds" {
			t.Errorf("%s: %v, want an error that names it and not its value", field, err)
		}
	}
	c := connected(t, newFake(hashes(t, "", "")), credentials("apiKey", "another-key"))
	if err := c.Check(context.Background()); err == nil || strings.Contains(err.Error(), "another") {
		t.Errorf("a wrong key: %v", err)
	}
}
