"""Reports from a folder of sketches: what the rows would say, and what the sketches cannot know."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_ec.cli.sketch_folder import SketchFolder, locked
from tests.support.cli import READ, invoke, report
from tests.support.sketch_jobs import LOG, MADE_WITH, same, sketch, write_files

FILES = 3


@pytest.fixture(scope="module")
def flights(tmp_path_factory):
    """The files of the log and the folder of their sketches, for tests that only read them."""
    folder = tmp_path_factory.mktemp("flights")
    logs = write_files(folder / "logs", files=FILES)
    sketch(logs, out=folder / "out")
    return logs, folder / "out"


@pytest.mark.quick("args0", "args5")
@pytest.mark.parametrize(
    "args",
    [
        ("--by", "carrier", "--time", "ts", "--every", "1mo", "--prior", "0.1"),
        pytest.param(("--time", "ts", "--every", "1w", "--prior", "overall"), marks=pytest.mark.slow),
        ("--time", "ts", "--every", "1q", "--min-rows", "2800"),
        pytest.param(("--time", "ts", "--every", "1d", "--by", "carrier"), marks=pytest.mark.slow),
        pytest.param(("--by", "carrier", "--prior", "uniform"), marks=pytest.mark.slow),
        (),
    ],
)
def test_the_report_of_the_folder_is_that_of_the_rows(flights, args):
    logs, out = flights
    ours = report(out, "--cost-fn", "5", *args)
    theirs = report(logs, *READ, "--cost-fn", "5", *args)
    assert set(ours.columns) - set(theirs.columns) == {"auc_roc", "auc_roc_error"}
    keys = [c for c in ("carrier", "ts") if c in theirs.columns]
    same(ours.select(theirs.columns).sort(keys), theirs.sort(keys)) if keys else same(
        ours.select(theirs.columns), theirs
    )


def test_options_of_the_report_on_rows_may_be_repeated(flights):
    _, out = flights
    args = ("--by", "carrier", "--time", "ts", "--every", "1mo", "--cost-fn", "5")
    assert_frame_equal(report(out, *READ, "--score-type", "posterior", *args), report(out, *args[:2], *args[4:]))


def test_periods_may_be_called_what_they_are(flights):
    _, out = flights
    args = ("--every", "1mo", "--cost-fn", "5")
    plain = report(out, "--by", "carrier", *args)
    named = report(out, "--by", "carrier", "--by", "month", *args)
    assert_frame_equal(named, plain.rename({"ts": "month"}))


@pytest.mark.slow
def test_weights_labels_and_thresholds(logs, tmp_path):
    log = LOG.with_columns(y=pl.when("y").then(pl.lit("late")).when(~pl.col("y")).then(pl.lit("on time")))
    write_files(logs, log, files=FILES)
    args = ("--weight", "w", "--pos-label", "late", "--by", "carrier")
    sketch(logs, out=tmp_path / "out", args=(*READ, *args, "--threshold", "0.25", "--threshold", "0.4"))
    for decided in (("--threshold", "0.4"), ("--threshold", "0.25", "--cost-fn", "3"), ()):
        theirs = report(logs, *READ, *args, *decided)
        same(report(tmp_path / "out", "--by", "carrier", *decided).select(theirs.columns), theirs)
    bounds = report(tmp_path / "out", "--threshold", "0.3")
    exact = report(logs, *READ, *args[:-2], "--threshold", "0.3")
    for name in ("nec", "tp", "precision", "f1"):
        assert bounds[f"{name}_low"].item() <= exact[name].item() <= bounds[f"{name}_high"].item()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "dtypes"),
    [
        ((), [pl.Int8, pl.Boolean, pl.UInt32]),
        (("--pos-label", "1"), [pl.Int64, pl.Float64, pl.String]),
        (("--classes", "0,1"), [pl.Float32, pl.Int8, pl.String]),
        (("--pos-label", "true"), [pl.Boolean, pl.String]),
    ],
    ids=str,
)
def test_labels_of_types_that_mean_the_same(tmp_path, args, dtypes):
    """The classes of a folder are those of its options, whatever the label's type is in a file."""
    for i, dtype in enumerate(dtypes):
        label = pl.Series("y", [False, True, True, False])
        named = label if "true" in args else label.cast(pl.Int8)
        text = pl.Series("y", ["false", "true", "true", "false"]) if "true" in args else named.cast(pl.String)
        log = pl.DataFrame({"p": [0.1, 0.9, 0.4, 0.3], "y": text if dtype == pl.String else named.cast(dtype)})
        (tmp_path / "logs").mkdir(exist_ok=True)
        log.write_parquet(tmp_path / "logs" / f"{i}.parquet")
    sketch(tmp_path / "logs", out=tmp_path / "out", args=("--score", "p", "--label", "y", *args))
    counts = report(tmp_path / "out").select("tn", "fp", "fn", "tp").row(0)
    assert counts == tuple(len(dtypes) * n for n in (2, 0, 1, 1))


