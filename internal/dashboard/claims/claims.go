// Package claims is the dashboard's pages about money that goes back: refunds, and disputes with the evidence
// against them.
package claims

import (
	"embed"
	"net/http"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/work"
)

//go:embed all:templates text
var files embed.FS

type pages struct {
	*frame.Site
	Uses Uses
	room *frame.Pages
	// answers are checked and sent one at a time for each merchant, and mostAnswers at a time in all, in production and the
	// sandbox by Live. An answer has arrived before it takes its turn, so whoever sends slowly takes none.
	answers map[bool]*work.Turns
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	room, err := site.NewPages(files)
	if err != nil {
		return err
	}
	c := &pages{Site: site, Uses: uses, room: room.TimedBy(site), answers: map[bool]*work.Turns{false: {All: mostAnswers}, true: {All: mostAnswers}}}
	site.Handle("GET /refunds", merchants.RightRead, c.refunds)
	site.Handle("GET /refunds.csv", merchants.RightRead, c.refundsFile)
	site.Handle("GET /refunds/{id}", merchants.RightRead, c.refund)
	site.Handle("GET /disputes", merchants.RightRead, c.disputes)
	site.Handle("GET /disputes.csv", merchants.RightRead, c.disputesFile)
	site.Handle("GET /disputes/{id}", merchants.RightRead, c.dispute)
	site.Handle("GET /disputes/{id}/files/{evidence}", merchants.RightRead, c.file)
	site.Handle("GET /disputes/{id}/answer", merchants.RightClaims, c.answer)
	site.Handle("POST /disputes/{id}/answer", merchants.RightClaims, c.submit, frame.Files(maxBody, bodyWithin))
	site.Handle("GET /disputes/{id}/accept", merchants.RightClaims, c.accept)
	site.Handle("POST /disputes/{id}/accept", merchants.RightClaims, c.giveIn)
	return nil
}

// state is the state of a claim as its page shows it: the key of a text, and a tone.
type state struct{ Text, Tone string }

// stateOf says how a claim ended for the merchant, not for the shopper, as its status does.
func stateOf(c pay.Claim) state {
	switch c.Status {
	case pay.ClaimPending:
		if c.Kind == pay.UserDispute {
			return state{"refund_pending", "waiting"}
		}
		return state{"dispute_review", "neutral"}
	case pay.ClaimNeedsEvidence:
		return state{"dispute_evidence", "waiting"}
	case pay.ClaimUnderReview:
		return state{"dispute_review", "neutral"}
	case pay.ClaimApproved:
		switch {
		case c.Kind == pay.UserDispute && c.Call.Returned != "":
			return state{"refund_failed", "bad"}
		case c.Kind == pay.UserDispute:
			return state{"refund_done", "good"}
		case accepted(c):
			return state{"dispute_accepted", "neutral"}
		}
		return state{"dispute_lost", "bad"}
	case pay.ClaimRejected:
		if c.Kind == pay.UserDispute {
			return state{"refund_failed", "bad"}
		}
		return state{"dispute_won", "good"}
	case pay.ClaimExpired:
		return state{"dispute_expired", "bad"}
	}
	if c.Kind == pay.UserDispute {
		return state{"refund_withdrawn", "neutral"}
	}
	return state{"dispute_withdrawn", "good"}
}

// accepted reports whether the merchant gave in.
func accepted(c pay.Claim) bool {
	return slices.ContainsFunc(c.Timeline, func(s pay.ClaimStep) bool {
		return s.Status == pay.ClaimApproved && s.Actor == pay.PartyMerchant
	})
}

// moment is a line of a claim's history.
type moment struct {
	At    time.Time
	Title string // key of a text
	Tone  string
	Icon  string
	Party string // key of who did it, "" for money
	Note  string
	Money money.Amount // that moved
	From  string       // key of the bucket that it left or came to, with Into
	Into  bool
	File  string // name of a file of evidence
}

// history is the claim's life with the money that it moved, newest first.
func history(c pay.Claim, moved []pay.Movement) []moment {
	var list []moment
	for i, s := range c.Timeline {
		now := c
		now.Status, now.Timeline = s.Status, c.Timeline[:i+1]
		m := moment{At: time.UnixMicro(s.At).UTC(), Title: "now_" + stateOf(now).Text, Tone: stateOf(now).Tone, Party: "party_" + s.Actor, Note: s.Note}
		if i == 0 {
			m.Title = "opened_" + string(c.Kind)
		}
		if s.Actor == pay.PartySystem { // the title says it in the language of the page
			m.Note = ""
		}
		list = append(list, m)
	}
	for _, e := range c.Evidence {
		m := moment{At: time.UnixMicro(e.At).UTC(), Title: "sent_evidence", Tone: "neutral", Icon: "edit", Party: "party_" + pay.PartyMerchant}
		if e.File != nil {
			m.Icon, m.File = "copy", e.File.Name
		}
		list = append(list, m)
	}
	for _, m := range moved {
		if m.Bucket == ledger.Frozen && (m.Type == pay.MovedFreeze || m.Type == pay.MovedUnfreeze) {
			continue // the other half of the same movement is shown
		}
		amount := m.Amount
		list = append(list, moment{
			At: m.At, Title: "money_" + string(m.Type), Tone: "neutral", Icon: "balance", Money: money.New(max(amount, -amount), money.USD),
			From: "bucket_" + string(m.Bucket), Into: amount > 0,
		})
	}
	slices.SortStableFunc(list, func(a, b moment) int { return a.At.Compare(b.At) })
	slices.Reverse(list)
	return list
}

// claimID is a cursor of lists of claims.
func claimID(c pay.Claim) string { return c.ID }

// back is the address of a page of the visit's shop, for a redirect.
func (p *pages) back(v *frame.Visit, path string) string {
	return p.At("/" + v.Shop.ID + "/" + string(v.Environment()) + path)
}

func (p *pages) lead(w http.ResponseWriter, r *http.Request, v *frame.Visit, path string) error {
	p.Go(w, r, p.back(v, path))
	return nil
}
