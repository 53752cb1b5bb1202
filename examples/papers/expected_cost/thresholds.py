"""Section 4, Figures 1 and 2, Table 1, appendices C and D: thresholds, the costs that they stand for, and the simulated data."""

import math
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.expected_cost import PAPER
from examples.papers.expected_cost.decisions import SHARES, two_classes
from examples.papers.numbers import (
    Number,
    Rows,
    Table,
    above,
    alone,
    below,
    between,
    decided,
    lines,
    near,
    near_share,
    printed,
    value,
    values,
    whole,
)
from examples.papers.simulated import Floats, gaussian_classes, labels, log_likelihoods, log_softmax, vectors
from examples.papers.written_out import area_under_pr, area_under_roc, equal_error_rate, operating_points

COUNTS, MEANS, PRIORS = (80_000, 19_999), ((0.0,), (1.0,)), (0.8, 0.2)
VARIANCE, EASIER = 0.2, 0.06
THRESHOLDS = [round(0.1 * i, 1) for i in range(-60, 61)]
"""Log odds between which the paper looks for the best."""
COSTS_OF_A_MISS = (1, 4, 16)
_P2 = COUNTS[1] / sum(COUNTS)


@cache
def two_gaussians(variance: float) -> pl.DataFrame:
    """99,999 rows: `log_odds`, exact, and `label`; 100,000 are asked for, and counts are cut off."""
    joint = log_likelihoods(gaussian_classes(COUNTS, MEANS, variance), MEANS, variance) + np.log(PRIORS)
    return pl.DataFrame({"log_odds": joint[:, 1] - joint[:, 0], "label": labels(COUNTS)})


def _of(metric: Any, variance: float = VARIANCE, score: Any = "log_odds", **options: Any) -> float:
    return value(two_gaussians(variance), metric(score, "label", score_type="log_odds", **options))


@cache
def at_thresholds(variance: float) -> ec.Sketch:
    """The log as a sketch that knows the decisions at each of the thresholds, and is coarse elsewhere."""
    log = two_gaussians(variance)
    return ec.sketch(log, "log_odds", "label", score_type="log_odds", thresholds=THRESHOLDS, resolution=1)


@cache
def over_thresholds(variance: float) -> pl.DataFrame:
    """A row per threshold: 1 - F1, 1 - MCC, NEC for each cost of a miss, and the share of rows decided as class 2."""
    sketch = at_thresholds(variance)
    curve = sketch.cost_curve("f1", "mcc", "tp", "fp")
    costs = (*COSTS_OF_A_MISS, *(round(_equivalent(v), 1) for v in (VARIANCE, EASIER)))
    for cost in dict.fromkeys(costs):
        curve = curve.join(sketch.cost_curve("nec", cost_fn=cost).rename({"nec": f"nec_{cost:g}"}), on="threshold")
    share = (pl.col("tp") + pl.col("fp")) / sum(COUNTS)
    curve = curve.with_columns(not_f1=1 - pl.col("f1"), not_mcc=1 - pl.col("mcc"), share=share)
    return curve.filter(pl.col("threshold").is_in(THRESHOLDS)).sort("threshold")


def _equivalent(variance: float) -> float:
    return ec.equivalent_cost(at_thresholds(variance), "f1")["cost_fn"].item()


def _best(variance: float, metric: str, **options: Any) -> tuple[float, float]:
    return at_thresholds(variance).best_threshold(metric, **options).select("threshold", metric).row(0)


def _bayes(cost_fn: float) -> float:
    return ec.CostMatrix.binary(cost_fn=cost_fn).bayes_log_odds()


def same_cost(metric: str, nec: str) -> tuple[dict[str, float], dict[str, float]]:
    """The best threshold of a metric, and the one on the other side of the least NEC at which NEC is nearest to what it is there."""
    curve = over_thresholds(VARIANCE)
    best, least = (curve.row(int(curve[name].arg_min() or 0), named=True) for name in (metric, nec))
    beyond = pl.col("threshold") > least["threshold"]
    across = curve.filter(beyond if best["threshold"] < least["threshold"] else ~beyond)
    return best, across.sort((pl.col(nec) - best[nec]).abs()).row(0, named=True)


def _balanced(row: dict[str, float]) -> float:
    return row["fp"] / COUNTS[0] + 1 - row["tp"] / COUNTS[1]


