package view

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Shop is a shop as its merchant sees it.
type Shop struct {
	ID        string `json:"id" example:"shp_01J0000000000000000000000A"`
	Name      string `json:"name" example:"Acme"`
	Slug      string `json:"slug" example:"acme-00000a" doc:"In the addresses of managed inboxes"`
	CreatedAt Time   `json:"createdAt"`
}

// NewShop shows a shop.
func NewShop(s merchants.Shop) Shop {
	return Shop{ID: s.ID, Name: s.Name, Slug: s.Slug, CreatedAt: Time{s.CreatedAt}}
}

// Key is a key as its merchant sees it, without the key itself.
type Key struct {
	ID          string                `json:"id" example:"key_01J0000000000000000000000A"`
	Key         string                `json:"key" example:"sk_test_…abcd" doc:"Masked"`
	Kind        merchants.KeyKind     `json:"kind" enum:"secret,publishable,restricted"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	ShopID      *string               `json:"shopId" doc:"null: it is the whole merchant's"`
	Rights      []merchants.Right     `json:"rights" doc:"What it may do"`
	Status      string                `json:"status" enum:"active,ended"`
	CreatedAt   Time                  `json:"createdAt"`
	LastUsedAt  *Time                 `json:"lastUsedAt" nullable:"true" doc:"To the hour"`
	EndsAt      *Time                 `json:"endsAt" nullable:"true" doc:"When it stops being accepted"`
	Successor   *string               `json:"successor" doc:"The key that replaced it"`
}

// The states of a key.
const (
	KeyActive = "active"
	KeyEnded  = "ended"
)

// NewKey shows a key with its last use; zero: never.
func NewKey(k merchants.Key, used, now time.Time) Key {
	out := Key{
		ID: k.ID, Key: k.Preview, Kind: k.Kind, Environment: k.Environment(), ShopID: text(k.Shop), Rights: []merchants.Right{}, Status: KeyActive,
		CreatedAt: Time{k.CreatedAt}, LastUsedAt: at(used), EndsAt: at(k.EndsAt), Successor: text(k.Successor),
	}
	for _, right := range merchants.Rights() {
		if k.May(right) {
			out.Rights = append(out.Rights, right)
		}
	}
	if !k.RevokedAt.IsZero() {
		out.EndsAt = at(k.RevokedAt)
	}
	if k.Over(now) {
		out.Status = KeyEnded
	}
	return out
}

// Request is an API request of a merchant, as the node that answered it remembers it: without bodies, addresses and
// credentials.
type Request struct {
	ID         string   `json:"id" example:"req_01J0000000000000000000000A"`
	At         Time     `json:"at"`
	DurationMs int64    `json:"durationMs" doc:"Milliseconds until the answer"`
	Method     string   `json:"method" example:"POST"`
	Route      string   `json:"route" example:"/payments/{id}/refund" doc:"The path, with names for its ids"`
	ObjectID   *string  `json:"objectId" doc:"The id in the path; null: there is none, or it is not one of ours"`
	Status     int      `json:"status" example:"200" doc:"The HTTP status of the answer"`
	Key        string   `json:"key" example:"sk_test_…abcd" doc:"Masked"`
	Code       *string  `json:"code" doc:"Of the error; null: there was none"`
	Message    *string  `json:"message" doc:"Of the error, without what was sent"`
	Param      *string  `json:"param" doc:"The field that was wrong"`
	Fields     []string `json:"fields" doc:"All fields that were wrong"`
}

// NewRequest completes a request with what may be absent; "" is null.
func NewRequest(r Request, object, code, message, param string) Request {
	r.ObjectID, r.Code, r.Message, r.Param = text(object), text(code), text(message), text(param)
	if r.Fields == nil {
		r.Fields = []string{}
	}
	return r
}
