"""Time and peak memory of polars_ec beside bare aggregates, hand-written SQL and other libraries.

`python -m tests.benchmarks --rows 20_000_000` in the root of the repository, or `make bench`.

    layout.py    where the logs lie
    logs.py      makes the prediction logs, once, in the git-ignored folder .benchmarks
    queries.py   the SQL of the DuckDB cases
    case.py      what a case is
    cases.py     the table of cases; polars_cases, class_cases, key_cases, duckdb_cases, start_cases, peers: a small function each
    measure.py   runs one case in a process of its own
    summary.py   the table, and the check that all cases give the same values
    targets.py   the targets
    sketch_folder.py  the sketches that the case of a folder reports on
    __main__.py  the command line
"""
