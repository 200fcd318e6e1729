package check

import (
	"context"
	"strings"

	"github.com/cascadapay/cascada/internal/store/audit"
	"github.com/cascadapay/cascada/internal/store/chain"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Explained is a statement of the check that reads a part of a table, with its arguments.
type Explained struct {
	Text string
	Args []any
}

func Explain() []Explained {
	texts := []Explained{
		{selectChain, []any{"", false, 0}}, {selectBlocks, []any{"", false, 0, 10}}, {selectUnclaimed, []any{"", "x"}},
		{chain.SealedAudit.IDs, []any{"", 10}}, {chain.SealedTransfers.IDs, []any{"", 10}},
		{chain.SealedAudit.IDsIn, []any{"", "x"}}, {chain.SealedTransfers.IDsIn, []any{"", "x"}},
		{audit.SelectAddresses, []any{"", "x"}}, {audit.SelectNotes, []any{"", "x"}},
		{paymentTally.again, paymentTally.args(strings.Split("s|production|20000|r|m|c|completed", "|"))},
		{analyticsTally.again, analyticsTally.args(strings.Split("s|production|20000|paid", "|"))},
		{deliveryTally.again, deliveryTally.args([]string{"s", "t", "u"})},
	}
	for _, p := range parts {
		if p.hash != nil {
			texts = append(texts, Explained{p.hash.text, []any{"TXN-01", "TXN-02"}})
		}
		for _, r := range p.invariants {
			texts = append(texts, Explained{r.text, []any{"TXN-01", "TXN-02"}})
		}
		for _, tally := range p.tallies {
			texts = append(texts, Explained{tally.text, []any{"TXN-01", "TXN-02"}})
		}
	}
	return texts
}

// Fast is a check without pauses.
func Fast(ctx context.Context, db engine.Reads, texts engine.Texts) (Checked, error) {
	c := newChecker(db, texts, nil, Options{})
	c.pause = 0
	return c.check(ctx)
}
