// Package devcli has the commands of a shop's developer, who has only the address of a service and an API key: log in, forward events to
// a local endpoint, make payment links, trigger events, read the API's log, run fixtures, open the dashboard. They are part of cascada, and the whole of
// cascada-cli.
//
// It speaks HTTP, as a stranger's program does, and imports nothing of the service: cascada-cli stays small. Everything that a service answers may
// be wrong, or written by somebody else: it is bounded, and printed through printable.
package devcli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/cascadapay/cascada/internal/printable"
)

// Commands are the commands.
type Commands struct {
	Login    Login    `cmd:"" group:"developer" help:"Store the address of a service and an API key, after a check of both."`
	Logout   Logout   `cmd:"" group:"developer" help:"Forget a stored address and key."`
	Listen   Listen   `cmd:"" group:"developer" help:"Forward the shop's events to a local endpoint as they happen, signed like webhooks."`
	Trigger  Trigger  `cmd:"" group:"developer" help:"Make an event happen, by real operations in the sandbox."`
	Logs     Logs     `cmd:"" group:"developer" help:"Read the log of the shop's API requests."`
	Fixtures Fixtures `cmd:"" group:"developer" help:"Run the API calls of a file in order, and check their answers."`
	Links    Links    `cmd:"" group:"developer" help:"Make, list and close payment links."`
	Open     Open     `cmd:"" group:"developer" help:"Open the dashboard's page of a payment, a claim, an event, a request or another thing."`
}

// Description is what the help of cascada-cli begins with.
const Description = `The command line of a shop's developer.

Ask the operator of your Cascada for its address and a secret key of your sandbox (sk_test_…), then:

  cascada-cli login                                                # asks for both, and stores them
  cascada-cli listen --forward-to http://localhost:3000/webhooks   # in one shell: prints the signing secret, forwards events
  cascada-cli trigger payment.completed                            # in another: makes an event happen

Exit codes: 0 success; 1 failed or refused; 3 unknown, it may have been done. docs/CLI.md has more.`

// stdout and stderr are what commands print to. The output contains texts from the service, which are not trusted.
var (
	stdout = printable.Safely(os.Stdout)
	stderr = printable.Safely(os.Stderr)
)

// Exit codes besides 0 and 1.
const exitUnknown = 3

// exit is an error with an exit code of its own.
type exit struct {
	error
	code int
}

// ExitCode is called by kong.
func (e exit) ExitCode() int { return e.code }

// Unwrap returns the error itself.
func (e exit) Unwrap() error { return e.error }

// printLine prints a line for people.
func printLine(to io.Writer, format string, values ...any) { fmt.Fprintf(to, format+"\n", values...) }

// printJSON prints a value as one line of JSON.
func printJSON(v any) error {
	e := json.NewEncoder(stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
