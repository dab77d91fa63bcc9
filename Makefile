# Infrared. `make` alone lists what there is to do.

SHELL       := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS   += --no-print-directory

BIN       := .dev/bin
PARALLEL  ?= 2
# More flags for go test, such as TESTFLAGS='-v -run TestRegister'.
TESTFLAGS ?=
# Which targets to fuzz, and how long each. Fuzzing a package that imports Kubernetes compiles all of that anew, for minutes.
FUZZ      ?= Fuzz
FUZZTIME  ?= 60s

include hack/stack.mk

.PHONY: help demo test test-node kills soak bench fuzz lint generate protocol verify build modules clean

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: stack build ## Register a cluster and let it go again, on a local stack of real parts
	@hack/demo

test: stack build ## Run all tests, against real API servers where they need one
	@go test -race -vet=off -p $(PARALLEL) -timeout 30m $(TESTFLAGS) ./...
	@go -C hack/controlplane test -vet=off $(TESTFLAGS) ./...
	@go -C hack/node test -race -vet=off -timeout 30m $(TESTFLAGS) ./...
	@go -C examples/provider test -race -vet=off $(TESTFLAGS) ./...

# It never skips: where there is no root, or no way to get a container engine, it fails and says so.
test-node: stack build realnode ## Run a run's Job on a real kubelet, as root on Linux
	@go test -race -vet=off -tags realnode -count=1 -parallel 8 -timeout 10m $(TESTFLAGS) ./hack/realnode/e2e

# Outside CI, which kills one of the programs at each write: this kills each of them.
kills: stack build ## Kill every program before and after every write of a built cluster's life
	@EVERY_VICTIM=1 go test -vet=off -count=1 -v -timeout 6h -run TestLives $(TESTFLAGS) ./core/build/e2e

# How often to kill. SEED=… makes the same choices again.
KILLS ?= 1000
soak: stack build ## Kill any program at any time, KILLS times, over as many lives of built clusters as that takes
	@KILLS=$(KILLS) go test -vet=off -tags soak -count=1 -v -timeout 24h -run TestSoak $(TESTFLAGS) ./core/build/e2e

# One at a time, so that none slows another down.
bench: stack build ## Run the benchmarks, which print ratios
	@files=$$(git grep -l --untracked '^func Benchmark' -- '*_test.go'); \
	go test -vet=off -run '^$$' -bench . -timeout 60m -p 1 $$(dirname $$files | sort -u | sed 's|^|./|')

fuzz: ## Fuzz each target that begins with FUZZ for FUZZTIME
	@git grep --untracked -o '^func $(FUZZ)[A-Za-z0-9_]*' -- '*_test.go' | sed 's|:func | |' | while read -r file target; do \
	  echo "$$target in $$(dirname $$file), $(FUZZTIME)"; \
	  go test -vet=off -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x -parallel $(PARALLEL) "./$$(dirname $$file)"; \
	done

lint: $(BIN)/golangci-lint ## Judge the code by .golangci.yml
	@$(STATIC) $(BIN)/golangci-lint run --concurrency $(PARALLEL) --build-tags realnode,soak ./...
	@cd examples/provider && $(STATIC) $(CURDIR)/$(BIN)/golangci-lint run --concurrency $(PARALLEL) ./...
	@cd hack/node && $(STATIC) $(CURDIR)/$(BIN)/golangci-lint run --concurrency $(PARALLEL) ./...

generate: $(BIN)/controller-gen protocol ## Write what is made from the API types and from the protocol
	@rm -f deploy/crds/infrared.darkshift.io_*.yaml
	@$(BIN)/controller-gen object:headerFile=hack/tools/header.go.txt crd paths=./core/api/... output:crd:dir=deploy/crds

# The image is the protocol as it was last. It is replaced only by one that breaks nothing of it, so what was added once is
# guarded from then on, and a change that breaks the wire on purpose has to delete it.
IMAGE := v1/provider.binpb
protocol: $(BIN)/buf $(BIN)/protoc-gen-go $(BIN)/protoc-gen-go-grpc
	@cd sdk/protocol && buf=$(CURDIR)/$(BIN)/buf && \
	$$buf lint && \
	if [ -f $(IMAGE) ]; then $$buf breaking --against $(IMAGE); fi && \
	$$buf generate && \
	$$buf build --exclude-source-info -o $(IMAGE)

verify: $(BIN)/controller-gen ## Fail on stale generated files, formatting, vet, licence headers, untidy modules
	@$(STATIC) hack/verify

# A plugin is a folder of its own. Its SHA-256 is pinned, so the same code must give the same file wherever and whenever it is
# compiled. What no folder stands for any more is removed. Programs and plugins run in containers, too, where there is no
# C library, and as a user who is nobody.
PLUGINS = $(patsubst plugins/%/main.go,%,$(wildcard plugins/*/main.go))
# The provider of the local stack, which is its own cloud, too.
FAKE    = $(patsubst hack/%/main.go,%,$(wildcard hack/fake/main.go))

build: ## Compile our programs into .dev/bin, and the plugins into .dev/bin/plugins
	@umask 022 && mkdir -p $(BIN)/plugins
	@umask 022 && $(STATIC) go build -p $(PARALLEL) -o $(BIN)/ ./cmd/...
	@rm -f $(filter-out $(PLUGINS:%=$(BIN)/plugins/%) $(FAKE:%=$(BIN)/plugins/%),$(wildcard $(BIN)/plugins/*))
	@$(if $(PLUGINS)$(FAKE),umask 022 && $(STATIC) go build -p $(PARALLEL) -trimpath -buildvcs=false -o $(BIN)/plugins/ $(PLUGINS:%=./plugins/%) $(FAKE:%=./hack/%))

clean: ## Stop the local stack and remove .dev, compiled programs included
	@if [ -x $(IR) ]; then $(IR) dev down; fi
	@rm -rf .dev

# The repository infrared-iac-modules, for the operator's flag --modules-url.
modules: build ## Lay the templates' modules out as a git repository in .dev/modules, tagged VERSION=
	@go run ./hack/modules --version "$(VERSION)"

# A tool is compiled again when its pinned version changes. The module of each has one tool in it.
$(BIN)/%: hack/tools/%/go.mod hack/tools/%/go.sum
	@echo "compiling $*"
	@mkdir -p $(BIN)
	@go build -C hack/tools/$* -p $(PARALLEL) -o $(CURDIR)/$@ $$(sed -n 's/^tool //p' $<)
