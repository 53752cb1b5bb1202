"""Gates of the command: what trips them, what is said and how the command ends, from files, tables of DuckDB and sketches."""

from __future__ import annotations

import io
import math
import operator

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec  # noqa: F401  (registers the namespace)
from polars_ec.cli import commands
from polars_ec.cli.gates import Gates, Names, parse_gate
from polars_ec.cli.terminal import DataError, UsageError
from tests.support.cases import mostly_slow
from tests.support.cli import READ, fails, invoke, sketch

BY = ("--by", "s", "--cost-fn", "5")
OPERATORS = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


def made_log():
    """Groups of 400 rows, of 12, and one without positives."""
    rng = np.random.default_rng(5)
    s = np.array(["a"] * 400 + ["b"] * 400 + ["c"] * 12 + ["d"] * 60)
    y = rng.random(len(s)) < 0.3
    y[s == "d"] = False
    y[s == "c"] = [True, False] * 6
    z = rng.normal(size=len(s)) + np.where(s == "b", 0.2, 1.5) * np.where(y, 1, -1)
    return pl.DataFrame(
        {"s": s, "i": np.arange(len(s)) % 7, "p": 1 / (1 + np.exp(-z)), "q": 1 / (1 + np.exp(z)), "y": y}
    )


LOG = made_log()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    LOG.write_parquet(folder / "log.parquet")
    LOG.write_csv(folder / "log.csv")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM log")
    sketch(folder / "log.parquet", out=folder / "sketches", args=(*READ, "--by", "s", "--cost-fn", "5"))
    return folder


DOORS = ["log.parquet", "log.csv", "log.duckdb", "sketches"]


def door(folder, name):
    """The source, and what must be said of its columns."""
    path = f"duckdb:{folder}/log.duckdb::log" if name == "log.duckdb" else str(folder / name)
    return (path, *BY) if name == "sketches" else (path, *READ, *BY)


def gated(code, *args):
    """The table, and the lines on stderr."""
    result = invoke("report", *args, "--format", "csv")
    assert result.exit_code == code, result.output
    lines = result.stderr.splitlines()
    assert all(line.startswith("polars-ec: ") for line in lines)
    return pl.read_csv(io.StringIO(result.stdout)), [line.removeprefix("polars-ec: ") for line in lines]


# The text ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "sign", "number"),
    [
        ("nec > 1", "nec", ">", 1.0),
        ("nec_at_prior_ci_low>=.5", "nec_at_prior_ci_low", ">=", 0.5),
        ("  n  !=  -1e3  ", "n", "!=", -1000.0),
        ("n<=+2.", "n", "<=", 2.0),
        ("x == inf", "x", "==", math.inf),
        ("x < -Infinity", "x", "<", -math.inf),
        ('"a > b" == 0', "a > b", "==", 0.0),
        ('"say ""nec""" < 1', 'say "nec"', "<", 1.0),
        ('"" < 1', "", "<", 1.0),
        ("Verspätung%<1", "Verspätung%", "<", 1.0),
        ("1 > 2", "1", ">", 2.0),
    ],
)
def test_a_gate_is_a_column_an_operator_and_a_number(text, column, sign, number):
    gate = parse_gate(text)
    assert (gate.column, gate.operator, gate.number) == (column, sign, number)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nec", ["nec", "n_missing > 500"]),
        ("", ["''", "pass a column"]),
        ("nec >", ["pass a column"]),
        ("> 1", ["pass a column"]),
        ("nec = 1", ["for equality use =="]),
        ("nec => 1", ["the operators are >="]),
        ("nec ≥ 1", ["the operators are >="]),
        ("nec <> 1", ["the operators are >="]),
        ("nec_kinked == True", ["write 1 for true"]),
        ("1 > nec", ["nec is not a number"]),
        ("nec > 1 > 2", ["pass a column"]),
        ("nec > nan", ["NaN", "--fail-on-null"]),
        ("nec > 1e999", ["too large for a number"]),
        ("nec > 1_000", ["1_000 is not a number"]),
        ("nec > 0x10", ["0x10 is not a number"]),
        ("nec > ١", ["is not a number"]),
        ("mean of nec > 1", ["double quotes"]),
        ('"nec > 1', ["pass a column"]),
        ("nec > 1 or True", ["pass a column"]),
        ("nec > 1;", ["1; is not a number"]),
        ("nec > __import__('os').getpid()", ["is not a number"]),
    ],
)
def test_texts_that_are_no_gate_are_told_before_the_log_is_looked_for(text, words):
    fails(2, "report", "nowhere.parquet", *READ, "--fail-if", text, words=["--fail-if", *words])


