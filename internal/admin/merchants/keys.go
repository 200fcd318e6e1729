package merchants

import (
	"context"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// KeyPath names an API key.
type KeyPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_]+$" example:"key_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type keyOut struct{ Body shape.Key }

type keysIn struct {
	MerchantPath
	call.PageQuery
	All bool `query:"all" doc:"Include keys that have ended"`
}

type keysOut struct {
	Body struct {
		Data       []shape.Key `json:"data"`
		Pagination call.Cursor `json:"pagination"`
	}
}

type createKeyIn struct {
	MerchantPath
	Body NewKeyBody
}

// NewKeyBody is a key to be made.
type NewKeyBody struct {
	_           struct{}              `additionalProperties:"false"`
	ShopID      string                `json:"shopId,omitempty" maxLength:"64" doc:"Left out: the key is for the whole merchant"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	Kind        merchants.KeyKind     `json:"kind,omitempty" enum:"secret,publishable,restricted" doc:"secret by default. A restricted key is a secret key with only the rights that are given"`
	Rights      []merchants.Right     `json:"rights,omitempty" maxItems:"50" enum:"read,payments,refunds,claims,webhooks,withdrawals,sandbox" example:"[\"read\",\"payments\"]" doc:"Of a restricted key. A secret key of a second or later shop may withdraw only with withdrawals"`
	EndsAt      *time.Time            `json:"endsAt,omitempty" doc:"It is refused from then on; left out: until it is revoked"`
}

type rotateKeyIn struct {
	KeyPath
	Body RotateKeyBody
}

// RotateKeyBody replaces a key by a new one.
type RotateKeyBody struct {
	_     struct{} `additionalProperties:"false"`
	Grace string   `json:"grace,omitempty" maxLength:"40" example:"24h" doc:"How long the old key stays valid: 0s, or at least 10s; 24h by default"`
}

type issuedKeyOut struct{ Body shape.IssuedKey }

type revokeRawIn struct{ Body RevokeKeyBody }

// RevokeKeyBody is a key that was found somewhere.
type RevokeKeyBody struct {
	_   struct{} `additionalProperties:"false"`
	Key string   `json:"key" minLength:"1" maxLength:"200" doc:"The key itself"`
}

type revokeLoginsIn struct{ Body RevokeLoginsBody }

// RevokeLoginsBody names logins: exactly one of loginId, keyId and merchantId.
type RevokeLoginsBody struct {
	_          struct{} `additionalProperties:"false"`
	LoginID    string   `json:"loginId,omitempty" maxLength:"64" example:"lgn_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6" doc:"From the audit log"`
	KeyID      string   `json:"keyId,omitempty" maxLength:"64" doc:"All logins of this key"`
	MerchantID string   `json:"merchantId,omitempty" maxLength:"64" doc:"All logins of this merchant"`
	Reason     string   `json:"reason" minLength:"1" maxLength:"300" doc:"For the audit log"`
}

type endedLoginsOut struct{ Body shape.EndedLogins }

func (a *api) keyRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Keys"}}
	}
	const once = "It is shown once: a repeat with the same Idempotency-Key shows it again for 7 days."
	call.Handle(a.API, operators.View, op("listKeys", http.MethodGet, "/merchants/{id}/keys", "List a merchant's API keys, masked", "Oldest first."), nil, a.keys)
	call.Handle(a.API, operators.Keys, call.Creates(op("createKey", http.MethodPost, "/merchants/{id}/keys", "Create an API key", once)), nil, a.createKey)
	call.Handle(a.API, operators.View, op("getKey", http.MethodGet, "/keys/{id}", "Read an API key, masked", "Also one that has ended."), nil, a.key)
	call.Handle(a.API, operators.Keys, call.Creates(op("rotateKey", http.MethodPost, "/keys/{id}/rotate", "Replace an API key by a new one with the same rights", once)), []problem.Code{problem.ConflictState}, a.rotateKey)
	call.Handle(a.API, operators.Keys, op("revokeKey", http.MethodDelete, "/keys/{id}", "Revoke an API key", "Every node refuses it within two seconds. A repeat changes nothing."), nil, a.revokeKey)
	call.Handle(a.API, operators.Keys, op("revokeFoundKey", http.MethodPost, "/key-revocations", "Revoke an API key that you have, such as one that was found in public", "The key is in the body alone, and is logged nowhere."),
		[]problem.Code{problem.NotFound}, a.revokeRaw)
	call.Handle(a.API, operators.Keys, op("revokeLogins", http.MethodPost, "/login-revocations", "End logins", "Their tokens are refused on every node within two seconds."), []problem.Code{problem.NotFound}, a.revokeLogins)
}

func (a *api) keys(ctx context.Context, _ audit.Actor, in *keysIn) (*keysOut, error) {
	list, uses, err := a.Uses.Keys.List(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	now := a.Uses.Now()
	some := list[:0]
	for _, k := range list {
		if in.All || !k.Over(now) {
			some = append(some, k)
		}
	}
	id := func(k merchants.Key) string { return k.ID }
	some = call.Cut(in.PageQuery, some, id)
	out := &keysOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, some, id, func(k merchants.Key) shape.Key {
		return shape.NewKey(k, uses[k.ID].Last, uses[k.ID].Addresses, now)
	})
	return out, nil
}

func (a *api) key(ctx context.Context, _ audit.Actor, in *KeyPath) (*keyOut, error) {
	k, use, err := a.Uses.Keys.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &keyOut{shape.NewKey(k, use.Last, use.Addresses, a.Uses.Now())}, nil
}

func (a *api) createKey(ctx context.Context, by audit.Actor, in *createKeyIn) (*issuedKeyOut, error) {
	b := in.Body
	if b.Kind == "" {
		b.Kind = merchants.Secret
	}
	if b.EndsAt != nil && !b.EndsAt.After(a.Uses.Now()) {
		return nil, message.FieldRefusal(problem.InvalidRequest, "endsAt", "endsAt must be in the future")
	}
	return a.issued(a.Uses.Keys.Issue(ctx, by, auth.NewKey{
		Scope: merchants.Scope{Merchant: in.ID, Shop: b.ShopID, Live: b.Environment == merchants.Production}, Kind: b.Kind, Rights: b.Rights, Ends: call.TimeOr(b.EndsAt),
	}))
}

func (a *api) issued(text string, k merchants.Key, err error) (*issuedKeyOut, error) {
	if err != nil {
		return nil, err
	}
	return &issuedKeyOut{shape.IssuedKey{Key: shape.NewKey(k, time.Time{}, 0, a.Uses.Now()), Text: text}}, nil
}

// usualGrace is how long a key stays valid that was rotated.
const usualGrace = 24 * time.Hour

func (a *api) rotateKey(ctx context.Context, by audit.Actor, in *rotateKeyIn) (*issuedKeyOut, error) {
	grace := usualGrace
	if in.Body.Grace != "" {
		var err error
		if grace, err = time.ParseDuration(in.Body.Grace); err != nil || grace < 0 {
			return nil, message.FieldRefusal(problem.InvalidRequest, "grace", "grace must be a duration, such as 24h or 0s")
		}
	}
	return a.issued(a.Uses.Keys.Rotate(ctx, by, in.ID, grace))
}

func (a *api) revokeKey(ctx context.Context, by audit.Actor, in *KeyPath) (*keyOut, error) {
	k, err := a.Uses.Keys.Revoke(ctx, by, in.ID)
	if err != nil {
		return nil, err
	}
	return a.key(ctx, by, &KeyPath{k.ID})
}

func (a *api) revokeRaw(ctx context.Context, by audit.Actor, in *revokeRawIn) (*keyOut, error) {
	k, err := a.Uses.Keys.RevokeRaw(ctx, by, in.Body.Key)
	if err != nil {
		return nil, err
	}
	return a.key(ctx, by, &KeyPath{k.ID})
}

func (a *api) revokeLogins(ctx context.Context, by audit.Actor, in *revokeLoginsIn) (*endedLoginsOut, error) {
	b, named := in.Body, 0
	for _, id := range []string{b.LoginID, b.KeyID, b.MerchantID} {
		if id != "" {
			named++
		}
	}
	if named != 1 {
		return nil, message.Refusal(problem.InvalidRequest, "name exactly one of these: loginId, keyId or merchantId")
	}
	if b.LoginID != "" {
		return &endedLoginsOut{shape.EndedLogins{Ended: 1}}, a.Uses.Access.RevokeLogin(ctx, by, b.LoginID, b.Reason)
	}
	n, err := a.Uses.Access.RevokeLogins(ctx, by, b.MerchantID, b.KeyID, b.Reason)
	return &endedLoginsOut{shape.EndedLogins{Ended: n}}, err
}
