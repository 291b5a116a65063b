# Each target sets up what it needs in a virtual environment of its own, once: the stamp files tell.
#
#   make demo     annotate, run and verify a bundled program (installs the package and the tracer, nothing else)
#   make test     the test suite, on all cores
#   make check    linter, formatter, type checkers, import layers
#   make rules    the page of the lint rules, rules/README.md, from the rules
#   make bench    every benchmark, each beside what it is measured against
#   make targets  what is written for each generation of the tracer, run with the releases themselves: minutes
#   make workers  every kind of worker process under every start method, traced for real: many minutes
#   make laws     apply, revert and lint over the standard library and torch, thousands of files: minutes

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# An editable install goes stale when dependencies, scripts or the version change, and only then.
DECLARED := pyproject.toml src/dfannotate/__init__.py

.DELETE_ON_ERROR:
.PHONY: help demo test check rules bench targets laws workers clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.tracer
	$(BIN)/dfannotate demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist worksteal $(PYTEST_ARGS)

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-logo

rules: $(VENV)/.test
	$(BIN)/dfannotate rule --all > $(VENV)/rules.md
	@cp $(VENV)/rules.md rules/README.md

bench: $(VENV)/.test
	@failed=0; for bench in tests/benchmarks/bench_*.py; do \
	  echo "== $$bench"; $(BIN)/python "$$bench" || failed=1; \
	done; exit $$failed

targets: $(VENV)/.test
	$(BIN)/python tests/target_matrix.py --folder $(VENV)/targets

workers: $(VENV)/.test
	$(BIN)/python tests/worker_matrix.py

laws: $(VENV)/.test
	$(BIN)/python tests/laws.py
	$(BIN)/python -m tests.lint_laws

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "dfannotate needs Python 3.10 or newer; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.tracer: $(DECLARED) | $(BIN)/python
	@echo "installing dfannotate and the tracer into $(VENV)"
	$(PIP) -e '.[tracer]'
	@touch $@

# The full set contains the small one.
$(VENV)/.test: $(DECLARED) | $(BIN)/python
	@echo "installing dfannotate with its test tools into $(VENV) (torch among them: this takes a while)"
	$(PIP) -e '.[test]'
	@touch $@ $(VENV)/.tracer
