"""Gates: a column, an operator and a number, which end a command with an exit code of its own where a group trips them."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import polars as pl

from polars_ec.api.alarms import COUNTED, alarms
from polars_ec.arguments.keywords import did_you_mean
from polars_ec.cli.options import PERIOD_NAMES
from polars_ec.cli.terminal import UsageError
from polars_ec.output.numbers import days_as_dates
from polars_ec.reports.models import METRICS
from polars_ec.typing import AlarmTest

_OPTION = "--fail-if"
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_GATE = re.compile(
    rf"""\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^\s"<>=!]+))\s*"""
    rf"""(?P<operator>{"|".join(_OPERATORS)})\s*(?P<number>[^\s<>=!]+)\s*"""
)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_SHAPE = 'pass a column, one of > >= < <= == != and a number, such as "n_missing > 500"'

# Columns that are there only where an option asks for them.
_ASKED_FOR = {
    "--interval 0.95": re.compile(r"_ci_(low|high)$|_kinked$|_if_calibrated(_high)?$"),
    "--prior": re.compile(r"_at_prior"),
    "--margin": re.compile(r"^(not_worse|equivalent)$"),
    "--min-rows or --interval": re.compile(r"^small$"),
}
_SHOWN = 20
_LONGEST = 80

_BUDGET_OPTION = "--false-alarms"
_BUDGET = re.compile(r"(?P<number>\d+(\.\d+)?)/(?P<unit>hour|day|week|month|quarter|year)")
_DURATION = re.compile(r"(\d+)([a-z]+)")
_DAYS = {"d": 1.0, "w": 7.0, "mo": 365 / 12, "q": 365 / 4, "y": 365.0, "h": 1 / 24, "m": 1 / 1440, "s": 1 / 86400}
_DAYS |= {"ms": 1e-3 / 86400, "us": 1e-6 / 86400, "ns": 1e-9 / 86400}
_UNITS = {name: unit for unit, name in PERIOD_NAMES.items()}

# What they say of small groups is as true as of others: none has fewer rows than one whose rows are all wrong.
_OF_SIZE = re.compile(r"small|n|n_invalid|n_reference|n_missing(_(label|score|weight))?")


@dataclass(frozen=True)
class Gate:
    """What trips it: a value of the column for which the comparison with the number holds."""

    text: str
    column: str
    operator: str
    number: float

    def trips(self, value: float) -> bool:
        return _OPERATORS[self.operator](value, self.number)

    def side(self) -> tuple[str, str]:
        """The metric whose confidence bound it names, and "above" or "below", the side on which it must not be; UsageError for other gates."""
        for side, end, operators in (("above", "_ci_low", (">", ">=")), ("below", "_ci_high", ("<", "<="))):
            if self.column.endswith(end) and self.operator in operators:
                return self.column.removesuffix(end), side
        raise UsageError(
            f'{self} with {_BUDGET_OPTION}: name a lower bound that must not be above a number, such as "nec_at_prior_ci_low > 0.7", '
            'or an upper bound that must not be below one, such as "recall_ci_high < 0.8"'
        )

    def __str__(self) -> str:
        return f"{_OPTION} {self.text!r}"


@dataclass(frozen=True)
class Names:
    """What a row of a table is about.

    `keys` are the first columns, which say so, `if_several` those of them that say nothing where they have one value, and `beside`
    those that are about something else; `small` and `total` are whether the table has the columns of these names that mark rows. `period` is
    the key of periods, if there is one.
    """

    keys: Sequence[str]
    if_several: Sequence[str] = ()
    beside: Sequence[str] = ()
    small: bool = False
    total: bool = False
    period: str | None = None

    def shown(self, table: pl.DataFrame) -> Callable[[int], str]:
        """What a row is called, by its number."""
        keys = [name for name in self.keys if name not in self.beside]
        several = [name for name in keys if name not in self.if_several or table[name].n_unique() > 1]
        columns = {name: _texts(table[name]) for name in several}
        totals = table["total"].to_list() if self.total else [False] * table.height

        def name_of(row: int) -> str:
            # The keys of groups are null in the row over all of them.
            said = {name: texts[row] for name, texts in columns.items() if texts[row] is not None or not totals[row]}
            parts = ["total"] if totals[row] else []
            shown = (f"{name}={'null' if v is None else _shortened(v)}" for name, v in said.items())
            return ", ".join([*parts, *shown])

        return lambda row: name_of(row) or "the whole log"


