package leaving

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	tenants "github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// ExportsADay is how often the owners of a merchant may export what is theirs within 24 hours: an export reads all of it.
const ExportsADay = 5

// ExportOwn is Export for an owner of the merchant. Nothing is written to w before it is known that the owner may.
//
// Errors: rate_limited after ExportsADay, and if another export of the merchant begins at the same moment.
func (l *Leaving) ExportOwn(ctx context.Context, by audit.Actor, id string, w io.Writer) (Manifest, error) {
	m, err := l.export(ctx, by, id, w, func() (*pay.Once, error) {
		newest, err := l.Store.Audit().Latest(ctx, audit.Filter{Object: id, Act: audit.MerchantExport}, mostCounted)
		if err != nil {
			return nil, err
		}
		now, last, n := l.Now(), "none", 0
		for i, e := range newest {
			if i == 0 {
				last = e.ID
			}
			if e.By.Kind == audit.ByUser && now.Sub(e.At) < 24*time.Hour {
				n++
			}
		}
		if n >= ExportsADay {
			return nil, problem.New(problem.RateLimited, manyExports)
		}
		// Of clicks at once, on any nodes, each of which has counted the same exports, one begins.
		next := base.Idempotency{Route: "export", Key: id + "/" + last, Hash: id}
		return next.Guard(tenants.Scope{Merchant: id, Live: true}, id, now), nil
	})
	if errors.Is(err, store.ErrDuplicate) {
		err = problem.New(problem.RateLimited, manyExports)
	}
	return m, err
}

// mostCounted is how many of the newest exports are read to count those of the owners. Operators' are among them.
const mostCounted = 100
