package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

const alreadyResolved = "409 claim_already_resolved conflict_error"

// dispute brings a chargeback onto a new payment of 100 USD, a real one or the
// simulator's, and returns the payment and the claim.
func (o shop) dispute(t *testing.T, real bool) (payment, claim string) {
	t.Helper()
	payment = o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
	if real {
		o.notify(t, "sandbox-1", note(payment, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4"`)).want(t, http.StatusOK)
	} else {
		o.simulate(t, payment, "chargeback").want(t, http.StatusOK)
	}
	return payment, o.get(t, "/claims?transactionId="+payment+"&type=chargeback").text(t, "data.0.id")
}

// rule lets the issuer end a dispute.
func (o shop) rule(t *testing.T, payment, ruling string) {
	t.Helper()
	o.notify(t, "sandbox-1", note(payment, `"status":"dispute_`+ruling+`","reason":"the bank says so"`)).is(t, http.StatusOK, `{"ok":true}`)
}

func (o shop) claimStatus(t *testing.T, claim string) string {
	t.Helper()
	return o.get(t, "/claims/"+claim).want(t, http.StatusOK).text(t, "status")
}

const words = `{"kind":"delivery_proof","text":"it was signed for"}`

func TestChargebackEnds(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		endpoint := s.receive(t)
		for _, c := range []struct {
			name, status, outcome string
			payment               string // of a simulated dispute; a real one is charged back when it opens
			funds                 string // 90.51 + 5 in reserve, the fee of 20 gone
			end                   func(o shop, payment, claim string)
		}{
			{"lost", "approved", "approved", "chargeback", "-29.49 to spend, 0.00 frozen, 5.00 in reserve",
				func(o shop, payment, _ string) { o.rule(t, payment, "lost") }},
			{"won", "rejected", "rejected", "completed", "70.51 to spend, 0.00 frozen, 5.00 in reserve",
				func(o shop, payment, _ string) { o.rule(t, payment, "won") }},
			{"withdrawn", "withdrawn", "withdrawn", "completed", "70.51 to spend, 0.00 frozen, 5.00 in reserve",
				func(o shop, payment, _ string) { o.rule(t, payment, "withdrawn") }},
			{"accepted", "approved", "approved", "chargeback", "-29.49 to spend, 0.00 frozen, 5.00 in reserve",
				func(o shop, _, claim string) { o.post(t, "/claims/"+claim+"/accept", "").want(t, http.StatusOK) }},
			{"won in review", "rejected", "rejected", "completed", "70.51 to spend, 0.00 frozen, 5.00 in reserve",
				func(o shop, payment, claim string) {
					o.post(t, "/claims/"+claim+"/evidence", words).want(t, http.StatusCreated)
					o.rule(t, payment, "won")
				}},
			{"by the operator", "approved", "approved", "chargeback", "-29.49 to spend, 0.00 frozen, 5.00 in reserve",
				func(o shop, _, claim string) {
					o.post(t, "/claims/"+claim+"/evidence", words).want(t, http.StatusCreated)
					_, err := s.App.Claims.RuleClaim(ctx, claim, pay.Approve, "the bank's letter")
					must(t, err)
				}},
			{"expired", "expired", "approved", "chargeback", "-29.49 to spend, 0.00 frozen, 5.00 in reserve",
				func(o shop, _, claim string) {
					s.clock.advance(7*24*time.Hour - time.Minute)
					_, err := s.App.Claims.SweepClaims(ctx)
					must(t, err)
					if got := o.claimStatus(t, claim); got != "needs_evidence" {
						t.Errorf("the claim is %s a minute before its deadline", got)
					}
					s.clock.advance(time.Minute)
					s.lookAtClaims(t, "the deadline has passed", func() bool { return o.claimStatus(t, claim) == "expired" })
				}},
		} {
			for _, real := range []bool{false, true} {
				t.Run(fmt.Sprint(c.name, " real ", real), func(t *testing.T) {
					o := s.shop(t)
					o.subscribe(t, endpoint.URL, `"claim.resolved"`)
					payment, claim := o.dispute(t, real)
					if got := o.funds(t); got != "-29.49 to spend, 100.00 frozen, 5.00 in reserve" {
						t.Errorf("while it is disputed there is %s", got)
					}
					if r := o.get(t, "/payments/"+payment); r.text(t, "refundableAmountLocal") != "0" {
						t.Errorf("something can be refunded under dispute: %s", r)
					}
					c.end(o, payment, claim)
					r := o.get(t, "/claims/"+claim).want(t, http.StatusOK)
					if r.text(t, "status") != c.status || r.text(t, "outcome") != c.outcome || r.text(t, "frozenUsd") != "0" || r.text(t, "feeUsd") != "20" {
						t.Errorf("want it %s, outcome %s: %s", c.status, c.outcome, r)
					}
					if real && r.text(t, "networkReasonCode") != "10.4" {
						t.Errorf("the network's code is not told: %s", r)
					}
					if got := o.funds(t); got != c.funds {
						t.Errorf("there is %s, want %s", got, c.funds)
					}
					want := c.payment
					if real {
						want = "chargeback"
					}
					if got := o.status(t, payment); got != want {
						t.Errorf("the payment is %s, want %s", got, want)
					}
					if want == "completed" {
						o.refund(t, payment, `{"amount":1}`).want(t, http.StatusOK) // the dispute is over
						return
					}
					// The end is the end.
					o.post(t, "/claims/"+claim+"/evidence", words).refused(t, alreadyResolved+" from="+c.status+" action=evidence")
					o.post(t, "/claims/"+claim+"/accept", "").refused(t, alreadyResolved+" from="+c.status+" action=accept")
					o.rule(t, payment, map[bool]string{true: "lost", false: "won"}[c.outcome == "approved"])
					o.refund(t, payment, `{}`).refused(t, "409 conflict_state conflict_error from=chargeback action=refund")
					if got := o.claimStatus(t, claim); got != c.status || o.funds(t) != c.funds {
						t.Errorf("after the end the claim became %s, and there is %s", got, o.funds(t))
					}
					if list := endpoint.about(t, payment, 1); list[0].text("data.object.status") != c.status || list[0].text("data.object.transaction.status") != "chargeback" {
						t.Errorf("claim.resolved tells %s", list[0].body)
					}
				})
			}
		}
	})
}

func TestClaimIsResolvedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"claim.resolved"`)
		payment, claim := o.dispute(t, false)
		var all sync.WaitGroup
		for n := range 24 {
			all.Go(func() {
				switch n % 4 {
				case 0:
					_, _ = s.App.Claims.RuleClaim(ctx, claim, pay.Withdraw, "")
				case 1:
					o.rule(t, payment, []string{"won", "withdrawn"}[n/4%2])
				case 2:
					_, _ = s.App.Claims.RuleClaim(ctx, claim, pay.Reject, "") // one of all wins
				case 3:
					o.post(t, "/claims/"+claim+"/evidence", words)
				}
			})
		}
		all.Wait()
		status := o.claimStatus(t, claim)
		if list := endpoint.about(t, payment, 1); list[0].text("data.object.status") != status {
			t.Errorf("told %s of a claim that is %s", list[0].body, status)
		}
	})
}

func TestClaimsAreListed(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		o.create(t, `{"amount":5000,"paymentMethodId":"sbx_card"}`)
		var ids []string
		for n := range 5 {
			id := o.create(t, card)
			if n == 2 {
				o.simulate(t, id, "chargeback").want(t, http.StatusOK)
				ids = append(ids, o.get(t, "/claims").text(t, "data.0.id"))
				continue
			}
			ids = append(ids, o.refund(t, id, `{}`).want(t, http.StatusOK).text(t, "refundId"))
		}
		r := o.get(t, "/claims").want(t, http.StatusOK)
		for i, id := range ids {
			if got := r.text(t, fmt.Sprintf("data.%d.id", len(ids)-1-i)); got != id {
				t.Errorf("row %d is %s, want %s: newest first", i, got, id)
			}
		}
		payment := o.get(t, "/claims/"+ids[0]).text(t, "transactionId")
		for query, want := range map[string]string{
			"": "5 50 0 1", "limit=2": "5 2 0 3", "limit=2&offset=4": "5 2 4 3", "limit=0": "5 1 0 5", "limit=1000&offset=-3": "5 100 0 1",
			"status=approved": "4 50 0 1", "status=needs_evidence": "1 50 0 1", "type=chargeback": "1 50 0 1", "type=inquiry": "0 50 0 0",
			"type=user_dispute&status=needs_evidence": "0 50 0 0", "transactionId=" + payment: "1 50 0 1", "transactionId=TXN-x": "0 50 0 0",
		} {
			r := o.get(t, "/claims?"+query).want(t, http.StatusOK)
			p := func(field string) string { return r.text(t, "pagination."+field) }
			if got := strings.Join([]string{p("total"), p("limit"), p("offset"), p("pages")}, " "); got != want {
				t.Errorf("%q: %s, want %s", query, got, want)
			}
		}
		for query, want := range map[string]string{
			"status=done": "status", "type=refund": "type", "limit=x": "limit", "transactionId=%00": "transactionId", "transactionId=%ff": "transactionId",
		} {
			o.get(t, "/claims?"+query).refused(t, "400 invalid_request invalid_request_error param="+want+" issues="+want)
		}
		const unknown = "404 claim_not_found invalid_request_error"
		for _, who := range []shop{stranger, stranger.live(), o.live()} {
			who.get(t, "/claims").is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
			who.get(t, "/claims/"+ids[2]).refused(t, unknown)
			who.post(t, "/claims/"+ids[2]+"/accept", "").refused(t, unknown)
			who.post(t, "/claims/"+ids[2]+"/evidence", words).refused(t, unknown)
			who.get(t, "/claims/"+ids[2]+"/evidence/ev_1/file").refused(t, unknown)
		}
		for _, id := range []string{"CLM-1", "x", "CLM-%00", "CLM-%ff"} {
			o.get(t, "/claims/"+id).refused(t, unknown)
			o.post(t, "/claims/"+id+"/accept", "").refused(t, unknown)
		}
		// A refund is its provider's to decide.
		o.post(t, "/claims/"+ids[0]+"/accept", "").refused(t, alreadyResolved+" from=approved action=accept")
		s.upstream(t, sandbox.RefundSlow, sandbox.NoFault, sandbox.NoFault)
		pending := o.refund(t, o.create(t, card), `{}`).text(t, "refundId")
		s.upstream(t, sandbox.NoFault, sandbox.NoFault, sandbox.NoFault)
		o.post(t, "/claims/"+pending+"/accept", "").refused(t, "409 conflict_state conflict_error from=pending action=accept")
		o.post(t, "/claims/"+pending+"/evidence", words).refused(t, "409 conflict_state conflict_error from=pending action=evidence")
	})
}

// file is a body of evidence with a file.
func file(kind, name string, content []byte) string {
	start := fmt.Sprintf(`{"kind":"receipt","file":{"name":%q,"contentType":%q,"content":"`, name, kind)
	return start + base64.StdEncoding.EncodeToString(content) + `"}}`
}

func TestEvidenceMovesAClaimToReview(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		_, claim := o.dispute(t, true)
		path := "/claims/" + claim + "/evidence"
		r := o.post(t, path, `{"kind":"delivery_proof","text":"signed for\nby Ana"}`).want(t, http.StatusCreated)
		if r.text(t, "id") != claim || r.text(t, "status") != "under_review" || r.text(t, "timeline.1.actor") != "merchant" {
			t.Errorf("want the claim, under review: %s", r)
		}
		content := []byte("%PDF-1.7\nreceipt\x00\xff")
		sum := sha256.Sum256(content)
		r = o.post(t, path, file("application/pdf", "reçu 1.pdf", content)).want(t, http.StatusCreated)
		object, _ := r.at(t, "evidence")
		want := `[{"id":"<text>","kind":"delivery_proof","text":"signed for\nby Ana","file":null,"submittedAt":"<time>"},
			{"id":"<text>","kind":"receipt","text":null,"file":{"name":"reçu 1.pdf","contentType":"application/pdf","size":18,"sha256":"` +
			hex.EncodeToString(sum[:]) + `"},"submittedAt":"<time>"}]`
		for _, difference := range compare("evidence", decode(t, []byte(want)), object) {
			t.Errorf("%s: %s", difference, r)
		}
		if timeline, _ := r.at(t, "timeline"); len(timeline.([]any)) != 2 {
			t.Errorf("more evidence is no step: %s", r)
		}
		id := r.text(t, "evidence.1.id")
		if !strings.HasPrefix(id, "ev_") {
			t.Errorf("the evidence's id is %s", id)
		}

		status, header, got := o.download(t, path+"/"+id+"/file")
		if status != http.StatusOK || string(got) != string(content) {
			t.Errorf("the download is %d with %q", status, got)
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
		_, other := stranger.dispute(t, true)
		for _, ev := range []string{"ev_1", "ev_%00", r.text(t, "evidence.0.id")} {
			o.get(t, path+"/"+ev+"/file").refused(t, noFile)
		}
		stranger.get(t, path+"/"+id+"/file").refused(t, noClaim)
		stranger.get(t, "/claims/"+other+"/evidence/"+id+"/file").refused(t, noFile)
		o.live().get(t, path+"/"+id+"/file").refused(t, noClaim)

		// No deadline holds a claim that was answered.
		s.clock.advance(30 * 24 * time.Hour)
		_, err := s.App.Claims.SweepClaims(ctx)
		must(t, err)
		if got := o.claimStatus(t, claim); got != "under_review" {
			t.Errorf("the answered claim is %s after a month", got)
		}
		for range 18 {
			o.post(t, path, words).want(t, http.StatusCreated)
		}
		o.post(t, path, words).refused(t, "400 invalid_request invalid_request_error")
	})
}

