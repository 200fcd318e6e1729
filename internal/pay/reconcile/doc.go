// Package reconcile compares a provider's own report with our books, line by line. It reads
// the report (Reader), and reports the differences (Matcher).
//
// It reads no database and calls no provider: the caller passes the report, and the
// payments that its lines name. It changes nothing: a person decides what a difference
// means.
//
// A report may be long. Its lines are read once and forgotten; only our reference of each
// line, and the lines that differ, are kept.
package reconcile
