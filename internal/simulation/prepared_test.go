package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/verification"
	"github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// prepared is the start of every world: a database with shops, provider accounts and some
// money that was earned days ago, and the matching books of the other parties.
type prepared struct {
	sealKey []byte // of the prepared database
	content []byte
	at      time.Time
	shops   []merchant
	rails   []string
	small   []smallRail
	charges map[string]map[string]charge
	told    map[string]map[string]map[int64]string
}

// furnish copies the prepared state into a world.
func (p *prepared) furnish(w *world) {
	for _, m := range p.shops {
		w.shops = append(w.shops, &m)
		box := &inbox{told: map[string]map[int64]string{}}
		for object, list := range p.told[m.host] {
			box.told[object] = maps.Clone(list)
		}
		w.inboxes[m.host] = box
		w.inboxes[m.trialHost] = &inbox{told: map[string]map[int64]string{}}
	}
	w.rails, w.small = p.rails, p.small
	for name, list := range p.charges {
		for ref, c := range list {
			w.upstreams[name].charges[ref] = &c
		}
	}
}

// prepare makes the prepared state, in a bubble of its own.
func prepare() (*prepared, error) {
	ctx := context.Background()
	p := &prepared{charges: map[string]map[string]charge{}, told: map[string]map[string]map[int64]string{}}
	w := &world{seed: 1 << 63, turns: newConductor(0), upstreams: map[string]*upstream{}, banks: map[string]*bank{}, inboxes: map[string]*inbox{}, counts: map[string]int{}, stats: map[string]int{}}
	w.faults = &faults{w: w}
	for _, name := range payers {
		w.banks[name] = &bank{w: w, name: name, payouts: map[string]*paidOut{}}
	}
	for _, name := range append([]string{tried}, accountIDs...) {
		w.upstreams[name] = w.sound(name)
	}
	var err error
	if w.shared, err = store.OpenShared(ctx, nil, time.Now); err != nil {
		return nil, err
	}
	go w.turns.run()
	n, err := w.start("n0", 0)
	if err != nil {
		return nil, err
	}
	w.nodes = []*node{n}
	p.sealKey = n.app.Vault.Key("blocks")
	if err := p.furbish(w, n.app); err != nil {
		return nil, err
	}
	time.Sleep(4 * 24 * time.Hour)
	close(n.dead)
	n.wind()
	w.aside.Wait()
	w.turns.stop()
	if p.content, err = w.shared.Content(); err != nil {
		return nil, err
	}
	w.shared.Close()
	p.at = time.Now()
	for name, u := range w.upstreams {
		p.charges[name] = map[string]charge{}
		for ref, c := range u.charges {
			p.charges[name][ref] = *c
		}
	}
	for host, box := range w.inboxes {
		p.told[host] = box.told
	}
	return p, nil
}

