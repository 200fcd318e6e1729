package e2e

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
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/view"
)

// notPending is the refusal of a cancel in a status.
func notPending(status string) string {
	return "409 conflict_state conflict_error from=" + status + " action=cancel"
}

// A shop cancels a pending payment: it is failed, and its event says so, once.
func TestPendingPaymentIsCanceled(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		in := o.inbox(t, `"payment.failed"`)
		for _, m := range sandboxMethods {
			if m.status != "pending" {
				continue
			}
			id := o.create(t, `{"amount":25.5,"paymentMethodId":"`+m.id+`","documentId":"`+m.document+`","hostedCheckout":true}`)
			r := o.post(t, "/payments/"+id+"/cancel", "").want(t, http.StatusOK)
			if r.text(t, "id") != id || r.text(t, "status") != "failed" || r.text(t, "failure.code") != "canceled" {
				t.Errorf("canceled, %s is %s", m.id, r)
			}
			if _, told := r.at(t, "timestamps.failed"); !told {
				t.Errorf("a canceled payment does not tell when it failed: %s", r)
			}
			same := o.get(t, "/payments/"+id).want(t, http.StatusOK)
			again := o.post(t, "/transactions/"+id+"/cancel", `{}`).want(t, http.StatusOK)
			if string(same.body) != string(r.body) || string(again.body) != string(r.body) {
				t.Errorf("canceled it was\n%s\nread it is\n%s\nand canceled again\n%s", r, same, again)
			}
			// Its shopper is not asked to pay for it once more.
			if _, err := s.App.Sessions.RetryPayment(ctx, id); err == nil {
				t.Error("the shopper of a canceled payment may try again")
			}
			eventually(t, "the inbox is told", func() bool { return strings.Contains(string(in.get(t, in.path("/inbox")).body), id) })
			story, err := s.App.Story(ctx, id)
			must(t, err)
			if n := strings.Count(story, string(hook.PaymentFailed)); n == 0 || strings.Contains(story, string(hook.PaymentCompleted)) {
				t.Errorf("the story of a canceled payment:\n%s", story)
			}
			shown, err := s.App.Sessions.Shown(ctx, id)
			must(t, err)
			if shown.Sequence != 1 {
				t.Errorf("canceling it twice told %d events, want 1", shown.Sequence)
			}
		}
	})
}

func TestOnlyAPendingPaymentIsCanceled(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		made := map[string]string{"completed": o.create(t, card)}
		for status, play := range map[string][]string{"failed": {"failed"}, "expired": {"expired"}, "refunded": {"paid", "refunded"}} {
			made[status] = o.create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
			for _, action := range play {
				o.simulate(t, made[status], action).want(t, http.StatusOK)
			}
		}
		made["processing"] = o.create(t, `{"amount":10.96,"paymentMethodId":"sbx_card"}`)
		for status, id := range made {
			before := o.get(t, "/payments/"+id)
			if before.text(t, "status") != status {
				t.Fatalf("want a payment that is %s: %s", status, before)
			}
			o.post(t, "/payments/"+id+"/cancel", "").refused(t, notPending(status))
			if after := o.get(t, "/payments/"+id); string(after.body) != string(before.body) {
				t.Errorf("a refused cancel changed\n%s\nto\n%s", before, after)
			}
		}
		pending := o.create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
		s.shop(t).post(t, "/payments/"+pending+"/cancel", "").refused(t, "404 transaction_not_found invalid_request_error")
		o.live().post(t, "/payments/"+pending+"/cancel", "").refused(t, "404 transaction_not_found invalid_request_error")
		o.post(t, "/payments/TXN-none/cancel", "").refused(t, "404 transaction_not_found invalid_request_error")
		reader := o.key(t, auth.NewKey{Kind: tenant.Restricted, Rights: []tenant.Right{tenant.RightRead, tenant.RightRefunds, tenant.RightSandbox}})
		reader.post(t, "/payments/"+pending+"/cancel", "").refused(t, "403 forbidden permission_error")
		o.as(o.Sandbox.Publishable).post(t, "/payments/"+pending+"/cancel", "").refused(t, "403 key_kind_not_allowed permission_error")
		till := o.key(t, auth.NewKey{Kind: tenant.Restricted, Rights: []tenant.Right{tenant.RightPayments}})
		till.post(t, "/payments/"+pending+"/cancel", "").want(t, http.StatusOK)
	})
}

