"""Values that other implementations computed, on real score sets, and the same quantities on data made here.

The tests of made data check the same quantities against plain NumPy, written here and nowhere else.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.cases import mostly_slow
from tests.support.doors import DOORS, evaluate
from tests.support.reference import BINARY, MULTICLASS, SCALE, expected_of, log_of, with_scales

COSTS = ("C01", "Cab", "Cimb")
# The namespace goes through the streaming engine, so that both engines see every value.
ENGINES = {"function": "eager", "namespace": "streaming", "sql": "eager"}


def close(expected: float) -> Any:
    return pytest.approx(expected, rel=1e-9, abs=0)


# That doors agree is what the tests of properties prove.
@pytest.fixture(params=mostly_slow(DOORS, ["function"]))
def metric(request):
    """A metric through each door: metric(name, frame, score, **keywords)."""

    def call(name: str, frame: pl.DataFrame, score: str, **keywords: Any) -> Any:
        return evaluate(request.param, name, frame, score, engine=ENGINES[request.param], **keywords)

    return call


def cost_matrix(name: str, n_classes: int) -> ec.CostMatrix:
    if name == "Cab":
        return ec.CostMatrix.zero_one(n_classes, abstain=0.1)
    costs = 1 - np.eye(n_classes)
    if name == "Cimb":
        costs[-1] *= 10
    return ec.CostMatrix(costs)


def moved(metric: Any, frame: pl.DataFrame, empirical: list[float], target: list[float]) -> pl.DataFrame:
    """The frame with its log posteriors at the target prior, as the door moves them."""
    scores = metric("shift_prior", frame, "log_posteriors", from_=empirical, to=target, score_type="log_posteriors")
    return frame.with_columns(pl.Series("moved", scores, dtype=pl.Array(pl.Float64, len(target))))


@pytest.mark.parametrize("name", [*BINARY, *MULTICLASS])
@pytest.mark.parametrize("costs_name", mostly_slow(COSTS, ["Cab", "Cimb"]))
class TestRisk:
    """Blocks `risk` of the reference: costs of decisions, at the data's priors and at others."""

    @pytest.mark.quick("function-Cab-p*", "function-Cab-*4shot", "function-Cimb-*gpt2")
    def test_bayes_decisions(self, metric, name, costs_name):
        reference, frame = expected_of(name), log_of(name)
        expected, target = reference["risk"][costs_name]["bayes"], reference["target_priors"]
        costs = cost_matrix(costs_name, reference["K"])
        options = {"costs": costs, "score_type": "log_posteriors"}
        assert metric("confusion", frame, "log_posteriors", **options) == expected["confusion"]
        assert metric("expected_cost", frame, "log_posteriors", **options) == close(expected["empirical"]["EC"])
        value = metric("bayes_risk", frame, "log_posteriors", prior=target, **options)
        assert value == close(expected["target"]["EC"])
        options = {"costs": costs, "score_type": SCALE[name]}
        assert metric("nec", frame, SCALE[name], **options) == close(expected["empirical"]["NEC"])
        assert metric("nec", frame, SCALE[name], prior=target, **options) == close(expected["target"]["NEC"])

    @pytest.mark.quick("function-Cab-p*", "function-Cab-sst2_gpt2", "function-Cimb-*4shot", "function-Cimb-e*")
    def test_bayes_decisions_from_posteriors_moved_to_the_target_prior(self, metric, name, costs_name):
        reference, frame = expected_of(name), log_of(name)
        expected, target = reference["risk"][costs_name]["bayes_reweighted_to_target"], reference["target_priors"]
        frame = moved(metric, frame, reference["empirical_priors"], target)
        costs = cost_matrix(costs_name, reference["K"])
        # Two ways to the same decisions: move the posteriors, or state the prior of likelihoods.
        options = {"costs": costs, "score_type": "log_posteriors", "prior": target}
        assert metric("confusion", frame, "moved", **options) == expected["confusion"]
        assert metric("expected_cost", frame, "moved", **options) == close(expected["target"]["EC"])
        options = {"costs": costs, "score_type": "log_likelihoods", "prior": target}
        assert metric("confusion", frame, "log_likelihoods", **options) == expected["confusion"]
        assert metric("nec", frame, "log_likelihoods", **options) == close(expected["target"]["NEC"])

    def test_argmax_decisions(self, metric, name, costs_name):
        reference, frame = expected_of(name), log_of(name)
        expected, target = reference["risk"][costs_name]["argmax"], reference["target_priors"]
        decisions = metric("bayes_decision", frame, "log_posteriors", score_type="log_posteriors")
        frame = frame.with_columns(pl.Series("decision", decisions, dtype=pl.Int32))
        options = {"costs": cost_matrix(costs_name, reference["K"]), "score_type": "decision"}
        if "confusion" in expected:
            assert metric("confusion", frame, "decision", **options) == expected["confusion"]
        for priors, prior in (("empirical", None), ("target", target)):
            expected_cost = metric("expected_cost", frame, "decision", prior=prior, **options)
            assert expected_cost == close(expected[priors]["EC"])
            assert metric("nec", frame, "decision", prior=prior, **options) == close(expected[priors]["NEC"])

    def test_naive(self, name, costs_name):
        reference = expected_of(name)
        for priors in ("empirical", "target"):
            cost, decision = cost_matrix(costs_name, reference["K"]).naive(reference[f"{priors}_priors"])
            expected = reference["risk"][costs_name]["naive"][priors]
            assert cost == close(expected["cost"])
            # Where all classes are equally frequent their order in the last digit is rounding, the reference's and ours.
            costs = np.array(reference[f"{priors}_priors"]) @ np.array(cost_matrix(costs_name, reference["K"]))
            assert {decision, expected["decision"]} <= set(np.flatnonzero(np.isclose(costs, cost, rtol=1e-12)))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("costs_name", COSTS)
