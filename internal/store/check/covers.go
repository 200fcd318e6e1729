package check

import (
	"encoding/json"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/merchants"
)

// coversAgree is the rule of what withdrawals pay out of settlements (SETTLE-11).
const coversAgree = "what a withdrawal covers of a settlement is what the settlement says, and adds up"

const (
	coveredSettlement = `SELECT s.id, s.merchant, s.live, s.status, s.net, s.covered, s.covers FROM `
	coveringPayout    = `SELECT w.id, w.merchant, w.live, w.status, w.amount, w.fee, w.returned, w.covered, w.covers, w.due_at, coalesce({json w.doc completedAt}, '') <> '' FROM `
)

var (
	partOfSettlements = engine.Statement(coveredSettlement + `settlements AS s WHERE {part s.id} AND ` + merchants.NotEmptied("s.merchant", "s.live"))
	theseSettlements  = engine.Statement(coveredSettlement + `{rows: id TEXT} AS r JOIN settlements AS s ON s.id = r.id`)
	partOfWithdrawals = engine.Statement(coveringPayout + `withdrawals AS w WHERE {part w.id} AND ` + merchants.NotEmptied("w.merchant", "w.live"))
	theseWithdrawals  = engine.Statement(coveringPayout + `{rows: id TEXT} AS r JOIN withdrawals AS w ON w.id = r.id`)
)

// settlementCovers is what a settlement's row says that it is covered by.
type settlementCovers struct {
	id, merchant string
	live         bool
	status       pay.SettlementStatus
	net, covered int64
	covers       []pay.Cover
}

func scanSettlementCovers(r engine.Row) (s settlementCovers, err error) {
	var text string
	if err = r.Scan(&s.id, &s.merchant, &s.live, &s.status, &s.net, &s.covered, &text); err != nil || text == "" {
		return s, err
	}
	return s, json.Unmarshal([]byte(text), &s.covers)
}

// payoutCovers is what a withdrawal's row says that it covers.
type payoutCovers struct {
	id, merchant                   string
	live, arrived                  bool
	status                         pay.WithdrawalStatus
	amount, fee, returned, covered int64
	due                            int64
	covers                         []pay.Covered
}

func scanPayoutCovers(r engine.Row) (w payoutCovers, err error) {
	var text string
	if err = r.Scan(&w.id, &w.merchant, &w.live, &w.status, &w.amount, &w.fee, &w.returned, &w.covered, &text, &w.due, &w.arrived); err != nil || text == "" {
		return w, err
	}
	return w, json.Unmarshal([]byte(text), &w.covers)
}

// looked reports whether the withdrawal covers what it should: one that has just ended is still due.
func (p payoutCovers) looked() bool {
	open := p.status == pay.WithdrawalPending || p.status == pay.WithdrawalProcessing
	return open || p.due == 0
}

func (p payoutCovers) limit() int64 {
	if p.status == pay.WithdrawalCanceled || p.status == pay.WithdrawalRefused && !p.arrived {
		return 0
	}
	return p.amount - p.returned
}

// byID reads rows by their ids.
func byID[T any](c *checker, ask engine.Asking, text string, scan func(engine.Row) (T, error), id func(T) string, ids map[string]bool) (map[string]T, error) {
	found := map[string]T{}
	if len(ids) == 0 {
		return found, nil
	}
	rows := engine.NewRows(c.db.Dialect(), engine.ParseColumns("id TEXT"), len(ids))
	for id := range ids {
		rows.Text(id).Next()
	}
	list, err := collect(ask, text, scan, rows.Args()...)
	for _, row := range list {
		found[id(row)] = row
	}
	return found, err
}

// settlementsCovered proves the covers of a part of the settlements.
func (c *checker) settlementsCovered(ask engine.Asking, from, before string) ([]Broken, error) {
	list, err := collect(ask, partOfSettlements, scanSettlementCovers, from, before)
	if err != nil {
		return nil, fmt.Errorf("check that %s: %w", coversAgree, err)
	}
	payouts, others := map[string]bool{}, map[string]bool{}
	for _, s := range list {
		for _, cover := range s.covers {
			if cover.SetOff() {
				others[cover.By] = true
			} else {
				payouts[cover.By] = true
			}
		}
	}
	made, err := byID(c, ask, theseWithdrawals, scanPayoutCovers, func(w payoutCovers) string { return w.id }, payouts)
	if err != nil {
		return nil, err
	}
	sides, err := byID(c, ask, theseSettlements, scanSettlementCovers, func(s settlementCovers) string { return s.id }, others)
	if err != nil {
		return nil, err
	}
	var broken []Broken
	for _, s := range list {
		for _, note := range s.faults(made, sides) {
			broken = append(broken, Broken{coversAgree, s.id, note})
		}
	}
	return broken, nil
}

