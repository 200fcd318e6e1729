package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// staff makes the operator work during the faults. The operator has its own process, like a
// user of the command line. It is neither paused nor killed between its look into the
// provider's books and its command, only slow at times.
func (w *world) staff(chance *rand.Rand) (err error) {
	if w.office, err = w.open("office", 0); err != nil {
		return err
	}
	pausing := rand.New(rand.NewPCG(w.seed, hash64("pauses")))
	w.aside.Go(func() {
		for time.Sleep(time.Duration(pausing.Int64N(int64(w.span)))); !w.healing(); time.Sleep(time.Duration(pausing.Int64N(int64(w.span)))) {
			w.pause(pausing)
		}
	})
	w.aside.Go(func() {
		for {
			time.Sleep(time.Duration(chance.Int64N(int64(w.span+w.longer) / 4)))
			w.turns.turn("the operator comes")
			if w.healing() {
				return
			}
			w.rulePayments(chance)
			w.ruleRefunds(chance)
			w.ruleWithdrawals(chance)
			w.topUp(chance)
		}
	})
	return nil
}

// topUp books money at payout accounts, some of it twice, because an answer may be lost.
func (w *world) topUp(chance *rand.Rand) {
	account, currency := payers[chance.IntN(len(payers))], money.USD
	if account != payers[0] && chance.IntN(2) == 0 {
		currency = money.BRL
	}
	reference, amount := fmt.Sprint("wire ", chance.IntN(6)), money.New(int64(5_00+chance.IntN(40_00)), currency)
	w.turns.turn("the operator tops up " + account)
	err := w.office.app.Floats.Enter(lane(context.Background(), "office "+account), operator, account, amount, reference, "", false)
	w.said("float", "", err)
}

// pause pauses a merchant for some minutes while its clients request payments and withdrawals.
func (w *world) pause(chance *rand.Rand) {
	shop := w.shops[chance.IntN(len(w.shops))].by.Merchant
	ctx := lane(context.Background(), "office pauses")
	w.turns.turn("the operator pauses " + shop)
	_, err := w.office.app.Onboarding.Pause(ctx, operator, shop, "we wait for papers")
	w.said("pause", shop, err)
	time.Sleep(time.Duration(chance.Int64N(int64(3 * time.Minute))))
	for range tries {
		w.turns.turn("the operator resumes " + shop)
		if _, err = w.office.app.Onboarding.Resume(ctx, operator, shop, merchants.AnyReason); err == nil {
			return
		}
		time.Sleep(time.Minute)
	}
	w.find(operatorWorks, shop, "the pause does not end: %v", err)
}

var operator = audit.Actor{Kind: audit.ByOperator, ID: "ana"}

// some picks a few elements of a list.
func some[T any](chance *rand.Rand, list []T) []T {
	list = slices.Clone(list)
	chance.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(len(list), 1+chance.IntN(3))]
}

// beside usually waits until just before nodes look at something, so that the operator and
// the nodes collide.
func (w *world) beside(chance *rand.Rand, due time.Time) {
	wait := time.Until(due) - time.Duration(chance.Int64N(int64(3*time.Second)))
	if chance.IntN(4) > 0 && wait > 0 && wait < 10*time.Minute {
		time.Sleep(wait)
	}
}

// hesitates sometimes makes the operator's process slow between its decision and its
// commit, until another process has just written the same object.
func (w *world) hesitates(n *node, change *pay.Change) {
	if n != w.office || len(change.Payments) == 0 || w.healing() || !w.turns.luck("hesitates "+change.Payments[0].ID, 3) {
		return
	}
	p := change.Payments[0]
	for range 100 {
		time.Sleep(100 * time.Millisecond)
		if w.turns.turn("office hesitates " + p.ID); w.versions[p.ID] >= p.Version {
			return
		}
	}
}

// said counts an operator's command, and its result.
func (w *world) said(of, about string, err error) {
	var refused *problem.Error
	switch {
	case err == nil:
		w.count("commands of the operator on a " + of)
	case errors.As(err, &refused) && refused.Code == problem.ConflictState:
		w.count("commands of the operator refused")
	case !unclear(err) && refused.Code != problem.ClaimAlreadyResolved:
		w.find(operatorWorks, about, "%v", err)
	}
}

// rulePayments resolves open payments by their providers' books.
func (w *world) rulePayments(chance *rand.Rand) {
	var open []string
	for _, id := range slices.Sorted(maps.Keys(w.statuses)) {
		if w.statuses[id].Open() {
			open = append(open, id)
		}
	}
	for _, id := range some(chance, open) {
		if p, err := w.eye.Payments().Any(context.Background(), id); err == nil {
			w.beside(chance, p.Work.DueAt)
		}
		w.resolvePayment(id)
	}
}

