"""The highest scores of each period, against every choice among ties written out in plain NumPy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import polars_ec as ec

RNG = np.random.default_rng(5)
N = 60
LOG = pl.DataFrame(
    {
        "g": RNG.choice(["a", "b"], N),
        "day": RNG.integers(0, 4, N),
        "p": RNG.integers(0, 6, N) / 5,
        "y": RNG.random(N) < 0.4,
        "w": RNG.choice([0, 1, 2, 3], N),
    }
)
COSTS = np.array([[0.5, 2.0], [5.0, 1.0]])
METRICS = ("precision", "recall", "lift", "expected_cost", "nec")
NUMBERS = ("n", "n_missing", "n_invalid", "tied")


def hits_of(scores: np.ndarray, labels: np.ndarray, k: int) -> float:
    """The mean number of positives among the k highest scores, over every choice among equal ones."""
    if k >= len(scores):
        return float(labels.sum())
    cut = np.sort(scores)[::-1][k - 1] if k else math.inf
    sure, tied = labels[scores > cut].sum(), labels[scores == cut]
    choices = list(itertools.combinations(tied, k - int((scores > cut).sum()))) if k else [()]
    return float(sure + np.mean([sum(chosen) for chosen in choices]))


def expected_hits(scores: np.ndarray, labels: np.ndarray, size: float) -> tuple[float, float]:
    """Positives and rows among the highest scores; a fraction of a row is the chance that it is taken."""
    size = min(size, len(scores))
    whole, rest = int(size + 1e-9), size - int(size + 1e-9)
    hits = hits_of(scores, labels, whole)
    if rest > 1e-9:
        hits += rest * (hits_of(scores, labels, whole + 1) - hits)
    return hits, size


def expected(periods: list[pl.DataFrame], k: int | None, share: float | None, prior: float | None) -> dict[str, float]:
    sums = np.zeros(4)
    for rows in periods:
        s, y = rows["p"].to_numpy(), rows["y"].to_numpy()
        sums += (
            *expected_hits(s, y, len(s) * share if k is None and share is not None else float(k or 0)),
            len(y),
            y.sum(),
        )
    hits, selected, n, positives = sums
    tpr, fpr = hits / positives, (selected - hits) / (n - positives)
    p1 = positives / n if prior is None else prior
    (c00, c01), (c10, c11) = COSTS
    cost = p1 * (c11 * tpr + c10 * (1 - tpr)) + (1 - p1) * (c01 * fpr + c00 * (1 - fpr))
    naive = min(p1 * c10 + (1 - p1) * c00, p1 * c11 + (1 - p1) * c01)
    alarms = p1 * tpr + (1 - p1) * fpr
    values = {"precision": p1 * tpr / alarms, "recall": tpr, "lift": tpr / alarms, "expected_cost": cost}
    return {"n": n, "class_prior": positives / n, "selected": selected, **values, "nec": cost / naive}


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("period", [None, "day"])
@pytest.mark.parametrize(
    ("k", "share", "prior"), [(1, None, None), (4, None, 0.2), (99, None, None), (None, 0.25, None), (None, 1, 0.7)]
)
def test_every_choice_among_ties(
    k: int | None, share: float | None, prior: float | None, period: str | None, weight: str | None
) -> None:
    """A row of weight w counts as w rows."""
    call: dict[str, Any] = {
        "k": k,
        "share": share,
        "period": period,
        "by": "g",
        "costs": COSTS.tolist(),
        "prior": prior,
    }
    found = LOG.ec.capacity("p", "y", weight=weight, **call)
    lazy = ec.capacity(LOG.lazy(), "p", "y", weight=weight, **call)
    for engine in ("streaming", "in-memory"):
        assert_frame_equal(lazy.collect(engine=engine), found, rel_tol=1e-12, abs_tol=1e-14)
    as_rows = LOG if weight is None else LOG.select(pl.all().repeat_by("w").explode()).drop_nulls()
    for row in found.to_dicts():
        group = as_rows.filter(g=row["g"])
        truth = expected(group.partition_by(period) if period else [group], k, share, prior)
        assert row["n"] == LOG.filter(g=row["g"]).height
        for name in [*truth][1:]:
            assert row[name] == pytest.approx(truth[name], rel=1e-11, abs=1e-13), name


def selected(rows: pl.DataFrame, k: int) -> np.ndarray:
    """The probability of each row to be selected: 1 above the cut, and at the cut what is left over the rows there."""
    scores = rows["p"].to_numpy()
    above = np.array([(scores > score).sum() for score in scores])
    return np.clip((k - above) / np.array([(scores == score).sum() for score in scores]), 0, 1)


@pytest.mark.parametrize("prior", [None, 0.2])
def test_costs_by_row_are_expected_over_the_choice_among_ties(prior: float | None) -> None:
    log = LOG.with_columns(amount=pl.int_range(pl.len()) % 7 * 3.5)
    call: dict[str, Any] = {"k": 3, "period": "day", "by": "g", "cost_fp": 2, "prior": prior}
    found = log.ec.capacity("p", "y", cost_fn="amount", **call)
    lazy = log.lazy().ec.capacity("p", "y", cost_fn=pl.col("amount"), **call)
    for engine in ("streaming", "in-memory"):
        assert_frame_equal(lazy.collect(engine=engine), found, rel_tol=1e-12)
    for row in found.to_dicts():
        days = log.filter(g=row["g"]).partition_by("day")
        chosen, rows = np.concatenate([selected(day, 3) for day in days]), pl.concat(days)
        y, cost = rows["y"].to_numpy(), np.where(rows["y"], rows["amount"], 2.0)
        share = y.mean() if prior is None else prior
        weight = np.where(y, share / y.sum(), (1 - share) / (~y).sum())
        lost = (weight * cost * np.where(y, 1 - chosen, chosen)).sum()
        naive = min((weight * cost)[y].sum(), (weight * cost)[~y].sum())
        assert (row["expected_cost"], row["nec"]) == pytest.approx((lost, lost / naive), rel=1e-12)
        assert row["precision"] == pytest.approx((weight * chosen)[y].sum() / (weight * chosen).sum(), rel=1e-12)
    assert_frame_equal(
        log.ec.capacity("p", "y", cost_fn=pl.lit(4.0), **call),
        log.ec.capacity("p", "y", cost_fn=4, **call),
        rel_tol=1e-12,
    )
    # Rows of weight 2 and 0 are two rows and none; the overall prior is that of the log.
    weighted = log.ec.capacity("p", "y", cost_fn="amount", weight="w", **call)
    as_rows = log.select(pl.all().repeat_by("w").explode()).drop_nulls().ec.capacity("p", "y", cost_fn="amount", **call)
    assert_frame_equal(weighted.drop(NUMBERS), as_rows.drop(NUMBERS), rel_tol=1e-12)
    overall = log.ec.capacity("p", "y", cost_fn="amount", **call | {"prior": "overall"})
    assert_frame_equal(
        overall, log.ec.capacity("p", "y", cost_fn="amount", **call | {"prior": log["y"].mean()}), rel_tol=1e-9
    )


@pytest.mark.parametrize("cost", [None, -1.0, math.nan, math.inf])
def test_a_row_without_its_cost_leaves_its_group_without_values(cost: float | None) -> None:
    log = LOG.with_row_index("i").with_columns(amount=pl.when(pl.col("i") == 7).then(pl.lit(cost)).otherwise(2.0))
    call: dict[str, Any] = {"k": 3, "period": pl.col("i") % 6, "by": "g", "cost_fn": "amount", "interval": 0.9}
    with pytest.warns(
        UserWarning, match="capacity of 'p' is null in groups with invalid rows: cost_fn is null, .* in 1 of"
    ):
        found = log.ec.capacity("p", "y", **call)
    with pytest.warns(UserWarning, match="See the columns n, n_missing and n_invalid"):
        assert_frame_equal(
            ec.capacity(log.with_columns(i=log["i"] % 6).to_arrow().to_reader(), "p", "y", **call), found
        )
    for row in found.to_dicts():
        values = [value for name, value in row.items() if name in METRICS or "_ci_" in name]
        assert [value is None for value in values] == [row["g"] == LOG["g"][7]] * len(values)


def test_several_models_select_their_own_rows() -> None:
    log = LOG.with_columns(q=1 - pl.col("p"), week=pl.int_range(pl.len()) % 6)
    call: dict[str, Any] = {"k": 3, "period": "week", "by": "g", "cost_fn": 4, "interval": 0.9}
    found = log.ec.capacity(["q", "p"], "y", **call)
    assert found.select("g", "score").rows() == [(g, model) for g in ("a", "b") for model in ("q", "p")]
    for model in ("p", "q"):
        assert_frame_equal(found.filter(score=model).drop("score"), log.ec.capacity(model, "y", **call), rel_tol=1e-12)
    assert_frame_equal(log.lazy().ec.capacity(["q", "p"], "y", **call).collect(), found, rel_tol=1e-12)


def test_ties_and_the_cut_are_told() -> None:
    log = pl.DataFrame({"p": [0.9, 0.7, 0.7, 0.7, 0.1], "y": [1, 1, 0, 0, 1], "w": [1.0, 0.0, 1.0, 1.0, 1.0]})
    told = ("selected", "tied", "threshold")
    shown = {k: log.ec.capacity("p", "y", k=k).select(told).row(0) for k in (1, 2, 4, 9)}
    assert shown == {1: (1, 0, 0.9), 2: (2, 3, 0.7), 4: (4, 0, 0.7), 9: (5, 0, 0.1)}
    assert log.ec.capacity("p", "y", share=0.4).select(told).row(0) == (2, 3, 0.7)
    assert log.ec.capacity("p", "y", share=0.1).select(told).row(0) == (0.5, 1, 0.9)
    assert log.ec.capacity("p", "y", k=2, weight="w").select(told).row(0) == (2, 3, 0.7)
    # 0.1 of 30 rows is 3.0000000000000004 rows, which is no chance for a fourth one.
    thirty = pl.DataFrame({"p": np.arange(30) / 30, "y": np.arange(30) % 2})
    assert thirty.ec.capacity("p", "y", share=0.1).select(told).row(0) == (pytest.approx(3), 0, 0.9)


def test_intervals_come_from_the_differences_between_the_periods() -> None:
    rng = np.random.default_rng(3)
    n_days, size, k = 40, 50, 8
    log = pl.DataFrame({"day": np.repeat(np.arange(1, n_days + 1), size), "s": rng.permutation(n_days * size) / 2000})
    log = log.with_columns(y=pl.lit(rng.random(log.height)) < pl.col("s") * (0.5 + pl.col("day") % 5 / 10))
    chosen = log.with_columns(d=pl.col("s").rank(descending=True).over("day") <= k)
    decided: dict[str, Any] = {"score_type": "decision", "cluster": "day", "interval": 0.9, "cost_fn": 3, "prior": 0.3}
    metrics = ["precision", "recall", "expected_cost", "nec"]
    named = log.with_columns(day=pl.date(2024, 1, 1) + pl.duration(days="day"))
    for other, prior in ((log, 0.3), (named, None)):
        found = other.ec.capacity("s", "y", k=k, period="day", cost_fn=3, prior=prior, interval=0.9)
        expected = chosen.ec.report("d", "y", metrics=metrics, **decided | {"prior": prior})
        for name in metrics:
            of = f"{name}_at_prior" if prior is not None and name != "recall" else name
            for end in ("", "_ci_low", "_ci_high"):
                assert found[f"{name}{end}"].item() == pytest.approx(expected[f"{of}{end}"].item(), rel=1e-10), name
    # In plain NumPy, of the sums of each bucket of days, on the logit scale, and on the scale of the logarithm.
    taken = {"hits": pl.col("y") & pl.col("d"), "n": "d", "positives": "y", "rows": pl.lit(value=True)}
    sums = chosen.with_columns(**taken).group_by(b=ec.bucket("day", 100)).agg(pl.col(*taken).cast(pl.Float64).sum())
    hits, n, positives, rows = sums.select(*taken).to_numpy().T
    p, quantile = hits.sum() / n.sum(), stats.t.ppf(0.95, n.sum() ** 2 / (n**2).sum() - 1)
    precision = hits / hits.sum() - n / n.sum()
    for of, psi in (
        ("precision", precision / (1 - p)),
        ("lift", precision - positives / positives.sum() + rows / rows.sum()),
    ):
        half = quantile * math.sqrt(len(n) / (len(n) - 1) * (psi**2).sum())
        low, high = found.select(f"{of}_ci_low", f"{of}_ci_high").row(0)
        width = math.log(high / low) if of == "lift" else math.log(high / (1 - high) * (1 - low) / low)
        assert width / 2 == pytest.approx(half, rel=0.03)
    assert found["lift_ci_low"].item() < found["lift"].item() < found["lift_ci_high"].item()
    # With the base rate stated, lift is precision over that.
    at_prior = log.ec.capacity("s", "y", k=k, period="day", prior=0.3, interval=0.9)
    for end in ("", "_ci_low", "_ci_high"):
        assert at_prior[f"lift{end}"].item() == pytest.approx(at_prior[f"precision{end}"].item() / 0.3, rel=1e-12)
    few = log.filter(pl.col("day") < 5).ec.capacity("s", "y", k=k, period="day", interval=0.9)
    bounds = [f"{name}_ci_low" for name in METRICS]
    assert few.select("precision", *bounds).null_count().row(0) == (0, *(1,) * 5)
    by = log.with_columns(g=pl.lit("a")).ec.capacity("s", "y", k=k, period="day", by="g", cost_fn=3, interval=0.9)
    assert_frame_equal(by.drop("g"), found, rel_tol=1e-12)


def test_rows_that_say_nothing() -> None:
    """Late rows are no candidates; an invalid row makes a group null; a class without rows leaves what needs it null."""
    rows = [(g, p, y) for g in ("right", "late", "wrong") for p, y in ((0.9, 1), (0.6, 0), (0.3, 1), (0.1, 0))]
    rows += [("late", 0.95, None), ("late", None, 1), ("wrong", math.nan, 0), ("one", 0.9, 0), (None, 0.9, 1)]
    log = pl.DataFrame(rows, schema=["g", "p", "y"], orient="row")
    with pytest.warns(UserWarning, match="posterior is NaN or outside .* in 1 of"):
        found = log.ec.capacity("p", "y", k=2, by="g")
    assert found["g"].to_list() == [None, "late", "one", "right", "wrong"]
    of = {row.pop("g"): row for row in found.to_dicts()}
    assert {name: of["late"][name] for name in ("n_missing", "n", "precision", "threshold")} == {
        "n_missing": 2,
        "n": 4,
        "precision": 0.5,
        "threshold": 0.6,
    }
    assert {**of["late"], "n_missing": 0} == of["right"]
    wrong = {name: value for name, value in of["wrong"].items() if value is not None}
    assert wrong == {"n": 4, "n_missing": 0, "n_invalid": 1}
    assert (of["one"]["precision"], of["one"]["recall"], of["one"]["lift"], of["one"]["nec"]) == (0, None, None, None)
    assert (of[None]["precision"], of[None]["recall"]) == (1, 1)
    empty = log.head(0).ec.capacity("p", "y", k=2, by="g")
    assert empty.schema == found.schema
    # No positive is selected, and no negative counts.
    assert log.filter(g="right").ec.capacity(-pl.col("p"), "y", k=1, prior=1.0, score_type="raw")["lift"].item() is None


def test_scores_labels_and_priors_of_every_kind() -> None:
    expected = LOG.ec.capacity("p", "y", k=3, by="g", prior=0.2, cost_fn=4).drop("threshold")
    log = LOG.with_columns(
        text=pl.when("y").then(pl.lit("bad")).otherwise(pl.lit("ok")), x=(pl.col("p") - 0.4) * 9, s=pl.lit(0.2)
    )
    costs = ec.CostMatrix([[0, 4], [1, 0]], classes=["bad", "ok"], decisions=["bad", "ok"])
    for call in (
        {"score": 100 * pl.col("p"), "score_type": "percent", "cost_fn": 4},
        {"score": "x", "score_type": "raw", "cost_fn": 4},
        {"score": "x", "score_type": "llr", "cost_fn": 4},
        {"score": "p", "label": "text", "pos_label": "bad", "cost_fn": 4},
        {"score": "p", "label": "text", "classes": ["ok", "bad"], "costs": costs, "prior": {"bad": 0.2, "ok": 0.8}},
        {"score": "p", "prior": pl.col("s"), "cost_fn": 4},
    ):
        found = log.ec.capacity(**{"label": "y", "k": 3, "by": "g", "prior": 0.2, **call}).drop("threshold")
        assert_frame_equal(found, expected, rel_tol=1e-12)
    overall = LOG.ec.capacity("p", "y", share=0.2, by="g", prior="overall")
    assert_frame_equal(overall, LOG.ec.capacity("p", "y", share=0.2, by="g", prior=LOG["y"].mean()), rel_tol=1e-9)
    assert LOG.ec.capacity("p", "y", k=2, prior=pl.col("w") / 9)["precision"].item() is None


@pytest.mark.parametrize("prior", [None, 0.1])
def test_the_gains_of_a_sketch(prior: float | None) -> None:
    sketch = LOG.ec.sketch("p", "y", by="g", exact=True)
    for row in sketch.gains(prior=prior).to_dicts():
        group = LOG.filter(g=row["g"])
        y, above = group["y"].to_numpy(), group["p"].to_numpy() > row["threshold"]
        p1 = y.mean() if prior is None else prior
        share = p1 * above[y].mean() + (1 - p1) * above[~y].mean()
        assert row["share"] == pytest.approx(share, abs=1e-15)
        assert row["recall"] == pytest.approx(above[y].mean(), abs=1e-15)
        assert row["lift"] == (pytest.approx(above[y].mean() / share) if share else None)
    # At the shares of the curve, it is what a capacity of this share has.
    (row,) = sketch.gains().filter(pl.col("g") == "a", pl.col("share").is_between(0.1, 0.6)).head(1).to_dicts()
    taken = LOG.filter(g="a").ec.capacity("p", "y", share=row["share"]).row(0, named=True)
    assert (taken["recall"], taken["lift"], taken["tied"]) == (
        pytest.approx(row["recall"]),
        pytest.approx(row["lift"]),
        0,
    )


def test_the_bounds_of_the_gains() -> None:
    """With independent rows the share is a proportion of n rows."""
    log = pl.DataFrame({"p": RNG.random(400)}).with_columns(y=pl.col("p") > pl.lit(RNG.random(400)))
    sketch = log.ec.sketch("p", "y", exact=True)
    found = sketch.gains(interval=0.95)
    middle = found.filter(pl.col("share").is_between(0.2, 0.8))
    share, low, high = middle.select("share", "share_ci_low", "share_ci_high").to_numpy().T
    assert np.abs((high - low) / (2 * 1.96 * np.sqrt(share * (1 - share) / 400)) - 1).max() < 0.05
    assert found["share_ci_low"].min() >= 0
    assert found["share_ci_high"].max() <= 1
    row = found.row(390, named=True)
    (of_rows,) = log.ec.report(
        "p", "y", threshold=row["threshold"], metrics=["decision_share"], interval=0.95
    ).to_dicts()
    for end in ("", "_ci_low", "_ci_high"):
        assert row[f"share{end}"] == pytest.approx(of_rows[f"decision_share{end}"], rel=1e-9)
    bounds = [f"recall_ci_{end}" for end in ("low", "high")]
    assert found.select(bounds).equals(sketch.pr(interval=0.95).select(bounds))


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({}, ValueError, "pass either k="),
        ({"k": 3, "share": 0.1}, ValueError, "pass either k="),
        ({"k": 0}, ValueError, "k=0 is not a whole number from 1"),
        ({"k": 2.5}, ValueError, r"k=2\.5 is not a whole number"),
        ({"share": 0}, ValueError, "share=0 is not above 0 and at most 1"),
        ({"share": 5}, ValueError, "share=5 is not above 0 and at most 1"),
        (
            {"k": 3, "by": pl.col("g").alias("lift")},
            ValueError,
            "by= has a column 'lift', which is also a column of the result",
        ),
        ({"k": 3, "period": ["day", "g"]}, TypeError, "period="),
        ({"k": 3, "score": pl.concat_arr("p", "p")}, TypeError, "capacity is for one number per row"),
        ({"k": 3, "score": "y", "score_type": "decision"}, TypeError, "capacity is for one number per row"),
        ({"k": 3, "costs": [[0, 1, 0.5], [1, 0, 0.5]]}, ValueError, "capacity makes 2 decisions, but costs= has 3"),
        ({"k": 3, "interval": 0.95}, ValueError, r"interval=0\.95 needs period="),
        ({"k": 3, "interval": 95, "period": "day"}, ValueError, r"interval=95 .*pass 0\.95"),
        ({"k": 3, "threshold": 0.5}, TypeError, "no keyword threshold="),
        ({"k": 3, "label": "g"}, TypeError, "label 'g' is String"),
    ],
)
def test_misuse_says_what_to_do(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        LOG.lazy().ec.capacity(**{"score": "p", "label": "y", **options})