@pytest.mark.parametrize("score", ["posterior", "log_odds"])
def test_bayes_decisions_from_one_number(metric, name, costs_name, score):
    expected = expected_of(name)["risk"][costs_name]["bayes"]
    options = {"costs": cost_matrix(costs_name, 2), "score_type": score}
    decisions = metric("bayes_decision", log_of(name), score, **options)
    table = counted(log_of(name)["label"].to_numpy(), decisions, np.shape(expected["confusion"]))
    assert table.tolist() == expected["confusion"]


@pytest.mark.parametrize("name", [*BINARY, *MULTICLASS])
def test_counts_and_class_prior(metric, name):
    reference, frame = expected_of(name), log_of(name)
    options = {"score_type": "log_posteriors"}
    assert metric("n_rows", frame, "log_posteriors", **options) == reference["n"]
    assert metric("n_missing", frame, "log_posteriors", **options) == 0
    assert metric("n_invalid", frame, "log_posteriors", **options) == 0
    if reference["K"] == 2:
        prior = metric("class_prior", frame, "log_odds", score_type="log_odds")
        assert [1 - prior, prior] == close(reference["empirical_priors"])
    else:
        assert metric("class_prior", frame, "log_posteriors", **options) == close(reference["empirical_priors"])


@pytest.mark.parametrize(
    ("name", "n_classes", "n_rows", "prior"),
    [("sst2_gpt2", 2, 1821, 0.5), ("agnews_gpt2", 4, 7600, 0.25), ("cifar10_resnet-20", 10, 10000, 0.10)],
)
def test_sizes_that_the_paper_prints(name, n_classes, n_rows, prior):
    """Ferrer and Ramos, "Evaluating posterior probabilities", Table 3."""
    frame = log_of(name)
    assert evaluate("function", "n_rows", frame, "posteriors") == n_rows
    priors = evaluate("function", "class_prior", frame, "posteriors")
    priors = [1 - priors, priors] if n_classes == 2 else priors
    assert np.round(priors, 2).tolist() == [prior] * n_classes