def test_null_has_its_own_option_which_is_of_gates():
    fails(2, "report", "nowhere.parquet", *READ, "--fail-on-null", words=["--fail-on-null", "pass --fail-if"])


# What trips -------------------------------------------------------------------------------------------------------------

VALUES = {
    "x": [1.0, 0.5, None, math.nan, math.inf, -math.inf, 1.0000000000000002, 0.0, -0.0, 3.0],
    "n": [1, 0, None, 2**53 + 1, -5, 7, 1, 1, 2, 3],
    "flag": [True, False, None, True, False, True, True, False, None, True],
}
SMALL = [False, False, False, False, False, True, False, None, False, True]


@pytest.mark.parametrize("column", VALUES)
@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("number", ["1", "0", "inf", "-inf", "9007199254740992", "0.5"])
@pytest.mark.parametrize("on_null", [False, True])
def test_what_trips_is_what_the_operator_says(column, sign, number, on_null):
    table = pl.DataFrame({"k": range(10), "v": VALUES[column], "small": SMALL}, strict=False)
    names = Names(["k"], small=True)
    (verdict,) = Gates.of([f"v {sign} {number}"], on_null).verdicts(table, names)
    tripped, small, null = [], 0, 0
    for k, (value, is_small) in enumerate(zip(VALUES[column], SMALL, strict=True)):
        if is_small and not on_null:
            small += 1
        elif value is None or math.isnan(value):
            tripped += [k] if on_null else []
            null += 0 if on_null else 1
        elif OPERATORS[sign](value, float(number)):
            tripped.append(k)
    assert [line.split(":")[0] for line in verdict.tripped] == [f"k={k}" for k in tripped]
    assert (verdict.small, verdict.null) == (small, null)


def test_values_are_shown_with_as_many_digits_as_say_that_they_trip():
    table = pl.DataFrame({"k": ["a", "b", "c"], "v": [1.00000001, 1.25, 1234567.75]})
    (verdict,) = Gates.of(["v > 1"], False).verdicts(table, Names(["k"]))
    assert [line.split(" is ")[1].split()[0] for line in verdict.tripped] == ["1.00000001", "1.25", "1.23457e+06"]


def test_decimals_are_the_numbers_that_they_are_written_as():
    table = pl.DataFrame({"k": ["a", "b"], "v": pl.Series(["0.3", "0.4"]).str.to_decimal(scale=1)})
    (verdict,) = Gates.of(["v == 0.3"], False).verdicts(table, Names(["k"]))
    assert [line.split(":")[0] for line in verdict.tripped] == ["k=a"]


def test_a_gate_on_small_groups_judges_them():
    table = pl.DataFrame({"k": ["a", "b"], "small": [True, False]})
    (verdict,) = Gates.of(["small == 1"], False).verdicts(table, Names(["k"], small=True))
    assert verdict.tripped == ["k=a: small is true (--fail-if 'small == 1')"]


@pytest.mark.parametrize("column", ["n", "n_invalid", "n_missing", "n_missing_label", "n_reference"])
def test_gates_on_numbers_of_rows_judge_small_groups(column):
    table = pl.DataFrame({"k": ["a", "b"], column: [0, 900], "small": [True, False]})
    (verdict,) = Gates.of([f"{column} < 10"], False).verdicts(table, Names(["k"], small=True))
    assert (len(verdict.tripped), verdict.small) == (1, 0)


