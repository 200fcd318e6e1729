package claims

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	use "github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/cardnumber"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

const (
	// maxBody is how much of a body is kept: the files and the rest of the form.
	maxBody = pay.MaxEvidenceAtOnce + 1<<20
	// bodyWithin is how long the largest answer may take to arrive.
	bodyWithin = 3 * time.Minute
	// mostAnswers is how many answers are taken apart at a time: their files are in memory once more.
	mostAnswers = 3
	// wordsKind is the kind of a text, and of a document that is no other kind.
	wordsKind = "other"
)

// form is what an answer shows again if something is wrong.
type form struct {
	Text  string
	Kinds []string // that the form offers
	Wrong map[string]string
	Error string // key of a text, of the whole form
}

// upload is a file of an answer.
type upload struct {
	kind, name, media string
	content           []byte
}

func (p *pages) answer(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, ok, err := p.found(w, r, v)
	switch {
	case !ok:
		return err
	case !view.Open:
		return p.lead(w, r, v, "/disputes/"+view.ID)
	}
	view.Kinds = kindsFor(view.Reason)
	if language := merchants.Language(r.FormValue("draft")); language != "" {
		if !slices.Contains(merchants.Languages(), language) {
			return problem.Field(problem.InvalidRequest, "draft", frame.UnknownLanguage)
		}
		if view.Text, err = p.Uses.ClaimLists.Draft(r.Context(), v.Scope, view.Claim, language); err != nil {
			return err
		}
	}
	return p.room.Show(w, r, v, "answer", view)
}

// submit takes an answer: a text, and files by what they show. All of it is checked before a part is sent.
func (p *pages) submit(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, ok, err := p.found(w, r, v)
	if !ok {
		return err
	}
	view.Kinds = kindsFor(view.Reason)
	leave, err := p.answers[v.Live].Lock(r.Context(), v.Merchant.ID)
	if err != nil {
		return err
	}
	defer leave()
	files, err := p.read(r, v, &view)
	if err != nil {
		return err
	}
	if view.Wrong == nil && view.Error == "" && view.Text == "" && len(files) == 0 {
		view.Error = "nothing_sent"
	}
	text, fresh := unsent(view.Claim, view.Text, files)
	if view.Wrong == nil && len(fresh)+min(1, len(text)) > view.Left {
		view.Error = "too_many"
	}
	if view.Wrong != nil || view.Error != "" {
		return p.room.ShowStatus(w, r, v, http.StatusBadRequest, "answer", view)
	}
	if err := p.send(r.Context(), v, view.ID, text, fresh); err != nil {
		return err
	}
	if missing := p.missing(v, view, files); missing != "" {
		p.Flash(w, "answered_missing", "missing", missing)
	} else {
		p.Flash(w, "answered")
	}
	return p.lead(w, r, v, "/disputes/"+view.ID)
}

// missing names what banks look for and what is in neither this answer nor an earlier one.
func (p *pages) missing(v *frame.Visit, view disputeView, files []upload) string {
	var names []string
	for _, i := range view.Items {
		if i.Sent == 0 && !slices.ContainsFunc(files, func(f upload) bool { return f.kind == i.Kind }) {
			names = append(names, p.room.Text(v, "kind_"+i.Kind))
		}
	}
	return strings.Join(names, ", ")
}

// unsent drops what the dispute has already: a form that is sent twice, or again after a part of it failed, sends
// each piece once.
func unsent(has pay.Claim, text string, files []upload) (string, []upload) {
	if slices.ContainsFunc(has.Evidence, pay.Evidence{Kind: wordsKind, Text: text}.Same) {
		text = ""
	}
	return text, slices.DeleteFunc(slices.Clone(files), func(f upload) bool {
		return slices.ContainsFunc(has.Evidence, pay.Evidence{Kind: f.kind, File: evidence.Describe(f.name, f.media, f.content)}.Same)
	})
}

