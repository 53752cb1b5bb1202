"""Jobs that are killed at any moment: what they leave is whole, and the next one does what is missing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import polars as pl
import pytest

from polars_ec.cli import terminal
from polars_ec.cli.sketch_folder import SketchFolder
from polars_ec.cli.sketch_job import Vanished, run
from tests.support.cli import ROOT, invoke
from tests.support.sketch_jobs import loaded, make_log, options, same, stamps, whole, write_files

FILES = 6
MANY = "KILLS" in os.environ
# What a run leaves beside the sketches.
LEFT = (".polars-ec-sketch.lock", ".polars-ec-sketch.verified.json")
KILLS = int(os.environ.get("KILLS", 3))

# Imports once, and forks for every job: kills fall into the work. Polars has no threads before its first query. A job can
# be told to kill itself, so many seconds after it began to read its n-th input.
FORKS = """
import os, signal, sys, threading
from pathlib import Path
from polars_ec.cli import sketch_job
from polars_ec.cli.request import RowRequest
from polars_ec.cli.sketch_job import SketchRequest, Vanished, run
import pyarrow.parquet
options = SketchRequest(RowRequest(["p"], "y", ["carrier"], "ts", "1d", {"cost_fn": 5.0}))
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


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed(tmp_path):
    log = make_log(12_000)
    logs = write_files(tmp_path / "logs", log, files=FILES)
    random_ = random.Random(3)
    halfway = killed = 0
    least = 20 if MANY else 5
    with forks(logs) as process:
        began = time.monotonic()
        start(process, tmp_path / "undisturbed")
        assert exit_code(process) == 0
        work = time.monotonic() - began
        expected = loaded(tmp_path / "undisturbed")
        same(expected, whole(log).frame)
        out = tmp_path / "out-0"
        for i in range(100):
            if killed >= least and halfway >= 2 + 3 * MANY:
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
            assert {f.name for f in out.iterdir()} == {*stamps(out), *LEFT}
            out = tmp_path / f"out-{i + 1}"
    assert killed >= least
    assert halfway >= 2 + 3 * MANY  # or the kills were all too early or too late


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


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_while_the_log_changes(tmp_path):
    """Jobs killed at random moments, with any answer about vanished inputs, while inputs come, change and go.

    After every kill each sketch is that of an input as it once was, no input has two, and none that is still true is gone.
    """
    random_ = random.Random(None if MANY else 5)
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
    assert {f.name for f in out.iterdir()} == {*stamps(out), *LEFT}
    assert progressed >= KILLS / 4
    print(f"{killed} jobs killed, {log.made} contents of files, {progressed} times the folder had changed")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "nth"),
    [("fsync", 3), ("fsync", 4), *(("replace", nth) for nth in (1, 3, 4, 5)), ("unlink", 1), ("write", 2)],
)
def test_killed_between_two_steps_of_a_write(logs, tmp_path, where, nth):
    """Just before the n-th call of what makes a sketch durable; what is there then is whole."""
    code = f"""
import os, signal, sys
from pathlib import Path
import polars_ec as ec
from polars_ec.cli.sketch_job import run
from tests.support.sketch_jobs import options
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
        assert ("is incomplete" in invoke("report", out).stderr) == (len(stamps(out)) < FILES)
    outcome = run([str(logs)], out, options())
    assert outcome.sketched + outcome.unchanged == FILES
    same(loaded(out), whole().frame)
    assert {f.name for f in out.iterdir()} == {*stamps(out), *LEFT}


def test_no_process_is_started_under_the_lock(tmp_path, monkeypatch):
    """A process that starts holds all files until it has begun, also those of a job that has been killed."""
    file, held = tmp_path / "out" / LEFT[0], []

    def noted(*args, **kwargs):
        held.append(file.exists())  # a lock file of an earlier job would say nothing

    monkeypatch.setattr(os, "posix_spawn", noted)
    terminal._held.cache_clear()
    try:
        run([str(write_files(tmp_path / "logs", make_log(100), files=2))], tmp_path / "out", options())
    finally:
        terminal._held.cache_clear()
    assert held == [False]


@pytest.mark.slow
def test_two_processes_at_once(tmp_path):
    log = make_log(12_000)
    logs = write_files(tmp_path / "logs", log, files=FILES)
    with forks(logs) as first, forks(logs) as second:
        for i in range(5 if MANY else 1):
            out = tmp_path / f"out-{i}"
            for process in (first, second):
                start(process, out)
            # The other one finds the lock, or comes when all is done.
            codes = [exit_code(process) for process in (first, second)]
            assert 0 in codes
            assert set(codes) <= {0, 1}
            same(loaded(out), whole(log).frame)
            assert len(stamps(out)) == FILES
