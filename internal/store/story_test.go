package store_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// wantStory is how a failing test or an operator sees a payment.
const wantStory = `TXN-A v3 refunded 25.50 USD (137.70 BRL) sbx_pix
  attempt 1 at one: approved  
created 2026-11-21 12:00:00.000, updated 2026-11-21 12:00:02.000
notifications:
transfers:
  2026-11-21 12:00:01.000  capture tr_A-capture {"receivable":-2550,"platform_fees":31,"provider_fees":25,"flat_fees":10,"reserve":128,"pending":2356}
  2026-11-21 12:00:02.000  refund_freeze tr_1-freeze {"pending":-2356,"frozen":2356}
  2026-11-21 12:00:02.000  refund tr_1-refund {"frozen":-2356,"reserve":-128,"platform_fees":-31,"provider_fees":-25,"flat_fees":-10,"refunds":2550}
claims:
  2026-11-21 12:00:02.000  user_dispute CLM-1 approved
events:
  2026-11-21 12:00:01.000  payment.completed evt_A-1
  2026-11-21 12:00:02.000  payment.refunded evt_A-2
deliveries:
  2026-11-21 12:00:01.000  pending wd_A-1-all after 0 tries
  2026-11-21 12:00:02.000  pending wd_A-2-all after 0 tries
`

func TestStoryTellsAPaymentsLife(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		subscribe(t, s, "all", pay.AllEvents)
		p := stored(t, s, "A")
		p, change := p.Resolve(pay.Outcome{Kind: pay.Approved}, routes, noon.Add(time.Second))
		must(t, s.Commit(ctx, payload(change)))
		have := ledger.Balances{ledger.Pending: balance(t, s, ledger.Pending)}
		_, change, err := p.Refund(money.New(0, money.BRL), "", "CLM-1", have, noon.Add(2*time.Second))
		must(t, err)
		must(t, s.Commit(ctx, payload(change)))
		got, err := s.Story(ctx, p.ID)
		must(t, err)
		if got != wantStory {
			t.Errorf("the story is\n%s\nwant\n%s", got, wantStory)
		}
	})
}
