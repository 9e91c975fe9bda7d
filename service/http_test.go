package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

func TestProbes(t *testing.T) {
	fine := Check{"device", func() error { return nil }}
	broken := Check{"broker", func() error { return errors.New("not connected") }}
	tests := []struct {
		name, path string
		live       []Check
		ready      []Check
		code       int
		body       string
	}{
		{"alive though not ready", "/healthz", []Check{fine}, []Check{broken}, 200, `{"status":"ok"}`},
		{"not alive", "/healthz", []Check{broken}, nil, 503, `{"status":"unavailable","reasons":["broker: not connected"]}`},
		{"ready", "/readyz", nil, []Check{fine}, 200, `{"status":"ok"}`},
		{"not ready", "/readyz", nil, []Check{fine, broken, broken}, 503, `{"status":"unavailable","reasons":["broker: not connected","broker: not connected"]}`},
		{"nothing else", "/", nil, nil, 404, "404 page not found"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := Probes{Live: test.live, Ready: test.ready, Metrics: http.NotFoundHandler()}
			web, err := startWeb(t.Context(), "127.0.0.1:0", p.Handler(), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer web.close(context.Background())
			code, body := get(t, "http://"+web.addr+test.path)
			if code != test.code || strings.TrimSpace(body) != test.body {
				t.Errorf("got %d %s, want %d %s", code, body, test.code, test.body)
			}
		})
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestProbeAddressTaken(t *testing.T) {
	web, err := startWeb(t.Context(), "127.0.0.1:0", http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer web.close(context.Background())
	if _, err := startWeb(t.Context(), web.addr, http.NotFoundHandler(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "PINION_HTTP: listen tcp "+web.addr) {
		t.Errorf("got %v", err)
	}
}
