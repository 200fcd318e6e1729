package payouts_test

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
	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/verification"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/bankfiles"
	"github.com/cascadapay/cascada/internal/provider/manual"
	providerpayouts "github.com/cascadapay/cascada/internal/provider/payouts"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// Two operators.
var (
	carla = audit.Actor{Kind: audit.ByOperator, ID: "carla"}
	bruno = audit.Actor{Kind: audit.ByOperator, ID: "bruno"}
)

// clabe is a valid Mexican bank account.
const clabe = "032180000118359719"

// shop is a verified merchant's shop in production, with 1,000 USD available and a wallet for pesos, 18.35 of which a dollar buys.
// The merchant's terms take 3 USD of each withdrawal.
type shop struct {
	*apptest.Service
	*testing.T
	bank     *apptest.Payer
	scope    merchants.Scope
	by       base.Principal
	wallet   string
	accounts *accounts.Accounts
	wallets  *payouts.Wallets
	floats   *payouts.Floats
	payouts  *payouts.Payouts
	batches  *payouts.Batches
}

// open opens a shop without an account that pays out. The test runs beside others.
func open(t *testing.T) *shop {
	t.Helper()
	t.Parallel()
	s := &shop{Service: apptest.Open(t), T: t, bank: apptest.NewPayer()}
	s.Providers.Adapters = []provider.Adapter{s.bank.Adapter(), bankfiles.Adapter(), manual.Adapter()}
	s.scope, s.by = s.Scope, s.By
	s.scope.Live, s.by.Live = true, true
	s.accounts = accounts.New(s.Providers)
	s.wallets = payouts.NewWallets(s.Base, s.Mails, time.Millisecond)
	s.floats = payouts.NewFloats(s.Base, s.Providers)
	s.payouts = payouts.New(s.Base, s.Rates, s.Providers, s.Plans, s.wallets, s.floats, payouts.Config{})
	s.batches = payouts.NewBatches(s.payouts)
	s.rate("MXN", "18.35")
	s.agree(merchants.Standard)
	verifications := verification.New(s.Base)
	v, _, err := verifications.Start(t.Context(), s.by, verification.NewVerification{Level: merchants.KYCBasic, Subject: merchants.Company})
	s.must(err)
	s.must(verifications.Decide(t.Context(), s.Self(), v.ID, merchants.KYCVerified, "", ""))
	s.fund(1_000_00)
	s.wallet = s.addWallet(clabe, pay.Beneficiary{Name: "Ana Souza"}).ID
	return s
}

