package call

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// OnceKey is the metadata key of an operation that may be repeated with an Idempotency-Key.
const OnceKey = "once"

// keyHeader is the header of the key, and RepeatHeader the one that a repeat's reply has.
const (
	keyHeader    = "Idempotency-Key"
	RepeatHeader = "Idempotency-Replayed"
)

// AccountPath names an account.
type AccountPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"stripe-mx"`
}

// MaxFileBody bounds a body with a file: a bank's answer, a provider's report, rates. Base64 takes a third more.
const MaxFileBody = 12 << 20

// MostFindings is how many differences or findings are shown.
const MostFindings = 500

// TimeOr is a time, zero if there is none.
func TimeOr(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// PageQuery is the part of a list that a request asks for.
type PageQuery struct {
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"The most rows of the page"`
	After string `query:"startingAfter" maxLength:"300" doc:"The nextCursor of the page before"`
}

// Cursor says where the next page begins.
type Cursor struct {
	Limit int     `json:"limit"`
	Next  *string `json:"nextCursor" doc:"The startingAfter of the next page; null on the last one"`
}

// Rows is the page to read: one row more than shown, to tell whether it is the last page.
func (p PageQuery) Rows() lists.Page { return lists.Page{Limit: p.Limit + 1, After: p.After} }

// Paged shows a page of the rows that were read. id is the cursor for the page after a row.
func Paged[R, V any](p PageQuery, rows []R, id func(R) string, show func(R) V) ([]V, Cursor) {
	at := Cursor{Limit: p.Limit}
	if len(rows) > p.Limit {
		rows = rows[:p.Limit]
		last := id(rows[p.Limit-1])
		at.Next = &last
	}
	shown := make([]V, 0, len(rows))
	for _, r := range rows {
		shown = append(shown, show(r))
	}
	return shown, at
}

// Cut takes the rows of a page, and one more, out of a list that is read whole, because it has few. place is where a row stands in the
// list, as a text that sorts as the list does, and the cursor for the page after it. So a page begins behind the place of the last row of
// the page before, also if that row is gone.
func Cut[R any](p PageQuery, list []R, place func(R) string) []R {
	return behind(p, list, strings.Compare, place)
}

// CutNewest is cut for a list whose places fall.
func CutNewest[R any](p PageQuery, list []R, place func(R) string) []R {
	return behind(p, list, func(x, y string) int { return strings.Compare(y, x) }, place)
}

func behind[R any](p PageQuery, list []R, order func(x, y string) int, place func(R) string) []R {
	list = slices.SortedStableFunc(slices.Values(list), func(x, y R) int { return order(place(x), place(y)) })
	if p.After != "" {
		list = slices.DeleteFunc(list, func(r R) bool { return order(place(r), p.After) <= 0 })
	}
	return list[:min(len(list), p.Limit+1)]
}

// Sortable is a time as a text that sorts as times do.
func Sortable(t time.Time) string { return fmt.Sprintf("%016x", uint64(max(t.UnixMicro(), 0))) } //nolint:gosec // no time is before 1970

// About turns an error that a use case wrote for the command line into one about a field. Those of the database, and those that are shown
// already, stay as they are.
func About(field string, err error) error {
	if _, shown := errors.AsType[*problem.Error](err); err == nil || shown || base.OfStore(err) {
		return err
	}
	return message.FieldRefusal(problem.InvalidRequest, field, message.Sentence(err))
}

// HeavyKey is the metadata key of an operation that reads so much that few are carried out at a time.
const HeavyKey = "heavy"

// heavyReads is how many places there are for heavy operations on a node. One person gets two, with all tokens together, and a second and
// a third person one each: the last place is never given (limit.Places).
const heavyReads = 5

// heavySoon is the value of Retry-After if a place will be free again within seconds.
const heavySoon = "5"

// Heavy bounds how many of an operation, and of all others that are heavy, are carried out at a time (OPR-4).
func Heavy(op huma.Operation) huma.Operation { return marked(op, HeavyKey) }

// marked sets a key of an operation's metadata.
func marked(op huma.Operation, key string) huma.Operation {
	if op.Metadata == nil {
		op.Metadata = map[string]any{}
	}
	op.Metadata[key] = true
	return op
}

// Is reports whether an operation is marked with a key.
func Is(op *huma.Operation, key string) bool {
	marked, _ := op.Metadata[key].(bool)
	return marked
}

// enter takes a place for an operation, if it is heavy. person is who has the token.
//
// Errors: rate_limited.
func (a *API) enter(reply http.Header, op *huma.Operation, person string) (leave func(), err error) {
	if !Is(op, HeavyKey) {
		return func() {}, nil
	}
	leave, ok := a.heavy.Enter(person)
	if !ok {
		reply.Set("Retry-After", heavySoon)
		return nil, message.Refusal(problem.RateLimited, "too much is being read at once: wait for your other requests to end, and send this one again")
	}
	return leave, nil
}

