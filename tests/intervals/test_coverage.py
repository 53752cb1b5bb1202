"""How often intervals hold the truth: `make coverage` in small, and whether it would see what is wrong."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import polars_ec as ec
from tests.coverage.classes import BLUR, THREE_CLASSES, areas_of_classes, draw_classes, truths_of_classes
from tests.coverage.points import COST_FN, LOSSES, Counted, Point, Promise, counted, counts, points
from tests.coverage.systems import Sample, System, draw, truths

GROUPS = 300
QUICK = [("report", "100 positives of 300"), ("evaluate", "400 rows"), ("evaluate", "30 clusters")]
POINTS = {(point.door, point.name): point for point in points(GROUPS)}


@pytest.mark.quick("report-*", "evaluate-30 clusters")
@pytest.mark.parametrize(("door", "name"), QUICK)
def test_intervals_hold_the_truth_as_often_as_they_say(door: str, name: str) -> None:
    found = counts(POINTS[door, name], seed=3)
    assert found
    assert not [one for one in found if not one.kept]


def test_points_have_names_of_their_own() -> None:
    assert len(POINTS) == len(list(points(GROUPS)))
    assert all(point.sample.groups == GROUPS for point in POINTS.values())


def test_clusters_that_are_forgotten_are_seen() -> None:
    """Rows of clusters, taken for independent ones."""
    point = Point("forgotten", Sample(GROUPS, 400, clusters=20), (Promise(LOSSES, 0.92),))
    log = draw(point.sample, seed=4)
    table = log.ec.report("p", "y", by="group", metrics=list(LOSSES), interval=0.95)
    assert not [one for one in counted(point, table, truths(System())) if one.kept]


def test_promises() -> None:
    """Less two Monte Carlo errors of the bound, 0.0133 at 92 % of 1,650; nulls are no intervals."""
    one = Counted("", "", "", groups=1650, lacking=0.0, covered=0.92, least=0.92, most=0.975, may_lack=0.02)
    kept = {covered: replace(one, covered=covered).kept for covered in (0.90, 0.907, 0.975, 0.982, 0.983)}
    assert kept == {0.90: False, 0.907: True, 0.975: True, 0.982: True, 0.983: False}
    assert not replace(one, lacking=0.03).kept
    assert not replace(one, groups=0).kept


def test_truths_are_what_long_logs_tend_to() -> None:
    system = System(prior=0.3, separation=1.5, ratio=1.3, scale=0.8, shift=0.2)
    own, stated = truths(system), truths(system, 0.4)
    # What a likelihood ratio says that is not that of the score is not among them.
    names = [name for name in own if name != "min_cllr"]
    table = draw(Sample(1, 300_000, systems=(system,)), seed=5).ec.report(
        "p", "y", metrics=names, cost_fn=COST_FN, prior=0.4
    )
    at_prior = {name: value for name, value in stated.items() if f"{name}_at_prior" in table.columns}
    assert table.select(names).row(0) == pytest.approx([own[name] for name in names], rel=0.01)
    assert table.select(f"{name}_at_prior" for name in at_prior).row(0) == pytest.approx(
        list(at_prior.values()), rel=0.01
    )
    assert len(at_prior) > 8
    calibrated = draw(Sample(1, 100_000), seed=6).select(ec.min_cllr("p", "y")).item()
    assert calibrated == pytest.approx(truths(System())["min_cllr"], rel=0.01)


@pytest.mark.slow
def test_truths_of_classes_are_what_long_logs_tend_to() -> None:
    log, areas = draw_classes(Sample(1, 200_000), seed=7), areas_of_classes(THREE_CLASSES)
    expected = truths_of_classes(THREE_CLASSES) | areas
    table = log.ec.report(pl.concat_arr("p0", "p1", "p2").alias("p"), "y", metrics=list(expected))
    assert table.select(list(expected)).row(0) == pytest.approx(list(expected.values()), rel=0.01)
    less = areas_of_classes(THREE_CLASSES, 1 + BLUR)
    table = log.ec.report(pl.concat_arr("r0", "r1", "r2").alias("r"), "y", metrics=list(less))
    assert table.select(list(less)).row(0) == pytest.approx(list(less.values()), rel=0.01)
    assert areas["macro_auc_roc"] - less["macro_auc_roc"] > 0.04
