package wire

import (
	"errors"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/danielgtaylor/huma/v2"
)

// Page is the part of a list that a query string requests: from an offset on, or after a row. Numbers
// outside the range are clamped (LIST-1). They are texts here, so that numbers too large for our type are
// clamped too.
type Page struct {
	LimitText  string `query:"limit" doc:"1 to 100, clamped"`
	OffsetText string `query:"offset" doc:"From 0, clamped"`
	Behind     string `query:"startingAfter" doc:"Instead of offset: the nextCursor of the previous page, which is the id of its last row. New rows do not shift the pages"`
	Older      string `query:"starting_after" doc:"Another name of startingAfter"`
	Next       string `query:"nextCursor" doc:"Another name of startingAfter: what it was read from"`
	page       lists.Page
}

// OlderCursor and NextCursor are other names of lists.CursorParam.
const (
	OlderCursor = "starting_after"
	NextCursor  = "nextCursor"
)

// cursors are the cursors that were sent under other names.
func (p *Page) cursors() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		_ = (p.Older == "" || yield(OlderCursor, p.Older)) && (p.Next == "" || yield(NextCursor, p.Next))
	}
}

// Resolve reads the page. A type that embeds this one and has its own Resolve calls it.
func (p *Page) Resolve(huma.Context) (issues []error) {
	read := func(param, text string, absent, low, high int) int {
		if text == "" {
			return absent
		}
		n, err := strconv.Atoi(text)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			issues = append(issues, Coded(problem.InvalidRequest, param, param+" must be a whole number, such as 50"))
		}
		return min(max(n, low), high)
	}
	p.page = lists.Page{Limit: read("limit", p.LimitText, lists.PageRows, 1, lists.MostPageRows), Offset: read("offset", p.OffsetText, 0, 0, 1_000_000), After: p.Behind}
	for name, value := range p.cursors() {
		if p.page.After == "" {
			p.page.After = value
		} else if value != p.page.After {
			issues = append(issues, Coded(problem.InvalidRequest, lists.CursorParam, lists.CursorParam+" and "+name+" are one parameter: send one of them"))
		}
	}
	if p.page.After != "" {
		p.page.Offset = 0
	}
	return issues
}

// CursorParam is the name under which the caller sent the cursor.
func (p *Page) CursorParam() string {
	if p.Behind == "" {
		for name := range p.cursors() {
			return name
		}
	}
	return lists.CursorParam
}

// Named renames a page error's parameter to the caller's name for it.
func (p *Page) Named(err error) error {
	var e *problem.Error
	if name := p.CursorParam(); name != lists.CursorParam && errors.As(err, &e) && e.Param == lists.CursorParam {
		renamed := *e
		renamed.Param, renamed.Reason = name, message.Literal(strings.ReplaceAll(message.API(e), lists.CursorParam, name))
		return &renamed
	}
	return err
}

// Rows is the page to read: one row more than shown, to tell whether it is the last page.
func (p *Page) Rows() lists.Page {
	rows := p.page
	rows.Limit++
	return rows
}

// Pagination is a page's position in its list (LIST-2).
type Pagination struct {
	Total  int64 `json:"total"`
	Limit  int   `json:"limit"`
	Offset int   `json:"offset"`
	Pages  int64 `json:"pages"`
	// TotalCapped says that Total is a minimum.
	TotalCapped bool    `json:"totalCapped,omitempty" doc:"There are total rows, or more: a search by e-mail or amount counts 10000 at most"`
	NextCursor  *string `json:"nextCursor" doc:"The startingAfter of the next page; null on the last one"`
}

// PageOf shows a page of the rows that were read, with its position. id is the cursor for the page after a
// row.
func PageOf[R, V any](p Page, rows []R, total int64, id func(R) string, show func(R) V) ([]V, Pagination) {
	n := p.page.Limit
	limit := int64(n)
	at := Pagination{Total: total, Limit: n, Offset: p.page.Offset, Pages: (total + limit - 1) / limit}
	if len(rows) > n {
		rows = rows[:n]
		last := id(rows[n-1])
		at.NextCursor = &last
	}
	shown := make([]V, 0, len(rows))
	for _, r := range rows {
		shown = append(shown, show(r))
	}
	return shown, at
}

// Word is a parameter of an enumerated type.
type Word[T ~string] string

// Schema lists the values, so that others are refused.
func (Word[T]) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: Values(reflect.TypeFor[T]())}
}

// Values lists the values of an enumerated type, nil for any other type.
func Values(of reflect.Type) []any { return words[of] }

var words = map[reflect.Type][]any{
	reflect.TypeFor[pay.Status]():              Texts(pay.Statuses()...),
	reflect.TypeFor[merchants.Tier]():          Texts(merchants.Tiers()...),
	reflect.TypeFor[webhooks.EventType]():      Texts(webhooks.EventTypes()...),
	reflect.TypeFor[webhooks.EventsVersion]():  Texts(webhooks.EventsVersions()...),
	reflect.TypeFor[merchants.Environment]():   Texts(merchants.Sandbox, merchants.Production),
	reflect.TypeFor[merchants.Right]():         Texts(merchants.Rights()...),
	reflect.TypeFor[accounts.Channel]():        Texts(accounts.Online, accounts.Cash, accounts.CreditCard),
	reflect.TypeFor[pay.ClaimKind]():           Texts(pay.ClaimKinds()...),
	reflect.TypeFor[pay.ClaimStatus]():         Texts(pay.ClaimStatuses()...),
	reflect.TypeFor[webhooks.DeliveryStatus](): Texts(webhooks.DeliveryStatuses()...),
	reflect.TypeFor[pay.SettlementStatus]():    Texts(pay.SettlementStatuses()...),
	reflect.TypeFor[pay.LinkStatus]():          Texts(pay.LinkStatuses()...),
	reflect.TypeFor[pay.WalletStatus]():        Texts(pay.WalletStatuses()...),
	reflect.TypeFor[pay.WithdrawalStatus]():    Texts(pay.WithdrawalStatuses()...),
	reflect.TypeFor[problem.Code]():            Texts(message.Codes()...),
}

// Texts is a list of words for a schema.
func Texts[T ~string](list ...T) (all []any) {
	for _, v := range list {
		all = append(all, string(v))
	}
	return all
}
