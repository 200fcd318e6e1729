package payouts

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

func verificationJSON(level, status, documents, problem string) string {
	return fmt.Sprintf(`{"verificationId":"<kyc>","level":%q,"status":%q,"url":"<url>","expiresAt":"<time>","requiredDocuments":%s,"lastError":%s,"createdAt":"<time>"}`,
		level, status, documents, problem)
}

const basicIndividual = `["identity_document","proof_of_address"]`

func TestMerchantHasOneOpenVerification(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const body = `{"level":"basic","subjectType":"individual","returnUrl":"https://shop.example/back"}`
		replies := make([]harness.Reply, 16)
		var all sync.WaitGroup
		for i := range replies {
			all.Go(func() { replies[i] = o.Post(t, "/kyc/init", body) })
		}
		all.Wait()
		made, id := 0, ""
		for _, r := range replies {
			if r.Status == http.StatusCreated {
				made++
			}
			r.Is(t, r.Status, verificationJSON("basic", "requires_input", basicIndividual, "null"))
			if got := r.Text(t, "verificationId"); id != "" && got != id || r.Status > http.StatusCreated {
				t.Errorf("want the same verification %s: %s", id, r)
			} else {
				id = got
			}
		}
		if made != 1 {
			t.Errorf("16 requests made %d verifications, want 1", made)
		}
		// The verification belongs to the merchant: all its shops and keys see it.
		for _, who := range []harness.Client{o, harness.Sibling(t, o), o.Whole(t, false)} {
			who.Get(t, "/kyc/"+id).Is(t, http.StatusOK, verificationJSON("basic", "requires_input", basicIndividual, "null"))
			if got := who.Post(t, "/kyc/init", `{"level":"enhanced","subjectType":"company"}`).Want(t, http.StatusOK).Text(t, "verificationId"); got != id {
				t.Errorf("while %s is open, the verification %s was started", id, got)
			}
		}
		for _, who := range []harness.Client{s.NewShop(t), o.Production()} {
			who.Get(t, "/kyc/"+id).Refused(t, "404 not_found invalid_request_error")
		}
		for _, unknown := range []string{"kyc_1", "x", "%00", "%ff"} {
			o.Get(t, "/kyc/"+unknown).Refused(t, "404 not_found invalid_request_error")
		}
		s.NewShop(t).Post(t, "/sandbox/kyc/"+id, `{"status":"verified"}`).Refused(t, "404 not_found invalid_request_error")
	})
}

func TestVerificationIsChecked(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for body, want := range map[string]string{
			`{}`:                        "400 invalid_request invalid_request_error param=level issues=level,subjectType missing=level,subjectType",
			`{"subjectType":"company"}`: "400 missing_field invalid_request_error param=level issues=level missing=level",
			`{"level":"basic"}`:         "400 missing_field invalid_request_error param=subjectType issues=subjectType missing=subjectType",
			`{"level":"gold","subjectType":"company"}`:                                 "400 invalid_request invalid_request_error param=level issues=level",
			`{"level":"basic","subjectType":"cat"}`:                                    "400 invalid_request invalid_request_error param=subjectType issues=subjectType",
			`{"level":"basic","subjectType":"company","returnUrl":"/back"}`:            "400 invalid_request invalid_request_error param=returnUrl issues=returnUrl",
			`{"level":"basic","subjectType":"company","returnUrl":"javascript:a"}`:     "400 invalid_request invalid_request_error param=returnUrl issues=returnUrl",
			`{"level":"basic","subjectType":"company","returnUrl":"https://a\u0000b"}`: "400 invalid_request invalid_request_error param=returnUrl issues=returnUrl",
		} {
			o.Post(t, "/kyc/init", body).Refused(t, want)
		}
		o.Post(t, "/kyc/init", `{"level":"enhanced","subjectType":"company"}`).Is(t, http.StatusCreated, verificationJSON("enhanced", "requires_input",
			`["registration_certificate","tax_registration","representative_identity_document","beneficial_owners","proof_of_address","source_of_funds"]`, "null"))
	})
}

