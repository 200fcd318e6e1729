package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// Unauthorized reports whether credentials were refused.
func Unauthorized(err error) bool {
	shown, ok := errors.AsType[*problem.Error](err)
	return ok && message.ShownOf(shown.Code).Status == http.StatusUnauthorized
}

// Envelope is the body of every error (ERR-1).
type Envelope struct {
	status  int
	headers http.Header
	Err     Problem `json:"error"`
}

// Problem is an error as a client sees it.
type Problem struct {
	Code      problem.Code `json:"code" doc:"Stable; switch on it"`
	Type      message.Kind `json:"type" enum:"invalid_request_error,authentication_error,permission_error,card_error,routing_error,conflict_error,idempotency_error,balance_error,rate_limit_error,api_error"`
	Message   string       `json:"message" doc:"For people"`
	Param     string       `json:"param,omitempty" doc:"The offending field"`
	Decline   string       `json:"decline_code,omitempty" doc:"The card's decline reason"`
	RequestID string       `json:"requestId"`
	Details   *Details     `json:"details,omitempty"`
}

// Details is what a client may act on.
type Details struct {
	Issues        []Issue                `json:"issues,omitempty"`
	MissingFields []string               `json:"missingFields,omitempty"`
	HelpURL       string                 `json:"helpUrl,omitempty" doc:"A page for people about this error"`
	Limit         *Bounds                `json:"limit,omitempty"`
	BoundViolated string                 `json:"boundViolated,omitempty" enum:"min,max"`
	Reason        string                 `json:"reason,omitempty"`
	ExistingTxID  string                 `json:"existingTxId,omitempty"`
	TransactionID string                 `json:"transactionId,omitempty"`
	RedirectURL   string                 `json:"redirectUrl,omitempty"`
	Attempts      []problem.AttemptTrace `json:"attempts,omitempty"`
	From          string                 `json:"from,omitempty"`
	Action        string                 `json:"action,omitempty"`
	Right         string                 `json:"right,omitempty" doc:"The right that the key lacks"`
	Balance       *Shortfall             `json:"balance,omitempty" doc:"What there is for this, and what was requested"`
	ReplayID      string                 `json:"replayId,omitempty" doc:"The replay that is running"`
	ProposalID    string                 `json:"proposalId,omitempty" doc:"For operators: what waits for a second person"`
}

// Issue is one thing that is wrong with a request.
type Issue struct {
	Path    string `json:"path" doc:"The field, as the caller wrote it"`
	Message string `json:"message"`
}

// Invalid returns one invalid_request that lists all issues, or nil if there are none.
func Invalid(issues ...Issue) error { return problem.Invalid(reasons(issues)...) }

// reasons are issues that were found here, as data.
func reasons(issues []Issue) []problem.Issue {
	list := make([]problem.Issue, 0, len(issues))
	for _, i := range issues {
		list = append(list, problem.Issue{Path: i.Path, Reason: message.Literal(i.Message)})
	}
	return list
}

// Shortfall is a balance's available amount, and the requested one.
type Shortfall struct {
	Available view.Money     `json:"available"`
	Requested view.Money     `json:"requested"`
	Currency  money.Currency `json:"currency"`
}

// Bounds are the limits that an amount violated.
type Bounds struct {
	Min      view.Money     `json:"min"`
	Max      view.Money     `json:"max"`
	Currency money.Currency `json:"currency"`
}

// GetHeaders implements huma.HeadersError. Huma adds others to these headers.
func (e *Envelope) GetHeaders() http.Header { return e.headers }

func (e *Envelope) Error() string { return string(e.Err.Code) + ": " + e.Err.Message }

// GetStatus implements huma.StatusError.
func (e *Envelope) GetStatus() int { return e.status }

// ContentType implements huma.ContentTypeFilter; huma's default is application/problem+json.
func (e *Envelope) ContentType(string) string { return "application/json" }

