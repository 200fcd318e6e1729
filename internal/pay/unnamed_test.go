package pay

import (
	"testing"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

// A refund of the provider's that names no money, of a charge that was paid twice.
func TestRefundOfAnUnnamedMoney(t *testing.T) {
	h := heard(t)
	h.confirm(named("A", 100_00), Applied)
	h.confirm(named("B", 100_00), Late)
	o := back(100_00, theirs("r1", 100_00)) // as a provider that names no money says it
	v1 := h.say(o)
	o.MoneyRef = "B" // its list says whose it is
	v2 := h.say(o)
	if h.books[ledger.Suspense] > 0 && v1 != Mismatched && v2 != Mismatched {
		t.Errorf("B went back; the capture was charged for it, %d are in suspense: %s, %s", h.books[ledger.Suspense], v1, v2)
	}
}

// Adjustments: a reversal that is rejected and made again, and one that is decided twice.
func TestAdjustmentIsDecidedAndReversedOnce(t *testing.T) {
	a := Adjustment{ID: "adj_1", Amount: 100_00, Reason: ForGoodwill, Note: "n", Reference: "r", MadeBy: "ana"}
	a.Merchant = "mer_1"
	have := ledger.Balances{}
	one, _, err := a.Make(50_00, have, nil, noon)
	if err != nil || one.Status != AdjustmentPending {
		t.Fatal(err, one)
	}
	no, _, err := one.Reject("bob", noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := no.Approve("bob", have, nil, noon); err == nil {
		t.Error("a rejected one is approved")
	}
	if _, err := one.Reversal("n", "ana", false, 0); err == nil {
		t.Error("a pending one is reversed")
	}
	yes, change, err := one.Approve("bob", have, nil, noon)
	if err != nil || len(change.Transfers) != 1 {
		t.Fatal(err)
	}
	if _, _, err := yes.Approve("bob", have, nil, noon); err == nil {
		t.Error("approved twice")
	}
	back, err := yes.Reversal("n", "ana", true, 0)
	if err != nil {
		t.Fatal(err)
	}
	back, _, err = back.Make(0, have, nil, noon)
	again, _ := yes.Reversal("n", "ana", true, 0)
	again, _, _ = again.Make(0, have, nil, noon)
	if err != nil || back.Reference != again.Reference {
		t.Errorf("it is reversed twice: %s %s, %v", back.Reference, again.Reference, err)
	}
}

// A part of a payout that came back is booked once: by the operator or by the provider's news of it.
func TestPartOfAPayoutThatIsReportedTwice(t *testing.T) {
	w := Withdrawal{ID: "wdr_1", Version: 1, Status: WithdrawalProcessing, Amount: 100_00, Round: 1}
	w.Local, w.Payout.Provider = money.New(540_00, money.BRL), "one"
	w, _ = w.complete(noon)
	booked, _, err := WordReturned.ResolvePayout(w, PayoutOutcome{}, BankReturn{Part: money.New(100_00, money.BRL)}, noon)
	if err != nil {
		t.Fatal(err)
	}
	o := PayoutOutcome{Kind: PayoutReturned, Local: money.New(100_00, money.BRL)}
	again, change, v := booked.ApplyPayoutNotice(PayoutNotice{ID: "n1", Reference: booked.Reference(), Outcome: o}, "one", o, noon)
	if v == Applied {
		t.Errorf("the operator booked the return of 100 BRL; the provider's news of it books it again: returned %d of %d, %d transfers", again.Returned, w.Net(), len(change.Transfers))
	}
	brl := money.New(100_00, money.BRL)
	if _, _, err := WordReturned.ResolvePayout(booked, PayoutOutcome{}, BankReturn{Part: brl}, noon); err == nil {
		t.Error("the operator's command, repeated, books it again")
	}
	named, _, err := WordReturned.ResolvePayout(w, PayoutOutcome{}, BankReturn{Part: brl, Ref: "R1"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := WordReturned.ResolvePayout(named, PayoutOutcome{}, BankReturn{Part: money.New(50_00, money.BRL), Ref: "R1"}, noon); err == nil {
		t.Error("one reference of the bank is booked twice")
	}
	if two, _, err := WordReturned.ResolvePayout(named, PayoutOutcome{}, BankReturn{Part: brl, Ref: "R2"}, noon); err != nil || two.ReturnedLocal != 200_00 {
		t.Errorf("another part of the same amount: %d, %v", two.ReturnedLocal, err)
	}
	first, _, _ := w.ApplyPayoutNotice(PayoutNotice{ID: "n1", Reference: w.Reference(), Outcome: o}, "one", o, noon)
	if _, _, err := WordReturned.ResolvePayout(first, PayoutOutcome{}, BankReturn{Part: brl, Ref: "R1"}, noon); err == nil {
		t.Error("what the provider reported is booked again by the operator")
	}
	if two, _, err := WordReturned.ResolvePayout(first, PayoutOutcome{}, BankReturn{Part: brl, Ref: "R1", Forced: true}, noon); err != nil || two.Returns != 2 {
		t.Errorf("another part, by force: %d parts, %v", two.Returns, err)
	}
	second, _, v := first.ApplyPayoutNotice(PayoutNotice{ID: "n2", Reference: w.Reference(), Outcome: o}, "one", o, noon)
	if v == Applied {
		t.Errorf("told twice under two ids: returned %d", second.Returned)
	}
}

// A part that came back is the first news of a payout's end: it had arrived.
func TestPartThatCameBackBeforeThePaymentWasReported(t *testing.T) {
	w := Withdrawal{ID: "wdr_1", Version: 3, Status: WithdrawalProcessing, Amount: 100_00, Round: 1}
	w.Local, w.Payout.Provider = money.New(540_00, money.BRL), "one"
	o := PayoutOutcome{Kind: PayoutReturned, Local: money.New(100_00, money.BRL)}
	next, change, v := w.ApplyPayoutNotice(PayoutNotice{ID: "n1", Reference: w.Reference(), Outcome: o}, "one", o, noon)
	if v != Applied || next.Status != WithdrawalDone || next.ReturnedLocal != 100_00 || next.Version != 4 || len(change.Withdrawals) != 1 || len(change.Events) != 2 {
		t.Errorf("%s: %+v, %d events", v, next, len(change.Events))
	}
	paid := PayoutOutcome{Kind: PayoutPaid, Local: w.Local}
	if _, change, v := next.ApplyPayoutNotice(PayoutNotice{ID: "n2", Reference: w.Reference(), Outcome: paid}, "one", paid, noon); v != Ignored || len(change.Transfers) > 0 {
		t.Errorf("later news that it arrived is %s", v)
	}
	o.Local = money.New(600_00, money.BRL)
	if _, _, v := w.ApplyPayoutNotice(PayoutNotice{ID: "n3", Reference: w.Reference(), Outcome: o}, "one", o, noon); v == Applied {
		t.Error("more came back than was paid")
	}
}
