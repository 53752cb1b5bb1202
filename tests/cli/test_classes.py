"""Folders of sketches of K-class scores: a row per class against the rest, or whether the top label is right."""

from __future__ import annotations

import datetime as dt
import json

import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import log_loss, roc_auc_score

import polars_ec as ec
from polars_ec.cli.sketch_folder import Record, SketchFolder
from tests.support.cli import fails, in_three_files, invoke, sketch, typed, typed_report
from tests.support.sketch_jobs import loaded, rewritten, same

N, CLASSES, RANDOM = 600, ["z", "x", "y"], np.random.default_rng(2)
LABELS = RANDOM.integers(0, 3, N)
POSTERIORS = RANDOM.dirichlet([0.7] * 3, N) * 0.7 + 0.3 * np.eye(3)[LABELS] * RANDOM.random((N, 1))
POSTERIORS /= POSTERIORS.sum(axis=1, keepdims=True)
VECTOR = pl.Array(pl.Float64, 3)
LOG = pl.DataFrame(
    {
        "g": np.where(np.arange(N) % 3 == 0, "a", "b"),
        "ts": [dt.date(2024, 1, 1) + dt.timedelta(days=int(day)) for day in np.arange(N) // 10],
        "v": pl.Series(POSTERIORS.tolist(), dtype=VECTOR),
        "u": pl.Series(np.roll(POSTERIORS, 1, axis=1).tolist(), dtype=VECTOR),
        "k": LABELS,
        "y": np.array(CLASSES)[LABELS],
        "w": RANDOM.integers(1, 4, N) / 2,
        "user": np.arange(N) % 150,
        **{f"p{i}": POSTERIORS[:, i] for i in range(3)},
    }
)
READ = ("--score", "v", "--label", "y", "--classes", "z,x,y")
GROUPS = ("--by", "g", "--time", "ts", "--every", "1d")
FORMS = {
    "array": (pl.col("v"), "parquet", "v"),
    "list": (pl.col("v").cast(pl.List(pl.Float64)), "ndjson", "v"),
    "struct": (pl.struct(**{name: f"p{i}" for i, name in enumerate(CLASSES)}), "ipc", "v"),
    "columns": (None, "csv", "[p0, p1, p2]"),
    "quoted columns": (None, "parquet", '["p0","p1","p2"]'),
}


def write(folder, form="array", log=LOG, files=3):
    """The log in files that hold the scores in this form; and what `--score` says."""
    scores, kind, name = FORMS[form]
    folder.mkdir(exist_ok=True)
    log = log.drop("v", "u") if scores is None else log.with_columns(v=scores).drop("u")
    for i in range(files):
        getattr(log.gather_every(files, i), f"write_{kind}")(folder / f"{i}.{kind}")
    return name


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    return in_three_files(LOG, tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def out(logs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "sketches"
    result = sketch(logs, out=folder, args=(*READ, *GROUPS, "--cost-fn", "2", "--cluster", "user"))
    assert result.output == f"{folder}: 3 sketched, 0 unchanged; 600 rows\n"
    return folder


def detector(rows, k, cost_fn=2.0):
    """The metrics of class k against the rest, by NumPy and scikit-learn."""
    y, q = LABELS[rows] == k, POSTERIORS[rows, k]
    decided, share = q > 1 / (1 + cost_fn), y.mean()
    cost = cost_fn * (y & ~decided).mean() + (~y & decided).mean()
    naive = -(share * np.log(share) + (1 - share) * np.log1p(-share))
    return {
        "n": rows.sum(),
        "nec": cost / min(cost_fn * share, 1 - share),
        "nce": log_loss(y, q) / naive,
        "nbs": np.mean((q - y) ** 2) / (share * (1 - share)),
        "recall": decided[y].mean(),
        "class_prior": share,
        "tp": (y & decided).sum(),
        "auc_roc": roc_auc_score(y, q),
    }


# One against the rest -----------------------------------------------------------------------------------------------------


def test_the_report_has_a_row_per_class(out):
    table = typed_report(out, "--by", "g")
    assert table.select("g", "target").rows() == [(g, name) for g in "ab" for name in CLASSES]
    for row in table.iter_rows(named=True):
        for name, value in detector((LOG["g"] == row["g"]).to_numpy(), CLASSES.index(row["target"])).items():
            assert abs(row[name] - value) <= row.get(f"{name}_error", 0) + 1e-9, name


@pytest.mark.quick("*array*", "*-columns*")
@pytest.mark.parametrize("reduction", ["one_vs_rest", "top_label"])
@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_scores_have_the_cells_of_python(tmp_path, form, reduction):
    name = write(tmp_path / "logs", form)
    read = ("--score", name, *READ[2:], "--reduction", reduction, "--by", "g", "--weight", "w")
    sketch(tmp_path / "logs", out=tmp_path / "out", args=read)
    theirs = LOG.ec.sketch("v", "y", by="g", classes=CLASSES, weight="w", reduction=reduction).frame
    keys = [column for column in theirs.columns if column not in ("n", "weight", "weight2")]
    same(loaded(tmp_path / "out"), theirs.sort(keys, nulls_last=True))


def test_missing_and_invalid_rows_are_counted_once(tmp_path):
    wrong = LOG.with_columns(
        p0=pl.when(pl.col("ts").dt.day() == 1).then(None).otherwise("p0"),
        p1=pl.when((pl.col("g") == "a") & (pl.col("ts").dt.day() == 2)).then(float("nan")).otherwise("p1"),
    )
    name = write(tmp_path / "logs", "quoted columns", wrong)
    read = ("--score", name, *READ[2:], "--by", "g")
    invalid = wrong.filter(pl.col("p1").is_nan() & pl.col("p0").is_not_null()).height
    result = sketch(tmp_path / "logs", out=tmp_path / "out", args=read)
    assert result.stderr.startswith(f"polars-ec: {invalid} of the sketched rows have an invalid score")
    assert result.stdout.endswith("; 600 rows\n")
    told = invoke("report", tmp_path / "out", "--by", "g", "--out", tmp_path / "report.parquet").stderr
    assert told.startswith(f"polars-ec: {invalid} rows have an invalid score")
    table, of_group = pl.read_parquet(tmp_path / "report.parquet"), wrong.filter(g="b")
    assert table.filter(g="a")["nec"].is_null().all()
    assert table.filter(g="a")["n_invalid"].to_list() == [invalid] * 3
    assert table.filter(g="b")["n_missing"].to_list() == [of_group["p0"].null_count()] * 3
    there = of_group["p0"].is_not_null().to_numpy()
    rows = np.flatnonzero((LOG["g"] == "b").to_numpy())[there]
    for k, row in enumerate(table.filter(g="b").rows(named=True)):
        assert row["nec"] == pytest.approx(detector(np.isin(np.arange(N), rows), k, cost_fn=1)["nec"], rel=1e-12)


@pytest.mark.quick("args0")
@pytest.mark.parametrize(
    "args",
    [
        ("--interval", "0.9"),
        ("--by", "g", "--every", "1mo", "--prior", "overall", "--min-rows", "100"),
        ("--by", "g", "--prior", "0.2", "--total"),
    ],
)
def test_roll_ups_are_those_of_one_sketch_of_all_rows(out, tmp_path, args):
    LOG.write_parquet(tmp_path / "log.parquet")
    sketch(tmp_path / "log.parquet", out=tmp_path / "one", args=(*READ, *GROUPS, "--cost-fn", "2", "--cluster", "user"))
    table = typed_report(out, *args)
    same(table, typed_report(tmp_path / "one", *args))
    whole = LOG.ec.sketch("v", "y", classes=CLASSES, cost_fn=2, cluster="user")
    if "--interval" in args:
        theirs = whole.evaluate("nec", "nbs", "auc_roc", interval=0.9)
        same(
            table.select("target", "nec_ci_low", "nbs_ci_high", "auc_roc_ci_low"),
            theirs.select("target", "nec_ci_low", "nbs_ci_high", "auc_roc_ci_low"),
        )
    if "--total" in args:
        total = table.filter("total")
        assert total["target"].to_list() == CLASSES
        same(total.select("nec"), whole.evaluate("nec").select("nec"))


def test_windows_have_all_classes(out):
    table = typed_report(out, "--every", "1d", "--window", "30", "--metrics", "nec")
    assert table["target"].to_list() == CLASSES * (table.height // 3)
    last = (LOG["ts"] > dt.date(2024, 1, 30)).to_numpy()
    assert table["nec"].tail(3).to_list() == pytest.approx([detector(last, k)["nec"] for k in range(3)], rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "args"), [("compare", ("--by", "g", "--reference", "rest")), ("drift", ("--every", "1mo"))]
)
def test_differences_are_those_of_python(out, tmp_path, command, args):
    table = typed(tmp_path, command, out, *args, "--metrics", "nec")
    period = pl.col("ts").dt.truncate("1mo")
    if command == "compare":
        theirs = LOG.ec.sketch("v", "y", by="g", classes=CLASSES, cost_fn=2, cluster="user").compare(
            "nec", reference="rest"
        )
    else:
        theirs = LOG.ec.sketch("v", "y", by=period, classes=CLASSES, cost_fn=2, cluster="user").drift(
            "nec", period="ts"
        )
    assert table.height == theirs.height > 2
    same(table.drop("model"), theirs.drop("model"))


@pytest.mark.slow
def test_models_of_several_classes(logs, tmp_path):
    sketch(logs, out=tmp_path / "out", args=("--score", "u", "--score", "v", *READ[2:]))
    table = typed_report(tmp_path / "out", "--metrics", "nec")
    assert table.select("score", "target").rows() == [(score, name) for score in "uv" for name in CLASSES]
    alone = typed_report(tmp_path / "out", "--metrics", "nec", "--score", "v")
    same(alone, table.filter(score="v").drop("score"))
    assert alone["nec"].to_list() == pytest.approx(
        [detector(np.ones(N, bool), k, 1)["nec"] for k in range(3)], rel=1e-12
    )
    words = "a page shows the classes of one model: name it with --score"
    assert words in fails(2, "report", tmp_path / "out", "--html", tmp_path / "page.html")


def test_the_top_label_has_the_accuracy_as_its_prior(logs, tmp_path):
    sketch(logs, out=tmp_path / "out", args=(*READ, "--reduction", "top_label"))
    (row,) = typed_report(tmp_path / "out").rows(named=True)
    right, top = POSTERIORS.argmax(axis=1) == LABELS, POSTERIORS.max(axis=1)
    assert row["class_prior"] == pytest.approx(right.mean(), rel=1e-12)
    assert row["nbs"] == pytest.approx(np.mean((top - right) ** 2) / right.mean() / (1 - right.mean()), rel=1e-9)
    assert "target" not in row


def test_the_prior_of_log_likelihoods_is_remembered(tmp_path):
    prior = np.array([0.2, 0.3, 0.5])
    llk = np.log(POSTERIORS) - np.log(prior) + 3
    LOG.with_columns(v=pl.Series(llk.tolist(), dtype=VECTOR)).write_parquet(tmp_path / "log.parquet")
    read = (*READ, "--score-type", "log_likelihoods")
    args = ("sketch", tmp_path / "log.parquet", "--out", tmp_path / "out")
    assert "--prior" in fails(2, *args, *read)
    sketch(tmp_path / "log.parquet", out=tmp_path / "out", args=(*read, "--prior", "[0.2,0.3,0.5]"))
    nec = typed_report(tmp_path / "out", "--metrics", "nec")["nec"].to_list()
    assert nec == pytest.approx([detector(np.ones(N, bool), k, 1)["nec"] for k in range(3)], rel=1e-12)
    assert '--prior [0.2, 0.3, 0.5] and "uniform"' in fails(2, *args, *read, "--prior", "uniform")


@pytest.mark.slow
def test_the_page_shows_the_classes(out, tmp_path):
    assert invoke("report", out, "--by", "g", "--html", tmp_path / "page.html").exit_code == 0
    text = (tmp_path / "page.html").read_text("utf-8")
    assert text.count("<article") == 3
    nec = {name: detector(np.ones(N, bool), k)["nec"] for k, name in enumerate(CLASSES)}
    worst, best = max(nec, key=nec.get), min(nec, key=nec.get)
    plain = text.replace("\u2068", "").replace("\u2069", "")
    assert (
        f"Each class against the rest: {worst} has the highest NEC, {nec[worst]:.3f}, and {best} the lowest, {nec[best]:.3f}."
        in plain
    )
    assert '<h2 id="models">Classes</h2>' in text


# The folder remembers ------------------------------------------------------------------------------------------------------


def test_a_second_run_reads_nothing(logs, out):
    args = (*READ, *GROUPS, "--cost-fn", "2", "--cluster", "user")
    assert sketch(logs, out=out, args=args).stdout == f"{out}: 0 sketched, 3 unchanged; 600 rows\n"
    assert [record.targets for record in SketchFolder(out).records().values()] == [CLASSES] * 3


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((*READ, "--reduction", "top_label"), '--reduction "one_vs_rest" and "top_label"'),
        ((*READ[:4], "--classes", "x,y,z"), '--classes ["z", "x", "y"] and ["x", "y", "z"]'),
        (("--score", "u", *READ[2:]), '--score "v" and "u"'),
    ],
)
def test_other_options_are_another_folder(logs, out, args, words):
    assert words in fails(2, "sketch", logs, "--out", out, *args, *GROUPS, "--cost-fn", "2", "--cluster", "user")


@pytest.mark.slow
def test_files_with_other_scores_are_refused(tmp_path):
    folder, out = tmp_path / "logs", tmp_path / "out"
    write(folder, files=1)
    read = ("--score", "v", "--label", "k")
    sketch(folder, out=out, args=read)
    before = typed_report(out)
    four = pl.DataFrame({"v": [[0.1, 0.2, 0.3, 0.4]], "k": [3]}, schema_overrides={"v": pl.Array(pl.Float64, 4)})
    four.write_parquet(folder / "four.parquet")
    pl.DataFrame({"v": [0.2, 0.4], "k": [0, 1]}).write_parquet(folder / "numbers.parquet")
    LOG.clear().write_parquet(folder / "none.parquet")
    result = sketch(folder, out=out, args=read, code=1)
    assert "four.parquet: the scores have the classes 0, 1, 2, 3, but 0, 1, 2 in the other inputs" in result.stderr
    assert "numbers.parquet: --score has one number per row, but K-class scores in the other inputs" in result.stderr
    assert "1 sketched, 1 unchanged, 2 failed; 600 rows" in result.stdout
    invoke("report", out, "--out", tmp_path / "after.parquet")
    same(pl.read_parquet(tmp_path / "after.parquet"), before)


@pytest.mark.slow
def test_sketches_that_were_put_together_by_hand_are_refused(tmp_path):
    out = tmp_path / "out"
    for name, vectors in (("one", False), ("many", True)):
        scores = LOG.select(v="p0", k=pl.col("k") == 0) if not vectors else LOG.select("v", "k")
        scores.write_parquet(tmp_path / f"{name}.parquet")
        sketch(tmp_path / f"{name}.parquet", out=tmp_path / name, args=("--score", "v", "--label", "k"))
        for file in (tmp_path / name).glob("*.sketch.parquet"):
            out.mkdir(exist_ok=True)
            file.rename(out / file.name)
    assert "in the other inputs: sketch them to another --out" in fails(1, "report", out)


@pytest.mark.slow
def test_entries_of_before_are_one_vs_rest(tmp_path):
    LOG.select(v="p0", k=pl.col("k") == 0).write_parquet(tmp_path / "log.parquet")
    args = ("--score", "v", "--label", "k")
    sketch(tmp_path / "log.parquet", out=tmp_path / "out", args=args)
    (file,) = (tmp_path / "out").glob("*.sketch.parquet")

    def before(entry):
        options = {name: value for name, value in entry["options"].items() if name not in ("--reduction", "--prior")}
        return {name: value for name, value in entry.items() if name != "targets"} | {"options": options}

    rewritten(file, before)
    assert "0 sketched, 1 unchanged" in sketch(tmp_path / "log.parquet", out=tmp_path / "out", args=args).stdout


@pytest.mark.parametrize("targets", [None, 3, [1], {"a": 1}])
def test_impossible_targets_are_damage(out, targets):
    (_, record), *_ = SketchFolder(out).records().items()
    entry = json.loads(record.encode()["polars_ec.input"]) | {"targets": targets}
    with pytest.raises(ValueError, match="an impossible entry"):
        Record.decode(json.dumps(entry))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--per-class",), "a row per class in any case, in the column target"),
        (("--by", "target"), "has no group column 'target' (--by): It has g, ts"),
        (("--classes", "z,x"), "was sketched with --classes z, x, y, not z, x"),
    ],
)
def test_what_a_report_of_the_folder_refuses(out, args, words):
    assert words in fails(2, "report", out, *args)