// Show returns an error as clients see it. An error that is not a *problem.Error is a fault: it is logged
// here, once, and shown as internal_error. Whoever leaves before the answer causes no fault.
func Show(ctx context.Context, log *slog.Logger, err error) *Envelope {
	if web.ClientLeft(ctx, err) {
		left := newEnvelope(ctx, message.Refusal(problem.InvalidRequest, "the connection was closed before the answer"))
		left.status = web.StatusLeft
		return left
	}
	var shown *problem.Error
	if !errors.As(err, &shown) {
		log.ErrorContext(ctx, "a request failed", "error", err)
		shown = Fault()
	}
	return newEnvelope(ctx, shown)
}

// Fault is the public error for a fault, without internal details.
func Fault() *problem.Error {
	return message.Refusal(problem.Internal, "something went wrong on our side: retry, with the same Idempotency-Key if you sent one")
}

// retryAfter is Retry-After in seconds, by the reason of service_unavailable.
var retryAfter = map[string]string{pay.Recovering: "60", pay.Emptying: "10"}

type referenceKey struct{}

// WithReference sets the address of the API's reference: errors link to their entry there.
func WithReference(ctx context.Context, page string) context.Context {
	return context.WithValue(ctx, referenceKey{}, page)
}

func newEnvelope(ctx context.Context, e *problem.Error) *Envelope {
	to := message.ShownOf(e.Code)
	if page, ok := ctx.Value(referenceKey{}).(string); ok && e.Details.HelpURL == "" {
		linked := *e
		linked.Details.HelpURL = page + "#error-" + string(e.Code)
		e = &linked
	}
	out := &Envelope{to.Status, http.Header{}, Problem{
		Code: e.Code, Type: to.Kind, Message: message.API(e), Param: e.Param, Decline: e.Decline, RequestID: web.RequestID(ctx),
	}}
	d := e.Details
	web.Failed(ctx, failure(e))
	if wait := retryAfter[d.Reason]; wait != "" && to.Status == http.StatusServiceUnavailable {
		out.headers.Set("Retry-After", wait)
	}
	details := Details{
		Issues: issuesOf(e), MissingFields: d.MissingFields, HelpURL: d.HelpURL, BoundViolated: d.BoundViolated, Reason: d.Reason,
		ExistingTxID: d.ExistingTxID, TransactionID: d.TransactionID, RedirectURL: d.RedirectURL, Attempts: d.Attempts,
		From: d.From, Action: d.Action, Right: d.Right, ReplayID: d.ReplayID, ProposalID: d.Proposal,
	}
	if d.Balance != nil {
		details.Balance = &Shortfall{view.Money{Amount: d.Balance.Available}, view.Money{Amount: d.Balance.Requested}, d.Balance.Requested.Currency}
	}
	if d.Limit != nil {
		details.Limit = &Bounds{view.Money{Amount: d.Limit.Min}, view.Money{Amount: d.Limit.Max}, d.Limit.Min.Currency}
	}
	if text, err := json.Marshal(details); err != nil || string(text) != "{}" {
		out.Err.Details = &details
	}
	return out
}

// issuesOf are an error's issues with their sentences.
func issuesOf(e *problem.Error) (list []Issue) {
	for _, i := range e.Details.Issues {
		list = append(list, Issue{i.Path, message.Text(i.Reason)})
	}
	return list
}

// Write replies with an error outside huma.
func Write(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	e := Show(r.Context(), log, err)
	maps.Copy(w.Header(), e.headers)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	_ = json.NewEncoder(w).Encode(e) // the client may have gone
}

// failure is an error for the log of requests: without the values that were sent, which may be a person's.
func failure(e *problem.Error) web.Failure {
	f := web.Failure{Code: string(e.Code), Message: unsaid(message.API(e)), Param: e.Param}
	var texts []string
	for _, issue := range e.Details.Issues {
		f.Fields = append(f.Fields, issue.Path)
		texts = append(texts, unsaid(message.Text(issue.Reason)))
	}
	if len(texts) > 0 {
		f.Message = strings.Join(texts, "; ")
	}
	return f
}

// unsaid is a message without the value that was sent, which comes last.
func unsaid(message string) string {
	message, _, _ = strings.Cut(message, "; you sent ")
	return message
}

