//go:build !linux

package engine

import "syscall"

// boundSilence does nothing: here keep-alive and the statements' deadlines have to do.
func boundSilence(string, string, syscall.RawConn) error { return nil }
