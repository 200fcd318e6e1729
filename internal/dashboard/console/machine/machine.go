// Package machine is the console's page of what runs the service: the jobs of this node, the nodes, their leases, the
// schema.
package machine

import (
	"embed"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/work"
)

//go:embed all:templates text
var files embed.FS

type pages struct {
	*desk.Pages
	Uses  Uses
	loops func() []work.Done
}

// Register adds the page to a site. loops tells what the loops of this node did.
func Register(site *frame.Site, uses Uses, loops func() []work.Done) error {
	d, err := desk.New(site, files)
	if err != nil {
		return err
	}
	m := &pages{d, uses, loops}
	site.HandleOperator("GET /console/machine", operators.View, m.machine)
	return nil
}

// most is how many characters of an error are shown: the log has all.
const most = 300

// job is a loop of this node, with the oldest row that waits for it on any node.
type job struct {
	work.Done
	Waits time.Time // since when; zero: nothing waits
	Late  bool
	Why   string // the last failure, cut
}

type machineView struct {
	store.Machine
	Jobs    []job
	Failing int
	Late    int
	Engine  string
	Version string
	Mixed   bool // nodes of more than one version run
}

// machine shows what runs.
func (pg *pages) machine(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view := machineView{Engine: pg.Uses.Engine(), Version: pg.Version}
	var err error
	if view.Machine, err = pg.Uses.Machine(r.Context()); err != nil {
		return err
	}
	waits, err := pg.Uses.WaitsOf(r.Context())
	if err != nil {
		return err
	}
	for _, d := range pg.loops() {
		one := job{Done: d, Waits: waits[d.Loop], Why: cut(d.Problem)}
		one.Late = !one.Waits.IsZero() && pg.Uses.Now().Sub(one.Waits) > desk.Late
		if d.Failing() {
			view.Failing++
		}
		if one.Late {
			view.Late++
		}
		view.Jobs = append(view.Jobs, one)
	}
	slices.SortStableFunc(view.Jobs, func(a, b job) int { return b.trouble() - a.trouble() })
	for _, p := range view.Processes {
		view.Mixed = view.Mixed || p.Version != view.Processes[0].Version
	}
	return pg.Room.Show(w, r, v, "machine", view)
}

// trouble orders the jobs: those that an operator must see come first.
func (j job) trouble() int {
	switch {
	case j.Failing():
		return 3
	case j.Late:
		return 2
	case !j.Waits.IsZero():
		return 1
	}
	return 0
}

func cut(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}
