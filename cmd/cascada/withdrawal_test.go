package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// An operator opens an account that he pays out from by hand, sees what to pay, and resolves it with
// the bank's reference.
func TestOperatorPaysWithdrawalsByHand(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t).with("CASCADA_DATABASE=" + database)
		u.does(t, "migrate")
		out := u.does(t, "provider", "add", "manual", "--id", "by-hand", "--environment", "sandbox", "--limit", "spei.*=USD:1-900")
		if !strings.Contains(out, "spei.*") || strings.Contains(out, "notifications") {
			t.Errorf("provider add manual:\n%s", out)
		}
		for why, wrong := range map[string][]string{
			"simulated provider: choose another": {"--id", "simulated"},
			"must be in USD, not in MXN":         {"--limit", "MXN:1-900"},
		} {
			if _, log, code := u.run(t, append([]string{"provider", "add", "manual", "--environment", "sandbox"}, wrong...)...); code == 0 || !strings.Contains(log, why) {
				t.Errorf("provider add manual %v: exit %d\n%s", wrong, code, log)
			}
		}
		s := u.serve(t)
		key := u.merchant(t, database).Keys.Sandbox.Secret
		post := func(want int, path, body string) map[string]any {
			t.Helper()
			status, reply := s.call("POST", path, key, body, nil)
			if status != want {
				t.Fatalf("POST %s: %d %v", path, status, reply)
			}
			return reply
		}
		payment := text(post(http.StatusCreated, "/payments", `{"amount":1500,"paymentMethodId":"sbx_card"}`), "transactionId")
		if told := u.does(t, "explain", payment); strings.Contains(told, "by-hand") {
			t.Errorf("a payout account is explained for a payment:\n%s", told)
		}
		post(http.StatusOK, "/sandbox/clock", `{"advance":"720h"}`)
		await(t, "the payment to be available", func() bool {
			_, balance := s.call("GET", "/me/balance", key, "", nil)
			available, _ := balance["balance"].(map[string]any)["available"].(float64)
			return available >= 1000
		})
		const clabe = "032180000118359719"
		post(http.StatusCreated, "/wallets", `{"type":"bank_account","currency":"MXN","destination":"`+clabe+`"}`)
		if refused := post(http.StatusBadRequest, "/withdrawals", `{"amount":1000}`); !strings.Contains(fmt.Sprint(refused), "at most 900.00 USD") {
			t.Errorf("more than the network's limit: %v", refused)
		}
		id := text(post(http.StatusCreated, "/withdrawals", `{"amount":50}`), "id")
		post(http.StatusOK, "/sandbox/clock", `{"advance":"1h"}`)
		await(t, "the withdrawal to be sent", func() bool { return strings.Contains(u.does(t, "withdrawal", "list"), id) })
		if out := u.does(t, "withdrawal", "show", id); !strings.Contains(out, clabe) || !strings.Contains(out, "by-hand") || !strings.Contains(out, "to pay out        ") {
			t.Errorf("withdrawal show:\n%s", out)
		}
		if out := u.does(t, "explain", id); !strings.Contains(out, "by-hand: reference ") || !strings.Contains(out, "the only one") || strings.Contains(out, "pays such a withdrawal") {
			t.Errorf("explain:\n%s", out)
		}
		if out := u.does(t, "explain", id, "--json"); !strings.Contains(out, `"rail":"spei.MXN"`) {
			t.Errorf("explain --json: %s", out)
		}
		resolve := []string{"withdrawal", "resolve", id, "--note", "today's statement", "--reference", "SPEI-77", "--outcome"}
		if _, log, code := u.run(t, append(resolve, "not-paid")...); code == 0 || !strings.Contains(log, "only for a payout that arrived: leave it out") {
			t.Errorf("a reference with not-paid: exit %d\n%s", code, log)
		}
		if out := u.does(t, append(resolve, "paid")...); out != id+" is completed; the query to the payout provider returned held\n" {
			t.Errorf("withdrawal resolve: %s", out)
		}
		if out := u.does(t, "withdrawal", "show", id); !strings.Contains(out, "SPEI-77") {
			t.Errorf("withdrawal show:\n%s", out)
		}
		if log := u.does(t, "audit", "list"); strings.Count(log, "wallet.revealed") != 2 || strings.Count(log, "withdrawal.ruled") != 1 {
			t.Errorf("audit list:\n%s", log)
		}
		s.stop()
		u.check(t, database)
	})
}

