package adyen

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/statement/pdftest"
)

// delivered are the reasons that Adyen lists when goods did not arrive, with the types of its own examples.
func delivered() *court {
	return newCourt(
		reason("SupplyDefenseMaterial", [2]string{"Optional", "TIDorInvoice"}, [2]string{"Required", "DefenseMaterial"}, [2]string{"AlternativeRequired", "AlternativeDefenseMaterial"}),
		reason("GoodsOrServicesProvided", [2]string{"Required", "ProofOfGoodsOrServicesProvided"}, [2]string{"Optional", "TIDorInvoice"}, [2]string{"Optional", "AdditionalInformation"}),
	)
}

func written(id, kind, text string) provider.EvidencePiece {
	return provider.EvidencePiece{ID: id, Kind: kind, Text: text}
}

func filed(id, kind, media, content string) provider.EvidencePiece {
	return provider.EvidencePiece{ID: id, Kind: kind, File: &provider.EvidenceFile{
		Name: id, Type: media, Size: int64(len(content)), Read: func(context.Context) ([]byte, error) { return []byte(content), nil },
	}}
}

func defense(pieces ...provider.EvidencePiece) provider.EvidenceRequest {
	return provider.EvidenceRequest{
		DisputeRequest: provider.DisputeRequest{ID: "D1", Charge: request("card.BRA", "01M7ZDEF-1")},
		Reference:      "01M7ZDEF-e1", Local: money.New(5000, "BRL"), RespondBy: providertest.Noon.AddDate(0, 0, 7), Pieces: pieces,
	}
}

func proofs() []provider.EvidencePiece {
	return []provider.EvidencePiece{
		written("ev_1", "customer_communication", "Ana escreveu: \"chegou\" (ontem)"), filed("ev_2", "delivery_proof", evidence.PDF, "%PDF-slip"), filed("ev_3", "receipt", evidence.JPEG, "\xff\xd8\xffinvoice"),
	}
}

func TestEvidenceIsUploadedAndDefends(t *testing.T) {
	b := connect(t)
	b.court = delivered()
	if a := b.Defend(ctx(), defense(proofs()...)); a.Kind != pay.DefenseSubmitted {
		t.Fatalf("%+v", a)
	}
	c := b.court
	letter := c.has["AdditionalInformation"]
	if c.answer != "GoodsOrServicesProvided" || c.has["ProofOfGoodsOrServicesProvided"] != "application/pdf %PDF-slip" || c.has["TIDorInvoice"] != "image/jpeg \xff\xd8\xffinvoice" ||
		!strings.HasPrefix(letter, "application/pdf %PDF-") || !strings.Contains(pdftest.Text([]byte(letter)), `Ana escreveu: "chegou" (ontem)`) {
		t.Errorf("defended with %q: %q", c.answer, c.has)
	}
}

// The best reason is the one whose own documents are there; nothing is left out, and a reason that asserts something needs a document of its own.
func TestTheReasonFitsTheEvidence(t *testing.T) {
	pdf := func(id, kind string) provider.EvidencePiece { return filed(id, kind, evidence.PDF, "%PDF-"+id) }
	for name, c := range map[string]struct {
		court  *court
		pieces []provider.EvidencePiece
		want   string // the reason's code, or why it is refused
	}{
		"only general":                    {delivered(), []provider.EvidencePiece{pdf("a", "refund_policy")}, "SupplyDefenseMaterial"},
		"only a text of a shop's kind":    {delivered(), []provider.EvidencePiece{written("a", "haiku", "rain")}, "SupplyDefenseMaterial"},
		"two general ones":                {delivered(), []provider.EvidencePiece{pdf("a", "refund_policy"), pdf("b", "access_log")}, "GoodsOrServicesProvided"},
		"a receipt is the optional one":   {delivered(), []provider.EvidencePiece{pdf("a", "receipt"), written("b", "receipt", "paid")}, "SupplyDefenseMaterial"},
		"more than there are places":      {delivered(), []provider.EvidencePiece{pdf("a", "receipt"), pdf("b", "receipt"), pdf("c", "receipt"), pdf("d", "receipt")}, "the bank takes at most 3 documents for this dispute, and these are 4"},
		"two for one place":               {newCourt(reason("GoodsWereAsDescribed", [2]string{"Required", "GoodsWereAsDescribed"}, [2]string{"Optional", "TIDorInvoice"})), []provider.EvidencePiece{pdf("a", "product_description"), pdf("b", "product_description")}, "the bank takes no document of these kinds for this dispute"},
		"one of several":                  {newCourt(reason("UnfoundedCardholderDispute", [2]string{"OneOrMore", "NotCancelled"}, [2]string{"OneOrMore", "DisclosureAtPointOfInteraction"})), []provider.EvidencePiece{pdf("a", "refund_policy")}, "UnfoundedCardholderDispute"},
		"none of several":                 {newCourt(reason("CancellationTermsFailed", [2]string{"OneOrMore", "NotCancelled"}, [2]string{"OneOrMore", "DisclosureAtPointOfInteraction"})), []provider.EvidencePiece{pdf("a", "receipt")}, "the bank asks for other evidence: cancellation, refund_policy"},
		"an assertion without its proof":  {newCourt(reason("CreditPreviouslyIssued", [2]string{"Required", "DefenseMaterial"})), []provider.EvidencePiece{pdf("a", "receipt")}, "the bank takes no document of these kinds for this dispute"},
		"only optional documents":         {newCourt(reason("GoodsNotReturned", [2]string{"Optional", "TIDorInvoice"})), []provider.EvidencePiece{pdf("a", "receipt")}, "the bank takes no document of these kinds for this dispute"},
		"a type that nobody knows":        {newCourt(reason("SupplyDefenseMaterial", [2]string{"Required", "NotarisedOath"})), []provider.EvidencePiece{pdf("a", "receipt")}, "the bank takes no document of these kinds for this dispute"},
		"no reason at all":                {newCourt(), []provider.EvidencePiece{pdf("a", "receipt")}, "the bank takes no evidence by call for this dispute"},
		"each finds its place by another": {newCourt(reason("CardholderParticipated", [2]string{"Required", "ProofOfFulfillment"}, [2]string{"Required", "EvidenceOfCardholderParticipation"})), []provider.EvidencePiece{pdf("a", "delivery_proof"), pdf("b", "buyer_identity")}, "CardholderParticipated"},
	} {
		b := connect(t)
		b.court = c.court
		a := b.Defend(ctx(), defense(c.pieces...))
		got := b.court.answer
		if a.Kind == pay.DefenseRefused {
			got = a.Reason
		}
		if got != c.want || (a.Kind == pay.DefenseSubmitted) != (b.court.answer != "") || a.Kind == pay.DefenseRefused && len(b.court.has) != 0 {
			t.Errorf("%s: %+v with %q, want %q; Adyen has %d documents", name, a, b.court.answer, c.want, len(b.court.has))
		}
	}
}