@PAPER("figure-1", columns=["threshold", "NEC", "share of class 2", "1 - metric", "what is preferred"])
def thresholds_of_the_same_cost() -> Rows:
    for metric, nec, cost_fn, name in (("not_f1", "nec_1", 1, "F1"), ("not_mcc", "nec_4", 4, "MCC")):
        best, other = same_cost(metric, nec)
        if name == "F1":
            preferred = best["share"] - other["share"]
        else:
            preferred = abs(best["share"] - 0.5) - abs(other["share"] - 0.5)
        for place, row in (("best", best), ("same NEC", other)):
            cost = cost_fn * _P2 * (1 - row["tp"] / COUNTS[1]) + (1 - _P2) * row["fp"] / COUNTS[0]
            share = (row["tp"] + row["fp"]) / sum(COUNTS)
            factor = math.sqrt(_P2 * (1 - _P2) / (share * (1 - share)))
            yield (
                f"{name}, {place}",
                alone(row["threshold"], decimals=1),
                (row[nec], cost / min(cost_fn * _P2, 1 - _P2)),
                alone(share),
                (row[metric], cost / (_P2 + share) if name == "F1" else 1 - factor * (1 - _balanced(row))),
                between(preferred, 0, 1, "above 0") if place == "best" else None,
            )


def _near_bayes(threshold: float, bayes: float) -> Number:
    """The best threshold of the grid, beside the point of it that is nearest to the Bayes threshold."""
    nearest = round(bayes, 1) + 0.0
    return near(threshold, nearest, 0.1 + 1e-9, f"{nearest:.1f} +- 0.1", decimals=1)


@PAPER("section-4.1")
def best_thresholds() -> Rows:
    f1, mcc = (ec.equivalent_cost(at_thresholds(VARIANCE), name).row(0, named=True) for name in ("f1", "mcc"))
    of_mcc = THRESHOLDS[int(np.nanargmax(_mcc_over_thresholds()))]
    at_f1 = over_thresholds(VARIANCE).row(by_predicate=pl.col("threshold") == -0.6, named=True)
    nec = at_thresholds(VARIANCE).evaluate("nec", cost_fn=4, prior=0.2, threshold=-0.6)["nec"].item()
    yield "best threshold for F1", printed(f1["threshold"], "-0.60")
    yield "its cost of a miss", printed(f1["cost_fn"], "1.8")
    yield "best threshold for MCC", (mcc["threshold"], of_mcc)
    yield "its cost of a miss, e^0.3", (mcc["cost_fn"], math.exp(-of_mcc))
    yield "NEC_4 at the printed priors: R12 + R21", (nec, _balanced(at_f1))
    for cost in COSTS_OF_A_MISS:
        threshold, least = _best(VARIANCE, "nec", cost_fn=cost)
        yield f"Bayes threshold for NEC_{cost}, log(1/{cost})", (_bayes(cost), math.log(1 / cost))
        yield f"best threshold for NEC_{cost}", _near_bayes(threshold, _bayes(cost))
        # At the very Bayes threshold, which is none of the grid.
        yield f"what it saves of NEC_{cost}", between(_of(ec.nec, cost_fn=cost) - least, 0, 0.002, "about 0")


def _mcc_over_thresholds() -> Floats:
    x, is_2 = two_gaussians(VARIANCE)["log_odds"].to_numpy(), two_gaussians(VARIANCE)["label"].to_numpy() == 1
    n_1, n_2 = COUNTS
    tp, fp = (np.array([np.count_nonzero(s > t) for t in THRESHOLDS], dtype=float) for s in (x[is_2], x[~is_2]))
    with np.errstate(invalid="ignore"):
        return (tp * (n_1 - fp) - fp * (n_2 - tp)) / np.sqrt(n_1 * n_2 * (tp + fp) * (n_1 + n_2 - tp - fp))


@PAPER(
    "figure-2",
    columns=["best threshold for F1", "its cost of a miss", "Bayes threshold of that cost", "best threshold for NEC"],
)
def thresholds_of_two_sets() -> Rows:
    for name, variance, cost in (("variance 0.20", VARIANCE, "1.8"), ("0.06", EASIER, "1.0")):
        found = ec.equivalent_cost(at_thresholds(variance), "f1").row(0, named=True)
        bayes = _bayes(float(cost))
        yield (
            name,
            near(found["threshold"], bayes, 0.05, f"{bayes:.2f}, on the grid"),
            printed(found["cost_fn"], cost),
            (bayes, -math.log(float(cost))),
            _near_bayes(_best(variance, "nec", cost_fn=float(cost))[0], bayes),
        )
    yield "0.05", None, alone(_equivalent(0.05)), None, None


