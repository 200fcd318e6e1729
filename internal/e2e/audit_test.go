package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// acts reads a merchant's audit log.
func (o shop) acts(t *testing.T) []audit.Entry {
	t.Helper()
	list, err := o.App.Audit(ctx, o.Merchant.ID, "", time.Time{}, 100)
	must(t, err)
	return list
}

// act returns the one entry that says what was done to an object.
func (o shop) act(t *testing.T, act audit.Act, object string) audit.Entry {
	t.Helper()
	var found []audit.Entry
	for _, e := range o.acts(t) {
		if e.Act == act && e.Object == object {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d entries of %s %s, want one of %v", len(found), act, object, o.acts(t))
	}
	return found[0]
}

// byRequest fails the test unless the entry names the shop's key and the
// request of the reply.
func (o shop) byRequest(t *testing.T, e audit.Entry, r reply) {
	t.Helper()
	by := e.By
	if by.Kind != audit.ByKey || !strings.HasPrefix(by.ID, "key_") || by.IP != "127.0.0.1" || by.Request != r.header.Get("X-Request-Id") {
		t.Errorf("%s was done by %+v, want the key and the request %s", e.Act, by, r.header.Get("X-Request-Id"))
	}
	if want := (tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}); e.Scope != want {
		t.Errorf("%s is of %+v, want %+v", e.Act, e.Scope, want)
	}
	if since := time.Since(e.At); since < 0 || since > patience {
		t.Errorf("%s was done at %s", e.Act, e.At)
	}
}

func TestAuditLogSaysWhoDidWhat(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, other := s.shop(t), s.shop(t)

		// A merchant is made with four keys.
		made := o.act(t, audit.MerchantCreated, o.Merchant.ID)
		if made.By.Kind != audit.BySystem || made.Shop != "" || !made.Live || made.Details["name"] != "Acme" {
			t.Errorf("the merchant was made by %+v", made)
		}
		keys := 0
		for _, e := range o.acts(t) {
			if e.Act == audit.KeyCreated && e.Shop == o.Shop.ID {
				keys++
			}
		}
		if keys != 4 {
			t.Errorf("%d keys were made, want 4", keys)
		}

		endpoint := s.receive(t)
		hook := o.post(t, "/webhooks", `{"url":"`+endpoint.URL+`/path?token=hush","events":["*"]}`).want(t, http.StatusCreated)
		id := hook.text(t, "id")
		o.byRequest(t, o.act(t, audit.WebhookCreated, id), hook)
		deleted := o.delete(t, "/webhooks/"+id).want(t, http.StatusOK)
		o.byRequest(t, o.act(t, audit.WebhookDeleted, id), deleted)

		// An endpoint that is gone is disabled by the service.
		gone := s.receive(t)
		gone.answers(respond(http.StatusGone))
		second := o.post(t, "/webhooks", `{"url":"`+gone.URL+`","events":["*"]}`).want(t, http.StatusCreated)
		o.post(t, "/payments", card).want(t, http.StatusCreated)
		eventually(t, "the endpoint is disabled", func() bool {
			return strings.Contains(string(o.get(t, "/webhooks").body), "410 Gone")
		})
		if e := o.act(t, audit.WebhookDisabled, second.text(t, "id")); e.By != (audit.Actor{Kind: audit.BySystem}) || !strings.Contains(e.Details["reason"], "410") {
			t.Errorf("disabled: %+v", e)
		}

		shop, err := s.App.Onboarding.CreateShop(ctx, o.Merchant.ID, "Second")
		must(t, err)
		_, err = s.App.Onboarding.Rebrand(ctx, shop.Shop.ID, func(b tenant.Brand) tenant.Brand { b.Color = "#1a2b3c"; return b }, nil)
		must(t, err)
		if e := o.act(t, audit.ShopCreated, shop.Shop.ID); e.Details["name"] != "Second" {
			t.Errorf("a shop was made: %+v", e)
		}
		if e := o.act(t, audit.ShopRebranded, shop.Shop.ID); e.Details["color"] != "#1a2b3c" {
			t.Errorf("a shop was given a colour: %+v", e)
		}

		raw, err := s.App.Keys.Create(ctx, auth.NewKey{Scope: tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, Kind: tenant.Secret})
		must(t, err)
		revoke(t, s.App, raw)
		var told []audit.Act
		for _, e := range o.acts(t) {
			if e.Details["preview"] == "sk_test_…"+raw[len(raw)-4:] {
				told = append(told, e.Act)
			}
		}
		if slices.Sort(told); !slices.Equal(told, []audit.Act{audit.KeyCreated, audit.KeyRevoked}) {
			t.Errorf("a key was made and revoked, the log says %v", told)
		}

		for _, e := range other.acts(t) {
			if e.Merchant != other.Merchant.ID {
				t.Errorf("another merchant sees %+v", e)
			}
		}
		log, err := json.Marshal(o.acts(t))
		must(t, err)
		for _, secret := range []string{hook.text(t, "secret"), o.Sandbox.Secret, o.Sandbox.Publishable, o.Live.Secret, raw, "hush"} {
			if strings.Contains(string(log), secret) {
				t.Errorf("the audit log tells the secret %s", secret)
			}
		}
	})
}

