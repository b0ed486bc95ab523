# Every target does its own set-up: the first run makes .venv, pinned by constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# One worker more than cores, since many tests wait for a browser, a server or another process.
PYTEST := $(BIN)/python -m pytest -n 3 --dist worksteal -q --durations=10
EXTRAS := accounting,arviz,bench,docs,files,lint,postgresql,spark,test,web
# Of its own: `make test` does without PyMC, and `make test-slow` installs it.
LONG := pymc

.PHONY: setup demo test test-slow test-all test-pythons lint bench numbers pictures report proofs docs constraints clean

setup: $(VENV)/.all

$(VENV)/.core: pyproject.toml papers/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[accounting]' -e ./papers
	touch $@

$(VENV)/.all: $(VENV)/.core
	$(PIP) -e '.[$(EXTRAS)]'
	touch $@

$(VENV)/.long: $(VENV)/.all
	$(PIP) -e '.[$(LONG)]'
	touch $@

# Libraries that docs/howto/coming_from.md compares with and that do not go together with the others.
$(VENV)/.peers: $(VENV)/.core tests/peers.txt
	$(PYTHON) -m venv $(VENV)/peers
	$(VENV)/peers/bin/python -m pip install --quiet --disable-pip-version-check -r tests/peers.txt
	touch $@

demo: $(VENV)/.core
	$(BIN)/python examples/demo.py

test: setup
	$(PYTEST) -m 'not slow'

test-slow: $(VENV)/.long $(VENV)/.peers
	$(PYTEST) -m slow

test-all: test test-slow

# On every Python from 3.11 on that the machine has, with the wheel and the source archive; about 8 minutes each.
test-pythons:
	$(PYTHON) tests/pythons.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks

numbers: setup
	$(BIN)/python -m benchmarks --write-numbers

pictures: setup
	$(BIN)/python -m benchmarks.pictures

report: $(VENV)/.core
	$(BIN)/discreet reproduce --out build/report

# Needs coqc (Debian: apt install coq) and Python alone.
proofs:
	$(PYTHON) papers/proofs/check.py

docs: setup
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs

# Pins for everything the targets install: names and versions only.
constraints:
	rm -rf build/pins && $(PYTHON) -m venv build/pins
	build/pins/bin/python -m pip install --quiet '.[$(EXTRAS),$(LONG)]' ./papers
	build/pins/bin/python -m pip freeze --exclude discreet --exclude discreet-papers --exclude-editable | grep -E '^[A-Za-z0-9._-]+==' > constraints.txt

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
