"""Drift: values and parts against a row by row account in NumPy, and what must hold of them whatever the log is."""

from __future__ import annotations

from datetime import date
from itertools import permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.comparisons.drift import _bounds, most_strata, numbered_strata
from tests.support.cases import mostly_slow

FACTORS = ("mix", "prior", "likelihood")
METRICS = ("nec", "error_rate", "nce", "nbs", "cross_entropy", "precision", "f1", "recall", "mcc")
MOVED = tuple(name for name in METRICS if name != "recall")


def made_log(n: int = 700, seed: int = 1, strata: str = "xyzu", users: int = 60) -> pl.DataFrame:
    """Two groups, three periods whose shares, priors and scores differ, users, and a stratum that is in the first period alone."""
    rng = np.random.default_rng(seed)
    month = rng.integers(1, 4, n)
    place = np.minimum(rng.integers(0, len(strata), n), rng.integers(0, len(strata) + 1, n) + (month == 1))
    place = np.where((place == len(strata) - 1) & (month > 1), 0, np.minimum(place, len(strata) - 1))
    user = rng.integers(0, users, n)
    y = rng.random(n) < 0.15 + 0.1 * month + 0.08 * place
    z = np.where(y, 1.0, -1.0) * (1.5 - 0.2 * month) + rng.standard_normal(n) + 0.5 * rng.standard_normal(users)[user]
    return pl.DataFrame(
        {
            "month": month,
            "group": rng.choice(["a", "b"], n),
            "place": [strata[i] for i in place],
            "user": user,
            "y": y,
            "p": 1 / (1 + np.exp(-np.round(z, 1))),
            "w": rng.exponential(1, n),
        }
    )


LOG = made_log()


