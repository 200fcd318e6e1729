package main

import (
	"net/netip"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// limitFlags say how many requests are taken (docs/OPERATIONS.md).
type limitFlags struct {
	RateLimit      string              `default:"on" enum:"on,off" env:"CASCADA_RATE_LIMIT" help:"off lifts every limit, for load tests (${env})."`
	Tiers          map[tenant.Tier]int `name:"rate-limit-tiers" mapsep:"," placeholder:"TIER=N" env:"CASCADA_RATE_LIMIT_TIERS" help:"Requests a second of a merchant, twice that at once; default ${tier_limits} (${env})."`
	Sandbox        int                 `name:"rate-limit-sandbox" default:"${sandbox_limit}" env:"CASCADA_RATE_LIMIT_SANDBOX" help:"Requests a second that every merchant has in the sandbox at least (${env}, default ${default})."`
	Logins         int                 `name:"rate-limit-logins" default:"${logins_limit}" env:"CASCADA_RATE_LIMIT_LOGINS" help:"Failed logins a minute, of a key and of an address (${env}, default ${default})."`
	Poll           time.Duration       `name:"rate-limit-poll" default:"${poll_limit}" env:"CASCADA_RATE_LIMIT_POLL" help:"Time between two reads of one payment, five at once (${env}, default ${default})."`
	Open           int                 `name:"rate-limit-open" default:"${open_limit}" env:"CASCADA_RATE_LIMIT_OPEN" help:"Requests a second of an address to routes without credentials, five times that at once (${env}, default ${default})."`
	Refused        int                 `name:"rate-limit-refused" default:"${refused_limit}" env:"CASCADA_RATE_LIMIT_REFUSED" help:"Requests a second of an address whose credentials are refused, five times that at once (${env}, default ${default})."`
	TrustedProxies []netip.Prefix      `placeholder:"CIDR" env:"CASCADA_TRUSTED_PROXIES" help:"Proxies in front of the service, whose X-Forwarded-For is believed by the limits and by the audit log, also when limits are off; none by default (${env})."`
	Redis          string              `env:"CASCADA_REDIS" placeholder:"URL" help:"redis://… or rediss://… for limits that all nodes share; without it each node limits by itself (${env})."`
	RedisFile      string              `env:"CASCADA_REDIS_FILE" placeholder:"FILE" help:"A file with that address in its one line, since a password may be in it (${env})."`
}

// limits are those of the flags, nil where they are off.
func (f limitFlags) limits() *daemon.Limits {
	if f.RateLimit == "off" {
		return nil
	}
	l := daemon.DefaultLimits()
	for tier, n := range f.Tiers {
		l.Tiers[tier] = n
	}
	l.Sandbox, l.Logins, l.Poll, l.Open, l.Refused = f.Sandbox, f.Logins, f.Poll, f.Open, f.Refused
	l.Redis = f.Redis
	return &l
}
