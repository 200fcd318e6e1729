package stripe

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// OpenSSL makes this signature of the documented text:
// printf '1795262400.{"id":"evt_1","object":"event"}' | openssl dgst -sha256 -hmac whsec_fake
func TestTheSignatureIsStripes(t *testing.T) {
	b := connect(t)
	const body, mac = `{"id":"evt_1","object":"event"}`, "f5fda6f432f8e99415385b03eb9ce18be00231ee94cb4ef5371b66149a35950d"
	for header, want := range map[string]error{
		"t=1795262400,v1=" + mac: nil,
		"v1=" + strings.Repeat("0", 64) + ",v1=" + mac + ",t=1795262400": nil, // two secrets, during a rotation
		"t=1795262400,v0=" + mac:      provider.ErrUnsigned, // the old scheme
		"t=1795262401,v1=" + mac:      provider.ErrUnsigned,
		"t=1795262400,v1=" + mac[:62]: provider.ErrUnsigned,
		"t=1795262400,v1=":            provider.ErrUnsigned,
		"v1=" + mac:                   provider.ErrUnsigned,
		"":                            provider.ErrUnsigned,
		strings.Repeat("v1="+strings.Repeat("0", 64)+",", 1000) + "t=1795262400,v1=" + mac: provider.ErrUnsigned,
	} {
		_, err := b.Notices(ctx(), provider.Notification{Header: http.Header{signatureHeader: {header}}, Body: []byte(body)})
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%.80s: %v, want %v", header, err, want)
		}
	}
}

// A signature from long ago, or from the future, is a replay.
func TestANotificationHasAnAge(t *testing.T) {
	b := connect(t)
	n := notification("evt_1", "payment_intent.created", object{})
	for age, ok := range map[time.Duration]bool{0: true, 5 * time.Minute: true, 5*time.Minute + time.Second: false, -4 * time.Minute: true, -6 * time.Minute: false} {
		b.Now = func() time.Time { return providertest.Noon.Add(age) }
		if _, err := b.Notices(ctx(), n); (err == nil) != ok || !ok && !errors.Is(err, provider.ErrUnsigned) {
			t.Errorf("%s old: %v, want good: %t", age, err, ok)
		}
	}
}

// Only final states are reported; other objects of the same account are not ours.
func TestEventsThatTellNothing(t *testing.T) {
	b := connect(t)
	r := request("card.BRA", "01M7ZNEWS-1")
	b.Charge(ctx(), r)
	b.Move(r.Reference, providertest.Declined) // on the page: another card may follow
	c := b.Must(r.Reference)
	foreign := c.intent()
	foreign["metadata"] = object{"order": "6735"}
	for kind, of := range map[string]object{
		"payment_intent.payment_failed": c.intent(), "checkout.session.completed": c.session(false), "payment_intent.created": c.intent(),
		"payment_intent.succeeded": foreign, "charge.refunded": {"id": "ch_1"}, "customer.created": {"id": "cus_1"},
	} {
		if list, err := b.Notices(ctx(), notification("evt_1", kind, of)); err != nil || len(list) != 0 {
			t.Errorf("%s: %+v %v, want nothing", kind, list, err)
		}
	}
}

// An event of a session leads to a query of the session's current state.
func TestSessionEvents(t *testing.T) {
	for ending, want := range map[providertest.Ending]pay.OutcomeKind{
		providertest.Paid: pay.Approved, providertest.Expired: pay.Lapsed, providertest.WrongAmount: pay.Approved,
	} {
		b := connect(t)
		r := request("boleto.BRA", "01M7ZSESSION-1")
		b.Charge(ctx(), r)
		old := b.Must(r.Reference).session(false)
		b.Move(r.Reference, ending)
		list, err := b.Notices(ctx(), notification("evt_9", "checkout.session.async_payment_succeeded", old))
		if err != nil || len(list) != 1 || list[0].Outcome.Kind != want || list[0].Reference != r.Reference || list[0].ID != "evt_9" {
			t.Errorf("%s: %+v %v, want %s", ending, list, err, want)
		}
		b.line.Fail(providertest.ServerError)
		if _, err := b.Notices(ctx(), notification("evt_9", "checkout.session.completed", old)); !errors.Is(err, provider.ErrUnreachable) {
			t.Errorf("while Stripe does not answer: %v, want ErrUnreachable", err)
		}
	}
}

