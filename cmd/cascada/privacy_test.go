package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The operator prints a shopper's data, sees what would be erased, and erases it
// while the server runs.
func TestOperatorErasesAShopper(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		s := u.serve(t, "--database", database)
		k := u.merchant(t, database)
		pay := func(method, mail string) string {
			status, made := s.call("POST", "/payments", k.Keys.Sandbox.Secret, `{"amount":25.5,"paymentMethodId":"`+method+`","userEmail":"`+mail+`","userName":"Ana Souza"}`, nil)
			if status != http.StatusCreated {
				t.Fatalf("POST /payments: %d %v", status, made)
			}
			return text(made, "transactionId")
		}
		const mail = "ana.souza@mail.example"
		paid, other := pay("sbx_card", mail), pay("sbx_card", "somebody@mail.example")
		run := func(want int, args ...string) (string, string) {
			t.Helper()
			out, log, code := u.run(t, append(args, "--database", database, "--merchant", k.Merchant.ID, "--email", "Ana.Souza@mail.example")...)
			if code != want {
				t.Fatalf("%s: exit %d\n%s%s", strings.Join(args, " "), code, out, log)
			}
			return out, log
		}
		export := func() (ids []string) {
			t.Helper()
			out, _ := run(0, "privacy", "export")
			var told struct {
				Payments []struct {
					ID      string
					Shopper struct{ Email string }
					ToldTo  []string
				}
			}
			if err := json.Unmarshal([]byte(out), &told); err != nil {
				t.Fatalf("privacy export: %v\n%s", err, out)
			}
			for _, p := range told.Payments {
				if p.Shopper.Email != mail || len(p.ToldTo) == 0 {
					t.Errorf("the export has %+v", p)
				}
				ids = append(ids, p.ID)
			}
			return ids
		}
		if ids := export(); len(ids) != 1 || ids[0] != paid {
			t.Errorf("the export has %v, want %s", ids, paid)
		}
		if out, _ := run(0, "privacy", "erase"); !strings.Contains(out, paid+" would be erased") || !strings.Contains(out, "--yes") || strings.Contains(out, other) {
			t.Errorf("privacy erase says %q", out)
		}
		pending := pay("sbx_cash", mail)
		if out, log := run(1, "privacy", "erase", "--yes"); !strings.Contains(out, paid+" erased") || !strings.Contains(out, pending+" is kept: it is pending") || !strings.Contains(log, "when they have ended") {
			t.Errorf("privacy erase --yes says %q, %q", out, log)
		}
		if ids := export(); len(ids) != 1 || ids[0] != pending {
			t.Errorf("after the erasure the export has %v, want %s", ids, pending)
		}
		if out, log, code := u.run(t, "privacy", "erase", "--database", database, "--email", mail, "--yes"); code == 0 || !strings.Contains(log, "merchant") {
			t.Errorf("without a merchant: exit %d\n%s%s", code, out, log)
		}
		s.stop()
		u.check(t, database)
	})
}
