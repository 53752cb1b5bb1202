"""The layout of a page: cards, tables, charts and facts, and the one HTML text that they go into."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import altair as alt
import jinja2
import polars as pl
from markupsafe import Markup

from polars_ec import plot
from polars_ec.formulas.decisions import direction, lower_is_better, verdict, worst
from polars_ec.metrics.families import function_of
from polars_ec.output.numbers import (
    NONE,
    count,
    interval_in_table,
    number_in_table,
    p_value,
    percent_in_table,
    signed,
    tenths,
)
from polars_ec.output.words import ALL_GROUPS, in_words, naive_value, short
from polars_ec.page.contents import (
    KINK,
    MOST_TO_CALIBRATE,
    NEC,
    ROW,
    Contents,
    Kind,
    Sentence,
    changed_groups,
    component_words,
    cut,
    differing_groups,
    differing_periods,
    groups_to_calibrate,
    isolated,
    model_sentences,
    named_groups,
    period_texts,
    sentences,
    text,
)
from polars_ec.page.trends import (
    MOST_PERIODS,
    Scale,
    Trend,
    Trends,
    Values,
    any_known,
    four_digits,
    group_trends,
    interval_bar,
    sparkline,
)
from polars_ec.plot.files import asset, policy, script_json
from polars_ec.plot.layers import MAIN, OTHER, REST, plain

# The table of groups: a row per group, a column per question.

Row = Mapping[str, Any]

# Of these the unit is percent.
_SHOWN: Mapping[str, Callable[[float | None], str]] = {"class_prior": percent_in_table, "rcl": tenths}

TREND = "trend"


@dataclass(frozen=True)
class Column:
    """A column of the table: its name, its heading, the heading in full, and the value of the naive system. Columns with `more` are not printed."""

    name: str
    title: str
    about: str
    more: bool = False
    naive: float | None = None


@dataclass(frozen=True)
class Cell:
    """A number as text with its interval; the value to sort by; why it is missing; a word about it; or a picture."""

    text: str
    raw: float | None = None
    interval: str = ""
    why: str = ""
    word: str = ""
    bad: bool = False
    picture: Markup | None = None


@dataclass(frozen=True)
class GroupRow:
    """A row of the table. If there is a trend, or facts that are known beside, it opens and shows these."""

    row: int
    name: str
    cells: list[tuple[Column, Cell]]
    small: bool
    costly: bool
    facts: list[list[str]]
    opens: bool = False


def columns(contents: Contents, *, periods: bool = False) -> list[Column]:
    """The columns of the table after the name of the group or period: the main metric first, because narrow screens show few."""
    main, *others = contents.metrics
    shown = [Column(main, short(main), in_words(main), naive=naive_value(main))]
    if contents.judged_metric != main:
        prior = "the reference prior" if contents.prior is None else f"prior {percent_in_table(contents.prior)}"
        about = f"{in_words(main)} if every group had this base rate"
        shown.append(Column(contents.judged_metric, f"{short(main)} at {prior}", about, naive=naive_value(main)))
    if contents.trend is not None and not periods:
        shown.append(Column(TREND, f"{short(main)} by period", "dashed: the naive system"))
    judged = short(contents.judged_metric)
    if (contents.periods if periods else contents.rest) is not None:
        others_of = "periods" if periods else "groups"
        about = f"{judged}, minus that of all other {others_of} together"
        shown.append(Column("rest", "Against all others", about, naive=0.0))
    if contents.changes is not None and not periods:
        about = f"{judged} of the last period, minus that of the reference period"
        shown.append(Column("change", "Change", about, naive=0.0))
    if "rcl" in contents.groups.columns and "rcl" not in contents.metrics and not periods:
        shown.append(Column("rcl", "RCL, %", in_words("rcl"), naive=0.0))
    shown.append(Column("n", "Rows", "rows with a score and a label"))
    if contents.has_positives:
        shown.append(Column("class_prior", "Base rate", in_words("class_prior")))
    more = (Column(metric, short(metric), in_words(metric), more=True, naive=naive_value(metric)) for metric in others)
    return [*shown, *more]


def group_rows(contents: Contents, kept: Sequence[int], names: Sequence[str], trends: Trends | None) -> list[GroupRow]:
    """The rows of the groups that are shown."""
    rest, changes = _rows_by_group(contents, contents.rest), _rows_by_group(contents, contents.changes)
    # Only those that the findings name.
    differ, changed = (
        [] if table is None else contents.rows_of(significant(contents, table)[0])
        for table, significant in ((contents.rest, differing_groups), (contents.changes, changed_groups))
    )
    groups, shown = contents.groups.rows(named=True), columns(contents)
    rows = []
    for row in kept:
        group, against, change, costly = groups[row], rest.get(row), changes.get(row), row in contents.costly
        differences = {
            "rest": _difference_cell(against, group, contents, is_real=row in differ),
            "change": _difference_cell(change, group, contents, is_real=row in changed),
        }
        picture = None if trends is None else _trend_cell(trends.by_group.get(row), trends)
        cells = _cells(shown, group, {**differences, TREND: picture}, costly=contents.cost_metric if costly else "")
        facts = _facts(contents, group, against, change)
        trend = None if trends is None else trends.by_group.get(row)
        opens = bool(facts) or (trend is not None and any_known(trend.value))
        rows.append(GroupRow(row, names[row], cells, bool(group.get("small")), costly, facts, opens))
    return rows


def total_row(contents: Contents, trends: Trends | None) -> GroupRow:
    """All groups together, which nothing is compared with."""
    picture = None if trends is None else _trend_cell(trends.whole, trends)
    known = {"rest": Cell(""), "change": Cell(""), TREND: picture}
    cells = _cells(columns(contents), contents.total.row(0, named=True), known)
    return GroupRow(-1, ALL_GROUPS, cells, small=False, costly=False, facts=[])


def period_rows(contents: Contents) -> list[GroupRow]:
    """The rows of the table of periods: the latest ones."""
    if contents.trend_total is None or contents.period is None:
        return []
    shown, every = columns(contents, periods=True), contents.trend_total[contents.period]
    rest, differ = dict[Any, Row](), list[Any]()
    if contents.periods is not None:
        rest = {row[contents.period]: row for row in contents.periods.iter_rows(named=True)}
        differ = differing_periods(contents, contents.periods)[0][contents.period].to_list()
    rows = []
    for row in contents.trend_total.tail(MOST_PERIODS).iter_rows(named=True):
        at = row[contents.period]
        known = {"rest": _difference_cell(rest.get(at), row, contents, is_real=at in differ)}
        name = plain(period_texts([at], every)[0])
        rows.append(GroupRow(-1, name, _cells(shown, row, known), bool(row.get("small")), costly=False, facts=[]))
    return rows


def _cells(
    shown: Sequence[Column], group: Row, known: Mapping[str, Cell | None], *, costly: str = ""
) -> list[tuple[Column, Cell]]:
    return [
        (column, known.get(column.name) or _value_cell(group, column.name, bad=column.name == costly))
        for column in shown
    ]


def _trend_cell(trend: Trend | None, trends: Trends) -> Cell:
    if trend is None:
        return Cell(NONE, None, why="left out: there are too many groups to show all trends")
    known = [value for value in trend.value if value is not None]
    ends = f"from {number_in_table(known[0])} to {number_in_table(known[-1])}" if known else "no value"
    return Cell(ends, picture=sparkline(trend.value, trends.scale, trends.naive))


def _value_cell(group: Row, name: str, *, bad: bool = False) -> Cell:
    value = group.get(name)
    show = _SHOWN.get(name, number_in_table)
    if name == "n":
        return Cell(f"{value:,}", value)
    if value is None:
        return Cell(NONE, None, why=_why_null(group))
    between = interval_in_table(group.get(f"{name}_ci_low"), group.get(f"{name}_ci_high"), show)
    unknown = "no interval: too few rows or clusters" if f"{name}_ci_low" in group and not between else ""
    if math.isinf(value):
        unknown = "infinite: a row has posterior 0 for its own class"
    return Cell(show(value), value, between, why=unknown, word="above 1" if bad else "", bad=bad)


def _why_null(group: Row) -> str:
    if group.get("n_invalid"):
        return f"not known: {count(group['n_invalid'], 'invalid row')}"
    if not group.get("n"):
        return "not known: no row has a score and a label"
    if group.get("class_prior") in (0, 1):
        return "not known: all rows are of one class"
    return "not known: undefined for these rows"


def _difference_cell(comparison: Row | None, group: Row, contents: Contents, *, is_real: bool) -> Cell:
    if comparison is None or comparison["difference"] is None:
        why = "not known: too few rows to compare, or none to compare them with"
        return Cell(NONE, None, why=_why_null(group) if group.get("n_invalid") else why)
    value = comparison["difference"]
    between = interval_in_table(comparison["difference_ci_low"], comparison["difference_ci_high"], signed)
    if not is_real:
        return Cell(signed(value), value, between)
    word = verdict(contents.metrics[0], value)
    return Cell(signed(value), value, between, word=word, bad=word == "worse")


def _rows_by_group(contents: Contents, table: pl.DataFrame | None) -> dict[int, Row]:
    return {} if table is None else dict(zip(contents.rows_of(table), table.rows(named=True), strict=True))


def _facts(contents: Contents, group: Row, against: Row | None, change: Row | None) -> list[list[str]]:
    """Pairs of a name and a value, shown with the trend of a group."""
    main = short(contents.judged_metric)
    facts = []
    if against is not None and against["difference"] is not None:
        facts.append([f"{main} of all other groups", number_in_table(against["value_reference"])])
        facts.append(["Difference from them", _difference_in_words(against, "difference")])
    if change is not None and change["difference"] is not None and contents.period is not None:
        assert contents.trend_total is not None
        ends = [contents.reference, change[contents.period]]
        first, last = period_texts(ends, contents.trend_total[contents.period])
        facts.append([f"Change from {first} to {last}", _difference_in_words(change, "difference")])
        facts += [
            [f"explained by {words}", _difference_in_words(change, part)]
            for part, words in component_words(contents).items()
            if change.get(part) is not None and contents.judged_metric == contents.metrics[0]
        ]
    if group.get("n_missing") or group.get("n_invalid"):
        facts.append(["Rows missing, invalid", f"{group.get('n_missing') or 0:,}, {group.get('n_invalid') or 0:,}"])
    return facts


def _difference_in_words(comparison: Row, name: str) -> str:
    between = interval_in_table(comparison.get(f"{name}_ci_low"), comparison.get(f"{name}_ci_high"), signed)
    adjusted = f"; adjusted p {p_value(comparison['p_adjusted'])}" if name == "difference" else ""
    return signed(comparison[name]) + f" ({between})" * bool(between) + adjusted


# The charts of a page: specifications by `plot`, made small enough to be embedded.

Spec = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A chart, its heading and what stands below it, and what it shows in words."""

    id: str
    title: str
    caption: str
    words: str
    spec: Spec


