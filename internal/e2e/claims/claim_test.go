package claims

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

const alreadyResolved = "409 claim_already_resolved conflict_error"

func TestChargebackEnds(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		endpoint := s.Receive(t)
		for _, c := range []struct {
			name, status, outcome string
			real                  bool   // the provider notifies of it; otherwise it is simulated, and the payment stays completed
			payment               string // the status in the end
			funds                 string // from 90.51 and 5 in reserve, less the fee of 20
			end                   func(o harness.Client, payment, claim string)
		}{
			{"accepted", "approved", "approved", true, "chargeback", "-29.49 to spend, 0.00 frozen, 5.00 in reserve",
				func(o harness.Client, _, claim string) {
					o.Post(t, "/claims/"+claim+"/accept", "").Want(t, http.StatusOK)
				}},
			{"won in review", "rejected", "rejected", false, "completed", "70.51 to spend, 0.00 frozen, 5.00 in reserve",
				func(o harness.Client, payment, claim string) {
					o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
					harness.RuleClaim(t, o, payment, "won")
				}},
		} {
			t.Run(c.name, func(t *testing.T) {
				o := s.NewShop(t)
				o.Subscribe(t, endpoint.URL, `"claim.resolved"`)
				payment, claim := o.Dispute(t, c.real)
				if got := funds(t, o); got != "-29.49 to spend, 100.00 frozen, 5.00 in reserve" {
					t.Errorf("during the dispute the balance has %s", got)
				}
				if r := o.Get(t, "/payments/"+payment); r.Text(t, "refundableAmountLocal") != "0" {
					t.Errorf("during the dispute something can be refunded: %s", r)
				}
				c.end(o, payment, claim)
				r := o.Get(t, "/claims/"+claim).Want(t, http.StatusOK)
				if r.Text(t, "status") != c.status || r.Text(t, "outcome") != c.outcome || r.Text(t, "frozenUsd") != "0" || r.Text(t, "feeUsd") != "20" {
					t.Errorf("want the claim %s with outcome %s, nothing frozen and the fee: %s", c.status, c.outcome, r)
				}
				if c.real && r.Text(t, "networkReasonCode") != "10.4" {
					t.Errorf("the claim lacks the network's code 10.4: %s", r)
				}
				if got := funds(t, o); got != c.funds {
					t.Errorf("the balance has %s, want %s", got, c.funds)
				}
				if got := o.Status(t, payment); got != c.payment {
					t.Errorf("the payment is %s, want %s", got, c.payment)
				}
				if !c.real {
					o.Refund(t, payment, `{"amount":1}`).Want(t, http.StatusOK) // the dispute is over
					return
				}
				// Nothing changes a resolved claim.
				o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Refused(t, alreadyResolved+" from="+c.status+" action=evidence")
				o.Post(t, "/claims/"+claim+"/accept", "").Refused(t, alreadyResolved+" from="+c.status+" action=accept")
				harness.RuleClaim(t, o, payment, "lost")
				o.Refund(t, payment, `{}`).Refused(t, "409 conflict_state conflict_error reason=fully_refunded from=chargeback action=refund")
				if got := harness.ClaimStatus(t, o, claim); got != c.status || funds(t, o) != c.funds {
					t.Errorf("after its end the claim is %s and the balance has %s, want no change", got, funds(t, o))
				}
				if list := endpoint.About(t, payment, 1); list[0].Text("data.object.status") != c.status || list[0].Text("data.object.transaction.status") != "chargeback" {
					t.Errorf("claim.resolved is %s", list[0].Body)
				}
			})
		}
	})
}

func TestClaimIsResolvedOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"claim.resolved"`)
		payment, claim := o.Dispute(t, false)
		var all sync.WaitGroup
		for n := range 24 {
			all.Go(func() {
				switch n % 4 {
				case 0:
					_, _ = harness.DecideClaim(s.App, claim, pay.Withdraw, "")
				case 1:
					harness.RuleClaim(t, o, payment, []string{"won", "withdrawn"}[n/4%2])
				case 2:
					_, _ = harness.DecideClaim(s.App, claim, pay.Reject, "") // only one of all calls succeeds
				case 3:
					o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords)
				}
			})
		}
		all.Wait()
		status := harness.ClaimStatus(t, o, claim)
		if list := endpoint.About(t, payment, 1); list[0].Text("data.object.status") != status {
			t.Errorf("the claim is %s, but the event is %s", status, list[0].Body)
		}
	})
}

func TestClaimsAreListed(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		o.Create(t, `{"amount":5000,"paymentMethodId":"sbx_card"}`)
		var ids []string
		for n := range 5 {
			id := o.Create(t, harness.Card)
			if n == 2 {
				o.Simulate(t, id, "chargeback").Want(t, http.StatusOK)
				ids = append(ids, o.Get(t, "/claims").Text(t, "data.0.id"))
				continue
			}
			ids = append(ids, o.Refund(t, id, `{}`).Want(t, http.StatusOK).Text(t, "refundId"))
		}
		r := o.Get(t, "/claims").Want(t, http.StatusOK)
		for i, id := range ids {
			if got := r.Text(t, fmt.Sprintf("data.%d.id", len(ids)-1-i)); got != id {
				t.Errorf("row %d is %s, want %s: newest first", i, got, id)
			}
		}
		payment := o.Get(t, "/claims/"+ids[0]).Text(t, "transactionId")
		for query, want := range map[string]string{
			"": "5 50 0 1", "limit=2": "5 2 0 3", "limit=2&offset=4": "5 2 4 3", "limit=0": "5 1 0 5", "limit=1000&offset=-3": "5 100 0 1",
			"status=approved": "4 50 0 1", "status=needs_evidence": "1 50 0 1", "type=chargeback": "1 50 0 1", "type=inquiry": "0 50 0 0",
			"type=user_dispute&status=needs_evidence": "0 50 0 0", "transactionId=" + payment: "1 50 0 1", "transactionId=TXN-x": "0 50 0 0",
		} {
			r := o.Get(t, "/claims?"+query).Want(t, http.StatusOK)
			p := func(field string) string { return r.Text(t, "pagination."+field) }
			if got := strings.Join([]string{p("total"), p("limit"), p("offset"), p("pages")}, " "); got != want {
				t.Errorf("%q: %s, want %s", query, got, want)
			}
		}
		for query, want := range map[string]string{
			"status=done": "status", "type=refund": "type", "limit=x": "limit", "transactionId=%00": "transactionId", "transactionId=%ff": "transactionId",
		} {
			o.Get(t, "/claims?"+query).Refused(t, "400 invalid_request invalid_request_error param="+want+" issues="+want)
		}
		const unknown = "404 claim_not_found invalid_request_error"
		for _, who := range []harness.Client{stranger, stranger.Production(), o.Production()} {
			who.Get(t, "/claims").Is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
			who.Get(t, "/claims/"+ids[2]).Refused(t, unknown)
			who.Post(t, "/claims/"+ids[2]+"/accept", "").Refused(t, unknown)
			who.Post(t, "/claims/"+ids[2]+"/evidence", harness.EvidenceWords).Refused(t, unknown)
			who.Get(t, "/claims/"+ids[2]+"/evidence/ev_1/file").Refused(t, unknown)
		}
		for _, id := range []string{"CLM-1", "x", "CLM-%00", "CLM-%ff"} {
			o.Get(t, "/claims/"+id).Refused(t, unknown)
			o.Post(t, "/claims/"+id+"/accept", "").Refused(t, unknown)
		}
		// Only the provider decides on a refund, so the merchant cannot accept it.
		o.Post(t, "/claims/"+ids[0]+"/accept", "").Refused(t, alreadyResolved+" from=approved action=accept")
		s.Upstream(t, sandbox.RefundSlow, sandbox.NoFault, sandbox.NoFault)
		pending := o.Refund(t, o.Create(t, harness.Card), `{}`).Text(t, "refundId")
		s.Upstream(t, sandbox.NoFault, sandbox.NoFault, sandbox.NoFault)
		o.Post(t, "/claims/"+pending+"/accept", "").Refused(t, "409 conflict_state conflict_error from=pending action=accept")
		o.Post(t, "/claims/"+pending+"/evidence", harness.EvidenceWords).Refused(t, "409 conflict_state conflict_error from=pending action=evidence")
	})
}

func TestEvidenceMovesAClaimToReview(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		_, claim := o.Dispute(t, true)
		path := "/claims/" + claim + "/evidence"
		r := o.Post(t, path, `{"kind":"delivery_proof","text":"signed for\nby Ana"}`).Want(t, http.StatusCreated)
		if r.Text(t, "id") != claim || r.Text(t, "status") != "under_review" || r.Text(t, "timeline.1.actor") != "merchant" {
			t.Errorf("want the claim under review: %s", r)
		}
		content := []byte("%PDF-1.7\nreceipt\x00\xff")
		sum := sha256.Sum256(content)
		r = o.Post(t, path, harness.EvidenceFile("application/pdf", "reçu 1.pdf", content)).Want(t, http.StatusCreated)
		object, _ := r.At(t, "evidence")
		want := `[{"id":"<text>","kind":"delivery_proof","text":"signed for\nby Ana","file":null,"submittedAt":"<time>"},
			{"id":"<text>","kind":"receipt","text":null,"file":{"name":"reçu 1.pdf","contentType":"application/pdf","size":18,"sha256":"` +
			hex.EncodeToString(sum[:]) + `"},"submittedAt":"<time>"}]`
		for _, difference := range harness.Compare("evidence", harness.Decode(t, []byte(want)), object) {
			t.Errorf("%s: %s", difference, r)
		}
		if timeline, _ := r.At(t, "timeline"); len(timeline.([]any)) != 2 {
			t.Errorf("a second piece of evidence adds to the timeline: %s", r)
		}
		id := r.Text(t, "evidence.1.id")
		if !strings.HasPrefix(id, "ev_") {
			t.Errorf("the evidence's id is %s, want ev_…", id)
		}

		status, header, got := harness.Download(t, o, path+"/"+id+"/file")
		if status != http.StatusOK || string(got) != string(content) {
			t.Errorf("the download returns %d with %q, want the file", status, got)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/pdf", "Content-Disposition": "attachment; filename*=utf-8''re%C3%A7u%201.pdf",
			"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "private, no-store",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		const noFile, noClaim = "404 not_found invalid_request_error", "404 claim_not_found invalid_request_error"
		_, other := stranger.Dispute(t, true)
		for _, ev := range []string{"ev_1", "ev_%00", r.Text(t, "evidence.0.id")} {
			o.Get(t, path+"/"+ev+"/file").Refused(t, noFile)
		}
		stranger.Get(t, path+"/"+id+"/file").Refused(t, noClaim)
		stranger.Get(t, "/claims/"+other+"/evidence/"+id+"/file").Refused(t, noFile)
		o.Production().Get(t, path+"/"+id+"/file").Refused(t, noClaim)

		// A claim that was answered does not expire.
		s.Clock.Advance(30 * 24 * time.Hour)
		_, err := s.App.Claims.Sweep(ctx)
		harness.Must(t, err)
		if got := harness.ClaimStatus(t, o, claim); got != "under_review" {
			t.Errorf("a month after the answer the claim is %s, want under_review", got)
		}
		for range 18 {
			o.Post(t, path, harness.EvidenceWords).Want(t, http.StatusCreated)
		}
		o.Post(t, path, harness.EvidenceWords).Refused(t, "400 invalid_request invalid_request_error")
	})
}

// A file's name gets the extension of its type, so that nobody opens it as something else.
func TestNameOfAFileFitsItsContent(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		_, claim := o.Dispute(t, false)
		png := []byte("\x89PNG\r\n\x1a\n0000")
		for i, c := range []struct {
			kind, name, want string
			content          []byte
		}{
			{"image/png", "Scan.PNG", "Scan.PNG", png},
			{"image/png", "scan", "scan.png", png},
			{"image/png", "scan.pdf", "scan.pdf.png", png},
			{"text/plain", "note.exe", "note.exe.txt", []byte("hi")},
			{"text/plain", "rows.csv", "rows.csv", []byte("hi")},
			{"application/pdf", "bill.html", "bill.html.pdf", []byte("%PDF-1.7")},
			{"image/jpeg", "a.jpeg", "a.jpeg", []byte("\xff\xd8\xff")},
		} {
			r := o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceFile(c.kind, c.name, c.content)).Want(t, http.StatusCreated)
			if got := r.Text(t, fmt.Sprintf("evidence.%d.file.name", i)); got != c.want {
				t.Errorf("%s %q is kept as %q, want %q", c.kind, c.name, got, c.want)
			}
		}
	})
}

func TestRefusedEvidenceLeavesNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		_, claim := o.Dispute(t, false)
		path := "/claims/" + claim + "/evidence"
		png := []byte("\x89PNG\r\n\x1a\n0000")
		const invalid, missing = "400 invalid_request invalid_request_error", "400 missing_field invalid_request_error"
		for name, c := range map[string]struct{ body, want string }{
			"no kind":               {`{"text":"x"}`, missing + " param=kind issues=kind missing=kind"},
			"an empty kind":         {`{"kind":"","text":"x"}`, invalid + " param=kind issues=kind"},
			"a long kind":           {`{"kind":"` + strings.Repeat("k", 61) + `","text":"x"}`, invalid + " param=kind issues=kind"},
			"neither":               {`{"kind":"other"}`, missing + " param=text issues=text missing=text"},
			"spaces":                {`{"kind":"other","text":"  "}`, missing + " param=text issues=text missing=text"},
			"a long text":           {`{"kind":"other","text":"` + strings.Repeat("x", 20_001) + `"}`, invalid + " param=text issues=text"},
			"NUL":                   {`{"kind":"other","text":"a\u0000"}`, invalid + " param=text issues=text"},
			"an escape in a kind":   {`{"kind":"other\u001b]0;x\u0007","text":"a"}`, invalid + " param=kind issues=kind"},
			"an escape in a text":   {`{"kind":"other","text":"a\u001b[2K"}`, invalid + " param=text issues=text"},
			"turned text":           {`{"kind":"other","text":"a\u202eb"}`, invalid + " param=text issues=text"},
			"a name that is turned": {`{"kind":"other","file":{"name":"a\u202efdp.exe","contentType":"text/plain","content":"YQ=="}}`, invalid + " param=file.name issues=file.name"},
			"NUL in a name":         {`{"kind":"other","file":{"name":"a\u0000","contentType":"text/plain","content":"YQ=="}}`, invalid + " param=file.name issues=file.name"},
			"no file's name":        {`{"kind":"other","file":{"contentType":"text/plain","content":"YQ=="}}`, missing + " param=file.name issues=file.name missing=file.name"},
			"no content":            {`{"kind":"other","file":{"name":"a","contentType":"text/plain"}}`, missing + " param=file.content issues=file.content missing=file.content"},
			"an empty content":      {harness.EvidenceFile("text/plain", "a", nil), invalid + " param=file.content issues=file.content"},
			"no base64":             {`{"kind":"other","file":{"name":"a","contentType":"text/plain","content":"%%%"}}`, invalid + " param=file.content issues=file.content"},
			"another type":          {harness.EvidenceFile("text/html", "a.html", []byte("<b>")), invalid + " param=file.contentType issues=file.contentType"},
			"a script as PNG":       {harness.EvidenceFile("image/png", "a.png", []byte("<script>")), invalid + " param=file.contentType issues=file.contentType"},
			"PNG as PDF":            {harness.EvidenceFile("application/pdf", "a.pdf", png), invalid + " param=file.contentType issues=file.contentType"},
			"PNG as JPEG":           {harness.EvidenceFile("image/jpeg", "a.jpg", png), invalid + " param=file.contentType issues=file.contentType"},
			"PNG as text":           {harness.EvidenceFile("text/plain", "a.txt", png), invalid + " param=file.contentType issues=file.contentType"},
			"Latin 1 as text":       {harness.EvidenceFile("text/plain", "a.txt", []byte("caf\xe9")), invalid + " param=file.contentType issues=file.contentType"},
			"a path":                {harness.EvidenceFile("image/png", "../../etc/passwd", png), invalid + " param=file.name issues=file.name"},
			"a path of Windows":     {harness.EvidenceFile("image/png", `c:\a.png`, png), invalid + " param=file.name issues=file.name"},
			"a name of two lines":   {harness.EvidenceFile("image/png", "a\r\nSet-Cookie: x", png), invalid + " param=file.name issues=file.name"},
			"a file that is text":   {`{"kind":"other","file":"x"}`, invalid + " param=file issues=file"},
			"half a body":           {`{"kind":`, "400 invalid_json invalid_request_error"},
		} {
			t.Run(name, func(t *testing.T) { o.Post(t, path, c.body).Refused(t, c.want) })
		}
		if !strings.HasPrefix(s.Database, "postgres") { // these are refused before the database, so one engine is enough
			const large = "413 payload_too_large invalid_request_error"
			o.Post(t, path, harness.EvidenceFile("image/png", "a.png", append(png, make([]byte, pay.MaxEvidenceFile+1-len(png))...))).Refused(t, large+" param=file.content issues=file.content")
			o.Post(t, path, strings.Repeat(" ", 15<<20)).Refused(t, large)
		}
		o.Post(t, path, harness.EvidenceWords, "Content-Type: multipart/form-data").Refused(t, "415 content_type_required invalid_request_error")
		r := o.Get(t, "/claims/"+claim)
		if evidence, _ := r.At(t, "evidence"); len(evidence.([]any)) != 0 || r.Text(t, "status") != "needs_evidence" {
			t.Errorf("refused evidence was kept: %s", r)
		}
		for _, taken := range []string{harness.EvidenceFile("image/jpeg", "a.jpg", []byte("\xff\xd8\xff\xe0")), harness.EvidenceFile("text/plain", "a.txt", []byte("héllo\r\n\tworld"))} {
			o.Post(t, path, taken).Want(t, http.StatusCreated)
		}
	})
}

