package woovi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// trial is a disputed charge at the fake, and a service that has files.
type trial struct {
	*client
	*fake
	charge *fakeCharge
	line   *providertest.Line
	files  string            // the address of the service
	has    map[string]string // the files by path
}

func disputedCharge(t *testing.T) *trial {
	t.Helper()
	tr := &trial{fake: newFake(), has: map[string]string{}}
	tr.client, tr.line = providertest.OpenAccount[*client](t, Adapter(), credentials(), tr.fake)
	tr.client.Charge(context.Background(), sample())
	tr.Move(sample().Reference, providertest.Paid)
	tr.charge = tr.Charges[0]
	tr.charge.dispute = tr.charge.opened("MED", "CREATED")
	tr.files = providertest.StartServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, there := tr.has[r.URL.Path]
		if !there {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", evidence.PDF)
		_, _ = w.Write([]byte(content))
	})).URL
	return tr
}

func (tr *trial) text(id, kind, text string) provider.EvidencePiece {
	return provider.EvidencePiece{ID: id, Kind: kind, Text: text}
}

func (tr *trial) file(id, kind, text, media string) provider.EvidencePiece {
	tr.has["/"+id] = "content of " + id
	return provider.EvidencePiece{ID: id, Kind: kind, Text: text, File: &provider.EvidenceFile{
		Name: id, Type: media, Link: func() (string, bool) { return tr.files + "/" + id, true },
	}}
}

func (tr *trial) request(pieces ...provider.EvidencePiece) provider.EvidenceRequest {
	return provider.EvidenceRequest{
		DisputeRequest: provider.DisputeRequest{ID: tr.charge.bank(), Charge: sample()}, Reference: "01M7ZBVYT4-e1", Pieces: pieces, RespondBy: providertest.Noon.AddDate(0, 0, 3),
	}
}

func (tr *trial) proofs() []provider.EvidencePiece {
	return []provider.EvidencePiece{
		tr.text("ev_1", "customer_communication", "Ana escreveu"), tr.file("ev_2", "delivery_proof", "", evidence.PDF), tr.file("ev_3", "haiku", "assinado", evidence.PNG),
	}
}

// Woovi fetches each file itself; texts are descriptions.
func TestEvidenceIsFetchedByItsLinks(t *testing.T) {
	tr := disputedCharge(t)
	if a := tr.Defend(context.Background(), tr.request(tr.proofs()...)); a.Kind != pay.DefenseSubmitted {
		t.Fatalf("%+v", a)
	}
	want := []proof{
		{"ev_2", "delivery proof\n\ncustomer communication: Ana escreveu", evidence.PDF, "content of ev_2"}, {"ev_3", "other: assinado", evidence.PDF, "content of ev_3"},
	}
	if !slices.Equal(tr.charge.proofs, want) {
		t.Errorf("Woovi has %q, want %q", tr.charge.proofs, want)
	}
	more := tr.request(append(tr.proofs(), tr.file("ev_4", "receipt", "", evidence.JPEG))...)
	for i := range 3 {
		more.Pieces[i].Sent = true
	}
	if a := tr.Defend(context.Background(), more); a.Kind != pay.DefenseSubmitted || len(tr.charge.proofs) != 3 || tr.charge.proofs[2].id != "ev_4" {
		t.Errorf("what came later: %+v, Woovi has %q", a, tr.charge.proofs)
	}
}