func TestSandboxVerificationIsPlayed(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		begin := func() string {
			return o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"individual"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		}
		move := func(id, status string) harness.Reply {
			return o.Post(t, "/sandbox/kyc/"+id, `{"status":"`+status+`"}`)
		}
		rejected := begin()
		move(rejected, "processing").Is(t, http.StatusOK, verificationJSON("basic", "processing", basicIndividual, "null"))
		move(rejected, "expired").Refused(t, "409 conflict_state conflict_error from=processing action=expired")
		move(rejected, "rejected").Is(t, http.StatusOK, verificationJSON("basic", "rejected", basicIndividual, `{"code":"document_unreadable","message":"<text>"}`))
		for _, status := range []string{"processing", "verified", "rejected", "expired"} {
			move(rejected, status).Refused(t, "409 conflict_state conflict_error from=rejected action="+status)
		}
		move(rejected, "requires_input").Refused(t, "400 invalid_request invalid_request_error param=status issues=status")
		verified := begin()
		move(verified, "verified").Is(t, http.StatusOK, verificationJSON("basic", "verified", basicIndividual, "null"))

		// A verification expires by the merchant's test clock.
		late := begin()
		o.Post(t, "/sandbox/clock", `{"advance":"7d"}`).Want(t, http.StatusOK)
		harness.Eventually(t, "the verification is expired", func() bool {
			_, err := s.App.Verifications.ExpireVerifications(ctx)
			harness.Must(t, err)
			return o.Get(t, "/kyc/"+late).Text(t, "status") == "expired"
		})
		begin()
		live := o.Production()
		id := live.Post(t, "/kyc/init", `{"level":"basic","subjectType":"individual"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		live.Post(t, "/sandbox/kyc/"+id, `{"status":"verified"}`).Refused(t, "400 production_key_refused invalid_request_error")
	})
}

func TestVerificationPageHandsIn(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t).Production()
		r := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"individual","returnUrl":"https://shop.example/back?a=1&b=2"}`).Want(t, http.StatusCreated)
		id := r.Text(t, "verificationId")
		address, err := url.Parse(r.Text(t, "url"))
		harness.Must(t, err)
		path := address.RequestURI()
		page := func(method string, status int, want string) {
			t.Helper()
			got := s.Send(t, harness.Request{Method: method, Path: path})
			if got.Status != status || !strings.Contains(string(got.Body), want) {
				t.Errorf("want %d with %q: %s", status, want, got)
			}
			if status == http.StatusOK && (got.Header.Get("Referrer-Policy") != "no-referrer" || !strings.Contains(got.Header.Get("Content-Security-Policy"), "default-src 'none'")) {
				t.Errorf("the page has the wrong security headers %v", got.Header)
			}
		}
		page(http.MethodGet, http.StatusOK, "proof of address")
		page(http.MethodGet, http.StatusOK, `href="https://shop.example/back?a=1&amp;b=2"`)
		page(http.MethodPost, http.StatusSeeOther, "")
		if got := o.Get(t, "/kyc/"+id).Text(t, "status"); got != "processing" {
			t.Errorf("after the documents were submitted the verification is %s, want processing", got)
		}
		page(http.MethodPost, http.StatusSeeOther, "") // a second submission does no harm
		harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), id, merchants.KYCRejected, "name_mismatch", "The names <differ>."))
		page(http.MethodGet, http.StatusOK, "The names &lt;differ&gt;.")
		o.Get(t, "/kyc/"+id).Is(t, http.StatusOK, verificationJSON("basic", "rejected", basicIndividual, `{"code":"name_mismatch","message":"The names <differ>."}`))
		if err := s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), id, merchants.KYCVerified, "", ""); err == nil {
			t.Error("a rejected verification was approved")
		}
		// The page needs its own token.
		second := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"individual"}`).Want(t, http.StatusCreated).Text(t, "url")
		token := second[strings.Index(second, "token="):]
		for _, wrong := range []string{"/kyc/" + id, "/kyc/" + id + "?token=", "/kyc/" + id + "?" + token, "/kyc/kyc_1?" + token, "/kyc/%00?" + token} {
			path = wrong
			page(http.MethodGet, http.StatusNotFound, "not found")
			page(http.MethodPost, http.StatusNotFound, "not found")
		}
	})
}

func TestDueWorkOfPayoutsIsGauged(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t).Production()
		o.Wallet(t)
		o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"individual"}`).Want(t, http.StatusCreated)
		due, err := s.App.OldestDue(ctx)
		harness.Must(t, err)
		now := s.Clock.Now()
		for work, want := range map[string]time.Duration{"wallets": 24 * time.Hour, "verifications": 7 * 24 * time.Hour} {
			if got := due[work].Sub(now); (got - want).Abs() > time.Minute {
				t.Errorf("the oldest of %s is due in %s, want %s", work, got, want)
			}
		}
		if at, ok := due["withdrawals"]; !ok || !at.IsZero() {
			t.Errorf("the due work is %v, want withdrawals with no time", due)
		}
	})
}