// Whatever becomes of a call, the same submission can be repeated, and is one defense with one document at each place.
func TestEvidenceIsSubmittedOnceWhateverIsLost(t *testing.T) {
	for _, call := range []string{"retrieveApplicableDefenseReasons", "supplyDefenseDocument", "defendDispute"} {
		for _, fault := range []providertest.Fault{
			providertest.RateLimited, providertest.ServerError, providertest.BrokenAfter, providertest.GatewayAfter, providertest.TimeoutBefore, providertest.TimeoutAfter,
			providertest.Malformed, providertest.Truncated, providertest.HTML, providertest.Empty,
		} {
			b := connect(t)
			b.court = delivered()
			b.line.Spare(func(r *http.Request) bool { return r.URL.Path != "/"+call })
			b.line.Fail(fault)
			want := pay.DefenseUnknown
			if fault == providertest.RateLimited || call == "retrieveApplicableDefenseReasons" { // a read submits nothing
				want = pay.DefenseDelayed
			}
			r := defense(proofs()...)
			short, cancel := context.WithTimeout(ctx(), providertest.Patience)
			a := b.Defend(short, r)
			cancel()
			if a.Kind != want || a.Code == "" {
				t.Errorf("%s, %s: %+v, want %s", call, fault, a, want)
			}
			b.line.Fail(providertest.NoFault)
			r.Repeated = a.Kind == pay.DefenseUnknown
			if a = b.Defend(ctx(), r); a.Kind != pay.DefenseSubmitted || b.court.answers != 1 || len(b.court.has) != 3 {
				t.Errorf("%s, %s, repeated: %+v; %d defenses with %d documents", call, fault, a, b.court.answers, len(b.court.has))
			}
		}
	}
}

// Documents of an earlier try, which had other pieces, are replaced.
func TestADocumentOfAnEarlierSubmissionIsReplaced(t *testing.T) {
	b := connect(t)
	b.court = delivered()
	b.court.has["ProofOfGoodsOrServicesProvided"] = "application/pdf an older slip"
	if a := b.Defend(ctx(), defense(proofs()...)); a.Kind != pay.DefenseSubmitted || b.court.has["ProofOfGoodsOrServicesProvided"] != "application/pdf %PDF-slip" {
		t.Errorf("%+v with %q", a, b.court.has)
	}
}

func TestWhatAdyenSaysOfADispute(t *testing.T) {
	for sentence, want := range map[string]pay.DefenseState{
		"Dispute expired.": pay.DefenseRefused, "Dispute defense period has ended": pay.DefenseRefused, "Dispute is not defendable.": pay.DefenseRefused,
		"Dispute already defended": pay.DefenseRefused, "Error retrieving dispute.": pay.DefenseDelayed, "Failed to store defense documents": pay.DefenseDelayed,
		"System error": pay.DefenseDelayed, "Quantum": pay.DefenseRefused,
	} {
		b := connect(t)
		b.court = delivered()
		b.court.said = sentence
		a := b.Defend(ctx(), defense(proofs()...))
		if a.Kind != want || (a.Reason != "") != (want == pay.DefenseRefused) || strings.Contains(strings.ToLower(a.Reason), "adyen") || (len(b.line.Unmapped()) == 1) != (sentence == "Quantum") {
			t.Errorf("%s: %+v, want %s; the operator is told of %q", sentence, a, want, b.line.Unmapped())
		}
	}
}

