package bench

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

// post sends a delivery as the service does.
func post(t *testing.T, url, body, secret string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(sender.SignatureHeader, sender.Sign(time.Now(), []byte(body), secret, ""))
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer reply.Body.Close()
	return reply.StatusCode
}

func event(kind, payment string, created time.Time) string {
	return fmt.Sprintf(`{"id":"evt_1","type":%q,"createdAt":%q,"data":{"object":{"id":%q,"status":"completed"}}}`,
		kind, created.UTC().Format("2006-01-02T15:04:05.000Z"), payment)
}

func TestTheSinkTellsPaymentsApart(t *testing.T) {
	s, err := listen(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.expect("whsec_a")
	s.expect("whsec_b")
	now := time.Now()
	m := &measured{from: now.Add(-time.Second), until: now.Add(time.Hour)}
	m.workers = []*worker{{completed: []string{"TXN-1", "TXN-2"}}, {completed: []string{"TXN-4"}}}
	s.window(m.from, m.until)

	early := now.Add(-time.Minute)
	for _, d := range []struct{ shop, body, secret string }{
		{"0", event("payment.completed", "TXN-1", now), "whsec_a"},
		{"0", event("payment.completed", "TXN-1", now), "whsec_a"},                                       // again
		{"1", event("payment.completed", "TXN-2", early), "whsec_x"},                                     // the shop's first delivery is verified
		{"1", event("payment.completed", "TXN-3", now), "whsec_b"},                                       // its reply was lost
		{"1", strings.Replace(event("payment.completed", "TXN-3", now), "evt_1", "evt_2", 1), "whsec_b"}, // two events report it
		{"1", event("payment.failed", "TXN-5", now), "whsec_b"},
		{"9", event("payment.completed", "TXN-6", now), "whsec_b"}, // there is no such shop
		{"0", "{}", "whsec_a"},
	} {
		if status := post(t, "http://"+s.listener.Addr().String()+"/"+d.shop, d.body, d.secret); status != http.StatusNoContent {
			t.Errorf("the sink answered %d to %s", status, d.body)
		}
	}
	if status := post(t, "http://"+s.listener.Addr().String()+"/favicon.ico", "", ""); status != 0 {
		t.Errorf("the sink answered %d to a request that is not a delivery", status)
	}
	got := *s.report(m, s.missing(map[string]struct{}{"TXN-1": {}, "TXN-2": {}, "TXN-4": {}}), 3)
	got.PerSecond, got.DelayP50Ms, got.DelayP99Ms, got.DelayMaxMs = 0, 0, 0, 0 // they depend on the clock
	want := Webhooks{
		Delivered: 3, Missing: 1, Unexpected: 1, Duplicates: 1, Doubled: 1, OtherEvents: 1, SignaturesChecked: 2, SignaturesBad: 1, Malformed: 3,
	}
	if got != want {
		t.Errorf("the sink counted %+v, want %+v", got, want)
	}
	if n := len(s.got.delays); n != 2 {
		t.Errorf("%d delays were measured, want 2, of events created within the window", n)
	}
}
