"""Jobs over folders of a log: killed, resumed, run twice, and given files that change, break or vanish."""

from __future__ import annotations

import datetime as dt
import fcntl
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import polars_ec as ec
from polars_ec.cli import commands, sketch_job
from polars_ec.cli.logs import DataError, UsageError
from polars_ec.cli.options import Question
from polars_ec.cli.sketch_folder import Record, SketchFolder
from polars_ec.cli.sketch_job import SketchOptions, Vanished, run

FILES = 12
READ = ("--score", "p", "--label", "y")
MADE_WITH = (*READ, "--by", "carrier", "--time", "ts", "--every", "1d", "--cost-fn", "5")
ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("KILLS", 6))


def make_log(n=3000, seed=7):
    rng = np.random.default_rng(seed)
    late = rng.random(n) < 0.3
    log_odds = rng.normal(size=n) + 1.2 * late - 1
    return pl.DataFrame(
        {
            "ts": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(h)) for h in rng.integers(0, 24 * 90, n)],
            "carrier": [None if c == "-" else str(c) for c in rng.choice(["AA", "B6", "-"], n)],
            "p": 1 / (1 + np.exp(-log_odds)),
            "log_odds": log_odds,
            "y": [None if missing else bool(y) for y, missing in zip(late, rng.random(n) < 0.05, strict=True)],
            "w": rng.integers(0, 5, n) / 2,
        }
    )


LOG = make_log()


def write_files(folder, log=LOG, files=FILES):
    folder.mkdir(exist_ok=True)
    for i in range(files):
        log.gather_every(files, i).write_parquet(folder / f"part-{i:02}.parquet")
    return folder


@pytest.fixture
def logs(tmp_path):
    return write_files(tmp_path / "logs")


def options(by=("carrier",), every="1d", grid=None, **more):
    question = Question(["p"], "y", list(by), "ts", every, {"cost_fn": 5.0, **more})
    return SketchOptions(question, grid or {})


def whole(log=LOG):
    keys = ["carrier", pl.col("ts").dt.truncate("1d")]
    return log.ec.sketch("p", "y", by=keys, cost_fn=5)


def same(ours, theirs):
    assert_frame_equal(ours, theirs, check_exact=False, rel_tol=1e-12, abs_tol=1e-12)


def loaded(out):
    (sketch,) = SketchFolder(out).opened().total(lambda sketch: sketch)
    return sketch.frame


def stamps(out):
    return {file.name: file.stat().st_mtime_ns for file in out.glob("*.sketch.parquet")}


def invoke(*args):
    return CliRunner().invoke(commands.app, [str(arg) for arg in args])


def sketch(logs, out, *args, code=0):
    result = invoke("sketch", logs, "--out", out, *(args or MADE_WITH))
    assert result.exit_code == code, result.output
    return result


def report(out, *args):
    result = invoke("report", out, *args, "--format", "csv")
    assert result.exit_code == 0, result.output
    return pl.read_csv(io.StringIO(result.stdout), try_parse_dates=True)


# The flow ----------------------------------------------------------------------------------------------------------------


def test_the_folder_adds_up_to_the_sketch_of_all_rows(logs, tmp_path):
    result = sketch(logs, tmp_path / "out")
    assert result.stdout == f"{tmp_path}/out: {FILES} sketched, 0 unchanged; {LOG.height} rows\n"
    assert result.stderr == ""
    same(loaded(tmp_path / "out"), whole().frame)


def test_every_sketch_carries_its_entry_of_the_manifest(logs, tmp_path):
    sketch(logs, tmp_path / "out")
    records = SketchFolder(tmp_path / "out").records()
    for file in logs.iterdir():
        record = records[SketchFolder.name_for(str(file))]
        assert record.input == str(file)
        assert (record.size, record.modified_ns) == (file.stat().st_size, file.stat().st_mtime_ns)
        assert record.rows == pl.read_parquet(file).height
        assert record.options["--by"] == ["carrier"]
    assert ec.Sketch.read_parquet(tmp_path / "out" / next(iter(records))).grid.resolution == 64


def test_a_second_run_reads_nothing(logs, tmp_path, monkeypatch):
    sketch(logs, tmp_path / "out")
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
    sketch(logs, out)
    before = stamps(out)
    first = logs / "part-00.parquet"
    changed = make_log(50, seed=8)
    changed.write_parquet(first)
    make_log(70, seed=9).write_parquet(logs / "new.parquet")
    assert ": 2 sketched, 11 unchanged;" in sketch(logs, out).stdout
    rest = [LOG.gather_every(FILES, i) for i in range(1, FILES)]
    same(loaded(out), whole(pl.concat([*rest, changed, make_log(70, seed=9)])).frame)
    same_ones = {name for name, stamp in stamps(out).items() if before.get(name) == stamp}
    assert len(same_ones) == FILES - 1
    assert len(stamps(out)) == FILES + 1
    # Only its time of modification changed.
    os.utime(first, ns=(0, first.stat().st_mtime_ns + 1))
    assert ": 1 sketched, 12 unchanged;" in sketch(logs, out).stdout


