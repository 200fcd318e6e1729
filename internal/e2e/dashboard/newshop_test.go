package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// An admin opens another shop. It has no keys, which the page then makes; the team of the merchant is its team.
func TestAnotherShopIsOpened(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		shop := s.NewShop(t)
		admin, developer := shop.Staff(t, people.Admin), shop.Staff(t, people.Developer)
		a := admin.Ask(t, http.MethodPost, "/shop/new", url.Values{"name": {"Acme  Norte"}})
		to := regexp.MustCompile(`^/dashboard/(shp_[A-Z0-9a-z]+)/sandbox/keys$`).FindStringSubmatch(a.Header.Get("Location"))
		if a.Status != http.StatusSeeOther || to == nil {
			t.Fatalf("opening a shop gets %d %s: %s", a.Status, a.Header.Get("Location"), a.Text())
		}
		if keys := admin.Ask(t, http.MethodGet, to[0], nil); keys.Status != http.StatusOK || !strings.Contains(keys.Text(), "No keys yet") || !strings.Contains(keys.Body, "Acme Norte") {
			t.Errorf("the keys of the new shop: %d %s", keys.Status, keys.Text())
		}
		developer.Shop.ID = to[1]
		if made := developer.Ask(t, http.MethodPost, "/keys", url.Values{"kind": {"secret"}}); !strings.HasPrefix(shown(t, made), "sk_test_") {
			t.Errorf("a developer of the team makes no key: %s", made.Text())
		}
		if log := admin.Ask(t, http.MethodGet, "/audit", nil); !strings.Contains(log.Text(), "Acme Norte") {
			t.Errorf("the audit log does not have the shop: %s", log.Text())
		}
		if a := admin.Ask(t, http.MethodPost, "/shop/new", url.Values{"name": {"  "}}); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `id="f-name-error"`) {
			t.Errorf("a shop without a name gets %d: %s", a.Status, a.Text())
		}
	})
}

// Clicks at once, and a second one later, open one shop: nobody can remove a shop again.
func TestClicksAtOnceOpenOneShop(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		admin := s.NewShop(t).Staff(t, people.Admin)
		by := audit.Actor{Kind: audit.ByUser, ID: admin.User.ID}
		var clicks sync.WaitGroup
		for range 4 {
			clicks.Go(func() { _, _ = s.App.Onboarding.OpenShop(ctx, by, admin.Merchant.ID, "Acme Norte") }) // all but one are refused
		}
		clicks.Wait()
		if a := admin.Ask(t, http.MethodPost, "/shop/new", url.Values{"name": {"acme norte"}}); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `id="f-name-error"`) {
			t.Errorf("a second click gets %d: %s", a.Status, a.Text())
		}
		list, err := s.App.Onboarding.Shops(ctx, admin.Merchant.ID)
		if harness.Must(t, err); len(list) != 2 {
			t.Errorf("the merchant has %d shops, want its first one and one more", len(list))
		}
	})
}
