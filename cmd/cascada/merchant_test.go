package main_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// The terms of a merchant are shown, and changed for future payments.
func TestMerchantsTermsAreShownAndChanged(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		var k keys
		if err := json.Unmarshal([]byte(u.does(t, "merchant", "create", "--database", database, "--name", "Acme", "--email", "a@example.com", "--json")), &k); err != nil {
			t.Fatal(err)
		}
		terms := func(args ...string) string {
			return u.does(t, append([]string{"merchant", "terms", "--database", database, k.Merchant.ID}, args...)...)
		}
		has := func(told string, lines ...string) {
			t.Helper()
			for _, line := range lines {
				if !strings.Contains(told, line+"\n") {
					t.Errorf("the terms do not say %q:\n%s", line, told)
				}
			}
		}
		has(terms(), "merchant         "+k.Merchant.ID+"  Acme", "tier             starter", "platform fee     1.5 %", "rolling reserve  10 %",
			"settled after    48h", "withdrawal fee   5.00 USD", "dispute fee      25.00 USD", "refund fees      kept")
		has(terms("--refund-fees", "returned"), "refund fees      returned")
		has(terms("--refund-fees", "returned"), "refund fees      returned") // the second time changes nothing
		has(terms("--installments", "card.MEX:12/6,card.BRA:6/0@BRL:100"), "installments     card.MEX:12/6 card.BRA:6/0@BRL:100")
		has(terms("--installments", "none"), "installments     none")
		var told struct{ ID, RefundFees, Tier string }
		if err := json.Unmarshal([]byte(terms("--json")), &told); err != nil || told.ID != k.Merchant.ID || told.RefundFees != "returned" || told.Tier != "starter" {
			t.Errorf("--json prints %+v (%v)", told, err)
		}
		if log := u.does(t, "audit", "list", "--database", database); strings.Count(log, "merchant.terms_changed "+k.Merchant.ID) != 3 {
			t.Errorf("the audit log does not have each change once:\n%s", log)
		}
		if _, log, code := u.run(t, "merchant", "terms", "--database", database, k.Merchant.ID, "--refund-fees", "lost"); code == 0 || !strings.Contains(log, "--refund-fees") {
			t.Errorf("an unknown term: exit %d, %s", code, log)
		}
		u.does(t, "check", "--database", database)
	})
}

// A merchant gets another tier, is paused with a reason, and resumed.
func TestMerchantIsPausedAtTheCommandLine(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		var k keys
		if err := json.Unmarshal([]byte(u.does(t, "merchant", "create", "--database", database, "--name", "Acme", "--email", "a@example.com", "--json")), &k); err != nil {
			t.Fatal(err)
		}
		merchant := func(verb string, args ...string) string {
			return u.does(t, append([]string{"merchant", verb, "--database", database, k.Merchant.ID}, args...)...)
		}
		if told := merchant("terms", "--tier", "trusted"); !strings.Contains(told, "tier             trusted\n") || !strings.Contains(told, "platform fee     0.7 %\n") {
			t.Errorf("after a new tier the terms are\n%s", told)
		}
		for _, told := range []string{merchant("pause", "--reason", "We wait for your papers"), merchant("terms")} {
			if !strings.Contains(told, "We wait for your papers\n") {
				t.Errorf("a paused merchant is\n%s", told)
			}
		}
		if _, log, code := u.run(t, "merchant", "pause", "--database", database, k.Merchant.ID); code == 0 || !strings.Contains(log, "--reason") {
			t.Errorf("a pause without a reason: exit %d, %s", code, log)
		}
		for _, told := range []string{merchant("resume"), merchant("terms")} {
			if !strings.Contains(told, "tier             trusted\n") || strings.Contains(told, "paused") {
				t.Errorf("after the pause it is\n%s", told)
			}
		}
		if log := u.does(t, "audit", "list", "--database", database); !strings.Contains(log, "merchant.paused "+k.Merchant.ID) || !strings.Contains(log, "merchant.resumed "+k.Merchant.ID) {
			t.Errorf("the audit log has\n%s", log)
		}
		u.does(t, "check", "--database", database)
	})
}

// The operator begins to empty a sandbox; a second time it is the same reset, and the books hold meanwhile (SBX-16).
func TestOperatorEmptiesASandbox(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		var k keys
		if err := json.Unmarshal([]byte(u.does(t, "merchant", "create", "--database", database, "--name", "Acme", "--email", "a@example.com", "--json")), &k); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if told := u.does(t, "merchant", "empty-sandbox", "--database", database, k.Merchant.ID); !strings.Contains(told, k.Merchant.ID) {
				t.Errorf("it says %q", told)
			}
		}
		if log := u.does(t, "audit", "list", "--database", database); strings.Count(log, "sandbox.reset "+k.Merchant.ID) != 1 {
			t.Errorf("the audit log does not have exactly one reset:\n%s", log)
		}
		u.does(t, "check", "--database", database)
		if _, log, code := u.run(t, "merchant", "empty-sandbox", "--database", database, "mer_nobody"); code == 0 || !strings.Contains(log, "mer_nobody: not found") {
			t.Errorf("an unknown merchant: exit %d, %s", code, log)
		}
	})
}
