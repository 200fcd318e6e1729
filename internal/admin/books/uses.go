// Package books has the operators' operations on the audit log, stories, the check of the books and the seals.
package books

import (
	"context"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/app/overview"
	"github.com/cascadapay/cascada/internal/app/settlements"
)

// Uses are the use cases that the operations call.
type Uses struct {
	*base.Base
	Checks      *books.Checks
	Lists       *overview.Lists
	Settlements *settlements.Settlements
	Stories     func(ctx context.Context, id string) (string, error) // of payments, withdrawals and claims
}

type api struct {
	*call.API
	Uses Uses
}

// Register registers the operations.
func Register(to *call.API, uses Uses) {
	a := &api{to, uses}
	for _, routes := range []func(){a.auditRoutes, a.checkRoutes, a.storyRoutes} {
		routes()
	}
}
