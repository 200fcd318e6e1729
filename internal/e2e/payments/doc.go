// Package payments proves what shops do with payments: ask for one, read and list them, cancel them, and try all of
// that in the sandbox. What providers do to a payment is proved in providers.
package payments
