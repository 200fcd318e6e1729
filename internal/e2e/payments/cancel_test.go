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
				t.Errorf("canceled, %s is %s", m.Id, r)
			}
			if _, told := r.At(t, "timestamps.failed"); !told {
				t.Errorf("a canceled payment does not tell when it failed: %s", r)
			}
			same := o.Get(t, "/payments/"+id).Want(t, http.StatusOK)
			again := o.Post(t, "/transactions/"+id+"/cancel", `{}`).Want(t, http.StatusOK)
			if string(same.Body) != string(r.Body) || string(again.Body) != string(r.Body) {
				t.Errorf("canceled it was\n%s\nread it is\n%s\nand canceled again\n%s", r, same, again)
			}
			// Its shopper is not asked to pay for it once more.
			if _, err := s.App.Sessions.RetryPayment(ctx, id); err == nil {
				t.Error("the shopper of a canceled payment may try again")
			}
			harness.Eventually(t, "the inbox is told", func() bool { return strings.Contains(string(in.Get(t, in.Path("/inbox")).Body), id) })
			story, err := s.App.Story(ctx, id)
			harness.Must(t, err)
			if n := strings.Count(story, string(hook.PaymentFailed)); n == 0 || strings.Contains(story, string(hook.PaymentCompleted)) {
				t.Errorf("the story of a canceled payment:\n%s", story)
			}
			shown, err := s.App.Sessions.Shown(ctx, id)
			harness.Must(t, err)
			if shown.Sequence != 1 {
				t.Errorf("canceling it twice told %d events, want 1", shown.Sequence)
			}
		}
	})
}

func TestOnlyAPendingPaymentIsCanceled(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		made := map[string]string{"completed": o.Create(t, harness.Card)}
		for status, play := range map[string][]string{"failed": {"failed"}, "expired": {"expired"}, "refunded": {"paid", "refunded"}} {
			made[status] = o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
			for _, action := range play {
				o.Simulate(t, made[status], action).Want(t, http.StatusOK)
			}
		}
		made["processing"] = o.Create(t, `{"amount":10.96,"paymentMethodId":"sbx_card"}`)
		for status, id := range made {
			before := o.Get(t, "/payments/"+id)
			if before.Text(t, "status") != status {
				t.Fatalf("want a payment that is %s: %s", status, before)
			}
			o.Post(t, "/payments/"+id+"/cancel", "").Refused(t, notPending(status))
			if after := o.Get(t, "/payments/"+id); string(after.Body) != string(before.Body) {
				t.Errorf("a refused cancel changed\n%s\nto\n%s", before, after)
			}
		}
		pending := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
		s.NewShop(t).Post(t, "/payments/"+pending+"/cancel", "").Refused(t, "404 transaction_not_found invalid_request_error")
		o.Production().Post(t, "/payments/"+pending+"/cancel", "").Refused(t, "404 transaction_not_found invalid_request_error")
		o.Post(t, "/payments/TXN-none/cancel", "").Refused(t, "404 transaction_not_found invalid_request_error")
		reader := o.NewKey(t, auth.NewKey{Kind: tenant.Restricted, Rights: []tenant.Right{tenant.RightRead, tenant.RightRefunds, tenant.RightSandbox}})
		reader.Post(t, "/payments/"+pending+"/cancel", "").Refused(t, "403 forbidden permission_error")
		o.As(o.Sandbox.Publishable).Post(t, "/payments/"+pending+"/cancel", "").Refused(t, "403 key_kind_not_allowed permission_error")
		till := o.NewKey(t, auth.NewKey{Kind: tenant.Restricted, Rights: []tenant.Right{tenant.RightPayments}})
		till.Post(t, "/payments/"+pending+"/cancel", "").Want(t, http.StatusOK)
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
		fault  harness.Fault
		swift  bool
		answer string // "" for 200
		books  string // how the charge stands at the provider
		then   string // what the payment is in the end
	}{
		"it ends it":                   {nil, false, "", "canceled", "failed"},
		"the shopper was faster":       {nil, true, notPending("completed"), "paid", "completed"},
		"it cannot":                    {refuses, false, "", "open", "failed"},
		"another amount came":          {harness.TellsOther, false, "409 conflict_state conflict_error reason=payment_received from=pending action=cancel", "canceled", "failed"},
		"nobody answers":               {harness.Gateway, false, "503 service_unavailable api_error reason=outcome_unknown", "open", "failed"},
		"it does, and does not answer": {harness.CutsAfter, false, "503 service_unavailable api_error reason=outcome_unknown", "canceled", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
				first := d.Lines["acme-1"]
				first.Next("open")
				d.Pay(t, 1, 1)
				id := d.IDs[0]
				if c.swift {
					first.Swift()
				}
				first.Fails(c.fault)
				r := d.Live.Post(t, "/payments/"+id+"/cancel", "")
				if c.answer == "" {
					r.Want(t, http.StatusOK)
				} else {
					r.Refused(t, c.answer)
				}
				if got := first.Charges()[strings.TrimPrefix(id, "TXN-")+"-1"]; !strings.HasSuffix(got, c.books) {
					t.Errorf("at the provider the charge is %s, want %s", got, c.books)
				}
				first.Fails(nil)
				if name == "another amount came" { // the window ends it, as ever
					for range 3 {
						d.Pass(t, 31*24*time.Hour)
					}
				} else {
					d.Pass(t, time.Minute) // the sweep goes on where the call did not know
				}
				after := d.Live.Get(t, "/payments/"+id)
				if after.Text(t, "status") != c.then {
					t.Errorf("in the end the payment is %s, want %s", after, c.then)
				}
				if c.then == "failed" && name != "another amount came" && after.Text(t, "failure.code") != "canceled" {
					t.Errorf("it failed otherwise than canceled: %s", after)
				}
				if c.answer != "" && strings.HasPrefix(c.answer, "503") {
					again := d.Live.Post(t, "/payments/"+id+"/cancel", "").Want(t, http.StatusOK)
					if again.Text(t, "failure.code") != "canceled" {
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
					t.Fatalf("nobody knows, and the payment is %s", got)
				}
				if _, page, _ := d.Visit(t, "/pay/"+id); strings.Contains(page, "qr.svg") {
					t.Error("the shopper is asked to pay a payment that is being canceled")
				}
				first.Fails(nil)
				d.TellUpstream(t, first.Upstream, id, 1, said, "acme-1-hush").Want(t, http.StatusOK)
				after := d.Live.Get(t, "/payments/"+id)
				if after.Text(t, "status") != want || want == "failed" && after.Text(t, "failure.code") != "canceled" {
					t.Errorf("told that it is %s, the payment is %s", said, after)
				}
			})
		})
	}
}

