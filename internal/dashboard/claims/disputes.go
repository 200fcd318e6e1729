package claims

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Deadlines that are nearer than these are shown in the colours of danger and of warning.
const (
	urgent = 2 * 24 * time.Hour
	soon   = 5 * 24 * time.Hour
)

// disputeRow is a dispute in a list.
type disputeRow struct {
	pay.Claim
	State  state
	Reason evidence.Reason
	Due    string // tone of the deadline
}

type disputesView struct {
	Stage  pay.DisputeStage
	Counts map[pay.DisputeStage]int64
	Rows   []disputeRow
	Pager  frame.Pager
}

// Count is how many disputes a stage has, for a tab.
func (v disputesView) Count(stage string) int64 { return v.Counts[pay.DisputeStage(stage)] }

func (p *pages) rowOf(claim pay.Claim) disputeRow {
	tone, left := "neutral", claim.DueBy.Sub(p.Uses.TimeOf(claim.Scope))
	switch {
	case claim.Status != pay.ClaimNeedsEvidence:
	case left < urgent:
		tone = "bad"
	case left < soon:
		tone = "waiting"
	}
	return disputeRow{claim, stateOf(claim), evidence.ReasonOf(claim), tone}
}

// stageOf is the list that is requested; by default the first one, of disputes that need an answer.
func stageOf(r *http.Request) pay.DisputeStage {
	return pay.DisputeStage(cmp.Or(r.FormValue("tab"), string(pay.StageEvidence)))
}

func (p *pages) disputes(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view := disputesView{Stage: stageOf(r)}
	if err := unknownStage(view.Stage); err != nil {
		return err
	}
	after := r.FormValue("cursor")
	list, err := p.Uses.ClaimLists.Disputes(r.Context(), v.Scope, view.Stage, after, frame.Rows+1)
	if err != nil {
		return err
	}
	if view.Counts, err = p.Uses.ClaimLists.CountDisputes(r.Context(), v.Scope); err != nil {
		return err
	}
	list, view.Pager.Next = frame.Cut(list, claimID)
	view.Pager.Total = int(view.Counts[view.Stage])
	if after == "" && len(list) > 0 {
		view.Pager.From, view.Pager.To = 1, len(list)
	}
	for _, claim := range list {
		view.Rows = append(view.Rows, p.rowOf(claim))
	}
	return p.room.Show(w, r, v, "disputes", view)
}

func (p *pages) disputesFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	stage := stageOf(r)
	if err := unknownStage(stage); err != nil {
		return err
	}
	say := func(key string) string { return p.room.Text(v, key) }
	file, err := p.NewCSV(w, r, v, "disputes", say("dispute"), say("created"), say("state"), say("deadline"), say("payment"), say("order"), say("amount"), say("currency_code"), say("amount_usd"), say("fee"), say("reason"), say("network_code"), say("ended"), say("fee_tax"), say("tax_name"), say("tax_percent"))
	if err != nil {
		return err
	}
	for after := ""; ; {
		list, err := p.Uses.ClaimLists.Disputes(r.Context(), v.Scope, stage, after, frame.FileRows)
		if err != nil {
			return err
		}
		for _, d := range list {
			err := file.Row(d.ID, d.CreatedAt, say(stateOf(d).Text), d.DueBy, d.Payment, d.OrderID, d.Local, string(d.Local.Currency), d.Dollars(), money.New(d.Fee, money.USD), d.Reason, d.Network, d.Resolved, money.New(d.Tax, money.USD), d.Taxed.Name, d.Taxed.Percent())
			if err != nil {
				return err
			}
		}
		if len(list) < frame.FileRows {
			return file.End()
		}
		after = list[len(list)-1].ID
	}
}

// item is a line of the list of what to send.
type item struct {
	Kind string
	Why  string // key of a text
	Sent int    // pieces of this kind
}

// piece is a piece of evidence that was sent.
type piece struct {
	pay.Evidence
	Named string // key of its kind's name, "" for a kind that only the shop knows
	Image bool   // it is shown in the page
	Size  string
}

func pieceOf(e pay.Evidence) piece {
	p := piece{Evidence: e}
	switch {
	case e.File == nil && e.Kind == wordsKind:
		p.Named = "explanation"
	case slices.Contains(pay.EvidenceKinds(), e.Kind):
		p.Named = "kind_" + e.Kind
	}
	if e.File != nil {
		p.Image, p.Size = slices.Contains(shownInline, e.File.Type), sizeOf(e.File.Size)
	}
	return p
}