def battery(y: np.ndarray, p: np.ndarray, w: np.ndarray, prior: float | None = None) -> dict[str, float]:
    """METRICS of weighted rows, at the rows' own prior or another: a formula for each."""
    if prior is not None:
        w = w * np.where(y, prior / w[y].sum(), (1 - prior) / w[~y].sum())
    n, share = w.sum(), w[y].sum() / w.sum()
    d = p > 0.5
    tp, fp, fn, tn = (w[mask].sum() for mask in (d & y, d & ~y, ~d & y, ~d & ~y))
    with np.errstate(all="ignore"):
        losses = (w * -np.log(np.where(y, p, 1 - p)))[w > 0].sum() / n
        brier = (w * (p - y) ** 2).sum() / n
        return {
            "nec": (fp + fn) / n / min(share, 1 - share),
            "error_rate": (fp + fn) / n,
            "nce": losses / -(share * np.log(share) + (1 - share) * np.log(1 - share)),
            "nbs": brier / (share * (1 - share)),
            "cross_entropy": losses,
            "precision": tp / (tp + fp),
            "f1": 2 * tp / (2 * tp + fp + fn),
            "recall": tp / (tp + fn),
            "mcc": (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
        }


def account(
    period: pl.DataFrame, reference: pl.DataFrame, mix: str | None, metrics: Any, label: str = "y"
) -> dict[str, dict[str, tuple[float, float, float]]]:
    """By metric and factor the part, the least and the most: rows of one period count as much as shares of the others say, order by order."""
    sides = {True: period, False: reference}
    strata = [pl.lit(True)] if mix is None else [pl.col(mix) == v for v in pl.concat([period, reference])[mix].unique()]
    labels = pl.concat([period, reference])[label].unique()
    rows = {
        (side, m, k): table.filter(stratum, pl.col(label) == k)
        for side, table in sides.items()
        for m, stratum in enumerate(strata)
        for k in labels
    }

    def weight(side: bool, m: int, k: Any) -> float:
        return rows[side, m, k]["w"].sum()

    def of_stratum(side: bool, m: int) -> float:
        return sum(weight(side, m, k) for k in labels)

    def value(moved: frozenset[str]) -> dict[str, float]:
        of_mix, of_prior, of_rows = (factor in moved for factor in FACTORS)
        taken = []
        for m in range(len(strata)):
            share = of_stratum(of_mix, m) / sides[of_mix]["w"].sum()
            prior_side = of_prior if of_stratum(of_prior, m) > 0 else not of_prior
            for k in labels:
                among = of_stratum(prior_side, m)
                class_share = weight(prior_side, m, k) / among if among > 0 else 0.0
                side = of_rows if weight(of_rows, m, k) > 0 else not of_rows
                if share * class_share > 0:
                    taken.append(rows[side, m, k].with_columns(pl.col("w") * share * class_share / weight(side, m, k)))
        return metrics(pl.concat(taken))

    factors = FACTORS if mix is not None else FACTORS[1:]
    added: dict[str, dict[str, list[float]]] = {}
    for order in permutations(factors):
        moved = frozenset[str]()
        # Without strata all rows are in one, whose share is 1.
        for factor in order:
            after, before = value(moved | {factor}), value(moved)
            for name in after:
                added.setdefault(name, {}).setdefault(factor, []).append(after[name] - before[name])
            moved |= {factor}
    return {
        name: {factor: (np.mean(values), min(values), max(values)) for factor, values in of_name.items()}
        for name, of_name in added.items()
    }


def check(found: pl.DataFrame, expected: dict[str, dict[str, tuple[float, float, float]]]) -> None:
    assert found["metric"].to_list() == list(expected)
    for row in found.iter_rows(named=True):
        for factor, numbers in expected[row["metric"]].items():
            names = (factor, f"{factor}_least", f"{factor}_most")
            assert [row[name] for name in names] == pytest.approx(numbers, rel=1e-9, abs=1e-12), (row["metric"], factor)
        total = sum(row[factor] for factor in expected[row["metric"]])
        assert total == pytest.approx(row["value"] - row["value_reference"], rel=1e-12, abs=1e-14)


def of_rows(table: pl.DataFrame, prior: float | None = None) -> dict[str, float]:
    y, p, w = (table[name].to_numpy() for name in "ypw")
    own = battery(y, p, w)
    if prior is None:
        return own
    at_prior = battery(y, p, w, prior)
    made: dict[str, float] = {}
    for name in METRICS:
        made |= {name: own[name]} | ({f"{name}_at_prior": at_prior[name]} if name in MOVED else {})
    return made


@pytest.mark.parametrize(
    ("mix", "weight", "prior"), mostly_slow(product([None, "place"], [None, "w"], [None, 0.2]), [("place", "w", 0.2)])
)
def test_parts_are_those_of_rows_that_count_as_shares_say(
    mix: str | None, weight: str | None, prior: float | None
) -> None:
    log = LOG if weight else LOG.with_columns(w=pl.lit(1.0))
    found = log.ec.drift(
        "p", "y", period="month", by="group", mix=mix or (), weight=weight, prior=prior, metrics=METRICS
    )
    for (group, month), table in found.group_by("group", "month", maintain_order=True):
        of_group = log.filter(group=group)
        sides = (of_group.filter(month=month), of_group.filter(month=1))
        check(table, account(*sides, mix, lambda rows: of_rows(rows, prior)))
        ends = [of_rows(side, prior) for side in sides]
        for row in table.iter_rows(named=True):
            assert [row["value"], row["value_reference"]] == pytest.approx([e[row["metric"]] for e in ends], rel=1e-9)
    assert found.select("group", "month").unique(maintain_order=True).rows() == [(g, m) for g in "ab" for m in (2, 3)]
    assert found["reference"].unique().to_list() == ["1"]


@pytest.mark.parametrize("mix", mostly_slow([None, "place"], ["place"]))
def test_three_classes(mix: str | None) -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, LOG.height) * (rng.random(LOG.height) < 0.8)
    z = rng.standard_normal((LOG.height, 3)) + 1.2 * np.eye(3)[y]
    q = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    log = LOG.with_columns(y=y, q=pl.Series(q, dtype=pl.Array(pl.Float64, 3)), w=pl.lit(1.0))

    def metrics(table: pl.DataFrame) -> dict[str, float]:
        of, scores, w = table["y"].to_numpy(), table["q"].to_numpy(), table["w"].to_numpy()
        shares = np.array([w[of == k].sum() for k in range(3)]) / w.sum()
        right = scores.argmax(axis=1) == of
        loss = (w * -np.log(scores[np.arange(len(of)), of])).sum() / w.sum()
        return {
            "nec": (w * ~right).sum() / w.sum() / (1 - shares.max()),
            "nce": loss / -(shares * np.log(shares)).sum(),
            "accuracy": (w * right).sum() / w.sum(),
            "macro_recall": np.mean([(w * right)[of == k].sum() / w[of == k].sum() for k in range(3)]),
        }

    found = log.ec.drift(
        "q", "y", period="month", mix=mix or (), metrics=["nec", "nce", "accuracy", "macro_recall"]
    ).filter(pl.col("month") == 3)
    check(found, account(log.filter(month=3), log.filter(month=1), mix, metrics))


