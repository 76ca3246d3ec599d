# "make" or "make help" lists the targets. What a target does beyond a line or two
# is a script in hack/, so that it can be read, checked and run by itself.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# CLUSTER=local is the cluster that hack/cluster makes on this machine, with its
# own kubeconfig; CLUSTER=current is whatever kubectl talks to now.
CLUSTER ?= local
# IMAGE is the operator's image, and WORKER_IMAGE the workers'. With CLUSTER=local they are
# built from this clone; with CLUSTER=current name those that the cluster can pull.
# WORKER_IMAGE is IMAGE with -worker before its tag, unless you say otherwise.
IMAGE ?=
WORKER_IMAGE ?=
# RUN restricts tests to those that match: make test-unit RUN=TestPlan
RUN ?= .
# RACE=-race runs them with the race detector, as CI does. It needs gcc.
RACE ?=
# NODES is how many nodes the local cluster gets: 2 by default, and more for tests, which
# use one each and run side by side. A cluster that runs gets more, and never fewer.
NODES ?=
# ATTACKS=quick leaves out the attacks that take long: make test-attacks ATTACKS=quick
ATTACKS ?= all
# TRUTH=quick tells every lie once, not five times, and TRUTH=ci a quarter of them: make test-truth TRUTH=ci
TRUTH ?= all
# CUTS is how often make test-powercut cuts the power of each disk
CUTS ?= 20
# RUNS is how many runs make test-schedule waits for
RUNS ?= 10
# TIMES is how often make test-answers repeats each comparison
TIMES ?= 10
# SCREENSHOTS is a directory for pictures of pages: make test-report SCREENSHOTS=docs/images
SCREENSHOTS ?=
# WAYS are how make test-chart installs: WAYS="helm kustomize minio"
WAYS ?= helm kustomize minio
# BENCH_FLAGS are for the program of a bench target: make bench-overhead BENCH_FLAGS=-help
BENCH_FLAGS ?=
# FUZZTIME is how long each fuzz target runs: make fuzz FUZZTIME=10m
FUZZTIME ?= 60s
export CLUSTER IMAGE WORKER_IMAGE FUZZTIME NODES RACE RUN

# Tools are pinned in modules of their own, so that what they need does not
# decide what the operator is built with.
TOOL = go tool -modfile=$(CURDIR)/hack/tools/$(1)/go.mod $(1)

##@ General

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "; print "usage: make TARGET"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Development

.PHONY: generate
generate: ## Generate the deepcopy methods of the API types
	@$(call TOOL,controller-gen) object:headerFile=hack/boilerplate.go.txt paths=./api/...

.PHONY: manifests
manifests: ## Generate CRDs and RBAC rules, into config/ and the chart
	@hack/generate-manifests

.PHONY: docs
docs: ## Generate docs/reference from the API, the chart's values and fio's options
	@hack/generate-docs

.PHONY: fmt
fmt: ## Format the Go files
	@gofmt -w $$(git ls-files '*.go')

.PHONY: vet
vet: ## Run go vet, also on the tests that need a cluster
	@go vet -tags integration,e2e,system,chart,zfs,attacks,upgrade,truth,powercut,changepoints,schedule,answers,alerts ./...

.PHONY: lint
lint: ## Run golangci-lint
	@$(call TOOL,golangci-lint) run

.PHONY: build
build: ## Build bin/manager and bin/storagebench
	@CGO_ENABLED=0 go build -trimpath -ldflags "-X main.linkedVersion=$$(hack/version)" -o bin/ ./cmd/...

.PHONY: run
run: install build ## Run the operator on this machine, against whatever kubectl talks to now (WORKER_IMAGE= the workers' image)
	@bin/manager --namespace=storagebench-system --worker-image=$(or $(WORKER_IMAGE),$(error set WORKER_IMAGE to the image of the workers)) --leader-elect=false --development

.PHONY: install
install: ## Install the CRDs alone, into whatever kubectl talks to now
	@kubectl apply --server-side --force-conflicts -k config/crd

.PHONY: uninstall
uninstall: ## Remove the CRDs, and with them every benchmark
	@kubectl delete --ignore-not-found -k config/crd

.PHONY: docker-build
docker-build: ## Build both images with docker (IMAGE= the operator's name, WORKER_IMAGE= the workers')
	@hack/image/docker build '$(IMAGE)' '$(WORKER_IMAGE)'

