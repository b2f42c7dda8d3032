# The front door; CMake and ninja do the work underneath.
#
#   make          build all programs into build/bin
#   make check    build, then unit, property, fuzz and lab tests (the lab needs root)
#   make demo     a load balancer at work in network namespaces (root); KEEP=1 leaves it standing
#   make bench    what the project promises in figures, measured here, as ratios
#   make lint     formatting, the second compiler, and the project's own style rules
#
# SANITIZE=address|thread builds and tests with that sanitizer, in a build directory of its own.

SANITIZE ?=
BUILD ?= build$(if $(SANITIZE),-$(SANITIZE))
PYTHON ?= /usr/bin/python3
JOBS ?= $(shell nproc)

.PHONY: all dependencies configure check demo bench lint clean

all: configure
	ninja -C $(BUILD) -j$(JOBS)

dependencies:
	@packaging/install-build-dependencies

configure: dependencies
	@test -f $(BUILD)/build.ninja || cmake -G Ninja -S . -B $(BUILD) -DSANITIZE=$(SANITIZE)

check: all
	@BUILD=$(BUILD) PYTHON=$(PYTHON) SANITIZE=$(SANITIZE) tests/run

demo: configure
	@ninja -C $(BUILD) -j$(JOBS) weir-manager weir-engine weirctl
	@$(PYTHON) tests/lab/demo.py --bin $(BUILD)/bin $(if $(KEEP),--keep)

bench: all
	@$(PYTHON) tests/bench/run.py --build $(BUILD)

lint: dependencies
	@tests/lint

clean:
	rm -rf build build-address build-thread build-clang
