# `make` prints what there is to make. Each target does its own set-up; the second time there is nothing left to do.

PYTHON := .venv/bin/python

# What a shell may bring along would otherwise choose other packages, or another Spark, than the ones in .venv.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PIP_USER PIP_TARGET PIP_PREFIX SPARK_HOME

# Two targets would otherwise set up the same .venv at once.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help demo test check bench format clean setup-run setup-dev java

help: ## print this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: setup-run java ## see it work: a small database from first write to change feed
	@.venv/bin/viewkeeper demo

test: setup-dev java ## run the tests
	@$(PYTHON) -m pytest

check: setup-dev ## lint, format, types, import layers, spelling
	@$(PYTHON) -m ruff check
	@$(PYTHON) -m ruff format --check
	@$(PYTHON) -m mypy
	@.venv/bin/lint-imports --no-logo
	@$(PYTHON) -m codespell_lib

bench: setup-run java ## measure, each figure beside a bare one of the same run
	@$(PYTHON) -m benchmarks

format: setup-dev ## rewrite the code in its one format
	@$(PYTHON) -m ruff check --fix --select I
	@$(PYTHON) -m ruff format

clean: ## remove .venv and everything that was made
	@rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup-run:
	@scripts/setup run

setup-dev:
	@scripts/setup dev

# Spark runs on it; where it is missing and cannot be installed, one line says what to install.
java:
	@scripts/java