def test_other_inputs_stay_in_the_result(logs, tmp_path):
    out = tmp_path / "out"
    for i in range(FILES):
        result = sketch(logs / f"part-{i:02}.parquet", out)
    assert f": 1 sketched, 0 unchanged, {FILES - 1} of other inputs; {LOG.height} rows" in result.stdout
    same(loaded(out), whole().frame)


def test_the_folder_may_lie_among_its_inputs(logs):
    for _ in range(2):
        sketch(logs, logs / "sketches")
    same(loaded(logs / "sketches"), whole().frame)
    result = invoke("sketch", logs / "sketches", "--out", logs / "sketches", *MADE_WITH)
    assert result.stdout.endswith(f": 0 sketched, 0 unchanged, {FILES} of other inputs; {LOG.height} rows\n")


@pytest.mark.parametrize("name", ["we[i]rd *?", "späße", "a=b"])
def test_odd_names(tmp_path, name):
    logs = write_files(tmp_path / name, files=2)
    sketch(logs, tmp_path / f"out {name}")
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
    sketch(logs, tmp_path / "out")
    same(loaded(tmp_path / "out"), whole(pl.concat([*parts[:3], nothing.cast(LOG.schema)])).frame)


def test_hive_folders(tmp_path):
    parts = LOG.with_columns(carrier=pl.col("carrier").fill_null("none"))
    for (carrier,), rows in parts.group_by("carrier"):
        (tmp_path / "logs" / f"carrier={carrier}").mkdir(parents=True)
        rows.drop("carrier").write_parquet(tmp_path / "logs" / f"carrier={carrier}" / "part.parquet")
    sketch(tmp_path / "logs", tmp_path / "out")
    same(loaded(tmp_path / "out"), whole(parts).frame)


# Options -----------------------------------------------------------------------------------------------------------------


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
    sketch(logs / "part-00.parquet", tmp_path / "out")
    before = stamps(tmp_path / "out")
    message = sketch(logs, tmp_path / "out", *args, code=2).stderr
    assert words in message
    assert len(message.splitlines()) == 1
    assert stamps(tmp_path / "out") == before


def test_the_same_options_in_other_words(logs, tmp_path):
    sketch(logs, tmp_path / "out")
    result = sketch(logs, tmp_path / "out", *MADE_WITH, "--threshold", repr(1 / 6))
    assert ": 0 sketched" in result.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((*READ, "--time", "ts"), "--time and --every go together"),
        ((*READ, "--resolution", "0"), "resolution"),
        ((*READ, "--score-type", "decision"), "'decision' cannot be sketched"),
        ((*READ, "--by", "n"), "column 'n', which a sketch has too"),
        ((*READ, "--prior", "overall"), "state the prior"),
        ((*READ, "--prior", "2"), "--prior 2"),
        ((*READ, "--threshold", "nan"), "--threshold nan is no number"),
    ],
)
def test_options_that_make_no_sense_touch_nothing(logs, tmp_path, args, words):
    message = sketch(logs, tmp_path / "out", *args, code=2).stderr
    assert words in message
    assert len(message.splitlines()) == 1
    assert not (tmp_path / "out").exists()


# Inputs that break, change and vanish --------------------------------------------------------------------------------------


def test_broken_files_are_named_after_the_others_are_done(logs, tmp_path):
    out = tmp_path / "out"
    cut = logs / "part-03.parquet"
    cut.write_bytes(cut.read_bytes()[:-40])
    LOG.drop("carrier").write_parquet(logs / "part-05.parquet")
    LOG.with_columns(carrier=1).write_parquet(logs / "part-07.parquet")
    LOG.with_columns(y=pl.lit("late")).write_parquet(logs / "part-08.parquet")
    result = sketch(logs, out, code=1)
    lines = result.stderr.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("polars-ec: ") for line in lines)
    for part, words in {
        "part-03": "cannot be read as Parquet",
        "part-05": "no column 'carrier' (--by)",
        "part-07": "the group column 'carrier' is Int32, and String in the other inputs",
        "part-08": "--pos-label",
    }.items():
        assert any(part in line and words in line for line in lines), lines
    assert f": {FILES - 4} sketched, 0 unchanged, 4 failed;" in result.stdout
    assert "left something undone" in invoke("report", out).stderr
    good = [LOG.gather_every(FILES, i) for i in range(FILES) if i not in (3, 5, 7, 8)]
    same(loaded(out), whole(pl.concat(good)).frame)
    for i in (3, 5, 7, 8):
        LOG.gather_every(FILES, i).write_parquet(logs / f"part-{i:02}.parquet")
    assert ": 4 sketched, 8 unchanged;" in sketch(logs, out).stdout
    assert invoke("report", out).stderr == ""
    same(loaded(out), whole().frame)


