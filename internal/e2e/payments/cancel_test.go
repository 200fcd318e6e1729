package payments

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/view"
)

// notPending returns the error of a cancel of a payment that has the status.
func notPending(status string) string {
	return "409 conflict_state conflict_error from=" + status + " action=cancel"
}

// When a shop cancels a pending payment, the payment fails, with one event.
func TestPendingPaymentIsCanceled(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		in := harness.Inbox(t, o, `"payment.failed"`)
		for _, m := range harness.SandboxMethods {
			if m.Status != "pending" {
				continue
			}
			id := o.Create(t, `{"amount":25.5,"paymentMethodId":"`+m.Id+`","documentId":"`+m.Document+`","hostedCheckout":true}`)
			r := o.Post(t, "/payments/"+id+"/cancel", "").Want(t, http.StatusOK)
			if r.Text(t, "id") != id || r.Text(t, "status") != "failed" || r.Text(t, "failure.code") != "canceled" {
				t.Errorf("a canceled payment over %s is %s", m.Id, r)
			}
			if _, told := r.At(t, "timestamps.failed"); !told {
				t.Errorf("a canceled payment has no time of its failure: %s", r)
			}
			same := o.Get(t, "/payments/"+id).Want(t, http.StatusOK)
			again := o.Post(t, "/transactions/"+id+"/cancel", `{}`).Want(t, http.StatusOK)
			if string(same.Body) != string(r.Body) || string(again.Body) != string(r.Body) {
				t.Errorf("the replies to a cancel, a read and a second cancel differ:\n%s\n%s\n%s", r, same, again)
			}
			// Its shopper cannot try again.
			if _, err := s.App.Sessions.RetryPayment(ctx, id); err == nil {
				t.Error("the shopper of a canceled payment can try again")
			}
			harness.Eventually(t, "the inbox has the event of the payment", func() bool { return strings.Contains(string(in.Get(t, in.Path("/inbox")).Body), id) })
			story, err := s.App.Story(ctx, id)
			harness.Must(t, err)
			if n := strings.Count(story, string(webhooks.PaymentFailed)); n == 0 || strings.Contains(story, string(webhooks.PaymentCompleted)) {
				t.Errorf("the story of a canceled payment lacks payment.failed or has payment.completed:\n%s", story)
			}
			shown, err := s.App.Sessions.Shown(ctx, id)
			harness.Must(t, err)
			if shown.Sequence != 1 {
				t.Errorf("two cancels made %d events, want 1", shown.Sequence)
			}
		}
	})
}

func TestOnlyAPendingPaymentIsCanceled(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		completed := o.Create(t, harness.Card)
		o.Post(t, "/payments/"+completed+"/cancel", "").Refused(t, notPending("completed"))
		pending := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
		s.NewShop(t).Post(t, "/payments/"+pending+"/cancel", "").Refused(t, "404 transaction_not_found invalid_request_error")
		o.Production().Post(t, "/payments/"+pending+"/cancel", "").Refused(t, "404 transaction_not_found invalid_request_error")
		o.Post(t, "/payments/TXN-none/cancel", "").Refused(t, "404 transaction_not_found invalid_request_error")
		reader := o.NewKey(t, auth.NewKey{Kind: merchants.Restricted, Rights: []merchants.Right{merchants.RightRead, merchants.RightRefunds, merchants.RightSandbox}})
		reader.Post(t, "/payments/"+pending+"/cancel", "").Refused(t, "403 forbidden permission_error")
		o.As(o.Sandbox.Publishable).Post(t, "/payments/"+pending+"/cancel", "").Refused(t, "403 key_kind_not_allowed permission_error")
		till := o.NewKey(t, auth.NewKey{Kind: merchants.Restricted, Rights: []merchants.Right{merchants.RightPayments}})
		till.Post(t, "/payments/"+pending+"/cancel", "").Want(t, http.StatusOK)
	})
}

// While it is unknown whether the charge has ended, a canceled payment stays pending, and its page does not ask the shopper to pay. A
// notification of the provider ends it: then the page says that the shop canceled, and nobody tries again.
func TestUnknownCancelIsNotCanceled(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Next("open")
		d.Pay(t, 1, 1)
		id := d.IDs[0]
		first.Fails(harness.Gateway)
		for range 2 {
			d.Live.Post(t, "/payments/"+id+"/cancel", "").Refused(t, "503 service_unavailable api_error reason=outcome_unknown")
		}
		d.Pass(t, time.Minute)
		if got := d.Live.Status(t, id); got != "pending" {
			t.Fatalf("after a cancel of unknown outcome the payment is %s, want pending", got)
		}
		if _, page, _ := d.Visit(t, "/pay/"+id); strings.Contains(page, "qr.svg") {
			t.Error("the page asks the shopper to pay a payment that is being canceled")
		}
		first.Fails(nil)
		d.TellUpstream(t, first.Upstream, id, 1, "canceled", "acme-1-hush").Want(t, http.StatusOK)
		if after := d.Live.Get(t, "/payments/"+id); after.Text(t, "status") != "failed" || after.Text(t, "failure.code") != "canceled" {
			t.Errorf("after the notification the payment is %s, want it canceled", after)
		}
		if _, page, _ := d.Visit(t, "/pay/"+id); strings.Contains(page, "/again") || !strings.Contains(page, "A loja cancelou este pagamento") {
			t.Errorf("the page does not say that the shop canceled, or offers to try again:\n%s", page)
		}
		d.Clean(t)
	})
}