class TestScoringRules:
    """Block `epsr` of the reference."""

    METRICS = (("cross_entropy", "CE"), ("nce", "NCE"), ("brier", "Brier"), ("nbs", "NBS"))
    NORMALISED = (("nce", "NCE"), ("nbs", "NBS"))

    @pytest.mark.parametrize("name", [*BINARY, *MULTICLASS])
    @pytest.mark.parametrize("priors", ["empirical", "target"])
    def test_posteriors_as_they_are(self, metric, name, priors):
        reference, frame = expected_of(name), log_of(name)
        prior = None if priors == "empirical" else reference["target_priors"]
        for metric_name, key in self.METRICS:
            value = metric(metric_name, frame, SCALE[name], prior=prior, score_type=SCALE[name])
            assert value == close(reference["epsr"][priors][key])

    @pytest.mark.parametrize("name", [*BINARY, *MULTICLASS])
    def test_posteriors_moved_to_the_target_prior(self, metric, name):
        reference, frame = expected_of(name), log_of(name)
        target, expected = reference["target_priors"], reference["epsr"]["target_reweighted_posteriors"]
        frame = moved(metric, frame, reference["empirical_priors"], target)
        likelihoods = "llr" if reference["K"] == 2 else "log_likelihoods"
        scores = {"moved": "log_posteriors", likelihoods: likelihoods}
        for score, score_type in scores.items():
            # The other two are the normalised ones times what depends on the prior alone.
            for metric_name, key in self.METRICS if score == "moved" else self.NORMALISED:
                value = metric(metric_name, frame, score, prior=target, score_type=score_type)
                assert value == close(expected[key])

    @pytest.mark.quick("function-sst2_gpt2")
    @pytest.mark.parametrize("name", BINARY)
    def test_beta_family(self, metric, name):
        reference, frame = expected_of(name), log_of(name)
        for priors, prior in (("empirical", None), ("target", reference["target_priors"])):
            expected = reference["epsr"][priors]
            options = {"prior": prior, "score_type": "log_odds"}
            assert metric("epsr", frame, "log_odds", **options) == close(expected["CE"])
            assert metric("epsr", frame, "log_odds", a=2.0, b=2.0, **options) == close(3 * expected["Brier"])


@pytest.mark.parametrize("name", BINARY)
class TestBinary:
    """Blocks of the reference that are for two classes."""

    # The decisions at posterior 1/2, said on three scales and left to the Bayes rule for equal costs.
    AT_ONE_HALF = (
        ("posterior", {"threshold": 0.5}),
        ("log_odds", {"threshold": 0, "score_type": "log_odds"}),
        ("log_odds", {"score_type": "log_odds"}),
        ("log_posteriors", {"score_type": "log_posteriors"}),
    )

    @pytest.mark.parametrize(("score", "options"), AT_ONE_HALF)
    def test_counts_at_threshold_one_half(self, metric, name, score, options):
        frame, expected = log_of(name), expected_of(name)["binary"]["at_threshold_0.5"]
        cells = [[expected["TN"], expected["FP"]], [expected["FN"], expected["TP"]]]
        assert metric("confusion", frame, score, **options) == cells

    def test_at_threshold_one_half(self, metric, name):
        frame, expected = log_of(name), expected_of(name)["binary"]["at_threshold_0.5"]
        score, options = self.AT_ONE_HALF[0]
        for metric_name, key in (
            ("accuracy", "accuracy"),
            ("balanced_accuracy", "balanced_accuracy"),
            ("precision", "precision"),
            ("recall", "recall"),
            ("specificity", "specificity"),
            ("f1", "F1"),
            ("mcc", "MCC"),
            ("lr_plus", "LR_plus"),
        ):
            assert metric(metric_name, frame, score, **options) == close(float(expected[key])), metric_name
        assert metric("fbeta", frame, score, beta=2, **options) == close(expected["F2"])
        assert metric("error_rate", frame, score, **options) == close(1 - expected["accuracy"])
        assert metric("balanced_error_rate", frame, score, **options) == close(1 - expected["balanced_accuracy"])

    def test_net_benefit(self, metric, name):
        frame, expected = log_of(name), expected_of(name)["binary"]["net_benefit_pt_0.2"]
        costs = [[0, 0.2 / 0.8], [1, 0]]
        (_, fp), (_, tp) = metric("confusion", frame, "posterior", threshold=0.2)
        assert (tp, fp) == (expected["TP"], expected["FP"])
        assert metric("net_benefit", frame, "posterior", p_t=0.2) == close(expected["net_benefit"])
        value = metric("net_benefit", frame, "log_odds", p_t=0.2, score_type="log_odds")
        assert value == close(expected["net_benefit"])
        value = metric("net_benefit", frame, "posterior", p_t=0.2, threshold=0.5)
        assert value == close(expected["net_benefit_of_0_5_decisions"])
        value = metric("net_benefit", frame, "posterior", p_t=0.2, threshold=-1)
        assert value == close(expected["net_benefit_treat_all"])
        assert metric("expected_cost", frame, "posterior", costs=costs) == close(expected["EC"])
        assert metric("nec", frame, "posterior", costs=costs) == close(expected["NEC"])
        assert metric("nec", frame, "posterior", cost_fn=1, cost_fp=0.25) == close(expected["NEC"])

    def test_cllr(self, metric, name):
        frame, reference = log_of(name), expected_of(name)
        expected = close(reference["binary"]["Cllr"])
        assert metric("cllr", frame, "llr", score_type="llr") == expected
        assert metric("nce", frame, "llr", score_type="llr", prior="uniform") == expected
        llr = metric("llr", frame, "log_odds", prior=reference["empirical_priors"], score_type="log_odds")
        assert llr == pytest.approx(frame["llr"].to_list(), rel=1e-12, abs=1e-12)

    @pytest.mark.parametrize("prior", ["0.01", "0.1", "0.5"])
    def test_dcf(self, metric, name, prior):
        frame, expected = log_of(name), expected_of(name)["binary"]["DCF"][prior]
        options = {"prior": float(prior), "score_type": "llr"}
        assert metric("dcf", frame, "llr", **options) == close(expected["DCF"])
        assert metric("nec", frame, "llr", **options) == close(expected["DCF"])
        assert metric("dcf", frame, "llr", threshold=expected["threshold"], **options) == close(expected["DCF"])
        assert metric("expected_cost", frame, "llr", **options) == close(expected["DCF_unnormalised"])
        assert metric("fnr", frame, "llr", **options) == close(expected["P_miss"])
        assert metric("fpr", frame, "llr", **options) == close(expected["P_fa"])

    @pytest.mark.parametrize("prior", [None, "0.5", "0.1", "0.01"])
    def test_calibrated_precision_and_f1(self, metric, name, prior):
        frame, expected = log_of(name), expected_of(name)["binary"]["calibrated"][prior or "uncalibrated"]
        options = {"threshold": 0.5, "prior": None if prior is None else float(prior)}
        assert metric("precision", frame, "posterior", **options) == close(expected["precision_at_0_5"])
        assert metric("f1", frame, "posterior", **options) == close(expected["F1_at_0_5"])


