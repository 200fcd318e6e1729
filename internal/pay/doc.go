// Package pay is the core of Cascada: the payment and its life cycle, the
// cascade's decisions, claims, events and deliveries, and the Change, which is
// everything that one decision writes.
//
// The package is pure. Values go in, values come out: it imports no context,
// database, HTTP, log or random source and never asks for the time (a test in
// internal/arch keeps it so). A use case in internal/app reads, calls one
// function of this package, and commits the Change that it returns.
package pay
