package e2e

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/payout"
)

// strange answers with a word that has no meaning.
func strange(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	_, _ = io.WriteString(w, `{"status":"blocked_by_compliance"}`)
}

// rule is the operator's word on a payment.
func (d *drill) rule(id string, w pay.Word, force bool) (pay.Payment, pay.OutcomeKind, error) {
	return d.App.Payments.Rule(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, base.Ruled{ID: id, Word: w, Note: "the report of today", Force: force})
}

func (d *drill) refusedAs(t *testing.T, err error, reason string) {
	t.Helper()
	shown, ok := err.(*problem.Error)
	if !ok || shown.Code != problem.ConflictState || shown.Details.Reason != reason {
		t.Errorf("got %v, want conflict_state %q", err, reason)
	}
}

// A payment of which no provider tells the end is ended by the operator, whose word is
// in the audit log and in the books.
func TestOperatorEndsAPaymentThatNobodyTellsOf(t *testing.T) {
	for name, untold := range map[string]func(t *testing.T, d *drill){
		"the account is removed": func(t *testing.T, d *drill) {
			_, err := d.App.Accounts.Remove(ctx, d.App.Self(), "acme-1", true)
			must(t, err)
		},
		"the word has no meaning": func(_ *testing.T, d *drill) { d.lines["acme-1"].fails(strange) },
	} {
		for _, word := range []pay.Word{pay.WordPaid, pay.WordNotCharged} {
			for opened, next := range map[string]string{"processing": "paid", "pending": "open"} {
				t.Run(name+" "+string(word)+" "+opened, func(t *testing.T) {
					drilled(t, func(t *testing.T, d *drill) {
						first := d.lines["acme-1"]
						if first.Next(next); opened == "processing" {
							first.fails(cutsAfter)
						}
						d.pay(t, 1, 1)
						id := d.ids[0]
						untold(t, d)
						for range 3 {
							d.pass(t, 6*time.Minute)
						}
						list, err := d.App.Payments.Unsure(ctx, 10)
						must(t, err)
						if len(list) != 1 || list[0].ID != id || string(list[0].Status) != opened {
							t.Fatalf("of payments whose outcome nobody knows there are %v", list)
						}
						p, said, err := d.rule(id, word, false)
						must(t, err)
						want, receivable := pay.Completed, int64(-10_00)
						if word == pay.WordNotCharged {
							want, receivable = pay.Failed, 0
						}
						if p.Status != want || said != pay.Unknown || d.live.status(t, id) != string(want) {
							t.Errorf("the operator says %s: the payment is %s, and the provider said %s", word, p.Status, said)
						}
						if b, err := d.App.Settlements.Balances(ctx, p.Scope); err != nil || b[ledger.Receivable] != receivable {
							t.Errorf("the books have %v, %v", b, err)
						}
						e := d.live.act(t, audit.PaymentRuled, id)
						if e.By.ID != "ana" || e.Details["word"] != string(word) || e.Details["note"] != "the report of today" || e.Details["provider"] != "unknown" || e.Details["force"] != "false" {
							t.Errorf("the audit log has %+v", e)
						}
						if list, err := d.App.Payments.Unsure(ctx, 10); err != nil || len(list) != 0 {
							t.Errorf("it is still listed: %v, %v", list, err)
						}
						_, _, err = d.rule(id, pay.WordNotCharged, false)
						if word == pay.WordPaid {
							d.refusedAs(t, err, "")
						}
						d.clean(t)
					})
				})
			}
		}
	}
}