// What was refused was not done.
func TestRefusedActsAreNotInTheAuditLog(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, other := s.shop(t), s.shop(t)
		hook := other.post(t, "/webhooks", `{"events":["*"]}`).want(t, http.StatusCreated).text(t, "id")
		before := len(o.acts(t)) + len(other.acts(t))
		o.delete(t, "/webhooks/"+hook).want(t, http.StatusNotFound)
		o.post(t, "/webhooks", `{"events":["nonsense"]}`).want(t, http.StatusBadRequest)
		o.as(o.Sandbox.Publishable).post(t, "/webhooks", `{"events":["*"]}`).want(t, http.StatusForbidden)
		if _, err := s.App.Keys.Create(ctx, auth.NewKey{Scope: tenant.Scope{Merchant: o.Merchant.ID, Shop: other.Shop.ID}, Kind: tenant.Secret}); err == nil {
			t.Error("a key of another's shop was made")
		}
		if after := len(o.acts(t)) + len(other.acts(t)); after != before {
			t.Errorf("%d entries, %d before", after, before)
		}
	})
}

// A stolen refresh token ends its login, and the log says from where it came.
func TestRefreshTokenUsedTwiceIsInTheAuditLog(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		body := fmt.Sprintf(`{"refreshToken":%q}`, o.pair(t).text(t, "refreshToken"))
		o.post(t, "/auth/refresh", body).want(t, http.StatusOK)
		r := o.post(t, "/auth/refresh", body).want(t, http.StatusUnauthorized)
		var found []audit.Entry
		for _, e := range o.acts(t) {
			if e.Act == audit.LoginRevoked {
				found = append(found, e)
			}
		}
		if len(found) != 1 || found[0].By.Kind != audit.BySystem || found[0].By.Request != r.header.Get("X-Request-Id") || found[0].By.IP != "127.0.0.1" {
			t.Errorf("the log has %+v, want one entry of request %s", found, r.header.Get("X-Request-Id"))
		}
	})
}

// A test clock moves payments, not the audit log, and what it moved is sealed
// like everything else.
func TestTestClockDoesNotMoveTheAuditLogNorKeepRowsFromTheirSeal(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		o.post(t, "/payments", card).want(t, http.StatusCreated)
		o.post(t, "/sandbox/clock", `{"advance":"48h"}`).want(t, http.StatusOK)
		hook := o.post(t, "/webhooks", `{"events":["*"]}`).want(t, http.StatusCreated)
		o.byRequest(t, o.act(t, audit.WebhookCreated, hook.text(t, "id")), hook)
		o.post(t, "/payments", card).want(t, http.StatusCreated)
		eventually(t, "nothing waits to be sealed", func() bool {
			_, err := s.App.Seal(ctx)
			must(t, err)
			due, err := s.App.OldestDue(ctx)
			must(t, err)
			return due["seals"].IsZero()
		})
		heads := 0
		books, err := app.OpenBooks(ctx, s.database, s.vault, nil)
		must(t, err)
		defer books.Close()
		must(t, books.Heads(ctx, func(string) error { heads++; return nil }))
		if heads != 3 { // the sandbox's, the production's with its keys, and that of no merchant with the rates
			t.Errorf("%d chains, want 3", heads)
		}
	})
}