// download reads a file, which is no JSON.
func (o shop) download(t *testing.T, path string) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, o.URL+apiPath+path, nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+o.credential)
	res, err := http.DefaultTransport.RoundTrip(req)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	o.spec.check(t, reply{request: request{method: http.MethodGet, path: apiPath + path}, status: res.StatusCode, header: res.Header, body: body})
	return res.StatusCode, res.Header, body
}

// A file's name ends as what it is: whoever opens it gets that.
func TestNameOfAFileFitsItsContent(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		_, claim := o.dispute(t, false)
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
			r := o.post(t, "/claims/"+claim+"/evidence", file(c.kind, c.name, c.content)).want(t, http.StatusCreated)
			if got := r.text(t, fmt.Sprintf("evidence.%d.file.name", i)); got != c.want {
				t.Errorf("%s %q is kept as %q, want %q", c.kind, c.name, got, c.want)
			}
		}
	})
}

func TestRefusedEvidenceLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		_, claim := o.dispute(t, false)
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
			"an empty content":      {file("text/plain", "a", nil), invalid + " param=file.content issues=file.content"},
			"no base64":             {`{"kind":"other","file":{"name":"a","contentType":"text/plain","content":"%%%"}}`, invalid + " param=file.content issues=file.content"},
			"another type":          {file("text/html", "a.html", []byte("<b>")), invalid + " param=file.contentType issues=file.contentType"},
			"a script as PNG":       {file("image/png", "a.png", []byte("<script>")), invalid + " param=file.contentType issues=file.contentType"},
			"PNG as PDF":            {file("application/pdf", "a.pdf", png), invalid + " param=file.contentType issues=file.contentType"},
			"PNG as JPEG":           {file("image/jpeg", "a.jpg", png), invalid + " param=file.contentType issues=file.contentType"},
			"PNG as text":           {file("text/plain", "a.txt", png), invalid + " param=file.contentType issues=file.contentType"},
			"Latin 1 as text":       {file("text/plain", "a.txt", []byte("caf\xe9")), invalid + " param=file.contentType issues=file.contentType"},
			"a path":                {file("image/png", "../../etc/passwd", png), invalid + " param=file.name issues=file.name"},
			"a path of Windows":     {file("image/png", `c:\a.png`, png), invalid + " param=file.name issues=file.name"},
			"a name of two lines":   {file("image/png", "a\r\nSet-Cookie: x", png), invalid + " param=file.name issues=file.name"},
			"a file that is text":   {`{"kind":"other","file":"x"}`, invalid + " param=file issues=file"},
			"half a body":           {`{"kind":`, "400 invalid_json invalid_request_error"},
		} {
			t.Run(name, func(t *testing.T) { o.post(t, path, c.body).refused(t, c.want) })
		}
		if !strings.HasPrefix(s.database, "postgres") { // no database sees these
			const large = "413 payload_too_large invalid_request_error"
			o.post(t, path, file("image/png", "a.png", append(png, make([]byte, pay.MaxEvidenceFile+1-len(png))...))).refused(t, large+" param=file.content issues=file.content")
			o.post(t, path, strings.Repeat(" ", 15<<20)).refused(t, large)
		}
		o.post(t, path, words, "Content-Type: multipart/form-data").refused(t, "415 content_type_required invalid_request_error")
		r := o.get(t, "/claims/"+claim)
		if evidence, _ := r.at(t, "evidence"); len(evidence.([]any)) != 0 || r.text(t, "status") != "needs_evidence" {
			t.Errorf("refused evidence was kept: %s", r)
		}
		for _, taken := range []string{file("image/jpeg", "a.jpg", []byte("\xff\xd8\xff\xe0")), file("text/plain", "a.txt", []byte("héllo\r\n\tworld"))} {
			o.post(t, path, taken).want(t, http.StatusCreated)
		}
	})
}

