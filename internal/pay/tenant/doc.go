// Package tenant is whom the service works for: merchants, their shops and terms, who may act for them by which key, and the scope that keeps one's data from another. It moves no money.
package tenant
