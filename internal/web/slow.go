package web

import (
	"net/http"
	"time"
)

// Allow gives who reads a long reply so much time for what comes next, in place of the server's
// limit for a whole reply. A connection that cannot be given it keeps that limit.
func Allow(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d))
}
