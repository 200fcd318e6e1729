package providertest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest/record"
)

// IsNotifications reports whether a text is an address of ours for notifications.
func IsNotifications(text any) bool {
	address, _ := text.(string)
	return strings.HasPrefix(address, "https://pay.cascada.test/") && strings.HasSuffix(address, "/notifications")
}

// Noon is the tests' time.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Page is our own page in the tests; Pages is what all of them begin with.
const (
	Page  = Pages + "TXN-1"
	Pages = "https://pay.cascada.test/pay/"
)

// IsPage reports whether a text is the address of one of our pages.
func IsPage(text any) bool {
	address, _ := text.(string)
	return strings.HasPrefix(address, Pages)
}

// Notifications is where providers send their notifications.
const Notifications = "https://pay.cascada.test/providers/acc/notifications"

// OpenAccount opens an account at a provider, for an adapter's own tests. The line records
// the statuses that the adapter does not know.
func OpenAccount[P provider.Provider](t testing.TB, a provider.Adapter, credentials map[string]string, upstream http.Handler) (P, *Line) {
	t.Helper()
	line := Connect(t, upstream)
	p, err := a.Open(line.account(credentials))
	if err != nil {
		t.Fatal(err)
	}
	return p.(P), line
}

func (l *Line) account(credentials map[string]string) provider.Account {
	record.Add(record.Entry{Credentials: credentials})
	return provider.Account{
		ID: "acc", BaseURL: l.URL, Credentials: credentials, NotificationURL: Notifications,
		Client: l.Client(), Now: func() time.Time { return Noon }, Unmapped: func(word string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.unmapped = append(l.unmapped, word)
		},
	}
}

// Unmapped lists the statuses that the adapter did not know.
func (l *Line) Unmapped() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.unmapped)
}

// Under is a sample as a request on a rail under a reference, sent at Noon.
func Under(sample provider.Request, rail, reference string) provider.Request {
	sample.Rail, sample.Reference, sample.PageURL, sample.BackURL = rail, reference, Page, Page
	sample.Created, sample.Sent, sample.Now, sample.Expires = Noon, Noon, Noon, Noon.Add(30*time.Minute)
	return sample
}

// Says is a provider that answers everything with one text.
func Says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}
