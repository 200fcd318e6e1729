package pay

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"pgregory.net/rapid"
)

func closedSettlement(number, net int64) Settlement {
	return Settlement{ID: fmt.Sprintf("STL-%03d", number), Version: 1, Number: number, Status: BatchClosed, Totals: Totals{Net: net}, PDFAt: noon, Automatic: true}
}

func madeWithdrawal(id string, amount int64, status WithdrawalStatus) Withdrawal {
	w := Withdrawal{ID: "wdr_" + id, Version: 1, Status: WithdrawalProcessing, Amount: amount, Fee: 3}
	switch status {
	case WithdrawalDone:
		w, _ = w.complete(noon)
	case WithdrawalRefused:
		w, _ = w.fail(PayoutOutcome{Code: "account_closed"}, noon)
	}
	return w
}

// What is paid out covers the oldest settlements; a debt is set off; what fails or comes back is owed again.
func TestWithdrawalsCoverSettlements(t *testing.T) {
	show := func(change Change) (said []string) {
		for _, s := range change.Settlements {
			said = append(said, fmt.Sprintf("%s %s %d left %d", s.ID, s.Status, s.Net, s.Uncovered()))
		}
		for _, w := range change.Withdrawals {
			said = append(said, fmt.Sprintf("%s covers %v", w.ID, w.Covers))
		}
		return said
	}
	paid := madeWithdrawal("A", 130, WithdrawalDone)
	first := Match([]Settlement{closedSettlement(2, 100), closedSettlement(1, 80), closedSettlement(3, -20), closedSettlement(4, 50)}, []Withdrawal{paid}, noon)
	want := []string{"STL-001 paid 80 left 0", "STL-002 closed 100 left 30", "STL-003 closed -20 left 0", "STL-004 closed 50 left 50"}
	want = []string{want[0], "STL-002 closed 100 left 30", "STL-003 closed -20 left 0"}
	got := show(first)
	if !slices.Equal(got, append(want, "wdr_A covers [{STL-001 80} {STL-002 50}]")) {
		t.Errorf("130 paid of 80, 100, -20 and 50: %v", got)
	}
	// A part of it comes back: the newest of what it covered is owed again.
	w := first.Withdrawals[0]
	w, back, err := w.returnPart(money.New(60, money.USD), PayoutOutcome{}, noon)
	if err != nil || back.Events[0].Type != webhooks.WithdrawalReturned || back.Transfers[0].Amount(ledger.Available) != 60 || w.Status != WithdrawalDone {
		t.Fatalf("a part comes back: %v, %s, %+v", err, w, back)
	}
	second := Match(first.Settlements, []Withdrawal{w}, noon)
	if got := show(second); !slices.Equal(got, []string{"STL-001 closed 80 left 10", "STL-002 closed 100 left 80", "wdr_A covers [{STL-001 70}]"}) {
		t.Errorf("60 of it come back: %v", got)
	}
	// What fails covers nothing, and is tried again in a day.
	failed := madeWithdrawal("B", 50, WithdrawalRefused)
	settlements := []Settlement{closedSettlement(1, 80)}
	failed, settlements = failed.PayOff(settlements, noon)
	failed.DueAt = noon
	third := Match(settlements, []Withdrawal{failed}, noon)
	if s := third.Settlements[0]; s.Uncovered() != 80 || s.Payout != "" || s.PayoutWhy != "account_closed" || !s.DueAt.Equal(noon.Add(payoutRetry)) || len(third.Withdrawals[0].Covers) != 0 {
		t.Errorf("the payout failed: %+v", s)
	}
}

func checkCovers(t *rapid.T, settlements map[string]Settlement, made map[string]Withdrawal) {
	owed, debts, idle := int64(0), int64(0), int64(0)
	sides := map[[2]string]int64{}
	for _, s := range settlements {
		sum := int64(0)
		for _, c := range s.Covers {
			sum += c.Amount
			sides[[2]string{c.By, s.ID}] += c.Amount
			if c.SetOff() {
				sides[[2]string{s.ID, c.By}] += c.Amount
			} else if w := made[c.By]; c.Paid == w.CompletedAt.IsZero() {
				t.Fatalf("%s is paid by %s: %t", s.ID, w, c.Paid)
			}
		}
		owed, debts = owed+max(0, s.Uncovered()), debts+max(0, -s.Uncovered())
		if sum != s.Covered || (s.Net > 0) != (s.Uncovered() >= 0 && s.Net > 0) || s.Net < 0 && s.Uncovered() > 0 || (s.Status == BatchPaid) != s.settled() {
			t.Fatalf("%s of %d is %s, covered %d by %v", s.ID, s.Net, s.Status, s.Covered, s.Covers)
		}
	}
	for _, w := range made {
		for _, c := range w.Covers {
			sides[[2]string{w.ID, c.Settlement}] -= c.Amount
		}
		if w.uncovering() < 0 {
			t.Fatalf("%s covers %d of %d", w, CoveredSum(w.Covers), w.coverLimit())
		}
		if !w.CompletedAt.IsZero() {
			idle += w.uncovering()
		}
		if !w.Open() && !w.DueAt.IsZero() {
			t.Fatalf("%s is still due", w)
		}
	}
	for pair, sum := range sides {
		if sum != 0 {
			t.Fatalf("%v differ by %d", pair, sum)
		}
	}
	if owed > 0 && (debts > 0 || idle > 0) {
		t.Fatalf("%d are owed, with debts of %d and %d paid that cover nothing", owed, debts, idle)
	}
}

