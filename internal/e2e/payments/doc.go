// Package payments proves what shops do with payments: create, read, list and cancel them, and try
// all of that in the sandbox. The room providers proves what providers do.
package payments
