package stripe

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/paper"
)

const (
	// maxField is the most characters of a text field (stripe-node 23.1.0, Disputes.d.ts). All fields that we fill
	// come to less than the 150,000 that all may have.
	maxField = 20_000
	// maxFile is the largest file of evidence: 5 MB (docs.stripe.com/file-upload, read on 2026-11-28). It is a PDF, a JPEG or a PNG.
	maxFile = 5 << 20

	anyText, anyFile = "uncategorized_text", "uncategorized_file"
)

// places are where Stripe keeps evidence of each kind: a text field, and fields that have a file each (stripe-node 23.1.0,
// Disputes.d.ts). What has no place, or finds it full, goes where anything may.
var places = map[string]struct {
	text  string
	files []string
}{
	"receipt":                {files: []string{"receipt"}},
	"delivery_proof":         {files: []string{"shipping_documentation", "service_documentation"}},
	"customer_communication": {files: []string{"customer_communication"}},
	"refund_policy":          {text: "refund_policy_disclosure", files: []string{"refund_policy", "cancellation_policy"}},
	"access_log":             {text: "access_activity_log", files: []string{"service_documentation"}},
	"buyer_identity":         {},
	"product_description":    {text: "product_description"},
	"cancellation":           {text: "cancellation_rebuttal"},
	"separate_purchase":      {text: "duplicate_charge_explanation", files: []string{"duplicate_charge_documentation"}},
	"other":                  {},
}

// item is a text or a file of a piece of evidence.
type item struct {
	nth  int // of the piece, from one
	kind string
	text string
	file *provider.EvidenceFile
}

// joins reports whether it can be a page of a PDF that has others too.
func (i item) joins() bool { return i.file == nil || i.file.Type != evidence.PDF }

// exhibit uploads the files, and returns what to write into each field; or the answer, if that cannot be done.
func (p *Provider) exhibit(ctx context.Context, r provider.EvidenceRequest) (map[string]string, *pay.DefenseAnswer) {
	fields, rest := texts(r)
	files, fits := arrange(rest)
	if !fits {
		return nil, &pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: "too_many_files", Reason: "there are more documents than the bank has places for: join them into one"}
	}
	for _, field := range slices.Sorted(maps.Keys(files)) {
		file, bad := document(ctx, r, files[field])
		if bad != nil {
			return nil, bad
		}
		// its contents are always the same under our reference
		key := p.again(r, r.Reference+"/"+field)
		made, f := p.upload(ctx, key, file)
		if f != nil {
			a := f.undefended("a document is not taken")
			return nil, &a
		}
		fields[field] = made
	}
	return fields, nil
}

// texts divides the texts among the text fields. What fits none is a document, as files are.
func texts(r provider.EvidenceRequest) (fields map[string]string, rest []item) {
	fields = map[string]string{}
	for i, piece := range r.Pieces {
		kind := pay.NamedKind(piece.Kind)
		if piece.Text != "" && !slices.ContainsFunc([]string{places[kind].text, anyText}, func(field string) bool {
			joined := strings.TrimPrefix(fields[field]+"\n\n"+piece.Text, "\n\n")
			if field == "" || utf8.RuneCountInString(joined) > maxField {
				return false
			}
			fields[field] = joined
			return true
		}) {
			rest = append(rest, item{nth: i + 1, kind: kind, text: piece.Text})
		}
		if piece.File != nil {
			rest = append(rest, item{nth: i + 1, kind: kind, file: piece.File})
		}
	}
	return fields, rest
}

// arrange divides documents among the fields for files. The first of each kind has the kind's own field. A field takes several that can
// be joined, or one. fits is false if one has no place.
func arrange(list []item) (files map[string][]item, fits bool) {
	files = map[string][]item{}
	put := func(i item, fields ...string) bool {
		at := slices.IndexFunc(fields, func(field string) bool {
			return len(files[field]) == 0 || i.joins() && !slices.ContainsFunc(files[field], func(o item) bool { return !o.joins() })
		})
		if at >= 0 {
			files[fields[at]] = append(files[fields[at]], i)
		}
		return at >= 0
	}
	var late []item
	for _, i := range list {
		own := append(slices.Clone(places[i.kind].files), anyFile)
		if len(files[own[0]]) > 0 || !put(i, own[0]) {
			late = append(late, i)
		}
	}
	for _, i := range late {
		if !put(i, append(slices.Clone(places[i.kind].files), anyFile)...) {
			return nil, false
		}
	}
	return files, true
}

// document is one file of a field's items, each of which is read when it is needed. Nothing is submitted before all are uploaded.
func document(ctx context.Context, r provider.EvidenceRequest, items []item) (provider.Upload, *pay.DefenseAnswer) {
	refused := func(code, why string) (provider.Upload, *pay.DefenseAnswer) {
		return provider.Upload{}, &pay.DefenseAnswer{Kind: pay.DefenseRefused, Code: code, Reason: why}
	}
	whole := len(items) == 1 && items[0].file != nil && items[0].file.Type != evidence.Text
	var sheets []paper.Sheet
	var file provider.Upload
	for _, i := range items {
		sheet := paper.Sheet{Title: strings.ReplaceAll(i.kind, "_", " "), Text: i.text}
		if i.file != nil {
			content, err := i.file.Read(ctx)
			switch {
			case err != nil:
				return provider.Upload{}, &pay.DefenseAnswer{Kind: pay.DefenseDelayed, Code: "file_unread"}
			case !slices.Contains(evidence.Types(), i.file.Type):
				return refused("file_type", "a document is neither PDF, PNG, JPEG nor a text")
			case whole:
				file = provider.Upload{Name: r.FileName(i.nth, i.kind, i.file.Type), Type: i.file.Type, Content: content}
			case i.file.Type == evidence.Text:
				sheet.Text = string(content)
			default:
				sheet.Picture = content
			}
		}
		sheets = append(sheets, sheet)
	}
	if !whole {
		made, err := paper.Make(sheets, r.Charge.Created)
		if err != nil {
			return refused("file_unfit", err.Error())
		}
		file = provider.Upload{Name: r.FileName(items[0].nth, items[0].kind, evidence.PDF), Type: evidence.PDF, Content: made}
	}
	if len(file.Content) > maxFile {
		return refused("file_too_large", "a document has more than 5 MB")
	}
	file.Field = "file"
	return file, nil
}
