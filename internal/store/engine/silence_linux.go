package engine

import (
	"os"
	"strings"
	"syscall"
)

// tcpUserTimeout is Linux's TCP_USER_TIMEOUT (tcp(7)): how long sent data may stay unacknowledged, in
// milliseconds.
const tcpUserTimeout = 0x12

// boundSilence makes the system end a connection whose other side is silent.
func boundSilence(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(deadAfter.Milliseconds())))
	})
	if err != nil {
		return err
	}
	return failed
}
