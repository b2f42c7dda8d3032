# The front door; CMake and ninja do the work underneath.
#
#   make          build all programs into build/bin
#   make check    build, then unit, property, fuzz and lab tests (the lab needs root)
#   make check-vm the kernel module in virtual machines (root); KERNEL=trixie for another kernel
#   make demo     a load balancer at work in network namespaces (root); KEEP=1 leaves it standing
#   make package  Debian packages in build/package (PACKAGE_DIR says where else)
#   make policies-plot  measures where load goes (root): table and picture of docs/policies.md
#   make stability  20 times kill -9 under 2,000 connections and 500 new ones a second (root)
#   make soak     random events for SOAK_SECONDS (600); each connection's fate must follow from a rule (root)
#   make check-package  the package in a virtual machine, upgraded from the commit OLD (HEAD~20), to purge (root)
#   make bench    what the project promises in figures, measured here, as ratios
#   make bench-proxy  what a connection and a byte cost the proxy, haproxy and nginx, side by side (root)
#   make lint     formatting, the second compiler, and the project's own style rules
#
# SANITIZE=address|thread builds and tests with that sanitizer, in a build directory of its own.

SANITIZE ?=
BUILD ?= build$(if $(SANITIZE),-$(SANITIZE))
PYTHON ?= /usr/bin/python3
JOBS ?= $(shell nproc)

KERNEL ?= bookworm
SOAK_SECONDS ?= 600

.PHONY: all dependencies configure check check-vm demo policies-plot stability soak bench bench-proxy lint package check-package clean

all: configure
	ninja -C $(BUILD) -j$(JOBS)

dependencies:
	@packaging/install-build-dependencies

configure: dependencies
	@test -f $(BUILD)/build.ninja || cmake -G Ninja -S . -B $(BUILD) -DSANITIZE=$(SANITIZE)

check: all
	@BUILD=$(BUILD) PYTHON=$(PYTHON) SANITIZE=$(SANITIZE) tests/run

check-vm: all
	@packaging/install-build-dependencies vm-dependencies
	@$(PYTHON) tests/vm/check.py --kernel $(KERNEL) --bin $(BUILD)/bin

demo: configure
	@ninja -C $(BUILD) -j$(JOBS) weir-manager weir-engine weirctl
	@$(PYTHON) tests/lab/demo.py --bin $(BUILD)/bin $(if $(KEEP),--keep)

policies-plot: all
	@$(PYTHON) tests/lab/policies_plot.py --bin $(BUILD)/bin

stability: configure
	@ninja -C $(BUILD) -j$(JOBS) weir-manager weir-engine weirctl weir_steady_clients
	@STABILITY_KILLS=20 STABILITY_HELD=2000 STABILITY_NEW=500 WEIR_BIN=$(BUILD)/bin \
	    $(PYTHON) -m pytest -q -s -p no:cacheprovider tests/lab/test_static_stability.py

soak: configure
	@ninja -C $(BUILD) -j$(JOBS) weir-manager weir-engine weirctl weir_steady_clients
	@$(PYTHON) tests/lab/soak.py --bin $(BUILD)/bin --seconds $(SOAK_SECONDS) $(if $(SOAK_SEED),--seed $(SOAK_SEED))

bench: all
	@$(PYTHON) tests/bench/run.py --build $(BUILD)

bench-proxy: configure
	@packaging/install-build-dependencies bench-dependencies
	@ninja -C $(BUILD) -j$(JOBS) weir-manager weir-proxy weir_bench_proxy_client weir_bench_proxy_server \
	    weir_bench_proxy_asio
	@$(PYTHON) tests/bench/proxy/run.py --build $(BUILD) --out $(BUILD)/bench-proxy.json

package: dependencies
	@packaging/install-build-dependencies package-dependencies
	@packaging/build-package --output $(or $(PACKAGE_DIR),build/package)

OLD ?= HEAD~20

check-package: package
	@packaging/install-build-dependencies vm-dependencies
	@packaging/build-package --commit $(OLD) --version 0~before --parts any --output build/package-before
	@$(PYTHON) tests/package/vm/run.py --old build/package-before --new $(or $(PACKAGE_DIR),build/package)

lint: dependencies
	@tests/lint

clean:
	rm -rf build build-address build-thread build-clang
