package mercadopago

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// testSigner signs the payouts in tests; testSigningKey is its file as openssl writes it.
var (
	testSigner     = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	testSigningKey = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: append(
		// The fixed prefix of a PKCS #8 file with an Ed25519 key (RFC 8410).
		[]byte{0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20}, testSigner.Seed()...)}))
)

// speech is one of the three lists of words in the documentation, which does not say where each
// list is used.
type speech struct {
	open, done, back, failed string // status/status_detail
	why                      map[payouttest.Behaviour]string
	atSender                 bool   // the detail is about the sender
	commas                   bool   // amounts in the accounts are texts with a comma
	barred                   string // the error of an account that may not pay out; "" for a status 403
}

var speeches = map[string]speech{
	"the status page": { // docs/payouts/resources/transaction-status-and-errors
		open: "approved/", done: "processed/approved", back: "refunded/refunded", failed: "rejected/", commas: true,
		why: map[payouttest.Behaviour]string{payouttest.Refused: "by_bank", payouttest.Compliance: "high_risk", payouttest.NoFloat: "insufficient_funds"},
	},
	"the test guide": { // guides/money-out/integration-test
		open: "partially_processed/pending_bank", done: "processed/", back: "reverted/refunded", failed: "failed/", atSender: true, barred: "Client not allowed",
		why: map[payouttest.Behaviour]string{
			payouttest.Refused: "by_bank", payouttest.Compliance: "by_compliance", payouttest.NoFloat: "insufficient_funds",
		},
	},
	"the guide": { // guides/money-out/integration-configuration
		open: "in_process/pending_authorized", done: "approved/approved", back: "refunded/refunded", failed: "rejected/",
		why: map[payouttest.Behaviour]string{payouttest.Refused: "by_bank", payouttest.Compliance: "review_manual", payouttest.NoFloat: "insufficient_funds"},
	},
}

// intentFake is the part of Mercado Pago that pays out, with the books of one account.
type intentFake struct {
	payouttest.Frame[*fakeIntent]
	speech
	live   bool
	serial int
	// repeated is the answer to a repeated call, which is not documented: the current state of the payout
	// (""), its "first" answer, that it is "locked", or that the reference is "taken".
	repeated string
	says     string // the reason for refusing a payout
}

type fakeIntent struct {
	payouttest.Entry
	id, key, body string
	first         map[string]any
	word          string // its status/status_detail, if that is not the usual one
	refunded      int64  // a part of the amount, in minor units
}

// byHand is a payout that the operator made without us.
var byHand = &fakeIntent{id: "1108917506-01GGTH198RP0K71H133EK9BJAT", Entry: payouttest.Entry{
	Reference: "31ee9576-99ec-412a", Asked: money.New(500, money.BRL), Stage: payouttest.Open,
}}

var (
	uuidForm   = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	intentForm = regexp.MustCompile(`^\d+-[0-9A-Z]{26}$`)
)

// word returns the status and its detail.
func (f *intentFake) word(p *fakeIntent) (status, detail string) {
	all := p.word
	if all == "" {
		all = map[payouttest.Stage]string{
			payouttest.Open: f.open, payouttest.Done: f.done, payouttest.Returned: f.back, payouttest.Failed: f.failed + f.why[p.Why],
		}[p.Stage]
		if p.Why == payouttest.Nonsense {
			all = "sleeping/"
		}
	}
	status, detail, _ = strings.Cut(all, "/")
	return status, detail
}

// show returns a payout as answers have it.
func (f *intentFake) show(p *fakeIntent) map[string]any {
	status, detail := f.word(p)
	arrived, refunded := p.Asked, money.New(p.refunded, p.Asked.Currency)
	if p.Times > 0 {
		arrived = p.Paid
	}
	if p.Stage == payouttest.Returned {
		arrived, refunded = money.New(0, arrived.Currency), arrived
	}
	written := func(a money.Amount) any {
		if f.commas {
			return strings.Replace(fmt.Sprintf("%d.%02d", a.Minor/100, a.Minor%100), ".", ",", 1)
		}
		return json.Number(a.Decimal())
	}
	from, to := map[string]any{"amount": written(p.Asked), "status_detail": ""}, map[string]any{"amount": written(arrived), "status_detail": ""}
	if to["status_detail"] = detail; f.atSender {
		from["status_detail"], to["status_detail"] = detail, ""
	}
	return map[string]any{
		"id": p.id, "status": status, "created_date": "2026-11-21T12:00:00.000Z", "last_updated_date": "2026-11-21T12:00:00.000Z",
		"external_reference": p.Reference, "point_of_interaction": map[string]any{"type": "PSP_TRANSFER"},
		"transaction": map[string]any{
			"from": map[string]any{"accounts": []any{from}}, "to": map[string]any{"accounts": []any{to}}, "payer": map[string]any{"id": 1108917506},
			"paid_amount": json.Number(arrived.Decimal()), "refunded_amount": json.Number(refunded.Decimal()), "total_amount": json.Number(p.Asked.Decimal()),
		},
	}
}

func (f *intentFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) { return f.answer(r, body) })
}

// wrong refuses undocumented requests.
func (f *intentFake) wrong(format string, args ...any) (int, any) {
	f.Complain(format, args...)
	return refuse(http.StatusBadRequest, "Invalid Body")
}

// refuse is an error of the calls about payouts.
func refuse(status int, code string) (int, any) {
	return status, map[string]any{"code": code, "message": strings.ToLower(code)}
}

