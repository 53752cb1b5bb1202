"""The log stays in the warehouse: compute metrics per segment with DuckDB macros, and the same numbers with Polars.

The example registers the macros with `ec.register(connection)` and calls them like the Python functions. In SQL, too, an abstain
decision, a stated prior and a threshold are named arguments.
"""

import math

import duckdb
import polars as pl

import polars_ec as ec

# A log that needs no random numbers: the fractional parts of multiples of irrational numbers are evenly spread.
LOG = """
CREATE TABLE log AS
WITH draws AS (
    SELECT i, CASE i % 3 WHEN 0 THEN 'north' WHEN 1 THEN 'south' ELSE 'online' END AS segment,
           (i * sqrt(2e0)) % 1 AS u, (i * sqrt(3e0)) % 1 AS v
    FROM range(30000) AS t(i)
)
-- Posteriors are right in the north and the south, and overconfident online.
SELECT segment, u AS p, CAST(v < CASE segment WHEN 'online' THEN 0.25 + 0.5 * u ELSE u END AS INTEGER) AS label
FROM draws
"""

PER_SEGMENT = """
SELECT segment,
       ec.n_rows(p, label) AS n,
       ec.class_prior(p, label) AS prior,
       ec.nec(p, label, cost_fn := 10) AS nec,
       ec.nec(p, label, cost_fn := 10, prior := 0.05) AS nec_at_prior,
       ec.nce(p, label) AS nce,
       ec.precision(p, label, threshold := 0.8) AS precision,
       ec.precision(p, label, threshold := 0.8, prior := 0.05) AS precision_at_prior
FROM log GROUP BY segment ORDER BY segment
"""

ABSTAIN = """
SELECT segment, ec.nec([1 - p, p], label, costs := [[0, 1, 0.2], [1, 0, 0.2]]) AS nec_abstain
FROM log GROUP BY segment ORDER BY segment
"""


def in_polars(log: pl.DataFrame) -> pl.DataFrame:
    """PER_SEGMENT, by the functions of the same names."""
    return (
        log.group_by("segment")
        .agg(
            ec.n_rows("p", "label").alias("n"),
            ec.class_prior("p", "label").alias("prior"),
            ec.nec("p", "label", cost_fn=10).alias("nec"),
            ec.nec("p", "label", cost_fn=10, prior=0.05).alias("nec_at_prior"),
            ec.nce("p", "label").alias("nce"),
            ec.precision("p", "label", threshold=0.8).alias("precision"),
            ec.precision("p", "label", threshold=0.8, prior=0.05).alias("precision_at_prior"),
        )
        .sort("segment")
    )


def show(cursor: duckdb.DuckDBPyConnection) -> list[tuple]:
    names = [column[0] for column in cursor.description]
    rows = cursor.fetchall()
    print("".join(f"{name:>20}" for name in names))
    for row in rows:
        print("".join(f"{value:>20.4f}" if isinstance(value, float) else f"{value:>20}" for value in row))
    print()
    return rows


def main() -> None:
    connection = duckdb.connect()
    ec.register(connection)
    connection.execute(LOG)
    rows = show(connection.execute(PER_SEGMENT))
    show(connection.execute(ABSTAIN))
    same = in_polars(pl.from_arrow(connection.sql("SELECT * FROM log").to_arrow_table())).rows()
    agree = all(
        x == y or math.isclose(x, y, rel_tol=1e-12)
        for a, b in zip(rows, same, strict=True)
        for x, y in zip(a, b, strict=True)
    )
    print(f"DuckDB and Polars agree to 12 digits: {agree}")


if __name__ == "__main__":
    main()
