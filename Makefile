# Every target sets up .venv first where it is missing or older than pyproject.toml, and builds the
# native core where its sources are newer.
.DEFAULT_GOAL := help
.PHONY: help setup build test test-quick sanitize check format docs demo viewer wheel study bench bench-motion bench-full bench-resume clean

BIN := .venv/bin
JOBS ?= 2
STUDY := examples/studies/headline.toml
PYTEST_ARGS ?=
# With CHOLMOD or MPI required, an environment that was made without it does not count.
BASIC := $(if $(filter 1,$(SPARSEBODY_REQUIRE_CHOLMOD)),.venv/.cholmod,.venv/.setup)
STAMP := $(if $(filter 1,$(SPARSEBODY_REQUIRE_MPI)),.venv/.mpi,$(BASIC))
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
SANITIZED := tests/core tests/spatial tests/kinematics tests/factorization tests/ordering \
  tests/sparse/test_rank.py tests/sparse/test_row_choices.py tests/sparse/test_saddle.py \
  tests/model/test_joints.py tests/dynamics/test_evaluators.py tests/dynamics/test_reductions.py tests/tree/test_methods.py

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## make .venv, with CHOLMOD where root or sudo allows

.venv/.setup .venv/.cholmod: pyproject.toml scripts/setup.sh scripts/check_cholmod.py
	PYTHON="$(PYTHON)" scripts/setup.sh

.venv/.mpi: $(BASIC)
	scripts/setup.sh mpi

build: $(STAMP)  ## compile what has changed in core/
	@$(BIN)/ninja -C build/core --quiet

test: build  ## run the tests on JOBS processes
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

test-quick: build  ## a part of the tests, of every folder, in half a minute (tests/quick.txt)
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal @tests/quick.txt

sanitize: build  ## run tests of the core with address and undefined-behavior sanitizers and checked indices
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake -S core -B build/sanitize -G Ninja -DSPARSEBODY_LEVELS=sanitized \
	  -DSPARSEBODY_INPLACE=ON -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" --log-level=WARNING
	$(BIN)/ninja -C build/sanitize --quiet
	$(ONE_THREAD) SPARSEBODY_LEVEL=sanitized ASAN_OPTIONS=detect_leaks=0 \
	  LD_PRELOAD="$$(c++ -print-file-name=libasan.so):$$(c++ -print-file-name=libubsan.so)" \
	  $(BIN)/python -m pytest -q -p no:cacheprovider $(SANITIZED) $(PYTEST_ARGS)

check: build  ## lint, format, types, layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## mend what ruff can mend
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: build .venv/.docs  ## the documentation site in out/docs/, with its gallery of examples; warnings are errors
	$(ONE_THREAD) $(BIN)/python -m sphinx -b html -W --keep-going -n -j $(JOBS) -q docs out/docs
	@echo "the site: out/docs/index.html"

demo: build  ## simulate a scissor lift of 200 pairs and a lattice; 3-D pages and pictures in out/
	mkdir -p out
	$(BIN)/sparsebody simulate scissor -p pairs=200 -p drive=true --duration 2 --step 0.005 --output out/scissor.h5 --overwrite
	$(BIN)/sparsebody plot out/scissor.h5 --output out/ --overwrite
	$(BIN)/sparsebody simulate lattice -p rows=8 -p columns=8 --duration 2 --step 0.005 --output out/lattice.h5 --overwrite --quiet
	@echo "3-D pages, for any browser:"
	@$(BIN)/sparsebody view out/scissor.h5 --output $(CURDIR)/out/scissor.html --overwrite
	@$(BIN)/sparsebody view out/lattice.h5 --output $(CURDIR)/out/lattice.html --overwrite

viewer:  ## bundle the script of 3-D pages anew, after changes in sparsebody/viewer/page (needs node and npm)
	mkdir -p build/viewer
	cp sparsebody/viewer/page/package.json sparsebody/viewer/page/package-lock.json build/viewer/
	cd build/viewer && npm ci --no-audit --no-fund
	node sparsebody/viewer/page/build.mjs build/viewer/node_modules

wheel: $(STAMP)  ## a wheel for every x86-64-v2 machine in dist/, faster where AVX2 or AVX-512 is
	$(BIN)/python -m pip wheel --no-deps --wheel-dir dist . \
	  '-Ccmake.define.SPARSEBODY_LEVELS=x86-64-v2;x86-64-v3;x86-64-v4'

study: build .venv/.peers  ## the headline study in 15 minutes, going on where it was stopped; report in out/headline/
	$(BIN)/sparsebody study $(STUDY) --output out/headline --jobs $(JOBS)
	$(BIN)/sparsebody report out/headline

bench: build .venv/.peers  ## benchmark against the peers, in less than 5 minutes; report in out/bench/
	rm -f out/bench/rows.jsonl
	$(BIN)/sparsebody study benchmarks/quick.toml --output out/bench --jobs 1 --budget 270
	$(BIN)/sparsebody report out/bench --from 512

bench-motion: build .venv/.peers  ## errors of motions against CPU time, beside MuJoCo and Exudyn, in 10 minutes; results in benchmarks/results/motion/
	$(BIN)/python -m benchmarks.motion --budget 500

bench-full: build .venv/.peers  ## the same with all sizes, methods and shufflings, in hours
	rm -f out/forward_dynamics/rows.jsonl
	$(MAKE) bench-resume

bench-resume: build .venv/.peers  ## go on with a bench-full that was interrupted; results in benchmarks/results/
	$(BIN)/sparsebody study benchmarks/forward_dynamics.toml --output out/forward_dynamics --jobs 1
	$(BIN)/sparsebody report out/forward_dynamics --from 512
	$(BIN)/python -m benchmarks.record out/forward_dynamics
	$(BIN)/sparsebody study benchmarks/choice.toml --output out/choice --jobs 1
	$(BIN)/python -m benchmarks.record out/choice

.venv/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[docs]'
	touch $@

.venv/.engines: $(STAMP)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[peers]'
	touch $@

# Pinocchio is compiled for mechanisms that its wheel cannot hold; that may fail.
.venv/.peers: .venv/.engines
	-$(MAKE) -f benchmarks/peers/lean/Makefile PYTHON=$(BIN)/python
	touch $@

clean:  ## remove .venv, caches and results
	rm -rf .venv out build dist *.egg-info .*_cache .hypothesis sparsebody/_core/*.so sparsebody/_core/native
	rm -rf docs/gallery docs/reference docs/benchmarks docs/_static/viewer docs/sg_execution_times.rst
	find sparsebody tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
