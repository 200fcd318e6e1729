package stripe

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"time"

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

// disputed is a paid charge with a dispute, and the evidence against it.
func disputed(t *testing.T, pieces ...provider.EvidencePiece) (b *bench, c *charge, r provider.EvidenceRequest) {
	t.Helper()
	b = connect(t)
	of := request("card.MEX", "01M7ZDEFEND-1")
	b.Charge(ctx(), of)
	b.Move(of.Reference, providertest.Disputed)
	c = b.Must(of.Reference)
	r = provider.EvidenceRequest{DisputeRequest: provider.DisputeRequest{ID: c.disputeID(), Charge: of}, Reference: "01M7ZCLAIM-e1", Pieces: pieces}
	for i := range r.Pieces {
		r.Pieces[i].ID = "ev_" + string(rune('a'+i))
	}
	if !b.CanDefend(r.DisputeRequest) || b.CanDefend(provider.DisputeRequest{Charge: of}) {
		t.Error("a dispute can be answered by its id alone")
	}
	return b, c, r
}

func text(kind, text string) provider.EvidencePiece {
	return provider.EvidencePiece{Kind: kind, Text: text}
}

func filed(kind, media, content string) provider.EvidencePiece {
	return provider.EvidencePiece{Kind: kind, File: providertest.EvidenceFile("any name", media, []byte(content))}
}

// said fails the test unless the answer is of a kind and code; a refusal has a reason without the provider's name.
func said(t *testing.T, what string, a pay.DefenseAnswer, kind pay.DefenseState, code string) {
	t.Helper()
	if a.Kind != kind || a.Code != code || (a.Reason != "") != (kind == pay.DefenseRefused) || strings.Contains(strings.ToLower(a.Reason), "stripe") {
		t.Errorf("%s: %+v, want %s %q", what, a, kind, code)
	}
}

// Each kind of evidence has its field. A second file of a kind goes where anything may, pictures and texts become one document.
func TestEvidenceHasItsPlace(t *testing.T) {
	for what, given := range map[string]struct {
		pieces []provider.EvidencePiece
		want   map[string]string // texts, and files by their beginning
	}{
		"a piece of each kind": {
			[]provider.EvidencePiece{
				filed("receipt", evidence.PDF, pdf), filed("delivery_proof", evidence.PNG, picture()), filed("customer_communication", evidence.PDF, pdf),
				filed("refund_policy", evidence.PDF, pdf), filed("access_log", evidence.PDF, pdf), filed("separate_purchase", evidence.PDF, pdf), filed("our_own", evidence.PDF, pdf),
				text("refund_policy", "shown"), text("access_log", "10.0.0.1"), text("product_description", "a hat"), text("cancellation", "never"),
				text("separate_purchase", "two hats"), text("receipt", "paid"), text("buyer_identity", "Ana"),
			},
			map[string]string{
				"receipt": "%PDF-1.7", "shipping_documentation": "\x89PNG", "customer_communication": "%PDF-1.7", "refund_policy": "%PDF-1.7", "service_documentation": "%PDF-1.7",
				"duplicate_charge_documentation": "%PDF-1.7", "uncategorized_file": "%PDF-1.7", "refund_policy_disclosure": "shown", "access_activity_log": "10.0.0.1",
				"product_description": "a hat", "cancellation_rebuttal": "never", "duplicate_charge_explanation": "two hats", "uncategorized_text": "paid\n\nAna",
			},
		},
		"a second document": {
			[]provider.EvidencePiece{filed("receipt", evidence.PDF, pdf), filed("receipt", evidence.PDF, pdf)},
			map[string]string{"receipt": "%PDF-1.7", "uncategorized_file": "%PDF-1.7"},
		},
		"pictures and a text": {
			[]provider.EvidencePiece{filed("receipt", evidence.PNG, picture()), filed("receipt", evidence.PNG, picture()), filed("receipt", evidence.Text, "10.00")},
			map[string]string{"receipt": "%PDF-1.3"},
		},
		"texts that are too long": {
			[]provider.EvidencePiece{text("access_log", strings.Repeat("é", 20_000)), text("access_log", strings.Repeat("f", 20_000)), text("access_log", "more")},
			map[string]string{"access_activity_log": strings.Repeat("é", 20_000), "uncategorized_text": strings.Repeat("f", 20_000), "service_documentation": "%PDF-1.3"},
		},
	} {
		b, c, r := disputed(t, given.pieces...)
		said(t, what, b.Defend(ctx(), r), pay.DefenseSubmitted, "")
		got := c.answer.evidence
		if len(got) != len(given.want) || c.answer.submissions != 1 || c.answer.metadata[evidenceKey] != r.Reference {
			t.Errorf("%s: %d submissions of %v", what, c.answer.submissions, got)
		}
		for field, want := range given.want {
			is := got[field]
			if u := b.uploaded(is); u != nil {
				is = string(u.content)
				if !strings.HasPrefix(u.name, r.Reference+"-") || !evidence.Is(u.media, u.content) {
					t.Errorf("%s: the file is %s, %s", what, u.name, u.media)
				}
				if strings.HasPrefix(is, want) {
					continue
				}
			}
			if is != want {
				t.Errorf("%s: %s is %.60q", what, field, is)
			}
		}
	}
}