TEN_COUNTS = (8_000, *[222] * 9)
_TABLE_1 = """
Naive  C01 0.20 1.00  CinvP 0.90 1.00  Cimb 0.98 1.00  Cabs1 0.05 1.00 100  Cabs2 0.20 1.00 0
Argmax C01 0.06 0.32  CinvP 0.28 0.31  Cimb 0.36 0.37  Cabs1 0.06 1.29   0  Cabs2 0.06 0.32 0
Bayes  C01 0.06 0.32  CinvP 0.23 0.26  Cimb 0.08 0.08  Cabs1 0.02 0.35  25  Cabs2 0.06 0.28 7
"""
PRINTED: dict[str, dict[str, list[str]]] = {}
"""EC, NEC, and the percentage of rows that abstain where this can be, by system and cost matrix."""
for _system, *_cells in lines(_TABLE_1):
    for _cell in _cells:
        if _cell.startswith("C"):
            PRINTED.setdefault(_system, {})[_cell] = _texts = []
        else:
            _texts.append(_cell)


@cache
def costs_of_ten() -> dict[str, ec.CostMatrix]:
    """The five cost matrices."""
    important = 1 - np.eye(10)
    important[9] *= 100
    return {
        "C01": ec.CostMatrix(1 - np.eye(10)),
        "CinvP": ec.CostMatrix.balanced(SHARES),
        "Cimb": ec.CostMatrix(important),
        "Cabs1": ec.CostMatrix.zero_one(10, abstain=0.05),
        "Cabs2": ec.CostMatrix.zero_one(10, abstain=0.3),
    }


@cache
def ten_classes() -> pl.DataFrame:
    """10,000 rows, of which counts that are cut off leave 8,000 of the first class and 222 of each other; their posteriors."""
    means = tuple((float(i),) for i in range(10))
    joint = log_likelihoods(gaussian_classes(TEN_COUNTS, means, 0.2), means, 0.2) + np.log(SHARES)
    return pl.DataFrame({"label": labels(TEN_COUNTS), "posteriors": vectors(np.exp(log_softmax(joint)))})


@PAPER("table-1")
def table_1() -> Rows:
    columns, rows = [], {name: [] for name in ("Naive decision", *PRINTED)}
    for name, costs in costs_of_ten().items():
        kinds = ("EC", "NEC", "abs")[: len(PRINTED["Naive"][name])]
        columns += [f"{name} {kind}" for kind in kinds]
        rows["Naive decision"] += [_naive_decision(name), *[None] * (len(kinds) - 1)]
        decisions = {
            "Naive": pl.lit(costs.naive(SHARES)[1]),
            "Argmax": ec.bayes_decision("posteriors"),
            "Bayes": ec.bayes_decision("posteriors", costs=costs),
        }
        for system, decision in decisions.items():
            log = ten_classes().select("label", decision=decision)
            measured = [decided(log, metric, costs=costs) for metric in (ec.expected_cost, ec.nec)]
            measured.append(value(log, 100 * (pl.col("decision") == 10).mean()))
            rows[system] += [printed(*pair) for pair in zip(measured, PRINTED[system][name], strict=False)]
    return Table(columns, rows)


def _naive_decision(name: str) -> Number:
    costs = costs_of_ten()[name]
    each = np.array(SHARES) @ np.array(costs.values)
    cheapest = int((each < each.min() + 1e-12).sum())
    if name == "CinvP":
        return between(cheapest, 10, 10, "any", decimals=0)
    text, place = {"C01": ("1", 1), "Cimb": ("10", 10), "Cabs1": ("abstain", 11), "Cabs2": ("1", 1)}[name]
    return between(costs.naive(SHARES)[1] + 1 if cheapest == 1 else np.nan, place, place, text, decimals=0)


_STEP = 0.005
"""The step of the log odds of the distributions."""


