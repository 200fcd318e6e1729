// Package webhooks is the dashboard's pages about webhooks: endpoints with their deliveries, replays and inboxes, and the
// events that are sent to them.
package webhooks

import (
	"bytes"
	"embed"
	"encoding/json"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

//go:embed all:templates text
var files embed.FS

type pages struct {
	*frame.Site
	Uses Uses
	room *frame.Pages
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	room, err := site.NewPages(files)
	if err != nil {
		return err
	}
	p := &pages{site, uses, room}
	site.Handle("GET /webhooks", merchants.RightRead, p.webhooks)
	site.Handle("GET /webhooks/new", merchants.RightWebhooks, p.newWebhook)
	site.Handle("POST /webhooks", merchants.RightWebhooks, p.subscribe)
	site.Handle("GET /webhooks/{id}", merchants.RightRead, p.endpoint)
	site.Handle("GET /webhooks/{id}/deliveries.csv", merchants.RightRead, p.deliveriesFile)
	site.Handle("GET /webhooks/{id}/settings", merchants.RightRead, p.settings)
	site.Handle("GET /webhooks/{id}/edit", merchants.RightWebhooks, p.editWebhook)
	site.Handle("POST /webhooks/{id}", merchants.RightWebhooks, p.saveWebhook)
	site.Handle("GET /webhooks/{id}/status", merchants.RightWebhooks, p.askDisable)
	site.Handle("POST /webhooks/{id}/status", merchants.RightWebhooks, p.setStatus)
	site.Handle("GET /webhooks/{id}/secret", merchants.RightWebhooks, p.askSecret)
	site.Handle("POST /webhooks/{id}/secret", merchants.RightWebhooks, p.rollSecret)
	site.Handle("GET /webhooks/{id}/delete", merchants.RightWebhooks, p.askDelete)
	site.Handle("POST /webhooks/{id}/delete", merchants.RightWebhooks, p.unsubscribe)
	site.Handle("GET /webhooks/{id}/deliveries/{delivery}", merchants.RightRead, p.delivery)
	site.Handle("POST /webhooks/{id}/deliveries/{delivery}/replay", merchants.RightWebhooks, p.replayDelivery)
	site.Handle("GET /webhooks/{id}/inbox", merchants.RightRead, p.inbox)
	site.Handle("GET /webhooks/{id}/replays", merchants.RightRead, p.replays)
	site.Handle("POST /webhooks/{id}/replays", merchants.RightWebhooks, p.beginReplay)
	site.Handle("GET /webhooks/{id}/replays/{replay}", merchants.RightRead, p.replay)
	site.Handle("POST /webhooks/{id}/replays/{replay}/stop", merchants.RightWebhooks, p.stopReplay)
	site.Handle("GET /events", merchants.RightRead, p.events)
	site.Handle("GET /events/live", merchants.RightRead, p.follow)
	site.Handle("GET /events.csv", merchants.RightRead, p.eventsFile)
	site.Handle("GET /events/{id}", merchants.RightRead, p.event)
	return nil
}

// types are the options of a filter by type of event.
func types() (list []frame.Option) {
	for _, t := range webhooks.EventTypes() {
		list = append(list, frame.Option{Value: string(t), Label: string(t)})
	}
	return list
}

// pretty is JSON for people.
func pretty(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}
