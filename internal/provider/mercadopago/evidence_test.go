package mercadopago

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const pdf = "%PDF-1.7 a document"

func picture() string {
	var out bytes.Buffer
	_ = png.Encode(&out, image.NewPaletted(image.Rect(0, 0, 4, 4), color.Palette{color.White}))
	return out.String()
}

func written(kind, text string) provider.EvidencePiece {
	return provider.EvidencePiece{Kind: kind, Text: text}
}

func filed(kind, media, content string) provider.EvidencePiece {
	return provider.EvidencePiece{Kind: kind, File: providertest.EvidenceFile("any name", media, []byte(content))}
}

// defended is a chargeback, and the evidence against it.
func defended(t *testing.T, pieces ...provider.EvidencePiece) (a *account, f *fake, line *providertest.Line, r provider.EvidenceRequest) {
	t.Helper()
	a, f, line = connect(t)
	of := request("card.MEX")
	a.Charge(context.Background(), of)
	f.Move(of.Reference, providertest.Paid)
	of.ProviderRef = a.Query(context.Background(), of).ProviderRef
	f.find(of.ProviderRef).set("charged_back", "in_process")
	r = provider.EvidenceRequest{DisputeRequest: provider.DisputeRequest{ID: "77" + of.ProviderRef, Charge: of}, Reference: "01M7ZCLAIM-e1", Pieces: pieces}
	for i := range r.Pieces {
		r.Pieces[i].ID = fmt.Sprintf("ev_%d", i)
	}
	if !a.CanDefend(r.DisputeRequest) || a.CanDefend(provider.DisputeRequest{Charge: of}) {
		t.Error("a chargeback can be answered by its id alone")
	}
	return a, f, line, r
}

// said fails the test unless the answer is of a kind and code; a refusal has a reason without the provider's name.
func said(t *testing.T, what string, a pay.DefenseAnswer, kind pay.DefenseState, code string) {
	t.Helper()
	if a.Kind != kind || a.Code != code || (a.Reason != "") != (kind == pay.DefenseRefused) || strings.Contains(strings.ToLower(a.Reason), "mercado") {
		t.Errorf("%s: %+v, want %s %q", what, a, kind, code)
	}
}

