"""Tables for papers and mails: what is in them, what is bold, and what Markdown and LaTeX read."""

from __future__ import annotations

import math
import re
from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.cli import invoke

RNG = np.random.default_rng(4)
N = 900
P = RNG.random(N)
LOG = pl.DataFrame(
    {
        "year": RNG.integers(2024, 2027, N),
        "p": P,
        "q": np.clip(P + RNG.normal(0, 0.3, N), 0.01, 0.99),
        "y": RNG.random(N) < P,
    }
)


def cells(text: str) -> list[list[str]]:
    """The rows of a table in Markdown, without the rule, as its readers take them."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines()]
    assert {len(row) for row in rows} == {len(rows[0])}
    assert all(re.fullmatch(r"-+:?", cell.strip()) for cell in rows[1])
    return [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in row] for i, row in enumerate(rows) if i != 1]


def test_a_report() -> None:
    report = LOG.ec.report("p", "y", by="year", metrics=["nec", "auc_roc"], interval=0.95, total=True, min_rows=5)
    header, *rows = cells(ec.table(report))
    assert header == ["year", "Rows", "NEC", "AUC", "Base rate"]
    assert [row[0] for row in rows] == ["2024", "2025", "2026", "all groups"]
    for row, values in zip(rows, report.rows(named=True), strict=True):
        assert row[1] == str(values["n"])
        for cell, name in ((row[2], "nec"), (row[3], "auc_roc")):
            numbers = [values[name], values[f"{name}_ci_low"], values[f"{name}_ci_high"]]
            assert cell == "{:.3f} [{:.3f}, {:.3f}]".format(*numbers)


@pytest.mark.parametrize("models", [["q", "p"], ["p", "q"]])
def test_the_significantly_better_value_is_bold(models: list[str]) -> None:
    """By the interval of the difference, and by which way each metric is better."""
    table = LOG.ec.compare(models, "y", metrics=["nec", "recall", "nce", "mcc", "lr_plus"])
    header, *rows = cells(ec.table(table))
    of_model, of_reference = header.index("Value"), header.index("Reference value")
    n_bold = 0
    for row, values in zip(rows, table.rows(named=True), strict=True):
        lower = values["metric"] in ("nec", "nce")
        is_real = values["difference_ci_low"] > 0 or values["difference_ci_high"] < 0
        is_better = is_real and (values["difference"] < 0) == lower
        assert row[of_model].startswith("**") == is_better
        assert row[of_reference].startswith("**") == (is_real and not is_better)
        n_bold += is_real
    assert n_bold >= 2


def test_a_drift_of_a_sketch() -> None:
    sketch = LOG.ec.sketch("p", "y", by="year")
    header, first, _ = cells(ec.table(sketch.drift("nec", period="year")))
    assert {"Difference", "Base rate", "Scores", "Reference rows"} <= {*header}
    assert not {"prior_least", "prior_most", "small", "Missing"} & {*header}
    assert re.fullmatch(r"[+−]\d\.\d{3} \[[+−]\d\.\d{3}, [+−]\d\.\d{3}\]", first[header.index("Scores")])


def test_thresholds_that_were_learned() -> None:
    judged = LOG.ec.best_threshold(["p", "q"], "y", period="year")
    header, *rows = cells(ec.table(judged))
    shown = ["Threshold", "NEC", "NEC of Bayes decisions", "Regret", "p", "Adjusted p"]
    assert header == ["year", "Model", "Reference", *shown, "Rows", "Reference rows"]
    for row, values in zip(rows, judged.rows(named=True), strict=True):
        assert row[:3] == [str(values["year"]), values["model"], "2024"]
        regret = [values["regret"], values["regret_ci_low"], values["regret_ci_high"]]
        assert row[3:6] == [f"{values[name]:.3f}" for name in ("threshold", "nec", "nec_bayes")]
        assert row[6].replace("\N{MINUS SIGN}", "-") == "{:+.3f} [{:+.3f}, {:+.3f}]".format(*regret)


def test_a_capacity_and_the_parts_of_a_loss() -> None:
    looked_at = LOG.ec.capacity("p", "y", k=20, period="year", interval=0.95)
    header, row = cells(ec.table(looked_at))
    metrics = ["Precision", "Recall", "Lift", "Expected cost", "NEC"]
    assert header == ["Rows", "Base rate", "Selected", "Tied", "Threshold", *metrics]
    assert row[2:4] == ["60.0", "0"]
    loss = LOG.ec.calibration_loss("p", "y", calibrator="pav", training="test", by="year")
    losses = ["Raw loss", "Calibrated loss", "Calibration loss", "RCL", "Discrimination", "Uncertainty"]
    assert cells(ec.table(loss))[0] == ["year", "Rows", "Base rate", *losses]


def test_counts_of_missing_and_invalid_rows_are_shown_if_there_are_any() -> None:
    frame = pl.DataFrame(
        {"g": ["a", None], "n": [1200, 3], "nec": [0.5, None], "n_missing": [0, 2], "n_invalid": [0, 0]}
    )
    assert cells(ec.table(frame)) == [
        ["g", "Rows", "NEC", "Missing"],
        ["a", "1,200", "0.500", "0"],
        ["(missing)", "3", "–", "2"],
    ]


def test_metrics_of_each_class_have_their_bounds() -> None:
    posteriors = RNG.dirichlet([1, 1, 1], 300)
    log = pl.DataFrame({"p": posteriors.tolist(), "y": (posteriors.cumsum(axis=1) < RNG.random((300, 1))).sum(axis=1)})
    frame = log.ec.report("p", "y", classes=[0, 1, 2], metrics=["class_recall"], interval=0.9)
    header, row = cells(ec.table(frame))
    assert header == ["Rows", "Recall by class", "Base rate"]
    of_class = zip(*(frame[f"class_recall{end}"].item() for end in ("", "_ci_low", "_ci_high")), strict=True)
    assert row[1] == ", ".join("{:.3f} [{:.3f}, {:.3f}]".format(*numbers) for numbers in of_class)


def test_group_columns_of_any_name_and_type() -> None:
    keys = {
        "tp": [20_240_000, None],
        "p_value": ["a", None],
        "small": [True, None],
        "recall": [0.12341, 0.12342],
        "x_error": ["b", "c"],
    }
    frame = pl.DataFrame({**keys, "x": [1, 2], "n": [5, 6], "nec": [0.5, 0.6], "total": [False, True]})
    header, first, second = cells(ec.table(frame))
    assert header == [*keys, "x", "Rows", "NEC"]
    assert first == ["20240000", "a", "true", "0.12341", "b", "1", "5", "0.500"]
    assert second == ["all groups", "all groups", "all groups", "0.12342", "c", "2", "6", "0.600"]


def test_a_bound_that_is_no_number_makes_nothing_bold() -> None:
    row = {"metric": "nec", "value": 0.7, "value_reference": 0.5, "difference": 0.2}
    frame = pl.DataFrame([{**row, "difference_ci_low": math.nan, "difference_ci_high": 0.4}])
    assert "**" not in ec.table(frame)


HOSTILE = [
    "a|b",
    "*c*",
    "two\nlines",
    "d\\",
    "<e>",
    "`f`",
    "Über",
    "100 % & $_{^~#",
    "__init__",
    "[l](http://x)",
    "&amp;",
    "~~s~~",
]


def test_hostile_texts_in_markdown() -> None:
    frame = pl.DataFrame({"g|": HOSTILE, "nec": [0.5] * len(HOSTILE)})
    header, *rows = cells(ec.table(frame))
    assert header == ["g|", "NEC"]
    assert [row[0] for row in rows] == [text.replace("\n", " ") for text in HOSTILE]


def test_underscores_within_words_need_no_escape() -> None:
    table = ec.table(pl.DataFrame({"merchant_name": ["a_b_1", "_c", "d_", "e__f"], "nec": [0.5] * 4}))
    assert [line.split("|")[1].strip() for line in table.splitlines()] == [
        "merchant_name",
        "-------------",
        "a_b_1",
        r"\_c",
        r"d\_",
        r"e\_\_f",
    ]


def test_hostile_texts_in_latex() -> None:
    frame = pl.DataFrame(
        {"g": [*HOSTILE[:8], "[1]"], "nec": [0.5, -2.0, math.inf, -math.inf, math.nan, None, 0.5, 1e-5, 12345.0]}
    )
    first, top, header, middle, *rows, bottom, last = ec.table(frame, "latex").splitlines()
    assert [first, last] == [r"\begin{tabular}{lr}", r"\end{tabular}"]
    assert [top, middle, bottom] == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert header == r"g & NEC \\"
    assert rows == [
        r"a\textbar{}b & 0.500 \\",
        r"{*}c* & $-$2.000 \\",
        r"two lines & $\infty$ \\",
        r"d\textbackslash{} & $-$$\infty$ \\",
        r"\textless{}e\textgreater{} & -- \\",
        r"`f` & -- \\",
        r"Über & 0.500 \\",
        r"100 \% \& \$\_\{\textasciicircum{}\textasciitilde{}\# & 1e$-$05 \\",
        r"{[}1] & 12,345 \\",
    ]


def test_keys_of_many_types() -> None:
    frame = pl.DataFrame(
        {
            "day": [datetime(2026, 1, 1), datetime(2026, 2, 1)],
            "date": [date(2026, 1, 1), None],
            "flag": [True, None],
            "raw": [b"\x01\xff", None],
            "size": [12345, None],
            "nec": [0.5, 1.5],
        }
    )
    assert cells(ec.table(frame))[1:] == [
        ["2026-01-01", "2026-01-01", "true", "01ff", "12345", "0.500"],
        ["2026-02-01", *["(missing)"] * 4, "1.500"],
    ]


def test_many_classes() -> None:
    log = pl.DataFrame({"p": [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]] * 10, "y": [2, 0] * 10})
    header, row = cells(ec.table(log.ec.report("p", "y", classes=[0, 1, 2], metrics=["nec", "confusion"])))
    shares, counts = "[0.500, 0.000, 0.500]", "[[10, 0, 0], [0, 0, 0], [0, 0, 10]]"
    assert dict(zip(header, row, strict=True)) == {
        "Rows": "20",
        "NEC": "0.000",
        "Confusion matrix": counts,
        "Base rate": shares,
    }


def test_an_empty_report_has_its_header() -> None:
    (header,) = cells(ec.table(LOG.clear().ec.report("p", "y", by="year", metrics=["nec"], interval=0.95)))
    assert header == ["year", "Rows", "NEC", "Base rate"]


def test_errors() -> None:
    with pytest.raises(TypeError, match=r"of type LazyFrame: pass a DataFrame, of a lazy report \.collect"):
        ec.table(LOG.lazy().ec.report("p", "y"))
    with pytest.raises(ValueError, match="style='html' is none of markdown, latex"):
        ec.table(LOG, "html")


@pytest.mark.parametrize(("style", "suffix"), [("markdown", ".md"), ("latex", ".tex")])
def test_the_command_writes_the_same(tmp_path, style: str, suffix: str) -> None:
    LOG.write_parquet(tmp_path / "log.parquet")
    options = ["--score", "p", "--label", "y", "--by", "year", "--metrics", "nec", "--interval", "0.95"]
    printed = invoke("report", tmp_path / "log.parquet", *options, "--format", style).stdout
    assert printed == ec.table(LOG.ec.report("p", "y", by="year", metrics=["nec"], interval=0.95), style) + "\n"
    out = tmp_path / f"report{suffix}"
    assert invoke("report", tmp_path / "log.parquet", *options, "--out", out).exit_code == 0
    assert out.read_text("utf-8") == printed


def test_estimates() -> None:
    estimates = LOG.ec.estimate("p", "y", period="year", metrics=["nec"], shift_prior="em", replicates=20)
    header, *rows = cells(ec.table(estimates))
    assert header[:7] == ["year", "Model", "Reference", "Metric", "Value", "Observed", "Covered"]
    assert header[7:] == ["Base rate", "Calibrated on", "p-value of the shift", "Rows", "Labelled rows"]
    values = estimates.row(-1, named=True)
    low, high = values["value_ci_low"], values["value_ci_high"]
    assert rows[-1][4] == f"{values['value']:.3f} [{low:.3f}, {high:.3f}]"
    assert rows[0][4] == "–"