// send submits the pieces of an answer, each with its kind.
func (p *pages) send(ctx context.Context, v *frame.Visit, id, text string, files []upload) error {
	ctx = context.WithoutCancel(ctx) // an answer is not sent in part because the browser has left
	if text != "" {
		if _, err := p.Uses.Claims.SubmitEvidence(ctx, v.Scope, id, use.NewEvidence{Kind: wordsKind, Text: text, By: v.Actor(), Once: true}); err != nil {
			return err
		}
	}
	for _, f := range files {
		n := use.NewEvidence{Kind: f.kind, File: evidence.Describe(f.name, f.media, f.content), Content: f.content, By: v.Actor(), Once: true}
		if _, err := p.Uses.Claims.SubmitEvidence(ctx, v.Scope, id, n); err != nil {
			return err
		}
	}
	return nil
}

// read reads an answer part by part, without a copy on the disk. What is wrong with it is in view.
func (p *pages) read(r *http.Request, v *frame.Visit, view *disputeView) (files []upload, err error) {
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, problem.New(problem.InvalidRequest, noFormWithFiles)
	}
	wrong := func(field, key string, args ...any) {
		if view.Wrong == nil {
			view.Wrong = map[string]string{}
		}
		view.Wrong[field] = p.room.Text(v, key, args...)
	}
	for left := int64(pay.MaxEvidenceAtOnce); ; {
		part, err := parts.NextPart()
		var beyond *http.MaxBytesError
		switch {
		case errors.Is(err, io.EOF):
			return files, nil
		case errors.As(err, &beyond):
			view.Error = "too_large"
			return nil, nil
		case err != nil:
			return nil, problem.New(problem.InvalidRequest, frame.FormIncomplete)
		}
		kind, isFile := strings.CutPrefix(part.FormName(), "file_")
		switch {
		case part.FormName() == "text":
			text, _ := io.ReadAll(io.LimitReader(part, 8*evidence.MaxText))
			view.Text = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(string(text), "\x00", ""), ""))
			if utf8.RuneCountInString(view.Text) > evidence.MaxText {
				wrong("text", "text_too_long")
			}
			if evidence.Unfinished(view.Text) {
				wrong("text", "text_unfinished", "mark", evidence.Fill)
			}
		case isFile && acceptsKind(kind) && part.FileName() != "":
			f, key := load(part, &left)
			if f.kind = kind; key != "" {
				wrong(part.FormName(), key, "name", f.name)
				continue
			}
			files = append(files, f)
		}
	}
}

// acceptsKind reports whether a form may name a kind of evidence. The bank may have given another reason since the form
// was shown, so it is any kind and not only those that are wanted now.
func acceptsKind(kind string) bool { return slices.Contains(pay.EvidenceKinds(), kind) }

// load reads a file, and says what is wrong with it: the key of a text, which begins with js_ if the script says it too.
// left is how many bytes of files may still come.
func load(part *multipart.Part, left *int64) (upload, string) {
	f := upload{name: path.Base(strings.ReplaceAll(part.FileName(), `\`, "/"))}
	limit := min(int64(pay.MaxEvidenceFile), *left)
	var err error
	f.content, err = io.ReadAll(io.LimitReader(part, limit+1))
	*left -= int64(len(f.content))
	switch {
	case err != nil:
		return f, "file_broken"
	case int64(len(f.content)) > limit:
		f.content = nil
		if limit < pay.MaxEvidenceFile {
			return f, "js_files_too_large"
		}
		return f, "js_file_too_large"
	case len(f.content) == 0:
		return f, "js_file_empty"
	case !evidence.GoodName(f.name):
		return f, "file_bad_name"
	}
	if f.media = evidence.TypeOf(f.name, f.content); f.media == "" {
		return f, "js_file_bad_type"
	}
	if f.media == evidence.Text && cardnumber.In(f.content) {
		return f, "file_card"
	}
	return f, ""
}

// shownInline are the types that a browser shows in a page of its own; it only saves others. A PDF viewer may give the
// content of a PDF our origin, whatever the reply's sandbox says (docs/decisions/disputes.md).
var shownInline = []string{evidence.PNG, evidence.JPEG}

// file serves a file of evidence.
func (p *pages) file(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := p.Uses.Claims.EvidenceFile(r.Context(), v.Scope, r.PathValue("id"), r.PathValue("evidence"))
	if err != nil {
		return err
	}
	frame.Foreign(w, f.Name, f.Type, f.Content, slices.Contains(shownInline, f.Type) && r.FormValue("save") == "")
	return nil
}
