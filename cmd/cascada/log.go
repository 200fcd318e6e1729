package main

import (
	"io"
	"log/slog"
)

// logFlags say what the service logs, and where its traces go.
type logFlags struct {
	Format string     `name:"log-format" default:"text" enum:"text,json" env:"CASCADA_LOG_FORMAT" help:"Format of the log: text (key=value) or json (${env}, default ${default})."`
	Level  slog.Level `name:"log-level" default:"info" env:"CASCADA_LOG_LEVEL" placeholder:"LEVEL" help:"Lowest level that is logged: debug, info, warn or error (${env}, default ${default})."`
	Access bool       `name:"access-log" env:"CASCADA_ACCESS_LOG" help:"Log one line for each request, at any log level (${env})."`
	Traces string     `name:"otlp-endpoint" env:"CASCADA_OTLP_ENDPOINT" placeholder:"URL" help:"OpenTelemetry collector that receives traces by OTLP over HTTP, such as http://127.0.0.1:4318 (${env}); by default the value of OTEL_EXPORTER_OTLP_ENDPOINT, or none."`
}

// logs returns the log, and the access log, which is nil if it is off.
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
