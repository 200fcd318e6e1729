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

// Charge is a charge in a fake's books: a pointer to a struct that embeds an
// Entry, beside what the provider shows of a charge.
type Charge interface{ entry() *Entry }

func (e *Entry) entry() *Entry { return e }

// Frame is what every fake is made of: its books under a lock, the answers that
// idempotency keys stand for, and what the suite asks of both. A fake embeds one,
// and adds ServeHTTP, Notification and RefundNotification as the provider's
// documentation has them.
type Frame[C Charge] struct {
	sync.Mutex          // owns what follows
	Charges    []C      // in the order in which they were made
	Coming     Ending   // how the charges that follow stand; "" is Open
	Refusing   bool     // refunds
	Changed    func(C)  // told, where it is set, of a charge that has another ending
	Conflict   Conflict // the answer to a key that was used for another request; nil: the first answer
	kept       map[string]kept
}

// Conflict is an answer.
type Conflict func() (status int, reply any)

// kept is the answer that an idempotency key stands for.
type kept struct {
	request string
	status  int
	reply   json.RawMessage
}

// Next is for Fake.
func (f *Frame[C]) Next(e Ending) {
	f.Lock()
	defer f.Unlock()
	f.Coming = e
}

// RefuseRefunds is for Fake.
func (f *Frame[C]) RefuseRefunds() {
	f.Lock()
	defer f.Unlock()
	f.Refusing = true
}

// Forget is for Fake.
func (f *Frame[C]) Forget() {
	f.Lock()
	defer f.Unlock()
	f.kept = nil
}

// Move is for Fake.
func (f *Frame[C]) Move(reference string, e Ending) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	c.entry().Ending = e
	f.changed(c)
}

// MoveRefund is for Fake.
func (f *Frame[C]) MoveRefund(reference string, n int, e Ending) {
	f.Lock()
	defer f.Unlock()
	f.Must(reference).entry().Refunds[n].Ending = e
}

// Books is for Fake.
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

// Of is the charge under a reference of ours. The caller of this and of what
// follows holds the lock, as ServeHTTP does within Serve.
func (f *Frame[C]) Of(reference string) (c C, found bool) {
	for _, c := range f.Charges {
		if c.entry().Reference == reference && !c.entry().Gone {
			return c, true
		}
	}
	return c, false
}

// Must is the charge under a reference that there is.
func (f *Frame[C]) Must(reference string) C {
	c, found := f.Of(reference)
	if !found {
		panic("the fake has no charge " + reference)
	}
	return c
}

// Enter adds a charge to the books, which stands as Next has said.
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

// Give adds a refund to a charge's. It is false, and nothing is added, where
// refunds are refused, the charge was not paid, or there is not so much left.
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

// Once does what an idempotency key stands for, and answers a repetition as the
// first time. "" is no key; what was refused is not kept.
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
			f.kept = map[string]kept{}
		}
		f.kept[key] = kept{request, status, JSON(reply)}
	}
	return status, reply
}

// Serve answers a call under the lock: with JSON, or with plain text where the
// reply is a string.
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

// JSON is what a fake writes.
func JSON(of any) json.RawMessage {
	text, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	return text
}

// Fields reads a body with its numbers as they are written; nil where it is no
// JSON object.
func Fields(body []byte) (fields map[string]any) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&fields) != nil {
		return nil
	}
	return fields
}

// Strict reads a body that has nothing but what into has, and reports whether it
// could.
func Strict(body []byte, into any) bool {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into) == nil
}
