package developers

import (
	"net/http"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

func (d *developers) keyPages() {
	d.Handle("GET /keys", merchants.RightKeys, d.keys)
	d.Handle("GET /keys/new", merchants.RightKeys, d.newKey)
	d.Handle("POST /keys", merchants.RightKeys, d.createKey)
	d.Handle("GET /keys/{id}", merchants.RightKeys, d.key)
	d.Handle("GET /keys/{id}/roll", merchants.RightKeys, d.askRoll)
	d.Handle("POST /keys/{id}/roll", merchants.RightKeys, d.roll)
	d.Handle("GET /keys/{id}/revoke", merchants.RightKeys, d.askRevoke)
	d.Handle("POST /keys/{id}/revoke", merchants.RightKeys, d.revoke)
}

// keyView is a key as pages show it.
type keyView struct {
	merchants.Key
	State string // active, ending, expired, revoked
	Tone  string
	Last  time.Time
	Uses  int64 // addresses
}

// LastDay is the last day on which an expiring key works.
func (k keyView) LastDay() time.Time { return k.EndsAt.Add(-time.Nanosecond) }

func (d *developers) keyOf(k merchants.Key, use store.KeyUsage) keyView {
	view := keyView{Key: k, State: "active", Tone: "good", Last: use.Last, Uses: use.Addresses}
	switch now := d.Uses.Now(); {
	case !k.RevokedAt.IsZero():
		view.State, view.Tone = "revoked", "neutral"
	case k.Over(now):
		view.State, view.Tone = "expired", "neutral"
	case k.Successor != "":
		view.State, view.Tone = "ending", "waiting"
	}
	return view
}

// keysView is the list of keys: those in use, or those that have ended.
type keysView struct {
	Keys        []keyView
	Ended       bool
	Live, Other int // numbers of both
}

func (d *developers) keys(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	list, uses, err := d.Uses.Keys.Own(v.Principal).List(r.Context())
	if err != nil {
		return err
	}
	view := keysView{Ended: r.FormValue("show") == "ended"}
	for _, k := range list {
		over := k.Over(d.Uses.Now())
		if over {
			view.Other++
		} else {
			view.Live++
		}
		if over == view.Ended {
			view.Keys = append(view.Keys, d.keyOf(k, uses[k.ID]))
		}
	}
	return d.room.Show(w, r, v, "keys", view)
}

// keyForm is the form of a new key.
type keyForm struct {
	frame.Mistakes
	Kind   merchants.KeyKind
	Ends   string
	Given  map[string]bool // the chosen rights
	Kinds  []frame.Option
	Rights []frame.Option
}

// keyChoices are what a user may choose: nobody gives rights that they do not have.
func (d *developers) keyChoices(v *frame.Visit) keyForm {
	option := func(value, key string) frame.Option {
		return frame.Option{Value: value, Label: d.room.Text(v, key), Hint: d.room.Text(v, key+"_hint")}
	}
	f := keyForm{Given: map[string]bool{}, Kind: merchants.Restricted}
	all := true
	for _, right := range merchants.Rights() {
		if right == merchants.RightSandbox && v.Live {
			continue
		}
		if v.May(right) {
			f.Rights = append(f.Rights, option(string(right), "right_"+string(right)))
		} else if right != merchants.RightWithdrawals {
			all = false
		}
	}
	f.Kinds = []frame.Option{option(string(merchants.Restricted), "kind_restricted")}
	if all {
		f.Kinds = append(f.Kinds, option(string(merchants.Secret), "kind_secret"))
	}
	f.Kinds = append(f.Kinds, option(string(merchants.Publishable), "kind_publishable"))
	return f
}

func (d *developers) newKey(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return d.room.Show(w, r, v, "newkey", d.keyChoices(v))
}

// confirmed reports whether the user may get a key that moves money out: as for a withdrawal itself, a user with a
// second factor must have given it just now (DASH-6).
func (d *developers) confirmed(w http.ResponseWriter, r *http.Request, v *frame.Visit, moves bool, page string) bool {
	return !moves || !v.Live || !v.May(merchants.RightWithdrawals) || d.Confirmed(w, r, v, v.Home()+page)
}

func (d *developers) createKey(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	kind := merchants.KeyKind(r.FormValue("kind"))
	moves := kind == merchants.Secret || kind == merchants.Restricted && slices.Contains(r.Form["rights"], string(merchants.RightWithdrawals))
	if !d.confirmed(w, r, v, moves, "/keys/new") {
		return nil
	}
	raw, err := d.makeKey(r, v)
	if err == nil {
		return d.room.ShowSecret(w, r, v, frame.Secret{Title: "key_made", Label: "key", About: "key_once", Secret: raw, Back: "keys"})
	}
	wrong, status, err := frame.MistakesOf(v, err)
	if err != nil {
		return err
	}
	f := d.keyChoices(v)
	f.Mistakes, f.Kind, f.Ends = wrong, merchants.KeyKind(r.FormValue("kind")), r.FormValue("ends")
	for _, right := range r.Form["rights"] {
		f.Given[right] = true
	}
	return d.room.ShowStatus(w, r, v, status, "newkey", f)
}

func (d *developers) makeKey(r *http.Request, v *frame.Visit) (string, error) {
	n := auth.NewKey{Kind: merchants.KeyKind(r.FormValue("kind"))}
	if n.Kind == merchants.Restricted { // the form hides the rights of other kinds, and may send them
		for _, right := range merchants.Rights() {
			if slices.Contains(r.Form["rights"], string(right)) {
				n.Rights = append(n.Rights, right)
			}
		}
	}
	day, err := frame.Day(r, "ends")
	if err != nil {
		return "", err
	}
	if !day.IsZero() {
		n.Ends = day.AddDate(0, 0, 1) // the key works through that day
	}
	raw, _, err := d.Uses.Keys.Own(v.Principal).Create(r.Context(), n)
	return raw, err
}

// keyPage is the page of a key.
type keyPage struct {
	keyView
	Addresses []merchants.KeyUse
	Lacks     []merchants.Right // of its rights, those that the user does not have
	Over      bool
}

// addresses is how many of a key's addresses its page shows.
const addresses = 20

func (d *developers) readKey(r *http.Request, v *frame.Visit) (keyPage, error) {
	own := d.Uses.Keys.Own(v.Principal)
	k, uses, err := own.Get(r.Context(), r.PathValue("id"), addresses)
	if err != nil {
		return keyPage{}, err
	}
	usage := store.KeyUsage{Addresses: int64(len(uses))}
	if len(uses) > 0 {
		usage.Last = uses[0].Last
	}
	return keyPage{d.keyOf(k, usage), uses, own.Lacks(k), k.Over(d.Uses.Now())}, nil
}

func (d *developers) key(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := d.readKey(r, v)
	if err != nil {
		return err
	}
	return d.room.Show(w, r, v, "key", view)
}

// rollForm is the form that rolls a key.
type rollForm struct {
	frame.Mistakes
	Key   keyPage
	Grace string
}

func (d *developers) askRoll(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := d.readKey(r, v)
	if err != nil {
		return err
	}
	return d.room.Show(w, r, v, "roll", rollForm{Key: view, Grace: "24h"})
}

func (d *developers) roll(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := d.readKey(r, v)
	if err != nil {
		return err
	}
	if !d.confirmed(w, r, v, view.Key.May(merchants.RightWithdrawals), "/keys/"+view.ID+"/roll") {
		return nil
	}
	grace, err := time.ParseDuration(r.FormValue("grace"))
	if err != nil || grace < 0 {
		err = problem.Field(problem.InvalidRequest, "grace", graceMissing)
	} else {
		var raw string
		raw, _, err = d.Uses.Keys.Own(v.Principal).Rotate(r.Context(), view.ID, grace)
		if err == nil {
			until := view.Key.Replace("", d.Uses.Now().Add(grace)).EndsAt // it may expire before the grace is over
			return d.room.ShowSecret(w, r, v, frame.Secret{Title: "key_rolled", Label: "key", About: "key_once", Secret: raw, Back: "keys", Until: until})
		}
	}
	wrong, status, err := frame.MistakesOf(v, err)
	if err != nil {
		return err
	}
	return d.room.ShowStatus(w, r, v, status, "roll", rollForm{Mistakes: wrong, Key: view, Grace: r.FormValue("grace")})
}

func (d *developers) askRevoke(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := d.readKey(r, v)
	if err != nil {
		return err
	}
	return d.room.Ask(w, r, v, frame.Question{
		Title: "key_revoke_title", Text: "key_revoke_text", Button: "key_revoke", What: view.Preview, Action: "keys/" + view.ID + "/revoke", Back: "keys/" + view.ID, Tone: "bad",
	})
}

func (d *developers) revoke(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if _, err := d.Uses.Keys.Own(v.Principal).Revoke(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return d.Done(w, r, v, "keys", "key_revoked")
}