func TestDisputesByStatus(t *testing.T) {
	taken := []object{{"id": "txn_1", "amount": -5000, "object": "balance_transaction"}}
	for status, want := range map[string]pay.Notice{
		"needs_response": {Dispute: true}, "under_review": {Dispute: true, Reviewing: true},
		"appeal_needs_response": {Dispute: true}, "appeal_under_review": {Dispute: true, Reviewing: true},
		"won": {Ruling: pay.DisputeWon}, "lost": {Ruling: pay.DisputeLost},
		"warning_needs_response": {}, "warning_under_review": {}, "warning_closed": {}, "odd": {},
		"prevented": {}, "prevented with the money": {Ruling: pay.DisputeLost},
	} {
		b := connect(t)
		r := request("card.MEX", "01M7ZDISPUTE-1")
		b.Charge(ctx(), r)
		b.Move(r.Reference, providertest.Disputed)
		c := b.Must(r.Reference)
		if c.dispute = status; status == "prevented with the money" {
			c.dispute, c.moved = "prevented", taken
		}
		list, err := b.Notices(ctx(), b.Notification(r.Reference))
		if err != nil {
			t.Fatal(err)
		}
		if (status == "odd") != (len(b.line.Unmapped()) == 1) {
			t.Errorf("%s: told of %v", status, b.line.Unmapped())
		}
		if !want.OfDispute() {
			if len(list) != 0 {
				t.Errorf("%s: %+v, want nothing", status, list)
			}
			continue
		}
		n := list[0]
		if n.Dispute != want.Dispute || n.Ruling != want.Ruling || n.Network != "13.1" || !n.RespondBy.Equal(providertest.Noon.Add(7*day)) ||
			n.Outcome.Message != "product_not_received" || n.Reference != r.Reference || n.DisputeID == "" || n.Stage != c.dispute ||
			n.Outcome.Local != r.Local || n.Reviewing != want.Reviewing || n.Instance != 0 {
			t.Errorf("%s: %+v, want %+v", status, n, want)
		}
		b.line.Fail(providertest.Empty)
		if _, err := b.Notices(ctx(), b.Notification(r.Reference)); !errors.Is(err, provider.ErrUnreachable) {
			t.Errorf("while Stripe does not answer: %v, want ErrUnreachable", err)
		}
	}
}

// A refund that somebody made at Stripe is reported with all refunds of its payment, and again when it fails.
func TestARefundMadeAtStripe(t *testing.T) {
	for _, rail := range []string{"pix.BRA", "card.MEX", "spei.MEX"} {
		b := connect(t)
		r := request(rail, "01M7ZPANEL-1")
		r.ProviderRef = b.Charge(ctx(), r).ProviderRef
		b.Move(r.Reference, providertest.Paid)
		ours := provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: money.New(100, r.Local.Currency)}
		b.Refund(ctx(), ours)
		b.fake.Lock()
		b.Give(b.Must(r.Reference), "", money.New(300, r.Local.Currency))
		b.fake.Unlock()
		for ending, want := range map[providertest.Ending]pay.OutcomeKind{providertest.Paid: pay.Approved, providertest.Open: pay.Awaiting, providertest.Declined: pay.Declined} {
			b.MoveRefund(r.Reference, 1, ending)
			list, err := b.Notices(ctx(), b.RefundNotification(r.Reference, 1))
			if err != nil || len(list) != 1 {
				t.Fatalf("%s, %s: %+v %v", rail, ending, list, err)
			}
			providertest.Sound(t, list, nil)
			o := list[0].Outcome
			if list[0].Reference != r.Reference || list[0].Refund != "" || o.Kind != pay.Reversed || len(o.Back.Refunds) != 2 ||
				o.Back.Refunds[0].Reference != ours.Reference || o.Back.Refunds[1].Reference != "" || o.Back.Refunds[1].Kind != want {
				t.Errorf("%s, %s: %+v %+v", rail, ending, list[0], o.Back)
			}
			if asked := b.Query(ctx(), r); asked.Kind != pay.Reversed || asked.MoneyRef != o.MoneyRef || asked.Back.Total != o.Back.Total {
				t.Errorf("%s, %s: the query says %+v %+v, the notice %+v", rail, ending, asked, asked.Back, o.Back)
			}
		}
		b.line.Fail(providertest.ServerError)
		if _, err := b.Notices(ctx(), b.RefundNotification(r.Reference, 1)); !errors.Is(err, provider.ErrUnreachable) {
			t.Errorf("while Stripe does not answer: %v, want ErrUnreachable", err)
		}
	}
}

