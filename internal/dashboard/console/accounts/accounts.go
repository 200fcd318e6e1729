// Package accounts is the console's pages of provider accounts: their health, settings and credentials.
// Credentials are written and never shown.
package accounts

import (
	"embed"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/routing"
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
	a := &pages{d, uses}
	site.HandleOperator("GET /console/accounts", operators.View, a.list)
	site.HandleOperator("GET /console/accounts/new", operators.Credentials, a.blank, frame.Beforehand())
	site.HandleOperator("POST /console/accounts", operators.Credentials, a.open)
	site.HandleOperator("GET /console/accounts/{id}", operators.View, a.show)
	site.HandleOperator("GET /console/accounts/{id}/edit", operators.Accounts, a.edit, frame.Beforehand())
	site.HandleOperator("POST /console/accounts/{id}/edit", operators.Accounts, a.change)
	site.HandleOperator("GET /console/accounts/{id}/credentials", operators.Credentials, a.credentials, frame.Beforehand())
	site.HandleOperator("POST /console/accounts/{id}/credentials", operators.Credentials, a.rotate)
	site.HandleOperator("POST /console/accounts/{id}/check", operators.Accounts, a.check, frame.Calm())
	site.HandleOperator("POST /console/accounts/{id}/enable", operators.Accounts, a.enable)
	site.HandleOperator("POST /console/accounts/{id}/disable", operators.Accounts, a.disable, frame.Calm())
	site.HandleOperator("POST /console/accounts/{id}/remove", operators.Accounts, a.remove)
	return nil
}

// health is the health of an account on its rails, as this node sees it.
type health struct {
	Rails  []railHealth
	Worst  string // the worst state of its circuits, "" if nobody called it
	Failed float64
	Calls  float64
}

// railHealth is the health of an account on one rail.
type railHealth struct {
	Rail          string
	State         routing.State
	Until         time.Time
	Failed, Calls int64 // of late, rounded
	InARow        int
	Scores        []score
}

type score struct {
	Band                        string
	Opened, Succeeded, Payments int64 // rounded
}

// byAccount gathers the health of all accounts.
func (p *pages) byAccount() map[string]health {
	now := p.Uses.Now()
	all := map[string]health{}
	worst := map[routing.State]int{routing.StateClosed: 1, routing.StateTrial: 2, routing.StateOpen: 3}
	for _, r := range p.Uses.Providers.Health() {
		h := all[r.Account]
		failed, calls := r.Circuit.Late(now)
		until, _ := r.Circuit.Open(now)
		rail := railHealth{Rail: r.Rail, State: r.Circuit.State(now), Until: until, Failed: int64(failed + .5), Calls: int64(calls + .5), InARow: r.Circuit.InARow()}
		for _, b := range r.Bands {
			rail.Scores = append(rail.Scores, score{b.Band, int64(b.Score.Pages() + .5), int64(b.Score.Succeeded() + .5), int64(b.Score.Payments() + .5)})
		}
		h.Failed, h.Calls = h.Failed+failed, h.Calls+calls
		if worst[rail.State] > worst[routing.State(h.Worst)] {
			h.Worst = string(rail.State)
		}
		h.Rails = append(h.Rails, rail)
		all[r.Account] = h
	}
	return all
}

// row is an account in the list.
type row struct {
	accounts.AccountStatus
	Health health
	Record accounts.RailRecord
}

type listView struct {
	Rows     []row
	Names    *desk.Names
	Any      bool // there are accounts, although none may match
	Adapters []frame.Option
}

func (p *pages) list(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	list, err := p.Uses.Providers.Accounts(r.Context(), r.FormValue("removed") != "")
	if err != nil {
		return err
	}
	view := listView{Any: len(list) > 0, Names: p.Names(r.Context())}
	of := p.byAccount()
	records, err := p.Uses.Accounts.Records(r.Context())
	if err != nil {
		return err
	}
	adapters := map[string]bool{}
	for _, s := range list {
		adapters[s.Adapter] = true
		if environment := r.FormValue("environment"); environment != "" && environment != string(s.Environment()) {
			continue
		}
		if adapter := r.FormValue("adapter"); adapter != "" && adapter != s.Adapter {
			continue
		}
		if status := r.FormValue("status"); status != "" && status != string(s.Status) {
			continue
		}
		view.Rows = append(view.Rows, row{s, of[s.ID], records[s.ID]})
	}
	for _, name := range slices.Sorted(maps.Keys(adapters)) {
		view.Adapters = append(view.Adapters, frame.Option{Value: name, Label: name})
	}
	return p.Room.Show(w, r, v, "list", view)
}

type accountView struct {
	desk.Form
	accounts.AccountStatus
	Health health
	Record accounts.Record
	Days   int            // of the Record
	Proof  accounts.Proof // of a check
	Said   string
}

func (p *pages) show(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.page(w, r, v, http.StatusOK, accountView{})
}

// page shows an account, with what view has besides.
func (p *pages) page(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view accountView) error {
	s, err := p.Uses.Providers.ProviderAccount(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	view.AccountStatus, view.Health, view.Days = s, p.byAccount()[s.ID], accounts.RecordDays
	if view.Record, err = p.Uses.Accounts.Record(r.Context(), s.ID, s.Live); err != nil {
		return err
	}
	return p.Room.ShowStatus(w, r, v, status, "account", view)
}

// check asks the provider. If the credentials do not work, that is a result, not an error.
func (p *pages) check(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	proof, said, err := p.Uses.Accounts.Prove(r.Context(), r.PathValue("id"))
	if err != nil {
		return p.refused(w, r, v, err)
	}
	return p.page(w, r, v, http.StatusOK, accountView{Proof: proof, Said: said})
}

// refused shows the account with what an action was refused for.
func (p *pages) refused(w http.ResponseWriter, r *http.Request, v *frame.Visit, err error) error {
	var view accountView
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	if view.Error == "" {
		view.Error = desk.Under(view.Wrong, "")
	}
	return p.page(w, r, v, status, view)
}

func (p *pages) enable(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.turn(w, r, v, true, "account_enabled")
}

func (p *pages) disable(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.turn(w, r, v, false, "account_disabled")
}

func (p *pages) turn(w http.ResponseWriter, r *http.Request, v *frame.Visit, on bool, said string) error {
	account, err := p.Uses.Accounts.Enable(r.Context(), v.Actor(), r.PathValue("id"), on)
	if err != nil {
		return p.refused(w, r, v, err)
	}
	return p.Done(w, r, "accounts/"+account.ID, said, "account", account.ID)
}

// remove requires that the id is typed, because it cannot be undone.
func (p *pages) remove(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id := r.PathValue("id")
	if r.FormValue("confirm") != id {
		return p.refused(w, r, v, problem.Field(problem.InvalidRequest, "confirm", typeTheAccountsID.With(id)))
	}
	account, err := p.Uses.Accounts.Remove(r.Context(), v.Actor(), id, r.FormValue("force") != "")
	if err != nil {
		return p.refused(w, r, v, err)
	}
	return p.Done(w, r, "accounts", "account_removed", "account", account.ID)
}
