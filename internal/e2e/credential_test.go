package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// endpoint is an operation with a request that would be good.
type endpoint struct {
	method, path, body string
	anyKey             bool // a publishable key is enough
}

func endpoints(payment, hook string) []endpoint {
	return []endpoint{
		{http.MethodGet, "/ping", "", true},
		{http.MethodGet, "/payment-methods", "", true},
		{http.MethodGet, "/me", "", false},
		{http.MethodGet, "/me/balance", "", false},
		{http.MethodPost, "/payments", card, false},
		{http.MethodGet, "/payments", "", false},
		{http.MethodGet, "/payments/" + payment, "", false},
		{http.MethodPost, "/payments/" + payment + "/simulate", `{"action":"paid"}`, false},
		{http.MethodPost, "/transactions", card, false},
		{http.MethodPost, "/checkout/sessions", checkout, false},
		{http.MethodGet, "/transactions", "", false},
		{http.MethodGet, "/transactions/" + payment, "", false},
		{http.MethodPost, "/transactions/" + payment + "/simulate", `{"action":"paid"}`, false},
		{http.MethodPost, "/webhooks", `{"events":["*"]}`, false},
		{http.MethodGet, "/webhooks", "", false},
		{http.MethodDelete, "/webhooks/" + hook, "", false},
		{http.MethodPost, "/payments/" + payment + "/refund", `{}`, false},
		{http.MethodPost, "/transactions/" + payment + "/refund", `{}`, false},
		{http.MethodGet, "/claims", "", false},
		{http.MethodGet, "/claims/CLM-1", "", false},
		{http.MethodPost, "/claims/CLM-1/evidence", `{"kind":"other","text":"x"}`, false},
		{http.MethodPost, "/claims/CLM-1/accept", "", false},
		{http.MethodGet, "/claims/CLM-1/evidence/ev_1/file", "", false},
		{http.MethodPost, "/wallets", `{"type":"bank_account","currency":"USD","destination":"12345"}`, false},
		{http.MethodGet, "/wallets", "", false},
		{http.MethodGet, "/wallets/wal_1", "", false},
		{http.MethodDelete, "/wallets/wal_1", "", false},
		{http.MethodPost, "/withdrawals", `{"amount":1}`, false},
		{http.MethodGet, "/withdrawals", "", false},
		{http.MethodGet, "/withdrawals/wdr_1", "", false},
		{http.MethodPost, "/withdrawals/wdr_1/cancel", "", false},
		{http.MethodPost, "/kyc/init", `{"level":"basic","subjectType":"company"}`, false},
		{http.MethodGet, "/kyc/kyc_1", "", false},
		{http.MethodPost, "/sandbox/kyc/kyc_1", `{"status":"verified"}`, false},
	}
}

// pair exchanges the shop's key pair for tokens.
func (o shop) pair(t *testing.T) reply {
	t.Helper()
	return o.post(t, "/auth/token", fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, o.Sandbox.Publishable, o.Sandbox.Secret)).want(t, http.StatusOK)
}

// altered returns a token with one character of its n-th part changed.
func altered(token string, n int) string {
	parts := strings.Split(token, ".")
	middle := len(parts[n]) / 2
	other := "A"
	if parts[n][middle] == 'A' {
		other = "B"
	}
	parts[n] = parts[n][:middle] + other + parts[n][middle+1:]
	return strings.Join(parts, ".")
}

// respelled returns a token whose last character holds the same bits of the
// signature and different ones of the padding.
func respelled(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, token[len(token)-1])
	return token[:len(token)-1] + alphabet[last^1:last^1+1]
}

