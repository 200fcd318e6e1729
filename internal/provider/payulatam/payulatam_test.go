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

// signer is how an order is signed.
func signer(t *testing.T, algorithm, secret string) func(string) string {
	t.Helper()
	hash, _, err := signatures(algorithm, secret)
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
	hash := signer(t, "", testSecret)
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
		if got := signer(t, "md5", testSecret)(text); got != want {
			t.Errorf("HMAC-SHA256 of %s is %s, want %s", text, got, want)
		}
	}
	// The payment form's example, in each algorithm.
	for algorithm, want := range map[string]string{
		"": "7ee7cf808ce6a39b17481c54f2c57acc", "md5": "7ee7cf808ce6a39b17481c54f2c57acc", "sha1": "fa890d3f94e12b5cdb62e8771453b99b78e7ccdc",
		"sha256": "af3899a22336b79db46006491d15813158826f944599bf3bf601e2327f898022",
	} {
		if got := signer(t, algorithm, "")(testKey + "~508029~TestPayU~20000~COP"); got != want {
			t.Errorf("signed by %q as %s, want %s", algorithm, got, want)
		}
	}
	// The confirmation page's example with two decimals. The one with one decimal was made with another key than it prints.
	if got := signer(t, "md5", "")(testKey + "~508029~TestPayU05~150.26~USD~4"); got != "1d95778a651e11a0ab93c2169a519cd6" {
		t.Errorf("the MD5 of a confirmation is %s", got)
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

// An account may sign by any hash of its key. But if it has a secret key, the API key alone proves nothing.
func TestWhatSignsAConfirmation(t *testing.T) {
	form := func() url.Values {
		return url.Values{"merchant_id": {testMerchant}, "reference_sale": {"01M7ZBVYT4-1"}, "value": {"150.00"}, "currency": {"MXN"}, "state_pol": {"4"}, "reference_pol": {"1"}}
	}
	paid := providertest.Says(http.StatusOK, reported("01M7ZBVYT4-1", "CAPTURED", charged("150", "MXN")))
	ways := map[string][2]string{"md5": {"md5", ""}, "sha1": {"sha1", ""}, "sha256": {"sha256", ""}, "hmac": {"", testSecret}}
	for account, with := range map[string][2]string{"default": {}, "md5": {"md5", ""}, "sha256": {"sha256", ""}, "hmac": {"md5", testSecret}} {
		c := connected(t, paid, credentials("signature", with[0], "secretKey", with[1]))
		for used, by := range ways {
			list, err := c.Notices(context.Background(), confirmation(signer(t, by[0], by[1]), form()))
			counts := (used == "hmac") == (with[1] != "")
			if counts && (err != nil || len(list) != 1 || list[0].Outcome.Local != money.New(150_00, money.MXN)) {
				t.Errorf("%s: %+v %v, want the payment", account, list, err)
			}
			if !counts && !errors.Is(err, provider.ErrUnsigned) {
				t.Errorf("%s at an account with %s: %v, want ErrUnsigned", used, account, err)
			}
		}
	}
}

func TestASignedConfirmationIsOfOneReading(t *testing.T) {
	hash := signer(t, "", testSecret)
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
	hash := signer(t, "", testSecret)
	paid := providertest.Says(http.StatusOK, reported("01M7ZBVYT4-1", "CAPTURED", charged("150", "MXN")))
	c := connected(t, paid, credentials("secretKey", testSecret))
	var unmapped []string
	c.account.Unmapped = func(word string) { unmapped = append(unmapped, word) }
	for state, want := range map[string]pay.OutcomeKind{
		"4": pay.Approved, "6": pay.Declined, "104": pay.Declined, "5": pay.Lapsed, "7": "", "14": "", "18": "", "99": pay.Unknown,
	} {
		list, err := c.Notices(context.Background(), confirmation(hash, url.Values{
			"merchant_id": {testMerchant}, "reference_sale": {"01M7ZBVYT4-1"}, "value": {"150.00"}, "currency": {"MXN"}, "state_pol": {state},
			"response_message_pol": {"INSUFFICIENT_FUNDS"}, "reference_pol": {"1"},
		}))
		if err != nil || want == "" && len(list) != 0 || want != "" && (len(list) != 1 || list[0].Outcome.Kind != want || list[0].Unread != (want == pay.Unknown)) {
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
	list, err := c.Notices(context.Background(), confirmation(signer(t, "", testSecret), url.Values{
		"merchant_id": {testMerchant}, "reference_sale": {"01M7ZBVYT4-1"}, "value": {"150.00"}, "currency": {"MXN"}, "state_pol": {"4"}, "test": {"1"},
	}))
	if err == nil || len(list) != 0 {
		t.Errorf("%+v %v, want an error", list, err)
	}
}

func TestAnOrderThatIsNotFoundProvesNothingAtFirst(t *testing.T) {
	c := connected(t, newFake(signer(t, "", testSecret)), credentials("secretKey", testSecret))
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
	f := newFake(signer(t, "", testSecret))
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
	f := newFake(signer(t, "", testSecret))
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
		"a name of no letter":          func(r *provider.Request) { r.Buyer.Name = "\x00" },
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
		"apiLogin": "a b", "apiKey": "with~tilde", "merchantId": "12x", "accountIds": "512321", "signature": "sha512",
	} {
		_, err := open(provider.Account{Credentials: credentials(field, value)})
		var wrong *provider.FieldError
		if !errors.As(err, &wrong) || wrong.Field != field || strings.Contains(err.Error(), value) && field != "accountIds" {
			t.Errorf("%s: %v, want an error that names it and not its value", field, err)
		}
	}
	c := connected(t, newFake(signer(t, "", "")), credentials("apiKey", "another-key"))
	if err := c.Check(context.Background()); err == nil || strings.Contains(err.Error(), "another") {
		t.Errorf("a wrong key: %v", err)
	}
	if o := c.Charge(context.Background(), sample("cash.oxxo.MEX", 100_00)); o.Kind != pay.Unavailable {
		t.Errorf("a charge with a wrong key: %+v", o)
	}
	if o := c.Query(context.Background(), sample("cash.oxxo.MEX", 100_00)); o.Kind != pay.Unknown {
		t.Errorf("a query with a wrong key: %+v", o)
	}
	c = connected(t, newFake(signer(t, "sha256", "")), credentials())
	if o := c.Charge(context.Background(), sample("cash.oxxo.MEX", 100_00)); o.Kind != pay.Unavailable || o.Decline != "wrong_signature" {
		t.Errorf("a charge with a wrong signature: %+v", o)
	}
}

// A charge whose order was not sent is no charge.
func TestAChargeThatCannotBeLookedForIsNotMade(t *testing.T) {
	f := newFake(signer(t, "", ""))
	c := connected(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == reportsPath {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		f.ServeHTTP(w, r)
	}), credentials())
	if o := c.Charge(context.Background(), sample("cash.oxxo.MEX", 100_00)); o.Kind != pay.Unavailable || len(f.Books()) != 0 {
		t.Errorf("%+v, and the books have %v", o, f.Books())
	}
}

// twoVouchers are two orders of one reference, and the notice that the first was paid.
func twoVouchers(t *testing.T) (c *client, line *providertest.Line, f *fake, r provider.Request, first pay.Notice) {
	t.Helper()
	f = newFake(signer(t, "", testSecret))
	c, line = providertest.OpenAccount[*client](t, Adapter(), credentials("secretKey", testSecret), f)
	r = sample("cash.oxxo.MEX", 100_00)
	for range 2 {
		c.submit(context.Background(), r, methods[r.Rail])
	}
	f.Charges[0].Ending = providertest.Paid
	one, err := c.Notices(context.Background(), f.tells(f.Charges[0]))
	if err != nil || len(one) != 1 || one[0].Outcome.MoneyRef != "1400449740" || len(one[0].Outcome.Also) != 0 {
		t.Fatalf("the first: %+v %v", one, err)
	}
	return c, line, f, r, one[0]
}

// Two vouchers under one reference may both be paid. The second confirmation says the same as the first, apart from
// what is not signed.
func TestBothOfTwoOrdersArePaid(t *testing.T) {
	c, _, f, r, first := twoVouchers(t)
	f.Charges[1].Ending = providertest.Paid
	both, err := c.Notices(context.Background(), f.tells(f.Charges[1]))
	if err != nil || len(both) != 1 || both[0].ID == first.ID || both[0].Outcome.MoneyRef != "1400449740" ||
		len(both[0].Outcome.Also) != 1 || both[0].Outcome.Also[0] != (pay.Money{Ref: "1400449741", ProviderRef: "1400449741", Local: r.Local}) {
		t.Errorf("the second: %+v %v, want the other order's money too", both, err)
	}
}

// What was signed does not tell the second order from the first. Until the report shows its money, the confirmation has to come again.
func TestAConfirmationWaitsForTheReport(t *testing.T) {
	for _, fault := range []providertest.Fault{providertest.ServerError, providertest.BrokenAfter} {
		c, line, f, _, _ := twoVouchers(t)
		f.Charges[1].Ending = providertest.Paid
		line.Fail(fault)
		if list, err := c.Notices(context.Background(), f.tells(f.Charges[1])); !errors.Is(err, provider.ErrUnreachable) || len(list) != 0 {
			t.Errorf("no report (%v): %d notices and %v, want that it comes again", fault, len(list), err)
		}
	}
	c, _, f, _, _ := twoVouchers(t)
	f.Charges[1].Ending = providertest.Paid
	n := f.tells(f.Charges[1])
	for _, lags := range [][]providertest.Ending{{providertest.Paid, providertest.Open}, {providertest.Open, providertest.Open}} {
		f.Charges[0].Ending, f.Charges[1].Ending = lags[0], lags[1]
		if list, err := c.Notices(context.Background(), n); !errors.Is(err, provider.ErrUnreachable) || len(list) != 0 {
			t.Errorf("the report has %v: %d notices and %v, want that it comes again", lags, len(list), err)
		}
	}
	f.Charges[0].Ending, f.Charges[1].Ending = providertest.Paid, providertest.Paid
	if list, err := c.Notices(context.Background(), n); err != nil || len(list) != 1 || len(list[0].Outcome.Also) != 1 {
		t.Errorf("the report has both: %+v %v", list, err)
	}
}

// What PayU gave back, or lost in a dispute, is not there.
func TestWhatWentBack(t *testing.T) {
	charge := charged("100", "MXN")
	then := func(kind, state, value string) string {
		return charge + `,{"id":"b","type":"` + kind + `","transactionResponse":{"state":"` + state + `"},"additionalValues":{"TX_VALUE":{"value":` + value + `,"currency":"MXN"}}}`
	}
	for _, c := range []struct {
		status, transactions string
		kind                 pay.OutcomeKind
		back                 int64
	}{
		{"CAPTURED", charge, pay.Approved, 0},
		{"CAPTURED", then("PARTIAL_REFUND", "APPROVED", "30"), pay.Reversed, 30_00},
		{"REFUNDED", then("REFUND", "APPROVED", "100"), pay.Reversed, 100_00},
		{"CAPTURED", then("REFUND", "DECLINED", "100"), pay.Approved, 0},
		{"CAPTURED", then("REFUND", "PENDING", "100"), pay.Approved, 0}, // it waits for PayU's agent
		{"CANCELLED", then("VOID", "APPROVED", "100"), pay.Reversed, 100_00},
		{"CHARGEBACK", charge, pay.Reversed, 100_00},
		{"CHARGEBACK", then("CHARGEBACK", "APPROVED", "100"), pay.Reversed, 100_00},
	} {
		o := connected(t, providertest.Says(http.StatusOK, reported("01M7ZBVYT4-1", c.status, c.transactions)), credentials()).Query(context.Background(), sample("cash.oxxo.MEX", 100_00))
		if o.Kind != c.kind || c.back > 0 && (o.Back == nil || o.Back.Total.Minor != c.back) {
			t.Errorf("%s %s: %+v, want %s of %d", c.status, c.transactions, o, c.kind, c.back)
		}
	}
}

// PayU's list of document types.
func TestADocumentIsSentWithItsType(t *testing.T) {
	for _, c := range [][3]string{
		{"cash.rapipago.ARG", "27332162", "DNI"}, {"cash.rapipago.ARG", "30712345671", "CUIT"}, {"cash.rapipago.ARG", "20123456786", ""},
		{"cash.pagoefectivo.PER", "27662162", "DNI"}, {"cash.pagoefectivo.PER", "20123456789", "RUC"}, {"cash.pagoefectivo.PER", "001234567", "CE"},
		{"spei.MEX", "GOMA800101AB1", "RFC"}, {"spei.MEX", "GOMA800101MDFRRN09", "CURP"}, {"cash.efecty.COL", "1020304050", "CC"},
		{"cash.efecty.COL", "900.373.115-3", "NIT"}, {"cash.efecty.COL", "X1", ""}, {"cash.efecty.COL", "", ""},
	} {
		f := newFake(signer(t, "", ""))
		r := sample(c[0], 650_00)
		r.Buyer.Document = c[1]
		if o := connected(t, f, credentials()).Charge(context.Background(), r); o.Kind != pay.Awaiting || f.last.Payer.DNIType != c[2] || f.last.Order.Buyer.DNIType != c[2] {
			t.Errorf("%s of %s: %+v, sent as %q, want %q", c[1], c[0], o, f.last.Payer.DNIType, c[2])
		}
	}
}
