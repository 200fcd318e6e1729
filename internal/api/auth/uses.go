// Package auth has the endpoints that exchange keys for tokens, and ping.
package auth

import (
	"github.com/cascadapay/cascada/internal/api/call"
	appauth "github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	*base.Base
	Access *appauth.Access
}

type api struct {
	*call.API
	uses Uses
}

// Register adds the endpoints that exchange keys for tokens, and that check credentials.
func Register(to *call.API, uses Uses) {
	a := &api{API: to, uses: uses}
	a.routes()
}
