# Every target sets up .venv first where it is missing or older than pyproject.toml.
.DEFAULT_GOAL := help
.PHONY: help setup test check format demo study kernels bench bench-full bench-resume clean

BIN := .venv/bin
JOBS ?= 2
STUDY := examples/studies/headline.toml
PYTEST_ARGS ?=
# With CHOLMOD required, an environment that was made without it does not count.
STAMP := $(if $(filter 1,$(SPARSEBODY_REQUIRE_CHOLMOD)),.venv/.cholmod,.venv/.setup)

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## make .venv, with CHOLMOD where root or sudo allows

.venv/.setup .venv/.cholmod: pyproject.toml scripts/setup.sh scripts/check_cholmod.py
	PYTHON="$(PYTHON)" scripts/setup.sh

test: $(STAMP)  ## run the tests on JOBS processes
	$(BIN)/python tests/kernel_cache.py
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST_ARGS)

check: $(STAMP)  ## lint, format, types, layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## mend what ruff can mend
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

demo: $(STAMP)  ## simulate a scissor lift of 200 pairs; results in out/
	mkdir -p out
	$(BIN)/sparsebody simulate scissor -p pairs=200 -p drive=true --duration 2 --step 0.005 --output out/scissor.h5 --overwrite
	$(BIN)/sparsebody plot out/scissor.h5 --output out/ --overwrite

study: $(STAMP)  ## the headline study in 15 minutes, going on where it was stopped; report in out/headline/
	$(MAKE) --no-print-directory -j2 .venv/.peers kernels
	$(BIN)/sparsebody study $(STUDY) --output out/headline --jobs $(JOBS)
	$(BIN)/sparsebody report out/headline

kernels: .venv/.engines
	$(BIN)/python -m benchmarks.kernels $(STUDY)

bench: .venv/.peers  ## benchmark against the peers, in less than 5 minutes; report in out/bench/
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.report --output out/bench

bench-full: .venv/.peers  ## the same with all sizes, methods and shufflings, in hours; report beside the CSV
	$(BIN)/python -m benchmarks.run --full
	$(BIN)/python -m benchmarks.choice
	$(BIN)/python -m benchmarks.report

bench-resume: .venv/.peers  ## go on with a bench-full that was interrupted
	$(BIN)/python -m benchmarks.run --full --resume
	$(BIN)/python -m benchmarks.choice
	$(BIN)/python -m benchmarks.report

.venv/.engines: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[peers]'
	touch $@

# Pinocchio is compiled for mechanisms that its wheel cannot hold; that may fail.
.venv/.peers: .venv/.engines
	-$(BIN)/python -m benchmarks.peers.pinocchio_lean
	touch $@

clean:  ## remove .venv, caches and results
	rm -rf .venv out build dist *.egg-info .*_cache .hypothesis
	find sparsebody tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
