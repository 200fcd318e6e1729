package access

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// A restricted key may do only what it has a right to. So may the tokens of a login with it.
func TestRestrictedKeyHasItsRights(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Fund(t, false, 500_00)
		paid := o.Create(t, harness.Card)
		_, claim := o.Dispute(t, false)
		hook := o.Post(t, "/webhooks", `{"events":["*"]}`).Want(t, http.StatusCreated).Text(t, "id")
		wallet := o.Wallet(t)
		uses := []struct {
			right        merchants.Right
			method, path string
			body         string
		}{
			{merchants.RightRead, "GET", "/payments", ""},
			{merchants.RightRead, "GET", "/payments/" + paid, ""},
			{merchants.RightRead, "GET", "/me", ""},
			{merchants.RightRead, "GET", "/me/balance", ""},
			{merchants.RightRead, "GET", "/wallets/" + wallet, ""},
			{merchants.RightPayments, "POST", "/payments", harness.Card},
			{merchants.RightRefunds, "POST", "/payments/" + paid + "/refund", `{"amount":1}`},
			{merchants.RightClaims, "POST", "/claims/" + claim + "/evidence", harness.EvidenceWords},
			{merchants.RightWebhooks, "POST", "/webhooks/" + hook + "/rotate-secret", ""},
			{merchants.RightWithdrawals, "POST", "/withdrawals", `{"amount":50}`},
			{merchants.RightWithdrawals, "POST", "/kyc/init", `{"level":"basic","subjectType":"company"}`},
			{merchants.RightSandbox, "POST", "/sandbox/clock", `{"advance":"1s"}`},
		}
		for _, right := range merchants.Rights() {
			key := o.NewKey(t, auth.NewKey{Kind: merchants.Restricted, Rights: []merchants.Right{right}})
			if !strings.HasPrefix(key.Credential, "rk_test_") {
				t.Errorf("a restricted key begins with %.8s, want rk_test_", key.Credential)
			}
			pair := o.Post(t, "/auth/token", harness.LoginBody(o.Sandbox.Publishable, key.Credential)).Want(t, http.StatusOK)
			for name, who := range map[string]harness.Client{"key": key, "token": o.As(pair.Text(t, "accessToken"))} {
				for _, use := range uses {
					r := who.Call(t, use.method, use.path, use.body)
					if use.right != right {
						r.Refused(t, "403 forbidden permission_error")
						if got := r.Text(t, "error.details.right"); got != string(use.right) {
							t.Errorf("%s %s with a %s for %s: the error names the right %s, want %s", use.method, use.path, name, right, got, use.right)
						}
						continue
					}
					if name == "key" && r.Status >= 300 {
						t.Errorf("%s %s is refused to a key with the right %s: %s", use.method, use.path, right, r)
					}
				}
				who.Get(t, "/ping").Want(t, http.StatusOK)
			}
		}
	})
}

// Only the merchant's first shop may withdraw, and keys of other shops that have the right to.
func TestFurtherShopsDoNotWithdraw(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		second := harness.Sibling(t, o)
		second = second.As(second.Sandbox.Secret)
		o.Fund(t, false, 200_00)
		for _, path := range []string{"/wallets", "/withdrawals", "/kyc/init"} {
			second.Post(t, path, `{}`).Refused(t, "403 forbidden permission_error")
		}
		second.As(second.Live.Secret).Post(t, "/withdrawals", `{}`).Refused(t, "403 forbidden permission_error")
		second.Get(t, "/wallets").Want(t, http.StatusOK)
		given := second.NewKey(t, auth.NewKey{Kind: merchants.Secret, Rights: []merchants.Right{merchants.RightWithdrawals}})
		given.Wallet(t)
		given.Withdraw(t, "50")
		first := o.NewKey(t, auth.NewKey{Kind: merchants.Secret})
		first.Wallet(t)
		first.Withdraw(t, "50")
		whole := o.Whole(t, false)
		whole.Get(t, "/withdrawals").Refused(t, "401 shop_required authentication_error")
		if got := whole.Get(t, "/withdrawals?shopId="+second.Shop.ID).Want(t, http.StatusOK).Text(t, "pagination.total"); got != "1" {
			t.Errorf("the second shop has %s withdrawals, want 1", got)
		}
	})
}

