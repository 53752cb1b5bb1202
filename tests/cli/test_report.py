"""The command line: the same numbers as Python from every kind of source, and every way to go wrong in one line."""

from __future__ import annotations

import datetime as dt
import io
import json
import subprocess
import sys

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.cli import answers
from polars_ec.sql import macros
from tests.support.cases import mostly_slow
from tests.support.cli import READ, fails, invoke, python, typed_report

MONTHLY = (*READ, "--by", "carrier", "--time", "ts", "--every", "1mo", "--cost-fn", "5", "--prior", "0.1")


def make_log(n=1500):
    rng = np.random.default_rng(7)
    late = rng.random(n) < 0.3
    llr = rng.normal(size=n) + 1.2 * late
    vectors = rng.dirichlet([1, 1, 1], n)
    return pl.DataFrame(
        {
            "ts": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(h)) for h in np.sort(rng.integers(0, 24 * 90, n))],
            "carrier": rng.choice(["AA", "B6", "UA"], n),
            "p": 1 / (1 + np.exp(1 - llr)),
            "q": 1 / (1 + np.exp(2 - 2 * llr)),
            "llr": llr,
            "y": [None if missing else bool(y) for y, missing in zip(late, rng.random(n) < 0.05, strict=True)],
            "outcome": np.where(late, "late", "on time"),
            "w": rng.integers(0, 5, n) / 2,
            "v": pl.Series(vectors.tolist(), dtype=pl.Array(pl.Float64, 3)),
            "pair": pl.Series(np.stack([1 - vectors[:, 0], vectors[:, 0]], 1).tolist(), dtype=pl.Array(pl.Float64, 2)),
            "c": [int(rng.choice(3, p=v)) for v in vectors],
        }
    ).with_columns(said=pl.col("outcome").shift(1))


LOG = make_log()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    flat = LOG.drop("v", "pair")
    LOG.write_parquet(folder / "log.parquet")
    flat.write_csv(folder / "log.csv")
    LOG.write_ipc(folder / "log.arrow")
    LOG.write_ndjson(folder / "log.ndjson")
    for kind in ("parquet", "csv", "ndjson", "arrow"):
        for (month,), rows in LOG.with_columns(month=pl.col("ts").dt.month()).group_by("month"):
            part = folder / f"hive_{kind}" / f"month={month}"
            part.mkdir(parents=True)
            rows = rows.drop("month", "v", "pair")
            write = {"arrow": rows.write_ipc}.get(kind) or getattr(rows, f"write_{kind}")
            write(part / f"part.{kind}")
    (folder / "hive_parquet" / "_SUCCESS").touch()
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM log")
        connection.execute('CREATE SCHEMA "a b"')
        connection.execute('CREATE VIEW "a b"."it\'s ""x""" AS FROM main.log')
    return folder


def expected(log=LOG, **options):
    month = pl.col("ts").dt.truncate("1mo")
    return log.ec.report("p", "y", by=["carrier", month], **{"cost_fn": 5, "prior": 0.1, **options})


def same(ours, theirs):
    assert_frame_equal(ours, theirs, check_exact=False, rel_tol=1e-12, abs_tol=0)


@pytest.mark.quick("log.parquet", "log.csv", "log.ndjson", "*/log.arrow")
@pytest.mark.parametrize("name", ["log.parquet", "log.csv", "log.arrow", "log.ndjson", "log.par*", "**/log.arrow"])
def test_every_kind_of_file(folder, name):
    same(typed_report(folder / name, *MONTHLY), expected())


@pytest.mark.quick("a b*")
@pytest.mark.parametrize("table", mostly_slow(["log", "main.log", 'a b.it\'s "x"'], ["main.log", 'a b.it\'s "x"']))
def test_duckdb(folder, table, monkeypatch):
    monkeypatch.undo()  # the report creates the macros itself, as it does for users
    same(typed_report(f"duckdb:{folder}/log.duckdb::{table}", *MONTHLY), expected())


@pytest.mark.quick("parquet", "csv")
@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson", "arrow"])
def test_hive_folder(folder, kind):
    ours = typed_report(folder / f"hive_{kind}", *READ, "--by", "month")
    theirs = LOG.ec.report("p", "y", by=pl.col("ts").dt.month().cast(pl.Int64).alias("month"))
    same(ours, theirs)


