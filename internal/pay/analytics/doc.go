// Package analytics says what is counted of payments and checkouts. A Fact is what is counted of one payment that
// ended, or of one step of a checkout. Totals add facts up by day, along each Dimension.
//
// A fact is written in the same transaction as the end or the step that it counts. A payment ends once, so it
// has one fact, which never changes: refunds and disputes leave the payment paid. A fact names no person.
package analytics
