"""Cases that would grow faster than their rows: many groups, buckets, windows, files or bins; of logs made here, the same everywhere."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.case import THRESHOLD, Query
from tests.benchmarks.queries import HAND_WRITTEN, REPORT
from tests.benchmarks.sketch_folder import command_line, write_files

if TYPE_CHECKING:
    import polars as pl

N_FILES = 40


def _log(n_groups: int, rows_per_group: int, n_classes: int = 2) -> pl.DataFrame:
    """Groups of equally many rows: score, label, group and the cluster of a row."""
    import numpy as np
    import polars as pl

    random = np.random.default_rng(0)
    n = n_groups * rows_per_group
    label = random.integers(0, n_classes, n)
    evidence = np.exp(random.normal(size=(n, n_classes)) + np.eye(n_classes)[label])
    posteriors = evidence / evidence.sum(axis=1, keepdims=True)
    score = posteriors[:, 1] if n_classes == 2 else pl.Series(posteriors, dtype=pl.Array(pl.Float64, n_classes))
    keys = {"group": np.arange(n) % n_groups, "user": random.integers(0, 20_000, n)}
    return pl.DataFrame({"score": score, "label": label, **keys})


def over(paths: list[str], n_classes: int) -> Query:
    """NEC of vectors over each of four groups, beside every row."""
    import polars_ec as ec

    log = _log(4, 2_500, n_classes)
    nec = ec.nec("score", "label").over("group").sum().alias(f"nec_over_{n_classes}")
    return lambda: log.lazy().select(nec).collect()


def bins(paths: list[str]) -> Query:
    """ECE of LLRs in 100 bins, of 100 rows: what it takes to plan."""
    import polars as pl

    import polars_ec as ec

    log = pl.DataFrame({"score": [i / 10 - 5 for i in range(100)], "label": [i % 3 == 0 for i in range(100)]})
    ece = ec.ece("score", "label", score_type="llr", prior=0.3, bins=100)
    return lambda: log.lazy().select(ece.alias("ece_of_llrs")).collect()


def vectors(paths: list[str], as_list: bool) -> Query:
    """NEC of a million vectors of three classes."""
    import polars as pl

    import polars_ec as ec

    log = _log(1, 1_000_000, 3)
    if as_list:
        log = log.with_columns(pl.col("score").arr.to_list())
    return lambda: (
        log.lazy().select(ec.nec("score", "label", classes=[0, 1, 2]).alias("nec_of_three")).collect(engine="streaming")
    )


def abstain(paths: list[str], *, decided: bool) -> Query:
    """Three metrics of vectors with a decision to abstain, in one select; or of decisions that are made first."""
    import polars_ec as ec

    costs = ec.CostMatrix.zero_one(3, abstain=0.2)
    log, metrics = _log(1, 100_000, 3), (ec.nec, ec.expected_cost, ec.error_rate)
    if decided:
        decision = ec.bayes_decision("score", costs=costs).sum().alias("decisions")
        return lambda: log.lazy().select(decision).collect()
    columns = [metric("score", "label", costs=costs).alias(f"abstain_{metric.__name__}") for metric in metrics]
    return lambda: log.lazy().select(columns).collect()


def report(paths: list[str], n_groups: int, rows_per_group: int, n_classes: int = 2, **keywords: Any) -> Query:
    """A report of many groups with what the keywords ask for."""
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    log = _log(n_groups, rows_per_group, n_classes)
    return lambda: log.ec.report("score", "label", by="group", **keywords).select(pl.len().alias("reported"))


def best(paths: list[str]) -> Query:
    """Each of 5,000 groups against the best."""
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    log = _log(5_000, 100)
    compared = {"by": "group", "reference": "best", "metrics": ["nec"], "cluster": "user"}
    return lambda: log.ec.compare("score", "label", **compared).select(pl.len().alias("against_best"))


def bootstrap(paths: list[str]) -> Query:
    """AUC of 200 groups by the bootstrap, from a sketch."""
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    made = _log(200, 5_000).ec.sketch("score", "label", by="group")
    return lambda: made.evaluate("auc_roc", interval=0.95, method="bootstrap").select(pl.len().alias("drawn_anew"))


def ece_interval(paths: list[str]) -> Query:
    """ECE with its interval, 100 buckets of clusters and 5,000 groups, from a sketch."""
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    made = _log(5_000, 400).ec.sketch("score", "label", by="group", cluster="user", buckets=100)
    return lambda: made.evaluate("ece", interval=0.95).select(pl.len().alias("of_bins"))


def windows(paths: list[str]) -> Query:
    """Windows of 28 days, one each day, of 14 groups in a quarter."""
    import polars as pl

    from polars_ec import Sketch

    scratch = _made_apart("days", paths)

    def query() -> pl.DataFrame:
        rolling = Sketch.read_parquet(Path(scratch.name) / "days.parquet").rolling("day", periods=28)
        return rolling.evaluate("nec", "nce", "auc_roc").select(pl.len().alias("windows"))

    return query


def sketch_job(paths: list[str], *, again: bool) -> Query:
    """The sketch job of a log in 40 files, or the run after it, which has nothing to do."""
    import polars as pl

    scratch = _made_apart("files", paths)
    logs, out = (str(Path(scratch.name) / name) for name in ("logs", "sketches"))
    job = ["sketch", logs, "--out", out, "--score", "score", "--label", "label", "--by", "segment", "--quiet"]
    if again:
        command_line(*job)

    def query() -> pl.DataFrame:
        command_line(*job)
        return pl.DataFrame({"sketches": [len([*Path(scratch.name).rglob("sketches/**/*.parquet")])]})

    return query


def groups_in_duckdb(paths: list[str], *, by_hand: bool) -> Query:
    """`FROM ec.report(...)` of a million groups, or the same columns by hand; the table stays in DuckDB."""
    import duckdb
    import polars as pl

    import polars_ec as ec

    connection = duckdb.connect()
    ec.register(connection)
    rows = "SELECT score, label, abs(hash(ts)) % 1000000 AS segment"
    connection.execute(f"CREATE TEMP TABLE log AS {rows} FROM read_parquet({paths}) LIMIT 5000000")
    query = HAND_WRITTEN.format(threshold=THRESHOLD) if by_hand else REPORT

    def run() -> pl.DataFrame:
        connection.execute(f"CREATE TEMP TABLE made AS {query}")
        return pl.DataFrame({"groups_in_duckdb": connection.execute("SELECT count(*) FROM made").fetchone()})

    return run


def _made_apart(what: str, paths: list[str]) -> tempfile.TemporaryDirectory[str]:
    """A folder with what the case reads, made in a process of its own, whose memory is not that of the case."""
    scratch = tempfile.TemporaryDirectory(dir=Path(paths[0]).parent.parent)
    subprocess.run([sys.executable, "-m", "tests.benchmarks.growth_cases", what, scratch.name, *paths], check=True)
    return scratch


def main() -> None:
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    what, folder, *paths = sys.argv[1:]
    if what == "days":
        log = pl.scan_parquet(paths[0]).with_columns(
            pl.col("ts").dt.date().alias("day"), pl.col("segment").str.slice(-2).cast(pl.Int32).mod(14).alias("segment")
        )
        log.ec.sketch("score", "label", by=["segment", "day"]).write_parquet(Path(folder) / "days.parquet")
        return
    write_files(paths, Path(folder) / "logs", N_FILES)


if __name__ == "__main__":
    main()
