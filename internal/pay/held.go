package pay

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// Held is news of a dispute that cannot be applied yet: its money is not in the
// books, or it is on its way back. It is applied when that is over. The operator
// was told: its receipt is mismatched.
type Held struct {
	IDs       [2]string `json:"ids"` // of the claims that it may open
	Notice    string    `json:"notice"`
	Account   string    `json:"account"`
	Reference string    `json:"reference"`
	Dispute   string    `json:"dispute,omitempty"` // the provider's id of it
	Instance  int       `json:"instance,omitempty"`
	Stage     string    `json:"stage,omitempty"`
	Ruling    Ruling    `json:"ruling,omitempty"`
	Minor     int64     `json:"minor,omitempty"`
	Currency  string    `json:"currency,omitempty"`
	Message   string    `json:"message,omitempty"`
	Network   string    `json:"network,omitempty"`
	RespondBy int64     `json:"respondBy,omitempty"` // microseconds UTC
	Played    bool      `json:"simulated,omitempty"`
}

// maxHeld bounds what a payment holds of such news; more is for the operator alone.
const maxHeld = 20

// hold keeps news until it can be applied.
func (d *docket) hold(n Notice, ids [2]string) Verdict {
	if len(d.p.Held) >= maxHeld {
		return Mismatched
	}
	h := Held{
		IDs: ids, Notice: n.ID, Account: n.Account, Reference: n.Reference, Dispute: n.DisputeID, Instance: n.Instance, Stage: n.Stage,
		Ruling: n.Ruling, Minor: n.Outcome.Local.Minor, Currency: string(n.Outcome.Local.Currency), Message: n.Outcome.Message,
		Network: n.Network, Played: n.Outcome.Played,
	}
	if !n.RespondBy.IsZero() {
		h.RespondBy = n.RespondBy.UnixMicro()
	}
	d.p.Held = append(slices.Clip(d.p.Held), h)
	d.moved = true
	return Mismatched
}

func (h Held) notice() Notice {
	n := Notice{
		ID: h.Notice, Account: h.Account, Reference: h.Reference, DisputeID: h.Dispute, Instance: h.Instance, Stage: h.Stage,
		Dispute: h.Ruling == "", Ruling: h.Ruling, Network: h.Network,
		Outcome: Outcome{Message: h.Message, Local: money.New(h.Minor, money.Currency(h.Currency)), Played: h.Played},
	}
	if h.RespondBy != 0 {
		n.RespondBy = time.UnixMicro(h.RespondBy).UTC()
	}
	return n
}

// applyHeld applies what was held back, now that a change, which is not written yet,
// has settled where its money is; claims are the others that the news may be about.
// What still cannot be applied stays.
func (p Payment) applyHeld(change Change, claims []Claim, now time.Time) (Payment, Change) {
	if len(p.Held) == 0 {
		return p, change
	}
	held := p.Held
	d := newDocket(p, claims, now)
	d.from.Version, d.from.Status = p.Version-1, p.Stored
	if len(change.Payments) == 0 {
		d.from = p
	}
	d.p.Held, d.moved = nil, true
	for _, c := range change.Claims {
		d.stored[c.ID] = c.Version - 1
		d.put(c)
	}
	rest := change
	rest.Payments, rest.Claims = nil, nil
	d.change = rest
	for _, h := range held {
		d.contest(h.notice(), h.IDs)
	}
	return d.done()
}