// What the provider knows counts more than the operator's word, unless it is forced.
func TestOperatorIsRefusedWhereTheProviderKnowsBetter(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		first := d.lines["acme-1"]
		first.fails(cutsAfter)
		d.pay(t, 2, 1)
		first.fails(nil)
		_, said, err := d.rule(d.ids[0], pay.WordNotCharged, false)
		if d.refusedAs(t, err, pay.OtherwiseSaid); said != pay.Approved || d.live.status(t, d.ids[0]) != "processing" {
			t.Errorf("the provider says %s, and the payment is %s", said, d.live.status(t, d.ids[0]))
		}
		if p, _, err := d.rule(d.ids[0], pay.WordPaid, false); err != nil || p.Status != pay.Completed {
			t.Errorf("both say that it was paid: %s, %v", p.Status, err)
		}
		p, _, err := d.rule(d.ids[1], pay.WordNotCharged, true)
		if err != nil || p.Status != pay.Failed || p.Failure.Code != "abandoned" {
			t.Fatalf("forced, it is %s %+v, %v", p.Status, p.Failure, err)
		}
		if e := d.live.act(t, audit.PaymentRuled, d.ids[1]); e.Details["force"] != "true" || e.Details["provider"] != "approved" {
			t.Errorf("the audit log has %+v", e)
		}
		// And was wrong: the money is late money, not lost.
		d.told(t, first.Upstream, d.ids[1], 1, "paid", "acme-1-hush").is(t, http.StatusOK, `{"ok":true}`)
		d.audit(t, 1)
	})
}

// A payment that ended with nobody knowing is ended by the operator too: what was paid
// is late money.
func TestOperatorEndsAPaymentThatExpiredUnknown(t *testing.T) {
	for _, word := range []pay.Word{pay.WordPaid, pay.WordNotCharged} {
		t.Run(string(word), func(t *testing.T) {
			drilled(t, func(t *testing.T, d *drill) {
				first := d.lines["acme-1"]
				first.Next("open")
				d.pay(t, 1, 1)
				id := d.ids[0]
				first.Notify(strings.TrimPrefix(id, "TXN-")+"-1", "paid", "lost")
				first.fails(gateway)
				d.clock.advance(d.expires(t, id).Sub(d.clock.now()))
				for range 60 {
					d.pass(t, 24*time.Hour)
				}
				if list, err := d.App.Payments.Unsure(ctx, 10); err != nil || len(list) != 1 || list[0].Status != pay.Expired || list[0].Looking() {
					t.Fatalf("after two months there are %v, %v", list, err)
				}
				p, _, err := d.rule(id, word, false)
				must(t, err)
				attention, late := p.Strays.Attention()
				if p.Status != pay.Expired || p.Failure.Code != map[pay.Word]string{pay.WordPaid: "outcome_unknown", pay.WordNotCharged: "expired"}[word] ||
					late != (word == pay.WordPaid) || late && attention.Code != pay.LatePayment {
					t.Errorf("the operator says %s: %s, %+v, %+v", word, p, p.Failure, p.Strays)
				}
				d.clean(t)
			})
		})
	}
}

// A withdrawal of which no payout provider tells the end is ended by the operator.
func TestOperatorEndsAWithdrawalThatNobodyTellsOf(t *testing.T) {
	answer := func(kind pay.PayoutKind) func(*payer, payout.Request) pay.PayoutOutcome {
		return func(*payer, payout.Request) pay.PayoutOutcome { return pay.PayoutOutcome{Kind: kind} }
	}
	eachPayer(t, func(t *testing.T, o shop, b *payer) {
		b.behave(answer(pay.PayoutUnknown), answer(pay.PayoutUnknown))
		by := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		for word, want := range map[pay.Word]struct{ status, available string }{
			pay.WordPaid: {"completed", "900"}, pay.WordNotPaid: {"failed", "1000"},
		} {
			id := o.withdraw(t, "100")
			if _, _, err := o.App.Payouts.RuleWithdrawal(ctx, by, base.Ruled{ID: id, Word: pay.WordPaid, Note: "n"}); err == nil {
				t.Error("a withdrawal that was never sent is said to have arrived")
			}
			o.clock.advance(time.Hour)
			o.payOut(t, id, "processing")
			if list, err := o.App.Payouts.Unpaid(ctx, 10); err != nil || len(list) != 1 || list[0].ID != id {
				t.Errorf("under way are %v, %v", list, err)
			}
			if _, _, err := o.App.Payouts.RuleWithdrawal(ctx, by, base.Ruled{ID: id, Word: pay.WordNotPaid, Note: "n"}); err == nil {
				t.Error("a withdrawal whose call may be on its way is said not to have arrived")
			}
			o.clock.advance(time.Minute)
			contrary := map[pay.Word]pay.PayoutKind{pay.WordPaid: pay.PayoutRejected, pay.WordNotPaid: pay.PayoutPaid}[word]
			for _, kind := range []pay.PayoutKind{pay.PayoutAccepted, contrary} {
				b.behave(answer(pay.PayoutUnknown), answer(kind))
				if _, said, err := o.App.Payouts.RuleWithdrawal(ctx, by, base.Ruled{ID: id, Word: word, Note: "n"}); err == nil || said != kind {
					t.Errorf("the bank says %s, and %s is taken: %v", kind, word, err)
				}
			}
			b.behave(answer(pay.PayoutUnknown), answer(pay.PayoutUnknown))
			_, said, err := o.App.Payouts.RuleWithdrawal(ctx, by, base.Ruled{ID: id, Word: word, Note: "the statement of today"})
			must(t, err)
			r := o.get(t, "/withdrawals/"+id)
			if r.text(t, "status") != want.status || said != pay.PayoutUnknown || o.available(t) != want.available {
				t.Errorf("the operator says %s: available %s, %s", word, o.available(t), r)
			}
			if e := o.act(t, audit.WithdrawalRuled, id); e.By.ID != "ana" || e.Details["word"] != string(word) || e.Details["note"] != "the statement of today" {
				t.Errorf("the audit log has %+v", e)
			}
			if word == pay.WordPaid { // the other one begins as this one did
				o.fund(t, true, 100_00)
			}
		}
	})
}

