# The three commands of this project: `make demo`, `make test`, and `make setup`, which both use.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready

.PHONY: setup demo test checks check-wheel docs-api check-js test-slow test-numba test-cluster test-sb3 bench figures clean

setup: $(STAMP)

# Installs the package and its tools at the versions of constraints.txt into .venv.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Omnimeter needs Python 3.11 or newer: make PYTHON=python3.12 setup"; exit 1; }
	@echo "Setting up .venv: a minute or two, about 900 MB."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[dev]'
	@touch $@

# Known agents, learners and agents of ten lines take an anytime test and a battery: tables, and a
# page that compares them.
demo: $(STAMP)
	$(BIN)/omnimeter campaign run examples/demo.toml --out evaluations/demonstration
	$(BIN)/omnimeter campaign results evaluations/demonstration
	$(BIN)/omnimeter report evaluations/demonstration

# All checks and all tests but the slow ones, on all cores: most of their time is compiling.
test: checks
	$(BIN)/pytest -m 'not slow' --numprocesses auto --maxprocesses 4 --dist worksteal

checks: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory check-js; \
		else echo "The types of the pages' JavaScript are not checked: there is no npm."; fi

# The wheel, which users install, in an environment without the tools: half a minute.
check-wheel: $(STAMP)
	$(BIN)/python .ci/wheel.py

# The reference of the Python API, from the docstrings.
docs-api: $(STAMP)
	$(BIN)/python docs/api.py

# The types of the pages' JavaScript, which users get as it is: only this check needs npm.
check-js: node_modules/.bin/tsc
	node_modules/.bin/tsc --project jsconfig.json

node_modules/.bin/tsc: package.json
	npm install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

# Statistical and fault tests that take minutes, and all properties on new random examples.
test-slow: $(STAMP)
	$(BIN)/pytest -m 'slow or hypothesis' --hypothesis-profile searching

# The compiled loop with the oldest and the newest Numba that pyproject.toml admits, each in an
# environment of its own. NumPy and LLVM are those that this Numba asks for.
OLDEST_NUMBA := $(shell sed -n 's/.*"numba>=\([0-9.]*\).*/\1/p' pyproject.toml)
NUMBA_VENV ?= .venv-numba

test-numba:
	@set -e; for numba in "numba==$(OLDEST_NUMBA)" "numba"; do \
		rm -rf $(NUMBA_VENV); $(PYTHON) -m venv $(NUMBA_VENV); \
		grep -vE '^(numba|llvmlite|numpy)==' constraints.txt > $(NUMBA_VENV)/constraints.txt; \
		$(NUMBA_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
			--constraint $(NUMBA_VENV)/constraints.txt --editable '.[dev]' "$$numba"; \
		$(NUMBA_VENV)/bin/python -c 'import numba, numpy; print("Numba", numba.__version__, "with NumPy", numpy.__version__)'; \
		OMNIMETER_CACHE_DIR=$(NUMBA_VENV)/cache $(NUMBA_VENV)/bin/pytest -q -m 'not slow' \
			tests/interaction/test_compiled.py tests/interaction/test_joint.py tests/interaction/test_kernels.py \
			tests/interaction/test_kernel_cache.py; \
	done; rm -rf $(NUMBA_VENV)

# Campaigns on clusters, with a real Ray in an environment of its own and a real SLURM from the
# system's packages (slurm-wlm, munge), each in a private network: as root, on Linux.
CLUSTER_VENV ?= .venv-cluster

test-cluster:
	@set -e; rm -rf $(CLUSTER_VENV); $(PYTHON) -m venv $(CLUSTER_VENV); \
		$(CLUSTER_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
			--constraint constraints.txt --editable '.[dev,cluster]'; \
		OMNIMETER_CACHE_DIR=$(CURDIR)/$(CLUSTER_VENV)/cache $(CLUSTER_VENV)/bin/pytest -q -m slow \
			tests/execution/test_cluster.py tests/execution/test_slurm.py tests/cli/test_cli_cluster.py
	@rm -rf $(CLUSTER_VENV)

# Models that a real Stable-Baselines3 trains, and a trainer in plain PyTorch, in an environment of
# its own: PyTorch is large. A build for processors only is taken where the index has one.
SB3_VENV ?= .venv-sb3

test-sb3:
	@set -e; rm -rf $(SB3_VENV); $(PYTHON) -m venv $(SB3_VENV); \
		$(SB3_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
			--constraint constraints.txt --editable '.[dev,sb3]'; \
		$(SB3_VENV)/bin/python -c 'import torch, stable_baselines3 as sb3; print("Stable-Baselines3", sb3.__version__, "with PyTorch", torch.__version__)'; \
		OMP_NUM_THREADS=1 OMNIMETER_CACHE_DIR=$(CURDIR)/$(SB3_VENV)/cache $(SB3_VENV)/bin/pytest -q \
			tests/sb3 'tests/test_docs.py::test_page_does_what_it_says[docs/stable-baselines3.md]'
	@rm -rf $(SB3_VENV)

# Ratios against hand-written C++, Gymnasium, MiniGrid, plain Python and limits of time.
bench: $(STAMP)
	-@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[bench]'
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/stepping.py
	$(BIN)/python benchmarks/gymnasium_adapter.py
	$(BIN)/python benchmarks/loop.py
	$(BIN)/python benchmarks/lambda_loop.py
	$(BIN)/python benchmarks/anytime.py
	$(BIN)/python benchmarks/brl.py
	$(BIN)/python benchmarks/variability.py
	$(BIN)/python benchmarks/campaign.py report
	$(BIN)/python benchmarks/campaign.py campaign
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/units.py
	$(BIN)/python benchmarks/pworld.py
	$(BIN)/python benchmarks/journal.py
	$(BIN)/python benchmarks/perturbation.py
	$(BIN)/python benchmarks/people.py
	$(BIN)/python benchmarks/programs.py
	$(BIN)/python benchmarks/markov.py

# The pictures of report pages in README and docs, with today's numbers: needs Chromium.
figures: $(STAMP)
	$(BIN)/python docs/images/reports.py

clean:
	rm -rf .venv .venv-numba .venv-cluster .venv-sb3 node_modules build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .screenshots
