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
