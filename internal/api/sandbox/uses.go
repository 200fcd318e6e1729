// Package sandbox has the endpoints of the sandbox: its test clock, its settings, and payments that it moves.
package sandbox

import (
	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/sandbox"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	*base.Base
	Sandbox *sandbox.Sandbox
}

type api struct {
	*call.API
	uses Uses
}

// Register adds the endpoints of the sandbox: its test clock, its settings, and payments that it moves.
func Register(to *call.API, uses Uses) {
	a := &api{API: to, uses: uses}
	a.routes()
	a.Tighten(publish)
}
