package checkout

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/cardnumber"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// errCard is the error for what a shopper sent if it holds a card's number. Its page says where cards are typed.
var errCard = errors.New("a card's number was sent to a page that takes none")

// noCard reads the form of a request, and refuses a card's number in it and in the address (CARD-1). A document's number is
// refused only if all of it is a card's.
//
// Errors: errCard; invalid_request for a form that cannot be read.
func noCard(r *http.Request) error {
	if cardnumber.In(r.URL.Path) {
		return errCard
	}
	if err := r.ParseForm(); err != nil && r.Method == http.MethodPost {
		return message.Refusal(problem.InvalidRequest, "the form cannot be read")
	}
	for name, values := range r.Form {
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
