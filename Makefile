# Sets everything up on a fresh machine: `make demo`, then `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_DIR ?= outputs/demo

# What `make test-slow PART=…` runs: folders or files below tests/, or a test of a file (stats/test_power.py::test_…).
PARTS := $(or $(addprefix tests/,$(PART)),tests)
WRONG_PARTS := $(strip $(foreach part,$(PARTS),$(if $(wildcard $(firstword $(subst ::, ,$(part)))),,$(part))))
ifneq ($(WRONG_PARTS),)
  $(error PART=$(PART): there is no $(WRONG_PARTS); give a folder or a file below tests/, like PART=cluster)
endif

.PHONY: demo test test-all test-slow check lint docs system browser clean

demo: system $(VENV)/.installed
	$(BIN)/yardarm eval --policy.type=mt10-act --against=expert --env.type=metaworld \
	  --env.task=reach-v3,door-open-v3,drawer-close-v3,push-v3,pick-place-v3 \
	  --eval.n_episodes=20 --output_dir=$(DEMO_DIR)
	$(BIN)/yardarm replay $(DEMO_DIR) --task=door-open-v3 --episode=0
	$(BIN)/yardarm report $(DEMO_DIR)   # now with its video

test: lint system browser
	$(BIN)/python -m pytest

test-all: lint system browser
	$(BIN)/python -m pytest -m "" -n 0

# For everyday work: what has changed since the last push, or since another commit (make check SINCE=HEAD~3).
check: lint
	$(BIN)/python -m pytest --quiet -n 2 $$($(BIN)/python scripts/changed_tests.py $(SINCE))

# pytest answers with 5 where it finds nothing to run.
test-slow: system browser $(VENV)/.installed-dev
	@$(BIN)/python -m pytest -m slow -n 0 $(PARTS) || { status=$$?; \
	  [ $$status -ne 5 ] || echo "$(PARTS): no slow tests there" >&2; exit $$status; }

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Yardarm needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "On Debian or Ubuntu: sudo apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.python
	$(BIN)/python -m pip install --quiet --editable '.[metaworld]'
	touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.python
	$(BIN)/python -m pip install --quiet --editable '.[worlds,dev]'
	touch $@ $(VENV)/.installed

# The pages as a site, in build/docs. Its tools have an environment of their own, which needs neither torch nor a simulator.
docs: .venv-docs/.installed
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build
	@echo "Open build/docs/index.html, or with search: python3 -m http.server --directory build/docs"

.venv-docs/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-docs/bin/python -m pip install --quiet --group docs
	touch $@

# Rendering without a display needs Mesa.
system:
	@sh scripts/install_mesa.sh

# Tests look at pages in a real browser.
browser:
	@sh scripts/install_chromium.sh

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
