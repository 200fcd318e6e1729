package cli

import (
	"os"
	"os/user"
	"strconv"
)

// Operator is who runs the command, for the audit log: user@host, and who that
// was before sudo.
func Operator() string {
	name := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if before := os.Getenv("SUDO_USER"); os.Getuid() == 0 && before != "" && before != name { // anybody else may set it
		name = before + " as " + name
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}