_IN_WORDS: Mapping[str, str] = {
    "trend": "The main metric by period. The table of periods has the values.",
    "roc": "True-positive rate over false-positive rate, for every threshold. The table has the area under the curve (AUC).",
    "det": "Misses over false alarms, for every threshold.",
    "pr": "Precision over recall, for every threshold.",
    "reliability": "Observed base rate over the posterior. Calibrated scores lie on the diagonal.",
    "cost_curve": "Cost of the decisions over the threshold. The table has the costs at the threshold in use.",
    "bayes_error": "Detection cost over the prior. The distance between the actual and the minimum cost is the gain from calibration.",
    "forest": "Each group with its confidence interval, as in the table.",
    "drift": "What explains the change of all rows together, by period.",
}
# The first of these that a page has stands on its first screen.
_PICTURES = ("trend", "forest", "cost_curve", "det")


def figures(contents: Contents) -> list[Figure]:
    """Draw the charts that have something to show."""
    main = contents.metrics[0]
    charts = []
    total, cells = contents.trend_total, contents.curves
    if total is not None and total.height > 1 and total[main].is_finite().any():
        assert contents.period is not None
        lines = [main] if contents.judged_metric == main else [main, contents.judged_metric]
        every, name = total[contents.period], contents.period
        latest = total.tail(MOST_PERIODS)
        if every.dtype.is_temporal():
            # An axis of times has no labels where Vega runs without building code from text, as a strict policy asks.
            latest = latest.with_columns(pl.Series(name, period_texts(latest[name].to_list(), every)))
        trend = plot.trend(latest, lines, x=name, prior=contents.prior if lines[1:] else None)
        charts.append(_figure("trend", trend, f"{in_words(main)} by {text(name)}"))
    # Of one class alone there is no curve. Groups with invalid rows have no share, and no curve.
    shares = set() if cells is None else {*contents.groups["class_prior"].drop_nulls()}
    if cells is not None and not shares <= {0.0} and not shares <= {1.0}:
        curves: list[Callable[..., Any]] = [plot.roc, plot.reliability, plot.cost_curve, plot.pr]
        if not cells.grid.scale.has_posteriors:
            curves = [plot.roc, plot.det, plot.bayes_error if cells.grid.scale.needs_prior else plot.pr]
        for draw in curves:
            options = {"interval": contents.interval} if "interval" in inspect.signature(draw).parameters else {}
            charts.append(_figure(draw.__name__, draw(cells, **options)))
    if contents.groups.height > 1 and contents.groups[main].is_finite().any():
        judged = contents.judged_metric
        charts.append(_figure("forest", plot.forest(contents.groups, judged), f"{in_words(judged)} by group"))
    history = contents.history
    if history is not None and "likelihood" in history.columns and history["difference"].is_finite().any():
        charts.append(_figure("drift", plot.drift(history)))
    return charts