// ruleClaim is the operator's word, said again where somebody wrote something meanwhile.
func (d *drill) ruleClaim(says claims.RuledClaim) (c pay.Claim, err error) {
	for range 5 {
		c, err = d.App.Claims.RuleClaimAs(ctx, d.App.Self(), says)
		if refused := (*problem.Error)(nil); !errors.As(err, &refused) || refused.Details.Reason != "changed_meanwhile" {
			break
		}
	}
	return c, err
}

// Late money whose refund is at an account that was removed is ended by the operator.
func TestOperatorEndsARefundOfLateMoneyThatNobodyTellsOf(t *testing.T) {
	for _, word := range []pay.ClaimVerb{pay.Approve, pay.Reject} {
		t.Run(string(word), func(t *testing.T) {
			drilled(t, func(t *testing.T, d *drill) {
				first := d.lines["acme-1"]
				first.Next("open")
				d.pay(t, 1, 1)
				id := d.ids[0]
				d.clock.advance(d.expires(t, id).Sub(d.clock.now()))
				d.pass(t, time.Minute)
				d.told(t, first.Upstream, id, 1, "paid", "acme-1-hush").is(t, http.StatusOK, `{"ok":true}`)
				claim := d.live.get(t, "/payments/"+id).text(t, "attention.claimId")
				first.fails(gateway)
				c, err := d.App.Claims.RuleClaim(ctx, claim, pay.Approve, "give it back")
				must(t, err)
				if !c.Calling() {
					t.Fatalf("the refund is not under way: %s", c)
				}
				d.clock.advance(time.Minute)
				_, err = d.App.Accounts.Remove(ctx, d.App.Self(), "acme-1", true)
				must(t, err)
				if c, err = d.ruleClaim(claims.RuledClaim{ID: claim, Word: word, Note: "the provider's dashboard"}); err != nil || !c.Status.Terminal() || c.Status.Pays() != (word == pay.Approve) {
					t.Errorf("the operator says %s: %s, %v", word, c, err)
				}
				d.clean(t)
			})
		})
	}
}

// A word that has no meaning is told to the operator once, and counted each time.
func TestStrangeWordIsToldOnce(t *testing.T) {
	operated(t, func(t *testing.T, op operator) {
		d := op.drilledBy(t)
		d.lines["acme-1"].fails(strange)
		d.pay(t, 1, 1)
		eventually(t, "it is counted ten times", func() bool { // a question may be under way when the clock moves
			d.pass(t, 6*time.Hour)
			return d.App.Providers.UnmappedStatuses()["acme-1"] >= 10
		})
		if n := strings.Count(op.log.String(), "blocked_by_compliance"); n != 1 {
			t.Errorf("the log tells the word %d times", n)
		}
	})
}

