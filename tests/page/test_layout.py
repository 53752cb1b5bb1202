"""What a page shows is what its tables hold, number by number."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import polars as pl
import pytest

import polars_ec as ec
from polars_ec.output.numbers import number_in_table, p_value, percent_in_table, signed, tenths
from polars_ec.page import layout
from polars_ec.page import layout as render
from polars_ec.page.contents import Contents, sentences, shown_names
from polars_ec.page.layout import Figure, figures
from polars_ec.page.trends import Scale, interval_bar, sparkline
from tests.support.pages import contents_of, group_names, simulated


class Table(HTMLParser):
    """The rows of the table of groups: of each cell the text by the element that it is in."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[dict[str, str]]] = []
        self.inside = False
        self.path: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs) -> None:
        given = dict(attrs)
        self.inside |= tag == "table" and given.get("id") == "table"
        if self.inside and tag == "tr":
            self.rows.append([])
        if self.inside and tag in ("th", "td"):
            self.rows[-1].append({"v": given.get("data-v", ""), "class": given.get("class", "")})
        if tag not in ("path", "input"):
            self.path.append(tag if tag in ("td", "th") else given.get("class") or tag)

    def handle_endtag(self, tag) -> None:
        if self.path:
            self.path.pop()
        self.inside &= tag != "table"

    def handle_data(self, data) -> None:
        if self.inside and self.rows and self.rows[-1] and data.strip():
            cell = self.rows[-1][-1]
            cell[self.path[-1]] = cell.get(self.path[-1], "") + data.strip()


def data_of(html: str) -> dict:
    start = html.index(">", html.index('id="data"')) + 1
    return json.loads(html[start : html.index("</script>", start)])[0]


@pytest.fixture(scope="module")
def contents() -> Contents:
    log = simulated([*group_names(14), None], 5, 15_000)
    few = log.filter(pl.col("group").ne_missing("S009") | (pl.int_range(pl.len()) % 100 == 0))
    labels = pl.when(pl.col("group").ne_missing("S010") | (pl.col("user") > 300)).then("label").otherwise(None)
    # One group is small, one lacks labels, and the scores of one are high where labels are negative.
    score = pl.when(group="S004").then(0.9 - 0.8 * pl.col("label")).otherwise("score").alias("score")
    return contents_of(few.with_columns(score, label=labels), title="Loans")


@pytest.fixture(scope="module")
def plain(contents) -> list[Figure]:
    return figures(contents)


@pytest.fixture(scope="module")
def html(contents, plain) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "figures", lambda _: plain)
        return render.render(contents)


def test_each_number_of_the_table_is_that_of_the_contents(contents, html) -> None:
    head, total, *rows = Table(html).rows
    titles = [cell.get("sort") or cell.get("th") for cell in head]
    assert titles[:2] == ["group", "NEC"]
    columns = {"NEC": "nec", "NCE": "nce", "AUC": "auc_roc", f"NEC at prior {contents.prior:.1%}": "nec_at_prior"}
    shown = contents.groups.rows(named=True)
    assert len(rows) == len(shown) == 15
    for cells, group in zip([total, *rows], [*contents.total.rows(named=True), *shown], strict=True):
        assert cells[titles.index("Rows")]["td"] == f"{group['n']:,}"
        assert cells[titles.index("Base rate")]["td"] == f"{group['class_prior']:.1%}"
        for title, name in columns.items():
            cell = cells[titles.index(title)]
            assert (cell.get("td") or cell["span"]) == f"{group[name]:.3f}"
            assert float(cell["v"]) == pytest.approx(group[name], rel=1e-5)
            low, high = group[f"{name}_ci_low"], group[f"{name}_ci_high"]
            assert cell.get("small", "") == ("" if low is None else f"{low:.3f} to {high:.3f}")
    names = [cells[0].get("bdi") for cells in rows]
    assert names == [name or "(missing)" for name in contents.groups["group"]]
    assert [cells[0].get("word") == "small" for cells in rows] == contents.groups["small"].to_list()
    assert sum(contents.groups["small"]) == 1


def test_groups_are_marked_that_the_verdict_names_and_no_others(contents, html) -> None:
    head, _, *rows = Table(html).rows
    titles = [cell.get("sort") or cell.get("th") for cell in head]
    (of_prior,) = [at for at, title in enumerate(titles) if title.startswith("NEC at prior")]
    above = {row[0]["bdi"] for row in rows if row[of_prior].get("word") == "above 1"}
    assert above == {contents.groups["group"][at] for at in contents.costly} != set()
    told = next(s.text for s in sentences(contents) if "from all others" in s.text)
    marked = {word: [] for word in ("worse", "better")}
    for row in rows:
        word = row[titles.index("Against all others")].get("word")
        if word:
            marked[word].append(row[0]["bdi"])
    assert told.startswith(f"{len(marked['worse']) + len(marked['better'])} of 14 groups")
    worst = told.split("Worse: ")[1].split(" (")[0]
    assert worst in marked["worse"]
    assert 0 < len(marked["better"]) < 14