// furbish opens accounts and shops, and lets the shops earn some money.
func (p *prepared) furbish(w *world, a *app.App) error {
	ctx := context.Background()
	if err := setRates(ctx, a); err != nil {
		return err
	}
	for i, name := range accountIDs {
		if _, err := a.Accounts.Add(ctx, a.Self(), accounts.NewAccount{ID: name, Adapter: "world", Live: true, Priority: i + 1}); err != nil {
			return err
		}
	}
	if _, err := a.Accounts.Add(ctx, a.Self(), accounts.NewAccount{ID: tried, Adapter: "world", Priority: 1}); err != nil {
		return err
	}
	for i, name := range payers {
		if _, err := a.Accounts.Add(ctx, a.Self(), accounts.NewAccount{ID: name, Adapter: "bank", Live: true, Priority: i + 1}); err != nil {
			return err
		}
	}
	if _, err := a.Accounts.Add(ctx, a.Self(), accounts.NewAccount{ID: filed, Adapter: "bank-file", Live: true, Priority: 1, Rails: []string{"spei.MXN"}, Credentials: map[string]string{"layout": "csv"}}); err != nil {
		return err
	}
	// Enough for a few payouts: the others go to another account, or wait for the operator.
	if err := a.Floats.Enter(ctx, a.Self(), payers[0], money.New(25_00, money.USD), "opening", "", false); err != nil {
		return err
	}
	for i, tier := range []merchants.Tier{merchants.Standard, merchants.Starter} {
		m, err := p.open(w, a, fmt.Sprint("shop", i), tier)
		if err != nil {
			return err
		}
		p.shops = append(p.shops, m)
	}
	sibling, err := p.openSibling(w, a)
	if err != nil {
		return err
	}
	p.shops = append(p.shops, sibling)
	rails, _ := a.Methods.RailList(merchants.Scope{Merchant: p.shops[0].by.Merchant, Shop: p.shops[0].by.Shop, Live: true}, methods.Filter{})
	for _, r := range rails {
		if r.Key == "pix.BRA" || r.Key == "card.BRA" {
			p.rails = append(p.rails, r.ID)
		}
		if slices.Contains(smallRails, r.Key) {
			p.small = append(p.small, smallRail{r.ID, money.New(r.Limits[0].Min, r.Limits[0].Currency), r.Least})
		}
	}
	for k, m := range p.shops {
		for i := range 8 {
			if k == 2 && i == 2 { // more would cost every world time
				break
			}
			made, _, err := a.Payments.Create(ctx, m.by, payments.NewPayment{
				Amount: money.New(150_00, money.USD), PaymentMethodID: p.rails[len(p.rails)-1], OrderID: fmt.Sprint("old", i), RequestID: "req_old",
				Buyer: pay.Buyer{Document: "52998224725", Name: "Ana", Email: "ana@example.com"},
			})
			if err != nil {
				return err
			}
			p.shops[k].old = append(p.shops[k].old, made.ID)
		}
	}
	return nil
}

// refundFees gives each tier one of the two terms, so that worlds have both.
var refundFees = map[merchants.Tier]merchants.RefundFees{merchants.Starter: merchants.FeesReturned, merchants.Standard: merchants.FeesKept, merchants.Premium: merchants.FeesReturned, merchants.Trusted: merchants.FeesKept}

func (p *prepared) open(w *world, a *app.App, name string, tier merchants.Tier) (m merchant, err error) {
	ctx := context.Background()
	o, err := a.Onboarding.CreateMerchant(ctx, a.Onboarding.Self(), appmerchants.NewMerchant{Name: name, Email: "a@" + name + ".example", Industry: "retail", Tier: tier, RefundFees: refundFees[tier]})
	if err != nil {
		return m, err
	}
	if m, err = p.enter(w, a, o, name); err != nil {
		return m, err
	}
	v, _, err := a.Verifications.Start(ctx, m.by, verification.NewVerification{Level: merchants.KYCBasic, Subject: merchants.Company})
	if err == nil {
		err = a.Verifications.Decide(ctx, a.Verifications.Self(), v.ID, merchants.KYCVerified, "", "")
	}
	if err != nil {
		return m, err
	}
	wallet, err := a.Wallets.Add(ctx, m.by, m.by.Scope, payouts.NewWallet{
		Destination: destination.Destination{Type: "bank_account", Network: "pix", Currency: "BRL", Account: "a@" + name + ".example", Masked: "a…"},
		Label:       "main", Default: true,
	})
	m.wallet = wallet.ID
	return m, err
}

// enter gives a shop's programs their keys, and its endpoints.
func (p *prepared) enter(w *world, a *app.App, o appmerchants.Onboarded, name string) (m merchant, err error) {
	ctx := context.Background()
	if m.by, err = a.Access.Authenticate(ctx, base.Principal{}, o.Live.Secret); err != nil {
		return m, err
	}
	if m.trial, err = a.Access.Authenticate(ctx, base.Principal{}, o.Sandbox.Secret); err != nil {
		return m, err
	}
	m.host, m.trialHost = name+".example", "trial."+name+".example"
	for _, host := range []string{m.host, m.trialHost} {
		w.inboxes[host] = &inbox{told: map[string]map[int64]string{}}
	}
	if _, err = a.Webhooks.Subscribe(ctx, m.trial, m.trial.Scope, webhooks.NewSubscription{URL: "https://" + m.trialHost + "/hook", Events: []string{"*"}}); err != nil {
		return m, err
	}
	_, err = a.Webhooks.Subscribe(ctx, m.by, m.by.Scope, webhooks.NewSubscription{URL: "https://" + m.host + "/hook", Events: []string{"*"}})
	return m, err
}
