// Package requests remembers the last API requests of each merchant, for its developers: what was asked, how it
// was answered, and what was wrong. It is kept in the memory of one node, from its start on, so that a request
// costs no write. It keeps no body, no address and no credentials, and leaves out of an error's text what looks
// like a secret or personal data.
package requests

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
)

const (
	// Kept is the number of requests that are kept of a merchant in an environment.
	Kept = 250
	// mostOwners is the number of merchants and environments that are kept; beyond it, the one that has been
	// silent for longest is forgotten.
	mostOwners = 250
	// mostSources is the number of sources that a ring knows at a time.
	mostSources = 100
	// longestText is the number of bytes that are kept of an error's text.
	longestText = 400
)

// Entry is one answered request.
type Entry struct {
	ID      string // req_…
	Shop    string // "": the whole merchant's key, and no shop was named
	At      time.Time
	Took    time.Duration
	Method  string
	Route   string // the pattern of the path: /api/v1/payments/{id}
	Object  string // the id in the path, if it is one of ours
	Status  int    // of HTTP
	Key     string // key_…
	Preview string // of the key
	Code    string // of the error; "" if there was none
	Message string
	Param   string   // the field that was wrong
	Fields  []string // all of them
}

// Failed reports whether the request was answered with an error.
func (e Entry) Failed() bool { return e.Status >= 400 }

// Filter selects requests. Empty fields select all.
type Filter struct {
	Result string // ok, failed, or fault for 5xx
	Method string
	Key    string // key_…
	Code   string
	Find   string    // in the id, the route and the object
	From   time.Time // inclusive
	To     time.Time // exclusive
	After  string    // the id of the entry after which the page begins
	Limit  int
}

// Log is the memory. It is safe for use by many goroutines.
type Log struct {
	since time.Time
	mu    sync.Mutex // guards the fields below
	of    map[owner]*ring
	n     int64 // requests so far
}

type owner struct {
	merchant string
	live     bool
}

// ring has the last entries; next is the place of the next one once it is full. last is the number of the
// newest among all requests.
type ring struct {
	entries []stored
	sources map[source]*source
	next    int
	last    int64
}

// stored is an Entry in memory. It is small, and what many requests share is kept once: the garbage collector scans
// everything that lives long, so each byte and pointer here costs every payment.
type stored struct {
	id, object string
	at         int64 // microseconds
	took       time.Duration
	status     int
	from       *source
	failure    *failure // nil: it was answered well
}

type source struct{ shop, method, route, key, preview string }

type failure struct {
	code, message, param string
	fields               []string
}

// latest is the source of the entry before; nil for none.
func (r *ring) latest() *source {
	if len(r.entries) == 0 {
		return nil
	}
	return r.entries[(r.next+len(r.entries)-1)%len(r.entries)].from
}

func (r *ring) keep(e Entry) stored {
	k := stored{id: e.ID, object: e.Object, at: e.At.UnixMicro(), took: e.Took, status: e.Status}
	from := source{e.Shop, e.Method, e.Route, e.Key, e.Preview}
	if last := r.latest(); last != nil && *last == from { // as most of a busy shop's requests
		k.from = last
	} else if k.from = r.sources[from]; k.from == nil {
		if r.sources == nil || len(r.sources) >= mostSources {
			r.sources = map[source]*source{} // entries keep theirs
		}
		fresh := from // only what stays is on the heap
		k.from, r.sources[from] = &fresh, &fresh
	}
	if e.Failed() {
		k.failure = &failure{e.Code, e.Message, e.Param, e.Fields}
	}
	return k
}

func (s stored) entry() Entry {
	e := Entry{
		ID: s.id, Shop: s.from.shop, At: time.UnixMicro(s.at).UTC(), Took: s.took, Method: s.from.method, Route: s.from.route, Object: s.object,
		Status: s.status, Key: s.from.key, Preview: s.from.preview,
	}
	if f := s.failure; f != nil {
		e.Code, e.Message, e.Param, e.Fields = f.code, f.message, f.param, f.fields
	}
	return e
}

// New returns an empty log.
func New(now time.Time) *Log { return &Log{since: now, of: map[owner]*ring{}} }

