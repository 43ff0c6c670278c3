# The commands of this project. `make` lists them; the first one that needs it sets .venv up.

# Newest first; the versions that every pinned dependency has a wheel for come before the rest.
PYTHONS = python3.14 python3.13 python3.12 python3.11 python3
PYTHON = $(shell for name in $(PYTHONS); do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$name && break; done)

VENV = .venv
RUN = $(VENV)/bin/python -m
SETUP = $(VENV)/.set-up

# Other agents are measured in environments of their own.
BENCH_VENV = .venv-bench
BENCH_SETUPS = $(patsubst benchmarks/environments/%.txt,$(BENCH_VENV)/%/.set-up,\
	$(wildcard benchmarks/environments/*.txt))
ROUNDS = 5

HOST = 127.0.0.1
PORT = 8000
TEST = tests graph_agent
# Tests mostly wait for servers and processes, so more run at a time than there are cores.
WORKERS = 3

# Tests that drive a browser run where there is one.
CHROMIUM ?= $(wildcard /usr/bin/chromium)
MARKERS = not local and not slow and not kill$(if $(CHROMIUM),, and not browser)

.DEFAULT_GOAL = help
.PHONY: help run studio test test-slow test-kill test-local check fix lint types bench bench-full \
	bench-environments docs lock clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

run: $(SETUP) ## Set up, then serve the page and the API (HOST=127.0.0.1 PORT=8000)
	$(VENV)/bin/graph-agent serve --host $(HOST) --port $(PORT)

studio: $(SETUP) ## Set up, then serve the graph for LangGraph Studio
	$(VENV)/bin/langgraph dev --no-browser

test: $(SETUP) ## Set up, then run the tests (TEST=tests/nodes for some)
	$(RUN) pytest -q -n $(WORKERS) --dist loadfile -m "$(MARKERS)" $(TEST)

test-slow: $(SETUP) ## Run the tests that take long
	$(RUN) pytest -q -m slow

test-kill: $(SETUP) ## Run the tests that kill processes many times (KILL_ROUNDS=200)
	$(RUN) pytest -q -m kill

test-local: $(SETUP) ## Run the tests that pull and load the embedded model (1.1 GB)
	$(RUN) pytest -q -m local

check: lint types test ## Everything that must pass: lint, types, test

fix: $(SETUP) ## Format the code, and repair what ruff can
	$(RUN) ruff check --fix-only --quiet .
	$(RUN) ruff format .

lint: $(SETUP) ## Check format and style
	$(RUN) ruff format --check .
	$(RUN) ruff check .

types: $(SETUP) ## Check types
	$(RUN) mypy

bench: $(SETUP) ## Measure what an iteration costs, beside other loops (a minute)
	$(RUN) benchmarks run --name short

bench-full: bench-environments ## Measure everything, against what is wanted (ROUNDS=5: half an hour)
	$(RUN) benchmarks run --full --rounds $(ROUNDS) --name full

bench-environments: $(SETUP) $(BENCH_SETUPS)

$(BENCH_VENV)/%/.set-up: benchmarks/environments/%.txt
	@echo "Setting up $(@D)."
	@$(RUN) venv --clear $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	@touch $@

docs: $(SETUP) ## Write what is generated: docs/reference.md, docs/graph.mmd, tables
	$(VENV)/bin/python docs/generate.py

lock: $(SETUP) ## Pin the dependencies anew (UPGRADE=--upgrade takes newer ones)
	$(RUN) pip install --quiet uv
	$(RUN) uv pip compile pyproject.toml --all-extras --universal --generate-hashes $(UPGRADE) \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--quiet --output-file requirements.lock

clean: ## Remove .venv, caches and build results
	rm -rf $(VENV) dist htmlcov .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .langgraph_api
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(SETUP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "This needs Python 3.11 or newer, and none was found." >&2; exit 1; }
	@echo "Setting up $(VENV) with $(PYTHON): about a minute, once."
	@$(PYTHON) -m venv $(VENV)
	@$(RUN) pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	@$(RUN) pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@
