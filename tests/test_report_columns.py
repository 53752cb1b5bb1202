"""What a report can be asked for: each column against NumPy or scikit-learn, and against the other doors."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn import metrics as sk

import polars_ec as ec
from polars_ec.formulas.decisions import DECISIONS, OF_CLASSES
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import ORDER_METRICS, RANKING_METRICS
from polars_ec.reports.models import METRICS

CLASSES = ["ham", "spam", "fraud"]


def make_log(n: int = 600, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.random(n) < 0.3
    llr = rng.normal(2.0 * label - 1.0, 1.3)
    group = rng.choice(["a", "b", None], n)
    vectors = rng.dirichlet([1.0, 1.0, 1.0], n)
    of_three = np.array([rng.choice(3, p=v) for v in 0.4 * vectors + 0.6 * np.array([0.6, 0.3, 0.1])])
    return pl.DataFrame(
        {
            "g": group.tolist(),
            "y": label,
            "llr": llr,
            "p": 1 / (1 + np.exp(1.2 - llr)),
            "q": rng.random(n),
            "w": rng.integers(0, 5, n) / 2,
            "v": pl.Series(vectors.tolist(), dtype=pl.Array(pl.Float64, 3)),
            "c": of_three,
            "name": [CLASSES[i] for i in of_three],
        }
    )


LOG = make_log()
GAPS = LOG.with_columns(
    y=pl.when(pl.int_range(pl.len()) % 11 != 0).then("y"),
    p=pl.when(pl.int_range(pl.len()) % 13 != 0).then("p"),
    w=pl.when(pl.int_range(pl.len()) % 17 != 0).then("w"),
)


def groups(log: pl.DataFrame) -> list[pl.DataFrame]:
    return [log.filter(pl.col("g").eq_missing(g)) for g in (None, "a", "b")]


def test_metrics_are_the_columns_in_their_order() -> None:
    names = ["mcc", "brier", "nec", "confusion", "accuracy"]
    table = LOG.ec.report("p", "y", by="g", metrics=names, prior=0.1)
    assert table.columns == [
        *("g", "n", "mcc", "mcc_at_prior", "brier", "brier_at_prior", "nec", "nec_at_prior", "tn", "fp", "fn", "tp"),
        *("accuracy", "accuracy_at_prior", "class_prior", "n_missing", "n_invalid"),
    ]
    for row, part in zip(table.to_dicts(), groups(LOG), strict=True):
        y, p = part["y"].to_numpy(), part["p"].to_numpy()
        assert row["mcc"] == pytest.approx(sk.matthews_corrcoef(y, p > 0.5))
        assert row["brier"] == pytest.approx(np.mean((p - y) ** 2))
        weight = np.where(y, 0.1 / y.sum(), 0.9 / (~y).sum())
        assert row["brier_at_prior"] == pytest.approx(np.sum(weight * (p - y) ** 2))
        assert row["accuracy_at_prior"] == pytest.approx(np.sum(weight * ((p > 0.5) == y)))
        assert row["nec_at_prior"] == pytest.approx(np.sum(weight * ((p > 0.5) != y)) / 0.1)
        assert [row[c] for c in ("tn", "fp", "fn", "tp")] == sk.confusion_matrix(y, p > 0.5).ravel().tolist()


def test_ranking_metrics_are_within_their_error() -> None:
    table = LOG.ec.report("p", "y", by="g", metrics=["auc_roc", "average_precision", "ks"], prior=0.1)
    assert table.columns[2:10] == [
        *("auc_roc", "auc_roc_error", "average_precision", "average_precision_error"),
        *("average_precision_at_prior", "average_precision_at_prior_error", "ks", "ks_error"),
    ]
    for row, part in zip(table.to_dicts(), groups(LOG), strict=True):
        y, p = part["y"].to_numpy(), part["p"].to_numpy()
        weight = np.where(y, 0.1 / y.sum(), 0.9 / (~y).sum())
        exact = {
            "auc_roc": sk.roc_auc_score(y, p),
            "average_precision": sk.average_precision_score(y, p),
            "average_precision_at_prior": sk.average_precision_score(y, p, sample_weight=weight),
            "ks": max(abs(np.mean(p[y] > t) - np.mean(p[~y] > t)) for t in p),
        }
        for name, value in exact.items():
            assert abs(row[name] - value) <= row[f"{name}_error"] + 1e-12
            assert 0 <= row[f"{name}_error"] < 0.02


@pytest.mark.quick("weight-prior")
@pytest.mark.parametrize(
    "options",
    [{"threshold": 0.506}, {"weight": "w", "prior": 0.2}, {"score_type": "log_odds", "cost_fn": 3}],
    ids=lambda options: "-".join(options),
)
def test_ranking_metrics_are_those_of_the_sketch(options: dict) -> None:
    score = "llr" if "score_type" in options else "p"
    asked = {name: value for name, value in options.items() if name == "prior"}
    own = {name: value for name, value in options.items() if name != "prior"}
    names = list(RANKING_METRICS)
    report = GAPS.ec.report(score, "y", by="g", metrics=names, **options)
    sketch = GAPS.ec.sketch(score, "y", by="g", **own)
    of_sketch = sketch.evaluate(*names)
    columns = ["n", "n_missing", *(f"{name}{end}" for name in names for end in ("", "_error"))]
    assert report["g"].to_list() == of_sketch["g"].to_list() == [None, "a", "b"]
    assert_frame_equal(report.select(columns), of_sketch.select(columns), rel_tol=1e-9, abs_tol=1e-12)
    if asked:
        at_prior = sketch.evaluate(*names, **asked)
        moved = ["average_precision", "auprg", "min_expected_cost", "min_dcf"]
        assert {c for c in report.columns if c.endswith("_at_prior")} == {f"{name}_at_prior" for name in moved}
        for name in moved:
            np.testing.assert_allclose(report[f"{name}_at_prior"], at_prior[name], rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"cost_fn": 3, "weight": "w", "prior": 0.2}], ids=["plain", "weight-prior"])
def test_every_metric_of_rows_is_the_expression_of_its_name(options: dict) -> None:
    rows = [name for name in METRICS if name not in (*ORDER_METRICS, "tn", "fp", "fn", "tp", "confusion")]
    report = GAPS.ec.report("p", "y", by="g", metrics=rows, **options)
    for name in rows:
        function = getattr(ec, name)
        taken = {k: v for k, v in options.items() if k in function.__signature__.parameters}
        own = {k: v for k, v in taken.items() if k != "prior"}
        expected = GAPS.group_by("g").agg(own=function("p", "y", **own), at=function("p", "y", **taken)).sort("g")
        np.testing.assert_allclose(report[name], expected["own"], rtol=1e-11, err_msg=name)
        if f"{name}_at_prior" in report.columns:
            np.testing.assert_allclose(report[f"{name}_at_prior"], expected["at"], rtol=1e-11, err_msg=name)
        elif "prior" in options:
            np.testing.assert_allclose(expected["at"], expected["own"], rtol=1e-11, err_msg=name)


def test_ece_is_that_of_bins_of_equal_width() -> None:
    row = LOG.ec.report("p", "y", metrics=["ece"], weight="w", prior=0.2).row(0, named=True)
    y, p, w = (LOG[name].to_numpy().astype(float) for name in ("y", "p", "w"))
    at_prior = np.where(y == 1, 0.2 * w / w[y == 1].sum(), 0.8 * w / w[y == 0].sum())
    for name, weight in (("ece", w / w.sum()), ("ece_at_prior", at_prior)):
        bins = np.ceil(p * 15)
        gaps = [abs(np.sum((weight * (p - y))[bins == b])) for b in np.unique(bins)]
        assert row[name] == pytest.approx(np.sum(gaps), rel=1e-12)


def test_the_usual_report_prints_nec_within_80_columns() -> None:
    for options in ({}, {"prior": 0.1, "min_rows": 100}, {"prior": 0.1, "min_rows": 1, "total": True}):
        shown = str(LOG.ec.report("p", "y", by="g", **options))
        assert "nec " in shown
        assert max(map(len, shown.splitlines())) <= 80
    assert "nec " in str(LOG.ec.report(["p", "q"], "y", by="g"))


@pytest.mark.parametrize("options", [{}, {"prior": 0.2, "weight": "w"}, {"min_rows": 300, "missing": "by_part"}])
def test_total_is_the_report_without_groups(options: dict) -> None:
    names = ["nec", "f1", "nce", "auc_roc", "average_precision"]
    table = GAPS.ec.report(["p", "q"], "y", by=["g", pl.col("c") > 0], metrics=names, total=True, **options)
    assert table["total"].to_list() == [False] * 12 + [True] * 2
    assert table["g"].null_count() == 4 + 2
    groups = GAPS.ec.report(["p", "q"], "y", by=["g", pl.col("c") > 0], metrics=names, **options)
    assert_frame_equal(table.filter(~pl.col("total")).drop("total"), groups, rel_tol=1e-12)
    one = GAPS.ec.report(["p", "q"], "y", metrics=names, **options)
    assert_frame_equal(table.filter("total").drop("g", "c", "total"), one, rel_tol=1e-12)


@pytest.mark.filterwarnings("ignore:.* null")
def test_total_of_one_wrong_row_is_null() -> None:
    log = pl.DataFrame({"g": ["a", "a", "b"], "p": [0.9, 0.2, 1.5], "y": [1, 0, 1]})
    a, b, total = log.ec.report("p", "y", by="g", total=True, prior="overall").to_dicts()
    assert (a["nec"], b["nec"], total["nec"]) == (0, None, None)
    assert (total["n"], total["n_invalid"], total["class_prior"]) == (2, 1, None)
    assert a["nec_at_prior"] is None  # what the whole log's prior is cannot be said
    table = log.ec.report("p", "y", by="g", metrics=["class_f1", "class_recall"], prior="overall")
    assert table.select("class_f1", "class_f1_at_prior").rows() == [([1.0, 1.0], None), (None, None)]


def test_overall_prior_is_that_of_all_usable_rows() -> None:
    used = GAPS.drop_nulls(["p", "y", "w"])
    y, w = used["y"].to_numpy(), used["w"].to_numpy()
    weighted = GAPS.ec.report("p", "y", by="g", prior="overall", weight="w")
    stated = GAPS.ec.report("p", "y", by="g", prior=float(w[y].sum() / w.sum()), weight="w")
    assert_frame_equal(weighted, stated, rel_tol=1e-12)
    assert weighted["nec_at_prior"].n_unique() == 3


@pytest.mark.parametrize("options", [{}, {"score_prior": 0.4}], ids=["kept", "moved"])
def test_overall_prior_of_several_models_is_that_of_each(options: dict) -> None:
    both = GAPS.ec.report(["p", "q"], "y", by="g", prior="overall", total=True, **options)
    for score in ("p", "q"):
        share = GAPS.drop_nulls([score, "y"])["y"].mean()
        one = GAPS.ec.report(score, "y", by="g", prior=share, total=True, **options)
        assert_frame_equal(both.filter(score=score).drop("score"), one, rel_tol=1e-11)


def test_overall_prior_is_that_of_a_sketch() -> None:
    names = ["nce", "nbs", "nec", "precision", "average_precision"]
    keys = ["g", "score"]
    report = GAPS.ec.report(["p", "q"], "y", by="g", metrics=names, prior="overall").sort(keys)
    sketch = GAPS.ec.sketch(["p", "q"], "y", by="g").evaluate(*names, prior="overall").sort(keys)
    for name in names:
        np.testing.assert_allclose(report[f"{name}_at_prior"], sketch[name], rtol=1e-9)


def test_overall_prior_of_classes() -> None:
    shares = (np.bincount(LOG["c"].to_numpy()) / LOG.height).tolist()
    overall = LOG.ec.report("v", "c", by="g", prior="overall")
    assert_frame_equal(overall, LOG.ec.report("v", "c", by="g", prior=shares), rel_tol=1e-11)


@pytest.mark.quick("llr")
@pytest.mark.parametrize("score_type", ["llr", "log_likelihoods"])
def test_overall_prior_makes_the_decisions_of_likelihoods(score_type: str) -> None:
    log = GAPS.with_columns(pair=pl.concat_arr(pl.lit(0.0, dtype=pl.Float64), "llr"))
    score = "llr" if score_type == "llr" else "pair"
    overall = log.ec.report(score, "y", by="g", prior="overall", score_type=score_type)
    share = log.drop_nulls("y")["y"].mean()
    assert_frame_equal(overall, log.ec.report(score, "y", by="g", prior=share, score_type=score_type), rel_tol=1e-11)
    part = log.drop_nulls("y").filter(g="a")
    y, decided = part["y"].to_numpy(), part["llr"].to_numpy() > -np.log(share / (1 - share))
    expected = (share * np.mean(~decided[y]) + (1 - share) * np.mean(decided[~y])) / min(share, 1 - share)
    assert overall.filter(g="a")["nec_at_prior"].item() == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.parametrize("score_type", ["llr", "log_likelihoods"])
def test_an_overall_prior_that_cannot_be_counted_makes_no_row_wrong(score_type: str) -> None:
    llr = [0.5, 1.0, -1.0, float("nan"), 2.0]
    log = pl.DataFrame({"s": [*"aabbb"], "y": [1, 0, 1, 1, 0], "x": llr})
    if score_type == "log_likelihoods":
        log = log.with_columns(x=pl.concat_arr(pl.lit(0.0, dtype=pl.Float64), "x"))
    table = log.ec.report("x", "y", by="s", total=True, prior="overall", score_type=score_type)
    assert table.select("n", "n_invalid", "class_prior").rows() == [(2, 0, 0.5), (2, 1, None), (4, 1, None)]
    for name in ("nec", "nec_at_prior", "nce", "f1", "tp", "fn"):
        assert table[name].null_count() == 3
    if score_type == "llr":
        ranks = log.ec.report("x", "y", by="s", prior="overall", score_type="llr", metrics=["auc_roc", "auprg"])
        assert ranks["auc_roc"].to_list() == [0.0, None]
        assert ranks["auprg_at_prior"].null_count() == 2


def test_missing_rows_by_part() -> None:
    table = GAPS.ec.report("p", "y", by="g", weight="w", missing="by_part")
    place = table.columns.index("n_missing")
    parts = ["n_missing_label", "n_missing_score", "n_missing_weight"]
    assert table.columns[place : place + 4] == ["n_missing", *parts]
    for row, part in zip(table.to_dicts(), groups(GAPS), strict=True):
        assert [row[name] for name in parts] == [part[c].null_count() for c in ("y", "p", "w")]
        assert row["n_missing"] == part.height - part.drop_nulls(["y", "p", "w"]).height
        assert row["n_missing"] < sum(row[name] for name in parts) or part.drop_nulls(["y", "p", "w"]).is_empty()
    assert "n_missing_weight" not in GAPS.ec.report("p", "y", missing="by_part").columns


@pytest.mark.parametrize(
    ("score", "label", "options"),
    [
        ("p", "y", {"prior": 0.05, "score_prior": 0.4, "cost_fn": 5}),
        ("p", "y", {"prior": 0.05, "score_prior": 0.4, "threshold": 0.2, "weight": "w"}),
        ("llr", "y", {"prior": "overall", "score_prior": 0.5, "score_type": "log_odds"}),
        ("p", "y", {"prior": 0.05, "score_prior": pl.col("y").mean()}),
        ("v", "c", {"prior": [0.2, 0.3, 0.5], "score_prior": "uniform"}),
    ],
)
def test_posteriors_are_moved_first(score: str, label: str, options: dict) -> None:
    table = GAPS.ec.report(score, label, by="g", **options)
    from_, to = options["score_prior"], options["prior"]
    if to == "overall":
        to = GAPS.drop_nulls(["llr", "y"])["y"].mean()
    kind = {"score_type": options["score_type"]} if "score_type" in options else {}
    moved = GAPS.with_columns(ec.shift_prior(score, from_, to, **kind).alias(score))
    own = {name: value for name, value in options.items() if name not in ("prior", "score_prior")}
    expected = moved.ec.report(score, label, by="g", prior=to, **own)
    at_prior = [name for name in expected.columns if name.endswith("_at_prior")]
    assert_frame_equal(table.select(at_prior), expected.select(at_prior), rel_tol=1e-11)
    kept = GAPS.ec.report(score, label, by="g", **own)
    assert_frame_equal(table.select(kept.columns), kept, rel_tol=1e-12)


def test_moved_posteriors_by_hand() -> None:
    row = LOG.ec.report("p", "y", prior=0.05, score_prior=0.4, cost_fn=5, metrics=["nec", "recall"]).row(0, named=True)
    y, p = LOG["y"].to_numpy(), LOG["p"].to_numpy()
    odds = p / (1 - p) * (0.05 / 0.95) / (0.4 / 0.6)
    decided = odds > 1 / 5
    cost = 5 * 0.05 * np.mean(~decided[y]) + 0.95 * np.mean(decided[~y])
    assert row["nec_at_prior"] == pytest.approx(cost / min(5 * 0.05, 0.95))
    assert row["recall_at_prior"] == pytest.approx(np.mean(decided[y]))
    assert row["recall"] == pytest.approx(np.mean(p[y] > 1 / 6))


def test_moved_posteriors_of_a_struct_go_by_the_names_of_the_classes() -> None:
    turned = LOG.with_columns(s=pl.struct(*(pl.col("v").arr.get(k).alias(CLASSES[k]) for k in (2, 0, 1))))
    options = {"by": "g", "prior": {"ham": 0.2, "spam": 0.3, "fraud": 0.5}, "score_prior": [0.6, 0.3, 0.1]}
    one, other = (turned.ec.report(score, "name", classes=CLASSES, **options) for score in ("s", "v"))
    assert_frame_equal(one, other, rel_tol=1e-12)
    v, c = LOG["v"].to_numpy(), LOG["c"].to_numpy()
    moved = v * np.array([0.2, 0.3, 0.5]) / np.array([0.6, 0.3, 0.1])
    right = moved.argmax(1) == c
    expected = sum(pi * np.mean(right[c == k]) for k, pi in enumerate([0.2, 0.3, 0.5]))
    total = turned.ec.report("s", "name", classes=CLASSES, **options, total=True).filter("total")
    assert total["accuracy_at_prior"].item() == pytest.approx(expected)


def test_a_posterior_that_the_new_prior_rules_out_is_null() -> None:
    log = pl.DataFrame({"p": [1.0, 0.2], "y": [1, 0]})
    names = ["nec", "precision", "accuracy", "brier"]
    row = log.ec.report("p", "y", prior=0, score_prior=0.5, metrics=names).row(0, named=True)
    assert (row["n"], row["nec"], row["accuracy"]) == (2, 0, 1)
    assert [row[f"{name}_at_prior"] for name in names] == [None] * 4
    vectors = pl.DataFrame({"q": [[1.0, 0.0, 0.0], [0.0, 0.7, 0.3], [0.2, 0.0, 0.8]], "y": [0, 1, 2]})
    vectors = vectors.cast({"q": pl.Array(pl.Float64, 3)})
    row = vectors.ec.report("q", "y", prior=[0, 0.5, 0.5], score_prior="uniform", metrics=names[2:]).row(0, named=True)
    assert (row["accuracy"], row["accuracy_at_prior"], row["brier_at_prior"]) == (1, None, None)


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.parametrize("score", ["p", "v"])
def test_posteriors_moved_to_a_prior_that_is_not_known_are_null(score: str) -> None:
    log = pl.DataFrame({"y": [0, 1, 1, None], "p": [0.8, 0.7, 0.4, 0.5], "s": ["a", "a", "a", "b"]})
    log = log.with_columns(v=pl.concat_arr(1 - pl.col("p"), "p"), none=pl.lit(None, dtype=pl.Float64))
    wrong = log.with_columns(y=pl.col("y").fill_null(7))
    options = {"by": "s", "score_type": "posterior" if score == "p" else "posteriors", "score_prior": 0.3}
    for table in (
        log.ec.report(score, "y", prior=pl.col("none"), metrics=["recall", "nec"], **options),
        wrong.ec.report(score, "y", prior="overall", metrics=["recall", "nec"], **options),
    ):
        assert table["recall"].to_list() == [0.5, None]
        assert table.select("recall_at_prior", "nec_at_prior").rows() == [(None, None), (None, None)]


def one_vs_rest(decided: np.ndarray, c: np.ndarray, k: int, prior: np.ndarray) -> dict[str, float]:
    """NEC, precision and F1 of class k against the rest, at these priors of all classes."""
    hit = prior[k] * np.mean(decided[c == k] == k)
    alarm = sum(prior[i] * np.mean(decided[c == i] == k) for i in range(3) if i != k)
    return {
        "nec": (prior[k] - hit + alarm) / min(prior[k], 1 - prior[k]),
        "precision": hit / (hit + alarm),
        "f1": 2 * hit / (prior[k] + hit + alarm),
    }


def test_per_class_rows() -> None:
    prior = np.array([0.2, 0.3, 0.5])
    table = LOG.ec.report("v", "name", classes=CLASSES, by="g", per_class=True, prior=prior.tolist(), total=True)
    assert table.columns == [
        *("g", "class", "n", "nec", "nec_at_prior", "precision", "precision_at_prior", "recall", "f1", "f1_at_prior"),
        *("class_prior", "total", "tn", "fp", "fn", "tp", "n_missing", "n_invalid"),
    ]
    assert table["class"].to_list() == CLASSES * 4
    for part, rows in zip([*groups(LOG), LOG], table.iter_slices(3), strict=True):
        c, decided = part["c"].to_numpy(), part["v"].to_numpy().argmax(1)
        theirs = sk.precision_recall_fscore_support(c, decided)
        for name, values in zip(("precision", "recall", "f1"), theirs, strict=False):
            np.testing.assert_allclose(rows[name], values, rtol=1e-12)
        matrix = sk.multilabel_confusion_matrix(c, decided).reshape(3, 4)
        assert [list(row) for row in rows.select("tn", "fp", "fn", "tp").rows()] == matrix.tolist()
        own = np.bincount(c) / len(c)
        np.testing.assert_allclose(rows["class_prior"], own)
        for k, row in enumerate(rows.to_dicts()):
            assert row["nec"] == pytest.approx(one_vs_rest(decided, c, k, own)["nec"])
            for name, value in one_vs_rest(decided, c, k, prior).items():
                assert row[f"{name}_at_prior"] == pytest.approx(value)


def test_more_classes_have_averages_over_them() -> None:
    table = LOG.ec.report("v", "c", by="g", prior=[0.2, 0.3, 0.5])
    assert table.columns[1:12] == [
        *("n", "nec", "nec_at_prior", "nce", "nce_at_prior", "nbs", "nbs_at_prior", "accuracy", "accuracy_at_prior"),
        *("macro_recall", "macro_f1"),
    ]
    for row, part in zip(table.to_dicts(), groups(LOG), strict=True):
        c, decided = part["c"].to_numpy(), part["v"].to_numpy().argmax(1)
        weight = np.array([0.2, 0.3, 0.5])[c] / np.bincount(c)[c]
        assert row["accuracy"] == pytest.approx(sk.accuracy_score(c, decided))
        assert row["macro_recall"] == pytest.approx(sk.recall_score(c, decided, average="macro"))
        assert row["macro_f1"] == pytest.approx(sk.f1_score(c, decided, average="macro"))
        moved = sk.f1_score(c, decided, average="macro", sample_weight=weight)
        assert row["macro_f1_at_prior"] == pytest.approx(moved)
        assert row["confusion"] == sk.confusion_matrix(c, decided).tolist()


def test_averages_of_more_classes_by_weight() -> None:
    names = ["mcc", "class_precision", "class_nec", "weighted_f1", "macro_precision"]
    table = LOG.ec.report("v", "c", by="g", weight="w", metrics=names)
    for row, part in zip(table.to_dicts(), groups(LOG), strict=True):
        c, decided, w = part["c"].to_numpy(), part["v"].to_numpy().argmax(1), part["w"].to_numpy()
        weighted = {"sample_weight": w}
        assert row["mcc"] == pytest.approx(sk.matthews_corrcoef(c, decided, **weighted))
        assert row["class_precision"] == pytest.approx(sk.precision_score(c, decided, average=None, **weighted))
        assert row["weighted_f1"] == pytest.approx(sk.f1_score(c, decided, average="weighted", **weighted))
        assert row["macro_precision"] == pytest.approx(sk.precision_score(c, decided, average="macro", **weighted))
        errors = [w[(c == k) != (decided == k)].sum() / min(w[c == k].sum(), w[c != k].sum()) for k in range(3)]
        assert row["class_nec"] == pytest.approx(errors)


def test_per_class_of_what_mixes_the_rest_moves_with_the_prior() -> None:
    prior = [0.2, 0.3, 0.5]
    table = LOG.ec.report("v", "c", per_class=True, metrics=["specificity", "recall"], prior=prior)
    assert [name for name in table.columns if name.endswith("_at_prior")] == ["specificity_at_prior"]
    c, decided = LOG["c"].to_numpy(), LOG["v"].to_numpy().argmax(1)
    expected = (0.2 * np.mean(decided[c == 0] != 1) + 0.5 * np.mean(decided[c == 2] != 1)) / 0.7
    assert table["specificity_at_prior"][1] == pytest.approx(expected)
    two = LOG.ec.report("p", "y", per_class=True, metrics=["specificity"], prior=0.2)
    assert "specificity_at_prior" not in two.columns


@pytest.mark.parametrize(
    ("options", "values"),
    [({}, [False, True]), ({"pos_label": True}, ["not True", "True"]), ({"classes": [True, False]}, [True, False])],
)
def test_per_class_names_the_classes_as_the_labels_do(options: dict, values: list) -> None:
    table = LOG.ec.report("p", "y", per_class=True, by="g", **options)
    assert table["class"].to_list() == values * 3
    first, second = table["tp"][0], table["tn"][1]
    assert first == second
    positive = LOG.filter(pl.col("g").is_null())["y"].mean()
    assert table["class_prior"][1] == pytest.approx(positive if values[-1] else 1 - positive)


def test_per_class_with_weights_and_abstaining() -> None:
    costs = ec.CostMatrix.zero_one(3, abstain=0.5)
    table = LOG.ec.report("v", "c", per_class=True, costs=costs, weight="w")
    c, v, w = (LOG[name].to_numpy() for name in ("c", "v", "w"))
    expected = np.column_stack([1 - v, np.full(len(v), 0.5)])
    decided = expected.argmin(1)
    for k, row in enumerate(table.to_dicts()):
        of_class, for_class = c == k, decided == k
        assert row["tp"] == pytest.approx(w[of_class & for_class].sum())
        assert row["fn"] == pytest.approx(w[of_class & ~for_class].sum())
        assert row["precision"] == pytest.approx(w[of_class & for_class].sum() / w[for_class].sum())
        assert row["class_prior"] == pytest.approx(w[of_class].sum() / w.sum())


def test_llrs_without_a_prior_have_their_order() -> None:
    table = LOG.ec.report("llr", "y", by="g", metrics=["auc_roc", "min_cllr"], score_type="llr")
    for row, part in zip(table.to_dicts(), groups(LOG), strict=True):
        exact = sk.roc_auc_score(part["y"], part["llr"])
        assert abs(row["auc_roc"] - exact) <= row["auc_roc_error"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "nec"}, r"metrics='nec' is not a list of names: pass \['nec'\]"),
        ({"metrics": []}, r"metrics=\[\] is empty"),
        ({"metrics": ["nex"]}, r"holds 'nex', which is not a metric of a report: did you mean nec\?"),
        ({"metrics": [3]}, r"holds 3, which is not a metric of a report"),
        ({"metrics": ["nec", "nec"]}, r"has 'nec' twice"),
        ({"metrics": ["n"]}, r"holds 'n', which every report has"),
        ({"metrics": ["fbeta"]}, r"'fbeta', which needs beta=: .*agg\(ec.fbeta"),
        (
            {"metrics": ["bayes_risk"], "threshold": 0.3},
            "'bayes_risk', which uses Bayes decisions: leave threshold= out, or",
        ),
        (
            {"metrics": ["auc_roc"], "score": "v", "label": "c"},
            "'auc_roc', which is for one number per row: use the posterior of one class against the",
        ),
        ({"metrics": ["f1"], "score": "v", "label": "c"}, r"f1 is for 2 classes and 2 decisions"),
        ({"metrics": ["tp"], "score": "v", "label": "c"}, "'tp', which is for two classes and two decisions"),
        ({"metrics": ["ece"], "score": "v", "label": "c"}, "'ece', which is for two classes, but there are 3"),
        ({"metrics": ["min_dcf"], "costs": [[0, 1, 0.2], [4, 0, 0.3]]}, "2 x 2 costs, and these are 2 x"),
        (
            {"metrics": ["nce"], "score": "c", "label": "c", "score_type": "decision", "classes": [0, 1, 2]},
            "needs posteriors",
        ),
        ({"metrics": ["auc_roc"], "per_class": True}, "'auc_roc', but per_class=True has only metrics of decisions"),
        (
            {"per_class": True, "score": "v", "label": "c", "costs": [[0, 1], [1, 0], [1, 1]]},
            "3 classes and 2 decisions",
        ),
        ({"total": True}, r"total=True adds a row over all groups"),
        ({"missing": "apart"}, r"missing='apart' is none of together, by_part"),
        ({"score_prior": 0.5}, "pass prior= too, the one to"),
        ({"score_prior": 0, "prior": 0.5}, r"has a class of prior 0"),
        ({"score_prior": 2, "prior": 0.5}, r"^score_prior=2: 2 is not a share"),
        ({"score_prior": [0.5, 0.2, 0.3], "prior": 0.5}, r"has 3 shares, but there are 2"),
        ({"score_prior": "overall", "prior": 0.5}, "is not known: pass the prior that the scores were made with"),
        ({"score_prior": 0.5, "prior": 0.5, "score_type": "llr"}, "is for posteriors, but score_type='llr': leave"),
        ({"by": pl.col("g").alias("total"), "total": True}, r"by= has a column 'total'"),
        ({"by": pl.col("g").alias("class"), "per_class": True}, r"by= has a column 'class'"),
        ({"by": pl.col("g").alias("auc_roc_error"), "metrics": ["auc_roc"]}, r"by= has a column 'auc_roc_error'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_refusals(options: dict, message: str) -> None:
    asked = {"score": "p", "label": "y", **options}
    with pytest.raises((ValueError, TypeError), match=message):
        LOG.lazy().ec.report(**asked)


@pytest.mark.filterwarnings("ignore:.* null")
def test_a_report_of_no_rows_has_its_columns() -> None:
    options = {"by": "g", "metrics": ["nec", "auc_roc"], "prior": "overall", "total": True}
    assert LOG.clear().ec.report("p", "y", **options).is_empty()
    assert LOG.clear().ec.report("p", "y", **options).schema == LOG.ec.report("p", "y", **options).schema
    one = LOG.clear().ec.report("p", "y", metrics=["nec", "auc_roc"]).row(0, named=True)
    assert (one["n"], one["nec"], one["auc_roc"]) == (0, None, None)


@pytest.mark.quick("struct", "categorical", "decimal")
@pytest.mark.parametrize(
    "key",
    [
        pl.col("g").alias("p0"),
        pl.struct("g", "c"),
        pl.concat_list("c", "c").alias("pair"),
        pl.col("g").cast(pl.Categorical),
        pl.col("c").cast(pl.Decimal(10, 2)),
        pl.col("c") > 0,
    ],
    ids=["p0", "struct", "list", "categorical", "decimal", "bool"],
)
def test_ranking_metrics_find_groups_of_every_kind(key: pl.Expr) -> None:
    table = LOG.ec.report("p", "y", by=key, metrics=["auc_roc"], prior=0.2, total=True)
    exact = LOG.group_by(key).agg(ec.auc_roc("p", "y")).sort(key.meta.output_name())["p_auc_roc"].to_list()
    exact.append(LOG.select(ec.auc_roc("p", "y")).item())
    assert table.height == len(exact) > 2
    assert ((table["auc_roc"] - pl.Series(exact)).abs() <= table["auc_roc_error"] + 1e-12).all()


def test_nan_is_a_group_of_ranking_metrics() -> None:
    log = LOG.with_columns(g=pl.when(pl.col("g") == "a").then(float("nan")).when(pl.col("g") == "b").then(1.0))
    values = log.ec.report("p", "y", by="g", metrics=["auc_roc"], total=True)
    of_names = LOG.ec.report("p", "y", by="g", metrics=["auc_roc"], total=True)
    assert sorted(values["auc_roc"]) == sorted(of_names["auc_roc"])


def test_every_metric_is_asked_for_or_refused() -> None:
    known = {*DECISIONS, *OF_CLASSES, *SCORING_RULES, *ORDER_METRICS}
    assert known - set(METRICS) == {"fbeta", "net_benefit", "dcf"}


def test_thresholds_and_costs_of_rows_leave_scoring_rules_and_refuse_minima() -> None:
    log = GAPS.with_columns(
        t=pl.when(pl.col("g") == "a").then(0.3).when(pl.col("g") == "b").then(0.6), a=1 + pl.col("w")
    )
    table = log.ec.report("p", "y", by="g", metrics=["recall", "nce", "auc_roc"], threshold="t", prior=0.2)
    assert table["recall"].is_null().to_list() == [True, False, False]
    assert table["nce"].null_count() == table["auc_roc"].null_count() == 0
    part = log.filter(g="b").drop_nulls(["p", "y"])
    assert table["recall"][2] == pytest.approx(np.mean(part["p"].to_numpy()[part["y"].to_numpy()] > 0.6))
    costs = log.drop_nulls("a").ec.report("p", "y", by="g", metrics=["nec"], cost_fn="a", prior=0.2, total=True)
    used = log.drop_nulls(["a", "p", "y"])
    y, p, a = (used[name].to_numpy() for name in ("y", "p", "a"))
    missed = y & ~(p > 1 / (1 + a))
    cost = 0.2 * a[missed].sum() / y.sum() + 0.8 * np.mean(p[~y] > (1 / (1 + a))[~y])
    assert costs["nec_at_prior"][3] == pytest.approx(cost / min(0.2 * a[y].mean(), 0.8))
    with pytest.raises(ValueError, match="'min_dcf', which needs one threshold for all rows"):
        log.ec.report("p", "y", metrics=["min_dcf"], cost_fn="a")


def test_passes_over_other_tables_come_one_after_the_other() -> None:
    with duckdb.connect() as connection:
        rows = LOG.select("g", "y", "p", "llr").to_arrow()
        connection.register("log", rows)
        relation = connection.table("log")
        for score, options in (
            ("p", {"metrics": ["nec", "auc_roc"], "total": True}),
            ("llr", {"score_type": "llr", "prior": "overall"}),
        ):
            theirs = ec.report(relation, score, "y", by="g", **options)
            assert_frame_equal(theirs, LOG.ec.report(score, "y", by="g", **options), rel_tol=1e-12)
    with pytest.raises(ValueError, match="can be read only once"):
        ec.report(rows.to_reader(), "p", "y", by="g", metrics=["auc_roc"])
