package service

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A collector that counts what it is sent.
func TestTracesOverOTLP(t *testing.T) {
	paths := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths <- r.URL.Path }))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")

	telemetry, err := NewTelemetry(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	_, span := telemetry.Traces.Tracer("t").Start(t.Context(), "job")
	span.End()
	if err := telemetry.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case path := <-paths:
		if path != "/v1/traces" {
			t.Errorf("path %s", path)
		}
	default:
		t.Error("nothing was sent before Shutdown returned")
	}
}

func TestTraceVariables(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		otlp bool
		err  string
	}{
		{"nothing set", nil, false, ""},
		{"endpoint", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true, ""},
		{"endpoint of traces, grpc", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, true, ""},
		{"exporter", map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{"none", map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false, ""},
		{"disabled", map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false, ""},
		{"another exporter", map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false,
			`telemetry: OTEL_TRACES_EXPORTER: found "zipkin", expected otlp or none`},
		{"another protocol", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, false,
			`telemetry: OTEL_EXPORTER_OTLP_PROTOCOL: found "http/json", expected grpc or http/protobuf`},
		{"another protocol, not used", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http"}, false,
			`telemetry: OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: found "http", expected grpc or http/protobuf`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range []string{"OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
				t.Setenv(name, test.env[name])
			}
			telemetry, err := NewTelemetry(t.Context(), "w")
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if telemetry.OTLP != test.otlp {
				t.Errorf("OTLP: %v", telemetry.OTLP)
			}
			if err := telemetry.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
