"""The benchmark of the field: its oracle, the runners that the tests' environment has, its verdicts, and its page."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

from examples.benchmarks.__main__ import machine, plan
from examples.benchmarks.data import Size, make_log, oracle
from examples.benchmarks.page import html, logs, markdown
from examples.benchmarks.run import Environments, RunError, compare, last_error, load, measure_apart, run_all
from examples.benchmarks.runners import FLOOR, NAMES
from examples.benchmarks.task import TASKS, THRESHOLD, Log
from examples.benchmarks.worker import measured, usage

# Enough rows for the normal approximation of intervals.
SIZES = {classes: Size(4_000, 4, classes, rounded=True) for classes in (2, 3)}


class Here(Environments):
    """The environment of the tests in place of all others, but for one that is not installed."""

    def python(self, runner):
        return Path("absent" if runner.PACKAGE == "torchmetrics" else sys.executable)


def in_this_process(name: str, task: str, log: Log):
    columns = getattr(load(name), task)(log)()
    return {"seconds": 2.0, "cpu_seconds": 3.0, "peak_bytes": 4e6, "version": "1", "columns": columns}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("field")


def groups(log: Log):
    """Labels and posteriors of each segment, as Polars reads them."""
    for (segment,), rows in pl.read_parquet(log.files).partition_by("segment", as_dict=True).items():
        yield segment, rows["label"].to_numpy(), rows[log.score].to_numpy()


def test_logs_are_the_same_each_time(tmp_path, folder):
    one, other = (make_log(place, SIZES[3]) for place in (tmp_path, folder))
    assert pl.read_parquet(one.files).equals(pl.read_parquet(other.files))
    rows = pl.read_parquet(one.files)
    assert rows.height == 4_000
    assert rows["segment"].n_unique() == 4
    assert rows["posteriors"].arr.sum().to_numpy() == pytest.approx(np.ones(4_000), abs=1e-12)
    # Ties, within a row and between rows.
    assert (rows["posteriors"].arr.n_unique() < 3).any()
    assert pl.read_parquet(make_log(folder, SIZES[2]).files)["score"].n_unique() < 1_000


def test_long_logs_have_several_files(tmp_path, monkeypatch):
    monkeypatch.setattr("examples.benchmarks.data.ROWS_OF_FILE", 300)
    monkeypatch.setattr("examples.benchmarks.data.ROW_GROUP", 200)
    size = Size(1_000, 4, 2)
    log = make_log(tmp_path, size)
    assert [pl.read_parquet(file).height for file in log.files] == [300, 300, 300, 100]
    assert pl.read_parquet(log.files)["score"].n_unique() == 1_000
    assert (
        compare(in_this_process("scikit_learn", "auc", log)["columns"], oracle(log, size, "auc"), "auc")["error"] < 1e-9
    )


def test_oracle_of_two_classes(folder):
    log = make_log(folder, SIZES[2])
    answers = {
        task: pl.DataFrame(oracle(log, SIZES[2], task)).rows_by_key("segment", named=True, unique=True)
        for task in TASKS
    }
    for segment, label, score in groups(log):
        decision = score > THRESHOLD
        tn, fp, fn, tp = sk.confusion_matrix(label, decision).ravel()
        f1 = sk.f1_score(label, decision)
        assert answers["metrics"][segment] == pytest.approx(
            {"tn": tn, "fp": fp, "fn": fn, "tp": tp, "expected_cost": (5 * fn + fp) / len(label), "f1": f1}
            | {"log_loss": sk.log_loss(label, score), "brier": sk.brier_score_loss(label, score)}
        )
        assert answers["auc"][segment] == pytest.approx({"auc": sk.roc_auc_score(label, score)})
        # From the residuals of the rows.
        above, below = 2 * label * decision, label + decision
        deviation = np.sqrt(((above - f1 * below) ** 2).sum()) / below.sum()
        bounds = {"f1_low": f1 - 1.959964 * deviation, "f1_high": f1 + 1.959964 * deviation}
        assert answers["intervals"][segment] == pytest.approx(bounds, abs=1e-8)


def test_oracle_of_three_classes(folder):
    log = make_log(folder, SIZES[3])
    answers = {
        task: pl.DataFrame(oracle(log, SIZES[3], task)).rows_by_key("segment", named=True, unique=True)
        for task in TASKS
    }
    for segment, label, posteriors in groups(log):
        decision = posteriors.argmax(axis=1)
        wrong = (decision != label).astype(float)
        assert answers["metrics"][segment] == pytest.approx(
            {
                "expected_cost": wrong.mean(),
                "f1": sk.f1_score(label, decision, average="macro"),
                "log_loss": sk.log_loss(label, posteriors),
                "brier": sk.brier_score_loss(label, posteriors, scale_by_half=False) / 3,
            }
        )
        assert answers["auc"][segment] == pytest.approx({"auc": sk.roc_auc_score(label, posteriors, multi_class="ovr")})
        half = 1.959964 * wrong.std() / np.sqrt(len(wrong))
        bounds = {"expected_cost_low": wrong.mean() - half, "expected_cost_high": wrong.mean() + half}
        assert answers["intervals"][segment] == pytest.approx(bounds, abs=1e-8)


OFFERED = [
    pytest.param(name, task, classes, id=f"{name}-{task}-{classes}")
    for name in ("polars_ec_polars", "polars_ec_sketch", "polars_ec_duckdb", "duckdb_sql", "scikit_learn")
    for classes, tasks in ((2, load(name).TWO_CLASSES), (3, load(name).MANY_CLASSES))
    for task in tasks
]


@pytest.mark.quick("polars_ec_polars-metrics-2", "polars_ec_sketch-auc-2", "duckdb_sql-metrics-3", "scikit_learn-*-2")
@pytest.mark.parametrize(("name", "task", "classes"), OFFERED)
def test_runners_are_right(folder, name, task, classes):
    log = make_log(folder, SIZES[classes])
    verdict = compare(in_this_process(name, task, log)["columns"], oracle(log, SIZES[classes], task), task)
    assert verdict["status"] == "right", verdict
    # Bins and other formulas for intervals are what the tolerances are for; all else is exact.
    if task == "metrics" or (task == "auc" and name != "polars_ec_sketch"):
        assert verdict["error"] < 1e-9


@pytest.mark.slow
def test_runners_in_processes_of_their_own(folder):
    measure = measure_apart(Here(folder), timeout=120)
    log = make_log(folder, SIZES[3])
    for name, task in (("clickhouse", "metrics"), ("polars_ec_polars", "intervals")):
        taken = measure(name, task, log)
        assert compare(taken["columns"], oracle(log, SIZES[3], task), task)["status"] == "right"
        assert taken["seconds"] > 0
        assert taken["peak_bytes"] > 20e6
        assert re.fullmatch(r"(chdb|polars_ec) \d+\.\d+\.\d+", taken["version"])
    with pytest.raises(RunError) as failed:
        measure("polars_ec_polars", "metrics", replace(log, n_classes=2))
    assert failed.value.status == "failed"
    assert "score" in str(failed.value)
    with pytest.raises(RunError) as late:
        measure_apart(Here(folder), timeout=0.01)("polars_ec_polars", "metrics", log)
    assert late.value.status == "out of time"
    with pytest.raises(RunError) as absent:
        measure("torchmetrics", "auc", log)
    assert absent.value.status == "not installed"


def test_the_fastest_run_counts(monkeypatch):
    clock = iter([0, 3, 3, 4, 4, 6])
    used = iter([(0, 10), (9, 20), (9, 20), (11, 30), (11, 30), (12, 40)])
    monkeypatch.setattr("examples.benchmarks.worker.time.perf_counter", lambda: next(clock))
    monkeypatch.setattr("examples.benchmarks.worker.usage", lambda: next(used))
    monkeypatch.setattr("examples.benchmarks.worker.SECONDS", 5)
    assert measured(lambda: {"segment": ["a"]}) == ({"segment": ["a"]}, 1, 1, 20)


@pytest.mark.slow
def test_processes_of_a_solution_count():
    before = usage()
    code = "x = bytearray(100_000_000); sum(range(5_000_000)); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "held\n"
        seconds, peak = usage()
        child.communicate("\n")
    assert peak - before[1] > 100e6
    assert seconds - before[0] > 0.02


def test_compare(folder):
    size = SIZES[2]
    log = make_log(folder, size)
    right = {task: oracle(log, size, task) for task in TASKS}
    for task, answer in right.items():
        assert compare({name: column[::-1] for name, column in answer.items()}, answer, task)["status"] == "right"
    metrics, auc, bounds = (right[task] for task in TASKS)

    def changed(columns, name, change):
        return {**columns, name: [change(columns[name][0]), *columns[name][1:]]}

    answers = {
        "fn is off by": (changed(metrics, "fn", lambda n: n + 1), "metrics"),
        "log_loss is off by 2.0e-06": (changed(metrics, "log_loss", lambda x: x * (1 + 2e-6)), "metrics"),
        "auc is off by 2.0e-03": (changed(auc, "auc", lambda x: x + 2e-3), "auc"),
        "auc is off by inf": (changed(auc, "auc", lambda _: None), "auc"),
        "f1 is off by inf": (changed(metrics, "f1", lambda _: float("nan")), "metrics"),
        "f1_low is off by 1.0e+00": (changed(bounds, "f1_low", lambda x: (x + bounds["f1_high"][0]) / 2), "intervals"),
        "no column brier": ({name: metrics[name] for name in metrics if name != "brier"}, "metrics"),
        "other segments": ({name: column[1:] for name, column in metrics.items()}, "metrics"),
    }
    for detail, (answer, task) in answers.items():
        verdict = compare(answer, right[task], task)
        assert verdict["status"] == "wrong"
        assert verdict["detail"].startswith(detail)
    twice = {name: [*column, column[0]] for name, column in metrics.items()}
    assert compare(twice, metrics, "metrics")["detail"] == "other segments"


@pytest.fixture(scope="module")
def run(folder):
    """All words that the table knows: answers are the oracle's, but for some."""
    small, size = Size(2_000, 2, 2, rounded=True), Size(600, 6, 2)
    calls = []

    def measure(name, task, log):
        calls.append((name, task, Path(log.files[0]).parent.name))
        of_log = small if "rounded" in calls[-1][2] else size
        if name == FLOOR:
            return {**in_this_process(name, task, log), "seconds": 0.5, "cpu_seconds": 1.0}
        if (name, task) == ("polars_ds", "auc"):
            raise RunError("failed", "panicked")
        answer = oracle(log, of_log, task) or {"segment": ["any"]}
        if (name, task) == ("scikit_learn", "metrics") or (name, task, of_log) == ("duckdb_sql", "auc", size):
            answer = {**answer, list(answer)[-1]: [0.9] * len(answer["segment"])}
        return {"seconds": 2.0, "cpu_seconds": 3.0, "peak_bytes": 4e6, "version": f"{name} 1", "columns": answer}

    names = ["polars_ec_polars", "duckdb_sql", "polars_ds", "scikit_learn", "torchmetrics"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("examples.benchmarks.run.check_size", lambda classes: replace(small, classes=classes))
        results = list(run_all([size], names, folder, Here(folder), 2, measure))
    return {"machine": machine(), "repeat": 2, "results": results}, calls


def test_wrong_answers_are_not_timed(run):
    results, calls = run
    by_name = {(result["solution"], result["task"]): result for result in results["results"]}
    assert by_name["polars_ec_polars", "metrics"]["seconds"] == [2.0, 2.0]
    # On the small log.
    wrong = by_name["scikit_learn", "metrics"]
    assert (wrong["status"], wrong["seconds"]) == ("wrong", [])
    assert calls.count(("scikit_learn", "metrics", "600-6-2")) == 0
    # On the large one alone: found in the first round, and not run again.
    wrong = by_name["duckdb_sql", "auc"]
    assert (wrong["status"], wrong["seconds"], wrong["peak_mb"]) == ("wrong", [], [])
    assert calls.count(("duckdb_sql", "auc", "600-6-2")) == 1
    assert by_name["polars_ds", "auc"]["status"] == "failed"
    assert by_name["polars_ds", "intervals"]["status"] == "not offered"
    assert by_name["torchmetrics", "auc"]["status"] == "not installed"


def test_the_tables(run):
    tables = markdown(run[0])
    assert "| polars_ec, Polars | 4.0 (3.0) | 4 |" in tables
    assert "| scikit-learn, in a loop | wrong |  |" in tables
    assert "| polars-ds | not offered |  |" in tables
    assert "- polars-ds, auc, 2 classes: failed, panicked" in tables


@pytest.mark.slow
def test_the_page(run):
    results, _ = run
    page = html(results)
    assert page.count("<svg") == len(list(logs(results["results"]))) == 1
    assert "<td>4.0 (3.0)</td>" in page
    shown = re.sub(r"<[^>]*>", " ", page)
    assert str(Path.home()) not in page
    assert "600 rows, 6 groups" in shown
    assert not re.search(r"(src|href)=", page.replace("xlink:href", ""))


def test_messages_name_no_folder():
    traceback = (
        "Traceback:\n  File x\nKeyError: 1\nduring\na.IOError: /home/me/a b.txt: 3/4 of '/x/y' 1/2/3\n\t[1] more"
    )
    assert last_error(traceback) == "a.IOError: [path] b.txt: 3/4 of '[path]' 1/2/3"
    assert last_error("killed") == ""


def test_sizes_are_said_beforehand(capsys, monkeypatch):
    monkeypatch.setattr("examples.benchmarks.__main__.free_memory", lambda: 10e9)
    sizes = [Size(rows, 100, classes) for rows in (10**6, 10**9) for classes in (2, 10, 100)]
    fitting = plan([*sizes, Size(10_000, 1_000, 2)], 15e9)
    assert fitting == [*sizes[:3], sizes[3]]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1,000,000 rows, 100 groups, 2 classes: 0.01 GB"
    # 11 of the 12 GB that it may take, less the 0.9 of the first three.
    assert lines[3] == "1,000,000,000 rows, 100 groups, 2 classes: 11.00 GB, too large for tasks that hold it in memory"
    assert lines[4].startswith("1,000,000,000 rows, 100 groups, 10 classes: left out, 83.0 GB on disk")
    assert lines[6].endswith("left out, fewer than 50 rows per group and class")
    assert lines[7] == "free: 15 GB on disk, 10 GB in memory"


def test_logs_larger_than_memory_are_not_offered(folder, monkeypatch):
    monkeypatch.setattr("examples.benchmarks.run.free_memory", lambda: 1_000)
    names = ["polars_ec_polars", "scikit_learn"]
    results = run_all([Size(600, 6, 2)], names, folder, Here(folder), 0, in_this_process)
    found = {
        (result["solution"], result["task"]): result["detail"] for result in results if result["status"] != "right"
    }
    assert found["polars_ec_polars", "auc"] == "the log does not fit in memory"
    assert found["scikit_learn", "metrics"] == "the log does not fit in memory"
    assert ("polars_ec_polars", "metrics") not in found


def test_larger_logs_are_not_waited_for(folder):
    """A task that is out of time is not run on logs with at least as many rows and groups; on others it is."""
    calls = []

    def measure(name, task, log):
        log_name = Path(log.files[0]).parent.name
        calls.append((name, task, log_name))
        if task == "auc" and "rounded" not in log_name:
            raise RunError("out of time", "more than 1 s")
        return {**in_this_process(name, task, log), "seconds": 1.0}

    sizes = [Size(600, 6, 2), Size(1_200, 6, 2), Size(1_200, 3, 2)]
    results = list(run_all(sizes, ["polars_ec_polars"], folder, Here(folder), 1, measure))
    of_auc = [result["detail"] for result in results if result["task"] == "auc"]
    assert of_auc == ["more than 1 s", "a smaller log already took too long", "more than 1 s"]
    assert [log for _, task, log in calls if task == "auc"] == ["20000-10-2-rounded", "600-6-2", "1200-3-2"]
    assert [log for _, task, log in calls if task == "metrics"][1:] == ["600-6-2", "1200-6-2", "1200-3-2"]


@pytest.mark.parametrize("name", NAMES)
def test_runners_offer_what_they_have(name):
    runner = load(name)
    offers = {*runner.TWO_CLASSES, *runner.MANY_CLASSES}
    assert offers == {task for task in TASKS if hasattr(runner, task)}
    assert set(runner.IN_MEMORY) <= set(TASKS)
    assert runner.TITLE
    assert runner.INSTALL


def test_runners_are_listed():
    page = (Path(__file__).parents[1] / "docs/explanation/field.md").read_text("utf-8")
    assert all(f"| {load(name).TITLE} |" in page for name in NAMES)
    files = {path.stem for path in Path(load(FLOOR).__file__).parent.glob("*.py")}
    assert files - {"__init__", "arrays", "by_hand"} == {*NAMES, FLOOR}
