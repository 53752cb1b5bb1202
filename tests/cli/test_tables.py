"""Tables to read: as wide as the terminal, part below part, and every part says what its rows are."""

from __future__ import annotations

import polars as pl
import pytest

from polars_ec.cli.output import Format, as_text, encode
from tests.support.cli import READ, invoke

TABLE = pl.DataFrame({"g": ["a", "bb"], "n": [1, 20], "nec": [0.5, None], "recall": [1.0, 0.25]})


def test_one_part_where_there_is_room():
    assert (
        as_text(TABLE)
        == as_text(TABLE, names=1, width=24)
        == "g    n     nec  recall\na    1  0.5000  1.0000\nbb  20       -  0.2500"
    )


def test_parts_begin_with_what_the_rows_are():
    assert (
        as_text(TABLE, names=1, width=17)
        == "g    n     nec\na    1  0.5000\nbb  20       -\n\ng   recall\na   1.0000\nbb  0.2500"
    )
    # Exactly as wide as there is room for.
    assert as_text(TABLE, names=1, width=22) == as_text(TABLE)
    assert as_text(TABLE, names=1, width=21) != as_text(TABLE)


def test_no_part_is_empty_however_narrow_it_is():
    parts = as_text(TABLE, names=1, width=1).split("\n\n")
    assert [part.split("\n")[0].split() for part in parts] == [["g", "n"], ["g", "nec"], ["g", "recall"]]


def test_a_table_of_names_alone_or_of_no_names():
    assert as_text(TABLE.select("g"), names=1, width=80) == "g\na\nbb"
    assert as_text(TABLE.select("n"), names=0, width=1) == " n\n 1\n20"
    assert encode(pl.DataFrame(), Format.table, width=80) == b"\n"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.parquet"
    pl.DataFrame({"p": [0.9, 0.2, 0.6], "y": [1, 0, 0], "segment": ["a", "b", "b"]}).write_parquet(path)
    return path


@pytest.mark.parametrize(("columns", "widest"), [(None, 80), ("70", 70), ("500", 500)])
def test_reports_are_as_wide_as_the_terminal(log, tmp_path, monkeypatch, columns, widest):
    """Files are as wide as the table."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("shutil.os.get_terminal_size", lambda _: (_ for _ in ()).throw(OSError))
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    args = ("report", log, *READ, "--by", "segment", "--prior", "0.3")
    parts = [part.splitlines() for part in invoke(*args).stdout.split("\n\n")]
    assert max(len(line) for part in parts for line in part) <= widest
    assert (len(parts) > 1) == (widest < 500)
    assert all(part[0].split()[0] == "segment" for part in parts)
    assert "nec" in parts[0][0].split()
    assert invoke(*args, "--out", tmp_path / "report.txt").exit_code == 0
    (header, *_) = (tmp_path / "report.txt").read_text().splitlines()
    assert len(header) > 100
    assert header.split() == [*dict.fromkeys(name for part in parts for name in part[0].split())]
