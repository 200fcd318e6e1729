package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func simulated() *sandbox.Provider {
	return sandbox.New("sandbox-1", func() []byte { return []byte("secret") })
}

func card(cents int64) provider.Request {
	return provider.Request{Reference: "X-1", Amount: money.New(cents, money.USD), Local: money.New(cents, money.USD), Method: "card", Sync: true, Created: noon, Now: noon}
}

// The cents of the amount are the ISO 8583 response code (SBX-10).

// read reads a notification of one charge.
func read(p *sandbox.Provider, n provider.Notification) (pay.Notice, error) {
	list, err := p.Notices(context.Background(), n)
	if err != nil {
		return pay.Notice{}, err
	}
	return list[0], nil
}

func TestCardAnswersByTheCents(t *testing.T) {
	for cents, want := range map[int64]pay.Outcome{
		1000: {Kind: pay.Approved},
		1005: {Kind: pay.Declined, Code: problem.CardDeclined, Decline: "do_not_honor"},
		1051: {Kind: pay.Declined, Code: problem.InsufficientFunds},
		1054: {Kind: pay.Declined, Code: problem.ExpiredCard},
		1059: {Kind: pay.Declined, Code: problem.FraudBlocked},
		1065: {Kind: pay.Awaiting, Code: problem.ThreeDSRequired},
		1091: {Kind: pay.Unavailable},
		1096: {Kind: pay.Unknown},
	} {
		got := simulated().Charge(context.Background(), card(cents))
		if got.Kind != want.Kind || got.Code != want.Code || want.Decline != "" && got.Decline != want.Decline {
			t.Errorf("%d cents: %+v, want %+v", cents, got, want)
		}
	}
}

// A query reports the result of the charge, even if the charge did not answer.
func TestQueryAgreesWithCharge(t *testing.T) {
	p := simulated()
	for _, cents := range []int64{1000, 1005, 1051, 1065} {
		charged, asked := p.Charge(context.Background(), card(cents)), p.Query(context.Background(), card(cents))
		if charged.Kind != asked.Kind || charged.Code != asked.Code {
			t.Errorf("%d cents: charged %s %s, asked %s %s", cents, charged.Kind, charged.Code, asked.Kind, asked.Code)
		}
	}
	if asked := p.Query(context.Background(), card(1096)); asked.Kind != pay.Approved {
		t.Errorf("the charge that did not answer: %s, want approved", asked.Kind)
	}
}

// Simulated results are marked, and only those. An action in the create call continues in the charge, and
// slow_payment, which ends by itself, is marked when it ends.
func TestSimulatedResultsAreMarked(t *testing.T) {
	for name, c := range map[string]struct {
		script pay.Script
		now    time.Time
		kind   pay.OutcomeKind
		played bool
	}{
		"a card":                {pay.Script{}, noon, pay.Approved, false},
		"a strict card":         {pay.Script{Strict: true}, noon, pay.Awaiting, false},
		"an action":             {pay.Script{Action: "paid"}, noon, pay.Awaiting, true},
		"a slow payment":        {pay.Script{Action: sandbox.SlowPayment}, noon, pay.Awaiting, false},
		"a slow payment is due": {pay.Script{Action: sandbox.SlowPayment}, noon.Add(sandbox.SlowAfter), pay.Approved, true},
	} {
		asked := card(1000)
		asked.Script, asked.Now = c.script, c.now
		if o := simulated().Charge(context.Background(), asked); o.Kind != c.kind || o.Played != c.played {
			t.Errorf("%s: %s, played %t, want %s, %t", name, o.Kind, o.Played, c.kind, c.played)
		}
	}
	p := simulated()
	for _, status := range []string{"paid", "disputed"} {
		for _, played := range []bool{true, false} {
			n, err := read(p, p.Send(sandbox.Notification{ID: "n", Reference: "X-1", Status: status, Amount: "10", Currency: "USD", Simulated: played})[0])
			if err != nil || n.Outcome.Played != played {
				t.Errorf("%s: played %t, want %t: %v", status, n.Outcome.Played, played, err)
			}
		}
	}
}

func TestOnlyOurOwnNotificationsAreRead(t *testing.T) {
	p := simulated()
	n := sandbox.Notification{ID: "n", Reference: "X-1", Status: "paid", Amount: "10", Currency: "USD"}
	sent := p.Send(n)[0]
	if notice, err := read(p, sent); err != nil || notice.Outcome.Local != money.New(1000, money.USD) {
		t.Errorf("own notification: %+v, %v", notice, err)
	}
	for name, c := range map[string]struct {
		header http.Header
		body   []byte
	}{
		"unsigned":      {http.Header{}, sent.Body},
		"altered":       {sent.Header, append([]byte(" "), sent.Body...)},
		"somebody else": {sandbox.New("sandbox-2", func() []byte { return []byte("other") }).Send(n)[0].Header, sent.Body},
	} {
		if _, err := read(p, provider.Notification{Header: c.header, Body: c.body}); !errors.Is(err, provider.ErrUnsigned) {
			t.Errorf("%s: %v, want ErrUnsigned", name, err)
		}
	}
}

func TestFaultsDoWhatTheySay(t *testing.T) {
	p := simulated()
	n := sandbox.Notification{ID: "n", Reference: "X-1", Status: "paid", Amount: "10", Currency: "USD"}
	for fault, kind := range map[sandbox.Fault]pay.OutcomeKind{
		sandbox.Decline: pay.Declined, sandbox.Error: pay.Errored, sandbox.Timeout: pay.Unknown, sandbox.Down: pay.Unavailable,
	} {
		if err := p.SetFault(fault); err != nil {
			t.Fatal(err)
		}
		if got := p.Charge(context.Background(), card(1000)); got.Kind != kind {
			t.Errorf("%s: charge %s, want %s", fault, got.Kind, kind)
		}
	}
	for fault, count := range map[sandbox.Fault]int{sandbox.Duplicate: 2, sandbox.OutOfOrder: 2, sandbox.WrongAmount: 1, sandbox.BadSignature: 1} {
		if err := p.SetFault(fault); err != nil {
			t.Fatal(err)
		}
		sent := p.Send(n)
		notice, err := read(p, sent[0])
		if len(sent) != count || (err != nil) != (fault == sandbox.BadSignature) {
			t.Errorf("%s: %d notifications, the first %v", fault, len(sent), err)
		}
		if fault == sandbox.WrongAmount && notice.Outcome.Local != money.New(999, money.USD) {
			t.Errorf("%s: %s", fault, notice.Outcome.Local)
		}
	}
	if err := p.SetFault(sandbox.BadSignature); err != nil {
		t.Fatal(err)
	}
	for i := range 2000 { // whatever the right signature begins with
		n.ID = fmt.Sprint("ntf_", i)
		if _, err := read(p, p.Send(n)[0]); err == nil {
			t.Fatalf("notification %s with a bad signature is accepted", n.ID)
		}
	}
	if p.SetFault("nonsense") == nil {
		t.Error("an unknown fault was accepted")
	}
}

// No body, however it is signed, makes the reader panic.
func FuzzNotice(f *testing.F) {
	f.Add([]byte(`{"id":"n","reference":"X-1","status":"paid","amount":"10","currency":"USD"}`))
	f.Add([]byte(`{"id":"n","reference":"X-1","status":"paid","amount":"10","currency":"XXX"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p := simulated()
		if _, err := read(p, provider.Notification{Header: http.Header{sandbox.SignatureHeader: {p.Signature(body)}}, Body: body}); errors.Is(err, provider.ErrUnsigned) {
			t.Error("our own signature was refused")
		}
	})
}
