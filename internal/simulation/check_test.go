package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// The invariants, as a finding names them.
const (
	checkIsClean   = "check is clean"
	oneByOne       = "a node sends the events of an object one after the other"
	chargesAgree   = "the books have exactly what providers charged"
	disputesAgree  = "a dispute ends as its issuer says"
	refundsAgree   = "the books have exactly what providers refunded"
	payoutsAgree   = "the books have exactly what the banks paid out"
	newsIsKept     = "the content of every accepted notification is in the books"
	paidIsPaid     = "no payment expires or is canceled if its provider says that it is paid"
	failsUnpaid    = "a payment that can still be paid does not fail"
	chargedOnce    = "a payment is charged at one provider, never at one that the cascade has left"
	lifeGoesOn     = "a payment's status never goes back"
	merchantsPart  = "a merchant gives back no more than its term says"
	paidOnce       = "no shopper pays twice"
	withinSource   = "no payment is refunded beyond its amount"
	eventsArrived  = "every event arrives"
	doneOnce       = "a request is done at most once"
	answersTrue    = "every answer is true"
	answeredInTime = "every request with a key is answered"
	paymentsEnd    = "every payment ends"
	claimsEnd      = "every claim ends"
	withdrawalsEnd = "every withdrawal ends"
	comesToRest    = "a service without requests becomes idle"
	nodesStart     = "a node starts"
	operatorWorks  = "the operator can work"
	resetsEnd      = "a reset ends"
	resetsEmpty    = "a reset deletes everything from before it"
	resetsSpare    = "a reset deletes nothing from after it"
	worthIt        = "nobody is credited with more than the money is worth"
	oneWins        = "a checkout has one payment, and its order is paid once"
	shopsApart     = "a shop sees nothing of another shop"
)

// books is everything that the service has written, in its final state.
type books struct {
	payments  map[string]pay.Payment
	claims    []pay.Claim
	receipts  map[string][]pay.KeptNotice
	withdrawn []pay.Withdrawal
	sessions  map[string]pay.Session // nil if they were deleted
}

// check proves the invariants.
func (w *world) check() {
	ctx := context.Background()
	w.turns.turn("checks")
	s := w.eye
	broken, err := s.Check(ctx)
	if err != nil {
		w.find(checkIsClean, "", "%v", err)
	}
	for _, b := range broken {
		w.find(checkIsClean, idIn(b.String()), "%s", b)
	}
	all, err := w.read(ctx, s)
	if err != nil {
		w.find(checkIsClean, "", "%v", err)
		return
	}
	w.checkCharges(all)
	w.checkRefunds(all)
	w.checkPayouts(all)
	if w.counter != nil {
		w.checkFiles(all)
	}
	w.checkAutomatic()
	w.checkWorth(all)
	w.checkSessions(all)
	w.checkApart(all)
	w.checkAnswers(all)
	w.checkEvents(all)
	w.checkOwners(all)
	w.checkSandboxes(ctx)
	w.checkRules(all)
	w.checkTerms(all)
	w.checkLeavers()
	w.tell(ctx, s)
}

// idIn finds the payment or claim that a text names.
func idIn(text string) string {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' || r == '-' || r == '_')
	}) {
		for _, prefix := range []string{pay.PaymentPrefix, pay.ClaimPrefix, pay.WithdrawalPrefix} {
			if strings.HasPrefix(word, prefix) {
				return word
			}
		}
	}
	return ""
}

func (w *world) read(ctx context.Context, s *store.Store) (*books, error) {
	all := &books{payments: map[string]pay.Payment{}, receipts: map[string][]pay.KeptNotice{}}
	list, err := s.Payments().Between(ctx, true, "", pay.PaymentPrefix+"ZZ", 100_000)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		all.payments[p.ID] = p
		if all.receipts[p.ID], err = s.Notices().Of(ctx, p.ID); err != nil {
			return nil, err
		}
	}
	if all.claims, err = s.Claims().ListAny(ctx, lists.ClaimFilter{Page: lists.Page{Limit: 100_000}}); err != nil {
		return nil, err
	}
	all.claims = slices.DeleteFunc(all.claims, func(c pay.Claim) bool { return !c.Live })
	if err := w.readSessions(ctx, s, all); err != nil {
		return nil, err
	}
	for _, shop := range w.shops {
		list, _, err := s.Withdrawals().List(ctx, shop.by.Scope, lists.WithdrawalFilter{Page: lists.Page{Limit: 100_000}})
		if err != nil {
			return nil, err
		}
		all.withdrawn = append(all.withdrawn, list...)
	}
	return all, nil
}

