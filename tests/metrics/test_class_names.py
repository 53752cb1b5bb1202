"""Classes are found by their names: in struct scores, struct priors, cost matrices and mappings; never by their place there."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from polars_ec.arguments.costs import CostMatrix

CLASSES = ["cat", "dog", "eel"]
RANDOM = np.random.default_rng(17)
N = 60
Q = RANDOM.dirichlet(np.ones(3), N)
Y = RANDOM.integers(0, 3, N)
LOG = pl.DataFrame(
    {"label": np.array(CLASSES)[Y], "number": Y, **{name: Q[:, k] for k, name in enumerate(CLASSES)}}
).with_columns(array=pl.concat_arr(CLASSES))
ORDERS = list(itertools.permutations(CLASSES))
COSTS = [[0.0, 1.0, 5.0], [2.0, 0.0, 0.5], [7.0, 3.0, 0.0]]
METRICS = {
    "accuracy": np.mean(Q.argmax(axis=1) == Y),
    "cross_entropy": np.mean(-np.log(Q[np.arange(N), Y])),
    "brier": np.mean(((Q - np.eye(3)[Y]) ** 2).mean(axis=1)),
    "error_rate": np.mean(Q.argmax(axis=1) != Y),
}
COST = np.mean(np.array(COSTS)[Y, (Q @ np.array(COSTS)).argmin(axis=1)])


@pytest.mark.quick("*-order3", "*-order4")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", METRICS)
def test_fields_of_a_struct_are_found_by_name(order: tuple[str, ...], name: str) -> None:
    value = LOG.select(getattr(ec, name)(pl.struct(order), "label", classes=CLASSES)).item()
    assert value == pytest.approx(METRICS[name], rel=1e-12)


def test_two_classes() -> None:
    log = pl.DataFrame({"q": [{"dog": 0.1, "cat": 0.9}, {"dog": 0.8, "cat": 0.2}], "y": ["cat", "dog"]})
    assert log.select(ec.accuracy("q", "y", classes=["cat", "dog"])).item() == 1
    assert log.select(ec.accuracy("q", "y", classes=["dog", "cat"])).item() == 1
    assert log.select(ec.recall("q", "y", pos_label="cat")).item() == 1
    assert log.select(ec.precision("q", "y", pos_label="dog")).item() == 1


@pytest.mark.quick("order1", "order4")
@pytest.mark.parametrize("order", ORDERS)
def test_numbers_are_names_too(order: tuple[str, ...]) -> None:
    named = pl.struct(pl.col(name).alias(str(CLASSES.index(name))) for name in order)
    assert LOG.select(ec.accuracy(named, "number")).item() == pytest.approx(METRICS["accuracy"])


def test_names_that_mean_nothing_go_in_order_where_classes_have_none() -> None:
    named = pl.struct(p0="cat", p1="dog", p2="eel")
    assert LOG.select(ec.accuracy(named, "number")).item() == pytest.approx(METRICS["accuracy"])


@pytest.mark.parametrize(
    ("score", "options"),
    [
        (pl.struct(p0="cat", p1="dog", p2="eel"), {"classes": CLASSES}),
        (pl.struct("cat", "dog", pl.col("eel").alias("Eel")), {"classes": CLASSES}),
        (pl.struct(pl.col("cat").alias("Yes"), no=1 - pl.col("cat")), {"pos_label": "yes"}),
    ],
)
def test_names_that_do_not_go_together_are_refused_at_the_plan(score: pl.Expr, options: dict) -> None:
    with pytest.raises(ValueError, match=r"names the classes .* use the same names, or pass a list"):
        LOG.lazy().select(ec.accuracy(score, "label", **options)).collect_schema()


@pytest.mark.quick("order3", "order4")
@pytest.mark.parametrize("order", ORDERS)
def test_rows_of_a_cost_matrix_are_found_by_name(order: tuple[str, ...]) -> None:
    rows = [COSTS[CLASSES.index(name)] for name in order]
    costs = CostMatrix(rows, classes=order, decisions=CLASSES)
    if list(order) != CLASSES:
        with pytest.raises(ValueError, match="does not say which decision belongs to which class"):
            LOG.lazy().select(
                ec.nec("array", "label", classes=CLASSES, costs=CostMatrix(rows, classes=order))
            ).collect_schema()
    for score, label, options in (
        ("array", "label", {"classes": CLASSES}),
        (pl.struct(CLASSES[::-1]), "label", {"classes": CLASSES}),
        (pl.struct(CLASSES), "number", {}),
    ):
        found = LOG.select(
            ec.expected_cost(score, label, costs=costs, **options).alias("a"),
            ec.row_cost(score, label, costs=costs, **options).mean().alias("b"),
        ).row(0)
        assert found == pytest.approx((COST, COST), rel=1e-12)
    decided = LOG.select(ec.bayes_decision(pl.struct(CLASSES), costs=costs)).to_series().to_list()
    assert decided == (Q @ np.array(COSTS)).argmin(axis=1).tolist()
    report = LOG.ec.report("array", "label", classes=CLASSES, costs=costs)
    assert report["nec"].item() == pytest.approx(COST / min(np.bincount(Y) / N @ np.array(COSTS)))


def test_rows_of_a_binary_cost_matrix() -> None:
    log = LOG.with_columns(
        late=pl.col("label") == "cat",
        text=pl.when(pl.col("label") == "cat").then(pl.lit("late")).otherwise(pl.lit("ok")),
    )
    plain = log.select(ec.nec("cat", "late", cost_fn=5)).item()
    late_first = CostMatrix([[5, 0], [0, 1]], classes=["late", "ok"], decisions=["ok", "late"])
    for options in ({"pos_label": "late"}, {"classes": ["ok", "late"]}):
        assert log.select(ec.nec("cat", "text", costs=late_first, **options)).item() == pytest.approx(plain)
        assert log.ec.sketch("cat", "text", costs=late_first, **options).evaluate("nec")["nec"].item() == pytest.approx(
            plain
        )
        value = log.select(ec.min_expected_cost("cat", "text", costs=late_first, **options)).item()
        assert value == pytest.approx(log.select(ec.min_expected_cost("cat", "late", cost_fn=5)).item())
    assert log.select(
        ec.nec("cat", "late", costs=CostMatrix([[5, 0], [0, 1]], classes=[True, False], decisions=[False, True]))
    ).item() == pytest.approx(plain)


@pytest.mark.parametrize(
    ("call", "label", "options"),
    [
        (ec.nec, "label", {"classes": CLASSES}),
        (ec.row_cost, "label", {"classes": CLASSES}),
        (ec.bayes_risk, "number", {}),
        (ec.confusion, "number", {}),
    ],
)
def test_costs_of_other_classes_are_refused(call, label: str, options: dict) -> None:
    costs = CostMatrix(COSTS, classes=["cat", "dog", "fox"])
    with pytest.raises(ValueError, match=r"costs= names the classes .*'fox'"):
        LOG.lazy().select(call("array", label, costs=costs, **options)).collect_schema()


def test_a_sketch_knows_no_names() -> None:
    log = pl.DataFrame({"p": [0.2, 0.9], "y": [0, 1]})
    with pytest.raises(ValueError, match="costs= names the classes"):
        log.ec.sketch("p", "y").evaluate("nec", costs=CostMatrix([[0, 1], [1, 0]], classes=["no", "yes"]))
    with pytest.raises(ValueError, match="costs= names the classes"):
        log.ec.sketch("p", "y", costs=CostMatrix([[0, 1], [1, 0]], classes=["no", "yes"]))


@pytest.mark.quick("order1", "order4")
@pytest.mark.parametrize("order", ORDERS)
def test_priors_are_found_by_name(order: tuple[str, ...]) -> None:
    shares = {"cat": 0.5, "dog": 0.3, "eel": 0.2}
    wanted = sum(p * np.mean(-np.log(Q[k == Y, k])) for k, p in enumerate(shares.values()))
    by_name = {name: shares[name] for name in order}
    struct = pl.struct(pl.lit(share).alias(name) for name, share in by_name.items())
    for prior in (by_name, struct):
        for score in ("array", pl.struct(CLASSES[::-1])):
            value = LOG.select(ec.cross_entropy(score, "label", classes=CLASSES, prior=prior)).item()
            assert value == pytest.approx(wanted, rel=1e-12)
    with pytest.raises(ValueError, match=r"prior=.* names the classes"):
        LOG.lazy().select(
            ec.nce("array", "label", classes=CLASSES, prior={"a": 0.5, "b": 0.3, "c": 0.2})
        ).collect_schema()
    struct = pl.struct(a=pl.lit(0.5), b=pl.lit(0.3), c=pl.lit(0.2))
    with pytest.raises(ValueError, match=r"prior=.* names the classes"):
        LOG.lazy().select(ec.nce("array", "label", classes=CLASSES, prior=struct)).collect_schema()


def test_prior_by_the_name_of_the_positive_class() -> None:
    log = pl.DataFrame({"p": [0.2, 0.9, 0.4], "y": ["no", "yes", "yes"]})
    wanted = log.select(ec.nce("p", "y", pos_label="yes", prior=0.3)).item()
    assert log.select(ec.nce("p", "y", pos_label="yes", prior={"yes": 0.3, "no": 0.7})).item() == wanted


def test_shifted_priors_are_found_by_name() -> None:
    old, new = {"cat": 0.5, "dog": 0.3, "eel": 0.2}, {"eel": 0.6, "cat": 0.3, "dog": 0.1}
    moved = Q * np.array([0.3 / 0.5, 0.1 / 0.3, 0.6 / 0.2])
    moved /= moved.sum(axis=1, keepdims=True)
    found = LOG.select(ec.shift_prior(pl.struct(CLASSES), old, new)).to_series().to_numpy()
    np.testing.assert_allclose(found, moved, rtol=1e-12)


@pytest.mark.parametrize("names", [["s", "t"], ["b", "a"], ["b", "c"]])
def test_structs_of_references_are_found_by_name(names: list[str]) -> None:
    q = pl.struct(a=pl.lit(0.9), b=pl.lit(0.1))
    s = pl.struct(pl.lit(0.4).alias(names[0]), pl.lit(0.6).alias(names[1]))
    query = LOG.lazy().select(ec.expected_score_divergence(q, s, rule="brier"))
    if names != ["b", "a"]:
        with pytest.raises(ValueError, match="names the classes"):
            query.collect_schema()
    else:
        # b has 0.4 and a 0.6: ((0.9 - 0.6)^2 + (0.1 - 0.4)^2) / 2
        assert query.collect().item() == pytest.approx(0.09)


def test_targets_of_two_named_numbers() -> None:
    log = pl.DataFrame({"q": [[0.2, 0.8], [0.7, 0.3]], "y": [5, 3]}, schema_overrides={"q": pl.Array(pl.Float64, 2)})
    found = log.ec.sketch("q", "y", pos_label=5).evaluate("auc_roc")
    assert found.select("target", "auc_roc").rows() == [("not 5", 1.0), ("5", 1.0)]


def test_validate_tells_that_no_row_has_the_positive_label() -> None:
    log = pl.DataFrame({"p": [0.2, 0.9], "y": ["yes", "no"]})
    for wrong in ("Yes", "YES "):
        with pytest.raises(ec.InvalidDataError, match=f"no row has the label '{wrong}'.*nearest values are 'yes'"):
            log.lazy().ec.validate("p", "y", pos_label=wrong)
    with pytest.warns(UserWarning, match="no row has the label 'fraud'.*its values are 'no', 'yes'"):
        log.ec.validate("p", "y", pos_label="fraud")
    with pytest.warns(UserWarning, match="no row has the label 'yes!'.*its values are 'yes', 'no'"):
        log.ec.validate("p", "y", pos_label="yes!")
    assert log.ec.validate("p", "y", pos_label="yes") is log
    late = log.with_columns(y=pl.lit(None, dtype=pl.String))
    assert late.ec.validate("p", "y", pos_label="Yes") is late
    with pytest.raises(ValueError, match="not a category"):
        log.cast({"y": pl.Enum(["yes", "no"])}).lazy().select(ec.nec("p", "y", pos_label="Yes")).collect_schema()


def test_a_calibration_keeps_the_names(tmp_path: Path) -> None:
    options = {"classes": CLASSES}
    fitted = LOG.ec.calibrate("array", "label", **options)
    wanted = LOG.select(fitted.apply("array")).to_series().to_numpy()
    fitted.write_parquet(tmp_path / "calibration.parquet")
    for calibration in (
        fitted,
        ec.Calibration.read_parquet(tmp_path / "calibration.parquet"),
        LOG.ec.calibrate(pl.struct("eel", "cat", "dog").alias("q"), "label", **options),
    ):
        for order in ORDERS:
            found = LOG.select(calibration.apply(pl.struct(order).alias("q"))).to_series().to_numpy()
            np.testing.assert_allclose(found, wanted, rtol=1e-9)
        with pytest.raises(ValueError, match="names the classes"):
            LOG.select(calibration.apply(pl.struct(a="cat", b="dog", c="eel")))
    losses = LOG.ec.calibration_loss("array", "label", training=fitted, **options)
    assert losses["calibrated"].item() == pytest.approx(np.mean(-np.log(wanted[np.arange(N), Y])))
    with pytest.raises(ec.SketchError, match=r"calibration for the classes \['cat', 'dog', 'eel'\] in this order"):
        LOG.ec.calibration_loss("array", "label", training=fitted, classes=CLASSES[::-1])


def test_the_risk_of_two_scores_a_row_is_of_the_stated_costs() -> None:
    log = LOG.with_columns(q=pl.concat_arr(1 - pl.col("cat"), "cat"), y=pl.col("label") == "cat")
    wanted = log.select(ec.bayes_risk("cat", "y", cost_fn=4)).item()
    for options in (
        {"cost_fn": 4},
        {"costs": [[0, 1], [4, 0]]},
        {"costs": CostMatrix([[0, 4], [1, 0]], classes=[1, 0], decisions=[1, 0])},
    ):
        found = log.ec.calibration_loss("q", "y", "bayes_risk", training="test", **options)
        assert found["raw"].item() == pytest.approx(wanted)
    of_one = log.ec.calibration_loss(
        "cat", "y", "bayes_risk", training="test", costs=CostMatrix([[0, 4], [1, 0]], classes=[1, 0], decisions=[1, 0])
    )
    assert of_one["raw"].item() == pytest.approx(wanted)


@pytest.mark.quick("order2", "order4")
@pytest.mark.parametrize("order", ORDERS)
def test_columns_go_with_the_classes_that_they_are_named_after(order: tuple[str, ...]) -> None:
    """A matrix turned over in both directions is the same matrix: also for metrics that ask which decision is which class."""
    places = [CLASSES.index(name) for name in order]
    turned = [[*(COSTS[i][j] for j in places), 0.4] for i in places]
    plain = [[*row, 0.4] for row in COSTS]
    named = CostMatrix(turned, classes=order, decisions=[*order, "ask"])
    for metric in (ec.accuracy, ec.balanced_accuracy, ec.nec, ec.confusion):
        found = LOG.select(metric("array", "label", classes=CLASSES, costs=named)).item()
        wanted = LOG.select(metric("array", "label", classes=CLASSES, costs=plain)).item()
        assert str(found) == str(wanted)
    decided = LOG.select(ec.bayes_decision(pl.struct(CLASSES), costs=named)).to_series().to_list()
    assert decided == LOG.select(ec.bayes_decision("array", costs=plain)).to_series().to_list()


def test_stated_numbers_are_names() -> None:
    log = pl.DataFrame({"y": [0, 1, 2], "q": [[0.5, 0.3, 0.2]] * 3}, schema_overrides={"q": pl.Array(pl.Float64, 3)})
    values = [[0, 1, 2], [5, 0, 1], [9, 3, 0]]
    found = [
        log.select(
            ec.expected_cost(
                "q", "y", classes=[2, 1, 0], costs=CostMatrix(values, classes=names, decisions=["a", "b", "c"])
            )
        ).item()
        for names in ([0, 1, 2], ["0", "1", "2"])
    ]
    rows = np.array(values)[::-1]  # of classes 2, 1, 0
    decision = (np.array([0.5, 0.3, 0.2]) @ rows).argmin()
    assert found == pytest.approx([rows[:, decision].mean()] * 2)


@pytest.mark.parametrize("names", [("False", "True"), ("false", "true"), ("0", "1")])
def test_boolean_labels_have_names(names: tuple[str, str]) -> None:
    log = pl.DataFrame({"y": [True, False, True], "p": [0.9, 0.2, 0.8]})
    turned = pl.struct(pl.col("p").alias(names[1]), (1 - pl.col("p")).alias(names[0]))
    wanted = log.select(ec.cross_entropy("p", "y"), b=ec.cross_entropy("p", "y", prior=0.9)).row(0)
    prior = pl.struct(pl.lit(0.9).alias(names[1]), pl.lit(0.1).alias(names[0]))
    assert log.select(ec.cross_entropy(turned, "y")).item() == pytest.approx(wanted[0])
    assert log.select(ec.cross_entropy("p", "y", prior=prior)).item() == pytest.approx(wanted[1])
    assert log.select(ec.cross_entropy("p", "y", prior={True: 0.9, False: 0.1})).item() == pytest.approx(wanted[1])
    assert log.ec.report(turned, "y")["nce"].item() == pytest.approx(log.ec.report("p", "y")["nce"].item())


def test_a_prior_is_not_placed_by_order_where_the_scores_have_names() -> None:
    log = pl.DataFrame({"a": [0.7, 0.2], "b": [0.3, 0.8], "y": [0, 1]})
    for prior in (pl.struct(p_b=pl.lit(0.9), p_a=pl.lit(0.1)), {"p_b": 0.9, "p_a": 0.1}):
        with pytest.raises(ValueError, match="names the classes"):
            log.lazy().select(ec.cross_entropy(pl.struct("a", "b"), "y", prior=prior)).collect_schema()
    with pytest.raises(ValueError, match="names the classes"):
        log.lazy().select(
            ec.expected_score_divergence(pl.struct("a", "b"), pl.struct(p_b="b", p_a="a"))
        ).collect_schema()


def test_models_must_name_the_classes_alike() -> None:
    log = LOG.with_columns(
        m1=pl.struct(a="cat", b="dog", c="eel"),
        m2=pl.struct(c="cat", a="dog", b="eel"),
        m3=pl.struct(a="cat", b="dog", c="eel"),
    )
    with pytest.raises(ValueError, match=r"order the classes differently"):
        log.ec.report(["m1", "m2"], "number")
    assert log.ec.report(["m1", "m3", "array"], "number")["nce"].n_unique() == 1


def test_a_calibration_keeps_the_name_of_the_positive_class() -> None:
    log = pl.DataFrame({"y": ["pos", "neg", "pos", "neg"], "p": [0.9, 0.6, 0.3, 0.1]}).with_columns(
        a=pl.concat_arr(1 - pl.col("p"), "p"), s=pl.struct(pos="p", neg=1 - pl.col("p"))
    )
    for fitted_on in ("a", "s"):
        calibration = log.ec.calibrate(fitted_on, "y", "temperature", pos_label="pos")
        one, other = (log.select(calibration.apply(name)).to_series().to_list() for name in ("a", "s"))
        assert one == other


def test_sets_have_no_order() -> None:
    with pytest.raises(ValueError, match="in class order"):
        ec.nec("array", "label", classes={"cat", "dog", "eel"})
    with pytest.raises(ValueError, match="in order"):
        CostMatrix(COSTS, classes={"cat", "dog", "eel"})
    with pytest.raises(ValueError, match="nested sequence"):
        CostMatrix({(0, 1), (1, 0)})
    with pytest.raises(ValueError, match="is not a prior"):
        ec.nec("p", "y", prior={0.9, 0.1})
