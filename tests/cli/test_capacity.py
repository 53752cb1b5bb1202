"""`polars-ec capacity`: the capacity of the package, from files, tables of DuckDB and logs with times; its periods, gates and errors."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec  # noqa: F401  (registers the namespace)
from tests.support.cli import READ, fails, invoke, sketch, source, typed


def make_log(n: int = 900) -> pl.DataFrame:
    """60 days of 15 rows."""
    rng = np.random.default_rng(4)
    times = [datetime(2024, 1, 1) + timedelta(minutes=96 * i) for i in range(n)]
    fraud = rng.random(n) < 0.2
    return pl.DataFrame(
        {
            "ts": times,
            "day": [time.date() for time in times],
            "p": np.round(1 / (1 + np.exp(1 - 3 * fraud - rng.normal(size=n))), 1),
            "q": np.round(rng.random(n), 2),
            "y": fraud,
            "s": [("a", "b", None)[k] for k in rng.integers(0, 3, n)],
            "amount": np.round(rng.gamma(1, 9, n), 2),
            "w": rng.exponential(1, n),
        }
    )


LOG = make_log()
MONTH = pl.col("ts").dt.truncate("1mo")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("logs")
    LOG.write_parquet(folder / "log.parquet")
    LOG.write_csv(folder / "log.csv")
    LOG.with_columns(pl.col("ts").dt.replace_time_zone("UTC")).write_parquet(folder / "zoned.parquet")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM log")
    return folder


def same(ours: pl.DataFrame, theirs: pl.DataFrame) -> None:
    assert theirs["precision"].null_count() == 0
    assert_frame_equal(ours, theirs, check_dtypes=False, rel_tol=1e-8)


@pytest.mark.parametrize("name", ["log.parquet", pytest.param("log.csv", marks=pytest.mark.slow), "duckdb"])
def test_costs_by_row_of_groups_with_intervals(folder: Any, tmp_path: Any, name: str) -> None:
    args = ("--k", "3", "--period", "day", "--by", "s", "--cost-fn", "amount", "--weight", "w", "--interval", "0.9")
    ours = typed(tmp_path, "capacity", source(folder, name), *READ, *args, "--prior", "overall")
    call: dict[str, Any] = {"k": 3, "period": "day", "by": "s", "cost_fn": "amount", "weight": "w", "interval": 0.9}
    same(ours, LOG.ec.capacity("p", "y", **call, prior="overall"))


@pytest.mark.parametrize(
    ("args", "call"),
    [
        (("--period", "1d"), {"period": pl.col("ts").dt.date()}),
        (("--period", "1d", "--every", "1mo"), {"period": pl.col("ts").dt.date(), "by": MONTH}),
        (("--period", "day", "--every", "1mo", "--by", "s"), {"period": "day", "by": ["s", MONTH]}),
        (("--every", "1mo"), {"by": MONTH}),
    ],
)
def test_a_capacity_per_day_and_a_row_per_month(
    folder: Any, tmp_path: Any, args: tuple[str, ...], call: dict[str, Any]
) -> None:
    ours = typed(tmp_path, "capacity", folder / "log.parquet", *READ, "--share", "0.2", "--time", "ts", *args)
    same(ours, LOG.ec.capacity("p", "y", share=0.2, **call))


@pytest.mark.parametrize("every", [None, "1mo"])
def test_days_of_a_time_zone(folder: Any, tmp_path: Any, every: str | None) -> None:
    args = ("--k", "2", "--time", "ts", "--period", "1d", "--time-zone", "America/New_York")
    ours = typed(
        tmp_path, "capacity", folder / "zoned.parquet", *READ, *args, *([] if every is None else ["--every", every])
    )
    local = pl.col("ts").dt.replace_time_zone("UTC").dt.convert_time_zone("America/New_York")
    by = [] if every is None else local.dt.truncate(every)
    same(ours, LOG.ec.capacity("p", "y", k=2, period=local.dt.date(), by=by))


@pytest.mark.slow
def test_models_gates_and_a_chart(folder: Any, tmp_path: Any) -> None:
    args = ("capacity", folder / "log.parquet", *READ, "--score", "q", "--k", "3", "--period", "day")
    result = invoke(*args, "--fail-if", "precision < 0.5", "--plot", tmp_path / "chart.svg")
    assert result.exit_code == 3, result.output
    (line,) = [line for line in result.stderr.splitlines() if "--fail-if" in line]
    assert line.startswith("polars-ec: score=q: precision is 0.")
    assert (tmp_path / "chart.svg").exists()
    same(typed(tmp_path, *args), LOG.ec.capacity(["p", "q"], "y", k=3, period="day"))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), ["pass either --k", "--share"]),
        (("--k", "0"), ["--k 0 is not a whole number from 1"]),
        (("--k", "3", "--period", "1d"), ["--period 1d is a length of time: pass --time"]),
        (("--k", "3", "--period", "nowhere"), ["no column 'nowhere' (--period)"]),
        (("--k", "3", "--interval", "0.9"), ["--interval 0.9 needs --period"]),
        (("--k", "3", "--period", "day", "--interval", "95"), ["--interval 95", "pass 0.95"]),
    ],
)
def test_misuse_says_what_to_do(folder: Any, args: tuple[str, ...], words: list[str]) -> None:
    fails(2, "capacity", folder / "log.parquet", *READ, *args, words=words)


def test_the_cut_has_no_threshold(folder: Any) -> None:
    result = invoke("capacity", folder / "log.parquet", *READ, "--k", "3", "--threshold", "0.5")
    assert (result.exit_code, "No such option: --threshold" in result.stderr) == (2, True)


def test_sketches_have_no_rows(folder: Any, tmp_path: Any) -> None:
    sketch(folder / "log.parquet", out=tmp_path / "sketches", args=READ)
    fails(2, "capacity", tmp_path / "sketches", "--k", "3", words=["a capacity needs rows"])
