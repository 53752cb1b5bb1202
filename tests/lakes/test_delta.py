"""Delta tables, on this machine and in a store: the rows that they have, or a refusal. Run by `make test-lake`."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.cli import answers
from polars_ec.cli.sketch_folder import SketchFolder
from tests.lakes.logs import BY, LOG, is_report_of, make_log, write
from tests.support.cli import READ, fails, invoke, typed_report
from tests.support.delta_tables import added, commit, deletion_vector, metadata, protocol
from tests.support.sketch_jobs import loaded, same

pytestmark = pytest.mark.lake

FIRST, SECOND = LOG.head(200), LOG.tail(100)
MANY_COLUMNS = LOG.select("p", "y", "g")


@pytest.fixture(params=["local", "s3"])
def place(request, tmp_path):
    """What puts the table that a test has made in a folder where it is read: there, or in a store."""
    if request.param == "local":
        return lambda table: table
    bucket = request.getfixturevalue("bucket")

    def upload(table):
        bucket.put_folder(table, f"tables/{table.name}/")
        return bucket.url(f"tables/{table.name}")

    return upload


# Versions -----------------------------------------------------------------------------------------------------------------


def test_appended(place, tmp_path):
    for rows in (FIRST, SECOND):
        write_deltalake(tmp_path / "log", rows, mode="append")
    is_report_of(LOG, place(tmp_path / "log"))


def test_overwritten(place, tmp_path):
    """The files of the first version are still there."""
    write_deltalake(tmp_path / "log", make_log(seed=5))
    write_deltalake(tmp_path / "log", LOG, mode="overwrite")
    assert len(list((tmp_path / "log").glob("*.parquet"))) > 1
    is_report_of(LOG, place(tmp_path / "log"))


def test_deleted_and_merged(place, tmp_path):
    write_deltalake(tmp_path / "log", FIRST)
    DeltaTable(tmp_path / "log").delete("g = 'b'")
    changed = FIRST.filter(pl.col("g") == "a").head(5).with_columns(y=~pl.col("y"))
    merge = DeltaTable(tmp_path / "log").merge(
        pl.concat([changed, SECOND]).to_arrow(), "t.p = s.p", source_alias="s", target_alias="t"
    )
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    rest = FIRST.filter(pl.col("g") != "b").join(changed, on="p", how="anti")
    is_report_of(pl.concat([rest, changed, SECOND]), place(tmp_path / "log"))


def test_vacuumed(place, tmp_path):
    write_deltalake(tmp_path / "log", make_log(seed=5))
    write_deltalake(tmp_path / "log", LOG, mode="overwrite")
    table = DeltaTable(tmp_path / "log")
    table.vacuum(timedelta(0).seconds, dry_run=False, enforce_retention_duration=False)
    table.create_checkpoint()
    is_report_of(LOG, place(tmp_path / "log"))


def test_compacted(place, tmp_path):
    for i in range(4):
        write_deltalake(tmp_path / "log", LOG.gather_every(4, i), mode="append")
    DeltaTable(tmp_path / "log").optimize.compact()
    is_report_of(LOG, place(tmp_path / "log"))


@pytest.mark.parametrize("commits", [1, 12])
def test_checkpoints(place, tmp_path, commits):
    for i in range(commits):
        write_deltalake(tmp_path / "log", LOG.gather_every(commits, i), mode="append")
    DeltaTable(tmp_path / "log").create_checkpoint()
    is_report_of(LOG, place(tmp_path / "log"))


def test_partition_columns(place, tmp_path):
    write_deltalake(tmp_path / "log", LOG, partition_by=["month", "g"])
    path = place(tmp_path / "log")
    is_report_of(LOG, path)
    by_month = typed_report(path, *READ, "--by", "month")
    assert_frame_equal(by_month, ec.report(LOG, "p", "y", by="month"), rel_tol=1e-12)


def test_partitions_with_odd_values(place, tmp_path):
    """They are escaped in the names of folders."""
    odd = LOG.with_columns(g=pl.col("g").replace({"a": "a b", "b": "50% é/ü", "c": None}))
    write_deltalake(tmp_path / "log", odd, partition_by=["g"])
    path = place(tmp_path / "log")
    result = invoke("report", path, *READ, *BY, "--out", tmp_path / "table.parquet")
    if result.exit_code == 0:
        assert_frame_equal(pl.read_parquet(tmp_path / "table.parquet"), ec.report(odd, "p", "y", by="g"), rel_tol=1e-12)
    else:
        assert "special characters" in result.stderr


@pytest.mark.parametrize("folder", ["{g}", "g={other}", "G={g}", ""])
def test_partitions_that_are_not_in_the_names_of_folders(place, tmp_path, folder):
    """The log alone says what they are, and Polars reads the names."""
    table, rows = tmp_path / "log", LOG.select("p", "y", "g")
    said = metadata(rows)
    said["metaData"]["partitionColumns"] = ["g"]
    actions = [protocol(), said]
    for i, g in enumerate("abc"):
        name = f"{folder.format(g=g, other='bca'[i])}/{i}.parquet".lstrip("/")
        (table / name).parent.mkdir(parents=True, exist_ok=True)
        part = rows.filter(pl.col("g") == g).drop("g")
        actions.append(added(table, name, part, partitionValues={"g": g}))
    commit(table, 0, actions)
    fails(1, "report", place(table), *READ, *BY, words=["partition columns (g)", "Write the table again"])


def test_an_empty_text_is_no_partition(place, tmp_path):
    """Delta has it as null, and the name of its folder as a text."""
    write_deltalake(tmp_path / "log", LOG.with_columns(g=pl.col("g").replace({"a": ""})), partition_by=["g"])
    fails(1, "report", place(tmp_path / "log"), *READ, *BY, words=["partition columns (g)"])


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.parametrize("by", [["ts"], ["y"], ["month", "ts"], ["at"]])
def test_partitions_of_other_types(place, tmp_path, by):
    log = LOG.with_columns(at=pl.col("ts").cast(pl.Datetime("us")) + pl.duration(microseconds=1))
    write_deltalake(tmp_path / "log", log, partition_by=by)
    found = typed_report(place(tmp_path / "log"), *READ, "--by", by[-1], "--metrics", "nec")
    assert_frame_equal(found, ec.report(log, "p", "y", by=by[-1], metrics=["nec"]), rel_tol=1e-12)


def test_a_table_with_partitions_in_a_folder_that_looks_like_one(tmp_path):
    write_deltalake(tmp_path / "g=x" / "log", LOG, partition_by=["g"])
    write_deltalake(tmp_path / "g=x" / "plain", LOG)
    fails(1, "report", tmp_path / "g=x" / "log", *READ, *BY, words=["g=x", "Rename it"])
    is_report_of(LOG, tmp_path / "g=x" / "plain")


def test_a_new_column(place, tmp_path):
    write_deltalake(tmp_path / "log", FIRST.drop("g"))
    write_deltalake(tmp_path / "log", SECOND, mode="append", schema_mode="merge")
    expected = pl.concat([FIRST.with_columns(g=pl.lit(None, pl.String)), SECOND])
    is_report_of(expected, place(tmp_path / "log"))


def test_another_commit_while_it_is_read(tmp_path, monkeypatch):
    """All passes are of the version that was there when the table was opened."""
    write_deltalake(tmp_path / "log", LOG)
    real = answers.open_log

    def opened(paths):
        found = real(paths)
        write_deltalake(tmp_path / "log", make_log(seed=9), mode="overwrite")
        return found

    monkeypatch.setattr(answers, "open_log", opened)
    is_report_of(LOG, tmp_path / "log")
    monkeypatch.undo()
    is_report_of(make_log(seed=9), tmp_path / "log")


# What readers must be able to do ------------------------------------------------------------------------------------------


def right_or_refused(path, log, tmp_path):
    """Never wrong: the report of these rows, or one line that names the table."""
    result = invoke("report", path, *READ, *BY, "--out", tmp_path / "table.parquet")
    if result.exit_code == 0:
        assert_frame_equal(pl.read_parquet(tmp_path / "table.parquet"), ec.report(log, "p", "y", by="g"), rel_tol=1e-12)
        return "right"
    (line,) = result.stderr.splitlines()
    assert str(path) in line
    assert (result.exit_code, "unexpected error" in line) == (1, False)
    return "refused"


def test_a_table_by_hand(place, tmp_path):
    table = tmp_path / "log"
    commit(table, 0, [protocol(), metadata(MANY_COLUMNS), added(table, "a.parquet", MANY_COLUMNS)])
    is_report_of(LOG, place(table))


@pytest.mark.parametrize("where", ["in the log", "in a file"])
def test_deletion_vectors(place, tmp_path, where):
    """The rows that they name are in the files, and not in the table."""
    table, gone = tmp_path / "log", [0, 3, 4, 77, 299]
    table.mkdir()
    add = added(table, "a.parquet", MANY_COLUMNS, **deletion_vector(gone, table if where == "in a file" else None))
    settings = {"delta.enableDeletionVectors": "true"}
    commit(table, 0, [protocol(3, "deletionVectors"), metadata(MANY_COLUMNS, settings), add])
    rest = MANY_COLUMNS.with_row_index().filter(~pl.col("index").is_in(gone)).drop("index")
    assert right_or_refused(place(table), rest, tmp_path) == "right"


@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping(place, tmp_path, mode):
    table, physical = tmp_path / "log", {"p": "col-1", "y": "col-2", "g": "col-3"}
    settings = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "3"}
    # Another column has the name that this one has to people.
    rows = MANY_COLUMNS.rename(physical)
    add = added(table, "a.parquet", rows)
    commit(table, 0, [protocol(3, "columnMapping"), metadata(MANY_COLUMNS, settings, **physical), add])
    right_or_refused(place(table), MANY_COLUMNS, tmp_path)


def test_columns_that_have_swapped_names(place, tmp_path):
    """By the names in the files a score would be another one."""
    both = MANY_COLUMNS.with_columns(q=1 - pl.col("p"))
    table, physical = tmp_path / "log", {"p": "q", "q": "p", "y": "y", "g": "g"}
    settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}
    add = added(table, "a.parquet", both.rename({"p": "q", "q": "p"}))
    commit(table, 0, [protocol(2), metadata(both, settings, **physical), add])
    right_or_refused(place(table), both, tmp_path)


def test_type_widening(place, tmp_path):
    """A column of other integers in old files."""
    wide = MANY_COLUMNS.with_columns(g=pl.int_range(pl.len()) % 3)
    table = tmp_path / "log"
    parts = [added(table, "a.parquet", wide.head(200).cast({"g": pl.Int32})), added(table, "b.parquet", wide.tail(100))]
    settings = {"delta.enableTypeWidening": "true"}
    commit(table, 0, [protocol(3, "typeWidening"), metadata(wide, settings), *parts])
    right_or_refused(place(table), wide, tmp_path)


def test_what_no_reader_knows(place, tmp_path):
    table = tmp_path / "log"
    commit(table, 0, [protocol(3, "sorcery"), metadata(MANY_COLUMNS), added(table, "a.parquet", MANY_COLUMNS)])
    assert right_or_refused(place(table), MANY_COLUMNS, tmp_path) == "refused"


# What is broken, and what is beside --------------------------------------------------------------------------------------


def test_a_file_that_is_gone(place, tmp_path):
    for rows in (FIRST, SECOND):
        write_deltalake(tmp_path / "log", rows, mode="append")
    next((tmp_path / "log").glob("*.parquet")).unlink()
    path = place(tmp_path / "log")
    fails(1, "report", path, *READ, words=[str(path)])


def test_a_log_without_a_commit(place, tmp_path):
    (tmp_path / "log" / "_delta_log").mkdir(parents=True)
    write(LOG, tmp_path / "log" / "a.parquet")
    (tmp_path / "log" / "_delta_log" / "notes.txt").write_text("none")
    path = place(tmp_path / "log")
    fails(1, "report", path, *READ, words=[str(path)])


def test_a_table_without_rows(place, tmp_path):
    write_deltalake(tmp_path / "log", LOG.clear())
    assert typed_report(place(tmp_path / "log"), *READ, *BY).height == 0


def test_files_within_a_table(place, tmp_path):
    write_deltalake(tmp_path / "log", LOG)
    path = place(tmp_path / "log")
    for pattern in (f"{path}/*.parquet", f"{path}/**/*.parquet"):
        fails(1, "report", pattern, *READ, words=[str(path)])


def test_a_folder_of_tables(place, tmp_path):
    for i in range(2):
        write_deltalake(tmp_path / "all" / f"t{i}", make_log(seed=5))
        write_deltalake(tmp_path / "all" / f"t{i}", LOG.gather_every(2, i), mode="overwrite")
    path = place(tmp_path / "all")
    is_report_of(LOG, path)
    is_report_of(LOG, f"{path}/t*")
    is_report_of(LOG.gather_every(2), f"{path}/t0")


# Sketches -----------------------------------------------------------------------------------------------------------------


def test_sketches_of_a_table(place, tmp_path):
    table, out = tmp_path / "log", tmp_path / "out"
    args = ("--out", out, *READ, *BY, "--exact")
    write_deltalake(table, FIRST)
    path = place(table)
    assert ": 1 sketched, 0 unchanged; 200 rows" in invoke("sketch", path, *args).stdout
    (record,) = SketchFolder(out).records().values()
    assert record.input == str(path)
    assert record.tag.startswith(f"{DeltaTable(table).metadata().id}/0/")
    assert ": 0 sketched, 1 unchanged; 200 rows" in invoke("sketch", path, *args).stdout
    write_deltalake(table, SECOND, mode="append")
    place(table)
    assert ": 1 sketched, 0 unchanged; 300 rows" in invoke("sketch", path, *args).stdout
    same(loaded(out), LOG.ec.sketch("p", "y", by="g", exact=True).frame)
    (record,) = SketchFolder(out).records().values()
    assert record.tag.split("/")[1] == "1"


def test_a_table_that_has_vanished(tmp_path):
    table, out = tmp_path / "all" / "log", tmp_path / "out"
    args = ("--out", out, *READ, *BY)
    write_deltalake(table, FIRST)
    assert invoke("sketch", tmp_path / "all", *args).exit_code == 0
    table.rename(tmp_path / "elsewhere")
    result = invoke("sketch", tmp_path / "all", *args)
    assert result.exit_code == 1
    assert str(table) in result.stderr