def test_several_files_and_a_glob_of_folders(folder):
    files = sorted((folder / "hive_parquet").glob("*/*.parquet"))
    same(typed_report(*files, *MONTHLY), expected())
    same(typed_report(folder / "hive_parquet" / "month=*", *MONTHLY), expected())


OPTIONS = [
    ("--score p --label y", "p", "y", {}),
    ("--score p --score q --label y --by carrier --min-rows 480", ["p", "q"], "y", {"by": "carrier", "min_rows": 480}),
    ("--score p --label y --weight w --threshold 0.4", "p", "y", {"weight": "w", "threshold": 0.4}),
    (
        "--score llr --label outcome --pos-label late --score-type llr --prior 0.2 --cost-fp 2 --by carrier",
        "llr",
        "outcome",
        {"pos_label": "late", "score_type": "llr", "prior": 0.2, "cost_fp": 2, "by": "carrier"},
    ),
    (
        "--score llr --label y --score-type log_odds --prior uniform --weight w",
        "llr",
        "y",
        {"score_type": "log_odds", "prior": "uniform", "weight": "w"},
    ),
    (
        "--score v --label c --costs [[0,1,1,0.2],[2,0,1,0.2],[3,1,0,0.2]] --prior [0.2,0.3,0.5] --by carrier",
        "v",
        "c",
        {"costs": [[0, 1, 1, 0.2], [2, 0, 1, 0.2], [3, 1, 0, 0.2]], "prior": [0.2, 0.3, 0.5], "by": "carrier"},
    ),
    ("--score v --label c --classes 2,1,0", "v", "c", {"classes": [2, 1, 0]}),
    (
        "--score p --label y --costs [[0,1,0.1],[5,0,0.1]] --by carrier",
        "p",
        "y",
        {"costs": [[0, 1, 0.1], [5, 0, 0.1]], "by": "carrier"},
    ),
    (
        "--score c --label c --score-type decision --classes 0,1,2",
        "c",
        "c",
        {"score_type": "decision", "classes": [0, 1, 2]},
    ),
    (
        "--score c --label y --score-type decision --costs [[0,1,0.1],[5,0,0.1]] --prior 0.3 --weight w",
        "c",
        "y",
        {"score_type": "decision", "costs": [[0, 1, 0.1], [5, 0, 0.1]], "prior": 0.3, "weight": "w"},
    ),
    (
        "--score llr --label y --score-type llr --costs [[0,1,0.1],[5,0,0.1]] --prior 0.3",
        "llr",
        "y",
        {"score_type": "llr", "costs": [[0, 1, 0.1], [5, 0, 0.1]], "prior": 0.3},
    ),
    (
        "--score pair --label y --cost-fn 3 --prior 0.2 --by carrier",
        "pair",
        "y",
        {"cost_fn": 3, "prior": 0.2, "by": "carrier"},
    ),
    (
        "--score y --label y --score-type decision --pos-label false",
        "y",
        "y",
        {"score_type": "decision", "pos_label": False},
    ),
    (
        "--score said --label outcome --score-type decision --pos-label late --weight w --by carrier",
        "said",
        "outcome",
        {"score_type": "decision", "pos_label": "late", "weight": "w", "by": "carrier"},
    ),
    (
        "--score said --label carrier --score-type decision --classes AA,late",
        "said",
        "carrier",
        {"score_type": "decision", "classes": ["AA", "late"]},
    ),
]


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.quick("*log.parquet", "--score p --label y-p-y-options15-*")
@pytest.mark.parametrize(
    ("args", "score", "label", "options", "source"),
    mostly_slow(
        [(*case, source) for source in ("log.parquet", "log.duckdb::log") for case in OPTIONS],
        [*((*case, "log.parquet") for case in OPTIONS), *((*case, "log.duckdb::log") for case in OPTIONS[::4])],
    ),
)
def test_options(folder, source, args, score, label, options):
    path = f"duckdb:{folder}/{source}" if "::" in source else folder / source
    same(typed_report(path, *args.split()), LOG.ec.report(score, label, **options))


