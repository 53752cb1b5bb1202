# Each target makes the environment it needs; the machine needs Python (with venv and pip) and make.
PYTHON ?= python3
# Without bytecode each of the many processes that tests start would compile the package anew; seeded faults set it for themselves.
export PYTHONDONTWRITEBYTECODE :=
ROWS ?= 20_000_000
FIELD_ROWS ?= 1e6
EXAMPLES ?= 200
PYTHONS := 3.11 3.12 3.13 3.14
DUCKDBS := 1.4 1.5 2
NEWEST = $(lastword $(foreach version,$(PYTHONS),$(shell python$(version) -c '' 2> /dev/null && echo $(version))))
NUMERIC := tests/metrics tests/cells tests/calibration tests/papers tests/intervals \
	$(wildcard tests/test_intervals*.py tests/test_compare*.py tests/test_bootstrap.py)
KILLS ?= 100
VENV := .venv

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: demo papers docs pictures test lint package bench fuzz test-all test-slow coverage test-faults test-cpu test-pythons test-newest test-duckdb test-lowest test-spark test-postgres test-dbt test-lake test-platforms test-partitions field sql dbt-package vega clean

demo: .venv/demo
	$(VENV)/bin/python -m examples.demo

# Every table and figure of the papers beside what is printed; their figures and all numbers go to papers-output/.
papers: .venv/demo
	$(VENV)/bin/python -m examples.papers --out papers-output

test: .venv/test
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal

# What is slow by nature as well: papers through every door, large score sets, long examples; the papers' tables and figures; and how
# often intervals hold.
test-all: test test-slow papers coverage
test-slow: .venv/test
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal -m slow

# How often intervals hold the truth, in 1,000 simulated groups a point.
coverage: .venv/test
	$(VENV)/bin/python -m tests.coverage

# Some thirty faults, each put into a copy of the sources: the tests named for it must fail.
test-faults: .venv/test
	$(VENV)/bin/python -m tests.seeded_faults

lint: .venv/dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

# The wheel and the source distribution in dist/, as an index takes them.
package: .venv/dev
	rm -rf dist/polars_ec-*
	$(VENV)/bin/python -m build --outdir dist
	$(VENV)/bin/twine check --strict dist/polars_ec-*

bench: .venv/bench
	$(VENV)/bin/python -m tests.benchmarks --rows $(ROWS)

# The benchmark of the field: this package and others, each in an environment of its own below field-output/. FIELD_ROWS=1e7,1e8 for more.
field: .venv/demo
	$(VENV)/bin/python -m examples.benchmarks --install --rows $(FIELD_ROWS)

# The tests of numbers once more, as on a CPU that has none of the features that NumPy has its own code for.
test-cpu: .venv/test
	NPY_DISABLE_CPU_FEATURES="$$($(VENV)/bin/python -m tests.support.cpu_features)" $(VENV)/bin/python -m pytest -n 2 $(NUMERIC)

# Every version of Python that is supported, where the machine has it; each in an environment of its own.
test-pythons: $(PYTHONS:%=test-python%)
test-python%: .venv-%/test
	.venv-$*/bin/python -m pytest -n 2

# The tests of numbers, and the types, with the newest version of Python that the machine has and the newest NumPy.
test-newest: .venv-$(NEWEST)/test
	.venv-$(NEWEST)/bin/python -m pytest -n 2 $(NUMERIC)
	.venv-$(NEWEST)/bin/mypy

.venv-3.%/test: pyproject.toml
	python3.$* -m venv .venv-3.$*
	.venv-3.$*/bin/python -m pip install --quiet --editable ".[dev]"
	touch $@

# The property tests on other random logs each time, and more of them; flipped bits; and jobs that are killed.
FUZZED := metrics/test_properties metrics/test_digits cells/test_sketches cells/test_sketch_files cells/test_curves \
	sql/test_properties sql/test_calibration cli/test_inputs cli/test_time_zones cli/test_sketch_kills
fuzz: .venv/test
	EXAMPLES=$(EXAMPLES) KILLS=$(KILLS) $(VENV)/bin/python -m pytest -n 2 -m "slow or not slow" $(FUZZED:%=tests/%.py)

