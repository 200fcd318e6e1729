package claims

import (
	"encoding/base64"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/table"
)

// EncryptFile returns a file's content as stored: base64 if plain.
func EncryptFile(p table.Personal, f *pay.File) string {
	if p.Cipher == nil {
		return base64.StdEncoding.EncodeToString(f.Content)
	}
	return p.Encrypt(table.FileContent.About(f.ID), f.Content)
}

// openFile reverses EncryptFile.
func openFile(p table.Personal, id, text string) ([]byte, error) {
	content, err := p.Decrypt(table.FileContent.About(id), text)
	if err == nil && !table.Marked(text) {
		content, err = base64.StdEncoding.DecodeString(text)
	}
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", id, err)
	}
	return content, nil
}

// encryptEvidence returns evidence as stored, with texts and file names encrypted.
func encryptEvidence(p table.Personal, claim string, list []pay.Evidence) []pay.Evidence {
	var stored []pay.Evidence
	for _, e := range list {
		said, named := evidenceText(claim, e.ID), evidenceName(claim, e.ID)
		if e.Text = p.Encrypt(said, []byte(e.Text)); e.Shut != "" {
			e.Text = e.Shut
		}
		if e.File != nil {
			f := *e.File
			if f.Name = p.Encrypt(named, []byte(f.Name)); f.Shut != "" {
				f.Name = f.Shut
			}
			e.File = &f
		}
		stored = append(stored, e)
	}
	return stored
}

// openEvidence reverses encryptEvidence. A claim is about money, so it is readable even if its evidence cannot
// be opened: the evidence then says so, and stays as it is.
func openEvidence(p table.Personal, claim string, list []pay.Evidence) []pay.Evidence {
	open := func(about string, text, kept *string) {
		plain, err := p.Decrypt(about, *text)
		if err == nil {
			*text = string(plain)
			return
		}
		p.Log.Error("evidence cannot be opened", "error", err)
		*kept, *text = *text, table.Shut
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

func evidenceText(claim, evidence string) string {
	return table.ClaimDoc.About(claim) + " " + evidence + " text"
}

func evidenceName(claim, evidence string) string {
	return table.ClaimDoc.About(claim) + " " + evidence + " name"
}
