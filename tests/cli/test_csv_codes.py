"""Group columns of CSV: codes are what is written, whichever files, jobs and engines they go through."""

from __future__ import annotations

import gzip
import itertools
import random

import polars as pl
import pytest

from tests.support.cases import mostly_slow
from tests.support.cli import READ, fails, sketch, typed_report

BY = (*READ, "--by", "s")


def write(path, codes):
    """Two rows of each code, one of either class."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"{code},{p},{y}\n" for code in codes for p, y in ((0.9, 1), (0.2, 0)))
    content = f"s,p,y\n{rows}".encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def counted(table):
    return table.select("s", "n").rows()


@pytest.fixture(params=["report", "sketch"])
def ask(request, tmp_path):
    """The report on files, straight from their rows or by way of sketches."""

    def answer(*paths):
        if request.param == "report":
            return typed_report(*paths, *BY)
        sketch(*paths, out=tmp_path / "sketches", args=BY)
        return typed_report(tmp_path / "sketches", "--by", "s")

    return answer


@pytest.mark.quick("report-*", "sketch-.csv-?'01', '1'?*", "sketch-.csv-?'1.1'*")
@pytest.mark.parametrize(
    ("codes", "groups"),
    [
        (["01", "1"], ["01", "1"]),
        (["1.1", "1.10"], ["1.1", "1.10"]),
        (["10", "9", "-3"], [-3, 9, 10]),
        (["0", "007"], ["0", "007"]),
        (["-0", "0"], ["-0", "0"]),
        (["+1", "1"], ["+1", "1"]),
        (["1e3", "1000"], ["1000", "1e3"]),
        (["1", ""], [None, 1]),
        (["true", "false"], [False, True]),
        (["true", "True"], ["True", "true"]),
        (["9223372036854775807", "9223372036854775808"], ["9223372036854775807", "9223372036854775808"]),
        (["9223372036854775807"], [9223372036854775807]),
        (['"01"', '"1"'], ["01", "1"]),
        (["x", "1"], ["1", "x"]),
        (["2024-01-02"], ["2024-01-02"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("suffix", mostly_slow([".csv", ".csv.gz"], [".csv"]))
def test_codes_are_what_is_written(tmp_path, ask, codes, groups, suffix):
    assert counted(ask(write(tmp_path / f"log{suffix}", codes))) == [(group, 2) for group in groups]


def test_numbers_in_one_file_and_codes_in_the_next(tmp_path, ask):
    write(tmp_path / "logs" / "a.csv", ["1", "10"])
    write(tmp_path / "logs" / "b.csv", ["01", "1"])
    write(tmp_path / "logs" / "c.csv", ["true", ""])
    assert counted(ask(tmp_path / "logs")) == [(None, 2), ("01", 2), ("1", 4), ("10", 2), ("true", 2)]


@pytest.mark.slow
def test_a_folder_in_parts_is_the_folder_at_once(tmp_path):
    """In whatever order the files come, and however many of them a job reads."""
    contents = [["1", "2"], ["01"], ["2", "x"], ["true"], [""]]
    files = [write(tmp_path / "logs" / f"{i}.csv", codes) for i, codes in enumerate(contents)]
    at_once = typed_report(tmp_path / "logs", *BY)
    for order in random.Random(1).sample([*itertools.permutations(files)], 2):
        out = tmp_path / order[0].stem / order[1].stem
        sketch(*order[:2], out=out, args=BY)
        for file in order[2:]:
            sketch(file, out=out, args=BY)
        assert counted(typed_report(out, "--by", "s")) == counted(at_once)


def test_codes_beside_columns_that_have_a_type(tmp_path):
    """Text of another format is text here too; a number there is not a code, and not one of two codes that look like it."""
    log = pl.DataFrame({"s": ["1", "01"], "p": [0.9, 0.2], "y": [1, 0]})
    write(tmp_path / "logs" / "a.csv", ["1", "2"])
    log.write_parquet(tmp_path / "logs" / "b.parquet")
    sketch(tmp_path / "logs", out=tmp_path / "out", args=BY)
    assert counted(typed_report(tmp_path / "out", "--by", "s")) == [("01", 1), ("1", 3), ("2", 2)]

    numbers = log.with_columns(pl.col("s").cast(pl.Int32))
    numbers.write_parquet(tmp_path / "numbers" / "b.parquet", mkdir=True)
    write(tmp_path / "numbers" / "a.csv", ["1", "2"])
    sketch(tmp_path / "numbers", out=tmp_path / "of numbers", args=BY)
    assert counted(typed_report(tmp_path / "of numbers", "--by", "s")) == [(1, 4), (2, 2)]
    write(tmp_path / "numbers" / "c.csv", ["01"])
    result = sketch(tmp_path / "numbers", out=tmp_path / "of numbers", args=BY, code=1)
    assert "c.csv: the group column 's' is String, but Int64 in the other inputs" in result.stderr


def test_a_group_column_that_is_something_else_too(tmp_path):
    """The label as a group is read as a label."""
    file = write(tmp_path / "log.csv", ["1", "2"])
    table = typed_report(file, *READ, "--by", "y")
    assert table.select("y", "n").rows() == [(0, 2), (1, 2)]


def test_keys_of_hive_folders_are_those_of_other_formats(tmp_path):
    rows = pl.DataFrame({"p": [0.9, 0.2], "y": [1, 0]})
    for kind in ("csv", "parquet"):
        for month in ("01", "2"):
            folder = tmp_path / kind / f"s={month}"
            folder.mkdir(parents=True)
            getattr(rows, f"write_{kind}")(folder / f"log.{kind}")
        assert counted(typed_report(tmp_path / kind, *BY)) == [(1, 2), (2, 2)]


def test_codes_of_a_log_without_rows_and_of_a_column_that_is_not_there(tmp_path):
    assert counted(typed_report(write(tmp_path / "log.csv", []), *BY)) == []
    assert "has no column 'z' (--by)" in fails(2, "report", write(tmp_path / "log.csv", ["1"]), *READ, "--by", "z")


@pytest.mark.parametrize("mark", [";", "\t"])
def test_fields_apart_by_something_else_than_commas(tmp_path, mark):
    (tmp_path / "log.csv").write_text(f"p{mark}y\n0.2{mark}0\n", encoding="utf-8")
    said = fails(2, "report", tmp_path / "log.csv", *READ)
    assert f"separate its fields by commas, not by {mark!r}" in said
