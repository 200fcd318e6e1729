package adyen

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/provider"
	pdf "github.com/cascadapay/cascada/internal/provider/paper"
)

// largestOf are the file types that Adyen takes (it also takes TIFF, which no merchant can hand in), with the largest file of each: docs.adyen.com,
// Disputes API, and constants.ts of adyen-platform-experience-web (31a156d).
var largestOf = map[string]int64{evidence.PDF: 2 << 20, evidence.JPEG: 10 << 20}

// paper is a document to upload.
type paper struct {
	kinds   []string // what it is evidence of
	media   string
	content func(context.Context) ([]byte, error)
}

// result is what the Disputes API says of a call.
type result struct {
	Said *struct {
		Success *bool  `json:"success"`
		Message string `json:"errorMessage"`
	} `json:"disputeServiceResult"`
	Reasons []defenseReason `json:"defenseReasons"`
}

// CanDefend implements provider.Defender. Adyen itself answers what is asked about a Pix.
func (p *Provider) CanDefend(r provider.DisputeRequest) bool {
	return provider.Plain(r.ID, 64) && strings.HasPrefix(r.Charge.Rail, "card.")
}

// Defend uploads each document, and then defends the dispute. No call has an idempotency key. So each try begins by reading which documents
// Adyen has, and the last call can be made only once: Adyen takes one defense.
func (p *Provider) Defend(ctx context.Context, r provider.EvidenceRequest) pay.DefenseAnswer {
	documents, no := p.papersOf(ctx, r)
	if no != nil {
		return *no
	}
	have, no := p.applicable(ctx, r)
	if no != nil {
		return *no
	}
	way, ok := best(have, documents)
	if !ok {
		return refuse("no_reason_fits", lacking(have, documents))
	}
	for place, d := range way.at {
		t := way.reason.Documents[place]
		if d < 0 || r.Repeated && t.Available {
			continue // the same reference has the same documents
		}
		if no := p.supply(ctx, r, t, documents[d]); no != nil {
			return *no
		}
	}
	if no := p.complete(ctx, r, way); no != nil {
		return *no
	}
	_, no = p.dispute(ctx, "defendDispute", r, map[string]any{"defenseReasonCode": way.reason.Code})
	if no == nil {
		return pay.DefenseAnswer{Kind: pay.DefenseSubmitted}
	}
	if no.Code == alreadyDefended && r.Repeated { // Adyen has just shown that it has our documents
		return pay.DefenseAnswer{Kind: pay.DefenseSubmitted, Code: no.Code}
	}
	return *no
}

// applicable reads with which reasons a dispute may be defended. A read submits nothing, so it may be tried again whatever became of it.
func (p *Provider) applicable(ctx context.Context, r provider.EvidenceRequest) ([]defenseReason, *pay.DefenseAnswer) {
	got, no := p.dispute(ctx, "retrieveApplicableDefenseReasons", r, nil)
	if no != nil {
		if no.Kind == pay.DefenseUnknown {
			no.Kind = pay.DefenseDelayed
		}
		return nil, no
	}
	return got.Reasons, nil
}

// supply uploads a document. A place takes one: what was there from an earlier submission is deleted.
func (p *Provider) supply(ctx context.Context, r provider.EvidenceRequest, t documentType, d paper) *pay.DefenseAnswer {
	content, err := d.content(ctx)
	if err != nil {
		return &pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: "file_unread"} // nothing is submitted before the last call
	}
	if t.Available {
		if _, no := p.dispute(ctx, "deleteDisputeDefenseDocument", r, map[string]any{"defenseDocumentType": t.Code}); no != nil {
			return no
		}
	}
	_, no := p.dispute(ctx, "supplyDefenseDocument", r, map[string]any{"defenseDocuments": []map[string]string{{
		"defenseDocumentTypeCode": t.Code, "contentType": d.media, "content": base64.StdEncoding.EncodeToString(content),
	}}})
	return no
}

// complete reads whether Adyen has all documents of a plan and needs no others: afterwards nothing can be added.
func (p *Provider) complete(ctx context.Context, r provider.EvidenceRequest, way plan) *pay.DefenseAnswer {
	have, no := p.applicable(ctx, r)
	if no != nil {
		return no
	}
	i := slices.IndexFunc(have, func(now defenseReason) bool { return now.Code == way.reason.Code })
	if i < 0 {
		no := refuse("reason_gone", "the bank no longer takes an answer of this kind")
		return &no
	}
	for place, d := range way.at {
		uploaded := slices.ContainsFunc(have[i].Documents, func(t documentType) bool { return t.Code == way.reason.Documents[place].Code && t.Available })
		if d >= 0 && !uploaded {
			return &pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: "document_missing"}
		}
	}
	if !have[i].Satisfied {
		no := refuse("not_satisfied", "the bank asks for more documents than these")
		return &no
	}
	return nil
}

// alreadyDefended is our code of the refusal of a second defense.
const alreadyDefended = "already_defended"

// refusals are parts of Adyen's sentences about a dispute, and what follows. The first three are on the page Disputes API reference (2026-05-24); the
// others are in the documentation of a reseller, who passes Adyen's on. With success false the call did nothing.
var refusals = []struct {
	part, code string
	kind       pay.DefenseState
	reason     string
}{
	{"dispute expired", "expired", pay.DefenseRefused, "the time to answer is over"},
	{"not defendable", "not_defendable", pay.DefenseRefused, "the bank takes no answer to this dispute, or has one"},
	{"error retrieving dispute", "not_retrieved", pay.DefenseDelayed, ""},
	{"defense period has ended", "expired", pay.DefenseRefused, "the time to answer is over"},
	{"already defended", alreadyDefended, pay.DefenseRefused, "the dispute has been answered already"},
	{"failed to store", "not_stored", pay.DefenseDelayed, ""},
	{"system error", "system_error", pay.DefenseDelayed, ""},
}