NAMES = [
    ("nec", "group column 'nec', as the result has"),
    ("nec_at_prior", "group column 'nec_at_prior', as the result has"),
    ("auc_roc_error", "group column 'auc_roc_error', as the result has"),
    ("small", "group column 'small', as the result has"),
    ("__ec_group", "group column '__ec_group', as the result has"),
    ("__ec_count_1", "group column '__ec_count_1', as the result has"),
    ("__part", None),
    ("__placed", None),
    ("nec_low", None),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "words"), NAMES)
def test_segments_with_names_of_columns_of_the_report(tmp_path, name, words):
    log = pl.DataFrame({"p": [0.1, 0.9, 0.7, 0.2], "y": [0, 1, 0, 1], name: ["a", "a", "b", None]})
    for i in range(2):
        (tmp_path / "logs").mkdir(exist_ok=True)
        log.write_parquet(tmp_path / "logs" / f"{i}.parquet")
    sketch(tmp_path / "logs", out=tmp_path / "out", args=("--score", "p", "--label", "y", "--by", name))
    args = ("--prior", "0.3", "--min-rows", "3")
    assert report(tmp_path / "out", *args)["n"].to_list() == [8], "it can be left out"
    if words is None:
        table = report(tmp_path / "out", "--by", name, *args)
        assert table.select(name, "n").rows() == [(None, 2), ("a", 4), ("b", 2)]
        return
    result = invoke("report", tmp_path / "out", "--by", name, *args)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert words in result.stderr


@pytest.mark.parametrize("name", ["__cell", "__0___score", "score", "target"])
def test_segments_with_names_of_columns_of_a_sketch(logs, tmp_path, name):
    log = pl.DataFrame({"p": [0.1], "y": [0], name: ["a"]})
    log.write_parquet(tmp_path / "log.parquet")
    args = ("--score", "p", "--label", "y", "--by", name)
    assert (
        f"column {name!r}, which is also a column of a sketch"
        in sketch(tmp_path / "log.parquet", out=tmp_path / "out", args=args, code=2).stderr
    )


def test_a_report_is_at_the_costs_of_the_sketches(logs, tmp_path):
    sketch(logs, out=tmp_path / "out", args=MADE_WITH)
    for stated in ((), ("--cost-fn", "5")):
        theirs = report(logs, *READ, "--by", "carrier", "--cost-fn", "5")
        same(report(tmp_path / "out", "--by", "carrier", *stated).select(theirs.columns), theirs)
    result = invoke("sketch", logs, "--out", tmp_path / "out", *MADE_WITH[:-1], "10", "--cost-fp", "2")
    assert result.exit_code == 2, "the same threshold, and other costs"
    assert "--cost-fn and --cost-fp [[0.0, 1.0], [5.0, 0.0]] and [[0.0, 2.0], [10.0, 0.0]]" in result.stderr


@pytest.mark.slow
def test_llrs_and_raw_scores(logs, tmp_path):
    read = ("--score", "log_odds", "--label", "y")
    sketch(logs, out=tmp_path / "llr", args=(*read, "--score-type", "llr", "--prior", "0.2", "--by", "carrier"))
    args = ("--prior", "0.2", "--by", "carrier")
    theirs = report(logs, *read, "--score-type", "llr", *args)
    ours = report(tmp_path / "llr", *args)
    of_losses = [c for c in theirs.columns if c.startswith(("nce", "nbs"))]
    assert of_losses == ["nce", "nce_at_prior", "nbs", "nbs_at_prior"]
    same(ours.select(theirs.columns).drop(of_losses), theirs.drop(of_losses))
    for name in of_losses:
        error = f"{name}_error"
        assert (ours[name] - theirs[name]).abs().is_between(0, ours[error]).all()
        assert (ours[error] < 1e-3).all()
    alone = ["n", "auc_roc", "auc_roc_error", "class_prior", "n_missing", "n_invalid"]
    assert report(tmp_path / "llr").columns == alone
    sketch(logs, out=tmp_path / "raw", args=(*read, "--score-type", "raw", "--threshold", "0.5"))
    assert (
        report(tmp_path / "raw", "--threshold", "0.5")["tp"].item() == LOG.filter("y", pl.col("log_odds") > 0.5).height
    )
    assert "auc_roc" in report(tmp_path / "raw").columns


