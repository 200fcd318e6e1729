// Package developers is the dashboard's pages for whoever builds on the API: keys, the last requests, the sandbox, and
// the version of the API. Webhooks and events are in package webhooks beside it.
package developers

import (
	"embed"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

//go:embed all:templates text
var files embed.FS

type developers struct {
	*frame.Site
	Uses Uses
	room *frame.Pages
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	room, err := site.NewPages(files,
		frame.Item{Key: "sandbox", Path: "sandbox", Group: "developers", Right: merchants.RightSandbox},
		frame.Item{Key: "api", Path: "api", Group: "developers", Right: merchants.RightRead})
	if err != nil {
		return err
	}
	d := &developers{site, uses, room}
	d.keyPages()
	site.Handle("GET /requests", merchants.RightRead, d.requests)
	site.Handle("GET /requests.csv", merchants.RightRead, d.requestsFile)
	site.Handle("GET /requests/{id}", merchants.RightRead, d.request)
	site.Handle("GET /sandbox", merchants.RightSandbox, d.sandbox)
	site.Handle("POST /sandbox/clock", merchants.RightSandbox, d.moveClock)
	site.Handle("POST /sandbox/strict", merchants.RightSandbox, d.setStrict)
	site.Handle("POST /sandbox/reset", merchants.RightKeys, d.resetSandbox, frame.WhileEmptied())
	site.Handle("GET /api", merchants.RightRead, d.api)
	return nil
}
