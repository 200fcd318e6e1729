package sandbox

import (
	"net/mail"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Rehearse refuses a shopper whom production's providers would refuse (SBX-13). A strict
// sandbox calls it, so that a shop finds out before it goes live. The names are those of
// the request's fields, "" for a missing field.
//
// Errors: invalid_request with all problems.
func Rehearse(b pay.Buyer, rail accounts.Rail, email, documentID, phone string) error {
	var issues []problem.Issue
	add := func(path string, why problem.Reason) {
		issues = append(issues, problem.Issue{Path: path, Reason: why})
	}
	if email != "" && b.Email != "" && !regularEmail(b.Email) {
		add(email, emailNotAccepted.With(email))
	}
	if phone != "" && b.Phone != "" && !regularPhone(b.Phone) {
		add(phone, phoneNotAccepted.With(phone))
	}
	if documentID != "" && rail.Document != "" && b.Document != "" {
		if _, good := document.Check(rail.Country, rail.Document, b.Document); !good {
			add(documentID, documentNotAccepted.With(documentID, rail.Document, document.Example(rail.Country, rail.Document)))
		}
	}
	if len(issues) == 0 {
		return nil
	}
	return &problem.Error{Code: problem.InvalidRequest, Param: issues[0].Path, Reason: issues[0].Reason, Details: problem.Details{Issues: issues}}
}

// regularEmail reports whether an address has the plain form that providers accept; the
// standard allows more.
func regularEmail(text string) bool {
	at, err := mail.ParseAddress(text)
	return err == nil && at.Address == text && plainEmail.MatchString(text) && !strings.Contains(text, "..")
}

var (
	plainEmail  = regexp.MustCompile(`^[A-Za-z0-9_%+'&-][A-Za-z0-9._%+'&-]*@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}$`)
	punctuation = strings.NewReplacer(" ", "", "-", "", ".", "", "(", "", ")", "")
	plainPhone  = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)
)

func regularPhone(text string) bool { return plainPhone.MatchString(punctuation.Replace(text)) }
