"""Limits of the parts of a change: against the delta method written out, bootstraps, and simulated logs whose truth is known."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit

import polars_ec as ec  # noqa: F401  (registers the namespace)
from tests.support.cases import mostly_slow

FACTORS = ("mix", "prior", "likelihood")
METRICS = ["nec", "nce", "precision", "f1"]


def made_log(
    seed: int,
    groups: int,
    rows: int,
    strata: int,
    users: int = 40,
    alike: float = 0.8,
    worse: float = 0.0,
    more: float = 0.0,
) -> pl.DataFrame:
    """Periods 0 and 1 of groups alike, whose users are in both: in the latter scores are `worse` and positives `more`, in log-odds."""
    rng = np.random.default_rng(seed)
    n = groups * rows * 2
    group, period = np.repeat(np.arange(groups), 2 * rows), np.tile(np.repeat([0, 1], rows), groups)
    place = np.minimum(rng.integers(0, strata, n), rng.integers(0, strata, n))
    user = group * users + rng.integers(0, users, n)
    y = rng.random(n) < expit(-1.5 + 2 * place / strata + more * period)
    z = np.where(y, 1.0, -1.0) * (1.2 + 0.5 * place / strata - worse * period) - 0.5 + rng.standard_normal(n)
    z = z + alike * rng.standard_normal(groups * users)[user]
    return pl.DataFrame({"group": group, "t": period, "place": place, "user": user, "y": y, "p": expit(2 * z)})


def half_width(table: pl.DataFrame, factor: str) -> np.ndarray:
    return (table[f"{factor}_ci_high"] - table[f"{factor}_ci_low"]).to_numpy() / 2


def of_rows(table: pl.DataFrame, strata: int) -> np.ndarray:
    """(rows, strata x classes x numbers): of a row 1, whether it is decided positive, and its loss, in the place of its stratum and class."""
    y, p = table["y"].to_numpy(), table["p"].to_numpy()
    numbers = np.stack([np.ones(len(y)), p > 0.5, -np.log(np.where(y, p, 1 - p))], axis=-1)
    made = np.zeros((len(y), strata, 2, 3))
    made[np.arange(len(y)), table["place"].to_numpy() if strata > 1 else 0, y.astype(int)] = numbers
    return made.reshape(len(y), -1)


def battery(sums: np.ndarray) -> np.ndarray:
    """METRICS, (..., metrics), of sums by class and number."""
    n, n1 = sums[..., 0].sum(axis=-1), sums[..., 1, 0]
    p, tp, fp = n1 / n, sums[..., 1, 1], sums[..., 0, 1]
    error = (n1 - tp + fp) / n
    nce = sums[..., 2].sum(axis=-1) / n / -(p * np.log(p) + (1 - p) * np.log(1 - p))
    return np.stack([error / np.minimum(p, 1 - p), nce, tp / (tp + fp), 2 * tp / (tp + fp + n1)], axis=-1)


def parts(reference: np.ndarray, period: np.ndarray) -> dict[str, np.ndarray]:
    """Shapley parts of METRICS from sums, (draws, strata, classes, numbers), all of which have rows: order by order."""
    shares = [s[..., 0].sum(-1) / s[..., 0].sum((-1, -2))[..., None] for s in (reference, period)]
    priors = [s[..., 0] / s[..., 0].sum(-1)[..., None] for s in (reference, period)]
    means = [s / s[..., :1] for s in (reference, period)]

    def value(mix: int, prior: int, likelihood: int) -> np.ndarray:
        of_class = shares[mix][..., None] * priors[prior]
        return battery((of_class[..., None] * means[likelihood]).sum(axis=-3))

    found = {factor: np.zeros(0) for factor in FACTORS}
    for order in permutations(FACTORS):
        moved = dict.fromkeys(FACTORS, 0)
        before = value(**moved)
        for factor in order:
            moved[factor] = 1
            after = value(**moved)
            found[factor] = found[factor] + (after - before) / 6 if found[factor].size else (after - before) / 6
            before = after
    return found


@pytest.mark.quick("3-user")
@pytest.mark.parametrize(("strata", "cluster"), mostly_slow(product([1, 3], [None, "user"]), [(1, None), (3, "user")]))
def test_limits_against_a_bootstrap(strata: int, cluster: str | None) -> None:
    users = 150
    log = made_log(4, 1, 1200, strata, users=users, alike=1.2, worse=0.4, more=0.5)
    rng = np.random.default_rng(1)
    unit, n_units = (log["user"].to_numpy(), users) if cluster else (np.arange(log.height), log.height)
    # Users are drawn, and with them what they have in both periods.
    w = rng.multinomial(n_units, [1 / n_units] * n_units, size=1500)[:, unit].astype(float)
    in_period = [log["t"].to_numpy() == t for t in (0, 1)]
    made = of_rows(log, strata)
    sums = [(w[:, mask] @ made[mask]).reshape(-1, strata, 2, 3) for mask in in_period]
    drawn = parts(*sums)
    found = log.ec.drift(
        "p",
        "y",
        period="t",
        mix="place" if strata > 1 else (),
        metrics=METRICS,
        cluster=cluster,
        buckets=1000 if cluster else 100,
    )
    for factor in FACTORS[strata == 1 :]:
        # Half of the width is t times the standard error, whose own is 2 percent of 1,500 draws.
        expected = drawn[factor].std(axis=0)
        assert half_width(found, factor) / 1.98 == pytest.approx(expected, rel=0.15 if cluster else 0.13), factor
    if cluster:
        # As if users of the two periods were others.
        apart = log.with_columns(user=pl.col("user") + 10**6 * pl.col("t")).ec.drift(
            "p", "y", period="t", metrics=METRICS, cluster="user", buckets=1000
        )
        whole = log.ec.drift("p", "y", period="t", metrics=METRICS, cluster="user", buckets=1000)
        assert (half_width(whole, "likelihood")[:2] < 0.95 * half_width(apart, "likelihood")[:2]).all()


def test_limits_of_two_parts_of_a_loss_are_those_of_the_delta_method() -> None:
    log = made_log(5, 1, 150, 1, worse=0.5, more=0.7)
    found = log.ec.drift("p", "y", period="t", metrics=["cross_entropy"]).row(0, named=True)
    sides = []
    for t in (0, 1):
        y, p = (log.filter(t=t)[name].to_numpy() for name in "yp")
        loss = -np.log(np.where(y, p, 1 - p))
        sides.append((y.mean(), len(y), [loss[~y], loss[y]]))
    (p0, _, l0), (p1, _, l1) = sides
    mean = [[of.mean() for of in losses] for losses in (l0, l1)]
    # With two factors a part is the change of one at the mean of the other's values.
    gap = (mean[0][1] + mean[1][1] - mean[0][0] - mean[1][0]) / 2
    assert found["prior"] == pytest.approx((p1 - p0) * gap, rel=1e-9)
    middle = (p0 + p1) / 2
    moved = (mean[1][1] - mean[0][1]) * middle + (mean[1][0] - mean[0][0]) * (1 - middle)
    assert found["likelihood"] == pytest.approx(moved, rel=1e-9)
    of_prior = {"prior": gap, "likelihood": (mean[1][1] - mean[0][1] - mean[1][0] + mean[0][0]) / 2}
    of_means = {"prior": (-(p1 - p0) / 2, (p1 - p0) / 2), "likelihood": (1 - middle, middle)}
    for factor in ("prior", "likelihood"):
        variances, terms = [], []
        for share, n, losses in sides:
            between = of_prior[factor] ** 2 * share * (1 - share) / n
            within = [c**2 * of.var(ddof=1) / len(of) for c, of in zip(of_means[factor], losses, strict=True)]
            variance = between + sum(within)
            df = variance**2 / (
                between**2 / (n - 1) + sum(v**2 / (len(of) - 1) for v, of in zip(within, losses, strict=True))
            )
            variances.append(variance)
            terms.append(variance**2 / df)
        half = stats.t.ppf(0.975, sum(variances) ** 2 / sum(terms)) * np.sqrt(sum(variances))
        ends = [found[f"{factor}_ci_{end}"] for end in ("low", "high")]
        assert ends == pytest.approx([found[factor] - half, found[factor] + half], rel=1e-6)


def covered(found: pl.DataFrame, factor: str) -> float:
    """How often 0 is inside, of limits that there are."""
    known = found.drop_nulls(f"{factor}_ci_low")
    assert known.height > 0.98 * found.height
    return known.select(pl.lit(0).is_between(f"{factor}_ci_low", f"{factor}_ci_high").mean()).item()


MOVES = {"prior": {"more": 0.6}, "likelihood": {"worse": 0.4}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moves", "cluster"),
    mostly_slow([(m, c) for m in MOVES for c in (None, "user")], [("prior", None), ("likelihood", "user")]),
)
def test_what_does_not_move_is_inside_as_often_as_stated(moves: str, cluster: str | None) -> None:
    log = made_log(6, 250, 700, 3, **MOVES[moves])
    if cluster is None:
        log = log.with_columns(p=pl.col("p").shuffle(seed=1).over("group", "t", "place", "y"))
    found = log.ec.drift("p", "y", period="t", by="group", mix="place", metrics=METRICS, cluster=cluster)
    for metric in METRICS:
        of_metric = found.filter(metric=metric)
        for factor in FACTORS:
            # What hangs on the prior alike in both classes moves by a product of noise alone, and limits are wide.
            if factor != moves and (factor != "prior" or metric in ("precision", "f1")):
                # 250 groups: a Monte Carlo error of 1.4 percent.
                assert 0.93 - 0.03 < covered(of_metric, factor) < 0.975 + 0.025, (metric, factor)
        # What moves is found in most groups.
        if metric in ("precision", "f1"):
            assert covered(of_metric, moves) < 0.5, metric


@pytest.mark.slow
def test_limits_are_as_wide_as_parts_vary_where_strata_are_small() -> None:
    log = made_log(7, 400, 300, 30, alike=0, worse=0.3, more=0.2)
    found = log.ec.drift("p", "y", period="t", by="group", mix="place", metrics=["error_rate", "nce"])
    for metric in ("error_rate", "nce"):
        of_metric = found.filter(metric=metric)
        for factor in FACTORS:
            errors = half_width(of_metric.drop_nulls(f"{factor}_ci_low"), factor) / 1.97
            ratio = np.sqrt((errors**2).mean()) / of_metric[factor].std()
            # 400 groups: a Monte Carlo error of 4 percent; with each class's n / (n - 1), and not each stratum's, it is 0.91.
            assert 0.93 < ratio < 1.4, (metric, factor)


@pytest.mark.quick("user")
@pytest.mark.parametrize("cluster", [None, "user"])
def test_strata_that_tell_too_little_have_no_limits(cluster: str | None) -> None:
    log = made_log(8, 1, 400, 3)
    each = log.with_row_index("row").with_columns(place=pl.col("row") // 4 + 1000 * pl.col("t") * (pl.col("row") % 2))
    call: dict[str, Any] = {"period": "t", "mix": "place", "metrics": ["nce"], "cluster": cluster}
    known = log.ec.drift("p", "y", **call).row(0, named=True)
    assert None not in known.values()
    # Four rows a stratum, half of which are in one period alone; and a stratum for each period.
    for strata in (
        each,
        log.with_columns(place="t")[["place", "t", "user", "y", "p"]].with_columns(place=pl.col("t") + 1),
    ):
        found = strata.ec.drift("p", "y", **call).row(0, named=True)
        assert [found[f"{factor}_ci_low"] for factor in FACTORS] == [None] * 3
        assert found["difference_ci_low"] == pytest.approx(known["difference_ci_low"], rel=1e-9)
        assert sum(found[factor] for factor in FACTORS) == pytest.approx(known["difference"], abs=1e-14)
    # A stratum of each user, who is in both periods.
    if cluster is not None:
        found = log.with_columns(place="user").ec.drift("p", "y", **call).row(0, named=True)
        assert [found[f"{factor}_ci_high"] for factor in FACTORS] == [None] * 3


@pytest.mark.quick("*user*")
@pytest.mark.parametrize("cluster", [None, "user"])
@pytest.mark.parametrize("few", ["period", "reference"])
def test_few_rows_of_a_stratum_do_not_tell_of_many(few: str, cluster: str | None) -> None:
    # A stratum of a few percent in one period and of half in the other: with 5 rows of a class 0.55 to 0.85 of the limits held the truth.
    log = made_log(10, 1, 2000, 1, users=200, more=1.5).with_row_index("i")
    tiny = pl.col("t") == (1 if few == "period" else 0)
    call: dict[str, Any] = {"period": "t", "mix": "place", "metrics": ["error_rate", "nce"], "cluster": cluster}

    def limits(place: pl.Expr) -> list[bool]:
        found = log.with_columns(place=place).ec.drift("p", "y", **call)
        assert found["difference_ci_low"].null_count() == 0
        return [found[f"{factor}_ci_low"].is_null().all() for factor in FACTORS]

    in_class = pl.int_range(pl.len()).over("t", "y")
    half = (pl.col("i") % 2).cast(pl.Int64)
    assert limits(pl.when(tiny).then((in_class < 6).cast(pl.Int64)).otherwise(half)) == [True] * 3
    assert limits(pl.when(tiny).then((in_class < 60).cast(pl.Int64)).otherwise(half)) == [False] * 3
    # Ten rows without positives do not tell that there are none.
    only_negative = (in_class < 10) & ~pl.col("y")
    assert limits(pl.when(tiny).then(only_negative.cast(pl.Int64)).otherwise(half)) == [True] * 3
    # Few of a class in all strata are what they are: its share grows, and that of no stratum.
    log = log.filter(~pl.col("y") | (pl.col("t") == 1) | (in_class < 14))
    assert limits((pl.col("i") % 2).cast(pl.Int64)) == [False] * 3


def test_limits_of_the_mix_are_as_wide_as_it_varies_where_a_stratum_has_few_rows() -> None:
    rng = np.random.default_rng(11)
    groups, rows = 300, 600
    group, t = np.repeat(np.arange(groups), 2 * rows), np.tile(np.repeat([0, 1], rows), groups)
    place = rng.random(len(t)) < np.where(t == 1, 0.06, 0.015)
    y = rng.random(len(t)) < 0.4
    z = np.where(y, 1.0, -1.0) * (1 - 0.7 * place) + rng.standard_normal(len(t))
    log = pl.DataFrame({"group": group, "t": t, "place": place, "y": y, "p": expit(2 * z)})
    found = log.ec.drift("p", "y", period="t", by="group", mix="place", metrics=["error_rate"])
    known = found.drop_nulls("mix_ci_low")
    assert known.height > 0.65 * groups
    errors = half_width(known, "mix") / 1.97
    # 200 groups: a Monte Carlo error of 5 percent; with each class's n / (n - 1), and not each stratum's, it is 0.87.
    assert 0.93 < np.sqrt((errors**2).mean()) / known["mix"].std() < 1.2


def test_rates_of_0_have_limits() -> None:
    log = made_log(9, 1, 300, 2, users=60)
    never = log.with_columns(p=pl.when(pl.col("y") & (pl.col("t") == 0)).then(0.1).otherwise("p"))
    for cluster in (None, "user"):
        found = never.ec.drift("p", "y", period="t", metrics=["recall"], cluster=cluster).row(0, named=True)
        assert found["value_reference"] == 0
        assert found["likelihood_ci_low"] < found["likelihood"] < found["likelihood_ci_high"]
        ends = [found[f"difference_ci_{end}"] for end in ("low", "high")]
        # Recall does not hang on the prior, so that all of the difference is this part.
        assert [found["likelihood_ci_low"], found["likelihood_ci_high"]] == pytest.approx(ends, rel=0.03)
    constant = log.with_columns(p=pl.lit(0.1))
    for cluster, mix in product((None, "user"), ((), "place")):
        call: dict[str, Any] = {"metrics": ["error_rate", "fpr", "recall"], "cluster": cluster, "mix": mix}
        found = constant.ec.drift("p", "y", period="t", **call)
        # All that the error rate is seen to vary with is the prior; but decisions of other rows may differ.
        assert found["likelihood"].to_numpy() == pytest.approx(0, abs=1e-15)
        assert (found["likelihood_ci_low"] < -1e-3).all()
        assert (found["likelihood_ci_high"] > 1e-3).all()
        if not mix:
            assert found["prior_ci_high"][1:].to_list() == pytest.approx([0, 0], abs=1e-9)
    alike = log.with_columns(p=pl.when("y").then(0.1).otherwise("p"))
    found = alike.ec.drift("p", "y", period="t", metrics=["recall", "nce"], mix="place")
    assert found["likelihood"][0] == 0
    assert found["likelihood_ci_low"][0] < 0 < found["likelihood_ci_high"][0]
    same_loss = log.with_columns(p=pl.lit(0.3)).ec.drift("p", "y", period="t", metrics=["nce"], mix="place")
    assert same_loss["likelihood"].to_list() == pytest.approx([0.0], abs=1e-14)


@pytest.mark.quick("u-*")
@pytest.mark.parametrize("mix", [[], ["c"]])
@pytest.mark.parametrize("cluster", [None, "u"])
def test_losses_that_are_all_alike_have_no_limits(mix: list[str], cluster: str | None) -> None:
    rng = np.random.default_rng(0)
    log = pl.DataFrame({"t": rng.integers(1, 5, 3000), "c": rng.integers(0, 4, 3000), "u": rng.integers(0, 200, 3000)})
    log = log.with_columns(y=pl.Series(rng.random(3000) < 0.3), p=pl.lit(0.1), w=pl.Series(rng.exponential(size=3000)))
    parts = log.ec.drift("p", "y", period="t", mix=mix, metrics=["nce"], cluster=cluster, weight="w")
    assert parts["likelihood"].abs().max() < 1e-12
    assert parts["likelihood_ci_low"].null_count() == parts.height
    assert parts["difference_ci_low"].null_count() == parts["prior_ci_low"].null_count() == 0