func refuse(code, reason string) pay.DefenseAnswer {
	return pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: code, Reason: reason}
}

// dispute makes a call about a dispute; no is why there is no success.
func (p *Provider) dispute(ctx context.Context, call string, r provider.EvidenceRequest, more map[string]any) (got result, no *pay.DefenseAnswer) {
	body := map[string]any{"merchantAccountCode": p.merchant, "disputePspReference": r.ID}
	maps.Copy(body, more)
	if f := p.reach(ctx, http.MethodPost, p.disputes+"/"+call, body, "", &got); f != nil {
		return got, f.ofDispute()
	}
	if got.Said == nil || got.Said.Success == nil {
		return got, &pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: "broken_answer"}
	}
	if *got.Said.Success {
		return got, nil
	}
	said := strings.ToLower(got.Said.Message)
	for _, known := range refusals {
		if strings.Contains(said, known.part) {
			return got, &pay.DefenseAnswer{Kind: known.kind, Code: known.code, Reason: known.reason}
		}
	}
	p.Strange(call, got.Said.Message)
	answer := refuse("not_successful", "the bank did not take the documents")
	return got, &answer
}

// ofDispute is what a failed call proves about a submission.
func (f *failure) ofDispute() *pay.DefenseAnswer {
	answer := pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: f.outcome.Decline}
	switch {
	case f.status == http.StatusForbidden && f.outcome.Kind == pay.Unavailable: // the role is missing: that does not pass by itself
		answer = refuse(f.outcome.Decline, "evidence cannot be sent by call from this account")
	case f.outcome.Kind == pay.Unavailable:
		answer.Kind = pay.DefenseDelayed
	case f.outcome.Kind == pay.Errored:
		answer = refuse(f.outcome.Decline, "the bank did not take the documents")
	}
	return &answer
}

// papersOf are the documents of a request: its files, and a letter with all texts, because Adyen takes no texts. no is why they cannot
// be sent.
func (p *Provider) papersOf(ctx context.Context, r provider.EvidenceRequest) (list []paper, no *pay.DefenseAnswer) {
	refused := func(code, reason string) ([]paper, *pay.DefenseAnswer) {
		answer := refuse(code, reason)
		return nil, &answer
	}
	words := paper{media: evidence.PDF}
	var said strings.Builder
	tell := func(kind, text string) {
		kind = pay.NamedKind(kind)
		words.kinds = append(words.kinds, kind)
		fmt.Fprintf(&said, "\n%s\n\n%s\n", strings.ToUpper(strings.ReplaceAll(kind, "_", " ")), text)
	}
	for _, piece := range r.Pieces {
		if piece.Text != "" {
			tell(piece.Kind, piece.Text)
		}
		file := piece.File
		switch {
		case file == nil:
		case file.Type == evidence.Text:
			if file.Size > largestOf[evidence.PDF] {
				return refused("too_large", "a text of more than 2 MB is not taken")
			}
			text, err := file.Read(ctx)
			if err != nil {
				return nil, &pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: "file_unread"}
			}
			tell(piece.Kind, string(text))
		case largestOf[file.Type] == 0:
			return refused("wrong_type", "pictures are taken as JPEG alone: hand in the picture as JPEG or PDF")
		case file.Size > largestOf[file.Type]:
			return refused("too_large", fmt.Sprintf("a file is too large: a PDF may have %d MB, a JPEG %d MB", largestOf[evidence.PDF]>>20, largestOf[evidence.JPEG]>>20))
		default:
			list = append(list, paper{[]string{pay.NamedKind(piece.Kind)}, file.Type, file.Read})
		}
	}
	if len(words.kinds) > 0 {
		title := fmt.Sprintf("Answer to the dispute %s of the payment %s", r.ID, r.Charge.Reference)
		content, err := pdf.Make([]pdf.Sheet{{Title: title, Text: said.String()}}, r.Charge.Created)
		if err != nil {
			return refused("too_large", err.Error())
		}
		if int64(len(content)) > largestOf[evidence.PDF] {
			return refused("too_large", "the texts are too long: as a document they have more than 2 MB")
		}
		words.content = func(context.Context) ([]byte, error) { return content, nil }
		list = append(list, words)
	}
	return list, nil
}

// lacking says why no reason fits, for the merchant and the operator.
func lacking(reasons []defenseReason, documents []paper) string {
	places, wanted := 0, map[string]bool{}
	for _, r := range reasons {
		places = max(places, len(r.Documents))
		for _, t := range r.Documents {
			kinds := papers[t.Code]
			if (t.Level == required || t.Level == oneOrMore) && !general(t.Code) && !slices.ContainsFunc(documents, func(d paper) bool {
				return slices.ContainsFunc(d.kinds, func(kind string) bool { return slices.Contains(kinds, kind) })
			}) {
				for _, kind := range kinds {
					wanted[kind] = true
				}
			}
		}
	}
	switch {
	case places == 0:
		return "the bank takes no evidence by call for this dispute"
	case places < len(documents):
		return fmt.Sprintf("the bank takes at most %d documents for this dispute, and these are %d", places, len(documents))
	case len(wanted) == 0:
		return "the bank takes no document of these kinds for this dispute"
	}
	return "the bank asks for other evidence: " + strings.Join(slices.Sorted(maps.Keys(wanted)), ", ")
}
