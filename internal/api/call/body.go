package call

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/web"
	"github.com/cascadapay/cascada/internal/wire"
)

// MaxBody bounds a request's body (LIMIT-5).
const MaxBody = 1 << 20

// BodyLost is what a sender is answered whose body broke off.
const BodyLost = "the body did not arrive: send it again"

// ReadBody reads the body of a request that huma does not read.
//
// Errors: payload_too_large, rate_limited; invalid_request if the body does not arrive.
func ReadBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := web.Read(w, r, web.Arrival{Most: MaxBody})
	if err != nil {
		return nil, wire.Unread(err)
	}
	return body, nil
}
