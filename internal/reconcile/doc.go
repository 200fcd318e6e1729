// Package reconcile compares a provider's own report with our books, line by
// line. It reads the report (Reader), and tells where the two differ (Matcher).
//
// It reads no database and calls no provider: whoever compares hands in the
// report, and the payments that its lines name. It changes nothing: what a
// difference means is for a person to say.
//
// A report may be long. Its lines are read once and forgotten; what is kept is
// our reference of each, and the lines that differ.
package reconcile
