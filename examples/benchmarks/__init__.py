"""The benchmark of the field: metrics per group of a classifier's log, by this package and by other libraries.

`python -m examples.benchmarks --install` in the root of the repository, or `make field`. The page `docs/explanation/field.md` has the
rules and a run.

    task.py      what is computed, and what a runner gets
    runners/     one file per solution
    data.py      the logs, and the oracle that answers are compared with
    worker.py    runs one task of one runner, in the runner's environment
    run.py       environments, sizes, checks and rounds; gives the results
    page.py      the table and the page of a result file
    __main__.py  the command line
"""
