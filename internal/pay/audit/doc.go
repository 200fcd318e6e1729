// Package audit defines the audit log's entries, actors and acts. The use cases write an entry in
// the same change as the act.
package audit
