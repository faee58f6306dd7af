# Every target does its own set-up: a virtual environment in .venv with the pinned requirements, and the extension, built
# in release mode. It is done again only when what it is made of has changed.

PYTHON ?= python3
BENCH_ARGS ?=
FUZZ_ARGS ?=
INSTRUCTIONS_ARGS ?=
INSTALL_TORCH ?= yes
INSTALL_CHROMIUM ?= yes
VIEW_ARGS ?= -m "full or not full"
SCREENSHOTS ?=

VENV := .venv
BIN := $(VENV)/bin
REQUIREMENTS := $(VENV)/.requirements
BUILT := $(VENV)/.built
BENCH := .venv-bench
BENCH_REQUIREMENTS := $(BENCH)/.requirements
BENCH_BUILT := $(BENCH)/.built
ENGINES := .venv-engines
ENGINES_REQUIREMENTS := $(ENGINES)/.requirements
ENGINES_BUILT := $(ENGINES)/.built
EXPORTS := .venv-exports
EXPORTS_REQUIREMENTS := $(EXPORTS)/.requirements
EXPORTS_BUILT := $(EXPORTS)/.built
HARNESS := .venv-harness
HARNESS_REQUIREMENTS := $(HARNESS)/.requirements
VIEW := .venv-view
VIEW_REQUIREMENTS := $(VIEW)/.requirements
DOCS := .venv-docs
DOCS_REQUIREMENTS := $(DOCS)/.requirements
WHEEL := .venv-wheel
WHEEL_REQUIREMENTS := $(WHEEL)/.requirements
WHEELS := target/wheels

# A wheel for Linux is linked by zig against an old C library, and maturin refuses one that needs a newer one. What is
# linked against this machine's own may need the newest.
ifeq ($(shell uname -s),Linux)
WHEEL_PLATFORM := manylinux_2_17
WHEEL_ARGS ?= --zig --compatibility $(WHEEL_PLATFORM)
endif

# A package that one machine can't have must not keep the others out: if the list can't be had as a whole, each by itself.
define INSTALL_HARNESSES
$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/harness.txt \
  || grep -v '^#' requirements/harness.txt | while read -r one; do \
    $(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps "$$one" \
      || echo "can't be installed here, and what needs it will be reported as absent: $$one" >&2; done
endef

SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find src -name '*.rs')
# Files of ours and no one's environment, which lies in the same folder.
CHECKED := python tests benches examples startup tools

# pyo3 looks for the interpreter on each build; one for all spares building it anew.
export PYO3_PYTHON = $(abspath $(BIN)/python)

.DEFAULT_GOAL := help
.PHONY: help demo test test-full test-engines test-exports test-harness test-view fuzz fuzz-valgrind lint house docs conformance bench bench-long instructions build wheel sdist test-wheel test-wheel-sample clean

help: ## what there is to make
	@grep -hE '^[a-z-]+: .*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+): .*## (.*)/  make \1\t\2/' | expand -t 22

demo: $(BUILT) ## a million prompts into examples/out/, with the first one and the rate
	$(BIN)/python examples/demo.py

test: $(BUILT) ## the core's tests, then those of the Python surface and of every example in the docs
	cargo test --locked
	$(BIN)/python -m pytest

test-full: $(BUILT) test-engines test-exports test-harness test-view test-wheel ## the same with the heavy ones, and the test-... targets
	cargo test --locked
	$(BIN)/python -m pytest -m "full or not full"

test-engines: $(ENGINES_BUILT) ## Ray Data, Spark, Daft, Dask and others: equal to one process, for any partitions
	$(ENGINES)/bin/python -m pytest tests/engines -m "full or not full"

test-exports: $(EXPORTS_BUILT) ## exports read back by OpenAI's, LiteLLM's and Hugging Face's own code
	$(EXPORTS)/bin/python -m pytest tests/exports -m "full or not full"

test-harness: $(HARNESS_REQUIREMENTS) $(BUILT) ## beside the real OpenCompass, AISBench and OpenICL
	PYTHONPATH=$(abspath python) $(HARNESS)/bin/python -m pytest tests/harness -m "full or not full"

