package e2e

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
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// tell lets the first provider tell of a payment's dispute.
func (o shop) tell(t *testing.T, payment, fields string) {
	t.Helper()
	o.notify(t, "sandbox-1", note(payment, fields)).is(t, http.StatusOK, `{"ok":true}`)
}

// disputes is how a payment's chargeback claims stand, in order of the words.
func (o shop) disputes(t *testing.T, payment string) string {
	t.Helper()
	r := o.get(t, "/claims?type=chargeback&transactionId="+payment).want(t, http.StatusOK)
	list, _ := r.at(t, "data")
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
	each(t, func(t *testing.T, s *service) {
		endpoint := s.receive(t)
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
				o := s.shop(t)
				o.subscribe(t, endpoint.URL, `"chargeback.created","claim.opened","claim.resolved"`)
				payment := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
				for _, n := range c.news {
					o.tell(t, payment, n)
				}
				if got := o.disputes(t, payment); got != c.claims {
					t.Errorf("the claims are %q, want %q", got, c.claims)
				}
				if got := o.funds(t); got != c.funds {
					t.Errorf("there is %s, want %s", got, c.funds)
				}
				if c.events != "" {
					want := strings.Fields(c.events)
					list := endpoint.about(t, payment, len(want))
					got, followed := strings.Fields(types(list)), ""
					slices.Sort(got)
					slices.Sort(want)
					if !slices.Equal(got, want) {
						t.Errorf("the endpoint was told %q, want %q", got, want)
					}
					for _, d := range list {
						if before := d.text("data.object.previousClaimId"); before != "<nil>" {
							followed = before
						}
					}
					if strings.Contains(c.claims, "after") != (followed != "") {
						t.Errorf("the events name %q as the claim before", followed)
					}
				}
				if got := o.status(t, payment); got != "chargeback" {
					t.Errorf("the payment is %s", got)
				}
				if w := o.warnings(t); strings.Contains(w, "unmatched") {
					t.Errorf("the balance warns of %s", w)
				}
			})
		}
	})
}

// What contradicts the books freezes what there is, and waits for the operator.
func TestDisputeThatContradictsTheBooksWarns(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for _, n := range []string{
			`"status":"disputed","dispute":"dp_1","amount":"100.01","currency":"USD"`, `"status":"disputed","dispute":"dp_1","amount":"5","currency":"BRL"`,
		} {
			o := s.shop(t)
			payment := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
			o.tell(t, payment, n)
			if got := o.disputes(t, payment); got != "needs_evidence 100 holds 100 fee 20" {
				t.Errorf("%s: %s", n, got)
			}
			if w := o.warnings(t); !strings.Contains(w, "unmatched_confirmation 100") {
				t.Errorf("%s: the balance warns of %q", n, w)
			}
		}
	})
}

// A dispute of a payment whose outcome is not known says that the shopper was charged.
func TestDisputeBeforeCompletion(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		const part, all = `"status":"disputed","dispute":"dp_1","amount":"45.25","currency":"MXN"`, `"status":"disputed","dispute":"dp_1","amount":"183.5","currency":"MXN"`
		proved := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		o.tell(t, proved, all)
		if got := o.disputes(t, proved); got != "needs_evidence 10 holds 10 fee 20" || o.status(t, proved) != "chargeback" {
			t.Errorf("disputed in full: %s, and the payment is %s", got, o.status(t, proved))
		}
		held := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		o.tell(t, held, part)
		if w := o.warnings(t); o.status(t, held) != "pending" || !strings.Contains(w, "unmatched_confirmation 10") || o.disputes(t, held) != "" {
			t.Errorf("disputed in part: %s with %q, warns of %q", o.status(t, held), o.disputes(t, held), w)
		}
		o.tell(t, held, paid50)
		if got := o.disputes(t, held); got != "needs_evidence 2.46 holds 2.46 fee 20" || o.status(t, held) != "chargeback" {
			t.Errorf("once it is paid: %s, and the payment is %s", got, o.status(t, held))
		}
		// The provider is asked where the dispute alone proves nothing.
		unknown := o.post(t, "/payments", `{"amount":10.96,"paymentMethodId":"sbx_card"}`).want(t, http.StatusCreated).text(t, "transactionId")
		s.upstream(t, sandbox.Timeout, sandbox.NoFault, sandbox.NoFault)
		o.tell(t, unknown, `"status":"disputed","dispute":"dp_1"`)
		s.upstream(t, sandbox.NoFault, sandbox.NoFault, sandbox.NoFault)
		if got := o.disputes(t, unknown); got != "needs_evidence 10.96 holds 10.96 fee 20" || o.status(t, unknown) != "chargeback" {
			t.Errorf("after the provider's answer: %s, and the payment is %s", got, o.status(t, unknown))
		}
	})
}

