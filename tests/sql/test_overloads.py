"""What follows from the Python functions: overloads, defaults and comments of the macros."""

from __future__ import annotations

import pytest

from polars_ec.metrics import rows
from sql.generate.overloads import expand

DEFAULTS = "costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL"
GIVEN = "label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight"
DECISION = "ec._boolean_decision(score, score_type)"


def expanded(by_hand: str) -> list[str]:
    """Its lines, without the comment that the docstring makes."""
    return [line for line in expand(by_hand).splitlines() if not line.startswith("COMMENT")]


def test_a_formula_of_cells() -> None:
    of_list = "lambda _c: ec._of(_c, '_cells'))[1]"
    assert expanded(f"CREATE OR REPLACE MACRO ec.recall(cells) AS list_transform(cells, {of_list};\n") == [
        "CREATE OR REPLACE MACRO ec._value_of_recall(c) AS",
        "    ec._of(c, '_cells');",
        f"CREATE OR REPLACE MACRO ec.recall(score DOUBLE, label, {DEFAULTS}) AS",
        f"    list_transform(ec._binary_cells(score, {GIVEN}), {of_list},",
        f"(score DOUBLE[], label, {DEFAULTS}) AS",
        f"    list_transform(ec._binary_cells_vector(score, {GIVEN}), {of_list},",
        f"(score BOOLEAN, label, {DEFAULTS}) AS",
        f"    list_transform(ec._binary_cells({DECISION}, {GIVEN}), {of_list};",
    ]


def test_a_formula_of_cells_and_an_argument() -> None:
    lines = expanded("CREATE OR REPLACE MACRO ec.fbeta(cells, beta) AS\n    ec._of(cells, beta);\n")
    assert lines[:2] == [
        f"CREATE OR REPLACE MACRO ec.fbeta(score DOUBLE, label, beta := 1, {DEFAULTS}) AS",
        f"    ec._of(ec._binary_cells(score, {GIVEN}), beta),",
    ]


def test_formulas_of_cells_and_of_means() -> None:
    by_hand = (
        "CREATE OR REPLACE MACRO ec.nec(cells, cost_fn) AS\n    ec._of(cells, cost_fn),\n(cost) AS ec._ratio(cost);\n"
    )
    of_two = GIVEN.replace("costs", 'costs "NULL"')
    of_list = "score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight"
    assert expanded(by_hand) == [
        f"CREATE OR REPLACE MACRO ec._nec(score, {of_two}) AS",
        f"    ec._of(ec._binary_cells(score, {GIVEN}), cost_fn),",
        f"(score, {GIVEN}) AS",
        f"    ec._ratio(ec._means(score, {GIVEN}, 'cost'));",
        f"CREATE OR REPLACE MACRO ec.nec(score DOUBLE, label, {DEFAULTS}) AS",
        f"    ec._nec(score, {GIVEN}),",
        f"(score DOUBLE[], label, {DEFAULTS}) AS",
        f"    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN ec._ratio(ec._means_vector({of_list}, 'cost')) END,",
        f"(score BOOLEAN, label, {DEFAULTS}) AS",
        f"    ec._nec({DECISION}, {GIVEN});",
    ]


def test_parameters_keep_their_order() -> None:
    """Losses are of posteriors: there is no overload for decisions."""
    by_hand = (
        "CREATE OR REPLACE MACRO ec.nce(score DOUBLE, label, score_type, prior, weight) AS ec._one(score),\n"
        "(score DOUBLE[], label, score_type, prior, weight) AS ec._list(score);\n"
    )
    defaults = "score_type := 'posterior', prior := NULL, weight := NULL"
    assert expanded(by_hand) == [
        f"CREATE OR REPLACE MACRO ec.nce(score DOUBLE, label, {defaults}) AS",
        "    ec._one(score),",
        f"(score DOUBLE[], label, {defaults}) AS",
        "    ec._list(score);",
    ]


def test_parameters_without_defaults() -> None:
    by_hand = 'CREATE OR REPLACE MACRO ec.shift_prior(score DOUBLE, from_, "to", score_type) AS\n    from_ + "to";\n'
    assert expanded(by_hand) == [
        "CREATE OR REPLACE MACRO ec.shift_prior(score DOUBLE, from_, \"to\", score_type := 'posterior') AS",
        '    from_ + "to";',
    ]


def test_counts_take_decisions() -> None:
    by_hand = "CREATE OR REPLACE MACRO ec.n_rows(score DOUBLE, label, weight) AS\n    score + label\n    + score;\n"
    assert expanded(by_hand)[3:] == [
        "(score BOOLEAN, label, weight := NULL) AS",
        f"    {DECISION} + label",
        f"    + {DECISION};",
    ]


@pytest.mark.parametrize(
    "by_hand",
    [
        "CREATE OR REPLACE MACRO ec._recall(cells) AS cells;\n",
        "CREATE OR REPLACE MACRO ec.version() AS '1';\n",
        "CREATE OR REPLACE MACRO ec.sketch(log, groups := []) AS TABLE FROM log;\n",
        "CREATE OR REPLACE MACRO ec.ks(score DOUBLE, label, resolution := 64) AS score;\nCOMMENT ON MACRO ec.ks IS 'D: x';\n",
    ],
)
def test_what_stays_as_it_is(by_hand: str) -> None:
    assert expand(by_hand) == by_hand


def row_cost(score: str) -> None:
    """Cost of a row's decision.

    Lower is better;
    c_ij.

    Not this.

    Parameters
    ----------
    score
    """


def test_comments(monkeypatch) -> None:
    """The docstring's sentence and its next paragraph, unless there is one by hand."""
    monkeypatch.setattr(rows, "row_cost", row_cost)
    macro = "CREATE OR REPLACE MACRO ec.row_cost(score DOUBLE) AS\n    score;\n"
    comment = "COMMENT ON MACRO ec.row_cost IS 'Cost of a row''s decision. Lower is better; c_ij.';\n"
    assert expand(macro) == macro + comment
    by_hand = "COMMENT ON MACRO ec.row_cost IS 'By hand: c';\n"
    assert expand(macro + by_hand) == macro + by_hand
    monkeypatch.setattr(row_cost, "__doc__", "Cost.\n\nParameters\n----------\n")
    assert expand(macro).endswith(" IS 'Cost.';\n")


def test_a_parameter_that_python_lacks_is_an_error() -> None:
    with pytest.raises(KeyError, match="resolution"):
        expand("CREATE OR REPLACE MACRO ec.row_cost(score DOUBLE, resolution) AS score;\n")