test-view: $(VIEW_REQUIREMENTS) $(BUILT) ## the page of `promptpress view` in Chromium (SCREENSHOTS=docs writes those of the docs)
	PYTHONPATH=$(abspath python) PROMPTPRESS_SCREENSHOTS=$(SCREENSHOTS) \
	  $(VIEW)/bin/python -m pytest tests/view python/promptpress/_viewer $(VIEW_ARGS)

fuzz: $(HARNESS_REQUIREMENTS) $(BUILT) ## random prompts beside the models and OpenCompass, and broken Arrow input (FUZZ_ARGS="--seconds 120")
	PYTHONPATH=$(abspath python):$(abspath tests) $(HARNESS)/bin/python -m fuzz $(FUZZ_ARGS)

fuzz-valgrind: $(BUILT) ## a sample of the broken Arrow input under valgrind, where that is installed
	PYTHONPATH=$(abspath python):$(abspath tests) $(BIN)/python -m fuzz arrow --valgrind --requests 200 $(FUZZ_ARGS)

conformance: $(BUILT) ## the recorded cases of the harnesses, where they are at hand (PROMPTPRESS_SHARED, ../shared)
	$(BIN)/python -m pytest -s tests/test_recorded_cases.py tests/test_dropin_cases.py

lint: $(BUILT) ## rustfmt, clippy, ruff, mypy, the stub against the binary, and who uses whom in src/
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --all-targets --features python -- -D warnings
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml promptpress._core
	$(BIN)/python tools/use_graph --check docs/design.md

house: $(REQUIREMENTS) ## who uses whom in src/: no circle between folders, nothing uses what is above it
	$(BIN)/python tools/use_graph

docs: $(DOCS_REQUIREMENTS) $(BUILT) ## the documentation as a site in target/site/html: warnings and dead links are errors
	PYTHONPATH=$(abspath python) $(DOCS)/bin/python tools/docs_site

bench: $(BENCH_BUILT) ## beside harnesses, engines and the copy limit; writes docs/benchmarks.md (BENCH_ARGS=--quick: prints)
	$(BENCH)/bin/python -m pytest benches --benchmark-json=target/bench.json $(BENCH_ARGS)
ifeq ($(BENCH_ARGS),)
	$(BENCH)/bin/python benches/report.py target/bench.json $(wildcard target/bench-long.json) --out docs/benchmarks.md
	$(BENCH)/bin/python tools/readme_figures.py
else
	$(BENCH)/bin/python benches/report.py target/bench.json
endif

bench-long: $(BENCH_BUILT) ## a hundred million samples streamed; the next `make bench` puts the figure into its page
	$(BENCH)/bin/python -m pytest benches --long --benchmark-json=target/bench-long.json

instructions: $(BUILT) ## what a sample costs, counted by valgrind (INSTRUCTIONS_ARGS="ppl --against OLD.so" compares)
	$(BIN)/python benches/instructions.py $(INSTRUCTIONS_ARGS)

build: wheel sdist ## both of the next two

