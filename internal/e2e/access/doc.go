// Package access proves who may do and see what: keys, logins, tenants, rights, limits, personal data, operators, the
// audit log, metrics and traces. What they may do is proved in the other rooms.
package access
