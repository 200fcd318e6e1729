// Package exchange has the exchange rates that payments are converted with, and decides which readings of a source replace
// them. internal/fx reads the sources.
package exchange
