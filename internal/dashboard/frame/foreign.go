package frame

import (
	"mime"
	"net/http"
)

// Foreign serves a file that somebody handed in. Whatever it holds, it runs nothing and reads nothing of ours.
// shown lets the browser show it in a page of its own, and not only save it.
func Foreign(w http.ResponseWriter, name, media string, content []byte, shown bool) {
	how := "attachment"
	if shown {
		how = "inline"
	}
	h := w.Header()
	Secure(h)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-store")
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": name}))
	_, _ = w.Write(content) // the visitor may have left
}
