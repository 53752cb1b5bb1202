"""`--window`: reports and drifts of so many periods of a folder of sketches, as the rows of these periods have them."""

from __future__ import annotations

import subprocess
from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec  # noqa: F401  (registers the namespace)
from polars_ec.sketches import cells as cells_module
from polars_ec.sketches import windows
from polars_ec.sketches.cells import in_blocks
from tests.support.cli import fails, invoke, run_script, sketch, typed, write_program

PAIR = ("--score", "p", "--score", "q", "--label", "y")
DAYS = ("--every", "1d", "--window", "7")
MADE_WITH = (*PAIR, "--by", "s", "--time", "ts", "--every", "1d", "--cost-fn", "5", "--cluster", "tail")


def made_log(n=1600):
    """20 days of 80 rows, of which one day has none; a model that lacks scores now and then."""
    rng = np.random.default_rng(11)
    i = np.arange(n)
    late = rng.random(n) < 0.15 + i / 4000
    z = 1.5 * late - 1.2 + rng.normal(size=n)
    log = pl.DataFrame(
        {
            "s": ["ab"[k] for k in (rng.random(n) < 0.4).astype(int)],
            "ts": pl.Series(i * 86_400_000_000 // 80, dtype=pl.Int64).cast(pl.Datetime("us")),
            "p": 1 / (1 + np.exp(-z)),
            "q": [None if k % 7 == 0 and y else v for k, v, y in zip(i, 1 / (1 + np.exp(-0.6 * z)), late, strict=True)],
            "y": late,
            "tail": [f"N{t:03d}" for t in rng.integers(0, 140, n).tolist()],
        }
    )
    return log.filter(pl.col("ts").dt.date() != datetime(1970, 1, 9).date())


LOG = made_log()


@pytest.fixture(scope="module")
def sketches(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    for day, rows in LOG.group_by(pl.col("ts").dt.day() // 5):
        rows.write_parquet(folder / f"{day[0]}.parquet")
    sketch(folder, out=folder / "sketches", args=MADE_WITH)
    return folder / "sketches"


def last_days(day, number=7):
    """The rows of so many days up to and with this one."""
    end = datetime(1970, 1, day) + timedelta(days=1)
    return LOG.filter(pl.col("ts").is_between(end - timedelta(days=number), end, closed="left"))


# Reports ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("prior", [0.3, "overall"])
def test_each_row_is_of_the_rows_of_its_days(sketches, tmp_path, prior):
    args = (
        *DAYS,
        "--by",
        "s",
        "--metrics",
        "nec,recall,error_rate",
        "--interval",
        "0.95",
        "--prior",
        str(prior),
        "--min-rows",
        "230",
    )
    ours = typed(tmp_path, "report", sketches, *args)
    assert ours["ts"].unique().sort().to_list() == [datetime(1970, 1, day) for day in range(7, 21)]
    assert ours.height == 14 * 2 * 2
    for model in "pq":
        # Of the whole log, each row once.
        usable = LOG.drop_nulls(model)
        options = {"cost_fn": 5, "prior": usable["y"].mean() if prior == "overall" else prior, "cluster": "tail"}
        for day in (7, 9, 15, 20):
            theirs = last_days(day).ec.report(
                model, "y", by="s", metrics=["nec", "recall", "error_rate"], interval=0.95, min_rows=230, **options
            )
            found = ours.filter(ts=datetime(1970, 1, day), score=pl.lit(model)).select(theirs.columns)
            assert_frame_equal(found, theirs, rel_tol=1e-8, abs_tol=1e-10)
    assert ours["small"].n_unique() == 2


@pytest.mark.slow
def test_windows_of_the_usual_battery(sketches, tmp_path):
    ours = typed(tmp_path, "report", sketches, *DAYS, "--score", "p", "--score", "q")
    days = typed(tmp_path, "report", sketches, "--every", "1d")
    assert ours.columns == days.columns
    theirs = last_days(12).ec.report(["p", "q"], "y", cost_fn=5)
    assert_frame_equal(ours.filter(ts=datetime(1970, 1, 12)).select(theirs.columns), theirs)
    # Periods may have another name, and be coarser than those of the sketches.
    weeks = typed(tmp_path, "report", sketches, "--every", "1w", "--by", "week", "--window", "2", "--metrics", "f1,nce")
    assert weeks["week"].unique().sort().to_list() == [datetime(1970, 1, day) for day in (5, 12, 19)]
    rows = LOG.filter(pl.col("ts").is_between(datetime(1970, 1, 5), datetime(1970, 1, 19), closed="left"))
    of_rows = rows.ec.report(["p", "q"], "y", cost_fn=5, metrics=["f1", "nce"])
    assert_frame_equal(weeks.filter(week=datetime(1970, 1, 12)).select(of_rows.columns), of_rows)


@pytest.mark.slow
def test_groups_that_do_not_fit_into_memory_together(sketches, tmp_path, monkeypatch):
    args = (
        sketches,
        *DAYS,
        "--by",
        "s",
        "--metrics",
        "nec",
        "--prior",
        "overall",
        "--interval",
        "0.9",
        "--format",
        "csv",
    )
    together = [invoke(command, *args).stdout for command in ("report", "drift")]
    seen = []

    def few_at_a_time(cells, *args):
        seen.extend(found := [*in_blocks(cells, *args)])
        yield from found

    monkeypatch.setattr(cells_module, "MOST_OF_BLOCK", 20_000)
    monkeypatch.setattr(windows, "in_blocks", few_at_a_time)
    monkeypatch.setattr(windows, "MOST_OF_BLOCK", 20_000)
    assert [invoke(command, *args).stdout for command in ("report", "drift")] == together
    assert len(seen) > 2


@pytest.mark.slow
def test_clusters_are_added_up_for_intervals_alone(sketches, tmp_path, monkeypatch):
    """Their cells are many: to add them up takes several times the time and the memory of all else."""
    added, table_of = [], windows.Rolling._table
    monkeypatch.setattr(
        windows.Rolling,
        "_table",
        lambda self, table: added.append(table.height if "bucket" in table.columns else 0) or table_of(self, table),
    )
    args = ("report", sketches, *DAYS, "--metrics", "error_rate")
    found = typed(tmp_path, *args).row(
        by_predicate=(pl.col("ts") == datetime(1970, 1, 12)) & (pl.col("score") == "p"), named=True
    )
    rows = last_days(12)
    assert found["error_rate"] == pytest.approx(((rows["p"] >= 1 / 6) != rows["y"]).mean(), rel=1e-12)
    LOG.ec.sketch("p", "y", by=pl.col("ts").dt.truncate("1d"), cluster="tail").rolling("ts").evaluate("nec", "ece")
    assert not any(added)
    typed(tmp_path, *args, "--interval", "0.9")
    assert any(added)


def test_days_are_those_of_the_zone(tmp_path):
    """One of them has 23 hours."""
    start = datetime(2024, 3, 29)
    log = LOG.with_columns(ts=(start + (pl.col("ts") - datetime(1970, 1, 1))).dt.replace_time_zone("UTC"))
    log.write_parquet(tmp_path / "log.parquet")
    args = ("--score", "p", "--label", "y", "--time", "ts", "--every", "1d", "--time-zone", "Europe/Berlin")
    sketch(tmp_path / "log.parquet", out=tmp_path / "sketches", args=args)
    ours = typed(tmp_path, "report", tmp_path / "sketches", "--every", "1d", "--window", "3", "--metrics", "brier")
    day = log["ts"].dt.convert_time_zone("Europe/Berlin").dt.date()
    for at in range(3, 18):
        end = start.date() + timedelta(days=at - 1)
        rows = log.filter(day.is_between(end - timedelta(days=2), end))
        found = ours.filter(pl.col("ts").dt.date() == end)
        assert found["n"].item() == rows.height
        assert found["brier"].item() == pytest.approx(((rows["p"] - rows["y"].cast(float)) ** 2).mean(), rel=1e-12)


@pytest.mark.slow
def test_gates_judge_windows(sketches):
    args = ("report", sketches, *DAYS, "--metrics", "nec", "--interval", "0.95", "--format", "csv", "--quiet")
    table = typed(sketches.parent, *args[:-3])
    limit = table["nec_ci_low"].sort()[-3]
    result = invoke(*args, "--fail-if", f"nec_ci_low > {limit!r}")
    assert result.exit_code == 3
    above = table.filter(pl.col("nec_ci_low") > limit)
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == [
        f"ts={ts.date()}, score={score}" for ts, score in above.select("ts", "score").rows()
    ]
    assert above.height == 2


# Drifts -----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_drift_is_that_of_the_rows_of_both_windows(sketches, tmp_path):
    args = (*DAYS, "--mix", "s", "--metrics", "nec,error_rate", "--prior", "0.3", "--reference", "1970-01-08")
    ours = typed(tmp_path, "drift", sketches, *args)
    assert ours["reference"].unique().to_list() == ["1970-01-08 00:00:00"]
    assert ours.height == 13 * 2 * 4
    limits = pl.selectors.matches("_ci_|^p_")
    assert ours.select(limits.null_count()).row(0) == (0,) * 10
    for day in (15, 20):
        both = pl.concat(
            [last_days(8).with_columns(ts=datetime(1970, 1, 8)), last_days(day).with_columns(ts=datetime(1970, 1, day))]
        )
        asked = {"mix": "s", "metrics": ["nec", "error_rate"], "prior": 0.3, "cost_fn": 5, "cluster": "tail"}
        # A sketch has the rows of each model, also those that the other has no score for.
        theirs = pl.concat([both.ec.drift(model, "y", period="ts", **asked) for model in "pq"])
        found = ours.filter(ts=datetime(1970, 1, day))
        drop = ["p_adjusted"]  # which is for as many windows as there are
        assert_frame_equal(found.drop(drop), theirs.drop(drop), rel_tol=1e-8, abs_tol=1e-10)


def test_windows_that_share_days_have_the_parts_of_their_rows(sketches, tmp_path):
    ours = typed(tmp_path, "drift", sketches, *DAYS, "--metrics", "error_rate", "--reference", "previous")
    assert ours.height == 13 * 2

    def of(day):
        rows = last_days(day)
        y, wrong = rows["y"].to_numpy(), (rows["p"] > 1 / 6).to_numpy() != rows["y"].to_numpy()
        return np.array([1 - y.mean(), y.mean()]), np.array([wrong[~y].mean(), wrong[y].mean()])

    for day, prior in ours.filter(model="p").select(pl.col("ts").dt.day(), "prior").rows():
        before, after = of(day - 1), of(day)
        assert prior == pytest.approx(((after[0] - before[0]) * (after[1] + before[1])).sum() / 2, abs=1e-12)


# Mistakes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.quick("*--window 1-*", "*--total*", "*--window 21*", "drift --window*", "compare*")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("report", "--window", "7"), ["--window 7 is for periods", "--every"]),
        (("report", "--every", "1d", "--window", "1"), ["--window 1: pass 2 or more"]),
        (("report", *DAYS, "--total"), ["--window 7 with --total"]),
        (
            ("report", "--every", "1d", "--window", "21"),
            ["--window: the sketch has 20 periods of '1d'", "fewer than the 21", "pass a smaller --window"],
        ),
        (("drift", *DAYS, "--reference", "1970-01-06"), ["not a group of ts. There are 1970-01-07"]),
        (("drift", "--window", "7"), ["a drift compares periods"]),
        (("compare", *DAYS), ["No such option: --window"]),
    ],
    ids=" ".join,
)
def test_mistakes(sketches, args, words):
    command, *options = args
    if command == "compare":
        result = invoke(command, sketches, *options)
        assert result.exit_code == 2
        assert words[0] in result.stderr
    else:
        fails(2, command, sketches, *options, words=words)


def test_rows_have_no_windows(tmp_path):
    LOG.write_parquet(tmp_path / "log.parquet")
    args = (*PAIR, "--time", "ts", *DAYS)
    for command in ("report", "drift"):
        fails(
            2, command, tmp_path / "log.parquet", *args, words=["--window 7", "run polars-ec sketch on the log first"]
        )


def test_rows_without_a_time_are_in_no_window(tmp_path):
    log = LOG.with_columns(ts=pl.when(pl.int_range(pl.len()) > 5).then("ts"))
    log.write_parquet(tmp_path / "log.parquet")
    sketch(tmp_path / "log.parquet", out=tmp_path / "sketches", args=MADE_WITH)
    fails(
        2, "report", tmp_path / "sketches", *DAYS, words=["--window 7: some rows have no ts, so they are in no window"]
    )


def test_wrong_rows_are_told_of_without_a_number(tmp_path):
    """Each is in several windows."""
    log = LOG.with_columns(p=pl.when(pl.int_range(pl.len()) == 700).then(3.0).otherwise("p"))
    log.write_parquet(tmp_path / "log.parquet")
    sketch(tmp_path / "log.parquet", out=tmp_path / "sketches", args=MADE_WITH)
    result = invoke("report", tmp_path / "sketches", *DAYS, "--format", "csv")
    (line,) = result.stderr.splitlines()
    assert line.startswith("polars-ec: some rows have an invalid score")


# A job for every day ----------------------------------------------------------------------------------------------------


# As docs/guides/nightly-job.md has it, with windows of 28 days and without a lock.
DAILY_JOB = """
cd "${LOGS:-/data}" || exit 1
rm -rf recent && mkdir recent
for i in {1..28}; do
  ln "logs/$(date -d "$i days ago" +%F).parquet" recent/ || exit 1
done
polars-ec sketch recent --out sketches --score p --label y --by carrier --time ts --every 1d \\
  --cost-fn 5 --cluster tailnum --vanished drop --quiet || exit 1
exec polars-ec report sketches --by carrier --every 1d --window 28 --prior 0.2 --interval 0.95 --min-rows 500 \\
  --fail-if "nec_at_prior_ci_low > 1" --out windows.csv --quiet
"""


@pytest.mark.slow
def test_the_daily_job_reads_one_day_and_judges_the_last_28(tmp_path):
    rng = np.random.default_rng(3)
    (tmp_path / "logs").mkdir()
    write_program(
        tmp_path / "bin" / "date",
        "import datetime as dt, os, sys\n"
        "today, ago = dt.date.fromisoformat(os.environ['TODAY']), int(sys.argv[2].split()[0])\n"
        "assert sys.argv[1:] == ['-d', f'{ago} days ago', '+%F']\n"
        "print(today - dt.timedelta(days=ago))\n",
    )
    days = {}
    for i in range(30):
        day = date(2024, 2, 1) + timedelta(days=i)
        # Many rows of the last day have scores that are the wrong way round.
        n, sign = (1500, -1) if i == 29 else (60, 1)
        late = rng.random(n) < 0.3
        columns = {"carrier": ["AA", "UA"] * (n // 2), "y": late, "tailnum": np.arange(n) % 40}
        score = 1 / (1 + np.exp(1 - 2 * sign * late - rng.normal(size=n)))
        days[day] = pl.DataFrame(columns).with_columns(p=score, ts=datetime(day.year, day.month, day.day, 9))
        days[day].write_parquet(tmp_path / "logs" / f"{day}.parquet")

    def run(today):
        variables = {"LOGS": str(tmp_path), "TODAY": today}
        return run_script(DAILY_JOB, bin_folder=tmp_path / "bin", stderr=subprocess.PIPE, **variables)

    def made():
        return {file.name: file.stat().st_mtime_ns for file in (tmp_path / "sketches").glob("*.parquet")}

    done = run("2024-03-01")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    before, table = made(), pl.read_csv(tmp_path / "windows.csv", try_parse_dates=True)
    assert len(before) == 28
    assert table.select("carrier", pl.col("ts").dt.date(), "n").rows() == [
        ("AA", date(2024, 2, 29), 840),
        ("UA", date(2024, 2, 29), 840),
    ]
    rows = pl.concat(days[date(2024, 2, 2) + timedelta(days=i)] for i in range(28))
    theirs = rows.ec.report(
        "p", "y", by="carrier", cost_fn=5, prior=0.2, interval=0.95, cluster="tailnum", metrics=["nec"]
    )
    assert table["nec_at_prior_ci_high"].to_list() == pytest.approx(theirs["nec_at_prior_ci_high"].to_list(), rel=1e-9)
    done = run("2024-03-02")
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("polars-ec: carrier=AA, ts=2024-03-01: nec_at_prior_ci_low is ")
    assert len(set(made().items()) - set(before.items())) == 1
    assert len(made()) == 28
    table = pl.read_csv(tmp_path / "windows.csv", try_parse_dates=True)
    assert table["ts"].dt.date().to_list() == [date(2024, 3, 1)] * 2
    (tmp_path / "logs" / "2024-02-20.parquet").unlink()
    assert run("2024-03-02").returncode == 1
