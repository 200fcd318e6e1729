# Two commands do all the set-up: make run, make test.
SHELL := /bin/bash
.DEFAULT_GOAL := help
GO ?= go
FUZZTIME ?= 30s
# SQLite is C translated to Go: the race detector finds nothing in it, and makes the
# tests take twice as long. Other packages cannot be left out, not even encoding/json:
# all packages share their instances of generic functions, and without the detector's
# marks it reports races that do not exist. Our code does no arithmetic with pointers.
PLAIN := -race=false -d=checkptr=0
RACE := -race -gcflags=all=-d=checkptr=0 -gcflags='modernc.org/sqlite/lib=$(PLAIN)' -gcflags='modernc.org/libc/...=$(PLAIN)' -gcflags='modernc.org/memory=$(PLAIN)'
# Everything that runs without the detector is built with the flags of make build: with other flags
# every package would be compiled again.
ALIKE = CGO_ENABLED=0 GOFLAGS="$$($(GO) env GOFLAGS) -trimpath"
# make lint has vetted everything, including the tests: go test would vet each package again. Nobody steps through these
# programs, and linking what a debugger reads takes a quarter of each link.
TEST := $(GO) test -vet=off -ldflags=-w
# Tests spend half their time waiting for a disk, a browser or a clock. So twice as many tests as there are
# processors run at a time, and one package for each processor.
PARALLEL := -p $(shell nproc) -parallel $(shell expr 2 '*' $$(nproc))
# With the detector, a program sleeps for a second before it exits, in case other goroutines still run. Tests end
# what they began: for seventy packages those seconds are a minute. When a large piece of the heap is used again, the
# detector overwrites its own memory for it: giving that to the system and getting it back page by page takes longer.
export GORACE ?= atexit_sleep_ms=20 clear_shadow_mmap_threshold=1073741824
# In a world only one goroutine runs at a time, and the arch tests only read the sources: the race detector
# finds nothing there, and makes them take five to ten times as long.
LONELY := ./internal/simulation ./internal/arch
# The end-to-end tests run on both databases without the detector, which makes them take four times as long. make test
# runs with it, on SQLite, those in which several things happen at the same time, and the one that opens every page; make race
# runs all of them with it. A browser takes most of the time of rooms of pages, and what is above the store is the same on both
# databases: in make test each of their tests runs on one database, half of them on each.
PAGE_ROOMS := checkout|console|dashboard|docs
PAGES = $$($(GO) list ./internal/e2e/... | grep -E '/e2e/($(PAGE_ROOMS))$$')
ROOMS = $$($(GO) list ./internal/e2e/... | grep -vE '/e2e/($(PAGE_ROOMS))$$')
MEETING := access claims payments payouts providers webhooks checkout console dashboard
# Tests beside the use cases run on SQLite, with the detector. What several callers do at the same time hangs on the
# database too: those tests run on PostgreSQL as well. make race runs all of them there.
BESIDE := auth cascade claims payments payouts settlements webhooks
AT_ONCE = $$(NAMES=TestEveryPageAsksWhoMay .ci/atonce $(addprefix internal/e2e/,$(MEETING)))
# Packages whose sources start no goroutine, server or client, and open no database: the detector finds nothing in
# their tests, whether they have locks or not.
ALONE_WORDS := (^|[{;])\s*go |\.Go\(|AfterFunc|t\.Parallel|RunParallel|synctest|httptest\.New(TLS|Unstarted)?Server|http\.(Client|Get|Post|Serve|Listen|Default|Transport|Server)|\.Serve\(|net\.(Listen|Dial)|internal/(dbtest|store|app|daemon|e2e|provider/providertest)["/]
ALONE = $$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}} {{.ImportPath}}{{end}}' ./... | while read -r dir path; do grep -qE '$(ALONE_WORDS)' $$dir/*.go || echo $$path; done)
# Adapters start no goroutine either, and share nothing between calls; their tests read the schemas that providers publish, for which the
# detector takes five to ten times as long. make race runs them with it.
ADAPTER_ROOMS := adyen|conekta|dlocal|ebanx|mercadopago|payulatam|stripe|woovi
ADAPTERS = $$($(GO) list ./internal/provider/... | grep -E '/provider/($(ADAPTER_ROOMS))$$')
# The package that takes longest begins first. The tests of cmd/cascada run the program in separate processes, which
# the detector does not see.
RACED = ./internal/store $$($(GO) list ./... | grep -vE '/(internal/(simulation|arch|store|e2e/.*|provider/($(ADAPTER_ROOMS)))|cmd/cascada)$$' | grep -vxF "$(ALONE)")
STATICCHECK := $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help: ## list what can be done here
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

.PHONY: build
build: ## build the programs bin/cascada and bin/cascada-cli
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-X main.version=$$(git describe --tags --always --dirty 2>/dev/null)" -o bin/cascada ./cmd/cascada
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$$(git describe --tags --always --dirty 2>/dev/null)" -o bin/cascada-cli ./cmd/cascada-cli

.PHONY: release
release: export VERSION := $(VERSION)
release: export RELEASE_URL := $(RELEASE_URL)
release: export TARGETS := $(TARGETS)
release: export MAINTAINER := $(MAINTAINER)
release: chart ## make a release for all systems, and check it: dist/ (VERSION=1.2.3; RELEASE_URL, KEY, TARGETS, MAINTAINER: docs/RELEASES.md)
	cd package && GO='$(GO)' CGO_ENABLED=0 $(GO) run -trimpath ./release build -version "$$VERSION" -url "$$RELEASE_URL" -key '$(if $(KEY),$(abspath $(KEY)))' -targets "$$TARGETS" -maintainer "$$MAINTAINER"
	cd package && CASCADA_CHART=$(CURDIR)/dist/cascada-$(VERSION).tgz $(ALIKE) $(TEST) ./chart

.PHONY: chart
chart: build ## lint the Helm chart, render it, and check its manifests against the types of Kubernetes
	cd package && CASCADA_TEST_BINARY=$(CURDIR)/bin/cascada $(ALIKE) $(TEST) ./chart

.PHONY: run
run: build ## start the service on SQLite with a demo merchant
	./bin/cascada serve --allow-private-webhooks

.PHONY: demo
demo: ## start the service and a demo shop that sells with it, on a temporary database; needs Go, Node.js and npm
	@GO='$(GO)' exec ./examples/demo.sh

.PHONY: test
test: tools lint build ## install what tests need, lint, and run everything
	@$(MAKE) --no-print-directory -j 2 --output-sync=target --old-file=build raced program spec sdks conform worlds plain

# In make test the first runs beside all others, which run one after another.
.PHONY: raced program plain
raced:
	$(TEST) $(RACE) $(PARALLEL) -timeout 20m $(RACED)
	cd client/e2e && $(TEST) $(RACE) $(PARALLEL) -timeout 10m . ..
	E2E_ENGINE=sqlite $(TEST) $(RACE) $(PARALLEL) -timeout 10m -run "$(AT_ONCE)" $(addprefix ./internal/e2e/,$(MEETING))
program: build # drills wait for processes and clocks most of the time
	CASCADA_TEST_BINARY=$(CURDIR)/bin/cascada $(ALIKE) $(TEST) -parallel $(shell expr 3 '*' $$(nproc)) -timeout 20m ./cmd/cascada
plain:
	$(ALIKE) $(TEST) $(PARALLEL) -timeout 15m $(ALONE)
	$(ALIKE) $(TEST) -p $(shell expr 2 '*' $$(nproc)) -timeout 15m $(ADAPTERS) # they wait for fakes that answer late
	cd package && $(ALIKE) $(TEST) -timeout 10m ./release
	$(ALIKE) APPTEST_ENGINE=postgres $(TEST) $(PARALLEL) -timeout 10m -run "$$(.ci/atonce $(addprefix internal/app/,$(BESIDE)))" $(addprefix ./internal/app/,$(BESIDE))
	$(ALIKE) E2E_ENGINE=either $(TEST) $(PARALLEL) -timeout 15m $(PAGES)
	$(ALIKE) $(TEST) $(PARALLEL) -timeout 15m $(ROOMS)

.PHONY: quick
quick: ## test what a change touches: its packages, and its noun's end-to-end tests, on SQLite (BASE=REVISION)
	@$(ALIKE) GO='$(GO)' ./.ci/quick $(BASE)

.PHONY: worlds
worlds: ## simulate bad days (docs/TESTING.md), and check the sources against the rules of the architecture
	$(ALIKE) $(TEST) -timeout 20m $(LONELY)

.PHONY: spec
spec: build ## lint the published OpenAPI documents, run generated clients, and call every operation
	./spec/check.sh

.PHONY: postman
postman: build ## run the published collection for Postman with newman
	./spec/postman/check.sh

.PHONY: client
client: build ## generate the client of the admin API from the document that a service publishes
	GO='$(GO)' ./client/admin/generate.sh

.PHONY: sdk
sdk: build ## generate the operations and types of the SDKs from the document that a service publishes
	$(ALIKE) GO='$(GO)' ./sdk/generate.sh

.PHONY: sdks
sdks: build ## make the packages of the SDKs, run the same program from each, and buy in the demo shop
	$(ALIKE) GO='$(GO)' ./sdk/check.sh

.PHONY: medusa
medusa: tools build ## sell, refund and cancel in a real Medusa with the plugin (the first time downloads 680 MB; not part of make test)
	./integrations/medusa/check.sh

.PHONY: conform
conform: ## ask the providers' own libraries about all that adapters send and fakes answer and sign
	GO='$(GO)' ./conform/check.sh

.PHONY: race
race: ## run the end-to-end tests on both databases with the detector, and the tests for races five times
	$(GO) test $(RACE) $(PARALLEL) -timeout 60m ./internal/e2e/... ./internal/provider/...
	APPTEST_ENGINE=postgres $(GO) test $(RACE) $(PARALLEL) -timeout 20m $(addprefix ./internal/app/,$(BESIDE))
	$(GO) test $(RACE) -count 5 -run 'Race|Once|Floor|Kill' ./internal/... ./cmd/...

.PHONY: cost
cost: export COST := $(CURDIR)/bin/cost
cost: build ## run most tests as make test does, and list what each package costs in seconds of processor time: bin/cost
	@mkdir -p bin && rm -f $(COST)
	PART=race $(TEST) $(RACE) $(PARALLEL) -count 1 -timeout 40m -exec $(CURDIR)/.ci/cost $(RACED)
	PART=program CASCADA_TEST_BINARY=$(CURDIR)/bin/cascada $(ALIKE) $(TEST) -count 1 -timeout 40m -exec $(CURDIR)/.ci/cost ./cmd/cascada
	PART=alone $(ALIKE) $(TEST) $(PARALLEL) -count 1 -timeout 40m -exec $(CURDIR)/.ci/cost $(ALONE) $(ADAPTERS)
	PART=atonce E2E_ENGINE=sqlite $(TEST) $(RACE) $(PARALLEL) -count 1 -timeout 40m -exec $(CURDIR)/.ci/cost -run "$(AT_ONCE)" $(addprefix ./internal/e2e/,$(MEETING))
	PART=pages $(ALIKE) E2E_ENGINE=either $(TEST) $(PARALLEL) -count 1 -timeout 40m -exec $(CURDIR)/.ci/cost $(PAGES)
	PART=rooms $(ALIKE) $(TEST) $(PARALLEL) -count 1 -timeout 40m -exec $(CURDIR)/.ci/cost $(ROOMS)
	@sort -rn $(COST)

.PHONY: fuzz
fuzz: ## fuzz each parser for half a minute (FUZZTIME=30s)
	@grep -roE --include='*_test.go' '^func Fuzz\w+' . | sed -E 's,/[^/:]+:func , ,' | sort -u | while read -r dir target; do \
	  echo "$$dir $$target"; \
	  $(GO) -C $$dir test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s . </dev/null || exit 1; done

.PHONY: sheet
sheet: ## take a picture of every page of the checkout and the dashboard, on phone and desktop, light and dark: bin/sheet
	SHEET=$(CURDIR)/bin/sheet $(GO) test -tags sheet -count 1 -timeout 30m -run TestContactSheet ./internal/e2e/checkout ./internal/e2e/dashboard

.PHONY: bench
bench: build ## measure the service over HTTP on SQLite and on PostgreSQL
	./docs/bench.sh

.PHONY: lint
lint: ## gofmt, vet, staticcheck and known vulnerabilities (the arch tests run with the tests)
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted: $$unformatted"; exit 1; }
	$(ALIKE) $(GO) vet ./...
	cd conform && $(ALIKE) $(GO) vet ./...
	$(ALIKE) $(STATICCHECK) ./...
	cd client && $(ALIKE) $(GO) vet . && $(ALIKE) $(STATICCHECK) .
	cd client/admin && $(ALIKE) $(GO) vet ./...
	cd client/e2e && $(ALIKE) $(GO) vet . && $(ALIKE) $(STATICCHECK) .
	cd sdk/e2e && $(ALIKE) $(GO) vet . && $(ALIKE) $(STATICCHECK) .
	cd package && $(ALIKE) $(GO) vet ./release && $(ALIKE) $(STATICCHECK) ./release
	@$(MAKE) --no-print-directory vulns

VULNDB := $(or $(GOVULNDB),https://vuln.go.dev)
.PHONY: vulns
vulns: ## look for known vulnerabilities in the code that is called, if their database can be reached
	@if curl -fsS -m 10 -o /dev/null $(VULNDB)/index/db.json 2>/dev/null; then \
	  $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -db $(VULNDB) ./... && cd client && $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -db $(VULNDB) .; \
	else echo "lint: $(VULNDB) cannot be reached: known vulnerabilities were not checked"; fi

.PHONY: sbom
sbom: build ## list every module in the binary with its version and checksum: bin/cascada.sbom
	@$(GO) version -m bin/cascada > bin/cascada.sbom && grep -c '^	dep' bin/cascada.sbom | sed 's/$$/ modules are in bin\/cascada.sbom/'

.PHONY: migrate
migrate: build ## bring a database to the newest schema: make migrate DATABASE=postgres://…
	./bin/cascada migrate $(if $(DATABASE),--database '$(DATABASE)')

DRILL ?= TestDrill
.PHONY: drills
drills: tools ## see bad days with your own eyes (docs/DRILLS.md); DRILL=TestDrillPatroni for one
	@want=; \
	command -v patroni >/dev/null || want="$$want patroni python3-etcd"; \
	command -v etcd >/dev/null || want="$$want etcd-server"; \
	command -v pgbackrest >/dev/null || want="$$want pgbackrest"; \
	$(INSTALL)
	@test -x bin/litestream || GOBIN=$(CURDIR)/bin $(GO) install github.com/benbjohnson/litestream/cmd/litestream@v0.5.18
	$(GO) test ./cmd/cascada -run '$(DRILL)' -v -full -parallel 1 -timeout 4h

# INSTALL installs the packages that are missing.
define INSTALL
[ -z "$$want" ] || { \
	  [ "$$(id -u)" = 0 ] || { echo "the tests need$$want: install them, or run make as root"; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$want; }
endef

# Programs that the tests start, from Debian's packages.
.PHONY: tools
tools:
	@want=; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || want="$$want postgresql-15"; \
	command -v chromium >/dev/null || want="$$want chromium"; \
	command -v chromium-headless-shell >/dev/null || want="$$want chromium-headless-shell"; \
	command -v zbarimg >/dev/null || want="$$want zbar-tools"; \
	command -v redis-server >/dev/null || want="$$want redis-server"; \
	test -x /lib/systemd/systemd || want="$$want systemd"; \
	command -v pgbouncer >/dev/null || want="$$want pgbouncer"; \
	command -v haproxy >/dev/null || want="$$want haproxy"; \
	command -v promtool >/dev/null || want="$$want prometheus"; \
	command -v node >/dev/null || want="$$want nodejs"; \
	command -v python3 >/dev/null || want="$$want python3"; \
	command -v jq >/dev/null || want="$$want jq"; \
	$(INSTALL)