@pytest.mark.quick("log.parquet")
@pytest.mark.parametrize("source", ["log.parquet", "log.duckdb::log"])
def test_overall_prior_is_that_of_the_whole_log(folder, source):
    path = f"duckdb:{folder}/{source}" if "::" in source else folder / source
    same(typed_report(path, *MONTHLY[:-1], "overall"), expected(prior=LOG["y"].mean()))
    same(typed_report(path, *MONTHLY[:-1], "overall"), expected(prior="overall"))
    vectors = typed_report(path, "--score", "v", "--label", "c", "--prior", "overall", "--classes", "0,1,2")
    same(vectors.select(nec="nec_at_prior"), vectors.select("nec"))
    ratios = typed_report(path, "--score", "llr", "--label", "y", "--prior", "overall", "--score-type", "llr")
    same(ratios, LOG.ec.report("llr", "y", prior=LOG["y"].mean(), score_type="llr"))


@pytest.mark.parametrize("name", ["score", "small", "confusion"])
def test_segments_may_be_called_what_other_reports_add(tmp_path, name):
    log = LOG.rename({"carrier": name})
    log.write_parquet(tmp_path / "log.parquet")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        connection.execute(f"CREATE TABLE log AS FROM '{tmp_path}/log.parquet'")
    for path in (tmp_path / "log.parquet", f"duckdb:{tmp_path}/log.duckdb::log"):
        same(typed_report(path, *READ, "--by", name), log.ec.report("p", "y", by=name))
    if name == "score":
        assert "'score'" in fails(2, "report", tmp_path / "log.parquet", *READ, "--score", "q", "--by", name)


@pytest.mark.quick("1w", "1q")
@pytest.mark.parametrize("every", mostly_slow(["1h", "1d", "1w", "1mo", "1q", "1y"], ["1h", "1w", "1q"]))
def test_periods_are_alike_in_both_engines(folder, every):
    args = (*READ, "--time", "ts", "--every", every)
    table = LOG.ec.report("p", "y", by=pl.col("ts").dt.truncate(every))
    same(typed_report(folder / "log.parquet", *args), table)
    same(typed_report(f"duckdb:{folder}/log.duckdb::log", *args), table)


@pytest.mark.parametrize("zone", ["2024-01-31T23:30:00Z", "2024-01-31 23:30:00", "2024-01-31"])
@pytest.mark.parametrize("kind", ["csv", "ndjson"])
def test_times_as_text(tmp_path, zone, kind):
    log = pl.DataFrame({"ts": [zone, None, zone.replace("01-31", "02-29")], "p": [0.9, 0.5, 0.1], "y": [1, 0, 0]})
    getattr(log, f"write_{kind}")(tmp_path / f"log.{kind}")
    table = typed_report(tmp_path / f"log.{kind}", *READ, "--time", "ts", "--every", "1mo")
    assert [t and (t.year, t.month, t.day) for t in table["ts"]] == [None, (2024, 1, 1), (2024, 2, 1)]


def test_time_zones_are_kept(tmp_path):
    log = LOG.select("p", "y", ts=pl.col("ts").dt.replace_time_zone("UTC"))
    log.write_parquet(tmp_path / "log.parquet")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        connection.execute(f"CREATE TABLE log AS FROM '{tmp_path}/log.parquet'")
    args = (*READ, "--time", "ts", "--every", "1d")
    same(typed_report(f"duckdb:{tmp_path}/log.duckdb::log", *args), typed_report(tmp_path / "log.parquet", *args))


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.quick("1.5")
@pytest.mark.parametrize("wrong", [float("nan"), 1.5])
def test_wrong_rows_are_alike_in_both_engines(tmp_path, wrong):
    log = LOG.with_columns(p=pl.when(pl.int_range(pl.len()) == 3).then(wrong).otherwise("p"))
    log.write_parquet(tmp_path / "log.parquet")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        connection.execute(f"CREATE TABLE log AS FROM '{tmp_path}/log.parquet'")
    for path in (tmp_path / "log.parquet", f"duckdb:{tmp_path}/log.duckdb::log"):
        table = typed_report(path, *MONTHLY)
        same(table, expected(log))
        assert table["nec"].null_count() == 1
        assert "invalid or no usable rows" in fails(1, "report", path, *READ, "--prior", "overall")


# Formats ---------------------------------------------------------------------------------------------------------------