# Lists of columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.quick("csv")
@pytest.mark.parametrize("source", ["csv", "duckdb"])
def test_a_report_of_rows_takes_a_list_of_columns(tmp_path, source):
    LOG.drop("v", "u").write_csv(tmp_path / "log.csv")
    path = tmp_path / "log.csv"
    if source == "duckdb":
        with duckdb.connect(tmp_path / "log.duckdb") as connection:
            connection.execute(f"CREATE TABLE log AS FROM read_csv('{path}')")
        path = f"duckdb:{tmp_path}/log.duckdb::log"
    args = ("--label", "y", "--classes", "z,x,y", "--by", "g")
    table = typed_report(path, "--score", "[p0,p1,p2]", *args)
    same(table, ec.report(LOG, "v", "y", classes=CLASSES, by="g"))
    per_class = typed_report(path, "--score", "[p0,p1,p2]", *args, "--per-class")
    assert per_class["class"].to_list() == CLASSES * 2


def test_columns_of_whole_numbers_are_posteriors_too(tmp_path):
    pl.DataFrame({"a": [1, 0, 0], "b": [0, 1, 1], "y": ["a", "a", "b"]}).write_csv(tmp_path / "log.csv")
    read = ("--score", "[a,b]", "--label", "y", "--classes", "a,b")
    assert typed_report(tmp_path / "log.csv", *read, "--metrics", "accuracy")["accuracy"].item() == 2 / 3