// faults lists what is wrong with a settlement's covers.
func (s settlementCovers) faults(made map[string]payoutCovers, sides map[string]settlementCovers) (notes []string) {
	say := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	sum, out, paid := int64(0), int64(0), true
	for _, cover := range s.covers {
		sum += cover.Amount
		if cover.SetOff() {
			side, known := sides[cover.By]
			if !known || side.merchant != s.merchant || side.live != s.live || side.by(s.id) != -cover.Amount {
				say("%d set off against %s, which has %d", cover.Amount, cover.By, side.by(s.id))
			}
			continue
		}
		out += cover.Amount
		paid = paid && cover.Paid
		w, known := made[cover.By]
		switch {
		case !known || w.merchant != s.merchant || w.live != s.live || w.of(s.id) != cover.Amount:
			say("%d by %s, which has %d", cover.Amount, cover.By, w.of(s.id))
		case cover.Amount <= 0:
			say("%d by %s", cover.Amount, cover.By)
		case w.looked() && cover.Paid != w.arrived:
			say("paid by %s is %t, and it is %s", cover.By, cover.Paid, w.status)
		}
	}
	left := s.net - s.covered
	switch {
	case sum != s.covered:
		say("covered %d, the sum is %d", s.covered, sum)
	case s.net >= 0 && left < 0, s.net < 0 && left > 0:
		say("covered %d of %d", s.covered, s.net)
	case s.status == pay.BatchOpen && len(s.covers) > 0:
		say("open, and covered by %s", s.covers[0].By)
	case s.status == pay.BatchPaid && (out <= 0 || left != 0 || !paid):
		say("paid, and withdrawals that have arrived do not cover all of it")
	case s.status == pay.BatchClosed && out > 0 && left == 0 && paid:
		say("closed, and withdrawals that cover all of it have arrived")
	}
	return notes
}

// by is what a settlement or a withdrawal covers of the settlement.
func (s settlementCovers) by(id string) (sum int64) {
	for _, c := range s.covers {
		if c.By == id {
			sum += c.Amount
		}
	}
	return sum
}

// of is what the withdrawal covers of a settlement.
func (p payoutCovers) of(settlement string) (sum int64) {
	for _, c := range p.covers {
		if c.Settlement == settlement {
			sum += c.Amount
		}
	}
	return sum
}

// withdrawalsCover proves the covers of a part of the withdrawals.
func (c *checker) withdrawalsCover(ask engine.Asking, from, before string) ([]Broken, error) {
	list, err := collect(ask, partOfWithdrawals, scanPayoutCovers, from, before)
	if err != nil {
		return nil, fmt.Errorf("check that %s: %w", coversAgree, err)
	}
	ids := map[string]bool{}
	for _, w := range list {
		for _, part := range w.covers {
			ids[part.Settlement] = true
		}
	}
	settlements, err := byID(c, ask, theseSettlements, scanSettlementCovers, func(s settlementCovers) string { return s.id }, ids)
	if err != nil {
		return nil, err
	}
	var broken []Broken
	for _, w := range list {
		sum := int64(0)
		say := func(format string, args ...any) {
			broken = append(broken, Broken{coversAgree, w.id, fmt.Sprintf(format, args...)})
		}
		for _, part := range w.covers {
			sum += part.Amount
			if s := settlements[part.Settlement]; s.by(w.id) != w.of(part.Settlement) {
				say("%d of %s, which has %d", part.Amount, part.Settlement, s.by(w.id))
			}
		}
		if sum != w.covered {
			say("covered %d, the sum is %d", w.covered, sum)
		}
		if w.covered < 0 || w.looked() && w.covered > w.limit() {
			say("%s, covers %d of at most %d", w.status, w.covered, w.limit())
		}
	}
	return broken, nil
}
