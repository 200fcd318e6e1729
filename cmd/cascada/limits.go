package main

import (
	"net/netip"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// limitFlags say how many requests are accepted (docs/OPERATIONS.md).
type limitFlags struct {
	RateLimit      string                 `default:"on" enum:"on,off" env:"CASCADA_RATE_LIMIT" help:"on, or off to disable all rate limits for load tests (${env}, default ${default})."`
	Tiers          map[merchants.Tier]int `name:"rate-limit-tiers" mapsep:"," placeholder:"TIER=N" env:"CASCADA_RATE_LIMIT_TIERS" help:"Requests per second of a merchant, by tier, with bursts of twice as many; default ${tier_limits} (${env})."`
	Sandbox        int                    `name:"rate-limit-sandbox" default:"${sandbox_limit}" env:"CASCADA_RATE_LIMIT_SANDBOX" help:"Requests per second that every merchant has in the sandbox, whatever the tier; a higher limit of the tier wins (${env}, default ${default})."`
	Logins         int                    `name:"rate-limit-logins" default:"${logins_limit}" env:"CASCADA_RATE_LIMIT_LOGINS" help:"Failed logins per minute, for a key and for an IP address (${env}, default ${default})."`
	Poll           time.Duration          `name:"rate-limit-poll" default:"${poll_limit}" env:"CASCADA_RATE_LIMIT_POLL" help:"Time between two reads of one payment, with bursts of five (${env}, default ${default})."`
	Open           int                    `name:"rate-limit-open" default:"${open_limit}" env:"CASCADA_RATE_LIMIT_OPEN" help:"Requests per second from an IP address to routes without credentials, with bursts of five times as many (${env}, default ${default})."`
	Refused        int                    `name:"rate-limit-refused" default:"${refused_limit}" env:"CASCADA_RATE_LIMIT_REFUSED" help:"Requests per second from an IP address whose credentials are refused, with bursts of five times as many (${env}, default ${default})."`
	TrustedProxies []netip.Prefix         `placeholder:"CIDR" env:"CASCADA_TRUSTED_PROXIES" help:"Addresses of the proxies in front of the service. The limits and the audit log trust their X-Forwarded-For header, also when limits are off; none by default (${env})."`
	Redis          string                 `env:"CASCADA_REDIS" placeholder:"URL" help:"redis://… or rediss://… for limits that all nodes share; without it each node has its own limits (${env})."`
	RedisFile      string                 `env:"CASCADA_REDIS_FILE" placeholder:"FILE" help:"File whose only line is that URL, for a URL that contains a password (${env})."`
}

// limits returns the limits of the flags, nil if they are off.
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
