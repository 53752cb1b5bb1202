"""What the command line writes and says: formats, pipes, full disks, strange values, and errors that nobody foresaw."""

from __future__ import annotations

import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import polars as pl
import pytest

from polars_ec.cli import answers, commands
from polars_ec.cli import terminal as progress
from polars_ec.cli.output import Format, format_for
from polars_ec.cli.terminal import UsageError, escaped
from tests.support.cli import READ, ROOT, invoke, process


@pytest.fixture
def log(tmp_path):
    pl.DataFrame({"p": [0.9, 0.2, 0.6], "y": [1, 0, 0], "s": ["a", "b", "b"]}).write_parquet(tmp_path / "log.parquet")
    return tmp_path / "log.parquet"


# Formats -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["r.html", "r.xlsx", "r.tsv", "report.2024", "r.jsonl"])
def test_suffixes_that_are_not_known_are_refused(log, tmp_path, name):
    result = invoke("report", log, *READ, "--out", tmp_path / name)
    assert result.exit_code == 2
    suffix = Path(name).suffix
    assert result.stderr == (
        f"polars-ec: --out {tmp_path}/{name}: the suffix {suffix} is not one of .txt, .csv, .parquet, .json, .prom, .md, .tex. Choose a format "
        "with --format table, csv, parquet, json, openmetrics, markdown, latex\n"
    )
    assert not (tmp_path / name).exists()
    assert invoke("report", log, *READ, "--out", tmp_path / name, "--format", "csv").exit_code == 0
    assert pl.read_csv(tmp_path / name)["n"].item() == 3


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("r", "table"),
        ("r.txt", "table"),
        ("r.CSV", "csv"),
        ("r.json", "json"),
        ("r.parquet", "parquet"),
        (".csv", "table"),
    ],
)
def test_suffixes_that_are(name, form):
    assert format_for(None, Path(name)) is Format(form)


def test_json_is_json_whatever_the_groups_are(tmp_path):
    log = pl.DataFrame(
        {
            "p": [0.0, 0.2, 0.9, 0.9],
            "y": [1, 0, 1, 0],
            "g": [math.nan, -math.inf, 1.5, None],
            "h": [{"a": math.nan}, {"a": 1.0}, {"a": math.inf}, None],
            "i": [[math.nan], [1.0], [], None],
        }
    )
    log.write_parquet(tmp_path / "log.parquet")

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    text = invoke("report", tmp_path / "log.parquet", *READ, "--by", "g", "--format", "json").stdout
    rows = json.loads(text, parse_constant=refuse)
    assert {row["g"] for row in rows} == {"NaN", "-Infinity", 1.5, None}
    assert {row["nce"] for row in rows} <= {None, "Infinity"}
    text = invoke("report", tmp_path / "log.parquet", *READ, "--by", "h", "--by", "i", "--format", "json").stdout
    rows = json.loads(text, parse_constant=refuse)
    assert [row["i"] for row in rows if row["h"] == {"a": "NaN"}] == [["NaN"]]


# What a terminal does with text -------------------------------------------------------------------------------------------

NASTY = "a\x1b[31m\nb\r\t\x07\u202ec\u2028\x9bd\udcff"


def test_nothing_that_a_terminal_obeys_is_left():
    shown = escaped(NASTY)
    assert shown == r"a\x1b[31m\nb\r\t\x07\u202ec\u2028\x9bd\xff"
    for harmless in ("späße", "日本", "a b", "=1+1", "🛫", "a\\n"):
        assert escaped(harmless) == harmless


def test_groups_and_columns_are_escaped_in_tables(tmp_path):
    value = NASTY[:-1]
    pl.DataFrame({"p": [0.9, 0.2], "y": [1, 0], "s\x1b": [value, "ok"]}).write_parquet(tmp_path / "log.parquet")
    result = invoke("report", tmp_path / "log.parquet", *READ, "--by", "s\x1b")
    lines = result.stdout.split("\n\n")[0].splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(r"s\x1b ")
    assert any(line.startswith(escaped(value)) for line in lines)
    csv = invoke("report", tmp_path / "log.parquet", *READ, "--by", "s\x1b", "--format", "csv").stdout
    assert value in csv  # for programs nothing is changed
    rows = json.loads(invoke("report", tmp_path / "log.parquet", *READ, "--by", "s\x1b", "--format", "json").stdout)
    assert value in {row["s\x1b"] for row in rows}


