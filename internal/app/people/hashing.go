package people

import (
	"context"
	"runtime"
	"sync"

	"github.com/alexedwards/argon2id"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"golang.org/x/sync/semaphore"
)

const (
	// mostHashers is the most passwords that are hashed at a time: each takes 19 MiB.
	mostHashers = 4
	// mostHashing is how many passwords are hashed or wait for it. An address, and an account, may have half of what the
	// others leave.
	mostHashing = 128
)

// hashMemory is what hashing a password takes, in KiB: with two passes the least that OWASP recommends.
const hashMemory = 19 * 1024

// hashing hashes passwords, a few at a time: payments come first. It is safe for use by many goroutines.
type hashing struct {
	places *limit.Places
	turns  *semaphore.Weighted
	cost   *argon2id.Params
	decoy  func() (string, error) // a hash that no password has
}

// newHashing returns a hashing that takes this much memory, in KiB; 0 means hashMemory.
func newHashing(memory uint32) *hashing {
	if memory == 0 {
		memory = hashMemory
	}
	cost := &argon2id.Params{Memory: memory, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	return &hashing{
		limit.NewPlaces(mostHashing), semaphore.NewWeighted(hashers(runtime.GOMAXPROCS(0))), cost,
		sync.OnceValues(func() (string, error) { return argon2id.CreateHash(id.Secret(""), cost) }),
	}
}

// hashers is how many passwords are hashed at a time: half of the processors stay free.
func hashers(processors int) int64 { return int64(min(max(1, processors/2), mostHashers)) }

// turn waits until a password may be hashed for somebody who asks from an address about an account. The caller must call
// end.
//
// Errors: rate_limited if too many wait.
func (h *hashing) turn(ctx context.Context, from From, account string) (end func(), err error) {
	leave, ok := h.places.Enter("from "+from.Address, "about "+account)
	if !ok {
		return nil, problem.New(problem.RateLimited, manyPasswords)
	}
	if err := h.turns.Acquire(ctx, 1); err != nil {
		leave()
		return nil, err
	}
	return func() {
		h.turns.Release(1)
		leave()
	}, nil
}

// hash hashes a password of an account.
//
// Errors: rate_limited.
func (h *hashing) hash(ctx context.Context, from From, account, password string) (string, error) {
	end, err := h.turn(ctx, from, account)
	if err != nil {
		return "", err
	}
	defer end()
	return argon2id.CreateHash(password, h.cost)
}

// matches reports whether a password of an account has the hash. It takes the same time without a hash: nobody learns
// which addresses have a user.
//
// Errors: rate_limited.
func (h *hashing) matches(ctx context.Context, from From, account, password, hash string) (bool, error) {
	known := hash != ""
	if len(password) > people.MostPassword*4 {
		password = ""
	}
	end, err := h.turn(ctx, from, account)
	if err != nil {
		return false, err
	}
	defer end()
	if !known {
		if hash, err = h.decoy(); err != nil {
			return false, err
		}
	}
	same, err := argon2id.ComparePasswordAndHash(password, hash)
	return same && known, err
}