// unsigned returns a token that claims to need no signature.
func unsigned(token string) string {
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"1","typ":"JWT"}`))
	return header + "." + strings.Split(token, ".")[1] + "."
}

func TestEveryEndpointWantsGoodCredentials(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		payment := o.create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`)
		hook := o.post(t, "/webhooks", `{"events":["*"]}`).want(t, http.StatusCreated).text(t, "id")
		login := o.pair(t)
		token, refresh := login.text(t, "accessToken"), login.text(t, "refreshToken")

		scope := tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}
		revoked, err := o.App.Keys.Create(ctx, auth.NewKey{Scope: scope, Kind: tenant.Secret})
		must(t, err)
		o.as(revoked).get(t, "/ping").want(t, http.StatusOK)
		old := o.post(t, "/auth/token", fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, o.Sandbox.Publishable, revoked)).want(t, http.StatusOK)
		revoke(t, o.App, revoked)

		const missing, unknown, invalid = "401 missing_credentials authentication_error", "401 invalid_api_key authentication_error",
			"401 invalid_token authentication_error"
		for _, c := range []struct{ name, header, want string }{
			{"none", "", missing},
			{"empty", " ", missing},
			{"a bearer without a token", "Bearer", missing},
			{"a bearer with an empty token", "Bearer ", missing},
			{"another scheme", "Basic " + base64.StdEncoding.EncodeToString([]byte(o.Sandbox.Secret+":")), missing},
			{"a key without a scheme", o.Sandbox.Secret, missing},
			{"an unknown secret key", "Bearer sk_test_" + strings.Repeat("x", 43), unknown},
			{"an unknown publishable key", "Bearer pk_test_" + strings.Repeat("x", 43), unknown},
			{"a key of the other environment's prefix", "Bearer " + strings.Replace(o.Sandbox.Secret, "sk_test_", "sk_live_", 1), unknown},
			{"a revoked key", "Bearer " + revoked, unknown},
			{"a token of a revoked key", "Bearer " + old.text(t, "accessToken"), unknown},
			{"a refresh token", "Bearer " + refresh, unknown},
			{"no token at all", "Bearer hello", invalid},
			{"a long token", "Bearer " + strings.Repeat("x", 5000), invalid},
			{"an altered header", "Bearer " + altered(token, 0), invalid},
			{"altered claims", "Bearer " + altered(token, 1), invalid},
			{"an altered signature", "Bearer " + altered(token, 2), invalid},
			{"a respelled signature", "Bearer " + respelled(token), invalid},
			{"no signature", "Bearer " + strings.Join(strings.Split(token, ".")[:2], ".") + ".", invalid},
			{"alg none", "Bearer " + unsigned(token), invalid},
		} {
			for _, e := range endpoints(payment, hook) {
				r := request{method: e.method, path: apiPath + e.path, body: e.body, header: http.Header{"Content-Type": {"application/json"}}}
				if c.header != "" {
					r.header.Set("Authorization", c.header)
				}
				if got := s.send(t, r); got.problem(t) != c.want {
					t.Errorf("%s: want %s, got %s", c.name, c.want, got)
				}
			}
		}

		t.Run("a publishable key reaches what is for anyone", func(t *testing.T) {
			for _, e := range endpoints(payment, hook) {
				r := o.as(o.Sandbox.Publishable).call(t, e.method, e.path, e.body)
				if e.anyKey {
					r.want(t, http.StatusOK)
					continue
				}
				r.refused(t, "403 key_kind_not_allowed permission_error")
			}
		})
		t.Run("good credentials do", func(t *testing.T) {
			for _, credential := range []string{o.Sandbox.Secret, token} {
				o.as(credential).get(t, "/payments/"+payment).want(t, http.StatusOK)
			}
			r := request{method: http.MethodGet, path: apiPath + "/ping", header: http.Header{"Authorization": {"bearer   " + token}}}
			s.send(t, r).want(t, http.StatusOK)
		})
		if n := o.total(t, nil); n != "1" {
			t.Errorf("the shop has %s payments, want the 1 it made", n)
		}

		// Last, because the clock does not go back.
		t.Run("an expired token", func(t *testing.T) {
			token := o.pair(t).text(t, "accessToken") // the one above may be seconds old
			s.clock.advance(15*time.Minute - 10*time.Second)
			o.as(token).get(t, "/ping").want(t, http.StatusOK)
			s.clock.advance(10 * time.Second)
			for _, e := range endpoints(payment, hook) {
				r := o.as(token).call(t, e.method, e.path, e.body)
				if got := r.problem(t); got != "401 token_expired authentication_error" {
					t.Errorf("want token_expired, got %s", r)
				}
			}
			o.as(altered(token, 2)).get(t, "/ping").refused(t, invalid)
		})
	})
}

func TestAnotherTenantIsNotSeen(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		payment := o.create(t, `{"amount":10,"paymentMethodId":"sbx_pse","merchantOrderId":"order-1"}`)
		hook := o.post(t, "/webhooks", `{"events":["*"]}`).want(t, http.StatusCreated).text(t, "id")
		const noPayment, noHook = "404 transaction_not_found invalid_request_error", "404 webhook_not_found invalid_request_error"
		for _, who := range []shop{stranger, stranger.live(), o.live()} {
			who.get(t, "/payments/"+payment).refused(t, noPayment)
			who.get(t, "/transactions/"+payment).refused(t, noPayment)
			who.delete(t, "/webhooks/"+hook).refused(t, noHook)
			for _, query := range []string{"", "?merchantOrderId=order-1"} {
				who.get(t, "/payments"+query).is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
			}
			who.get(t, "/payments?starting_after="+payment).refused(t, "400 invalid_request invalid_request_error param=starting_after")
			who.get(t, "/webhooks").is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
		}
		stranger.simulate(t, payment, "paid").refused(t, noPayment)
		if got := o.status(t, payment); got != "pending" {
			t.Errorf("the payment is %s after another tenant's calls, want pending", got)
		}
	})
}

