package store

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Cipher encrypts what persons may be named in: evidence, and what providers told. What a text
// is about, its column and row, is bound to it.
type Cipher interface {
	SealData(about string, plain []byte) []byte
	OpenData(about string, sealed []byte) ([]byte, error)
}

const (
	// sealedMark begins a text that is encrypted; base64 follows. Texts from before have none,
	// and are read as they are.
	sealedMark = "sealed:1:"
	// shut stands in a list where a text cannot be opened.
	shut = "[cannot be opened]"
)

// errShut says that a text cannot be opened: another key sealed it, for another row, or it was
// damaged.
var errShut = errors.New("a text cannot be opened")

// personal encrypts and opens texts. Without a cipher it leaves them plain.
type personal struct {
	cipher Cipher
	log    *slog.Logger // is told of evidence that cannot be opened
}

func (p personal) seal(about string, plain []byte) string {
	if p.cipher == nil || len(plain) == 0 {
		return string(plain)
	}
	return sealedMark + base64.StdEncoding.EncodeToString(p.cipher.SealData(about, plain))
}

func (p personal) open(about, text string) ([]byte, error) {
	sealed, marked := strings.CutPrefix(text, sealedMark)
	if !marked {
		return []byte(text), nil
	}
	if p.cipher == nil {
		return nil, fmt.Errorf("%w: %s: there is no key", errShut, about)
	}
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err == nil {
		raw, err = p.cipher.OpenData(about, raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errShut, about, err)
	}
	return raw, nil
}

// sealFile returns a file's content as it is stored: plain, it is base64.
func (p personal) sealFile(f *pay.File) string {
	if p.cipher == nil {
		return base64.StdEncoding.EncodeToString(f.Content)
	}
	return p.seal(fileContent.about(f.ID), f.Content)
}

func (p personal) openFile(id, text string) ([]byte, error) {
	content, err := p.open(fileContent.about(id), text)
	if err == nil && !strings.HasPrefix(text, sealedMark) {
		content, err = base64.StdEncoding.DecodeString(text)
	}
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", id, err)
	}
	return content, nil
}

// payload is an event's payload as it is stored. Those of claims tell their evidence.
func payload(p personal, e *pay.Event) string {
	if !strings.HasPrefix(e.Object, pay.ClaimPrefix) {
		return string(e.Payload)
	}
	return p.seal(eventPayload.about(e.ID), e.Payload)
}

// sealEvidence returns evidence as it is stored: what was said, and the names of files, encrypted.
func sealEvidence(p personal, claim string, list []pay.Evidence) []pay.Evidence {
	var stored []pay.Evidence
	for _, e := range list {
		said, named := evidenceText(claim, e.ID), evidenceName(claim, e.ID)
		if e.Text = p.seal(said, []byte(e.Text)); e.Shut != "" {
			e.Text = e.Shut
		}
		if e.File != nil {
			f := *e.File
			if f.Name = p.seal(named, []byte(f.Name)); f.Shut != "" {
				f.Name = f.Shut
			}
			e.File = &f
		}
		stored = append(stored, e)
	}
	return stored
}

// openEvidence is the way back. A claim is about money, so it is read also where its evidence
// cannot be: that says so, and stays what it is.
func (p personal) openEvidence(claim string, list []pay.Evidence) []pay.Evidence {
	open := func(about string, text, kept *string) {
		plain, err := p.open(about, *text)
		if err == nil {
			*text = string(plain)
			return
		}
		p.log.Error("evidence cannot be opened", "error", err)
		*kept, *text = *text, shut
	}
	for i := range list {
		e := &list[i]
		open(evidenceText(claim, e.ID), &e.Text, &e.Shut)
		if e.File != nil {
			open(evidenceName(claim, e.ID), &e.File.Name, &e.File.Shut)
		}
	}
	return list
}

// place is a column that is encrypted.
type place string

const (
	receiptBody  place = "receipts.body"
	fileName     place = "files.name"
	fileContent  place = "files.content"
	inboxBody    place = "inbox.body"
	eventPayload place = "events.payload"
	claimDoc     place = "claims.doc"
)

func (p place) about(id string) string { return string(p) + " " + id }

func evidenceText(claim, evidence string) string {
	return claimDoc.about(claim) + " " + evidence + " text"
}
func evidenceName(claim, evidence string) string {
	return claimDoc.about(claim) + " " + evidence + " name"
}

// old is a place where texts may be that were written before they were encrypted.
type old struct {
	place
	read, replace string
	page          int // rows that are read at a time
	seal          func(p personal, id, text string) (string, error)
}

