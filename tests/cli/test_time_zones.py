"""Periods of timestamps with a zone: the same in every format, on the calendar that is asked for."""

from __future__ import annotations

import datetime as dt
import io
from itertools import product
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pytest
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from polars_ec.cli.options import Periods
from tests.support.cases import mostly_slow
from tests.support.cli import READ, invoke, sketch, typed_report

OPTIONS = (*READ, "--time", "ts")
FORMATS = ("parquet", "arrow", "csv", "ndjson", "duckdb")
UTC = dt.UTC


def log_of(instants, zone="America/New_York"):
    """Every third row a positive; the instants as a log of that zone holds them."""
    ts = pl.Series(instants, dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone(zone)
    return (
        pl.DataFrame({"ts": ts})
        .with_row_index("i")
        .select("ts", p=0.3 + 0.5 * (pl.col("i") % 3 == 0), y=pl.col("i") % 3 == 0)
    )


INSTANTS = [dt.datetime(2024, 1, 1, tzinfo=UTC) + dt.timedelta(hours=5 * i, minutes=17) for i in range(800)]
LOG = log_of(INSTANTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same instants in every format; text with the offset of New York."""
    folder = tmp_path_factory.mktemp("zones")
    for name, log in {"zoned": LOG, "naive": LOG.with_columns(pl.col("ts").dt.replace_time_zone(None))}.items():
        log.write_parquet(folder / f"{name}.parquet")
        log.write_ipc(folder / f"{name}.arrow")
        log.write_csv(folder / f"{name}.csv")
        log.write_ndjson(folder / f"{name}.ndjson")
        with duckdb.connect(str(folder / f"{name}.duckdb")) as connection:
            connection.execute(f"CREATE TABLE log AS FROM '{folder}/{name}.parquet'")
    return folder


def source(folder, name, form):
    file = folder / f"{name}.{form}"
    return f"duckdb:{file}::log" if form == "duckdb" else file


def report(*args):
    table = typed_report(*args)
    assert table["n_invalid"].sum() == 0
    return table


def starts(instants, every, zone):
    """By Python's own calendar: where the period of each instant begins on the clock, and how many there are in each."""
    counts = {}
    for instant in instants:
        local = instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        day = local.replace(hour=0, minute=0, second=0, microsecond=0)
        start = {
            "1h": local.replace(minute=0, second=0, microsecond=0),
            "1d": day,
            "1w": day - dt.timedelta(days=day.weekday()),
            "1mo": day.replace(day=1),
            "1q": day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
            "1y": day.replace(month=1, day=1),
        }[every]
        counts[start] = counts.get(start, 0) + 1
    return dict(sorted(counts.items()))


def counted(table, zone="UTC"):
    assert table["ts"].dtype == pl.Datetime("us", zone)
    return dict(table.select(pl.col("ts").dt.replace_time_zone(None), "n").iter_rows())


@pytest.mark.quick(
    "None-1d-parquet",
    "None-1mo-duckdb",
    "utc-1mo-parquet",
    "Europe/Berlin-1mo-duckdb",
    "America/New_York-1d-parquet",
    "Asia/Kolkata-1d-parquet",
)
@pytest.mark.parametrize("form", mostly_slow(FORMATS, FORMATS[:1] + FORMATS[-1:]))
@pytest.mark.parametrize(
    ("zone", "every"),
    [
        (None, "1d"),
        (None, "1mo"),
        ("utc", "1mo"),
        ("Europe/Berlin", "1mo"),
        ("America/New_York", "1d"),
        ("Asia/Kolkata", "1d"),
    ],
)
def test_the_same_instants_give_the_same_report(folder, tmp_path, form, zone, every):
    args = (*OPTIONS, "--every", every, *(() if zone is None else ("--time-zone", zone)))
    table = report(source(folder, "zoned", form), *args)
    meant = "UTC" if zone is None or zone == "utc" else zone
    assert counted(table, meant) == starts(INSTANTS, every, meant)
    if form == "parquet":
        return
    theirs = report(source(folder, "zoned", "parquet"), *args)
    assert_frame_equal(table, theirs, check_exact=False, rel_tol=1e-12, abs_tol=0)


@pytest.mark.quick("parquet", "csv", "duckdb")
@pytest.mark.parametrize("form", FORMATS)
def test_without_a_zone_they_are_as_they_are(folder, tmp_path, form):
    path = source(folder, "naive", form)
    table = report(path, *OPTIONS, "--every", "1mo")
    naive = [instant.astimezone(ZoneInfo("America/New_York")).replace(tzinfo=UTC) for instant in INSTANTS]
    assert counted(table, None) == starts(naive, "1mo", "UTC")
    result = invoke("report", path, *OPTIONS, "--every", "1mo", "--time-zone", "Europe/Berlin")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert (
        "--time-zone Europe/Berlin: the timestamps in ts (Datetime(time_unit='us', time_zone=None)) have no time zone"
        in result.stderr
    )


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("Mars/Base", "--time-zone Mars/Base: not a time zone: pass a name such as Europe/Berlin"),
        ("europe/berlin", "did you mean Europe/Berlin"),
        ("Europe/Berlim", "did you mean Europe/Berlin"),
        ("+01:00", "not a time zone"),
        ("", "not a time zone"),
        ("../../etc/passwd", "not a time zone"),
    ],
)
def test_what_is_not_a_zone(folder, tmp_path, zone, words):
    for command in (("report", folder / "zoned.csv"), ("sketch", folder / "zoned.csv", "--out", tmp_path / "out")):
        result = invoke(*command, *OPTIONS, "--every", "1d", "--time-zone", zone)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
        assert words in result.stderr
    assert not (tmp_path / "out").exists()
    result = invoke("report", folder / "zoned.csv", *OPTIONS[:4], "--time-zone", "Europe/Berlin")
    assert "--time-zone Europe/Berlin is for periods: pass --every too" in result.stderr