// Creates lets an operation be repeated with an Idempotency-Key (IDEM-13).
func Creates(op huma.Operation) huma.Operation {
	op.DefaultStatus = http.StatusCreated
	return Repeatable(op)
}

// Repeatable is creates for an operation that answers 200.
func Repeatable(op huma.Operation) huma.Operation {
	op = marked(op, OnceKey)
	longest, shortest := base.MaxIdempotencyKey, 1
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: keyHeader, In: "header", Description: fmt.Sprintf("1 to %d printable characters; a repeat within %d days gets the first reply, and does nothing", base.MaxIdempotencyKey, base.OnceDays),
		Schema: &huma.Schema{Type: huma.TypeString, MinLength: &shortest, MaxLength: &longest},
	})
	return op
}

// once carries out a request that may be repeated, or answers with the first reply. Requests with the same key take turns.
func (a *API) once(ctx huma.Context, owner string, next func(huma.Context)) error {
	r, w := humago.Unwrap(ctx)
	key, err := onceOf(r)
	if !Is(ctx.Operation(), OnceKey) || err != nil || key.Key == "" {
		if err == nil {
			next(ctx)
		}
		return err
	}
	done, err := a.turns.Lock(ctx.Context(), owner+"|"+key.Route+"|"+key.Key)
	if err != nil {
		return err
	}
	defer done()
	within, repeatable, reply, err := base.NewRepeatable(ctx.Context(), a.Base, owner, key)
	if err != nil {
		return err
	}
	if reply != nil {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(RepeatHeader, "true")
		w.WriteHeader(reply.Status)
		_, _ = w.Write(reply.Body) // the client may have gone
		return nil
	}
	within = context.WithoutCancel(within) // a client that hangs up gets the reply with a repeat
	kept := &recorder{ResponseWriter: w, status: http.StatusOK}
	next(humago.NewContext(ctx.Operation(), r.WithContext(within), kept))
	if err := repeatable.Store(within, base.Reply{Status: kept.status, Body: kept.body.Bytes()}); err != nil {
		a.Log.ErrorContext(within, "the reply of an operator's request is not stored: a repeat will not get it", "error", err)
	}
	w.WriteHeader(kept.status)
	_, _ = w.Write(kept.body.Bytes())
	return nil
}

// onceOf reads the key of a request, and the hash of what it asks for. A body that cannot be read has no key: its reader refuses it.
//
// Errors: invalid_request for the header.
func onceOf(r *http.Request) (base.Idempotency, error) {
	sent := r.Header.Values(keyHeader)
	if len(sent) == 0 {
		return base.Idempotency{}, nil
	}
	if key := sent[0]; len(sent) > 1 || key == "" || len(key) > base.MaxIdempotencyKey || strings.ContainsFunc(key, func(c rune) bool { return c < 0x20 || c > 0x7e }) {
		return base.Idempotency{}, message.FieldRefusal(problem.InvalidRequest, keyHeader, fmt.Sprintf("%s must have 1 to %d printable characters, once: send a UUID, for one", keyHeader, base.MaxIdempotencyKey))
	}
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		if err != nil {
			return base.Idempotency{}, nil //nolint:nilerr // whoever reads the body gets the error
		}
	}
	sum := sha256.Sum256(slices.Concat(wire.Canonical(body), []byte{'\n'}, []byte(r.URL.RawQuery)))
	return base.Idempotency{Route: r.Method + " " + r.URL.Path, Key: sent[0], Hash: base64.RawURLEncoding.EncodeToString(sum[:])}, nil
}

// failing fails as a reader did before.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil || errors.Is(f.err, io.EOF) {
		return 0, io.EOF
	}
	return 0, f.err
}

// recorder keeps a reply until it is stored.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader is for http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(part []byte) (int, error) { return r.body.Write(part) }

// partTime is how long a client may take to read a part of a file.
const partTime = time.Minute

// Archive is a ZIP archive that is sent while it is made. The reply begins with its first byte.
type Archive struct {
	http.ResponseWriter
	Name  string
	Lost  bool // the client has gone
	begun bool
}

// Write is for io.Writer.
func (a *Archive) Write(part []byte) (int, error) {
	if !a.begun {
		a.begun = true
		a.Header().Set("Content-Type", "application/zip")
		a.Header().Set("Content-Disposition", `attachment; filename="`+a.Name+`"`)
		a.WriteHeader(http.StatusOK)
	}
	web.Allow(a.ResponseWriter, partTime)
	n, err := a.ResponseWriter.Write(part)
	a.Lost = a.Lost || err != nil
	return n, err
}