// What Stripe takes nowhere is refused before it is submitted.
func TestEvidenceWithoutAPlaceIsRefused(t *testing.T) {
	large := pdf + strings.Repeat(" ", 5<<20)
	for code, pieces := range map[string][]provider.EvidencePiece{
		"too_many_files": {filed("receipt", evidence.PDF, pdf), filed("receipt", evidence.PDF, pdf), filed("receipt", evidence.PDF, pdf)},
		"file_too_large": {filed("receipt", evidence.PDF, large)},
		"file_type":      {filed("receipt", "image/gif", "GIF89a")},
		"file_unfit":     {filed("other", evidence.PNG, "\x89PNG\r\n\x1a\nno"), filed("other", evidence.PNG, picture())},
	} {
		b, c, r := disputed(t, pieces...)
		said(t, code, b.Defend(ctx(), r), pay.DefenseRefused, code)
		if c.answer.submissions > 0 {
			t.Errorf("%s: it was submitted", code)
		}
	}
	b, c, r := disputed(t, text("other", "first"), filed("other", evidence.PDF, ""))
	said(t, "a file that cannot be read", b.Defend(ctx(), r), pay.DefenseDelayed, "file_unread")
	if c.answer.submissions > 0 || len(b.fake.files) > 0 {
		t.Error("a part was submitted")
	}
}

// A dispute takes evidence in the states that Stripe names. Our evidence counts as submitted if the dispute has our reference.
func TestDisputesThatTakeNoEvidence(t *testing.T) {
	for status, code := range map[string]string{
		"needs_response": "", "warning_needs_response": "", "appeal_needs_response": "", "under_review": "under_review", "warning_under_review": "warning_under_review",
		"appeal_under_review": "appeal_under_review", "won": "won", "lost": "lost", "warning_closed": "warning_closed", "prevented": "prevented",
	} {
		b, c, r := disputed(t, text("other", "it was them"))
		c.dispute = status
		if code == "" {
			said(t, status, b.Defend(ctx(), r), pay.DefenseSubmitted, "")
			continue
		}
		said(t, status, b.Defend(ctx(), r), pay.DefenseRefused, code)
		c.answer.metadata, c.answer.submissions = map[string]string{evidenceKey: r.Reference}, 1
		said(t, status+" with our evidence", b.Defend(ctx(), r), pay.DefenseSubmitted, "")
		c.answer.metadata[evidenceKey] = "01M7ZCLAIM-e0"
		said(t, status+" with our earlier evidence", b.Defend(ctx(), r), pay.DefenseRefused, code)
	}
	for code, change := range map[string]func(*charge){
		"no_response": func(c *charge) { c.answer.mute = true },
		"fee": func(c *charge) {
			c.answer.toll = object{"visa_compliance": object{"status": "requires_fee_acknowledgement"}}
		},
		"dispute_evidence_page_limit_exceeded": func(c *charge) { c.answer.crowded = true },
	} {
		b, c, r := disputed(t, text("other", "it was them"))
		change(c)
		said(t, code, b.Defend(ctx(), r), pay.DefenseRefused, code)
	}
	b, c, r := disputed(t, text("other", "it was them"))
	b.tick = answerDays + 1
	said(t, "after the deadline", b.Defend(ctx(), r), pay.DefenseRefused, "past_due")
	for code, want := range map[string]pay.DefenseState{"403": pay.DefenseRefused, "401": pay.DefenseDelayed} {
		b, c, r := disputed(t, text("other", "it was them"))
		b.barred = code
		said(t, "a key without the right, "+code, b.Defend(ctx(), r), want, "http_"+code)
		if c.answer.submissions > 0 {
			t.Errorf("%s: it was submitted", code)
		}
	}
	r.ID = "du_99"
	said(t, "no such dispute", b.Defend(ctx(), r), pay.DefenseRefused, "resource_missing")
	if c.answer.submissions != 1 {
		t.Errorf("%d submissions", c.answer.submissions)
	}
	b, c, r = disputed(t, text("other", "it was them"))
	c.dispute = "quantum"
	if a := b.Defend(ctx(), r); a.Kind != pay.DefenseUnknown || len(b.line.Unmapped()) != 1 {
		t.Errorf("a strange state: %+v, %v", a, b.line.Unmapped())
	}
}

