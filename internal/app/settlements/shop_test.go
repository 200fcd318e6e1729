package settlements_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/apptest"
	"github.com/cascadapay/cascada/internal/app/claims"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/notices"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// Two operators.
var (
	carla = audit.Actor{Kind: audit.ByOperator, ID: "carla"}
	bruno = audit.Actor{Kind: audit.ByOperator, ID: "bruno"}
)

// shop is a merchant's sandbox on the standard tier, whose withdrawals are paid by bank-1: payments settle after 48 hours, 5 % of
// each are held for 90 days, and 100.00 USD by card cost 4.49.
type shop struct {
	*apptest.Service
	*testing.T
	bank        *apptest.Payer
	claims      *claims.Claims
	notices     *notices.Notices
	wallets     *payouts.Wallets
	payouts     *payouts.Payouts
	settlements *settlements.Settlements
	adjustments *settlements.Adjustments
	sent        int // notifications and references so far
}

// open opens a shop with a wallet. The test runs beside others.
func open(t *testing.T) *shop {
	t.Helper()
	t.Parallel()
	s := &shop{Service: apptest.Open(t), T: t, bank: apptest.NewPayer()}
	s.Providers.Adapters = []provider.Adapter{s.bank.Adapter()}
	_, err := accounts.New(s.Providers).Add(t.Context(), s.Self(), accounts.NewAccount{ID: "bank-1", Adapter: "bank"})
	s.must(err)
	s.wallets = payouts.NewWallets(s.Base, s.Mails, 0)
	s.payouts = payouts.New(s.Base, s.Rates, s.Providers, s.Plans, s.wallets, payouts.NewFloats(s.Base, s.Providers), payouts.Config{})
	s.claims = claims.New(s.Base, s.Providers, s.Cascade)
	s.notices = notices.New(s.Base, s.Providers, s.Cascade, s.claims, s.payouts)
	s.settlements, s.adjustments = settlements.New(s.Base, s.Plans, s.payouts), settlements.NewAdjustments(s.Base)
	s.agree(merchants.Standard)
	_, err = s.wallets.Add(t.Context(), s.By, s.Scope, payouts.NewWallet{Destination: destination.Destination{
		Type: "bank_account", Network: "spei", Currency: "MXN", Account: "032180000118359719", Masked: "…9719",
	}})
	s.must(err)
	return s
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// agree changes the merchant's tier.
func (s *shop) agree(tier merchants.Tier) {
	s.Helper()
	_, err := s.Onboarding.Agree(s.Context(), carla, s.Scope.Merchant, appmerchants.Agreement{Tier: tier, RefundFees: merchants.FeesReturned})
	s.must(err)
}

// charge makes a payment by card of USD cents, which is paid at once.
func (s *shop) charge(cents int64) pay.Payment {
	s.Helper()
	p, _, err := s.Payments.Create(s.Context(), s.By, payments.NewPayment{Amount: money.New(cents, money.USD), PaymentMethodID: "sbx_card"})
	s.must(err)
	if p.Status != pay.Completed {
		s.Fatalf("the payment is %s", p.Status)
	}
	return p
}

// refund gives a payment back, whole or a part: "10.50".
func (s *shop) refund(p pay.Payment, amount string) {
	s.Helper()
	_, _, err := s.claims.Refund(s.Context(), s.Scope, claims.NewRefund{Payment: p.ID, Amount: amount})
	s.must(err)
}

// dispute sends the provider's notification about a payment: "disputed", "dispute_lost".
func (s *shop) dispute(p pay.Payment, status string) {
	s.Helper()
	s.sent++
	body, err := json.Marshal(map[string]string{"id": fmt.Sprint("n", s.sent), "reference": p.Reference(1), "status": status, "reason": "fraudulent"})
	s.must(err)
	s.must(s.notices.Notify(s.Context(), "sandbox-1", provider.Notification{Body: body, Header: http.Header{sandbox.SignatureHeader: {s.Till.Signature(body)}}}))
}

// withdraw withdraws USD cents, and lets them arrive.
func (s *shop) withdraw(cents int64) pay.Withdrawal {
	s.Helper()
	w, _, err := s.payouts.Withdraw(s.Context(), s.By, s.Scope, payouts.NewWithdrawal{Amount: money.New(cents, money.USD)})
	s.must(err)
	return w
}

// back sends the bank's notification that a withdrawal came back, whole or a part in centavos.
func (s *shop) back(id, withdrawal string, centavos int64) {
	s.Helper()
	n := pay.PayoutNotice{ID: id, Reference: strings.TrimPrefix(withdrawal, pay.WithdrawalPrefix), Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed"}}
	if centavos > 0 {
		n.Outcome.Local = money.New(centavos, money.MXN)
	}
	body, err := json.Marshal([]pay.PayoutNotice{n})
	s.must(err)
	s.must(s.payouts.ApplyPayoutNotices(s.Context(), "bank-1", s.bank, provider.Notification{Header: http.Header{apptest.Signature: {"bank"}}, Body: body}))
}

// automatic agrees that settlements are paid out by themselves, or not.
func (s *shop) limit(change func(*pay.PayoutLimits)) {
	s.Helper()
	_, err := s.payouts.LimitPayouts(s.Context(), carla, s.Scope.Merchant, false, change)
	s.must(err)
}

func (s *shop) automatic(minimum int64) {
	s.Helper()
	s.limit(func(l *pay.PayoutLimits) { l.Schedule, l.Minimum = pay.PayoutsAutomatic, minimum })
}

// work runs all loops of settlements and payouts until nothing is due.
func (s *shop) work() {
	s.Helper()
	for range 100 {
		rows := 0
		for _, do := range []func() (int, error){
			func() (int, error) { return s.settlements.OpenSettlements(s.Context()) },
			func() (int, error) { return s.settlements.ReleaseReserves(s.Context()) },
			func() (int, error) { return s.settlements.CloseSettlements(s.Context()) },
			func() (int, error) { return s.settlements.Receipts(s.Context()) },
			func() (int, error) { return s.payouts.PayOut(s.Context()) },
		} {
			n, err := do()
			s.must(err)
			rows += n
		}
		if rows == 0 {
			return
		}
	}
	s.Fatal("the loops find something to do for ever")
}

// pass moves the clock, and does all that is due then and within the next minutes.
func (s *shop) pass(d time.Duration) {
	s.Helper()
	s.Clock.Advance(d)
	for range 3 {
		s.work()
		s.Clock.Advance(time.Minute)
	}
	s.work()
}

// all lists the settlements, oldest first.
func (s *shop) all() []pay.Settlement {
	s.Helper()
	list, _, err := s.settlements.List(s.Context(), s.Scope, lists.SettlementFilter{Page: lists.Page{Limit: 100}})
	s.must(err)
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// closed lists the settlements that are closed or paid, oldest first, and compares their number.
func (s *shop) closed(want int) (list []pay.Settlement) {
	s.Helper()
	for _, one := range s.all() {
		if one.Status != pay.BatchOpen {
			list = append(list, one)
		}
	}
	if len(list) != want {
		s.Fatalf("%d settlements are closed, want %d: %+v", len(list), want, list)
	}
	return list
}

// payoutsAre compares the states of the closed settlements' payouts, oldest first.
func (s *shop) payoutsAre(want ...pay.PayoutState) {
	s.Helper()
	for i, one := range s.closed(len(want)) {
		if got := one.PayoutState(); got != want[i] {
			s.Errorf("the payout of settlement %d is %s (%s), want %s", i+1, got, one.PayoutWhy, want[i])
		}
	}
}

// arrived lists the withdrawals that are completed, newest first, and compares their number.
func (s *shop) arrived(want int) []pay.Withdrawal {
	s.Helper()
	list, _, err := s.payouts.Withdrawals(s.Context(), s.Scope, lists.WithdrawalFilter{Status: pay.WithdrawalDone, Page: lists.Page{Limit: 100}})
	s.must(err)
	if len(list) != want {
		s.Fatalf("%d withdrawals are completed, want %d", len(list), want)
	}
	return list
}

// balances are the merchant's, in USD cents.
func (s *shop) balances() ledger.Balances {
	s.Helper()
	have, err := s.settlements.Balances(s.Context(), s.Scope)
	s.must(err)
	return have
}

// has compares balances, in USD cents.
func (s *shop) has(available, pending, reserve int64) {
	s.Helper()
	have := s.balances()
	if have[ledger.Available] != available || have[ledger.Pending] != pending || have[ledger.Reserve] != reserve {
		s.Errorf("available, pending and reserve are %d, %d, %d, want %d, %d, %d", have[ledger.Available], have[ledger.Pending], have[ledger.Reserve], available, pending, reserve)
	}
}

// adds fails unless the net of a settlement is what its totals say, to the cent.
func (s *shop) adds(one pay.Settlement) {
	s.Helper()
	if net := one.Gross - one.Fees().Total() - one.Refunds - one.Chargebacks - one.ChargebackFees - one.Held + one.Released + one.Adjustments; net != one.Net {
		s.Errorf("the net of %s is %d, and its totals make %d: %+v", one.ID, one.Net, net, one.Totals)
	}
}

// refused compares an error's code with the reason in its details and the parameter: "conflict_state same_operator".
func refused(t *testing.T, err error, want string) {
	t.Helper()
	got := fmt.Sprint(err)
	if p, is := errors.AsType[*problem.Error](err); is {
		got = strings.TrimSpace(fmt.Sprint(p.Code, " ", p.Details.Reason, p.Param))
	}
	if got != want {
		t.Errorf("the error is %s, want %s", got, want)
	}
}
