package check

import (
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/merchants"
)

// A sandbox that is being emptied does not add up until that is done, so no invariant looks at it (SBX-16). Afterwards the
// invariants hold again, and its chain names transfers that are gone: those of blocks up to the reset's end.

var partOfTable = regexp.MustCompile(`\{part (\w+)\.id\}`)

// ofTenants registers invariants of parts: they leave out rows of a sandbox that is being emptied.
func ofTenants(list []invariant) []invariant {
	for i, r := range list {
		list[i].text = withoutEmptied(r.text)
	}
	return invariants(list)
}

// withoutEmptied adds that condition wherever a statement looks at a part of a table.
func withoutEmptied(text string) string {
	return partOfTable.ReplaceAllString(text, "{part $1.id} AND "+merchants.NotEmptied("$1.merchant", "$1.live"))
}

// notEmptiedEither is merchants.NotEmptied for the columns of either of two tables.
func notEmptiedEither(a, b string) string {
	return merchants.NotEmptied("coalesce("+a+".merchant, "+b+".merchant)", "coalesce("+a+".live, "+b+".live)")
}

// emptied is a reset as the seals see it.
type emptied struct {
	version, sealedTo int64
	running           bool
}

// gone reports whether a sealed row of the sandbox may be gone. Entries of the audit log never are.
func (e emptied) gone(id string, block int64) bool {
	return strings.HasPrefix(id, ledger.TransferPrefix) && (e.running || block <= e.sealedTo)
}

var selectResets = engine.Statement(`SELECT r.merchant, r.version, r.sealed_to, r.done_at = 0 FROM resets AS r`)

// readResets reads the resets of all merchants, which are few.
func readResets(ask engine.Asking) (map[string]emptied, error) {
	list := map[string]emptied{}
	err := ask(selectResets, nil, func(r engine.Row) error {
		var merchant string
		var e emptied
		err := r.Scan(&merchant, &e.version, &e.sealedTo, &e.running)
		list[merchant] = e
		return err
	})
	return list, err
}

// forgetEmptied forgets the bookings that an earlier check proved of sandboxes that were emptied since.
func (w *walked) forgetEmptied(resets map[string]emptied) {
	for of, head := range w.heads {
		if e, ok := resets[of.Merchant]; ok && !of.Live && (e.running || head.N <= e.sealedTo) {
			delete(w.booked, of)
		}
	}
}

// restless are the sandboxes that were emptied while they were checked. What the check read of them comes from
// different moments, so it proves nothing. The next check proves them.
func (w *walked) restless(before, now map[string]emptied) map[books.Purse]bool {
	list := map[books.Purse]bool{}
	for merchant, e := range now {
		if e.running || e.version != before[merchant].version {
			of := books.Purse{Merchant: merchant}
			list[of] = true
			delete(w.heads, of)
			delete(w.booked, of)
		}
	}
	return list
}

// without returns ids without those that are missing.
func without(ids []string, missing map[string]bool) (left []string) {
	if len(missing) == 0 {
		return ids
	}
	for _, id := range ids {
		if !missing[id] {
			left = append(left, id)
		}
	}
	return left
}
