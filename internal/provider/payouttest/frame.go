package payouttest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// Payout is a payout in a fake's books: a pointer to a struct with an embedded Entry and
// what the provider shows of a payout.
type Payout interface{ entry() *Entry }

func (e *Entry) entry() *Entry { return e }

// Frame is the base of every fake. A fake embeds one, and adds ServeHTTP, Notify, Forge and
// Other by the provider's documents.
type Frame[P Payout] struct {
	sync.Mutex           // guards what follows
	Payouts    []P       // in the order in which they were ordered
	Coming     Behaviour // what happens to new payouts; "" is Pays
	complaints []string
}

// Next implements Fake.
func (f *Frame[P]) Next(b Behaviour) {
	f.Lock()
	defer f.Unlock()
	f.Coming = b
}

// Complete implements Fake.
func (f *Frame[P]) Complete(reference string) {
	f.move(reference, Open, func(e *Entry) { e.Why = ""; e.pay(0) })
}

// Fail implements Fake.
func (f *Frame[P]) Fail(reference string, why Behaviour) {
	f.move(reference, Open, func(e *Entry) { e.Stage, e.Why = Failed, why })
}

// Return implements Fake.
func (f *Frame[P]) Return(reference string, why Behaviour) {
	f.move(reference, Done, func(e *Entry) { e.Stage, e.Why = Returned, why })
}

func (f *Frame[P]) move(reference string, from Stage, do func(*Entry)) {
	f.Lock()
	defer f.Unlock()
	e := f.Must(reference).entry()
	if e.Stage != from {
		panic(fmt.Sprintf("the fake's payout %s is %s, want %s", reference, e.Stage, from))
	}
	do(e)
}

// pay pays out the ordered amount, less this many minor units.
func (e *Entry) pay(less int64) {
	left := e.Asked
	left.Minor = left.Minor - less + e.Paid.Minor
	e.Paid, e.Stage = left, Done
	e.Times++
}

// Books implements Fake.
func (f *Frame[P]) Books() []Entry {
	f.Lock()
	defer f.Unlock()
	var list []Entry
	for _, p := range f.Payouts {
		list = append(list, *p.entry())
	}
	return list
}

// Complaints implements Fake.
func (f *Frame[P]) Complaints() []string {
	f.Lock()
	defer f.Unlock()
	return slices.Clone(f.complaints)
}

// Complain records an undocumented request. The caller of this and of the methods below
// holds the lock, as ServeHTTP does within Serve.
func (f *Frame[P]) Complain(format string, args ...any) {
	f.complaints = append(f.complaints, fmt.Sprintf(format, args...))
}

// Of returns the payout with our reference.
func (f *Frame[P]) Of(reference string) (p P, found bool) {
	for _, p := range f.Payouts {
		if p.entry().Reference == reference {
			return p, true
		}
	}
	return p, false
}

// Must returns the payout with a reference; it panics if there is none.
func (f *Frame[P]) Must(reference string) P {
	p, found := f.Of(reference)
	if !found {
		panic("the fake has no payout " + reference)
	}
	return p
}

// Enter adds a payout to the books. It is open, and nothing else happens yet.
func (f *Frame[P]) Enter(p P) P {
	e := p.entry()
	e.Stage, e.Created = Open, providertest.Noon
	f.Payouts = append(f.Payouts, p)
	return p
}

// Begin does to a payout what Next has set. NoFloat and Barred do nothing here: the fake
// itself answers them by its documents.
func (f *Frame[P]) Begin(p P) {
	switch e := p.entry(); {
	case f.Coming == "" || f.Coming == Pays:
		e.pay(0)
	case f.Coming == PaysLess:
		e.pay(1)
	case f.Coming == Nonsense:
		e.Why = Nonsense
	case slices.Contains(Refusals(), f.Coming):
		e.Stage, e.Why = Failed, f.Coming
	}
}

// Serve answers a call under the lock, with JSON.
func (f *Frame[P]) Serve(w http.ResponseWriter, r *http.Request, answer func(body []byte) (status int, reply any)) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	f.Lock()
	defer f.Unlock()
	status, reply := answer(body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(providertest.JSON(reply)) // to a client that may be gone
}
