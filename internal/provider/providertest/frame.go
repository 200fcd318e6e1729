package providertest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/cascadapay/cascada/internal/money"
)

// Charge is a charge in a fake's books: a pointer to a struct with an embedded Entry and
// what the provider shows of a charge.
type Charge interface{ entry() *Entry }

func (e *Entry) entry() *Entry { return e }

// Frame is the base of every fake: its books under a lock, the answers kept for idempotency
// keys, and what the suite needs of both. A fake embeds one, and adds ServeHTTP,
// Notification and RefundNotification by the provider's documentation.
type Frame[C Charge] struct {
	sync.Mutex          // guards what follows
	Charges    []C      // in the order in which they were made
	Coming     Ending   // the state of later charges; "" is Open
	Refusing   bool     // refunds
	Changed    func(C)  // called, if set, for a charge with a new ending
	Conflict   Conflict // the answer if a key was used for another request; nil: the first answer
	kept       map[string]storedAnswer
}

// Conflict is an answer.
type Conflict func() (status int, reply any)

// storedAnswer is the answer kept for an idempotency key.
type storedAnswer struct {
	request string
	status  int
	reply   json.RawMessage
}

// Next implements Fake.
func (f *Frame[C]) Next(e Ending) {
	f.Lock()
	defer f.Unlock()
	f.Coming = e
}

// RefuseRefunds implements Fake.
func (f *Frame[C]) RefuseRefunds() {
	f.Lock()
	defer f.Unlock()
	f.Refusing = true
}

// Forget implements Fake.
func (f *Frame[C]) Forget() {
	f.Lock()
	defer f.Unlock()
	f.kept = nil
}

// Move implements Fake.
func (f *Frame[C]) Move(reference string, e Ending) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	c.entry().Ending = e
	f.changed(c)
}

// MoveRefund implements Fake.
func (f *Frame[C]) MoveRefund(reference string, n int, e Ending) {
	f.Lock()
	defer f.Unlock()
	f.Must(reference).entry().Refunds[n].Ending = e
}

// Panel adds a refund that somebody makes in the provider's panel: it has no reference of ours. It returns its place.
func (f *Frame[C]) Panel(reference string, local money.Amount) int {
	f.Lock()
	defer f.Unlock()
	e := f.Must(reference).entry()
	e.Refunds = append(e.Refunds, Refund{Local: local, Ending: Paid})
	return len(e.Refunds) - 1
}

// Books implements Fake.
func (f *Frame[C]) Books() []Entry {
	f.Lock()
	defer f.Unlock()
	var list []Entry
	for _, c := range f.Charges {
		e := *c.entry()
		e.Refunds = append([]Refund(nil), e.Refunds...)
		list = append(list, e)
	}
	return list
}

// Of returns the charge with our reference. The caller of this and of the methods below
// holds the lock, as ServeHTTP does within Serve.
func (f *Frame[C]) Of(reference string) (c C, found bool) {
	for _, c := range f.Charges {
		if c.entry().Reference == reference && !c.entry().Gone {
			return c, true
		}
	}
	return c, false
}

// Must returns the charge with a reference; it panics if there is none.
func (f *Frame[C]) Must(reference string) C {
	c, found := f.Of(reference)
	if !found {
		panic("the fake has no charge " + reference)
	}
	return c
}

// Enter adds a charge to the books, in the state that Next has set.
func (f *Frame[C]) Enter(c C) C {
	c.entry().Ending = cmp.Or(f.Coming, Open)
	f.Charges = append(f.Charges, c)
	f.changed(c)
	return c
}

func (f *Frame[C]) changed(c C) {
	if f.Changed != nil {
		f.Changed(c)
	}
}

// Give adds a refund to a charge. It returns false, and adds nothing, if refunds are
// refused, the charge was not paid, or less is left.
func (f *Frame[C]) Give(c C, reference string, local money.Amount) bool {
	e := c.entry()
	left := e.Local.Minor - local.Minor
	for _, r := range e.Refunds {
		left -= r.Local.Minor
	}
	if f.Refusing || e.Ending != Paid || left < 0 || local.Minor < 1 || local.Currency != e.Local.Currency {
		return false
	}
	e.Refunds = append(e.Refunds, Refund{Reference: reference, Local: local})
	return true
}

// Once does the work for an idempotency key once, and gives a repetition the first answer.
// "" is no key; a refusal is not kept.
func (f *Frame[C]) Once(key, request string, do func() (int, any)) (int, any) {
	before, again := f.kept[key]
	switch {
	case key == "":
		return do()
	case again && before.request != request && f.Conflict != nil:
		return f.Conflict()
	case again:
		return before.status, before.reply
	}
	status, reply := do()
	if status < http.StatusMultipleChoices || status == http.StatusPaymentRequired {
		if f.kept == nil {
			f.kept = map[string]storedAnswer{}
		}
		f.kept[key] = storedAnswer{request, status, JSON(reply)}
	}
	return status, reply
}

// Serve answers a call under the lock: with JSON, or with plain text if the reply is a
// string.
func (f *Frame[C]) Serve(w http.ResponseWriter, r *http.Request, answer func(body []byte) (status int, reply any)) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	f.Lock()
	defer f.Unlock()
	status, reply := answer(body)
	if text, plain := reply.(string); plain {
		http.Error(w, text, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(JSON(reply))
}

// JSON is a value as a fake writes it.
func JSON(of any) json.RawMessage {
	text, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	return text
}

// Fields reads a body with its numbers as written; nil if it is not a JSON object.
func Fields(body []byte) (fields map[string]any) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&fields) != nil {
		return nil
	}
	return fields
}

// Strict reads a body that has only the fields of into, and reports whether it could.
func Strict(body []byte, into any) bool {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into) == nil
}
