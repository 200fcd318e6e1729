package main_test

import (
	"net/http"
	"strings"
	"testing"
)

// The operator books refunds that exist already: one that the provider made by itself, and one that was sent by hand. The shop sees
// each once, however often the command is given.
func TestOperatorBooksRefundsThatWereMade(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		s := u.serve(t, "--database", database)
		key := u.merchant(t, database).Keys.Sandbox.Secret
		in := s.subscribe(key)
		status, reply := s.call("POST", "/payments", key, `{"amount":55,"paymentMethodId":"sbx_card"}`, nil)
		if status != http.StatusCreated {
			t.Fatalf("create: %d %v", status, reply)
		}
		payment := text(reply, "transactionId")
		book := func(args ...string) (string, string, int) {
			return u.run(t, append([]string{"claim", "book", "--database", database, payment}, args...)...)
		}
		first := []string{"--amount", "20", "--reference", "re_3Q9", "--origin", "provider", "--note", "their report of Monday"}
		out, log, code := book(first...)
		if code != 0 || !strings.Contains(out, "20.00 USD") || !strings.Contains(out, "origin provider") || !strings.Contains(out, "their report of Monday") {
			t.Fatalf("claim book: exit %d\n%s%s", code, out, log)
		}
		claim, _, _ := strings.Cut(out, " ")
		if again, log, code := book(first...); code == 0 || !strings.Contains(log, claim) {
			t.Errorf("the same again: exit %d, want a refusal that names %s\n%s%s", code, claim, again, log)
		}
		if n := s.claims(key, ""); n != 1 {
			t.Errorf("the shop has %d claims, want 1", n)
		}
		for want, args := range map[string][]string{
			"amount":    {"--amount", "35.01", "--reference", "re_4", "--origin", "provider", "--note", "more than is left"},
			"reference": {"--reference", "", "--origin", "provider", "--note", "x"},
			"--origin":  {"--reference", "re_5", "--origin", "shopper", "--note", "x"},
			"--note":    {"--reference", "re_6", "--origin", "operator"},
		} {
			if out, log, code := book(args...); code == 0 || !strings.Contains(log, want) {
				t.Errorf("%v: exit %d, want a refusal about %s\n%s%s", args, code, want, out, log)
			}
		}
		if out, log, code := u.run(t, "claim", "book", "--database", database, "TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", "--reference", "re_7", "--origin", "provider", "--note", "x"); code == 0 || !strings.Contains(log, "transaction_not_found") {
			t.Errorf("a payment that does not exist: exit %d\n%s%s", code, out, log)
		}
		out, log, code = book("--reference", "TED 0091", "--origin", "operator", "--note", "sent by hand")
		if code != 0 || !strings.Contains(out, "35.00 USD") || !strings.Contains(out, "origin operator") {
			t.Errorf("the rest by hand: exit %d\n%s%s", code, out, log)
		}
		if status, reply := s.call("GET", "/claims/"+claim, key, "", nil); status != http.StatusOK || text(reply, "status") != "approved" || text(reply, "origin") != "provider" {
			t.Errorf("the API shows %d %v", status, reply)
		}
		if status, reply := s.call("GET", "/payments/"+payment, key, "", nil); status != http.StatusOK || text(reply, "status") != "refunded" {
			t.Errorf("the payment is %d %v", status, reply)
		}
		in.settle(t, database)
		if !in.told("claim.resolved", claim) {
			t.Error("the shop did not get claim.resolved")
		}
		u.check(t, database)
		s.stop()
	})
}