@pytest.mark.quick("function-pneumoniamnist_resnet50", "function-agnews_gpt2")
@pytest.mark.parametrize("name", [*BINARY, *MULTICLASS])
def test_calibration_error(metric, name):
    """Block `ece` of the reference, which is in percent."""
    expected, frame = expected_of(name)["ece"], log_of(name)
    options = {"bins": expected["bins"]}
    for score in {SCALE[name], "posteriors"}:
        assert 100 * metric("ece_mc", frame, score, score_type=score, **options) == close(expected["ECEmc"])
    if "ECE" in expected:
        for score in ("posterior", "log_odds", "posteriors"):
            assert 100 * metric("ece", frame, score, score_type=score, **options) == close(expected["ECE"])
            assert 100 * metric("ece_mc", frame, score, score_type=score, **options) == close(expected["ECEmc"])


# Data made here ------------------------------------------------------------------------------------------------------


@cache
def made(n_classes: int) -> tuple[pl.DataFrame, np.ndarray, np.ndarray, list[float]]:
    """Overconfident posteriors of unbalanced classes: the log, labels, log posteriors and class shares."""
    generator = np.random.default_rng(20)
    counts = [900, 300, 120][:n_classes]
    label = np.repeat(np.arange(n_classes), counts)
    features = generator.normal(size=(len(label), n_classes)) + 1.2 * np.eye(n_classes)[label]
    scores = 1.8 * features + 0.4 * np.arange(n_classes)
    log_posteriors = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    shares = [count / sum(counts) for count in counts]
    frame = with_scales(pl.Series(label, dtype=pl.Int16), log_posteriors, shares)
    return frame, label, log_posteriors, shares


