package claims

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// tellDispute lets the first provider tell of a payment's dispute.
func tellDispute(t *testing.T, o harness.Client, payment, fields string) {
	t.Helper()
	o.Notify(t, "sandbox-1", harness.Note(payment, fields)).Is(t, http.StatusOK, `{"ok":true}`)
}

// disputes is how a payment's chargeback claims stand, in order of the words.
func disputes(t *testing.T, o harness.Client, payment string) string {
	t.Helper()
	r := o.Get(t, "/claims?type=chargeback&transactionId="+payment).Want(t, http.StatusOK)
	list, _ := r.At(t, "data")
	statuses := map[any]any{}
	for _, c := range list.([]any) {
		statuses[c.(map[string]any)["id"]] = c.(map[string]any)["status"]
	}
	var all []string
	for _, claim := range list.([]any) {
		c := claim.(map[string]any)
		text := fmt.Sprint(c["status"], " ", c["amountUsd"], " holds ", c["frozenUsd"], " fee ", c["feeUsd"])
		if before := c["previousClaimId"]; before != nil {
			text += fmt.Sprint(" after ", statuses[before])
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// A dispute is a claim of its own amount, however many there are, and each instance
// is another one.
func TestEachDisputeIsAClaim(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		endpoint := s.Receive(t)
		for name, c := range map[string]struct {
			news          []string
			claims, funds string
			events        string
		}{
			"a tenth": {[]string{`"status":"disputed","dispute":"dp_1","amount":"10","currency":"USD"`},
				"needs_evidence 10 holds 10 fee 20", "60.51 to spend, 10.00 frozen, 5.00 in reserve", "chargeback.created claim.opened"},
			"a tenth, lost": {[]string{`"status":"disputed","dispute":"dp_1","amount":"10","currency":"USD"`, `"status":"dispute_lost","dispute":"dp_1"`},
				"approved 10 holds 0 fee 20", "60.51 to spend, 0.00 frozen, 5.00 in reserve", "chargeback.created claim.opened claim.resolved"},
			"two": {[]string{`"status":"disputed","dispute":"dp_1","amount":"10","currency":"USD"`, `"status":"disputed","dispute":"dp_2","amount":"30","currency":"USD"`, `"status":"dispute_won","dispute":"dp_1"`},
				"needs_evidence 30 holds 30 fee 20, rejected 10 holds 0 fee 20", "20.51 to spend, 30.00 frozen, 5.00 in reserve", ""},
			"lost, never opened": {[]string{`"status":"dispute_lost","dispute":"dp_1"`, `"status":"disputed","dispute":"dp_1"`},
				"approved 100 holds 0 fee 20", "-29.49 to spend, 0.00 frozen, 5.00 in reserve", "chargeback.created claim.opened claim.resolved"},
			"won, never opened": {[]string{`"status":"dispute_won","dispute":"dp_1"`, `"status":"disputed","dispute":"dp_1"`},
				"rejected 100 holds 0 fee 20", "70.51 to spend, 0.00 frozen, 5.00 in reserve", "chargeback.created claim.opened claim.resolved"},
			"a second instance": {[]string{`"status":"disputed","dispute":"dp_1"`, `"status":"dispute_won","dispute":"dp_1"`, `"status":"dispute_lost","dispute":"dp_1","instance":2`},
				"approved 100 holds 0 fee 0 after rejected, rejected 100 holds 0 fee 20", "-29.49 to spend, 0.00 frozen, 5.00 in reserve", ""},
			"lost, and won after all": {[]string{`"status":"disputed","dispute":"dp_1"`, `"status":"dispute_lost","dispute":"dp_1"`, `"status":"dispute_won","dispute":"dp_1"`},
				"approved 100 holds 0 fee 20, rejected 100 holds 0 fee 0 after approved", "70.51 to spend, 0.00 frozen, 5.00 in reserve",
				"chargeback.created claim.opened claim.resolved chargeback.created claim.opened claim.resolved"},
		} {
			t.Run(name, func(t *testing.T) {
				o := s.NewShop(t)
				o.Subscribe(t, endpoint.URL, `"chargeback.created","claim.opened","claim.resolved"`)
				payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
				for _, n := range c.news {
					tellDispute(t, o, payment, n)
				}
				if got := disputes(t, o, payment); got != c.claims {
					t.Errorf("the claims are %q, want %q", got, c.claims)
				}
				if got := funds(t, o); got != c.funds {
					t.Errorf("there is %s, want %s", got, c.funds)
				}
				if c.events != "" {
					want := strings.Fields(c.events)
					list := endpoint.About(t, payment, len(want))
					got, followed := strings.Fields(harness.Types(list)), ""
					slices.Sort(got)
					slices.Sort(want)
					if !slices.Equal(got, want) {
						t.Errorf("the endpoint was told %q, want %q", got, want)
					}
					for _, d := range list {
						if before := d.Text("data.object.previousClaimId"); before != "<nil>" {
							followed = before
						}
					}
					if strings.Contains(c.claims, "after") != (followed != "") {
						t.Errorf("the events name %q as the claim before", followed)
					}
				}
				if got := o.Status(t, payment); got != "chargeback" {
					t.Errorf("the payment is %s", got)
				}
				if w := harness.Warnings(t, o); strings.Contains(w, "unmatched") {
					t.Errorf("the balance warns of %s", w)
				}
			})
		}
	})
}

// What contradicts the books freezes what there is, and waits for the operator.
func TestDisputeThatContradictsTheBooksWarns(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		for _, n := range []string{
			`"status":"disputed","dispute":"dp_1","amount":"100.01","currency":"USD"`, `"status":"disputed","dispute":"dp_1","amount":"5","currency":"BRL"`,
		} {
			o := s.NewShop(t)
			payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
			tellDispute(t, o, payment, n)
			if got := disputes(t, o, payment); got != "needs_evidence 100 holds 100 fee 20" {
				t.Errorf("%s: %s", n, got)
			}
			if w := harness.Warnings(t, o); !strings.Contains(w, "unmatched_confirmation 100") {
				t.Errorf("%s: the balance warns of %q", n, w)
			}
		}
	})
}

