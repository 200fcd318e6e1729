package shape

import (
	"time"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/view"
)

// Shop is one of a merchant's shops.
type Shop struct {
	ID         string    `json:"id" example:"shp_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	MerchantID string    `json:"merchantId"`
	Name       string    `json:"name" example:"Acme" doc:"As shoppers see it"`
	Slug       string    `json:"slug" doc:"In the addresses of managed inboxes; it stays when the name changes"`
	Brand      ShopBrand `json:"brand"`
	Schemes    []string  `json:"schemes" doc:"Schemes of the shop's apps, to which its pages may lead back" example:"[\"com.example.shop\"]"`
	Version    int64     `json:"version"`
	CreatedAt  view.Time `json:"createdAt"`
}

// ShopBrand is how a shop's pages look to shoppers.
type ShopBrand struct {
	Color   string   `json:"color" doc:"Of the main button; empty: the default" example:"#0a7d5a"`
	Logo    string   `json:"logo" doc:"SHA-256 of the picture in hex; empty: none"`
	Frames  []string `json:"frames" doc:"Origins that may embed the pages" example:"[\"https://shop.example\"]"`
	PassFee bool     `json:"passFee" doc:"The methods' fees are shown beside them"`
}

// NewShop shows a shop.
func NewShop(s merchants.Shop) Shop {
	return Shop{
		ID: s.ID, MerchantID: s.Merchant, Name: s.Name, Slug: s.Slug, Schemes: append([]string{}, s.Schemes...), Version: s.Version,
		Brand: ShopBrand{s.Brand.Color, s.Brand.Logo, append([]string{}, s.Brand.Frames...), s.Brand.PassFee}, CreatedAt: view.Time{Time: s.CreatedAt},
	}
}

// ShopKeys are the first keys of a shop. They cannot be read again.
type ShopKeys struct {
	Sandbox    ShopKeyPair `json:"sandbox"`
	Production ShopKeyPair `json:"production"`
}

// ShopKeyPair is the two keys of an environment.
type ShopKeyPair struct {
	Publishable string `json:"publishable" example:"pk_test_…"`
	Secret      string `json:"secret" example:"sk_test_…"`
}

// OpenedShop is a new shop with its keys.
type OpenedShop struct {
	Shop Shop     `json:"shop"`
	Keys ShopKeys `json:"keys" doc:"Shown once"`
}

// NewOpenedShop shows a new shop.
func NewOpenedShop(o appmerchants.Onboarded) OpenedShop {
	return OpenedShop{NewShop(o.Shop), ShopKeys{ShopKeyPair(o.Sandbox), ShopKeyPair(o.Live)}}
}

// OpenedMerchant is a new merchant with its first shop and keys.
type OpenedMerchant struct {
	Merchant Merchant `json:"merchant"`
	OpenedShop
}

// SandboxReset is the emptying of a merchant's sandbox.
type SandboxReset struct {
	MerchantID string     `json:"merchantId"`
	StartedAt  view.Time  `json:"startedAt" doc:"The sandbox is closed from then on"`
	DoneAt     *view.Time `json:"doneAt" nullable:"true" doc:"null while it is being emptied: that takes a minute or so"`
	Deleted    int64      `json:"deleted" doc:"Rows so far"`
}

// NewSandboxReset shows a reset.
func NewSandboxReset(r merchants.Reset) SandboxReset {
	return SandboxReset{r.Merchant, view.Time{Time: r.StartedAt}, moment(r.DoneAt), r.Deleted}
}

// Key is an API key of a merchant. It is never shown whole.
type Key struct {
	ID          string                `json:"id" example:"key_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Key         string                `json:"key" example:"sk_test_…abcd" doc:"Masked"`
	MerchantID  string                `json:"merchantId"`
	ShopID      *string               `json:"shopId" doc:"null: it is the whole merchant's"`
	Kind        merchants.KeyKind     `json:"kind" enum:"secret,publishable,restricted"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	Rights      []merchants.Right     `json:"rights" doc:"What it may do"`
	Status      string                `json:"status" enum:"active,ended"`
	CreatedAt   view.Time             `json:"createdAt"`
	LastUsedAt  *view.Time            `json:"lastUsedAt" nullable:"true" doc:"To the hour"`
	Addresses   int64                 `json:"addresses" doc:"How many IP addresses have used it"`
	EndsAt      *view.Time            `json:"endsAt" nullable:"true" doc:"When it stops being accepted"`
	Successor   *string               `json:"successor" doc:"The key that replaced it"`
}

// NewKey shows a key with its use: when it was last used, zero for never, and by how many addresses.
func NewKey(k merchants.Key, used time.Time, addresses int64, now time.Time) Key {
	seen := view.NewKey(k, used, now)
	return Key{
		ID: seen.ID, Key: seen.Key, MerchantID: k.Merchant, ShopID: seen.ShopID, Kind: seen.Kind, Environment: seen.Environment, Rights: seen.Rights, Status: seen.Status,
		CreatedAt: seen.CreatedAt, LastUsedAt: seen.LastUsedAt, Addresses: addresses, EndsAt: seen.EndsAt, Successor: seen.Successor,
	}
}

// IssuedKey is a new key.
type IssuedKey struct {
	Key  Key    `json:"key"`
	Text string `json:"text" doc:"The key itself. It cannot be read again" example:"sk_test_…"`
}

// EndedLogins says how many logins ended.
type EndedLogins struct {
	Ended int `json:"ended"`
}
