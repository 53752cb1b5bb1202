"""Time and peak memory of polars_ec beside bare aggregates, hand-written SQL and other libraries.

`python -m tests.benchmarks --rows 20_000_000` in the root of the repository, or `make bench`.

    layout.py    where the logs lie
    logs.py      makes the prediction logs, once, in the git-ignored folder .benchmarks
    queries.py   the SQL of the DuckDB cases
    cases.py     the table of cases: one small function each
    measure.py   runs one case in a process of its own
    summary.py   the table, the check that all cases give the same values, and the targets
    __main__.py  the command line
"""