// newOld makes the statements. where selects rows that may not be encrypted yet.
func newOld(p place, where string, page int, seal func(p personal, id, text string) (string, error)) old {
	table, column, _ := strings.Cut(string(p), ".")
	return old{
		place: p, page: page, seal: seal,
		read: engine.Statement(`SELECT t.id, CASE WHEN ` + where + ` THEN t.` + column + ` ELSE '' END FROM ` + table + ` AS t
WHERE t.id > $1 ORDER BY t.id LIMIT $2`),
		// One that changed meanwhile is met again, or encrypted by who changed it.
		replace: engine.Standalone(`UPDATE ` + table + ` SET ` + column + ` = r.fresh FROM {rows: id TEXT, was TEXT, fresh TEXT} AS r
WHERE ` + table + `.id = r.id AND {among ` + table + `.id id} AND ` + table + `.` + column + ` = r.was RETURNING ` + table + `.id`),
	}
}

// unmarked is the condition that a text is not encrypted.
func unmarked(column string) string {
	return fmt.Sprintf("substr(t.%s, 1, %d) <> '%s'", column, len(sealedMark), sealedMark)
}

// sealAsIs is for texts that are encrypted as they were stored.
func (p place) sealAsIs(with personal, id, text string) (string, error) {
	return with.seal(p.about(id), []byte(text)), nil
}

// olds are read in few rows at a time where those are large.
var olds = []old{
	newOld(receiptBody, unmarked("body"), 50, receiptBody.sealAsIs),
	newOld(inboxBody, unmarked("body"), 50, inboxBody.sealAsIs),
	newOld(eventPayload, `t.object LIKE '`+pay.ClaimPrefix+`%' AND `+unmarked("payload"), 200, eventPayload.sealAsIs),
	newOld(fileName, unmarked("name"), 200, fileName.sealAsIs),
	newOld(fileContent, unmarked("content"), 4, func(p personal, id, text string) (string, error) {
		content, err := base64.StdEncoding.DecodeString(text)
		return p.sealFile(&pay.File{ID: id, Content: content}), err
	}),
	newOld(claimDoc, `t.doc LIKE '%"evidence":[%'`, 200, sealClaimDoc),
}

// sealClaimDoc encrypts the evidence in a claim's document that is not.
func sealClaimDoc(p personal, id, text string) (string, error) {
	var doc claimDocument
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return "", err
	}
	for i := range doc.Evidence {
		e := &doc.Evidence[i]
		if strings.HasPrefix(e.Text, sealedMark) {
			e.Shut = e.Text
		}
		if e.File != nil && strings.HasPrefix(e.File.Name, sealedMark) {
			e.File.Shut = e.File.Name
		}
	}
	doc.Evidence = sealEvidence(p, id, doc.Evidence)
	return encode(doc), nil
}

// SealPersonal encrypts what was written before it was encrypted, and returns how much that was.
// It may be ended anywhere, and begun anew: what is encrypted is passed over. Several nodes may
// call it at a time.
func (s *core) SealPersonal(ctx context.Context) (n int, err error) {
	for _, o := range olds {
		for after, more := "", true; more && err == nil; {
			var sealed int
			sealed, after, more, err = s.sealPage(ctx, o, after)
			n += sealed
		}
		if err != nil {
			return n, fmt.Errorf("encrypt %s: %w", o.place, err)
		}
	}
	return n, nil
}

// sealPage does so for the rows of a page, which begins behind a row; it returns its last one.
func (s *core) sealPage(ctx context.Context, o old, after string) (n int, last string, more bool, err error) {
	fresh, read := engine.NewRows(s.db.Dialect(), engine.ParseColumns("id TEXT, was TEXT, fresh TEXT"), 0), 0
	err = s.db.Walk(ctx, s.text(o.read), []any{after, o.page}, func(r engine.Row) error {
		var id, text string
		if err := r.Scan(&id, &text); err != nil {
			return err
		}
		if read, last = read+1, id; text == "" {
			return nil
		}
		sealed, err := o.seal(s.personal, id, text)
		if err != nil {
			s.log.Error("a row is not encrypted, for it cannot be read", "row", o.about(id), "error", err)
		} else if sealed != text {
			fresh.Text(id, text, sealed).Next()
		}
		return nil
	})
	if err != nil || fresh.N == 0 {
		return 0, last, read == o.page, err
	}
	err = s.db.Lease(ctx, s.text(o.replace), fresh.Args(), func(engine.Row) error { n++; return nil })
	return n, last, read == o.page, err
}