// Without an answer nothing is known; the dispute tells later. The same evidence is submitted once.
func TestEvidenceIsSubmittedOnce(t *testing.T) {
	for fault, want := range map[providertest.Fault]pay.DefenseState{
		providertest.TimeoutAfter: pay.DefenseUnknown, providertest.GatewayAfter: pay.DefenseUnknown, providertest.BrokenAfter: pay.DefenseUnknown,
		providertest.TimeoutBefore: pay.DefenseUnknown, providertest.ServerError: pay.DefenseUnknown, providertest.HTML: pay.DefenseUnknown,
		providertest.Malformed: pay.DefenseUnknown, providertest.Empty: pay.DefenseUnknown, providertest.RateLimited: pay.DefenseDelayed,
	} {
		for _, at := range []string{"GET /v1/disputes/", "POST /v1/disputes/", "POST /v1/files"} {
			b, c, r := disputed(t, text("other", "it was them"), filed("receipt", evidence.PDF, pdf))
			b.line.Spare(func(q *http.Request) bool { return !strings.HasPrefix(q.Method+" "+q.URL.Path, at) })
			b.line.Fail(fault)
			soon, cancel := context.WithTimeout(ctx(), providertest.Patience)
			a := b.Defend(soon, r)
			if a.Kind != want {
				t.Errorf("%s at %s: %+v", fault, at, a)
			}
			cancel()
			b.line.Fail(providertest.NoFault)
			r.Repeated = want == pay.DefenseUnknown
			said(t, string(fault)+" at "+at+", again", b.Defend(ctx(), r), pay.DefenseSubmitted, "")
			if c.answer.submissions != 1 {
				t.Errorf("%s at %s: %d submissions", fault, at, c.answer.submissions)
			}
		}
	}
	b, c, r := disputed(t, text("other", "it was them"))
	b.line.Close()
	said(t, "nobody there", b.Defend(ctx(), r), pay.DefenseDelayed, "unreachable")
	if c.answer.submissions != 0 {
		t.Error("it was submitted")
	}
}

// Stripe repeats a failure of its own for a day, whether it did the work or not: a later try has another key.
func TestAFailureOfStripesOwnIsNotTheEnd(t *testing.T) {
	for what, given := range map[string]struct {
		piece provider.EvidencePiece
		half  bool // the call that fails does its work
		tries int  // until it is known to be submitted
	}{
		"a submission": {text("other", "it was them"), false, 3}, "a submission that was done": {text("other", "it was them"), true, 2},
		"an upload": {filed("receipt", evidence.PDF, pdf), false, 3},
	} {
		b, c, r := disputed(t, given.piece)
		b.outage, b.half = 2, given.half
		now := providertest.Noon
		b.Now = func() time.Time { return now }
		for try := 1; try <= given.tries; try++ {
			if a := b.Defend(ctx(), r); (a.Kind == pay.DefenseSubmitted) != (try == given.tries) || a.Kind == pay.DefenseRefused {
				t.Errorf("%s, try %d: %+v", what, try, a)
			}
			r.Repeated, now = true, now.Add(spell)
		}
		if c.answer.submissions != 1 {
			t.Errorf("%s: %d submissions", what, c.answer.submissions)
		}
	}
}

// Evidence that was only staged is not submitted.
func TestStagedEvidenceIsNotSubmitted(t *testing.T) {
	b, c, r := disputed(t, text("other", "it was them"))
	c.answer.staged = true
	said(t, "staged", b.Defend(ctx(), r), pay.DefenseUnknown, "not_yet_submitted")
	c.answer.staged, r.Repeated = false, true
	said(t, "again", b.Defend(ctx(), r), pay.DefenseSubmitted, "")
}

// What came between the look at a dispute and the submission is seen in the dispute.
func TestADisputeThatIsAnsweredMeanwhile(t *testing.T) {
	b, c, r := disputed(t, text("other", "it was them"))
	c.answer.first = func() { // the first call under this reference, which came late; Stripe has not counted it yet
		c.dispute, c.answer.metadata = "under_review", map[string]string{evidenceKey: r.Reference}
	}
	r.Repeated = true
	said(t, "by our earlier call", b.Defend(ctx(), r), pay.DefenseSubmitted, "")
	b, c, r = disputed(t, text("other", "it was them"))
	c.answer.first = func() { c.dispute, c.answer.submissions = "under_review", 1 }
	said(t, "in the Dashboard", b.Defend(ctx(), r), pay.DefenseRefused, "under_review")
	if c.answer.submissions != 1 {
		t.Errorf("%d submissions", c.answer.submissions)
	}
}
