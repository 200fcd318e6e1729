package main

import (
	"time"

	"github.com/cascadapay/cascada/internal/cli/funds"
	"github.com/cascadapay/cascada/internal/daemon"
)

// feedFlags say where the server reads exchange rates.
type feedFlags struct {
	funds.RateFlags
	URL   string        `name:"fx-url" env:"CASCADA_FX_URL" placeholder:"URL" help:"JSON endpoint of exchange rates, {\"base\":\"USD\",\"date\":…,\"rates\":{\"BRL\":5.43}}; none by default (${env})."`
	File  string        `name:"fx-url-file" env:"CASCADA_FX_URL_FILE" placeholder:"FILE" help:"A file with that address in its one line, since a key may be in it (${env})."`
	Every time.Duration `name:"fx-every" default:"${fx_every}" env:"CASCADA_FX_EVERY" help:"Time between two looks at --fx-url (${env}, default ${default})."`
}

func (f feedFlags) config() daemon.FX {
	c := f.RateFlags.FX()
	c.URL, c.Every = f.URL, f.Every
	return c
}
