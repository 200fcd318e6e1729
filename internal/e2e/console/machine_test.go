package console

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// An operator sees the jobs of the node, each with its runs and its oldest row, the node itself, and the schema.
func TestMachineRoomShowsWhatRuns(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		o.Create(t, harness.Card)
		host, err := os.Hostname()
		harness.Must(t, err)
		known, err := s.App.Machine(ctx)
		harness.Must(t, err)
		text, err := os.ReadFile("../../dashboard/console/machine/text/en.json")
		harness.Must(t, err)
		var words map[string]string
		harness.Must(t, json.Unmarshal(text, &words))
		var page, body string
		harness.Eventually(t, "the page has this node", func() bool {
			body = op.Page(t, consolePath+"machine")
			page = harness.Answer{Body: body}.Text()
			return strings.Contains(page, host+" this node")
		})
		for _, loop := range s.App.Loops() {
			if !strings.Contains(body, ">"+words["job_"+loop.Name]) || words["job_"+loop.Name] == "" {
				t.Errorf("the page does not have the job %q in words: %s", loop.Name, page)
			}
		}
		if known.Schema.Known == 0 || known.Schema.Done != known.Schema.Known || len(known.Schema.Waiting) != 0 || len(known.Leases) == 0 || !known.Leases[0].Self {
			t.Errorf("the database knows %+v", known)
		}
		if strings.Contains(page, "Fails") || strings.Contains(page, "Gone") {
			t.Errorf("the page of a sound service shows trouble: %s", page)
		}
		harness.Eventually(t, "a job has run", func() bool {
			_, jobs, _ := strings.Cut(op.Page(t, consolePath+"machine"), "Failures</th>")
			_, row, _ := strings.Cut(jobs, ">Seals")
			row, _, _ = strings.Cut(row, "</tr>")
			return regexp.MustCompile(`ms</td><td class="end" data-label="Runs">[1-9]`).MatchString(row)
		})
	})
}

// A job that fails is shown first, with the reason, and a row that waits for it for long is shown as late.
func TestMachineRoomShowsTrouble(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		exec, closeDB := s.Exec(t)
		defer closeDB()
		exec("ALTER TABLE key_uses RENAME TO key_uses_away")
		harness.Eventually(t, "the page has the failure", func() bool {
			o.Get(t, "/ping")
			s.Clock.Advance(time.Minute)
			_, rows, _ := strings.Cut(harness.Answer{Body: op.Page(t, consolePath+"machine")}.Text(), "Failures ")
			return strings.HasPrefix(rows, "Uses of keys Fails Last failure") && strings.Contains(rows, "key_uses")
		})
		exec("ALTER TABLE key_uses_away RENAME TO key_uses")
		s.Log.Forget()
	})
}

// Nodes that share a database see each other with their versions. One that ends is gone at once, and one that died
// leaves the list when its time is over.
func TestMachineRoomShowsAllNodes(t *testing.T) {
	t.Parallel()
	database, clock := dbtest.Postgres(t), &harness.Clock{}
	node := func(version string) *harness.Instance {
		return harness.StartWith(t, database, clock, func(c *daemon.Config) {
			c.Version, c.FX = version, daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		})
	}
	a, b := node("v1.0"), node("v1.1")
	op := harness.OperatorUser(t, a.NewShop(t))
	shows := func(what string, versions ...string) {
		t.Helper()
		harness.Eventually(t, what, func() bool {
			m, err := a.App.Machine(ctx)
			harness.Must(t, err)
			var got []string
			for _, p := range m.Processes {
				got = append(got, p.Version)
			}
			return strings.Join(got, " ") == strings.Join(versions, " ")
		})
	}
	shows("both nodes are listed", "v1.0", "v1.1")
	if page := op.Page(t, consolePath+"machine"); !strings.Contains(page, "Nodes of different versions run") || !strings.Contains(page, "v1.1") {
		t.Error("the page does not say that versions differ")
	}
	exec, closeDB := a.Exec(t)
	defer closeDB()
	exec("INSERT INTO processes (id, host, version, schema, began, until) VALUES ('prc_dead', 'dead', 'v0.9', 1, 1, $1)", clock.Now().Add(time.Minute).UnixMicro())
	shows("a node that died is listed for a while", "v0.9", "v1.0", "v1.1")
	exec("UPDATE processes SET until = $1 WHERE id = 'prc_dead'", clock.Now().Add(-time.Second).UnixMicro())
	shows("then it is not", "v1.0", "v1.1")
	b.End(t)
	shows("a node that ended is gone", "v1.0")
	if strings.Contains(op.Page(t, consolePath+"machine"), "v1.1") {
		t.Error("the page has a node that ended")
	}
}
