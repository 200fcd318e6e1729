package claims

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// strange is a harness.Fault: it answers with a status that the adapter does not know.
func strange(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	_, _ = io.WriteString(w, `{"status":"blocked_by_compliance"}`)
}

func refusedAs(t *testing.T, d *harness.Drill, err error, reason string) {
	t.Helper()
	shown, ok := err.(*problem.Error)
	if !ok || shown.Code != problem.ConflictState || shown.Details.Reason != reason {
		t.Errorf("got %v, want conflict_state %q", err, reason)
	}
}

// The operator resolves a payment whose provider does not report its outcome. His word is in the
// audit log and in the books.
func TestOperatorEndsAPaymentThatNobodyTellsOf(t *testing.T) {
	for name, untold := range map[string]func(t *testing.T, d *harness.Drill){
		"the account is removed": func(t *testing.T, d *harness.Drill) {
			_, err := d.App.Accounts.Remove(ctx, d.App.Self(), "acme-1", true)
			harness.Must(t, err)
		},
		"the word has no meaning": func(_ *testing.T, d *harness.Drill) { d.Lines["acme-1"].Fails(strange) },
	} {
		for _, word := range []pay.Word{pay.WordPaid, pay.WordNotCharged} {
			for opened, next := range map[string]string{"processing": "paid", "pending": "open"} {
				t.Run(name+" "+string(word)+" "+opened, func(t *testing.T) {
					harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
						first := d.Lines["acme-1"]
						if first.Next(next); opened == "processing" {
							first.Fails(harness.CutsAfter)
						}
						d.Pay(t, 1, 1)
						id := d.IDs[0]
						untold(t, d)
						for range 3 {
							d.Pass(t, 6*time.Minute)
						}
						list, err := d.App.Payments.Unsure(ctx, 10)
						harness.Must(t, err)
						if len(list) != 1 || list[0].ID != id || string(list[0].Status) != opened {
							t.Fatalf("the payments of unknown outcome are %v, want %s, %s", list, id, opened)
						}
						p, said, err := d.Rule(id, word, false)
						harness.Must(t, err)
						want, receivable := pay.Completed, int64(-10_00)
						if word == pay.WordNotCharged {
							want, receivable = pay.Failed, 0
						}
						if p.Status != want || said != pay.Unknown || d.Live.Status(t, id) != string(want) {
							t.Errorf("the operator says %s: the payment is %s, want %s; the provider said %s", word, p.Status, want, said)
						}
						if b, err := d.App.Settlements.Balances(ctx, p.Scope); err != nil || b[ledger.Receivable] != receivable {
							t.Errorf("the books have %v with the error %v, want %d cents receivable", b, err, receivable)
						}
						e := harness.AuditEntry(t, d.Live, audit.PaymentResolved, id)
						if e.By.ID != "ana" || e.Details["word"] != string(word) || e.Details["note"] != "the report of today" || e.Details["provider"] != "unknown" || e.Details["force"] != "false" {
							t.Errorf("the entry of the operator's word is %+v", e)
						}
						if list, err := d.App.Payments.Unsure(ctx, 10); err != nil || len(list) != 0 {
							t.Errorf("after that the payments of unknown outcome are %v with the error %v, want none", list, err)
						}
						_, _, err = d.Rule(id, pay.WordNotCharged, false)
						if word == pay.WordPaid {
							refusedAs(t, d, err, "")
						}
						d.Clean(t)
					})
				})
			}
		}
	}
}

// The provider's answer wins over the operator's word, unless he forces it.
func TestOperatorIsRefusedWhereTheProviderKnowsBetter(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Fails(harness.CutsAfter)
		d.Pay(t, 2, 1)
		first.Fails(nil)
		_, said, err := d.Rule(d.IDs[0], pay.WordNotCharged, false)
		if refusedAs(t, d, err, pay.OtherwiseSaid); said != pay.Approved || d.Live.Status(t, d.IDs[0]) != "processing" {
			t.Errorf("the provider says %s and the payment is %s, want approved and still processing", said, d.Live.Status(t, d.IDs[0]))
		}
		if p, _, err := d.Rule(d.IDs[0], pay.WordPaid, false); err != nil || p.Status != pay.Completed {
			t.Errorf("the operator and the provider say paid, but the payment is %s with the error %v", p.Status, err)
		}
		p, _, err := d.Rule(d.IDs[1], pay.WordNotCharged, true)
		if err != nil || p.Status != pay.Failed || p.End.Failure.Code != "not_charged" {
			t.Fatalf("by force the payment is %s %+v with the error %v, want failed as not_charged", p.Status, p.End.Failure, err)
		}
		if e := harness.AuditEntry(t, d.Live, audit.PaymentResolved, d.IDs[1]); e.Details["force"] != "true" || e.Details["provider"] != "approved" {
			t.Errorf("the entry of the operator's word is %+v", e)
		}
		// The operator was wrong. The money is not lost: it is late money.
		d.TellUpstream(t, first.Upstream, d.IDs[1], 1, "paid", "acme-1-hush").Is(t, http.StatusOK, `{"ok":true}`)
		d.Audit(t, 1)
	})
}

