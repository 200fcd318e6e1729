// Package books has the commands that look at the books and keep them: prove them, compare them with
// providers' reports, copy and restore the database, mend what is only counted, and tell what happened.
// Rules of the books are none of its business: it calls use cases and prints.
package books