// A dispute of a payment whose outcome is not known says that the shopper was charged.
func TestDisputeBeforeCompletion(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const part, all = `"status":"disputed","dispute":"dp_1","amount":"45.25","currency":"MXN"`, `"status":"disputed","dispute":"dp_1","amount":"183.5","currency":"MXN"`
		proved := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		tellDispute(t, o, proved, all)
		if got := disputes(t, o, proved); got != "needs_evidence 10 holds 10 fee 20" || o.Status(t, proved) != "chargeback" {
			t.Errorf("disputed in full: %s, and the payment is %s", got, o.Status(t, proved))
		}
		held := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		tellDispute(t, o, held, part)
		if w := harness.Warnings(t, o); o.Status(t, held) != "pending" || !strings.Contains(w, "unmatched_confirmation 10") || disputes(t, o, held) != "" {
			t.Errorf("disputed in part: %s with %q, warns of %q", o.Status(t, held), disputes(t, o, held), w)
		}
		tellDispute(t, o, held, harness.Paid50)
		if got := disputes(t, o, held); got != "needs_evidence 2.46 holds 2.46 fee 20" || o.Status(t, held) != "chargeback" {
			t.Errorf("once it is paid: %s, and the payment is %s", got, o.Status(t, held))
		}
		// The provider is asked where the dispute alone proves nothing.
		unknown := o.Post(t, "/payments", `{"amount":10.96,"paymentMethodId":"sbx_card"}`).Want(t, http.StatusCreated).Text(t, "transactionId")
		s.Upstream(t, sandbox.Timeout, sandbox.NoFault, sandbox.NoFault)
		tellDispute(t, o, unknown, `"status":"disputed","dispute":"dp_1"`)
		s.Upstream(t, sandbox.NoFault, sandbox.NoFault, sandbox.NoFault)
		if got := disputes(t, o, unknown); got != "needs_evidence 10.96 holds 10.96 fee 20" || o.Status(t, unknown) != "chargeback" {
			t.Errorf("after the provider's answer: %s, and the payment is %s", got, o.Status(t, unknown))
		}
	})
}