@dataclass(frozen=True)
class Verdict:
    """What came of a gate: the rows that trip it, with what is said of them; and how many it did not judge, and why.

    `last` is the period of these rows, if evidence of earlier ones counts too.
    """

    gate: Gate
    tripped: Sequence[str]
    rows: int
    small: int
    null: int
    last: str | None = None

    def lines(self) -> Iterator[str]:
        """One for each of the first groups that trip it, and one for all others."""
        yield from self.tripped[:_SHOWN]
        if len(self.tripped) > _SHOWN:
            yield f"{len(self.tripped) - _SHOWN} more groups trip {self.gate}"

    @property
    def is_blind(self) -> bool:
        """Whether it judged nothing at all."""
        return self.small + self.null == self.rows

    def not_judged(self) -> str | None:
        """How many values it did not judge, if any, and why."""
        if not self.rows:
            return f"{self.gate} judged no value, which only --fail-on-null counts as a failure: the table is empty"
        why = [f"{n} {what}" for n, what in ((self.small, "in small groups"), (self.null, "null")) if n]
        if not why:
            return None
        values = "1 value" if self.rows == 1 else f"{self.rows} values"
        if self.last is not None:
            skipped = f"{self.gate} skipped {self.small + self.null} of {values} of {self.last}, where only earlier periods count"
            return f"{skipped}: {', '.join(why)} (--fail-on-null fails on these)"
        if self.is_blind:
            return f"{self.gate} judged no value, which only --fail-on-null counts as a failure: of {values} {', '.join(why)}"
        return f"{self.gate} skipped {self.small + self.null} of {values}: {', '.join(why)} (--fail-on-null judges these too)"


@dataclass(frozen=True)
class AlarmBudget:
    """How many false alarms all gates of a command may raise, as the mean number of looks between them.

    `level` is that of the intervals; `is_counted`: rows are independent and count once, so that the evidence of rates is exact.
    """

    text: str
    looks: float
    level: float | None
    is_counted: bool

    @classmethod
    def of(cls, text: str, every: str | None, level: float | None, *, is_counted: bool) -> AlarmBudget:
        """The budget that a text states, for looks after each period; UsageError for a text that is none, or for no periods."""
        match = _BUDGET.fullmatch(text)
        if match is None or not float(match["number"]):
            raise UsageError(f"{_BUDGET_OPTION} {text}: pass a number per {', '.join(_UNITS)}, such as 1/year")
        if every is None:
            raise UsageError(f"{_BUDGET_OPTION} {text} is for gates over periods: pass --every too, such as --every 1d")
        looks = _days(_UNITS[match["unit"]]) / _days(every) / float(match["number"])
        if looks <= 1:
            raise UsageError(f"{_BUDGET_OPTION} {text} allows a false alarm in every period of {every}: allow fewer")
        return cls(text, looks, level, is_counted)


def _days(duration: str) -> float:
    return sum(int(number) * _DAYS[unit] for number, unit in _DURATION.findall(duration))