func (f *intentFake) answer(r *http.Request, body []byte) (int, any) {
	if r.Header.Get("Authorization") != "Bearer "+testToken {
		return fail(http.StatusUnauthorized, "invalid_token", 401)
	}
	id, one := strings.CutPrefix(r.URL.Path, "/v1/transaction-intents/")
	switch {
	case r.Method == http.MethodPost && id == "process":
		return f.process(r, body)
	case r.Method != http.MethodGet || !one || len(body) > 0 || r.URL.RawQuery != "":
		return f.wrong("no route %s %s", r.Method, r.URL)
	case f.Coming == payouttest.Barred:
		return fail(http.StatusForbidden, "forbidden", 403)
	case !intentForm.MatchString(id):
		return refuse(http.StatusBadRequest, "ID format invalid")
	}
	for _, p := range append(f.Payouts, byHand) {
		if p.id == id {
			return http.StatusOK, f.show(p)
		}
	}
	return refuse(http.StatusNotFound, "not_found")
}

func (f *intentFake) process(r *http.Request, body []byte) (int, any) {
	if (r.Header.Get("X-Test-Token") == "true") == f.live {
		return f.wrong("a call with X-Test-Token: %q", r.Header.Get("X-Test-Token"))
	}
	signature, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Signature"))
	signed := err == nil && ed25519.Verify(testSigner.Public().(ed25519.PublicKey), body, signature)
	enforced := r.Header.Get("X-Enforce-Signature")
	if enforced != fmt.Sprint(signed) || f.live && !signed || !signed && r.Header.Get("X-Signature") != "" {
		return f.wrong("a payout with the signature %q, enforced %q", r.Header.Get("X-Signature"), enforced)
	}
	key := r.Header.Get("X-Idempotency-Key")
	if !uuidForm.MatchString(key) || r.Header.Get("Content-Type") != "application/json" {
		return f.wrong("a payout with the key %q and the type %q", key, r.Header.Get("Content-Type"))
	}
	order, why := f.read(body)
	if why != "" {
		return f.wrong("a payout with %s: %s", why, body)
	}
	before, again := f.Of(order.Reference)
	for _, p := range f.Payouts {
		if (p.key == key) != (p.Reference == order.Reference) || p.key == key && p.body != string(body) {
			return f.wrong("the key %s has two payouts, or a payout two keys", key)
		}
	}
	switch {
	case again && f.repeated == "first":
		return http.StatusOK, before.first
	case again && f.repeated == "locked":
		return refuse(http.StatusFailedDependency, "Resource locked")
	case again && f.repeated == "taken":
		return refuse(http.StatusBadRequest, "Invalid external_reference")
	case again:
		return http.StatusOK, f.show(before)
	case f.Coming == payouttest.Barred && f.barred != "":
		return refuse(http.StatusBadRequest, f.barred)
	case f.Coming == payouttest.Barred:
		return fail(http.StatusForbidden, "forbidden", 403)
	case f.says != "":
		return refuse(http.StatusBadRequest, f.says)
	}
	f.serial++
	order.id, order.key, order.body = fmt.Sprintf("1108917506-01GGTH198RP0K71H%010d", f.serial), key, string(body)
	p := f.Enter(order)
	if f.Begin(p); f.Coming == payouttest.NoFloat {
		p.Stage, p.Why = payouttest.Failed, payouttest.NoFloat
	}
	p.first = f.show(p)
	return http.StatusAccepted, p.first
}

// tell returns a notification about an id.
func (f *intentFake) tell(kind, id, status string) provider.Notification {
	f.serial++
	return providertest.Notify("application/json", providertest.JSON(map[string]any{
		"action": kind + ".updated", "api_version": "v1", "data": map[string]any{"id": id}, "date_created": "2022-11-01T17:19:53.915-04:00",
		"id": fmt.Sprint(103_686_918_000 + f.serial), "last_updated": "2022-11-01T17:19:55.001-04:00", "status": status, "type": kind,
	}))
}

func (f *intentFake) Notify(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	p := f.Must(reference)
	status, _ := f.word(p)
	return f.tell("transaction_intent", p.id, status)
}

func (f *intentFake) Forge(reference string) map[string]provider.Notification {
	f.Lock()
	defer f.Unlock()
	p := f.Must(reference)
	flat := providertest.JSON(map[string]any{"id": p.id, "external_reference": reference, "status": "processed", "status_detail": "approved"})
	return map[string]provider.Notification{
		"of our payout, with another status":   f.tell("transaction_intent", p.id, "processed"),
		"in the form without a type":           providertest.Notify("application/json", flat),
		"of another customer's payout":         f.tell("transaction_intent", "999-01GGTH198RP0K71H133EK9BJAT", "processed"),
		"of an id with a path":                 f.tell("transaction_intent", p.id+"/../process", "processed"),
		"of an id with a query string":         f.tell("transaction_intent", p.id+"?status=processed", "processed"),
		"of our payout, as if it were another": f.tell("payment", p.id, "approved"),
	}
}

func (f *intentFake) Other() map[string]provider.Notification {
	f.Lock()
	defer f.Unlock()
	return map[string]provider.Notification{
		"a payment":                    f.tell("payment", "5000000001", "approved"),
		"a payout of the panel":        f.tell("transaction_intent", byHand.id, "new"),
		"a payout that does not exist": f.tell("transaction_intent", "1108917506-00000000000000000000000000", "new"),
		"an id of another form":        f.tell("transaction_intent", "26722", "new"),
		"an empty id":                  f.tell("transaction_intent", "", "new"),
		"a transaction of a batch":     providertest.Notify("application/json", []byte(`{"id":"736669","external_reference":"000197","status":"created","payout":{"id":"26722","external_reference":"000197"}}`)),
		"an empty object":              providertest.Notify("application/json", []byte(`{}`)),
		"an unknown format":            providertest.Notify("application/json", []byte(`{"id":"1","type":"test"}`)),
	}
}