# Clocks that are put back and forward --------------------------------------------------------------------------------------

EVERY = ["1d", "1w", "1mo", "1q", "1y"]
# Havana and Asunción put theirs back at midnight, so that a midnight comes twice; São Paulo and Beirut put theirs forward then.
ODD = (
    "America/Havana",
    "America/Asuncion",
    "America/Sao_Paulo",
    "Asia/Beirut",
    "Europe/Berlin",
    "Australia/Adelaide",
    "Asia/Kolkata",
)
HOURS = st.integers(0, 24 * 365 * 20 * 4).map(
    lambda quarter: dt.datetime(2000, 1, 1, tzinfo=UTC) + dt.timedelta(minutes=15 * quarter)
)


def around_changes(zone):
    """Every quarter of an hour of the days on which the clocks of 2000 to 2020 were changed."""
    days = [dt.datetime(2000, 1, 1, tzinfo=UTC) + dt.timedelta(days=i) for i in range(7300)]
    offsets = [day.astimezone(ZoneInfo(zone)).utcoffset() for day in days]
    changed = [day for day, before, after in zip(days, offsets, offsets[1:], strict=False) if before != after]
    return [day + dt.timedelta(minutes=15 * i) for day in changed for i in range(-8, 24 * 4 + 8)]


@pytest.mark.quick("America/Havana-1d", "America/Sao_Paulo-1mo", "Asia/Beirut-1d", "Europe/Berlin-1d")
@pytest.mark.parametrize(
    ("zone", "every"),
    mostly_slow(product(ODD, EVERY), [*((zone, "1d") for zone in ODD), *product((ODD[0], ODD[2]), EVERY[1:])]),
)
def test_a_day_is_one_however_often_its_midnight_comes(zone, every):
    instants = around_changes(zone)
    frame = pl.DataFrame({"ts": pl.Series(instants or INSTANTS, dtype=pl.Datetime("us", "UTC"))})
    periods = Periods("ts", frame.schema["ts"], every, zone)
    table = periods.placed(frame.group_by(periods.start).len("n").sort("ts"))
    assert table["ts"].dtype == pl.Datetime("us", zone)
    expected = starts(instants or INSTANTS, every, zone)
    assert table["n"].to_list() == list(expected.values())
    for placed, local in zip(table["ts"].to_list(), expected, strict=True):
        # The first instant of that day: a minute before it, the clock shows another one.
        assert dt.timedelta(0) <= placed.replace(tzinfo=None) - local <= dt.timedelta(hours=1)
        before = (placed.astimezone(UTC) - dt.timedelta(minutes=1)).astimezone(ZoneInfo(zone))
        assert before.date() < local.date()


# Sketches ----------------------------------------------------------------------------------------------------------------