// Late money that is disputed is the issuer's to decide on; nobody is paid twice.
func TestDisputeOfLateMoney(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		for ruling, want := range map[string]string{
			"lost": "-20.00 to spend, 0.00 frozen, 0.00 in reserve", "won": "-10.00 to spend, 0.00 frozen, 0.00 in reserve", // with the fee of 20
		} {
			o := s.NewShop(t)
			payment := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
			s.Notify(t, "sandbox-1", harness.Note(payment, `"status":"declined"`)).Want(t, http.StatusOK)
			tellDispute(t, o, payment, harness.Paid50)
			inquiry := o.Get(t, "/claims?type=inquiry&transactionId="+payment).Text(t, "data.0.id")
			tellDispute(t, o, payment, `"status":"disputed","dispute":"dp_1"`)
			if got := disputes(t, o, payment); got != "needs_evidence 10 holds 10 fee 20" || harness.ClaimStatus(t, o, inquiry) != "rejected" {
				t.Errorf("disputed: %s, the inquiry is %s", got, harness.ClaimStatus(t, o, inquiry))
			}
			if _, err := s.App.Claims.RuleClaim(ctx, inquiry, pay.Approve, ""); err == nil {
				t.Error("the shopper was refunded beside the dispute")
			}
			tellDispute(t, o, payment, `"status":"dispute_`+ruling+`","dispute":"dp_1"`)
			if got := funds(t, o); got != want || o.Status(t, payment) != "failed" {
				t.Errorf("%s: there is %s, want %s; the payment is %s", ruling, got, want, o.Status(t, payment))
			}
		}
	})
}

// The same opening many times, an opening and its end, a dispute and a refund: all at
// once.
func TestDisputesAtOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		at := func(jobs ...func()) {
			var all sync.WaitGroup
			for _, job := range jobs {
				for range 6 {
					all.Go(job)
				}
			}
			all.Wait()
		}
		for range 4 {
			payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
			at(func() { tellDispute(t, o, payment, `"status":"disputed","dispute":"dp_1"`) })
			if got := disputes(t, o, payment); got != "needs_evidence 100 holds 100 fee 20" {
				t.Errorf("opened at once: %s", got)
			}
			payment = o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
			at(func() { tellDispute(t, o, payment, `"status":"disputed","dispute":"dp_1"`) }, func() { tellDispute(t, o, payment, `"status":"dispute_lost","dispute":"dp_1"`) })
			if got := disputes(t, o, payment); got != "approved 100 holds 0 fee 20" {
				t.Errorf("opened and ended at once: %s", got)
			}
			rich := s.NewShop(t)
			rich.Create(t, `{"amount":5000,"paymentMethodId":"sbx_card"}`)
			payment = rich.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
			at(func() { tellDispute(t, rich, payment, `"status":"disputed","dispute":"dp_1"`) }, func() { rich.Refund(t, payment, `{"amount":10}`) })
			tellDispute(t, rich, payment, `"status":"dispute_lost","dispute":"dp_1"`)
			rich.Refund(t, payment, `{"amount":1}`).Refused(t, "409 conflict_state conflict_error from=chargeback action=refund")
		}
	})
}

// issuer is a provider that can be asked how a dispute stands.
type issuer struct {
	*sandbox.Provider
	mu    sync.Mutex // owns what follows
	says  *pay.Notice
	asked []string
}

func (i *issuer) QueryDispute(_ context.Context, r provider.DisputeRequest) (pay.Notice, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = append(i.asked, r.ID)
	if i.says == nil {
		return pay.Notice{}, false
	}
	n := *i.says
	n.ID, n.Reference, n.DisputeID = "answer", r.Charge.Reference, r.ID
	return n, true
}