@cache
def _distributions(variance: float) -> ec.Sketch:
    """The two normal classes themselves: as many rows as there are log odds, weighted by their densities."""
    log_odds = np.arange(-12, 12, _STEP)
    feature = variance * (log_odds - math.log(PRIORS[1] / PRIORS[0])) + 0.5
    joint = np.exp(log_likelihoods(feature[:, None], MEANS, variance) + np.log(PRIORS))
    columns = {"label": labels([len(log_odds)] * 2), "weight": joint.T.ravel() / joint.sum()}
    log = pl.DataFrame({"log_odds": np.tile(log_odds, 2), **columns})
    return ec.sketch(log, "log_odds", "label", score_type="log_odds", exact=True, weight="weight")


@PAPER("best-thresholds-of-f", columns=["best F-beta", "its threshold", "its cost of a miss"])
def best_thresholds_of_f() -> Rows:
    for variance in (VARIANCE, EASIER, 0.05):
        for beta in (0.5, 1.0, 2.0):
            found = ec.equivalent_cost(_distributions(variance), "fbeta", beta=beta).row(0, named=True)
            best = _distributions(variance).best_threshold("fbeta", beta=beta)["fbeta"].item()
            posterior = best / (1 + beta**2)
            log_odds = math.log(posterior / (1 - posterior))
            low, cost, high = (math.exp(-log_odds + step) for step in (-_STEP, 0, _STEP))
            yield (
                f"variance {variance:g}, beta {beta:g}",
                alone(best),
                near(found["threshold"], log_odds, _STEP, f"{log_odds:.3f} +- {_STEP}", decimals=3),
                between(found["cost_fn"], low, high, f"{cost:.2f}", decimals=2),
            )


@PAPER("costs-of-a-miss", columns=["Bayes threshold", "R21", "R12", "% above the least NEC, variance 0.20", "0.06"])
def costs_of_a_miss() -> Rows:
    before = []
    for cost in COSTS_OF_A_MISS:
        found = [_bayes(cost), _of(ec.fnr, cost_fn=cost), _of(ec.fpr, cost_fn=cost)]
        cells = [alone(x) for x in found]
        if before:
            triples = zip((below, below, above), found, before, strict=True)
            cells = [side(x, other, f"{other:.4f}") for side, x, other in triples]
        for variance in (VARIANCE, EASIER):
            percent = 100 * (_of(ec.nec, variance, cost_fn=cost) / _best(variance, "nec", cost_fn=cost)[1] - 1)
            cells.append(between(percent, -2, 2, "about 0", decimals=2))
        yield f"c21 {cost:g}", cells
        before = found


@PAPER("section-2.3", columns=["share of class 2"])
def calibrated_posteriors() -> Rows:
    log = two_gaussians(VARIANCE).with_columns(posterior=ec.posterior("log_odds", score_type="log_odds"))
    groups = log.group_by(pl.col("posterior").round(1).alias("about")).agg(
        n=pl.len(), share=pl.col("label").mean(), mean=pl.col("posterior").mean()
    )
    return {
        f"posteriors of about {about:g}: {n:,} rows": near_share(share, mean, n)
        for about, n, share, mean in groups.sort("about").iter_rows()
    }


@PAPER("appendix-c.1", columns=["systems of the same rank", "best threshold", "net benefit of the best naive system"])
def net_benefit_ranks_as_nec() -> Rows:
    thresholds = (-4.0, -2.0, -1.0, 0.0, 1.0, 3.0)
    always = [two_gaussians(VARIANCE).select("label", decision=pl.lit(k)) for k in (0, 1)]
    for p_t in (0.1, 0.3, 0.5):
        odds = p_t / (1 - p_t)
        benefits = np.array([_of(ec.net_benefit, p_t=p_t, threshold=threshold) for threshold in thresholds])
        costs = np.array([_of(ec.nec, cost_fp=odds, threshold=threshold) for threshold in thresholds])
        of_nec = _best(VARIANCE, "nec", cost_fp=odds)[0]
        best = _best(VARIANCE, "net_benefit", p_t=p_t)[0]
        naive = max(decided(log, ec.net_benefit, p_t=p_t) for log in always)
        yield (
            f"p_t {p_t:g}",
            between((np.argsort(-benefits) == np.argsort(costs)).sum(), 6, 6, "6 of 6", decimals=0),
            between(best, of_nec, of_nec, f"{of_nec:.1f}, that of NEC", decimals=1),
            (naive, _P2 - min(_P2, odds * (1 - _P2))),
        )


