"""Reports, comparisons and drifts as tables for a paper or a mail: `ec.table(report, "latex")`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from polars_ec.formulas.decisions import CELLS, verdict
from polars_ec.output.numbers import MIDNIGHT, NONE, days_as_dates, number_in_table, p_value, signed, with_interval
from polars_ec.output.words import ALL_GROUPS, MISSING, in_words, short

TableStyle: TypeAlias = Literal["markdown", "latex"]

_LOW, _HIGH = "_ci_low", "_ci_high"
_TITLES = {
    "model": "Model",
    "reference": "Reference",
    "metric": "Metric",
    "value": "Value",
    "value_reference": "Reference value",
    "ratio": "Ratio",
    "difference": "Difference",
    "threshold": "Threshold",
    "nec_bayes": "NEC of Bayes decisions",
    "regret": "Regret",
    "observed": "Observed",
    "covered": "Covered",
    "calibrated_on": "Calibrated on",
    "shift_p_value": "p-value of the shift",
    "n_labelled": "Labelled rows",
    "selected": "Selected",
    "tied": "Tied",
    "lift": "Lift",
    "raw": "Raw loss",
    "calibrated": "Calibrated loss",
    "cal_loss": "Calibration loss",
    "discrimination": "Discrimination",
    "uncertainty": "Uncertainty",
    "reason": "Reason",
    "p_value": "p",
    "p_adjusted": "Adjusted p",
    "not_worse": "Not worse",
    "equivalent": "Equivalent",
    "n_reference": "Reference rows",
    "n_missing": "Missing",
    "n_invalid": "Invalid",
    "confusion": "Confusion matrix",
}
_PARTS = {"mix": "Mix", "prior": "Base rate", "likelihood": "Scores"}
# Of what they are beside, which stands there too.
_BESIDE = ("_kinked", "_least", "_most", "_error", "_if_calibrated", "_if_calibrated_high")
_MARKS = ("small", "total")
_COUNTS = ("n", "n_reference", "n_labelled", *CELLS)
_COUNTS_OF_BAD_ROWS = re.compile(r"n_invalid|n_missing(_\w+)?")


@dataclass(frozen=True)
class _TableColumn:
    title: str
    cells: Sequence[str]
    is_text: bool
    bold: Sequence[bool]


def table(frame: pl.DataFrame, style: TableStyle = "markdown") -> str:
    r"""Write a report, a comparison or a drift as a table for a paper or a mail.

    A value and its confidence interval are one column: `0.832 [0.826, 0.838]`. In a comparison the better of two values is bold if the
    interval of their difference does not contain 0. To choose the columns, select them before.

    Left out are `small` and `total`, columns beside a metric such as `nec_kinked` and `auc_roc_error`, and counts of missing and invalid
    rows that are all 0.

    Parameters
    ----------
    frame
        What `report`, `compare`, `drift`, `estimate`, `best_thresholds`, `capacity`, `calibration_loss`, `Sketch.evaluate`, `Sketch.compare` or
        `Sketch.drift` returns.
    style
        "markdown", or "latex": an environment `tabular` with the lines of the package booktabs.

    Returns
    -------
    str. An undefined value is "–", the null of a group column "(missing)", and the group columns of a total are "all groups".

    Raises
    ------
    TypeError
        `frame` is not a DataFrame.
    ValueError
        An unknown style.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.2, 0.6, 0.4] * 30, "y": [1, 0, 0, 1] * 30})
    >>> print(ec.table(log.ec.report("p", "y", metrics=["recall", "nec"], interval=0.95)))
    | Rows | Recall               | NEC                  | Base rate |
    | ---: | -------------------: | -------------------: | --------: |
    |  120 | 0.500 [0.374, 0.626] | 1.000 [0.835, 1.198] |     0.500 |
    """
    if not isinstance(frame, pl.DataFrame):
        raise TypeError(f"frame= is of type {type(frame).__name__}: pass a DataFrame, of a lazy report .collect()")
    if style not in get_args(TableStyle):
        raise ValueError(f"style={style!r} is none of {', '.join(get_args(TableStyle))}")
    keys = _keys(frame)
    shown = [name for name in frame.columns if name in keys or not _is_left_out(frame, name)]
    columns = [_column(frame, name, name in keys) for name in shown]
    return _markdown(columns) if style == "markdown" else _latex(columns)


def _keys(frame: pl.DataFrame) -> list[str]:
    """The group columns: those before the first column that the table has in any case; where that was not selected, before a decimal number."""
    marker = "model" if {"difference", "nec_bayes", "covered"} & set(frame.columns) else "n"
    if marker in frame.columns:
        return frame.columns[: frame.columns.index(marker)]
    return [
        *takewhile(lambda name: name not in ("metric", "value") and not _is_decimal(frame.schema[name]), frame.columns)
    ]


def _is_left_out(frame: pl.DataFrame, name: str) -> bool:
    suffix = next((end for end in (_LOW, _HIGH, *_BESIDE) if name.endswith(end)), None)
    if name in _MARKS or (suffix is not None and name.removesuffix(suffix) in frame.columns):
        return frame.schema[name] == pl.Boolean or _is_decimal(frame.schema[name])
    if _COUNTS_OF_BAD_ROWS.fullmatch(name):
        return frame[name].sum() == 0
    return name in ("model", "reference", "reason") and frame.height > 0 and frame[name].is_null().all()


def _is_decimal(dtype: pl.DataType) -> bool:
    return dtype.is_float() or dtype.is_decimal() or dtype.is_nested()


def _column(frame: pl.DataFrame, name: str, is_key: bool) -> _TableColumn:
    values, dtype = days_as_dates(frame[name]).to_list(), frame.schema[name]
    shown, ends = _key_text if is_key else _show(frame, name), [f"{name}{end}" for end in (_LOW, _HIGH)]
    nulls = [NONE] * frame.height
    if is_key:
        totals = frame["total"].to_list() if frame.schema.get("total") == pl.Boolean else [False] * frame.height
        nulls = [ALL_GROUPS if total else MISSING for total in totals]
    bounds = frame.select(ends).rows() if set(ends) <= set(frame.columns) else [(None, None)] * frame.height
    cells = [
        null if value is None else _with_bounds(value, low, high, shown)
        for value, (low, high), null in zip(values, bounds, nulls, strict=True)
    ]
    is_text = is_key or not (dtype.is_numeric() or dtype.is_nested())
    return _TableColumn(name if is_key else _title(frame, name), cells, is_text, _is_better(frame, name))


def _with_bounds(value: Any, low: Any, high: Any, shown: Callable[[Any], str]) -> str:
    """A value and its bounds, or those of each class."""
    if isinstance(value, list | tuple) and low is not None:
        return ", ".join(with_interval(*of_class, shown) for of_class in zip(value, low, high, strict=True))
    return with_interval(value, low, high, shown)


def _key_text(value: Any) -> str:
    """A group's value, with all its digits."""
    return repr(value) if isinstance(value, float) else _text(value)