# The tests of the macros with each series of DuckDB, in an environment of its own.
test-duckdb: $(DUCKDBS:%=test-duckdb-%)
test-duckdb-%: .venv-duckdb-%/test dist/ec.duckdb
	.venv-duckdb-$*/bin/python -m pytest -n 2 tests/sql

# DuckDB 1.4 writes it, for all.
dist/ec.duckdb: .venv-duckdb-1.4/test sql/polars_ec_duckdb_1.sql
	.venv-duckdb-1.4/bin/python -m sql.generate.database

.venv-duckdb-%/test: pyproject.toml
	$(PYTHON) -m venv .venv-duckdb-$*
	.venv-duckdb-$*/bin/python -m pip install --quiet --editable ".[test]" "duckdb==$*.*"
	touch $@

# The lowest versions that pyproject.toml allows, in an environment of their own.
test-lowest: .venv-lowest/test
	.venv-lowest/bin/python -m pytest -n 2

# Needs Java 17 as well.
test-spark: .venv/spark
	$(VENV)/bin/python -m pytest -m spark tests/sql/test_spark*.py

# Needs psql and a server: make test-postgres DSN='host=... user=... dbname=...'
test-postgres: .venv/test
	DSN="$(DSN)" $(VENV)/bin/python -m pytest -m postgres tests/sql/test_postgres.py

# The dbt package on DuckDB; on PostgreSQL as well with DSN='host=... user=... dbname=...'. In an environment of its own: dbt asks for
# old versions of much.
test-dbt: .venv-dbt/test-dbt
	DSN="$(DSN)" .venv-dbt/bin/python -m pytest -m dbt tests/dbt

# Logs in object stores, which servers on this machine stand for. A file of tests stays in one process, and fewer of the native
# libraries of lakes share it: all in one have crashed.
test-lake: .venv/test-lake
	$(VENV)/bin/python -m pytest -n 2 --dist loadfile -m lake tests/lakes

# The recipe for MLflow and the notebook for marimo, in an environment of their own.
test-platforms: .venv-platforms/test-platforms
	.venv-platforms/bin/python -m pytest -m platforms tests/test_platforms.py

# A sketch a partition by Ray and by Daft.
test-partitions: .venv/test-partitions
	$(VENV)/bin/python -m pytest -m partitions tests/sql/test_partitions.py

# The site, below site/: the pages of docs/ and the docstrings. It fails on a broken link.
docs: .venv/docs
	$(VENV)/bin/python docs/website

# The pictures of docs/gallery.md and the tutorials anew, the pages of docs/papers/ with theirs, and the README's, which the demo draws.
pictures: .venv/docs demo
	$(VENV)/bin/python docs/website/pictures.py
	$(VENV)/bin/python docs/website/papers.py
	cp demo-output/precision.svg docs/pictures/

# The one-file bundle that any DuckDB client can load, from the files of the families and the signatures of the functions; and the
# formulas of the dbt package, from the queries for warehouses.
sql: .venv/test
	$(VENV)/bin/python -m sql.generate.overloads
	$(MAKE) dist/ec.duckdb
	$(VENV)/bin/python -m sql.generate.dbt_macros
	$(VENV)/bin/python -m sql.generate.dbt_sketch_parts

# The dbt package as a repository of its own, dist/dbt-polars-ec/.
dbt-package:
	$(PYTHON) -m sql.generate.dbt_package

# The libraries that draw the charts of pages, from vl-convert; see the licences beside them.
vega: .venv/test
	$(VENV)/bin/python -c "import lzma, pathlib, polars_ec.plot.files as f; pathlib.Path('polars_ec/plot/assets/vega.js.xz').write_bytes(lzma.compress(f.bundle().encode(), preset=9))"

.venv/bin/python:
	$(PYTHON) -m venv $(VENV)

.venv/%: .venv/bin/python pyproject.toml
	$(VENV)/bin/python -m pip install --quiet --editable ".[$*]"
	touch $@

.venv-dbt/test-dbt .venv-platforms/test-platforms: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --editable ".[$(@F)]"
	touch $@

.venv-lowest/test: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --requirement tests/lowest.txt --editable ".[test]"
	touch $@

clean:
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis dist demo-output papers-output field-output .site site