// A shop sees only what is its own. A key of the whole merchant sees everything, and must name the
// shop in requests about one shop.
func TestSiblingShopsSeeNothingOfEachOther(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		second := harness.Sibling(t, o)
		whole := o.Whole(t, false)
		mine, theirs := o.Create(t, harness.Card), second.Create(t, harness.Card)
		o.Refund(t, mine, `{"amount":1}`).Want(t, http.StatusOK)
		second.Refund(t, theirs, `{"amount":2}`).Want(t, http.StatusOK)
		o.Fund(t, false, 100_00)
		o.Wallet(t)
		withdrawal := o.Withdraw(t, "50")
		shows := func(who harness.Client, path string, wanted, unwanted []string) {
			t.Helper()
			var text string
			if strings.Contains(path, "/report") {
				_, body := harness.ReportFile(t, who, path)
				text = string(body)
			} else {
				text = who.Get(t, path).Want(t, http.StatusOK).String()
			}
			for _, id := range wanted {
				if !strings.Contains(text, id) {
					t.Errorf("GET %s does not show %s", path, id)
				}
			}
			for _, id := range unwanted {
				if strings.Contains(text, id) {
					t.Errorf("GET %s shows %s of another shop", path, id)
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
		n := func(who harness.Client) string {
			return who.Get(t, "/me/balance/movements?limit=1").Text(t, "pagination.total")
		}
		all, of, other := n(whole), n(o), n(second)
		if all == of || all == other || of == other {
			t.Errorf("%s movements of the merchant, %s and %s of the shops, want three different numbers", all, of, other)
		}
		second.Get(t, "/me/balance/movements?limit=1&offset=1").Want(t, http.StatusOK)

		id := ""
		s.Clock.Advance(30 * 24 * time.Hour)
		o.Settle(t, "a settlement is closed", func() bool {
			r := whole.Get(t, "/settlements?status=closed").Want(t, http.StatusOK)
			found, ok := r.At(t, "data.0.id")
			id, _ = found.(string)
			return ok
		})
		for _, path := range []string{"/settlements/" + id + "/transactions", "/settlements/" + id + "/report?format=json", "/settlements/" + id + "/report?format=csv"} {
			shows(o, path, []string{mine}, []string{theirs})
			shows(second, path, []string{theirs}, []string{mine})
			shows(whole, path, []string{mine, theirs}, nil)
		}
		second.Get(t, "/settlements/"+id+"/report").Refused(t, "403 forbidden permission_error")
		if _, pdf := harness.ReportFile(t, whole, "/settlements/"+id+"/report"); !bytes.HasPrefix(pdf, []byte("%PDF")) {
			t.Errorf("the receipt begins with %.20q, want a PDF", pdf)
		}

		// A request about one shop names it in the query.
		whole.Get(t, "/payments/"+mine).Refused(t, "401 shop_required authentication_error")
		whole.Get(t, "/payments/"+mine+"?shopId="+o.Shop.ID).Want(t, http.StatusOK)
		whole.Get(t, "/payments/"+mine+"?shopId="+second.Shop.ID).Refused(t, "404 transaction_not_found invalid_request_error")
		whole.Get(t, "/webhooks?shopId="+second.Shop.ID).Want(t, http.StatusOK)
		whole.Get(t, "/payment-methods?shopId="+second.Shop.ID).Want(t, http.StatusOK)
		o.Get(t, "/payments?shopId="+second.Shop.ID).Refused(t, "403 forbidden permission_error param=shopId")
		o.Get(t, "/payments?shopId="+o.Shop.ID).Want(t, http.StatusOK)
		stranger := s.NewShop(t)
		whole.Get(t, "/payments?shopId="+stranger.Shop.ID).Refused(t, "403 forbidden permission_error param=shopId")
	})
}

// Endpoints of all the merchant's shops get wallet.created, so that a thief with one shop's key
// cannot add a wallet unseen.
func TestNewWalletIsToldToEveryShop(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		second := harness.Sibling(t, o)
		stranger := s.NewShop(t)
		first, other, foreign := s.Receive(t), s.Receive(t), s.Receive(t)
		secret := o.Subscribe(t, first.URL, `"wallet.created"`).Text(t, "secret")
		second.Subscribe(t, other.URL, `"*"`)
		stranger.Subscribe(t, foreign.URL, `"*"`)
		id := second.Wallet(t)
		for _, endpoint := range []*harness.Receiver{first, other} {
			got := endpoint.Await(t, 1)
			if len(got) != 1 || got[0].Text("type") != "wallet.created" || got[0].Text("data.object.id") != id || strings.Contains(string(got[0].Body), harness.CLABE) {
				t.Errorf("the endpoint has %d events, the first is %s; want wallet.created without the bank account", len(got), got[0].Body)
			}
		}
		first.Deliveries()[0].Verify(t, s, secret)
		if first.Deliveries()[0].Text("shopId") != o.Shop.ID || other.Deliveries()[0].Text("shopId") != second.Shop.ID {
			t.Error("an event does not name the shop of its endpoint")
		}
		stranger.Wallet(t)
		foreign.Await(t, 1)
		if n := len(first.Deliveries()) + len(other.Deliveries()) + len(foreign.Deliveries()); n != 3 {
			t.Errorf("the endpoints have %d events in all, want 3", n)
		}
	})
}