def test_table_shows_everything(folder):
    args = ("report", folder / "log.parquet", *READ, "--time", "ts", "--every", "1d", "--by", "carrier")
    parts = [part.splitlines() for part in invoke(*args).stdout.split("\n\n")]
    table = LOG.ec.report("p", "y", by=["carrier", pl.col("ts").dt.truncate("1d")])
    shown = {}
    for lines in parts:
        assert len(lines) == 1 + table.height > 200
        assert max(map(len, lines)) <= 80
        shown |= dict(zip(lines[0].split(), lines[1].split(), strict=True))
    assert list(shown) == table.columns
    assert (shown["carrier"], shown["ts"]) == (table["carrier"][0], str(table["ts"][0].date()))
    assert shown["class_prior"] == f"{table['class_prior'][0]:.4f}"


def test_table_says_what_it_does_not_show(folder):
    result = invoke("report", folder / "log.parquet", *READ, "--time", "ts", "--every", "1h", "--by", "carrier")
    n = LOG.select(pl.struct("carrier", "ts").n_unique()).item()
    assert f"the table shows 1000 of {n} rows: for all rows use --format csv" in result.output
    parts = result.stdout.split("\n\n")
    assert [len(part.splitlines()) for part in parts] == [1001] * len(parts)


def test_csv_and_json(folder):
    args = ("report", folder / "log.parquet", "--score", "v", "--label", "c", "--by", "carrier", "--format")
    table = LOG.ec.report("v", "c", by="carrier")
    rows = pl.read_csv(io.StringIO(invoke(*args, "csv").output))
    same(rows.select("n", "nec"), table.select("n", "nec"))
    assert [json.loads(cell) for cell in rows["confusion"]] == table["confusion"].to_list()
    rows = json.loads(invoke(*args, "json").output)
    assert [row["confusion"] for row in rows] == table["confusion"].to_list()
    assert [row["nce"] for row in rows] == pytest.approx(table["nce"].to_list(), rel=1e-12)


def test_json_keeps_infinity_and_null(tmp_path):
    pl.DataFrame({"p": [0.0, 0.2], "y": [1, 0], "g": ["a", "b"]}).write_parquet(tmp_path / "log.parquet")
    rows = json.loads(invoke("report", tmp_path / "log.parquet", *READ, "--format", "json").output)
    assert rows[0]["nce"] == "Infinity"
    assert rows[0]["precision"] is None


def test_out_is_written_whole_or_not_at_all(folder, tmp_path, monkeypatch):
    out = tmp_path / "report.csv"
    assert invoke("report", folder / "log.parquet", *READ, "--out", out).exit_code == 0
    assert pl.read_csv(out)["n"].to_list() == [LOG["y"].drop_nulls().len()]
    before = out.read_bytes()

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert "No space left" in fails(1, "report", folder / "log.parquet", *READ, "--by", "carrier", "--out", out)
    assert out.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["report.csv"]


@pytest.mark.parametrize(("name", "form"), [("r.csv", None), ("r.json", None), ("r.txt", "json"), ("r", "table")])
def test_format_is_the_stated_one_or_that_of_the_name(folder, tmp_path, name, form):
    stated = ["--format", form] if form else []
    assert invoke("report", folder / "log.parquet", *READ, *stated, "--out", tmp_path / name).exit_code == 0
    text = (tmp_path / name).read_text()
    kind = form or name.split(".")[1]
    assert text.startswith({"csv": "n,nec", "json": '[{"n":', "table": " "}[kind])


def test_out_may_be_a_device(folder):
    assert invoke("report", folder / "log.parquet", *READ, "--out", "/dev/null").exit_code == 0
    assert subprocess.run(["test", "-c", "/dev/null"], check=False).returncode == 0
    fails(1, "report", folder / "log.parquet", *READ, "--out", "/dev/full", words=["--out /dev/full", "No space left"])


def test_small_commands(tmp_path):
    assert invoke("--version").output == f"polars-ec {ec.__version__}\n"
    assert invoke("sql").output == macros.text()
    assert invoke("sql", "--out", tmp_path / "ec.sql").exit_code == 0
    assert (tmp_path / "ec.sql").read_text() == macros.text()


