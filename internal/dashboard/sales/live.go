package sales

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// feed has the newest payments of shops whose home pages are open: however many look, they are read once in
// StreamLook.
type feed struct {
	mu sync.Mutex // guards of
	of map[tenant.Scope]*newest
}

// newest are the newest payments of a shop, as they were read last.
type newest struct {
	mu   sync.Mutex // guards what follows; held while they are read
	at   time.Time
	list []pay.Payment
}

// shop returns the entry of a shop. Entries that nobody has asked for lately are forgotten.
func (f *feed) shop(scope tenant.Scope, now time.Time) *newest {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[tenant.Scope]*newest{}
	}
	one := f.of[scope]
	if one == nil {
		for other, n := range f.of {
			if n.mu.TryLock() {
				if now.Sub(n.at) > time.Minute {
					delete(f.of, other)
				}
				n.mu.Unlock()
			}
		}
		one = &newest{}
		f.of[scope] = one
	}
	return one
}

// feedView is the list of the newest payments.
type feedView struct {
	Rows []row
	Mark string // changes with any of them
}

// newest reads the newest payments for a page.
func (s *sales) newest(ctx context.Context, v *frame.Visit) (feedView, error) {
	list, err := s.App.Payments.Few(ctx, v.Scope, pay.PaymentFilter{Page: pay.Page{Limit: newestShown}})
	return s.shown(v, list), err
}

func (s *sales) shown(v *frame.Visit, list []pay.Payment) feedView {
	var mark strings.Builder
	for _, p := range list {
		fmt.Fprintf(&mark, "%s.%d,", p.ID[max(0, len(p.ID)-10):], p.Version)
	}
	return feedView{s.names(v).rows(list), hash(mark.String())[:16]}
}

// live sends the newest payments whenever they change.
func (s *sales) live(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return s.Stream(w, r, v, func(ctx context.Context) (string, func() (string, error), error) {
		one := s.feed.shop(v.Scope, time.Now())
		one.mu.Lock()
		defer one.mu.Unlock()
		if time.Since(one.at) >= frame.StreamLook-frame.StreamLook/10 {
			list, err := s.App.Payments.Few(ctx, v.Scope, pay.PaymentFilter{Page: pay.Page{Limit: newestShown}})
			if err != nil {
				return "", nil, err
			}
			one.at, one.list = time.Now(), list
		}
		view := s.shown(v, one.list)
		return view.Mark, func() (string, error) { return s.room.Block(r, v, "home", "feed", view) }, nil
	})
}
