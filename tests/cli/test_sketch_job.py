"""Jobs over folders of a log: resumed, run twice, and given files that change, break or vanish."""

from __future__ import annotations

import os
from contextlib import contextmanager

import polars as pl
import pytest

import polars_ec as ec
from polars_ec.cli import sketch_folder, sketch_job
from polars_ec.cli.sketch_folder import Record, SketchFolder
from polars_ec.cli.sketch_job import Vanished, run
from polars_ec.cli.terminal import UsageError
from polars_ec.sketches import files
from tests.support.cases import mostly_slow
from tests.support.cli import READ, invoke
from tests.support.sketch_jobs import (
    LOG,
    MADE_WITH,
    loaded,
    make_log,
    options,
    same,
    sketch,
    stamps,
    whole,
    write_files,
)

FILES = 4


# The flow ----------------------------------------------------------------------------------------------------------------


def test_the_folder_adds_up_to_the_sketch_of_all_rows(logs, tmp_path):
    result = sketch(logs, out=tmp_path / "out")
    assert result.stdout == f"{tmp_path}/out: {FILES} sketched, 0 unchanged; {LOG.height} rows\n"
    assert result.stderr == ""
    same(loaded(tmp_path / "out"), whole().frame)


def test_every_sketch_carries_its_entry_of_the_manifest(logs, tmp_path):
    sketch(logs, out=tmp_path / "out")
    records = SketchFolder(tmp_path / "out").records()
    for file in logs.iterdir():
        record = records[SketchFolder.name_for(str(file))]
        assert record.input == str(file)
        assert (record.size, record.modified_ns) == (file.stat().st_size, file.stat().st_mtime_ns)
        assert record.rows == pl.read_parquet(file).height
        assert record.options["--by"] == ["carrier"]
    assert ec.Sketch.read_parquet(tmp_path / "out" / next(iter(records))).grid.resolution == 64


def test_a_second_run_reads_nothing(logs, tmp_path, monkeypatch):
    sketch(logs, out=tmp_path / "out")
    before = stamps(tmp_path / "out")

    def read(*args):
        raise AssertionError("a file was read")

    monkeypatch.setattr(sketch_job, "open_log", read)
    monkeypatch.chdir(logs)
    # However the files are named: by their folder, by a glob, relative, twice or through a link.
    (tmp_path / "link").symlink_to(logs)
    for paths in ([logs], ["."], [logs / "*.parquet"], [logs, "part-00.parquet"], [tmp_path / "link"]):
        result = invoke("sketch", *paths, "--out", tmp_path / "out", *MADE_WITH)
        assert result.stdout.endswith(f": 0 sketched, {FILES} unchanged; {LOG.height} rows\n")
    assert stamps(tmp_path / "out") == before


def test_new_and_changed_files_are_read(logs, tmp_path):
    out = tmp_path / "out"
    sketch(logs, out=out)
    before = stamps(out)
    first = logs / "part-00.parquet"
    changed = make_log(50, seed=8)
    changed.write_parquet(first)
    make_log(70, seed=9).write_parquet(logs / "new.parquet")
    assert f": 2 sketched, {FILES - 1} unchanged;" in sketch(logs, out=out).stdout
    rest = [LOG.gather_every(FILES, i) for i in range(1, FILES)]
    same(loaded(out), whole(pl.concat([*rest, changed, make_log(70, seed=9)])).frame)
    same_ones = {name for name, stamp in stamps(out).items() if before.get(name) == stamp}
    assert len(same_ones) == FILES - 1
    assert len(stamps(out)) == FILES + 1
    # Only its time of modification changed.
    os.utime(first, ns=(0, first.stat().st_mtime_ns + 1))
    assert f": 1 sketched, {FILES} unchanged;" in sketch(logs, out=out).stdout


def test_other_inputs_stay_in_the_result(logs, tmp_path):
    out = tmp_path / "out"
    for i in range(FILES):
        result = sketch(logs / f"part-{i:02}.parquet", out=out)
    assert f": 1 sketched, 0 unchanged, {FILES - 1} from other inputs; {LOG.height} rows" in result.stdout
    same(loaded(out), whole().frame)


