package store

import (
	"fmt"
	"testing"
)

// lockOrder is the order in which every transaction locks tables. The place of a table is in its description. A new kind
// gets a line here. No line moves: while a new version is started node by node, both versions write, and they must
// lock in the same order.
const lockOrder = `
 10 once
 20 receipts
 30 processing, payments
 40 claims
 50 subscriptions
 60 deliveries
 70 fanouts
 80 sessions
 83 payment_links
 84 link_uses
 90 replays
100 merchants
110 shops
120 keys
130 logins
140 clocks
150 resets
160 rates
170 provider_accounts
180 operators
181 dual_controls
182 proposals
190 secrets
200 key_uses
210 retention
220 routing_rules
225 plans
230 wallets
240 mails
250 withdrawals
260 payout_controls
270 payout_batches
280 verifications
290 settlements
300 reserves
310 drifts
315 adjustments
320 recoveries
330 found
340 users
350 memberships
360 signins
370 links
380 logos
390 audit
400 audit_addresses
410 audit_notes
420 rate_history
430 settlement_lines
440 documents
450 reconciliations
460 inbox
470 files
480 transfers
490 events
`

func TestTablesAreLockedInOneOrder(t *testing.T) {
	order := "\n"
	for _, k := range written {
		order += fmt.Sprintf("%3d %s\n", k.LockOrder(), k)
	}
	if order != lockOrder {
		t.Errorf("tables are locked in the order%s", order)
	}
}
