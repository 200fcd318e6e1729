package app

import (
	"context"
	"fmt"
	"net/mail"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/pay"
)

// The sandbox takes what production would not: any country, any document. A strict one
// refuses it, so that a shop finds out before it sells anything.

// SandboxSettings reads how a merchant's sandbox is set.
//
// Errors: production_key_refused.
func (a *App) SandboxSettings(ctx context.Context, by Principal) (pay.Merchant, error) {
	if err := sandboxOnly(by.Scope); err != nil {
		return pay.Merchant{}, err
	}
	return a.store.Merchant(ctx, by.Merchant)
}

// SetSandbox makes a merchant's sandbox strict, or lenient again.
//
// Errors: production_key_refused.
func (a *App) SetSandbox(ctx context.Context, by Principal, strict bool) (pay.Merchant, error) {
	if err := sandboxOnly(by.Scope); err != nil {
		return pay.Merchant{}, err
	}
	set, err := decided(func() (pay.Merchant, error) {
		m, err := a.store.Merchant(ctx, by.Merchant)
		if err != nil || m.Strict == strict {
			return m, err
		}
		next, change := m.Rehearse(strict)
		change.Audit = a.audit(by.Actor(), by.Scope, pay.SandboxChanged, m.ID, map[string]string{"strict": fmt.Sprint(strict)})
		return next, a.store.Commit(ctx, change)
	})
	a.shops.forget(by.Merchant + "/" + by.Shop)
	return set, err
}

// strict tells whether a request is refused what production refuses: as it says itself, or else as
// the merchant's sandbox is set. Production has refusals of its own.
func (a *App) strict(ctx context.Context, scope pay.Scope, asked *bool) (bool, error) {
	if scope.Live {
		return false, nil
	}
	if asked != nil {
		return *asked, nil
	}
	merchant, _, err := a.Tenant(ctx, Principal{Scope: scope})
	return merchant.Strict, err
}

// rehearse refuses a shopper whom production's providers would refuse. The names are those of the
// request's fields; "" for one that it has not.
//
// Errors: invalid_request with all that is wrong.
func rehearse(rail pay.Rail, b pay.Buyer, email, documentID, phone string) error {
	var bad problems
	add := func(path, message string) {
		bad.issues = append(bad.issues, pay.Issue{Path: path, Message: path + " " + message})
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
	return bad.err()
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