// What the provider of a payment does with the order to end its charge.
func TestProviderIsToldToEndACanceledCharge(t *testing.T) {
	refuses := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodDelete {
			http.Error(w, `{"error":"a voucher cannot be called back"}`, http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	}
	for name, c := range map[string]struct {
		fault  fault
		swift  bool
		answer string // "" for 200
		books  string // how the charge stands at the provider
		then   string // what the payment is in the end
	}{
		"it ends it":                   {nil, false, "", "canceled", "failed"},
		"the shopper was faster":       {nil, true, notPending("completed"), "paid", "completed"},
		"it cannot":                    {refuses, false, "", "open", "failed"},
		"another amount came":          {tellsOther, false, "409 conflict_state conflict_error reason=payment_received from=pending action=cancel", "canceled", "failed"},
		"nobody answers":               {gateway, false, "503 service_unavailable api_error reason=outcome_unknown", "open", "failed"},
		"it does, and does not answer": {cutsAfter, false, "503 service_unavailable api_error reason=outcome_unknown", "canceled", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			drilled(t, func(t *testing.T, d *drill) {
				first := d.lines["acme-1"]
				first.Next("open")
				d.pay(t, 1, 1)
				id := d.ids[0]
				if c.swift {
					first.Swift()
				}
				first.fails(c.fault)
				r := d.live.post(t, "/payments/"+id+"/cancel", "")
				if c.answer == "" {
					r.want(t, http.StatusOK)
				} else {
					r.refused(t, c.answer)
				}
				if got := first.Charges()[strings.TrimPrefix(id, "TXN-")+"-1"]; !strings.HasSuffix(got, c.books) {
					t.Errorf("at the provider the charge is %s, want %s", got, c.books)
				}
				first.fails(nil)
				if name == "another amount came" { // the window ends it, as ever
					for range 3 {
						d.pass(t, 31*24*time.Hour)
					}
				} else {
					d.pass(t, time.Minute) // the sweep goes on where the call did not know
				}
				after := d.live.get(t, "/payments/"+id)
				if after.text(t, "status") != c.then {
					t.Errorf("in the end the payment is %s, want %s", after, c.then)
				}
				if c.then == "failed" && name != "another amount came" && after.text(t, "failure.code") != "canceled" {
					t.Errorf("it failed otherwise than canceled: %s", after)
				}
				if c.answer != "" && strings.HasPrefix(c.answer, "503") {
					again := d.live.post(t, "/payments/"+id+"/cancel", "").want(t, http.StatusOK)
					if again.text(t, "failure.code") != "canceled" {
						t.Errorf("asked again, the cancel says %s", again)
					}
				}
			})
		})
	}
}

// While nobody knows whether its charge has ended, a payment is pending, its shopper is not
// asked to pay, and it is asked about on. What the provider tells by itself counts.
func TestUnknownCancelIsNotCanceled(t *testing.T) {
	for said, want := range map[string]string{"paid": "completed", "canceled": "failed", "declined": "failed"} {
		t.Run(said, func(t *testing.T) {
			drilled(t, func(t *testing.T, d *drill) {
				first := d.lines["acme-1"]
				first.Next("open")
				d.pay(t, 1, 1)
				id := d.ids[0]
				first.fails(gateway)
				for range 2 {
					d.live.post(t, "/payments/"+id+"/cancel", "").refused(t, "503 service_unavailable api_error reason=outcome_unknown")
				}
				d.pass(t, time.Minute)
				if got := d.live.status(t, id); got != "pending" {
					t.Fatalf("nobody knows, and the payment is %s", got)
				}
				if _, page, _ := d.visit(t, "/pay/"+id); strings.Contains(page, "qr.svg") {
					t.Error("the shopper is asked to pay a payment that is being canceled")
				}
				first.fails(nil)
				d.told(t, first.Upstream, id, 1, said, "acme-1-hush").want(t, http.StatusOK)
				after := d.live.get(t, "/payments/"+id)
				if after.text(t, "status") != want || want == "failed" && after.text(t, "failure.code") != "canceled" {
					t.Errorf("told that it is %s, the payment is %s", said, after)
				}
			})
		})
	}
}

// endingTill is a till whose provider ends charges as the test says.
type endingTill struct {
	*till
	cancel func(ctx context.Context, r provider.Request) pay.Outcome
}

func (p *endingTill) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	return p.cancel(ctx, r)
}

