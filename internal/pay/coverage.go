package pay

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// Covered is the part of a settlement's net that a withdrawal pays out. Amount is in USD cents.
type Covered struct {
	Settlement string `json:"settlement"`
	Amount     int64  `json:"amount"`
}

// Withdrawals lists the withdrawals that cover the settlement, in the order in which they were made to.
func (s Settlement) Withdrawals() (ids []string) {
	for _, c := range s.Covers {
		if c.By != "" && !c.SetOff() && !slices.Contains(ids, c.By) {
			ids = append(ids, c.By)
		}
	}
	return ids
}

// PaidOut is the part of the net, in USD cents, that withdrawals cover, arrived or not.
func (s Settlement) PaidOut() (sum int64) {
	for _, c := range s.Covers {
		if !c.SetOff() {
			sum += c.Amount
		}
	}
	return sum
}

// PayoutState says how far a closed settlement is paid out.
type PayoutState string

// States of a settlement's payout.
const (
	PayoutOwed      PayoutState = "owed"           // a part of the net is covered by nothing
	PayoutUnderWay  PayoutState = "in_progress"    // withdrawals cover all of it; some have not arrived
	PayoutConfirmed PayoutState = "paid"           // withdrawals cover all of it and have arrived
	PayoutOfNothing PayoutState = "nothing_to_pay" // the net is zero or a debt, or was set off
)

// PayoutStates lists the states.
func PayoutStates() []PayoutState {
	return []PayoutState{PayoutOwed, PayoutUnderWay, PayoutConfirmed, PayoutOfNothing}
}

// PayoutState returns how far a closed settlement is paid out.
func (s Settlement) PayoutState() PayoutState {
	switch left := s.Uncovered(); {
	case s.Net <= 0 || left == 0 && s.PaidOut() == 0:
		return PayoutOfNothing
	case left > 0:
		return PayoutOwed
	case s.settled():
		return PayoutConfirmed
	}
	return PayoutUnderWay
}

// settled reports whether withdrawals have paid out the whole net, less set-offs.
func (s Settlement) settled() bool {
	return s.Uncovered() == 0 && s.PaidOut() > 0 && !slices.ContainsFunc(s.Covers, func(c Cover) bool { return !c.Paid })
}

// cover adds a cover, or a part to one by the same withdrawal or settlement.
func (s *Settlement) cover(c Cover) {
	s.Covered += c.Amount
	s.Covers = slices.Clone(s.Covers)
	for i := range s.Covers {
		if s.Covers[i].By == c.By {
			s.Covers[i].Amount += c.Amount
			return
		}
	}
	s.Covers = append(s.Covers, c)
}

// uncover takes an amount of what a withdrawal covers back.
func (s *Settlement) uncover(withdrawal string, amount int64) {
	s.Covered -= amount
	s.Covers = slices.Clone(s.Covers)
	for i := range s.Covers {
		if s.Covers[i].By == withdrawal {
			s.Covers[i].Amount -= amount
		}
	}
	s.Covers = slices.DeleteFunc(s.Covers, func(c Cover) bool { return c.Amount == 0 })
}

// coverLimit is the most, in USD cents, that the withdrawal can cover: its amount less what came back. The
// fee of a payout that came back is spent.
func (w Withdrawal) coverLimit() int64 {
	if w.Status == WithdrawalCanceled || w.Status == WithdrawalRefused && w.CompletedAt.IsZero() {
		return 0
	}
	return w.Amount - w.Returned
}

// CoveredSum is the sum, in USD cents, of what a withdrawal covers.
func CoveredSum(list []Covered) (sum int64) {
	for _, c := range list {
		sum += c.Amount
	}
	return sum
}

// uncovering is the part of the withdrawal, in USD cents, that covers no settlement yet: below zero, it covers
// more than it paid.
func (w Withdrawal) uncovering() int64 { return w.coverLimit() - CoveredSum(w.Covers) }