// Late money that is disputed is the issuer's to decide on; nobody is paid twice.
func TestDisputeOfLateMoney(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for ruling, want := range map[string]string{
			"lost": "-20.00 to spend, 0.00 frozen, 0.00 in reserve", "won": "-10.00 to spend, 0.00 frozen, 0.00 in reserve", // with the fee of 20
		} {
			o := s.shop(t)
			payment := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
			s.notify(t, "sandbox-1", note(payment, `"status":"declined"`)).want(t, http.StatusOK)
			o.tell(t, payment, paid50)
			inquiry := o.get(t, "/claims?type=inquiry&transactionId="+payment).text(t, "data.0.id")
			o.tell(t, payment, `"status":"disputed","dispute":"dp_1"`)
			if got := o.disputes(t, payment); got != "needs_evidence 10 holds 10 fee 20" || o.claimStatus(t, inquiry) != "rejected" {
				t.Errorf("disputed: %s, the inquiry is %s", got, o.claimStatus(t, inquiry))
			}
			if _, err := s.App.Claims.RuleClaim(ctx, inquiry, pay.Approve, ""); err == nil {
				t.Error("the shopper was refunded beside the dispute")
			}
			o.tell(t, payment, `"status":"dispute_`+ruling+`","dispute":"dp_1"`)
			if got := o.funds(t); got != want || o.status(t, payment) != "failed" {
				t.Errorf("%s: there is %s, want %s; the payment is %s", ruling, got, want, o.status(t, payment))
			}
		}
	})
}

// The same opening many times, an opening and its end, a dispute and a refund: all at
// once.
func TestDisputesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
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
			payment := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
			at(func() { o.tell(t, payment, `"status":"disputed","dispute":"dp_1"`) })
			if got := o.disputes(t, payment); got != "needs_evidence 100 holds 100 fee 20" {
				t.Errorf("opened at once: %s", got)
			}
			payment = o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
			at(func() { o.tell(t, payment, `"status":"disputed","dispute":"dp_1"`) }, func() { o.tell(t, payment, `"status":"dispute_lost","dispute":"dp_1"`) })
			if got := o.disputes(t, payment); got != "approved 100 holds 0 fee 20" {
				t.Errorf("opened and ended at once: %s", got)
			}
			rich := s.shop(t)
			rich.create(t, `{"amount":5000,"paymentMethodId":"sbx_card"}`)
			payment = rich.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
			at(func() { rich.tell(t, payment, `"status":"disputed","dispute":"dp_1"`) }, func() { rich.refund(t, payment, `{"amount":10}`) })
			rich.tell(t, payment, `"status":"dispute_lost","dispute":"dp_1"`)
			rich.refund(t, payment, `{"amount":1}`).refused(t, "409 conflict_state conflict_error from=chargeback action=refund")
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
		c, log := &clock{}, &faults{}
		bank := &issuer{Provider: sandbox.New("sandbox-1", func() []byte { return []byte("secret") })}
		a := node(t, database, c, bank, log)
		_, payment := paidCard(t, a)
		bank.send(t, a.Notices, payment, `"status":"disputed","dispute":"dp_1"`)
		claim := disputeOf(t, a.Claims, payment)
		look := func(after time.Duration) pay.Claim {
			t.Helper()
			c.advance(after)
			_, err := a.Claims.SweepClaims(ctx)
			must(t, err)
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
		if got := look(9 * 7 * 24 * time.Hour); got.Status != pay.ClaimUnderReview || !got.Stale(c.now()) || got.DueAt.IsZero() {
			t.Errorf("after two months it is %s, looked at again %v", got.Status, got.DueAt)
		}
		bank.says = &pay.Notice{Ruling: pay.DisputeWon}
		if got := look(8 * 24 * time.Hour); got.Status != pay.ClaimRejected || got.ID != claim.ID {
			t.Errorf("once the provider says that it was won it is %s", got.Status)
		}
		sound(t, a, log)
	})
}

// The operator has the last word on a dispute that nobody rules on.
func TestOperatorEndsADispute(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		payment := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		o.tell(t, payment, `"status":"disputed","dispute":"dp_1","stage":"first_chargeback"`)
		claim := o.get(t, "/claims?transactionId="+payment).text(t, "data.0.id")
		o.post(t, "/claims/"+claim+"/evidence", words).want(t, http.StatusCreated)
		ruled, err := s.App.Claims.RuleClaim(ctx, claim, pay.Approve, "by the bank's letter")
		must(t, err)
		if text := ruled.String(); ruled.Status != pay.ClaimApproved || !strings.Contains(text, "dispute dp_1, at sandbox-1, stage first_chargeback") {
			t.Errorf("the operator reads %s", text)
		}
		if r := o.get(t, "/claims/"+claim); strings.Contains(r.String(), "first_chargeback") || strings.Contains(r.String(), "dp_1") {
			t.Errorf("the merchant reads the provider's words: %s", r)
		}
	})
}

func (i *issuer) send(t *testing.T, to interface {
	Notify(context.Context, string, provider.Notification) error
}, payment, fields string) {
	t.Helper()
	body := []byte(note(payment, fields))
	must(t, to.Notify(ctx, "sandbox-1", provider.Notification{Header: http.Header{sandbox.SignatureHeader: {i.Signature(body)}}, Body: body}))
}

func disputeOf(t *testing.T, a interface {
	AnyClaims(context.Context, pay.ClaimStatus, pay.ClaimKind, int) ([]pay.Claim, error)
}, payment string) pay.Claim {
	t.Helper()
	list, err := a.AnyClaims(ctx, "", pay.ChargebackClaim, 10)
	must(t, err)
	for _, c := range list {
		if c.Payment == payment {
			return c
		}
	}
	t.Fatalf("there is no dispute of %s", payment)
	return pay.Claim{}
}