# Errors ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--score", "P", "--label", "y"], ["no column 'P' (--score)", "did you mean 'p'?", "ts, carrier, p, q"]),
        (["--score", "p", "--label", "outcom"], ["'outcom' (--label)", "'outcome'"]),
        ([*READ, "--by", "carier"], ["'carier' (--by)", "'carrier'"]),
        ([*READ, "--time", "tss", "--every", "1mo"], ["'tss' (--time)", "'ts'"]),
        ([*READ, "--weight", "zzzz"], ["no column 'zzzz' (--weight): The columns are ts, carrier"]),
        ([*READ, "--time", "ts"], ["pass both --time and --every"]),
        ([*READ, "--every", "1mo"], ["pass both --time and --every"]),
        ([*READ, "--time", "ts", "--every", "month"], ["--every month", "1mo"]),
        ([*READ, "--time", "p", "--every", "1d"], ["--time p is Float64"]),
        ([*READ, "--prior", "1.5"], ["--prior", "1.5", "between 0 and 1"]),
        ([*READ, "--prior", "often"], ["--prior often", "uniform or overall"]),
        ([*READ, "--prior", "[0.2,0.2]"], ["sums to 0.4"]),
        ([*READ, "--costs", "[[0,1],[1"], ["--costs [[0,1],[1: not JSON"]),
        ([*READ, "--costs", "[[0,1],[1]]"], ["ragged cost matrix"]),
        ([*READ, "--costs", "5"], ["5"]),
        (
            [*READ, "--costs", "[[0,1],[1,0]]", "--cost-fn", "3"],
            ["either --costs or --cost-fn and --cost-fp, not both"],
        ),
        ([*READ, "--score-type", "logit"], ["'logit' is none of posterior"]),
        ([*READ, "--score-type", "llr"], ["needs --prior"]),
        (["--score", "p", "--label", "outcome"], ["'outcome' is String", "--pos-label"]),
        ([*READ, "--classes", "0", "--prior", "overall"], ["--classes", "0"]),
        (["--score", "p", "--label", "c", "--pos-label", "late"], ["'late' is not a valid label value"]),
        (["--score", "carrier", "--label", "y"], ["'carrier' is String"]),
        ([*READ, "--format", "parquet"], ["--out FILE"]),
        ([*READ, "--out", "/no/such/folder/r.csv"], ["no folder /no/such/folder"]),
    ],
)
@pytest.mark.parametrize("source", mostly_slow(["log.parquet", "log.duckdb::log"], ["log.parquet"]))
def test_usage_errors(folder, source, args, words):
    message = fails(2, "report", f"duckdb:{folder}/{source}" if "::" in source else folder / source, *args)
    for word in words:
        assert word in message


def test_usage_errors_of_duckdb(folder):
    file = f"duckdb:{folder}/log.duckdb"
    assert "has no table 'nope'. The tables are log, a b.it's" in fails(2, "report", f"{file}::nope", *READ)
    assert "duckdb:FILE.duckdb::TABLE" in fails(2, "report", file, *READ)
    assert "no such DuckDB file" in fails(2, "report", f"duckdb:{folder}/nope.duckdb::log", *READ)
    assert "one DuckDB table at a time" in fails(2, "report", f"{file}::log", folder / "log.csv", *READ)


def test_usage_errors_while_the_overall_prior_is_counted(folder):
    args = ("--score", "p", "--label", "outcome", "--prior", "overall")
    fails(2, "report", folder / "log.parquet", *args, words=["'outcome' is String", "--pos-label"])


def test_usage_errors_of_paths(folder):
    assert "nope.parquet: no such file or folder" in fails(2, "report", folder / "nope.parquet", *READ)
    assert "no file matches" in fails(2, "report", folder / "nope*.parquet", *READ)
    assert "different kinds (Parquet, CSV)" in fails(2, "report", folder / "log.parquet", folder / "log.csv", *READ)
    assert "unknown kind of file" in fails(2, "report", folder / "log.duckdb", *READ)


def test_missing_options():
    assert invoke("report", "x.parquet", "--label", "y").exit_code == 2
    assert invoke("report", "x.parquet", *READ, "--format", "xlsx").exit_code == 2


