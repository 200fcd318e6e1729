package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
)

var (
	recoveriesTable = newTable("recoveries", "id TEXT!, version BIGINT, state TEXT, lost_from BIGINT, lost_to BIGINT, until BIGINT, doc TEXT",
		func(*pay.Recovery) string { return pay.RecoveryID }, func(v *pay.Recovery) int64 { return v.Version },
		func(r *rows, v *pay.Recovery) {
			r.text(pay.RecoveryID).number(v.Version).text(string(v.State)).number(micros(v.From), micros(v.To), micros(v.Until)).text(encode(v.RecoveryNotes))
		}).onceOnly()

	foundTable = newTable("found", "id TEXT!, version BIGINT, mark TEXT!, kind TEXT!, open BOOLEAN, doc TEXT",
		func(f *pay.Found) string { return f.ID() }, func(f *pay.Found) int64 { return f.Version },
		func(r *rows, f *pay.Found) {
			r.text(f.ID()).number(f.Version).text(f.Mark, string(f.Kind)).flag(f.Open()).text(encode(foundDoc{f.Account, f.Reference, f.FoundNotes}))
		}).onceOnly()
)

func recoveries(c *pay.Change) []pay.Recovery { return c.Recoveries }
func found(c *pay.Change) []pay.Found         { return c.Found }

type foundDoc struct {
	Account   string `json:"account"`
	Reference string `json:"reference"`
	pay.FoundNotes
}

const (
	selectRecovery  = `SELECT version, state, lost_from, lost_to, until, doc FROM recoveries WHERE id = '` + pay.RecoveryID + `'`
	foundColumns    = `version, mark, kind, doc`
	selectFound     = `SELECT ` + foundColumns + ` FROM found WHERE id = $1`
	selectFoundMark = `SELECT ` + foundColumns + ` FROM found WHERE mark = $1 AND kind = $2 ORDER BY id DESC`
	listFound       = `SELECT ` + foundColumns + ` FROM found WHERE open OR $1 ORDER BY id LIMIT $2`
)

// Recovery reads what is known of a restore; the zero value where there never was one.
func (s *Store) Recovery(ctx context.Context) (pay.Recovery, error) {
	v, err := one(ctx, s, selectRecovery, func(r row) (v pay.Recovery, err error) {
		var from, to, until int64
		var doc string
		if err := r.Scan(&v.Version, &v.State, &from, &to, &until, &doc); err != nil {
			return v, err
		}
		v.From, v.To, v.Until = fromMicros(from), fromMicros(to), fromMicros(until)
		return v, json.Unmarshal([]byte(doc), &v.RecoveryNotes)
	})
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return v, err
}

func scanFound(r row) (f pay.Found, err error) {
	var text string
	if err := r.Scan(&f.Version, &f.Mark, &f.Kind, &text); err != nil {
		return f, err
	}
	var doc foundDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return f, fmt.Errorf("what was found: %w", err)
	}
	f.Account, f.Reference, f.FoundNotes = doc.Account, doc.Reference, doc.FoundNotes
	return f, nil
}

// FoundAt reads what was found at an account under our reference. ErrNotFound.
func (s *Store) FoundAt(ctx context.Context, id string) (pay.Found, error) {
	return one(ctx, s, selectFound, scanFound, id)
}

// FoundBy lists what was found of a request, by the mark of its ids.
func (s *Store) FoundBy(ctx context.Context, mark string, kind pay.FoundKind) ([]pay.Found, error) {
	return many(ctx, s, selectFoundMark, scanFound, mark, string(kind))
}

// FoundList lists what was found and is open, or all of it.
func (s *Store) FoundList(ctx context.Context, all bool, limit int) ([]pay.Found, error) {
	return many(ctx, s, listFound, scanFound, all, limit)
}

func recoveryQueries() []string {
	return []string{recoveriesTable.insert, recoveriesTable.update, foundTable.insert, foundTable.update, selectRecovery, selectFound, selectFoundMark, listFound}
}
