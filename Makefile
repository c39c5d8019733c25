# Holdfast. `make help` lists the targets.
#
# `make run` and `make test` work on a fresh machine with Go, git and a package
# manager: what else they need they install, and say so (tools/prepare).

SHELL   := /bin/sh
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)

# For every command alike, so that they share what was compiled; and no path of
# this machine gets into a binary.
export GOFLAGS := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath

LINT    := $(GO) tool -modfile=tools/go.mod golangci-lint

# How long each fuzz target runs, and what more `make bench` is told.
FUZZTIME   ?= 20s
BENCHFLAGS ?=

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## start Holdfast and play the demonstration: a tool changes and is held
	@tools/prepare node || echo "run: going on without a published server"
	@$(GO) build -ldflags '$(LDFLAGS)' -o bin/holdfast ./cmd/holdfast
	@bin/holdfast demo

.PHONY: build
build: ## build bin/holdfast
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/holdfast ./cmd/holdfast

.PHONY: test
test: prepare lint race cover cross ## everything: lint, tests with -race, coverage of core, other systems

.PHONY: prepare
prepare:
	@tools/prepare race
	@tools/prepare npm
	@tools/prepare tools

.PHONY: lint
lint: ## formatting, go vet and golangci-lint (the first time builds it: two minutes)
	@echo "lint: gofumpt, go vet, staticcheck, errcheck, exhaustive, revive"
	@$(LINT) run ./...

.PHONY: race
race: prepare
	HOLDFAST_REQUIRE_NPM=1 HOLDFAST_REQUIRE_SANDBOX=1 $(GO) test -race -timeout 15m ./...

.PHONY: cover
cover: ## every statement of core is run by its tests
	@tools/coverage

.PHONY: cross
cross: ## it compiles, tests included, for the other systems
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./...
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 $(GO) vet ./...

.PHONY: bench
bench: build ## measure a call direct, through two plain proxies and through Holdfast
	$(GO) run ./bench -holdfast bin/holdfast $(BENCHFLAGS)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (20s)
	@tools/fuzz $(FUZZTIME)

.PHONY: nightly
nightly: test ## what is too long for every change: long fuzzing and the measurements
	@tools/fuzz 5m
	@$(MAKE) bench

.PHONY: clean
clean: ## remove what was built
	rm -rf bin cover.out
