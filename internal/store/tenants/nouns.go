// Package tenants reads who the service is for and how it is set: merchants with their keys, accounts at providers,
// rates and rules, operators, secrets, the audit log. It describes their tables.
//
// What they sell and are paid is in payments and books.
package tenants

import "github.com/cascadapay/cascada/internal/store/base"

// OfTenants are the nouns of the package. A Store embeds them.
type OfTenants struct {
	Merchants     *Merchants
	Keys          *Keys
	Accounts      *Accounts
	Rules         *Rules
	Rates         *Rates
	Operators     *Operators
	Secrets       *Secrets
	Audit         *Audit
	Verifications *Verifications
	Mails         *Mails
	Clocks        *Clocks
	Recoveries    *Recoveries
}

// NewTenants are the nouns as they stand in a database.
func NewTenants(b *base.Base) OfTenants {
	return OfTenants{
		Merchants:     &Merchants{b},
		Keys:          &Keys{b},
		Accounts:      &Accounts{b},
		Rules:         &Rules{b},
		Rates:         &Rates{b},
		Operators:     &Operators{b},
		Secrets:       &Secrets{b},
		Audit:         &Audit{b},
		Verifications: &Verifications{b},
		Mails:         &Mails{b},
		Clocks:        &Clocks{b},
		Recoveries:    &Recoveries{b},
	}
}