@pytest.mark.quick("sketches")
@pytest.mark.parametrize("name", mostly_slow(DOORS, ["log.parquet", "sketches"]))
def test_a_group_of_nothing_but_wrong_rows_trips(tmp_path, name):
    """It has no row that counts, and so it is small."""
    wrong = LOG.with_columns(p=pl.when(pl.col("s") == "b").then(7.0).otherwise("p"))
    wrong.write_parquet(tmp_path / "log.parquet")
    wrong.write_csv(tmp_path / "log.csv")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        log = wrong.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM log")
    sketch(tmp_path / "log.parquet", out=tmp_path / "sketches", args=(*READ, "--by", "s", "--cost-fn", "5"))
    args = (*door(tmp_path, name), "--metrics", "nec", "--min-rows", "20", "--fail-if", "n_invalid > 0")
    assert "s=b: n_invalid is 400 (--fail-if 'n_invalid > 0')" in gated(3, *args)[1]


# The command ------------------------------------------------------------------------------------------------------------


GATE = "nec_ci_low > 0.7"
LIMITS = ("--metrics", "nec", "--interval", "0.9")


@pytest.mark.quick("log.duckdb", "sketches")
@pytest.mark.parametrize("name", DOORS)
def test_groups_that_trip_are_named(folder, name):
    theirs = LOG.ec.report("p", "y", by="s", cost_fn=5, metrics=["nec"], interval=0.9)
    (low,) = theirs.filter(pl.col("nec_ci_low") > 0.7, ~pl.col("small"))["nec_ci_low"]
    ours, told = gated(3, *door(folder, name), *LIMITS, "--fail-if", GATE)
    assert_frame_equal(ours, theirs, rel_tol=1e-9)
    assert told == [
        f"s=b: nec_ci_low is {low:.6g} (--fail-if '{GATE}')",
        f"--fail-if '{GATE}' skipped 2 of 4 values: 2 in small groups (--fail-on-null judges these too)",
    ]


def test_the_table_is_written_as_it_is_without_gates(folder, tmp_path):
    args = (*door(folder, "log.parquet"), *LIMITS)
    table, told = gated(0, *args)
    assert told == []
    ours, told = gated(3, *args, "--fail-if", GATE, "--quiet")
    assert_frame_equal(ours, table)
    assert len(told) == 1
    for form in ("csv", "json", "txt", "parquet"):
        written = [tmp_path / f"{gates}.{form}" for gates in ("without", "with")]
        assert invoke("report", *args, "--out", written[0]).exit_code == 0
        result = invoke("report", *args, "--fail-if", GATE, "--out", written[1])
        assert (result.exit_code, result.stdout) == (3, "")
        assert written[0].read_bytes() == written[1].read_bytes()


@pytest.mark.parametrize("name", mostly_slow(DOORS, ["log.parquet"]))
def test_nulls_trip_where_it_is_asked_for_and_small_groups_count_then(folder, name):
    args = (*door(folder, name), "--metrics", "recall", "--min-rows", "20")
    told = gated(0, *args, "--fail-if", "recall < 0")[1]
    assert told == [
        "--fail-if 'recall < 0' skipped 2 of 4 values: 1 in small groups, 1 null (--fail-on-null judges these too)"
    ]
    assert gated(0, *args, "--fail-if", "recall < 0", "--quiet")[1] == []
    told = gated(3, *args, "--fail-if", "recall < 2", "--fail-on-null")[1]
    assert [line.split(":")[0] for line in told] == ["s=a", "s=b", "s=c", "s=d"]
    assert told[3] == "s=d: recall is null (--fail-if 'recall < 2', --fail-on-null)"


def test_every_gate_is_asked(folder):
    args = (*door(folder, "log.parquet"), "--metrics", "nec")
    told = gated(3, *args, "--fail-if", "nec < 0", "--fail-if", "n < 50", "--fail-if", "n == 60")[1]
    assert told == [
        "s=c: n is 12 (--fail-if 'n < 50')",
        "s=d: n is 60 (--fail-if 'n == 60')",
        "--fail-if 'nec < 0' skipped 1 of 4 values: 1 null (--fail-on-null judges these too)",
    ]


