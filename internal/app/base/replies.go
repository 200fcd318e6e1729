package base

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Reply is what an edge answered.
type Reply struct {
	Status int    `json:"status"` // of HTTP
	Body   []byte `json:"body"`
}

// Repeatable is a request of an operator that is carried out once (IDEM-13). The first change that is written for it has its key, and
// its reply is stored beside it, encrypted: a repeat gets the same reply, also if that has a secret.
type Repeatable struct {
	b         *Base
	key, hash string
	at        time.Time
	written   atomic.Bool
}

// repeatableKey is the context key of the Repeatable that is carried out.
type repeatableKey struct{}

// replySuffix ends the once-key of a reply.
const replySuffix = "|reply"

// NewRepeatable returns the context in which a request of an owner is to be carried out; or the reply, if it was carried out before. Without a
// key the context does not change.
//
// Errors: idempotency_conflict if the key was used with another body, or if the reply is lost.
func NewRepeatable(ctx context.Context, b *Base, owner string, i Idempotency) (context.Context, *Repeatable, *Reply, error) {
	r := &Repeatable{b: b, key: strings.Join([]string{"operator", owner, i.Route, i.Key}, "|"), hash: i.Hash, at: b.Now()}
	if i.Key == "" {
		return ctx, r, nil, nil
	}
	once, err := b.Store.Idempotency().Get(ctx, r.key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return context.WithValue(ctx, repeatableKey{}, r), r, nil, nil
	case err != nil:
		return ctx, r, nil, err
	case once.Hash != i.Hash:
		return ctx, r, nil, i.Reused(once.Hash)
	}
	reply, err := r.stored(ctx)
	return ctx, r, reply, err
}

// stored reads the reply of the first request.
//
// Errors: idempotency_conflict if it was not stored: the node ended before, or has not done it yet.
func (r *Repeatable) stored(ctx context.Context) (*Reply, error) {
	once, err := r.b.Store.Idempotency().Get(ctx, r.key+replySuffix)
	if err != nil {
		return nil, OrRefuse(err, r.lost())
	}
	encrypted, err := base64.StdEncoding.DecodeString(once.Object)
	if err != nil {
		return nil, err
	}
	plain, err := r.b.Vault.DecryptData(r.key, encrypted)
	if err != nil {
		return nil, err
	}
	var reply Reply
	return &reply, json.Unmarshal(plain, &reply)
}

// lost is the error for a repeat of a request that was carried out, and whose reply is not known.
func (r *Repeatable) lost() error {
	return &problem.Error{Code: problem.IdempotencyConflict, Reason: replyLost, Details: problem.Details{Reason: "reply_lost"}}
}

// Store stores the reply, if anything was written for the request. A reply that says nothing final is not stored.
func (r *Repeatable) Store(ctx context.Context, reply Reply) error {
	if !r.written.Load() || reply.Status >= 500 {
		return nil
	}
	plain, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	object := base64.StdEncoding.EncodeToString(r.b.Vault.EncryptData(r.key, plain))
	ctx = context.WithoutCancel(ctx)
	return r.b.Store.Commit(ctx, pay.Change{Once: &pay.Once{Key: r.key + replySuffix, Hash: r.hash, Object: object, At: r.at}})
}

// guarded returns the Repeatable whose key a change must have; nil: none. A proposal is not yet what was asked for.
func guarded(ctx context.Context, change *pay.Change) *Repeatable {
	r, _ := ctx.Value(repeatableKey{}).(*Repeatable)
	if r == nil || change.Once != nil || len(change.Proposals) > 0 || r.written.Load() {
		return nil
	}
	return r
}

// commit writes a change with the key.
//
// Errors: those of commit; idempotency_conflict if the same request was carried out at the same time on another node.
func (r *Repeatable) commit(ctx context.Context, change *pay.Change, commit func() error) error {
	change.Once = &pay.Once{Key: r.key, Hash: r.hash, At: r.at}
	err := commit()
	if errors.Is(err, store.ErrDuplicate) {
		if _, used := r.b.Store.Idempotency().Get(ctx, r.key); used == nil {
			return r.lost()
		}
	}
	if err == nil || errors.Is(err, store.ErrUnknown) {
		r.written.Store(true)
	}
	return err
}
