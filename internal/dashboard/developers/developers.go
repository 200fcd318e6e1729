// Package developers is the dashboard's pages for whoever builds on the API: keys, webhooks with their
// deliveries and replays, events, the last requests, the sandbox, and the version of the API.
package developers

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

//go:embed all:templates text
var files embed.FS

type developers struct {
	*frame.Site
	Uses Uses
	room *frame.Pages
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	room, err := site.NewPages(files,
		frame.Item{Key: "sandbox", Path: "sandbox", Group: "developers", Right: merchants.RightSandbox},
		frame.Item{Key: "api", Path: "api", Group: "developers", Right: merchants.RightRead})
	if err != nil {
		return err
	}
	d := &developers{site, uses, room}
	d.keyPages()
	d.webhookPages()
	d.eventPages()
	site.Handle("GET /requests", merchants.RightRead, d.requests)
	site.Handle("GET /requests.csv", merchants.RightRead, d.requestsFile)
	site.Handle("GET /requests/{id}", merchants.RightRead, d.request)
	site.Handle("GET /sandbox", merchants.RightSandbox, d.sandbox)
	site.Handle("POST /sandbox/clock", merchants.RightSandbox, d.moveClock)
	site.Handle("POST /sandbox/strict", merchants.RightSandbox, d.setStrict)
	site.Handle("POST /sandbox/reset", merchants.RightKeys, d.resetSandbox, frame.WhileEmptied())
	site.Handle("GET /api", merchants.RightRead, d.api)
	return nil
}

// word is a value of a filter, if it is one of those that there are.
//
// Errors: invalid_request.
func word[T ~string](r *http.Request, name string, all []T) (T, error) {
	value := T(r.FormValue(name))
	if value != "" && !slices.Contains(all, value) {
		return "", problem.Field(problem.InvalidRequest, name, unknownFilter)
	}
	return value, nil
}

// form is what a page shows after its form was refused.
type form struct {
	Wrong map[string]string // by field
	Error string            // of the whole form
}

// refused is the form that shows an error, with the status of its page. An error that is not about what was
// sent is returned.
func refused(v *frame.Visit, err error) (form, int, error) {
	shown, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return form{}, 0, err
	}
	switch status := message.ShownOf(shown.Code).Status; status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity:
		if wrong := frame.FieldErrors(v.Language(), err); wrong != nil {
			return form{Wrong: wrong}, status, nil
		}
		return form{Error: frame.ErrorText(v.Language(), shown)}, status, nil
	}
	return form{}, 0, err
}

// secretView is the answer to a form that made a secret. It is shown once, so this is the answer to the POST
// itself.
type secretView struct {
	Title, Label, About string // keys of texts
	Secret              string
	Back                string    // the page that follows
	Until               time.Time // until when the secret before it works; zero: there was none
}

func (d *developers) showSecret(w http.ResponseWriter, r *http.Request, v *frame.Visit, s secretView) error {
	return d.room.Show(w, r, v, "secret", s)
}

// askView is a page that asks before something that cannot be undone.
type askView struct {
	form
	Title, Text, Button string // keys of texts
	What                string // what it is about
	Action, Back        string // below the shop
	Tone                string
}

func (d *developers) ask(w http.ResponseWriter, r *http.Request, v *frame.Visit, a askView) error {
	return d.room.Show(w, r, v, "ask", a)
}

// done shows a message on another page of the shop.
func (d *developers) done(w http.ResponseWriter, r *http.Request, v *frame.Visit, path, flash string) error {
	d.Flash(w, flash)
	d.Go(w, r, d.here(v, path))
	return nil
}

// here is the address of a page of the visit's shop.
func (d *developers) here(v *frame.Visit, path string) string {
	return d.At(strings.TrimPrefix(v.Home(), frame.Base) + "/" + path)
}

// types are the options of a filter by type of event.
func types() (list []frame.Option) {
	for _, t := range webhooks.EventTypes() {
		list = append(list, frame.Option{Value: string(t), Label: string(t)})
	}
	return list
}

// pretty is JSON for people.
func pretty(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}
