package frame

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/cardnumber"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
)

// No card's number comes in (CARD-1): each request is checked as a whole before a page reads it, so that no field can be forgotten.

// secretFields are what nobody keeps as it was typed: their text may be anything.
var secretFields = []string{"password", "old"}

// numberFields hold another number, and are refused only if all of it is a card's. accountFields have a format of their own.
var (
	numberFields  = []string{"phone", "holderDocument", "bankCode", "branchCode", "documentId"}
	accountFields = []string{"destination"}
)

// noCard refuses an address with a card's number, and drops one from the name of the browser.
//
// Errors: invalid_request.
func noCard(r *http.Request) error {
	for i, agent := range r.Header["User-Agent"] {
		if cardnumber.In(agent) {
			r.Header["User-Agent"][i] = ""
		}
	}
	if cardnumber.In(r.URL.Path) {
		return cardIn("path")
	}
	return noCardAmong(r.URL.Query())
}

// noCardAmong refuses values with a card's number.
//
// Errors: invalid_request.
func noCardAmong(values url.Values) error {
	for name, list := range values {
		switch {
		case cardnumber.In(name):
			return cardIn("form")
		case slices.Contains(secretFields, name) || slices.Contains(accountFields, name):
		case slices.Contains(numberFields, name):
			if slices.ContainsFunc(list, cardnumber.Is) {
				return cardIn(name)
			}
		case slices.ContainsFunc(list, cardnumber.In[string]):
			return cardIn(name)
		}
	}
	return nil
}

// noCardInParts refuses a form with files, one of whose texts or names of files holds a card's number. The body has arrived, and
// stays to be read. What is wrong with the form itself is the page's to say.
//
// Errors: invalid_request.
func noCardInParts(r *http.Request) error {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil
	}
	var readers []io.Reader
	for _, part := range web.Arrived(r) {
		readers = append(readers, bytes.NewReader(part))
	}
	for form := multipart.NewReader(io.MultiReader(readers...), params["boundary"]); ; {
		part, err := form.NextPart()
		if err != nil {
			return nil
		}
		name := part.FormName()
		if cardnumber.In(name) {
			return cardIn("form")
		}
		if file := part.FileName(); file != "" {
			if cardnumber.In(file) {
				return cardIn(name)
			}
			continue
		}
		text, err := io.ReadAll(io.LimitReader(part, maxForm))
		if err != nil {
			return nil
		}
		if err := noCardAmong(url.Values{name: {string(text)}}); err != nil {
			return err
		}
	}
}

// cardIn is the error for a field that holds a card's number.
func cardIn(field string) error {
	if len(field) > longestField {
		field = strings.ToValidUTF8(field[:longestField], "")
	}
	return problem.Field(problem.InvalidRequest, field, problem.CardNumber.With(field))
}

// longestField is how many bytes of a field's name an error repeats.
const longestField = 60