// Huma flattens errors to text, so their kind is a prefix of the text.
const (
	missingMark     = "\x00missing:"
	codeMark        = "\x00code:"
	jsonMark        = "\x00json:"
	unprintableMark = "\x00unprintable:"
	typeMark        = "\x00type:"
)

// Coded is an issue of one field with its own code.
func Coded(code problem.Code, path, message string) error {
	return &huma.ErrorDetail{Location: path, Message: codeMark + string(code) + ":" + message}
}

// Adopt makes huma use our envelope. Its hooks are global, shared by every API of the process, so they are
// set once.
var Adopt = sync.OnceFunc(func() {
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
		return validationError(ctx.Context(), status, message, errs)
	}
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return validationError(context.Background(), status, message, errs)
	}
	validation.MsgExpectedRequiredProperty = missingMark + "%s"
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true
})

// cannotRead is huma's message when reading a body failed.
const cannotRead = "cannot read request body"

// Unread is the error for a body that could not be read: it was too large, refused by whoever counts bodies, or did not
// arrive as HTTP has it, such as in broken chunks. That is never a fault of ours.
func Unread(err error) *problem.Error {
	if shown, ok := errors.AsType[*problem.Error](err); ok {
		return shown
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return message.Refusal(problem.PayloadTooLarge, fmt.Sprintf("the body is larger than %d KiB: send less at a time", tooLarge.Limit>>10))
	}
	return message.Refusal(problem.InvalidRequest, "the body did not arrive: send it again")
}

// validationError turns huma's findings about a request into our error: a single one has its own code,
// several are listed (ERR-14).
func validationError(ctx context.Context, status int, text string, errs []error) huma.StatusError {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return newEnvelope(ctx, message.Refusal(problem.PayloadTooLarge, "the body is larger than this endpoint takes, 1 MiB but for evidence: send less at a time"))
	case http.StatusUnsupportedMediaType:
		return newEnvelope(ctx, contentType())
	case http.StatusRequestTimeout:
		return newEnvelope(ctx, message.Refusal(problem.InvalidRequest, "the body did not arrive in time: send it again"))
	case http.StatusInternalServerError:
		if text == cannotRead && len(errs) > 0 {
			return newEnvelope(ctx, Unread(errors.Join(errs...)))
		}
		return newEnvelope(ctx, Fault())
	}
	e := problem.Error{Code: problem.InvalidRequest}
	if len(errs) == 0 {
		// Huma's error for an empty body.
		e.Code, text = problem.InvalidJSON, "the body is empty: send a JSON object, {} at least"
	}
	help := helpOf(ctx)
	found := findings{help: help, strangers: help.strangers(), codes: map[problem.Code]bool{}}
	for _, err := range errs {
		var d *huma.ErrorDetail
		if !errors.As(err, &d) {
			continue
		}
		if text, ok := strings.CutPrefix(d.Message, jsonMark); ok {
			return newEnvelope(ctx, message.Refusal(problem.InvalidJSON, text))
		}
		if !found.add(d) {
			break
		}
	}
	found.addStrangers()
	e.Details.Issues, e.Details.MissingFields = reasons(found.issues), found.missing
	if len(found.issues) > 0 {
		e.Param, text = found.issues[0].Path, summary(found.issues)
	}
	if found.more {
		text += "; there are more mistakes: correct these first"
	}
	e.Reason = message.Literal(text)
	if len(found.issues) == 1 {
		for code := range found.codes {
			e.Code = code
		}
	}
	if help.About != nil && slices.ContainsFunc(found.issues, help.About) {
		e.Code = problem.InvalidRequest
	}
	return newEnvelope(ctx, &e)
}

// findings are the issues of a request, at most mostIssues.
type findings struct {
	help      Help
	strangers []stranger
	issues    []Issue
	missing   []string
	codes     map[problem.Code]bool
	seen      map[string]bool // paths of issues
	unknown   []string        // paths of fields that a closed body does not have
	tooLong   string          // the list whose items do not matter
	more      bool            // there are more than are shown
}