def test_the_folder_may_lie_among_its_inputs(logs):
    for _ in range(2):
        sketch(logs, out=logs / "sketches")
    same(loaded(logs / "sketches"), whole().frame)
    result = invoke("sketch", logs / "sketches", "--out", logs / "sketches", *MADE_WITH)
    assert result.stdout.endswith(f": 0 sketched, 0 unchanged, {FILES} from other inputs; {LOG.height} rows\n")


@pytest.mark.parametrize("name", ["we[i]rd *?", "späße", "a=b"])
def test_odd_names(tmp_path, name):
    logs = write_files(tmp_path / name, files=2)
    sketch(logs, out=tmp_path / f"out {name}")
    same(loaded(tmp_path / f"out {name}"), whole().frame)


def test_kinds_of_files_and_types_that_differ_harmlessly(tmp_path):
    logs = write_files(tmp_path / "logs", files=4)
    parts = [LOG.gather_every(4, i) for i in range(4)]
    (logs / "part-00.parquet").unlink()
    parts[0].write_csv(logs / "a.csv")
    parts[1].with_columns(pl.col("carrier").cast(pl.Categorical)).write_parquet(logs / "part-01.parquet")
    parts[2].with_columns(pl.col("ts").cast(pl.Datetime("ns"))).write_parquet(logs / "part-02.parquet")
    nothing = parts[3].with_columns(carrier=pl.lit(None, dtype=pl.Null))
    nothing.write_parquet(logs / "part-03.parquet")
    sketch(logs, out=tmp_path / "out")
    same(loaded(tmp_path / "out"), whole(pl.concat([*parts[:3], nothing.cast(LOG.schema)])).frame)


def test_hive_folders(tmp_path):
    parts = LOG.with_columns(carrier=pl.col("carrier").fill_null("none"))
    for (carrier,), rows in parts.group_by("carrier"):
        (tmp_path / "logs" / f"carrier={carrier}").mkdir(parents=True)
        rows.drop("carrier").write_parquet(tmp_path / "logs" / f"carrier={carrier}" / "part.parquet")
    sketch(tmp_path / "logs", out=tmp_path / "out")
    same(loaded(tmp_path / "out"), whole(parts).frame)


# Options -----------------------------------------------------------------------------------------------------------------


@pytest.mark.quick("args0-*", "args3-*", "args5-*")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((*MADE_WITH, "--resolution", "32"), "--resolution 64 and 32"),
        ((*MADE_WITH, "--exact"), '--resolution 64 and "exact"'),
        ((*MADE_WITH, "--by", "w"), '--by ["carrier"] and ["carrier", "w"]'),
        ((*MADE_WITH[:-4], "--every", "1w", "--cost-fn", "5"), '--every "1d" and "1w"'),
        ((*MADE_WITH, "--weight", "w"), '--weight none and "w"'),
        ((*MADE_WITH, "--threshold", "0.4"), "--threshold, --cost-fn, --cost-fp"),
        (("--score", "log_odds", *MADE_WITH[2:]), '--score "p" and "log_odds"'),
        ((*MADE_WITH, "--score-type", "raw"), '--score-type "posterior" and "raw"'),
    ],
)
def test_other_options_for_the_same_folder(logs, tmp_path, args, words):
    sketch(logs / "part-00.parquet", out=tmp_path / "out")
    before = stamps(tmp_path / "out")
    message = sketch(logs, out=tmp_path / "out", args=args, code=2).stderr
    assert words in message
    assert len(message.splitlines()) == 1
    assert stamps(tmp_path / "out") == before


def test_the_same_options_in_other_words(logs, tmp_path):
    sketch(logs, out=tmp_path / "out")
    result = sketch(logs, out=tmp_path / "out", args=(*MADE_WITH, "--threshold", repr(1 / 6)))
    assert ": 0 sketched" in result.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((*READ, "--time", "ts"), "pass both --time and --every"),
        ((*READ, "--resolution", "0"), "resolution"),
        ((*READ, "--score-type", "decision"), "'decision' cannot be sketched"),
        ((*READ, "--by", "n"), "column 'n', which is also a column of a sketch"),
        ((*READ, "--prior", "overall"), "pass a number"),
        ((*READ, "--prior", "2"), "--prior 2"),
        ((*READ, "--threshold", "nan"), "--threshold nan is not a number"),
    ],
)
def test_options_that_make_no_sense_touch_nothing(logs, tmp_path, args, words):
    message = sketch(logs, out=tmp_path / "out", args=args, code=2).stderr
    assert words in message
    assert len(message.splitlines()) == 1
    assert not (tmp_path / "out").exists()