def test_labels_of_text_need_their_classes(tmp_path):
    LOG.drop("v", "u").head(9).write_csv(tmp_path / "log.csv")
    fails(
        2,
        "report",
        tmp_path / "log.csv",
        "--score",
        "[p0,p1,p2]",
        "--label",
        "y",
        words=["pass --classes a,b,c to say"],
    )


@pytest.mark.slow
def test_a_csv_without_rows_has_no_groups(tmp_path):
    (tmp_path / "log.csv").write_text("g,p0,p1,p2,y\n")
    sketch(tmp_path, out=tmp_path / "out", args=("--score", "[p0,p1,p2]", "--label", "y", "--by", "g"))
    assert typed_report(tmp_path / "out", "--by", "g").is_empty()
    assert typed_report(tmp_path / "log.csv", "--score", "[p0,p1,p2]", "--label", "y", "--by", "g").is_empty()


@pytest.mark.parametrize(
    ("score", "words"),
    [
        ("[p0,p1]", "--classes ['z', 'x', 'y'] lists 3 classes, but there are 2"),
        ("[p0,y,p1]", "--score [p0,y,p1]: the column 'y' is String, not numbers"),
        ("[p0,p0,p1]", "has the column 'p0' twice: name one column per class"),
        ("[p0,p9,p1]", "has no column 'p9' (--score): did you mean"),
        *((score, "pass a column, or a list with a column per class such as [p_a,p_b,p_c]") for score in ("[p0", "[p0]", "[]", "[1,2]", "[p0,,p1]", "[" * 9999)),
        ("p0,p1", "name one at a time, --score p0 --score p1, or for K-class scores --score [p0,p1]"),
        ("p0", "scores for 3 classes are one column with a vector per row, such as --score [p_a,p_b,p_c]"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["report", "sketch"])
def test_lists_of_columns_that_are_refused(tmp_path, score, words, command):
    LOG.drop("v", "u").head(9).write_csv(tmp_path / "log.csv")
    out = () if command == "report" else ("--out", tmp_path / "out")
    result = invoke(command, tmp_path / "log.csv", *out, "--score", score, *READ[2:])
    assert result.exit_code in (1, 2)
    assert words in result.stderr


def test_a_group_column_of_the_log_may_be_called_target(tmp_path):
    """It has no classes of a model, whose rows would be the same."""
    pl.DataFrame({"p": [1.5, 2.0, 0.3], "y": [0, 1, 1], "target": ["a", "a", "b"]}).write_csv(tmp_path / "log.csv")
    result = invoke("report", tmp_path / "log.csv", "--score", "p", "--label", "y", "--by", "target")
    assert result.stderr.startswith("polars-ec: 2 rows have an invalid score")


AREAS = ("--metrics", "macro_auc_roc,pairwise_auc_roc", "--by", "g", "--cluster", "user")
ASKED = {"metrics": ["macro_auc_roc", "pairwise_auc_roc"], "by": "g", "cluster": "user", "classes": CLASSES}


def test_the_auc_of_k_classes_of_rows(logs):
    table = typed_report(logs, *READ, *AREAS, "--interval", "0.9")
    same(table, LOG.ec.report("v", "y", interval=0.9, **ASKED))
    gate = invoke("report", logs, *READ, *AREAS, "--interval", "0.9", "--fail-if", "macro_auc_roc_ci_low < 0.99")
    assert gate.exit_code == 3


@pytest.mark.slow
def test_the_auc_of_k_classes_in_comparisons_and_on_pages(logs, tmp_path):
    result = invoke("compare", logs, *READ, *AREAS, "--score", "u", "--out", tmp_path / "compared.parquet")
    assert result.exit_code == 0, result.output
    same(pl.read_parquet(tmp_path / "compared.parquet"), LOG.ec.compare(["v", "u"], "y", **ASKED))
    assert invoke("report", logs, *READ, *AREAS, "--html", tmp_path / "page.html").exit_code == 0
    assert "Macro one-vs-rest AUC of all rows is" in (tmp_path / "page.html").read_text("utf-8")
