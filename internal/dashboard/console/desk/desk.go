// Package desk is what the rooms of the operator's console share: where its pages are, and how an error becomes a
// form that is shown again.
package desk

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Most is how many rows a list shows that has no cursor.
const Most = 100

// Late is how long work may be due before a page shows it as late: loops look every few seconds.
const Late = 5 * time.Minute

// Pages are the pages of one room of the console.
type Pages struct {
	*frame.Site
	Room *frame.Pages
}

// New reads the pages and texts of a room.
func New(site *frame.Site, files fs.FS) (*Pages, error) {
	room, err := site.NewPages(files)
	return &Pages{site, room}, err
}

// Page is the address of a page of the console: "accounts/stripe-mx".
func (pg *Pages) Page(path string) string {
	return strings.TrimSuffix(pg.At("/console/"+path), "/")
}

// Done leads on to a page of the console, which shows a message.
func (pg *Pages) Done(w http.ResponseWriter, r *http.Request, path, key string, args ...any) error {
	pg.Flash(w, key, args...)
	pg.Site.Go(w, r, pg.Page(path))
	return nil
}

// Late returns an error if a long form arrives too long after the second factor. The error is shown with the form, so
// what was typed is not lost.
//
// Errors: forbidden.
func (pg *Pages) Late(v *frame.Visit) error {
	if !v.User.HasFactor() || v.SignIn.Fresh(pg.Uses.Now()) {
		return nil
	}
	return problem.New(problem.Forbidden, secondFactorOld.With(pg.At("/again")))
}

// Form is what was typed into a form, and what was wrong with it.
type Form struct {
	Values map[string]string // by field
	Wrong  map[string]string // by field
	Error  string            // of the whole form
	Force  bool              // it may be sent again, although a provider says otherwise
}

// Value is what was typed into a field.
func (f Form) Value(name string) string { return f.Values[name] }

// Typed keeps what was typed into fields. Never name one that is secret.
func Typed(r *http.Request, names ...string) Form {
	f := Form{Values: map[string]string{}}
	for _, name := range names {
		f.Values[name] = strings.TrimSpace(r.FormValue(name))
	}
	return f
}

// Refused puts an error into a form that is shown again, and returns the status of that page. It returns the error
// if it is not about what was typed.
func (f *Form) Refused(v *frame.Visit, err error) (status int, fault error) {
	shown, ok := errors.AsType[*problem.Error](err)
	if !ok || shown.Code == problem.ServiceUnavailable || shown.Code == problem.NotFound {
		return 0, err
	}
	if f.Wrong = frame.FieldErrors(v.Language(), err); f.Wrong == nil {
		f.Error = frame.ErrorText(v.Language(), shown)
	}
	return message.ShownOf(shown.Code).Status, nil
}

// Shown turns an error that a use case wrote for operators into one that they see. Those of the database and of
// the request itself stay as they are. field is what it is about, "" if it is about no field.
func Shown(err error, field string) error {
	if err == nil {
		return nil
	}
	_, shown := errors.AsType[*problem.Error](err)
	for _, fault := range []error{store.ErrNotFound, store.ErrStale, store.ErrDuplicate, store.ErrDown, context.Canceled, context.DeadlineExceeded} {
		shown = shown || errors.Is(err, fault)
	}
	if shown {
		return err
	}
	return message.FieldRefusal(problem.InvalidRequest, field, message.Sentence(err))
}

// Under gathers the errors of all fields whose names begin with a prefix, for a field that holds them all.
func Under(wrong map[string]string, prefix string) string {
	var list []string
	for name, text := range wrong {
		if strings.HasPrefix(name, prefix) {
			list = append(list, text)
		}
	}
	return strings.Join(list, " ")
}

// Sentence is a message with a capital letter.
func Sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + message[size:]
}

// ReadNote reads the note that a decision needs.
//
// Errors: invalid_request if it is missing or too long.
func ReadNote(r *http.Request) (string, error) {
	note := strings.TrimSpace(r.FormValue("note"))
	if note == "" || utf8.RuneCountInString(note) > pay.MaxNote {
		return note, problem.Field(problem.InvalidRequest, "note", noteMissing)
	}
	return note, nil
}

// Who is the name of who did something: a user's e-mail address. Others, and a removed user, who has no address left, are
// named by their id. known has the names that were read before.
func (pg *Pages) Who(ctx context.Context, known map[string]string, id string) (string, error) {
	if name, read := known[id]; read || !strings.HasPrefix(id, people.UserPrefix) {
		return cmp.Or(name, id), nil
	}
	u, err := pg.Uses.People.User(ctx, id)
	if err != nil && !base.Absent(err) {
		return "", err
	}
	known[id] = cmp.Or(u.Email, id)
	return known[id], nil
}

// Names are the names of merchants, for a list whose rows know their ids. A merchant is read once.
type Names struct {
	read  func(id string) (merchants.Merchant, error)
	known map[string]string // by id
}

// Names returns the names of merchants, for one page.
func (pg *Pages) Names(ctx context.Context) *Names {
	return &Names{func(id string) (merchants.Merchant, error) { return pg.Uses.AnyMerchant(ctx, id) }, map[string]string{}}
}

// Of is the name of a merchant. Its id stands for one that does not exist.
func (n *Names) Of(id string) (string, error) {
	if name, read := n.known[id]; read {
		return name, nil
	}
	m, err := n.read(id)
	if err != nil && !base.Absent(err) {
		return "", err
	}
	n.known[id] = cmp.Or(m.Name, id)
	return n.known[id], nil
}

// Accounts knows which provider accounts have a page: those of the sandbox are built in, and have none. An account is read once.
type Accounts struct {
	read  func(id string) error
	known map[string]bool // by id
}

// NewAccounts returns which accounts have a page, for one page.
func NewAccounts(ctx context.Context, from *accounts.Providers) *Accounts {
	return &Accounts{func(id string) error { _, err := from.ProviderAccount(ctx, id); return err }, map[string]bool{}}
}

// Account is a provider account as a page names it.
type Account struct {
	ID   string
	Page bool // it has one
}

// Of is the account with an id.
func (a *Accounts) Of(id string) (Account, error) {
	has, read := a.known[id]
	if !read {
		err := a.read(id)
		if err != nil && !base.Absent(err) {
			return Account{}, err
		}
		has = err == nil
		a.known[id] = has
	}
	return Account{id, has}, nil
}
