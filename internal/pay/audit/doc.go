// Package audit says who did what: an entry of the audit log, its actor and its act. The use cases write the log, with the change that the entry tells of.
package audit
