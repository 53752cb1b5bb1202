"""Iceberg tables, on this machine and in a store: the rows of the newest snapshot, or a refusal. Run by `make test-lake`."""

from __future__ import annotations

import gc
import warnings

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pyiceberg.types import DoubleType, StringType

import polars_ec as ec
from polars_ec.cli import answers
from polars_ec.cli.sketch_folder import SketchFolder
from tests.lakes.logs import BY, LOG, is_report_of, make_log, write
from tests.support.cli import READ, fails, invoke, process, typed_report
from tests.support.iceberg_tables import folder_of, make_catalog, properties_in
from tests.support.sketch_jobs import loaded, same
from tests.support.stores import KEY, SECRET

pytestmark = pytest.mark.lake

ROWS = LOG.select("p", "y", "g")
FIRST, SECOND = ROWS.head(200), ROWS.tail(100)
OTHERS = make_log(seed=5).select("p", "y", "g")


@pytest.fixture(params=["local", "s3"])
def catalog(request, tmp_path, monkeypatch):
    """A catalog whose tables are on this machine or in a store; the command knows it by the name `tests`."""
    properties = properties_in(tmp_path)
    if request.param == "s3":
        bucket = request.getfixturevalue("bucket")
        properties |= {
            "warehouse": f"s3://{bucket.name}/warehouse",
            "s3.endpoint": bucket.endpoint,
            "s3.access-key-id": KEY,
            "s3.secret-access-key": SECRET,
            "s3.region": "us-east-1",
        }
    for name, value in {"type": "sql", **properties}.items():
        variable = name.upper().replace(".", "__").replace("-", "_")
        monkeypatch.setenv(f"PYICEBERG_CATALOG__TESTS__{variable}", value)
    made = make_catalog("tests", properties)
    yield made
    made.close()
    gc.collect()


def create(catalog, log=ROWS, name="log", **keywords):
    return catalog.create_table(f"n.{name}", schema=log.to_arrow().schema, **keywords)


def append(table, log):
    table.append(log.to_arrow().cast(table.schema().as_arrow()))


def is_everywhere(table, log):
    """By its folder and by its metadata."""
    metadata = table.metadata_location.removeprefix("file://")
    for path in (folder_of(table), metadata):
        is_report_of(log, path)


# Snapshots ----------------------------------------------------------------------------------------------------------------


def test_appended(catalog):
    table = create(catalog)
    for rows in (FIRST, SECOND):
        append(table, rows)
    is_everywhere(table, LOG)


def test_overwritten(catalog):
    table = create(catalog)
    append(table, OTHERS)
    table.overwrite(ROWS.to_arrow().cast(table.schema().as_arrow()))
    is_everywhere(table, LOG)


