# On a machine with python3 (3.11 or newer), make and git: `make run` or `make test`, nothing else.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run test check slow faults bench clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

run: .venv/installed  ## set up if needed, then the main job: kedro run --pipeline=train_deblur
	$(BIN)/kedro run --pipeline=train_deblur

test: .venv/installed check  ## set up if needed, then every check and test
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder

check: .venv/installed  ## ruff, mypy --strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

slow: .venv/installed  ## the tests that take minutes, faults apart: every command of README and docs
	$(BIN)/pytest tests -m slow --ignore=tests/faults -n 2 --dist loadfile

faults: .venv/installed  ## every fault that is promised to do no harm, in full; then docs/reliability.md
	$(BIN)/pytest tests/faults -m 'slow or not slow' -n 2 --dist loadfile --no-loadscope-reorder \
	  --junitxml=faults.xml
	$(BIN)/python docs/make_reliability.py

bench: .venv/installed  ## the promises of speed and memory, measured; kept in docs/performance.md
	$(BIN)/python docs/make_scale.py
	$(BIN)/python benchmarks

clean:  ## remove the environment and the caches; data stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