// newEndingTill takes vouchers, which are open until they are ended.
func newEndingTill() *endingTill {
	p := &endingTill{till: &till{Provider: sandbox.New("sandbox-1", nil)}}
	open := pay.Outcome{Kind: pay.Awaiting, ProviderRef: "v1", FormURL: "https://bank.example/v"}
	p.charge = func(context.Context, provider.Request) pay.Outcome { return open }
	p.query = func(context.Context, provider.Request) pay.Outcome { return open }
	p.cancel = func(context.Context, provider.Request) pay.Outcome {
		return pay.Outcome{Kind: pay.Lapsed, ProviderRef: "v1"}
	}
	return p
}

// voucher makes one.
func voucher(t *testing.T, a *app.App, who base.Principal) pay.Payment {
	t.Helper()
	p, _, err := a.Payments.Create(ctx, who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_cash"})
	must(t, err)
	if p.Status != pay.Pending {
		t.Fatalf("the voucher is %s", p)
	}
	return p
}

// refusedCancel fails the test unless a cancel was refused in a status.
func refusedCancel(t *testing.T, err error, from pay.Status) {
	t.Helper()
	shown, ok := errors.AsType[*problem.Error](err)
	if !ok || shown.Code != problem.ConflictState || shown.Details.From != string(from) {
		t.Errorf("the cancel says %v, want a conflict with a payment that is %s", err, from)
	}
}

// The shopper pays while the payment is being canceled: money that came counts, whoever
// tells of it and whatever the provider says of the cancel.
func TestPaidWhileBeingCanceled(t *testing.T) {
	for name, ended := range map[string]pay.OutcomeKind{
		"and the provider says that it ended it": pay.Lapsed, "and the provider says so": pay.Approved, "and nobody answers": pay.Unknown,
		"and it cannot be ended": pay.Awaiting,
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, database string) {
				clock, log := &clock{}, &faults{}
				clock.freeze()
				b := newEndingTill()
				a := node(t, database, clock, b, log)
				who := acme(t, a)
				p := voucher(t, a, who)
				b.cancel = func(_ context.Context, r provider.Request) pay.Outcome {
					for _, n := range b.Send(sandbox.Notification{
						ID: "ntf_1", Reference: r.Reference, Status: "paid", Amount: r.Local.Decimal(), Currency: string(r.Local.Currency),
					}) {
						must(t, a.Notices.Notify(ctx, "sandbox-1", n))
					}
					return pay.Outcome{Kind: ended, ProviderRef: "v1"}
				}
				_, err := a.Payments.Cancel(ctx, who.Scope, p.ID, view.Cause{})
				refusedCancel(t, err, pay.Completed)
				p, err = a.Cascade.Payment(ctx, who.Scope, p.ID)
				must(t, err)
				if p.Status != pay.Completed || p.Sequence != 1 {
					t.Errorf("the payment is %s with %d events", p, p.Sequence)
				}
				broken, err := a.Check(ctx)
				must(t, err)
				for _, b := range broken {
					t.Errorf("broken: %s", b)
				}
			})
		})
	}
}

// The node that cancels stands still between the provider's answer and its commit, or dies:
// another one goes on, and the payment is canceled once.
func TestCancelGoesOnWithoutItsNode(t *testing.T) {
	for name, after := range map[string]pay.OutcomeKind{"the charge has ended": pay.Lapsed, "the call never came": pay.Awaiting, "the provider does not find it": pay.Missing} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, database string) {
				clock, log := &clock{}, &faults{}
				clock.freeze()
				b := newEndingTill()
				first := node(t, database, clock, b, log)
				second := node(t, database, clock, b, log)
				who := acme(t, first)
				p := voucher(t, first, who)
				reached, wake, calls := make(chan struct{}), make(chan struct{}), atomic.Int32{}
				b.cancel = func(context.Context, provider.Request) pay.Outcome {
					if calls.Add(1) == 1 {
						close(reached)
						<-wake
					}
					return pay.Outcome{Kind: pay.Lapsed, ProviderRef: "v1"}
				}
				b.query = func(context.Context, provider.Request) pay.Outcome {
					return pay.Outcome{Kind: after, ProviderRef: "v1", FormURL: "https://bank.example/v"}
				}
				var all sync.WaitGroup
				var slow pay.Payment
				var slowErr error
				all.Go(func() { slow, slowErr = first.Payments.Cancel(ctx, who.Scope, p.ID, view.Cause{}) })
				soon(t, "the call that the test holds to begin", reached)
				clock.advance(time.Minute)
				_, err := second.Cascade.Sweep(ctx)
				must(t, err)
				read, err := second.Cascade.Payment(ctx, who.Scope, p.ID)
				must(t, err)
				if !read.Failure.Canceled() {
					t.Errorf("another node looked, and the payment is %s", read)
				}
				close(wake)
				all.Wait()
				if slowErr != nil || !slow.Failure.Canceled() || slow.Sequence != 1 {
					t.Errorf("the slow node says %s, %d events, %v", slow, slow.Sequence, slowErr)
				}
			})
		})
	}
}

