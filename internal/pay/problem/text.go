package problem

import "unicode/utf8"

// TooLong is the reason for a text that has more characters than its field takes. Pages name no field: they show it beside
// its own.
var TooLong = Define3("text.too_long", "field", "most", "sent")

// CardNumber is the reason for a text that holds the number of a payment card (docs/PCI.md). The text is never repeated.
var CardNumber = Define1("text.card_number", "field")

// Text is a text that somebody sent, in a field, with the most characters that it may have.
type Text struct {
	Param, Text string
	Most        int
}

// Fit returns one error that lists all texts that are too long, or nil if all fit.
//
// Errors: invalid_request.
func Fit(texts ...Text) error {
	var issues []Issue
	for _, t := range texts {
		if n := utf8.RuneCountInString(t.Text); n > t.Most {
			issues = append(issues, Issue{Path: t.Param, Reason: TooLong.With(t.Param, t.Most, n)})
		}
	}
	return Invalid(issues...)
}