def test_a_file_that_breaks_later_keeps_its_sketch(logs, tmp_path):
    sketch(logs, tmp_path / "out")
    (logs / "part-00.parquet").write_bytes(b"")
    result = sketch(logs, tmp_path / "out", code=1)
    assert "part-00.parquet: the file is empty (the sketch of its former content still counts)" in result.stderr
    assert f"; {LOG.height} rows" in result.stdout
    same(loaded(tmp_path / "out"), whole().frame)


def test_a_file_that_changes_while_it_is_read(logs, tmp_path, monkeypatch):
    opened = sketch_job.open_log

    def grows(paths):
        if "part-04" in paths[0]:
            LOG.write_parquet(paths[0])
        return opened(paths)

    monkeypatch.setattr(sketch_job, "open_log", grows)
    assert "part-04.parquet changed while it was read: run again" in sketch(logs, tmp_path / "out", code=1).stderr
    monkeypatch.undo()
    assert ": 1 sketched" in sketch(logs, tmp_path / "out").stdout


@pytest.mark.parametrize("named", ["folder", "file"])
def test_a_vanished_input_asks(logs, tmp_path, named):
    out, gone = tmp_path / "out", logs / "part-02.parquet"
    sketch(logs, out)
    gone.unlink()
    paths = [logs] if named == "folder" else [*sorted(logs.iterdir()), gone]
    rest = whole(pl.concat([LOG.gather_every(FILES, i) for i in range(FILES) if i != 2])).frame
    asked = invoke("sketch", *paths, "--out", out, *MADE_WITH)
    assert asked.exit_code == 1
    assert f"{gone} has vanished since it was sketched, and still counts: --vanished keep" in asked.stderr
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


