package payments

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const whilePaused = "403 forbidden permission_error reason=merchant_paused"

// A merchant that is paused begins nothing new in production: no payment, checkout or choice in one. What is under way
// goes on, a repeated request gets its earlier answer, the sandbox works, and after the pause everything works.
func TestPausedMerchantBeginsNothing(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		u := providertest.NewUpstream(t, "key-1")
		op.OpenAccount(t, "bank-1", u)
		o := op.NewShop(t)
		live, whole, path := o.Production(), o.Whole(t, true), "/merchants/"+o.Merchant.ID
		order := o.PixOrder(t)
		waits, tried := live.Create(t, order, "Idempotency-Key: once"), live.Create(t, strings.TrimSuffix(order, "}")+`,"hostedCheckout":true}`)
		op.TellUpstream(t, u, tried, 1, "declined", "bank-1-hush").Want(t, http.StatusOK)
		token := live.Session(t, harness.CheckoutBody)
		whole.Post(t, "/payments?shopId="+o.Shop.ID, order).Want(t, http.StatusCreated) // its merchant is kept too

		op.Post(t, path+"/pause", `{"reason":""}`).Refused(t, "400 invalid_request invalid_request_error param=reason")
		op.Post(t, path+"/pause", `{}`).Refused(t, "400 missing_field invalid_request_error param=reason issues=reason missing=reason")
		op.Post(t, "/merchants/mer_nobody/pause", `{"reason":"who?"}`).Refused(t, "404 not_found invalid_request_error")
		paused := op.Post(t, path+"/pause", `{"reason":"We wait for your papers"}`).Want(t, http.StatusOK)
		op.Did(t, audit.MerchantPaused, o.Merchant.ID, paused)
		if got := op.Get(t, path).Text(t, "paused"); got != "We wait for your papers" {
			t.Errorf("the merchant is paused for %q", got)
		}

		before := live.Total(t, nil)
		live.Post(t, "/payments", order).Refused(t, whilePaused)
		whole.Post(t, "/payments?shopId="+o.Shop.ID, order).Refused(t, whilePaused)
		live.Post(t, "/checkout/sessions", harness.CheckoutBody).Refused(t, whilePaused)
		pix := harness.Method(t, live, "BR", "pix")
		live.Shopper(token).Choose(t, harness.Choice(pix)).Refused(t, whilePaused)
		_, _, h := op.Browse(t, http.MethodPost, "/checkout/"+token, url.Values{"method": {pix}}.Encode())
		if _, page, _ := op.Visit(t, h.Get("Location")); !strings.Contains(page, "No payment method is available at the moment") {
			t.Errorf("the checkout says nothing about it: %s", page)
		}
		if _, page, _ := op.Visit(t, "/pay/"+tried); strings.Contains(page, "/again") {
			t.Error("the page of a failed payment offers to try again")
		}
		if status, _, h := op.Browse(t, http.MethodPost, "/pay/"+tried+"/again", ""); status != http.StatusSeeOther || !strings.HasPrefix(h.Get("Location"), "/pay/"+tried) {
			t.Errorf("trying again answers %d %s", status, h.Get("Location"))
		}
		if after := live.Total(t, nil); after != before {
			t.Errorf("a pause made of %s payments %s", before, after)
		}

		if again := live.Create(t, order, "Idempotency-Key: once"); again != waits {
			t.Errorf("a repeated request gets %s, not %s", again, waits)
		}
		op.TellUpstream(t, u, waits, 1, "paid", "bank-1-hush").Want(t, http.StatusOK)
		if got := live.Status(t, waits); got != "completed" {
			t.Errorf("a payment that waited is %s after it was paid", got)
		}
		live.Post(t, "/payments/"+waits+"/refund", `{"reason":"requested_by_customer"}`).Want(t, http.StatusOK)
		o.Create(t, harness.Card)
		o.Session(t, harness.CheckoutBody)

		op.Post(t, path+"/resume", "").Want(t, http.StatusOK)
		op.Post(t, "/merchants/mer_nobody/resume", "").Refused(t, "404 not_found invalid_request_error")
		op.Post(t, path+"/resume", "").Want(t, http.StatusOK) // twice changes nothing
		live.Create(t, order)
		live.Shopper(token).Choose(t, harness.Choice(pix)).Want(t, http.StatusCreated)
	})
}

