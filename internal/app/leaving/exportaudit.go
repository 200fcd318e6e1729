package leaving

import (
	"context"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/view"
)

// exportedEntry is an entry of the audit log.
type exportedEntry struct {
	ID      string            `json:"id"`
	At      view.Time         `json:"at"`
	Kind    string            `json:"actorKind"`
	Actor   string            `json:"actor"`
	Act     string            `json:"act"`
	Object  string            `json:"object"`
	Details map[string]string `json:"details"`
}

func (e *export) audit(ctx context.Context, put func(any) error) error {
	for after, more := "", true; more; {
		list, err := e.l.Store.Audit().List(ctx, e.merchant.ID, after, exportPage)
		if err != nil {
			return err
		}
		for _, entry := range list {
			after = entry.ID
			actor, err := e.actor(ctx, entry.By)
			if err != nil {
				return err
			}
			if err := put(exportedEntry{entry.ID, view.Time{Time: entry.At}, string(entry.By.Kind), actor, string(entry.Act), entry.Object, forMerchants(entry.Details)}); err != nil {
				return err
			}
		}
		more = len(list) == exportPage
	}
	return nil
}

// forMerchants are the details of an act that its merchant may read.
func forMerchants(all map[string]string) map[string]string {
	some := map[string]string{}
	for _, name := range audit.ForMerchants {
		if value, ok := all[name]; ok {
			some[name] = value
		}
	}
	return some
}

// actor is who did something, "" for an operator or a provider's account, which are not named to the merchant (SVC-7).
func (e *export) actor(ctx context.Context, by audit.Actor) (string, error) {
	switch by.Kind {
	case audit.ByUser:
	case audit.ByKey:
		return by.ID, nil
	default:
		return "", nil
	}
	if _, err := e.l.Store.Memberships().Get(ctx, by.ID, e.merchant.ID); err != nil { // an operator of the console
		return "", base.OrRefuse(err, nil)
	}
	return by.ID, nil
}
