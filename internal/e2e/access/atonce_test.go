package access

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

// atOnce sends each request on its own connection. It holds the last byte of each back, and then
// sends these bytes together.
func atOnce(t *testing.T, s *harness.Instance, requests []string) {
	t.Helper()
	var conns []net.Conn
	for _, r := range requests {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		harness.Must(t, err)
		defer c.Close()
		_, err = io.WriteString(c, r[:len(r)-1])
		harness.Must(t, err)
		conns = append(conns, c)
	}
	time.Sleep(100 * time.Millisecond) // the service reads all but the last bytes
	var all sync.WaitGroup
	for i, c := range conns {
		all.Go(func() {
			if _, err := io.WriteString(c, requests[i][len(requests[i])-1:]); err != nil {
				t.Error(err)
			}
			_, _ = io.ReadAll(c) // the tests count what the service did, not the replies
		})
	}
	all.Wait()
}

// Guesses of secrets are limited in the same way at once as one after another.
func TestGuessesAtOnceAreBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartLimited(t, database, func(l *daemon.Limits) { l.Refused = 2 }) // 10 at once; the clock is frozen
		o := merchantOf(t, s, merchants.Starter)
		var logins, keys []string
		for i := range 60 {
			body := harness.LoginBody(o.Sandbox.Publishable, fmt.Sprintf("sk_test_wrong%030d", i))
			logins = append(logins, fmt.Sprintf("POST /api/v1/auth/token HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
			keys = append(keys, fmt.Sprintf("GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer sk_test_%043d\r\n\r\n", i))
		}
		var good sync.WaitGroup
		for range 20 { // logins that succeed do not count
			good.Go(func() { login(t, o) })
		}
		good.Wait()
		atOnce(t, s, logins)
		if n := s.App.Access.AuthEvents()[auth.EventLoginRefused]; n != 10 {
			t.Errorf("%d guesses from one address were checked, want 10", n)
		}
		atOnce(t, s, keys)
		if n := s.App.Access.AuthEvents()[auth.EventRefused]; n != 10 {
			t.Errorf("%d bad keys from one address were looked up, want 10", n)
		}
	})
}

// An export or an erasure finds a shopper who selects a method at the same time: as a session or as
// a payment.
func TestShopperIsFoundWhileHeChooses(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.Start(t, database, &harness.Clock{})
		o := s.NewShop(t)
		shopper := func(name string) (token string, who privacy.Shopper) {
			mail := name + "@mail.example"
			token = o.Session(t, `{"amount":25.5,"currency":"USD","customer":{"firstName":"Ana","lastName":"Lima","email":"`+mail+`","phone":"+5511987654321"}}`)
			return token, privacy.Shopper{Merchant: o.Merchant.ID, Email: mail}
		}
		choose := func(token string) harness.Reply {
			return harness.Client{Instance: s}.Post(t, "/checkout/sessions/"+token+"/select", `{"paymentMethodId":"sbx_pse"}`)
		}
		ana := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		for i := range 20 {
			token, who := shopper(fmt.Sprintf("race%d", i))
			chosen := 0
			var all sync.WaitGroup
			all.Go(func() {
				time.Sleep(time.Duration(i%10) * 300 * time.Microsecond)
				chosen = choose(token).Status
			})
			found, err := s.App.Privacy.ExportShopper(ctx, audit.Actor{}, who)
			harness.Must(t, err)
			if len(found.Payments)+len(found.Sessions) == 0 {
				t.Error("the export finds neither a payment nor a session of the shopper")
			}
			done, err := s.App.Privacy.EraseShopper(ctx, ana, who, false)
			harness.Must(t, err)
			all.Wait()
			if chosen == http.StatusCreated && len(done.Kept) == 0 {
				t.Errorf("the erasure reports %+v, want the open payment as kept", done)
			}
			if chosen != http.StatusCreated && len(done.Sessions) != 1 {
				t.Errorf("the selection is refused (%d) and the erasure reports %+v, want one session erased", chosen, done)
			}
		}
		token, who := shopper("late") // one who chooses after the erasure
		_, err := s.App.Privacy.EraseShopper(ctx, ana, who, false)
		harness.Must(t, err)
		choose(token).Refused(t, "404 checkout_session_not_found invalid_request_error")
	})
}

// exportsUnread begins an export of a merchant that nobody reads, so that it does not end. The function that is returned ends it. The
// connection holds little: the export need not be large.
func exportsUnread(t *testing.T, op harness.Operator, merchant string) func() {
	t.Helper()
	narrow := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (failed error) {
		return cmp.Or(c.Control(func(fd uintptr) { failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) }), failed)
	}}
	client := &http.Client{Transport: &http.Transport{DialContext: narrow.DialContext}}
	req, err := http.NewRequest(http.MethodGet, op.AdminURL+"/merchants/"+merchant+"/export", nil)
	harness.Must(t, err)
	req.Header.Set("Authorization", "Bearer "+op.Token)
	res, err := client.Do(req)
	harness.Must(t, err)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("an export gets %d", res.StatusCode)
	}
	return func() { _ = res.Body.Close() }
}

// Few requests that read much are carried out at a time: of one person two, whatever the number of tokens, so that a viewer cannot occupy
// the machine; and another person gets one meanwhile (OPR-4).
func TestHeavyReadsAreBounded(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		_, claim := o.Dispute(t, true)
		picture := make([]byte, 4<<20)
		_, _ = rand.Read(picture)
		o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceFile("image/png", "large.png", append([]byte("\x89PNG\r\n\x1a\n"), picture...))).Want(t, http.StatusCreated)
		bea := harness.OperatorWithRole(t, o, operators.Support)
		token := func(name string) harness.Operator {
			return harness.OperatorToken(t, op.Instance, auth.Newcomer{Name: name, Role: operators.Support, Person: bea.User.ID}, op.Log)
		}
		laptop, phone := token("bea-laptop"), token("bea-phone")
		ends := []func(){exportsUnread(t, laptop, o.Merchant.ID), exportsUnread(t, phone, o.Merchant.ID)}
		from := op.Clock.Now().Add(-time.Hour).Format(time.RFC3339)
		for call, body := range map[string]string{
			"GET /seals/heads": "", "GET /stories/" + claim: "", "GET /merchants/leaving": "", "GET /merchants/" + o.Merchant.ID + "/export": "",
			"POST /routing-replays": fmt.Sprintf(`{"file":"order: priority\n","from":%q}`, from), "POST /shopper-exports": `{"transactionId":"TXN-1"}`,
			"POST /plan-replays": fmt.Sprintf(`{"plan":{"name":"gold","prices":[{"percent":2}],"settlement":{"delay":"48h"}},"from":%q}`, from),
		} {
			method, path, _ := strings.Cut(call, " ")
			for _, by := range []harness.Operator{laptop, phone} {
				r := by.Ask(t, method, path, body)
				if r.Refused(t, "429 rate_limited rate_limit_error"); r.Header.Get("Retry-After") == "" {
					t.Errorf("%s does not say when to come back: %s", call, r)
				}
			}
			if r := op.Ask(t, method, path, body); r.Status == http.StatusTooManyRequests {
				t.Errorf("%s of another person gets %s", call, r)
			}
		}
		laptop.Get(t, "/merchants").Want(t, http.StatusOK)
		for _, end := range ends {
			end()
		}
		harness.Eventually(t, "the places are free again", func() bool { return laptop.Get(t, "/seals/heads").Status == http.StatusOK })
	})
}
