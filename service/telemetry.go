package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Telemetry holds the providers of traces and metrics. Nothing global is set, so that several services fit into one process.
type Telemetry struct {
	Traces  *sdktrace.TracerProvider
	Metrics *sdkmetric.MeterProvider
	OTLP    bool // spans go to a collector too

	registry *prometheus.Registry
}

// NewTelemetry sets up traces and metrics for the worker of that name. Traces go to a collector over OTLP when OpenTelemetry's
// standard variables ask for it: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_TRACES_EXPORTER=otlp, with
// OTEL_EXPORTER_OTLP_PROTOCOL grpc or http/protobuf (the default); the exporters read the rest of them. spans are further receivers.
func NewTelemetry(ctx context.Context, worker string, spans ...sdktrace.SpanProcessor) (*Telemetry, error) {
	about, err := resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", "pinion"),
			attribute.String("service.version", Version()),
			attribute.String("service.instance.id", worker)),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have the last word
	)
	if err != nil {
		return nil, fmt.Errorf("telemetry: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	exporter, err := newTraceExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	t := &Telemetry{OTLP: exporter != nil, registry: prometheus.NewRegistry()}

	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(about)}
	if exporter != nil {
		options = append(options, sdktrace.WithBatcher(exporter))
	}
	for _, s := range spans {
		options = append(options, sdktrace.WithSpanProcessor(s))
	}
	t.Traces = sdktrace.NewTracerProvider(options...)

	reader, err := otelprom.New(otelprom.WithRegisterer(t.registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	t.Metrics = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(about))
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	return t, nil
}

// Handler serves the metrics to Prometheus.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{})
}

// Shutdown sends what is still buffered, for as long as ctx allows.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	return errors.Join(t.Traces.Shutdown(ctx), t.Metrics.Shutdown(ctx))
}

// newTraceExporter returns nil when the environment asks for no traces.
func newTraceExporter(ctx context.Context) (*otlptrace.Exporter, error) {
	kind := os.Getenv("OTEL_TRACES_EXPORTER")
	endpoint := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") + os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	variable, protocol := "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		variable, protocol = "OTEL_EXPORTER_OTLP_PROTOCOL", os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	switch {
	case os.Getenv("OTEL_SDK_DISABLED") == "true", kind == "none":
		return nil, nil
	case kind != "" && kind != "otlp":
		return nil, &VariableError{Name: "OTEL_TRACES_EXPORTER", Found: kind, Expected: "otlp or none"}
	case protocol != "" && protocol != "grpc" && protocol != "http/protobuf":
		return nil, &VariableError{Name: variable, Found: protocol, Expected: "grpc or http/protobuf"}
	case kind == "" && endpoint == "":
		return nil, nil
	case protocol == "grpc":
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

// Version is the version of this build: that of the module, or the commit that it was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func buildInfo() prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "pinion_build_info",
		Help:        "The build that runs: always 1.",
		ConstLabels: prometheus.Labels{"version": Version(), "go": runtime.Version()},
	})
	g.Set(1)
	return g
}
