// Package arch holds the tests that protect the architecture: which package may import
// which, what the pure core must not use, and that every exported name has a doc comment. A
// failing test gives the rule and its reason.
package arch
