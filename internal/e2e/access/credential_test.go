package access

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

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

// respelled changes only the padding bits in a token's last character: its signature decodes to the
// same bytes.
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
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		payment := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`)
		hook := o.Post(t, "/webhooks", `{"events":["*"]}`).Want(t, http.StatusCreated).Text(t, "id")
		login := harness.Pair(t, o)
		token, refresh := login.Text(t, "accessToken"), login.Text(t, "refreshToken")

		scope := merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}
		revoked, err := o.App.Keys.Create(ctx, o.App.Self(), auth.NewKey{Scope: scope, Kind: merchants.Secret})
		harness.Must(t, err)
		o.As(revoked).Get(t, "/ping").Want(t, http.StatusOK)
		old := o.Post(t, "/auth/token", fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, o.Sandbox.Publishable, revoked)).Want(t, http.StatusOK)
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
			{"a token of a revoked key", "Bearer " + old.Text(t, "accessToken"), unknown},
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
			for _, e := range harness.Endpoints(payment, hook) {
				r := harness.Request{Method: e.Method, Path: harness.APIPath + e.Path, Body: e.Body, Header: http.Header{"Content-Type": {"application/json"}}}
				if c.header != "" {
					r.Header.Set("Authorization", c.header)
				}
				if got := s.Send(t, r); got.Problem(t) != c.want {
					t.Errorf("%s: want %s, got %s", c.name, c.want, got)
				}
			}
		}

		t.Run("a publishable key reaches what is for anyone", func(t *testing.T) {
			for _, e := range harness.Endpoints(payment, hook) {
				r := o.As(o.Sandbox.Publishable).Call(t, e.Method, e.Path, e.Body)
				if e.AnyKey {
					r.Want(t, http.StatusOK)
					continue
				}
				r.Refused(t, "403 key_kind_not_allowed permission_error")
			}
		})
		t.Run("good credentials do", func(t *testing.T) {
			for _, credential := range []string{o.Sandbox.Secret, token} {
				o.As(credential).Get(t, "/payments/"+payment).Want(t, http.StatusOK)
			}
			r := harness.Request{Method: http.MethodGet, Path: harness.APIPath + "/ping", Header: http.Header{"Authorization": {"bearer   " + token}}}
			s.Send(t, r).Want(t, http.StatusOK)
		})
		if n := o.Total(t, nil); n != "1" {
			t.Errorf("the shop has %s payments, want 1: refused requests make none", n)
		}

		// Last, because the clock does not go back.
		t.Run("an expired token", func(t *testing.T) {
			token := harness.Pair(t, o).Text(t, "accessToken") // the first token may be seconds old already
			s.Clock.Advance(15*time.Minute - 10*time.Second)
			o.As(token).Get(t, "/ping").Want(t, http.StatusOK)
			s.Clock.Advance(10 * time.Second)
			for _, e := range harness.Endpoints(payment, hook) {
				r := o.As(token).Call(t, e.Method, e.Path, e.Body)
				if got := r.Problem(t); got != "401 token_expired authentication_error" {
					t.Errorf("want token_expired, got %s", r)
				}
			}
			o.As(altered(token, 2)).Get(t, "/ping").Refused(t, invalid)
		})
	})
}

func TestAnotherTenantIsNotSeen(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		payment := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse","merchantOrderId":"order-1"}`)
		hook := o.Post(t, "/webhooks", `{"events":["*"]}`).Want(t, http.StatusCreated).Text(t, "id")
		const noPayment, noHook = "404 transaction_not_found invalid_request_error", "404 webhook_not_found invalid_request_error"
		for _, who := range []harness.Client{stranger, stranger.Production(), o.Production()} {
			who.Get(t, "/payments/"+payment).Refused(t, noPayment)
			who.Get(t, "/transactions/"+payment).Refused(t, noPayment)
			who.Delete(t, "/webhooks/"+hook).Refused(t, noHook)
			for _, query := range []string{"", "?merchantOrderId=order-1"} {
				who.Get(t, "/payments"+query).Is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
			}
			who.Get(t, "/payments?starting_after="+payment).Refused(t, "400 invalid_request invalid_request_error param=starting_after")
			who.Get(t, "/webhooks").Is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
		}
		stranger.Simulate(t, payment, "paid").Refused(t, noPayment)
		if got := o.Status(t, payment); got != "pending" {
			t.Errorf("the payment is %s after another tenant's calls, want pending", got)
		}
	})
}

func TestMerchantsKeyNamesTheShop(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		whole := o.Whole(t, false)
		const want = "401 shop_required authentication_error"
		payment := o.Create(t, harness.Card)
		for _, e := range harness.Endpoints(payment, "wh_1") {
			switch r := whole.Call(t, e.Method, e.Path, e.Body); e.Path {
			case "/ping", "/me", "/me/balance":
				r.Want(t, http.StatusOK)
			case "/kyc/init": // a verification is of the merchant, not of a shop
				r.Want(t, http.StatusCreated)
			case "/kyc/kyc_1", "/sandbox/kyc/kyc_1":
				r.Refused(t, "404 not_found invalid_request_error")
			default:
				r.Refused(t, want)
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
			t.Run(c.name, func(t *testing.T) { whole.Post(t, "/payments", harness.With(c.fields)).Refused(t, c.want) })
		}
		if n := o.Total(t, nil); n != "3" {
			t.Errorf("the shop has %s payments, want 3: its own and two by the merchant's key", n)
		}
		if n := stranger.Total(t, nil); n != "0" {
			t.Errorf("the other shop has %s payments, want none", n)
		}
	})
}

// A text that a database cannot store is refused as the id of a shop.
func TestUnstorableShopIsRefused(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		raw, err := s.App.Keys.Create(ctx, s.App.Self(), auth.NewKey{Scope: merchants.Scope{Merchant: o.Merchant.ID}, Kind: merchants.Secret})
		harness.Must(t, err)
		whole := harness.Client{Instance: s, Credential: raw}
		for _, q := range []string{"%00", "%ff", "a%00", "%C3%28"} {
			for _, path := range []string{"/payments", "/me/balance", "/webhooks"} {
				whole.Get(t, path+"?shopId="+q).Refused(t, "400 invalid_request invalid_request_error param=shopId issues=shopId")
			}
		}
		whole.Post(t, "/payments", `{"amount":1,"paymentMethodId":"sbx_card","shopId":"a\u0000"}`).Refused(t, "400 invalid_request invalid_request_error param=shopId issues=shopId")
	})
}

// revoke revokes a key by its full text.
func revoke(t *testing.T, a *app.App, raw string) {
	t.Helper()
	_, err := a.Keys.RevokeRaw(ctx, a.Self(), raw)
	harness.Must(t, err)
}
