# Sets everything up on a fresh machine: `make demo`, then `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_DIR ?= outputs/demo

.PHONY: demo test test-all lint setup system clean

demo: setup
	$(BIN)/yardarm eval --policy.type=expert --env.type=metaworld \
	  --env.task=reach-v3,door-open-v3,drawer-close-v3,push-v3,pick-place-v3 \
	  --eval.n_episodes=20 --output_dir=$(DEMO_DIR)
	$(BIN)/yardarm replay $(DEMO_DIR) --task=door-open-v3 --episode=0

test: setup lint
	$(BIN)/python -m pytest

test-all: setup lint
	$(BIN)/python -m pytest -m ""

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: system $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Yardarm needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[metaworld,dev]'
	touch $@

# Rendering without a display needs Mesa.
system:
	@sh scripts/install_mesa.sh

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