# Inputs that break, change and vanish --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_broken_files_are_named_after_the_others_are_done(logs, tmp_path):
    out = tmp_path / "out"
    parts = [*(LOG.gather_every(FILES, i) for i in range(FILES)), LOG.head(300), LOG.tail(300)]
    parts[4].write_parquet(logs / "part-04.parquet")
    cut = logs / "part-03.parquet"
    cut.write_bytes(cut.read_bytes()[:-40])
    LOG.drop("carrier").write_parquet(logs / "part-05.parquet")
    LOG.with_columns(carrier=1).write_parquet(logs / "part-02.parquet")
    LOG.with_columns(y=pl.lit("late")).write_parquet(logs / "part-01.parquet")
    result = sketch(logs, out=out, code=1)
    lines = result.stderr.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("polars-ec: ") for line in lines)
    for part, words in {
        "part-03": "cannot be read as Parquet",
        "part-05": "no column 'carrier' (--by)",
        "part-02": "the group column 'carrier' is Int32, but String in the other inputs",
        "part-01": "--pos-label",
    }.items():
        assert any(part in line and words in line for line in lines), lines
    assert ": 2 sketched, 0 unchanged, 4 failed;" in result.stdout
    assert "is incomplete" in invoke("report", out).stderr
    same(loaded(out), whole(pl.concat([parts[0], parts[4]])).frame)
    for i in (1, 2, 3, 5):
        parts[i].write_parquet(logs / f"part-{i:02}.parquet")
    assert ": 4 sketched, 2 unchanged;" in sketch(logs, out=out).stdout
    assert invoke("report", out).stderr == ""
    same(loaded(out), whole(pl.concat(parts)).frame)


def test_a_file_that_breaks_later_keeps_its_sketch(logs, tmp_path):
    sketch(logs, out=tmp_path / "out")
    (logs / "part-00.parquet").write_bytes(b"")
    result = sketch(logs, out=tmp_path / "out", code=1)
    assert "part-00.parquet: the file is empty (the sketch of its earlier content still counts)" in result.stderr
    assert f"; {LOG.height} rows" in result.stdout
    same(loaded(tmp_path / "out"), whole().frame)


def test_a_file_that_changes_while_it_is_read(logs, tmp_path, monkeypatch):
    opened = sketch_job.open_log

    def grows(paths):
        if "part-03" in str(paths[0]):
            LOG.write_parquet(paths[0])
        return opened(paths)

    monkeypatch.setattr(sketch_job, "open_log", grows)
    assert (
        "part-03.parquet changed while it was read: run the command again"
        in sketch(logs, out=tmp_path / "out", code=1).stderr
    )
    monkeypatch.undo()
    assert ": 1 sketched" in sketch(logs, out=tmp_path / "out").stdout


@pytest.mark.parametrize("named", mostly_slow(["folder", "file"], ["folder"]))
@pytest.mark.slow
def test_a_vanished_input_asks(logs, tmp_path, named):
    out, gone = tmp_path / "out", logs / "part-02.parquet"
    sketch(logs, out=out)
    gone.unlink()
    paths = [logs] if named == "folder" else [*sorted(logs.iterdir()), gone]
    rest = whole(pl.concat([LOG.gather_every(FILES, i) for i in range(FILES) if i != 2])).frame
    asked = invoke("sketch", *paths, "--out", out, *MADE_WITH)
    assert asked.exit_code == 1
    assert (
        f"{gone} has vanished since it was sketched, but its sketch still counts: pass --vanished keep" in asked.stderr
    )
    assert "has vanished" in invoke("report", out).stderr
    same(loaded(out), whole().frame)
    kept = invoke("sketch", *paths, "--out", out, *MADE_WITH, "--vanished", "keep")
    assert kept.exit_code == 0
    assert "its sketch still counts" in kept.stderr
    assert invoke("report", out).stderr == ""
    same(loaded(out), whole().frame)
    dropped = invoke("sketch", *paths, "--out", out, *MADE_WITH, "--vanished", "drop")
    assert dropped.exit_code == 0
    assert f"{gone} has vanished; its sketch was removed" in dropped.stderr
    same(loaded(out), rest)