// Payments that race with a pause are taken wholly or refused wholly: whoever was told of a payment has it, and there
// is no other.
func TestPauseRacesWithPayments(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		s.OpenAccount(t, "bank-1", providertest.NewUpstream(t, "key-1"))
		o := s.NewShop(t)
		live, order := o.Production(), o.PixOrder(t)
		var made, refused int
		for round := range 5 {
			var all sync.WaitGroup
			replies, came := make([]harness.Reply, 12), make(chan bool, 12)
			for i := range replies {
				all.Go(func() {
					replies[i] = live.Post(t, "/payments", order)
					came <- true
				})
			}
			<-came // some are answered, and some are under way
			_, err := s.App.Onboarding.Pause(ctx, s.App.Self(), o.Merchant.ID, fmt.Sprint("round ", round))
			harness.Must(t, err)
			all.Wait()
			for _, r := range replies {
				if r.Status == http.StatusCreated {
					made++
					live.Get(t, "/payments/"+r.Text(t, "transactionId")).Want(t, http.StatusOK)
					continue
				}
				refused++
				r.Refused(t, whilePaused)
			}
			live.Post(t, "/payments", order).Refused(t, whilePaused)
			_, err = s.App.Onboarding.Resume(ctx, s.App.Self(), o.Merchant.ID, appmerchants.AnyReason)
			harness.Must(t, err)
		}
		if got := live.Total(t, nil); got != fmt.Sprint(made) || made == 0 {
			t.Errorf("%d payments were told of and %d refused, and there are %s", made, refused, got)
		}
	})
}

// Another node obeys a pause, and its end, when what it keeps of the merchant is over.
func TestPauseReachesTheOtherNode(t *testing.T) {
	n := harness.TwoNodes(t, (*harness.Clock).Now)
	onB := n.Live
	onB.Instance = n.B
	order := n.Live.PixOrder(t)
	harness.Eventually(t, "node B knows the rate, and keeps the merchant", func() bool { return onB.Post(t, "/payments", order).Status == http.StatusCreated })
	_, err := n.A.App.Onboarding.Pause(ctx, n.A.App.Self(), n.Live.Merchant.ID, "papers")
	harness.Must(t, err)
	n.Live.Post(t, "/payments", order).Refused(t, whilePaused)
	onB.Create(t, order)
	n.Clock.Advance(base.CacheTTL)
	onB.Post(t, "/payments", order).Refused(t, whilePaused)
	_, err = n.A.App.Onboarding.Resume(ctx, n.A.App.Self(), n.Live.Merchant.ID, appmerchants.AnyReason)
	harness.Must(t, err)
	n.Clock.Advance(base.CacheTTL + time.Second)
	onB.Create(t, order)
}

// A new tier is for what is made from then on: a payment that waits keeps the terms that it was made with.
func TestNewTierIsForLaterPayments(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		op.OpenAccount(t, "bank-1", providertest.NewUpstream(t, "key-1"), func(n *accounts.NewAccount) { n.Priority = 1 })
		o := op.NewShop(t)
		live, path := o.Production(), "/merchants/"+o.Merchant.ID
		fee := func(id string) string { return live.Get(t, "/payments/"+id).Text(t, "fees.platform") }
		order := strings.Replace(o.PixOrder(t), `"amount":10,`, `"amount":100,`, 1)
		before := live.Create(t, order)
		changed := op.Patch(t, path, `{"tier":"trusted"}`).Want(t, http.StatusOK)
		op.Did(t, audit.MerchantTermed, o.Merchant.ID, changed)
		after := live.Create(t, order)
		if fee(before) != "1.2" || fee(after) != "0.7" {
			t.Errorf("the platform fees are %s before and %s after", fee(before), fee(after))
		}
		if me := o.Get(t, "/me"); me.Text(t, "tier") != string(merchants.Trusted) || me.Text(t, "trustScore") != "900" {
			t.Errorf("the merchant reads %s", me)
		}
		op.Patch(t, path, `{"tier":"golden"}`).Refused(t, "400 invalid_request invalid_request_error param=tier issues=tier")
		op.Patch(t, path, `{}`).Refused(t, "400 invalid_request invalid_request_error")
	})
}