@pytest.mark.slow
def test_keys_and_periods_have_any_names() -> None:
    log = simulated(group_names(3), 2, 600)
    made = contents_of(log.rename({"group": "row", "month": "at"}), ["row"], "at", metrics=["nec"])
    page = layout.page_view(made, [], 3)
    assert [row.name for row in page["rows"]] == made.groups["row"].to_list()
    assert all(cell.picture for row in page["rows"] for column, cell in row.cells if column.name == "trend")
    assert page["lead"].startswith("600 rows · 3 groups by row · 2 periods from 2023-01 to 2023-02")
    one = layout.page_view(contents_of(log.head(1), metrics=["nec"]), [], 1)
    assert one["lead"].startswith("1 row · 1 group by group · 1 period, 20")


@pytest.mark.slow
def test_a_verdict_calls_groups_as_the_table_does() -> None:
    """Names that are alike as far as they are shown, or a group called as one that has no name."""
    groups = ["a" * 70 + "1", "a" * 70 + "2", None, "(missing)"]
    log = simulated(groups, 1, 4_000)
    contents = contents_of(log, period=None, metrics=["nec"])
    useless = pl.int_range(pl.len()) % 97 / 97
    wrong = contents_of(
        log.with_columns(score=useless, label=pl.lit(value=False) | (useless < 0.1)), period=None, metrics=["nec"]
    )
    assert len(set(contents.labels)) == 4
    assert shown_names(contents, contents.groups[::-1]) == contents.labels[::-1]
    (text,) = [s.text for s in sentences(wrong) if "cost significantly more" in s.text]
    assert all(label in text for label in wrong.labels)
    # The digits beside a name that is written from right to left stay in their order.
    hebrew = replace(
        contents, groups=contents.groups.with_columns(group=pl.lit("\u05d0\u05d1 ") + pl.col("n").cast(pl.String))
    )
    assert {name[0] + name[-1] for name in shown_names(hebrew)} == {"\u2068\u2069"}
    assert shown_names(contents) == contents.labels


def test_of_too_many_groups_those_are_shown_that_the_verdict_names(contents) -> None:
    assert contents.rest is not None
    # The smallest group that is not small is better than all others: by its size and its value it would be left out.
    name = contents.groups.remove("small")["group"][-1]
    other = pl.col("group").ne_missing(name)
    sure = {
        "difference": -0.9,
        "difference_ci_low": -0.91,
        "difference_ci_high": -0.89,
        "p_adjusted": 0.0,
        "small": False,
    }
    rest = contents.rest.with_columns(
        pl.when(other).then(column).otherwise(pl.lit(value)).alias(column) for column, value in sure.items()
    )
    page = layout.page_view(replace(contents, rest=rest), [], 4)
    assert any(f"{name} (−0.900)" in finding.text for finding in [*page["findings"], *page["more"]])
    assert name in [row.name for row in page["rows"]]
    assert len(page["rows"]) < contents.groups.height


def test_trends_are_embedded_with_four_digits(contents, html) -> None:
    data = data_of(html)
    assert data["periods"] == ["2023-01", "2023-02", "2023-03", "2023-04", "2023-05"]
    assert len(data["trends"]) == contents.groups.height
    names = ["nec", "nec_ci_low", "nec_ci_high", "nec_at_prior", "nec_at_prior_ci_low", "nec_at_prior_ci_high"]
    for row, series in data["trends"].items():
        group = contents.groups["group"][int(row)]
        rows = contents.trend.filter(pl.col("group").eq_missing(pl.lit(group))).sort("month")
        assert rows.height == 5
        for name, values in zip(names, series, strict=True):
            expected = [None if value is None else float(f"{value:.4g}") for value in rows[name]]
            assert values == (expected if any(v is not None for v in expected) else [])


def test_the_charts_hold_the_data_of_their_specifications(contents, html, plain) -> None:
    embedded = data_of(html)["charts"]
    assert list(embedded) == [figure.id for figure in plain]
    assert list(embedded) == ["trend", "roc", "reliability", "cost_curve", "pr", "forest", "drift"]
    measures = {text for data in embedded["trend"]["datasets"].values() for text in data["columns"]["measure"]["texts"]}
    assert measures == {
        "Normalised expected cost (NEC)",
        f"Normalised expected cost (NEC) at prior {contents.prior:.4g}",
    }
    (rows,) = [
        rows for rows in ec.plot.forest(contents.groups, "nec_at_prior").to_dict()["datasets"].values() if len(rows) > 3
    ]
    (packed,) = [data for data in embedded["forest"]["datasets"].values() if data["n"] > 3]
    for name, column in packed["columns"].items():
        texts = isinstance(column, dict)
        values = [None if at is None else column["texts"][at] for at in column["at"]] if texts else column
        expected = [row[name] for row in rows]
        assert len(values) == len(expected)
        for value, other in zip(values, expected, strict=True):
            assert value == (pytest.approx(other, rel=5e-4) if isinstance(other, float) else other)


