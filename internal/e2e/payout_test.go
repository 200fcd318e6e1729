package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/payout"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
)

const (
	clabe = "032180000118359719"
	tron  = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
)

// behind commits a change to the service's database past its API: what an
// operator would do, or what would take days.
func (s *service) behind(t *testing.T, change pay.Change) {
	t.Helper()
	db, err := store.Open(ctx, s.database, store.Options{SealKey: s.vault.Key("blocks")})
	must(t, err)
	defer db.Close()
	must(t, db.Commit(ctx, change))
}

// fund gives the merchant an available balance of USD cents.
func (o shop) fund(t *testing.T, live bool, cents int64) {
	t.Helper()
	now := o.clock.now()
	o.behind(t, pay.Change{Transfers: []ledger.Transfer{{
		ID: fmt.Sprintf("tr_fund-%s-%d", o.Merchant.ID, now.UnixNano()), Merchant: o.Merchant.ID, Live: live, Kind: "adjustment",
		Local: money.New(cents, money.USD), At: now,
		Postings: []ledger.Posting{{Account: ledger.Receivable, Amount: -cents}, {Account: ledger.Available, Amount: cents}},
	}}})
}

// sibling is another shop of the same merchant, with a sandbox key that may withdraw.
func (o shop) sibling(t *testing.T) shop {
	t.Helper()
	made, err := o.App.Onboarding.CreateShop(ctx, o.Merchant.ID, "Twin")
	must(t, err)
	return shop{Onboarded: made, service: o.service}.key(t, auth.NewKey{Kind: tenant.Secret, Rights: []tenant.Right{tenant.RightWithdrawals}})
}

// wallet adds one with the CLABE of the tests, unless a body is given.
func (o shop) wallet(t *testing.T, body ...string) string {
	t.Helper()
	body = append(body, `{"type":"bank_account","currency":"MXN","destination":"`+clabe+`"}`)
	return o.post(t, "/wallets", body[0]).want(t, http.StatusCreated).text(t, "id")
}

// withdraw takes an amount that must be accepted and returns the id.
func (o shop) withdraw(t *testing.T, amount string, header ...string) string {
	t.Helper()
	return o.post(t, "/withdrawals", `{"amount":`+amount+`}`, header...).want(t, http.StatusCreated).text(t, "id")
}

// payOut lets the loop look at what is due until the withdrawal stands so.
func (o shop) payOut(t *testing.T, withdrawal, status string) reply {
	t.Helper()
	var r reply
	eventually(t, withdrawal+" is "+status, func() bool {
		_, err := o.App.Payouts.PayOut(ctx)
		must(t, err)
		r = o.get(t, "/withdrawals/"+withdrawal).want(t, http.StatusOK)
		return r.text(t, "status") == status
	})
	return r
}

func (o shop) available(t *testing.T) string {
	t.Helper()
	return o.get(t, "/me/balance").want(t, http.StatusOK).text(t, "balance.available")
}

// payer is a payout provider that keeps what it was told, as a real one does. It
// pays once for a reference.
type payer struct {
	mu    sync.Mutex // owns what follows
	sends map[string]int
	paid  map[string]payout.Request
	send  func(b *payer, r payout.Request) pay.PayoutOutcome // nil: pay
	query func(b *payer, r payout.Request) pay.PayoutOutcome // nil: the truth
	has   money.Amount                                       // what it says that the operator has there
}

// Balance tells what the test lets it tell.
func (b *payer) Balance(context.Context) (money.Amount, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.has.Currency == "" {
		return b.has, errors.New("the bank does not tell")
	}
	return b.has, nil
}

func newPayer() *payer { return &payer{sends: map[string]int{}, paid: map[string]payout.Request{}} }

// adapter lets accounts be opened at the payer.
func (b *payer) adapter() provider.Adapter {
	return provider.Adapter{Name: "bank", Rails: []string{"spei.*", "pix.*", "bitcoin.*"}, OpenPayouts: func(provider.Account) (payout.Provider, error) { return b, nil },
		Needs: map[string][]pay.HolderField{"pix.*": {pay.HolderName, pay.HolderDocument}}}
}

// Notices reads what the tests let the bank tell: the notices themselves.
func (b *payer) Notices(_ context.Context, n provider.Notification) (list []pay.PayoutNotice, err error) {
	if n.Header.Get("Signature") != "bank" {
		return nil, provider.ErrUnsigned
	}
	err = json.Unmarshal(n.Body, &list)
	for i := range list {
		list[i].Body = n.Body
	}
	return list, err
}

// tells sends a notice of the bank's and returns the reply's status.
func (s *service) tells(t *testing.T, account, signature string, n pay.PayoutNotice) int {
	t.Helper()
	body, err := json.Marshal([]pay.PayoutNotice{n})
	must(t, err)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+apiPath+"/providers/"+account+"/notifications", bytes.NewReader(body))
	must(t, err)
	request.Header.Set("Signature", signature)
	reply, err := http.DefaultClient.Do(request)
	must(t, err)
	must(t, reply.Body.Close())
	return reply.StatusCode
}

// payOutBy opens a production account that pays out.
func (s *service) payOutBy(t *testing.T, adapter string, n acquiring.NewAccount) {
	t.Helper()
	n.Adapter, n.Live = adapter, true
	_, err := s.App.Accounts.Add(ctx, s.App.Self(), n)
	must(t, err)
}

func (b *payer) Send(_ context.Context, r payout.Request) pay.PayoutOutcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sends[r.Reference]++
	if b.send != nil {
		return b.send(b, r)
	}
	return b.pay(r)
}

func (b *payer) Query(_ context.Context, r payout.Request) pay.PayoutOutcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.query != nil {
		return b.query(b, r)
	}
	return b.truth(r)
}

func (b *payer) pay(r payout.Request) pay.PayoutOutcome {
	b.paid[r.Reference] = r
	return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "bank-" + r.Reference}
}

func (b *payer) truth(r payout.Request) pay.PayoutOutcome {
	if _, ok := b.paid[r.Reference]; ok {
		return pay.PayoutOutcome{Kind: pay.PayoutPaid}
	}
	return pay.PayoutOutcome{Kind: pay.PayoutMissing}
}

// behave changes how the bank answers.
func (b *payer) behave(send, query func(*payer, payout.Request) pay.PayoutOutcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.send, b.query = send, query
}

// told returns how often the bank was asked to pay a withdrawal, and whether
// it did.
func (b *payer) told(withdrawal string) (sends int, paid payout.Request, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	reference := withdrawal[len(pay.WithdrawalPrefix):]
	paid, ok = b.paid[reference]
	return b.sends[reference], paid, ok
}

// eachPayer runs a test against services whose production withdrawals a bank
// pays, with a verified and funded merchant's live key and its active wallet.
func eachPayer(t *testing.T, test func(t *testing.T, o shop, b *payer)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, database string) {
		b := newPayer()
		s := startWith(t, database, &clock{}, func(c *daemon.Config) {
			c.Adapters, c.WalletCoolDown = append(c.Adapters, b.adapter()), time.Millisecond
		})
		s.payOutBy(t, "bank", acquiring.NewAccount{ID: "bank-1"})
		s.rate(t, "MXN 18.35")
		o := s.shop(t).live()
		v := o.post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).want(t, http.StatusCreated).text(t, "verificationId")
		must(t, s.App.Verifications.Decide(ctx, v, tenant.KYCVerified, "", ""))
		o.fund(t, true, 1_000_00)
		o.wallet(t)
		s.clock.advance(time.Second)
		test(t, o, b)
	})
}
