package checkout

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/cardnumber"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	views "github.com/cascadapay/cascada/internal/view"
)

// errCard is the error for what a shopper sent if it holds a card's number. Its page says where cards are typed.
var errCard = errors.New("a card's number was sent to a page that takes none")

// read are the names in queries that the pages read. Providers add their own to the addresses to which they send shoppers back: nothing
// here reads those, and a shopper who comes back is not refused for them.
var read = []string{"action", "challenge", "country", "installments", "lang", "method", "note", "state", "status", "was", views.PageKeyParam}

// noCard reads the form of a request, and refuses a card's number in it, in the path, and in what the pages read of the query (CARD-1).
// A document's number is refused only if all of it is a card's.
//
// Errors: errCard; invalid_request for a form that cannot be read.
func noCard(r *http.Request) error {
	if cardnumber.In(r.URL.Path) {
		return errCard
	}
	if err := r.ParseForm(); err != nil && r.Method == http.MethodPost {
		return message.Refusal(problem.InvalidRequest, "the form cannot be read")
	}
	sent := url.Values{}
	maps.Copy(sent, r.PostForm)
	for name, values := range r.URL.Query() {
		if slices.Contains(read, name) {
			sent[name] = append(slices.Clone(values), sent[name]...)
		}
	}
	for name, values := range sent {
		is := cardnumber.In[string]
		if strings.HasPrefix(name, "document-") || strings.HasPrefix(name, "sure-") {
			is = cardnumber.Is
		}
		if cardnumber.In(name) || slices.ContainsFunc(values, is) {
			return errCard
		}
	}
	return nil
}
