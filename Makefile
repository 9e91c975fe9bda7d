# Pinion: `make` prints what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

golangci_version := v2.15.0
otelcol_version := v0.165.0

# Time for each fuzz test, and rounds of the soak.
FUZZTIME ?= 30s
ROUNDS ?= 20

.PHONY: help
help: ## print this
	@grep -hE '^[a-zA-Z_-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: setup
setup: ## install what the targets below need beside Go, where that may be done
	@scripts/setup.sh node lint

.PHONY: build
build: ## build bin/pinion: one binary, which uses a CUDA library if there is one
	CGO_ENABLED=0 go build -trimpath -o bin/pinion ./cmd/pinion

include csrc/csrc.mk

.PHONY: demo
demo: ## see it work: broker, worker, and jobs on both curves in one process
	go run ./cmd/pinion demo

.PHONY: test
test: ## unit tests, fuzz seeds and brokers: as it ships, then with race detector and invariants
	@scripts/setup.sh
	$(MAKE) cuda-software
	CGO_ENABLED=0 go test ./...
	CGO_ENABLED=1 go test -race -tags invariants ./...

.PHONY: interop
interop: fetch ## exchange proofs, witnesses and keys with snarkjs on circuits that others published; the producer in JavaScript
	go test -tags interop -count 1 -timeout 20m -v ./interop

.PHONY: bench-cpu
bench-cpu: fetch ## measure `pinion prove` beside snarkjs, as a markdown table
	@go run ./interop/bench

.PHONY: fetch
fetch:
	@scripts/setup.sh node
	@interop/fetch.sh

.PHONY: lint
lint: .bin/nats-server ## check sources, scripts and the files of deploy/; names what it must skip
	@scripts/lint.sh

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZTIME (30s)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: soak
soak: test-csrc ## kernels under sanitizers, then all tests with the race detector, ROUNDS times (20), to find what fails rarely
	CGO_ENABLED=1 go test -race -tags invariants,soak -count $(ROUNDS) -timeout 0 ./...

.PHONY: clean
clean: ## remove what was built; `rm -rf .interop .bin` removes what was fetched
	rm -rf bin build
	go clean -testcache

.PHONY: nats-server
nats-server: .bin/nats-server ## build .bin/nats-server, a broker to run beside the workers

# Tools, built from their Go modules: the broker is the one that is embedded.

.bin/nats-server: go.mod
	go build -o $@ github.com/nats-io/nats-server/v2

.bin/golangci-lint:
	GOBIN=$(CURDIR)/.bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(golangci_version)

.bin/otelcol: scripts/otelcol.yaml
	go run go.opentelemetry.io/collector/cmd/builder@$(otelcol_version) --config scripts/otelcol.yaml
	mv .bin/otelcol-src/otelcol $@
	rm -rf .bin/otelcol-src
