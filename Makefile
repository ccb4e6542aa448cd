# Everything runs in .venv, which is made here; nothing else on the machine is touched.
PYTHON ?= python3
BIN := .venv/bin
# Works where Debian's python3-venv is missing: the system's pip installs into the environment.
PIP := $(PYTHON) -m pip --disable-pip-version-check --python $(BIN)/python install --quiet

.PHONY: help demo test quick fuzz lint docs release benchmarks compare report experiments page architecture clean

help:  ## list these commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: .venv/demo  ## predict the delays of 274,000 real flights; a table and a figure in under two minutes
	$(BIN)/python examples/flights.py

test: .venv/test  ## run the tests
	$(BIN)/python -m pytest -n auto

quick: .venv/test  ## run the tests that take no time, in under a minute
	$(BIN)/python -m pytest -n auto -m "not slow"

fuzz: .venv/test  ## cases drawn at random for MINUTES=60 of files, tables and fits; SEED=7 chooses others than today's
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),60) --processes $(or $(PROCESSES),2) $(if $(SEED),--seed $(SEED))

lint: .venv/lint  ## check format, style, types and who imports whom
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo

docs: .venv/docs  ## make the site in docs/_build/html, run its examples and check its links
	rm -rf docs/_build
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	$(BIN)/python -m docs.site docs/_build/html

release: .venv/release  ## build wheel and sdist, check them and try them in empty environments; uploads nothing
	$(BIN)/python -m release $(PYTHONS)

benchmarks: .venv/demo  ## the measured claims; DATA=folder adds AIMPEAK and AIRLINE
	$(BIN)/python -m benchmarks.step
	$(BIN)/python -m benchmarks.one_row
	$(BIN)/python -m benchmarks.flights
ifdef DATA
	$(BIN)/python -m benchmarks.aimpeak --data $(DATA)
	$(BIN)/python -m benchmarks.airline --data $(DATA)
endif

compare: .venv/peers  ## the forest beside its peers (an hour); DATA=folder holds the tables
	$(BIN)/python -m benchmarks.compare $(if $(DATA),--data $(DATA),--tables flights)
	$(BIN)/python -m benchmarks.compare_report

report: .venv/demo  ## redraw the comparison's table and figure from results/, without refitting
	$(BIN)/python -m benchmarks.compare_report

experiments: .venv/experiments  ## the paper's evaluation again (hours; QUICK=1 minutes); DATA=folder holds the tables
	$(BIN)/python -m experiments run $(if $(QUICK),--quick) $(if $(DATA),--data $(DATA))

page: .venv/experiments  ## redraw the evaluation's figures and page from results/, without refitting
	$(BIN)/python -m experiments draw $(if $(QUICK),--quick)

architecture: .venv/test  ## draw docs/architecture.svg from the code, and print figures of it
	$(BIN)/python -m docs.drawing

clean:  ## remove what was made here
	rm -rf .venv dist figures results docs/_build docs/examples docs/generated

.venv/python:
	$(PYTHON) -m venv --without-pip .venv
	touch $@

# What an extra of pyproject.toml brings.
.venv/%: .venv/python pyproject.toml
	$(PIP) --editable '.[$*]'
	touch $@

.venv/lint: .venv/python pyproject.toml
	$(PIP) --editable '.[dev]'
	touch $@
