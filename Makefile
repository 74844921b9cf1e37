# Everything runs from a virtual environment in this folder; only test-system needs root.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test test-fast test-system tools lint bench docs clean

help:
	@echo "make demo         see the tool at work on a gateway's Service"
	@echo "make test         run all tests, with the real external programs"
	@echo "make test-fast    run the tests that need no external program"
	@echo "make test-system  run the tests that need root and Linux: real traffic through kube-proxy"
	@echo "make lint         format, lint, types and import direction"
	@echo "make docs         generate what is generated in docs/"
	@echo "make bench        measure against kubectl and kustomize"
	@echo "make clean        remove the virtual environment and caches of this folder"

demo: $(VENV)/.runtime
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/gateway/demo.sh

test: $(VENV)/.dev tools
	$(BIN)/pytest --numprocesses auto --dist loadgroup -m "not system"

test-fast: $(VENV)/.dev
	$(BIN)/pytest --numprocesses auto -m "not external and not system" --ignore=tests/cluster
	@echo "Left out: what runs external programs or a control plane (make test runs it all)."

test-system: $(VENV)/.dev tools
	@$(BIN)/python tests/tools/install.py system
	@sh tests/dataplane/packages.sh || test -n "$$LBIPMODE_WITHOUT_DATAPLANE"
	PATH="$$PATH:/usr/sbin:/sbin" $(BIN)/pytest -m system

tools: $(VENV)/.dev
	@$(BIN)/python tests/tools/install.py base cluster

lint: $(VENV)/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py

bench: $(VENV)/.dev tools
	$(BIN)/python tests/bench/run.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) \
	else "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 …")'
	@echo "Setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip --quiet --disable-pip-version-check install --upgrade "pip>=25.1"

$(VENV)/.runtime: $(VENV)/bin/pip pyproject.toml
	@$(BIN)/pip --quiet --disable-pip-version-check install --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@echo "Installing what the tests need …"
	@$(BIN)/pip --quiet --disable-pip-version-check install --group dev
	@touch $@
