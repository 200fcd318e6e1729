package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/store"
)

// CLABE is a valid Mexican bank account.
const CLABE = "032180000118359719"

// behind commits a change to the database without the service. It is for what an operator does, or
// what takes days.
func (s *Instance) behind(t *testing.T, change pay.Change) {
	t.Helper()
	db, err := store.Open(ctx, s.Database, store.Options{SealKey: s.Vault.Key("blocks")})
	Must(t, err)
	defer db.Close()
	Must(t, db.Commit(ctx, change))
}

// Fund gives the merchant an available balance of USD cents.
func (o Client) Fund(t *testing.T, live bool, cents int64) {
	t.Helper()
	now := o.Clock.Now()
	o.behind(t, pay.Change{Transfers: []ledger.Transfer{{
		ID: fmt.Sprintf("tr_fund-%s-%d", o.Merchant.ID, now.UnixNano()), Merchant: o.Merchant.ID, Live: live, Kind: "funding",
		Local: money.New(cents, money.USD), At: now,
		Postings: []ledger.Posting{{Account: ledger.Receivable, Amount: -cents}, {Account: ledger.Available, Amount: cents}},
	}}})
}

// Wallet adds a wallet with the CLABE, or with the body if one is given. It returns the id.
func (o Client) Wallet(t *testing.T, body ...string) string {
	t.Helper()
	body = append(body, `{"type":"bank_account","currency":"MXN","destination":"`+CLABE+`"}`)
	return o.Post(t, "/wallets", body[0]).Want(t, http.StatusCreated).Text(t, "id")
}

// Withdraw requests a withdrawal of an amount in USD and returns its id. It ends the test unless
// the status is 201.
func (o Client) Withdraw(t *testing.T, amount string, header ...string) string {
	t.Helper()
	return o.Post(t, "/withdrawals", `{"amount":`+amount+`}`, header...).Want(t, http.StatusCreated).Text(t, "id")
}

// PayOut runs the loop of payouts until the withdrawal has a status. It returns the withdrawal.
func (o Client) PayOut(t *testing.T, withdrawal, status string) Reply {
	t.Helper()
	var r Reply
	Eventually(t, withdrawal+" is "+status, func() bool {
		_, err := o.App.Payouts.PayOut(ctx)
		Must(t, err)
		r = o.Get(t, "/withdrawals/"+withdrawal).Want(t, http.StatusOK)
		return r.Text(t, "status") == status
	})
	return r
}

// Available returns how much the merchant may withdraw, in USD.
func Available(t *testing.T, o Client) string {
	t.Helper()
	return o.Get(t, "/me/balance").Want(t, http.StatusOK).Text(t, "balance.available")
}

// Payer is a payout provider that records what it was asked to pay. It pays a reference only once.
type Payer struct {
	Mu    sync.Mutex                                          // owns what follows
	sends map[string]int                                      // calls to pay, by reference
	paid  map[string]payouts.Request                          // by reference
	send  func(b *Payer, r payouts.Request) pay.PayoutOutcome // nil: it pays
	query func(b *Payer, r payouts.Request) pay.PayoutOutcome // nil: it tells the truth
	Has   money.Amount                                        // the operator's float that it reports; zero: it reports none
	Asked int                                                 // queries that unsigned notifications caused
}

// Balance returns Has. It is an error if Has has no currency.
func (b *Payer) Balance(context.Context) (money.Amount, error) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.Has.Currency == "" {
		return b.Has, errors.New("the bank does not tell")
	}
	return b.Has, nil
}

// NewPayer returns a payer that was asked to pay nothing yet.
func NewPayer() *Payer { return &Payer{sends: map[string]int{}, paid: map[string]payouts.Request{}} }

// Adapter returns the adapter "bank", whose accounts pay out through the payer.
func (b *Payer) Adapter() provider.Adapter {
	return provider.Adapter{Name: "bank", Rails: []string{"spei.*", "pix.*", "bitcoin.*"}, OpenPayouts: func(provider.Account) (payouts.Provider, error) { return b, nil },
		Needs: map[string][]pay.HolderField{"pix.*": {pay.HolderName, pay.HolderDocument}}}
}

// Notices reads a notification: its body is the notices as JSON, and its header Signature is
// "bank". With "none" it is queried about each of them, as a provider is that does not sign.
func (b *Payer) Notices(ctx context.Context, n provider.Notification) (list []pay.PayoutNotice, err error) {
	signature := n.Header.Get("Signature")
	if signature != "bank" && signature != "none" {
		return nil, provider.ErrUnsigned
	}
	err = json.Unmarshal(n.Body, &list)
	for i := range list {
		list[i].Body = n.Body
		if signature == "bank" {
			continue
		}
		if err := n.MayAsk(ctx, list[i].Reference, list[i].ProviderRef); err != nil {
			return nil, err
		}
		b.Mu.Lock()
		b.Asked++
		b.Mu.Unlock()
	}
	return list, err
}

// PayOutBy opens a production account at an adapter.
func (s *Instance) PayOutBy(t *testing.T, adapter string, n accounts.NewAccount) {
	t.Helper()
	n.Adapter, n.Live = adapter, true
	_, err := s.App.Accounts.Add(ctx, s.App.Self(), n)
	Must(t, err)
}

// Send pays, or does what Behave set.
func (b *Payer) Send(_ context.Context, r payouts.Request) pay.PayoutOutcome {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.sends[r.Reference]++
	if b.send != nil {
		return b.send(b, r)
	}
	return b.Pay(r)
}

// Query tells the truth, or what Behave set.
func (b *Payer) Query(_ context.Context, r payouts.Request) pay.PayoutOutcome {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.query != nil {
		return b.query(b, r)
	}
	return b.truth(r)
}

// Pay pays a reference. The caller has locked the payer.
func (b *Payer) Pay(r payouts.Request) pay.PayoutOutcome {
	b.paid[r.Reference] = r
	return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "bank-" + r.Reference}
}

func (b *Payer) truth(r payouts.Request) pay.PayoutOutcome {
	if _, ok := b.paid[r.Reference]; ok {
		return pay.PayoutOutcome{Kind: pay.PayoutPaid}
	}
	return pay.PayoutOutcome{Kind: pay.PayoutMissing}
}

// Behave sets how the payer answers calls and queries. nil: it pays, and tells the truth.
func (b *Payer) Behave(send, query func(*Payer, payouts.Request) pay.PayoutOutcome) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.send, b.query = send, query
}

// Sent returns how often the payer was asked to pay a withdrawal's first reference, and what it
// paid. ok is false if it did not pay.
func (b *Payer) Sent(withdrawal string) (sends int, paid payouts.Request, ok bool) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	reference := withdrawal[len(pay.WithdrawalPrefix):]
	paid, ok = b.paid[reference]
	return b.sends[reference], paid, ok
}

// EachPayer runs a test on each engine against a service that pays production withdrawals out
// through a payer, at the account bank-1. The client has the production key of a verified merchant
// with 1,000 USD available and an active wallet.
func EachPayer(t *testing.T, test func(t *testing.T, o Client, b *Payer)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, database string) {
		b := NewPayer()
		s := StartWith(t, database, &Clock{}, func(c *daemon.Config) {
			c.Adapters, c.WalletCoolDown = append(c.Adapters, b.Adapter()), time.Millisecond
		})
		s.PayOutBy(t, "bank", accounts.NewAccount{ID: "bank-1"})
		s.Rate(t, "MXN 18.35")
		o := s.NewShop(t).Production()
		v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
		o.Fund(t, true, 1_000_00)
		o.Wallet(t)
		s.Clock.Advance(time.Second)
		test(t, o, b)
	})
}
