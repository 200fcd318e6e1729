// Package routing is the console's pages of the routing rules: those in force and their history, a form and a file
// of new ones, and what they would have done with past payments.
package routing

import (
	"context"
	"embed"
	"net/http"
	"slices"
	"strconv"

	approuting "github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/pay/routing/rulefile"
)

//go:embed all:templates text
var files embed.FS

type pages struct {
	*desk.Pages
	Uses Uses
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	d, err := desk.New(site, files)
	if err != nil {
		return err
	}
	u := &pages{d, uses}
	site.HandleOperator("GET /console/routing", operators.View, u.show)
	site.HandleOperator("GET /console/routing/edit", operators.Routing, u.edit, frame.Beforehand())
	site.HandleOperator("POST /console/routing/edit", operators.Routing, u.work, frame.Calm()) // what applies the rules asks by itself
	site.HandleOperator("POST /console/routing/reset", operators.Routing, u.reset)
	site.HandleOperator("GET /console/routing/replay", operators.View, u.replayed)
	site.HandleOperator("GET /console/routing/replay/live", operators.View, u.live)
	site.HandleOperator("POST /console/routing/replay/stop", operators.Routing, u.stop)
	return nil
}

// kept is how many versions of the history are shown.
const kept = 20

// version is a version of the rules, with its file.
type version struct {
	approuting.RulesVersion
	File string
}

type rulesView struct {
	desk.Form
	Now     version
	Order   routing.Order
	History []version
}

func (p *pages) show(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	present, err := p.Uses.Rules.Current(r.Context())
	if err != nil {
		return err
	}
	view := rulesView{Order: present.For("").Order}
	if view.Now, err = written(present); err != nil {
		return err
	}
	history, err := p.Uses.Rules.History(r.Context(), kept)
	if err != nil {
		return err
	}
	for _, past := range history {
		one, err := written(past)
		if err != nil {
			return err
		}
		view.History = append(view.History, one)
	}
	return p.Room.Show(w, r, v, "rules", view)
}

func written(v approuting.RulesVersion) (version, error) {
	text, err := rulefile.Write(v.Rules)
	return version{v, string(text)}, err
}

// reset withdraws the rules: each node uses its configuration.
func (p *pages) reset(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if _, _, err := p.Uses.Rules.Reset(r.Context(), v.Actor()); err != nil {
		return err
	}
	return p.Done(w, r, "routing", "rules_reset")
}

// edit is the page with the form and the file side by side. A past version may be its beginning.
func (p *pages) edit(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	present, err := p.Uses.Rules.Current(r.Context())
	if err != nil {
		return err
	}
	begin := present.Rules
	if wanted, err := strconv.ParseInt(r.FormValue("from"), 10, 64); err == nil {
		history, err := p.Uses.Rules.History(r.Context(), kept)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(history, func(of approuting.RulesVersion) bool { return of.Version == wanted }); i >= 0 {
			begin = history[i].Rules
		}
	}
	view := editView{Version: present.Version, Since: "7", Live: "production"}
	if last := p.Uses.Rehearsals.State().Last; r.FormValue("from") == "replay" && last != nil {
		begin = *last.Result.Asked.Rules
	}
	if err := view.fill(begin); err != nil {
		return err
	}
	return p.page(w, r, v, http.StatusOK, view)
}

// page shows the form and the file, with what may be chosen in them.
func (p *pages) page(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view editView) error {
	list, err := p.Uses.Providers.Accounts(r.Context(), false)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.PaysOut {
			continue
		}
		view.Ids = append(view.Ids, s.ID)
		for _, rail := range s.On {
			if !slices.Contains(view.Known, rail) {
				view.Known = append(view.Known, rail)
			}
		}
	}
	slices.Sort(view.Known)
	return p.Room.ShowStatus(w, r, v, status, "edit", view)
}

// work does with the form and the file what the pressed button says.
func (p *pages) work(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view := typed(r)
	var err error
	switch r.FormValue("do") {
	case "write":
		err = p.write(r.Context(), &view)
	case "replay":
		if err = p.replay(r.Context(), v, view); err == nil {
			return p.Done(w, r, "routing/replay", "replay_started")
		}
	case "apply":
		if err = p.Late(v); err == nil {
			err = p.apply(r.Context(), v, view)
		}
		if err == nil {
			return p.Done(w, r, "routing", "rules_applied")
		}
	default:
		err = p.read(r.Context(), &view)
	}
	status := http.StatusOK
	if err != nil {
		var fault error
		if status, fault = view.Refused(v, err); fault != nil {
			return fault
		}
	}
	return p.page(w, r, v, status, view)
}

// write writes the form into the file.
func (p *pages) write(ctx context.Context, e *editView) error {
	text, err := e.asText()
	if err != nil {
		return err
	}
	rules, err := text.Read()
	if err == nil {
		err = p.Uses.Rules.Check(ctx, rules)
	}
	if err != nil {
		return desk.Shown(err, "")
	}
	if err := e.fill(rules); err != nil {
		return err
	}
	e.Checked = true
	return nil
}

// read reads the file into the form.
func (p *pages) read(ctx context.Context, e *editView) error {
	rules, err := p.file(ctx, e.File)
	if err != nil {
		return err
	}
	kept := e.File // with its comments
	if err := e.fill(rules); err != nil {
		return err
	}
	e.File, e.Checked = kept, true
	return nil
}

// file reads and checks rules.
func (p *pages) file(ctx context.Context, text string) (routing.Rules, error) {
	file, err := rulefile.Read([]byte(text))
	switch {
	case err != nil:
		return file.Rules, desk.Shown(err, "file")
	case file.Accounts != nil:
		return file.Rules, problem.Field(problem.InvalidRequest, "file", fileHasAccounts)
	}
	return file.Rules, desk.Shown(rulefile.AtLines([]byte(text), p.Uses.Rules.Check(ctx, file.Rules)), "file")
}

// apply puts the file in force, if the rules in force are still those that were edited.
func (p *pages) apply(ctx context.Context, v *frame.Visit, e editView) error {
	rules, err := p.file(ctx, e.File)
	if err != nil {
		return err
	}
	_, _, err = p.Uses.Rules.ApplyOver(ctx, v.Actor(), e.Version, rules)
	return err
}