@pytest.mark.parametrize("option", ["--cost-fn", "--cost-fp"])
def test_a_column_where_one_number_is_needed(option):
    result = invoke("sketch", "x.parquet", *READ, option, "amount", "--out", "out")
    assert result.exit_code == 2
    said = (
        f"{option} 'amount' is a column, but a sketch of scores has one cost for all rows: pass --reduction 'decisions'"
    )
    assert said in " ".join(result.stderr.split())


@pytest.mark.parametrize("option", ["--cost-fn", "--cost-fp", "--threshold"])
def test_a_column_of_costs_or_thresholds_that_is_not_there(folder, option):
    fails(2, "report", folder / "log.parquet", *READ, option, "amount", words=[f"no column 'amount' ({option})"])
    fails(2, "report", folder / "log.parquet", *READ, option, "carrier", words=["must be numbers, but 'carrier' is"])


def broken(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize(
    ("name", "source", "words"),
    [
        ("csv.parquet", "log.csv", "not a Parquet file, despite its name"),
        ("csv.arrow", "log.csv", "not an Arrow IPC file, despite its name"),
        ("parquet.csv", "log.parquet", "it begins like Parquet"),
        ("parquet.ndjson", "log.parquet", "it begins like Parquet"),
        ("parquet.arrow", "log.parquet", "it begins like Parquet"),
        ("csv.ndjson", "log.csv", "cannot be read as NDJSON"),
    ],
)
def test_files_that_are_not_what_they_say(folder, tmp_path, name, source, words):
    message = fails(1, "report", broken(tmp_path, name, (folder / source).read_bytes()), *READ)
    assert name in message
    assert words in message


@pytest.mark.parametrize("suffix", ["parquet", "csv", "ndjson", "arrow"])
def test_empty_and_truncated_files(folder, tmp_path, suffix):
    assert "the file is empty" in fails(1, "report", broken(tmp_path, f"empty.{suffix}", b""), *READ)
    whole = (folder / f"log.{suffix}").read_bytes()
    if suffix != "csv":  # half a CSV is a CSV
        cut = broken(tmp_path, f"cut.{suffix}", whole[: len(whole) // 2])
        assert f"cut.{suffix}" in fails(1, "report", folder / f"log.{suffix}", cut, *READ)


def test_folder_without_data(tmp_path):
    (tmp_path / "_metadata.parquet").touch()
    assert "the folder holds no data files" in fails(1, "report", tmp_path, *READ)


def test_broken_duckdb_file(folder, tmp_path):
    file = broken(tmp_path, "log.duckdb", (folder / "log.csv").read_bytes())
    assert "log.duckdb cannot be read as a DuckDB database" in fails(1, "report", f"duckdb:{file}::log", *READ)


def test_late_row_that_does_not_parse(tmp_path):
    text = "p,y\n" + "0.5,1\n" * 20_000 + "half,1\n"
    message = fails(1, "report", broken(tmp_path, "log.csv", text.encode()), *READ)
    assert "log.csv cannot be read as CSV" in message
    assert "half" in message


def test_text_that_is_no_time(tmp_path):
    file = broken(tmp_path, "log.ndjson", b'{"ts": "last monday", "p": 0.5, "y": 1}\n')
    assert "'last monday'" in fails(2, "report", file, *READ, "--time", "ts", "--every", "1d")


def test_interrupt_is_quiet(folder, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(answers, "open_log", interrupted)
    result = invoke("report", folder / "log.parquet", *READ)
    assert (result.exit_code, result.output) == (130, "")


# As a process ----------------------------------------------------------------------------------------------------------


def test_errors_go_to_stderr(folder):
    code = (
        f"from polars_ec_command import main; import sys; sys.argv = ['polars-ec', 'report', {str(folder)!r} + '/no', "
    )
    done = python(code + "'--score', 'p', '--label', 'y']; main()")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"polars-ec: {folder}/no: no such file or folder\n"


def test_missing_typer_is_named():
    done = python("import sys; sys.modules['typer'] = None; from polars_ec_command import main; main()")
    assert done.returncode == 1
    assert done.stderr == "polars-ec: the command line needs typer: pip install 'polars_ec[cli]'\n"


def test_closed_pipe_is_quiet():
    code = "from polars_ec_command import main; import sys; sys.argv = ['polars-ec', 'sql']; main()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