@pytest.mark.slow
def test_a_damaged_sketch_is_made_again(logs, tmp_path):
    out = tmp_path / "out"
    sketch(logs, out=out)
    damaged = out / SketchFolder.name_for(str(logs / "part-01.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-30])
    assert f"{damaged} is damaged: remove it" in invoke("report", out).stderr
    assert invoke("report", out).exit_code == 1
    assert "is damaged" in sketch(logs / "part-00.parquet", out=out, code=1).stderr
    assert f": 1 sketched, {FILES - 1} unchanged;" in sketch(logs, out=out).stdout
    assert invoke("report", out).stderr == ""
    same(loaded(out), whole().frame)


def test_a_folder_of_a_newer_version(logs, tmp_path, monkeypatch):
    encode = Record.encode
    monkeypatch.setattr(
        Record, "encode", lambda self: {k: v.replace('"version": 1', '"version": 2') for k, v in encode(self).items()}
    )
    sketch(logs, out=tmp_path / "out")
    monkeypatch.undo()
    for command in (("report", tmp_path / "out"), ("sketch", logs, "--out", tmp_path / "out", *MADE_WITH)):
        result = invoke(*command)
        assert result.exit_code == 1
        assert "update polars_ec" in result.stderr


@pytest.mark.parametrize(("schema_version", "words"), [(2, "from an earlier version"), (6, "update polars_ec")])
def test_sketches_of_a_schema_version_that_is_not_read(schema_version, words, logs, tmp_path, monkeypatch):
    out = tmp_path / "out"
    for module in (files, sketch_folder):
        monkeypatch.setattr(module, "VERSIONS", {"sketch": schema_version, "calibration": 2})
    sketch(logs, out=out)
    monkeypatch.undo()
    assert words in invoke("report", out).stderr
    for path in sorted(logs.iterdir())[1:]:
        path.rename(tmp_path / path.name)
    kept = sketch(logs, out=out, code=1)
    assert f"1 sketched, 0 unchanged, {FILES - 1} failed" in kept.stdout
    assert kept.stderr.count(words) == FILES - 1
    for path in tmp_path.glob("part-*"):
        path.rename(logs / path.name)
    assert f"{FILES - 1} sketched, 1 unchanged" in sketch(logs, out=out).stdout
    same(loaded(out), whole().frame)


def test_a_folder_that_cannot_be_written(logs, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    assert "--out" in sketch(logs, out=tmp_path / "file", code=2).stderr

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ec.Sketch, "write_parquet", full)
    assert "No space left on device" in sketch(logs, out=tmp_path / "out", code=1).stderr
    monkeypatch.undo()
    sketch(logs, out=tmp_path / "out")
    same(loaded(tmp_path / "out"), whole().frame)


def test_the_job_as_a_function(logs, tmp_path):
    seen = []

    @contextmanager
    def track(tasks):
        yield (seen.append(task.file.name) or task for task in tasks)

    given = options(grid={"resolution": 8})
    outcome = run([str(logs)], tmp_path / "out", given, vanished=Vanished.keep, track=track)
    assert (outcome.sketched, outcome.rows, outcome.failures) == (FILES, LOG.height, {})
    assert seen == [f"part-{i:02}.parquet" for i in range(FILES)]
    with pytest.raises(UsageError, match="other options"):
        run([str(logs)], tmp_path / "out", options())


def test_a_path_that_is_not_there_makes_no_folder(tmp_path):
    assert "no such file or folder" in sketch(tmp_path / "logs", out=tmp_path / "out", code=2).stderr
    assert not (tmp_path / "out").exists()
