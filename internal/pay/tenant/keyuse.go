package tenant

import "time"

// addressesKept is from how many addresses a key's uses are kept: so many are enough to know
// that it is used from everywhere.
const addressesKept = 1000

// KeyUse tells that a key was used from an address.
type KeyUse struct {
	Key     string // key_…
	Address string
	Version int64
	First   time.Time
	Last    time.Time // within an hour
}

// ID names a use among all.
func (u KeyUse) ID() string { return u.Key + " " + u.Address }

// Again notes a use at a time. known is how it was noted before, the zero KeyUse where it never
// was, and addresses how many others the key was used from. keep is false where they are too
// many; fresh tells that the address is new to a key which had others.
func (u KeyUse) Again(known KeyUse, addresses int64, at time.Time) (next KeyUse, keep, fresh bool) {
	if known.Version > 0 {
		known.Version++
		known.Last = at
		return known, true, false
	}
	u.Version, u.First, u.Last = 1, at, at
	return u, addresses < addressesKept, addresses > 0 && addresses < addressesKept
}