// The operator also resolves a payment that expired with an unknown outcome. If it was paid, the
// money is late money.
func TestOperatorEndsAPaymentThatExpiredUnknown(t *testing.T) {
	for _, word := range []pay.Word{pay.WordPaid, pay.WordNotCharged} {
		t.Run(string(word), func(t *testing.T) {
			harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
				first := d.Lines["acme-1"]
				first.Next("open")
				d.Pay(t, 1, 1)
				id := d.IDs[0]
				first.Notify(strings.TrimPrefix(id, "TXN-")+"-1", "paid", "lost")
				first.Fails(harness.Gateway)
				d.Clock.Advance(d.Expires(t, id).Sub(d.Clock.Now()))
				for range 60 {
					d.Pass(t, 24*time.Hour)
				}
				if list, err := d.App.Payments.Unsure(ctx, 10); err != nil || len(list) != 1 || list[0].Status != pay.Expired || list[0].Looking() {
					t.Fatalf("after two months the payments of unknown outcome are %v with the error %v, want one that is expired and no longer queried", list, err)
				}
				p, _, err := d.Rule(id, word, false)
				harness.Must(t, err)
				attention, late := p.Strays.Attention()
				if p.Status != pay.Expired || p.End.Failure.Code != map[pay.Word]string{pay.WordPaid: "outcome_unknown", pay.WordNotCharged: "expired"}[word] ||
					late != (word == pay.WordPaid) || late && attention.Code != pay.LatePayment {
					t.Errorf("the operator says %s: the payment is %s, with the failure %+v and the strays %+v", word, p, p.End.Failure, p.Strays)
				}
				d.Clean(t)
			})
		})
	}
}

// The operator resolves a withdrawal whose payout provider does not report its outcome.
func TestOperatorEndsAWithdrawalThatNobodyTellsOf(t *testing.T) {
	answer := func(kind pay.PayoutKind) func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
		return func(*harness.Payer, payouts.Request) pay.PayoutOutcome { return pay.PayoutOutcome{Kind: kind} }
	}
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		b.Behave(answer(pay.PayoutUnknown), answer(pay.PayoutUnknown))
		for word, want := range map[pay.Word]struct{ status, available string }{
			pay.WordPaid: {"completed", "900"}, pay.WordNotPaid: {"failed", "1000"},
		} {
			id := o.Withdraw(t, "100")
			if _, _, err := o.App.Payouts.ResolveWithdrawal(ctx, ana, base.Resolution{ID: id, Word: pay.WordPaid, Note: "n"}); err == nil {
				t.Error("the operator resolves a withdrawal as paid that was never sent")
			}
			o.Clock.Advance(time.Hour)
			o.PayOut(t, id, "processing")
			if list, err := o.App.Payouts.Unpaid(ctx, 10); err != nil || len(list) != 1 || list[0].ID != id {
				t.Errorf("the unpaid withdrawals are %v with the error %v, want %s", list, err, id)
			}
			if _, _, err := o.App.Payouts.ResolveWithdrawal(ctx, ana, base.Resolution{ID: id, Word: pay.WordNotPaid, Note: "n"}); err == nil {
				t.Error("the operator resolves a withdrawal as not paid while its call may be on its way")
			}
			o.Clock.Advance(time.Minute)
			contrary := map[pay.Word]pay.PayoutKind{pay.WordPaid: pay.PayoutRejected, pay.WordNotPaid: pay.PayoutPaid}[word]
			for _, kind := range []pay.PayoutKind{pay.PayoutAccepted, contrary} {
				b.Behave(answer(pay.PayoutUnknown), answer(kind))
				if _, said, err := o.App.Payouts.ResolveWithdrawal(ctx, ana, base.Resolution{ID: id, Word: word, Note: "n"}); err == nil || said != kind {
					t.Errorf("the bank says %s (heard %s), but the operator's word %s is accepted: %v", kind, said, word, err)
				}
			}
			b.Behave(answer(pay.PayoutUnknown), answer(pay.PayoutUnknown))
			_, said, err := o.App.Payouts.ResolveWithdrawal(ctx, ana, base.Resolution{ID: id, Word: word, Note: "the statement of today"})
			harness.Must(t, err)
			r := o.Get(t, "/withdrawals/"+id)
			if r.Text(t, "status") != want.status || said != pay.PayoutUnknown || harness.Available(t, o) != want.available {
				t.Errorf("the operator says %s: %s USD are available, want %s: %s", word, harness.Available(t, o), want.available, r)
			}
			if e := harness.AuditEntry(t, o, audit.WithdrawalResolved, id); e.By.ID != "ana" || e.Details["word"] != string(word) || e.Details["note"] != "the statement of today" {
				t.Errorf("the entry of the operator's word is %+v", e)
			}
			if word == pay.WordPaid { // so that the other case starts with the same balance
				o.Fund(t, true, 100_00)
			}
		}
	})
}