@pytest.mark.parametrize("name", mostly_slow(DOORS, ["log.parquet"]))
def test_a_gate_that_judges_nothing_is_no_pass(folder, name):
    args = (*door(folder, name), "--metrics", "nec", "--min-rows", "5000", "--fail-if", "nec > 1")
    said = [
        "--fail-if 'nec > 1' judged no value, which only --fail-on-null counts as a failure: of 4 values 4 in small groups"
    ]
    assert gated(0, *args)[1] == gated(0, *args, "--quiet")[1] == said
    assert [line.split(":")[0] for line in gated(3, *args, "--fail-on-null")[1]] == ["s=d"]


def test_an_empty_log_is_no_pass(folder, tmp_path):
    LOG.clear().write_parquet(tmp_path / "empty.parquet")
    args = (tmp_path / "empty.parquet", *READ, *BY, "--fail-if", "nec > 1")
    said = ["--fail-if 'nec > 1' judged no value, which only --fail-on-null counts as a failure: the table is empty"]
    assert gated(0, *args, "--quiet")[1] == said
    assert gated(3, *args, "--fail-on-null")[1] == said


def test_rows_are_called_by_what_they_are_about(folder):
    path = folder / "log.parquet"
    models = ("--score", "p", "--score", "q", "--label", "y")
    told = gated(3, path, *models, "--by", "s", "--total", "--metrics", "nec", "--fail-if", "n > 390")[1]
    called = ["s=a, score=p", "s=a, score=q", "s=b, score=p", "s=b, score=q", "total, score=p", "total, score=q"]
    assert [line.split(":")[0] for line in told] == called
    told = gated(3, path, *READ, "--by", "s", "--per-class", "--metrics", "f1", "--fail-if", "f1 > 0.9")[1]
    assert [line.split(":")[0] for line in told] == ["s=a, class=false", "s=d, class=false"]
    told = gated(3, path, *READ, "--metrics", "nec", "--fail-if", "nec > 0")[1]
    assert [line.split(":")[0] for line in told] == ["the whole log"]


def test_names_of_groups_are_on_one_line_whatever_they_are(tmp_path):
    values = ["two\nlines", None, "null", "=1"]
    log = pl.concat(LOG.head(40).with_columns(s=pl.lit(value, dtype=pl.String)) for value in values)
    log.with_columns(ts=pl.datetime(2024, 5, 1, 3)).write_parquet(tmp_path / "log.parquet")
    time = ("--time", "ts", "--every", "1h")
    told = gated(3, tmp_path / "log.parquet", *READ, "--by", "s", *time, "--fail-if", "n > 0")[1]
    shown = ["null", "=1", "null", "two\\nlines"]
    assert [line.split(": n is")[0] for line in told] == [f"s={value}, ts=2024-05-01 03:00:00" for value in shown]
    told = gated(3, tmp_path / "log.parquet", *READ, "--time", "ts", "--every", "1d", "--fail-if", "n > 0")[1]
    assert told == ["ts=2024-05-01: n is 160 (--fail-if 'n > 0')"]


def test_of_many_groups_the_first_are_named(tmp_path):
    log = pl.concat(LOG.head(3).with_columns(s=pl.lit(i)) for i in range(26))
    log.write_parquet(tmp_path / "log.parquet")
    told = gated(3, tmp_path / "log.parquet", *READ, "--by", "s", "--metrics", "nec", "--fail-if", "n == 3")[1]
    assert len(told) == 21
    assert told[19:] == ["s=19: n is 3 (--fail-if 'n == 3')", "6 more groups trip --fail-if 'n == 3'"]


def test_columns_with_odd_names(tmp_path):
    LOG.rename({"i": 'a > "b"'}).write_parquet(tmp_path / "log.parquet")
    args = (tmp_path / "log.parquet", *READ, "--by", 'a > "b"', "--metrics", "nec")
    told = gated(3, *args, "--fail-if", '"a > ""b""" >= 6')[1]
    assert [line.split(":")[0] for line in told] == ['a > "b"=6']