// tell adds the stories.
func (w *world) tell(ctx context.Context, s *store.Store) {
	told := map[string]bool{}
	for i, f := range w.findings {
		if f.about == "" || told[f.about] {
			continue
		}
		told[f.about] = true
		story, err := s.Story(ctx, f.about)
		if err != nil {
			story = err.Error()
		}
		w.findings[i].text += "\n" + story
	}
}

// checkCharges compares the providers' charges with our captures.
func (w *world) checkCharges(all *books) {
	paid := map[string][]string{} // payment → references
	lied := map[string]bool{}
	for _, name := range accountIDs {
		u := w.upstreams[name]
		for _, ref := range slices.Sorted(maps.Keys(u.charges)) {
			c := u.charges[ref]
			p, known := all.payments[c.payment]
			if !known {
				w.find(chargesAgree, "", "%s has charge %s of a payment that we do not have", name, ref)
				continue
			}
			if c.status == "paid" && (captured(p) || !c.whole()) {
				paid[c.payment] = append(paid[c.payment], ref)
			}
			lied[c.payment] = lied[c.payment] || c.lied
			w.checkCharge(all, u, c, p)
		}
	}
	moneys := map[string]int{}
	for id, list := range paid {
		moneys[id] = len(list)
	}
	w.countCards(all, moneys, lied)
	for _, id := range slices.Sorted(maps.Keys(paid)) {
		if len(paid[id]) > 1 && !lied[id] {
			w.find(paidOnce, id, "%s was paid as %s", id, strings.Join(paid[id], " and "))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all.payments)) {
		p := all.payments[id]
		if captured(p) && len(paid[id]) == 0 {
			w.find(chargesAgree, id, "%s is %s, and no provider has its money", id, p.Status)
		}
	}
}

// captured reports whether a payment's money is in our books.
func captured(p pay.Payment) bool {
	return p.Status == pay.Completed || p.Status == pay.Refunded || p.Status == pay.Chargeback
}

func (w *world) checkCharge(all *books, u *upstream, c *charge, p pay.Payment) {
	_, order, _ := pay.ParseReference(c.ref)
	if order > len(p.Attempts) || p.Attempts[order-1].Provider != u.name {
		w.find(chargesAgree, p.ID, "%s has charge %s, and the payment has no such attempt there", u.name, c.ref)
		return
	}
	ours := captured(p) && p.End.Captured == order
	booked := 0
	for _, claim := range all.claims {
		if claim.Kind == pay.Inquiry && claim.Payment == p.ID && claim.Attempt == order && claim.Previous == "" {
			booked++
		}
	}
	if ours {
		booked++
	}
	if slices.ContainsFunc(p.Strays, func(s pay.Stray) bool { return ours && s.MoneyRef != "" && s.MoneyRef == p.Attempts[order-1].MoneyRef }) {
		booked-- // a part of another amount completed the payment
	}
	moneys := c.moneys()
	inquired := slices.ContainsFunc(p.Strays, func(s pay.Stray) bool { return s.Order == order && s.MoneyRef == c.money(0) && s.Claim != "" })
	gone := c.whole() || len(c.panel) > 0 && mismatched(all, p.ID)
	if other := p.Attempts[order-1].MoneyRef; gone && (!ours || other != "" && other != c.money(0)) && !inquired {
		delete(moneys, c.money(0)) // it came and went, or the operator has to find out what is left
	} else {
		w.checkDisputes(all, u, p, c)
	}
	if byCard(p) {
		w.counts["cards: moneys at providers"] += len(moneys)
		w.counts["cards: moneys in the books"] += booked
	}
	switch {
	case c.status != "paid" && booked > 0:
		w.find(chargesAgree, p.ID, "%s is in our books, and at %s the charge is %s", c.ref, u.name, c.status)
	case len(moneys) != booked:
		w.find(chargesAgree, p.ID, "%s was paid at %s with %v, and %d of it is in our books of the %s payment", c.ref, u.name, moneys, booked, p.Status)
	}
	for _, ref := range slices.Sorted(maps.Keys(moneys)) {
		if booked > 0 && !keeps(p, order, ref) {
			w.find(chargesAgree, p.ID, "%s of %s is not in our books: %+v", ref, u.name, p.Strays)
		}
	}
	w.checkPanel(all, u, p, c)
}