def test_messages_are_one_line_whatever_they_quote(tmp_path):
    for args in (
        ("report", tmp_path / "x\n\x1b[2Jy.csv", *READ),
        ("report", tmp_path, "--score", "p", "--label", "y", "--prior", "a\nb"),
        ("report", tmp_path, "--score", "p", "--label", "y", "--costs", "[[\n"),
    ):
        result = invoke(*args)
        assert result.exit_code in (1, 2)
        assert len(result.stderr.splitlines()) == 1
        assert "\x1b" not in result.stderr
    pl.DataFrame({"p": [0.9], "y": ["a\nb"]}).write_parquet(tmp_path / "log\n.parquet")
    result = invoke("sketch", tmp_path, "--out", tmp_path / "out\n", *READ, "--pos-label", "x\n")
    assert result.exit_code == 0
    assert result.stdout == rf"{tmp_path}/out\n: 1 sketched, 0 unchanged; 1 rows" + "\n"
    assert len(result.stderr.splitlines()) == 1


# Where it is written -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pipe", "pipe.csv", "pipe.fifo"])
def test_out_may_be_a_pipe(log, tmp_path, name):
    os.mkfifo(tmp_path / name)
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / name).read_text()))
    reader.start()
    result = invoke("report", log, *READ, "--out", tmp_path / name, "--format", "csv")
    reader.join(10)
    assert result.exit_code == 0, result.output
    assert pl.read_csv(io.StringIO(read[0]))["n"].item() == 3
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


@pytest.mark.slow
def test_out_may_be_a_process(log, tmp_path):
    command = (
        f"{sys.executable} -m polars_ec report {log} --score p --label y --format csv --out >(cat > {tmp_path}/got)"
    )
    subprocess.run(["bash", "-c", f"{command}; wait; sleep 0.1"], check=True, cwd=ROOT)
    assert pl.read_csv(tmp_path / "got")["n"].item() == 3


def test_out_with_the_longest_name(log, tmp_path):
    out = tmp_path / ("r" * 251 + ".csv")
    assert invoke("report", log, *READ, "--out", out).exit_code == 0
    assert pl.read_csv(out)["n"].item() == 3
    result = invoke("report", log, *READ, "--out", tmp_path / ("r" * 300 + ".csv"))
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "File name too long" in result.stderr


def test_out_through_a_link_and_not_through_one_that_was_planted(log, tmp_path, monkeypatch):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "r.csv").symlink_to(tmp_path / "target.csv")
    monkeypatch.setattr("secrets.token_hex", lambda n: "known")
    (tmp_path / ".polars-ec-known.tmp").symlink_to(tmp_path / "victim")
    result = invoke("report", log, *READ, "--out", tmp_path / "r.csv")
    assert (result.exit_code, "File exists" in result.stderr) == (2, True)
    assert (tmp_path / "victim").read_text() == "precious"
    monkeypatch.undo()
    assert invoke("report", log, *READ, "--out", tmp_path / "r.csv").exit_code == 0
    assert (tmp_path / "r.csv").is_symlink()
    assert pl.read_csv(tmp_path / "target.csv")["n"].item() == 3


