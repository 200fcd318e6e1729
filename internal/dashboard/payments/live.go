package payments

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/lists"
)

// feedView is the list of the newest payments.
type feedView struct {
	Rows []row
	Mark string // changes with any of them
}

// newest reads the newest payments for a page.
func (s *sales) newest(ctx context.Context, v *frame.Visit) (feedView, error) {
	list, err := s.Uses.Payments.Few(ctx, v.Scope, lists.PaymentFilter{Page: lists.Page{Limit: newestShown}})
	var mark strings.Builder
	for _, p := range list {
		fmt.Fprintf(&mark, "%s.%d,", p.ID, p.Version)
	}
	return feedView{s.names(v).rows(list), hash(mark.String())[:16]}, err
}

// live sends the newest payments whenever they change. Each look reads a handful of rows by an index.
func (s *sales) live(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return s.Stream(w, r, v, func(ctx context.Context) (string, func() (string, error), error) {
		view, err := s.newest(ctx, v)
		return view.Mark, func() (string, error) { return s.room.Block(r, v, "home", "feed", view) }, err
	})
}