// endingTill is a harness.Till whose answers to a cancel come from the test.
type endingTill struct {
	*harness.Till
	cancel func(ctx context.Context, r provider.Request) pay.Outcome
}

func (p *endingTill) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	return p.cancel(ctx, r)
}

// newEndingTill returns a provider of vouchers, which stay open until a cancel ends them.
func newEndingTill() *endingTill {
	p := &endingTill{Till: &harness.Till{Provider: sandbox.New("sandbox-1", nil)}}
	open := pay.Outcome{Kind: pay.Awaiting, ProviderRef: "v1", FormURL: "https://bank.example/v"}
	p.OnCharge = func(context.Context, provider.Request) pay.Outcome { return open }
	p.OnQuery = func(context.Context, provider.Request) pay.Outcome { return open }
	p.cancel = func(context.Context, provider.Request) pay.Outcome {
		return pay.Outcome{Kind: pay.Lapsed, ProviderRef: "v1"}
	}
	return p
}

// voucher makes a pending cash payment.
func voucher(t *testing.T, a *app.App, who base.Principal) pay.Payment {
	t.Helper()
	p, _, err := a.Payments.Create(ctx, who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_cash"})
	harness.Must(t, err)
	if p.Status != pay.Pending {
		t.Fatalf("the voucher is %s, want pending", p)
	}
	return p
}

// refusedCancel fails the test unless a cancel was refused because of the payment's status.
func refusedCancel(t *testing.T, err error, from pay.Status) {
	t.Helper()
	shown, ok := errors.AsType[*problem.Error](err)
	if !ok || shown.Code != problem.ConflictState || shown.Details.From != string(from) {
		t.Errorf("the cancel returns %v, want a conflict because the payment is %s", err, from)
	}
}

// The node that cancels stalls during its call to the provider. Another node finishes the cancel.
// The payment is canceled once.
func TestCancelGoesOnWithoutItsNode(t *testing.T) {
	for name, after := range map[string]pay.OutcomeKind{"the charge has ended": pay.Lapsed, "the call never came": pay.Awaiting, "the provider does not find it": pay.Missing} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, database string) {
				clock, log := &harness.Clock{}, &harness.Faults{}
				clock.Freeze()
				b := newEndingTill()
				first := harness.Node(t, database, clock, b, log)
				second := harness.Node(t, database, clock, b, log)
				who := harness.Acme(t, first)
				p := voucher(t, first, who)
				reached, wake, calls := make(chan struct{}), make(chan struct{}), atomic.Int32{}
				b.cancel = func(context.Context, provider.Request) pay.Outcome {
					if calls.Add(1) == 1 {
						close(reached)
						<-wake
					}
					return pay.Outcome{Kind: pay.Lapsed, ProviderRef: "v1"}
				}
				b.OnQuery = func(context.Context, provider.Request) pay.Outcome {
					return pay.Outcome{Kind: after, ProviderRef: "v1", FormURL: "https://bank.example/v"}
				}
				var all sync.WaitGroup
				var slow pay.Payment
				var slowErr error
				all.Go(func() { slow, slowErr = first.Payments.Cancel(ctx, who.Scope, p.ID, view.Cause{}) })
				harness.Soon(t, "the call that the test holds to begin", reached)
				clock.Advance(time.Minute)
				_, err := second.Cascade.Sweep(ctx)
				harness.Must(t, err)
				read, err := second.Cascade.Payment(ctx, who.Scope, p.ID)
				harness.Must(t, err)
				if !read.End.Canceled() {
					t.Errorf("after the other node's sweep the payment is %s, want canceled", read)
				}
				close(wake)
				all.Wait()
				if slowErr != nil || !slow.End.Canceled() || slow.Sequence != 1 {
					t.Errorf("the slow node returns %s with %d events and the error %v, want canceled with 1", slow, slow.Sequence, slowErr)
				}
			})
		})
	}
}

// All of many cancels at once succeed, and make one event.
func TestManyCancelAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		clock, log := &harness.Clock{}, &harness.Faults{}
		clock.Freeze()
		b := newEndingTill()
		nodes := []*app.App{harness.Node(t, database, clock, b, log), harness.Node(t, database, clock, b, log)}
		who := harness.Acme(t, nodes[0])
		p := voucher(t, nodes[0], who)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				got, err := nodes[i%2].Payments.Cancel(ctx, who.Scope, p.ID, view.Cause{})
				if err != nil || !got.End.Canceled() {
					t.Errorf("one of eight cancels returns %s with the error %v", got, err)
				}
			})
		}
		all.Wait()
		read, err := nodes[0].Cascade.Payment(ctx, who.Scope, p.ID)
		harness.Must(t, err)
		if !read.End.Canceled() || read.Sequence != 1 {
			t.Errorf("after eight cancels the payment is %s with %d events, want canceled with 1", read, read.Sequence)
		}
	})
}