// add adds one of huma's findings; false if there are too many.
func (f *findings) add(d *huma.ErrorDetail) bool {
	if f.tooLong != "" && strings.HasPrefix(d.Location, f.tooLong+"[") {
		return true
	}
	if d.Message == validation.MsgUnexpectedProperty {
		f.unknown = append(f.unknown, strings.TrimPrefix(d.Location, "body."))
		return true
	}
	if strings.HasPrefix(d.Message, tooManyItems) {
		f.tooLong = d.Location
	}
	if f.full() {
		return false
	}
	issue, code := readIssue(d, f.help, f.strangers)
	if f.seen[issue.Path] {
		return true
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[issue.Path], f.codes[code] = true, true
	if code == problem.MissingField {
		f.missing = append(f.missing, issue.Path)
	}
	f.issues = append(f.issues, issue)
	return true
}

// addStrangers adds the unknown fields: of a closed body, or all if the caller asked for that.
func (f *findings) addStrangers() {
	var all []stranger
	slices.Sort(f.unknown)
	for _, path := range f.unknown[:min(mostStrangers, len(f.unknown))] {
		if s := f.help.strangerAt(path); !f.missed(s) {
			all = append(all, s)
		}
	}
	if f.help.Strict && len(all) == 0 {
		all = f.strangers
	}
	for _, s := range all {
		if f.full() {
			return
		}
		f.codes[problem.InvalidRequest] = true
		f.issues = append(f.issues, s.issue())
	}
}

// missed reports whether a field that is missing was meant by an unknown one: its issue says so.
func (f *findings) missed(s stranger) bool {
	meant := strings.TrimPrefix(s.parent+"."+s.meant(), ".")
	return slices.Contains(f.missing, meant)
}

// full reports whether no more issues are shown, although there are.
func (f *findings) full() bool {
	f.more = f.more || len(f.issues) >= mostIssues
	return f.more
}

// mostIssues is how many mistakes one answer lists: more help nobody, and an answer must not be much larger than its request.
const mostIssues = 20

// tooManyItems begins huma's finding about a list that is too long.
const tooManyItems = "expected array length <= "

// summary describes the issues in one line.
func summary(issues []Issue) string {
	const most = 3
	var texts []string
	for _, i := range issues[:min(most, len(issues))] {
		texts = append(texts, i.Message)
	}
	if more := len(issues) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more are in details.issues", more))
	}
	return strings.Join(texts, "; ")
}

// readIssue reads one of huma's findings.
func readIssue(d *huma.ErrorDetail, help Help, strangers []stranger) (Issue, problem.Code) {
	path := d.Location
	for _, part := range []string{"body", "query", "path", "header"} {
		if path == part {
			path = ""
		}
		path = strings.TrimPrefix(path, part+".")
	}
	if field, ok := strings.CutPrefix(d.Message, missingMark); ok {
		if path != "" {
			field = path + "." + field
		}
		return Issue{Path: field, Message: help.required(field, strangers)}, problem.MissingField
	}
	if text, ok := strings.CutPrefix(d.Message, codeMark); ok {
		code, message, _ := strings.Cut(text, ":")
		if problem.Code(code) == problem.MissingField && help.field(path) != nil {
			message = help.required(path, strangers)
		}
		return Issue{Path: path, Message: message}, problem.Code(code)
	}
	if field, ok := strings.CutPrefix(d.Message, unprintableMark); ok {
		return Issue{Path: field, Message: field + " must not contain control characters, or marks that turn the direction of writing: take them out"}, problem.InvalidRequest
	}
	if field, ok := strings.CutPrefix(d.Message, typeMark); ok {
		return Issue{Path: field, Message: help.misfit(field)}, problem.InvalidRequest
	}
	return Issue{Path: path, Message: help.plain(path, d)}, problem.InvalidRequest
}

func contentType() *problem.Error {
	return message.Refusal(problem.ContentTypeRequired, "the body must be JSON, and say so: send the header Content-Type: application/json")
}