// The admin API lists what nobody knows, and takes the operator's word on it.
func TestOperatorEndsThingsOverTheAdminAPI(t *testing.T) {
	operated(t, func(t *testing.T, op operator) {
		d := op.drilledBy(t)
		d.lines["acme-1"].fails(strange)
		d.pay(t, 1, 1)
		id := d.ids[0]
		d.pass(t, time.Minute)
		r := op.get(t, "/payments/unsure").want(t, http.StatusOK)
		if r.text(t, "data.0.id") != id || r.text(t, "data.0.account") != "acme-1" || r.text(t, "data.0.status") != "processing" {
			t.Errorf("nobody knows of %s", r)
		}
		path := "/payments/" + id + "/resolution"
		op.ask(t, http.MethodPost, path, `{"outcome":"maybe","note":"n"}`).refused(t, "400 invalid_request invalid_request_error param=outcome issues=outcome")
		op.ask(t, http.MethodPost, path, `{"outcome":"paid"}`).refused(t, "400 missing_field invalid_request_error param=note issues=note missing=note")
		op.ask(t, http.MethodPost, "/payments/TXN-NONE/resolution", `{"outcome":"paid","note":"n"}`).refused(t, "404 transaction_not_found invalid_request_error")
		op.ask(t, http.MethodPost, "/withdrawals/wdr_NONE/resolution", `{"outcome":"paid","note":"n"}`).refused(t, "404 withdrawal_not_found invalid_request_error")
		op.ask(t, http.MethodPost, "/claims/CLM-NONE/resolution", `{"outcome":"approved","note":"n"}`).refused(t, "404 claim_not_found invalid_request_error")
		r = op.ask(t, http.MethodPost, path, `{"outcome":"paid","note":"the report of today"}`)
		r.is(t, http.StatusOK, `{"id":"`+id+`","status":"completed","provider":"unknown"}`)
		if e := d.live.act(t, audit.PaymentRuled, id); e.By.ID != "ana" || e.By.IP != "127.0.0.1" || e.By.Request != r.header.Get("X-Request-Id") {
			t.Errorf("the audit log has %+v", e)
		}
		op.ask(t, http.MethodPost, path, `{"outcome":"not-charged","note":"n"}`).refused(t, "409 conflict_state conflict_error from=completed action=not-charged")
		d.lines["acme-1"].fails(gateway)
		claim := d.live.post(t, "/payments/"+id+"/refund", `{}`).want(t, http.StatusOK).text(t, "refundId")
		op.ask(t, http.MethodPost, "/claims/"+claim+"/resolution", `{"outcome":"rejected","note":"too early"}`).
			refused(t, "409 conflict_state conflict_error reason=call_on_its_way from=pending action=reject")
		d.clock.advance(time.Minute)
		op.ask(t, http.MethodPost, "/claims/"+claim+"/resolution", `{"outcome":"rejected","note":"the provider's dashboard"}`).
			is(t, http.StatusOK, `{"id":"`+claim+`","status":"rejected","transactionId":"`+id+`"}`)
		op.ask(t, http.MethodPost, "/claims/"+claim+"/resolution", `{"outcome":"rejected","note":"again"}`).refused(t, "409 claim_already_resolved conflict_error from=rejected action=reject")
		d.clean(t)
	})
}

// The admin API takes the operator's word on a withdrawal, once.
func TestOperatorEndsAWithdrawalOverTheAdminAPI(t *testing.T) {
	operated(t, func(t *testing.T, op operator) {
		o := op.shop(t)
		o.fund(t, false, 100_00)
		o.wallet(t)
		path := "/withdrawals/" + o.withdraw(t, "50") + "/resolution"
		op.ask(t, http.MethodPost, path, `{"outcome":"not-paid","note":"the wallet is not theirs"}`).want(t, http.StatusOK)
		op.ask(t, http.MethodPost, path, `{"outcome":"not-paid","note":"again"}`).refused(t, "409 conflict_state conflict_error from=failed action=not-paid")
		if got := o.available(t); got != "100" {
			t.Errorf("available is %s, want all of it", got)
		}
	})
}
