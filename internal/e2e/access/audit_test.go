package access

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

func TestAuditLogSaysWhoDidWhat(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)

		// A new merchant has four keys.
		made := harness.AuditEntry(t, o, audit.MerchantCreated, o.Merchant.ID)
		if made.By.Kind != audit.BySystem || made.Shop != "" || !made.Live || made.Details["name"] != "Acme" {
			t.Errorf("the entry of the merchant's creation is %+v", made)
		}
		keys := 0
		for _, e := range harness.AuditActs(t, o) {
			if e.Act == audit.KeyCreated && e.Shop == o.Shop.ID {
				keys++
			}
		}
		if keys != 4 {
			t.Errorf("%d entries of new keys, want 4", keys)
		}

		endpoint := s.Receive(t)
		hook := o.Post(t, "/webhooks", `{"url":"`+endpoint.URL+`/path?token=hush","events":["*"]}`).Want(t, http.StatusCreated)
		id := hook.Text(t, "id")
		harness.AuditByRequest(t, o, harness.AuditEntry(t, o, audit.WebhookCreated, id), hook)
		deleted := o.Delete(t, "/webhooks/"+id).Want(t, http.StatusOK)
		harness.AuditByRequest(t, o, harness.AuditEntry(t, o, audit.WebhookDeleted, id), deleted)

		// The service disables an endpoint that answers 410.
		gone := s.Receive(t)
		gone.Answers(harness.Respond(http.StatusGone))
		second := o.Post(t, "/webhooks", `{"url":"`+gone.URL+`","events":["*"]}`).Want(t, http.StatusCreated)
		o.Post(t, "/payments", harness.Card).Want(t, http.StatusCreated)
		harness.Eventually(t, "the endpoint is disabled", func() bool {
			return strings.Contains(string(o.Get(t, "/webhooks").Body), "410 Gone")
		})
		if e := harness.AuditEntry(t, o, audit.WebhookDisabled, second.Text(t, "id")); e.By != (audit.Actor{Kind: audit.BySystem}) || !strings.Contains(e.Details["reason"], "410") {
			t.Errorf("the entry of the disabled endpoint is %+v, want the system and 410", e)
		}

		shop, err := s.App.Onboarding.CreateShop(ctx, s.App.Self(), o.Merchant.ID, "Second")
		harness.Must(t, err)
		_, err = s.App.Onboarding.Rebrand(ctx, s.App.Self(), shop.Shop.ID, func(b merchants.Brand) merchants.Brand { b.Color = "#1a2b3c"; return b }, nil)
		harness.Must(t, err)
		if e := harness.AuditEntry(t, o, audit.ShopCreated, shop.Shop.ID); e.Details["name"] != "Second" {
			t.Errorf("the entry of the new shop is %+v", e)
		}
		if e := harness.AuditEntry(t, o, audit.ShopRebranded, shop.Shop.ID); e.Details["color"] != "#1a2b3c" {
			t.Errorf("the entry of the shop's new colour is %+v", e)
		}

		raw, err := s.App.Keys.Create(ctx, s.App.Self(), auth.NewKey{Scope: merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, Kind: merchants.Secret})
		harness.Must(t, err)
		revoke(t, s.App, raw)
		var told []audit.Act
		for _, e := range harness.AuditActs(t, o) {
			if e.Details["preview"] == "sk_test_…"+raw[len(raw)-4:] {
				told = append(told, e.Act)
			}
		}
		if slices.Sort(told); !slices.Equal(told, []audit.Act{audit.KeyCreated, audit.KeyRevoked}) {
			t.Errorf("the entries of a key are %v, want created and revoked", told)
		}

		for _, e := range harness.AuditActs(t, other) {
			if e.Merchant != other.Merchant.ID {
				t.Errorf("another merchant sees the entry %+v", e)
			}
		}
		log, err := json.Marshal(harness.AuditActs(t, o))
		harness.Must(t, err)
		for _, secret := range []string{hook.Text(t, "secret"), o.Sandbox.Secret, o.Sandbox.Publishable, o.Live.Secret, raw, "hush"} {
			if strings.Contains(string(log), secret) {
				t.Errorf("the audit log has the secret %s", secret)
			}
		}
	})
}

// The audit log has only what was done.
func TestRefusedActsAreNotInTheAuditLog(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		hook := other.Post(t, "/webhooks", `{"events":["*"]}`).Want(t, http.StatusCreated).Text(t, "id")
		before := len(harness.AuditActs(t, o)) + len(harness.AuditActs(t, other))
		o.Delete(t, "/webhooks/"+hook).Want(t, http.StatusNotFound)
		o.Post(t, "/webhooks", `{"events":["nonsense"]}`).Want(t, http.StatusBadRequest)
		o.As(o.Sandbox.Publishable).Post(t, "/webhooks", `{"events":["*"]}`).Want(t, http.StatusForbidden)
		if _, err := s.App.Keys.Create(ctx, s.App.Self(), auth.NewKey{Scope: merchants.Scope{Merchant: o.Merchant.ID, Shop: other.Shop.ID}, Kind: merchants.Secret}); err == nil {
			t.Error("a key for another merchant's shop was made")
		}
		if after := len(harness.AuditActs(t, o)) + len(harness.AuditActs(t, other)); after != before {
			t.Errorf("refused acts left %d entries in the audit log", after-before)
		}
	})
}

// A test clock moves payments, but not the audit log. Payments that it moved are sealed like all
// others.
func TestTestClockDoesNotMoveTheAuditLogNorKeepRowsFromTheirSeal(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Post(t, "/payments", harness.Card).Want(t, http.StatusCreated)
		o.Post(t, "/sandbox/clock", `{"advance":"48h"}`).Want(t, http.StatusOK)
		hook := o.Post(t, "/webhooks", `{"events":["*"]}`).Want(t, http.StatusCreated)
		harness.AuditByRequest(t, o, harness.AuditEntry(t, o, audit.WebhookCreated, hook.Text(t, "id")), hook)
		o.Post(t, "/payments", harness.Card).Want(t, http.StatusCreated)
		harness.Eventually(t, "nothing waits to be sealed", func() bool {
			_, err := s.App.Seal(ctx)
			harness.Must(t, err)
			due, err := s.App.OldestDue(ctx)
			harness.Must(t, err)
			return due["seals"].IsZero()
		})
		heads := 0
		books, err := books.OpenBooks(ctx, s.Database, s.Vault, nil)
		harness.Must(t, err)
		defer books.Close()
		harness.Must(t, books.Heads(ctx, func(string) error { heads++; return nil }))
		if heads != 3 { // the sandbox, production (its keys), and what belongs to no merchant (the rates)
			t.Errorf("%d hash chains, want 3", heads)
		}
	})
}
