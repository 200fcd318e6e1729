package api

import (
	"fmt"

	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// InstallmentsBody says how the shopper may pay by card in installments (PAY-43). Absent fields leave it to the merchant's terms.
type InstallmentsBody struct {
	Max          *int   `json:"max,omitempty" minimum:"1" maximum:"48" example:"12" doc:"The most installments that the shopper may choose; 1: pays at once"`
	InterestFree *int   `json:"interestFree,omitempty" minimum:"0" maximum:"48" example:"6" doc:"Up to this number the merchant bears the interest; 0: the shopper bears it for every number"`
	Min          Amount `json:"min,omitempty" doc:"The least amount of one installment, in major units of the currency in which the shopper pays"`
}

// request is what a request says; zero if it says nothing.
func (b *InstallmentsBody) request() installment.Request {
	if b == nil {
		return installment.Request{}
	}
	var a installment.Request
	if b.Max != nil {
		a.Max = *b.Max
	}
	if b.InterestFree != nil {
		a.InterestFree = max(1, *b.InterestFree)
	}
	if b.Min != "null" {
		a.Min = string(b.Min)
	}
	return a
}

// check returns what a schema cannot say.
func (b *InstallmentsBody) check(prefix *huma.PathBuffer) (issues []error) {
	if b == nil {
		return nil
	}
	if b.Max != nil && b.InterestFree != nil && *b.InterestFree > *b.Max {
		issues = append(issues, wire.Coded(problem.InvalidRequest, prefix.With("installments.interestFree"),
			fmt.Sprintf("installments.interestFree must be at most installments.max, which is %d", *b.Max)))
	}
	if text := string(b.Min); text != "" && text != "null" && (!isNumber(text) || b.Min.rough() <= 0 || len(text) > longestAmount) {
		issues = append(issues, wire.Coded(problem.InvalidRequest, prefix.With("installments.min"),
			"installments.min must be a number above 0, in major units of the currency in which the shopper pays, such as 50; you sent "+clip(text)))
	}
	return issues
}
