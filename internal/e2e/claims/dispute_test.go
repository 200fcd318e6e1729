package claims

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

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
