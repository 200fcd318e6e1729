// Package arch holds the tests that keep the architecture: which package may
// import which, what the pure core must not touch, and that everything
// exported says what it is. A failing test names the rule and its reason.
package arch
