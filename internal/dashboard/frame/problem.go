package frame

import (
	"errors"
	"net/http"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
)

// trouble is what the page about an error shows.
type trouble struct {
	Kind    string // of the texts problem_<kind>_title and problem_<kind>_next
	Message string // for an error that the visitor may read
	Request string // its id, for a fault
	Status  int
}

// Problem shows an error: a problem.Error with its message and status; any other one, a fault, with the id of
// the request, under which it is in the log. v may be nil. To htmx, which asked for a part of a page, it
// shows a notice.
func (f *Frame) Problem(w http.ResponseWriter, r *http.Request, v *Visit, err error) {
	if web.Left(r.Context(), err) {
		return
	}
	t := f.trouble(r, err)
	if t.Kind == "fault" {
		f.Log.ErrorContext(r.Context(), "a page of the dashboard failed", "route", r.Pattern, "error", err)
	}
	p := f.own.page(r, v, nil)
	t.Message = f.said(p.lang, t.Message)
	p.Data = t
	page, failed := f.own.find("problem", "notice")
	switch {
	case failed != nil:
	case Partial(r):
		w.Header().Set("HX-Retarget", "#notices")
		w.Header().Set("HX-Reswap", "innerHTML show:#notices:top")
		failed = p.write(w, t.Status, page, "notice")
	default:
		p.layout(w, r, page)
		failed = p.write(w, t.Status, page, p.Frame.Name)
	}
	if failed != nil {
		f.Log.ErrorContext(r.Context(), "the page about an error cannot be made", "error", failed)
		http.Error(w, "something went wrong", http.StatusInternalServerError)
	}
}

func (f *Frame) trouble(r *http.Request, err error) trouble {
	var shown *problem.Error
	if !errors.As(err, &shown) || shown.Code == problem.Internal {
		return trouble{Kind: "fault", Request: web.RequestID(r.Context()), Status: http.StatusInternalServerError}
	}
	t := trouble{Kind: "bad", Message: shown.Message, Status: shown.Code.Shown().Status}
	switch t.Status {
	case 0:
		t.Status = http.StatusBadRequest
	case http.StatusNotFound:
		t.Kind = "unknown"
	case http.StatusUnauthorized, http.StatusForbidden:
		t.Kind = "forbidden"
	case http.StatusConflict:
		t.Kind = "moved"
	case http.StatusTooManyRequests:
		t.Kind = "often"
	case http.StatusServiceUnavailable:
		t.Kind = "busy"
	}
	return t
}

// Sentence is a message with a capital letter: the API's begin with a small one.
func Sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + message[size:]
}

// FieldErrors says what is wrong with each field of a form, by the field's name as the problem has it. It is
// nil for an error that is about no field, which Problem shows.
func FieldErrors(err error) map[string]string {
	var shown *problem.Error
	if !errors.As(err, &shown) {
		return nil
	}
	wrong := map[string]string{}
	if shown.Param != "" {
		wrong[shown.Param] = Sentence(shown.Message)
	}
	for _, issue := range shown.Details.Issues {
		wrong[issue.Path] = Sentence(issue.Message)
	}
	if len(wrong) == 0 {
		return nil
	}
	return wrong
}
