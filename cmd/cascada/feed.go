package main

import (
	"time"

	"github.com/cascadapay/cascada/internal/cli/rates"
	"github.com/cascadapay/cascada/internal/daemon"
)

// feedFlags say where the server reads exchange rates.
type feedFlags struct {
	rates.RateFlags
	URL   string        `name:"fx-url" env:"CASCADA_FX_URL" placeholder:"URL" help:"URL of exchange rates as JSON, {\"base\":\"USD\",\"date\":…,\"rates\":{\"BRL\":5.43}}; none by default (${env})."`
	File  string        `name:"fx-url-file" env:"CASCADA_FX_URL_FILE" placeholder:"FILE" help:"File whose only line is that URL, for a URL that contains a key (${env})."`
	Every time.Duration `name:"fx-every" default:"${fx_every}" env:"CASCADA_FX_EVERY" help:"Time between two reads of --fx-url (${env}, default ${default})."`
}

func (f feedFlags) config() daemon.FX {
	c := fxOf(f.RateFlags.Limits())
	c.URL, c.Every = f.URL, f.Every
	return c
}
