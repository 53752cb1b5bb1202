"""One module per solution, in the order of the page; what a module has is in the docstring of `task`.

`TITLE` is its name on the page, `PACKAGE` the distribution whose version is shown, `INSTALL` what pip installs; solutions that install
the same share an environment. `TWO_CLASSES` and `MANY_CLASSES` are the tasks that it offers, `IN_MEMORY` those for which the log
must fit in memory.
"""

NAMES = (
    "polars_ec_polars",
    "polars_ec_sketch",
    "polars_ec_duckdb",
    "duckdb_sql",
    "clickhouse",
    "spark",
    "polarbearings",
    "polars_ds",
    "scikit_learn",
    "fairlearn",
    "torchmetrics",
)
# What the others are compared with.
FLOOR = "floor"