// coverOldest lets the withdrawal cover up to an amount of the oldest settlements that are owed.
func (w *Withdrawal) coverOldest(list []Settlement, amount int64) {
	w.Covers = slices.Clone(w.Covers)
	for i := range list {
		if part := min(amount, list[i].Uncovered()); part > 0 {
			amount -= part
			list[i].cover(Cover{By: w.ID, Amount: part, Paid: !w.CompletedAt.IsZero()})
			w.Covers = append(w.Covers, Covered{list[i].ID, part})
		}
	}
}

// uncoverNewest takes back what the withdrawal covers beyond what it paid, of the newest settlements first.
func (w *Withdrawal) uncoverNewest(list []Settlement) {
	over := -w.uncovering()
	w.Covers = slices.Clone(w.Covers)
	for i := len(w.Covers) - 1; i >= 0 && over > 0; i-- {
		part := min(over, w.Covers[i].Amount)
		at := slices.IndexFunc(list, func(s Settlement) bool { return s.ID == w.Covers[i].Settlement })
		if at < 0 {
			continue
		}
		over -= part
		w.Covers[i].Amount -= part
		list[at].uncover(w.ID, part)
		if list[at].Payout == w.ID {
			list[at].Payout, list[at].PayoutWhy = "", cmp.Or(w.FailureCode, string(w.Status))
		}
	}
	w.Covers = slices.DeleteFunc(w.Covers, func(c Covered) bool { return c.Amount == 0 })
}

// setOff sets debts off against what is owed, the oldest first. A settlement whose net is a debt owes that much less of the
// others.
func setOff(list []Settlement) {
	for d := range list {
		for i := range list {
			debt := -list[d].Uncovered()
			if part := min(debt, list[i].Uncovered()); part > 0 {
				list[i].cover(Cover{By: list[d].ID, Amount: part, Paid: true})
				list[d].cover(Cover{By: list[i].ID, Amount: -part, Paid: true})
			}
		}
	}
}

// planLook is the pause before the newest settlement that is owed looks whether the merchant's terms pay settlements out by now.
const planLook = day

// ByHand lets a settlement wait for the merchant, who withdraws. newest, if it is not zero, is the newest settlement that is owed: it
// looks again.
func (s Settlement) ByHand(newest Settlement, now time.Time) Change {
	s = s.written(now)
	s.Automatic, s.DueAt = false, time.Time{}
	if slices.Contains(notBegun, Unpayable(s.PayoutWhy)) { // nothing waits for it now
		s.PayoutWhy = ""
	}
	if newest.ID == s.ID {
		s.DueAt = now.Add(planLook)
	}
	change := Change{Settlements: []Settlement{s}}
	if newest.ID != "" && newest.ID != s.ID && newest.DueAt.IsZero() {
		newest = newest.written(now)
		newest.Automatic, newest.DueAt = false, now.Add(planLook)
		change.Settlements = append(change.Settlements, newest)
	}
	return change
}

// payoutRetry is the pause after an automatic payout that failed or came back, if no settlement closes before: the
// merchant got an event, and has to add another wallet.
const payoutRetry = day

