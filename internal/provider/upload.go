package provider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
)

// Upload is a file in a form of parts.
type Upload struct {
	Field   string
	Name    string // as the provider gets it
	Type    string // its media type
	Content []byte
}

// NewUpload makes a POST of a form in parts (multipart/form-data): the fields in the order of their names, then the files. The same
// form always has the same bytes, so that a provider that compares repetitions finds no difference. The outcome is set if the
// request cannot be written, which proves that it never left.
func NewUpload(ctx context.Context, address string, fields map[string]string, files []Upload) (*http.Request, *pay.Outcome) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.SetBoundary(boundary(files)) // it has letters and digits alone
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		_ = form.WriteField(name, fields[name]) // to memory
	}
	for _, f := range files {
		head := textproto.MIMEHeader{}
		head.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": f.Field, "filename": f.Name}))
		head.Set("Content-Type", f.Type)
		if part, err := form.CreatePart(head); err == nil {
			_, _ = part.Write(f.Content)
		}
	}
	_ = form.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, &body)
	if err != nil {
		return nil, &pay.Outcome{Kind: pay.Errored, Decline: "bad_address"}
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	return req, nil
}

// boundary is a text that is in none of the files.
func boundary(files []Upload) string {
	sum := sha256.New()
	for _, f := range files {
		_, _ = fmt.Fprintf(sum, "%q %q %d\n", f.Field, f.Name, len(f.Content)) // a hash takes everything
		_, _ = sum.Write(f.Content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