def test_costs_of_each_row() -> None:
    rng = np.random.default_rng(3)
    log = LOG.with_columns(fn=rng.exponential(3, LOG.height), fp=rng.exponential(1, LOG.height), w=pl.lit(1.0))

    def metrics(table: pl.DataFrame) -> dict[str, float]:
        y, p, w, fn, fp = (table[name].to_numpy() for name in ("y", "p", "w", "fn", "fp"))
        cost = w * np.where(y, fn, fp)
        spent = cost[(p > fp / (fp + fn)) != y].sum()
        return {"expected_cost": spent / w.sum(), "nec": spent / min(cost[y].sum(), cost[~y].sum())}

    names = ["expected_cost", "nec"]
    found = log.ec.drift("p", "y", period="month", mix="place", metrics=names, cost_fn="fn", cost_fp="fp")
    check(found.filter(month=2), account(log.filter(month=2), log.filter(month=1), "place", metrics))


@pytest.mark.quick("user")
@pytest.mark.parametrize("cluster", [None, "user"])
def test_differences_and_their_limits_are_those_of_compare(cluster: str | None) -> None:
    options: dict[str, Any] = {"metrics": list(METRICS), "prior": 0.3, "cluster": cluster, "weight": "w"}
    log = LOG.with_columns(day=pl.date(2013, pl.col("month"), 1))
    april = date(2013, 1, 1)
    drifted = log.ec.drift("p", "y", period="day", by="group", mix="place", reference=april, min_rows=120, **options)
    compared = log.ec.compare("p", "y", by=["group", "day"], reference={"day": april}, min_rows=120, **options)
    assert drifted["reference"].unique().to_list() == ["2013-01-01"]
    same = [name for name in compared.columns if name in drifted.columns and name != "reference"]
    assert_frame_equal(drifted.select(same), compared.select(same), rel_tol=1e-12)
    assert drifted["small"].any()
    assert not drifted["small"].all()
    sizes = {key: table.height for key, table in log.group_by("group", "day")}
    for row in drifted.iter_rows(named=True):
        assert (row["n"], row["n_reference"]) == (sizes[row["group"], row["day"]], sizes[row["group"], april])


@pytest.mark.quick("None", "previous")
@pytest.mark.parametrize("reference", [None, "previous", 2])
def test_each_period_is_compared_with_its_reference(reference: Any) -> None:
    log = LOG.filter((pl.col("group") == "a") | (pl.col("month") != 2))
    found = log.ec.drift("p", "y", period="month", by="group", metrics=["recall"], reference=reference)
    recall = {
        key: battery(*(t[c].to_numpy() for c in "yp"), np.ones(t.height))["recall"]
        for key, t in log.group_by("group", "month")
    }
    wanted = {
        None: {("a", 2): 1, ("a", 3): 1, ("b", 3): 1},
        "previous": {("a", 2): 1, ("a", 3): 2, ("b", 3): 1},
        2: {("a", 1): 2, ("a", 3): 2, ("b", 1): None, ("b", 3): None},
    }[reference]
    assert {(r["group"], r["month"]): r["reference"] and int(r["reference"]) for r in found.to_dicts()} == wanted
    for row in found.iter_rows(named=True):
        against = wanted[row["group"], row["month"]]
        assert row["value"] == pytest.approx(recall[row["group"], row["month"]])
        if against is None:
            assert [row[name] for name in ("value_reference", "difference", "likelihood", "n_reference")] == [None] * 4
        else:
            assert row["likelihood"] == pytest.approx(row["value"] - recall[row["group"], against], abs=1e-12)


