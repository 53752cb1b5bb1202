"""Costs of each row through every door, against plain NumPy: money lost per case, and the share of what the best constant decision loses."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import polars_ec as ec
from tests.support.cli import invoke, typed_report
from tests.support.database import database
from tests.support.influence import Rows, influence, limits_of_clusters, limits_of_rows, variance_of_rows

BY, NAMES, FP = ["merchant", "week"], ["expected_cost", "nec"], 2.5


def make_log(n: int = 1600) -> pl.DataFrame:
    """Two models of payments; some have no label yet, some no weight, and some no score."""
    rng = np.random.default_rng(5)
    fraud, amount = rng.random(n) < 0.3, np.round(rng.lognormal(1, 1, n), 2)
    models = {
        name: 1 / (1 + np.exp(-(3 * fraud - 2 + rng.normal(size=n) * noise)))
        for name, noise in {"p": 1.5, "q": 2}.items()
    }
    absent = {name: rng.random(n) < 0.03 for name in ("p", "fraud", "w")}
    log = pl.DataFrame(
        {**models, "fraud": fraud, "w": rng.gamma(2, 1, n), "amount": amount, "user": rng.integers(0, 150, n)}
        | {"merchant": rng.choice(["a", "b"], n), "day": np.datetime64("2026-03-02") + 7 * rng.integers(0, 2, n)}
    )
    lost = (pl.when(~pl.Series(where)).then(name).alias(name) for name, where in absent.items())
    return log.with_columns(lost).with_columns(week=pl.col("day").dt.truncate("1w"))


LOG = make_log()
USABLE = LOG.drop_nulls(["p", "fraud", "w"])
GROUPS = sorted(USABLE.select(BY).unique().rows())


def rows_of(frame: pl.DataFrame, prior: float | None = None, score: str = "p") -> Rows:
    """A miss costs the amount and a false alarm `FP`; each row is decided at its own threshold."""
    y, w, a, p = (frame[name].to_numpy() for name in ("fraud", "w", "amount", score))
    nothing = np.zeros(len(y))
    return Rows(y.astype(int), (p > FP / (FP + a)).astype(int), w, nothing, nothing, nothing + 1, a, FP, prior)


def group(key: tuple[Any, ...]) -> pl.DataFrame:
    return USABLE.filter(merchant=key[0], week=key[1])


def money(rows: Rows) -> dict[str, float]:
    """By hand: what errors cost, and the cheaper of blocking no payment and blocking all."""
    lost = np.where((rows.y == 1) & (rows.d == 0), rows.cost_fn, np.where((rows.y == 0) & (rows.d == 1), FP, 0.0))
    of = {y: rows.w * (rows.y == y) for y in (0, 1)}
    size = (
        rows.w.sum() * np.ones(2) if rows.prior is None else [of[0].sum() / (1 - rows.prior), of[1].sum() / rows.prior]
    )
    expected = sum((of[y] * lost).sum() / size[y] for y in (0, 1))
    nobody, all_of_them = (of[1] * rows.cost_fn).sum() / size[1], of[0].sum() * FP / size[0]
    return {"expected_cost": expected, "nec": expected / min(nobody, all_of_them)}


def of_python(**options: Any) -> pl.DataFrame:
    return LOG.ec.report("p", "fraud", by=BY, cost_fn="amount", cost_fp=FP, weight="w", metrics=NAMES, **options)


def of_sql(**options: Any) -> pl.DataFrame:
    more = "".join(f', "{name}" := {value}' for name, value in options.items())
    connection = database().cursor()
    connection.register("log", LOG.to_arrow())
    return connection.sql(
        f"FROM ec.report('log', p, fraud, groups := {BY}, cost_fn := amount, cost_fp := {FP}, weight := w, metrics := {NAMES}{more})"
    ).pl()


def of_query(**options: Any) -> pl.DataFrame:
    query = ec.report_query(
        "log", "p", "fraud", by=BY, cost_fn="amount", cost_fp=FP, weight="w", metrics=NAMES, **options
    )
    connection = duckdb.connect()
    connection.register("log", LOG.to_arrow())
    return connection.sql(query).pl().sort(BY)


def of_command(**options: Any) -> pl.DataFrame:
    more = [text for name, value in options.items() for text in (f"--{name}", value)]
    with tempfile.TemporaryDirectory() as folder:
        LOG.write_parquet(f"{folder}/log.parquet")
        return typed_report(f"{folder}/log.parquet", *READ, "--metrics", ",".join(NAMES), *more).rename({"day": "week"})


def of_sketch(**options: Any) -> pl.DataFrame:
    """Sketch two halves of the log by one more column, add and roll up."""
    cluster = {name: options.pop(name) for name in ("cluster",) if name in options}
    made = {"by": [*BY, "user"], "cost_fn": "amount", "cost_fp": FP, "weight": "w", "reduction": "decisions", **cluster}
    whole = ec.merge([LOG.gather_every(2, i).ec.sketch("p", "fraud", **made) for i in range(2)])
    table = whole.group_by(*BY).evaluate(*NAMES, **options)
    at_prior = {name: name.replace(of, f"{of}_at_prior") for of in NAMES for name in table.columns if of in name}
    return table.rename(at_prior) if "prior" in options else table


def of_folder(**options: Any) -> pl.DataFrame:
    more = [text for name, value in options.items() if name != "cluster" for text in (f"--{name}", value)]
    clusters = ["--cluster", options["cluster"]] if "cluster" in options else []
    with tempfile.TemporaryDirectory() as folder:
        LOG.write_parquet(f"{folder}/log.parquet")
        made = invoke(
            "sketch", f"{folder}/log.parquet", *READ, *clusters, "--reduction", "decisions", "--out", f"{folder}/out"
        )
        assert made.exit_code == 0, made.output
        costs = ["--cost-fn", "amount", "--cost-fp", FP]
        asked = ["--by", "merchant", "--every", "1w", *costs, "--metrics", ",".join(NAMES)]
        return typed_report(f"{folder}/out", *asked, *more).rename({"day": "week"})


READ = ["--score", "p", "--label", "fraud", "--by", "merchant", "--time", "day", "--every", "1w"]
READ += ["--cost-fn", "amount", "--weight", "w", "--cost-fp", FP]
DOORS = {"report": of_python, "sql": of_sql, "query": of_query, "command": of_command}
DOORS |= {"sketch": of_sketch, "folder": of_folder}


@pytest.mark.parametrize("prior", [None, 0.1])
@pytest.mark.parametrize("door", DOORS)
def test_values_and_intervals(door: str, prior: float | None) -> None:
    options = {"interval": 0.9} | ({} if prior is None else {"prior": prior})
    table = DOORS[door](**options)
    assert table.select(BY).rows() == GROUPS
    for key, row in zip(GROUPS, table.rows(named=True), strict=True):
        rows, suffix = rows_of(group(key), prior), "" if prior is None else "_at_prior"
        for name, value in money(rows).items():
            assert row[f"{name}{suffix}"] == pytest.approx(value, rel=1e-12)
            bounds = [row[f"{name}{suffix}_ci_{end}"] for end in ("low", "high")]
            assert bounds == pytest.approx(limits_of_rows(name, rows, 0.9), rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_intervals_of_clusters(door: str) -> None:
    """Users are in as many buckets as their hashes have values, but in the query each is by itself."""
    table = DOORS[door](interval=0.9, cluster="user")
    of_user = pl.col("user") if door == "query" else ec.bucket("user")
    for key, row in zip(GROUPS, table.rows(named=True), strict=True):
        rows, users = rows_of(group(key)), group(key).select(of_user).to_series().to_numpy()
        for name in NAMES:
            bounds = [row[f"{name}_ci_{end}"] for end in ("low", "high")]
            assert bounds == pytest.approx(limits_of_clusters(name, rows, users, 0.9), rel=1e-7)


def test_differences_of_models() -> None:
    options = {"cost_fn": "amount", "cost_fp": FP, "weight": "w", "metrics": NAMES, "interval": 0.9}
    table = LOG.ec.compare(["p", "q"], "fraud", by=BY, **options)
    for row in table.rows(named=True):
        frame = group((row["merchant"], row["week"]))
        rows = {name: rows_of(frame, score=name) for name in ("p", "q")}
        (first, psi_p), (second, psi_q) = (influence(row["metric"], of) for of in rows.values())
        variance, df = variance_of_rows(rows["q"], psi_q - psi_p)
        half = stats.t.ppf(0.95, df) * np.sqrt(variance)
        assert row["difference"] == pytest.approx(second - first, rel=1e-9)
        bounds = [row[f"difference_ci_{end}"] for end in ("low", "high")]
        assert bounds == pytest.approx([second - first - half, second - first + half], rel=1e-7)


def test_drift() -> None:
    """The two weeks have other rows, so that variances add up."""
    options = {"cost_fn": "amount", "cost_fp": FP, "weight": "w", "metrics": NAMES, "interval": 0.9}
    table = LOG.ec.drift("p", "fraud", period="week", by="merchant", **options)
    weeks = sorted({week for _, week in GROUPS})
    assert table.select("merchant", "metric").rows() == [(m, name) for m in ("a", "b") for name in NAMES]
    for row in table.rows(named=True):
        before, after = (rows_of(group((row["merchant"], week))) for week in weeks)
        found = [influence(row["metric"], rows) for rows in (before, after)]
        assert row["difference"] == pytest.approx(found[1][0] - found[0][0], rel=1e-9)
        assert row["prior"] + row["likelihood"] == pytest.approx(row["difference"], rel=1e-9)
        error = np.sqrt(sum(variance_of_rows(of, psi)[0] for of, (_, psi) in zip((before, after), found, strict=True)))
        # Of hundreds of rows: t is nearly normal.
        width = row["difference_ci_high"] - row["difference_ci_low"]
        assert width == pytest.approx(2 * stats.norm.ppf(0.95) * error, rel=0.04)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    LOG.write_parquet(tmp_path / "log.parquet")
    return tmp_path / "log.parquet"


def test_gates_on_money(path: Path) -> None:
    low = of_python(interval=0.95)["expected_cost_ci_low"].max()
    for limit, code in ((low - 1e-6, 3), (low + 1e-6, 0)):
        gate = f"expected_cost_ci_low > {limit}"
        found = invoke("report", path, *READ, "--metrics", "expected_cost", "--interval", 0.95, "--fail-if", gate)
        assert found.exit_code == code, found.output


def test_commands_of_differences(path: Path) -> None:
    """They have the numbers of the functions."""
    options = {"cost_fn": "amount", "cost_fp": FP, "weight": "w", "metrics": ["nec"]}
    compared = LOG.ec.compare(
        "p", "fraud", by=["merchant", pl.col("day").dt.truncate("1w")], reference="rest", **options
    )
    drifted = LOG.ec.drift("p", "fraud", by="merchant", period=pl.col("day").dt.truncate("1w"), **options)
    for name, more, wanted in (("compare", ["--reference", "rest"], compared), ("drift", [], drifted)):
        out = path.parent / "out.parquet"
        assert invoke(name, path, *READ, *more, "--metrics", "nec", "--out", out).exit_code == 0
        assert_frame_equal(pl.read_parquet(out), wanted, check_dtypes=False)


def test_rows_without_a_cost_leave_their_group_without_values(path: Path) -> None:
    faulty = pl.when(pl.int_range(pl.len()).over(BY) > 0).then("amount").otherwise(pl.Series([None]))
    LOG.with_columns(amount=pl.when(merchant="b").then("amount").otherwise(faulty)).write_parquet(path)
    found = invoke("report", path, *READ, "--metrics", "nec,nce", "--format", "csv")
    assert (
        "cost_fn is null, NaN, negative or infinite in 2 rows, so their groups have no metrics of decisions"
        in found.stderr
    )
    table = pl.read_csv(found.stdout.encode())
    assert table["nec"].is_null().to_list() == [True, True, False, False]
    assert table["nce"].null_count() == 0


def test_sketches_of_scores_have_one_cost(path: Path) -> None:
    with pytest.raises(ValueError, match=r"cost_fn='amount' is a column, .*: pass reduction='decisions', or a number"):
        LOG.ec.sketch("p", "fraud", cost_fn="amount")
    assert invoke("sketch", path, *READ[:4], "--out", path.parent / "sketches").exit_code == 0
    found = invoke("report", path.parent / "sketches", "--cost-fn", "amount")
    assert found.exit_code == 2
    assert "--cost-fn on" in found.stderr
    assert "sketches have one number for all rows, not a column. Run polars-ec report on the log" in found.stderr


def test_rows_without_a_cost_are_in_the_sketch() -> None:
    faulty = LOG.with_columns(amount=pl.when(pl.int_range(pl.len()).over("merchant") > 2).then("amount"))
    table = faulty.ec.sketch("p", "fraud", by="merchant", cost_fn="amount", reduction="decisions").evaluate(
        "nec", "nce"
    )
    assert table["nec"].null_count() == 2
    assert table["nce"].to_list() == pytest.approx(
        LOG.ec.report("p", "fraud", by="merchant", metrics=["nce"])["nce"].to_list()
    )
    some = pl.when(pl.col("merchant") == "a").then("amount")
    one = LOG.with_columns(amount=some).ec.sketch("p", "fraud", by="merchant", cost_fn="amount", reduction="decisions")
    assert one.evaluate("nec", "f1").select(pl.col("nec", "f1").is_null()).rows() == [(False, False), (True, True)]


def payments(n: int, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    y, amount = rng.random(n) < 0.25, rng.gamma(1.5, 4, n)
    odds = 2 * (2 * y - 1) + 2 * rng.normal(size=n) + np.log(1 / 3)
    return {"y": y, "p": 1 / (1 + np.exp(-odds)), "amount": amount}


@pytest.mark.slow
def test_coverage() -> None:
    """The truth is that of three million rows. 95 % are promised; 2,000 groups leave a Monte Carlo error of half a percent."""
    whole, groups, size = payments(3_000_000, 1), 2000, 400
    nothing = np.zeros(len(whole["y"]))
    decided = (whole["p"] > FP / (FP + whole["amount"])).astype(int)
    rows = [whole["y"].astype(int), decided, nothing + 1, nothing, nothing, nothing + 1, whole["amount"], FP]
    truth = {"": money(Rows(*rows)), "_at_prior": money(Rows(*rows, prior=0.1))}
    log = pl.DataFrame({"g": np.repeat(np.arange(groups), size), **payments(groups * size, 2)})
    table = log.ec.report("p", "y", by="g", cost_fn="amount", cost_fp=FP, metrics=NAMES, interval=0.95, prior=0.1)
    for suffix, values in truth.items():
        for name, value in values.items():
            covered = pl.lit(value).is_between(f"{name}{suffix}_ci_low", f"{name}{suffix}_ci_high").mean()
            assert 0.935 < table.select(covered).item() < 0.975, f"{name}{suffix}"
