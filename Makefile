# What a developer runs. `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
RULES := $(wildcard passes/src/rules/*.rs)

.PHONY: help test lint toolchain llvm llvm-19 build demo bench bless oracle test-llvm-19

help: ## Lists the targets
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

test: lint toolchain build ## Checks format and lints, installs the compilers, runs all tests
	$(MAKE) --no-print-directory test-llvm-19
	$(CARGO) test --workspace $(FEATURES) --locked --doc
	$(CARGO) test --workspace $(FEATURES) --locked --no-fail-fast --lib --bins --tests

# LLVM IR is an input where LLVM 22 is to be had. Elsewhere everything but that is built and tested.
FEATURES = $(shell tools/toolchain/has-llvm.sh 22 || echo --no-default-features)

# cargo fmt does not see the rule files: a build script includes them.
lint: llvm ## Checks the format, then clippy, with LLVM IR and without
	$(CARGO) fmt --all --check
	$(if $(RULES),rustfmt --edition 2024 --check $(RULES))
	$(CARGO) clippy --workspace --all-targets $(FEATURES) --locked -- -D warnings
	$(if $(FEATURES),,$(CARGO) clippy --workspace --all-targets --no-default-features --locked -- -D warnings)

# 3 means that there is no compiler to be had here: the tests that need one then say that they are skipped.
toolchain: ## Installs the CUDA compilers of the tests into .toolchain
	@code=0; tools/toolchain/install.sh || code=$$?; [ $$code -eq 0 ] || [ $$code -eq 3 ]

llvm: ## Installs LLVM 22, which reads LLVM IR
	@code=0; tools/toolchain/install.sh llvm-22 || code=$$?; [ $$code -eq 0 ] || { [ $$code -eq 3 ] && \
	echo "LLVM IR will not be an input of this build. README.md says how to install LLVM 22 on other systems."; }

build: llvm ## Builds the program
	$(CARGO) build $(FEATURES) --locked --package ptxcheck

llvm-19:
	@code=0; tools/toolchain/install.sh llvm-19 || code=$$?; [ $$code -eq 0 ] || [ $$code -eq 3 ]

WITH_19 = --locked --no-default-features --features llvm19

test-llvm-19: toolchain llvm-19 ## Installs LLVM 19, then tests LLVM IR with it
	@tools/toolchain/has-llvm.sh 19 || { echo "LLVM 19 is not here, so nothing is tested with it"; exit 0; }; \
	set -x; $(CARGO) test $(WITH_19) --package ptxcheck-passes --lib -- frontend::llvm worker; \
	$(CARGO) test $(WITH_19) --package ptxcheck-tests --test llvm

bless: ## Writes the golden renderings of the corpus anew
	BLESS=1 $(CARGO) test $(FEATURES) --locked --package ptxcheck-tests --test corpus

oracle: ## Holds the lane analysis against the machine, over 100,000 kernels
	LANE_KERNELS=$${LANE_KERNELS:-100000} $(CARGO) test $(FEATURES) --locked --release --package ptxcheck-passes --test lane_oracle -- --nocapture

# 1 means findings, and the demo has some.
demo: llvm ## Builds the release and runs it over corpus/demo
	$(CARGO) build $(FEATURES) --locked --release --package ptxcheck
	@program=$$(realpath "$${CARGO_TARGET_DIR:-target}/release/ptxcheck"); code=0; \
	(cd corpus/cuda && "$$program" ../demo) || code=$$?; [ $$code -le 1 ]

bench: ## Runs the benchmarks
	$(CARGO) bench --workspace $(FEATURES) --locked
