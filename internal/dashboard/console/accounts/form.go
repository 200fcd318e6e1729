package accounts

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/admin/shape"
	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
)

// railRow is a line of the table of rails in a form: the account's terms for it.
type railRow struct {
	Key           string // "" for every rail without terms of its own
	On            bool
	Price, Limits string
	Wrong         string
}

// formView is the form of an account.
type formView struct {
	desk.Form
	Adapters []provider.Adapter
	Adapter  provider.Adapter // "" in its name: it is not chosen yet
	Account  accounts.Account // that is changed
	All      bool             // all rails of the adapter
	Rails    []railRow
	Held     []string // names of the credentials that the account has
}

// adapter finds an adapter by its name.
func (p *pages) adapter(name string) (provider.Adapter, bool) {
	list := p.Uses.Adapters
	if i := slices.IndexFunc(list, func(of provider.Adapter) bool { return of.Name == name }); i >= 0 {
		return list[i], true
	}
	return provider.Adapter{}, false
}

// adapters lists them by name.
func (p *pages) adapters() []provider.Adapter {
	return slices.SortedFunc(slices.Values(p.Uses.Adapters), func(x, y provider.Adapter) int { return strings.Compare(x.Name, y.Name) })
}

// blank is the page that opens an account: first its provider is chosen.
func (p *pages) blank(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view := formView{Adapters: p.adapters(), All: true}
	if name := r.FormValue("adapter"); name != "" {
		adapter, known := p.adapter(name)
		if !known {
			return problem.New(problem.NotFound, noProvider)
		}
		view.Adapter = adapter
		view.Rails = rows(adapter, accounts.Account{})
		view.Values = map[string]string{"environment": string(merchants.Production), "priority": strconv.Itoa(accounts.DefaultPriority), "enabled": "true"}
	}
	return p.Room.Show(w, r, v, "new", view)
}

// rows are the table of rails for an account: each rail of the adapter, and any other rail that the account has
// terms for.
func rows(adapter provider.Adapter, account accounts.Account) []railRow {
	keys := append([]string{""}, adapter.Rails...)
	for _, t := range account.Terms {
		if !slices.Contains(keys, t.Rail) {
			keys = append(keys, t.Rail)
		}
	}
	for _, rail := range account.Rails {
		if !slices.Contains(keys, rail) {
			keys = append(keys, rail)
		}
	}
	list := make([]railRow, len(keys))
	for i, key := range keys {
		list[i] = railRow{Key: key, On: slices.Contains(account.Rails, key)}
		for _, t := range account.Terms {
			if t.Rail != key {
				continue
			}
			if t.Fee != nil {
				list[i].Price = t.Fee.String()
			}
			var limits []string
			for _, l := range t.Limits {
				limits = append(limits, l.String())
			}
			list[i].Limits = strings.Join(limits, " ")
		}
	}
	return list
}

// typedRows reads the table of rails of a form. at says which row each of the terms is from.
func typedRows(r *http.Request) (list []railRow, terms []shape.Terms, at []int) {
	_ = r.ParseForm() // a form that cannot be read has no rows
	for i, key := range r.PostForm["row"] {
		one := railRow{
			Key: key, On: slices.Contains(r.PostForm["rail"], key),
			Price: strings.TrimSpace(nth(r.PostForm["price"], i)), Limits: strings.TrimSpace(nth(r.PostForm["limits"], i)),
		}
		list = append(list, one)
		if one.Price == "" && one.Limits == "" {
			continue
		}
		terms = append(terms, shape.Terms{Rail: key, Price: one.Price, Limits: strings.FieldsFunc(one.Limits, func(c rune) bool { return c == ' ' || c == ',' || c == ';' })})
		at = append(at, i)
	}
	return list, terms, at
}

func nth(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// chosenRails lists the rails that are on; none: all.
func chosenRails(r *http.Request, list []railRow) (rails []string, all bool, err error) {
	if r.FormValue("all") != "some" {
		return nil, true, nil
	}
	for _, one := range list {
		if one.On && one.Key != "" {
			rails = append(rails, one.Key)
		}
	}
	if len(rails) == 0 {
		return nil, false, problem.Field(problem.InvalidRequest, "all", chooseRails)
	}
	return rails, false, nil
}

// blame puts errors of terms beside the rows that they are about.
func blame(wrong map[string]string, list []railRow, at []int) {
	for i, row := range at {
		list[row].Wrong = desk.Under(wrong, "terms["+strconv.Itoa(i)+"]")
	}
}

// priority reads the number of a form.
func priority(r *http.Request) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(r.FormValue("priority")))
	if err != nil {
		return 0, problem.Field(problem.InvalidRequest, "priority", priorityUnreadable)
	}
	return n, nil
}

// typed are the credentials of a form. Empty ones are left out.
func typed(r *http.Request, adapter provider.Adapter) map[string]string {
	given := map[string]string{}
	for _, f := range adapter.Fields {
		if value := strings.TrimSpace(r.PostFormValue("credentials." + f.Name)); value != "" {
			given[f.Name] = value
		}
	}
	return given
}

