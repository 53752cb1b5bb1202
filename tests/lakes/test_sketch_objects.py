"""`polars-ec sketch` of objects and tables: what the manifest says of them, and what is read anew. Run by `make test-lake`."""

from __future__ import annotations

import subprocess
import sys
import time

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_ec.cli import object_store, sketch_job
from polars_ec.cli.sketch_folder import SketchFolder
from tests.lakes.logs import BY, LOG, make_log, write
from tests.support.cli import READ, fails, invoke, typed_report
from tests.support.sketch_jobs import loaded, same, stamps

pytestmark = pytest.mark.lake

SCHEMES = ["s3", "gs"]
FILES = 3
ARGS = (*READ, *BY, "--exact")
NEW = make_log(50, seed=2)


def sketch(address, out, *args, code=0):
    result = invoke("sketch", address, "--out", out, *ARGS, *args)
    assert result.exit_code == code, result.output
    return result


def adds_up_to(out, log):
    same(loaded(out), log.ec.sketch("p", "y", by="g", exact=True).frame)


def content(tmp_path, log):
    return write(log, tmp_path / "content.parquet").read_bytes()


@pytest.fixture
def log(bucket, tmp_path):
    for i in range(FILES):
        bucket.put(f"log/part-{i}.parquet", content(tmp_path, LOG.gather_every(FILES, i)))
    return bucket


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_folder_adds_up_to_the_sketch_of_all_rows(log, tmp_path, scheme):
    out = tmp_path / "out"
    result = sketch(log.url("log", scheme), out)
    assert result.stdout == f"{out}: {FILES} sketched, 0 unchanged; {LOG.height} rows\n"
    assert result.stderr == ""
    adds_up_to(out, LOG)
    of_sketches = typed_report(out, *BY, "--metrics", "nec,nbs")
    of_rows = typed_report(log.url("log", scheme), *READ, *BY, "--metrics", "nec,nbs")
    assert_frame_equal(of_sketches.select("g", "n", "nec", "nbs"), of_rows.select("g", "n", "nec", "nbs"), rel_tol=1e-9)


@pytest.mark.parametrize("sketches_before", [1, 4])
def test_a_job_that_is_killed_goes_on(bucket, tmp_path, sketches_before):
    n, out = 12, tmp_path / "out"
    for i in range(n):
        bucket.put(f"log/part-{i:02}.parquet", content(tmp_path, LOG.gather_every(n, i)))
    command = [sys.executable, "-m", "polars_ec", "sketch", bucket.url("log"), "--out", str(out), *ARGS]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        while job.poll() is None and len([*out.glob("*.parquet")]) < sketches_before:
            time.sleep(0.001)
        job.kill()
    left = len(SketchFolder(out).records())
    assert sketches_before <= left < n
    assert sketch(bucket.url("log"), out).stdout == f"{out}: {n - left} sketched, {left} unchanged; {LOG.height} rows\n"
    adds_up_to(out, LOG)


def test_the_manifest_has_the_address_and_the_tag(log, tmp_path):
    sketch(log.url("log/*.parquet"), tmp_path / "out")
    records = {record.input: record for record in SketchFolder(tmp_path / "out").records().values()}
    assert sorted(records) == [log.url(f"log/part-{i}.parquet") for i in range(FILES)]
    for i in range(FILES):
        record = records[log.url(f"log/part-{i}.parquet")]
        assert record.size == len(content(tmp_path, LOG.gather_every(FILES, i)))
        assert record.rows == LOG.gather_every(FILES, i).height
        assert len(record.tag.strip('"')) == 32


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_second_run_reads_nothing(log, tmp_path, monkeypatch, scheme):
    out = tmp_path / "out"
    sketch(log.url("log", scheme), out)
    before = stamps(out)

    def read(*args):
        raise AssertionError("an object was read")

    monkeypatch.setattr(sketch_job, "open_log", read)
    for key in ("log", "log/", "log/*.parquet", "**/*.parquet"):
        assert f": 0 sketched, {FILES} unchanged;" in sketch(log.url(key, scheme), out).stdout
    assert stamps(out) == before


def test_new_and_changed_objects_are_read(log, tmp_path):
    out = tmp_path / "out"
    sketch(log.url("log"), out)
    before = stamps(out)
    log.put("log/part-0.parquet", content(tmp_path, NEW))
    log.put("log/new.parquet", content(tmp_path, NEW))
    assert f": 2 sketched, {FILES - 1} unchanged;" in sketch(log.url("log"), out).stdout
    adds_up_to(out, pl.concat([*(LOG.gather_every(FILES, i) for i in (1, 2)), NEW, NEW]))
    assert len([name for name, stamp in stamps(out).items() if before.get(name) == stamp]) == FILES - 1


