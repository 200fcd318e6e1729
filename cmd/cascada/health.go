package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/cli"
)

// healthWait is how long a service may take to answer.
const healthWait = 5 * time.Second

// healthCmd asks a service over HTTP. Images without a shell use it as their health check.
type healthCmd struct {
	Listen string `default:"127.0.0.1:8080" env:"CASCADA_LISTEN" placeholder:"ADDR" help:"Address of the service's API (${env}, default ${default})."`
	Ready  bool   `help:"Ask whether it takes payments, which needs its database, too (/readyz)."`
}

func (c *healthCmd) Run(ctx context.Context) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() { // it listens on all addresses
		host = "127.0.0.1"
	}
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, healthWait)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return err
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // HTTPS_PROXY is for providers
	answer, err := direct.Do(ask)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if err != nil {
		return err
	}
	state := cmp.Or(strings.TrimSpace(string(body)), answer.Status)
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, state)
	}
	_, err = fmt.Fprintln(cli.Stdout, state)
	return err
}
