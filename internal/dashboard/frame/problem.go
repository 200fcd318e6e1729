package frame

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
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
	if web.ClientLeft(r.Context(), err) {
		return
	}
	t := f.trouble(r, err)
	if t.Kind == "fault" {
		f.Log.ErrorContext(r.Context(), "a page of the dashboard failed", "route", r.Pattern, "error", err)
	}
	p := f.own.page(r, v, nil)
	if shown, ok := errors.AsType[*problem.Error](err); ok && t.Kind != "fault" {
		t.Message = errorText(p.lang, shown)
	}
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
	t := trouble{Kind: "bad", Status: message.ShownOf(shown.Code).Status}
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
func FieldErrors(lang merchants.Language, err error) map[string]string {
	var shown *problem.Error
	if !errors.As(err, &shown) {
		return nil
	}
	wrong := map[string]string{}
	if shown.Param != "" {
		wrong[shown.Param] = ErrorText(lang, shown)
	}
	for _, issue := range shown.Details.Issues {
		wrong[issue.Path] = sentence(spoken(lang), issue.Reason)
	}
	if len(wrong) == 0 {
		return nil
	}
	return wrong
}

// Mistakes are what was wrong with a form, for the page that shows it again.
type Mistakes struct {
	Wrong map[string]string // by field
	Error string            // of the whole form
}

// MistakesOf are the mistakes that an error tells of, with the status of the page. An error that is not about what was
// sent is returned.
func MistakesOf(v *Visit, err error) (m Mistakes, status int, fault error) {
	shown, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return Mistakes{}, 0, err
	}
	switch status := message.ShownOf(shown.Code).Status; status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity:
		if wrong := FieldErrors(v.Language(), err); wrong != nil {
			return Mistakes{Wrong: wrong}, status, nil
		}
		return Mistakes{Error: ErrorText(v.Language(), shown)}, status, nil
	}
	return Mistakes{}, 0, err
}

// ErrorText is what an error says, in the language of a page.
func ErrorText(lang merchants.Language, e *problem.Error) string { return errorText(spoken(lang), e) }

func errorText(lang string, e *problem.Error) string {
	if !e.Reason.None() {
		return sentence(lang, e.Reason)
	}
	var all []string
	for _, issue := range e.Details.Issues {
		all = append(all, sentence(lang, issue.Reason))
	}
	return strings.Join(all, " ")
}

func sentence(lang string, why problem.Reason) string {
	return Sentence(message.Page(lang, why, argument))
}

// argument is a value of a message: an amount, a time and a status as pages write them.
func argument(lang string, arg any) (text string, own bool) {
	switch arg := arg.(type) {
	case money.Amount:
		return moneyText(lang, arg), true
	case time.Time:
		return timeText(lang, arg), true
	}
	v := reflect.ValueOf(arg)
	if v.Kind() != reflect.String || v.Type() == reflect.TypeFor[string]() {
		return "", false
	}
	texts, err := textsOf(textFiles)
	status, known := texts[lang]["status_"+v.String()]
	return strings.ToLower(status), known && err == nil
}
