package store

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/table"
)

// old is a place that may hold texts from before encryption.
type old struct {
	place         table.Place
	read, replace string
	page          int // rows per read
	seal          func(p table.Personal, id, text string) (string, error)
}

// newOld makes the statements. where selects rows that may not be encrypted yet.
func newOld(p table.Place, where string, page int, seal func(p table.Personal, id, text string) (string, error)) old {
	table, column, _ := strings.Cut(string(p), ".")
	return old{
		place: p, page: page, seal: seal,
		read: engine.Statement(`SELECT t.id, CASE WHEN ` + where + ` THEN t.` + column + ` ELSE '' END FROM ` + table + ` AS t
WHERE t.id > $1 ORDER BY t.id LIMIT $2`),
		// A row that changed meanwhile is met again, or its writer has encrypted it.
		replace: engine.Standalone(`UPDATE ` + table + ` SET ` + column + ` = r.fresh FROM {rows: id TEXT, was TEXT, fresh TEXT} AS r
WHERE ` + table + `.id = r.id AND {among ` + table + `.id id} AND ` + table + `.` + column + ` = r.was RETURNING ` + table + `.id`),
	}
}

// encryptAsIs is for texts that are encrypted in their stored form.
func encryptAsIs(p table.Place) func(with table.Personal, id, text string) (string, error) {
	return func(with table.Personal, id, text string) (string, error) {
		return with.Encrypt(p.About(id), []byte(text)), nil
	}
}

// olds are read in small pages where rows are large.
var olds = []old{
	// A row with a hash was never plain: somebody wrote that, and the check says so.
	newOld(table.NoticeBody, "t.row_hash = '' AND "+table.Unmarked("body"), 50, encryptAsIs(table.NoticeBody)),
	newOld(table.InboxBody, table.Unmarked("body"), 50, encryptAsIs(table.InboxBody)),
	newOld(table.EventPayload, `t.object LIKE '`+pay.ClaimPrefix+`%' AND `+table.Unmarked("payload"), 200, encryptAsIs(table.EventPayload)),
	newOld(table.FileName, table.Unmarked("name"), 200, encryptAsIs(table.FileName)),
	newOld(table.FileContent, table.Unmarked("content"), 4, func(p table.Personal, id, text string) (string, error) {
		content, err := base64.StdEncoding.DecodeString(text)
		return payments.EncryptFile(p, &pay.File{ID: id, Content: content}), err
	}),
	newOld(table.ClaimDoc, `t.doc LIKE '%"evidence":[%'`, 200, encryptClaimDoc),
}

// encryptClaimDoc encrypts plain evidence in a claim's document.
func encryptClaimDoc(p table.Personal, id, text string) (string, error) {
	var doc payments.ClaimDocument
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return "", err
	}
	for i := range doc.Evidence {
		e := &doc.Evidence[i]
		if table.Marked(e.Text) {
			e.Shut = e.Text
		}
		if e.File != nil && table.Marked(e.File.Name) {
			e.File.Shut = e.File.Name
		}
	}
	doc.Evidence = payments.EncryptEvidence(p, id, doc.Evidence)
	return table.Encode(doc), nil
}

// EncryptPersonal encrypts texts from before encryption, and returns their number. It may stop anywhere and
// start again: it skips encrypted texts. Several nodes may call it at once.
func (s *core) EncryptPersonal(ctx context.Context) (n int, err error) {
	for _, o := range olds {
		for after, more := "", true; more && err == nil; {
			var sealed int
			sealed, after, more, err = s.encryptPage(ctx, o, after)
			n += sealed
		}
		if err != nil {
			return n, fmt.Errorf("encrypt %s: %w", o.place, err)
		}
	}
	return n, nil
}

// encryptPage encrypts a page of rows after a given one; it returns its last row.
func (s *core) encryptPage(ctx context.Context, o old, after string) (n int, last string, more bool, err error) {
	fresh, read := engine.NewRows(s.b.DB.Dialect(), engine.ParseColumns("id TEXT, was TEXT, fresh TEXT"), 0), 0
	err = s.b.DB.Walk(ctx, s.b.Text(o.read), []any{after, o.page}, func(r engine.Row) error {
		var id, text string
		if err := r.Scan(&id, &text); err != nil {
			return err
		}
		if read, last = read+1, id; text == "" {
			return nil
		}
		sealed, err := o.seal(s.b.Personal, id, text)
		if err != nil {
			s.b.Log.Error("a row is not encrypted, because it cannot be read", "row", o.place.About(id), "error", err)
		} else if sealed != text {
			fresh.Text(id, text, sealed).Next()
		}
		return nil
	})
	if err != nil || fresh.N == 0 {
		return 0, last, read == o.page, err
	}
	err = s.b.DB.Lease(ctx, s.b.Text(o.replace), fresh.Args(), func(engine.Row) error { n++; return nil })
	return n, last, read == o.page, err
}
