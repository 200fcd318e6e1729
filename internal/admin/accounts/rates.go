package accounts

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	apprates "github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/danielgtaylor/huma/v2"
)

// RatePath names a currency.
type RatePath struct {
	Currency string `path:"currency" maxLength:"3" pattern:"^[A-Z]{3}$" example:"BRL"`
}

type ratesIn struct{ call.PageQuery }

type ratesOut struct {
	Body struct {
		Data       []shape.ExchangeRate `json:"data"`
		Pagination call.Cursor          `json:"pagination"`
	}
}

type rateOut struct{ Body shape.ExchangeRate }

type rateHistoryOut struct {
	Body struct {
		Data []shape.RateReading `json:"data"`
	}
}

type setRateIn struct {
	RatePath
	Body RateBody
}

// RateBody is a rate to be set.
type RateBody struct {
	_      struct{}   `additionalProperties:"false"`
	Rate   string     `json:"rate" minLength:"1" maxLength:"40" example:"5.4321" doc:"Units of the currency that one US dollar buys"`
	Source string     `json:"source,omitempty" maxLength:"100" doc:"operator if it is left out"`
	At     *time.Time `json:"at,omitempty" doc:"Time of the rate; now if it is left out"`
	Force  bool       `json:"force,omitempty" doc:"Set it even if it changes by much, or is older than the rate in use"`
}

type importRatesIn struct{ Body RatesFile }

// RatesFile is a file of rates.
type RatesFile struct {
	_       struct{} `additionalProperties:"false"`
	Content string   `json:"content" text:"lines" minLength:"1" maxLength:"200000" example:"currency,rate\nBRL,5.43\n" doc:"CSV with the columns currency, rate, source, observed_at; or JSON: a list of such objects"`
	Source  string   `json:"source" minLength:"1" maxLength:"100" doc:"Of rates that have none in the file"`
	Force   bool     `json:"force,omitempty" doc:"Set also rates that change by much, or are older than the rates in use"`
}

type importedRatesOut struct {
	Body struct {
		Data []shape.RateReading `json:"data"`
	}
}

func (a *api) rateRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Rates"}}
	}
	call.Handle(a.API, operators.View, op("listRates", http.MethodGet, "/rates", "List the exchange rates", "By currency."), nil, a.rates)
	call.Handle(a.API, operators.View, op("getRate", http.MethodGet, "/rates/{currency}", "Read an exchange rate", "The one in use, and a reading that waits for you."), nil, a.rate)
	call.Handle(a.API, operators.View, op("listRateReadings", http.MethodGet, "/rates/{currency}/readings", "List what was read and set of a currency", "Newest first, at most 100."), nil, a.rateHistory)
	call.Handle(a.API, operators.Rates, op("setRate", http.MethodPut, "/rates/{currency}", "Set an exchange rate", "Every node uses it within seconds."), []problem.Code{problem.ConflictState}, a.setRate)
	call.Handle(a.API, operators.Rates, op("importRates", http.MethodPost, "/rate-imports", "Set the rates in a file", "All of them or none."), nil, a.importRates)
}

func (a *api) rates(ctx context.Context, _ audit.Actor, in *ratesIn) (*ratesOut, error) {
	list, err := a.Uses.Rates.RateList(ctx)
	if err != nil {
		return nil, err
	}
	id := func(r apprates.RateStatus) string { return string(r.Currency) }
	list = call.Cut(in.PageQuery, list, id)
	out := &ratesOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, id, shape.NewExchangeRate)
	return out, nil
}

func (a *api) rate(ctx context.Context, _ audit.Actor, in *RatePath) (*rateOut, error) {
	list, err := a.Uses.Rates.RateList(ctx)
	for _, r := range list {
		if string(r.Currency) == in.Currency {
			return &rateOut{shape.NewExchangeRate(r)}, err
		}
	}
	if err == nil {
		err = message.Refusal(problem.NotFound, "no method is paid in this currency, and no rate of it is known")
	}
	return nil, err
}

func (a *api) rateHistory(ctx context.Context, by audit.Actor, in *RatePath) (*rateHistoryOut, error) {
	if _, err := a.rate(ctx, by, in); err != nil {
		return nil, err
	}
	list, err := a.Uses.Rates.RateHistory(ctx, money.Currency(in.Currency))
	out := &rateHistoryOut{}
	out.Body.Data = make([]shape.RateReading, 0, len(list))
	for _, r := range list {
		out.Body.Data = append(out.Body.Data, shape.NewRateReading(r.Reading, r.Verdict, r.By, r.DecidedAt))
	}
	return out, err
}

func (a *api) setRate(ctx context.Context, by audit.Actor, in *setRateIn) (*rateOut, error) {
	b := in.Body
	currency, err := money.ParseCurrency(in.Currency)
	if err != nil {
		return nil, call.About("currency", err)
	}
	rate, err := money.ParseRate(strings.TrimSpace(b.Rate))
	if err != nil {
		return nil, call.About("rate", err)
	}
	reading := rates.Reading{Currency: currency, Rate: rate, Source: b.Source, At: a.Uses.Now()}
	if b.Source == "" {
		reading.Source = "operator"
	}
	if b.At != nil {
		reading.At = *b.At
	}
	changes, err := a.Uses.Rates.SetRates(ctx, by, []rates.Reading{reading}, b.Force)
	if err != nil {
		return nil, call.About("rate", err)
	}
	if was := changes[0].Before; changes[0].Verdict == rates.Known && was != rate {
		return nil, problem.Conflict("newer", message.Literal("the rate in use, "+was.Decimal()+", is of the same time or newer: force sets this one anyway"))
	}
	return a.rate(ctx, by, &in.RatePath)
}

func (a *api) importRates(ctx context.Context, by audit.Actor, in *importRatesIn) (*importedRatesOut, error) {
	changes, err := a.Uses.Rates.ImportRates(ctx, by, []byte(in.Body.Content), in.Body.Source, in.Body.Force)
	if err != nil {
		return nil, call.About("content", err)
	}
	out := &importedRatesOut{}
	out.Body.Data = make([]shape.RateReading, 0, len(changes))
	for _, c := range changes {
		out.Body.Data = append(out.Body.Data, shape.NewRateChange(c))
	}
	return out, nil
}