// Since is when the log began.
func (l *Log) Since() time.Time { return l.since }

// Add remembers a request of a merchant in an environment.
func (l *Log) Add(merchant string, live bool, e Entry) {
	if e.Failed() {
		e.Message = Harmless(e.Message)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	own, known := l.of[owner{merchant, live}]
	if !known {
		if len(l.of) >= mostOwners {
			l.forget()
		}
		own = new(ring)
		l.of[owner{merchant, live}] = own
	}
	l.n++
	own.last = l.n
	if len(own.entries) < Kept {
		own.entries = append(own.entries, own.keep(e))
		return
	}
	own.entries[own.next] = own.keep(e)
	own.next = (own.next + 1) % Kept
}

// forget makes room: it drops the requests of the one that has been silent for longest.
func (l *Log) forget() {
	var silent owner
	first := l.n + 1
	for who, r := range l.of {
		if r.last < first {
			silent, first = who, r.last
		}
	}
	delete(l.of, silent)
}

// List lists the requests of a shop, newest first, with the number that the filter selects. Requests that name
// no shop, with a key of the whole merchant, belong to all its shops.
func (l *Log) List(scope merchants.Scope, f Filter) (list []Entry, total int) {
	begun := f.After == ""
	for _, e := range l.all(scope) {
		if f.selects(e) {
			total++
			if begun && len(list) < f.Limit {
				list = append(list, e)
			}
		}
		begun = begun || e.ID == f.After
	}
	return list, total
}

// Get reads one request of a shop.
func (l *Log) Get(scope merchants.Scope, id string) (Entry, bool) {
	for _, e := range l.all(scope) {
		if e.ID == id {
			return e, true
		}
	}
	return Entry{}, false
}

// all copies the requests of a shop, newest first.
func (l *Log) all(scope merchants.Scope) (list []Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, known := l.of[owner{scope.Merchant, scope.Live}]
	if !known {
		return nil
	}
	for i := range own.entries {
		n := len(own.entries)
		if k := own.entries[(own.next-1-i+2*n)%n]; k.from.shop == "" || k.from.shop == scope.Shop {
			list = append(list, k.entry())
		}
	}
	return list
}

func (f Filter) selects(e Entry) bool {
	switch f.Result {
	case "ok":
		if e.Failed() {
			return false
		}
	case "failed":
		if !e.Failed() {
			return false
		}
	case "fault":
		if e.Status < 500 {
			return false
		}
	}
	return (f.Method == "" || e.Method == f.Method) && (f.Key == "" || e.Key == f.Key) && (f.Code == "" || e.Code == f.Code) &&
		(f.From.IsZero() || !e.At.Before(f.From)) && (f.To.IsZero() || e.At.Before(f.To)) &&
		(f.Find == "" || strings.Contains(e.ID+" "+e.Route+" "+e.Object, f.Find))
}

var (
	// private is what may be a secret or personal data: quoted text, credentials, tokens, e-mail addresses, long numbers.
	private = regexp.MustCompile(`(?i)"(?:[^"\\]|\\.)*(?:"|$)|\b(?:sk|pk|rk|cs|whsec|at|rt)_[\w-]{6,}|\beyJ[\w.-]+|[^\s"'<>(),;]+@[^\s"'<>(),;]+|\+?\d(?:[ .\-/]?\d){5,}`)
	// amount is a number that is not personal data.
	amount = regexp.MustCompile(`^\d{1,9}\.\d{2}$`)
	// ours are the ids that a path may have.
	ours = regexp.MustCompile(`^(?:TXN-|CLM-|STL-|wh_|evt_|wal_|wdr_|kyc_)[0-9A-Za-z-]{1,64}$`)
)

// Harmless is an error's text without what may be a secret or personal data, and not too long.
func Harmless(text string) string {
	text = private.ReplaceAllStringFunc(text, func(found string) string {
		if amount.MatchString(found) {
			return found
		}
		return "…"
	})
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	return text
}

// Object is the id in a path, "" if it is none of ours: a path may hold anything, also a checkout's token.
func Object(id string) string {
	if ours.MatchString(id) {
		return id
	}
	return ""
}