// endingTill is a till whose provider ends charges as the test says.
type endingTill struct {
	*harness.Till
	cancel func(ctx context.Context, r provider.Request) pay.Outcome
}

func (p *endingTill) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	return p.cancel(ctx, r)
}

// newEndingTill takes vouchers, which are open until they are ended.
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

// voucher makes one.
func voucher(t *testing.T, a *app.App, who base.Principal) pay.Payment {
	t.Helper()
	p, _, err := a.Payments.Create(ctx, who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_cash"})
	harness.Must(t, err)
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
				clock, log := &harness.Clock{}, &harness.Faults{}
				clock.Freeze()
				b := newEndingTill()
				a := harness.Node(t, database, clock, b, log)
				who := harness.Acme(t, a)
				p := voucher(t, a, who)
				b.cancel = func(_ context.Context, r provider.Request) pay.Outcome {
					for _, n := range b.Send(sandbox.Notification{
						ID: "ntf_1", Reference: r.Reference, Status: "paid", Amount: r.Local.Decimal(), Currency: string(r.Local.Currency),
					}) {
						harness.Must(t, a.Notices.Notify(ctx, "sandbox-1", n))
					}
					return pay.Outcome{Kind: ended, ProviderRef: "v1"}
				}
				_, err := a.Payments.Cancel(ctx, who.Scope, p.ID, view.Cause{})
				refusedCancel(t, err, pay.Completed)
				p, err = a.Cascade.Payment(ctx, who.Scope, p.ID)
				harness.Must(t, err)
				if p.Status != pay.Completed || p.Sequence != 1 {
					t.Errorf("the payment is %s with %d events", p, p.Sequence)
				}
				broken, err := a.Check(ctx)
				harness.Must(t, err)
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
				if err != nil || !got.Failure.Canceled() {
					t.Errorf("one of eight is told %s, %v", got, err)
				}
			})
		}
		all.Wait()
		read, err := nodes[0].Cascade.Payment(ctx, who.Scope, p.ID)
		harness.Must(t, err)
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
				clock, log := &harness.Clock{}, &harness.Faults{}
				defer log.Mute() // what needs the operator is told
				clock.Freeze()
				b := newEndingTill()
				a := harness.Node(t, database, clock, b, log)
				who := harness.Acme(t, a)
				p := voucher(t, a, who)
				got, err := a.Payments.Cancel(ctx, who.Scope, p.ID, view.Cause{})
				harness.Must(t, err)
				if told {
					for _, n := range b.Send(sandbox.Notification{
						ID: "ntf_1", Reference: p.Reference(1), Status: "paid", Amount: p.Price.Local.Decimal(), Currency: string(p.Price.Local.Currency),
					}) {
						harness.Must(t, a.Notices.Notify(ctx, "sandbox-1", n))
					}
				} else {
					b.OnQuery = func(context.Context, provider.Request) pay.Outcome {
						return pay.Outcome{Kind: pay.Approved, ProviderRef: "v1"}
					}
					clock.Advance(2 * time.Hour)
					_, err := a.Cascade.Sweep(ctx)
					harness.Must(t, err)
				}
				claims, _, err := a.Claims.List(ctx, who.Scope, harness.ClaimsOf(p.ID))
				harness.Must(t, err)
				read, err := a.Cascade.Payment(ctx, who.Scope, p.ID)
				harness.Must(t, err)
				stray, open := read.Strays.Attention()
				if !got.Failure.Canceled() || !read.Failure.Canceled() || len(claims) != 1 || claims[0].Kind != pay.Inquiry || !open || stray.Code != pay.LatePayment {
					t.Errorf("the late money is kept as %v, and the payment is %s", claims, read)
				}
				broken, err := a.Check(ctx)
				harness.Must(t, err)
				for _, b := range broken {
					t.Errorf("broken: %s", b)
				}
			})
		})
	}
}

// One that was canceled and that nobody paid is asked about for a week, and then let go.
func TestCanceledPaymentIsLetGo(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Next("open")
		d.Pay(t, 1, 1)
		d.Live.Post(t, "/payments/"+d.IDs[0]+"/cancel", "").Want(t, http.StatusOK)
		asked := first.QuestionsAsked.Load()
		for range 24 {
			d.Pass(t, time.Hour)
		}
		for range 60 {
			d.Pass(t, 24*time.Hour)
		}
		if n := first.QuestionsAsked.Load() - asked; n != 5 {
			t.Errorf("after its end it was asked about %d times, want 5", n)
		}
		if _, page, _ := d.Visit(t, "/pay/"+d.IDs[0]); strings.Contains(page, "/again") || !strings.Contains(page, "A loja cancelou este pagamento") {
			t.Errorf("its page:\n%s", page)
		}
		d.Clean(t)
	})
}