def test_a_damaged_sketch_is_made_again(logs, tmp_path):
    out = tmp_path / "out"
    sketch(logs, out)
    damaged = out / SketchFolder.name_for(str(logs / "part-01.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-30])
    assert f"{damaged} is damaged: remove it" in invoke("report", out).stderr
    assert invoke("report", out).exit_code == 1
    assert "is damaged" in sketch(logs / "part-00.parquet", out, code=1).stderr
    assert ": 1 sketched, 11 unchanged;" in sketch(logs, out).stdout
    assert invoke("report", out).stderr == ""
    same(loaded(out), whole().frame)


def test_a_folder_of_a_newer_version(logs, tmp_path, monkeypatch):
    encode = Record.encode
    monkeypatch.setattr(
        Record, "encode", lambda self: {k: v.replace('"version": 1', '"version": 2') for k, v in encode(self).items()}
    )
    sketch(logs, tmp_path / "out")
    monkeypatch.undo()
    for command in (("report", tmp_path / "out"), ("sketch", logs, "--out", tmp_path / "out", *MADE_WITH)):
        result = invoke(*command)
        assert result.exit_code == 1
        assert "update polars_ec" in result.stderr


def test_a_folder_that_cannot_be_written(logs, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    assert "--out" in sketch(logs, tmp_path / "file", code=2).stderr

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ec.Sketch, "write_parquet", full)
    assert "No space left on device" in sketch(logs, tmp_path / "out", code=1).stderr
    monkeypatch.undo()
    sketch(logs, tmp_path / "out")
    same(loaded(tmp_path / "out"), whole().frame)


# Killed ------------------------------------------------------------------------------------------------------------------

# Imports once, and forks for every job: kills fall into the work. Polars has no threads before its first query. A job can
# be told to kill itself, so many seconds after it began to read its n-th input.
FORKS = """
import os, signal, sys, threading
from pathlib import Path
from polars_ec.cli import sketch_job
from polars_ec.cli.options import Question
from polars_ec.cli.sketch_job import SketchOptions, Vanished, run
import pyarrow.parquet
options = SketchOptions(Question(["p"], "y", ["carrier"], "ts", "1d", {"cost_fn": 5.0}))
read = sketch_job._sketch_file
print("ready", flush=True)

def work(out, vanished, nth, seconds):
    left = [int(nth)]
    def counted(*args):
        left[0] -= 1
        if left[0] == 0:
            threading.Timer(float(seconds), os.kill, (os.getpid(), signal.SIGKILL)).start()
        return read(*args)
    sketch_job._sketch_file = counted
    run([sys.argv[1]], Path(out), options, vanished=Vanished(vanished))

for line in sys.stdin:
    child = os.fork()
    if not child:
        try:
            work(*line.rstrip().split("\t"))
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@contextmanager
def forks(logs):
    """A process that runs the job on each folder that it is told."""
    code = [sys.executable, "-W", "ignore", "-c", FORKS, str(logs)]
    with subprocess.Popen(
        code, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, bufsize=1
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


def start(process, out, vanished="stop", nth=0, seconds=0):
    process.stdin.write(f"{out}\t{vanished}\t{nth}\t{seconds}\n")
    return int(process.stdout.readline())


def exit_code(process):
    return int(process.stdout.readline())


def test_killed_at_random_moments_and_resumed(tmp_path):
    log = make_log(12_000)
    logs = write_files(tmp_path / "logs", log)
    random_ = random.Random(3)
    halfway = killed = 0
    with forks(logs) as process:
        began = time.monotonic()
        start(process, tmp_path / "undisturbed")
        assert exit_code(process) == 0
        work = time.monotonic() - began
        expected = loaded(tmp_path / "undisturbed")
        same(expected, whole(log).frame)
        out = tmp_path / "out-0"
        for i in range(100):
            if killed >= 22 and halfway >= 5:
                break
            job = start(process, out)
            time.sleep(random_.uniform(0, 0.8 * work))
            with suppress(ProcessLookupError):
                os.kill(job, signal.SIGKILL)
            ended = exit_code(process)
            assert ended in (0, -signal.SIGKILL)
            killed += ended != 0
            done = stamps(out) if out.exists() else {}
            halfway += 0 < len(done) < FILES
            if i % 4 in (1, 2):  # three kills in a row before the end is reached
                continue
            outcome = run([str(logs)], out, options())
            assert outcome.sketched == FILES - len(done)
            assert outcome.rows == log.height
            assert {name: stamp for name, stamp in stamps(out).items() if name in done} == done
            same(loaded(out), expected)
            assert {f.name for f in out.iterdir()} == {*stamps(out), ".polars-ec-sketch.lock"}
            out = tmp_path / f"out-{i + 1}"
    assert killed >= 20
    assert halfway >= 5  # or the kills were all too early or too late


class ChangingLog:
    """A folder of files that are added, rewritten, renamed and deleted, and what each of them has ever held."""

    def __init__(self, folder, random_):
        self.folder, self.random, self.made = folder, random_, 0
        self.rows = {}  # by path and time of modification
        for _ in range(FILES):
            self.add()

    def files(self):
        return sorted(self.folder.glob("*.parquet"))

    def write(self, file):
        self.made += 1
        rows = make_log(self.random.randrange(1, 400), seed=self.made)
        whole_one = self.folder / ".new"
        rows.write_parquet(whole_one)
        os.utime(whole_one, ns=(0, self.made))  # a clock that is too coarse must not hide a change
        os.replace(whole_one, file)
        self.rows[str(file), self.made] = rows

    def add(self):
        self.write(self.folder / f"{self.made:04}.parquet")

    def change(self):
        files = self.files()
        what = self.random.choice(["add", "rewrite", "rewrite", "delete", "rename"]) if len(files) > 3 else "add"
        if what == "add":
            self.add()
            return
        file = self.random.choice(files)
        if what == "rewrite":
            self.write(file)
        elif what == "delete":
            file.unlink()
        else:
            stamp = file.stat().st_mtime_ns
            renamed = file.with_name(f"r{self.made:04}-{file.name}"[:60] + ("" if len(file.name) < 40 else ".parquet"))
            file.rename(renamed)
            self.rows[str(renamed), stamp] = self.rows[str(file), stamp]

    def now(self):
        """The rows of every file that is there, by its path and time of modification."""
        keys = [(str(file), file.stat().st_mtime_ns) for file in self.files()]
        return {key: self.rows[key] for key in keys}


def held(out):
    """What the folder counts: input and time of each sketch, all of which must be whole."""
    entries, bad = SketchFolder(out).entries(verified=True) if out.exists() else ({}, {})
    assert not bad
    return {(entry.record.input, entry.record.modified_ns): entry.record for entry in entries.values()}


def test_nothing_is_lost_or_doubled_while_the_log_changes(tmp_path):
    """Jobs killed at random moments, with any answer about vanished inputs, while inputs come, change and go.

    After every kill each sketch is that of an input as it once was, no input has two, and none that is still true is gone.
    """
    random_ = random.Random(None if "KILLS" in os.environ else 5)
    (tmp_path / "logs").mkdir()
    log, out = ChangingLog(tmp_path / "logs", random_), tmp_path / "out"
    killed = progressed = 0
    after = {}
    with forks(log.folder) as process:
        while killed < KILLS:
            before = after
            for _ in range(random_.randrange(1, 6)):
                log.change()
            vanished = random_.choice(["stop", "keep", "drop", "drop"])
            job = start(process, out, vanished, random_.randrange(1, 5), random_.choice([0, 0.01, 0.03]))
            if random_.random() < 0.3:
                log.change()  # while it is at work
            if random_.random() < 0.2:
                time.sleep(random_.uniform(0, 0.1))
                with suppress(ProcessLookupError):
                    os.kill(job, signal.SIGKILL)
            ended = exit_code(process)
            assert ended in (0, -signal.SIGKILL)
            killed += ended != 0
            after = held(out)
            progressed += set(after) != set(before)
            # Every content has a time of its own, under whatever name: so none counts under two.
            for one in zip(*after, strict=True):
                assert len(one) == len(set(one))
            for key, record in after.items():
                assert (record.rows, record.positives) == (log.rows[key].height, log.rows[key]["y"].sum())
            assert {key for key in before if key in log.now()} <= set(after)
    outcome = run([str(log.folder)], out, options(), vanished=Vanished.drop)
    expected = log.now()
    assert not outcome.failures
    assert outcome.rows == sum(rows.height for rows in expected.values())
    assert set(held(out)) == set(expected)
    same(loaded(out), whole(pl.concat(expected.values())).frame)
    assert {f.name for f in out.iterdir()} == {*stamps(out), ".polars-ec-sketch.lock"}
    assert progressed >= KILLS / 4
    print(f"{killed} jobs killed, {log.made} contents of files, {progressed} times the folder had changed")


@pytest.mark.parametrize(
    ("where", "nth"), [("fsync", 3), ("fsync", 4), ("replace", 2), ("replace", 3), ("unlink", 1), ("write", 2)]
)
def test_killed_between_two_steps_of_a_write(logs, tmp_path, where, nth):
    """Just before the n-th call of what makes a sketch durable; what is there then is whole."""
    code = f"""
import os, signal, sys
from pathlib import Path
import polars_ec as ec
from tests.cli.test_sketch_job import options, run
left = [{nth}]
def killing(call):
    def counted(*args, **kwargs):
        left[0] -= 1
        if not left[0]:
            if {where!r} == "write":
                args[1].write(b"PAR1 half a file")
                args[1].flush()
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **kwargs)
    return counted
if {where!r} == "write":
    ec.Sketch.write_parquet = killing(ec.Sketch.write_parquet)
elif {where!r} == "unlink":
    Path.unlink = killing(Path.unlink)
else:
    os.{where} = killing(os.{where})
run([sys.argv[1]], Path(sys.argv[2]), options())
"""
    out = tmp_path / "out"
    killed = subprocess.run([sys.executable, "-c", code, str(logs), str(out)], check=False, cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    if stamps(out):
        assert ("left something undone" in invoke("report", out).stderr) == (len(stamps(out)) < FILES)
    outcome = run([str(logs)], out, options())
    assert outcome.sketched + outcome.unchanged == FILES
    same(loaded(out), whole().frame)
    assert {f.name for f in out.iterdir()} == {*stamps(out), ".polars-ec-sketch.lock"}


def test_two_processes_at_once(tmp_path):
    log = make_log(12_000)
    logs = write_files(tmp_path / "logs", log)
    with forks(logs) as first, forks(logs) as second:
        for i in range(5):
            out = tmp_path / f"out-{i}"
            for process in (first, second):
                start(process, out)
            # The other one finds the lock, or comes when all is done.
            codes = [exit_code(process) for process in (first, second)]
            assert 0 in codes
            assert set(codes) <= {0, 1}
            same(loaded(out), whole(log).frame)
            assert len(stamps(out)) == FILES


def test_a_folder_in_use_is_refused_and_a_lock_left_behind_is_not(logs, tmp_path):
    out = tmp_path / "out"
    with SketchFolder(out).locked():
        message = sketch(logs, out, code=1).stderr
    assert message == (
        f"polars-ec: {out}: another job is at work here (process {os.getpid()}): wait until it ends, or choose another "
        "--out\n"
    )
    with (out / ".polars-ec-sketch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="another job"):
            run([str(logs)], out, options())
    sketch(logs, out)


# The report ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        ("--by", "carrier", "--time", "ts", "--every", "1mo", "--prior", "0.1"),
        ("--time", "ts", "--every", "1w", "--prior", "overall"),
        ("--time", "ts", "--every", "1q", "--min-rows", "2800"),
        ("--time", "ts", "--every", "1d", "--by", "carrier"),
        ("--by", "carrier", "--prior", "uniform"),
        (),
    ],
)
def test_the_report_of_the_folder_is_that_of_the_rows(logs, tmp_path, args):
    sketch(logs, tmp_path / "out")
    ours = report(tmp_path / "out", "--cost-fn", "5", *args)
    theirs = report(logs, *READ, "--cost-fn", "5", *args)
    assert set(ours.columns) - set(theirs.columns) == {"auc_roc", "auc_roc_error"}
    keys = [c for c in ("carrier", "ts") if c in theirs.columns]
    same(ours.select(theirs.columns).sort(keys), theirs.sort(keys)) if keys else same(
        ours.select(theirs.columns), theirs
    )


def test_options_of_the_report_on_rows_may_be_repeated(logs, tmp_path):
    sketch(logs, tmp_path / "out")
    args = ("--by", "carrier", "--time", "ts", "--every", "1mo", "--cost-fn", "5")
    assert_frame_equal(
        report(tmp_path / "out", *READ, "--score-type", "posterior", *args),
        report(tmp_path / "out", *args[:2], *args[4:]),
    )


def test_periods_may_be_called_what_they_are(logs, tmp_path):
    sketch(logs, tmp_path / "out")
    args = ("--every", "1mo", "--cost-fn", "5")
    plain = report(tmp_path / "out", "--by", "carrier", *args)
    named = report(tmp_path / "out", "--by", "carrier", "--by", "month", *args)
    assert_frame_equal(named, plain.rename({"ts": "month"}))


def test_weights_labels_and_thresholds(logs, tmp_path):
    log = LOG.with_columns(y=pl.when("y").then(pl.lit("late")).when(~pl.col("y")).then(pl.lit("on time")))
    write_files(logs, log)
    args = ("--weight", "w", "--pos-label", "late", "--by", "carrier")
    sketch(logs, tmp_path / "out", *READ, *args, "--threshold", "0.25", "--threshold", "0.4")
    for decided in (("--threshold", "0.4"), ("--threshold", "0.25", "--cost-fn", "3"), ()):
        theirs = report(logs, *READ, *args, *decided)
        same(report(tmp_path / "out", "--by", "carrier", *decided).select(theirs.columns), theirs)
    bounds = report(tmp_path / "out", "--threshold", "0.3")
    exact = report(logs, *READ, *args[:-2], "--threshold", "0.3")
    for name in ("nec", "tp", "precision", "f1"):
        assert bounds[f"{name}_low"].item() <= exact[name].item() <= bounds[f"{name}_high"].item()


@pytest.mark.parametrize(
    ("args", "dtypes"),
    [
        ((), [pl.Int8, pl.Boolean, pl.UInt32]),
        (("--pos-label", "1"), [pl.Int64, pl.Float64, pl.String]),
        (("--classes", "0,1"), [pl.Float32, pl.Int8, pl.String]),
        (("--pos-label", "true"), [pl.Boolean, pl.String]),
    ],
    ids=str,
)
def test_labels_of_types_that_mean_the_same(tmp_path, args, dtypes):
    """The classes of a folder are those of its options, whatever the label's type is in a file."""
    for i, dtype in enumerate(dtypes):
        label = pl.Series("y", [False, True, True, False])
        named = label if "true" in args else label.cast(pl.Int8)
        text = pl.Series("y", ["false", "true", "true", "false"]) if "true" in args else named.cast(pl.String)
        log = pl.DataFrame({"p": [0.1, 0.9, 0.4, 0.3], "y": text if dtype == pl.String else named.cast(dtype)})
        (tmp_path / "logs").mkdir(exist_ok=True)
        log.write_parquet(tmp_path / "logs" / f"{i}.parquet")
    sketch(tmp_path / "logs", tmp_path / "out", "--score", "p", "--label", "y", *args)
    counts = report(tmp_path / "out").select("tn", "fp", "fn", "tp").row(0)
    assert counts == tuple(len(dtypes) * n for n in (2, 0, 1, 1))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nec", "'nec', which results"),
        ("nec_at_prior", "'nec_at_prior', which results"),
        ("auc_roc_error", "'auc_roc_error', which results"),
        ("small", "'small', which results"),
        ("__ec_group", "'__ec_group', which results"),
        ("__ec_count_1", "'__ec_count_1', which results"),
        ("__part", None),
        ("__placed", None),
        ("nec_low", None),
        ("score", None),
    ],
)
def test_segments_with_names_of_columns_of_the_report(tmp_path, name, words):
    log = pl.DataFrame({"p": [0.1, 0.9, 0.7, 0.2], "y": [0, 1, 0, 1], name: ["a", "a", "b", None]})
    for i in range(2):
        (tmp_path / "logs").mkdir(exist_ok=True)
        log.write_parquet(tmp_path / "logs" / f"{i}.parquet")
    sketch(tmp_path / "logs", tmp_path / "out", "--score", "p", "--label", "y", "--by", name)
    args = ("--prior", "0.3", "--min-rows", "3")
    assert report(tmp_path / "out", *args)["n"].to_list() == [8], "it can be left out"
    if words is None:
        table = report(tmp_path / "out", "--by", name, *args)
        assert table.select(name, "n").rows() == [(None, 2), ("a", 4), ("b", 2)]
        return
    result = invoke("report", tmp_path / "out", "--by", name, *args)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert words in result.stderr


