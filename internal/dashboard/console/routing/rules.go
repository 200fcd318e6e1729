// Package routing is the console's pages of the routing rules: those in force and their history, a form and a file
// of new ones, and what they would have done with past payments.
package routing

import (
	"context"
	"embed"
	"net/http"
	"slices"
	"strconv"
	"strings"

	approuting "github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/decline"
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
	site.HandleOperator("GET /console/routing", u.show)
	site.HandleOperator("GET /console/routing/edit", u.edit, frame.Beforehand())
	site.HandleOperator("POST /console/routing/edit", u.work, frame.Calm()) // what applies the rules asks by itself
	site.HandleOperator("POST /console/routing/reset", u.reset)
	site.HandleOperator("GET /console/routing/replay", u.replayed)
	site.HandleOperator("GET /console/routing/replay/live", u.live)
	site.HandleOperator("POST /console/routing/replay/stop", u.stop)
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

func (u *pages) show(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	present, err := u.Uses.Rules.Current(r.Context())
	if err != nil {
		return err
	}
	view := rulesView{Order: present.For("").Order}
	if view.Now, err = written(present); err != nil {
		return err
	}
	history, err := u.Uses.Rules.History(r.Context(), kept)
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
	return u.Room.Show(w, r, v, "rules", view)
}

func written(v approuting.RulesVersion) (version, error) {
	text, err := rulefile.Write(v.Rules)
	return version{v, string(text)}, err
}

// reset withdraws the rules: each node uses its configuration.
func (u *pages) reset(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if _, _, err := u.Uses.Rules.Reset(r.Context(), v.Actor()); err != nil {
		return err
	}
	return u.Done(w, r, "routing", "rules_reset")
}

// railRow is a line of the form: the rule of a rail.
type railRow struct {
	Key, Order, Accounts, Explored string
}

type editView struct {
	desk.Form
	Version  int64 // that is in force, and is edited
	Order    string
	Explored string
	Attempts string
	Time     string
	Retries  string // after a refusal on a provider's page
	Within   string
	Reasons  string
	Rails    []railRow
	Known    []string // rails that accounts serve
	Ids      []string // of accounts
	File     string
	Checked  bool // the file is right
	Since    string
	Live     string
}

// numbered is a line with its place in the form.
type numbered struct {
	railRow
	N int
}

// Lines are the rules of rails with an empty line after them.
func (e editView) Lines() (lines []numbered) {
	for i, row := range append(slices.Clone(e.Rails), railRow{}) {
		lines = append(lines, numbered{row, i})
	}
	return lines
}

// edit is the page with the form and the file side by side. A past version may be its beginning.
func (u *pages) edit(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	present, err := u.Uses.Rules.Current(r.Context())
	if err != nil {
		return err
	}
	begin := present.Rules
	if wanted, err := strconv.ParseInt(r.FormValue("from"), 10, 64); err == nil {
		history, err := u.Uses.Rules.History(r.Context(), kept)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(history, func(of approuting.RulesVersion) bool { return of.Version == wanted }); i >= 0 {
			begin = history[i].Rules
		}
	}
	view := editView{Version: present.Version, Since: "7", Live: "production"}
	if last := u.Uses.Rehearsals.State().Last; r.FormValue("from") == "replay" && last != nil {
		begin = *last.Result.Asked.Rules
	}
	if err := view.fill(begin); err != nil {
		return err
	}
	return u.page(w, r, v, http.StatusOK, view)
}

// fill writes rules into the form and the file.
func (e *editView) fill(rules routing.Rules) error {
	text, err := rulefile.Write(rules)
	if err != nil {
		return err
	}
	e.File = string(text)
	e.Order, e.Explored, e.Attempts, e.Time, e.Rails = string(rules.Order), "", "", "", nil
	if rules.Explored != nil {
		e.Explored = strconv.Itoa(*rules.Explored)
	}
	if rules.Budget.Attempts > 0 {
		e.Attempts = strconv.Itoa(rules.Budget.Attempts)
	}
	if rules.Budget.Time > 0 {
		e.Time = rules.Budget.Time.String()
	}
	e.Retries, e.Within, e.Reasons = "", "", ""
	if n := rules.Retry.Times; n != nil {
		e.Retries = strconv.Itoa(*n)
	}
	if d := rules.Retry.Within; d > 0 {
		e.Within = d.String()
	}
	for _, reason := range rules.Retry.Reasons {
		e.Reasons = strings.TrimSpace(e.Reasons + " " + string(reason))
	}
	for key, rule := range rules.Rails {
		row := railRow{Key: key, Order: string(rule.Order), Accounts: strings.Join(rule.Accounts, " ")}
		if rule.Explored != nil {
			row.Explored = strconv.Itoa(*rule.Explored)
		}
		e.Rails = append(e.Rails, row)
	}
	slices.SortFunc(e.Rails, func(x, y railRow) int { return strings.Compare(x.Key, y.Key) })
	return nil
}

// page shows the form and the file, with what may be chosen in them.
func (u *pages) page(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view editView) error {
	list, err := u.Uses.Providers.Accounts(r.Context(), false)
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
	return u.Room.ShowStatus(w, r, v, status, "edit", view)
}

// typed reads the form and the file.
func typed(r *http.Request) editView {
	view := editView{
		Order: r.FormValue("order"), Explored: strings.TrimSpace(r.FormValue("explored")), Attempts: strings.TrimSpace(r.FormValue("attempts")),
		Time: strings.TrimSpace(r.FormValue("time")), File: strings.ReplaceAll(r.FormValue("file"), "\r\n", "\n"), Since: r.FormValue("since"), Live: r.FormValue("environment"),
		Retries: strings.TrimSpace(r.FormValue("retries")), Within: strings.TrimSpace(r.FormValue("within")), Reasons: strings.TrimSpace(r.FormValue("reasons")),
	}
	view.Version, _ = strconv.ParseInt(r.FormValue("version"), 10, 64) // another version than the one in force is refused
	for i, key := range r.Form["rail"] {
		row := railRow{Key: strings.TrimSpace(key), Order: nth(r.Form["rail-order"], i), Accounts: strings.TrimSpace(nth(r.Form["rail-accounts"], i)), Explored: strings.TrimSpace(nth(r.Form["rail-explored"], i))}
		if row != (railRow{}) {
			view.Rails = append(view.Rails, row)
		}
	}
	return view
}

func nth(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// asText is the form in the words of a file, which says what is wrong.
func (e *editView) asText() (rulefile.Text, error) {
	t := rulefile.Text{Order: routing.Order(e.Order)}
	var err error
	if t.Explored, err = number("explored", e.Explored); err != nil {
		return t, err
	}
	attempts, err := number("attempts", e.Attempts)
	if err != nil {
		return t, err
	}
	if attempts != nil || e.Time != "" {
		t.Budget = &rulefile.Budget{Attempts: attempts, Time: e.Time}
	}
	retries, err := number("retries", e.Retries)
	if err != nil {
		return t, err
	}
	if retries != nil || e.Within != "" || e.Reasons != "" {
		t.Retry = &rulefile.Retry{Times: retries, Within: e.Within}
		for _, reason := range words(e.Reasons) {
			t.Retry.Reasons = append(t.Retry.Reasons, decline.Reason(reason))
		}
	}
	for _, row := range e.Rails {
		if row.Key == "" {
			return t, problem.Field(problem.InvalidRequest, "rails", ruleNeedsRail)
		}
		if t.Rails == nil {
			t.Rails = map[string]rulefile.Rail{}
		}
		rail := rulefile.Rail{Order: routing.Order(row.Order), Accounts: words(row.Accounts)}
		if rail.Explored, err = number("rails", row.Explored); err != nil {
			return t, err
		}
		t.Rails[row.Key] = rail
	}
	return t, nil
}

// words are separated by spaces or commas.
func words(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ',' })
}

