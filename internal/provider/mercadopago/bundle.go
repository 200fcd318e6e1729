package mercadopago

import (
	"context"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/paper"
)

const (
	// maxFiles is the most files of a chargeback; maxBytes is the most bytes of all together: 10 MB.
	maxFiles = 10
	maxBytes = 10 << 20
)

// bundle is the evidence as files: some as they are, and a PDF with the rest, which are texts.
type bundle struct {
	alone  []exhibit
	pages  []exhibit
	letter string // the name of that PDF
	at     time.Time
}

// exhibit is a text or a file of a piece of evidence.
type exhibit struct {
	kind, text, name string
	file             *provider.EvidenceFile
}

// bundleOf divides the evidence. If there would be too many files, pictures become pages too.
func bundleOf(r provider.EvidenceRequest) bundle {
	b := bundle{letter: r.FileName(0, "other", evidence.PDF), at: r.Charge.Created}
	for i, piece := range r.Pieces {
		if piece.Text != "" {
			b.pages = append(b.pages, exhibit{kind: piece.Kind, text: piece.Text})
		}
		switch f := piece.File; {
		case f == nil:
		case f.Type == evidence.Text:
			b.pages = append(b.pages, exhibit{kind: piece.Kind, file: f})
		default:
			b.alone = append(b.alone, exhibit{kind: piece.Kind, name: r.FileName(i+1, piece.Kind, f.Type), file: f})
		}
	}
	if len(b.names()) <= maxFiles {
		return b
	}
	var documents []exhibit
	for _, x := range b.alone {
		if x.file.Type == evidence.PNG || x.file.Type == evidence.JPEG {
			b.pages = append(b.pages, x)
		} else {
			documents = append(documents, x)
		}
	}
	b.alone = documents
	return b
}

// names lists the files.
func (b bundle) names() (list []string) {
	for _, x := range b.alone {
		list = append(list, x.name)
	}
	if len(b.pages) > 0 {
		list = append(list, b.letter)
	}
	return list
}

// load reads the files and writes the PDF; or says why they will not be taken.
func (b bundle) load(ctx context.Context) (files []provider.Upload, bad *pay.DefenseAnswer) {
	refused := func(word string) ([]provider.Upload, *pay.DefenseAnswer) {
		return nil, &pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: word, Reason: unwanted[word]}
	}
	unread := &pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: "file_unread"} // nothing was submitted
	if len(b.names()) > maxFiles {
		return refused("too_many_files")
	}
	sum := 0
	add := func(name, media string, content []byte) {
		files = append(files, provider.Upload{Field: "files[]", Name: name, Type: media, Content: content})
		sum += len(content)
	}
	for _, x := range b.alone {
		if x.file.Type != evidence.PDF && x.file.Type != evidence.PNG && x.file.Type != evidence.JPEG {
			return refused("unsupported_file_type")
		}
		content, err := x.file.Read(ctx)
		if err != nil {
			return nil, unread
		}
		if add(x.name, x.file.Type, content); sum > maxBytes {
			return refused("file_size_exceeded")
		}
	}
	var sheets []paper.Sheet
	for _, x := range b.pages {
		sheet := paper.Sheet{Title: strings.ReplaceAll(pay.NamedKind(x.kind), "_", " "), Text: x.text}
		if x.file != nil {
			content, err := x.file.Read(ctx)
			if err != nil {
				return nil, unread
			}
			if x.file.Type == evidence.Text {
				sheet.Text = string(content)
			} else {
				sheet.Picture = content
			}
		}
		sheets = append(sheets, sheet)
	}
	if len(sheets) > 0 {
		made, err := paper.Make(sheets, b.at)
		if err != nil {
			return nil, &pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: "file_unfit", Reason: err.Error()}
		}
		add(b.letter, evidence.PDF, made)
	}
	if sum > maxBytes {
		return refused("file_size_exceeded")
	}
	return files, nil
}