@PAPER("section-4.2", columns=["NEC, too sure", "calibrated", "right"])
def calibrate_then_decide() -> Rows:
    sure = vectors(log_softmax(4 * np.log(ten_classes()["posteriors"].to_numpy())))
    log = ten_classes().with_row_index("id").with_columns(sure=sure).with_columns(ec.fold("id", 5))
    calibration = ec.calibrate(log, "sure", "label", folds=5, fold_by="id", score_type="log_posteriors")
    log = log.with_columns(calibrated=calibration.apply("sure", out_of_fold=True))
    for name, costs in costs_of_ten().items():
        too_sure = value(log, ec.nec("sure", "label", costs=costs, score_type="log_posteriors"))
        calibrated, right = (value(log, ec.nec(score, "label", costs=costs)) for score in ("calibrated", "posteriors"))
        yield (
            name,
            (too_sure, right) if name == "C01" else between(too_sure, 1.05 * right, math.inf, "well above the right"),
            between(calibrated, 0.97 * right, 1.03 * right, "about the right"),
            alone(right),
        )


@PAPER("appendix-c.3")
def areas_and_equal_error_rate() -> Rows:
    log = two_classes()
    points = operating_points(log["log_odds"].to_numpy(), log["label"].to_numpy())
    for name, score in (("of log odds", "log_odds"), ("of their cube, as raw scores", pl.col("log_odds") ** 3)):
        of_roc, of_pr, eer = (
            value(log, metric(score, "label", score_type="raw", **options))
            for metric, options in ((ec.auc_roc, {}), (ec.average_precision, {}), (ec.eer, {"method": "linear"}))
        )
        yield f"area under ROC {name}", (of_roc, area_under_roc(*points))
        yield f"area under PR {name}", (of_pr, area_under_pr(*points, log["label"].to_numpy().mean()))
        yield f"equal error rate {name}", (eer, equal_error_rate(*points))


@PAPER("eer-bound")
def eer_bound() -> Rows:
    eer, shifted = _of(ec.eer), pl.col("log_odds") + 3
    bound = min(eer, _P2, 1 - _P2)
    of_shifted = _of(ec.error_rate, score=shifted)
    yield "error rate", between(_of(ec.error_rate), 0, bound, f"at most {bound:.4f}")
    yield "error rate where 3 is added to the log odds", between(of_shifted, bound, 1, f"above {bound:.4f}")
    yield "what EER changes by", (_of(ec.eer, score=shifted) - eer, 0.0)


@PAPER("appendix-d")
def simulated_data() -> Rows:
    two, ten = two_gaussians(VARIANCE), ten_classes()
    # Log odds are a straight line in the feature, which so can be had back from them.
    feature = VARIANCE * (two["log_odds"].to_numpy() - np.log(PRIORS[1] / PRIORS[0])) + 0.5
    first, second = (feature[two["label"].to_numpy() == label] for label in (0, 1))
    yield "rows of the first of two classes", whole(len(first), 80_000)
    yield "rows of the second", whole(len(second), 19_999)
    yield "rows of the first of ten classes", whole((ten["label"] == 0).sum(), 8_000)
    yield "mean of class 1", printed(first.mean(), "0.0")
    yield "mean of class 2", printed(second.mean(), "1.0")
    yield "variance of class 1", printed(first.var(), "0.20")


@PAPER("equation-30")
def posteriors_from_likelihoods() -> Rows:
    variance, priors = 0.5, [2 / 3, 1 / 3]
    x = two_classes()["log_odds"].to_numpy() * variance + 0.5 + variance * np.log(2)
    likelihoods = np.exp(log_likelihoods(x[:, None], ((0.0,), (1.0,)), variance))
    joint = likelihoods * np.array(priors)
    expected = joint / joint.sum(axis=1, keepdims=True)
    log = pl.DataFrame({"log_likelihoods": vectors(np.log(likelihoods))})
    found = values(log, ec.posterior("log_likelihoods", prior=priors, score_type="log_likelihoods"))
    yield "posterior of class 2, mean", (found[:, 1].mean(), expected[:, 1].mean())
    yield "largest difference of a posterior", (np.abs(found - expected).max(), 0.0)
