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

// tellDispute sends a notification of the first provider about a payment. fields are as in
// harness.NoticeBody.
func tellDispute(t *testing.T, o harness.Client, payment, fields string) {
	t.Helper()
	o.Notify(t, "sandbox-1", harness.NoticeBody(payment, fields)).Is(t, http.StatusOK, `{"ok":true}`)
}

// disputes lists a payment's chargeback claims, sorted: status, amount, what is frozen, fee, and the
// status of the claim before.
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

// Each dispute of a payment is a claim with its own amount. Each instance of a dispute is another
// claim.
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
					t.Errorf("the balance has %s, want %s", got, c.funds)
				}
				if c.events != "" {
					want := strings.Fields(c.events)
					list := endpoint.About(t, payment, len(want))
					got, followed := strings.Fields(harness.Types(list)), ""
					slices.Sort(got)
					slices.Sort(want)
					if !slices.Equal(got, want) {
						t.Errorf("the endpoint got %q, want %q", got, want)
					}
					for _, d := range list {
						if before := d.Text("data.object.previousClaimId"); before != "<nil>" {
							followed = before
						}
					}
					if strings.Contains(c.claims, "after") != (followed != "") {
						t.Errorf("the events' previousClaimId is %q, want one exactly if a claim follows another", followed)
					}
				}
				if got := o.Status(t, payment); got != "chargeback" {
					t.Errorf("the payment is %s, want chargeback", got)
				}
				if w := harness.Warnings(t, o); strings.Contains(w, "unmatched") {
					t.Errorf("the balance warns of %s, want no unmatched confirmation", w)
				}
			})
		}
	})
}

// A dispute whose amount contradicts the books freezes the whole payment, and the balance warns.
func TestDisputeThatContradictsTheBooksWarns(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		for _, n := range []string{
			`"status":"disputed","dispute":"dp_1","amount":"100.01","currency":"USD"`, `"status":"disputed","dispute":"dp_1","amount":"5","currency":"BRL"`,
		} {
			o := s.NewShop(t)
			payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
			tellDispute(t, o, payment, n)
			if got := disputes(t, o, payment); got != "needs_evidence 100 holds 100 fee 20" {
				t.Errorf("%s: the claims are %s, want one of the whole payment", n, got)
			}
			if w := harness.Warnings(t, o); !strings.Contains(w, "unmatched_confirmation 100") {
				t.Errorf("%s: the balance warns of %q, want an unmatched confirmation", n, w)
			}
		}
	})
}

// A dispute in full proves that the shopper was charged, even if the payment is not completed yet. A
// dispute of a part waits until the payment is.
func TestDisputeBeforeCompletion(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const part, all = `"status":"disputed","dispute":"dp_1","amount":"45.25","currency":"MXN"`, `"status":"disputed","dispute":"dp_1","amount":"183.5","currency":"MXN"`
		proved := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		tellDispute(t, o, proved, all)
		if got := disputes(t, o, proved); got != "needs_evidence 10 holds 10 fee 20" || o.Status(t, proved) != "chargeback" {
			t.Errorf("disputed in full, the claims are %s and the payment is %s", got, o.Status(t, proved))
		}
		held := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		tellDispute(t, o, held, part)
		if w := harness.Warnings(t, o); o.Status(t, held) != "pending" || !strings.Contains(w, "unmatched_confirmation 10") || disputes(t, o, held) != "" {
			t.Errorf("disputed in part, the payment is %s, the claims are %q and the balance warns of %q", o.Status(t, held), disputes(t, o, held), w)
		}
		tellDispute(t, o, held, harness.Paid50)
		if got := disputes(t, o, held); got != "needs_evidence 2.46 holds 2.46 fee 20" || o.Status(t, held) != "chargeback" {
			t.Errorf("once it is paid, the claims are %s and the payment is %s", got, o.Status(t, held))
		}
		// If the dispute has no amount, it proves nothing, and the provider is queried.
		unknown := o.Post(t, "/payments", `{"amount":10.96,"paymentMethodId":"sbx_card"}`).Want(t, http.StatusCreated).Text(t, "transactionId")
		s.Upstream(t, sandbox.Timeout, sandbox.NoFault, sandbox.NoFault)
		tellDispute(t, o, unknown, `"status":"disputed","dispute":"dp_1"`)
		s.Upstream(t, sandbox.NoFault, sandbox.NoFault, sandbox.NoFault)
		if got := disputes(t, o, unknown); got != "needs_evidence 10.96 holds 10.96 fee 20" || o.Status(t, unknown) != "chargeback" {
			t.Errorf("after the provider's answer the claims are %s and the payment is %s", got, o.Status(t, unknown))
		}
	})
}

// If late money is disputed, the issuer decides about it, and not the operator. So nobody is paid
// twice.
func TestDisputeOfLateMoney(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		for ruling, want := range map[string]string{
			"lost": "-20.00 to spend, 0.00 frozen, 0.00 in reserve", "won": "-10.00 to spend, 0.00 frozen, 0.00 in reserve", // with the fee of 20
		} {
			o := s.NewShop(t)
			payment := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
			s.Notify(t, "sandbox-1", harness.NoticeBody(payment, `"status":"declined"`)).Want(t, http.StatusOK)
			tellDispute(t, o, payment, harness.Paid50)
			inquiry := o.Get(t, "/claims?type=inquiry&transactionId="+payment).Text(t, "data.0.id")
			tellDispute(t, o, payment, `"status":"disputed","dispute":"dp_1"`)
			if got := disputes(t, o, payment); got != "needs_evidence 10 holds 10 fee 20" || harness.ClaimStatus(t, o, inquiry) != "rejected" {
				t.Errorf("during the dispute the claims are %s and the inquiry is %s, want rejected", got, harness.ClaimStatus(t, o, inquiry))
			}
			if _, err := harness.DecideClaim(s.App, inquiry, pay.Approve, ""); err == nil {
				t.Error("the shopper was refunded during the dispute")
			}
			tellDispute(t, o, payment, `"status":"dispute_`+ruling+`","dispute":"dp_1"`)
			if got := funds(t, o); got != want || o.Status(t, payment) != "failed" {
				t.Errorf("%s: the balance has %s, want %s; the payment is %s, want failed", ruling, got, want, o.Status(t, payment))
			}
		}
	})
}