def counted(label: np.ndarray, decisions: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    table = np.zeros(shape, dtype=int)
    for i, j in zip(label, decisions, strict=True):
        table[i, j] += 1
    return table


@pytest.mark.parametrize(
    ("n_classes", "costs_name", "move"),
    mostly_slow(
        product([2, 3], COSTS, [False, True]),
        [*((n, "Cab", move) for n in (2, 3) for move in (False, True)), (2, "Cimb", True), (3, "C01", False)],
    ),
)
def test_made_risk(metric, n_classes, costs_name, move):
    frame, label, log_posteriors, shares = made(n_classes)
    target = list(np.arange(n_classes, 0, -1) / (n_classes * (n_classes + 1) / 2))
    matrix = cost_matrix(costs_name, n_classes)
    costs, q = np.array(matrix), np.exp(log_posteriors)
    score, score_type = "posteriors", "posteriors"
    if move:
        q = q * (np.array(target) / shares)
        q = q / q.sum(axis=1, keepdims=True)
        score, score_type = "log_likelihoods", "log_likelihoods"
        frame = moved(metric, frame, shares, target)
        again = {"costs": matrix, "prior": target, "score_type": "log_posteriors"}
    table = counted(label, (q @ costs).argmin(axis=1), costs.shape)
    rates = table / table.sum(axis=1, keepdims=True)
    options = {"costs": matrix, "score_type": score_type}
    for prior in (target,) if move else (None, target):
        weights = np.array(shares if prior is None else prior)
        expected_cost = (weights[:, None] * rates * costs).sum()
        normaliser = (weights @ costs).min()
        assert metric("confusion", frame, score, prior=prior, **options) == table.tolist()
        assert metric("expected_cost", frame, score, prior=prior, **options) == close(expected_cost)
        assert metric("bayes_risk", frame, score, prior=prior, **options) == close(expected_cost)
        assert metric("nec", frame, score, prior=prior, **options) == close(expected_cost / normaliser)
        if move:
            assert metric("confusion", frame, "moved", **again) == table.tolist()
            assert metric("nec", frame, "moved", **again) == close(expected_cost / normaliser)
    assert matrix.naive(target) == (close((target @ costs).min()), (target @ costs).argmin())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("costs_name", COSTS)
def test_made_argmax_decisions(metric, n_classes, costs_name):
    frame, label, log_posteriors, shares = made(n_classes)
    costs = np.array(cost_matrix(costs_name, n_classes))
    decisions = log_posteriors.argmax(axis=1)
    assert metric("bayes_decision", frame, "posteriors", score_type="posteriors") == decisions.tolist()
    frame = frame.with_columns(decision=pl.Series(decisions))
    rates = counted(label, decisions, costs.shape) / np.bincount(label)[:, None]
    expected_cost = (np.array(shares)[:, None] * rates * costs).sum()
    options = {"costs": costs.tolist(), "score_type": "decision"}
    assert metric("expected_cost", frame, "decision", **options) == close(expected_cost)
    assert metric("nec", frame, "decision", **options) == close(expected_cost / (shares @ costs).min())


@pytest.mark.quick("function-empirical-3", "function-target-2", "function-target_reweighted_posteriors-3")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("version", ["empirical", "target", "target_reweighted_posteriors"])
def test_made_scoring_rules(metric, n_classes, version):
    frame, label, log_posteriors, shares = made(n_classes)
    target = list(np.arange(n_classes, 0, -1) / (n_classes * (n_classes + 1) / 2))
    q, prior = np.exp(log_posteriors), None if version == "empirical" else target
    scores = {"posteriors": "posteriors", "log_posteriors": "log_posteriors"}
    if n_classes == 2:
        scores |= {"posterior": "posterior", "log_odds": "log_odds"}
    if version == "target_reweighted_posteriors":
        q = q * (np.array(target) / shares)
        q = q / q.sum(axis=1, keepdims=True)
        frame = moved(metric, frame, shares, target)
        scores = {"moved": "log_posteriors", "log_likelihoods": "log_likelihoods"}
        if n_classes == 2:
            scores |= {"llr": "llr"}
    weights = np.array(shares if prior is None else prior)
    of_row = weights[label] / np.bincount(label)[label]
    cross_entropy = (of_row * -np.log(q[np.arange(len(label)), label])).sum()
    brier = (of_row * ((q - np.eye(n_classes)[label]) ** 2).mean(axis=1)).sum()
    spread = (weights * (1 - weights)).sum() / n_classes
    for score, score_type in scores.items():
        options = {"prior": prior, "score_type": score_type}
        if score in ("posteriors", "moved"):
            assert metric("cross_entropy", frame, score, **options) == close(cross_entropy)
            assert metric("brier", frame, score, **options) == close(brier)
        assert metric("nce", frame, score, **options) == close(cross_entropy / -(weights * np.log(weights)).sum())
        assert metric("nbs", frame, score, **options) == close(brier / spread)
        if n_classes == 2 and score in ("posterior", "log_odds", "llr"):
            assert metric("epsr", frame, score, **options) == close(cross_entropy)
            assert metric("epsr", frame, score, a=2.0, b=2.0, **options) == close(3 * brier)


@pytest.mark.parametrize("p_t", [0.2, 0.7])
def test_made_decisions_at_a_threshold(metric, p_t):
    frame, label, log_posteriors, shares = made(2)
    positive = np.exp(log_posteriors[:, 1]) > p_t
    tn, fp = (~positive[label == 0]).sum(), positive[label == 0].sum()
    fn, tp = (~positive[label == 1]).sum(), positive[label == 1].sum()
    n = len(label)
    root = np.sqrt(float(tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    expected = {
        "accuracy": (tp + tn) / n,
        "error_rate": (fp + fn) / n,
        "balanced_accuracy": (tp / (tp + fn) + tn / (tn + fp)) / 2,
        "balanced_error_rate": (fn / (tp + fn) + fp / (tn + fp)) / 2,
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "specificity": tn / (tn + fp),
        "fpr": fp / (tn + fp),
        "fnr": fn / (tp + fn),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "mcc": (tp * tn - fp * fn) / root,
        "lr_plus": tp / (tp + fn) / (fp / (tn + fp)),
        "lr_minus": fn / (tp + fn) / (tn / (tn + fp)),
    }
    assert metric("confusion", frame, "posterior", threshold=p_t) == [[tn, fp], [fn, tp]]
    for name, value in expected.items():
        assert metric(name, frame, "posterior", threshold=p_t) == close(value), name
    f2 = 5 * tp / (5 * tp + 4 * fn + fp)
    assert metric("fbeta", frame, "posterior", beta=2, threshold=p_t) == close(f2)
    net_benefit = tp / n - p_t / (1 - p_t) * fp / n
    assert metric("net_benefit", frame, "posterior", p_t=p_t) == close(net_benefit)
    assert metric("net_benefit", frame, "log_odds", p_t=p_t, score_type="log_odds") == close(net_benefit)
    assert metric("class_prior", frame, "posterior") == close(shares[1])
    for prior in (0.5, 0.1, 0.01):
        r = shares[1] * (1 - prior) / (prior * shares[0])
        precision, recall = tp / (tp + r * fp), tp / (tp + fn)
        options = {"threshold": p_t, "prior": prior}
        assert metric("precision", frame, "posterior", **options) == close(precision)
        assert metric("f1", frame, "posterior", **options) == close(2 * precision * recall / (precision + recall))


@pytest.mark.parametrize(("prior", "cost_fn", "cost_fp"), [(0.01, 1, 1), (0.1, 1, 1), (0.5, 1, 1), (0.1, 3, 8)])
def test_made_detection_cost(metric, prior, cost_fn, cost_fp):
    frame, label, *_ = made(2)
    llr = frame["llr"].to_numpy()
    effective = prior * cost_fn / (prior * cost_fn + (1 - prior) * cost_fp)
    positive = llr > -np.log(effective / (1 - effective))
    miss, false_alarm = (~positive[label == 1]).mean(), positive[label == 0].mean()
    cost = prior * cost_fn * miss + (1 - prior) * cost_fp * false_alarm
    expected = cost / min(prior * cost_fn, (1 - prior) * cost_fp)
    options = {"prior": prior, "cost_fn": cost_fn, "cost_fp": cost_fp, "score_type": "llr"}
    assert metric("dcf", frame, "llr", **options) == close(expected)
    assert metric("nec", frame, "llr", **options) == close(expected)
    assert metric("expected_cost", frame, "llr", **options) == close(cost)
    assert metric("fnr", frame, "llr", **options) == close(miss)
    assert metric("fpr", frame, "llr", **options) == close(false_alarm)


def test_made_cllr(metric):
    frame, label, *_ = made(2)
    llr = frame["llr"].to_numpy()
    expected = (np.log2(1 + np.exp(-llr[label == 1])).mean() + np.log2(1 + np.exp(llr[label == 0])).mean()) / 2
    assert metric("cllr", frame, "llr", score_type="llr") == close(expected)
    assert metric("nce", frame, "llr", score_type="llr", prior=0.5) == close(expected)
