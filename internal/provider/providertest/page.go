package providertest

import (
	"fmt"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// Paged is Plain for cards: its shoppers enter them on a page at the Upstream.
func Paged() provider.Adapter {
	a := Plain()
	a.Name, a.Rails = "paged", []string{"card.BRA"}
	return a
}

// Refuse is a shopper's card that is refused on the page of a charge, which stays open.
func (u *Upstream) Refuse(t testing.TB, reference string, reason decline.Reason) {
	t.Helper()
	u.page(t, reference, func(c *plainCharge) {
		c.Tries = append(c.Tries, provider.Try(fmt.Sprint(reference, "-", len(c.Tries)+1), 0, reason, string(reason)))
	})
}

// PayPage is a shopper who pays on the page of a charge.
func (u *Upstream) PayPage(t testing.TB, reference string) {
	t.Helper()
	u.page(t, reference, func(c *plainCharge) { c.Status = "paid" })
}

// EndPage is the end of a page's time.
func (u *Upstream) EndPage(t testing.TB, reference string) {
	t.Helper()
	u.page(t, reference, func(c *plainCharge) { c.Status = "canceled" })
}

// page changes a charge whose page is open.
func (u *Upstream) page(t testing.TB, reference string, change func(*plainCharge)) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.charges[reference]
	if c.Status != "open" || c.Page == "" {
		t.Fatalf("charge %s is %q, with the page %q: nobody can use it", reference, c.Status, c.Page)
	}
	change(&c)
	u.charges[reference] = c
}

// Until is when the page of a charge ends, in RFC 3339.
func (u *Upstream) Until(reference string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.charges[reference].Until
}

// NotifyAsIs returns a signed notification of a charge as it is: the URL, the signature and the body.
func (u *Upstream) NotifyAsIs(reference, secret string) (url, signature string, body []byte) {
	u.mu.Lock()
	status := u.charges[reference].Status
	u.mu.Unlock()
	return u.Notify(reference, status, secret)
}