def test_segments_with_names_that_reading_uses(logs, tmp_path):
    log = pl.DataFrame({"p": [0.1], "y": [0], "__score": ["a"]})
    log.write_parquet(tmp_path / "log.parquet")
    args = ("--score", "p", "--label", "y", "--by", "__score")
    assert (
        "column '__score', which a sketch has too"
        in sketch(tmp_path / "log.parquet", tmp_path / "out", *args, code=2).stderr
    )


def test_a_vector_a_row_is_not_sketched(tmp_path):
    for name, kind in (
        ("array", pl.Array(pl.Float64, 2)),
        ("struct", pl.Struct({"no": pl.Float64, "yes": pl.Float64})),
    ):
        values = [[0.1, 0.9], [0.8, 0.2]] if name == "array" else [{"no": 0.1, "yes": 0.9}, {"no": 0.8, "yes": 0.2}]
        log = tmp_path / f"{name}.parquet"
        pl.DataFrame({"p": pl.Series(values, dtype=kind), "y": ["yes", "no"]}).write_parquet(log)
        args = ("--score", "p", "--label", "y", "--classes", "no,yes")
        result = sketch(log, tmp_path / "out", *args, code=1)
        assert f"{log}: --score p is" in result.stderr
        assert "one score a row" in result.stderr
        assert SketchFolder(tmp_path / "out").entries() == ({}, {})


