package payments

import (
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// strayDoc is money that came late, or in another amount.
type strayDoc struct {
	Code     pay.AttentionCode `json:"code"`
	Order    int               `json:"order"`
	Minor    int64             `json:"minor"`
	Currency money.Currency    `json:"currency"`
	Kept     int64             `json:"kept,omitempty"`
	Provider string            `json:"providerRef,omitempty"`
	Money    string            `json:"moneyRef,omitempty"`
	Claim    string            `json:"claim,omitempty"`
	End      pay.StrayEnd      `json:"end,omitempty"`
}

func strayDocs(strays []pay.Stray) (docs []strayDoc) {
	for _, s := range strays {
		docs = append(docs, strayDoc{
			Code:     s.Code,
			Order:    s.Order,
			Minor:    s.Local.Minor,
			Currency: s.Local.Currency,
			Kept:     s.Kept,
			Provider: s.ProviderRef,
			Money:    s.MoneyRef,
			Claim:    s.Claim,
			End:      s.End,
		})
	}
	return docs
}

func straysOf(docs []strayDoc) (strays []pay.Stray) {
	for _, d := range docs {
		strays = append(strays, pay.Stray{
			Code:        d.Code,
			Order:       d.Order,
			Local:       money.New(d.Minor, d.Currency),
			Kept:        d.Kept,
			ProviderRef: d.Provider,
			MoneyRef:    d.Money,
			Claim:       d.Claim,
			End:         d.End,
		})
	}
	return strays
}
