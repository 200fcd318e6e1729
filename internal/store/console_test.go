package store_test

import (
	"fmt"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// The audit log is read newest first, a page at a time, by merchant, object and act.
func TestAuditLogIsFiltered(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		var all []audit.Entry
		for i, of := range []struct {
			merchant, object string
			act              audit.Act
		}{{"mer_x", "a", audit.KeyCreated}, {"mer_y", "a", audit.KeyRevoked}, {"mer_x", "b", audit.KeyRevoked}, {"", "routing", audit.RoutingApplied}} {
			all = append(all, audit.Entry{
				ID: fmt.Sprintf("aud_%d", i), Scope: merchants.Scope{Merchant: of.merchant, Live: true}, By: audit.Actor{Kind: audit.ByUser, ID: "usr_1"}, Act: of.act, Object: of.object, At: noon,
			})
		}
		must(t, s.Commit(ctx, pay.Change{Audit: all}))
		for want, f := range map[string]audit.Filter{
			"3 2 1 0": {}, "2 0": {Merchant: "mer_x"}, "1 0": {Object: "a"}, "2 1": {Act: audit.KeyRevoked}, "2": {Merchant: "mer_x", Act: audit.KeyRevoked},
			"1": {Object: "a", Merchant: "mer_y"}, "0": {Object: "a", Before: "aud_1"}, "": {Merchant: "mer_z"},
		} {
			list, err := s.Audit().Latest(ctx, f, 10)
			must(t, err)
			got := ""
			for i, e := range list {
				if i > 0 {
					got += " "
				}
				got += e.ID[len("aud_"):]
			}
			if got != want {
				t.Errorf("%+v lists %q, want %q", f, got, want)
			}
		}
	})
}

// Merchants are found by a part of their name or address, newest first. Signs of a pattern mean themselves.
func TestMerchantsAreFound(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		for i, name := range []string{"Bodega Uno", "100% Café", "Bodega Dos"} {
			must(t, s.Commit(ctx, pay.Change{Merchants: []merchants.Merchant{{ID: fmt.Sprintf("mer_find%d", i), Version: 1, Name: name, Email: fmt.Sprintf("m%d@find.example", i), Tier: merchants.Starter, Language: merchants.English, RefundFees: merchants.FeesKept, CreatedAt: noon}}}))
		}
		for text, want := range map[string]string{"bodega": "[mer_find2 mer_find0]", "0%": "[mer_find1]", "M1@find": "[mer_find1]", "_": "[]", "find.example": "[mer_find2 mer_find1 mer_find0]"} {
			list, err := s.Merchants().Find(ctx, text, "", 10)
			must(t, err)
			ids := []string{}
			for _, m := range list {
				ids = append(ids, m.ID)
			}
			if fmt.Sprint(ids) != want {
				t.Errorf("%q finds %v, want %s", text, ids, want)
			}
		}
		list, err := s.Merchants().Find(ctx, "find.example", "mer_find2", 1)
		must(t, err)
		if len(list) != 1 || list[0].ID != "mer_find1" {
			t.Errorf("the next page is %v", list)
		}
	})
}