// The largest file that there may be is taken. The test has the machine to itself, for a commit of so many bytes takes long.
func TestLargestEvidenceIsTaken(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := start(t, database, &clock{})
		o := s.shop(t)
		_, claim := o.dispute(t, false)
		png := []byte("\x89PNG\r\n\x1a\n0000")
		largest := file("image/png", "a.png", append(png, make([]byte, pay.MaxEvidenceFile-len(png))...))
		defer s.log.mute() // a busy machine may not know in time whether it was taken
		eventually(t, "the largest is taken", func() bool {
			r := o.post(t, "/claims/"+claim+"/evidence", largest, "Idempotency-Key: largest")
			t.Logf("%d %.200s", r.status, r.body)
			return r.status == http.StatusCreated
		})
	})
}

// Money that came after the end is the operator's to give to one or the other.
func TestOperatorDecidesOnLateMoney(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"claim.resolved"`)
		const well = sandbox.NoFault
		late := func() (payment, claim string) {
			payment = o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
			o.notify(t, "sandbox-1", note(payment, `"status":"declined"`)).want(t, http.StatusOK)
			o.notify(t, "sandbox-1", note(payment, paid50)).want(t, http.StatusOK)
			return payment, o.get(t, "/claims?type=inquiry&transactionId="+payment).text(t, "data.0.id")
		}
		accepted, claim := late()
		o.post(t, "/claims/"+claim+"/accept", "").refused(t, "409 conflict_state conflict_error from=pending action=accept")
		_, err := s.App.Claims.RuleClaim(ctx, claim, pay.Withdraw, "")
		if e, ok := err.(*problem.Error); !ok || e.Code != problem.ConflictState {
			t.Errorf("late money was withdrawn: %v", err)
		}
		_, err = s.App.Claims.RuleClaim(ctx, claim, pay.Reject, "the shop has shipped it")
		must(t, err)
		if got := o.claimStatus(t, claim); got != "rejected" || o.status(t, accepted) != "failed" || o.funds(t) != "10.00 to spend, 0.00 frozen, 0.00 in reserve" {
			t.Errorf("accepted late money: claim %s, payment %s, %s", got, o.status(t, accepted), o.funds(t))
		}
		if w := o.warnings(t); w != "" {
			t.Errorf("the balance warns of %q after the decision", w)
		}

		refunded, claim := late()
		s.upstream(t, sandbox.RefundDecline, well, well)
		c, err := s.App.Claims.RuleClaim(ctx, claim, pay.Approve, "send it back")
		must(t, err)
		if c.Status != pay.ClaimPending || c.Calling() {
			t.Errorf("refused by the provider: %s, calling %v", c.Status, c.Calling())
		}
		s.upstream(t, sandbox.RefundTimeout, well, well)
		c, err = s.App.Claims.RuleClaim(ctx, claim, pay.Approve, "send it back")
		must(t, err)
		if c.Status != pay.ClaimPending || !c.Calling() {
			t.Errorf("without the provider's answer: %s, calling %v", c.Status, c.Calling())
		}
		s.clock.advance(31 * time.Second)
		s.lookAtClaims(t, "the provider was asked", func() bool { return o.claimStatus(t, claim) == "approved" })
		s.upstream(t, well, well, well)
		if got := o.funds(t); got != "10.00 to spend, 0.00 frozen, 0.00 in reserve" || o.warnings(t) != "" {
			t.Errorf("after late money went back there is %s, warnings %q", got, o.warnings(t))
		}

		asked, claim := late()
		_, err = s.App.Claims.RuleClaim(ctx, claim, pay.AskEvidence, "did you ship it?")
		must(t, err)
		if r := o.get(t, "/claims/"+claim); r.text(t, "status") != "needs_evidence" || r.text(t, "timeline.1.note") != "did you ship it?" || r.text(t, "evidenceDueBy") == "<nil>" {
			t.Errorf("want it to need evidence: %s", r)
		}
		s.clock.advance(8 * 24 * time.Hour)
		s.lookAtClaims(t, "the deadline has passed", func() bool { return o.claimStatus(t, claim) == "expired" })
		for _, payment := range []string{accepted, refunded, asked} {
			endpoint.about(t, payment, 1)
		}
	})
}

func TestAuditLogSaysWhoMovedClaims(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		refunded := o.refund(t, o.create(t, card), `{"amount":10}`).want(t, http.StatusOK)
		e := o.act(t, audit.RefundOpened, refunded.text(t, "refundId"))
		o.byRequest(t, e, refunded)
		if e.Details["payment"] != refunded.text(t, "transactionId") || e.Details["amount"] != "10.00 USD" {
			t.Errorf("the refund's entry tells %v", e.Details)
		}
		_, first := o.dispute(t, false)
		answered := o.post(t, "/claims/"+first+"/evidence", words).want(t, http.StatusCreated)
		o.byRequest(t, o.act(t, audit.EvidenceSubmitted, first), answered)
		_, err := s.App.Claims.RuleClaim(ctx, first, pay.Reject, "the bank's letter")
		must(t, err)
		if e := o.act(t, audit.ClaimRuled, first); e.Details["word"] != "reject" || e.Details["note"] != "the bank's letter" {
			t.Errorf("the ruling's entry tells %v", e.Details)
		}
		_, second := o.dispute(t, false)
		accepted := o.post(t, "/claims/"+second+"/accept", "").want(t, http.StatusOK)
		o.byRequest(t, o.act(t, audit.ClaimAccepted, second), accepted)
		// What is refused was not done.
		before := len(o.acts(t))
		o.post(t, "/claims/"+second+"/accept", "").want(t, http.StatusConflict)
		o.post(t, "/claims/"+second+"/evidence", words).want(t, http.StatusConflict)
		o.refund(t, refunded.text(t, "transactionId"), `{"amount":100}`).want(t, http.StatusBadRequest)
		if after := len(o.acts(t)); after != before {
			t.Errorf("%d entries after refused calls, before %d", after, before)
		}
	})
}