def test_an_object_of_the_same_size_that_was_written_within_the_same_second(log, tmp_path):
    """Nothing but its tag says so."""
    out = tmp_path / "out"
    first = pl.DataFrame({"p": [0.25], "y": [1], "g": ["a"]})
    for log_now in (first, first.with_columns(p=0.75)):
        log.put("one/a.csv", log_now.write_csv().encode())
        assert ": 1 sketched, 0 unchanged; 1 rows" in sketch(log.url("one"), out).stdout
        adds_up_to(out, log_now)


def test_vanished_objects(log, tmp_path):
    out = tmp_path / "out"
    sketch(log.url("log"), out)
    gone = log.url("log/part-1.parquet")
    log.delete("log/part-1.parquet")
    result = sketch(log.url("log"), out, code=1)
    assert gone in result.stderr
    assert "--vanished" in result.stderr
    adds_up_to(out, LOG)
    assert "still counts" in sketch(log.url("log"), out, "--vanished", "keep").stderr
    assert "was removed" in sketch(log.url("log"), out, "--vanished", "drop").stderr
    adds_up_to(out, pl.concat([LOG.gather_every(FILES, i) for i in (0, 2)]))


def test_objects_that_have_all_vanished(log, tmp_path):
    out = tmp_path / "out"
    sketch(log.url("log"), out)
    for i in range(FILES):
        log.delete(f"log/part-{i}.parquet")
    result = sketch(log.url("log"), out, code=1)
    assert "vanished" in result.stderr
    adds_up_to(out, LOG)


def test_an_object_that_is_broken_is_reported_when_the_others_are_done(log, tmp_path):
    out = tmp_path / "out"
    log.put("log/part-1.parquet", b"PAR1 and no more")
    result = sketch(log.url("log"), out, code=1)
    assert log.url("log/part-1.parquet") in result.stderr
    adds_up_to(out, pl.concat([LOG.gather_every(FILES, i) for i in (0, 2)]))
    log.put("log/part-1.parquet", content(tmp_path, LOG.gather_every(FILES, 1)))
    assert ": 1 sketched, 2 unchanged;" in sketch(log.url("log"), out).stdout
    adds_up_to(out, LOG)


def test_an_object_that_changes_while_it_is_read(log, tmp_path, monkeypatch):
    out, real = tmp_path / "out", sketch_job.open_log

    def opened(paths):
        found = real(paths)
        if "part-1" in str(paths[0]):
            log.put("log/part-1.parquet", content(tmp_path, NEW))
        return found

    monkeypatch.setattr(sketch_job, "open_log", opened)
    result = sketch(log.url("log"), out, code=1)
    assert log.url("log/part-1.parquet") in result.stderr
    monkeypatch.undo()


def test_objects_and_files_in_one_folder_of_sketches(log, tmp_path):
    out = tmp_path / "out"
    sketch(log.url("log"), out)
    write(NEW, tmp_path / "more" / "a.csv")
    assert f": 1 sketched, 0 unchanged, {FILES} from other inputs;" in sketch(tmp_path / "more", out).stdout
    adds_up_to(out, pl.concat([LOG, NEW]))


def test_a_store_that_does_not_answer_has_lost_nothing(log, tmp_path, monkeypatch):
    """What cannot be looked at has not vanished."""
    out = tmp_path / "out"
    sketch(log.url("log"), out)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    object_store._store.cache_clear()
    result = sketch(log.url("log"), out, "--vanished", "drop", code=1)
    object_store._store.cache_clear()
    assert log.url("log") in result.stderr
    assert len(stamps(out)) == FILES


def test_sketches_stay_on_this_machine(log, tmp_path):
    fails(2, "sketch", log.url("log"), "--out", log.url("out"), *ARGS, words=[log.url("out"), "local"])


def test_a_log_that_was_moved_into_a_store_does_not_count_twice(bucket, tmp_path):
    """With the time of the moving, it is still the file that has vanished."""
    out = tmp_path / "out"
    file = write(LOG, tmp_path / "log" / "a.parquet")
    sketch(file.parent, out)
    bucket.put("log/a.parquet", file.read_bytes())
    file.unlink()
    result = invoke("sketch", file.parent, bucket.url("log"), "--out", out, *ARGS, "--vanished", "keep")
    assert result.exit_code == 1
    assert "If it was renamed, pass --vanished drop" in result.stderr
    adds_up_to(out, LOG)