// The operator pays a settlement once, and it takes the money.
func TestSettlementIsPaidByHandOnce(t *testing.T) {
	wallet, _ := Wallet{ID: "wal_A", Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1"}}.Open(0, nil, nil, noon)
	have := ledger.Balances{ledger.Available: 100}
	open, paid, debt := closedSettlement(1, 80), closedSettlement(1, 80), closedSettlement(1, -5)
	open.Status, paid.Status = BatchOpen, BatchPaid
	for _, c := range []struct {
		name   string
		s      Settlement
		amount int64
		have   ledger.Balances
		want   problem.Code
	}{
		{"open", open, 80, have, problem.ConflictState},
		{"paid", paid, 80, have, problem.SettlementAlreadyPaid},
		{"a debt", debt, 5, have, problem.ConflictState},
		{"too much", closedSettlement(1, 80), 81, have, problem.InvalidRequest},
		{"not there", closedSettlement(1, 80), 80, ledger.Balances{ledger.Available: 79}, problem.BalanceInsufficient},
		{"all of it", closedSettlement(1, 80), 80, have, ""},
		{"a part", closedSettlement(1, 80), 30, have, ""},
	} {
		s, w, change, err := wallet.PayByHand("wdr_H", c.s, c.amount, PayoutRoute{Account: "hand"}, "TED 1", rates.Conversion{}, c.have, noon)
		var refused *problem.Error
		if errors.As(err, &refused) != (c.want != "") || refused != nil && refused.Code != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if c.want != "" {
			continue
		}
		moved := ledger.Balances{}
		for _, tr := range change.Transfers {
			for _, p := range tr.Postings {
				moved[p.Account] += p.Amount
			}
		}
		if w.Status != WithdrawalDone || w.Version != 1 || w.Fee != 0 || moved[ledger.Available] != -c.amount || moved[ledger.PaidOut] != c.amount || moved[ledger.InTransit] != 0 {
			t.Errorf("%s: %s moves %v", c.name, w, moved)
		}
		if (s.Status == BatchPaid) != (c.amount == 80) || s.Uncovered() != 80-c.amount || len(change.Events) != 1 || change.Events[0].Type != webhooks.WithdrawalCompleted || len(change.Floors) != 1 {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// Parts come back of an amount in another currency: their USD add up to what arrived, whatever the parts.
func TestPartsOfAPayoutComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := madeWithdrawal("A", rapid.Int64Range(100, 1_000_000_00).Draw(t, "amount"), WithdrawalProcessing)
		w.Local = money.New(rapid.Int64Range(100, 1_000_000_000_00).Draw(t, "local"), money.BRL)
		w.Payout.Float = rapid.SampledFrom([]money.Amount{{}, w.Local, money.New(w.Net(), money.USD)}).Draw(t, "float")
		w, _ = w.complete(noon)
		back, float, completed := int64(0), w.Payout.Float.Minor, noon.Add(time.Hour)
		for range 20 {
			left := w.LeftToReturn().Minor
			part := money.New(rapid.Int64Range(1, left).Draw(t, "part"), money.BRL)
			notice := PayoutNotice{ID: "n", Reference: w.Reference(), Outcome: PayoutOutcome{Kind: PayoutReturned, Local: part}}
			next, change, verdict := w.ApplyPayoutNotice(notice, "bank", notice.Outcome, completed)
			if slices.Contains(w.ReturnedParts, part.Minor) { // it may be the same money: for the operator
				if verdict != Mismatched {
					t.Fatalf("%s came back before, and now it is %s", part, verdict)
				}
				continue
			}
			if _, ok := w.returning(part); !ok && verdict != Mismatched {
				t.Fatalf("%s of %d: %s", part, left, verdict)
			} else if !ok {
				break // worth less than a cent: for the operator
			}
			for _, tr := range change.Transfers {
				back += tr.Amount(ledger.Available)
				float -= tr.Amount(ledger.Float)
			}
			if w = next; w.Status == WithdrawalRefused {
				if left != part.Minor || back != w.Net() || float != 0 {
					t.Fatalf("all is back, %d of %d, %d of the float left", back, w.Net(), float)
				}
				return
			}
			if verdict != Applied || back != w.Returned || back >= w.Net() || float != w.Payout.Float.Minor {
				t.Fatalf("%s came back: %s with %d, float %d", part, w, back, float)
			}
		}
	})
}

// A canceled withdrawal is no option on the rate: those that follow get no better one.
func TestCancelingBringsNoBetterRate(t *testing.T) {
	rate := func(text string) rates.Conversion {
		r, err := money.ParseRate(text)
		if err != nil {
			t.Fatal(err)
		}
		into, err := rates.Reading{Currency: money.BRL, Rate: r, At: noon}.Into(money.New(100_00, money.USD))
		if err != nil {
			t.Fatal(err)
		}
		return into
	}
	canceled := Withdrawal{Status: WithdrawalCanceled, Conversion: rate("5.10")}
	for now, want := range map[string]string{"5.40": "5.1", "5.10": "5.1", "5.00": "5"} {
		got, err := NotBetter(rate(now), 100_00, []Withdrawal{canceled, {Status: WithdrawalCanceled, Conversion: rate("5.30")}, {}})
		if err != nil || got.Rate.Decimal() != want {
			t.Errorf("at %s after one canceled at 5.10: %s, %v; want %s", now, got.Rate, err, want)
		}
	}
}
