package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Check is one condition of a probe: what it is about, and a function that returns nil or why the condition doesn't hold. It is
// called for each request, from any goroutine, and must not block.
type Check struct {
	Name string
	Err  func() error
}

// Probes answers an orchestrator: live says whether the process should be left alone (else restarted), ready whether it takes jobs.
type Probes struct {
	Live, Ready []Check
	Metrics     http.Handler
}

// Handler serves /healthz, /readyz and /metrics. A probe answers 200, or 503 with the reasons.
func (p *Probes) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", probe(p.Live))
	mux.Handle("GET /readyz", probe(p.Ready))
	mux.Handle("GET /metrics", p.Metrics)
	return mux
}

type probe []Check

func (p probe) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	answer := struct {
		Status  string   `json:"status"`
		Reasons []string `json:"reasons,omitempty"`
	}{Status: "ok"}
	code := http.StatusOK
	for _, c := range p {
		if err := c.Err(); err != nil {
			answer.Status, code = "unavailable", http.StatusServiceUnavailable
			answer.Reasons = append(answer.Reasons, c.Name+": "+err.Error())
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer) //nolint:errchkjson // strings only: what is left is a client that has gone
}

// webServer is an HTTP server with the goroutine that runs it.
type webServer struct {
	http http.Server
	addr string
	done chan struct{}
}

func startWeb(ctx context.Context, addr string, h http.Handler, log *slog.Logger) (*webServer, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%sHTTP: %w", Prefix, err)
	}
	s := &webServer{
		http: http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute},
		addr: listener.Addr().String(),
		done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("probes", "error", err)
		}
	}()
	return s, nil
}

// close lets requests in hand finish for as long as ctx allows.
func (s *webServer) close(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
	<-s.done
}
