package sandbox

import (
	"fmt"
	"net/mail"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Rehearse refuses a shopper whom production's providers would refuse (SBX-13). A strict sandbox asks
// it, so that a shop finds out before it sells anything. The names are those of the request's fields;
// "" for one that it has not.
//
// Errors: invalid_request with all that is wrong.
func Rehearse(b pay.Buyer, rail acquirer.Rail, email, documentID, phone string) error {
	var issues []problem.Issue
	add := func(path, message string) {
		issues = append(issues, problem.Issue{Path: path, Message: path + " " + message})
	}
	if email != "" && b.Email != "" && !regularEmail(b.Email) {
		add(email, "is no address that providers take: want a name, @ and a domain with a dot, such as ana@example.com")
	}
	if phone != "" && b.Phone != "" && !regularPhone(b.Phone) {
		add(phone, "is no number that providers take: want a plus sign, the country code and 8 to 15 digits in all, such as +5511987654321")
	}
	if documentID != "" && rail.Document != "" && b.Document != "" {
		if _, good := document.Check(rail.Country, rail.Document, b.Document); !good {
			add(documentID, fmt.Sprintf("is no %s: its length, form or check digits are wrong; %s is one", rail.Document, document.Example(rail.Country, rail.Document)))
		}
	}
	if len(issues) == 0 {
		return nil
	}
	return &problem.Error{Code: problem.InvalidRequest, Param: issues[0].Path, Message: issues[0].Message, Details: problem.Details{Issues: issues}}
}

// regularEmail reports whether an address is of the kind that providers take: of those that the
// standard allows, the plain ones.
func regularEmail(text string) bool {
	at, err := mail.ParseAddress(text)
	return err == nil && at.Address == text && plainEmail.MatchString(text) && !strings.Contains(text, "..")
}

var (
	plainEmail  = regexp.MustCompile(`^[A-Za-z0-9_%+-][A-Za-z0-9._%+-]*@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}$`)
	punctuation = strings.NewReplacer(" ", "", "-", "", ".", "", "(", "", ")", "")
	plainPhone  = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)
)

func regularPhone(text string) bool { return plainPhone.MatchString(punctuation.Replace(text)) }
