// Package evidencelink serves a file of evidence to a provider that takes links, not files. Whoever has a link gets its one file, for some
// minutes: the link is signed, and the use case says what it names. A wrong, altered or old one gets the same answer as a path that
// never was.
package evidencelink

import (
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"strconv"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
)

// Base is the path of the links.
const Base = "/evidence/"

// New returns the files below Base.
func New(u *claims.Lists, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", missing)
	mux.HandleFunc("GET "+Base+"{token}", func(w http.ResponseWriter, r *http.Request) {
		f, err := u.LinkedFile(r.Context(), r.PathValue("token"))
		var shown *problem.Error
		switch {
		case web.ClientLeft(r.Context(), err):
			return
		case errors.As(err, &shown):
			missing(w, r)
			return
		case err != nil:
			log.ErrorContext(r.Context(), "a linked file was not served", "route", r.Pattern, "error", err)
			secure(w.Header())
			http.Error(w, "something went wrong on our side: try again", http.StatusServiceUnavailable)
			return
		}
		h := w.Header()
		secure(h)
		h.Set("Content-Type", f.Type)
		h.Set("Content-Length", strconv.Itoa(len(f.Content)))
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
		_, _ = w.Write(f.Content) // the provider may be gone
	})
	return mux
}

func missing(w http.ResponseWriter, _ *http.Request) {
	secure(w.Header())
	http.Error(w, "there is no such file", http.StatusNotFound)
}

// secure sets what each answer has: it is kept nowhere, and nothing in a file runs in our origin.
func secure(h http.Header) {
	web.Private(h)
	h.Set("Content-Security-Policy", web.NoPage+"; sandbox")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex")
}