// openBank opens a shop with the account bank-1, at a bank that answers as the test says.
func openBank(t *testing.T) *shop {
	t.Helper()
	s := open(t)
	s.account(accounts.NewAccount{ID: "bank-1", Adapter: "bank"})
	return s
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// account opens an account of the operator's in production.
func (s *shop) account(n accounts.NewAccount) {
	s.Helper()
	n.Live = true
	_, err := s.accounts.Add(s.Context(), s.Self(), n)
	s.must(err)
}

// agree changes the merchant's tier.
func (s *shop) agree(tier merchants.Tier) {
	s.Helper()
	_, err := s.Onboarding.Agree(s.Context(), carla, s.scope.Merchant, appmerchants.Agreement{Tier: tier, RefundFees: merchants.FeesReturned})
	s.must(err)
}

// rate sets what a dollar buys of a currency.
func (s *shop) rate(currency money.Currency, text string) {
	s.Helper()
	rate, err := money.ParseRate(text)
	s.must(err)
	_, err = s.Rates.SetRates(s.Context(), s.Self(), []rates.Reading{{Currency: currency, Rate: rate, Source: "a test", At: s.Clock.Now()}}, true)
	s.must(err)
}

// fund books USD cents into the available balance.
func (s *shop) fund(cents int64) {
	s.Helper()
	s.must(s.Store.Commit(s.Context(), pay.Change{Transfers: []ledger.Transfer{{
		ID: s.NewID("tr_", s.Clock.Now()), Merchant: s.scope.Merchant, Live: true, Kind: "funding", Local: money.New(cents, money.USD), At: s.Clock.Now(),
		Postings: []ledger.Posting{{Account: ledger.Receivable, Amount: -cents}, {Account: ledger.Available, Amount: cents}},
	}}}))
}

// available is the available balance in USD cents.
func (s *shop) available() int64 {
	s.Helper()
	have, err := s.Store.Books().Balances(s.Context(), s.scope)
	s.must(err)
	return have[ledger.Available]
}

// addWallet adds a wallet for pesos, which can be paid to at once.
func (s *shop) addWallet(account string, of pay.Beneficiary) pay.Wallet {
	s.Helper()
	return s.addWalletTo(destination.Destination{Type: "bank_account", Network: "spei", Currency: "MXN", Account: account, Masked: "…" + account[len(account)-4:]}, of)
}

func (s *shop) addWalletTo(to destination.Destination, of pay.Beneficiary) pay.Wallet {
	s.Helper()
	w, err := s.wallets.Add(s.Context(), s.by, s.scope, payouts.NewWallet{Destination: to, Beneficiary: of})
	s.must(err)
	s.Clock.Advance(time.Second)
	return w
}

// withdraw requests a withdrawal of USD cents to the wallet, and returns its id.
func (s *shop) withdraw(cents int64) string {
	s.Helper()
	w, err := s.request(cents, s.wallet)
	s.must(err)
	return w.ID
}

func (s *shop) request(cents int64, wallet string) (pay.Withdrawal, error) {
	w, _, err := s.payouts.Withdraw(s.Context(), s.by, s.scope, payouts.NewWithdrawal{Wallet: wallet, Amount: money.New(cents, money.USD)})
	s.Clock.Advance(time.Millisecond) // ids are in the order of requests
	return w, err
}

// after moves the clock and runs the loop of payouts once.
func (s *shop) after(d time.Duration) {
	s.Helper()
	s.Clock.Advance(d)
	_, err := s.payouts.PayOut(s.Context())
	s.must(err)
}

// due lets the time pass in which a withdrawal may be canceled, and runs the loop once.
func (s *shop) due() { s.Helper(); s.after(pay.WithdrawalHold(true)) }

// every runs the loop after each of several pauses.
func (s *shop) every(d time.Duration, times int) {
	s.Helper()
	for range times {
		s.after(d)
	}
}

// is compares the state of a withdrawal, and what it waits for or why it failed: "pending daily_limit". It returns the withdrawal.
func (s *shop) is(id, want string) pay.Withdrawal {
	s.Helper()
	w, err := s.payouts.Withdrawal(s.Context(), s.scope, id)
	s.must(err)
	if got := strings.TrimSpace(fmt.Sprint(w.Status, " ", w.Waiting, w.FailureCode)); got != want {
		s.Errorf("the withdrawal is %s, want %s: %+v", got, want, w)
	}
	return w
}

// has compares the available balance, in USD cents.
func (s *shop) has(want int64) {
	s.Helper()
	if got := s.available(); got != want {
		s.Errorf("%d cents are available, want %d", got, want)
	}
}

// wasSent compares how often the bank was called to pay a withdrawal, and whether it did.
func (s *shop) wasSent(id string, times int, paid bool) providerpayouts.Request {
	s.Helper()
	sends, request, ok := s.bank.Sent(id)
	if sends != times || ok != paid {
		s.Errorf("the bank was called %d times to pay the withdrawal, and paid: %t; want %d, %t", sends, ok, times, paid)
	}
	return request
}

// limit changes the limits of a merchant in production, "" for all merchants.
func (s *shop) limit(merchant string, change func(*pay.PayoutLimits)) {
	s.Helper()
	_, err := s.payouts.LimitPayouts(s.Context(), carla, merchant, true, change)
	s.must(err)
}

// stop stops all payouts, or with "" lets them go on.
func (s *shop) stop(why string) {
	s.Helper()
	s.limit("", func(l *pay.PayoutLimits) { l.Stopped = why })
}

// midnight moves the clock to the first minute of the next day, with which the sums of limits begin.
func (s *shop) midnight() {
	now := s.Clock.Now()
	s.Clock.Advance(now.UTC().Truncate(24 * time.Hour).Add(24*time.Hour + time.Minute).Sub(now))
}

// notify sends a notification with one notice, as the bank signs it.
func (s *shop) notify(n pay.PayoutNotice) error { return s.notifyAt("bank-1", "bank", n) }

func (s *shop) notifyAt(account, signature string, n pay.PayoutNotice) error {
	s.Helper()
	body, err := json.Marshal([]pay.PayoutNotice{n})
	s.must(err)
	return s.payouts.ApplyPayoutNotices(s.Context(), account, s.bank, provider.Notification{Header: http.Header{apptest.Signature: {signature}}, Body: body})
}

// reference is our name of a withdrawal at its first account.
func reference(id string) string { return strings.TrimPrefix(id, pay.WithdrawalPrefix) }

// waiting lists the notices about a withdrawal that wait for the operator.
func (s *shop) waiting(id string) (list []pay.KeptNotice) {
	s.Helper()
	all, err := s.Store.Notices().Of(s.Context(), id)
	s.must(err)
	for _, n := range all {
		if n.Verdict == pay.Mismatched {
			list = append(list, n)
		}
	}
	return list
}

// refused compares an error's code with the reason in its details, or the parameter: "conflict_state same_operator".
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

// answers makes an answer of the bank that is always the same.
func answers(kind pay.PayoutKind, code string) func(providerpayouts.Request) pay.PayoutOutcome {
	return func(providerpayouts.Request) pay.PayoutOutcome { return pay.PayoutOutcome{Kind: kind, Code: code} }
}

// silent is no answer.
var silent = answers(pay.PayoutUnknown, "")