def test_a_report_is_at_the_costs_of_the_sketches(logs, tmp_path):
    sketch(logs, tmp_path / "out", *MADE_WITH)
    for stated in ((), ("--cost-fn", "5")):
        theirs = report(logs, *READ, "--by", "carrier", "--cost-fn", "5")
        same(report(tmp_path / "out", "--by", "carrier", *stated).select(theirs.columns), theirs)
    result = invoke("sketch", logs, "--out", tmp_path / "out", *MADE_WITH[:-1], "10", "--cost-fp", "2")
    assert result.exit_code == 2, "the same threshold, and other costs"
    assert "--cost-fn and --cost-fp [[0.0, 1.0], [5.0, 0.0]] and [[0.0, 2.0], [10.0, 0.0]]" in result.stderr


def test_folders_of_the_time_before_sketches_kept_their_costs(logs, tmp_path, monkeypatch):
    """Their cells are those of the costs that the same command states, which it adds to them, also where inputs are gone."""
    out = tmp_path / "out"
    sketch(logs, out)
    (name,) = (n for n, r in SketchFolder(out).records().items() if r.input.endswith("part-00.parquet"))
    theirs = report(logs, *READ, "--by", "carrier", "--cost-fn", "5")
    for file in out.glob("*.sketch.parquet"):
        about = pl.read_parquet_metadata(file)
        entry, described = json.loads(about["polars_ec.input"]), json.loads(about["polars_ec.sketch"])
        del entry["options"]["--cost-fn and --cost-fp"], described["costs"], described["sha256"], described["metadata"]
        metadata = {"polars_ec.input": json.dumps(entry), "polars_ec.sketch": json.dumps(described)}
        pl.read_parquet(file).write_parquet(file, metadata=metadata)
    assert "nec_low" in report(out, "--by", "carrier").columns, "at even costs, which is all that they say"
    (logs / "part-00.parquet").unlink()
    message = sketch(logs, out, *MADE_WITH[:-1], "6", code=2).stderr
    assert "thresholds" in message
    assert (
        f": 0 sketched, {FILES - 1} unchanged, 1 of other inputs"
        in sketch(logs, out, *MADE_WITH, "--vanished", "keep").stdout
    )
    same(report(out, "--by", "carrier").select(theirs.columns), theirs)
    assert SketchFolder(out).records()[name].options["--cost-fn and --cost-fp"] == [[0, 1], [5, 0]]
    assert (
        "and --cost-fp [[0.0, 1.0], [5.0, 0.0]] and [[0.0, 2.0]"
        in sketch(logs, out, *MADE_WITH[:-1], "10", "--cost-fp", "2", code=2).stderr
    )


