package main_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	main "github.com/cascadapay/cascada/cmd/cascada"
	"github.com/cascadapay/cascada/internal/admin"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

// A token is shown once, when its operator is added.
func TestOperatorsAreAddedAndRemoved(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t).with("CASCADA_DATABASE=" + database)
		u.does(t, "migrate")
		out := u.does(t, "operator", "add", "ana")
		token := regexp.MustCompile(`op_[A-Za-z0-9_-]{43}`).FindString(out)
		if token == "" || !strings.Contains(out, "shown only once") {
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
		again := u.does(t, "operator", "add", "ana", "--json") // an operator that is added again gets another token
		log := u.does(t, "audit", "list")
		if strings.Count(log, "operator.added ana by operator") != 2 || strings.Count(log, "operator.removed ana by operator") != 1 {
			t.Errorf("the audit log:\n%s", log)
		}
		if strings.Contains(again+log, token) || strings.Contains(log, bot.Token) {
			t.Errorf("a token is printed twice:\n%s%s", again, log)
		}
		u.check(t, database)
	})
}

// asks sends a request to the admin API of a running server.
func (s *server) asks(t *testing.T, token, path string) (int, string) {
	t.Helper()
	return s.tells(t, http.MethodGet, token, path, "", "")
}

// tells sends one with a body, as a proxy forwards it for a client.
func (s *server) tells(t *testing.T, method, token, path, body, forwardedFor string) (int, string) {
	t.Helper()
	url := regexp.MustCompile(`"the admin API is ready" url=(\S+)`).FindStringSubmatch(s.output())
	if url == nil {
		t.Fatalf("the log does not have the address of the admin API:\n%s", s.output())
	}
	r, err := http.NewRequest(method, strings.Replace(url[1], "[::]", "127.0.0.1", 1)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if forwardedFor != "" {
		r.Header.Set("X-Forwarded-For", forwardedFor)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

// The log and the audit log have the same address, with and without rate limits.
func TestOperatorsAddressComesFromTheProxy(t *testing.T) {
	t.Parallel()
	for _, limits := range []string{"on", "off"} {
		u := plainly(t, "sqlite:cascada.db").with("CASCADA_RATE_LIMIT=" + limits)
		s := u.serve(t, "--admin", "127.0.0.1:0", "--trusted-proxies", "127.0.0.0/8")
		var ana struct{ Token string }
		if err := json.Unmarshal([]byte(u.does(t, "operator", "add", "ana", "--json")), &ana); err != nil {
			t.Fatal(err)
		}
		body := `{"adapter":"plain","id":"bank","environment":"sandbox","credentials":{"apiKey":"key-1","webhookSecret":"hush"}}`
		if status, reply := s.tells(t, http.MethodPost, ana.Token, "/accounts", body, "198.51.100.7"); status != http.StatusCreated {
			t.Fatalf("an account is opened: %d %s", status, reply)
		}
		if status, reply := s.tells(t, http.MethodGet, "op_nobody", "/accounts", "", "198.51.100.8"); status != http.StatusUnauthorized {
			t.Errorf("an unknown token: %d %s", status, reply)
		}
		if log := u.does(t, "audit", "list"); !strings.Contains(log, " by operator ana 198.51.100.7 ") {
			t.Errorf("with limits %s the audit log is\n%s", limits, log)
		}
		s.stop()
		if !strings.Contains(s.output(), "address=198.51.100.8") {
			t.Errorf("with limits %s the log does not have the refused address:\n%s", limits, s.output())
		}
	}
}

// --json and the admin API have the same shape.
func TestAdminAPIIsServedAtItsAddress(t *testing.T) {
	t.Parallel()
	u := plainly(t, "sqlite:cascada.db")
	s := u.serve(t, "--admin", "127.0.0.1:0")
	if strings.Contains(s.output(), "other machines") {
		t.Errorf("there is a warning of a listener on loopback:\n%s", s.output())
	}
	u = u.with("CASCADA_PUBLIC_URL="+s.url, "PLAIN_KEY=key-1", "PLAIN_HUSH=hush")
	var ana struct{ Token string }
	if err := json.Unmarshal([]byte(u.does(t, "operator", "add", "ana", "--json")), &ana); err != nil {
		t.Fatal(err)
	}
	u.does(t, "provider", "add", "plain", "--id", "bank", "--credential", "apiKey=env:PLAIN_KEY", "--credential", "webhookSecret=env:PLAIN_HUSH")
	if status, body := s.asks(t, ana.Token, "/accounts/bank"); status != http.StatusOK || body != u.does(t, "provider", "show", "bank", "--json") {
		t.Errorf("the admin API replies %d, not as provider show does:\n%s", status, body)
	}
	if _, body := s.asks(t, ana.Token, "/adapters"); body != `{"data":`+strings.TrimSpace(u.does(t, "provider", "adapters", "--json"))+"}\n" {
		t.Errorf("the admin API replies not as provider adapters does:\n%s", body)
	}
	u.does(t, "operator", "remove", "ana")
	if status, body := s.asks(t, ana.Token, "/accounts"); status != http.StatusUnauthorized {
		t.Errorf("a removed operator gets %d %s", status, body)
	}
	taken := strings.TrimPrefix(s.url, "http://")
	if _, log, code := u.run(t, "serve", "--database", "sqlite:b.db", "--admin", taken); code == 0 || !strings.Contains(log, "listen for the admin API") {
		t.Errorf("a port that is taken: exit %d\n%s", code, log)
	}
	s.stop()
	if wide := u.serve(t, "--admin", ":0"); !strings.Contains(wide.output(), "the admin API can be reached from other machines") {
		t.Errorf("there is no warning:\n%s", wide.output())
	}
}

// Each command that opens the database of a service has a right (OPR-1).
func TestEveryCommandHasARight(t *testing.T) {
	rights := main.Rights()
	for command, right := range rights {
		if right == "" && command != "serve" && command != "bench" {
			t.Errorf("%s has no right: give it one in internal/cli/rights.go", command)
		}
	}
	if len(rights) < 70 || rights["plan apply"] != operators.Prices {
		t.Errorf("the commands are %v", rights)
	}
}

// A command with a token needs the right of its row in the table, and no other; without a token it is whoever has the machine (OPR-1).
func TestCommandsFollowTheRoleOfTheToken(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t).with("CASCADA_DATABASE=" + database)
		u.does(t, "migrate")
		file := filepath.Join(t.TempDir(), "token")
		as := map[operators.Role]user{}
		for _, role := range []operators.Role{operators.Support, operators.Viewer} {
			var made struct{ Token string }
			if err := json.Unmarshal([]byte(u.does(t, "operator", "add", "as-"+string(role), "--role", string(role), "--json")), &made); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file+string(role), []byte(made.Token+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			as[role] = u.with("CASCADA_OPERATOR_TOKEN_FILE=" + file + string(role))
		}
		for args, right := range map[string]operators.Right{
			"audit list": operators.View, "merchant create --name Acme --email a@acme.example": operators.Merchants, "merchant terms mer_1 --tier premium": operators.Prices,
			"plan assign mer_1 premium": operators.Prices, "key revoke key_1": operators.Keys, "adjust list": operators.View, "operator remove nobody": operators.Manage,
			"provider disable nothing": operators.Accounts, "payout limit --stop now": operators.Limits, "claim carried CLM-1 --note x": operators.Cases, "master-key rotate": operators.Machine,
			"user link ana@ops.example": operators.Manage, "user invite ana@ops.example --operator": operators.Manage, "proposal list": operators.View,
		} {
			for role, by := range as {
				if strings.HasPrefix(database, "postgres") && right != operators.Prices && right != operators.Merchants {
					continue // where the token is found, its role decides, whatever the engine
				}
				out, log, _ := by.run(t, strings.Fields(args)...)
				if refused := strings.Contains(log, "does not have the right"); refused == role.May(right) {
					t.Errorf("%s runs %q, which needs %s:\n%s%s", role, args, right, out, log)
				}
			}
		}
		if log := u.does(t, "audit", "list"); !strings.Contains(log, "by operator as-support") {
			t.Errorf("the audit log does not name the token's operator:\n%s", log)
		}
		u.does(t, "operator", "remove", "as-viewer")
		if _, log, code := as[operators.Viewer].run(t, "audit", "list"); code == 0 || !strings.Contains(log, "token") {
			t.Errorf("the token of a removed operator: exit %d\n%s", code, log)
		}
		u.does(t, "operator", "dual-control", "require", "prices")
		if _, log, code := u.run(t, "merchant", "terms", "mer_1", "--tier", "premium"); code == 0 {
			t.Errorf("terms without a token: exit %d\n%s", code, log)
		}
		if out := u.does(t, "operator", "dual-control", "list"); !regexp.MustCompile(`prices +two`).MatchString(out) {
			t.Errorf("dual-control list:\n%s", out)
		}
		if _, log, code := u.run(t, "operator", "dual-control", "release", "prices"); code == 0 || !strings.Contains(log, "CASCADA_OPERATOR_TOKEN_FILE") {
			t.Errorf("a release without a token: exit %d\n%s", code, log)
		}
		u.does(t, "operator", "dual-control", "release", "prices", "--emergency", "all are on leave")
		u.check(t, database)
	})
}

// wider are the commands that need another right than the operation beside them in the table, with the reason.
var wider = map[string]string{
	"GET /merchants/{id}: merchant terms":            "it changes them too",
	"GET /shops/{id}: shop schemes":                  "it changes them too",
	"GET /payout-limits: payout limit":               "it changes them too",
	"GET /payout-limits/{environment}: payout limit": "it changes them too",
	"GET /reconciliations: reconcile":                "it compares too",
	"PATCH /accounts/{id}: provider apply":           "it opens accounts too",
	"POST /books-check: check":                       "it runs beside the service, and the operation in it",
	"POST /seals/comparisons: check":                 "it runs beside the service, and the operation in it",
}

// publishedRights are the tag and the right of each operation of the admin API, by method and path.
func publishedRights(t *testing.T) map[string][2]string {
	t.Helper()
	handler, err := admin.New(admin.Config{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, admin.Base+"/openapi.json", nil))
	var doc struct {
		Paths map[string]map[string]struct {
			Tags  []string
			Right string `json:"x-right"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	list := map[string][2]string{}
	for path, item := range doc.Paths {
		for method, op := range item {
			list[strings.ToUpper(method)+" "+path] = [2]string{strings.Join(op.Tags, " "), op.Right}
		}
	}
	return list
}

// commandIn is the longest beginning of a text that is a command, "" for none. A group that has a command create is that command by itself.
func commandIn(text string, rights map[string]operators.Right) string {
	for words := strings.Fields(text); len(words) > 0; words = words[:len(words)-1] {
		for _, command := range []string{strings.Join(words, " "), strings.Join(append(slices.Clone(words), "create"), " ")} {
			if _, known := rights[command]; known {
				return command
			}
		}
	}
	return ""
}

// The table of docs/ADMIN.md has each operation that the document publishes, with its tag and its right, and beside it the commands that do
// the same and need the same right. A command is there, or among those that have no operation (OPR-1).
func TestTableOfOperationsIsThatOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/ADMIN.md")
	if err != nil {
		t.Fatal(err)
	}
	published, rights := publishedRights(t), main.Commands()
	quoted := regexp.MustCompile("`([^`]+)`")
	documented, named, used := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\w+) \\| `([A-Z]+ /[^`]*)` \\| (\\w+) \\| (.*) \\|$").FindAllStringSubmatch(string(text), -1) {
		tag, operation, right, commands := row[1], row[2], row[3], row[4]
		if documented[operation] {
			t.Errorf("the table has %s twice", operation)
		}
		documented[operation] = true
		if of, known := published[operation]; !known || of != [2]string{tag, right} {
			t.Errorf("the table has %s of %s with the right %s, and the document has %q", operation, tag, right, of)
		}
		for _, m := range quoted.FindAllStringSubmatch(commands, -1) {
			command := commandIn(m[1], rights)
			if named[command] = true; command == "" {
				t.Errorf("the table has the command %q for %s, which does not exist", m[1], operation)
			} else if pair := operation + ": " + command; string(rights[command]) != right && wider[pair] == "" {
				t.Errorf("%s needs the right %s, and the command %s the right %s", operation, right, command, rights[command])
			} else if string(rights[command]) != right {
				used[pair] = true
			}
		}
		if commands != "–" && !strings.HasPrefix(commands, "`") {
			t.Errorf("the row of %s has the commands %q", operation, commands)
		}
	}
	for operation := range published {
		if !documented[operation] {
			t.Errorf("the table lacks %s", operation)
		}
	}
	for pair := range wider {
		if !used[pair] {
			t.Errorf("%s needs no exception", pair)
		}
	}
	_, rest, _ := strings.Cut(string(text), "These commands have no operation.")
	alone, _, _ := strings.Cut(rest, "\n## ")
	var without []string
	for _, m := range quoted.FindAllStringSubmatch(alone, -1) {
		without = append(without, m[1])
	}
	for command := range main.Rights() {
		if !named[command] && !slices.ContainsFunc(without, func(of string) bool { return command == of || strings.HasPrefix(command, of+" ") }) {
			t.Errorf("the table lacks the command %s, and it is not among those without an operation: %q", command, without)
		}
	}
}