def test_streaming_eager_and_other_libraries_agree() -> None:
    call: dict[str, Any] = {
        "period": "month",
        "by": "group",
        "mix": "place",
        "cluster": "user",
        "metrics": ["nec", "nce"],
    }
    eager = LOG.ec.drift("p", "y", **call)
    lazy = LOG.lazy().ec.drift("p", "y", **call)
    assert lazy.collect_schema() == eager.schema
    for engine in ("streaming", "in-memory"):
        assert_frame_equal(lazy.collect(engine=engine), eager, rel_tol=1e-9)
    for other in (LOG.to_pandas(), LOG.to_arrow()):
        assert_frame_equal(ec.drift(other, "p", "y", **call), eager, rel_tol=1e-9)


@pytest.mark.quick("user")
@pytest.mark.parametrize("cluster", [None, "user"])
def test_parts_do_not_hang_on_the_order_of_rows_nor_on_how_often_all_are_there(cluster: str | None) -> None:
    call: dict[str, Any] = {"period": "month", "mix": "place", "metrics": ["nec", "nce", "f1"], "cluster": cluster}
    found = LOG.ec.drift("p", "y", **call)
    shuffled = LOG.sample(fraction=1, shuffle=True, seed=5).ec.drift("p", "y", **call)
    assert_frame_equal(found, shuffled, rel_tol=1e-9, abs_tol=1e-10)
    twice = pl.concat([LOG, LOG]).ec.drift("p", "y", **call)
    parts = [f"{factor}{end}" for factor in FACTORS for end in ("", "_least", "_most")]
    assert_frame_equal(found.select("difference", *parts), twice.select("difference", *parts), rel_tol=1e-9)
    if cluster is not None:
        ends = [f"{factor}_ci_{end}" for factor in FACTORS for end in ("low", "high")]
        assert_frame_equal(found.select(ends), twice.select(ends), rel_tol=1e-6)


def test_what_does_not_move_adds_nothing() -> None:
    log = LOG.filter(pl.col("place") != "u")
    same = pl.concat([log.filter(month=1), log.filter(month=1).with_columns(month=pl.lit(2, dtype=pl.Int64))])
    worse = same.with_columns(p=pl.when(month=2).then(1 - pl.col("p")).otherwise("p"))
    found = worse.ec.drift("p", "y", period="month", mix="place", metrics=list(METRICS))
    # Shares of strata and of classes are equal, row for row.
    assert found["mix"].to_numpy() == pytest.approx(np.zeros(len(METRICS)), abs=1e-14)
    assert found["prior"].to_numpy() == pytest.approx(np.zeros(len(METRICS)), abs=1e-14)
    assert found["likelihood"].to_numpy() == pytest.approx(found["difference"].to_numpy(), abs=1e-14)
    more = pl.concat([same, same.filter("y", month=2), same.filter("y", month=2)])
    found = more.ec.drift("p", "y", period="month", metrics=["recall", "fpr", "precision"], prior=0.4)
    by_metric = found.rows_by_key("metric", named=True, unique=True)
    for name in ("recall", "fpr", "precision_at_prior"):
        row = by_metric[name]
        # Rates of a class do not hang on how many rows it has: a part of 0, whatever the rows.
        assert [row[c] for c in ("prior", "prior_ci_low", "prior_ci_high", "prior_least", "prior_most")] == [0.0] * 5
    assert by_metric["precision"]["prior"] == pytest.approx(by_metric["precision"]["difference"], abs=1e-14)


SCORES = st.sampled_from([0.0, 1e-300, 1e-9, 0.2, 0.5, 0.5, 0.9, 1 - 1e-12, 1.0])
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans(), SCORES, st.integers(0, 9)), max_size=40)