// A dispute of which only the payment is known is found by it.
func TestADisputeIsFoundByItsPayment(t *testing.T) {
	b := connect(t)
	r := request("pix.BRA", "01M7ZDISPUTE-1")
	r.ProviderRef = b.Charge(ctx(), r).ProviderRef
	b.Move(r.Reference, providertest.Paid)
	q := provider.DisputeRequest{Charge: r}
	if n, known := b.QueryDispute(ctx(), q); known || b.CanQueryDispute(q) {
		t.Errorf("without a dispute: %+v", n)
	}
	if b.Live = true; !b.CanQueryDispute(q) {
		t.Error("a dispute without an id is not queried")
	}
	b.Move(r.Reference, providertest.Disputed)
	if n, known := b.QueryDispute(ctx(), q); !known || !n.Dispute || n.Reference != r.Reference || n.DisputeID == "" {
		t.Errorf("%+v %t", n, known)
	}
	if n, known := b.QueryDispute(ctx(), provider.DisputeRequest{ID: "not an id", Charge: r}); known {
		t.Errorf("another one: %+v", n)
	}
}

// Each event about money is read, or the table says why not.
func TestEventsHaveAMeaning(t *testing.T) {
	b := connect(t)
	for kind, means := range events {
		if (means.tell == nil) == (means.why == "") {
			t.Errorf("%s is read and has a reason not to be, or neither", kind)
		}
		list, err := b.Notices(ctx(), notification("evt_1", kind, object{}))
		if means.tell == nil && (err != nil || len(list) != 0) {
			t.Errorf("%s: %+v %v, want nothing", kind, list, err)
		}
	}
}

// The merchant sees our reason and its code, the operator Stripe's code too. The network's advice says more than the code.
func TestDeclinesByReason(t *testing.T) {
	for e, want := range map[apiError]pay.Outcome{
		{Code: "card_declined", Decline: "insufficient_funds"}:                       {Code: problem.InsufficientFunds, Decline: "insufficient_funds", Raw: "insufficient_funds"},
		{Code: "card_declined", Decline: "stolen_card"}:                              {Code: problem.FraudBlocked, Decline: "stolen_card", Raw: "stolen_card"},
		{Code: "card_declined", Decline: "fraudulent"}:                               {Code: problem.FraudBlocked, Decline: "fraud_suspected", Raw: "fraudulent"},
		{Code: "expired_card"}:                                                       {Code: problem.ExpiredCard, Decline: "expired_card", Raw: "expired_card"},
		{Code: "incorrect_cvc"}:                                                      {Code: problem.CardDeclined, Decline: "invalid_cvc", Raw: "incorrect_cvc"},
		{Code: "card_declined", Decline: "do_not_honor"}:                             {Code: problem.CardDeclined, Decline: "do_not_honor", Raw: "do_not_honor", Soft: true},
		{Code: "card_declined", Decline: "issuer_not_available"}:                     {Code: problem.CardDeclined, Decline: "issuer_unavailable", Raw: "issuer_not_available", Soft: true},
		{Code: "processing_error"}:                                                   {Code: problem.CardDeclined, Decline: "processing_error", Raw: "processing_error", Soft: true},
		{Code: "card_declined", Decline: "do_not_honor", Advice: "do_not_try_again"}: {Code: problem.CardDeclined, Decline: "do_not_honor", Raw: "do_not_honor"},
		{Code: "payment_intent_authentication_failure"}:                              {Code: problem.ThreeDSFailed, Decline: "authentication_failed", Raw: "payment_intent_authentication_failure"},
		{Code: "card_declined", Decline: "moon_phase"}:                               {Decline: "declined", Raw: "moon_phase"},
		{Code: "card_declined", Decline: "moon_phase", Advice: "try_again_later"}:    {Decline: "declined", Raw: "moon_phase", Soft: true},
		{Code: "<script>"}:                                                           {Decline: "declined"},
	} {
		b := connect(t)
		o := b.refusal(e)
		if o.Kind != pay.Declined || o.Code != want.Code || o.Decline != want.Decline || o.Raw != want.Raw || o.Soft != want.Soft || o.Message == "" || strings.Contains(strings.ToLower(o.Message), "stripe") {
			t.Errorf("%+v: %+v, want %+v", e, o, want)
		}
		if known := e.Decline != "moon_phase" && e.Code != "<script>"; known == (len(b.line.Unmapped()) > 0) {
			t.Errorf("%+v: told of %v", e, b.line.Unmapped())
		}
	}
}

