"""How objects show themselves, in a terminal and in a notebook."""

from __future__ import annotations

from xml.etree import ElementTree

import polars as pl
import pytest

import polars_ec as ec

LOG = pl.DataFrame({"s": ["a", "b", "b", None], "p": [0.9, 0.2, 1.5, 0.3], "y": [True, False, True, None]})
TWO = pl.DataFrame({"s": ["a"] * 4, "p": [0.9, 0.6, 0.7, 0.1], "y": [1, 0, 1, 0]})


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (ec.CostMatrix([[0, 1], [10.5, 0]]), "CostMatrix([[0, 1], [10.5, 0]])"),
        (
            ec.CostMatrix([[0, 1, 0.1], [1, 0, 0.1]], classes=["a", "b"], decisions=["a", "b", "ask"]),
            "CostMatrix([[0, 1, 0.1], [1, 0, 0.1]], classes=['a', 'b'], decisions=['a', 'b', 'ask'])",
        ),
        (
            LOG.ec.sketch("p", "y", by="s", cost_fn=4),
            "Sketch(rows: 2, 1 missing, 1 invalid; groups: 3 by s; scores: posterior, 64 bins per nat; thresholds: 0.2; "
            "decisions: Bayes, CostMatrix([[0, 1], [4, 0]]))",
        ),
        (
            LOG.clear().ec.sketch("p", "y", exact=True, threshold=0.3),
            "Sketch(rows: 0; groups: none; scores: posterior, every score; thresholds: 0.3; decisions: score > 0.3)",
        ),
        (
            TWO.ec.sketch("p", "y", resolution=1),
            "Sketch(rows: 4; groups: none; scores: posterior, 1 bin per nat; thresholds: 0.5; ",
        ),
        (
            TWO.ec.sketch("p", "y", by="s", thresholds=[k / 10 for k in range(10)]),
            "Sketch(rows: 4; groups: 1 by s; scores: posterior, 64 bins per nat; thresholds: 10 from 0 to 0.9; "
            "decisions: Bayes, CostMatrix([[0, 1], [1, 0]]))",
        ),
        (
            LOG.ec.sketch("p", "y", by="s").calibrate("pav"),
            "Calibration(calibrator: pav; scores: posterior; groups: 3 by s; folds: none; without parameters: 3 of 3)",
        ),
        (
            TWO.ec.sketch("p", "y", folds=2, fold_by=pl.int_range(pl.len())).calibrate("temperature"),
            "Calibration(calibrator: temperature; scores: posterior; groups: none; folds: 2; without parameters: ",
        ),
    ],
)
def test_a_line_and_a_table(shown: object, line: str) -> None:
    assert repr(shown).startswith(line)
    assert len(repr(shown)) < 250
    table = ElementTree.fromstring(shown._repr_html_())
    assert table.tag == "table"
    assert len(table.findall("./tbody/tr")) >= 2


def test_a_cost_matrix_is_shown_as_it_is_written() -> None:
    for costs in (
        ec.CostMatrix([[0, 1], [1e300, 0]]),
        ec.CostMatrix([[0.1, 1e-9], [-3, 0]], classes=["no", "yes"]),
        ec.CostMatrix.zero_one(3, abstain=0.1),
    ):
        assert eval(repr(costs), {"CostMatrix": ec.CostMatrix}) == costs


def test_a_large_cost_matrix_is_its_size() -> None:
    costs = ec.CostMatrix.zero_one(100)
    assert repr(costs) == "CostMatrix(100 x 100)"
    assert "100 x 100" in costs._repr_html_()
    assert len(costs._repr_html_()) < 200


def test_names_are_escaped() -> None:
    costs = ec.CostMatrix([[0, 1], [1, 0]], classes=["</table><script>", "b&"])
    assert "<script>" not in costs._repr_html_()
    sketch = TWO.rename({"s": "<img onerror=x>"}).ec.sketch("p", "y", by="<img onerror=x>")
    assert "<img" not in sketch._repr_html_()
    assert "&lt;img onerror=x&gt;" in sketch._repr_html_()