// sizeOf is a size as people say it.
func sizeOf(bytes int64) string {
	if bytes < 1e6 {
		return strconv.FormatInt(max(1, bytes/1e3), 10) + " kB"
	}
	return strconv.FormatInt((bytes+5e5)/1e6, 10) + " MB"
}

// disputeView is the page of a dispute, and of the answer to it.
type disputeView struct {
	disputeRow
	Items   []item
	Pieces  []piece
	Moments []moment
	Open    bool // it takes evidence
	Accepts bool // the merchant may give in
	Left    int  // pieces that may still be sent
	Fee     money.Amount
	TaxPart money.Amount // in the fee
	Held    money.Amount
	// Languages are those of templates: the reader's own first. Readers can check what they sign in their own language;
	// a bank may want another.
	Languages []merchants.Language
	form
}

// found reads the dispute of a page. ok is false if the browser was led on to another page.
func (p *pages) found(w http.ResponseWriter, r *http.Request, v *frame.Visit) (view disputeView, ok bool, err error) {
	claim, err := p.Uses.Claims.Get(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return view, false, err
	}
	if claim.Kind == pay.UserDispute {
		return view, false, p.lead(w, r, v, "/refunds/"+claim.ID)
	}
	view = disputeView{
		disputeRow: p.rowOf(claim), Left: pay.MaxEvidence - len(claim.Evidence),
		Fee: money.New(claim.Fee, money.USD), TaxPart: money.New(claim.Tax, money.USD), Held: money.New(claim.Frozen, money.USD),
	}
	view.Languages = append(view.Languages, v.Language())
	for _, l := range merchants.Languages() {
		if l != v.Language() {
			view.Languages = append(view.Languages, l)
		}
	}
	_, refused := claim.After(pay.Submit)
	view.Open = refused == nil && view.Left > 0
	_, refused = claim.After(pay.Accept)
	view.Accepts = refused == nil
	for _, kind := range view.Reason.Wanted() {
		i := item{Kind: kind, Why: "why_" + string(view.Reason) + "_" + kind}
		for _, e := range claim.Evidence {
			if e.Kind == kind {
				i.Sent++
			}
		}
		view.Items = append(view.Items, i)
	}
	for _, e := range claim.Evidence {
		view.Pieces = append(view.Pieces, pieceOf(e))
	}
	return view, true, nil
}

func (p *pages) dispute(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, ok, err := p.found(w, r, v)
	if !ok {
		return err
	}
	moved, err := p.Uses.ClaimLists.Movements(r.Context(), view.Claim)
	if err != nil {
		return err
	}
	view.Moments = history(view.Claim, moved)
	return p.room.Show(w, r, v, "dispute", view)
}

// accept is the page that asks before the merchant gives in, for a browser without a script.
func (p *pages) accept(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, ok, err := p.found(w, r, v)
	switch {
	case !ok:
		return err
	case !view.Accepts:
		return p.lead(w, r, v, "/disputes/"+view.ID)
	}
	return p.room.Show(w, r, v, "accept", view)
}

func (p *pages) giveIn(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, ok, err := p.found(w, r, v)
	if !ok {
		return err
	}
	if view.State.Text == "dispute_accepted" { // a second click
		return p.lead(w, r, v, "/disputes/"+view.ID)
	}
	if _, err := p.Uses.Claims.Accept(r.Context(), v.Scope, view.ID, v.Actor()); err != nil {
		return err
	}
	p.Flash(w, "accepted")
	return p.lead(w, r, v, "/disputes/"+view.ID)
}

// AtBank is the key of the text that says how far the evidence has come; "" if that is not kept.
func (v disputeView) AtBank() string {
	switch s := v.Defense.State; {
	case s == "":
		return ""
	case s == pay.DefenseSubmitted, s == pay.DefenseByHand:
		return "at_bank_has"
	case s == pay.DefenseRefused, s == pay.DefenseMissed, s == pay.DefenseOver:
		return "at_bank_" + string(s)
	}
	return "at_bank_way"
}

// Mark is what a template has where the shop has to write.
func (v disputeView) Mark() string { return evidence.Fill }

// Rows is how tall the field of the text is: a template is read as a whole.
func (v disputeView) Rows() int { return min(28, max(7, strings.Count(v.Text, "\n")+2)) }

// MostOfFile is how many bytes one file may have.
func (v disputeView) MostOfFile() int { return pay.MaxEvidenceFile }

// MostTogether is how many bytes all files of an answer may have.
func (v disputeView) MostTogether() int { return pay.MaxEvidenceAtOnce }

// kindsFor are the kinds of evidence that a form offers: the wanted ones, and one for all else.
func kindsFor(why evidence.Reason) []string { return append(why.Wanted(), wordsKind) }