.PHONY: docker-push
docker-push: ## Push both images with docker (IMAGE=, WORKER_IMAGE=)
	@hack/image/docker push '$(IMAGE)' '$(WORKER_IMAGE)'

.PHONY: verify
verify: ## Check everything that needs no cluster: generated files, lint, imports, scripts, chart
	@hack/verify

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities that the programs call (GOVULNDB= a copy of the database)
	@hack/vulncheck

##@ Test

.PHONY: test
test: ## Run test-unit, test-system, test-integration and test-e2e; makes the local cluster if there is none
	@hack/test

.PHONY: test-unit
test-unit: ## Run the tests that need nothing but Go
	@hack/test-unit '$(RUN)'

.PHONY: test-system
test-system: build ## Run fio, loop devices and an object store for real, and kill workers on them, as root
	@hack/test-system '$(RUN)'

.PHONY: test-integration
test-integration: ## Run the controllers against a real API server
	@assets=$$(hack/cluster/cluster assets); bin=$$(hack/cluster/cluster tools minio); \
		KUBEBUILDER_ASSETS=$$assets STORAGEBENCH_MINIO=$$bin/minio \
		hack/go-test -v -tags integration -count=1 -timeout 40m -run '$(RUN)' ./test/integration/... ./test/admission/...

.PHONY: docs-test
docs-test: ## Run the commands and manifests of README and docs in a sandbox with a real API server
	@hack/docs-test

.PHONY: test-e2e
test-e2e: export NODES := $(or $(NODES),5)
test-e2e: deploy ## Run benchmarks on the cluster (CLUSTER=local or current), side by side
	@. hack/env.sh && RACE= hack/go-test -v -tags e2e -count=1 -timeout 40m -parallel 8 -run '$(RUN)' ./test/e2e/...

.PHONY: test-faults
test-faults: export NODES := $(or $(NODES),5)
test-faults: deploy build ## Kill everything that can die while settings are changed, and count what stays changed or wedged
	@hack/test-faults

.PHONY: test-attacks
test-attacks: export NODES := $(or $(NODES),5)
test-attacks: deploy ## Attack the operator as a tenant with edit in its namespace, and count what succeeds (ATTACKS=quick: some minutes)
	@hack/test-attacks $(ATTACKS)

.PHONY: test-upgrade
test-upgrade: export NODES := $(or $(NODES),5)
test-upgrade: ## Upgrade the local cluster from an older release in mid-work, and count what is lost or left changed
	@hack/test-upgrade

.PHONY: test-answers
test-answers: deploy build ## Ask whether answers hold on the local cluster: qualify in a minute, equal and unequal pairs, time to ±5 % (hours; RUN=, TIMES=10)
	@RUN='$(RUN)' TIMES='$(TIMES)' hack/test-answers

.PHONY: test-experiments
test-experiments: deploy build ## Repeat the experiments of five old posts with their samples, on the local cluster and its ZFS node (hours; RUN=)
	@RUN='$(RUN)' hack/test-experiments

.PHONY: test-truth
test-truth: build ## Tell storagebench lies and honest twins on loop devices, as root, and count which it believes (TRUTH=quick: once each, TRUTH=ci: a quarter of them, TRUTH='chance 50': worlds by chance)
	@hack/test-truth $(TRUTH)

.PHONY: test-knee
test-knee: build ## Search for the knee of a device that the kernel throttles, as root
	@hack/test-knee

.PHONY: test-jobfiles
test-jobfiles: build ## Compare what fio itself does with over 100 job files and command lines with what storagebench does
	@go run ./hack/test-jobfiles

.PHONY: test-schedule
test-schedule: deploy ## Run a schedule every minute on the cluster, and find the run that a setting makes slower (RUNS=10)
	@RUNS='$(RUNS)' hack/test-schedule

.PHONY: test-changepoints
test-changepoints: ## Compare change points with those of Apache Otava, from PyPI, on 1,100 series
	@hack/test-changepoints

.PHONY: test-powercut
test-powercut: ## Cut the power of virtual disks that are honest about flushes and of some that lie (CUTS=20 each)
	@hack/test-powercut $(CUTS)

