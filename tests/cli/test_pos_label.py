"""A positive class that no row has: a mistyped label must not look like a log without positives."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest

from polars_ec.cli import answers, sketch_job
from polars_ec.cli.request import without_positives
from polars_ec.cli.terminal import DataError
from tests.support.cases import mostly_slow
from tests.support.cli import READ, invoke


def log_of(labels):
    n = len(labels)
    return pl.DataFrame({"p": [0.1 + 0.8 * i / n for i in range(n)], "y": labels, "s": [i % 2 for i in range(n)]})


@pytest.fixture(params=mostly_slow(["parquet", "csv", "duckdb", "sketches"], ["duckdb", "sketches"]))
def ask(request, tmp_path):
    """A report on a log in one of the ways that there are; sketches are made first, and both commands have a say."""

    def asked(log, positive, *args):
        if request.param == "duckdb":
            (tmp_path / "log.duckdb").unlink(missing_ok=True)
            with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
                rows = log.to_arrow()  # noqa: F841
                connection.execute("CREATE TABLE log AS FROM rows")
            return [invoke("report", f"duckdb:{tmp_path}/log.duckdb::log", *READ, "--pos-label", positive, *args)]
        if request.param != "sketches":
            getattr(log, f"write_{request.param}")(tmp_path / f"log.{request.param}")
            return [invoke("report", tmp_path / f"log.{request.param}", *READ, "--pos-label", positive, *args)]
        log.write_parquet(tmp_path / "log.parquet")
        out = tmp_path / f"out-{positive}"
        made = invoke("sketch", tmp_path / "log.parquet", "--out", out, *READ, "--by", "s", "--pos-label", positive)
        reported = invoke("report", out, *args)
        return [made, reported]

    return asked


@pytest.mark.quick("duckdb-Yes-*", "duckdb-1-*", "sketches- yes-*", "sketches-1-*")
@pytest.mark.parametrize(
    ("positive", "labels", "meant"),
    [
        ("Yes", ["yes", "no", None], "'yes'"),
        (" yes", ["no", "yes", "yes"], "'yes'"),
        ("yes", ["no", "Yes ", "YES"], "'YES', 'Yes '"),
        ("1", ["1.0", "0.0", "0.0"], "'1.0'"),
        ("ＹＥＳ", ["ｙｅｓ", "no", "no"], "'ｙｅｓ'"),
    ],
)
def test_a_label_that_must_be_meant_is_an_error(ask, tmp_path, positive, labels, meant):
    for result in ask(log_of(labels), positive, "--by", "s"):
        if positive == "1" and "log.csv" in str(list(tmp_path.iterdir())):
            assert result.exit_code == 0  # to CSV it is a column of numbers
            continue
        assert result.exit_code == 1
        assert (
            f"no row has the label {positive!r} (--pos-label), but some rows have 'y' {meant}. Is that the one?"
            in result.stderr
        )
        assert all(line.startswith("polars-ec: ") for line in result.stderr.splitlines())


@pytest.mark.quick("duckdb-labels0", "sketches-labels3")
@pytest.mark.parametrize(
    "labels",
    mostly_slow(
        [["on time", "cancelled", None], ["not late"] * 3, ["early"] * 3, ["latex"] * 3],
        [["on time", "cancelled", None], ["latex"] * 3],
    ),
)
def test_a_log_without_positives_yet_is_warned_of(ask, labels):
    for result in ask(log_of(labels), "late", "--by", "s"):
        assert result.exit_code == 0
        assert len(result.stderr.splitlines()) == 1
        assert "has the label 'late' (--pos-label)" in result.stderr


def test_the_warning_names_what_is_there(ask):
    result = ask(log_of([f"reason {i}" for i in range(7)]), "late")[0]
    assert result.stderr.endswith(
        ": no row has the label 'late' (--pos-label): 'y' is 'reason 0', 'reason 1', 'reason 2', 'reason 3', 'reason 4' "
        "and 2 others\n"
    )


@pytest.mark.quick("duckdb-late-labels1", "duckdb-Late-*", "sketches-late-labels0", "sketches-Late-*")
@pytest.mark.parametrize(
    ("positive", "labels"),
    [("late", ["late", "on time", "on time"]), ("late", [None, None, None]), ("Late", ["late", "on time", "Late"])],
)
def test_nothing_is_said_of_logs_with_positives_or_without_labels(ask, positive, labels):
    for result in ask(log_of(labels), positive, "--by", "s"):
        assert (result.exit_code, result.stderr) == (0, "")


def test_positives_whose_score_is_missing_are_there(ask):
    log = log_of(["late", "on time", "on time"]).with_columns(p=pl.when(pl.col("y") != "late").then("p"))
    for result in ask(log, "late")[:1]:
        assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.quick("duckdb-Boolean-*", "duckdb-Int64-x-*", "sketches-Float64-*", "sketches-Int64-x-*")
@pytest.mark.parametrize(
    ("dtype", "positive", "code"),
    [(pl.Boolean, "true", 0), (pl.Int64, "7", 0), (pl.Float64, "1.5", 0), (pl.Int64, "x", 2)],
)
def test_labels_of_other_types(ask, dtype, positive, code):
    for result in ask(log_of([0, 0, 0]).cast({"y": dtype}), positive)[:1]:
        if code == 0:
            assert result.exit_code == 0
            assert f"no row has the label {positive!r}" in result.stderr
        else:
            assert result.exit_code in (1, 2)
            assert "'x' is not a valid label value" in result.stderr


@pytest.mark.parametrize("source", ["log.parquet", "log.duckdb::log"])
def test_the_shares_of_the_whole_log_too(tmp_path, source):
    log_of(["yes", "no", "no"]).write_parquet(tmp_path / "log.parquet")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        connection.execute(f"CREATE TABLE log AS FROM '{tmp_path}/log.parquet'")
    path = f"{'duckdb:' if '::' in source else ''}{tmp_path}/{source}"
    result = invoke("report", path, *READ, "--pos-label", "Yes", "--prior", "overall")
    assert result.exit_code == 1
    assert "Is that the one?" in result.stderr


def test_a_log_with_positives_is_read_once(tmp_path, monkeypatch):
    log_of(["late", "on time"]).write_parquet(tmp_path / "log.parquet")
    monkeypatch.setattr(answers, "values_and_presence", None)  # nobody asks
    assert invoke("report", tmp_path / "log.parquet", *READ, "--pos-label", "late").exit_code == 0


# Over many files ---------------------------------------------------------------------------------------------------------


def test_a_day_without_positives_is_no_matter(tmp_path, monkeypatch):
    logs = tmp_path / "logs"
    logs.mkdir()
    for i, labels in enumerate((["no", "no"], ["no", "yes"], ["no", "no"])):
        log_of(labels).write_parquet(logs / f"{i}.parquet")
    monkeypatch.setattr(sketch_job, "values_and_presence", None)  # nobody asks
    result = invoke("sketch", logs, "--out", tmp_path / "out", *READ, "--pos-label", "yes")
    assert (result.exit_code, result.stderr) == (0, "")
    assert invoke("report", tmp_path / "out").stderr == ""


@pytest.mark.slow
def test_a_folder_says_so_until_it_is_mended(tmp_path):
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    for i in range(3):
        log_of(["no", "yes"]).write_parquet(logs / f"{i}.parquet")
    args = ("sketch", logs, "--out", out, *READ, "--pos-label", "Yes")
    for _ in range(2):
        result = invoke(*args)
        assert result.exit_code == 1
        assert f"{out}: no row has the label 'Yes' (--pos-label), but some rows have 'y' 'yes'" in result.stderr
        report = invoke("report", out)
        assert report.exit_code == 1
        (line,) = report.stderr.splitlines()
        assert "but some rows have 'y' 'yes'" in line
    log_of(["Yes", "no"]).write_parquet(logs / "3.parquet")
    result = invoke(*args)
    assert (result.exit_code, result.stderr) == (0, "")
    assert (invoke("report", out).exit_code, invoke("report", out).stderr) == (0, "")


# What is near ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "value", "near"),
    [
        ("positive", "negative", False),
        ("fraud", "non-fraud", False),
        ("delivered", "undelivered", False),
        ("valid", "invalid", False),
        ("defaulted", "not defaulted", False),
        ("1", "0", False),
        ("late", "on time", False),
        ("spam", "ham", False),
        ("lates", "late", False),
        ("class_a", "class_b", False),
        ("FRAUD", "fraud", True),
        ("1e0", "1", True),
        ("01", "1", True),
        ("inf", "Infinity", True),
    ],
)
def test_what_is_near(stated, value, near):
    if near:
        with pytest.raises(DataError, match="Is that the one"):
            without_positives(stated, "y", [value, "something else"], "log")
    else:
        (warning,) = without_positives(stated, "y", [value], "log")
        assert repr(value) in warning
