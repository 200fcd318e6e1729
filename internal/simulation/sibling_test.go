package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// openSibling opens another shop of the first merchant, with keys, a wallet and an endpoint of its own. What is paid to the wallet leaves in
// files.
func (p *prepared) openSibling(w *world, a *app.App) (m merchant, err error) {
	ctx := context.Background()
	o, err := a.Onboarding.CreateShop(ctx, a.Self(), p.shops[0].by.Merchant, "sibling")
	if err != nil {
		return m, err
	}
	if m, err = p.enter(w, a, o, "sibling"); err != nil {
		return m, err
	}
	wallet, err := a.Wallets.Add(ctx, m.by, m.by.Scope, payouts.NewWallet{
		Destination: destination.Destination{Type: "bank_account", Network: "spei", Currency: "MXN", Account: "002010077777777771", Masked: "…771"},
		Label:       "main", Default: true, Beneficiary: pay.Beneficiary{Name: "Ana Souza"},
	})
	m.wallet = wallet.ID
	return m, err
}

// neighbors lets each of two shops of a merchant try, now and then, what the other one's objects allow. Both know the ids: the merchant's
// people see all of them.
func (w *world) neighbors(chance *rand.Rand) {
	pair := []*merchant{w.shops[0], w.shops[2]}
	for i := 0; ; i++ {
		time.Sleep(time.Duration(chance.Int64N(int64(w.span+w.longer) / 3)))
		w.turns.turn(fmt.Sprint("a neighbor looks ", i))
		if w.healing() {
			return
		}
		self := chance.IntN(2)
		w.peek(fmt.Sprint("neighbor ", i), pair[self], pair[1-self], chance)
	}
}

// peek is one try. The answer is that there is no such object, or none.
func (w *world) peek(tag string, self, other *merchant, chance *rand.Rand) {
	id := other.old[chance.IntN(len(other.old))]
	for _, r := range w.asked {
		if r.shop == other && r.what == "create" && r.id != "" && chance.IntN(3) == 0 {
			id = r.id
		}
	}
	scope := self.by.Scope
	tries := []func(context.Context, *node) error{
		func(ctx context.Context, n *node) error {
			_, err := n.app.Cascade.Payment(ctx, scope, id)
			return err
		},
		func(ctx context.Context, n *node) error {
			_, err := n.app.Payments.Cancel(ctx, scope, id, view.Cause{RequestID: "req_" + tag})
			return err
		},
		func(ctx context.Context, n *node) error {
			_, _, err := n.app.Claims.Refund(ctx, scope, claims.NewRefund{Payment: id, Reason: tag, By: audit.Actor{Kind: audit.ByKey, ID: self.by.KeyID}})
			return err
		},
		func(ctx context.Context, n *node) error {
			_, _, err := n.app.Payouts.Withdraw(ctx, self.by, scope, payouts.NewWithdrawal{Wallet: other.wallet, Amount: money.New(9_99, money.USD)})
			return err
		},
	}
	at := chance.IntN(len(tries))
	err, heard := w.ask(tag, patience, tries[at])
	if !heard || unclear(err) && err != nil {
		return
	}
	w.count("looks of a neighbor")
	told := []problem.Code{problem.TransactionNotFound, problem.WalletNotFound, problem.Forbidden} // a merchant may be paused
	if refused, is := errors.AsType[*problem.Error](err); !is || !slices.Contains(told, refused.Code) {
		w.find(shopsApart, id, "try %d of %s at the objects of %s ended as %v", at, self.host, other.host, err)
	}
}

