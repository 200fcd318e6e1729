package gate

import "sync/atomic"

// refusals counts refused requests by the kind of the empty bucket. The map is never changed.
type refusals map[string]*atomic.Int64

func newRefusals() refusals {
	r := refusals{}
	for _, kind := range []string{
		tenantLive, tenantTest, pollLive, pollTest, loginKey, loginAddress, openAddress, pageAddress, refusedAddress, noticeAddress, noticeAccount,
		bodyMerchant, bodyAddress, bodyOperator,
	} {
		r[kind] = &atomic.Int64{}
	}
	return r
}

func (r refusals) add(kind string) { r[kind].Add(1) }

// Refusals counts requests refused with 429 since the start, by the kind of the empty bucket.
func (g *Gate) Refusals() map[string]int64 {
	counts := make(map[string]int64, len(g.refusals))
	for kind, n := range g.refusals {
		counts[kind] = n.Load()
	}
	return counts
}
