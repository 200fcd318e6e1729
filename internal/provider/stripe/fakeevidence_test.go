package stripe

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// upload is a file at Stripe.
type upload struct {
	id, name, media string
	content         []byte
}

// answer is what a dispute has of the merchant's side.
type answer struct {
	evidence, metadata map[string]string
	submissions        int
	late               bool
	mute               bool   // the bank takes no answer
	toll               object // what has to be acknowledged
	crowded            bool   // the evidence has too many pages
	staged             bool   // a submission only stages it
	first              func() // what happens just before a submission
}

const answerDays = 7 * 24 * 3600

func (a answer) show(d object) {
	due := providertest.Noon.Unix() + answerDays
	if a.mute {
		due = 0
	}
	d["evidence_details"] = object{
		"due_by": due, "has_evidence": len(a.evidence) > 0, "past_due": a.late, "submission_count": a.submissions,
		"enhanced_eligibility": maps.Clone(a.toll),
	}
	if a.toll == nil {
		d["evidence_details"].(object)["enhanced_eligibility"] = object{}
	}
	evidence, metadata := object{}, object{}
	for field, value := range a.evidence {
		evidence[field] = value
	}
	for field, value := range a.metadata {
		metadata[field] = value
	}
	d["evidence"], d["metadata"] = evidence, metadata
}

func (f *fake) disputedBy(id string) *charge {
	for _, c := range f.Charges {
		if c.disputeID() == id && c.Ending == providertest.Disputed {
			return c
		}
	}
	return nil
}

// takeFile takes a file of at most 5 MB, once for a key.
func (f *fake) takeFile(r *http.Request, body []byte) (int, any) {
	_, how, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return invalid("")
	}
	var u upload
	for parts := multipart.NewReader(bytes.NewReader(body), how["boundary"]); ; {
		part, err := parts.NextPart()
		if err != nil {
			break
		}
		if content, err := io.ReadAll(part); err == nil && part.FormName() == "file" {
			u.name, u.media, u.content = part.FileName(), part.Header.Get("Content-Type"), content
		}
	}
	if len(u.content) > 5<<20 {
		return invalid("")
	}
	key := r.Header.Get("Idempotency-Key")
	if f.outage > 0 || f.outages[key] {
		return f.fails(key, "files", nil)
	}
	return f.Once(key, fmt.Sprintf("files %x", sha256.Sum256(body)), func() (int, any) {
		u.id = fmt.Sprintf("file_%d", len(f.files)+1)
		f.files = append(f.files, u)
		return 200, object{
			"id": u.id, "object": "file", "created": f.now(), "expires_at": nil, "filename": u.name, "purpose": "dispute_evidence", "size": len(u.content), "title": nil,
			"type": strings.TrimPrefix(u.media, "application/"), "url": "https://files.stripe.test/" + u.id,
		}
	})
}

// answerDispute takes evidence while a dispute waits for it. Texts have at most 20,000 characters, and files were uploaded before.
func (f *fake) answerDispute(of string, form url.Values) (int, any) {
	c := f.disputedBy(of)
	if c == nil {
		return fail(404, "invalid_request_error", "resource_missing")
	}
	if c.answer.first != nil {
		c.answer.first()
	}
	next := map[string]string{"": "under_review", "needs_response": "under_review", "warning_needs_response": "warning_under_review", "appeal_needs_response": "appeal_under_review"}[c.dispute]
	evidence := maps.Clone(c.answer.evidence)
	if evidence == nil {
		evidence = map[string]string{}
	}
	for name := range form {
		field, ok := between(name, "evidence[", "]")
		if !ok {
			continue
		}
		value := form.Get(name)
		if evidence[field] = value; strings.HasPrefix(value, "file_") && f.uploaded(value) == nil || utf8.RuneCountInString(value) > 20_000 {
			return invalid("")
		}
	}
	switch {
	case next == "" || c.answer.mute || c.answer.toll != nil:
		return invalid("")
	case c.answer.crowded:
		return invalid("dispute_evidence_page_limit_exceeded")
	}
	c.answer.evidence, c.answer.metadata = evidence, map[string]string{evidenceKey: form.Get("metadata[" + evidenceKey + "]")}
	if form.Get("submit") == "true" && !c.answer.staged {
		c.answer.submissions++
		c.answer.late = f.now() > providertest.Noon.Unix()+answerDays
		c.dispute = next
	}
	return 200, c.disputed(false)
}

func (f *fake) uploaded(id string) *upload {
	for i := range f.files {
		if f.files[i].id == id {
			return &f.files[i]
		}
	}
	return nil
}