def test_deleted(catalog):
    table = create(catalog)
    append(table, ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table.delete("g = 'b'")
    is_everywhere(table, ROWS.filter(pl.col("g") != "b"))


def test_an_older_snapshot_by_its_metadata(catalog):
    table = create(catalog)
    append(table, FIRST)
    older = table.metadata_location.removeprefix("file://")
    append(table, SECOND)
    is_report_of(FIRST, older)
    is_everywhere(table, LOG)


def test_partition_columns(catalog):
    table = create(catalog)
    with table.update_spec() as update:
        update.add_identity("g")
    append(table, ROWS)
    is_everywhere(table, LOG)


def test_columns_that_are_new_renamed_and_wider(catalog):
    table = create(catalog, FIRST.select("y", "p").cast({"p": pl.Float32}))
    append(table, FIRST.select("y", "p").cast({"p": pl.Float32}))
    with table.update_schema() as update:
        update.add_column("g", StringType())
        update.update_column("p", DoubleType())
        update.rename_column("y", "label")
    append(table, SECOND.select(label="y", p="p", g="g"))
    old = FIRST.select("y", "p", g=pl.lit(None, pl.String)).cast({"p": pl.Float32}).cast({"p": pl.Float64})
    expected = ec.report(pl.concat([old, SECOND.select("y", "p", "g")]), "p", "y", by="g")
    table_now = typed_report(folder_of(table), "--score", "p", "--label", "label", *BY)
    assert_frame_equal(table_now, expected, rel_tol=1e-12)


def test_another_commit_while_it_is_read(catalog, monkeypatch):
    table = create(catalog)
    append(table, ROWS)
    real = answers.open_log

    def opened(paths):
        found = real(paths)
        append(table, OTHERS)
        return found

    monkeypatch.setattr(answers, "open_log", opened)
    is_report_of(LOG, folder_of(table))


def test_by_its_catalog(catalog, tmp_path):
    table = create(catalog)
    append(table, ROWS)
    # Catalogs are read from the environment once in a process.
    out = tmp_path / "table.parquet"
    run = process("report", "iceberg:tests.n.log", *READ, *BY, "--out", out)
    assert run.returncode == 0, run.stderr
    assert_frame_equal(pl.read_parquet(out), ec.report(LOG, "p", "y", by="g"), rel_tol=1e-12)
    for name in ("iceberg:tests.n.nope", "iceberg:tests.nope.log", "iceberg:nocatalog.n.log"):
        run = process("report", name, *READ)
        assert (run.returncode, len(run.stderr.splitlines())) == (2, 1), run.stderr
        assert name in run.stderr


# What is broken, and what is beside --------------------------------------------------------------------------------------


def test_a_table_without_rows(catalog):
    assert typed_report(folder_of(create(catalog)), *READ, *BY).height == 0


def test_files_within_a_table(catalog):
    table = create(catalog)
    append(table, ROWS)
    path = folder_of(table)
    fails(1, "report", f"{path}/data/*.parquet", *READ, words=[path])


def test_a_folder_of_tables(catalog):
    for i in range(2):
        table = create(catalog, name=f"t{i}")
        append(table, OTHERS)
        table.overwrite(ROWS.gather_every(2, i).to_arrow().cast(table.schema().as_arrow()))
    is_report_of(LOG, folder_of(table).rsplit("/", 1)[0])


def test_a_file_that_is_gone(tmp_path):
    catalog = make_catalog("tests", properties_in(tmp_path))
    table = create(catalog)
    append(table, ROWS)
    next((tmp_path / "warehouse").rglob("*.parquet")).unlink()
    fails(1, "report", folder_of(table), *READ, words=[folder_of(table)])
    catalog.close()


def test_a_metadata_that_is_not_there(tmp_path):
    fails(2, "report", tmp_path / "v1.metadata.json", *READ, words=["v1.metadata.json"])


def test_a_metadata_that_is_broken(tmp_path):
    (tmp_path / "log" / "metadata").mkdir(parents=True)
    write(LOG, tmp_path / "log" / "data" / "a.parquet")
    (tmp_path / "log" / "metadata" / "v1.metadata.json").write_text("{")
    fails(1, "report", tmp_path / "log", *READ, words=[str(tmp_path / "log")])


# Sketches -----------------------------------------------------------------------------------------------------------------


def test_sketches_of_a_table(catalog, tmp_path):
    table, out = create(catalog), tmp_path / "out"
    args = ("--out", out, *READ, *BY, "--exact")
    append(table, FIRST)
    path = folder_of(table)
    assert ": 1 sketched, 0 unchanged; 200 rows" in invoke("sketch", path, *args).stdout
    (record,) = SketchFolder(out).records().values()
    assert record.input == path
    assert str(table.current_snapshot().snapshot_id) in record.tag
    assert ": 0 sketched, 1 unchanged; 200 rows" in invoke("sketch", path, *args).stdout
    append(table, SECOND)
    assert ": 1 sketched, 0 unchanged; 300 rows" in invoke("sketch", path, *args).stdout
    same(loaded(out), LOG.ec.sketch("p", "y", by="g", exact=True).frame)
