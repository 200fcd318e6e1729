// Package tenants reads the service's users and settings: merchants with their keys, provider accounts,
// rates and rules, operators, secrets, the audit log. It describes their tables.
//
// Payments and payouts are in packages payments and books.
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
	Resets        *Resets
	Recoveries    *Recoveries
}

// NewTenants returns the nouns of a database.
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
		Resets:        &Resets{b},
		Recoveries:    &Recoveries{b},
	}
}