// Of any number who cancel at once all are told that it is canceled, and one event tells it.
func TestManyCancelAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		clock, log := &clock{}, &faults{}
		clock.freeze()
		b := newEndingTill()
		nodes := []*app.App{node(t, database, clock, b, log), node(t, database, clock, b, log)}
		who := acme(t, nodes[0])
		p := voucher(t, nodes[0], who)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				got, err := nodes[i%2].Payments.Cancel(ctx, who.Scope, p.ID, view.Cause{})
				if err != nil || !got.Failure.Canceled() {
					t.Errorf("one of eight is told %s, %v", got, err)
				}
			})
		}
		all.Wait()
		read, err := nodes[0].Cascade.Payment(ctx, who.Scope, p.ID)
		must(t, err)
		if !read.Failure.Canceled() || read.Sequence != 1 {
			t.Errorf("canceled by eight the payment is %s with %d events", read, read.Sequence)
		}
	})
}

// What is paid after a payment was canceled is late money: the payment stays canceled, and an
// inquiry has the money. It is found without a notification too.
func TestMoneyAfterACancelIsLate(t *testing.T) {
	for name, told := range map[string]bool{"told": true, "found": false} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, database string) {
				clock, log := &clock{}, &faults{}
				defer log.mute() // what needs the operator is told
				clock.freeze()
				b := newEndingTill()
				a := node(t, database, clock, b, log)
				who := acme(t, a)
				p := voucher(t, a, who)
				got, err := a.Payments.Cancel(ctx, who.Scope, p.ID, view.Cause{})
				must(t, err)
				if told {
					for _, n := range b.Send(sandbox.Notification{
						ID: "ntf_1", Reference: p.Reference(1), Status: "paid", Amount: p.Price.Local.Decimal(), Currency: string(p.Price.Local.Currency),
					}) {
						must(t, a.Notices.Notify(ctx, "sandbox-1", n))
					}
				} else {
					b.query = func(context.Context, provider.Request) pay.Outcome {
						return pay.Outcome{Kind: pay.Approved, ProviderRef: "v1"}
					}
					clock.advance(2 * time.Hour)
					_, err := a.Cascade.Sweep(ctx)
					must(t, err)
				}
				claims, _, err := a.Claims.List(ctx, who.Scope, claimsOf(p.ID))
				must(t, err)
				read, err := a.Cascade.Payment(ctx, who.Scope, p.ID)
				must(t, err)
				stray, open := read.Strays.Attention()
				if !got.Failure.Canceled() || !read.Failure.Canceled() || len(claims) != 1 || claims[0].Kind != pay.Inquiry || !open || stray.Code != pay.LatePayment {
					t.Errorf("the late money is kept as %v, and the payment is %s", claims, read)
				}
				broken, err := a.Check(ctx)
				must(t, err)
				for _, b := range broken {
					t.Errorf("broken: %s", b)
				}
			})
		})
	}
}

// One that was canceled and that nobody paid is asked about for a week, and then let go.
func TestCanceledPaymentIsLetGo(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		first := d.lines["acme-1"]
		first.Next("open")
		d.pay(t, 1, 1)
		d.live.post(t, "/payments/"+d.ids[0]+"/cancel", "").want(t, http.StatusOK)
		asked := first.asked.Load()
		for range 24 {
			d.pass(t, time.Hour)
		}
		for range 60 {
			d.pass(t, 24*time.Hour)
		}
		if n := first.asked.Load() - asked; n != 5 {
			t.Errorf("after its end it was asked about %d times, want 5", n)
		}
		if _, page, _ := d.visit(t, "/pay/"+d.ids[0]); strings.Contains(page, "/again") || !strings.Contains(page, "A loja cancelou este pagamento") {
			t.Errorf("its page:\n%s", page)
		}
		d.clean(t)
	})
}
