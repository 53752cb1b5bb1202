"""Delta and Iceberg tables as logs: one input each, in one version, of which nothing is read but what its log says."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace

import polars as pl
import pytest
from deltalake import DeltaTable, convert_to_deltalake
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.cli.discovery import find
from polars_ec.cli.logs import open_log
from polars_ec.cli.sketch_folder import METADATA_KEY, Record, SketchFolder
from tests.support.cli import READ, fails, invoke, process, quiet_report, sketch
from tests.support.delta_tables import added, commit, deletion_vector, metadata, protocol
from tests.support.iceberg_tables import add_iceberg_deletes, folder_of, make_catalog, properties_in

LOG = pl.DataFrame({"p": [0.9, 0.2, 0.6, 0.3], "y": [1, 0, 0, 1], "s": ["a", "a/b", "a*b", None]})
LEFT = LOG.filter(pl.col("p") < 0.8)
GROUPED = (*READ, "--by", "s")


def same_report(found, *logs):
    columns = ["s", "n", "nec", "nce", "precision", "tp", "fp", "fn", "tn"]
    want = ec.report(pl.concat(logs), "p", "y", by="s")
    assert_frame_equal(found.select(columns), want.select(columns), check_dtypes=False, check_row_order=False)


def delta(path, *logs, **options):
    for log in logs:
        log.write_delta(str(path), mode="append", delta_write_options=options)
    return path


@pytest.fixture
def lake(tmp_path):
    """A Delta table of two commits and one that deletes: of six files, two are of no version that counts."""
    path = delta(tmp_path / "lake" / "d", LOG, LOG, partition_by=["s"])
    DeltaTable(path).delete("p > 0.8")
    return path


@pytest.fixture
def catalog(tmp_path):
    made = make_catalog("c", properties_in(tmp_path))
    yield made
    made.close()


def iceberg(catalog, name, *logs):
    table = catalog.create_table(f"n.{name}", LOG.to_arrow().schema)
    for log in logs:
        table.append(log.to_arrow())
    return table


# Delta -------------------------------------------------------------------------------------------------------------------


def test_a_delta_table_has_the_rows_that_its_log_says(lake):
    same_report(quiet_report(lake, *GROUPED), LEFT, LEFT)
    assert len(list(lake.rglob("*.parquet"))) > len(DeltaTable(lake).file_uris())


@pytest.mark.parametrize("part", ["s=a", "s=a/*.parquet", "*/*.parquet", "**", "s=a*", "_delta_log"])
def test_part_of_a_table_is_no_log(lake, part):
    fails(1, "report", f"{lake}/{part}", *READ, words=[str(lake), "name the table"])


def test_a_link_into_a_table_is_part_of_it(lake, tmp_path):
    file = next(lake.glob("s=a/*.parquet"))
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "x.parquet").symlink_to(file)
    for path in (tmp_path / "links", tmp_path / "links" / "x.parquet"):
        fails(1, "report", path, *READ, words=[str(lake), "name the table"])


def test_a_folder_of_tables_is_all_of_them(lake):
    delta(lake.parent / "e", LOG)
    for path in (lake.parent, f"{lake.parent}/[de]", f"{lake.parent}/*"):
        same_report(quiet_report(path, *GROUPED), LEFT, LEFT, LOG)


def test_tables_of_other_columns_go_together_by_those_asked_for(lake):
    delta(lake.parent / "e", LOG.select("y", "s", "p", more=1))
    same_report(quiet_report(lake.parent, *GROUPED), LEFT, LEFT, LOG)


def test_tables_do_not_go_with_files(lake):
    LOG.write_parquet(lake.parent / "x.parquet")
    fails(2, "report", lake.parent, *READ, words=["different kinds", "Delta", "Parquet"])


def test_all_passes_read_one_version(lake):
    log = open_log([str(lake)])
    delta(lake, LOG)
    assert log.collect(log.frame).height == 2 * LEFT.height
    assert open_log([str(lake)]).frame.collect().height == 2 * LEFT.height + LOG.height


def test_rows_deleted_by_a_vector_are_no_rows(tmp_path):
    add = added(tmp_path / "d", "a.parquet", LOG, **deletion_vector([0, 2]))
    settings = {"delta.enableDeletionVectors": "true"}
    commit(tmp_path / "d", 0, [protocol(3, "deletionVectors"), metadata(LOG, settings), add])
    same_report(quiet_report(tmp_path / "d", *GROUPED), LOG.filter(pl.col("p").is_in([0.2, 0.3])))


@pytest.mark.parametrize(
    ("asked", "word"),
    [(protocol(2), "column mapping"), (protocol(3, "typeWidening"), "typeWidening"), (protocol(3, "new"), "new")],
)
def test_what_polars_cannot_read_is_refused(lake, asked, word):
    commit(lake, 3, [asked])
    fails(1, "report", lake, *READ, words=[str(lake), "cannot be read as a Delta table", word])


def test_files_that_are_no_longer_there(lake):
    for file in lake.rglob("*.parquet"):
        file.unlink()
    fails(1, "report", lake, *READ, words=[str(lake), "cannot be read as Delta"])


@pytest.mark.parametrize("name", ["a b", "a%20b", "a[b]", "é"])
def test_names_whose_files_polars_does_not_find(tmp_path, name):
    delta(tmp_path / "d", LOG).rename(tmp_path / name)
    delta(tmp_path / "d", LOG, LOG)
    (tmp_path / "d").rename(tmp_path / "x")
    fails(1, "report", tmp_path / name, *READ, words=[name, "rename the folder"])


def test_a_log_of_nothing(tmp_path):
    (tmp_path / "d" / "_delta_log").mkdir(parents=True)
    LOG.write_parquet(tmp_path / "d" / "x.parquet")
    fails(1, "report", tmp_path / "d", *READ, words=[str(tmp_path / "d"), "cannot be read as a Delta table"])


# Iceberg -----------------------------------------------------------------------------------------------------------------


def test_an_iceberg_table_by_its_folder_and_its_metadata(catalog):
    table = iceberg(catalog, "t", LOG, LOG)
    before = table.metadata_location.removeprefix("file://")
    table.delete("p > 0.8")
    folder = folder_of(table)
    same_report(quiet_report(folder, *GROUPED), LEFT, LEFT)
    same_report(quiet_report(before, *GROUPED), LOG, LOG)
    for path in (f"{folder}/", catalog.properties["warehouse"].removeprefix("file://"), f"{folder}/../*"):
        assert [(place.path, place.kind.name) for place in find(path).files] == [(folder, "Iceberg")]
    for part in ("data", "data/*.parquet", "metadata"):
        assert "name the table" in find(f"{folder}/{part}").problems[folder]


def test_deletes_of_iceberg_are_heeded_or_refused(catalog):
    tables = [iceberg(catalog, name, LOG) for name in ("p", "e")]
    add_iceberg_deletes(tables[0], by_position=True)
    add_iceberg_deletes(tables[1], by_position=False)
    same_report(quiet_report(folder_of(tables[0]), *GROUPED), LEFT)
    fails(1, "report", folder_of(tables[1]), *READ, words=[folder_of(tables[1]), "equality deletes"])


def test_which_metadata_is_the_last(catalog, tmp_path):
    table = iceberg(catalog, "t", LOG)
    first = table.metadata_location.removeprefix("file://")
    table.append(LOG.to_arrow())
    metadata = tmp_path / "warehouse" / "n" / "t" / "metadata"
    hint = metadata / "version-hint.text"
    hint.write_text("1")
    same_report(quiet_report(folder_of(table), *GROUPED), LOG, LOG)  # of a writer that has died before it wrote 2
    hint.write_text("7\n")
    fails(1, "report", folder_of(table), *READ, words=["'7'", "no such metadata"])
    hint.unlink()
    shutil.copy(first, metadata / "00002-other.metadata.json")
    fails(1, "report", folder_of(table), *READ, words=["two commits", "00002-other", "Name the right one"])
    (metadata / "00002-other.metadata.json").rename(metadata / "v2.metadata.json.gz")
    fails(1, "report", folder_of(table), *READ, words=["v2.metadata.json.gz", "Rename it"])


@pytest.mark.slow
def test_a_table_of_a_catalog(catalog, tmp_path, monkeypatch):
    iceberg(catalog, "t", LOG, LOG).delete("p > 0.8")
    monkeypatch.setenv("PYICEBERG_CATALOG__C__URI", f"sqlite:///{tmp_path}/catalog.db")
    command = (*READ, "--format", "csv", "--metrics", "nec")
    done = process("report", "iceberg:c.n.t", *command)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].startswith("6,")
    for name, word in {"c.n.u": "no table 'n.u'", "d.n.t": "no catalog 'd'", "c": "CATALOG.NAMESPACE.TABLE"}.items():
        done = process("report", f"iceberg:{name}", *command)
        assert done.returncode == 2
        assert word in done.stderr
        assert len(done.stderr.splitlines()) == 1


# Sketches ----------------------------------------------------------------------------------------------------------------


def test_a_table_is_one_input_in_one_version(lake, catalog, tmp_path):
    out, ice = tmp_path / "out", iceberg(catalog, "t", LOG)
    paths = (lake.parent, folder_of(ice))
    assert ": 2 sketched, 0 unchanged; 10 rows" in sketch(*paths, out=out).stdout
    records = {record.input: record for record in SketchFolder(out).records().values()}
    assert records.keys() == {str(lake), folder_of(ice)}
    assert records[str(lake)].tag.startswith(f"{DeltaTable(lake).metadata().id}/2/")
    assert str(ice.current_snapshot().snapshot_id) in records[folder_of(ice)].tag
    delta(lake, LOG)
    assert ": 1 sketched, 1 unchanged; 14 rows" in sketch(*paths, out=out).stdout
    assert invoke("report", out, "--format", "csv", "--metrics", "nec").stdout.splitlines()[1].startswith("14,")


def test_another_version_of_the_same_number(tmp_path):
    """As there is where a copy of the table is restored, and written to."""
    table, out = delta(tmp_path / "t", LOG), tmp_path / "out"
    shutil.copytree(table, tmp_path / "copy")
    delta(table, LOG)
    sketch(table, out=out)
    shutil.rmtree(table)
    (tmp_path / "copy").rename(table)
    delta(table, LOG.head(1))
    assert ": 1 sketched, 0 unchanged; 5 rows" in sketch(table, out=out).stdout


def test_files_that_have_become_a_table(tmp_path):
    """They count as files or as the table."""
    folder, out = tmp_path / "t", tmp_path / "out"
    folder.mkdir()
    LOG.write_parquet(folder / "a.parquet")
    sketch(folder, out=out)
    convert_to_deltalake(str(folder))
    assert "is now a file of the table" in sketch(folder, out=out, code=1).stderr
    assert ": 1 sketched, 0 unchanged; 4 rows" in sketch(folder, out=out, args=(*READ, "--vanished", "drop")).stdout
    assert ": 0 sketched, 1 unchanged; 4 rows" in sketch(folder, out=out).stdout


def test_a_table_that_has_become_files(tmp_path):
    table, out = delta(tmp_path / "t", LOG), tmp_path / "out"
    sketch(table, out=out)
    shutil.rmtree(table / "_delta_log")
    assert "1 waiting" in sketch(table, out=out, code=1).stdout
    assert ": 1 sketched, 0 unchanged; 4 rows" in sketch(table, out=out, args=(*READ, "--vanished", "drop")).stdout


def test_entries_of_the_time_before_tags(lake, tmp_path):
    sketch(lake, out=tmp_path / "out")
    (record,) = SketchFolder(tmp_path / "out").records().values()
    former = json.loads(record.encode()[METADATA_KEY])
    former.pop("tag")
    assert Record.decode(json.dumps(former)) == replace(record, tag=None)


def test_a_table_that_vanishes_or_is_renamed(lake, tmp_path):
    out, moved = tmp_path / "out", tmp_path / "lake" / "moved"
    sketch(lake, out=out)
    lake.rename(moved)
    result = sketch(lake.parent, out=out, code=1)
    assert "has vanished" in result.stderr
    assert "1 waiting" in result.stdout
    assert "use one name" in sketch(lake.parent, out=out, args=(*READ, "--vanished", "keep"), code=1).stderr
    assert ": 1 sketched" in sketch(lake.parent, out=out, args=(*READ, "--vanished", "drop")).stdout
    assert [record.input for record in SketchFolder(out).records().values()] == [str(moved)]
    shutil.rmtree(moved)
    assert "has vanished" in sketch(moved, out=out, code=1).stderr


def test_a_table_by_two_names_counts_once(catalog, tmp_path):
    table = iceberg(catalog, "t", LOG)
    names = folder_of(table), table.metadata_location.removeprefix("file://")
    fails(2, "report", *names, *READ, words=["the same table", "name it once"])
    assert ": 1 sketched, 0 unchanged, 1 failed; 4 rows" in sketch(*names, out=tmp_path / "out", code=1).stdout


def test_a_table_of_which_more_is_written_while_it_is_read(lake, tmp_path, monkeypatch):
    """What is in the sketch is the version that it says, and the next run reads the new one."""
    import polars_ec.cli.sketch_job as job

    opened = job.open_log
    monkeypatch.setattr(job, "open_log", lambda paths: (delta(lake, LOG), opened(paths))[1])
    assert ": 1 sketched, 0 unchanged; 6 rows" in sketch(lake, out=tmp_path / "out").stdout
    monkeypatch.undo()
    assert ": 1 sketched, 0 unchanged; 10 rows" in sketch(lake, out=tmp_path / "out").stdout


def test_one_broken_table_stops_no_other(lake, tmp_path):
    (lake.parent / "broken" / "_delta_log").mkdir(parents=True)
    result = sketch(lake.parent, out=tmp_path / "out", code=1)
    assert ": 1 sketched, 0 unchanged, 1 failed; 6 rows" in result.stdout
    assert "broken cannot be read as a Delta table" in result.stderr


# Without the extra -------------------------------------------------------------------------------------------------------


@pytest.mark.quick("deltalake")
@pytest.mark.parametrize("module", ["deltalake", "pyiceberg", "obstore"])
def test_what_is_missing_is_named(lake, catalog, monkeypatch, module):
    paths = {"deltalake": lake, "pyiceberg": folder_of(iceberg(catalog, "t", LOG)), "obstore": "s3://bucket/x.csv"}
    for name in [module, *(name for name in sys.modules if name.startswith(f"{module}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    fails(2, "report", paths[module], *READ, words=[str(paths[module]), "pip install 'polars_ec[lake]'"])
