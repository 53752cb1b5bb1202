"""Metric functions of values: two arrays in, a number out, whatever library the arrays are of."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

import polars_ec as ec
from polars_ec.arguments.options import RowOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.typing import IntoExpr
from tests.support import ranking_oracle
from tests.support.cases import CASES, DIVERGENCES, METRICS, RANKING_OF_CLASSES, ROW_FUNCTIONS, one_of_each_family
from tests.support.oracle import Group

P = [0.9, 0.4, 0.7, 0.125, 0.25, 0.625]
Y = [1, 1, 0, 0, 0, 1]
W = [1.0, 2.0, 0.5, 1.0, 3.0, 1.0]
VECTORS = [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.2, 0.7], [0.5, 0.4, 0.1]]
CLASSES = [0, 1, 2, 1]
NEC = 2 / 3
"""The NEC of P and Y with cost_fn=4, by hand: above 1/5 all but one negative are decided positive; 2 false alarms of the 3 negatives
cost 2, and naive decisions cost 3 at least: of all negatives."""


def needed(name: str) -> dict[str, Any]:
    """Arguments that a function cannot do without."""
    stated = {
        "llr": {"prior": 0.2},
        "shift_prior": {"from_": 0.5, "to": 0.2},
        "affine": {"alpha": 2.0, "beta": 1.0},
        "c_primary": {"operating_points": [(0.2, 1, 1)]},
    }
    own = {case.name: case.arguments for case in CASES} | stated
    kind = {
        "dcf": {"score_type": "llr", "prior": 0.2},
        "cllr": {"score_type": "llr"},
        "c_primary": {"score_type": "llr"},
    }
    return {**own.get(name, {}), **kind.get(name, {})}


def columns_of(name: str, p: Any, y: Any) -> list[Any]:
    """What a function takes by position: the score; and a label, or a reference."""
    if name in DIVERGENCES:
        return [p, p]
    if name in [case.name for case in RANKING_OF_CLASSES]:
        return [np.column_stack([1 - np.array(p), p]), y]
    return [p, y] if name not in ROW_FUNCTIONS or ROW_FUNCTIONS[name][1] else [p]


# Every function ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", one_of_each_family(CASES), ids=lambda case: case.name)
def test_metrics(case) -> None:
    """Against plain NumPy, with weights."""
    arguments = needed(case.name)
    given = {name: value for name, value in arguments.items() if name in ("score_type", "prior")}
    if case.name == "net_benefit":
        given |= {"cost_fp": case.arguments["p_t"], "cost_fn": 1 - case.arguments["p_t"]}
    if case.name == "cllr":
        given["prior"] = 0.5
    group = Group(P, Y, W, **given)
    wanted = getattr(group, "nec" if case.name == "dcf" else case.name, None)
    if case.name == "confusion":
        (tn, fp), (fn, tp) = group.confusion
        wanted = {"tn": tn, "fp": fp, "fn": fn, "tp": tp}
    elif case.name == "class_prior":
        wanted = wanted[1]
    elif case.expected is not None:
        wanted = case.expected(group)
    elif callable(wanted):
        wanted = wanted(**case.arguments)
    value = getattr(ec, case.name)(np.array(P), np.array(Y), weight=np.array(W), **arguments)
    assert value == pytest.approx(wanted, rel=1e-9)


def test_ranking_metrics() -> None:
    points = ranking_oracle.roc_points(P, Y, W)
    assert ec.auc_roc(P, Y, weight=W) == pytest.approx(roc_auc_score(Y, P, sample_weight=W), rel=1e-12)
    assert ec.average_precision(P, Y) == pytest.approx(average_precision_score(Y, P), rel=1e-12)
    assert ec.ks(P, Y, weight=W) == pytest.approx(ranking_oracle.ks(points), rel=1e-12)
    assert ec.eer(P, Y, weight=W) == pytest.approx(ranking_oracle.eer(points), rel=1e-12)


def test_scoring_rules_of_vectors() -> None:
    q = np.array(VECTORS)
    assert ec.cross_entropy(q, CLASSES) == pytest.approx(log_loss(CLASSES, q), rel=1e-12)
    assert ec.brier(VECTORS, CLASSES) == pytest.approx(brier_score_loss(CLASSES, q) / 3, rel=1e-12)
    assert ec.confusion(q, CLASSES) == [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    assert ec.class_prior(q, CLASSES) == [0.25, 0.5, 0.25]
    assert ec.bayes_decision(q).to_list() == q.argmax(axis=1).tolist()


def test_functions_of_rows_give_a_series() -> None:
    p, y = np.array(P), np.array(Y)
    assert ec.row_log_loss(P, Y).to_list() == pytest.approx((-np.log(np.where(y == 1, p, 1 - p))).tolist())
    assert ec.log_odds(P).to_list() == pytest.approx(np.log(p / (1 - p)).tolist())
    assert ec.affine(P, 2.0, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).to_list() == pytest.approx(
        (1 / (1 + np.exp(-2 * np.log(p / (1 - p)) - np.arange(6)))).tolist()
    )
    assert ec.row_brier(P, Y).name == "score_row_brier"


def test_divergences() -> None:
    q, s = np.array(P), np.array(P[::-1])
    wanted = (s * np.log(s / q) + (1 - s) * np.log((1 - s) / (1 - q))).mean()
    assert ec.expected_score_divergence(P, reference=s) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.quick("*-nec", "*-n_rows", "*-auc_roc", "*-bayes_decision")
@pytest.mark.parametrize("name", one_of_each_family(sorted(METRICS)))
@pytest.mark.parametrize("n", [0, 1, 6])
def test_whether_a_number_or_a_series_comes_back_does_not_depend_on_the_rows(name: str, n: int) -> None:
    value = getattr(ec, name)(*columns_of(name, P[:n], Y[:n]), **needed(name))
    if name in ROW_FUNCTIONS:
        assert isinstance(value, pl.Series)
        assert len(value) == n
    else:
        assert value is None or isinstance(
            value, list if name.startswith("class_") and name != "class_prior" else int | float | dict
        )


def test_expressions_are_not_evaluated() -> None:
    for score in ("p", pl.col("p")):
        assert isinstance(ec.nec(score, "y"), pl.Expr)
    assert isinstance(ec.nec(score="p", label="y"), pl.Expr)
    assert ec.nec(label=Y, score=P, cost_fn=4) == NEC


# Kinds of values -----------------------------------------------------------------------------------------------------

KINDS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "list of NumPy numbers": lambda values: list(np.array(values)),
    "array": np.array,
    "array, backwards": lambda values: np.array(values[::-1])[::-1],
    "array of objects": lambda values: np.array(values, dtype=object),
    "array of another byte order": lambda values: np.array(values).astype(np.array(values).dtype.newbyteorder(">")),
    "masked array of nothing masked": np.ma.array,
    "Series": pl.Series,
    "pandas Series": pd.Series,
    "pandas Series with an index": lambda values: pd.Series(values, index=[7, 9, 8, 3, 2, 1]),
    "pandas Index": pd.Index,
    "pandas array": pd.array,
    "Arrow array": pa.array,
    "Arrow chunks": lambda values: pa.chunked_array([values[:2], values[2:]]),
    "narwhals": lambda values: nw.from_native(pl.Series("x", values), series_only=True),
    "narwhals of pandas": lambda values: nw.from_native(pd.Series(values), series_only=True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    assert ec.nec(KINDS[kind](P), KINDS[kind](Y), cost_fn=4) == NEC
    assert ec.nec(KINDS[kind](P), Y, weight=KINDS[kind]([1] * 6), cost_fn=4) == NEC


@pytest.mark.parametrize(
    "vectors",
    [
        VECTORS,
        [tuple(vector) for vector in VECTORS],
        [np.array(vector) for vector in VECTORS],
        np.array(VECTORS),
        np.asfortranarray(VECTORS),
        np.ma.array(VECTORS),
        pl.Series(VECTORS, dtype=pl.Array(pl.Float64, 3)),
        pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(VECTORS)), 3),
        pl.DataFrame(VECTORS, orient="row"),
        pd.DataFrame(VECTORS),
        pd.DataFrame(VECTORS).rename_axis("id"),
        pa.table(np.array(VECTORS).T.tolist(), ["a", "b", "c"]),
    ],
    ids=lambda vectors: type(vectors).__name__,
)
def test_kinds_of_vectors(vectors) -> None:
    """Costs of 1 for each error: one error in four rows, where the best constant answer has two."""
    assert ec.nec(vectors, CLASSES) == 0.5


def test_columns_of_a_frame_of_scores_go_by_the_names_of_the_classes() -> None:
    q = pd.DataFrame({"late": [0.9, 0.2], "ok": [0.1, 0.8]})
    assert ec.error_rate(q, ["late", "ok"], classes=["ok", "late"]) == 0
    assert ec.error_rate(q.to_numpy(), ["late", "ok"], classes=["ok", "late"]) == 1


@pytest.mark.parametrize(
    ("labels", "keywords"),
    [
        (np.array(Y, dtype=bool), {}),
        (np.array(Y, dtype=np.uint8), {}),
        ([bool(y) for y in Y], {}),
        (np.array(Y, dtype=float), {"pos_label": 1}),
        (np.array(["no", "yes"])[Y], {"pos_label": "yes"}),
        (["no" if y == 0 else "yes" for y in Y], {"classes": ["no", "yes"]}),
        (np.array(["no", "yes"], dtype=object)[Y], {"pos_label": "yes"}),
        (pd.Categorical(np.array(["no", "yes"])[Y]), {"pos_label": "yes"}),
        (pd.Series(np.array(["no", "yes"])[Y]), {"pos_label": "yes"}),
        (pl.Series(np.array(["no", "yes"])[Y], dtype=pl.Enum(["no", "yes"])), {"pos_label": "yes"}),
        (pa.array(np.array(["no", "yes"])[Y]).dictionary_encode(), {"pos_label": "yes"}),
    ],
)
def test_kinds_of_labels(labels, keywords) -> None:
    assert ec.nec(P, labels, cost_fn=4, **keywords) == NEC


def test_lists_of_whole_numbers_and_floats_keep_their_digits() -> None:
    assert ec.log_odds([0, 0.1, np.float32(0.5), 1]).to_list() == [-math.inf, math.log(0.1 / 0.9), 0.0, math.inf]
    assert ec.brier([[1, 0], [0.25, 0.75]], [0, 1]) == pytest.approx(0.0625 / 2)


# What is missing, wrong, or nothing ----------------------------------------------------------------------------------


def counts(p: Any, y: Any) -> tuple[int, int, int]:
    return ec.n_rows(p, y), ec.n_missing(p, y), ec.n_invalid(p, y)


@pytest.mark.filterwarnings("ignore:.* null")
def test_nan_is_wrong_and_what_is_masked_or_none_is_missing() -> None:
    assert counts(np.array([0.5, np.nan]), [1, 0]) == (1, 0, 1)
    assert ec.nec(np.array([0.5, np.nan]), [1, 0]) is None
    for missing in (
        [0.5, None],
        np.array([0.5, None], dtype=object),
        np.ma.array([0.5, 0.5], mask=[False, True]),
        pa.array([0.5, None]),
        pl.Series([0.5, None]),
        pd.Series([0.5, np.nan]),
        pd.array([0.5, None], dtype="Float64"),
        [[0.5, 0.5], None],
        [[0.5, 0.5], [0.5, None]],
        np.ma.array([[0.5, 0.5], [0.5, 0.5]], mask=[[False, False], [False, True]]),
        pd.DataFrame({"a": [0.5, 0.5], "b": [0.5, np.nan]}),
    ):
        assert counts(missing, [1, 0]) == (1, 1, 0)


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.parametrize("empty", [[], np.array([]), pl.Series([]), pd.Series([], dtype=float), pa.array([])])
def test_no_values(empty) -> None:
    assert counts(empty, empty if isinstance(empty, list) else np.array([], dtype=int)) == (0, 0, 0)
    assert ec.nec(empty, np.array([], dtype=bool)) is None
    assert ec.confusion(empty, np.array([], dtype=bool)) == {"tn": 0, "fp": 0, "fn": 0, "tp": 0}


# Priors, and arguments that may be numbers ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.* null")
def test_a_prior_is_one_share_for_each_class_unless_it_is_a_series() -> None:
    """Recall 1 and a false positive rate of 2/3 are weighed."""
    wanted = pytest.approx((0.8 * 2 / 3) / 0.8, rel=1e-12)
    for prior in (
        0.2,
        np.float64(0.2),
        [0.8, 0.2],
        (0.8, 0.2),
        np.array([0.8, 0.2]),
        {0: 0.8, 1: 0.2},
        pl.Series([0.2] * 6),
    ):
        assert ec.nec(P, Y, cost_fn=4, prior=prior) == wanted
    assert ec.nec(P, Y, cost_fn=4, prior=pl.Series([0.2] * 5 + [0.3])) is None
    by_row = pd.Series([0.2, 0.5])
    llr = np.array([1.0, -2.0])
    wanted = 1 / (1 + np.exp(-llr - np.log(by_row / (1 - by_row))))
    assert ec.posterior(llr, score_type="llr", prior=by_row).to_list() == pytest.approx(wanted.tolist())
    with pytest.raises(
        ValueError, match="score= holds 6 and label= holds 6 and prior= holds 2; pass one share per class"
    ):
        ec.nec(P, Y, prior=pl.Series([0.8, 0.2]))


def test_numbers_of_numpy_are_numbers() -> None:
    assert ec.nec(P, Y, cost_fn=np.int64(4), threshold=np.float64(0.2)) == NEC
    assert ec.nec(P, Y, costs=np.array([[0, 1], [4, 0]])) == NEC
    assert ec.nec(P, np.array(["n", "p"])[Y], classes=np.array(["n", "p"]), cost_fn=4) == NEC


def test_an_argument_that_may_be_a_column_may_be_values() -> None:
    """Which arguments these are, annotations say."""

    @with_options(RowOptions)
    def largest(score: IntoExpr, cost: float | IntoExpr = 1.0, *, own: float = 0.0, **options: Any) -> pl.Expr:
        return (pl.col("score") * cost).max() + own

    assert largest([1.0, 2.0], cost=[10.0, 3.0]) == 10
    assert largest([1.0, 2.0], 3.0, own=1.0) == 7
    with pytest.raises(ValueError, match="score= holds 2 and cost= holds 3"):
        largest([1.0, 2.0], (1, 2, 3))


def test_classes_as_scikit_learn_has_them() -> None:
    """`model.classes_` is an array, of numbers or text."""
    expected = pytest.approx(NEC, rel=1e-12)
    for dtype in (np.int64, np.uint8, np.float64, np.str_, np.bool_):
        label = np.array(Y).astype(bool if dtype is np.bool_ else np.int64).astype(dtype)
        values = np.unique(label)
        assert ec.nec(P, label, cost_fn=4, classes=values) == expected
        assert ec.nec(P, label, cost_fn=4, pos_label=values[1]) == expected
        costs = ec.CostMatrix([[0, 1], [4, 0]], classes=values)
        assert ec.nec(P, label, costs=costs, classes=values) == expected
        assert {type(name) for name in costs.classes} <= {int, float, str, bool}
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[ns]")
    assert ec.nec(P, days[Y], cost_fn=4, pos_label=days[1]) == expected


# Errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ec.nec(P, Y[:5]), "one value per row, but score= holds 6 and label= holds 5$"),
        (lambda: ec.nec(P, Y, weight=[1.0]), "score= holds 6 and label= holds 6 and weight= holds 1$"),
        (
            lambda: ec.nec(P, "y"),
            r"score= holds values \(list\), but label='y' is a column's name: pass values for both, or",
        ),
        (lambda: ec.nec(P, pl.col("y")), r"""but label='col\("y"\)' is an expression: pass values for both"""),
        (lambda: ec.nec(P, Y, weight="w"), "but weight='w' is a column's name"),
        (lambda: ec.nec(P, Y, prior=pl.col("prior")), "is an expression: pass values for both"),
        (
            lambda: ec.nec("p", Y),
            r"label= holds values \(list\), not a column's name: .* as in ec.nec\(y_score, y_true\)",
        ),
        (lambda: pl.col("p").ec.nec(np.array(Y)), r"label= holds values \(ndarray\), not a column's name"),
        (lambda: ec.nec("p", "y", weight=pd.Series(W)), r"weight= holds values \(Series\), not a column's name"),
        (lambda: ec.report(pl.DataFrame({"p": P}), "p", np.array(Y)), r"label= holds values \(ndarray\)"),
        (lambda: ec.nec(np.array(0.5), np.array(1)), r"score= holds values \(ndarray\), not a column's name"),
        (lambda: ec.nec(0.5, 1), "score=0.5 is neither a column's name nor a Polars expression"),
        (lambda: ec.nec({0.5}, {1}), "score={0.5} is neither a column's name"),
        (lambda: ec.nec(P, 1), "label=1 is neither a column's name nor a Polars expression"),
        (lambda: ec.nec(P, np.array(["a", "b"] * 3)), "label 'label' is String, .*: pass pos_label="),
        (
            lambda: ec.nec(P, np.array(Y, dtype=float)),
            r"label 'label' is Float64, not Boolean or integers 0\.\.1: pass pos_label=",
        ),
        (lambda: ec.nec(["a", "b"], [0, 1]), "scores must be numbers, but 'score' is String"),
        (lambda: ec.nec([0.5, "a"], [0, 1]), r"score= holds values \(list\) that are not one column"),
        (lambda: ec.nec([0.5, True], [0, 1]), r"score= holds values \(list\) that are not one column"),
        (
            lambda: ec.nec(np.array(["a", 1], dtype=object), [0, 1]),
            r"score= holds values \(ndarray\) that are not one column",
        ),
        (
            lambda: ec.nec(np.array([0.5j, 1]), [0, 1]),
            "score= holds values of type complex128, which Polars does not have",
        ),
        (lambda: ec.nec(np.array(P).reshape(-1, 1), Y), r"score= has one column: .* flat, such as score.ravel\(\)"),
        (lambda: ec.nec(P, np.array(Y).reshape(-1, 1)), r"label= has one column: .* flat, such as label.ravel\(\)"),
        (
            lambda: ec.nec(P, pd.DataFrame({"y": Y})),
            r"label= has one column: pass values with one number per row flat, such as label\.ravel\(\) for an array, or the column itself for a frame",
        ),
        (lambda: ec.nec(np.zeros((2, 2, 2)), [0, 1]), r"'score' is Array\(Float64, shape=\(2, 2\)\)"),
        (lambda: ec.nec([[0.5, 0.5], [1.0]], [0, 1]), "does not say how many classes there are"),
        (lambda: ec.nec(VECTORS, [0, 1, 2, 1], classes=[0, 1]), "2 classes"),
        (lambda: ec.nec(P, Y, 4), r"nec\(\) takes score and label by position, and 4 is one argument"),
        (
            lambda: ec.min_dcf(P, Y, cost_fn=np.ones(4)),
            "cost_fn=ndarray of values is a column, but one number is needed",
        ),
        (
            lambda: ec.report(np.array(P), Y),
            r"report\(\) takes a table and the names of its columns: put arrays into a",
        ),
        (lambda: ec.report(pl.DataFrame({"p": P, "y": Y}), "p", "y", by=np.array(Y)), r"by= holds values \(ndarray\)"),
        (
            lambda: ec.accuracy(P, ["no" if y == 0 else "Yes" for y in Y], pos_label="yes"),
            r"'label': no row has the label 'yes' \(pos_label=\): the nearest values are 'Yes'",
        ),
        (lambda: ec.nec(P), "nec\\(\\): missing a required argument: 'label'"),
        (lambda: ec.nec(P, Y, cost_fm=4), "did you mean cost_fp"),
    ],
)
def test_errors_name_the_value_and_the_way_out(call, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_a_positive_label_that_no_row_has_and_none_resembles_is_a_warning() -> None:
    """There may be no positive row, so that there is a value all the same, and the labels are shown."""
    with pytest.warns(
        UserWarning, match=r"no row has the label 'late' \(pos_label=\): its values are 'yes', 'no'"
    ) as warned:
        assert ec.accuracy([0.1, 0.2, 0.9], ["no", "yes", "no"], pos_label="late") == pytest.approx(2 / 3)
    assert warned[0].filename == __file__
    # Without any label no label can be told; the row lacks it.
    with pytest.warns(UserWarning, match="missing in 1 of 1 rows"):
        assert ec.accuracy([0.1], pl.Series([None], dtype=pl.String), pos_label="late") is None


def test_one_index_in_two_orders_is_an_error() -> None:
    """Values go by position, as scikit-learn takes them; pandas would align these, so that a number would mislead."""
    p, y = pd.Series(P), pd.Series(Y, index=[5, 4, 3, 2, 1, 0])
    with pytest.raises(
        ValueError, match=r"score= and label= have the same index in different orders, .* label.loc\[score.index"
    ):
        ec.nec(p, y)
    with pytest.raises(ValueError, match="score= and weight= have the same index"):
        ec.nec(p, Y, weight=y)
    assert ec.nec(p, y.to_numpy(), cost_fn=4) == NEC
    assert ec.nec(p, y.loc[p.index].iloc[::-1].reset_index(drop=True), cost_fn=4) == NEC
    assert ec.nec(p.to_frame()[0], pd.Series(Y, index=list("abcdef")), cost_fn=4) == NEC