// The largest allowed file is accepted. The test does not run in parallel, because a commit of so
// many bytes takes long.
func TestLargestEvidenceIsTaken(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.Start(t, database, &harness.Clock{})
		o := s.NewShop(t)
		_, claim := o.Dispute(t, false)
		png := []byte("\x89PNG\r\n\x1a\n0000")
		largest := harness.EvidenceFile("image/png", "a.png", append(png, make([]byte, pay.MaxEvidenceFile-len(png))...))
		defer s.Log.Mute() // on a busy machine the commit may time out
		harness.Eventually(t, "the largest file is accepted", func() bool {
			r := o.Post(t, "/claims/"+claim+"/evidence", largest, "Idempotency-Key: largest")
			t.Logf("%d %.200s", r.Status, r.Body)
			return r.Status == http.StatusCreated
		})
	})
}

func TestAuditLogSaysWhoMovedClaims(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		refunded := o.Refund(t, o.Create(t, harness.Card), `{"amount":10}`).Want(t, http.StatusOK)
		e := harness.AuditEntry(t, o, audit.RefundOpened, refunded.Text(t, "refundId"))
		harness.AuditByRequest(t, o, e, refunded)
		if e.Details["payment"] != refunded.Text(t, "transactionId") || e.Details["amount"] != "10.00 USD" {
			t.Errorf("the entry of the refund has %v", e.Details)
		}
		_, first := o.Dispute(t, false)
		answered := o.Post(t, "/claims/"+first+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		harness.AuditByRequest(t, o, harness.AuditEntry(t, o, audit.EvidenceSubmitted, first), answered)
		_, err := harness.DecideClaim(s.App, first, pay.Reject, "the bank's letter")
		harness.Must(t, err)
		if e := harness.AuditEntry(t, o, audit.ClaimResolved, first); e.Details["word"] != "reject" || e.Details["note"] != "the bank's letter" {
			t.Errorf("the entry of the operator's decision has %v", e.Details)
		}
		_, second := o.Dispute(t, false)
		accepted := o.Post(t, "/claims/"+second+"/accept", "").Want(t, http.StatusOK)
		harness.AuditByRequest(t, o, harness.AuditEntry(t, o, audit.ClaimAccepted, second), accepted)
		// Refused calls are not in the audit log.
		before := len(harness.AuditActs(t, o))
		o.Post(t, "/claims/"+second+"/accept", "").Want(t, http.StatusConflict)
		o.Post(t, "/claims/"+second+"/evidence", harness.EvidenceWords).Want(t, http.StatusConflict)
		o.Refund(t, refunded.Text(t, "transactionId"), `{"amount":100}`).Want(t, http.StatusBadRequest)
		if after := len(harness.AuditActs(t, o)); after != before {
			t.Errorf("the audit log has %d entries after refused calls, want %d as before", after, before)
		}
	})
}
