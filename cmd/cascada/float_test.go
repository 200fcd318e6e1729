package main_test

import (
	"strings"
	"testing"
)

// An operator books money that he puts into a payout account, and sees the float.
func TestOperatorKeepsAFloat(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t).with("CASCADA_DATABASE=" + database)
		u.does(t, "migrate")
		u.does(t, "provider", "add", "manual", "--id", "by-hand", "--environment", "sandbox")
		if out := u.does(t, "payout", "float"); !strings.Contains(out, "no float is kept") {
			t.Errorf("payout float:\n%s", out)
		}
		entry := []string{"payout", "top-up", "by-hand", "--currency", "MXN", "--note", "from the treasury"}
		out := u.does(t, append(entry, "--amount", "10000.50", "--reference", "SPEI 1")...)
		for _, want := range []string{"by-hand", "sandbox", "10000.50 MXN", "it cannot be queried"} {
			if !strings.Contains(out, want) {
				t.Errorf("top-up does not print %s:\n%s", want, out)
			}
		}
		u.does(t, append(entry, "--amount=-50", "--reference", "fee")...)
		for why, wrong := range map[string][]string{
			"is booked already":            append(entry, "--amount", "10000.50", "--reference", "SPEI 1"),
			"want an amount of MXN":        append(entry, "--amount", "1.234", "--reference", "a"),
			"the amount is zero":           append(entry, "--amount", "0", "--reference", "a"),
			"must be a line of text":       append(entry, "--amount", "1", "--reference", "a\nb"),
			"want a currency, such as MXN": {"payout", "top-up", "by-hand", "--amount", "1", "--currency", "pesos", "--reference", "a"},
			"provider account none:":       {"payout", "top-up", "none", "--amount", "1", "--currency", "MXN", "--reference", "a"},
			"missing flags: --reference":   append(entry, "--amount", "1"),
			"unexpected argument nonsense": append(entry, "--amount", "1", "--reference", "a", "nonsense"),
		} {
			if _, log, code := u.run(t, wrong...); code == 0 || !strings.Contains(log, why) {
				t.Errorf("%v: exit %d, want %q\n%s", wrong, code, why, log)
			}
		}
		if out := u.does(t, "payout", "float", "--json"); out != `[{"account":"by-hand","environment":"sandbox","currency":"MXN","free":9950.5,"committed":0,"paid":0,"funded":9950.5,"balance":null,"off":null,"unknown":"it cannot be queried"}]`+"\n" {
			t.Errorf("payout float --json: %s", out)
		}
		if out := u.does(t, "audit", "list"); strings.Count(out, "payout_float.entered") != 2 {
			t.Errorf("audit:\n%s", out)
		}
		u.check(t, database)
	})
}
