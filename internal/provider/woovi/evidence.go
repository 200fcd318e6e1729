package woovi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/provider"
)

// document is one document of a dispute: in a request a link from which Woovi fetches it at once, in an answer the link of Woovi's copy.
type document struct {
	URL           string `json:"url"`
	CorrelationID string `json:"correlationID"`
	Description   string `json:"description,omitempty"`
}

// uploadTypes are those that Woovi's own upload of evidence takes (docs/arquivos/upload-de-arquivo.md). No page names the types of linked files.
var uploadTypes = []string{evidence.PDF, evidence.PNG, evidence.JPEG}

// CanDefend implements provider.Defender. Without an address of the service that Woovi may be given, it has no way to the files.
func (c *client) CanDefend(r provider.DisputeRequest) bool {
	return r.ID != "" && provider.Linkable(c.account.NotificationURL, c.account.Live)
}

// Defend submits all pieces that Woovi does not have in one call. Woovi adds documents to a dispute until it is ruled, so earlier ones
// are left out. Texts are descriptions: Woovi has no other place for them.
func (c *client) Defend(ctx context.Context, r provider.EvidenceRequest) pay.DefenseAnswer {
	documents, no := documentsOf(r)
	if no != nil {
		return *no
	}
	id, no := c.defendable(ctx, r.ID)
	if no != nil {
		return *no
	}
	answer, failed := c.call(ctx, http.MethodPost, "/api/v1/dispute/"+escape(id)+"/evidence", map[string][]document{"documents": documents})
	if failed != nil {
		if failed.Kind == pay.Unavailable {
			return pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: failed.Decline}
		}
		return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: failed.Decline}
	}
	if good(answer) {
		return storedAll(answer, documents)
	}
	no = c.notTaken(answer)
	if no.Kind == pay.DefenseRefused && r.Repeated {
		no.Reason += "; it may have them from an earlier call"
	}
	return *no
}

// storedAll reads whether Woovi has stored all documents: it names each with its own copy.
func storedAll(answer provider.Reply, documents []document) pay.DefenseAnswer {
	var said struct {
		Documents []document `json:"documents"`
	}
	if json.Unmarshal(answer.Body, &said) != nil {
		return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: "broken_answer"}
	}
	for _, d := range documents {
		if !slices.ContainsFunc(said.Documents, func(has document) bool { return has.CorrelationID == d.CorrelationID && has.URL != "" }) {
			return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: "document_missing"}
		}
	}
	return pay.DefenseAnswer{Kind: pay.DefenseSubmitted}
}

// defendable reads the id under which a dispute takes evidence, which is not the number that it is read by. The read
// submits nothing, so whatever becomes of it, the submission can be made later.
func (c *client) defendable(ctx context.Context, number string) (id string, no *pay.DefenseAnswer) {
	refuse := func(code, reason string) (string, *pay.DefenseAnswer) {
		return "", &pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: code, Reason: reason}
	}
	answer, failed := c.call(ctx, http.MethodGet, "/api/v1/dispute/"+escape(number), nil)
	if failed != nil {
		return "", &pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: failed.Decline}
	}
	if !good(answer) {
		if c.says(answer, noDispute) {
			return refuse("no_dispute", "the bank does not have this dispute")
		}
		if no = c.notTaken(answer); no.Kind == pay.DefenseUnknown {
			no.Kind = pay.DefenseDelayed
		}
		return "", no
	}
	var reply struct {
		Dispute *dispute `json:"dispute"`
	}
	if json.Unmarshal(answer.Body, &reply) != nil || reply.Dispute == nil || reply.Dispute.EndToEndID != number {
		return "", &pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: "broken_answer"}
	}
	switch d := reply.Dispute; {
	case rulingWords[d.Status] != "":
		return refuse("ended", "the dispute has ended")
	case provider.Exact(d.ID, 64) == "": // its chargebacks have none in Woovi's example
		return refuse("no_id", "evidence cannot be sent by call for this dispute")
	default:
		return d.ID, nil
	}
}

// notTaken is what an answer without success proves. A 400 is a refusal, and its sentence is not documented but for disputes that have ended. A
// missing scope does not come by itself, and the time to answer does not wait for it.
func (c *client) notTaken(answer provider.Reply) *pay.DefenseAnswer {
	code := fmt.Sprintf("http_%d", answer.Status)
	switch text := sentence(answer); {
	case answer.Status == http.StatusTooManyRequests, answer.Status == http.StatusUnauthorized:
		return &pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: code}
	case answer.Status == http.StatusForbidden:
		return &pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: code, Reason: "evidence cannot be sent by call from this account"}
	case answer.Status == http.StatusBadRequest && contains(text, noMoreEvidence):
		return &pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: "ended", Reason: "the dispute has ended"}
	case answer.Status == http.StatusBadRequest && text != "":
		c.account.Strange("evidence", code)
		return &pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: code, Reason: "the bank did not take the files"}
	}
	return &pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: code}
}

// noMoreEvidence begins the sentence about a dispute that has ended (woovi.json, POST /api/v1/dispute/:id/evidence).
const noMoreEvidence = "you cannot send a evidence for a"

// documentsOf are the pieces that Woovi does not have. no is why they cannot be sent.
func documentsOf(r provider.EvidenceRequest) (list []document, no *pay.DefenseAnswer) {
	refuse := func(code, reason string) ([]document, *pay.DefenseAnswer) {
		return nil, &pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: code, Reason: reason}
	}
	var loose []string // texts without a file
	for _, piece := range r.Pieces {
		if piece.Sent {
			continue
		}
		text := strings.ReplaceAll(pay.NamedKind(piece.Kind), "_", " ")
		if piece.Text != "" {
			text += ": " + piece.Text
		}
		if piece.File == nil {
			loose = append(loose, text)
			continue
		}
		if !slices.Contains(uploadTypes, piece.File.Type) {
			return refuse("wrong_type", "a text file is not taken: hand in the text itself, or a PDF")
		}
		link, ok := piece.File.Link()
		if !ok {
			return refuse("no_link", "evidence cannot be sent by call from this service")
		}
		list = append(list, document{URL: link, CorrelationID: piece.ID, Description: text})
	}
	if len(list) == 0 {
		return refuse("no_file", "texts are taken only with a file: hand in a PDF or a picture too")
	}
	list[0].Description = strings.Join(append([]string{list[0].Description}, loose...), "\n\n")
	return list, nil
}
