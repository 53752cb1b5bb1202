"""Gates with a budget of false alarms: what they judge, what they say and what they refuse, from files, databases and sketches."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.cases import mostly_slow
from tests.support.cli import READ, fails, invoke, sketch

TIME = ("--time", "ts", "--every", "1d")
LEVEL = ("--interval", "0.95")
YEAR = ("--false-alarms", "1/year")
DOORS = ("log.parquet", "log.duckdb", "sketches")


def made_log():
    """Forty days of two segments, of which b gets worse on the thirty-first; no label is known on the last day for a."""
    rng = np.random.default_rng(11)
    day, s = np.repeat(np.arange(40), 160), np.tile(["a", "b"], 3200)
    y = rng.random(6400) < 0.3
    gap = np.where((s == "b") & (day >= 30), 0.2, 1.5)
    z = rng.normal(size=6400) + gap * np.where(y, 1, -1)
    q = z + rng.normal(0, 0.4, 6400)
    start = datetime(2025, 1, 1)
    return pl.DataFrame(
        {
            "ts": [start + timedelta(days=int(d), hours=3) for d in day],
            "s": s,
            "user": day * 100 + rng.integers(0, 40, 6400),
            "p": 1 / (1 + np.exp(-z)),
            "q": 1 / (1 + np.exp(-q)),
            "y": pl.Series(y).set((pl.Series(day) == 39) & (pl.Series(s) == "a"), None),
        }
    )


LOG = made_log()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    LOG.write_parquet(folder / "log.parquet")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM log")
    sketch(folder / "log.parquet", out=folder / "sketches", args=(*READ, *TIME, "--by", "s"))
    return folder


def door(folder, name):
    path = f"duckdb:{folder / name}::log" if name.endswith("duckdb") else folder / name
    return (path, "--every", "1d") if name in ("sketches", "clustered") else (path, *READ, *TIME)


def messages_of(code, *args):
    result = invoke("report", *args, "--format", "csv")
    assert result.exit_code == code, result.stderr
    return [line.removeprefix("polars-ec: ") for line in result.stderr.splitlines()]


def evidence(metric, looks, *, interval=None, cluster=None, last=None, by="s", test="interval", **side):
    """The last row of each group that is in alarm, as the function has it."""
    day = pl.col("ts").dt.truncate("1d")
    log = LOG if last is None else LOG.filter(day < last)
    options = {"by": [by, day], "prior": 0.3, "interval": 0.95, "cluster": cluster}
    report = log.ec.report("p", "y", metrics=[metric.removesuffix("_at_prior"), "confusion"], **options)
    found = ec.alarms(report, metric, period="ts", by=by, looks=looks, test=test, **side)
    return found.filter(pl.col("ts") == pl.col("ts").max())


# The verdict ------------------------------------------------------------------------------------------------------------


@pytest.mark.quick("log.duckdb-recall*", "sketches-error*", "log.parquet-nec*")
@pytest.mark.parametrize(
    ("metric", "gate", "side"),
    [
        ("recall", "recall_ci_high < 0.8", {"below": 0.8, "test": "counts"}),
        ("error_rate", "error_rate_ci_low > 0.15", {"above": 0.15, "test": "counts"}),
        ("nec_at_prior", "nec_at_prior_ci_low >= 0.45", {"above": 0.45}),
    ],
)
@pytest.mark.parametrize("name", DOORS)
def test_the_evidence_is_that_of_the_function(folder, name, metric, gate, side):
    args = (*door(folder, name), "--by", "s", "--metrics", metric.removesuffix("_at_prior"), "--prior", "0.3", *LEVEL)
    lines = messages_of(3, *args, "--fail-if", gate, *YEAR)
    of = evidence(metric, 365, **side).row(1, named=True)
    direction, bound = next(iter(side.items()))
    shown = f"evidence {of['evidence']:.4g}, alarm at 730 (--fail-if '{gate}', --false-alarms 1/year)"
    assert of["since"] == datetime(2025, 1, 31)
    assert lines == [
        f"s=b, ts=2025-02-09: {metric} is {direction} {bound} since 2025-01-31: {shown}",
        f"--fail-if '{gate}' skipped 1 of 2 values of 2025-02-09, where only earlier periods count: 1 null (--fail-on-null fails on these)",
    ]
    unknown = messages_of(3, *args, "--fail-if", gate, *YEAR, "--fail-on-null", "--quiet")[0]
    assert unknown == (
        f"s=a, ts=2025-02-09: {gate.split()[0]} is null or of a small group (--fail-if '{gate}', --false-alarms 1/year, --fail-on-null)"
    )


@pytest.mark.parametrize("name", mostly_slow(("log.parquet", "clustered"), ["log.parquet"]))
def test_clusters_take_the_interval(folder, name):
    """Also for rates, whose rows are then not independent."""
    if name == "clustered":
        made_by = (*READ, *TIME, "--by", "s", "--cluster", "user")
        sketch(folder / "log.parquet", out=folder / "clustered", args=made_by)
    args = (*door(folder, name), "--by", "s", "--metrics", "recall", "--prior", "0.3", *LEVEL)
    cluster = ("--cluster", "user") if name == "log.parquet" else ()
    (line, _) = messages_of(3, *args, *cluster, "--fail-if", "recall_ci_high < 0.8", *YEAR)
    of = evidence("recall", 365, cluster="user", below=0.8)["evidence"][1]
    assert f"evidence {of:.4g}, alarm at 730" in line


def test_precision_is_counted_where_the_counts_are_in_the_table(folder):
    args = (*door(folder, "log.parquet"), "--by", "s", *LEVEL, "--fail-if", "precision_ci_high < 0.8", *YEAR)
    for metrics, test in (((), "counts"), (("--metrics", "precision"), "interval")):
        (line, _) = messages_of(3, *args, *metrics)
        of = evidence("precision", 365, below=0.8, test=test)["evidence"][1]
        assert f"evidence {of:.4g}, alarm at 730" in line


def test_the_gates_and_groups_of_a_command_share_the_budget(folder):
    gates = ("--fail-if", "recall_ci_high < 0.8", "--fail-if", "fpr_ci_low > 0.1")
    args = (*door(folder, "sketches"), "--by", "s", "--metrics", "recall,fpr", *LEVEL, *gates)
    for budget, alarm_at in (("1/year", 1460), ("2/year", 730), ("0.5/year", 2920), ("1/month", 121.7), ("1/week", 28)):
        lines = messages_of(3, *args, "--false-alarms", budget, "--quiet")
        assert [line.split(" (")[0].split("alarm at ")[1] for line in lines] == [f"{alarm_at:g}"] * 2
    weeks = (folder / "log.parquet", *READ, "--time", "ts", "--every", "1w", "--by", "s", "--metrics", "recall", *LEVEL)
    (line,) = messages_of(3, *weeks, *gates[:2], *YEAR)
    assert line.startswith("s=b, ts=2025-02-03: recall is below 0.8 since 2025-02-03: ")
    assert "alarm at 104.3 " in line


def test_an_alarm_is_about_the_last_period_and_needs_no_state(folder, tmp_path):
    """Before the change and after two days of it there is no alarm; runs again and later labels give the answer of the new data."""
    args = (
        "--by",
        "s",
        *READ,
        *TIME,
        "--metrics",
        "recall",
        *LEVEL,
        "--fail-if",
        "recall_ci_high < 0.8",
        *YEAR,
        "--quiet",
    )
    codes = []
    for last in range(28, 41):
        day = datetime(2025, 1, 1) + timedelta(days=last)
        LOG.filter(pl.col("ts") < day).write_parquet(tmp_path / "log.parquet")
        result = invoke("report", tmp_path / "log.parquet", *args)
        alarm = evidence("recall", 365, last=day, below=0.8, test="counts")["alarm"].any()
        assert result.exit_code == (3 if alarm else 0)
        codes.append(result.exit_code)
    assert codes == sorted(codes)
    assert codes[:3] == [0] * 3
    late = LOG.with_columns(y=pl.when(pl.col("ts") >= datetime(2025, 1, 31)).then(None).otherwise("y"))
    late.write_parquet(tmp_path / "log.parquet")
    assert invoke("report", tmp_path / "log.parquet", *args).exit_code == 0
    LOG.write_parquet(tmp_path / "log.parquet")
    assert invoke("report", tmp_path / "log.parquet", *args).exit_code == 3


def test_models_are_compared_over_the_periods(folder):
    models = ("--score", "p", "--score", "q", "--label", "y", *TIME, "--metrics", "nec")
    gate = ("--fail-if", "difference_ci_low > 0", "--false-alarms", "1/year")
    result = invoke("compare", folder / "log.parquet", *models, *gate)
    day = pl.col("ts").dt.truncate("1d")
    compared = LOG.ec.compare(["p", "q"], "y", by=day, metrics=["nec"])
    found = ec.alarms(compared, "difference", period="ts", above=0, looks=365)
    assert result.exit_code == (3 if found["alarm"][-1] else 0) == 3
    assert (
        f"difference is above 0 since {found['since'][-1]:%Y-%m-%d}: evidence {found['evidence'][-1]:.4g}"
        in result.stderr
    )
    assert invoke("compare", folder / "log.parquet", *models, *gate, "--reference", "q").exit_code == 0


def test_models_of_a_log_by_item_are_named_by_their_values(folder, tmp_path):
    of_models = [LOG.with_row_index("id").with_columns(model=pl.lit(x), p=x) for x in ("p", "q")]
    pl.concat(of_models).write_parquet(tmp_path / "items.parquet")
    items = (*READ, *TIME, "--metrics", "nec", "--model", "model", "--item", "id", "--reference", "p")
    gate = ("--fail-if", "difference_ci_low > 0", *YEAR)
    assert invoke("compare", tmp_path / "items.parquet", *items, *gate).exit_code == 3


def test_the_table_is_as_it_is_without_the_budget(folder):
    args = ("report", *door(folder, "sketches"), "--by", "s", *LEVEL, "--format", "csv")
    gate = ("--fail-if", "recall_ci_high < 0.8", *YEAR)
    assert invoke(*args).stdout == invoke(*args, *gate).stdout


def test_an_empty_log_is_no_pass(tmp_path):
    LOG.clear().write_parquet(tmp_path / "log.parquet")
    args = (tmp_path / "log.parquet", *READ, *TIME, *LEVEL, "--fail-if", "recall_ci_high < 0.8", *YEAR)
    assert "the table is empty" in messages_of(0, *args)[0]
    assert "the table is empty" in messages_of(3, *args, "--fail-on-null")[0]


# Mistakes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", ["1", "1/years", "0/year", "-1/year", "one/year", "1 /year", "1/365", "year"])
def test_budgets_that_are_none(budget):
    args = ("report", "nowhere.parquet", *READ, *TIME, *LEVEL, "--fail-if", "nec_ci_low > 1", "--false-alarms", budget)
    fails(2, *args, words=[f"--false-alarms {budget}: pass a number per hour, day", "1/year"])


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ("nec > 1", ["name a lower bound"]),
        ("nec_ci_low < 1", ["name a lower bound"]),
        ("nec_ci_high > 1", ["name a lower bound"]),
        ("n_missing > 5", ["name a lower bound"]),
        ("nec_ci_low == 1", ["name a lower bound"]),
    ],
)
def test_gates_that_a_budget_cannot_judge_are_told_before_the_log_is_looked_for(gate, words):
    fails(2, "report", "nowhere.parquet", *READ, *TIME, *LEVEL, "--fail-if", gate, *YEAR, words=[gate, *words])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("report", *TIME, *LEVEL, "--weight", "p"), ["--weight p", "without weights"]),
        (("report", *LEVEL), ["pass --every too"]),
        (("report", *TIME, *LEVEL, "--by", "s", "--total"), ["With --total one row is over all periods"]),
        (("report", "--time", "ts", "--every", "1y", *LEVEL), ["1/year allows a false alarm in every period of 1y"]),
        (("compare", *TIME, "--by", "s", "--reference", "rest"), ["With --reference rest", "share rows"]),
        (("compare", *TIME, "--by", "s", "--reference", "s=a"), ["With --reference s=a"]),
        (("compare", *TIME, "--model", "s", "--item", "user", "--reference", "rest"), ["With --reference rest"]),
    ],
)
def test_what_a_budget_cannot_carry_is_told_before_the_log_is_looked_for(args, words):
    gate = "difference_ci_low > 0" if args[0] != "report" else "nec_ci_low > 1"
    fails(2, args[0], "nowhere.parquet", *READ, *args[1:], "--fail-if", gate, *YEAR, words=["--false-alarms", *words])


@pytest.mark.slow
def test_a_budget_needs_a_gate_and_an_interval(folder):
    args = ("report", *door(folder, "sketches"))
    fails(2, *args, *YEAR, words=["--false-alarms 1/year needs a gate"])
    fails(2, *args, "--fail-if", "nec_ci_low > 1", *YEAR, words=["pass --interval 0.95"])
    window = ("--window", "7", *LEVEL, "--fail-if", "nec_ci_low > 1")
    fails(2, *args, *window, *YEAR, words=["With --window 7 windows share rows"])
    bound = ("--fail-if", "recall_ci_high < 1.5", *YEAR)
    fails(2, *args, *LEVEL, *bound, words=["recall is a share, so pass a bound between 0 and 1"])
    inexact = ("--threshold", "0.37", *LEVEL, "--fail-if", "nec_ci_low > 1", *YEAR)
    fails(2, *args, *inexact, words=["nec_low and nec_high", "sketch the log with this threshold"])


def test_rows_without_a_period_are_refused(folder, tmp_path):
    LOG.with_columns(ts=pl.when(pl.int_range(pl.len()) > 9).then("ts")).write_parquet(tmp_path / "log.parquet")
    gate = (*LEVEL, "--fail-if", "nec_ci_low > 1", *YEAR)
    fails(2, "report", tmp_path / "log.parquet", *READ, *TIME, *gate, words=["no period: filter them out"])


@pytest.mark.parametrize("command", ["drift", "capacity"])
def test_differences_from_one_reference_and_capacities_have_no_budget(command):
    result = invoke(command, "nowhere.parquet", *READ, *TIME, "--fail-if", "n > 1", *YEAR)
    assert result.exit_code == 2
    assert "No such option: --false-alarms" in result.stderr