# Its own compilation: another linker and, with WHEEL_ARGS="... --target aarch64-unknown-linux-gnu", another processor.
wheel: export PYO3_PYTHON = $(abspath $(WHEEL)/bin/python)
wheel: $(WHEEL_REQUIREMENTS) ## a wheel in target/wheels/; on Linux for glibc 2.17 and newer, by zig
	rm -f $(WHEELS)/*.whl
	PATH="$(abspath $(WHEEL)/bin):$$PATH" maturin build --release --locked $(WHEEL_ARGS) --out $(WHEELS)

sdist: $(WHEEL_REQUIREMENTS) ## a source distribution in target/wheels/
	rm -f $(WHEELS)/*.tar.gz
	$(WHEEL)/bin/maturin sdist --out $(WHEELS)

test-wheel: build $(REQUIREMENTS) ## installs both into every Python from 3.10 on that is at hand, and tries them
	PROMPTPRESS_WHEELS=$(WHEELS) PROMPTPRESS_PLATFORM=$(WHEEL_PLATFORM)$(if $(WHEEL_PLATFORM),_$(shell uname -m)) \
	  PROMPTPRESS_SDIST_TARGET=$(abspath target/sdist) $(BIN)/python -m pytest -rA tests/wheels

# The same compilation as `make test`, packed and tried on one interpreter: seconds.
test-wheel-sample: $(BUILT)
	rm -rf target/sample-wheel
	$(BIN)/maturin build --release --locked --out target/sample-wheel
	PROMPTPRESS_WHEELS=target/sample-wheel PROMPTPRESS_PYTHONS=$(BIN)/python $(BIN)/python -m pytest tests/wheels

clean: ## all of that undone
	rm -rf $(VENV) $(BENCH) $(ENGINES) $(EXPORTS) $(HARNESS) $(DOCS) $(WHEEL) $(VIEW) target examples/out .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	rm -f python/promptpress/_core.*.so
	find $(CHECKED) -name __pycache__ -prune -exec rm -rf {} +

$(REQUIREMENTS): requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "promptpress needs Python 3.10 or newer: make PYTHON=...")'
	@cargo --version >/dev/null || { echo "promptpress needs a Rust toolchain: cargo, clippy, rustfmt" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	@touch $@

$(BUILT): $(REQUIREMENTS) $(SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked
	@touch $@

# The benches' peers want other versions than the tests: an environment of their own, and the wheel that users get.
$(BENCH_REQUIREMENTS): requirements/bench.txt requirements/harness.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/bench.txt
	$(call INSTALL_HARNESSES,$(BENCH))
	@touch $@

$(BENCH_BUILT): $(BENCH_REQUIREMENTS) $(BUILT) $(shell find python -name '*.py')
	rm -rf target/bench-wheel
	$(BIN)/maturin build --release --locked --out target/bench-wheel
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall \
	  --find-links target/bench-wheel promptpress
	@touch $@

# So do the engines, and their workers are processes of their own that have to find the package.
$(ENGINES_REQUIREMENTS): requirements/engines.txt
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/engines.txt
	@touch $@

$(ENGINES_BUILT): $(ENGINES_REQUIREMENTS) $(BUILT) $(shell find python -name '*.py')
	rm -rf target/engines-wheel
	$(BIN)/maturin build --release --locked --out target/engines-wheel
	$(ENGINES)/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall \
	  --find-links target/engines-wheel promptpress
	@touch $@

# So do the consumers of exports.
$(EXPORTS_REQUIREMENTS): requirements/exports.txt
	$(PYTHON) -m venv $(EXPORTS)
	$(EXPORTS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/exports.txt
	@touch $@

$(EXPORTS_BUILT): $(EXPORTS_REQUIREMENTS) $(BUILT) $(shell find python -name '*.py')
	rm -rf target/exports-wheel
	$(BIN)/maturin build --release --locked --out target/exports-wheel
	$(EXPORTS)/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall \
	  --find-links target/exports-wheel promptpress
	@touch $@

$(DOCS_REQUIREMENTS): requirements/docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt
	@touch $@

$(WHEEL_REQUIREMENTS): requirements/wheel.txt
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/wheel.txt
	@touch $@

# And the harnesses' own tests: other versions than dev.txt's, and stand-ins that no other test should meet.
# As root on a Debian whose Python is this one, the system's torch is installed if pip has none: make INSTALL_TORCH= if not.
$(HARNESS_REQUIREMENTS): requirements/harness.txt requirements/harness-tests.txt requirements/torch.txt \
                         tests/harness/system_torch.py
	$(PYTHON) -m venv $(HARNESS)
	$(HARNESS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/harness-tests.txt
	$(call INSTALL_HARNESSES,$(HARNESS))
	@$(HARNESS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
	  -r requirements/torch.txt 2>/dev/null \
	  || { echo "pip finds no CPU wheel of torch here" >&2; \
	       $(HARNESS)/bin/python tests/harness/system_torch.py $(if $(INSTALL_TORCH),--install); } \
	  || echo "stand-ins take torch's place, and tests that calculate with it are skipped" >&2
	@touch $@

# The page's framework has a dependency set of its own. As root on Debian the browser is installed where there is none.
$(VIEW_REQUIREMENTS): requirements/view-tests.txt
	$(PYTHON) -m venv $(VIEW)
	$(VIEW)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/view-tests.txt
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	  || { [ -n "$(INSTALL_CHROMIUM)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	          chromium chromium-driver fonts-dejavu-core >/dev/null; } \
	  || echo "Chromium and its driver can't be installed here: tests in a browser are skipped" >&2
	@touch $@