// Notifications of a dispute, of its end, and refunds come at once, each many times. The claims are
// the same as if they came one after another.
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
				t.Errorf("after many openings at once the claims are %s", got)
			}
			payment = o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
			at(func() { tellDispute(t, o, payment, `"status":"disputed","dispute":"dp_1"`) }, func() { tellDispute(t, o, payment, `"status":"dispute_lost","dispute":"dp_1"`) })
			if got := disputes(t, o, payment); got != "approved 100 holds 0 fee 20" {
				t.Errorf("after many openings and ends at once the claims are %s", got)
			}
			rich := s.NewShop(t)
			rich.Create(t, `{"amount":5000,"paymentMethodId":"sbx_card"}`)
			payment = rich.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
			at(func() { tellDispute(t, rich, payment, `"status":"disputed","dispute":"dp_1"`) }, func() { rich.Refund(t, payment, `{"amount":10}`) })
			tellDispute(t, rich, payment, `"status":"dispute_lost","dispute":"dp_1"`)
			rich.Refund(t, payment, `{"amount":1}`).Refused(t, "409 conflict_state conflict_error reason=fully_refunded from=chargeback action=refund")
		}
	})
}

// issuer is a provider that can be queried about a dispute.
type issuer struct {
	*sandbox.Provider
	mu    sync.Mutex  // owns what follows
	says  *pay.Notice // the answer; nil: it does not know
	asked []string    // ids of the disputes
}

func (i *issuer) CanQueryDispute(provider.DisputeRequest) bool { return true }

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

// The service queries open disputes, so that it learns of a ruling whose notification was lost. A
// dispute without a ruling becomes stale.
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
			_, err := a.Claims.Sweep(ctx)
			harness.Must(t, err)
			return disputeOf(t, a.Claims, payment)
		}
		if look(5 * time.Hour); len(bank.asked) != 0 {
			t.Errorf("after 5 hours these disputes were queried: %v, want none", bank.asked)
		}
		if got := look(time.Hour + time.Second); len(bank.asked) != 1 || bank.asked[0] != "dp_1" || got.Status != pay.ClaimNeedsEvidence {
			t.Errorf("after 6 hours these disputes were queried: %v, want dp_1; the claim is %s", bank.asked, got.Status)
		}
		// The merchant sent evidence to the provider itself, so the claim does not expire at the deadline.
		bank.says = &pay.Notice{Dispute: true, Reviewing: true, Stage: "under_review"}
		if got := look(8 * 24 * time.Hour); got.Status != pay.ClaimUnderReview || got.Case.Stage != "under_review" {
			t.Errorf("at the deadline the claim is %s, %s; want under_review", got.Status, got.Case)
		}
		bank.says = nil
		if got := look(9 * 7 * 24 * time.Hour); got.Status != pay.ClaimUnderReview || !got.Stale(c.Now()) || got.DueAt.IsZero() {
			t.Errorf("after two months the claim is %s, due %v; want under_review, stale and due", got.Status, got.DueAt)
		}
		bank.says = &pay.Notice{Ruling: pay.DisputeWon}
		if got := look(8 * 24 * time.Hour); got.Status != pay.ClaimRejected || got.ID != claim.ID {
			t.Errorf("once the provider says that the dispute is won, the claim is %s, want rejected", got.Status)
		}
		harness.Sound(t, a, log)
	})
}

// The operator can resolve a dispute without a ruling. Only the operator sees the provider's own
// words.
func TestOperatorEndsADispute(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		tellDispute(t, o, payment, `"status":"disputed","dispute":"dp_1","stage":"first_chargeback"`)
		claim := o.Get(t, "/claims?transactionId="+payment).Text(t, "data.0.id")
		o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		ruled, err := harness.DecideClaim(s.App, claim, pay.Approve, "by the bank's letter")
		harness.Must(t, err)
		if text := ruled.String(); ruled.Status != pay.ClaimApproved || !strings.Contains(text, "dispute dp_1, at sandbox-1, stage first_chargeback") {
			t.Errorf("the operator sees %s", text)
		}
		if r := o.Get(t, "/claims/"+claim); strings.Contains(r.String(), "first_chargeback") || strings.Contains(r.String(), "dp_1") {
			t.Errorf("the merchant sees the provider's words: %s", r)
		}
	})
}

func (i *issuer) send(t *testing.T, to interface {
	Notify(context.Context, string, provider.Notification) error
}, payment, fields string) {
	t.Helper()
	body := []byte(harness.NoticeBody(payment, fields))
	harness.Must(t, to.Notify(ctx, "sandbox-1", provider.Notification{Header: http.Header{sandbox.SignatureHeader: {i.Signature(body)}}, Body: body}))
}

func disputeOf(t *testing.T, a interface {
	AnyList(context.Context, pay.ClaimStatus, pay.ClaimKind, int) ([]pay.Claim, error)
}, payment string) pay.Claim {
	t.Helper()
	list, err := a.AnyList(ctx, "", pay.ChargebackClaim, 10)
	harness.Must(t, err)
	for _, c := range list {
		if c.Payment == payment {
			return c
		}
	}
	t.Fatalf("the payment %s has no dispute", payment)
	return pay.Claim{}
}