// Match brings a merchant's settlements and withdrawals into agreement (SETTLE-11). list has the settlements that are
// not covered, and those that withdrawals of made cover; made has the withdrawals that cover less or more than they paid. A
// withdrawal that has arrived covers the oldest settlements that are owed; one that did not, or came back, covers less, and the
// newest of its settlements are owed again. What is paid beyond all nets covers a settlement that closes later.
func Match(list []Settlement, made []Withdrawal, now time.Time) Change {
	list, before := slices.Clone(list), slices.Clone(list)
	slices.SortFunc(list, byNumber)
	slices.SortFunc(before, byNumber)
	var change Change
	ended := slices.Clone(made)
	for at := range ended { // first what is owed again
		w := &ended[at]
		if w.uncovering() < 0 {
			w.uncoverNewest(list)
		}
		if !w.CompletedAt.IsZero() {
			for i := range list {
				list[i].arrived(w.ID)
			}
		}
	}
	for at, w := range ended {
		if rest := w.uncovering(); !w.CompletedAt.IsZero() && rest > 0 {
			w.coverOldest(list, rest)
		}
		looked := !w.Open() && !w.DueAt.IsZero()
		if looked || !slices.Equal(made[at].Covers, w.Covers) {
			w = w.next(now)
			if looked {
				w.DueAt = time.Time{}
			}
			change.Withdrawals = append(change.Withdrawals, w)
		}
	}
	setOff(list)
	for i, s := range list {
		if slices.Equal(before[i].Covers, s.Covers) {
			continue
		}
		s = s.written(now)
		owedAgain := s.Uncovered() > before[i].Uncovered()
		switch {
		case s.Status == BatchClosed && s.settled():
			s.Status, s.PaidAt, s.PayoutWhy = BatchPaid, now, ""
		case s.Status == BatchPaid && !s.settled(): // a withdrawal came back
			s.Status, s.PaidAt = BatchClosed, time.Time{}
		}
		if owedAgain && !s.PDFAt.IsZero() {
			s.DueAt = now.Add(payoutRetry)
		}
		change.Settlements = append(change.Settlements, s)
	}
	return change
}

func byNumber(a, b Settlement) int { return cmp.Compare(a.Number, b.Number) }

// arrived marks what a withdrawal covers as paid.
func (s *Settlement) arrived(withdrawal string) {
	for i, c := range s.Covers {
		if c.By == withdrawal && !c.Paid {
			s.Covers = slices.Clone(s.Covers)
			s.Covers[i].Paid = true
		}
	}
}

// Owed is what automatic payouts have to pay, in USD cents: the nets of the closed settlements that nothing covers, less debts and
// less withdrawals that cover nothing yet. of are the settlements, oldest first; those without a receipt wait for it.
func Owed(list []Settlement, made []Withdrawal) (sum int64, of []Settlement) {
	for _, s := range list {
		if s.Status != BatchClosed || s.Uncovered() > 0 && s.PDFAt.IsZero() {
			continue
		}
		sum += s.Uncovered()
		if s.Uncovered() > 0 {
			of = append(of, s)
		}
	}
	for _, w := range made {
		sum -= w.uncovering()
	}
	slices.SortFunc(of, byNumber)
	return sum, of
}

// PayOff lets a new withdrawal cover the oldest of the settlements that are owed, and returns them with the withdrawal as
// their automatic payout.
func (w Withdrawal) PayOff(of []Settlement, now time.Time) (Withdrawal, []Settlement) {
	list := slices.Clone(of)
	w.coverOldest(list, w.Amount)
	var changed []Settlement
	for i, s := range list {
		switch {
		case s.Covered != of[i].Covered:
			s = s.written(now)
			s.Payout, s.PayoutWhy, s.DueAt = w.ID, "", time.Time{}
		case i < len(list)-1:
			continue
		}
		if i == len(list)-1 && s.Uncovered() > 0 { // the rest of it waits for money
			if s.Covered == of[i].Covered {
				s = s.written(now)
			}
			s.PayoutWhy, s.DueAt = string(WaitsMoney), now.Add(payoutAgain)
		}
		changed = append(changed, s)
	}
	return w, changed
}

