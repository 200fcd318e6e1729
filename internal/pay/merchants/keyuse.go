package merchants

import "time"

// addressesKept is the number of addresses that are kept for a key. More would only show that the
// key is used from everywhere.
const addressesKept = 1000

// KeyUse records that a key was used from an address.
type KeyUse struct {
	Key     string // key_…
	Address string
	Version int64
	First   time.Time
	Last    time.Time // accurate to an hour
}

// ID is unique among all uses.
func (u KeyUse) ID() string { return u.Key + " " + u.Address }

// Again records a use at a time. known is the stored use, zero if there is none. addresses is the
// number of other addresses of the key. keep is false if there are too many. fresh means that the
// address is new, and that the key had others before.
func (u KeyUse) Again(known KeyUse, addresses int64, at time.Time) (next KeyUse, keep, fresh bool) {
	if known.Version > 0 {
		known.Version++
		known.Last = at
		return known, true, false
	}
	u.Version, u.First, u.Last = 1, at, at
	return u, addresses < addressesKept, addresses > 0 && addresses < addressesKept
}
