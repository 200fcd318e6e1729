package mercadopago

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// CanDefend implements provider.Defender: a chargeback takes documents, by its id. A mediation takes none by a call.
func (a *account) CanDefend(r provider.DisputeRequest) bool { return isCase(r.ID) }

// Defend sends all evidence in one call, which takes files alone. A chargeback takes documents once, while documentation_status is
// pending. The call has no idempotency key, so the chargeback is read before each try: pending without documents proves that nothing has
// arrived, and documents with our names prove that these have.
func (a *account) Defend(ctx context.Context, r provider.EvidenceRequest) pay.DefenseAnswer {
	c, bad := a.contestedCase(ctx, r.ID)
	if bad != nil {
		return *bad
	}
	sent := bundleOf(r)
	if c.Papers != "pending" || r.Repeated && len(c.Documents) > 0 {
		return a.documented(*c, sent.names(), r.Repeated)
	}
	files, bad := sent.load(ctx)
	if bad != nil {
		return *bad
	}
	answer := a.sendPapers(ctx, *c, files)
	if answer.Code != alreadySubmitted {
		return answer
	}
	if c, bad = a.contestedCase(ctx, r.ID); bad != nil {
		return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: alreadySubmitted}
	}
	return a.documented(*c, sent.names(), r.Repeated)
}

// contestedCase reads a chargeback that is to be answered.
func (a *account) contestedCase(ctx context.Context, id string) (*chargeback, *pay.DefenseAnswer) {
	reply, lost := a.call(ctx, http.MethodGet, "/v1/chargebacks/"+url.PathEscape(id), nil, "")
	if lost != nil {
		answer := unheard(lost)
		return nil, &answer
	}
	var c chargeback
	switch {
	case noCase(reply):
		return nil, &pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: "no_case", Reason: "the dispute is not known there"}
	case reply.Status != http.StatusOK:
		answer := unproved(reply.Status)
		return nil, &answer
	case read(reply.Body, &c) != nil || string(c.ID) != id:
		return nil, &pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: "broken_answer"}
	}
	return &c, nil
}

// unheard is what a call without an answer means.
func unheard(lost *pay.Outcome) pay.DefenseAnswer {
	if lost.Kind == pay.Unavailable {
		return pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: lost.Decline}
	}
	return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: lost.Decline}
}

// unproved is what a status means that comes without a documented word: a call without a right to it, or above a limit, did nothing. A
// token without the right is the operator's task at once, while there is time.
func unproved(status int) pay.DefenseAnswer {
	answer := pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: provider.Refused(status).Decline}
	switch status {
	case http.StatusForbidden:
		answer.Kind, answer.Reason = pay.DefenseRefused, unwanted["invalid_user_for_operation"]
	case http.StatusTooManyRequests, http.StatusUnauthorized:
		answer.Kind = pay.DefenseDelayed
	}
	return answer
}

// has reports whether all files are among the documents, whose descriptions have the names of their files.
func (c chargeback) has(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(c.Documents, func(d string) bool { return strings.Contains(d, name) })
	})
}

// documented is what the state of a chargeback means that takes no documents now. The words are those of the reference (get
// chargeback). repeated: a call of ours may have arrived.
func (a *account) documented(c chargeback, names []string, repeated bool) pay.DefenseAnswer {
	code := provider.Printable(string(c.Papers), 40)
	refused := func(why string) pay.DefenseAnswer {
		return pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: code, Reason: why}
	}
	switch {
	case c.has(names):
		return pay.DefenseAnswer{Kind: pay.DefenseSubmitted}
	case c.Papers == "not_supplied":
		return refused("the time for documents is over")
	case c.Papers == "not_applicable":
		return refused("this dispute takes no documents")
	case c.Papers == "review_pending" && !repeated, c.Papers == "valid" && !repeated, c.Papers == "invalid" && !repeated:
		return refused(unwanted[alreadySubmitted])
	case c.Papers != "" && !slices.Contains([]string{"pending", "review_pending", "valid", "invalid"}, string(c.Papers)):
		a.Strange("documentation", string(c.Papers))
	}
	return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: code} // perhaps these, under names of Mercado Pago's
}

// sendPapers makes the call. The reference wants the account's user as the caller, whose id the payment has; the guides have no such
// header.
func (a *account) sendPapers(ctx context.Context, c chargeback, files []provider.Upload) pay.DefenseAnswer {
	req, unsent := provider.NewUpload(ctx, a.base+"/v1/chargebacks/"+url.PathEscape(string(c.ID))+"/documentation", nil, files)
	if unsent != nil {
		return pay.DefenseAnswer{Kind: pay.DefenseUnknown, Code: unsent.Decline}
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Accept", "application/json")
	for _, of := range c.payments() {
		if p, lost := a.payment(ctx, of); lost == nil && isID(string(p.Collector)) {
			req.Header.Set("X-Caller-Id", string(p.Collector))
			break
		}
	}
	reply, lost := provider.Do(a.Client, req)
	if lost != nil {
		return unheard(lost)
	}
	return received(reply)
}

// received reads the answer to an upload. A success has no body, or the list of documents: the reference has both.
func received(reply provider.Reply) pay.DefenseAnswer {
	body := bytes.TrimSpace(reply.Body)
	var list []json.RawMessage
	if reply.Status == http.StatusOK && (len(body) == 0 || read(body, &list) == nil && list != nil) {
		return pay.DefenseAnswer{Kind: pay.DefenseSubmitted}
	}
	var e struct {
		Error   text `json:"error"`
		Code    text `json:"code"`
		Message text `json:"message"`
	}
	if reply.Status < http.StatusInternalServerError && read(body, &e) == nil {
		for _, word := range []text{e.Error, e.Code, e.Message} {
			if why := unwanted[string(word)]; why != "" {
				return pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: string(word), Reason: why}
			}
		}
	}
	return unproved(reply.Status)
}

const alreadySubmitted = "documentation_already_submitted"

// unwanted are the words of a refusal (reference, upload supporting documentation), in words for the merchant. Which field of the
// error has them is not documented.
var unwanted = map[string]string{
	alreadySubmitted:             "the dispute has documents, and takes them once",
	"missing_required_params":    "the request is not taken",
	"missing_files":              "the documents are not taken",
	"empty_file":                 "a document is empty",
	"invalid_user_for_operation": "the account may not answer this dispute",
	"too_many_files":             "there are more than ten documents",
	"file_size_exceeded":         "the documents have more than 10 MB together",
	"unsupported_file_type":      "a document is of a wrong kind",
}
