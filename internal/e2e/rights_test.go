package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// key returns the shop with another key of its sandbox.
func (o shop) key(t *testing.T, n auth.NewKey) shop {
	t.Helper()
	if n.Merchant = o.Merchant.ID; n.Shop == "" {
		n.Shop = o.Shop.ID
	}
	key, err := o.App.Keys.Create(ctx, n)
	must(t, err)
	return o.as(key)
}

// A restricted key does what it has a right to, as it is and as the secret half of a login.
func TestRestrictedKeyHasItsRights(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		o.fund(t, false, 500_00)
		paid := o.create(t, card)
		_, claim := o.dispute(t, false)
		hook := o.post(t, "/webhooks", `{"events":["*"]}`).want(t, http.StatusCreated).text(t, "id")
		wallet := o.wallet(t)
		uses := []struct {
			right        tenant.Right
			method, path string
			body         string
		}{
			{tenant.RightRead, "GET", "/payments", ""},
			{tenant.RightRead, "GET", "/payments/" + paid, ""},
			{tenant.RightRead, "GET", "/me", ""},
			{tenant.RightRead, "GET", "/me/balance", ""},
			{tenant.RightRead, "GET", "/wallets/" + wallet, ""},
			{tenant.RightPayments, "POST", "/payments", card},
			{tenant.RightRefunds, "POST", "/payments/" + paid + "/refund", `{"amount":1}`},
			{tenant.RightClaims, "POST", "/claims/" + claim + "/evidence", words},
			{tenant.RightWebhooks, "POST", "/webhooks/" + hook + "/rotate-secret", ""},
			{tenant.RightWithdrawals, "POST", "/withdrawals", `{"amount":50}`},
			{tenant.RightWithdrawals, "POST", "/kyc/init", `{"level":"basic","subjectType":"company"}`},
			{tenant.RightSandbox, "POST", "/sandbox/clock", `{"advance":"1s"}`},
		}
		for _, right := range tenant.Rights() {
			key := o.key(t, auth.NewKey{Kind: tenant.Restricted, Rights: []tenant.Right{right}})
			if !strings.HasPrefix(key.credential, "rk_test_") {
				t.Errorf("a restricted key begins %.8s", key.credential)
			}
			pair := o.post(t, "/auth/token", loginBody(o.Sandbox.Publishable, key.credential)).want(t, http.StatusOK)
			for name, who := range map[string]shop{"key": key, "token": o.as(pair.text(t, "accessToken"))} {
				for _, use := range uses {
					r := who.call(t, use.method, use.path, use.body)
					if use.right != right {
						r.refused(t, "403 forbidden permission_error")
						if got := r.text(t, "error.details.right"); got != string(use.right) {
							t.Errorf("%s %s by a %s for %s: the right that it lacks is %s, want %s", use.method, use.path, name, right, got, use.right)
						}
						continue
					}
					if name == "key" && r.status >= 300 {
						t.Errorf("%s %s with a right to it: %s", use.method, use.path, r)
					}
				}
				who.get(t, "/ping").want(t, http.StatusOK)
			}
		}
		for name, n := range map[string]auth.NewKey{
			"a restricted key with no right":     {Kind: tenant.Restricted},
			"a publishable key with a right":     {Kind: tenant.Publishable, Rights: []tenant.Right{tenant.RightRead}},
			"a secret key with one that it has":  {Kind: tenant.Secret, Rights: []tenant.Right{tenant.RightRead}},
			"a right that there is not (parsed)": {},
		} {
			if n.Kind == "" {
				if _, err := tenant.ParseRights("read,fly"); err == nil {
					t.Error(name + " was taken")
				}
				continue
			}
			n.Scope = tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}
			if _, err := s.App.Keys.Create(ctx, n); err == nil {
				t.Error(name + " was made")
			}
		}
	})
}

// The merchant's money is for his first shop and for whom he gave the right to it.
func TestFurtherShopsDoNotWithdraw(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		second := o.sibling(t)
		second = second.as(second.Sandbox.Secret)
		o.fund(t, false, 200_00)
		for _, path := range []string{"/wallets", "/withdrawals", "/kyc/init"} {
			second.post(t, path, `{}`).refused(t, "403 forbidden permission_error")
		}
		second.as(second.Live.Secret).post(t, "/withdrawals", `{}`).refused(t, "403 forbidden permission_error")
		second.get(t, "/wallets").want(t, http.StatusOK)
		given := second.key(t, auth.NewKey{Kind: tenant.Secret, Rights: []tenant.Right{tenant.RightWithdrawals}})
		given.wallet(t)
		given.withdraw(t, "50")
		first := o.key(t, auth.NewKey{Kind: tenant.Secret})
		first.wallet(t)
		first.withdraw(t, "50")
		whole := o.whole(t, false)
		whole.get(t, "/withdrawals").refused(t, "401 shop_required authentication_error")
		if got := whole.get(t, "/withdrawals?shopId="+second.Shop.ID).want(t, http.StatusOK).text(t, "pagination.total"); got != "1" {
			t.Errorf("the second shop has %s withdrawals, want 1", got)
		}
	})
}

