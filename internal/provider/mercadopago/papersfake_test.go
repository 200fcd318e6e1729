package mercadopago

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
)

// papers are the documents of a chargeback.
type papers struct {
	sent     []paperSent
	times    int    // how often documents came
	nameless bool   // descriptions have no names of files, as in the newer example
	late     bool   // the time for documents is over
	strict   bool   // the caller has to be named
	first    func() // what happens just before
}

type paperSent struct {
	name, media string
	content     []byte
}

func (p papers) list() []any {
	list := []any{}
	for i, one := range p.sent {
		described := fmt.Sprintf("File: %s, Size: %d", one.name, len(one.content))
		if p.nameless {
			described = fmt.Sprintf("Chargeback %d", i+1)
		}
		list = append(list, map[string]any{"type": "collector", "url": "https://storage.mercadopago.test/op/1", "description": described, "uuid": "a1b2"})
	}
	return list
}

func (p papers) status() string {
	switch {
	case p.times > 0:
		return "review_pending"
	case p.late:
		return "not_supplied"
	}
	return "pending"
}

func (p papers) show(one map[string]any) {
	one["documentation_status"], one["documentation"] = p.status(), p.list()
}

// takePapers takes documents once, while none were sent.
func (f *fake) takePapers(r *http.Request, id string, body []byte) (int, any) {
	if f.papers.first != nil {
		f.papers.first()
	}
	_, how, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	status, case_ := f.chargeback(id)
	switch {
	case status != http.StatusOK:
		return status, case_
	case f.papers.strict && r.Header.Get("X-Caller-Id") == "":
		return fail(http.StatusBadRequest, "missing_required_params", 1)
	case r.Header.Get("X-Caller-Id") != "" && r.Header.Get("X-Caller-Id") != strconv.Itoa(sellerID):
		return fail(http.StatusForbidden, "invalid_user_for_operation", 1)
	case err != nil:
		return fail(http.StatusBadRequest, "missing_files", 1)
	case case_.(map[string]any)["documentation_status"] != "pending":
		return fail(http.StatusBadRequest, alreadySubmitted, 1)
	}
	var sent []paperSent
	sum := 0
	for parts := multipart.NewReader(bytes.NewReader(body), how["boundary"]); ; {
		part, err := parts.NextPart()
		if err != nil {
			break
		}
		content, _ := io.ReadAll(part)
		if part.FormName() == "files[]" {
			sent = append(sent, paperSent{part.FileName(), part.Header.Get("Content-Type"), content})
			sum += len(content)
		}
	}
	switch {
	case len(sent) == 0:
		return fail(http.StatusBadRequest, "missing_files", 1)
	case len(sent) > 10:
		return fail(http.StatusRequestEntityTooLarge, "too_many_files", 1)
	case sum > 10<<20:
		return fail(http.StatusRequestEntityTooLarge, "file_size_exceeded", 1)
	case slices.ContainsFunc(sent, func(one paperSent) bool { return len(one.content) == 0 }):
		return fail(http.StatusBadRequest, "empty_file", 1)
	}
	f.papers.sent, f.papers.times = sent, f.papers.times+1
	return http.StatusOK, f.papers.list()
}
