package main_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestOperatorDecidesVerifications(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		s := u.serve(t, "--database", database)
		k := u.merchant(t, database)
		key := k.Keys.Production.Secret
		begin := func() string {
			status, reply := s.call("POST", "/kyc/init", key, `{"level":"basic","subjectType":"company"}`, nil)
			if status != http.StatusCreated {
				t.Fatalf("kyc/init: %d %v", status, reply)
			}
			return text(reply, "verificationId")
		}
		decide := func(want string, args ...string) {
			t.Helper()
			out, log, code := u.run(t, append(append([]string{"kyc"}, args...), "--database", database)...)
			if (code == 0) != (want == "") || !strings.Contains(log, want) {
				t.Errorf("kyc %s: exit %d, want %q:\n%s%s", args, code, want, out, log)
			}
		}
		first := begin()
		out, log, code := u.run(t, "kyc", "list", "--database", database, "--status", "requires_input")
		for _, want := range []string{first, k.Merchant.ID, "production", "basic", "company"} {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("kyc list: exit %d, want %s:\n%s%s", code, want, out, log)
			}
		}
		decide("", "reject", first, "--code", "name_mismatch", "--message", "The names differ.")
		decide("conflict_state", "approve", first)
		decide("kyc_NOBODY: not found", "approve", "kyc_NOBODY")
		if _, v := s.call("GET", "/kyc/"+first, key, "", nil); text(v, "status") != "rejected" {
			t.Errorf("after the rejection it is %v", v)
		}
		withdraw := func() string {
			_, reply := s.call("POST", "/withdrawals", key, `{"amount":10,"walletId":"wal_1"}`, nil)
			e, _ := reply["error"].(map[string]any)
			return text(e, "code")
		}
		if got := withdraw(); got != "kyc_required" {
			t.Errorf("before the verification a withdrawal is refused with %s", got)
		}
		decide("", "approve", begin())
		if got := withdraw(); got != "wallet_not_found" {
			t.Errorf("after the verification a withdrawal is refused with %s", got)
		}
		if out, _, _ := u.run(t, "kyc", "list", "--database", database, "--merchant", "mer_nobody"); strings.Contains(out, "kyc_") {
			t.Errorf("verifications of an unknown merchant are listed:\n%s", out)
		}
	})
}
