"""The command line as tests call it: a command in, what it printed or the table that it made out."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
import pytest
from typer import testing

from polars_ec.cli import commands

ROOT = Path(__file__).parents[2]
READ = ("--score", "p", "--label", "y")


# A runner makes the command of the app anew for each call, which takes as long as many of the calls.
COMMAND = testing._get_command(commands.app)


def invoke(*args):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_get_command", lambda _: COMMAND)
        return testing.CliRunner().invoke(commands.app, [str(arg) for arg in args])


def process(*args, **keywords):
    """The same in a process of its own, from its standard streams on."""
    return python("from polars_ec_command import main; main()", *args, **keywords)


def python(code, *args, **keywords):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT, **keywords}
    return subprocess.run([sys.executable, "-c", code, *map(str, args)], check=False, **options)


def write_program(path, code):
    """An executable file, for scripts that find it by PATH."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{code}", "utf-8")
    path.chmod(0o755)


def run_script(script, *, bin_folder, stderr=subprocess.STDOUT, **variables):
    """Run a script of bash that finds `polars-ec` in a folder; the variables are those of its environment."""
    write_program(
        bin_folder / "polars-ec",
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom polars_ec_command import main\nmain()\n",
    )
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", **variables}
    options = {"stdout": subprocess.PIPE, "stderr": stderr, "text": True, "env": environment}
    return subprocess.run(["bash", "-c", script], check=False, **options)


def report(*args):
    """The report as CSV has it."""
    result = invoke("report", *args, "--format", "csv")
    assert result.exit_code == 0, result.output
    return pl.read_csv(io.StringIO(result.stdout), try_parse_dates=True)


def quiet_report(*args):
    """The report as CSV has it, of a log that there is nothing to say about."""
    result = invoke("report", *args, "--format", "csv")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return pl.read_csv(io.StringIO(result.stdout))


def typed_report(*args):
    """The report with its dtypes; of nothing but wrong rows there is anything to say."""
    with tempfile.TemporaryDirectory() as out:
        result = invoke("report", *args, "--out", f"{out}/report.parquet")
        assert result.exit_code == 0, result.output
        table = pl.read_parquet(f"{out}/report.parquet")
    told = result.output.splitlines()
    assert all("invalid score, label or weight" in line for line in told)
    assert bool(told) == bool(table["n_invalid"].sum())
    return table


def fails(code, *args, words=()):
    """The one line on stderr of a command that ends in this exit code."""
    result = invoke(*args)
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("polars-ec: ")
    for word in words:
        assert word in line
    return line


def sketch(*paths, out, args=READ, code=0):
    result = invoke("sketch", *paths, "--out", out, *args)
    assert result.exit_code == code, result.output
    return result


def in_three_files(log, folder):
    for i in range(3):
        log.gather_every(3, i).write_parquet(folder / f"{i}.parquet")
    return folder


def source(folder, name):
    """A file or folder, or the table `log` of its DuckDB file."""
    return f"duckdb:{folder}/log.duckdb::log" if name == "duckdb" else folder / name


def typed(tmp_path, *args, said=""):
    """The table that a command makes, with its dtypes, and that it has nothing else to say about it."""
    result = invoke(*args, "--out", tmp_path / "table.parquet")
    assert result.exit_code == 0, result.output
    assert result.output == said
    return pl.read_parquet(tmp_path / "table.parquet")