# Mistakes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gate", "args", "words"),
    [
        ("necc > 1", (), ["no column 'necc'", "did you mean nec?"]),
        ("NEC > 1", (), ["did you mean nec?"]),
        ("nec_ci_low > 1", (), ["pass --interval 0.95"]),
        ("nec_kinked == 1", (), ["pass --interval 0.95"]),
        ("nec_at_prior > 1", (), ["pass --prior"]),
        ("nec_at_prior_ci_low > 1", (), ["pass --interval 0.95 and --prior"]),
        ("nec_at_prior_ci_low > 1", ("--interval", "0.9"), ["pass --prior"]),
        ("nec_ci_lo > 1", ("--interval", "0.9"), ["did you mean nec_ci_low?"]),
        ("eer > 1", (), ["pass --metrics eer"]),
        ("small == 1", (), ["pass --min-rows or --interval"]),
        ("s > 1", (), ["s is String", "needs a column of numbers"]),
    ],
)
def test_columns_that_are_not_there_or_no_numbers(folder, gate, args, words):
    fails(2, "report", *door(folder, "log.parquet"), *args, "--fail-if", gate, words=["--fail-if", gate, *words])


@pytest.mark.quick("args0-log.parquet", "args1-log.duckdb", "args?-sketches")
@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("args", [(), ("--interval", "0.9")])
def test_nothing_is_written_where_a_column_is_not_there(folder, tmp_path, name, args):
    out = tmp_path / "report.csv"
    args = (*door(folder, name), "--metrics", "nec", *args, "--out", out)
    fails(2, "report", *args, "--fail-if", "necc > 1", words=["no column 'necc'", "did you mean nec?"])
    assert not out.exists()


def test_a_column_of_vectors_has_a_way_out(folder):
    args = (*door(folder, "log.parquet"), "--metrics", "class_recall", "--fail-if", "class_recall < 0.5")
    fails(2, "report", *args, words=["class_recall is", "--per-class"])


def test_columns_are_checked_before_the_log_is_read(folder, tmp_path):
    content = bytearray((folder / "log.parquet").read_bytes())
    content[200:2000] = bytes(1800)
    (tmp_path / "damaged.parquet").write_bytes(content)
    args = ("report", tmp_path / "damaged.parquet", *READ, *BY)
    fails(1, *args, "--fail-if", "nec > 0", words=["damaged.parquet"])  # an error of the run, whatever gates there are
    fails(2, *args, "--fail-if", "necc > 0", words=["did you mean nec?"])


def test_a_table_that_cannot_be_written_is_an_error_of_the_run(folder, monkeypatch):
    def broken(*_):
        raise DataError("stdout: no space")

    monkeypatch.setattr(commands, "write", broken)
    fails(1, "report", *door(folder, "log.parquet"), "--fail-if", "n > 0", words=["no space"])


def test_codes_of_csv_are_known_when_they_have_been_read(folder):
    args = (folder / "log.csv", *READ, "--by", "i", "--metrics", "nec")
    assert [line.split(":")[0] for line in gated(3, *args, "--fail-if", "i > 4")[1]] == ["i=5", "i=6"]
    fails(2, "report", folder / "log.csv", *READ, "--by", "s", "--fail-if", "s > 4", words=["s is String"])


def test_nothing_is_known_of_a_column_that_is_null():
    Gates.of(["v > 1"], False).check({"v": pl.Null()})
    with pytest.raises(UsageError, match="v is Date"):
        Gates.of(["v > 1"], False).check({"v": pl.Date()})


def test_long_names_of_groups_are_shortened():
    table = pl.DataFrame({"s": [f"{'a' * 5000}{end}" for end in "xy"], "n": [1, 2]})
    (verdict,) = Gates.of(["n > 1"], on_null=False).verdicts(table, Names(["s"]))
    assert verdict.tripped == [f"s={'a' * 40}...{'a' * 39}y: n is 2 (--fail-if 'n > 1')"]