.PHONY: test-report
test-report: ## Look at run's pages in headless Chromium (SCREENSHOTS=docs/images: and take the README's pictures)
	@RUN='$(RUN)' SCREENSHOTS='$(SCREENSHOTS)' test/browser/run

.PHONY: test-image
test-image: ## Build both images of the Dockerfile twice with buildah, run them, and say their sizes, as root
	@hack/test-image

.PHONY: test-chart
test-chart: ## Install the chart before this one on the local cluster, upgrade it in mid-run, remove it (WAYS="helm kustomize minio")
	@WAYS='$(WAYS)' hack/test-chart

.PHONY: test-alerts
test-alerts: ## Fire and clear each alert, and query each panel, with a real Prometheus and Alertmanager
	@hack/test-alerts

.PHONY: test-zfs
test-zfs: deploy ## Run tests on a node with real ZFS, a virtual machine in the local cluster
	@RUN='$(RUN)' test/zfs/run

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (60s), two at a time
	@hack/fuzz

##@ Cluster

.PHONY: cluster-up
cluster-up: ## Make a real Kubernetes on this machine: two nodes (NODES), volumes, an object store
	@hack/cluster/cluster up

.PHONY: cluster-down
cluster-down: ## Remove it, and all that it made on the machine
	@hack/cluster/cluster down

.PHONY: cluster-status
cluster-status: ## Show what of it runs
	@hack/cluster/cluster status

.PHONY: cluster-selftest
cluster-selftest: ## Show that cluster-up and cluster-down keep their promises
	@hack/cluster/selftest

.PHONY: deploy
deploy: ## Install the chart in the cluster (CLUSTER=current IMAGE=… for one of your own)
	@hack/deploy

.PHONY: undeploy
undeploy: ## Uninstall the chart; CRDs, and with them benchmarks, stay
	@hack/deploy --remove

##@ Demo

.PHONY: demo
demo: ## From nothing to a measured StorageClass, on this machine
	@hack/demo

.PHONY: demo-zfs
demo-zfs: ## What flushes cost on ZFS, on a node with real ZFS in a virtual machine
	@hack/demo-zfs

##@ Benchmarks

.PHONY: bench-overhead
bench-overhead: deploy ## Compare fio in a worker with fio bare on the same volume
	@go build -o bin/bench-overhead ./hack/bench/overhead && . hack/env.sh && bin/bench-overhead $(BENCH_FLAGS)

.PHONY: bench-workloads
bench-workloads: ## Compare the engines of storagebench with the programs they stand for, as root
	@go build -o bin/bench-workloads ./hack/bench/workloads && bin/bench-workloads $(BENCH_FLAGS)

.PHONY: bench-stats
bench-stats: ## Simulate experiments, and count how often the statistics break their promises
	@go build -o bin/bench-stats ./hack/bench/stats && bin/bench-stats $(BENCH_FLAGS)

.PHONY: bench-observers
bench-observers: ## Compare fio with and without all that observes a trial, as root (BENCH_FLAGS=-requests: with eBPF)
	@go build -o bin/bench-observers ./hack/bench/observers && bin/bench-observers $(BENCH_FLAGS)

.PHONY: bench-latency
bench-latency: deploy ## Measure what the operator adds to a benchmark's start and end
	@go build -o bin/bench-latency ./hack/bench/latency && . hack/env.sh && bin/bench-latency $(BENCH_FLAGS)

.PHONY: bench-scale
bench-scale: build ## Measure the operator with 10,000 benchmarks on 1,000 simulated nodes, for about two hours
	@go build -o bin/bench-scale ./hack/bench/scale
	@assets=$$(hack/cluster/cluster assets); tools=$$(hack/cluster/cluster tools kube-controller-manager minio kwok); \
		exec bin/bench-scale -assets $$assets -kube-controller-manager $$tools/kube-controller-manager \
		-minio $$tools/minio -kwok $$tools/kwok $(BENCH_FLAGS)

##@ Release

.PHONY: krew
krew: ## Make archives and a manifest for kubectl krew in bin/krew (URL= where the archives will be)
	@hack/krew "$(URL)"

.PHONY: test-krew
test-krew: ## Install the kubectl plugin with krew itself, from what make krew makes
	@hack/test-krew

.PHONY: chart
chart: ## Package the chart into bin/
	@. hack/env.sh && helm package charts/storagebench --destination bin