@pytest.mark.quick("args2")
@pytest.mark.parametrize(
    "args",
    [
        pytest.param(("sql",), marks=pytest.mark.slow),
        ("--help",),
        ("report", "LOG", *READ),
        pytest.param(("sketch", "LOG", "--out", "OUT", *READ), marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_behind_stdout(log, tmp_path, args):
    named = [{"LOG": log, "OUT": tmp_path / "out"}.get(arg, arg) for arg in args]
    with open("/dev/full", "w") as full:
        done = process(*named, stdout=full)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize(
    "args", [("report", "LOG", *READ), pytest.param(("sketch", "LOG", "--out", "OUT", *READ), marks=pytest.mark.slow)]
)
def test_a_stdout_that_is_closed(log, tmp_path, args):
    named = [{"LOG": log, "OUT": tmp_path / "out"}.get(arg, arg) for arg in args]
    done = process(*named, stdout=None, preexec_fn=lambda: os.close(1))
    assert done.returncode == 1
    assert done.stderr == "polars-ec: stdout is closed\n"
    if args[0] == "sketch":
        assert len(list((tmp_path / "out").glob("*.sketch.parquet"))) == 1


@pytest.mark.slow
def test_all_streams_closed(log, tmp_path):
    """Nothing that is written then goes into a file that got the number of a stream."""
    done = process(
        "sketch",
        log,
        "--out",
        tmp_path / "out",
        *READ,
        stdout=None,
        stderr=None,
        preexec_fn=lambda: os.closerange(0, 3),
    )
    assert done.returncode == 1
    assert invoke("report", tmp_path / "out").exit_code == 0


# Errors that nobody foresaw ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    ("error", "line"),
    [
        (RuntimeError("this\nand that"), "unexpected error: RuntimeError: this"),
        (ValueError("not about the call"), "unexpected error: ValueError: not about the call"),
        (AssertionError(), "unexpected error: AssertionError: AssertionError"),
        (RecursionError("maximum recursion depth exceeded"), "unexpected error: RecursionError: maximum"),
        (MemoryError(), "unexpected error: MemoryError: MemoryError"),
        (PermissionError(13, "Permission denied", "/x\n"), r"/x\n: Permission denied"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (UsageError("no such thing"), "no such thing"),
    ],
)
def test_an_error_is_a_line_and_a_traceback_for_who_asks(log, monkeypatch, error, line, debug):
    def fail(paths):
        raise error

    monkeypatch.setattr(answers, "open_log", fail)
    result = invoke("report", log, *READ, *(["--debug"] if debug else []))
    assert result.exit_code == (2 if isinstance(error, UsageError) else 1)
    lines = result.stderr.splitlines()
    assert lines[-1].startswith(f"polars-ec: {line}")
    assert ("Traceback" in result.stderr) == debug
    if debug:
        assert "in fail" in result.stderr
    else:
        assert len(lines) == 1
        assert ("--debug" in lines[0]) == ("unexpected" in lines[0])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--costs", "[" * 100_000),
        ("--costs", '{"a":' * 100_000),
        ("--costs", f"[[0,{'1' * 5000}],[1,0]]"),
        ("--prior", "[" * 100_000),
        ("--classes", "[" * 100_000),
        ("--min-rows", "-1"),
        ("--every", "1" * 5000),
        ("--time-zone", "x" * 5000),
    ],
)
def test_arguments_that_are_too_much(log, option, value):
    result = invoke("report", log, *READ, option, value)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(f"polars-ec: {option} ")
    assert len(result.stderr) < 6000


def test_errors_outside_of_commands(monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["polars-ec", "report"])

    def broken(**kwargs):
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(commands, "app", broken)
    with pytest.raises(SystemExit) as ended:
        commands.main()
    assert ended.value.code == 1
    assert capfd.readouterr().err.startswith("polars-ec: unexpected error: RuntimeError: unforeseen")


DIES = """
import os, sys
import polars as pl
from polars_ec.cli.terminal import panics_unseen
for text in (b"", b"a warning\\n", b"no memory\\n"):
    try:
        with panics_unseen(), panics_unseen():
            os.write(2, text)
            if not text:
                os.write(2, b"a panic")
                raise pl.exceptions.PanicException("a panic")
            if text == b"no memory\\n":
                os.abort()
    except pl.exceptions.PanicException:
        pass
"""


def test_what_a_process_says_that_dies_is_printed():
    """As where memory runs out, of which nobody can say anything in one line."""
    done = subprocess.run([sys.executable, "-c", DIES], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGABRT, "", "a warning\nno memory\n")


WARNS = """
import os, warnings
from polars_ec.cli.terminal import panics_unseen
with panics_unseen():
    os.write(2, b"after\\n")
    warnings.warn("before\\nall else")
"""


def test_a_warning_is_printed_at_once():
    """What takes long says so before the work, when all else that is printed is still held back."""
    done = subprocess.run([sys.executable, "-c", WARNS], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "polars-ec: before\\nall else\nafter\n")


INTERRUPTED = """
import os, signal, sys
wanted = sys.argv[1]
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from polars_ec_command import main
sys.argv = ["polars-ec", "--version"]
main()
"""


@pytest.mark.quick("polars", "polars_ec.cli.commands")
@pytest.mark.parametrize("module", ["polars", "polars_ec.cli.commands", "typer"])
def test_an_interrupt_while_it_is_imported_is_quiet(module):
    command = [sys.executable, "-c", INTERRUPTED, module]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    # By the signal, as most programs; or as shells have it, where the command line has taken over.
    assert done.returncode == (130 if module in ("polars_ec.cli.commands", "typer") else -signal.SIGINT)
    assert (done.stdout, done.stderr) == ("", "")


QUERY = """
import os, signal, sys, threading, time
import polars as pl
import polars_ec.cli.commands as door
def work(*args):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    try:
        x = pl.int_range(0, 30_000_000, eager=True).cast(pl.String)
        for _ in range(100):
            pl.LazyFrame({"x": x}).select(pl.col("x").shuffle().sort().last()).collect(engine="streaming")
    finally:
        print(time.monotonic() - began, flush=True)
door.answer_from_rows = work
MAIN
"""


@pytest.mark.slow
def test_an_interrupt_of_a_query_is_quiet(log):
    handler = "import signal, polars_ec_command as c; signal.signal(signal.SIGINT, c._interrupted)\n"
    code = handler + QUERY.replace("MAIN", "from polars_ec_command import main; main()")
    done = subprocess.run(
        [sys.executable, "-c", code, "report", str(log), *READ], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 130
    assert done.stderr == ""
    assert float(done.stdout.split()[0]) < 5


def test_an_interrupt_at_work_lets_it_tidy_up(log, tmp_path):
    code = f"""
import os, signal, sys
import polars_ec.cli.sketch_job as job
job._sketch_file = lambda *args: os.kill(os.getpid(), signal.SIGINT)
from polars_ec_command import main
sys.argv = ["polars-ec", "sketch", {str(log)!r}, "--out", {str(tmp_path / "out")!r}, "--score", "p", "--label", "y"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert "holds no sketches yet" in invoke("report", tmp_path / "out").stderr
    assert [file.name for file in (tmp_path / "out").iterdir() if file.suffix == ".tmp"] == []


# Around the commands -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_as_a_module(log):
    command = [sys.executable, "-m", "polars_ec", "report", str(log), *READ, "--format", "csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert pl.read_csv(io.StringIO(done.stdout))["n"].item() == 3
    command = [sys.executable, "-m", "polars_ec", "--help"]
    assert "Usage: polars-ec" in subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_the_entry_point_is_the_one_that_is_installed():
    from importlib.metadata import entry_points

    (found,) = entry_points(group="console_scripts", name="polars-ec")
    assert found.value == "polars_ec_command:main"
    assert callable(found.load())


def test_shells_can_complete(monkeypatch):
    said = invoke("--help").stdout
    assert "--install-completion" in said
    assert "Example, with an HTML page: polars-ec report log.csv --score p --label y" in said
    assert "..." not in said.split("Commands:")[1], "what a command is for is cut"
    done = process(
        env={**os.environ, "_POLARS_EC_COMPLETE": "complete_bash", "COMP_WORDS": "polars-ec rep", "COMP_CWORD": "1"}
    )
    assert done.stdout.split() == ["report"]


def test_quiet(log, tmp_path):
    out = tmp_path / "out"
    loud = invoke("sketch", log, "--out", out, *READ)
    assert loud.stdout == f"{out}: 1 sketched, 0 unchanged; 3 rows\n"
    log.unlink()
    for option in ("--quiet", "-q"):
        result = invoke("sketch", log, "--out", out, *READ, "--vanished", "keep", option)
        assert (result.exit_code, result.output) == (0, "")
    result = invoke("sketch", log, "--out", out, *READ, "-q")
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (1, "", 1)  # an error is one
    many = pl.DataFrame({"p": [0.5] * 1500, "y": [1, 0] * 750, "i": range(1500)})
    many.write_parquet(tmp_path / "many.parquet")
    assert "1000 of 1500 rows" in invoke("report", tmp_path / "many.parquet", *READ, "--by", "i").stderr
    assert invoke("report", tmp_path / "many.parquet", *READ, "--by", "i", "-q").stderr == ""


def test_progress_where_there_is_no_terminal(log, tmp_path, monkeypatch):
    for i in range(5):
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "logs" / f"{i}.parquet").write_bytes(log.read_bytes())
    now = iter(range(0, 1000, 6))
    monkeypatch.setattr(progress.clock, "monotonic", lambda: next(now))
    result = invoke("sketch", tmp_path / "logs", "--out", tmp_path / "out", *READ)
    logs = tmp_path / "logs"
    assert result.stderr.splitlines() == [
        f"polars-ec: 1 of 5 inputs read, now {logs}/1.parquet",
        f"polars-ec: 3 of 5 inputs read, now {logs}/3.parquet",
    ]
    assert len(result.stdout.splitlines()) == 1


def test_min_rows_of_nothing(log):
    assert invoke("report", log, *READ, "--min-rows", "0").exit_code == 0


# Views of DuckDB -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "more.csv").write_text("p,y\n0.5,1\n")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        connection.execute("CREATE TABLE log AS SELECT i / 10 AS p, i % 3 = 0 AS y FROM range(10) AS r(i)")
        connection.execute("CREATE VIEW fine AS SELECT *, 1 AS s FROM log")
        connection.execute(
            f"CREATE VIEW spy AS SELECT *, (SELECT content FROM read_text('{tmp_path}/secret.txt')) AS s FROM log"
        )
        connection.execute(f"CREATE VIEW lake AS SELECT *, 1 AS s FROM read_csv('{tmp_path}/more.csv')")
        connection.execute("CREATE VIEW names AS SELECT *, (SELECT max(file) FROM glob('/etc/*')) AS s FROM log")
    return f"duckdb:{tmp_path}/log.duckdb"


@pytest.mark.parametrize("view", ["spy", "lake", "names"])
def test_a_view_reads_no_other_file(database, view):
    result = invoke("report", f"{database}::{view}", *READ, "--by", "s", "--format", "csv")
    assert result.exit_code == 1
    assert "secret" not in result.stdout
    assert len(result.stderr.splitlines()) == 1
    assert "this view or table reads files outside its database" in result.stderr
    assert "copy it into a table" in result.stderr


def test_other_views_are_fine(database):
    result = invoke("report", f"{database}::fine", *READ, "--by", "s", "--format", "csv")
    assert pl.read_csv(io.StringIO(result.stdout))["n"].item() == 10


def test_views_that_are_broken(database, tmp_path):
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        connection.execute("CREATE VIEW odd AS SELECT *, CAST(1 // (p - p) AS VARCHAR)[1:y] AS s FROM log")
        connection.execute("CREATE TABLE gone AS SELECT 1 AS x")
        connection.execute("CREATE VIEW dangling AS SELECT * FROM gone")
        connection.execute("DROP TABLE gone")
    result = invoke("report", f"{database}::dangling", *READ)
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "gone" in result.stderr


def test_columns_of_types_that_polars_lacks(database, tmp_path):
    """They matter only to who asks for them."""
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        connection.execute("CREATE VIEW timed AS SELECT *, INTERVAL 1 DAY AS i, {'a': INTERVAL 1 DAY} AS j FROM log")
    assert invoke("report", f"{database}::timed", *READ).exit_code == 0
    result = invoke("report", f"{database}::timed", *READ, "--by", "i")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert result.stderr.startswith("polars-ec: --by i: an interval type cannot be a group column")


@pytest.mark.parametrize(("form", "shown"), [("csv", "00ff"), ("json", '"00ff"'), ("table", "00ff")])
def test_groups_of_bytes(tmp_path, form, shown):
    pl.DataFrame({"p": [0.5], "y": [1], "b": [b"\x00\xff"]}).write_parquet(tmp_path / "log.parquet")
    assert shown in invoke("report", tmp_path / "log.parquet", *READ, "--by", "b", "--format", form).stdout


def test_what_is_no_database(tmp_path):
    os.mkfifo(tmp_path / "log.duckdb")
    assert "not a regular file" in invoke("report", f"duckdb:{tmp_path}/log.duckdb::log", *READ).stderr
    result = invoke("report", f"duckdb:{tmp_path}/{'x' * 300}::log", *READ)
    assert (result.exit_code, "File name too long" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("form", "shown"),
    [("csv", "\nP1DT12H,1"), ("json", '{"g": "1 day, 12:00:00", "n": 1'), ("table", "\n1 day, 12:00:00  1")],
)
def test_groups_of_durations(tmp_path, form, shown):
    g = pl.Series([36 * 3600 * 10**6], dtype=pl.Duration("us"))
    pl.DataFrame({"p": [0.2], "y": [True], "g": g}).write_parquet(tmp_path / "log.parquet")
    result = invoke("report", tmp_path / "log.parquet", *READ, "--by", "g", "--format", form)
    assert result.exit_code == 0, result.output
    assert shown in result.stdout


@pytest.mark.parametrize("form", ["csv", "json", "table"])
@pytest.mark.parametrize("dtype", [pl.Date, pl.Datetime("us")], ids=str)
def test_days_beyond_all_calendars_are_a_line(tmp_path, capfd, dtype, form):
    """As DuckDB's infinity is, and what a wrong unit of time makes."""
    last = pl.Series([2**31 - 1], dtype=pl.Int32) if dtype == pl.Date else pl.Series([2**63 - 1], dtype=pl.Int64)
    pl.DataFrame({"p": [0.5], "y": [1], "g": last.cast(dtype)}).write_parquet(tmp_path / "log.parquet")
    result = invoke("report", tmp_path / "log.parquet", *READ, "--by", "g", "--format", form)
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert f"the report cannot be written as {form}" in result.stderr
    assert "unexpected" not in result.stderr
    assert capfd.readouterr().err == "", "what Rust prints of a panic"


@pytest.mark.quick("csv", "json")
@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_groups_of_integers_of_128_bits(database, tmp_path, form):
    values = {"HUGEINT": [-(2**127) + 1, 7, 2**127 - 1], "UHUGEINT": [7, 2**127, 2**128 - 1]}
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        for kind, numbers in values.items():
            rows = ", ".join(f"(0.5::DOUBLE, true, '{number}'::{kind})" for number in numbers)
            connection.execute(f"CREATE TABLE {kind} AS SELECT * FROM (VALUES {rows}) AS t(p, y, g)")
    for kind, numbers in values.items():
        result = invoke("report", f"{database}::{kind}", *READ, "--by", "g", "--format", form)
        assert result.exit_code == 0, result.output
        lines = result.stdout.split("\n\n")[0].splitlines()[0 if form == "json" else 1 :]
        assert [int(re.search(r"-?[0-9]+", line)[0]) for line in lines] == numbers


@pytest.mark.parametrize(
    ("version", "file"), [("1", "_duckdb_1"), ("1.4", "_duckdb_1"), ("v1.5.6", "_duckdb_1"), ("2", ""), ("10.0", "")]
)
def test_the_command_prints_the_macros_for_a_version(version: str, file: str) -> None:
    assert invoke("sql", "--duckdb", version).output == (ROOT / "sql" / f"polars_ec{file}.sql").read_text("utf-8")


@pytest.mark.parametrize(
    ("version", "message"), [("abc", "is not a version"), ("0", "1.4.2 or later"), ("1.4.1", "1.4.2 or later")]
)
def test_the_command_refuses_other_versions(version: str, message: str) -> None:
    result = invoke("sql", "--duckdb", version)
    assert result.exit_code == 2
    assert message in result.stderr
