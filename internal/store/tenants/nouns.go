// Package tenants reads the service's users and settings: merchants with their keys, provider accounts,
// rates and rules, operators, secrets, the audit log. It describes their tables.
//
// Payments and payouts are in packages payments and books.
package tenants

import "github.com/cascadapay/cascada/internal/store/base"

// OfTenants has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfTenants struct{ b *base.Base }

// NewTenants returns the nouns of a database.
func NewTenants(b *base.Base) OfTenants { return OfTenants{b} }