// A provider's status that the adapter does not know is logged once, and counted each time.
func TestStrangeWordIsToldOnce(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		d := harness.DrilledBy(t, op.Instance)
		d.Lines["acme-1"].Fails(strange)
		d.Pay(t, 1, 1)
		harness.Eventually(t, "the status is counted ten times", func() bool { // a query may be running when the clock moves
			d.Pass(t, 6*time.Hour)
			return d.App.Providers.UnmappedStatuses()["acme-1"] >= 10
		})
		if n := strings.Count(op.Log.String(), "blocked_by_compliance"); n != 1 {
			t.Errorf("the log has the status %d times, want once", n)
		}
	})
}

// The admin API lists payments of unknown outcome, and the operator resolves them and refunds over
// it.
func TestOperatorEndsThingsOverTheAdminAPI(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		d := harness.DrilledBy(t, op.Instance)
		d.Lines["acme-1"].Fails(strange)
		d.Pay(t, 1, 1)
		id := d.IDs[0]
		d.Pass(t, time.Minute)
		r := op.Get(t, "/payments/unsure").Want(t, http.StatusOK)
		if r.Text(t, "data.0.id") != id || r.Text(t, "data.0.account") != "acme-1" || r.Text(t, "data.0.status") != "processing" {
			t.Errorf("want the payment %s in the list: %s", id, r)
		}
		path := "/payments/" + id + "/resolution"
		op.Ask(t, http.MethodPost, path, `{"outcome":"maybe","note":"n"}`).Refused(t, "400 invalid_request invalid_request_error param=outcome issues=outcome")
		op.Ask(t, http.MethodPost, path, `{"outcome":"paid"}`).Refused(t, "400 missing_field invalid_request_error param=note issues=note missing=note")
		op.Ask(t, http.MethodPost, "/payments/TXN-NONE/resolution", `{"outcome":"paid","note":"n"}`).Refused(t, "404 transaction_not_found invalid_request_error")
		op.Ask(t, http.MethodPost, "/withdrawals/wdr_NONE/resolution", `{"outcome":"paid","note":"n"}`).Refused(t, "404 withdrawal_not_found invalid_request_error")
		op.Ask(t, http.MethodPost, "/claims/CLM-NONE/resolution", `{"outcome":"approved","note":"n"}`).Refused(t, "404 claim_not_found invalid_request_error")
		r = op.Ask(t, http.MethodPost, path, `{"outcome":"paid","note":"the report of today"}`)
		r.Is(t, http.StatusOK, `{"id":"`+id+`","status":"completed","provider":"unknown"}`)
		if e := harness.AuditEntry(t, d.Live, audit.PaymentResolved, id); e.By.ID != "ana" || e.By.IP != "127.0.0.1" || e.By.Request != r.Header.Get("X-Request-Id") {
			t.Errorf("the entry of the operator's word is %+v", e)
		}
		op.Ask(t, http.MethodPost, path, `{"outcome":"not-charged","note":"n"}`).Refused(t, "409 conflict_state conflict_error from=completed action=not-charged")
		d.Lines["acme-1"].Fails(harness.Gateway)
		claim := d.Live.Post(t, "/payments/"+id+"/refund", `{}`).Want(t, http.StatusOK).Text(t, "refundId")
		op.Ask(t, http.MethodPost, "/claims/"+claim+"/resolution", `{"outcome":"rejected","note":"too early"}`).
			Refused(t, "409 conflict_state conflict_error reason=call_on_its_way from=pending action=reject")
		d.Clock.Advance(time.Minute)
		op.Ask(t, http.MethodPost, "/claims/"+claim+"/resolution", `{"outcome":"rejected","note":"the provider's dashboard"}`).
			Is(t, http.StatusOK, `{"id":"`+claim+`","status":"rejected","transactionId":"`+id+`"}`)
		op.Ask(t, http.MethodPost, "/claims/"+claim+"/resolution", `{"outcome":"rejected","note":"again"}`).Refused(t, "409 claim_already_resolved conflict_error from=rejected action=reject")
		d.Clean(t)
	})
}

// The operator resolves a withdrawal over the admin API, once.
func TestOperatorEndsAWithdrawalOverTheAdminAPI(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		o.Fund(t, false, 100_00)
		o.Wallet(t)
		path := "/withdrawals/" + o.Withdraw(t, "50") + "/resolution"
		op.Ask(t, http.MethodPost, path, `{"outcome":"not-paid","note":"the wallet is not theirs"}`).Want(t, http.StatusOK)
		op.Ask(t, http.MethodPost, path, `{"outcome":"not-paid","note":"again"}`).Refused(t, "409 conflict_state conflict_error from=failed action=not-paid")
		if got := harness.Available(t, o); got != "100" {
			t.Errorf("%s USD are available, want all 100", got)
		}
	})
}
