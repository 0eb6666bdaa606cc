# Needs python3 (3.11 or newer), make and git; `make run` and `make test` install the rest.
PYTHON ?= python3
BIN := .venv/bin
UNIT := $(addprefix tests/,imaging models evaluation reporting studies test_project.py) \
  $(addprefix tests/training/test_,loss.py order.py schedule.py)

# Each commit tries another order of tests, the same on every machine.
SEED ?= $(shell git rev-list --count HEAD 2>/dev/null || echo 0)

.DEFAULT_GOAL := help
.PHONY: help run test unit check slow faults bench fresh clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

run: .venv/installed  ## set up if needed, then the main job: kedro run --pipeline=train_deblur
	$(BIN)/kedro run --pipeline=train_deblur

test: .venv/installed check  ## set up if needed, then every check and test
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder --randomly-seed=$(SEED)

unit: .venv/installed  ## pure functions, networks, parameters, protocols, reporting: under a minute
	$(BIN)/pytest $(UNIT) -k 'not compiled and not exported' -n 2 --dist worksteal

check: .venv/installed  ## ruff, mypy --strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

slow: .venv/installed  ## slow tests except faults: every command of README and docs
	$(BIN)/pytest tests -m slow --ignore=tests/faults -n 2 --dist loadfile

faults: .venv/installed  ## all fault tests, including slow ones; writes docs/reliability.md
	$(BIN)/pytest tests/faults -m 'slow or not slow' -n 2 --dist loadfile --no-loadscope-reorder \
	  --junitxml=faults.xml
	$(BIN)/python docs/make_reliability.py

bench: .venv/installed  ## measure every promise on speed and memory; writes docs/performance.md
	$(BIN)/python docs/make_scale.py
	$(BIN)/python benchmarks

fresh:  ## make run and make test in a fresh clone, with an empty environment and no browser
	tests/fresh.sh run test

clean:  ## remove the environment and the caches; keep data
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
