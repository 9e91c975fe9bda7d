package main

import (
	"strings"

	"go.opentelemetry.io/otel"

	"github.com/pinion-zk/pinion/service"
)

type serveCmd struct{}

// Help adds the table of environment variables to pinion serve --help.
func (serveCmd) Help() string {
	var b strings.Builder
	b.WriteString("Takes jobs until SIGTERM or SIGINT; then those in hand finish within PINION_GRACE. Traces go to a collector when " +
		"OpenTelemetry's variables ask for it: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL (grpc or http/protobuf), " +
		"OTEL_TRACES_EXPORTER (otlp or none) and their like.\n\nEnvironment:\n\n")
	_ = service.Usage(&b) // a strings.Builder takes everything
	return b.String()
}

func (serveCmd) Run(a *app) error {
	config, err := a.config()
	if err != nil {
		return err
	}
	log := config.Logger(a.stderr)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry", "error", err) }))
	s, err := service.Start(a.ctx, config, log)
	if err != nil {
		return err
	}
	return s.Run(a.ctx)
}