// A shop sees what is its own; credentials of the whole merchant see everything, and name the
// shop where a request is about one.
func TestSiblingShopsSeeNothingOfEachOther(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		second := o.sibling(t)
		whole := o.whole(t, false)
		mine, theirs := o.create(t, card), second.create(t, card)
		o.refund(t, mine, `{"amount":1}`).want(t, http.StatusOK)
		second.refund(t, theirs, `{"amount":2}`).want(t, http.StatusOK)
		o.fund(t, false, 100_00)
		o.wallet(t)
		withdrawal := o.withdraw(t, "50")
		shows := func(who shop, path string, wanted, unwanted []string) {
			t.Helper()
			var text string
			if strings.Contains(path, "/report") {
				_, body := who.file(t, path)
				text = string(body)
			} else {
				text = who.get(t, path).want(t, http.StatusOK).String()
			}
			for _, id := range wanted {
				if !strings.Contains(text, id) {
					t.Errorf("GET %s does not show %s", path, id)
				}
			}
			for _, id := range unwanted {
				if strings.Contains(text, id) {
					t.Errorf("GET %s shows %s, of a sibling", path, id)
				}
			}
		}
		both := []string{mine, theirs, withdrawal}
		for _, path := range []string{"/me/balance", "/me/balance/movements"} {
			shows(o, path, []string{mine, withdrawal}, []string{theirs})
			shows(second, path, []string{theirs}, []string{mine, withdrawal})
			shows(whole, path, both, nil)
			shows(whole, path+"?shopId="+second.Shop.ID, []string{theirs}, []string{mine, withdrawal})
		}
		n := func(who shop) string { return who.get(t, "/me/balance/movements?limit=1").text(t, "pagination.total") }
		all, of, other := n(whole), n(o), n(second)
		if all == of || all == other || of == other {
			t.Errorf("%s movements in all, %s and %s of the shops", all, of, other)
		}
		second.get(t, "/me/balance/movements?limit=1&offset=1").want(t, http.StatusOK)

		id := ""
		s.clock.advance(30 * 24 * time.Hour)
		o.settle(t, "a settlement is closed", func() bool {
			r := whole.get(t, "/settlements?status=closed").want(t, http.StatusOK)
			found, ok := r.at(t, "data.0.id")
			id, _ = found.(string)
			return ok
		})
		for _, path := range []string{"/settlements/" + id + "/transactions", "/settlements/" + id + "/report?format=json", "/settlements/" + id + "/report?format=csv"} {
			shows(o, path, []string{mine}, []string{theirs})
			shows(second, path, []string{theirs}, []string{mine})
			shows(whole, path, []string{mine, theirs}, nil)
		}
		second.get(t, "/settlements/"+id+"/report").refused(t, "403 forbidden permission_error")
		if _, pdf := whole.file(t, "/settlements/"+id+"/report"); !bytes.HasPrefix(pdf, []byte("%PDF")) {
			t.Errorf("the receipt begins %.20q", pdf)
		}

		// Where a request is about a shop, the query names it.
		whole.get(t, "/payments/"+mine).refused(t, "401 shop_required authentication_error")
		whole.get(t, "/payments/"+mine+"?shopId="+o.Shop.ID).want(t, http.StatusOK)
		whole.get(t, "/payments/"+mine+"?shopId="+second.Shop.ID).refused(t, "404 transaction_not_found invalid_request_error")
		whole.get(t, "/webhooks?shopId="+second.Shop.ID).want(t, http.StatusOK)
		whole.get(t, "/payment-methods?shopId="+second.Shop.ID).want(t, http.StatusOK)
		o.get(t, "/payments?shopId="+second.Shop.ID).refused(t, "403 forbidden permission_error param=shopId")
		o.get(t, "/payments?shopId="+o.Shop.ID).want(t, http.StatusOK)
		stranger := s.shop(t)
		whole.get(t, "/payments?shopId="+stranger.Shop.ID).refused(t, "403 forbidden permission_error param=shopId")
	})
}

