package main

import (
	"io"
	"log/slog"
)

// logFlags say what a service writes to its log, and where its traces go.
type logFlags struct {
	Format string     `name:"log-format" default:"text" enum:"text,json" env:"CASCADA_LOG_FORMAT" help:"How lines of the log are written: text (key=value) or json (${env}, default ${default})."`
	Level  slog.Level `name:"log-level" default:"info" env:"CASCADA_LOG_LEVEL" placeholder:"LEVEL" help:"What is logged: debug, info, warn or error, and what is worse (${env}, default ${default})."`
	Access bool       `name:"access-log" env:"CASCADA_ACCESS_LOG" help:"Log a line for each request, whatever the level (${env})."`
	Traces string     `name:"otlp-endpoint" env:"CASCADA_OTLP_ENDPOINT" placeholder:"URL" help:"A collector of OpenTelemetry that traces are sent to by OTLP over HTTP, such as http://127.0.0.1:4318 (${env}); by default what OTEL_EXPORTER_OTLP_ENDPOINT says, or none."`
}

// logs are the log, and the one of requests, nil where none is wanted.
func (f logFlags) logs(to io.Writer) (log, access *slog.Logger) {
	if f.Access {
		access = slog.New(f.handler(to, slog.LevelInfo))
	}
	return slog.New(f.handler(to, f.Level)), access
}

func (f logFlags) handler(to io.Writer, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if f.Format == "json" {
		return slog.NewJSONHandler(to, options)
	}
	return slog.NewTextHandler(to, options)
}
