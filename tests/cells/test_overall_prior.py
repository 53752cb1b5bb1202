"""prior="overall": the shares of the classes in the whole sketch, of each model and class against the rest for itself."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec

RANDOM = np.random.default_rng(8)
N = 400
LOG = pl.DataFrame(
    {
        "id": range(N),
        "g": RANDOM.choice(["x", "y", "z"], N, p=[0.6, 0.3, 0.1]),
        "y": RANDOM.random(N) < 0.25,
        "a": RANDOM.random(N).round(2),
        "b": RANDOM.random(N).round(2),
        "w": RANDOM.integers(1, 4, N).astype(float),
        "v": RANDOM.dirichlet([1, 1, 1], N),
        "c": RANDOM.choice(3, N, p=[0.2, 0.3, 0.5]),
    },
    schema_overrides={"v": pl.Array(pl.Float64, 3)},
).with_columns(b=pl.when(~pl.col("y") | (pl.col("id") % 3 == 0)).then("b"))


def share(mask: str, weight: str | None = None) -> float:
    """The share of class 1 where the mask is not null, by NumPy."""
    y = LOG["y"].to_numpy()
    used = LOG[mask].is_not_null().to_numpy()
    w = np.ones(N) if weight is None else LOG[weight].to_numpy()
    return float(w[used & y].sum() / w[used].sum())


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("exact", [True, False])
def test_it_is_the_share_in_all_groups_together(weight: str | None, exact: bool) -> None:
    sketch = LOG.ec.sketch("a", "y", by="g", weight=weight, exact=exact)
    found = sketch.evaluate("precision", "nec", "cross_entropy", "average_precision", prior="overall")
    pi = share("a", weight)
    for row in found.iter_rows(named=True):
        of_group = LOG.filter(g=row["g"])
        y, decided = of_group["y"].to_numpy(), of_group["a"].to_numpy() > 0.5
        w = np.ones(len(y)) if weight is None else of_group["w"].to_numpy()
        tpr, fpr = w[y & decided].sum() / w[y].sum(), w[~y & decided].sum() / w[~y].sum()
        assert row["class_prior"] == pytest.approx(w[y].sum() / w.sum(), rel=1e-12)
        assert row["precision"] == pytest.approx(pi * tpr / (pi * tpr + (1 - pi) * fpr), rel=1e-12)
        assert row["nec"] == pytest.approx((pi * (1 - tpr) + (1 - pi) * fpr) / min(pi, 1 - pi), rel=1e-12)
    assert_frame_equal(
        found, sketch.evaluate("precision", "nec", "cross_entropy", "average_precision", prior=pi), rel_tol=1e-12
    )


def test_each_model_and_target_has_its_own() -> None:
    models = LOG.ec.sketch(["a", "b"], "y", by="g").evaluate("precision", prior="overall")
    assert share("a") != pytest.approx(share("b"), rel=0.1)
    for name in ("a", "b"):
        single = LOG.ec.sketch(name, "y", by="g").evaluate("precision", prior=share(name))
        assert_frame_equal(models.filter(score=name).drop("score"), single, rel_tol=1e-12)
    sketches = {score: LOG.ec.sketch(score, "y", by="g") for score in ("a", "b")}
    together = LOG.ec.sketch(["a", "b"], "y", by="g").calibrate(prior="overall")
    assert together.prior is None
    for name, single in sketches.items():
        alone = single.calibrate(prior="overall")
        assert alone.prior == pytest.approx(share(name), rel=1e-12)
        assert_frame_equal(together.frame.filter(score=name).drop("score"), alone.frame, rel_tol=1e-9)
    targets = LOG.ec.sketch("v", "c", by="g").evaluate("precision", prior="overall")
    shares = LOG["c"].value_counts(normalize=True).rows_by_key("c", named=True, unique=True)
    for k in range(3):
        one = LOG.ec.sketch(pl.col("v").arr.get(k), pl.col("c") == k, by="g")
        expected = one.evaluate("precision", prior=shares[k]["proportion"])
        assert_frame_equal(targets.filter(target=k).drop("target"), expected, rel_tol=1e-12)


def test_whatever_takes_a_prior_takes_it() -> None:
    sketch, pi = LOG.ec.sketch("a", "y", by="g", folds=2, fold_by="id"), share("a")
    rolled = sketch.group_by("g")
    for found, expected in (
        (rolled.cost_curve("nec", prior="overall"), rolled.cost_curve("nec", prior=pi)),
        (rolled.best_threshold("f1", prior="overall"), rolled.best_threshold("f1", prior=pi)),
        (rolled.pr(prior="overall"), rolled.pr(prior=pi)),
        (rolled.prg(prior="overall"), rolled.prg(prior=pi)),
        (ec.equivalent_cost(rolled, "f1", prior="overall"), ec.equivalent_cost(rolled, "f1", prior=pi)),
        (sketch.calibrate(prior="overall").frame, sketch.calibrate(prior=pi).frame),
        (sketch.calibration_loss(prior="overall"), sketch.calibration_loss(prior=pi)),
    ):
        assert_frame_equal(found, expected, rel_tol=1e-9)


def test_llrs_decide_by_it_where_it_is_one_number() -> None:
    log = LOG.with_columns(pl.col("a", "b") * 4 - 2)
    pi = share("a")
    threshold = -math.log(pi / (1 - pi))
    sketch = log.ec.sketch("a", "y", by="g", score_type="llr", thresholds=[threshold])
    found = sketch.evaluate("nec", "cross_entropy", prior="overall")
    assert_frame_equal(found, sketch.evaluate("nec", "cross_entropy", prior=pi), rel_tol=1e-12)
    models = log.ec.sketch(["a", "b"], "y", by="g", score_type="llr")
    with pytest.raises(ValueError, match="depends on the prior: pass prior= as a number, or threshold="):
        models.evaluate("nec", prior="overall")
    assert models.evaluate("nec", prior="overall", threshold=0.0).height == 6
    by_itself = models.filter(pl.col("score") == "b").evaluate("cross_entropy", prior=share("b"))
    assert_frame_equal(models.evaluate("cross_entropy", prior="overall").filter(score="b"), by_itself, rel_tol=1e-12)


def test_there_is_none_of_wrong_rows_or_no_rows() -> None:
    wrong = LOG.with_columns(a=pl.when(pl.col("id") == LOG.filter(g="x")["id"][0]).then(2.0).otherwise("a"))
    found = wrong.ec.sketch(["a", "b"], "y", by="g").evaluate("nec", prior="overall")
    assert found.filter(score="a")["nec"].to_list() == [None] * 3
    assert found.filter(score="b")["nec"].null_count() == 0
    own = wrong.ec.sketch("a", "y", by="g").evaluate("nec")
    assert own["nec"].is_null().to_list() == [True, False, False]
    empty = LOG.with_columns(y=pl.lit(None, dtype=pl.Boolean)).ec.sketch("a", "y", by="g")
    assert empty.evaluate("nec", prior="overall")["nec"].to_list() == [None] * 3