def test_llrs_and_raw_scores(logs, tmp_path):
    read = ("--score", "log_odds", "--label", "y")
    sketch(logs, tmp_path / "llr", *read, "--score-type", "llr", "--prior", "0.2", "--by", "carrier")
    args = ("--prior", "0.2", "--by", "carrier")
    theirs = report(logs, *read, "--score-type", "llr", *args)
    ours = report(tmp_path / "llr", *args)
    of_losses = [c for c in theirs.columns if c.startswith(("nce", "nbs"))]
    assert of_losses == ["nce", "nbs", "nce_at_prior", "nbs_at_prior"]
    same(ours.select(theirs.columns).drop(of_losses), theirs.drop(of_losses))
    for name in of_losses:
        error = f"{name.removesuffix('_at_prior')}_error{'_at_prior' if name.endswith('_at_prior') else ''}"
        assert (ours[name] - theirs[name]).abs().is_between(0, ours[error]).all()
        assert (ours[error] < 1e-3).all()
    assert report(tmp_path / "llr").columns[-2:] == ["auc_roc", "auc_roc_error"]
    sketch(logs, tmp_path / "raw", *read, "--score-type", "raw", "--threshold", "0.5")
    assert (
        report(tmp_path / "raw", "--threshold", "0.5")["tp"].item() == LOG.filter("y", pl.col("log_odds") > 0.5).height
    )
    assert "auc_roc" in report(tmp_path / "raw").columns