// ruleRefunds resolves open refunds by their providers' books, and decides about late
// money.
func (w *world) ruleRefunds(chance *rand.Rand) {
	all, err := w.eye.Claims().ListAny(context.Background(), lists.ClaimFilter{Page: lists.Page{Limit: 1000}})
	if err != nil {
		w.find(operatorWorks, "", "%v", err)
		return
	}
	for _, c := range some(chance, slices.DeleteFunc(all, func(c pay.Claim) bool { return c.Status.Terminal() || c.Kind == pay.ChargebackClaim })) {
		w.beside(chance, c.DueAt)
		w.ruleRefund(c.ID)
	}
}

// ruleWithdrawals resolves open withdrawals by the bank's books.
func (w *world) ruleWithdrawals(chance *rand.Rand) {
	sent, err := w.eye.Withdrawals().Sent(context.Background(), "", 1000)
	if err != nil {
		w.find(operatorWorks, "", "%v", err)
		return
	}
	for _, d := range some(chance, sent) {
		w.beside(chance, d.DueAt)
		w.resolveWithdrawal(d)
	}
}

// quick sometimes lets the operator resolve an object at the moment when a call begins.
func (w *world) quick(change *pay.Change) {
	if w.office == nil || w.healing() {
		return
	}
	now := func(id string, rule func()) {
		if w.turns.luck("quick "+id, 12) {
			w.aside.Go(rule)
		}
	}
	for _, p := range change.Payments {
		if current, ok := p.Attempts.Current(); ok && current.Status == pay.Sending {
			now(p.ID, func() { w.resolvePayment(p.ID) })
		}
	}
	for _, c := range change.Claims {
		if c.Call.State == pay.Sending {
			now(c.ID, func() { w.ruleRefund(c.ID) })
		}
	}
	for _, d := range change.Withdrawals {
		if d.Status == pay.WithdrawalProcessing {
			now(d.ID, func() { w.resolveWithdrawal(d) })
		}
	}
}

// resolvePayment resolves a payment by its provider's present books.
func (w *world) resolvePayment(id string) {
	ctx := lane(context.Background(), "office "+id)
	w.turns.turn("the operator looks at " + id)
	p, err := w.eye.Payments().Any(ctx, id)
	attempt, ok := p.Attempts.Current()
	if err != nil || !ok || !p.Status.Open() {
		return
	}
	made := w.upstreams[attempt.Provider].charges[p.Reference(attempt.Order)]
	word := pay.WordNotCharged
	switch {
	case made == nil:
	case made.status == "open", made.status == "paid" && made.paid != made.asked:
		return // it is not known yet
	case made.status == "paid":
		word = pay.WordPaid
	}
	_, _, err = w.office.app.Payments.Resolve(ctx, operator, base.Resolution{ID: id, Word: word, Note: "their books"})
	w.said("payment", id, err)
}

// ruleRefund is resolvePayment for a refund, and decides about late money.
func (w *world) ruleRefund(id string) {
	ctx := lane(context.Background(), "office "+id)
	w.turns.turn("the operator looks at " + id)
	c, err := w.eye.Claims().Any(ctx, id)
	if err != nil || c.Status.Terminal() {
		return
	}
	p, err := w.eye.Payments().Any(ctx, c.Payment)
	taker, ok := c.PaidAttempt(p)
	if err != nil || !ok {
		return
	}
	made := w.upstreams[taker.Provider].refunds[c.Reference()]
	word := pay.Reject
	switch {
	case !c.Calling() && c.Kind != pay.Inquiry, made != nil && made.status == "open":
		return
	case !c.Calling() && w.turns.luck("gives back "+id, 2), c.Calling() && made != nil && made.status == "done":
		word = pay.Approve
	}
	r := claims.Resolution{ID: id, Word: word, Note: "their books"}
	if c.Kind == pay.Inquiry && !c.Calling() && word == pay.Approve {
		r = w.parts(r, c)
	}
	_, err = w.office.app.Claims.Resolve(ctx, operator, r)
	w.said("refund", c.Payment, err)
}

// resolveWithdrawal is resolvePayment for a withdrawal.
func (w *world) resolveWithdrawal(d pay.Withdrawal) {
	w.turns.turn("the operator looks at " + d.ID)
	bank := w.banks[d.Payout.Provider]
	if bank == nil { // its bank gets files, and answers in files
		return
	}
	made := bank.payouts[d.Reference()]
	word := pay.WordNotPaid
	switch {
	case made == nil || made.status == "rejected" || made.status == "returned":
	case made.status == "open":
		return
	default:
		word = pay.WordPaid
	}
	_, _, err := w.office.app.Payouts.ResolveWithdrawal(lane(context.Background(), "office "+d.ID), operator, base.Resolution{ID: d.ID, Word: word, Note: "their statement"})
	w.said("withdrawal", d.ID, err)
}
