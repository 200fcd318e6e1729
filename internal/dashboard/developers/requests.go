package developers

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/requests"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
)

// requestRow is a request as pages show it.
type requestRow struct {
	requests.Entry
	Tone string
	Link string // the page of its object
}

func viewRequest(e requests.Entry) requestRow {
	row := requestRow{Entry: e, Tone: "good", Link: frame.PathOfObject(e.Object)}
	switch {
	case e.Status >= 500:
		row.Tone = "bad"
	case e.Status >= 400:
		row.Tone = "waiting"
	}
	return row
}

// Ms is how long the answer took, in milliseconds.
func (r requestRow) Ms() int64 { return r.Took.Milliseconds() }

// Path is the route without the part that all have: /payments/:id.
func (r requestRow) Path() string {
	return pathParam.ReplaceAllString(strings.TrimPrefix(r.Route, view.Base), ":$1")
}

// pathParam is a part of a route that stands for an id.
var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// requestsView is the list of requests.
type requestsView struct {
	Since   time.Time
	Kept    int
	List    []requestRow
	Methods []frame.Option
	Pager   frame.Pager
}

// requestFilter is what the page's filters select.
//
// Errors: invalid_request.
func requestFilter(r *http.Request) (f requests.Filter, err error) {
	span, err := frame.Days(r)
	if err != nil {
		return f, err
	}
	if f.Result, err = frame.OneOf(r, "result", []string{"ok", "failed", "fault"}); err != nil {
		return f, err
	}
	f.Method, err = frame.OneOf(r, "method", methods)
	f.From, f.To, f.Find, f.Code, f.Key = span.From, span.To, strings.TrimSpace(r.FormValue("q")), r.FormValue("code"), r.FormValue("key")
	f.After, f.Limit = r.FormValue("cursor"), frame.Rows+1
	return f, err
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete}

func (d *developers) requests(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := requestFilter(r)
	if err != nil {
		return err
	}
	list, total := d.Uses.Requests.List(v.Scope, f)
	list, next := frame.Cut(list, func(e requests.Entry) string { return e.ID })
	shown := requestsView{Since: d.Uses.Requests.Since(), Kept: requests.Kept, Pager: frame.Pager{Total: total, Next: next}}
	for _, method := range methods {
		shown.Methods = append(shown.Methods, frame.Option{Value: method, Label: method})
	}
	for _, e := range list {
		shown.List = append(shown.List, viewRequest(e))
	}
	return d.room.Show(w, r, v, "requests", shown)
}

func (d *developers) requestsFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := requestFilter(r)
	if err != nil {
		return err
	}
	f.Limit, f.After = requests.Kept, ""
	file, err := d.NewCSV(w, r, v, "requests", "request", "at", "method", "route", "object", "status", "error", "ms", "key")
	if err != nil {
		return err
	}
	list, _ := d.Uses.Requests.List(v.Scope, f)
	for _, e := range list {
		if err := file.Row(e.ID, e.At, e.Method, e.Route, e.Object, e.Status, e.Code, e.Took.Milliseconds(), e.Preview); err != nil {
			return err
		}
	}
	return file.End()
}

func (d *developers) request(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	e, found := d.Uses.Requests.Get(v.Scope, r.PathValue("id"))
	if !found {
		return message.Refusal(problem.NotFound, d.room.Text(v, "request_gone"))
	}
	return d.room.Show(w, r, v, "request", viewRequest(e))
}
