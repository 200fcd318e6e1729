// Package mcp is the command mcp: tools for AI agents, by the Model Context Protocol, over standard input and output or over HTTP.
//
// It calls a service as a shop's program does, with an address and an API key, and imports nothing of the service. With a live key no tool
// changes anything. Whatever comes from the service goes through a cleaner before an agent reads it: secrets and personal data are masked,
// texts of others are marked as data, and sizes are bounded.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/cascadapay/cascada/internal/devcli"
	"github.com/cascadapay/cascada/internal/printable"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Command is the command mcp.
type Command struct {
	devcli.Access
	AllowSandbox       bool     `help:"Add tools that change things in the sandbox: payments, refunds, simulated outcomes, replays. Needs a key of the sandbox."`
	AllowLiveSecretKey bool     `help:"Accept a secret key of production (sk_live_…), which may do everything. A restricted one (rk_live_…) needs no flag."`
	HTTP               string   `name:"http" placeholder:"ADDRESS" help:"Listen at this address, such as 127.0.0.1:8931, instead of standard input and output."`
	HTTPSecret         string   `name:"http-secret" env:"CASCADA_MCP_SECRET" placeholder:"TEXT" help:"With --http: what agents send as Authorization: Bearer (${env}, the safer place). 32 characters or more. Needed where others can reach the address."`
	AllowOrigin        []string `placeholder:"ORIGIN" help:"With --http: let pages of this origin call, such as http://localhost:6274. Without it no browser may."`
}

// Help is shown below the command's summary.
func (Command) Help() string {
	return `An agent, such as Claude or Cursor, starts the program itself:

  {"mcpServers": {"cascada": {"command": "cascada", "args": ["mcp"],
    "env": {"CASCADA_URL": "https://pay.example.com", "CASCADA_API_KEY": "rk_test_…"}}}}

Without variables it uses the profile that login stored. Ask the operator for a restricted key that may only read.

The agent can search and read the documentation, and read payments, events, deliveries, claims, settlements, balances, payment methods and the
log of requests. With --allow-sandbox and a key of the sandbox it can also make payments, simulate outcomes, refund, and send events to webhooks.
With a live key there is no tool that changes anything. Keys, secrets, bank details and shoppers' personal data are masked. docs/MCP.md has more.`
}

// Run serves agents until it is interrupted, or until standard input ends.
func (c Command) Run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	caller, err := c.Caller("cascada-mcp")
	if err != nil {
		return err
	}
	if err := c.check(caller.Key()); err != nil {
		return err
	}
	d := newDoor(caller, c.AllowSandbox, c.HTTPSecret)
	stderr := printable.Safely(os.Stderr)
	say := func(where string) {
		fmt.Fprintf(stderr, "cascada mcp: %d tools for %s with a key of the %s, %s\n", len(d.tools), caller.Address(), d.environment, where)
	}
	if c.HTTP != "" {
		return c.listen(ctx, d, say)
	}
	say("on standard input and output")
	if err := d.server.Run(ctx, &sdk.IOTransport{Reader: newLines(os.Stdin, stdout), Writer: stdout, MaxLineLength: maxLine}); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// Kinds of keys, and the environments in which they work.
const (
	secretLive = "sk_live_"
	sandbox    = "sandbox"
	production = "production"
)

// environmentOf is where a key works, by its beginning; "" for what is no key that may read.
func environmentOf(key string) string {
	switch {
	case strings.HasPrefix(key, "sk_test_"), strings.HasPrefix(key, "rk_test_"):
		return sandbox
	case strings.HasPrefix(key, secretLive), strings.HasPrefix(key, "rk_live_"):
		return production
	}
	return ""
}

// check refuses keys and flags that do not fit.
func (c Command) check(key string) error {
	environment := environmentOf(key)
	switch {
	case environment == "":
		return errors.New("this is no secret or restricted key: use a restricted one (rk_test_…, rk_live_…). Access tokens end after an hour")
	case strings.HasPrefix(key, secretLive) && !c.AllowLiveSecretKey:
		return errors.New("this is a secret key of production, which may do everything: ask the operator for a restricted key that may only read (rk_live_…), or add --allow-live-secret-key")
	case environment == production && c.AllowSandbox:
		return errors.New("--allow-sandbox needs a key of the sandbox (rk_test_… or sk_test_…), and this is a live one: leave the flag out, and the tools only read")
	case c.HTTP == "" && (c.HTTPSecret != "" && os.Getenv(secretVariable) == "" || len(c.AllowOrigin) > 0):
		return errors.New("--http-secret and --allow-origin need --http")
	case slices.ContainsFunc(c.AllowOrigin, func(origin string) bool { return !originForm.MatchString(origin) }):
		return errors.New("--allow-origin: this does not look like an origin: want one such as http://localhost:6274")
	case c.HTTPSecret != "" && len(c.HTTPSecret) < minSecret:
		return fmt.Errorf("the secret for agents has %d characters, and needs %d or more: openssl rand -base64 32 makes one", len(c.HTTPSecret), minSecret)
	}
	return nil
}

// originForm is what the origin of a page looks like.
var originForm = regexp.MustCompile(`^https?://[A-Za-z0-9.:\[\]-]+$`)

const (
	// secretVariable may hold the secret for agents.
	secretVariable = "CASCADA_MCP_SECRET" //nolint:gosec // a variable's name
	// minSecret is the fewest characters of the secret for agents.
	minSecret = 32
)
