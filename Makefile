# What a developer runs. `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
RULES := $(wildcard passes/src/rules/*.rs)

.PHONY: help test lint toolchain build demo bench bless oracle test-llvm

help: ## Lists the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

test: lint toolchain build ## Checks format and lints, installs the compilers, runs all tests
	$(CARGO) test --workspace --locked --doc
	$(CARGO) test --workspace --locked --no-fail-fast --lib --bins --tests

# cargo fmt does not see the rule files: a build script includes them.
lint: ## Checks the format, then clippy
	$(CARGO) fmt --all --check
	$(if $(RULES),rustfmt --edition 2024 --check $(RULES))
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# 3 means that there is no compiler to be had here: the tests that need one then say that they are skipped.
toolchain: ## Installs the CUDA compilers of the tests into .toolchain
	@code=0; tools/toolchain/install.sh || code=$$?; [ $$code -eq 0 ] || [ $$code -eq 3 ]

build: ## Builds the program
	$(CARGO) build --locked --package ptxcheck

# Where LLVM 22 lies, for the feature `llvm`. Debian: llvm-22-dev.
LLVM_SYS_221_PREFIX ?= /usr/lib/llvm-22
export LLVM_SYS_221_PREFIX

test-llvm: toolchain ## Installs LLVM 22, then builds with the feature llvm and tests LLVM IR
	tools/toolchain/install.sh llvm
	$(CARGO) clippy --workspace --all-targets --features llvm --locked -- -D warnings
	$(CARGO) test --locked --package ptxcheck-passes --features llvm
	$(CARGO) test --locked --package ptxcheck-tests --features llvm --test llvm

bless: ## Writes the golden renderings of the corpus anew
	BLESS=1 $(CARGO) test --locked --package ptxcheck-tests --test corpus

oracle: ## Holds the lane analysis against the machine, over 100,000 kernels
	LANE_KERNELS=$${LANE_KERNELS:-100000} $(CARGO) test --locked --release --package ptxcheck-passes --test lane_oracle -- --nocapture

# 1 means findings, and the demo has some.
demo: ## Builds the release and runs it over corpus/demo
	$(CARGO) build --locked --release --package ptxcheck
	@program=$$(realpath "$${CARGO_TARGET_DIR:-target}/release/ptxcheck"); code=0; \
	(cd corpus/cuda && "$$program" ../demo) || code=$$?; [ $$code -le 1 ]

bench: ## Runs the benchmarks
	$(CARGO) bench --workspace --locked