// A bank's file is made by one operator, approved and exported by another one, and the bank's answer
// ends its withdrawals. A withdrawal above a limit waits until an operator approves it.
func TestOperatorsPayByFiles(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t).with("CASCADA_DATABASE=" + database)
		u.does(t, "migrate")
		u.does(t, "provider", "add", "bank-file", "--id", "banco", "--environment", "sandbox", "--credential", "layout=csv")
		s := u.serve(t)
		k := u.merchant(t, database)
		key := k.Keys.Sandbox.Secret
		u.fails(t, "nothing was stopped", "payout", "limit", "--stop", "")
		if out := u.does(t, "payout", "limit", "--environment", "sandbox", "--merchant", k.Merchant.ID, "--approval-above", "40", "--daily", "5000"); !strings.Contains(out, k.Merchant.ID) ||
			!strings.Contains(out, "40.00 USD") || !strings.Contains(out, "5000.00 USD") {
			t.Errorf("payout limit:\n%s", out)
		}
		post := func(want int, path, body string) map[string]any {
			t.Helper()
			status, reply := s.call("POST", path, key, body, nil)
			if status != want {
				t.Fatalf("POST %s: %d %v", path, status, reply)
			}
			return reply
		}
		post(http.StatusCreated, "/payments", `{"amount":300,"paymentMethodId":"sbx_card"}`)
		post(http.StatusOK, "/sandbox/clock", `{"advance":"720h"}`)
		await(t, "the payment to be available", func() bool {
			_, balance := s.call("GET", "/me/balance", key, "", nil)
			available, _ := balance["balance"].(map[string]any)["available"].(float64)
			return available >= 100
		})
		post(http.StatusCreated, "/wallets", `{"type":"bank_account","currency":"MXN","destination":"032180000118359719","holderName":"Ana Souza"}`)
		id := text(post(http.StatusCreated, "/withdrawals", `{"amount":50}`), "id")
		post(http.StatusOK, "/sandbox/clock", `{"advance":"1h"}`)
		await(t, "the withdrawal to wait", func() bool { return strings.Contains(u.does(t, "withdrawal", "waiting"), "approval_required") })
		u.does(t, "withdrawal", "approve", id, "--note", "the merchant called")
		await(t, "the withdrawal to be sent", func() bool { return strings.Contains(u.does(t, "withdrawal", "list"), id) })
		out := u.does(t, "payout", "batch", "banco")
		batch := regexp.MustCompile(`bat_\w+`).FindString(out)
		if batch == "" || !strings.Contains(out, "made") {
			t.Fatalf("payout batch:\n%s", out)
		}
		if _, log, code := u.run(t, "payout", "approve", batch); code == 0 || !strings.Contains(log, "another operator must") {
			t.Errorf("its maker approves it: exit %d\n%s", code, log)
		}
		second := u.with("SUDO_USER=bruno")
		if os.Getuid() != 0 { // without root, anybody may set the variable
			if _, log, code := second.run(t, "payout", "approve", batch); code == 0 || !strings.Contains(log, "another operator must") {
				t.Errorf("the same user approves it by a variable: exit %d\n%s", code, log)
			}
			s.stop()
			return
		}
		second.does(t, "payout", "approve", batch)
		file := filepath.Join(u.dir, "banco.csv")
		second.does(t, "payout", "export", batch, "-o", file)
		if _, log, code := second.run(t, "payout", "export", batch, "-o", file); code == 0 || !strings.Contains(log, "exists") {
			t.Errorf("an existing file was overwritten: exit %d\n%s", code, log)
		}
		content, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(content), "Ana Souza") {
			t.Fatalf("the file is %s, %v", content, err)
		}
		line := regexp.MustCompile(`P\w{3}\d{6}L\d{5}`).FindString(string(content))
		answer := u.write(t, "answer.csv", "reference,status,bank_reference\n"+line+",paid,E77\n")
		if out := u.does(t, "payout", "import", "banco", answer); out != "paid 1, rejected 0, returned 0, pending 0, known before 0\n" {
			t.Errorf("payout import: %s", out)
		}
		if out := u.does(t, "payout", "import", "banco", answer, "--json"); !strings.Contains(out, `"known":1`) {
			t.Errorf("payout import again: %s", out)
		}
		if out := u.does(t, "payout", "show", batch); !strings.Contains(out, "completed") || !strings.Contains(out, "E77") {
			t.Errorf("payout show:\n%s", out)
		}
		if out := u.does(t, "payout", "list"); !strings.Contains(out, "exported") || !strings.Contains(out, "bruno as ") {
			t.Errorf("payout list:\n%s", out)
		}
		s.stop()
		u.check(t, database)
	})
}
