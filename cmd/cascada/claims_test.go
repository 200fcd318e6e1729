package main_test

import (
	"net/http"
	"strings"
	"testing"
)

// The operator resolves claims while the server runs, and the shop gets an event.
func TestOperatorResolvesClaims(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		s := u.serve(t, "--database", database)
		key := u.merchant(t, database).Keys.Sandbox.Secret
		in := s.subscribe(key)
		status, reply := s.call("POST", "/payments", key, `{"amount":55,"paymentMethodId":"sbx_card"}`, http.Header{"Sandbox-Simulate": {"chargeback"}})
		if status != http.StatusCreated {
			t.Fatalf("create: %d %v", status, reply)
		}
		payment := text(reply, "transactionId")
		list, log, code := u.run(t, "claim", "list", "--database", database, "--type", "chargeback", "--status", "needs_evidence")
		fields := strings.Fields(list)
		at := len(strings.Fields("CLAIM TYPE STATUS AMOUNT USD ENVIRONMENT TRANSACTION DUE"))
		if code != 0 || len(fields) < at+8 || !strings.Contains(list, payment) || !strings.Contains(list, "55.00 USD") {
			t.Fatalf("claim list: exit %d\n%s%s", code, list, log)
		}
		claim := fields[at]
		if out, log, code := u.run(t, "claim", "ask", "--database", database, claim, "--note", "why?"); code == 0 || !strings.Contains(log, "conflict_state") {
			t.Errorf("evidence was asked for a chargeback: exit %d\n%s%s", code, out, log)
		}
		out, log, code := u.run(t, "claim", "resolve", "--database", database, claim, "--outcome", "rejected", "--note", "the bank's letter 7")
		if code != 0 || !strings.Contains(out, "rejected by the operator: the bank's letter 7") {
			t.Errorf("claim resolve: exit %d\n%s%s", code, out, log)
		}
		if again, log, code := u.run(t, "claim", "resolve", "--database", database, claim, "--outcome", "approved", "--note", "no"); code == 0 || !strings.Contains(log, "claim_already_resolved") {
			t.Errorf("resolved twice: exit %d\n%s%s", code, again, log)
		}
		if shown, log, code := u.run(t, "claim", "show", "--database", database, claim); code != 0 || shown != out {
			t.Errorf("claim show: exit %d, want what resolve printed\n%s%s", code, shown, log)
		}
		if status, reply := s.call("GET", "/claims/"+claim, key, "", nil); status != http.StatusOK || text(reply, "status") != "rejected" {
			t.Errorf("the API shows %d %v", status, reply)
		}
		in.settle(t, database)
		if !in.told("claim.resolved", claim) {
			t.Error("the shop did not get claim.resolved")
		}
		u.check(t, database)
		s.stop()
	})
}

// The operator says that the evidence of a dispute, which its provider refused, was submitted in the provider's panel.
func TestOperatorCarriesEvidence(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		s := u.serve(t, "--database", database, "--sandbox-fault", "sandbox-1=evidence_refused")
		key := u.merchant(t, database).Keys.Sandbox.Secret
		status, reply := s.call("POST", "/payments", key, `{"amount":55,"paymentMethodId":"sbx_card"}`, http.Header{"Sandbox-Simulate": {"chargeback"}})
		if status != http.StatusCreated {
			t.Fatalf("create: %d %v", status, reply)
		}
		list, _, _ := u.run(t, "claim", "list", "--database", database)
		claim := strings.Fields(list)[len(strings.Fields("CLAIM TYPE STATUS AMOUNT USD ENVIRONMENT TRANSACTION DUE"))]
		carry := func(want bool) {
			t.Helper()
			await(t, "the list of evidence to carry", func() bool {
				out, log, code := u.run(t, "claim", "list", "--database", database, "--carry")
				if code != 0 {
					t.Fatalf("claim list --carry: exit %d\n%s%s", code, out, log)
				}
				return strings.Contains(out, claim) == want
			})
		}
		carry(false)
		say := []string{"claim", "carried", "--database", database, claim, "--note", "uploaded on Monday"}
		if out, log, code := u.run(t, say...); code == 0 || !strings.Contains(log, "only the evidence against a dispute is submitted") {
			t.Errorf("nothing was carried: exit %d\n%s%s", code, out, log)
		}
		for _, call := range [][2]string{{"/claims/" + claim + "/evidence", `{"kind":"receipt","text":"it was signed for"}`}, {"/sandbox/clock", `{"advance":"20m"}`}} {
			if status, reply := s.call("POST", call[0], key, call[1], nil); status >= http.StatusBadRequest {
				t.Fatalf("%s: %d %v", call[0], status, reply)
			}
		}
		carry(true)
		out, log, code := u.run(t, say...)
		if code != 0 || !strings.Contains(out, "uploaded on Monday") || !strings.Contains(out, "by_hand, it has 1 of 1 pieces") {
			t.Errorf("claim carried: exit %d\n%s%s", code, out, log)
		}
		carry(false)
		u.check(t, database)
		s.stop()
	})
}
