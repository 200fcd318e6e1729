// Package rates has the exchange rates with which payments and withdrawals are converted, and decides whether a new
// reading replaces a rate. internal/app/rates/feed reads the sources.
package rates