CALLS = {
    "cluster": st.sampled_from([None, "u"]),
    "mix": st.sampled_from(["m", ()]),
    "prior": st.sampled_from([None, 0.3]),
}


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(rows=ROWS, **CALLS)
def test_parts_add_up_and_limits_hold_them(rows: list[tuple[Any, ...]], **call: Any) -> None:
    check_parts(rows, ("nec", "nce", "f1", "recall"), **call)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(rows=ROWS, **CALLS)
def test_parts_of_all_metrics_add_up_and_limits_hold_them(rows: list[tuple[Any, ...]], **call: Any) -> None:
    check_parts(rows, METRICS, **call)


def check_parts(rows: list[tuple[Any, ...]], metrics: tuple[str, ...], mix: Any, **call: Any) -> None:
    schema = {"t": pl.Int64, "m": pl.Int64, "y": pl.Boolean, "p": pl.Float64, "u": pl.Int64}
    log = pl.DataFrame(rows, schema=schema, orient="row")
    found = log.ec.drift("p", "y", period="t", mix=mix, metrics=metrics, **call)
    factors = FACTORS if mix else FACTORS[1:]
    for row in found.iter_rows(named=True):
        parts = [row[factor] for factor in factors]
        if row["difference"] is None or not np.isfinite(row["difference"]):
            continue
        if None in parts or not np.isfinite(parts).all():
            continue
        size = max(abs(row["value"]), abs(row["value_reference"]), *map(abs, parts), 1e-3)
        assert sum(parts) == pytest.approx(row["difference"], abs=1e-12 * size)
        for factor in factors:
            part, least, most = (row[f"{factor}{end}"] for end in ("", "_least", "_most"))
            assert least - 1e-12 * size <= part <= most + 1e-12 * size
            low, high = row[f"{factor}_ci_low"], row[f"{factor}_ci_high"]
            assert (low is None) == (high is None)
            assert low is None or low <= part <= high
            if row["difference_ci_low"] is None:
                assert low is None


@pytest.mark.quick("previous")
@pytest.mark.parametrize("reference", [None, "previous", 2])
def test_groups_are_taken_apart_where_memory_asks_for_it(reference: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    log = pl.concat([LOG, LOG.with_columns(group=pl.lit("c")).filter(month=2)])
    call: dict[str, Any] = {
        "period": "month",
        "by": "group",
        "mix": "place",
        "cluster": "user",
        "metrics": ["nec", "nce"],
    }
    whole = log.ec.drift("p", "y", reference=reference, **call)
    monkeypatch.setattr("polars_ec.comparisons.drift._MOST_AT_ONCE", 1)
    monkeypatch.setattr("polars_ec.inference.decomposition._BLOCK", 1)
    assert_frame_equal(log.ec.drift("p", "y", reference=reference, **call), whole, rel_tol=1e-9, abs_tol=1e-10)


def test_each_group_has_strata_of_its_own() -> None:
    # Of cities in countries there are as many as in the largest country, and not as in all.
    cities = LOG.with_columns(city=pl.format("{} {}", "group", "place"))
    assert most_strata(numbered_strata(cities, ["group"], ["city"])) == 4
    assert most_strata(numbered_strata(cities, [], ["city"])) == 8
    call: dict[str, Any] = {"period": "month", "by": "group", "metrics": ["nec", "nce"], "cluster": "user"}
    found, expected = (cities.ec.drift("p", "y", mix=mix, **call) for mix in ("city", "place"))
    assert_frame_equal(found, expected, rel_tol=1e-9, abs_tol=1e-12)


def test_runs_of_periods_hold_all_that_they_are_compared_with() -> None:
    # Two groups of three periods, one whose reference is not there, and one that is compared with the period before.
    against = np.array([0, 0, 0, 3, 3, 3, -1, 7, 7, 8])
    assert _bounds(against, 1) == [0, 3, 6, 7, 10]
    assert _bounds(against, 6) == [0, 6, 10]
    assert _bounds(against, 10) == [0, 10]
    assert _bounds(np.array([2, 2, 2, 0]), 1) == [0, 4]
