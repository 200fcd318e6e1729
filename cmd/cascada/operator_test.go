package main_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// A token is told once, to who adds its operator.
func TestOperatorsAreAddedAndRemoved(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		u := newUser(t).with("CASCADA_DATABASE=" + database)
		u.does(t, "migrate")
		out := u.does(t, "operator", "add", "ana")
		token := regexp.MustCompile(`op_[A-Za-z0-9_-]{43}`).FindString(out)
		if token == "" || !strings.Contains(out, "shown this once") {
			t.Fatalf("operator add:\n%s", out)
		}
		var bot struct{ Name, Token, TokenPreview string }
		if err := json.Unmarshal([]byte(u.does(t, "operator", "add", "deploy-bot", "--json")), &bot); err != nil || bot.Token == token ||
			bot.Name != "deploy-bot" || bot.TokenPreview != "op_…"+bot.Token[len(bot.Token)-4:] {
			t.Errorf("operator add --json: %+v (%v)", bot, err)
		}
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"add", "ana"}, "there is an operator ana"},
			{[]string{"add", "root@host"}, "letters, digits, dots"},
			{[]string{"remove", "nobody"}, "operator nobody: not found"},
		} {
			if out, log, code := u.run(t, append([]string{"operator"}, c.args...)...); code == 0 || !strings.Contains(log, c.want) {
				t.Errorf("operator %v: exit %d, want %q:\n%s%s", c.args, code, c.want, out, log)
			}
		}
		u.does(t, "operator", "remove", "ana")
		if _, log, code := u.run(t, "operator", "remove", "ana"); code == 0 || !strings.Contains(log, "was removed") {
			t.Errorf("removed twice: exit %d\n%s", code, log)
		}
		if out := u.does(t, "operator", "list"); strings.Contains(out, "ana") || !strings.Contains(out, bot.TokenPreview) {
			t.Errorf("operator list:\n%s", out)
		}
		if out := u.does(t, "operator", "list", "--all", "--json"); strings.Count(out, "\n") != 2 || strings.Count(out, `"removedAt"`) != 1 {
			t.Errorf("operator list --all --json:\n%s", out)
		}
		again := u.does(t, "operator", "add", "ana", "--json") // who comes back has another token
		log := u.does(t, "audit", "list")
		if strings.Count(log, "operator.added ana by operator") != 2 || strings.Count(log, "operator.removed ana by operator") != 1 {
			t.Errorf("the audit log:\n%s", log)
		}
		if strings.Contains(again+log, token) || strings.Contains(log, bot.Token) {
			t.Errorf("a token is told twice:\n%s%s", again, log)
		}
		u.check(t, database)
	})
}
