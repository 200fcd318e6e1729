// Package merchants describes whom the service works for: merchants, their shops and terms, who may
// act for them with which key, and the scope that keeps tenants' data apart. It moves no money.
package merchants
