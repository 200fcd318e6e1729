package main_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// The operator lists payments with an unknown outcome, and resolves them while the server runs.
func TestOperatorResolvesUnknownOutcomes(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		s := u.serve(t, "--database", database)
		key := u.merchant(t, database).Keys.Sandbox.Secret
		if out, log, code := u.run(t, "payment", "list", "--database", database); code != 0 || out != "every outcome is known\n" {
			t.Errorf("payment list: exit %d\n%s%s", code, out, log)
		}
		// The simulated provider charges and does not answer; it is queried half a minute later.
		status, reply := s.call("POST", "/payments", key, `{"amount":10.96,"paymentMethodId":"sbx_card"}`, nil)
		if status != http.StatusCreated || text(reply, "status") != "processing" {
			t.Fatalf("create: %d %v", status, reply)
		}
		payment := text(reply, "transactionId")
		if out, log, code := u.run(t, "payment", "list", "--database", database); code != 0 || !strings.Contains(out, payment) || !strings.Contains(out, "sandbox-1") {
			t.Errorf("payment list: exit %d\n%s%s", code, out, log)
		}
		resolve := []string{"payment", "resolve", "--database", database, payment, "--note", "the report of today", "--outcome"}
		if out, log, code := u.run(t, append(resolve, "not-charged")...); code == 0 || !strings.Contains(log, "the provider says otherwise: approved") {
			t.Errorf("not-charged: exit %d\n%s%s", code, out, log)
		}
		if out, log, code := u.run(t, append(resolve, "paid")...); code != 0 || out != payment+" is completed; the query to the provider returned approved\n" {
			t.Errorf("paid: exit %d\n%s%s", code, out, log)
		}
		if out, log, code := u.run(t, append(resolve, "paid")...); code == 0 || !strings.Contains(log, "its end is known") {
			t.Errorf("paid again: exit %d\n%s%s", code, out, log)
		}
		if out, log, code := u.run(t, "payment", "resolve", "--database", database, "TXN-NONE", "--note", "n", "--outcome", "paid"); code == 0 || !strings.Contains(log, "payment TXN-NONE: not found") {
			t.Errorf("no such payment: exit %d\n%s%s", code, out, log)
		}
		if out, log, code := u.run(t, "withdrawal", "list", "--database", database); code != 0 || out != "no withdrawal is under way\n" {
			t.Errorf("withdrawal list: exit %d\n%s%s", code, out, log)
		}
		if out, log, code := u.run(t, "withdrawal", "resolve", "--database", database, "wdr_NONE", "--note", "n", "--outcome", "paid"); code == 0 || !strings.Contains(log, "withdrawal wdr_NONE: not found") {
			t.Errorf("no such withdrawal: exit %d\n%s%s", code, out, log)
		}
		if out, log, code := u.run(t, "audit", "list", "--database", database); code != 0 || strings.Count(out, "payment.ruled") != 1 {
			t.Errorf("audit: exit %d\n%s%s", code, out, log)
		}
		u.check(t, database)
		s.stop()
	})
}

// The commands that the alerts name exist.
func TestAlertsNameExistingCommands(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	file, err := os.ReadFile("../../docs/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	for _, line := range strings.Split(string(file), "\n") {
		_, told, found := strings.Cut(line, "command: ")
		for _, command := range strings.Split(told, "; ") {
			var words []string
			for _, word := range strings.Fields(command) {
				if plain := strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == ""; !plain {
					break
				}
				words = append(words, word)
			}
			if found && len(words) > 0 && words[0] == "cascada" {
				commands[strings.Join(words[1:], " ")] = true
			}
		}
	}
	if len(commands) < 10 {
		t.Errorf("the alerts name %d commands: %v", len(commands), commands)
	}
	for command := range commands {
		if out, log, code := u.run(t, append(strings.Fields(command), "--help")...); code != 0 || !strings.Contains(out, "cascada "+command) {
			t.Errorf("cascada %s: exit %d\n%s%s", command, code, out, log)
		}
	}
}