// A defense that somebody made in the Customer Area is not ours.
func TestADisputeThatSomebodyElseAnswered(t *testing.T) {
	b := connect(t)
	b.court = delivered()
	b.court.answer = "GoodsOrServicesProvided"
	for _, repeated := range []bool{false, true} {
		r := defense(proofs()...)
		r.Repeated = repeated
		if a := b.Defend(ctx(), r); a.Kind != pay.DefenseRefused || a.Code != alreadyDefended {
			t.Errorf("repeated %t: %+v", repeated, a)
		}
	}
}

// What cannot be sent is refused before a call, and what cannot be read now is sent later.
func TestFilesThatAdyenDoesNotTake(t *testing.T) {
	large := func(media string, size int64) provider.EvidencePiece {
		p := filed("a", "receipt", media, "")
		p.File.Size = size
		return p
	}
	unread := filed("a", "receipt", evidence.PDF, "%PDF-")
	unread.File.Read = func(context.Context) ([]byte, error) { return nil, errors.New("the database is away") }
	unreadText := filed("a", "receipt", evidence.Text, "x")
	unreadText.File.Read = unread.File.Read
	for name, c := range map[string]struct {
		piece provider.EvidencePiece
		code  string
		calls int
	}{
		"PNG": {filed("a", "receipt", evidence.PNG, "\x89PNG"), "wrong_type", 0}, "a large PDF": {large(evidence.PDF, 2<<20+1), "too_large", 0},
		"a large JPEG": {large(evidence.JPEG, 10<<20+1), "too_large", 0}, "a large text": {large(evidence.Text, 2<<20+1), "too_large", 0},
		"long texts": {written("a", "receipt", strings.Repeat("x", 3<<20)), "too_large", 0},
		"unreadable": {unread, "file_unread", 1}, "an unreadable text": {unreadText, "file_unread", 0},
	} {
		b := connect(t)
		b.court = delivered()
		a := b.Defend(ctx(), defense(c.piece))
		want := pay.DefenseRefused
		if c.code == "file_unread" {
			want = pay.DefenseDelayed
		}
		if a.Kind != want || a.Code != c.code || b.line.Calls() != c.calls || len(b.court.has) != 0 {
			t.Errorf("%s: %+v after %d calls, want %s", name, a, b.line.Calls(), c.code)
		}
	}
	b := connect(t)
	b.court = delivered()
	if a := b.Defend(ctx(), defense(filed("a", "access_log", evidence.Text, "10:00 login"))); a.Kind != pay.DefenseSubmitted || !strings.Contains(pdftest.Text([]byte(b.court.has["ProofOfGoodsOrServicesProvided"])), "10:00 login") {
		t.Errorf("a text file: %+v with %q", a, b.court.has)
	}
}

// A key without the role for disputes is the operator's to mend: the time to answer does not wait.
func TestAKeyWithoutTheRoleForDisputes(t *testing.T) {
	b := connect(t)
	b.court, b.forbids = delivered(), true
	if a := b.Defend(ctx(), defense(proofs()...)); a.Kind != pay.DefenseRefused || a.Reason == "" {
		t.Errorf("%+v", a)
	}
	if b.court = nil; b.CanDefend(provider.DisputeRequest{Charge: request("card.BRA", "01M7ZDEF-1")}) || b.CanDefend(provider.DisputeRequest{ID: "D1", Charge: request("pix.BRA", "01M7ZDEF-1")}) ||
		!b.CanDefend(defense().DisputeRequest) {
		t.Error("a card's dispute with an id can be defended, and no other")
	}
	b.forbids = false
	if a := b.Defend(ctx(), defense(proofs()...)); a.Kind != pay.DefenseRefused {
		t.Errorf("a dispute that Adyen does not have: %+v", a)
	}
}

// Each API has its host, and a base URL replaces both.
func TestTheHostsOfBothAPIs(t *testing.T) {
	for want, a := range map[string]provider.Account{
		"https://ca-test.adyen.com/ca/services/DisputeService/v30": {}, "https://ca-live.adyen.com/ca/services/DisputeService/v30": {Live: true},
		"https://proxy.example": {Live: true, BaseURL: "https://proxy.example/"},
	} {
		a.Credentials = credentials()
		a.Credentials["livePrefix"] = "1797a841fbb37ca7-AdyenDemo"
		p, err := Adapter().Open(a)
		if err != nil || p.(*Provider).disputes != want {
			t.Errorf("%v, want %s: %v", p, want, err)
		}
	}
}
