package stripe

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// toll is a fee that has to be acknowledged before a dispute can be answered.
type toll struct {
	Status string `json:"status"`
}

func (t toll) required() bool { return t.Status == "requires_fee_acknowledgement" }

// CanDefend implements provider.Defender: a dispute is answered by its id.
func (*Provider) CanDefend(r provider.DisputeRequest) bool { return id(r.ID) }

// Defend uploads the files, and submits the whole in one call, which also writes our reference into the dispute's metadata. So a
// dispute that was submitted with that reference has this evidence, and a dispute that waits for an answer was not submitted. It is
// read before each try: an answer is final (docs.stripe.com/disputes/responding, read on 2026-11-28: usually one submission).
func (p *Provider) Defend(ctx context.Context, r provider.EvidenceRequest) pay.DefenseAnswer {
	d, f := p.readDispute(ctx, r.ID)
	if f != nil {
		return f.undefended("the dispute is not known there")
	}
	if a, final := p.answered(d, r); final {
		return a
	}
	evidence, bad := p.exhibit(ctx, r)
	if bad != nil {
		return *bad
	}
	form := url.Values{"submit": {"true"}, "metadata[" + evidenceKey + "]": {r.Reference}}
	for field, value := range evidence {
		form.Set("evidence["+field+"]", value)
	}
	var after dispute
	if f = p.post(ctx, "/v1/disputes/"+url.PathEscape(r.ID), form, p.again(r, r.Reference), &after); f != nil {
		return p.unsubmitted(ctx, r, f)
	}
	if after.Object == "dispute" && after.ID == r.ID {
		if a, final := p.answered(after, r); final {
			return a
		}
	}
	return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: "not_yet_submitted"}
}

// readDispute reads a dispute as it is now.
func (p *Provider) readDispute(ctx context.Context, of string) (d dispute, f *failure) {
	if f = p.get(ctx, "/v1/disputes/"+url.PathEscape(of), nil, &d); f == nil && (d.Object != "dispute" || d.ID != of) {
		f = &failure{outcome: provider.Unknown("broken_answer")}
	}
	return d, f
}

// again is the key of a call. Stripe repeats its first answer to a key for a day, also a failure of its own. So a later try, which has
// seen that nothing was submitted, has another one, which is new every ten minutes. If the first call is still at work, the same
// evidence is submitted twice.
func (p *Provider) again(r provider.EvidenceRequest, key string) string {
	if !r.Repeated {
		return key
	}
	return key + "-" + strconv.FormatInt(p.Now().Truncate(spell).Unix(), 10)
}

// unsubmitted is what a submission without a success means. What Stripe refuses may have been submitted before.
func (p *Provider) unsubmitted(ctx context.Context, r provider.EvidenceRequest, f *failure) pay.DefenseAnswer {
	if f.outcome.Kind == pay.Errored || f.kind == "idempotency_error" {
		if d, none := p.readDispute(ctx, r.ID); none != nil {
			return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: f.outcome.Decline}
		} else if a, final := p.answered(d, r); final {
			return a
		}
	}
	why := "the bank does not take this evidence"
	if f.outcome.Decline == "dispute_evidence_page_limit_exceeded" { // changelog, endive, 2026-09-30
		why = "the evidence has more pages than the card network takes"
	}
	return f.undefended(why)
}

// answered reports whether a dispute's state is the answer: it has this evidence, or takes none any more. The states are those of
// stages. While a dispute waits, due_by is 0 if the bank takes no answer. A submission after that day counts as past due, and its
// delivery is not guaranteed: it does not count as submitted. A compliance dispute is answered for a fee, which a
// person has to acknowledge (all in stripe-node 23.1.0, Disputes.d.ts).
func (p *Provider) answered(d dispute, r provider.EvidenceRequest) (a pay.DefenseAnswer, final bool) {
	refused := func(code, why string) (pay.DefenseAnswer, bool) {
		return pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: code, Reason: why}, true
	}
	ours := d.Metadata[evidenceKey] == r.Reference
	switch {
	case ours && d.Evidence.Submitted > 0 && d.Evidence.Late:
		return refused("past_due", "it came after the deadline, and may not reach the bank")
	case ours && d.Evidence.Submitted > 0:
		return pay.DefenseAnswer{Kind: pay.DefenseSubmitted}, true
	}
	switch d.Status {
	case "needs_response", "warning_needs_response", "appeal_needs_response":
	case "under_review", "warning_under_review", "appeal_under_review":
		if ours {
			return pay.DefenseAnswer{Kind: pay.DefenseSubmitted}, true
		}
		return refused(d.Status, "the bank has an answer, and takes one only")
	case "won", "lost", "warning_closed", "prevented":
		return refused(d.Status, "the dispute is closed")
	default:
		p.Strange("dispute", d.Status)
		return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: word(d.Status)}, true
	}
	switch {
	case d.Evidence.DueBy == 0:
		return refused("no_response", "the bank takes no answer to this dispute")
	case d.Evidence.Enhanced.Visa.required(), d.Evidence.Enhanced.Mastercard.required():
		return refused("fee", "an answer has a fee, which has to be agreed to first")
	}
	return a, false
}

// undefended is what a failed call proves about the evidence: a refusal, with its reason, that nothing was submitted. A key without the
// right is the operator's task at once, while there is time.
func (f *failure) undefended(why string) pay.DefenseAnswer {
	a := pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: f.outcome.Decline}
	switch {
	case f.status == http.StatusForbidden:
		a.Kind, a.Reason = pay.DefenseRefused, "the account has no right to answer disputes"
	case f.outcome.Kind == pay.Unavailable:
		a.Kind = pay.DefenseDelayed
	case f.outcome.Kind == pay.Errored && f.status != 0:
		a.Kind, a.Reason = pay.DefenseRefused, why
	}
	return a
}

// upload gives Stripe a file, and returns its id. An upload submits nothing, so a second one does no harm.
func (p *Provider) upload(ctx context.Context, key string, file provider.Upload) (string, *failure) {
	req, unsent := provider.NewUpload(ctx, p.files+"/v1/files", map[string]string{"purpose": "dispute_evidence"}, []provider.Upload{file})
	if unsent != nil {
		return "", &failure{outcome: *unsent}
	}
	reply, broken := p.do(req, version, key)
	if broken != nil {
		return "", &failure{outcome: *broken}
	}
	if reply.Status != http.StatusOK {
		return "", p.failed(reply)
	}
	var made struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	if json.Unmarshal(reply.Body, &made) != nil || made.Object != "file" || !id(made.ID) {
		return "", &failure{outcome: provider.Unknown("broken_answer"), status: reply.Status}
	}
	return made.ID, nil
}