// PayByHand books that the operator has paid an amount, in USD cents, of a settlement to the wallet by hand: a withdrawal through
// an account, made and completed in one step. It costs the merchant nothing. ref is the bank's reference.
//
// Errors: conflict_state if the settlement is open, settlement_already_paid if nothing of it is left to be paid, invalid_request,
// and those of Withdraw.
func (wa Wallet) PayByHand(id string, s Settlement, amount int64, route PayoutRoute, ref string, into rates.Conversion, have ledger.Balances, now time.Time) (Settlement, Withdrawal, Change, error) {
	if err := s.MayPayOut(amount); err != nil {
		return s, Withdrawal{}, Change{}, err
	}
	if amount > have[ledger.Available] {
		return s, Withdrawal{}, Change{}, problem.Beyond("amount", paidBeyondBalance, amount, have[ledger.Available])
	}
	to := wa
	to.Status, to.ActiveAt = WalletActive, time.Time{} // the money has gone there, whatever became of the wallet
	made, change, err := to.Withdraw(id, money.New(amount, money.USD), merchants.Terms{}, into, have, now)
	if err != nil {
		return s, made, change, err
	}
	made.Payout = Payout{Provider: route.Account, Why: route.Why, BankRef: ref, SentAt: now, Float: route.Float}
	made.Status = WithdrawalProcessing
	if float := made.moveFloat("sent", ledger.FloatSent, ledger.Float, ledger.FloatCommitted, now); len(float) > 0 {
		change.Transfers = append(change.Transfers, float...)
		change.Floors = append(change.Floors, ledger.Floor{Merchant: float[0].Merchant, Live: made.Live, Account: ledger.Float})
	}
	made.Covers = []Covered{{s.ID, amount}}
	made, paid := made.complete(now)
	made.Version, made.DueAt = 1, time.Time{}
	s = s.written(now)
	s.cover(Cover{By: made.ID, Amount: amount, Paid: true})
	s.PayoutWhy = ""
	if s.settled() {
		s.Status, s.PaidAt = BatchPaid, now
	}
	if s.Uncovered() == 0 {
		s.DueAt = now // it may be the one that looks for all that are owed: it hands over
	}
	change.Withdrawals, change.Settlements = []Withdrawal{made}, []Settlement{s}
	change.Transfers, change.Events = append(change.Transfers, paid.Transfers...), paid.Events
	return s, made, change, nil
}

// MayPayOut returns an error if an amount, in USD cents, of a settlement cannot be paid out by hand.
//
// Errors: conflict_state, settlement_already_paid, invalid_request.
func (s Settlement) MayPayOut(amount int64) error {
	conflict := func(code problem.Code, why problem.Reason) error {
		return &problem.Error{Code: code, Reason: why, Details: problem.Details{From: string(s.Status), Action: string(BatchPaid)}}
	}
	switch left := s.Uncovered(); {
	case s.Status == BatchOpen:
		return conflict(problem.ConflictState, settlementOpen)
	case s.PDFAt.IsZero():
		return conflict(problem.ConflictState, settlementReceiptNotReady)
	case s.Status == BatchPaid:
		return problem.New(problem.SettlementAlreadyPaid, settlementPaid.With(s.PaidAt))
	case left <= 0 && s.Net > 0:
		return problem.New(problem.SettlementAlreadyPaid, settlementCovered)
	case left <= 0:
		return conflict(problem.ConflictState, settlementNothingToPay.With(money.New(s.Net, money.USD)))
	case amount <= 0 || amount > left:
		return problem.Field(problem.InvalidRequest, "amount", beyondSettlement.With(money.New(left, money.USD)))
	}
	return nil
}

// LeftToReturn is what of a completed payout can still come back: in the currency that arrived, or in USD for a token.
func (w Withdrawal) LeftToReturn() money.Amount {
	if w.Local == (money.Amount{}) {
		return money.New(w.Net()-w.Returned, money.USD)
	}
	return money.New(w.Local.Minor-w.ReturnedLocal, w.Local.Currency)
}

// mostReturns is how many parts of a payout may come back.
const mostReturns = 99

// returning returns what of the merchant's USD cents belongs to a part that came back. It is computed from the sum of
// all parts, so that rounding loses nothing. It returns false if the part does not fit.
func (w Withdrawal) returning(part money.Amount) (usd int64, ok bool) {
	left := w.LeftToReturn()
	switch {
	case part.Currency != left.Currency || part.Minor <= 0 || part.Minor > left.Minor || w.Returns >= mostReturns:
		return 0, false
	case part.Minor == left.Minor:
		usd = w.Net() - w.Returned
	case w.Local == (money.Amount{}):
		usd = part.Minor
	default:
		high, low := bits.Mul64(uint64(w.Net()), uint64(w.ReturnedLocal+part.Minor))
		back, _ := bits.Div64(high, low, uint64(w.Local.Minor)) // less than Net, because the part is not the whole
		usd = int64(back) - w.Returned
	}
	return usd, usd > 0
}

