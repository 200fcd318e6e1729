package operators

import (
	"context"
	"encoding/json"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// DualControlsTable is the table dual_controls. The id of a row is the right.
var DualControlsTable = table.Describe(table.Table[operators.DualControl]{
	Name:    "dual_controls",
	Hashed:  true,
	Lock:    181,
	Of:      func(c *pay.Change) []operators.DualControl { return c.DualControls },
	ID:      func(c *operators.DualControl) string { return "dual/" + string(c.Right) },
	Version: func(c *operators.DualControl) int64 { return c.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, c *operators.DualControl) {
		f.Converted("id!", func() string { return "dual/" + string(c.Right) }, func(text string) error {
			c.Right = operators.Right(text[len("dual/"):])
			return nil
		})
		f.Number("version", &c.Version)
		f.Flag("required", &c.Required)
		f.Text("changed_by", &c.ChangedBy)
		f.Time("changed_at", &c.ChangedAt)
	},
})

// ProposalsTable is the table proposals.
var ProposalsTable = table.Describe(table.Table[operators.Proposal]{
	Name:    "proposals",
	Hashed:  true,
	Lock:    182,
	Of:      func(c *pay.Change) []operators.Proposal { return c.Proposals },
	ID:      func(p *operators.Proposal) string { return p.ID },
	Version: func(p *operators.Proposal) int64 { return p.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, p *operators.Proposal) {
		f.Text("id!", &p.ID)
		f.Number("version", &p.Version)
		f.Text("status", (*string)(&p.Status))
		f.Text("kind!", &p.Kind)
		f.Text("subject!", &p.Subject)
		f.Text("digest!", &p.Digest)
		f.Text("made_by!", &p.MadeBy)
		f.Time("made_at!", &p.MadeAt)
		f.Time("ends_at!", &p.EndsAt)
		f.Text("decided_by", &p.DecidedBy)
		f.Time("decided_at", &p.DecidedAt)
		f.Converted("doc", func() string {
			return table.Encode(proposalDoc{Right: p.Right, Details: p.Details, Body: p.Body, Applied: table.Micros(p.AppliedAt), Note: p.Note})
		}, func(text string) error {
			var d proposalDoc
			err := json.Unmarshal([]byte(text), &d)
			p.Right = d.Right
			p.Details = d.Details
			p.Body = d.Body
			p.Note = d.Note
			p.AppliedAt = table.FromMicros(d.Applied)
			return err
		})
	},
})

// proposalDoc is the column doc.
type proposalDoc struct {
	Right   operators.Right   `json:"right"`
	Details map[string]string `json:"details,omitempty"`
	Body    string            `json:"body,omitempty"`
	Applied int64             `json:"appliedAt,omitempty"`
	Note    string            `json:"note,omitempty"`
}

var (
	listDualControls  = engine.Statement(`SELECT ` + DualControlsTable.List + ` FROM dual_controls ORDER BY id`)
	selectDualControl = engine.Statement(`SELECT ` + DualControlsTable.List + ` FROM dual_controls WHERE id = $1`)
	selectProposals   = `SELECT ` + ProposalsTable.List + ` FROM proposals`
	listProposals     = engine.Statement(selectProposals + ` ORDER BY id DESC LIMIT $1`)
	openProposals     = engine.Statement(selectProposals + ` WHERE status IN ('pending', 'approved') ORDER BY id DESC LIMIT $1`)
	selectProposal    = engine.Statement(selectProposals + ` WHERE id = $1`)
)

// DualControls are the rights that need two persons.
type DualControls struct{ b *base.Base }

// DualControls returns the database's DualControls.
func (o OfOperators) DualControls() DualControls { return DualControls(o) }

// List lists the rights that were ever changed.
func (d DualControls) List(ctx context.Context) ([]operators.DualControl, error) {
	return base.Many(ctx, d.b, listDualControls, DualControlsTable.Scan(d.b.Personal))
}

// Get reads what was set for a right. ErrNotFound if nothing ever was.
func (d DualControls) Get(ctx context.Context, right operators.Right) (operators.DualControl, error) {
	return base.One(ctx, d.b, selectDualControl, DualControlsTable.Scan(d.b.Personal), "dual/"+string(right))
}

// Proposals are what operators proposed.
type Proposals struct{ b *base.Base }

// Proposals returns the database's Proposals.
func (o OfOperators) Proposals() Proposals { return Proposals(o) }

// List lists proposals, newest first.
func (p Proposals) List(ctx context.Context, limit int) ([]operators.Proposal, error) {
	return base.Many(ctx, p.b, listProposals, ProposalsTable.Scan(p.b.Personal), limit)
}

// Open lists proposals that are neither applied nor rejected, newest first. Some may have expired.
func (p Proposals) Open(ctx context.Context, limit int) ([]operators.Proposal, error) {
	return base.Many(ctx, p.b, openProposals, ProposalsTable.Scan(p.b.Personal), limit)
}

// Get reads a proposal. ErrNotFound if there is none.
func (p Proposals) Get(ctx context.Context, id string) (operators.Proposal, error) {
	return base.One(ctx, p.b, selectProposal, ProposalsTable.Scan(p.b.Personal), id)
}
