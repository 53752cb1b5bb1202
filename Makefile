# Each target makes the environment it needs; the machine needs Python (with venv and pip) and make.
PYTHON ?= python3
ROWS ?= 20_000_000
EXAMPLES ?= 200
KILLS ?= 100
VENV := .venv

.DELETE_ON_ERROR:
.PHONY: demo test lint bench fuzz test-lowest test-spark test-postgres sql clean

demo: .venv/demo
	$(VENV)/bin/polars-ec demo

test: .venv/test
	$(VENV)/bin/python -m pytest -n 2

lint: .venv/dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: .venv/bench
	$(VENV)/bin/python -m tests.benchmarks --rows $(ROWS)

# The property tests on other random logs each time, and more of them; flipped bits; and jobs that are killed.
FUZZED = tests/test_properties.py tests/test_sketch_files.py tests/test_cli_inputs.py tests/test_time_zones.py tests/test_sketch_job.py
fuzz: .venv/test
	EXAMPLES=$(EXAMPLES) KILLS=$(KILLS) $(VENV)/bin/python -m pytest -n 2 $(FUZZED) \
		-k "test_properties or flipped_bit or against_the_csv_module or cut_alike or nothing_is_lost"

# The lowest versions that pyproject.toml allows, in an environment of their own.
test-lowest: .venv-lowest/test
	.venv-lowest/bin/python -m pytest -n 2

# Needs Java 17 as well.
test-spark: .venv/spark
	$(VENV)/bin/python -m pytest -m spark tests/test_spark.py

# Needs psql and a server: make test-postgres DSN='host=... user=... dbname=...'
test-postgres: .venv/test
	DSN="$(DSN)" $(VENV)/bin/python -m pytest -m postgres tests/test_postgres.py

# The one-file bundle that any DuckDB client can load, from the files of the families.
sql:
	cat sql/rows.sql sql/counts.sql sql/decisions.sql sql/scoring_rules.sql sql/sketch.sql sql/ranking.sql sql/calibration.sql sql/ece.sql > sql/polars_ec.sql

.venv/bin/python:
	$(PYTHON) -m venv $(VENV)

.venv/%: .venv/bin/python pyproject.toml
	$(VENV)/bin/python -m pip install --quiet --editable ".[$*]"
	touch $@

.venv-lowest/test: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --requirement tests/lowest.txt --editable ".[test]"
	touch $@

clean:
	rm -rf .venv .venv-lowest .pytest_cache .mypy_cache .ruff_cache .hypothesis dist demo-output