// All evidence goes in one call: files as they are, texts in a PDF, and pictures too if there would be more than ten files.
func TestEvidenceGoesAsFiles(t *testing.T) {
	var crowd []provider.EvidencePiece
	for i := range 11 {
		crowd = append(crowd, filed("receipt", evidence.PNG, picture()))
		if i == 5 {
			crowd = append(crowd, filed("other", evidence.PDF, pdf))
		}
	}
	for what, given := range map[string]struct {
		pieces []provider.EvidencePiece
		want   string
	}{
		"files and texts": {
			[]provider.EvidencePiece{written("other", "it was them"), filed("receipt", evidence.PDF, pdf), filed("our_own", evidence.PNG, picture()), filed("access_log", evidence.Text, "10.0.0.1")},
			"01M7ZCLAIM-e1-02-receipt.pdf 01M7ZCLAIM-e1-03-other.png 01M7ZCLAIM-e1-00-other.pdf",
		},
		"a text alone":  {[]provider.EvidencePiece{written("other", "it was them")}, "01M7ZCLAIM-e1-00-other.pdf"},
		"many pictures": {crowd, "01M7ZCLAIM-e1-07-other.pdf 01M7ZCLAIM-e1-00-other.pdf"},
	} {
		a, f, _, r := defended(t, given.pieces...)
		f.papers.strict = true
		said(t, what, a.Defend(context.Background(), r), pay.DefenseSubmitted, "")
		var names []string
		for _, one := range f.papers.sent {
			if names = append(names, one.name); !evidence.Is(one.media, one.content) {
				t.Errorf("%s: %s is no %s", what, one.name, one.media)
			}
		}
		if got := strings.Join(names, " "); got != given.want {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// What is not taken is refused before the call.
func TestEvidenceThatIsNotTaken(t *testing.T) {
	var many []provider.EvidencePiece
	for range 11 {
		many = append(many, filed("receipt", evidence.PDF, pdf))
	}
	half := pdf + strings.Repeat(" ", 6<<20)
	for code, pieces := range map[string][]provider.EvidencePiece{
		"too_many_files":        many,
		"file_size_exceeded":    {filed("receipt", evidence.PDF, half), filed("receipt", evidence.PDF, half)},
		"unsupported_file_type": {filed("receipt", "image/gif", "GIF89a")},
		"file_unfit":            {written("other", strings.Repeat("a", 600_000))},
	} {
		a, f, _, r := defended(t, pieces...)
		said(t, code, a.Defend(context.Background(), r), pay.DefenseRefused, code)
		if f.papers.times > 0 {
			t.Errorf("%s: it was sent", code)
		}
	}
	for _, unread := range []provider.EvidencePiece{filed("other", evidence.PDF, ""), filed("other", evidence.Text, "")} {
		a, f, _, r := defended(t, written("other", "it was them"), unread)
		said(t, "a file that cannot be read", a.Defend(context.Background(), r), pay.DefenseDelayed, "file_unread")
		if f.papers.times > 0 {
			t.Error("a part was sent")
		}
	}
}

// A chargeback takes documents once, and in time. Documents with our names are these.
func TestAChargebackTakesDocumentsOnce(t *testing.T) {
	ctx := context.Background()
	a, f, _, r := defended(t, written("other", "it was them"))
	said(t, "at first", a.Defend(ctx, r), pay.DefenseSubmitted, "")
	said(t, "again", a.Defend(ctx, r), pay.DefenseSubmitted, "")
	later := r
	later.Reference, later.Pieces = "01M7ZCLAIM-e2", append(r.Pieces, written("other", "more"))
	said(t, "more evidence", a.Defend(ctx, later), pay.DefenseRefused, "review_pending")
	if f.papers.times != 1 {
		t.Errorf("documents came %d times", f.papers.times)
	}
	f.papers.nameless = true
	r.Repeated = true
	said(t, "perhaps ours", a.Defend(ctx, r), pay.DefenseUnknown, "review_pending")
	f.cases = map[string]any{"documentation_status": "pending"} // an older page: it stays so until they are read
	said(t, "perhaps ours, and still pending", a.Defend(ctx, r), pay.DefenseUnknown, "pending")
	f.papers.nameless = false
	said(t, "still pending", a.Defend(ctx, r), pay.DefenseSubmitted, "")
	if f.papers.times != 1 {
		t.Errorf("documents came %d times", f.papers.times)
	}

	a, f, _, r = defended(t, written("other", "it was them"))
	f.papers.late = true
	said(t, "after the deadline", a.Defend(ctx, r), pay.DefenseRefused, "not_supplied")
	r.Repeated = true
	said(t, "after the deadline, again", a.Defend(ctx, r), pay.DefenseRefused, "not_supplied")
	f.cases = map[string]any{"documentation_status": "not_applicable"}
	said(t, "none wanted", a.Defend(ctx, r), pay.DefenseRefused, "not_applicable")
	f.cases = map[string]any{"documentation_status": nil}
	said(t, "nothing said", a.Defend(ctx, r), pay.DefenseUnknown, "")
	r.ID = "7799"
	said(t, "no such chargeback", a.Defend(ctx, r), pay.DefenseRefused, "no_case")

	a, f, _, r = defended(t, written("other", "it was them"))
	f.papers.first = func() { f.papers.times, f.papers.sent = 1, []paperSent{{name: "by hand.pdf"}} }
	said(t, "answered by hand meanwhile", a.Defend(ctx, r), pay.DefenseRefused, "review_pending")
	a, f, _, r = defended(t, written("other", "it was them"))
	f.papers.first = func() { f.papers.times, f.papers.sent = 1, []paperSent{{name: "01M7ZCLAIM-e1-00-other.pdf"}} }
	said(t, "our earlier call came late", a.Defend(ctx, r), pay.DefenseSubmitted, "")
	if f.papers.times != 1 {
		t.Errorf("documents came %d times", f.papers.times)
	}
}

// Without an answer nothing is known, until the chargeback is read. The documents are sent once.
func TestDocumentsAreSentOnce(t *testing.T) {
	for fault, want := range map[providertest.Fault]pay.DefenseState{
		providertest.TimeoutAfter: pay.DefenseUnknown, providertest.GatewayAfter: pay.DefenseUnknown, providertest.BrokenAfter: pay.DefenseUnknown,
		providertest.TimeoutBefore: pay.DefenseUnknown, providertest.ServerError: pay.DefenseUnknown, providertest.HTML: pay.DefenseUnknown,
		providertest.Malformed: pay.DefenseUnknown, providertest.RateLimited: pay.DefenseDelayed,
		providertest.Empty: pay.DefenseSubmitted, // the reference: this call answers without a body
	} {
		for _, at := range []string{"GET", "POST"} {
			a, f, line, r := defended(t, written("other", "it was them"), filed("receipt", evidence.PDF, pdf))
			line.Spare(func(q *http.Request) bool { return q.Method != at })
			line.Fail(fault)
			soon, cancel := context.WithTimeout(context.Background(), providertest.Patience)
			answer := a.Defend(soon, r)
			cancel()
			if answer.Kind != want && !(fault == providertest.Empty && at == "GET" && answer.Kind == pay.DefenseUnknown) {
				t.Errorf("%s at %s: %+v", fault, at, answer)
			}
			line.Fail(providertest.NoFault)
			r.Repeated = answer.Kind == pay.DefenseUnknown
			said(t, string(fault)+" at "+at+", again", a.Defend(context.Background(), r), pay.DefenseSubmitted, "")
			if f.papers.times != 1 {
				t.Errorf("%s at %s: documents came %d times", fault, at, f.papers.times)
			}
		}
	}
	a, f, line, r := defended(t, written("other", "it was them"))
	line.Close()
	said(t, "nobody there", a.Defend(context.Background(), r), pay.DefenseDelayed, "unreachable")
	if f.papers.times != 0 {
		t.Error("it was sent")
	}
}

// Each documented refusal is final, and so is one for lack of a right. Without a documented word nothing is.
func TestRefusalsOfDocuments(t *testing.T) {
	refusal := func(status int, word string) pay.DefenseAnswer {
		return received(provider.Reply{Status: status, Body: []byte(`{"message":"no","error":"` + word + `","status":` + fmt.Sprint(status) + `}`)})
	}
	for word := range unwanted {
		said(t, word, refusal(400, word), pay.DefenseRefused, word)
		said(t, word+" and a failure", refusal(500, word), pay.DefenseUnknown, "http_500")
	}
	said(t, "another word", refusal(400, "quux"), pay.DefenseUnknown, "http_400")
	said(t, "no right", refusal(403, "PA_UNAUTHORIZED_RESULT_FROM_POLICIES"), pay.DefenseRefused, "http_403")
	said(t, "no token", refusal(401, "unauthorized"), pay.DefenseDelayed, "http_401")
	said(t, "a gateway's page", received(provider.Reply{Status: 413, Body: []byte("<html>")}), pay.DefenseUnknown, "http_413")
}