@pytest.mark.parametrize(
    ("made", "args", "words"),
    [
        (
            "1d",
            ("--by", "week", "--every", "1mo"),
            "no group column 'week' (--by): It has carrier, ts; periods of ts",
        ),
        ("1d", ("--by", "carier"), "did you mean 'carrier'?"),
        ("1d", ("--every", "1h"), "lies in two of 1h"),
        ("1d", ("--time", "ts"), "--time and --every go together"),
        ("1d", ("--every", "month"), "--every month: not a period"),
        ("1w", ("--every", "1mo"), "the one from 2024-01-29 00:00:00 lies in two of 1mo"),
        ("1mo", ("--every", "1w"), "lies in two of 1w"),
        ("1d", ("--time", "when", "--every", "1mo"), "was sketched with --time ts"),
        ("1d", ("--score", "q"), "was sketched with --score p, and this asks for q"),
        ("1d", ("--weight", "w"), "was sketched with --weight None"),
        (None, ("--every", "1mo"), "was sketched without --time"),
    ],
)
def test_reports_that_the_sketches_cannot_give(logs, tmp_path, made, args, words):
    period = () if made is None else ("--time", "ts", "--every", made)
    sketch(logs, tmp_path / "out", *READ, "--by", "carrier", *period)
    result = invoke("report", tmp_path / "out", *args)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_periods_in_time_zones_and_of_dates(tmp_path):
    zoned = LOG.with_columns(pl.col("ts").dt.replace_time_zone("UTC").dt.convert_time_zone("America/New_York"))
    for name, log in {"zoned": zoned, "dates": LOG.with_columns(pl.col("ts").dt.date())}.items():
        logs = write_files(tmp_path / name, log, files=2)
        out = tmp_path / f"{name}-out"
        sketch(logs, out)
        args = ("--time", "ts", "--every", "1mo", "--cost-fn", "5")
        theirs = report(logs, *READ, *args)
        same(report(out, *args).select(theirs.columns), theirs)


@pytest.mark.parametrize("every", ["1mo", "1d"])
def test_days_beyond_all_calendars(tmp_path, capfd, every):
    """The engine panics on some of them, at once or when they are reported: no rows vanish, and it is a line."""
    days = pl.Series([0, 10**12, 2**63 - 1], dtype=pl.Int64).cast(pl.Datetime("us"))
    (tmp_path / "logs").mkdir()
    log = pl.DataFrame({"p": [0.2, 0.5, 0.7], "y": [0, 1, 1], "ts": days})
    log.write_parquet(tmp_path / "logs" / "odd.parquet")
    args = (*READ, "--time", "ts", "--every", every)
    made = invoke("sketch", tmp_path / "logs", "--out", tmp_path / "out", *args)
    if every == "1mo":
        assert (made.exit_code, len(made.stderr.splitlines())) == (1, 1)
        assert "odd.parquet" in made.stderr
        assert SketchFolder(tmp_path / "out").entries() == ({}, {})
    else:
        assert made.stdout.endswith("3 rows\n")
        result = invoke("report", tmp_path / "out", "--every", "1y")
        assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
        assert "unexpected" not in result.stderr
    assert capfd.readouterr().err == "", "what Rust prints of a panic"


def test_reports_on_nothing(logs, tmp_path):
    with SketchFolder(tmp_path / "out").locked():
        pass
    result = invoke("report", tmp_path / "out")
    assert (result.exit_code, "holds no sketches yet" in result.stderr) == (1, True)
    sketch(logs, tmp_path / "out")
    assert "one folder of sketches at a time" in invoke("report", tmp_path / "out", logs, *READ).stderr
    assert "needs --score" in invoke("report", logs).stderr
    assert "needs --label" in invoke("report", logs, "--score", "p").stderr


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
    assert "no such file or folder" in sketch(tmp_path / "logs", tmp_path / "out", code=2).stderr
    assert not (tmp_path / "out").exists()
