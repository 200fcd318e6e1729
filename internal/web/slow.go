package web

import (
	"net/http"
	"time"
)

// Allow extends the write deadline of a client that reads a long reply, instead of the
// server's limit for the whole reply. If that fails, the server's limit applies.
func Allow(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d))
}

// Await extends the read deadline of a client that sends a long request. If that fails, the server's limit
// applies.
func Await(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(d))
}
