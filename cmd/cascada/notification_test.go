package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The operator finds a notification that does not fit its payment, and closes it while
// the server runs.
func TestOperatorClosesNotificationsThatDoNotFit(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t).with("CASCADA_DATABASE=" + database)
		s := u.serve(t, "--sandbox-fault", "sandbox-1=wrong_amount")
		key := u.merchant(t, database).Keys.Sandbox.Secret
		if out := u.does(t, "notification", "list"); out != "no notification needs your attention\n" {
			t.Errorf("before any notification:\n%s", out)
		}
		status, reply := s.call("POST", "/payments", key, `{"amount":10,"paymentMethodId":"sbx_cash"}`, http.Header{"Sandbox-Simulate": {"paid"}})
		payment := text(reply, "transactionId")
		if status != http.StatusCreated || text(reply, "status") != "pending" {
			t.Fatalf("create: %d %v", status, reply)
		}
		warnings := func() int {
			_, b := s.call("GET", "/me/balance", key, "", nil)
			list, ok := b["ledgerWarnings"].([]any)
			if !ok {
				t.Errorf("no warnings in %v", b)
			}
			return len(list)
		}
		if n := warnings(); n != 1 {
			t.Errorf("the balance has %d warnings", n)
		}
		var told []struct{ ID, TransactionID, Verdict, Account, Body string }
		if err := json.Unmarshal([]byte(u.does(t, "notification", "list", "--json")), &told); err != nil || len(told) != 1 ||
			told[0].TransactionID != payment || told[0].Verdict != "mismatched" || told[0].Account != "sandbox-1" {
			t.Fatalf("notifications that wait: %+v, %v", told, err)
		}
		if out := u.does(t, "notification", "list"); !strings.Contains(out, payment) || !strings.Contains(out, told[0].ID) {
			t.Errorf("the list:\n%s", out)
		}
		if out := u.does(t, "notification", "show", told[0].ID); out != told[0].Body+"\n" || !strings.Contains(out, `"status":"paid"`) {
			t.Errorf("show:\n%s", out)
		}
		if _, log, code := u.run(t, "notification", "close", told[0].ID); code == 0 || !strings.Contains(log, "--note") {
			t.Errorf("closed without a note: exit %d\n%s", code, log)
		}
		u.does(t, "notification", "close", told[0].ID, "--note", "paid back by hand")
		for _, args := range [][]string{{told[0].ID, "closed before"}, {"/closed/" + told[0].ID, "is closed"}, {"hello", "notification hello"}} {
			if _, log, code := u.run(t, "notification", "close", args[0], "--note", "again"); code == 0 || !strings.Contains(log, args[1]) {
				t.Errorf("close %s: exit %d, want %q\n%s", args[0], code, args[1], log)
			}
		}
		if out := u.does(t, "notification", "list"); out != "no notification needs your attention\n" {
			t.Errorf("after it is closed:\n%s", out)
		}
		if out := u.does(t, "notification", "list", "--payment", payment); !strings.Contains(out, "mismatched") || !strings.Contains(out, "/closed/") {
			t.Errorf("of the payment:\n%s", out)
		}
		if n := warnings(); n != 0 {
			t.Errorf("after it is closed the balance has %d warnings", n)
		}
		if out := u.does(t, "audit", "list"); !strings.Contains(out, "notification.closed") || !strings.Contains(out, "paid back by hand") {
			t.Errorf("the audit log:\n%s", out)
		}
		u.check(t, database)
		s.stop()
	})
}
