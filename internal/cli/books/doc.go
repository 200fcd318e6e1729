// Package books has the commands that read and maintain the books: check them, compare them with
// providers' reports, copy and restore the database, correct counters, and print what happened. It knows no
// rules of the books: it calls use cases and prints their results.
package books
