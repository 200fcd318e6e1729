package gate

import (
	"io"
	"net/http"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/limit"
)

const (
	// SmallBody is what each request may send uncounted: what a payment needs, and more.
	SmallBody = 8 << 10
	// bodyStep is how much memory is taken at a time for a body that is larger.
	bodyStep = 64 << 10
	// strangersBodies and merchantsBodies are how many bytes of bodies a node holds at a time:
	// of requests without credentials, and of merchants', the sandbox's apart from production's.
	strangersBodies, merchantsBodies = 32 << 20, 128 << 20
)

// bodies bounds the memory of what is sent to a node and has not been answered. It counts what
// has come: who says that much comes, and sends nothing, takes nothing.
type bodies struct {
	strangers *limit.Places          // by address
	merchants map[bool]*limit.Places // by Live
}

func newBodies() bodies {
	return bodies{
		strangers: limit.NewPlaces(strangersBodies),
		merchants: map[bool]*limit.Places{false: limit.NewPlaces(merchantsBodies), true: limit.NewPlaces(merchantsBodies)},
	}
}

// StrangersBody counts the body of a request without credentials. The caller leaves when it has
// been answered.
func (g *Gate) StrangersBody(reply http.Header, r *http.Request) (leave func()) {
	return g.count(reply, r, g.bodies.strangers, bodyAddress, g.Address(r))
}

// MerchantsBody counts that of a request with credentials.
func (g *Gate) MerchantsBody(reply http.Header, r *http.Request, p base.Principal) (leave func()) {
	return g.count(reply, r, g.bodies.merchants[p.Live], bodyMerchant, p.Merchant)
}

func (g *Gate) count(reply http.Header, r *http.Request, places *limit.Places, kind, owner string) (leave func()) {
	if r.ContentLength >= 0 && r.ContentLength <= SmallBody {
		return func() {}
	}
	body := &countedBody{ReadCloser: r.Body, reply: reply, places: places, owner: owner, room: SmallBody, refused: func() { g.refusals.add(kind) }}
	r.Body = body
	return body.leave
}

// countedBody takes places for what is read of it.
type countedBody struct {
	io.ReadCloser
	reply       http.Header
	places      *limit.Places
	owner       string
	read        int
	room, taken int // bytes that may be read before more places are needed, and the places
	refused     func()
}

// Read is for io.Reader.
//
// Errors: rate_limited where there are no more places.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += n
	for b.read > b.room {
		if !b.places.Take(b.owner, bodyStep) {
			b.reply["Retry-After"], b.reply["Connection"] = []string{"1"}, []string{"close"} // or the server waits for the rest
			b.refused()
			return 0, limited("too much is being sent at once: wait until some of it has been answered")
		}
		b.room += bodyStep
		b.taken += bodyStep
	}
	return n, err
}

func (b *countedBody) leave() {
	if b.taken > 0 {
		b.places.Leave(b.owner, b.taken)
	}
}
