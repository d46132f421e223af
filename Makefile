# queryveil: `make help` lists what there is. Everything runs from .venv, which is built on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo quick test explore lint bench bench-check bench-full wheel docs clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 18

# ready: what the demo and `queryveil serve` need; dev-ready: everything
$(VENV)/ready $(VENV)/dev-ready: pyproject.toml constraints.txt scripts/make_venv
	@PYTHON="$(PYTHON)" scripts/make_venv $(VENV) $(if $(findstring dev,$@),dev,serve)
	@touch $(VENV)/ready $@

demo: $(VENV)/ready ## make a demo log, anonymise it, verify it, tamper with it, and show the report's path
	@$(BIN)/python scripts/demo.py

test: $(VENV)/dev-ready ## install what the tests need, check the style and types, and run all tests
	@scripts/system_packages
	@$(MAKE) --no-print-directory lint
	@$(BIN)/python -m pytest -n 2 tests

QUICK := tests/core tests/engines tests/histories tests/kinds tests/lexicons tests/market tests/measures tests/report tests/verifiers \
	tests/test_layers.py tests/test_declarations.py

quick: $(VENV)/dev-ready ## run the tests to run while working: a minute once kernels are compiled
	@$(BIN)/python -m pytest -q -n 2 $(QUICK)

ROUNDS ?= 10
explore: $(VENV)/dev-ready ## run the property tests on new random examples, ROUNDS times (10)
	@for i in $$(seq $(ROUNDS)); do env -u CI $(BIN)/python -m pytest -q -n 2 -m hypothesis tests || exit 1; done

lint: $(VENV)/dev-ready ## check style (ruff) and types (mypy, strict)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/dev-ready ## measure speed and memory as ratios against named baselines, and write them to figures.md
	@$(BIN)/python -m benchmarks

bench-check: $(VENV)/dev-ready ## measure again and name the ratios that are worse than the repository's by more than 15 %
	@$(BIN)/python -m benchmarks check

bench-full: $(VENV)/dev-ready ## the same on logs of real size: hours
	@$(BIN)/python -m benchmarks full

wheel: $(VENV)/dev-ready ## build dist/*.whl with the kernels' machine code for x86-64-v3, so that nothing is compiled where it runs
	@$(BIN)/python -m scripts.build_kernels
	@$(BIN)/python -m hatchling build -t wheel

docs: $(VENV)/dev-ready ## write the generated reference pages anew
	@$(BIN)/python -m scripts.build_docs

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