@pytest.mark.quick("csv-*")
@pytest.mark.parametrize(
    ("form", "zone"),
    mostly_slow(
        [(form, zone) for form in FORMATS[:-1] for zone in (None, "Europe/Berlin", "America/New_York")],
        [("parquet", "Europe/Berlin"), ("arrow", None), ("csv", "America/New_York")],
    ),
)
def test_sketches_have_the_calendar_of_the_report(folder, tmp_path, form, zone):
    args = () if zone is None else ("--time-zone", zone)
    sketch(folder / f"zoned.{form}", out=tmp_path / "out", args=(*OPTIONS, "--every", "1d", *args))
    for every in ("1d", "1mo"):
        table = report(tmp_path / "out", "--every", every)
        assert counted(table, zone or "UTC") == starts(INSTANTS, every, zone or "UTC")
        theirs = report(folder / f"zoned.{form}", *OPTIONS, "--every", every, *args)
        assert_frame_equal(table.select(theirs.columns), theirs, check_exact=False, rel_tol=1e-12, abs_tol=1e-12)
    named = report(tmp_path / "out", "--by", "month", "--every", "1mo")
    assert_frame_equal(named.rename({"month": "ts"}), table)


def test_a_folder_has_one_calendar(folder, tmp_path):
    sketch(
        folder / "zoned.parquet", out=tmp_path / "out", args=(*OPTIONS, "--every", "1d", "--time-zone", "Europe/Berlin")
    )
    sketch(folder / "zoned.csv", out=tmp_path / "out", args=(*OPTIONS, "--every", "1d", "--time-zone", "Europe/Berlin"))
    assert (
        '--time-zone "Europe/Berlin" and none'
        in sketch(folder, out=tmp_path / "out", args=(*OPTIONS, "--every", "1d"), code=2).stderr
    )
    sketch(folder / "zoned.parquet", out=tmp_path / "utc", args=(*OPTIONS, "--every", "1d"))
    assert (
        ": 0 sketched, 1 unchanged"
        in sketch(
            folder / "zoned.parquet", out=tmp_path / "utc", args=(*OPTIONS, "--every", "1d", "--time-zone", "UTC")
        ).stdout
    )
    message = sketch(folder / "naive.parquet", out=tmp_path / "utc", args=(*OPTIONS, "--every", "1d"), code=1).stderr
    assert "the group column 'ts' is Datetime(time_unit='us', time_zone=None), but" in message


def test_hours_roll_up_on_any_calendar_and_days_on_their_own(folder, tmp_path):
    sketch(folder / "zoned.csv", out=tmp_path / "hours", args=(*OPTIONS, "--every", "1h"))
    sketch(folder / "zoned.csv", out=tmp_path / "days", args=(*OPTIONS, "--every", "1d"))
    for zone in ("Europe/Berlin", "America/New_York", "UTC"):
        args = ("--every", "1mo", "--time-zone", zone)
        table = report(tmp_path / "hours", *args)
        assert counted(table, zone) == starts(INSTANTS, "1mo", zone)
        if zone != "UTC":
            result = invoke("report", tmp_path / "days", *args)
            assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
            assert "lies in two periods of 1mo" in result.stderr
    assert "is for periods" in invoke("report", tmp_path / "hours", "--time-zone", "Europe/Berlin").stderr


@pytest.mark.quick("America/Havana")
@pytest.mark.parametrize("zone", mostly_slow(ODD, ODD[::2]))
def test_days_on_which_clocks_change_roll_up(tmp_path, zone):
    instants = around_changes(zone) or INSTANTS
    log_of(instants, zone).write_parquet(tmp_path / "log.parquet")
    sketch(tmp_path / "log.parquet", out=tmp_path / "out", args=(*OPTIONS, "--every", "1d", "--time-zone", zone))
    for every in ("1d", "1w", "1mo"):
        table = report(tmp_path / "out", "--every", every)
        assert table["n"].to_list() == list(starts(instants, every, zone).values())


# Text --------------------------------------------------------------------------------------------------------------------


@pytest.mark.quick("*-csv")
@pytest.mark.parametrize("kind", ["csv", "ndjson"])
@pytest.mark.parametrize(
    "text", ["2024-01-31T23:30:00-05:00", "2024-01-31 23:30:00-0500", "2024-02-01T04:30:00Z", "2024-02-01T04:30Z"]
)
def test_offsets_in_text(tmp_path, kind, text):
    log = pl.DataFrame({"ts": [text, text], "p": [0.9, 0.1], "y": [1, 0]})
    getattr(log, f"write_{kind}")(tmp_path / f"log.{kind}")
    for zone, day in (("UTC", 1), ("America/New_York", 31)):
        result = invoke(
            "report", tmp_path / f"log.{kind}", *OPTIONS, "--every", "1d", "--time-zone", zone, "--format", "csv"
        )
        assert pl.read_csv(io.StringIO(result.stdout))["ts"].str.slice(8, 2).cast(pl.Int64).to_list() == [day]
