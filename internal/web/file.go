package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
)

// File is a complete answer that was made once: it is compressed, and a client that has it gets 304.
type File struct {
	kind         string
	body, zipped []byte
	tag          string
}

// NewFile makes an answer of a media type.
func NewFile(kind string, body []byte) *File {
	sum := sha256.Sum256(body)
	f := &File{kind: kind, body: body, tag: hex.EncodeToString(sum[:8])}
	var small bytes.Buffer
	if z, err := gzip.NewWriterLevel(&small, gzip.BestCompression); err == nil {
		_, _ = z.Write(body) // a buffer accepts everything
		if z.Close() == nil && small.Len() < len(body) {
			f.zipped = small.Bytes()
		}
	}
	return f
}

// ServeHTTP implements http.Handler. Clients ask each time whether the file has changed.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, body, tag := w.Header(), f.body, `"`+f.tag+`"`
	h.Set("Content-Type", f.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	if f.zipped != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			body, tag = f.zipped, `"`+f.tag+`-gzip"`
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", tag)
	if known := r.Header.Get("If-None-Match"); known != "" && strings.Contains(known, tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the reader may have left
}

// acceptsGzip reports whether an Accept-Encoding allows gzip.
func acceptsGzip(header string) bool {
	for one := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(one), ";")
		if (name == "gzip" || name == "*") && strings.ReplaceAll(weight, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

// Section is a part of the documentation that a search may find.
type Section struct {
	Page  string `json:"page"` // the title of its page
	Title string `json:"title"`
	URL   string `json:"url"` // a path, with the part's anchor
	Text  string `json:"text"`
}