// checkApart proves that no endpoint was told of another shop's object, that no shop's key reads one, and that the money of all shops
// of a merchant is in the merchant's books.
func (w *world) checkApart(all *books) {
	ctx := context.Background()
	owner := map[string]string{} // of each object
	earned := map[string]bool{}
	for id, p := range all.payments {
		owner[id] = p.Shop
		earned[p.Merchant] = true
	}
	for _, claim := range all.claims {
		owner[claim.ID] = claim.Shop
	}
	for _, out := range all.withdrawn {
		owner[out.ID] = out.Shop
	}
	for _, s := range all.sessions {
		owner[w.tokenOf(s)] = s.Shop
	}
	for _, shop := range w.shops {
		for _, id := range slices.Sorted(maps.Keys(w.inboxes[shop.host].told)) {
			if of, known := owner[id]; known && of != shop.by.Shop {
				w.find(shopsApart, id, "%s was told of %s, which is an object of shop %s", shop.host, id, of)
			}
		}
		w.checkOwn(ctx, shop, all, owner)
	}
	for _, merchant := range slices.Sorted(maps.Keys(earned)) {
		w.checkEarned(ctx, merchant, all)
	}
}

// checkEarned proves that a merchant's books have the payments of all its shops, and of each shop's view only its own.
func (w *world) checkEarned(ctx context.Context, merchant string, all *books) {
	most := lists.Page{Limit: 100_000}
	whole, _, err := w.eye.Books().Movements(ctx, merchants.Scope{Merchant: merchant, Live: true}, most)
	if err != nil {
		w.find(shopsApart, "", "%v", err)
	}
	charged := map[string]int64{}
	for _, m := range whole {
		if m.Type == pay.MovedCharge {
			charged[m.Payment] += m.Amount
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all.payments)) {
		p := all.payments[id]
		if p.Merchant == merchant && captured(p) && charged[id] < p.Price.Amount.Minor {
			w.find(shopsApart, id, "%s brought %s to shop %s, and the books of its merchant have %d cents", id, p.Price.Amount, p.Shop, charged[id])
		}
		if _, there := charged[id]; there && p.Merchant != merchant {
			w.find(shopsApart, id, "the money of %s is in the books of %s", id, merchant)
		}
	}
	for _, shop := range w.shops {
		if shop.by.Merchant != merchant {
			continue
		}
		own, _, err := w.eye.Books().ShopMovements(ctx, shop.by.Scope, most, math.MaxInt32)
		if err != nil {
			w.find(shopsApart, "", "%v", err)
		}
		for _, m := range own {
			if p, known := all.payments[m.Payment]; known && p.Shop != shop.by.Shop {
				w.find(shopsApart, p.ID, "shop %s sees that %s of shop %s moved %d cents", shop.by.Shop, p.ID, p.Shop, m.Amount)
			}
		}
	}
}

// checkOwn proves that a shop's key reads its objects and no others.
func (w *world) checkOwn(ctx context.Context, shop *merchant, all *books, owner map[string]string) {
	scope := shop.by.Scope
	list, err := w.eye.Payments().List(ctx, scope, lists.PaymentFilter{Page: lists.Page{Limit: 100_000}})
	if err != nil {
		w.find(shopsApart, "", "%v", err)
	}
	seen := 0
	for _, p := range list {
		if owner[p.ID] != scope.Shop {
			w.find(shopsApart, p.ID, "%s is in the list of shop %s", p.ID, scope.Shop)
		}
	}
	for id := range all.payments {
		if owner[id] == scope.Shop {
			seen++
		}
		if _, err := w.eye.Payments().Get(ctx, scope, id); (err == nil) != (owner[id] == scope.Shop) || err != nil && !errors.Is(err, store.ErrNotFound) {
			w.find(shopsApart, id, "shop %s reads %s of shop %s: %v", scope.Shop, id, owner[id], err)
		}
	}
	if seen != len(list) {
		w.find(shopsApart, "", "shop %s has %d payments, and its list %d", scope.Shop, seen, len(list))
	}
	given, _, err := w.eye.Claims().List(ctx, scope, lists.ClaimFilter{Page: lists.Page{Limit: 100_000}})
	if err != nil {
		w.find(shopsApart, "", "%v", err)
	}
	for _, claim := range given {
		if owner[claim.ID] != scope.Shop {
			w.find(shopsApart, claim.Payment, "claim %s of shop %s is in the list of shop %s", claim.ID, owner[claim.ID], scope.Shop)
		}
	}
}