// A refused card's country is reported in our terms, if Stripe names one.
func TestRefusedCardHasACountry(t *testing.T) {
	b := connect(t)
	for word, want := range map[string]string{"US": "USA", "br": "BRA", "": "", "XX": "", "<b>": ""} {
		failed := apiError{Code: "card_declined", Decline: "do_not_honor", Charge: "ch_1"}
		failed.Method.Card.Country = word
		if tries := b.tries(intent{ID: "pi_1", Error: &failed}, 0); len(tries) != 1 || tries[0].Country != want {
			t.Errorf("a card of %q: %+v, want the country %q", word, tries, want)
		}
	}
}

// A card error in the answer itself is a decline.
func TestADeclineInTheAnswer(t *testing.T) {
	b := connect(t)
	b.Next(providertest.SoftDeclined)
	if o := b.Charge(ctx(), request("pix.BRA", "01M7ZCARD-1")); o.Kind != pay.Declined || !o.Soft || o.Decline != "processing_error" {
		t.Errorf("%+v, want a soft decline", o)
	}
}

// Answers that Stripe would never give are Unknown; they cause no crash and move no money.
func TestHostileAnswers(t *testing.T) {
	b := connect(t)
	good := func() object {
		c := charge{number: 1, method: "pix", Entry: providertest.Entry{Reference: "01M7ZGOOD-1", Local: money.New(5000, "BRL"), Ending: providertest.Paid}}
		return c.intent()
	}
	for name, change := range map[string]func(object){
		"a negative amount":   func(o object) { o["amount_received"] = -1 },
		"nothing received":    func(o object) { o["amount_received"] = 0 },
		"no such currency":    func(o object) { o["currency"] = "zzz" },
		"an id with a NUL":    func(o object) { o["id"] = "pi_\x00" },
		"an id too long":      func(o object) { o["id"] = strings.Repeat("p", 300) },
		"no id":               func(o object) { delete(o, "id") },
		"another object":      func(o object) { o["object"] = "charge" },
		"no instructions":     func(o object) { o["status"] = "requires_action" },
		"a code with a NUL":   func(o object) { o["status"], o["next_action"] = "requires_action", pixCode("00\x00") },
		"a very long code":    func(o object) { o["status"], o["next_action"] = "requires_action", pixCode(strings.Repeat("0", 5000)) },
		"no payment method":   func(o object) { o["status"] = "requires_payment_method" },
		"manual capture":      func(o object) { o["status"] = "requires_capture" },
		"a status with a NUL": func(o object) { o["status"] = "succ\x00eeded" },
	} {
		of := good()
		change(of)
		if o := b.intent(decode[intent](t, of), request("pix.BRA", "01M7ZGOOD-1")); o.Kind != pay.Unknown || o.Local != (money.Amount{}) {
			t.Errorf("%s: %+v, want unknown", name, o)
		}
	}
	for name, address := range map[string]string{"javascript": "javascript:alert(1)", "plain HTTP": "http://checkout.test/", "none": "", "a break": "https://checkout.test/\r\n"} {
		s := session{ID: "cs_1", Object: "checkout.session", Status: "open", URL: address}
		if o := b.session(s, request("card.BRA", "01M7ZGOOD-1")); o.Kind != pay.Unknown || o.FormURL != "" {
			t.Errorf("%s: %+v, want unknown", name, o)
		}
	}
	for _, word := range b.line.Unmapped() {
		if strings.ContainsRune(word, 0) {
			t.Errorf("told of %q", word)
		}
	}
}

func pixCode(data string) object {
	return object{"type": "pix_display_qr_code", "pix_display_qr_code": object{"data": data}}
}

func decode[T any](t *testing.T, of object) (value T) {
	t.Helper()
	text, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// No body, however it is signed, makes the reader panic.
func FuzzNotices(f *testing.F) {
	f.Add([]byte(`{"id":"evt_1","object":"event","type":"payment_intent.succeeded","data":{"object":{"id":"pi_1","object":"payment_intent","status":"succeeded","amount_received":1,"currency":"brl","metadata":{"cascada_reference":"X-1"}}}}`))
	f.Add([]byte(`{"id":"evt_1","object":"event","type":"charge.dispute.created","data":{"object":{"id":"du_1","payment_intent":5}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		b := &Provider{base: "http://127.0.0.1:0", secret: []byte(testSecret), Account: provider.Account{
			Client: http.DefaultClient, Now: func() time.Time { return providertest.Noon }}}
		n := provider.Notification{Body: body, Header: http.Header{signatureHeader: {signature(body, testSecret, providertest.Noon.Unix())}}}
		if _, err := b.Notices(ctx(), n); errors.Is(err, provider.ErrUnsigned) {
			t.Error("our own signature was refused")
		}
	})
}