def _figure(name: str, chart: Any, heading: str = "") -> Figure:
    # Whatever a user has told Altair to do with data and themes: the page holds its data, and has its own looks.
    with alt.data_transformers.enable("default"):
        spec: Spec = chart.to_dict(validate=False)
    # Of charts one below the other the first has the title.
    title = (spec if "title" in spec else spec["vconcat"][0]).pop("title")
    caption, heading = ". ".join(map(text, title["subtitle"])), heading or text(title["text"])
    for unused in ("$schema", "config", "usermeta"):
        spec.pop(unused, None)
    datasets = spec.pop("datasets", {})
    # Altair calls data by a digest of all their digits, of which the last ones differ between two readings of a log.
    spec = _with_names(spec, {key: f"data-{at}" for at, key in enumerate(datasets)})
    spec["datasets"] = {f"data-{at}": _packed(rows) for at, rows in enumerate(datasets.values())}
    return Figure(name, heading, caption, f"{heading}. {_IN_WORDS[name]}", spec)


def _with_names(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_with_names(part, names) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"name"}:
        return {"name": names.get(value["name"], value["name"])}
    return {key: _with_names(part, names) for key, part in value.items()}


def _packed(rows: list[Mapping[str, Any]]) -> Spec:
    """Rows as columns; text as places in a list of texts."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    columns: dict[str, Any] = {}
    for key in keys:
        values = [row.get(key) for row in rows]
        if any(isinstance(value, str) for value in values):
            texts = list(dict.fromkeys(value for value in values if value is not None))
            places = {text: at for at, text in enumerate(texts)}
            columns[key] = {"texts": texts, "at": [None if value is None else places[value] for value in values]}
        else:
            columns[key] = [four_digits(value) if isinstance(value, float) else value for value in values]
    return {"n": len(rows), "columns": columns}


# From contents to what the template takes: all that is shown, in words and numbers that are ready to be printed.

_LISTED, _FINDINGS = 30, 5
_WIDE = 14
_LONGEST_TEXT = 300
_RCL = "The percentage of the loss that recalibration would remove: (raw - calibrated) / raw."


@dataclass(frozen=True)
class Quality:
    """Rows that a group has, and those that it could not use."""

    name: str
    n: str
    missing: str
    invalid: str
    small: bool


@dataclass(frozen=True)
class Card:
    """A figure on the first screen: its name, its value, a line about it, its interval as a bar, and its trend."""

    name: str
    value: str
    about: str
    bar: Markup | None = None
    trend: Markup | None = None
    kind: Kind = "neutral"
    of_trend: str = ""


def page_view(
    contents: Contents, figures: Sequence[Figure], most_groups: int, *, left_out: int = 0, prefix: str = ""
) -> dict[str, Any]:
    """The variables of the template for one model, of at most so many groups, the largest and the worst, and with these charts."""
    labels = contents.labels
    kept = _shown_groups(contents, most_groups)
    trends = group_trends(contents, kept)
    rows = group_rows(contents, kept, labels, trends)
    alone = contents.groups.height == 1
    quality, n_more = _quality(contents, labels)
    by_id = {figure.id: figure for figure in figures}
    picture = next((by_id[name] for name in _PICTURES if name in by_id), None)
    others = [figure for figure in figures if figure is not picture]
    places = {"groups", "quality", *(["periods"] if trends is not None else []), *(["charts"] if others else [])}
    headline, *findings = [
        sentence if sentence.section in places else replace(sentence, section="groups")
        for sentence in sentences(contents)
    ]
    caution = [KINK.strip()] * any(finding.text.endswith(KINK) for finding in [headline, *findings])
    findings = [replace(finding, text=finding.text.removesuffix(KINK)) for finding in findings]
    # Bad news first.
    findings.sort(key=lambda finding: ["bad", "neutral", "good"].index(finding.kind))
    return {
        "prefix": prefix,
        "model": text(contents.model),
        "title": cut(text(contents.title), _LONGEST_TEXT),
        "lead": _lead(contents, trends),
        "headline": replace(headline, text=headline.text.removesuffix(KINK)),
        "cards": _cards(contents, trends),
        "picture": picture,
        "findings": findings[:_FINDINGS],
        "more": findings[_FINDINGS:],
        "key_names": cut(text(", ".join(contents.keys))) or "Group",
        "period": cut(text(contents.period or "")),
        "columns": columns(contents),
        "period_columns": columns(contents, periods=True),
        "total": None if alone else total_row(contents, trends),
        "rows": rows,
        "periods": period_rows(contents),
        "n_groups": contents.groups.height,
        "has_nec": "nec" in contents.metrics,
        "wide": any(len(row.name) > _WIDE for row in rows),
        "marks": _marks(contents),
        "figures": others,
        "quality": quality,
        "n_more": n_more,
        "definitions": _definitions(contents),
        "options": [(text(name), cut(text(value), _LONGEST_TEXT)) for name, value in contents.options.items()],
        "notes": [*caution, *map(text, contents.notes), *_left_out(contents, kept, trends, left_out)],
        "data": _data(contents, figures, rows, trends),
    }


@dataclass(frozen=True)
class ModelsView:
    """The table that compares the models, or the classes of one, and the sentence above it."""

    title: str
    noun: str
    headline: str
    columns: list[Column]
    rows: list[GroupRow]
    findings: list[Sentence]
    best: int = 0

    @classmethod
    def of(cls, contents: Sequence[Contents]) -> ModelsView:
        """Compare each model with the first by the judged metric; classes have no difference, because each has other positives."""
        first, judged = contents[0], contents[0].judged_metric
        of_classes, is_compared = first.noun == "Class", any(of_model.versus is not None for of_model in contents)
        about = f"{short(judged)}, on the same rows"
        against = Column("versus", f"Difference from {text(first.model)}", about, naive=0.0)
        shown = [column for column in columns(first) if column.name not in ("rest", "change", TREND)]
        if is_compared:
            shown.insert(1 + (judged != first.metrics[0]), against)
        if len({of_model.prior for of_model in contents}) > 1 and of_classes:
            # Each class has its own base rate.
            shown = [column for column in shown if column.name == first.metrics[0] or column.name != judged]
            judged = first.metrics[0]
        rows, real = list[GroupRow](), list[bool]()
        for of_model in contents:
            total, versus = (
                None if table is None or table.is_empty() else table.row(0, named=True)
                for table in (of_model.total, of_model.versus)
            )
            assert total is not None
            p = None if versus is None else versus["p_adjusted"]
            real.append(p is not None and p < 1 - first.interval)
            cell = Cell("") if of_model is first else _difference_cell(versus, total, of_model, is_real=real[-1])
            cells = _cells(shown, total, {"versus": cell})
            rows.append(GroupRow(-1, text(of_model.model), cells, small=False, costly=False, facts=[]))
        values = pl.concat(of_model.total.select(pl.col(judged).cast(pl.Float64)) for of_model in contents)[judged]
        findings = [finding for of_model in contents for finding in model_sentences(of_model, first.model)]
        lower = lower_is_better(first.metrics[0])
        best, worst = (values.arg_min(), values.arg_max())[:: 1 if lower else -1]
        title = "Classes" if of_classes else "Models"
        view = partial(cls, title, first.noun, columns=shown, rows=rows, findings=findings)
        if best is None or worst is None:
            return view(
                f"No {first.noun.lower()} has a value for the whole log. Leave out or repair its invalid rows to compare "
                f"the {title.lower()}."
            )
        most, least = ("lowest", "highest")[:: 1 if lower else -1]
        if of_classes:
            headline = (
                f"Each class against the rest: {isolated(rows[worst].name)} has the {least} {short(judged)}, "
                f"{number_in_table(values[worst])}, and {isolated(rows[best].name)} the {most}, {number_in_table(values[best])}."
            )
            return view(headline, best=worst)
        headline = f"Model {isolated(rows[best].name)} has the {most} {short(judged)}, {number_in_table(values[best])}."
        if best and values[0] is not None and is_compared:
            of_first = f"Model {isolated(rows[0].name)} has {number_in_table(values[0])}"
            headline += f" {of_first}; the difference is {'' if real[best] else 'not '}significant."
        return view(headline, best=best)


def _cards(contents: Contents, trends: Trends | None) -> list[Card]:
    """The cost against the naive system, the latest value at the reference prior, the calibration loss, and the rows."""
    total, main = contents.total.row(0, named=True), contents.metrics[0]
    own = trends.whole.value if trends is not None else []
    names = {NEC: "Cost against the naive system"}
    cards = [_card(names.get(main, in_words(main)), total, main, contents, own, trends)]
    if main != NEC and NEC in contents.metrics:
        cards.append(_card(names[NEC], total, NEC, contents, [], trends))
    judged = contents.judged_metric
    if judged != main:
        prior = "the reference prior" if contents.prior is None else f"base rate {percent_in_table(contents.prior)}"
        row, when = total, ""
        # At the prior of the whole log its own value and this one are the same.
        if trends is not None and contents.trend_total is not None and total.get(judged) == total.get(main):
            row, when = contents.trend_total.row(-1, named=True), f", {trends.periods[-1]}"
        at_prior = trends.whole.at_prior if trends is not None else []
        if when or row.get(judged) != total.get(main):
            cards.append(_card(f"{short(main)} at {prior}{when}", row, judged, contents, at_prior, trends))
    if "rcl" in contents.total.columns and "rcl" not in contents.metrics:
        cards.append(_card("Loss that recalibration would remove", total, "rcl", contents, [], trends))
    used = f"{total['n']:,}"
    lost = f"{total['n_missing'] or 0:,} missing, {total['n_invalid'] or 0:,} invalid"
    shares = (
        []
        if contents.trend_total is None or not contents.has_positives
        else contents.trend_total["class_prior"].to_list()
    )
    picture = sparkline(shares[-MOST_PERIODS:], Scale.of(shares, None), None) if len(shares) > 1 else None
    base = contents.has_positives and total["class_prior"] is not None
    rate = f"base rate {percent_in_table(total['class_prior'])}; " if base else ""
    return [
        *cards,
        Card(
            "Rows",
            used,
            f"{rate}{lost}",
            trend=picture,
            kind="bad" if total["n_invalid"] else "neutral",
            of_trend="base rate ",
        ),
    ]


def _card(title: str, row: Row, name: str, contents: Contents, trend: Values, trends: Trends | None) -> Card:
    value, low, high = (row.get(f"{name}{end}") for end in ("", "_ci_low", "_ci_high"))
    naive, show = (0.0, _percent_cell) if name == "rcl" else (naive_value(name), number_in_table)
    picture = None
    if trends is not None and len(trend) > 1:
        picture = sparkline(trend, Scale.of(trend, trends.naive), trends.naive)
    if value is None or low is None or high is None:
        why = _why_null(row) if value is None else "no confidence interval"
        return Card(title, show(value), why, trend=picture)
    lower = name == "rcl" or lower_is_better(name)
    kind: Kind = "neutral"
    if naive is not None and name != "rcl" and (low > naive or high < naive):
        kind = "bad" if (low > naive) == lower else "good"
    level = f"{100 * contents.interval:.4g}% CI {interval_in_table(low, high, show)}"
    beside = "" if naive is None or name == "rcl" else f"; naive system {naive:g}"
    shown = "< 0.1%" if name == "rcl" and abs(value) < 0.05 else show(value)
    return Card(title, shown, f"{level}{beside}", interval_bar(value, low, high, naive), picture, kind)


def _percent_cell(value: float | None) -> str:
    shown = tenths(value)
    return shown if shown == NONE else f"{shown}%"


def _shown_groups(contents: Contents, most: int) -> list[int]:
    """Rows of the table of groups: all, or of too many the largest half, those that the verdict names, and the worst of the others, in their order."""
    n_groups = contents.groups.height
    if n_groups <= most:
        return list(range(n_groups))
    largest = list(range((most + 1) // 2))
    named = {*named_groups(contents), *groups_to_calibrate(contents)[:MOST_TO_CALIBRATE]} - {*largest}
    others = [row for row in range(len(largest), n_groups) if row not in named]
    return sorted([*largest, *named, *_worst(contents, others, max(most - len(largest) - len(named), 0))])


def _worst(contents: Contents, among: Sequence[int], most: int) -> list[int]:
    """The worst groups: those significantly above 1 first, then those that are not small."""
    main, with_trend = contents.metrics[0], list[int]()
    if contents.trend is not None and contents.keys:
        trends = contents.numbered().join(contents.trend, on=contents.keys, nulls_equal=True, how="semi")
        with_trend = trends[ROW].to_list()
    order = [
        ~pl.col(ROW).is_in(contents.costly),
        ~pl.col(ROW).is_in(with_trend),
        pl.col("small").fill_null(value=True) if "small" in contents.groups.columns else pl.lit(value=False),
        (-pl.col(main) if lower_is_better(main) else pl.col(main)).fill_nan(None),
        pl.col(ROW),
    ]
    numbered = contents.groups.with_row_index(ROW).filter(pl.col(ROW).is_in(list(among)))
    return numbered.sort(order, nulls_last=True)[ROW].head(most).to_list()


def _lead(contents: Contents, trends: Trends | None) -> str:
    total = contents.total.row(0, named=True)
    facts = [count(total["n"], "row")]
    if contents.keys:
        facts.append(f"{count(contents.groups.height, 'group')} by {isolated(text(', '.join(contents.keys)))}")
    if trends is not None:
        n = len(trends.periods) + trends.n_left_out
        first, last = trends.periods[0], trends.periods[-1]
        span = f"to {last}" if trends.n_left_out else f"from {first} to {last}"
        facts.append(f"{n:,} periods {span}" if n > 1 else f"1 period, {last}")
    if contents.has_positives and total["class_prior"] is not None:
        facts.append(f"base rate {percent_in_table(total['class_prior'])}")
    if "Costs" in contents.options:
        facts.append(f"costs: {cut(text(contents.options['Costs']))}")
    return " · ".join(facts)


def _marks(contents: Contents) -> list[str]:
    level = f"{100 * contents.interval:.4g}%"
    legend = [
        f"Bars: {level} confidence intervals; point at a bar for its bounds. Dashed: the naive system. –: not known, point at it for the "
        "reason. Grey: small groups, whose intervals are unreliable."
    ]
    if contents.costly:
        legend.append(
            "“above 1”: NEC is significantly above 1, adjusted for the number of groups. The naive system would cost less."
        )
    if contents.rest is not None or contents.changes is not None:
        words = "“higher”, “lower”" if direction(contents.metrics[0]) is None else "“worse”, “better”"
        legend.append(f"{words}: a significant difference, adjusted for the number of groups.")
    return legend


def _quality(contents: Contents, labels: Sequence[str]) -> tuple[list[Quality], int]:
    """All rows, then the groups of which rows are missing or invalid, or too few: those with most of them first."""
    counts_of = ("n", "n_missing", "n_invalid")

    def line(name: str, row: Mapping[str, Any]) -> Quality:
        n, missing, invalid = (f"{row.get(column) or 0:,}" for column in counts_of)
        return Quality(name, n, missing, invalid, bool(row.get("small")))

    troubled = [
        (row, labels[at])
        for at, row in enumerate(contents.groups.iter_rows(named=True))
        if row.get("n_missing") or row.get("n_invalid") or row.get("small")
    ]
    troubled.sort(key=lambda pair: -((pair[0].get("n_invalid") or 0) + (pair[0].get("n_missing") or 0)))
    if contents.groups.height == 1:
        troubled = []
    listed = [line(name, row) for row, name in troubled[:_LISTED]]
    return [line("all rows", contents.total.row(0, named=True)), *listed], len(troubled) - len(listed)


def _definitions(contents: Contents) -> list[tuple[str, str]]:
    definitions = []
    for metric in [*contents.metrics, *(["rcl"] if "rcl" in contents.groups.columns else [])]:
        function = function_of(metric)
        summary = "" if function is None else (inspect.getdoc(function) or "").split("\n\n")[0]
        meaning = _RCL if metric == "rcl" else summary.replace("\n", " ").replace("`", "")
        better = {"lower": "Lower is better.", "higher": "Higher is better.", None: ""}[direction(metric)]
        definitions.append((in_words(metric), f"{meaning} {better}".strip()))
    if contents.judged_metric != contents.metrics[0]:
        meaning = "A base rate that all groups and periods are compared at, so that a different base rate is not taken for a different model."
        definitions.append(("Reference prior", meaning))
    return definitions


def _left_out(contents: Contents, kept: Sequence[int], trends: Trends | None, n_charts: int) -> list[str]:
    notes = []
    if len(kept) < contents.groups.height:
        notes.append(
            f"This page shows {len(kept):,} of {contents.groups.height:,} groups: the largest, those in the findings, and the {worst(contents.metrics[0])} "
            "of the others."
        )
    if trends is not None and trends.n_left_out:
        earlier = f"{trends.n_left_out:,} earlier ones are left out."
        notes.append(f"Trends show the last {len(trends.periods):,} periods. {earlier}")
    if n_charts:
        notes.append(f"{count(n_charts, 'chart')} left out, because the page would be too large.")
    return notes


def _data(
    contents: Contents, figures: Sequence[Figure], rows: Sequence[GroupRow], trends: Trends | None
) -> dict[str, Any]:
    names_of_facts = list(dict.fromkeys(name for row in rows for name, _ in row.facts))
    places = {name: at for at, name in enumerate(names_of_facts)}
    return {
        "charts": {figure.id: figure.spec for figure in figures},
        "periods": [] if trends is None else trends.periods,
        "trends": {} if trends is None else {row: trend.packed() for row, trend in trends.by_group.items()},
        "facts": {row.row: [[places[name], value] for name, value in row.facts] for row in rows if row.facts},
        "names": names_of_facts,
        "metric": in_words(contents.metrics[0]),
        "naive": None if trends is None else trends.naive,
        "prior": "at the reference prior" if contents.prior is None else f"at prior {percent_in_table(contents.prior)}",
        "interval": f"{100 * contents.interval:.4g}% confidence interval",
        "colours": [MAIN, OTHER, REST],
    }


# One HTML text: it asks for nothing, and of its scripts those alone run that are written here.

_PACKAGE = "polars_ec.page"
MOST_BYTES = 2_000_000
_MOST_GROUPS, _LEAST_GROUPS = 2_000, 20


def render(*contents: Contents) -> str:
    """The page of one or several models, or of the classes of one, of at most 2 MB: of too many groups the largest and the worst."""
    charts, (template, assets) = [figures(of_model) for of_model in contents], _template()
    most, n_charts = min(max(of_model.groups.height for of_model in contents), _MOST_GROUPS), max(map(len, charts))
    several = len(contents) > 1
    models = ModelsView.of(contents) if several else None
    prefixes = [f"m{m}-" if several else "" for m in range(len(contents))]
    while True:
        pages = [
            page_view(of_model, drawn[:n_charts], most, left_out=len(drawn[n_charts:]), prefix=prefix)
            for of_model, drawn, prefix in zip(contents, charts, prefixes, strict=True)
        ]
        data = Markup(script_json([page["data"] for page in pages]))
        html = template.render(**assets, pages=pages, models=models, data=data)
        size = len(html.encode())
        if size <= MOST_BYTES:
            return html
        if most > _LEAST_GROUPS:
            # The size grows about in proportion to the number of groups.
            shown = [chart for drawn in charts for chart in drawn[:n_charts]]
            fixed = len(assets["vega"]) + sum(len(script_json(chart.spec)) for chart in shown)
            share = max(MOST_BYTES - fixed, 0) / max(size - fixed, 1)
            most = max(_LEAST_GROUPS, min(int(0.95 * share * most), most - 1))
        elif n_charts:
            n_charts -= 1
        else:
            raise AssertionError("a page with few groups and no charts is small")


@cache
def _template() -> tuple[jinja2.Template, dict[str, Markup]]:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    assets = {
        "style": Markup(asset("page.css", _PACKAGE)),
        "vega": Markup(asset("vega.js.xz")),
        "script": Markup(asset("tooltip.js") + asset("page.js", _PACKAGE)),
    }
    rules = Markup(policy([assets["vega"], assets["script"]], assets["style"]))
    return environment.from_string(asset("page.html.jinja", _PACKAGE)), {**assets, "policy": rules}