@dataclass(frozen=True)
class Gates:
    """All gates of a command. `on_null`: nulls trip them, and small groups count as others. With a budget they are sequential tests."""

    gates: tuple[Gate, ...] = field(default_factory=tuple)
    on_null: bool = False
    budget: AlarmBudget | None = None

    @classmethod
    def of(cls, texts: Sequence[str], on_null: bool, budget: AlarmBudget | None = None) -> Gates:
        """The gates that the texts state; UsageError for a text that is none."""
        stated = {"--fail-on-null": on_null, f"{_BUDGET_OPTION} {budget.text if budget else ''}": budget is not None}
        option = next((option for option, is_stated in stated.items() if is_stated), None)
        if option is not None and not texts:
            raise UsageError(f'{option} needs a gate: pass {_OPTION} too, such as {_OPTION} "nec_ci_low > 1"')
        gates = cls(tuple(map(parse_gate, texts)), on_null, budget)
        if budget is not None:
            for gate in gates.gates:
                gate.side()
        return gates

    def check(self, schema: Mapping[str, pl.DataType]) -> None:
        """UsageError for a column that is not there, or that holds no numbers. Where nothing is known of a column it is Null."""
        for gate in self.gates:
            if gate.column not in schema:
                raise UsageError(f"{gate}: there is no column {gate.column!r}: {_way_out(gate.column, list(schema))}")
            dtype = schema[gate.column]
            if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
                each = ". With --per-class there is a row for each class" if dtype.is_nested() else ""
                raise UsageError(f"{gate}: {gate.column} is {dtype}, but a gate needs a column of numbers{each}")

    def verdicts(self, table: pl.DataFrame, names: Names) -> list[Verdict]:
        judge = self._verdict if self.budget is None else partial(self._alarm_verdict, self.budget)
        return [judge(gate, table, names) for gate in self.gates]

    def _alarm_verdict(self, budget: AlarmBudget, gate: Gate, table: pl.DataFrame, names: Names) -> Verdict:
        """The groups that the evidence of all periods is against after the last one. The gates share the budget."""
        assert names.period is not None
        metric, side = gate.side()
        groups = [key for key in names.keys if key not in (names.period, *names.beside)]
        has_counts = metric in COUNTED and (metric != "precision" or {"tp", "fp"} <= set(table.columns))
        test: AlarmTest = "counts" if budget.is_counted and has_counts else "interval"
        limits = {side: gate.number} | ({} if budget.level is None else {"interval": budget.level})
        looks = budget.looks * len(self.gates)
        try:
            periods = alarms(table, metric, period=names.period, looks=looks, by=groups, test=test, **limits)
        except ValueError as error:
            raise UsageError(f"{gate} with {_BUDGET_OPTION}: {error}") from error
        rows = table.sort(*groups, names.period)  # if a group has none, its value is null
        small = rows["small"] & (rows["n"] > 0) if names.small else pl.Series([False] * table.height)
        is_last = pl.col(names.period) == pl.col(names.period).max()
        last = periods.with_columns(small=small.fill_null(value=False)).filter(is_last)
        since, name_of = _texts(last["since"]), names.shown(last)
        stated, moved = f"{gate}, {_BUDGET_OPTION} {budget.text}", f"{metric} is {side} {gate.number:g}"
        tripped, unjudged = [], dict.fromkeys((False, True), 0)
        for row, of in enumerate(last.select("alarm", "judged", "small", "evidence", "alarm_at").rows(named=True)):
            if of["alarm"]:
                evidence = f"evidence {of['evidence']:.4g}, alarm at {of['alarm_at']:.4g}"
                tripped.append(f"{name_of(row)}: {moved} since {since[row]}: {evidence} ({stated})")
            elif not of["judged"] and self.on_null:
                tripped.append(f"{name_of(row)}: {gate.column} is null or of a small group ({stated}, --fail-on-null)")
            elif not of["judged"]:
                unjudged[of["small"]] += 1
        shown = next(iter(_texts(last[names.period])), None)
        return Verdict(gate, tripped, last.height, unjudged[True], unjudged[False], shown)

    def _verdict(self, gate: Gate, table: pl.DataFrame, names: Names) -> Verdict:
        excuses = names.small and not self.on_null and not _OF_SIZE.fullmatch(gate.column)
        small = table["small"].fill_null(value=False).to_list() if excuses else [False] * table.height
        # Decimals as the floats that are nearest, as the number of a gate is.
        column = table[gate.column].cast(pl.Float64) if table.schema[gate.column].is_decimal() else table[gate.column]
        values = [None if value is None or value != value else value for value in column.to_list()]
        name_of = names.shown(table)
        tripped, null = [], 0
        for row, (value, is_small) in enumerate(zip(values, small, strict=True)):
            if is_small:
                continue
            if value is None:
                null += not self.on_null
                if self.on_null:
                    tripped.append(f"{name_of(row)}: {gate.column} is null ({gate}, --fail-on-null)")
            elif gate.trips(value):
                tripped.append(f"{name_of(row)}: {gate.column} is {_shown(value, gate)} ({gate})")
        return Verdict(gate, tripped, table.height, sum(small), null)

    def trip(self, verdicts: Sequence[Verdict]) -> bool:
        """Whether any of them does; on null also one that had nothing to judge."""
        return any(verdict.tripped or (self.on_null and verdict.is_blind) for verdict in verdicts)


