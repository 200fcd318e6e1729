// Package notices has the address at which providers' notifications arrive; what they say is decided in internal/app/notices.
package notices

import (
	"github.com/cascadapay/cascada/internal/api/call"
	appnotices "github.com/cascadapay/cascada/internal/app/notices"
	"github.com/cascadapay/cascada/internal/view"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	Notices *appnotices.Notices
}

type api struct {
	*call.API
	uses Uses
}

// Register adds the endpoints at which providers' notifications arrive.
func Register(to *call.API, uses Uses) {
	a := &api{API: to, uses: uses}
	a.Mux.HandleFunc("POST "+view.Base+"/providers/{account}/notifications", a.notification)
}