// Whatever becomes of a call, the same submission is repeated under the same ids: a document that is there twice is so by its id, and nothing is
// left out.
func TestEvidenceIsRepeatedUnderTheSameIDs(t *testing.T) {
	for _, reading := range []bool{true, false} {
		for _, fault := range []providertest.Fault{
			providertest.RateLimited, providertest.ServerError, providertest.BrokenAfter, providertest.GatewayAfter, providertest.TimeoutBefore, providertest.TimeoutAfter,
			providertest.Malformed, providertest.Truncated, providertest.HTML, providertest.Empty,
		} {
			tr := disputedCharge(t)
			tr.line.Spare(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/evidence") == reading })
			tr.line.Fail(fault)
			want := pay.DefenseUnknown
			if fault == providertest.RateLimited || reading { // a read submits nothing
				want = pay.DefenseDelayed
			}
			r := tr.request(tr.proofs()...)
			short, cancel := context.WithTimeout(context.Background(), providertest.Patience)
			a := tr.Defend(short, r)
			cancel()
			if a.Kind != want || a.Code == "" {
				t.Errorf("reading %t, %s: %+v, want %s", reading, fault, a, want)
			}
			tr.line.Fail(providertest.NoFault)
			r.Repeated = a.Kind == pay.DefenseUnknown
			ids := map[proof]bool{}
			a = tr.Defend(context.Background(), r)
			for _, p := range tr.charge.proofs {
				ids[p] = true
			}
			if a.Kind != pay.DefenseSubmitted || len(ids) != 2 {
				t.Errorf("reading %t, %s, repeated: %+v; Woovi has %q", reading, fault, a, tr.charge.proofs)
			}
		}
	}
}

func TestDisputesThatTakeNoEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*trial)
		kind pay.DefenseState
		code string
	}{
		"lost":                   {func(tr *trial) { tr.charge.dispute["status"] = "ACCEPTED" }, pay.DefenseRefused, "ended"},
		"won":                    {func(tr *trial) { tr.charge.dispute["status"] = "REJECTED" }, pay.DefenseRefused, "ended"},
		"ended meanwhile":        {func(tr *trial) { tr.closed = true }, pay.DefenseRefused, "ended"},
		"gone":                   {func(tr *trial) { tr.charge.dispute = nil }, pay.DefenseRefused, "no_dispute"},
		"without an id":          {func(tr *trial) { delete(tr.charge.dispute, "id") }, pay.DefenseRefused, "no_id"},
		"without the read scope": {func(tr *trial) { tr.lacks = readsDisputes }, pay.DefenseRefused, "http_403"},
		"without the scope":      {func(tr *trial) { tr.lacks = answersDisputes }, pay.DefenseRefused, "http_403"},
		"a link that is over":    {func(tr *trial) { clear(tr.has) }, pay.DefenseRefused, "http_400"},
	} {
		for _, repeated := range []bool{false, true} {
			tr := disputedCharge(t)
			r := tr.request(tr.proofs()...)
			r.Repeated = repeated
			c.set(tr)
			a := tr.Defend(context.Background(), r)
			if a.Kind != c.kind || a.Code != c.code || a.Reason == "" || strings.Contains(strings.ToLower(a.Reason), "woovi") || tr.charge.proofs != nil {
				t.Errorf("%s: %+v, want %s %s", name, a, c.kind, c.code)
			}
		}
	}
}

// What cannot be sent is refused before a call.
func TestPiecesThatWooviDoesNotTake(t *testing.T) {
	for code, pieces := range map[string]func(tr *trial) []provider.EvidencePiece{
		"no_file": func(tr *trial) []provider.EvidencePiece {
			return []provider.EvidencePiece{tr.text("ev_1", "other", "a word")}
		},
		"wrong_type": func(tr *trial) []provider.EvidencePiece {
			return []provider.EvidencePiece{tr.file("ev_1", "other", "", evidence.Text)}
		},
		"no_link": func(tr *trial) []provider.EvidencePiece {
			p := tr.file("ev_1", "other", "", evidence.PDF)
			p.File.Link = func() (string, bool) { return "", false }
			return []provider.EvidencePiece{p}
		},
	} {
		tr := disputedCharge(t)
		before := tr.line.Calls()
		if a := tr.Defend(context.Background(), tr.request(pieces(tr)...)); a.Kind != pay.DefenseRefused || a.Code != code || a.Reason == "" || tr.line.Calls() != before {
			t.Errorf("%s: %+v after %d calls", code, a, tr.line.Calls()-before)
		}
	}
}

// In production Woovi is given links over https alone; otherwise the operator carries the evidence.
func TestEvidenceNeedsAnAddressOfTheService(t *testing.T) {
	of := provider.DisputeRequest{ID: "E1"}
	for _, c := range []struct {
		live    bool
		address string
		can     bool
	}{
		{true, "https://pay.example/api/v1/providers/acc/notifications", true}, {true, "http://pay.example/api", false}, {true, "/api/v1/providers/acc/notifications", false},
		{false, "http://127.0.0.1:8080/api", true}, {false, "", false},
	} {
		p, err := Adapter().Open(provider.Account{Live: c.live, NotificationURL: c.address, Credentials: credentials(), Client: http.DefaultClient, Now: func() time.Time { return providertest.Noon }})
		if err != nil {
			t.Fatal(err)
		}
		d := p.(provider.Defender)
		if d.CanDefend(of) != c.can || d.CanDefend(provider.DisputeRequest{}) {
			t.Errorf("live %t at %q: %t", c.live, c.address, d.CanDefend(of))
		}
	}
}
