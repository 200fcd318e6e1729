package pay

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"pgregory.net/rapid"
)

// However withdrawals, payments by hand and settlements follow each other, several between two matches, and with only the rows
// that the store selects: both sides say the same, nothing is covered twice, nobody is owed while paid money covers nothing, and
// what automatic payouts owe is never more than was earned and not paid.
func TestCoversAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		settlements, made := map[string]Settlement{}, map[string]Withdrawal{}
		values := func(selected bool) (list []Settlement, out []Withdrawal) {
			for _, w := range made {
				if !selected || w.uncovering() != 0 || !w.Open() && !w.DueAt.IsZero() {
					out = append(out, w)
				}
			}
			slices.SortFunc(out, func(a, b Withdrawal) int { return slices.Compare([]byte(a.ID), []byte(b.ID)) })
			for _, s := range settlements {
				in := !selected || s.Uncovered() != 0
				for _, w := range out {
					in = in || slices.ContainsFunc(w.Covers, func(c Covered) bool { return c.Settlement == s.ID })
				}
				if in {
					list = append(list, s)
				}
			}
			list = rapid.Permutation(list).Draw(t, "order")
			return list, out
		}
		write := func(change Change) {
			for _, s := range change.Settlements {
				if s.Version != settlements[s.ID].Version+1 {
					t.Fatalf("%s: version %d after %d", s.ID, s.Version, settlements[s.ID].Version)
				}
				settlements[s.ID] = s
			}
			for _, w := range change.Withdrawals {
				made[w.ID] = w
			}
		}
		wallet, _ := Wallet{ID: "wal_A", Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1"}}.Open(0, nil, nil, noon)
		earned, number := int64(0), int64(0)
		matched := true // since the last step
		gone := func() (sum int64) {
			for _, w := range made {
				sum += w.coverLimit()
			}
			return sum
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			list, out := values(false)
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1:
				number++
				s := closedSettlement(number, rapid.Int64Range(-80, 200).Draw(t, "net"))
				settlements[s.ID] = s
				earned += s.Net
			case 2:
				if have := earned - gone(); have > 3 {
					w := madeWithdrawal(fmt.Sprintf("%02d", len(made)), rapid.Int64Range(4, have).Draw(t, "amount"), WithdrawalProcessing)
					made[w.ID] = w
				}
			case 3:
				owed, of := Owed(list, out)
				if owed > max(earned-gone(), 0) {
					t.Fatalf("%d are owed of %d", owed, earned-gone())
				}
				if owed > 3 {
					w, covered := madeWithdrawal(fmt.Sprintf("%02d", len(made)), rapid.Int64Range(4, owed).Draw(t, "amount"), WithdrawalProcessing).PayOff(of, noon)
					if matched && CoveredSum(w.Covers) != w.Amount {
						t.Fatalf("%s covers %d", w, CoveredSum(w.Covers))
					}
					write(Change{Settlements: covered, Withdrawals: []Withdrawal{w}})
				}
			case 4, 5:
				if len(out) > 0 {
					w := rapid.SampledFrom(out).Draw(t, "withdrawal")
					switch {
					case w.Open() && rapid.Bool().Draw(t, "arrives"):
						w, _ = w.complete(noon)
					case w.Open():
						w, _ = w.fail(PayoutOutcome{}, noon)
					case w.Status == WithdrawalDone:
						part := money.New(rapid.Int64Range(1, w.LeftToReturn().Minor).Draw(t, "back"), money.USD)
						next, _, err := w.returnPart(part, PayoutOutcome{}, noon)
						if err != nil {
							t.Fatal(err)
						}
						w = next
					}
					made[w.ID] = w
				}
			case 6:
				if len(list) > 0 {
					s := rapid.SampledFrom(list).Draw(t, "by hand")
					if s.Uncovered() <= 0 {
						continue
					}
					amount := rapid.Int64Range(1, s.Uncovered()).Draw(t, "amount")
					have := ledger.Balances{ledger.Available: earned - gone()}
					_, _, change, err := wallet.PayByHand(fmt.Sprintf("wdr_%02d", len(made)), s, amount, PayoutRoute{Account: "hand"}, "TED 1", rates.Conversion{}, have, noon)
					if err == nil {
						write(change)
					}
				}
			}
			if matched = rapid.IntRange(0, 2).Draw(t, "match") > 0; matched {
				l, o := values(true)
				write(Match(l, o, noon))
				checkCovers(t, settlements, made)
				l, o = values(true)
				again := Match(l, o, noon)
				if len(again.Settlements)+len(again.Withdrawals) > 0 {
					t.Fatalf("a second match changes %d settlements and %d withdrawals", len(again.Settlements), len(again.Withdrawals))
				}
			}
		}
	})
}