@pytest.fixture(scope="module")
def sketches_by_period(tmp_path_factory):
    """Folders of sketches of one log, by the length of their periods."""
    folder = tmp_path_factory.mktemp("periods")
    logs = write_files(folder / "logs", files=1)
    for period in ("1d", "1w", "1mo"):
        sketch(logs, out=folder / period, args=(*READ, "--by", "carrier", "--time", "ts", "--every", period))
    sketch(logs, out=folder / "None", args=(*READ, "--by", "carrier"))
    return folder


@pytest.mark.parametrize(
    ("made", "args", "words"),
    [
        (
            "1d",
            ("--by", "week", "--every", "1mo"),
            "no group column 'week' (--by): It has carrier, ts; for periods of ts",
        ),
        ("1d", ("--by", "carier"), "did you mean 'carrier'?"),
        ("1d", ("--every", "1h"), "lies in two periods of 1h"),
        ("1d", ("--time", "ts"), "pass both --time and --every"),
        ("1d", ("--every", "month"), "--every month is not a period"),
        ("1w", ("--every", "1mo"), "the one that begins at 2024-01-29 00:00:00 lies in two periods of 1mo"),
        ("1mo", ("--every", "1w"), "lies in two periods of 1w"),
        ("1d", ("--time", "when", "--every", "1mo"), "was sketched with --time ts"),
        ("1d", ("--score", "q"), "was sketched with --score p, not q"),
        ("1d", ("--weight", "w"), "was sketched with --weight None"),
        (None, ("--every", "1mo"), "was sketched without --time"),
    ],
)
def test_reports_that_the_sketches_cannot_give(sketches_by_period, made, args, words):
    result = invoke("report", sketches_by_period / str(made), *args)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_periods_in_time_zones_and_of_dates(tmp_path):
    zoned = LOG.with_columns(pl.col("ts").dt.replace_time_zone("UTC").dt.convert_time_zone("America/New_York"))
    for name, log in {"zoned": zoned, "dates": LOG.with_columns(pl.col("ts").dt.date())}.items():
        logs = write_files(tmp_path / name, log, files=2)
        out = tmp_path / f"{name}-out"
        sketch(logs, out=out)
        args = ("--time", "ts", "--every", "1mo", "--cost-fn", "5")
        theirs = report(logs, *READ, *args)
        same(report(out, *args).select(theirs.columns), theirs)


@pytest.mark.parametrize("every", ["1mo", "1d"])
def test_days_beyond_all_calendars(tmp_path, capfd, every):
    """The engine panics on some of them, at once or when they are reported: no rows vanish, and it is a line."""
    days = pl.Series([0, 10**12, 2**63 - 1], dtype=pl.Int64).cast(pl.Datetime("us"))
    (tmp_path / "logs").mkdir()
    log = pl.DataFrame({"p": [0.2, 0.5, 0.7], "y": [0, 1, 1], "ts": days})
    log.write_parquet(tmp_path / "logs" / "odd.parquet")
    args = (*READ, "--time", "ts", "--every", every)
    made = invoke("sketch", tmp_path / "logs", "--out", tmp_path / "out", *args)
    if every == "1mo":
        assert (made.exit_code, len(made.stderr.splitlines())) == (1, 1)
        assert "odd.parquet" in made.stderr
        assert SketchFolder(tmp_path / "out").entries() == ({}, {})
    else:
        assert made.stdout.endswith("3 rows\n")
        result = invoke("report", tmp_path / "out", "--every", "1y")
        assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
        assert "unexpected" not in result.stderr
    assert capfd.readouterr().err == "", "what Rust prints of a panic"


def test_reports_on_nothing(logs, tmp_path):
    with locked(tmp_path / "out"):
        pass
    result = invoke("report", tmp_path / "out")
    assert (result.exit_code, "holds no sketches yet" in result.stderr) == (1, True)
    sketch(logs, out=tmp_path / "out")
    assert "one folder of sketches at a time" in invoke("report", tmp_path / "out", logs, *READ).stderr
    assert "needs --score and --label: pass column names, such as" in invoke("report", logs).stderr
    assert "needs --label: " in invoke("report", logs, "--score", "p").stderr
