package cli

import (
	"os"
	"os/user"
	"strconv"
)

// Operator returns who runs the command, for the audit log: user@host, with the user from before
// sudo.
func Operator() string {
	name := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if before := os.Getenv("SUDO_USER"); os.Getuid() == 0 && before != "" && before != name { // without root, the variable proves nothing: anybody can set it
		name = before + " as " + name
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}