def _title(frame: pl.DataFrame, name: str) -> str:
    titles = {**_TITLES, **(_PARTS if "likelihood" in frame.columns else {})}
    if name.startswith("class_") and in_words(name) == name:
        return f"{short(name.removeprefix('class_'))} by class"
    return titles.get(name, short(name))


def _show(frame: pl.DataFrame, name: str) -> Callable[[Any], str]:
    """How the values of a column are written."""
    if name == "metric":
        return short
    if name == "reference":
        return lambda value: _text(value).removesuffix(MIDNIGHT)
    if name in ("p_value", "p_adjusted", "shift_p_value"):
        return p_value
    if name == "regret" or ("difference" in frame.columns and name in ("difference", *_PARTS)):
        return signed
    if name in _COUNTS or _COUNTS_OF_BAD_ROWS.fullmatch(name):
        return _count
    return _text


def _count(value: float) -> str:
    """Counts of weighted rows have decimals."""
    return _text(value) if isinstance(value, float) else f"{value:,}"


def _text(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, float):
        return number_in_table(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple | pl.Series):
        return f"[{', '.join(map(_text, value))}]"
    return str(value)


def _is_better(frame: pl.DataFrame, name: str) -> list[bool]:
    """Whether each value of a comparison is significantly better than the other one."""
    needed = {"metric", "difference_ci_low", "difference_ci_high"}
    if name not in ("value", "value_reference") or not needed <= set(frame.columns):
        return [False] * frame.height
    wanted = "better" if name == "value" else "worse"
    return [
        low is not None and high is not None and (low > 0 or high < 0) and verdict(metric, low) == wanted
        for metric, low, high in frame.select("metric", "difference_ci_low", "difference_ci_high").rows()
    ]


def _markdown(columns: Sequence[_TableColumn]) -> str:
    def escaped(text: str) -> str:
        # An underscore between letters or digits is no emphasis.
        return re.sub(r"([\\|*<`\[\]~&]|(?<![^\W_])_|_(?![^\W_]))", r"\\\1", re.sub(r"\s+", " ", text))

    texts = []
    for column in columns:
        # Numbers need no escapes, which would stand before the bracket of each interval.
        write = escaped if column.is_text else str
        cells = [f"**{cell}**" if bold else write(cell) for cell, bold in zip(column.cells, column.bold, strict=True)]
        title, rule = escaped(column.title), "---" if column.is_text else "--:"
        widest = max(map(len, (title, rule, *cells)))
        line = rule.rjust(widest, "-") if not column.is_text else rule.ljust(widest, "-")
        texts.append(
            [
                title.ljust(widest),
                line,
                *(cell.ljust(widest) if column.is_text else cell.rjust(widest) for cell in cells),
            ]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in zip(*texts, strict=True))


_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "−": "$-$",
        "∞": r"$\infty$",
        "–": "--",
    }
)


def _latex(columns: Sequence[_TableColumn]) -> str:
    def escaped(text: str) -> str:
        # A cell that begins with a bracket or a star would belong to the end of the line before.
        return re.sub(r"^([\[*])", r"{\1}", re.sub(r"\s+", " ", text).translate(_LATEX))

    cells = [
        [
            rf"\textbf{{{escaped(cell)}}}" if bold else escaped(cell)
            for cell, bold in zip(column.cells, column.bold, strict=True)
        ]
        for column in columns
    ]
    lines = [rf"{' & '.join(row)} \\" for row in zip(*cells, strict=True)]
    kinds = "".join("l" if column.is_text else "r" for column in columns)
    title = rf"{' & '.join(escaped(column.title) for column in columns)} \\"
    head = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", title, r"\midrule"]
    return "\n".join([*head, *lines, r"\bottomrule", r"\end{tabular}"])