// A ruling whose notification was lost is found out by asking, and a dispute that
// nobody rules on is told of.
func TestOpenDisputeIsAskedAbout(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		c, log := &harness.Clock{}, &harness.Faults{}
		bank := &issuer{Provider: sandbox.New("sandbox-1", func() []byte { return []byte("secret") })}
		a := harness.Node(t, database, c, bank, log)
		_, payment := harness.PaidCard(t, a)
		bank.send(t, a.Notices, payment, `"status":"disputed","dispute":"dp_1"`)
		claim := disputeOf(t, a.Claims, payment)
		look := func(after time.Duration) pay.Claim {
			t.Helper()
			c.Advance(after)
			_, err := a.Claims.SweepClaims(ctx)
			harness.Must(t, err)
			return disputeOf(t, a.Claims, payment)
		}
		if look(5 * time.Hour); len(bank.asked) != 0 {
			t.Errorf("it was asked about after 5 hours: %v", bank.asked)
		}
		if got := look(time.Hour + time.Second); len(bank.asked) != 1 || bank.asked[0] != "dp_1" || got.Status != pay.ClaimNeedsEvidence {
			t.Errorf("after 6 hours it was asked about %v, and is %s", bank.asked, got.Status)
		}
		// The evidence was handed in at the provider: the deadline ends nothing.
		bank.says = &pay.Notice{Dispute: true, Reviewing: true, Stage: "under_review"}
		if got := look(8 * 24 * time.Hour); got.Status != pay.ClaimUnderReview || got.Case.Stage != "under_review" {
			t.Errorf("at the deadline it is %s, %s", got.Status, got.Case)
		}
		bank.says = nil
		if got := look(9 * 7 * 24 * time.Hour); got.Status != pay.ClaimUnderReview || !got.Stale(c.Now()) || got.DueAt.IsZero() {
			t.Errorf("after two months it is %s, looked at again %v", got.Status, got.DueAt)
		}
		bank.says = &pay.Notice{Ruling: pay.DisputeWon}
		if got := look(8 * 24 * time.Hour); got.Status != pay.ClaimRejected || got.ID != claim.ID {
			t.Errorf("once the provider says that it was won it is %s", got.Status)
		}
		harness.Sound(t, a, log)
	})
}

// The operator has the last word on a dispute that nobody rules on.
func TestOperatorEndsADispute(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		tellDispute(t, o, payment, `"status":"disputed","dispute":"dp_1","stage":"first_chargeback"`)
		claim := o.Get(t, "/claims?transactionId="+payment).Text(t, "data.0.id")
		o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		ruled, err := s.App.Claims.RuleClaim(ctx, claim, pay.Approve, "by the bank's letter")
		harness.Must(t, err)
		if text := ruled.String(); ruled.Status != pay.ClaimApproved || !strings.Contains(text, "dispute dp_1, at sandbox-1, stage first_chargeback") {
			t.Errorf("the operator reads %s", text)
		}
		if r := o.Get(t, "/claims/"+claim); strings.Contains(r.String(), "first_chargeback") || strings.Contains(r.String(), "dp_1") {
			t.Errorf("the merchant reads the provider's words: %s", r)
		}
	})
}

func (i *issuer) send(t *testing.T, to interface {
	Notify(context.Context, string, provider.Notification) error
}, payment, fields string) {
	t.Helper()
	body := []byte(harness.Note(payment, fields))
	harness.Must(t, to.Notify(ctx, "sandbox-1", provider.Notification{Header: http.Header{sandbox.SignatureHeader: {i.Signature(body)}}, Body: body}))
}

func disputeOf(t *testing.T, a interface {
	AnyClaims(context.Context, pay.ClaimStatus, pay.ClaimKind, int) ([]pay.Claim, error)
}, payment string) pay.Claim {
	t.Helper()
	list, err := a.AnyClaims(ctx, "", pay.ChargebackClaim, 10)
	harness.Must(t, err)
	for _, c := range list {
		if c.Payment == payment {
			return c
		}
	}
	t.Fatalf("there is no dispute of %s", payment)
	return pay.Claim{}
}