// number reads an optional whole number.
func number(field, text string) (*int, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // none was given
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, problem.Field(problem.InvalidRequest, field, notAWholeNumber.With(text))
	}
	return &n, nil
}

// work does with the form and the file what the pressed button says.
func (u *pages) work(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view := typed(r)
	var err error
	switch r.FormValue("do") {
	case "write":
		err = u.write(r.Context(), &view)
	case "replay":
		if err = u.replay(r.Context(), v, view); err == nil {
			return u.Done(w, r, "routing/replay", "replay_started")
		}
	case "apply":
		if err = u.Late(v); err == nil {
			err = u.apply(r.Context(), v, view)
		}
		if err == nil {
			return u.Done(w, r, "routing", "rules_applied")
		}
	default:
		err = u.read(r.Context(), &view)
	}
	status := http.StatusOK
	if err != nil {
		var fault error
		if status, fault = view.Refused(v, err); fault != nil {
			return fault
		}
	}
	return u.page(w, r, v, status, view)
}

// write writes the form into the file.
func (u *pages) write(ctx context.Context, e *editView) error {
	text, err := e.asText()
	if err != nil {
		return err
	}
	rules, err := text.Read()
	if err == nil {
		err = u.Uses.Rules.Check(ctx, rules)
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
func (u *pages) read(ctx context.Context, e *editView) error {
	rules, err := u.file(ctx, e.File)
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
func (u *pages) file(ctx context.Context, text string) (routing.Rules, error) {
	file, err := rulefile.Read([]byte(text))
	switch {
	case err != nil:
		return file.Rules, desk.Shown(err, "file")
	case file.Accounts != nil:
		return file.Rules, problem.Field(problem.InvalidRequest, "file", fileHasAccounts)
	}
	return file.Rules, desk.Shown(rulefile.AtLines([]byte(text), u.Uses.Rules.Check(ctx, file.Rules)), "file")
}

// apply puts the file in force, if the rules in force are still those that were edited.
func (u *pages) apply(ctx context.Context, v *frame.Visit, e editView) error {
	rules, err := u.file(ctx, e.File)
	if err != nil {
		return err
	}
	_, _, err = u.Uses.Rules.ApplyOver(ctx, v.Actor(), e.Version, rules)
	return err
}