def parse_gate(text: str) -> Gate:
    """The gate that a text states; it is read, and never run."""
    match = _GATE.fullmatch(text)
    if match is None:
        said = f"{_OPTION} {text!r}: {_SHAPE}"
        if re.fullmatch(r"[^<>=!]+=[^<>=!]+", text):
            said = f"{_OPTION} {text!r}: for equality use ==. {_SHAPE}"
        elif re.search(r"=[<>]|<>|[≤≥≠＜＞＝]", text):
            said = f"{_OPTION} {text!r}: the operators are {' '.join(_OPERATORS)}"
        elif re.match(r'\s*[^\s"<>=!]+\s+[^\s"<>=!]', text):
            said = f"{_OPTION} {text!r}: put a column name with spaces in double quotes. {_SHAPE}"
        raise UsageError(said)
    column = match["bare"] if match["quoted"] is None else match["quoted"].replace('""', '"')
    return Gate(text.strip(), column, match["operator"], _number(match["number"], text))


def _number(stated: str, text: str) -> float:
    if stated.lower().lstrip("+-") == "nan":
        raise UsageError(f"{_OPTION} {text!r}: NaN compares with nothing. To fail on null values use --fail-on-null")
    if stated.lower() in ("true", "false"):
        raise UsageError(f"{_OPTION} {text!r}: write 1 for true and 0 for false")
    if not _NUMBER.fullmatch(stated) and not _INFINITY.fullmatch(stated):
        raise UsageError(f"{_OPTION} {text!r}: {stated} is not a number: {_SHAPE}")
    number = float(stated)
    if math.isinf(number) and not _INFINITY.fullmatch(stated):
        raise UsageError(f"{_OPTION} {text!r}: {stated} is too large for a number")
    return number


def _way_out(column: str, columns: Sequence[str]) -> str:
    """Which column may be meant, or which option makes it one."""
    by_lower = {name.lower(): name for name in columns}
    if column.lower() in by_lower:
        return f"did you mean {by_lower[column.lower()]}?"
    metric = re.sub(r"(_at_prior)?(_ci_(low|high)|_low|_high|_error)?$", "", column)
    is_left_out = metric in METRICS and not any(name == metric or name.startswith(f"{metric}_") for name in columns)
    if is_left_out and {"metric", "value"} <= set(columns):
        either, bound = ("s value or difference", "difference") if "difference" in columns else (" value", "value")
        gates = f'use the column{either}, such as "{bound}_ci_low > 0"'
        return f"each metric has rows of its own here: pass --metrics {metric}, and {gates}"
    if re.match(r"mix(_|$)", column) and "likelihood" in columns and "mix" not in columns:
        return "pass --mix, the column whose mix may change"
    options = [
        option
        for option, pattern in _ASKED_FOR.items()
        if pattern.search(column) and not any(map(pattern.search, columns))
    ]
    options += [f"--metrics {metric}"] if is_left_out else []
    if options:
        return f"pass {' and '.join(options)}"
    return f"{did_you_mean(column, columns)}The columns are {', '.join(columns)}"


def _shown(value: float, gate: Gate) -> str:
    """With few digits, if these say as well that it trips the gate."""
    if not isinstance(value, float):
        return _text(value)
    short = f"{value:.6g}"
    return short if gate.trips(float(short)) else repr(value)


def _shortened(text: str) -> str:
    """With its middle left out where it is long: names that differ mostly do so at an end."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 2 :]}"


def _texts(column: pl.Series) -> list[str | None]:
    """The values of a group column; None for null."""
    return [None if value is None else _text(value) for value in days_as_dates(column).to_list()]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.hex() if isinstance(value, bytes) else str(value)