func TestMerchantsKeyNamesTheShop(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		whole := o.whole(t, false)
		const want = "401 shop_required authentication_error"
		payment := o.create(t, card)
		for _, e := range endpoints(payment, "wh_1") {
			switch r := whole.call(t, e.method, e.path, e.body); e.path {
			case "/ping", "/me", "/me/balance":
				r.want(t, http.StatusOK)
			case "/kyc/init": // the merchant is verified, not a shop
				r.want(t, http.StatusCreated)
			case "/kyc/kyc_1", "/sandbox/kyc/kyc_1":
				r.refused(t, "404 not_found invalid_request_error")
			default:
				r.refused(t, want)
			}
		}
		for _, c := range []struct{ name, fields, want string }{
			{"its shop", `"shopId":"` + o.Shop.ID + `"`, "201"},
			{"its shop and merchant", `"shopId":"` + o.Shop.ID + `","merchantId":"` + o.Merchant.ID + `"`, "201"},
			{"its merchant only", `"merchantId":"` + o.Merchant.ID + `"`, want},
			{"another's shop", `"shopId":"` + stranger.Shop.ID + `"`, "403 forbidden permission_error param=shopId"},
			{"another's merchant", `"merchantId":"` + stranger.Merchant.ID + `","shopId":"` + stranger.Shop.ID + `"`, "403 forbidden permission_error param=merchantId"},
			{"an unknown shop", `"shopId":"shp_1"`, "403 forbidden permission_error param=shopId"},
		} {
			t.Run(c.name, func(t *testing.T) { whole.post(t, "/payments", with(c.fields)).refused(t, c.want) })
		}
		if n := o.total(t, nil); n != "3" {
			t.Errorf("the shop has %s payments, want 3: its own, and two by the merchant's key", n)
		}
		if n := stranger.total(t, nil); n != "0" {
			t.Errorf("the other shop has %s payments, want none", n)
		}
	})
}

// What no database stores is nobody's shop, and no parameter's value.
func TestUnstorableShopIsRefused(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		raw, err := s.App.Keys.Create(ctx, auth.NewKey{Scope: tenant.Scope{Merchant: o.Merchant.ID}, Kind: tenant.Secret})
		must(t, err)
		whole := shop{service: s, credential: raw}
		for _, q := range []string{"%00", "%ff", "a%00", "%C3%28"} {
			for _, path := range []string{"/payments", "/me/balance", "/webhooks"} {
				whole.get(t, path+"?shopId="+q).refused(t, "400 invalid_request invalid_request_error param=shopId issues=shopId")
			}
		}
		whole.post(t, "/payments", `{"amount":1,"paymentMethodId":"sbx_card","shopId":"a\u0000"}`).refused(t, "400 invalid_request invalid_request_error param=shopId issues=shopId")
	})
}

// A key that was rotated is not rotated again: another one took its place. And no grace is
// shorter than other nodes need to learn of its end.
func TestRotatedKeyIsNotRotatedAgain(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		keys, _, err := s.App.Keys.List(ctx, o.Merchant.ID)
		must(t, err)
		old := keys[slices.IndexFunc(keys, func(k tenant.Key) bool { return k.Kind == tenant.Secret && !k.Live })]
		s.clock.advance(10 * day)
		if _, _, err := s.App.Keys.Rotate(ctx, old.ID, auth.LeastGrace-1); err == nil || !strings.Contains(err.Error(), "the grace must be") {
			t.Errorf("a grace of nearly nothing: %v", err)
		}
		_, first, err := s.App.Keys.Rotate(ctx, old.ID, day)
		must(t, err)
		if _, _, err = s.App.Keys.Rotate(ctx, old.ID, day); err == nil || !strings.Contains(err.Error(), first.ID) {
			t.Errorf("a key that was rotated: %v", err)
		}
		_, second, err := s.App.Keys.Rotate(ctx, first.ID, 0)
		must(t, err)
		if !first.EndsAt.IsZero() || !second.EndsAt.IsZero() {
			t.Errorf("the old key had no end, the new ones end %v and %v", first.EndsAt, second.EndsAt)
		}
	})
}
