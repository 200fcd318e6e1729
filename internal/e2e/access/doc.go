// Package access proves who may do and see what: keys, logins, tenants, rights, limits, personal
// data, operators, the audit log, metrics and traces. The other rooms prove what happens then.
package access