// isPart reports whether a return is of a part of the payout, or of the rest after other parts.
func (w Withdrawal) isPart(o PayoutOutcome) bool {
	if w.Status != WithdrawalDone || o.Kind != PayoutReturned || o.Local == (money.Amount{}) || w.Returns == 0 && o.Local == w.Local {
		return false
	}
	_, ok := w.returning(o.Local)
	return ok
}

// returnPart returns a part of the money of a completed payout that the bank sent back, in the currency that arrived; with zero, all
// that is left. The fee is kept, because the payout was made. Once all is back, the withdrawal has failed.
//
// Errors: conflict_state if it is not completed, invalid_request for a part that does not fit.
func (w Withdrawal) returnPart(part money.Amount, o PayoutOutcome, now time.Time) (Withdrawal, Change, error) {
	if w.Status != WithdrawalDone {
		return w, Change{}, &problem.Error{Code: problem.ConflictState, Reason: withdrawalNotArrived.With(w.Status),
			Details: problem.Details{From: string(w.Status), Action: string(WordReturned)}}
	}
	if part == (money.Amount{}) {
		part = w.LeftToReturn()
	}
	usd, ok := w.returning(part)
	if !ok {
		return w, Change{}, problem.Field(problem.InvalidRequest, "amount", beyondWithdrawal.With(w.LeftToReturn()))
	}
	next, change := w.comeBack(usd, part, o, now)
	return next, change, nil
}

// comeBack books a part that came back: usd cents, which are part in the currency that arrived.
func (w Withdrawal) comeBack(usd int64, part money.Amount, o PayoutOutcome, now time.Time) (Withdrawal, Change) {
	before := w.Status
	w = w.next(now)
	w.Returns++
	w.Returned += usd
	w.ReturnedParts = append(slices.Clip(w.ReturnedParts), part.Minor)
	if w.Local != (money.Amount{}) {
		w.ReturnedLocal += part.Minor
	}
	step := "return"
	if w.Returns > 1 {
		step += string([]byte{'0' + byte(w.Returns/10), '0' + byte(w.Returns%10)})
	}
	back := w.transfer(step, ledger.WithdrawalReturn, now,
		ledger.Posting{Account: ledger.PaidOut, Amount: -usd},
		ledger.Posting{Account: ledger.Available, Amount: usd},
	)
	back.Local = money.New(usd, money.USD)
	all := w.Returned == w.Net()
	float := w.floatBack(step, usd, part, all, now)
	w.DueAt = now // settlements that it covered are owed again
	told := webhooks.WithdrawalReturned
	if all {
		w.Status, w.FailedAt, told = WithdrawalRefused, now, webhooks.WithdrawalFailed
		w.FailureCode, w.FailureMessage = cmp.Or(o.Code, "returned"), cmp.Or(o.Message, "the payout arrived and was sent back")
	}
	for _, t := range float {
		w.Payout.Float.Minor -= t.Local.Minor
	}
	if all {
		w.Payout.Float = money.Amount{}
	}
	w, event := w.event(told, before, now)
	return w, Change{Withdrawals: []Withdrawal{w}, Transfers: append(float, back), Events: []Event{event}}
}

// PartReturned is which part of a payout a transfer returned: 1 for the first one.
func PartReturned(t ledger.Transfer) int {
	_, number, _ := strings.Cut(t.ID, "-return")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 1
	}
	return n
}

// floatBack returns to the account's float what came back of it.
func (w Withdrawal) floatBack(step string, usd int64, part money.Amount, all bool, now time.Time) []ledger.Transfer {
	amount := w.Payout.Float
	switch {
	case all || amount.Minor == 0:
	case amount.Currency == part.Currency:
		amount.Minor = min(part.Minor, amount.Minor)
	default:
		amount.Minor = min(usd, amount.Minor)
	}
	w.Payout.Float = amount
	return w.moveFloat(step, ledger.FloatReturned, ledger.FloatPaid, ledger.Float, now)
}
