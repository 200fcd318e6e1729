package gate

import (
	"io"
	"net/http"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/limit"
)

const (
	// SmallBody is how many bytes each request may send uncounted: more than a payment needs.
	SmallBody = 8 << 10
	// bodyStep is how much memory a larger body reserves at a time.
	bodyStep = 64 << 10
	// How many bytes of bodies a node holds at a time: of requests without credentials, of merchants, with the
	// sandbox counted apart from production, and of operators.
	strangersBodies, merchantsBodies, operatorsBodies = 32 << 20, 128 << 20, 128 << 20
)

// bodies bounds the memory of request bodies that are not answered yet. It counts received bytes, so a
// client that announces a large body and sends nothing holds nothing.
type bodies struct {
	strangers *limit.Places          // by address
	merchants map[bool]*limit.Places // by Live
	operators *limit.Places
}

func newBodies() bodies {
	return bodies{
		strangers: limit.NewPlaces(strangersBodies),
		merchants: map[bool]*limit.Places{false: limit.NewPlaces(merchantsBodies), true: limit.NewPlaces(merchantsBodies)},
		operators: limit.NewPlaces(operatorsBodies),
	}
}

// StrangersBody counts the body of a request without credentials. The caller leaves after the reply.
func (g *Gate) StrangersBody(reply http.Header, r *http.Request) (leave func()) {
	return g.count(reply, r, g.bodies.strangers, bodyAddress, g.Address(r))
}

// MerchantsBody counts the body of a request with a merchant's credentials, or with a sign-in at the merchant's pages.
func (g *Gate) MerchantsBody(reply http.Header, r *http.Request, p base.Principal) (leave func()) {
	return g.count(reply, r, g.bodies.merchants[p.Live], bodyMerchant, p.Merchant)
}

// OperatorsBody counts the body of an operator's request.
func (g *Gate) OperatorsBody(reply http.Header, r *http.Request, operator string) (leave func()) {
	return g.count(reply, r, g.bodies.operators, bodyOperator, operator)
}

func (g *Gate) count(reply http.Header, r *http.Request, places *limit.Places, kind, owner string) (leave func()) {
	if r.ContentLength >= 0 && r.ContentLength <= SmallBody {
		return func() {}
	}
	body := &countedBody{ReadCloser: r.Body, reply: reply, places: places, owner: owner, room: SmallBody, refused: func() { g.refusals.add(kind) }}
	r.Body = body
	return body.leave
}

// countedBody reserves places for the bytes read from it.
type countedBody struct {
	io.ReadCloser
	reply      http.Header
	places     *limit.Places
	owner      string
	read       int
	room, held int // bytes that may be read before it needs more places, and the places it holds
	refused    func()
}

// Read implements io.Reader.
//
// Errors: rate_limited if no places are left.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += n
	for b.read > b.room {
		if !b.places.Acquire(b.owner, bodyStep) {
			b.reply["Retry-After"], b.reply["Connection"] = []string{"1"}, []string{"close"} // or the server waits for the rest of the body
			b.refused()
			return 0, limited("too much is being sent at once: wait until some of it has been answered")
		}
		b.room += bodyStep
		b.held += bodyStep
	}
	return n, err
}

func (b *countedBody) leave() {
	if b.held > 0 {
		b.places.Leave(b.owner, b.held)
	}
}