@pytest.mark.slow
def test_a_chart_of_the_page_ignores_what_a_user_has_told_altair(contents, plain) -> None:
    import altair as alt

    with alt.data_transformers.enable("json"), alt.theme.enable("dark"):
        assert figures(contents) == plain


def test_definitions_are_the_first_sentences_of_the_documentation(contents, html) -> None:
    page = layout.page_view(contents, [], 100)
    told = dict(page["definitions"])
    assert told["Normalised expected cost (NEC)"].startswith("Expected cost normalised by the cost of the naive system")
    assert told["Normalised expected cost (NEC)"].endswith("Lower is better.")
    assert told["Area under the ROC curve (AUC)"].endswith("Higher is better.")
    assert len(told) == len(contents.metrics) + 2
    assert all(len(text) > 40 for text in told.values())


def test_missing_and_invalid_rows_are_counted_by_group(contents) -> None:
    page = layout.page_view(contents, [], 100)
    missing = contents.groups.filter(pl.col("group") == "S010")["n_missing"].item()
    assert missing > 50
    assert [(line.name, line.missing) for line in page["quality"][:2]] == [
        ("all rows", f"{missing}"),
        ("S010", f"{missing}"),
    ]
    assert page["quality"][2].small


@pytest.mark.slow
def test_what_is_not_known_says_why() -> None:
    log = simulated(group_names(3), 2, 900)
    label = pl.when(pl.col("group") == "S001").then(pl.lit(True)).otherwise("label")
    score = pl.when(pl.col("group") == "S002", pl.int_range(pl.len()) < 100).then(1.5).otherwise("score")
    contents = contents_of(log.with_columns(label=label, score=score))
    rows = layout.page_view(contents, [], 100)["rows"]
    whys = {row.name: {cell.why for column, cell in row.cells if column.name != "rest"} for row in rows}
    assert "not known: all rows are of one class" in whys["S001"]
    assert any(re.fullmatch(r"not known: [\d,]+ invalid rows?", why) for why in whys["S002"])
    assert whys["S000"] == {""}
    assert "not known" in render.render(contents)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
        (0.0, "0.000"),
        (-0.0, "0.000"),
        (0.57349, "0.573"),
        (-0.57349, "−0.573"),
        (12.345, "12.3"),
        (12345.6, "12,346"),
        (-1.2345e20, "−1.23e+20"),
        (0.00123, "0.0012"),
    ],
)
def test_numbers_have_three_places(value, expected) -> None:
    assert number_in_table(value) == expected


def test_other_numbers() -> None:
    assert [signed(v) for v in (0.5, -0.0081, 0.0, 0.00012, None)] == ["+0.500", "−0.008", "0.000", "+0.00012", "–"]
    assert [percent_in_table(v) for v in (0.2014, 0.0012, 0.0, 1.0, None)] == ["20.1%", "0.12%", "0.0%", "100.0%", "–"]
    assert [tenths(v) for v in (-0.04, 3.27, None)] == ["0.0", "3.3", "–"]
    assert [p_value(v) for v in (0.0, 0.0009, 0.04, None)] == ["below 0.001", "below 0.001", "0.040", "–"]


def test_lines_have_gaps_and_intervals_their_place() -> None:
    def path(values: list[float | None]) -> str:
        return re.search(r'class="line" d="([^"]*)"', sparkline(values, Scale(0, 2), None))[1]

    assert path([0.0, 1.0, None, 2.0, 9.0]) == "M2 20h0L25 11M71 2h0L94 2"
    assert path([None] * 5) == ""
    assert path([1.0]) == "M48 11h0"
    scale = Scale.of([0.2, 0.4, None, float("inf")], 1.0)
    assert scale.low < 0.2 < 1.0 < scale.high < 1.2
    assert Scale.of([], None).low == 0
    # A cost below 0 there is not; a difference there is.
    assert (Scale.of([0.0, 5.0], 1.0).low, Scale.of([-0.5, 0.5], 0.0).low < -0.5) == (0.0, True)
    assert 'class="naive" d="M2 11.0h92"' in sparkline([1.0, 1.0], Scale(0, 2), 1.0)
    bar = interval_bar(1.0, 0.5, 2.0, None)
    places = [float(x) for x in re.search(r'd="M([\d.]+) 10H([\d.]+)"/><circle cx="([\d.]+)"', bar).groups()]
    # The value is a third of the way from the lower to the upper bound.
    assert (places[2] - places[0]) / (places[1] - places[0]) == pytest.approx(1 / 3, abs=0.01)