// checkRefunds compares the providers' refunds with our claims.
func (w *world) checkRefunds(all *books) {
	byRef := map[string]pay.Claim{}
	given := map[string]int64{}
	for _, claim := range all.claims {
		for round := 1; round <= claim.Call.Round; round++ {
			then := claim
			then.Call.Round = round
			byRef[then.Reference()] = claim
		}
		if claim.Kind == pay.UserDispute && claim.Status.Pays() && claim.Call.Returned == "" {
			given[claim.Payment] += claim.Local.Minor
			if claim.Origin == pay.ByMerchant && !w.refunded(claim) {
				w.find(refundsAgree, claim.Payment, "refund %s is %s, and no provider made it", claim.ID, claim.Status)
			}
		}
	}
	for _, name := range accountIDs {
		u := w.upstreams[name]
		for _, ref := range slices.Sorted(maps.Keys(u.refunds)) {
			r := u.refunds[ref]
			claim, known := byRef[ref]
			switch {
			case !known:
				w.find(refundsAgree, "", "%s has refund %s, and we do not", name, ref)
			case r.status == "done" && !claim.Status.Pays():
				w.find(refundsAgree, claim.Payment, "%s made refund %s, and claim %s is %s", name, ref, claim.ID, claim.Status)
			case r.status == "done" && r.amount != claim.Local:
				w.find(refundsAgree, claim.Payment, "%s gave %s back, and claim %s says %s", name, r.amount, claim.ID, claim.Local)
			}
		}
	}
	parts, count := map[string]int64{}, map[string]int64{}
	for _, claim := range all.claims {
		if claim.Kind == pay.UserDispute && claim.Status.Pays() && claim.Call.Returned == "" {
			parts[claim.Payment] += claim.Parts.Net + claim.Parts.Reserve
			count[claim.Payment]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		if most := mostGiven(all.payments[id], given[id], count[id]); parts[id] > most {
			w.find(merchantsPart, id, "for %s the merchant gave back %d cents in %d refunds, and owed at most %d", id, parts[id], count[id], most)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(given)) {
		if p := all.payments[id]; given[id] > p.Price.Local.Minor {
			w.find(withinSource, id, "refunds of %s exceed its amount", id)
		}
	}
}

// mostGiven is the most that refunds of a local amount may take from the merchant: the same
// share of the capture, without the fees if they are returned, and a cent for each rounded
// part, because the first refunds take the rounding.
func mostGiven(p pay.Payment, local, refunds int64) int64 {
	of := p.Price.Amount.Minor
	if p.Terms.RefundFees == merchants.FeesReturned {
		of -= p.Terms.Fees.Total()
	}
	return of*local/p.Price.Local.Minor + 6*refunds
}

// refunded reports whether some provider made a claim's refund.
func (w *world) refunded(claim pay.Claim) bool {
	for _, name := range accountIDs {
		for round := 1; round <= claim.Call.Round; round++ {
			claim.Call.Round = round
			if r := w.upstreams[name].refunds[claim.Reference()]; r != nil && r.status == "done" {
				return true
			}
		}
	}
	return false
}

// checkAnswers compares the answers to shops with the facts.
func (w *world) checkAnswers(all *books) {
	made := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(all.payments)) {
		made["create "+all.payments[id].Order.ID] = append(made["create "+all.payments[id].Order.ID], id)
	}
	for _, id := range slices.Sorted(maps.Keys(all.sessions)) {
		if s := all.sessions[id]; s.After == "" { // others were opened to try again
			made["session "+s.OrderID] = append(made["session "+s.OrderID], id)
		}
	}
	for _, claim := range all.claims {
		if claim.Kind == pay.UserDispute {
			made["refund "+claim.Reason] = append(made["refund "+claim.Reason], claim.ID)
		}
	}
	for _, out := range all.withdrawn {
		if out.Payout.Provider == "by_hand" || w.payoffs[out.ID] { // the operator's or a settlement's own, of any amount
			continue
		}
		key := fmt.Sprint("withdraw ", out.Amount)
		made[key] = append(made[key], out.ID)
	}
	for _, r := range w.asked {
		if r.what == "session" && all.sessions == nil {
			continue
		}
		key := r.what + " " + r.tag
		if r.what == "withdraw" {
			key = fmt.Sprint("withdraw ", r.amount)
		}
		w.checkAnswer(all, r, made[key])
	}
}

func (w *world) checkAnswer(all *books, r *request, made []string) {
	about := ""
	if len(made) > 0 {
		about = made[len(made)-1]
	}
	name := r.what + " " + r.tag
	if r.key != "" {
		name += " with a key"
	}
	switch {
	case len(made) > 1 || len(r.doubled) > 0:
		w.find(doneOnce, about, "%s made %v of one request in %d tries", name, made, r.tries)
	case r.key != "" && !r.settled:
		w.find(answeredInTime, about, "%s has no answer after %d tries", name, r.tries)
	case !r.settled:
		return // not known, and at most one was made
	case r.id != "" && len(made) == 0:
		w.find(answersTrue, "", "%s was answered with %s, which does not exist", name, r.id)
	case r.id != "" && made[0] != r.id:
		w.find(answersTrue, about, "%s was answered with %s, and made %s", name, r.id, made[0])
	case r.id == "" && len(made) > 0 && !r.unclear:
		w.find(answersTrue, about, "%s was refused (%v), and made %s", name, r.err, made[0])
	}
	p, known := all.payments[r.id]
	if r.what != "create" || !known {
		return
	}
	if r.canceled && !p.End.Canceled() {
		w.find(answersTrue, about, "%s was answered as canceled, and is %s", name, p.Status)
	}
	told, is := r.status, p.Status
	if told == pay.Completed && !captured(p) || told == pay.Failed && is != pay.Failed {
		w.find(answersTrue, about, "%s was answered as %s, and is %s", name, told, is)
	}
}

// checkEvents proves that each shop's endpoint received every event.
func (w *world) checkEvents(all *books) {
	want := map[string]map[string]int64{} // host → object → events
	for _, shop := range w.shops {
		objects := map[string]int64{}
		want[shop.host] = objects
		for id, p := range all.payments {
			if p.Shop == shop.by.Shop {
				objects[id] = p.Sequence
			}
		}
		for _, claim := range all.claims {
			if claim.Shop == shop.by.Shop {
				objects[claim.ID] = claim.Sequence
			}
		}
		for _, out := range all.withdrawn {
			if out.Shop == shop.by.Shop {
				objects[out.ID] = out.Sequence
			}
		}
		for _, s := range all.sessions {
			if s.Shop == shop.by.Shop && s.Payment == "" {
				objects[w.tokenOf(s)] = 1 // that nobody chose a method in time
			}
		}
	}
	for _, host := range slices.Sorted(maps.Keys(want)) {
		for _, id := range slices.Sorted(maps.Keys(want[host])) {
			told := w.inboxes[host].told[id]
			for n := int64(1); n <= want[host][id]; n++ {
				if told[n] == "" {
					w.find(eventsArrived, id, "event %d of %s did not arrive; it has %d", n, id, want[host][id])
				}
			}
			if int64(len(told)) > want[host][id] {
				w.find(eventsArrived, id, "%d events of %s arrived, and it has %d", len(told), id, want[host][id])
			}
		}
	}
}

// checkOwners proves that everything has ended.
func (w *world) checkOwners(all *books) {
	now := time.Now()
	for _, id := range slices.Sorted(maps.Keys(all.payments)) {
		p := all.payments[id]
		attempt, _ := p.Attempts.Current()
		if p.Status.Open() {
			w.find(paymentsEnd, id, "%s is %s, with an attempt %s, %s after it was made", id, p.Status, attempt.Status, now.Sub(p.Times.Created).Round(time.Hour))
		}
	}
	for _, claim := range all.claims {
		if !claim.Status.Terminal() {
			w.find(claimsEnd, claim.Payment, "claim %s of type %s is %s, its refund %q", claim.ID, claim.Kind, claim.Status, claim.Call.State)
		}
	}
	for _, out := range all.withdrawn {
		if out.Open() {
			w.find(withdrawalsEnd, out.ID, "withdrawal %s is %s", out.ID, out.Status)
		}
	}
}