// A key that somebody took is used from elsewhere: its owner and the operator can see that.
func TestKeyUsedFromElsewhereIsTold(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		from := func(address string) {
			t.Helper()
			c := s.dialFrom(t, address)
			defer c.Close()
			_, err := fmt.Fprintf(c, "GET %s/ping HTTP/1.1\r\nHost: cascada\r\nAuthorization: Bearer %s\r\n\r\n", apiPath, o.credential)
			must(t, err)
			if got := status(t, c); got != http.StatusOK {
				t.Fatalf("GET /ping from %s: %d", address, got)
			}
		}
		told := func() (addresses []string) {
			t.Helper()
			must(t, s.App.Access.WriteKeyUses(ctx))
			for _, e := range o.acts(t) {
				if e.Act == audit.KeyUsedAnew {
					addresses = append(addresses, e.By.IP)
				}
			}
			return addresses
		}
		from("127.0.0.1")
		if got := told(); len(got) != 0 {
			t.Errorf("the first address of a key is told of: %v", got)
		}
		for range 3 {
			from("127.0.0.1")
			from("127.0.0.2")
		}
		if got := told(); !slices.Equal(got, []string{"127.0.0.2"}) {
			t.Errorf("told of %v, want 127.0.0.2", got)
		}
		for i := range 20 { // at once: a few are in the audit log, the others are counted
			from(fmt.Sprint("127.0.1.", i+1))
		}
		if got := told(); len(got) > 2 {
			t.Errorf("%d entries of one moment", len(got))
		}
		s.clock.advance(2 * time.Hour)
		from("127.0.0.2")
		must(t, s.App.Access.WriteKeyUses(ctx))
		keys, uses, err := s.App.Keys.List(ctx, o.Merchant.ID)
		must(t, err)
		used := 0
		for _, k := range keys {
			u, ok := uses[k.ID]
			if !ok {
				continue
			}
			if used++; u.Addresses != 22 || s.clock.now().Sub(u.Last) > time.Minute {
				t.Errorf("the key %s was used from %d addresses, last at %s", k.ID, u.Addresses, u.Last)
			}
		}
		if used != 1 {
			t.Errorf("%d keys were used, want one", used)
		}
	})
}

// Tokens of the admin API end by themselves.
func TestOperatorsTokenEnds(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		token, _, err := s.App.Operators.Add(ctx, s.App.Self(), "ana", s.clock.now().Add(time.Hour))
		must(t, err)
		if _, err := s.App.Operators.Authenticate(ctx, token); err != nil {
			t.Errorf("a new token is refused: %v", err)
		}
		if _, _, err := s.App.Operators.Add(ctx, s.App.Self(), "ana", time.Time{}); err == nil {
			t.Error("an operator with a good token was given another one")
		}
		s.clock.advance(time.Hour)
		if _, err := s.App.Operators.Authenticate(ctx, token); err == nil {
			t.Error("a token that has ended is taken")
		}
		again, _, err := s.App.Operators.Add(ctx, s.App.Self(), "ana", time.Time{})
		must(t, err)
		if o, err := s.App.Operators.Authenticate(ctx, again); err != nil || o.Name != "ana" {
			t.Errorf("the token in its place: %v, %v", o.Name, err)
		}
	})
}

// Who took a key of one shop adds no wallet unseen: the endpoints of all shops are told.
func TestNewWalletIsToldToEveryShop(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		second := o.sibling(t)
		stranger := s.shop(t)
		first, other, foreign := s.receive(t), s.receive(t), s.receive(t)
		secret := o.subscribe(t, first.URL, `"wallet.created"`).text(t, "secret")
		second.subscribe(t, other.URL, `"*"`)
		stranger.subscribe(t, foreign.URL, `"*"`)
		id := second.wallet(t)
		for _, endpoint := range []*receiver{first, other} {
			got := endpoint.await(t, 1)
			if len(got) != 1 || got[0].text("type") != "wallet.created" || got[0].text("data.object.id") != id || strings.Contains(string(got[0].body), clabe) {
				t.Errorf("told of a wallet: %d events, %s", len(got), got[0].body)
			}
		}
		first.deliveries()[0].verify(t, s, secret)
		if first.deliveries()[0].text("shopId") != o.Shop.ID || other.deliveries()[0].text("shopId") != second.Shop.ID {
			t.Error("an event names another shop than its endpoint's")
		}
		stranger.wallet(t)
		foreign.await(t, 1)
		if n := len(first.deliveries()) + len(other.deliveries()) + len(foreign.deliveries()); n != 3 {
			t.Errorf("%d events in all, want 3", n)
		}
	})
}