// open opens an account.
func (p *pages) open(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	adapter, known := p.adapter(r.FormValue("adapter"))
	if !known {
		return problem.Field(problem.InvalidRequest, "adapter", chooseProvider)
	}
	view := formView{Form: desk.Typed(r, "id", "environment", "merchant", "priority", "baseUrl", "enabled"), Adapters: p.adapters(), Adapter: adapter, All: r.FormValue("all") != "some"}
	for _, f := range adapter.Fields {
		if f.Public { // a secret is not sent back
			view.Values["credentials."+f.Name] = r.PostFormValue("credentials." + f.Name)
		}
	}
	list, terms, at := typedRows(r)
	view.Rails = list
	account, err := p.add(r, v, view, terms)
	if err == nil {
		return p.Done(w, r, "accounts/"+account.ID, "account_opened", "account", account.ID)
	}
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	blame(view.Wrong, view.Rails, at)
	return p.Room.ShowStatus(w, r, v, status, "new", view)
}

func (p *pages) add(r *http.Request, v *frame.Visit, view formView, terms []shape.Terms) (accounts.Account, error) {
	n := appaccounts.NewAccount{
		ID: view.Value("id"), Adapter: view.Adapter.Name, Live: view.Value("environment") == string(merchants.Production), Merchant: view.Value("merchant"),
		BaseURL: view.Value("baseUrl"), Credentials: typed(r, view.Adapter), Disabled: view.Value("enabled") == "",
	}
	var err error
	if n.Terms, err = shape.ReadTerms(terms); err != nil {
		return accounts.Account{}, err
	}
	if n.Priority, err = priority(r); err != nil {
		return accounts.Account{}, err
	}
	if n.Rails, _, err = chosenRails(r, view.Rails); err != nil {
		return accounts.Account{}, err
	}
	return p.Uses.Accounts.Add(r.Context(), v.Actor(), n)
}

// edit is the page that changes an account's settings.
func (p *pages) edit(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, adapter, err := p.present(r)
	if err != nil {
		return err
	}
	view := formView{Adapter: adapter, Account: s.Account, All: len(s.Account.Rails) == 0, Rails: rows(adapter, s.Account)}
	view.Values = map[string]string{"priority": strconv.Itoa(s.Priority), "version": strconv.FormatInt(s.Version, 10)}
	return p.Room.Show(w, r, v, "edit", view)
}

// present reads the account of a page, with its adapter.
//
// Errors: conflict_state if the account was removed.
func (p *pages) present(r *http.Request) (s appaccounts.AccountStatus, adapter provider.Adapter, err error) {
	if s, err = p.Uses.Providers.ProviderAccount(r.Context(), r.PathValue("id")); err != nil {
		return s, adapter, err
	}
	if err = s.Present(); err != nil {
		return s, adapter, err
	}
	adapter, known := p.adapter(s.Adapter)
	if !known {
		adapter = provider.Adapter{Name: s.Adapter}
	}
	return s, adapter, nil
}

// change changes an account's settings, if nobody has changed it since the form was shown.
func (p *pages) change(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, adapter, err := p.present(r)
	if err != nil {
		return err
	}
	view := formView{Form: desk.Typed(r, "priority", "version"), Adapter: adapter, Account: s.Account, All: r.FormValue("all") != "some"}
	list, terms, at := typedRows(r)
	view.Rails = list
	account, err := p.save(r, v, view, terms)
	if err == nil {
		return p.Done(w, r, "accounts/"+account.ID, "account_saved", "account", account.ID)
	}
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	blame(view.Wrong, view.Rails, at)
	return p.Room.ShowStatus(w, r, v, status, "edit", view)
}

func (p *pages) save(r *http.Request, v *frame.Visit, view formView, typed []shape.Terms) (accounts.Account, error) {
	version, err := strconv.ParseInt(view.Value("version"), 10, 64)
	if err != nil {
		return accounts.Account{}, problem.New(problem.InvalidRequest, accountVersionMissing)
	}
	terms, err := shape.ReadTerms(typed)
	if err != nil {
		return accounts.Account{}, err
	}
	first, err := priority(r)
	if err != nil {
		return accounts.Account{}, err
	}
	rails, _, err := chosenRails(r, view.Rails)
	if err != nil {
		return accounts.Account{}, err
	}
	return p.Uses.Accounts.Edit(r.Context(), v.Actor(), view.Account.ID, func(account accounts.Account) (accounts.Account, error) {
		if err := account.Unchanged(version); err != nil {
			return account, err
		}
		account.Priority, account.Terms = first, terms
		if len(rails)+len(account.Rails) > 0 { // nil and empty are the same
			account.Rails = rails
		}
		return account, nil
	})
}

// credentials is the page that replaces credentials.
func (p *pages) credentials(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, adapter, err := p.present(r)
	if err != nil {
		return err
	}
	return p.Room.Show(w, r, v, "credentials", formView{Adapter: adapter, Account: s.Account, Held: s.Fields})
}

func (p *pages) rotate(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, adapter, err := p.present(r)
	if err != nil {
		return err
	}
	given := typed(r, adapter)
	for _, f := range adapter.Fields {
		if f.Optional && r.PostFormValue("drop."+f.Name) != "" {
			given[f.Name] = ""
		}
	}
	account, err := p.Uses.Accounts.Rotate(r.Context(), v.Actor(), s.ID, given)
	if err == nil {
		return p.Done(w, r, "accounts/"+account.ID, "account_rotated", "account", account.ID)
	}
	view := formView{Adapter: adapter, Account: s.Account, Held: s.Fields}
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	if text := view.Wrong["credentials"]; text != "" {
		view.Error = text
	}
	return p.Room.ShowStatus(w, r, v, status, "credentials", view)
}
