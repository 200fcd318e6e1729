package providertest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// plainEvidence is the body of a submission: an upload for each file first, then the whole.
type plainEvidence struct {
	Reference string            `json:"reference"`
	Name      string            `json:"name,omitempty"`    // of an upload
	Content   []byte            `json:"content,omitempty"` // base64
	Texts     map[string]string `json:"texts,omitempty"`
	Files     []string          `json:"files,omitempty"` // references of uploads
	Status    string            `json:"status,omitempty"`
}

// CanDefend implements provider.Defender: only a dispute with an id has a call.
func (p plain) CanDefend(r provider.DisputeRequest) bool { return r.ID != "" }

// Defend uploads each file, and then submits the whole.
func (p plain) Defend(ctx context.Context, r provider.EvidenceRequest) pay.DefenseAnswer {
	whole := plainEvidence{Reference: r.Reference, Texts: r.Texts()}
	for _, piece := range r.Pieces {
		if piece.File == nil {
			continue
		}
		content, err := piece.File.Read(ctx)
		if err != nil {
			return pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: "file_unread"}
		}
		file := plainEvidence{Reference: r.Reference + "/" + piece.ID, Name: piece.File.Name, Content: content}
		if a := p.evidence(ctx, "/files", file); a.Kind != pay.DefenseSubmitted {
			return a
		}
		whole.Files = append(whole.Files, file.Reference)
	}
	return p.evidence(ctx, "/disputes/"+r.ID+"/evidence", whole)
}

// evidence makes one call of a submission.
func (p plain) evidence(ctx context.Context, path string, body plainEvidence) pay.DefenseAnswer {
	reply, none := p.call(ctx, http.MethodPost, path, body)
	if none != nil {
		if none.Kind == pay.Unavailable {
			return pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: none.Decline}
		}
		return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: none.Decline}
	}
	var got plainEvidence
	switch {
	case reply.Status == http.StatusTooManyRequests:
		return pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: "too_many"}
	case reply.Status == http.StatusConflict:
		return pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: "conflict", Reason: "the bank takes no more evidence"}
	case reply.Status == http.StatusOK && json.Unmarshal(reply.Body, &got) == nil && got.Reference == body.Reference && got.Status == "taken":
		return pay.DefenseAnswer{Kind: pay.DefenseSubmitted}
	}
	return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: "unexpected_answer"}
}

// serveEvidence answers a call of a submission. The caller holds mu.
func (u *Upstream) serveEvidence(w http.ResponseWriter, path string, body []byte) {
	var e plainEvidence
	if u.next == "down" || json.Unmarshal(body, &e) != nil {
		http.Error(w, `{"error":"too busy"}`, http.StatusTooManyRequests)
		return
	}
	if path == "/files" {
		u.files[e.Reference] = e.Name + "=" + string(e.Content)
	} else {
		var got []string
		for _, name := range e.Files {
			got = append(got, u.files[name])
		}
		for kind, text := range e.Texts {
			got = append(got, kind+": "+text)
		}
		dispute := strings.TrimSuffix(strings.TrimPrefix(path, "/disputes/"), "/evidence")
		if before, answered := u.evidence[dispute]; answered && !strings.HasPrefix(before, e.Reference+" ") {
			http.Error(w, `{"error":"it was answered"}`, http.StatusConflict) // it reads one answer
			return
		}
		u.evidence[dispute] = e.Reference + " " + strings.Join(got, ", ")
	}
	_ = json.NewEncoder(w).Encode(plainEvidence{Reference: e.Reference, Status: "taken"}) // the client may be gone
}

// Evidence lists what was submitted, by dispute: our reference, the files and the texts.
func (u *Upstream) Evidence() map[string]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.evidence)
}

// EvidenceFile is a file of evidence; without content it cannot be read.
func EvidenceFile(name, media string, content []byte) *provider.EvidenceFile {
	return &provider.EvidenceFile{Name: name, Type: media, Size: int64(len(content)), SHA256: fmt.Sprintf("%x", sha256.Sum256(content)), Read: func(context.Context) ([]byte, error) {
		if len(content) == 0 {
			return nil, errors.New("the file cannot be read")
		}
		return content, nil
	}}
}
