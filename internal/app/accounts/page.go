package accounts

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// KeepsPage says why the provider of a payment cannot prove that its page has ended, "" if it can.
func KeepsPage(ps *Providers, p pay.Payment) string {
	attempt, _ := p.Attempts.Current()
	upstream, _ := ps.Upstream(attempt.Provider)
	if _, ends := upstream.(provider.Canceler); !ends {
		return attempt.Provider + " cannot end its page"
	}
	return Doubts(ps, p)
}

// Doubts says why the end of a payment's page would prove nothing at its provider, "" if it proves that no money can come.
func Doubts(ps *Providers, p pay.Payment) string {
	attempt, _ := p.Attempts.Current()
	upstream, _ := ps.Upstream(attempt.Provider)
	if d, doubted := upstream.(provider.Doubted); doubted {
		return d.Doubts(ps.Catalog.ByID[p.Way.RailID].Key)
	}
	return ""
}
