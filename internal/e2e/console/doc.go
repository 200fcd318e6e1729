// Package console proves the operator's console: what operators decide, check and change in it.
package console
