// Package checkout proves the shopper's pages and sessions, most of it in a real browser. Payments over the API are
// proved in payments.
package checkout
